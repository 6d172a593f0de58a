//! A worker as the tool talks to it: a process, its pipes, and a deadline on every answer.

use contend_wire::handshake::{Facts, ToolLine, WorkerLine};
use contend_wire::sample::{SAMPLE_BYTES, Sample};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How long a worker may be silent, on a slow machine too.
const SILENCE: Duration = Duration::from_secs(60);

/// What a worker said: a line, with the bytes that follow it.
pub type Said = (WorkerLine, Vec<u8>);

pub struct Worker {
    child: Child,
    input: ChildStdin,
    said: Receiver<Result<Said, String>>,
    log: PathBuf,
    pub hello: Facts,
}

/// What a run led to.
pub struct Ran {
    pub start_ns: u64,
    pub done: Facts,
    pub samples: Vec<Sample>,
    pub progress: usize,
    /// From the start to `done`.
    pub elapsed: Duration,
}

fn read(output: impl Read, said: &Sender<Result<Said, String>>) {
    let mut output = BufReader::new(output);
    loop {
        let next = read_one(&mut output);
        let over = next.is_err();
        if said.send(next).is_err() || over {
            return;
        }
    }
}

fn read_one(output: &mut impl BufRead) -> Result<Said, String> {
    let mut line = vec![];
    output.by_ref().take(1 << 20).read_until(b'\n', &mut line).map_err(|e| e.to_string())?;
    if line.pop() != Some(b'\n') {
        return Err("closed its output, or a line is longer than 1 MiB".to_string());
    }
    let text = String::from_utf8(line).map_err(|_| "said something that is not UTF-8".to_string())?;
    let line = WorkerLine::decode(&text).map_err(|e| e.to_string())?;
    let length = match line {
        WorkerLine::Reply(length) | WorkerLine::Samples(length) => length,
        _ => 0,
    };
    if length > 1 << 30 {
        return Err(format!("a frame of {length} bytes; 1 GiB is the most"));
    }
    let mut bytes = vec![0; length];
    output.read_exact(&mut bytes).map_err(|e| format!("{length} bytes were announced: {e}"))?;
    Ok((line, bytes))
}

impl Worker {
    /// Starts a worker and hears its `hello`. What it writes on standard error goes to `log`.
    pub fn start(command: &[String], log: &Path) -> Result<Self, String> {
        let errors = File::create(log).map_err(|e| e.to_string())?;
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .map_err(|e| format!("{}: {e}", command[0]))?;
        let input = child.stdin.take().expect("piped");
        let output = child.stdout.take().expect("piped");
        let (sender, said) = channel();
        std::thread::spawn(move || read(output, &sender));
        let mut worker = Worker { child, input, said, log: log.to_path_buf(), hello: vec![] };
        match worker.hear()? {
            (WorkerLine::Hello(facts), _) => worker.hello = facts,
            (other, _) => return Err(format!("the first line must be `hello`, found {other:?}")),
        }
        Ok(worker)
    }

    pub fn say(&mut self, line: &ToolLine, bytes: &[u8]) -> Result<(), String> {
        let mut all = line.encode().into_bytes();
        all.extend_from_slice(bytes);
        self.input.write_all(&all).map_err(|e| format!("does not listen: {e}"))
    }

    pub fn hear(&mut self) -> Result<Said, String> {
        match self.said.recv_timeout(SILENCE) {
            Ok(Ok(said)) => Ok(said),
            Ok(Err(e)) => Err(format!("{e}; its log: {}", self.log())),
            Err(RecvTimeoutError::Timeout) => Err(format!("was silent for {SILENCE:?}; its log: {}", self.log())),
            Err(RecvTimeoutError::Disconnected) => Err(format!("is gone; its log: {}", self.log())),
        }
    }

    /// How it ended, if it does so by itself within this time.
    #[allow(dead_code)] // not every test binary asks
    pub fn leaves(&mut self, within: Duration) -> Option<ExitStatus> {
        let deadline = std::time::Instant::now() + within;
        while std::time::Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The answer to a script: the reply's text, or why it was refused.
    pub fn script(&mut self, text: &str) -> Result<Result<String, String>, String> {
        self.say(&ToolLine::Script(text.len()), text.as_bytes())?;
        match self.hear()? {
            (WorkerLine::Reply(_), bytes) => Ok(Ok(String::from_utf8(bytes).map_err(|e| e.to_string())?)),
            (WorkerLine::Failed(reason), _) => Ok(Err(reason)),
            (other, _) => Err(format!("answered a script with {other:?}")),
        }
    }

    /// The answer to a plan: the sessions, or why it was refused.
    pub fn plan(&mut self, text: &str) -> Result<Result<Vec<Facts>, String>, String> {
        self.say(&ToolLine::Plan(text.len()), text.as_bytes())?;
        let mut sessions = vec![];
        loop {
            match self.hear()?.0 {
                WorkerLine::Session(facts) => sessions.push(facts),
                WorkerLine::Ready => return Ok(Ok(sessions)),
                WorkerLine::Failed(reason) => return Ok(Err(reason)),
                other => return Err(format!("answered a plan with {other:?}")),
            }
        }
    }

    /// The worker's clock must be that of this host.
    fn check_clock(&mut self) -> Result<(), String> {
        let before_ns = contend_worker::clock::monotonic_ns();
        self.say(&ToolLine::Clock, b"")?;
        match self.hear()?.0 {
            WorkerLine::Clock(ns) if (before_ns..=contend_worker::clock::monotonic_ns()).contains(&ns) => Ok(()),
            other => Err(format!("answered `clock`, asked at {before_ns}, with {other:?}")),
        }
    }

    /// Runs what is ready to its end; `stop_after` ends the window early.
    pub fn run(&mut self, stop_after: Option<Duration>) -> Result<Ran, String> {
        self.check_clock()?;
        let start_ns = contend_worker::clock::monotonic_ns() + 5_000_000;
        self.say(&ToolLine::Start(start_ns), b"")?;
        self.say(&ToolLine::Clock, b"")?;
        if let Some(after) = stop_after {
            std::thread::sleep(after);
            self.say(&ToolLine::Stop, b"")?;
        }
        let mut ran = Ran { start_ns, done: vec![], samples: vec![], progress: 0, elapsed: Duration::ZERO };
        let mut clocks = 0;
        loop {
            match self.hear()? {
                (WorkerLine::Progress(_), _) if ran.done.is_empty() => ran.progress += 1,
                (WorkerLine::Clock(_), _) => clocks += 1,
                (WorkerLine::Done(facts), _) => {
                    ran.done = facts;
                    let elapsed_ns = contend_worker::clock::monotonic_ns().saturating_sub(start_ns);
                    ran.elapsed = Duration::from_nanos(elapsed_ns);
                }
                (WorkerLine::Samples(_), bytes) => ran.samples.extend(decode(&bytes)?),
                // A run may be over before the clock is asked for; the answer then comes after it.
                (WorkerLine::End, _) if clocks == 1 => return Ok(ran),
                (WorkerLine::End, _) => match self.hear()?.0 {
                    WorkerLine::Clock(_) => return Ok(ran),
                    other => return Err(format!("answered `clock` with {other:?}")),
                },
                (WorkerLine::Failed(reason), _) => return Err(format!("the run failed: {reason}")),
                (other, _) => return Err(format!("said {other:?} during a run")),
            }
        }
    }
}

fn decode(bytes: &[u8]) -> Result<Vec<Sample>, String> {
    if !bytes.len().is_multiple_of(SAMPLE_BYTES) {
        return Err(format!("a frame of {} bytes, which are not whole samples", bytes.len()));
    }
    bytes.chunks(SAMPLE_BYTES).map(|b| Sample::decode(b.try_into().expect("64 bytes"))).collect()
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
