//! Simulated workers with a virtual clock, behind the same trait as processes: seconds of work happen at exact times
//! and take no time.

use super::process::{Event, Nothing};
use super::processes::Workers;
use anyhow::{Result, bail};
use contend_wire::handshake::{Facts, PROTOCOL_VERSION, ToolLine, WorkerLine};
use contend_wire::sample::SAMPLE_BYTES;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

pub const MS: u64 = 1_000_000;
pub const S: u64 = 1_000 * MS;

/// Reading of the virtual clock when a simulation begins.
pub const BEGINNING: u64 = 1_000 * S;

/// What one worker does, and when; times are ns after the line of the tool that causes it.
#[derive(Clone)]
pub struct Behaviour {
    /// `None`: its program cannot be started.
    pub hello: Option<Facts>,
    pub hello_after: u64,
    pub connections: usize,
    pub ready_after: u64,
    /// Time until it reads its clock, and from then until the line arrives.
    pub clock_after: [u64; 2],
    pub clock_off: i64,
    /// Number of slow clock lines before fast ones.
    pub slow_clocks: usize,
    /// Time between two progress lines.
    pub progress_every: u64,
    pub operation_takes: u64,
    /// Length of its work after the start.
    pub works_for: u64,
    /// Time from the end of its work until `done` and samples.
    pub samples_after: u64,
    pub sample_bytes: usize,
    /// Time from then until `end`.
    pub end_after: u64,
    /// Times after the start from which it is silent, or gone.
    pub silent_from: u64,
    pub dies_at: u64,
    /// A line that it sends out of turn, with the time after the start.
    pub says: Option<(u64, WorkerLine)>,
}

impl Default for Behaviour {
    /// A worker that does everything right, for a window of ten seconds.
    fn default() -> Self {
        Self {
            hello: Some(vec![("protocol".to_string(), PROTOCOL_VERSION.to_string())]),
            hello_after: 20 * MS,
            connections: 1,
            ready_after: 10 * MS,
            clock_after: [MS, MS],
            clock_off: 0,
            slow_clocks: usize::MAX,
            progress_every: 100 * MS,
            operation_takes: MS,
            works_for: 11 * S,
            samples_after: 5 * MS,
            sample_bytes: SAMPLE_BYTES,
            end_after: MS,
            silent_from: u64::MAX,
            dies_at: u64::MAX,
            says: None,
        }
    }
}

/// A clock that stands still until something waits for it.
#[derive(Clone, Default)]
pub struct Clock(Rc<Cell<u64>>);

impl Clock {
    pub fn now_ns(&self) -> u64 {
        self.0.get()
    }
}

/// Workers of one simulated trial.
pub struct Simulated {
    pub clock: Clock,
    behaviours: Vec<Behaviour>,
    started: usize,
    clocks_told: Vec<usize>,
    /// Events by time, and in the order in which they were planned.
    due: BTreeMap<(u64, usize), (usize, Event)>,
    /// The clock leaps from the first time to the second, as if the machine had stood still.
    leap: Option<(u64, u64)>,
    dead: Vec<bool>,
    pub told: Rc<Cell<usize>>,
}

impl Simulated {
    pub fn new(behaviours: Vec<Behaviour>) -> Self {
        let clock = Clock::default();
        clock.0.set(BEGINNING);
        let count = behaviours.len();
        Self {
            clock,
            behaviours,
            started: 0,
            clocks_told: vec![0; count],
            due: BTreeMap::new(),
            leap: None,
            dead: vec![false; count],
            told: Rc::default(),
        }
    }

    /// Makes the clock leap by `by` at `at` after the beginning.
    pub fn leaping(mut self, at: u64, by: u64) -> Self {
        self.leap = Some((BEGINNING + at, BEGINNING + at + by));
        self
    }

    fn plan(&mut self, at_ns: u64, number: usize, event: Event) {
        self.due.insert((at_ns, self.due.len() + self.told.get() * 100_000), (number, event));
    }

    fn says(&mut self, at_ns: u64, number: usize, line: WorkerLine) {
        self.plan(at_ns, number, Event::Line(line, at_ns));
    }

    /// Plans the events of a worker after its start.
    fn work(&mut self, number: usize, start_ns: u64) {
        let behaviour = self.behaviours[number].clone();
        let done_ns = behaviour.works_for + behaviour.samples_after;
        let facts = |operations: u64| vec![("operations".to_string(), operations.to_string())];
        let mut all: Vec<(u64, Event)> = vec![];
        let mut line = |at: u64, line| all.push((at, Event::Line(line, start_ns + at)));
        let signs = (1..).map(|n| n * behaviour.progress_every).take_while(|at| *at < behaviour.works_for);
        signs.for_each(|at| line(at, WorkerLine::Progress(facts(at / behaviour.operation_takes))));
        if let Some((at, said)) = &behaviour.says {
            line(*at, said.clone());
        }
        line(done_ns, WorkerLine::Done(facts(behaviour.works_for / behaviour.operation_takes)));
        line(done_ns + behaviour.end_after, WorkerLine::End);
        all.push((done_ns, Event::Samples(vec![0; behaviour.sample_bytes])));
        all.push((done_ns + behaviour.end_after + MS, Event::Broken("closed its output".to_string())));
        all.retain(|(at, _)| *at < behaviour.silent_from.min(behaviour.dies_at));
        if behaviour.dies_at < u64::MAX {
            all.push((behaviour.dies_at, Event::Broken("closed its output".to_string())));
        }
        all.sort_by_key(|(at, _)| *at);
        for (at, event) in all {
            self.plan(start_ns + at, number, event);
        }
    }
}

impl Workers for Simulated {
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn start(&mut self) -> Result<()> {
        self.started += 1;
        if self.behaviours[self.started - 1].hello.is_none() {
            bail!("no such program");
        }
        Ok(())
    }

    fn send(&mut self, number: usize, line: &ToolLine, _: &[Arc<[u8]>]) {
        self.told.set(self.told.get() + 1);
        let (now_ns, behaviour) = (self.now_ns(), self.behaviours[number].clone());
        match line {
            ToolLine::Plan(_) => {
                let hello_ns = now_ns + behaviour.hello_after;
                self.says(hello_ns, number, WorkerLine::Hello(behaviour.hello.unwrap_or_default()));
                for _ in 0..behaviour.connections {
                    self.says(hello_ns, number, WorkerLine::Session(vec![]));
                }
                self.says(hello_ns + behaviour.ready_after, number, WorkerLine::Ready);
            }
            ToolLine::Clock => {
                self.clocks_told[number] += 1;
                let at_once = self.clocks_told[number] > behaviour.slow_clocks;
                let [reads, heard] = if at_once { [0, 0] } else { behaviour.clock_after };
                let reading_ns = (now_ns + reads).saturating_add_signed(behaviour.clock_off);
                self.says(now_ns + reads + heard, number, WorkerLine::Clock(reading_ns));
            }
            ToolLine::Start(start_ns) => self.work(number, *start_ns),
            ToolLine::Script(_) | ToolLine::Stop | ToolLine::Quit => {}
        }
    }

    fn next(&mut self, until_ns: u64, cancelled: &dyn Fn() -> bool) -> Result<(usize, Event), Nothing> {
        loop {
            if cancelled() {
                return Err(Nothing::Cancelled);
            }
            let now_ns = self.now_ns();
            let due = self.due.first_key_value().map(|((at, _), _)| *at);
            if due.is_some_and(|at| at <= now_ns) {
                let (_, (number, event)) = self.due.pop_first().expect("it is due");
                self.dead[number] |= matches!(event, Event::Broken(_));
                return Ok((number, event));
            }
            if now_ns >= until_ns {
                return Err(Nothing::Late);
            }
            // Like the real one, it checks for cancellation from time to time.
            let next_ns = due.unwrap_or(u64::MAX).min(until_ns).min(now_ns + 100 * MS);
            match self.leap {
                Some((at, to)) if next_ns >= at => {
                    self.leap = None;
                    self.clock.0.set(to.max(now_ns));
                    // The workers stood still as well.
                    let later = std::mem::take(&mut self.due).into_iter();
                    self.due = later.map(|((due, order), event)| ((due + (to - at), order), event)).collect();
                }
                _ => self.clock.0.set(next_ns),
            }
        }
    }

    fn death(&mut self, number: usize) -> Option<String> {
        self.dead[number].then(|| "signal: 9 (SIGKILL)".to_string())
    }

    fn end_of_log(&self, _: usize) -> String {
        String::new()
    }

    fn pids(&self) -> Vec<u32> {
        vec![]
    }

    fn dismiss(&mut self) {}
}
