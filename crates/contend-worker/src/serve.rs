//! The protocol: requests on standard input, answers on standard output, the log on standard error.
//!
//! A separate thread reads the requests, because `stop` must be received during a run, and because the worker must exit
//! at once when the input ends: the tool is then gone.

use crate::clock::monotonic_ns;
use crate::kit::Kit;
use crate::run::{Event, Notice, Ready, Request, RunResult};
use anyhow::{Result, bail};
use contend_wire::handshake::{Facts, ToolLine, WorkerLine};
use contend_wire::plan::Plan;
use contend_wire::sample::{SAMPLE_BYTES, Sample};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Samples in one frame: a mebibyte.
const FRAME_SAMPLES: usize = (1 << 20) / SAMPLE_BYTES;

/// Answers the tool until it sends `quit` or closes the pipe.
///
/// # Errors
/// Writing to the tool fails, or a client could not be ended.
pub fn serve(kit: Kit) -> Result<()> {
    let (sender, events) = channel();
    let from_reader = sender.clone();
    thread::Builder::new().name("requests".into()).spawn(move || read_requests(&from_reader))?;
    let mut worker = Worker { out: io::stdout().lock(), kit, sender, events, ready: None };
    worker.say(&WorkerLine::Hello((kit.hello)()?))?;
    worker.serve()
}

/// Passes on requests; ends the process when the input ends.
pub(crate) fn read_requests(events: &Sender<Event>) {
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    loop {
        match read_request(&mut input) {
            // The receiver lives as long as the process.
            Ok(Some(request)) => drop(events.send(Event::Tool(request))),
            Ok(None) => std::process::exit(0),
            Err(e) => {
                eprintln!("contend worker: cannot read requests: {e}");
                std::process::exit(1);
            }
        }
    }
}

/// The next request; `None` at the end of the input.
fn read_request(input: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = vec![];
    input.read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Ok(None);
    }
    let request = match ToolLine::decode(&String::from_utf8_lossy(&line)) {
        Ok(ToolLine::Plan(length)) => Request::Plan(read_bytes(input, length)?),
        Ok(ToolLine::Script(length)) => Request::Script(read_bytes(input, length)?),
        Ok(ToolLine::Clock) => Request::Clock,
        Ok(ToolLine::Start(start_ns)) => Request::Start(start_ns),
        Ok(ToolLine::Stop) => Request::Stop,
        Ok(ToolLine::Quit) => Request::Quit,
        Err(e) => Request::Unreadable(e.to_string()),
    };
    Ok(Some(request))
}

fn read_bytes(input: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![];
    input.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
}

struct Worker<W: Write> {
    kit: Kit,
    out: W,
    sender: Sender<Event>,
    events: Receiver<Event>,
    ready: Option<Ready>,
}

impl<W: Write> Worker<W> {
    fn say(&mut self, line: &WorkerLine) -> Result<()> {
        self.out.write_all(line.encode().as_bytes())?;
        Ok(self.out.flush()?)
    }

    fn serve(&mut self) -> Result<()> {
        loop {
            let Event::Tool(request) = self.events.recv()? else { continue };
            match request {
                Request::Quit => return Ok(()),
                Request::Clock => self.say(&WorkerLine::Clock(monotonic_ns()))?,
                Request::Plan(bytes) => {
                    let answer = self.prepare(bytes);
                    self.say_or_fail(answer)?;
                }
                Request::Script(bytes) => {
                    let answer = into_text(bytes).and_then(|text| (self.kit.script)(&text));
                    let answer = answer.map(|reply| reply.encode());
                    match answer {
                        Ok(text) => self.say_reply(&text)?,
                        Err(e) => self.say(&WorkerLine::Failed(format!("{e:#}")))?,
                    }
                }
                Request::Start(start_ns) => match self.ready.take() {
                    Some(ready) => self.run(ready, start_ns)?,
                    None => self.say(&WorkerLine::Failed("`start` without a plan that is ready".into()))?,
                },
                // The run has already ended; the tool could not know.
                Request::Stop => {}
                Request::Unreadable(what) => self.say(&WorkerLine::Failed(what))?,
            }
        }
    }

    fn say_reply(&mut self, text: &str) -> Result<()> {
        self.out.write_all(WorkerLine::Reply(text.len()).encode().as_bytes())?;
        self.out.write_all(text.as_bytes())?;
        Ok(self.out.flush()?)
    }

    fn say_or_fail(&mut self, lines: Result<Vec<WorkerLine>>) -> Result<()> {
        match lines {
            Ok(lines) => lines.iter().try_for_each(|line| self.say(line)),
            Err(e) => self.say(&WorkerLine::Failed(format!("{e:#}"))),
        }
    }

    /// Prepares a plan. An earlier plan that was never started is given up first.
    fn prepare(&mut self, bytes: Vec<u8>) -> Result<Vec<WorkerLine>> {
        if let Some(ready) = self.ready.take() {
            ready.abandon();
        }
        let plan = Plan::decode(&into_text(bytes)?)?;
        let mut ready = (self.kit.prepare)(plan, &self.sender)?;
        let mut lines: Vec<_> = std::mem::take(&mut ready.sessions).into_iter().map(WorkerLine::Session).collect();
        lines.push(WorkerLine::Ready);
        self.ready = Some(ready);
        Ok(lines)
    }

    /// Runs the plan. After a failed run the process exits: a client that did not return may still hold its database.
    fn run(&mut self, ready: Ready, start_ns: u64) -> Result<()> {
        let out = &mut self.out;
        let send = |notice| {
            out.write_all(notice_line(notice).encode().as_bytes())?;
            Ok(out.flush()?)
        };
        match ready.run(start_ns, &self.events, send) {
            Ok(result) => self.say_result(&result),
            Err(e) => {
                self.say(&WorkerLine::Failed(format!("{e:#}")))?;
                bail!(e)
            }
        }
    }

    fn say_result(&mut self, result: &RunResult) -> Result<()> {
        self.out.write_all(WorkerLine::Done(done_facts(result)).encode().as_bytes())?;
        let mut frame = Vec::with_capacity(FRAME_SAMPLES * SAMPLE_BYTES);
        for sample in result.samples.iter().flatten() {
            frame.extend_from_slice(&sample.encode());
            if frame.len() == FRAME_SAMPLES * SAMPLE_BYTES {
                self.say_samples(&mut frame)?;
            }
        }
        self.say_samples(&mut frame)?;
        self.say(&WorkerLine::End)
    }

    fn say_samples(&mut self, frame: &mut Vec<u8>) -> Result<()> {
        if !frame.is_empty() {
            self.out.write_all(WorkerLine::Samples(frame.len()).encode().as_bytes())?;
            self.out.write_all(frame)?;
            frame.clear();
        }
        Ok(())
    }
}

pub(crate) fn into_text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("what was sent is not UTF-8"))
}

pub(crate) fn facts<const N: usize>(pairs: [(&str, u64); N]) -> Facts {
    pairs.map(|(key, value)| (key.to_string(), value.to_string())).to_vec()
}

fn notice_line(notice: Notice) -> WorkerLine {
    match notice {
        Notice::Clock(ns) => WorkerLine::Clock(ns),
        Notice::Progress { elapsed_ns, operations, failed } => {
            WorkerLine::Progress(facts([("elapsed_ns", elapsed_ns), ("operations", operations), ("failed", failed)]))
        }
    }
}

fn done_facts(result: &RunResult) -> Facts {
    let accounts = facts([
        ("operations", result.operations),
        ("attempts", result.attempts() as u64),
        ("failed", result.failed),
        ("exhausted", result.exhausted),
    ]);
    accounts.into_iter().chain(result.reported.iter().cloned()).collect()
}

/// All samples as one run of bytes, for a file.
pub fn encode_samples<'s>(samples: impl IntoIterator<Item = &'s Sample>) -> Vec<u8> {
    samples.into_iter().flat_map(Sample::encode).collect()
}
