//! The workers of one trial, from their start to their samples: handshake, deadlines, collection.

use crate::check::guards::CLOCK_ERROR_NS_MAX;
use crate::outcome::reason::Invalid;
use crate::record::model::Reason;
use crate::trial::watch::janitor::Janitor;
use crate::trial::workers::process::{Event, Launch, Nothing, Worker, monotonic_ns, next};
use crate::trial::workers::refusal::Whose;
use anyhow::Result;
use contend_wire::handshake::{Facts, PROTOCOL_VERSION, ToolLine, WorkerLine, fact};
use contend_wire::sample::SAMPLE_BYTES;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// How often a worker that is slow to tell its clock is asked.
const CLOCK_TRIES: u32 = 5;

/// Deadlines of everything a worker has to do.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// Until `ready`: parsing the plan, opening connections.
    pub ready: Duration,
    /// Longest silence while it works.
    pub silence: Duration,
    /// From the end of the drain until all samples are handed over.
    pub collect: Duration,
    /// Longest until another operation is over, in a trial that ends after a number of them.
    pub operations: Duration,
    /// Until the data of one database is checked afterwards: its invariants and the engine's own check.
    pub check: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            ready: Duration::from_secs(60),
            silence: Duration::from_secs(15),
            collect: Duration::from_secs(60),
            operations: Duration::from_secs(3600),
            check: Duration::from_secs(60),
        }
    }
}

/// Why a trial has no result.
#[derive(Debug)]
pub enum Failure {
    /// The trial is invalid; the run goes on.
    Invalid(Reason),
    /// The user wants to stop.
    Cancelled,
    /// The run cannot go on.
    Fatal(anyhow::Error),
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Failure::Fatal(error)
    }
}

/// What is known of one worker.
#[derive(Debug, Clone, Default)]
pub struct Member {
    pub hello: Facts,
    pub sessions: Vec<Facts>,
    pub done: Facts,
    /// How far its clock may be from the tool's.
    pub clock_error_ns: u64,
}

/// A trial's workers.
pub struct Crew<'a> {
    whose: Whose,
    /// Whether they were told to start: a worker that gives up later did begin.
    begun: bool,
    workers: Vec<Worker>,
    pub members: Vec<Member>,
    events: Receiver<(u32, Event)>,
    sender: Sender<(u32, Event)>,
    janitor: &'a Janitor,
    deadlines: Deadlines,
    cancelled: &'a dyn Fn() -> bool,
}

impl<'a> Crew<'a> {
    pub fn new(whose: Whose, janitor: &'a Janitor, deadlines: Deadlines, cancelled: &'a dyn Fn() -> bool) -> Self {
        let (sender, events) = channel();
        let (workers, members) = (vec![], vec![]);
        Self { whose, begun: false, workers, members, events, sender, janitor, deadlines, cancelled }
    }

    pub fn pids(&self) -> Vec<u32> {
        self.workers.iter().map(Worker::pid).collect()
    }

    /// Starts workers and gives each its plan, then waits until all are ready.
    pub fn prepare(&mut self, launch: &Launch, plans: &[Vec<Arc<[u8]>>], logs: &Path) -> Result<(), Failure> {
        for (number, _) in plans.iter().enumerate() {
            let log = logs.join(format!("worker-{number}.log"));
            let worker = Worker::start(launch, number as u32, &log, self.sender.clone())
                .map_err(|e| Failure::Invalid(self.whose.cannot_be_started(&e)))?;
            self.janitor.group_lives(worker.pid());
            self.workers.push(worker);
            self.members.push(Member::default());
        }
        for (worker, pieces) in self.workers.iter().zip(plans) {
            let bytes = pieces.iter().map(|p| p.len()).sum();
            worker.send_frame(&ToolLine::Plan(bytes), pieces);
        }
        let deadline = Instant::now() + self.deadlines.ready;
        let mut waiting = plans.len();
        while waiting > 0 {
            let (number, event) = self.next(deadline, Invalid::NotReady, "did not say `ready`")?;
            match self.line(number, event)? {
                (WorkerLine::Hello(facts), _) => {
                    if let Some(what) = hello_problem(&facts) {
                        return Err(self.invalid(Invalid::Protocol, number, &what));
                    }
                    self.members[number].hello = facts;
                }
                (WorkerLine::Session(facts), _) => self.members[number].sessions.push(facts),
                (WorkerLine::Ready, _) => waiting -= 1,
                (line, _) => return Err(self.unexpected(number, &line)),
            }
        }
        Ok(())
    }

    /// Compares every worker's clock with the tool's; on a busy machine a worker may be slow to tell it, so more than once.
    pub fn compare_clocks(&mut self) -> Result<(), Failure> {
        for _ in 1..CLOCK_TRIES {
            match self.compare_clocks_once() {
                Err(Failure::Invalid(reason)) if reason.kind == Invalid::Clock => {}
                other => return other,
            }
        }
        self.compare_clocks_once()
    }

    fn compare_clocks_once(&mut self) -> Result<(), Failure> {
        for number in 0..self.workers.len() {
            let sent_ns = monotonic_ns();
            self.workers[number].tell(&ToolLine::Clock);
            let deadline = Instant::now() + self.deadlines.silence;
            let (from, event) = self.next(deadline, Invalid::Stalled, "did not tell its clock")?;
            let (line, received_ns) = self.line(from, event)?;
            let WorkerLine::Clock(reading_ns) = line else { return Err(self.unexpected(from, &line)) };
            if from != number {
                return Err(self.unexpected(from, &line));
            }
            self.judge_clock(number, sent_ns, reading_ns, received_ns)?;
        }
        Ok(())
    }

    /// On one host there is one monotonic clock: the reading lies between asking and hearing, or it is wrong.
    fn judge_clock(&mut self, number: usize, sent_ns: u64, reading_ns: u64, received_ns: u64) -> Result<(), Failure> {
        let error_ns = (received_ns - sent_ns) / 2;
        if !(sent_ns..=received_ns).contains(&reading_ns) {
            let off_ns = reading_ns as i128 - i128::from(sent_ns / 2 + received_ns / 2);
            return Err(self.invalid(Invalid::Clock, number, &format!("reads a clock {off_ns} ns from the tool's")));
        }
        if error_ns > CLOCK_ERROR_NS_MAX {
            let what = format!("took {} ns to tell its clock", error_ns * 2);
            return Err(self.invalid(Invalid::Clock, number, &what));
        }
        self.members[number].clock_error_ns = error_ns;
        Ok(())
    }

    /// Tells all workers to start at one moment; hands it out.
    pub fn start(&mut self) -> u64 {
        self.begun = true;
        // Time for the line to reach the last worker.
        let start_ns = monotonic_ns() + 5_000_000 + 1_000_000 * self.workers.len() as u64;
        for worker in &self.workers {
            worker.tell(&ToolLine::Start(start_ns));
        }
        start_ns
    }

    /// Waits until every worker is done and has handed over its samples, which `keep` gets. `at_end` is called once, at the end
    /// of the window or when the last worker is done, whichever is first; `progress` with operations so far.
    pub fn collect(
        &mut self,
        window_end_ns: Option<u64>,
        drain_ns: u64,
        keep: &mut dyn FnMut(&[u8]) -> Result<()>,
        mut at_window: impl FnMut(),
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), Failure> {
        let mut heard = Heard::now(self.workers.len(), window_end_ns.map(|end| end + drain_ns), self.deadlines);
        let mut window_over = false;
        while !heard.all_ended() {
            if !window_over && window_end_ns.is_some_and(|end| monotonic_ns() >= end) {
                window_over = true;
                at_window();
            }
            let deadline = heard.deadline();
            let wake = match window_end_ns {
                Some(end) if !window_over => deadline.min(instant_of(end)),
                _ => deadline,
            };
            match next(&self.events, wake, self.cancelled) {
                Ok((number, event)) => self.take_in(&mut heard, number as usize, event, keep, progress)?,
                Err(Nothing::Cancelled) => return Err(Failure::Cancelled),
                Err(Nothing::Late) if wake < deadline => {}
                Err(Nothing::Late | Nothing::Gone) => {
                    let (silent, what) = heard.too_late();
                    return Err(self.invalid(Invalid::Stalled, silent, &what));
                }
            }
        }
        if !window_over {
            at_window();
        }
        Ok(())
    }

    /// What a worker says during the run and after it.
    fn take_in(
        &mut self,
        heard: &mut Heard,
        number: usize,
        event: Event,
        keep: &mut dyn FnMut(&[u8]) -> Result<()>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), Failure> {
        heard.of(number);
        match event {
            // It has handed over everything and leaves while others still send.
            Event::Broken(_) if heard.ended[number] => {}
            _ if heard.ended[number] => {
                return Err(self.invalid(Invalid::Protocol, number, "said something after `end`"));
            }
            Event::Samples(bytes) => {
                if bytes.len() % SAMPLE_BYTES != 0 {
                    let what = format!("sent {} bytes of samples, not a multiple of {SAMPLE_BYTES}", bytes.len());
                    return Err(self.invalid(Invalid::Samples, number, &what));
                }
                heard.work_goes_on();
                keep(&bytes)?;
            }
            event => match self.line(number, event)?.0 {
                WorkerLine::Progress(facts) => {
                    let so_far: u64 = fact(&facts, "operations").and_then(|n| n.parse().ok()).unwrap_or(0);
                    progress(heard.operations_of(number, so_far));
                }
                WorkerLine::Done(facts) => self.members[number].done = facts,
                WorkerLine::End => heard.ended[number] = true,
                line => return Err(self.unexpected(number, &line)),
            },
        }
        Ok(())
    }

    /// Lets the workers go; what does not leave is killed.
    pub fn dismiss(&mut self) {
        for worker in &self.workers {
            worker.tell(&ToolLine::Quit);
        }
        for mut worker in self.workers.drain(..) {
            let pid = worker.pid();
            worker.quit(Duration::from_secs(2));
            self.janitor.group_gone(pid);
        }
    }

    fn next(&mut self, deadline: Instant, late: Invalid, what: &str) -> Result<(usize, Event), Failure> {
        match next(&self.events, deadline, self.cancelled) {
            Ok((number, event)) => Ok((number as usize, event)),
            Err(Nothing::Cancelled) => Err(Failure::Cancelled),
            Err(Nothing::Late | Nothing::Gone) => {
                let reason = late.because(format!("a worker {what} in time; its log is in the trial's directory"));
                Err(Failure::Invalid(reason))
            }
        }
    }

    /// The line of an event; anything else makes the trial invalid.
    fn line(&mut self, number: usize, event: Event) -> Result<(WorkerLine, u64), Failure> {
        match event {
            Event::Line(WorkerLine::Failed(why), _) if self.begun => {
                Err(self.invalid(Invalid::WorkerDied, number, &format!("gave up: {why}")))
            }
            Event::Line(WorkerLine::Failed(why), _) => {
                Err(Failure::Invalid(self.whose.could_not_begin(number, &why, &self.end_of_log(number))))
            }
            Event::Line(line, at) => Ok((line, at)),
            Event::Samples(_) | Event::Reply(_) => {
                Err(self.invalid(Invalid::Protocol, number, "sent a frame that nobody asked for"))
            }
            Event::Broken(what) => {
                let ending = self.workers[number].ending();
                let died = ending != "still running";
                let kind = if died { Invalid::WorkerDied } else { Invalid::Protocol };
                Err(self.invalid(kind, number, &format!("{what} ({ending})")))
            }
        }
    }

    fn unexpected(&mut self, number: usize, line: &WorkerLine) -> Failure {
        self.invalid(Invalid::Protocol, number, &format!("said `{}` out of turn", line.encode().trim_end()))
    }

    fn invalid(&mut self, kind: Invalid, number: usize, what: &str) -> Failure {
        Failure::Invalid(kind.because(format!("worker {number} {what}{}", self.end_of_log(number))))
    }

    fn end_of_log(&self, number: usize) -> String {
        self.workers.get(number).map(Worker::end_of_log).unwrap_or_default()
    }
}

/// What was heard of the workers during a run, and until when the next has to be.
struct Heard {
    last: Vec<Instant>,
    operations: Vec<u64>,
    ended: Vec<bool>,
    /// Of the whole, where it is known how long that takes; else of the operation at hand.
    last_moment: Instant,
    length_is_known: bool,
    deadlines: Deadlines,
}

impl Heard {
    /// `end_ns`: the end of the drain, if time ends the run.
    fn now(workers: usize, end_ns: Option<u64>, deadlines: Deadlines) -> Self {
        let last_moment = match end_ns {
            Some(end) => instant_of(end) + deadlines.collect,
            None => Instant::now() + deadlines.operations,
        };
        Self {
            last: vec![Instant::now(); workers],
            operations: vec![0; workers],
            ended: vec![false; workers],
            last_moment,
            length_is_known: end_ns.is_some(),
            deadlines,
        }
    }

    fn of(&mut self, number: usize) {
        self.last[number] = Instant::now();
    }

    fn all_ended(&self) -> bool {
        self.ended.iter().all(|ended| *ended)
    }

    /// Until when one of those that have not ended must say something.
    fn deadline(&self) -> Instant {
        let quiet_since = self.ended.iter().zip(&self.last).filter(|(ended, _)| !**ended).map(|(_, last)| *last).min();
        (quiet_since.unwrap_or_else(Instant::now) + self.deadlines.silence).min(self.last_moment)
    }

    /// A run by number of operations lasts as long as there is another one.
    fn work_goes_on(&mut self) {
        if !self.length_is_known {
            self.last_moment = Instant::now() + self.deadlines.operations;
        }
    }

    /// A worker has done so many operations; how many all of them have.
    fn operations_of(&mut self, number: usize, so_far: u64) -> u64 {
        if so_far > self.operations[number] {
            self.work_goes_on();
        }
        self.operations[number] = so_far;
        self.operations.iter().sum()
    }

    /// Who did not say anything in time, and what is wrong with that.
    fn too_late(&self) -> (usize, String) {
        let silent = (0..self.ended.len()).filter(|i| !self.ended[*i]).min_by_key(|i| self.last[*i]).unwrap_or(0);
        let over = Instant::now() >= self.last_moment;
        let what = match self.length_is_known {
            true if over => "did not hand over its samples in time".to_string(),
            false if over => format!("finished no operation in {:?}", self.deadlines.operations),
            _ => format!("gave no sign of life for {:?}", self.deadlines.silence),
        };
        (silent, what)
    }
}

impl Drop for Crew<'_> {
    fn drop(&mut self) {
        for mut worker in self.workers.drain(..) {
            let pid = worker.pid();
            worker.kill();
            self.janitor.group_gone(pid);
        }
    }
}

/// What keeps the tool from understanding a worker that says this of itself.
pub fn hello_problem(hello: &Facts) -> Option<String> {
    let (spoken, known) = (fact(hello, "protocol"), PROTOCOL_VERSION.to_string());
    (spoken != Some(known.as_str()))
        .then(|| format!("speaks protocol {}, this contend speaks {known}", spoken.unwrap_or("none")))
}

/// The moment at which the monotonic clock reads `ns`.
fn instant_of(ns: u64) -> Instant {
    Instant::now() + Duration::from_nanos(ns.saturating_sub(monotonic_ns()))
}
