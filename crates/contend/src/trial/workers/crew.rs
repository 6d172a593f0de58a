//! The workers of one trial, from their start to their samples: handshake, deadlines, collection.

use crate::check::guards::CLOCK_ERROR_NS_MAX;
use crate::check::heard::{Heard, Sign, Stopped};
use crate::outcome::reason::Invalid;
use crate::record::model::Reason;
use crate::trial::data::disk::is_full;
use crate::trial::workers::process::{Event, Launch, Nothing};
use crate::trial::workers::processes::{Deadlines, Processes, Supervision, Workers};
use crate::trial::workers::refusal::Whose;
use anyhow::Result;
use contend_wire::handshake::{Facts, PROTOCOL_VERSION, ToolLine, WorkerLine, fact};
use contend_wire::sample::SAMPLE_BYTES;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Attempts to read the clock of a worker that is slow to report it.
const CLOCK_TRIES: u32 = 5;

/// Longest time between two looks at the clock, by which the tool notices that it stood still itself.
const LOOK_NS: u64 = 100_000_000;

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

/// Reports of one worker.
#[derive(Debug, Clone, Default)]
pub struct Member {
    pub hello: Facts,
    pub sessions: Vec<Facts>,
    pub done: Facts,
    /// Largest possible difference between its clock and the tool's.
    pub clock_error_ns: u64,
    /// When its lines arrived during the run, by the tool's clock.
    pub heard: Heard,
}

/// A window on the tool's clock.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub begins_ns: u64,
    /// `None` if the number of operations ends the run.
    pub ends_ns: Option<u64>,
    /// How long operations may continue after the end of the window.
    pub drain_ns: u64,
}

impl Window {
    /// End of the drain; `None` if the number of operations ends the run.
    pub fn drained_ns(&self) -> Option<u64> {
        self.ends_ns.map(|end| end + self.drain_ns)
    }

    /// Time of the next mark: the beginning of the window, then its end.
    fn next_mark_ns(&self, phase: Phase) -> u64 {
        match phase {
            Phase::RunIn => self.begins_ns,
            Phase::Window => self.ends_ns.unwrap_or(u64::MAX),
            Phase::Drain => u64::MAX,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    RunIn,
    Window,
    Drain,
}

impl Phase {
    fn following(self) -> Self {
        if self == Phase::RunIn { Phase::Window } else { Phase::Drain }
    }
}

/// Receives the samples of workers and the marks of their window.
pub trait Observer {
    /// Called once, even if all workers have ended before.
    fn window_begins(&mut self) {}

    /// Called once: at the end of the window, or when the last worker is done if that is sooner.
    fn window_ends(&mut self) {}

    /// # Errors
    /// The samples cannot be written, which ends the run.
    fn samples(&mut self, bytes: &[u8]) -> Result<()>;

    /// Operations of all workers so far.
    fn operations(&mut self, _so_far: u64) {}
}

/// Only keeps samples.
impl<F: FnMut(&[u8]) -> Result<()>> Observer for F {
    fn samples(&mut self, bytes: &[u8]) -> Result<()> {
        self(bytes)
    }
}

/// A trial's workers.
pub struct Crew<'a> {
    whose: Whose,
    /// Whether `start` was sent: from then on a worker that gives up has died, not failed to begin.
    begun: bool,
    workers: Box<dyn Workers + 'a>,
    pub members: Vec<Member>,
    deadlines: Deadlines,
    cancelled: &'a dyn Fn() -> bool,
}

impl<'a> Crew<'a> {
    pub fn new(
        whose: Whose,
        workers: Box<dyn Workers + 'a>,
        deadlines: Deadlines,
        cancelled: &'a dyn Fn() -> bool,
    ) -> Self {
        Self { whose, begun: false, workers, members: vec![], deadlines, cancelled }
    }

    /// Workers as processes, with their logs in `logs`.
    pub fn of_processes(whose: Whose, launch: &Launch, logs: &Path, with: &Supervision<'a>) -> Self {
        let processes = Processes::new(launch.clone(), logs, with.janitor);
        Self::new(whose, Box::new(processes), with.deadlines, with.cancelled)
    }

    pub fn pids(&self) -> Vec<u32> {
        self.workers.pids()
    }

    /// Starts a worker for each plan, then waits until all are ready.
    pub fn prepare(&mut self, plans: &[Vec<Arc<[u8]>>]) -> Result<(), Failure> {
        for _ in plans {
            self.workers.start().map_err(|e| not_started(&self.whose, e))?;
            self.members.push(Member::default());
        }
        for (number, pieces) in plans.iter().enumerate() {
            let bytes = pieces.iter().map(|p| p.len()).sum();
            self.workers.send(number, &ToolLine::Plan(bytes), pieces);
        }
        let deadline_ns = self.workers.now_ns() + ns(self.deadlines.ready);
        let mut waiting = plans.len();
        while waiting > 0 {
            let (number, event) = self.next(deadline_ns, Invalid::NotReady, "did not send `ready`")?;
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

    /// Compares every worker's clock with the tool's; repeatedly, because a worker on a busy machine may be slow to
    /// report it.
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
        for number in 0..self.members.len() {
            let sent_ns = self.workers.now_ns();
            self.workers.send(number, &ToolLine::Clock, &[]);
            let deadline_ns = sent_ns + ns(self.deadlines.silence);
            let (from, event) = self.next(deadline_ns, Invalid::Stalled, "did not report its clock")?;
            let (line, received_ns) = self.line(from, event)?;
            let WorkerLine::Clock(reading_ns) = line else { return Err(self.unexpected(from, &line)) };
            if from != number {
                return Err(self.unexpected(from, &line));
            }
            self.judge_clock(number, sent_ns, reading_ns, received_ns)?;
        }
        Ok(())
    }

    /// On one host there is one monotonic clock: a reading lies between request and answer, or it is wrong.
    fn judge_clock(&mut self, number: usize, sent_ns: u64, reading_ns: u64, received_ns: u64) -> Result<(), Failure> {
        let error_ns = (received_ns - sent_ns) / 2;
        if !(sent_ns..=received_ns).contains(&reading_ns) {
            let off_ns = reading_ns as i128 - i128::from(sent_ns / 2 + received_ns / 2);
            return Err(self.invalid(Invalid::Clock, number, &format!("reads a clock {off_ns} ns from the tool's")));
        }
        if error_ns > CLOCK_ERROR_NS_MAX {
            let what = format!("took {} ns to report its clock", error_ns * 2);
            return Err(self.invalid(Invalid::Clock, number, &what));
        }
        self.members[number].clock_error_ns = error_ns;
        Ok(())
    }

    /// Sends all workers the same time to start, and returns it.
    pub fn start(&mut self) -> u64 {
        self.begun = true;
        // Allows for the line to reach the last worker.
        let start_ns = self.workers.now_ns() + 5_000_000 + 1_000_000 * self.members.len() as u64;
        for number in 0..self.members.len() {
            self.members[number].heard.stopped = self.workers.stopped(number);
            self.workers.send(number, &ToolLine::Start(start_ns), &[]);
        }
        start_ns
    }

    /// Waits until every worker has finished and sent its samples.
    pub fn collect(&mut self, window: &Window, observer: &mut dyn Observer) -> Result<(), Failure> {
        let mut heard = Listening::new(self.members.len(), self.workers.now_ns(), window.drained_ns(), self.deadlines);
        let mut phase = Phase::RunIn;
        loop {
            let now_ns = self.workers.now_ns();
            heard.look(now_ns, window.ends_ns);
            if phase != Phase::Drain {
                heard.silences(&mut self.members);
            }
            while phase != Phase::Drain && (now_ns >= window.next_mark_ns(phase) || heard.all_ended()) {
                if phase == Phase::RunIn {
                    observer.window_begins()
                } else {
                    observer.window_ends()
                }
                phase = phase.following();
                heard.looked_ns = self.workers.now_ns();
            }
            if heard.all_ended() {
                return Ok(());
            }
            let deadline_ns = heard.deadline_ns(now_ns);
            let wake_ns = deadline_ns.min(window.next_mark_ns(phase)).min(now_ns + LOOK_NS);
            match self.workers.next(wake_ns, self.cancelled) {
                Ok((number, event)) => self.take_in(&mut heard, number, event, observer)?,
                Err(Nothing::Cancelled) => return Err(Failure::Cancelled),
                Err(Nothing::Late) if wake_ns < deadline_ns => {}
                Err(Nothing::Late | Nothing::Gone) => {
                    let (silent, what) = heard.too_late(self.workers.now_ns());
                    return Err(self.invalid(Invalid::Stalled, silent, &what));
                }
            }
        }
    }

    /// Handles what a worker sends during the run and after it.
    fn take_in(
        &mut self,
        heard: &mut Listening,
        number: usize,
        event: Event,
        observer: &mut dyn Observer,
    ) -> Result<(), Failure> {
        let now_ns = self.workers.now_ns();
        heard.of(number, now_ns);
        match event {
            // It has sent everything and may exit while others still send.
            Event::Broken(_) if heard.ended[number] => {}
            _ if heard.ended[number] => {
                return Err(self.invalid(Invalid::Protocol, number, "sent something after `end`"));
            }
            Event::Samples(bytes) => {
                if bytes.len() % SAMPLE_BYTES != 0 {
                    let what = format!("sent {} bytes of samples, not a multiple of {SAMPLE_BYTES}", bytes.len());
                    return Err(self.invalid(Invalid::Samples, number, &what));
                }
                heard.work_goes_on(now_ns);
                observer.samples(&bytes)?;
            }
            event => match self.line(number, event)? {
                (WorkerLine::Progress(facts), at_ns) => {
                    let so_far: u64 = fact(&facts, "operations").and_then(|n| n.parse().ok()).unwrap_or(0);
                    self.members[number].heard.signs.push(Sign { at_ns, operations: so_far });
                    observer.operations(heard.operations_of(number, so_far, now_ns));
                }
                (WorkerLine::Done(facts), at_ns) => {
                    self.members[number].heard.done_ns = at_ns;
                    self.members[number].heard.still_ns = heard.still_ns;
                    let (now, at_start) = (self.workers.stopped(number), self.members[number].heard.stopped);
                    self.members[number].heard.stopped =
                        Stopped { times: now.times - at_start.times, ns: now.ns - at_start.ns };
                    self.members[number].done = facts;
                }
                (WorkerLine::End, _) => heard.ended[number] = true,
                (line, _) => return Err(self.unexpected(number, &line)),
            },
        }
        Ok(())
    }

    /// Ends the workers; those that do not exit are killed.
    pub fn dismiss(&mut self) {
        self.workers.dismiss();
    }

    fn next(&mut self, deadline_ns: u64, late: Invalid, what: &str) -> Result<(usize, Event), Failure> {
        self.workers.next(deadline_ns, self.cancelled).map_err(|nothing| match nothing {
            Nothing::Cancelled => Failure::Cancelled,
            Nothing::Late | Nothing::Gone => {
                let why = format!("a worker {what} in time; its log is in the trial's directory");
                Failure::Invalid(late.because(why))
            }
        })
    }

    /// The line of an event; anything else makes the trial invalid.
    fn line(&mut self, number: usize, event: Event) -> Result<(WorkerLine, u64), Failure> {
        match event {
            Event::Line(WorkerLine::Failed(why), _) if self.begun => {
                Err(self.invalid(Invalid::WorkerDied, number, &format!("gave up: {why}")))
            }
            Event::Line(WorkerLine::Failed(why), _) => {
                let log = self.workers.end_of_log(number);
                Err(Failure::Invalid(self.whose.could_not_begin(number, &why, &log)))
            }
            Event::Line(line, at) => Ok((line, at)),
            Event::Samples(_) | Event::Reply(_) => {
                Err(self.invalid(Invalid::Protocol, number, "sent a frame that was not requested"))
            }
            Event::Broken(what) => {
                let ending = self.workers.death(number);
                let kind = if ending.is_some() { Invalid::WorkerDied } else { Invalid::Protocol };
                let ending = ending.as_deref().unwrap_or("still running");
                Err(self.invalid(kind, number, &format!("{what} ({ending})")))
            }
        }
    }

    fn unexpected(&self, number: usize, line: &WorkerLine) -> Failure {
        self.invalid(Invalid::Protocol, number, &format!("sent `{}` out of turn", line.encode().trim_end()))
    }

    fn invalid(&self, kind: Invalid, number: usize, what: &str) -> Failure {
        let log = self.workers.end_of_log(number);
        Failure::Invalid(kind.because(format!("worker {number} {what}{log}")))
    }
}

/// When each worker was last heard during a run, and the deadline of the next event.
struct Listening {
    last_ns: Vec<u64>,
    /// Time for which the tool was awake; `awake_at_last_ns` is the same when each worker was last heard.
    awake_ns: u64,
    awake_at_last_ns: Vec<u64>,
    looked_ns: u64,
    /// Time since the end of the window for which the tool was not awake; since the start if there is no such end.
    still_ns: u64,
    operations: Vec<u64>,
    ended: Vec<bool>,
    /// Deadline of the whole run if its length is known, else of the current operation.
    last_moment_ns: u64,
    length_is_known: bool,
    deadlines: Deadlines,
}

impl Listening {
    /// `end_ns`: the end of the drain, if time ends the run.
    fn new(workers: usize, now_ns: u64, end_ns: Option<u64>, deadlines: Deadlines) -> Self {
        let last_moment_ns = match end_ns {
            Some(end) => end + ns(deadlines.collect),
            None => now_ns + ns(deadlines.operations),
        };
        Self {
            last_ns: vec![now_ns; workers],
            awake_ns: 0,
            awake_at_last_ns: vec![0; workers],
            looked_ns: now_ns,
            still_ns: 0,
            operations: vec![0; workers],
            ended: vec![false; workers],
            last_moment_ns,
            length_is_known: end_ns.is_some(),
            deadlines,
        }
    }

    /// Something came from this worker.
    fn of(&mut self, number: usize, now_ns: u64) {
        self.last_ns[number] = now_ns;
        self.awake_at_last_ns[number] = self.awake_ns;
    }

    /// Notes the time since the last look. In a long gap between two looks the tool or the machine stood still.
    fn look(&mut self, now_ns: u64, window_ends_ns: Option<u64>) {
        let gap_ns = now_ns.saturating_sub(self.looked_ns);
        let awake_ns = gap_ns.min(2 * LOOK_NS);
        self.awake_ns += awake_ns;
        self.still_ns += (gap_ns - awake_ns).min(now_ns.saturating_sub(window_ends_ns.unwrap_or(0)));
        self.looked_ns = now_ns;
    }

    /// Notes for how much of the time that the tool was awake each working worker has been silent.
    fn silences(&self, members: &mut [Member]) {
        for (number, member) in members.iter_mut().enumerate().filter(|(number, _)| !self.ended[*number]) {
            let silence_ns = self.awake_ns - self.awake_at_last_ns[number];
            member.heard.silence_ns = member.heard.silence_ns.max(silence_ns);
        }
    }

    fn all_ended(&self) -> bool {
        self.ended.iter().all(|ended| *ended)
    }

    /// Time by which one of the working workers must send something.
    fn deadline_ns(&self, now_ns: u64) -> u64 {
        let working = self.ended.iter().zip(&self.last_ns).filter(|(ended, _)| !**ended);
        let quiet_since = working.map(|(_, last)| *last).min().unwrap_or(now_ns);
        (quiet_since + ns(self.deadlines.silence)).min(self.last_moment_ns)
    }

    /// Moves the deadline of a run by number of operations, which may go on as long as operations end.
    fn work_goes_on(&mut self, now_ns: u64) {
        if !self.length_is_known {
            self.last_moment_ns = now_ns + ns(self.deadlines.operations);
        }
    }

    /// Notes the operations of one worker; returns the sum over all.
    fn operations_of(&mut self, number: usize, so_far: u64, now_ns: u64) -> u64 {
        if so_far > self.operations[number] {
            self.work_goes_on(now_ns);
        }
        self.operations[number] = so_far;
        self.operations.iter().sum()
    }

    /// The worker that has been silent for the longest time, and the problem in words.
    fn too_late(&self, now_ns: u64) -> (usize, String) {
        let silent = (0..self.ended.len()).filter(|i| !self.ended[*i]).min_by_key(|i| self.last_ns[*i]).unwrap_or(0);
        let over = now_ns >= self.last_moment_ns;
        let what = match self.length_is_known {
            true if over => "did not send its samples in time".to_string(),
            false if over => format!("finished no operation in {:?}", self.deadlines.operations),
            _ => format!("gave no sign of life for {:?}", self.deadlines.silence),
        };
        (silent, what)
    }
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 4)
}

/// The failure if a worker's program does not start. A full disk is not the program's fault: the run stops, and can be
/// resumed.
pub fn not_started(whose: &Whose, error: anyhow::Error) -> Failure {
    match is_full(&error) {
        true => Failure::Fatal(error),
        false => Failure::Invalid(whose.cannot_be_started(&error)),
    }
}

/// Why the tool cannot work with a worker with this `hello`: another version of the protocol.
pub fn hello_problem(hello: &Facts) -> Option<String> {
    let (spoken, known) = (fact(hello, "protocol"), PROTOCOL_VERSION.to_string());
    (spoken != Some(known.as_str()))
        .then(|| format!("speaks protocol {}, this contend speaks {known}", spoken.unwrap_or("none")))
}
