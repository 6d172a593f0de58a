//! Workers behind a trait: lines go to them, events come from them, and a clock runs. Real workers are processes; tests
//! have simulated workers with a virtual clock.

use crate::check::heard::Stopped;
use crate::trial::clock::monotonic_ns;
use crate::trial::watch::janitor::Janitor;
use crate::trial::workers::process::{Event, Launch, Nothing, Worker, next};
use anyhow::Result;
use contend_wire::handshake::ToolLine;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Time between `quit` and the kill.
const LEAVE_TIME: Duration = Duration::from_secs(2);

/// Deadlines for workers.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// Until `ready`: parsing the plan, opening connections.
    pub ready: Duration,
    /// Longest silence while it works.
    pub silence: Duration,
    /// From the end of the drain until all samples have arrived.
    pub collect: Duration,
    /// Longest time without a finished operation, in a trial by number of operations.
    pub operations: Duration,
    /// For checking the data of one database afterwards: its invariants and the engine's integrity check.
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

/// Deadlines, janitor and cancellation for supervising workers.
#[derive(Clone, Copy)]
pub struct Supervision<'a> {
    pub janitor: &'a Janitor,
    pub deadlines: Deadlines,
    /// Whether the user wants to stop.
    pub cancelled: &'a dyn Fn() -> bool,
}

/// Workers of one trial, numbered from 0 in the order of their start.
pub trait Workers {
    /// The tool's clock.
    fn now_ns(&self) -> u64;

    /// Starts the next worker.
    ///
    /// # Errors
    /// Its program cannot be started.
    fn start(&mut self) -> Result<()>;

    /// Sends a line and its frame.
    fn send(&mut self, number: usize, line: &ToolLine, pieces: &[Arc<[u8]>]);

    /// Waits until `until_ns` for the next event; returns it with its worker's number.
    ///
    /// # Errors
    /// Why there is none.
    fn next(&mut self, until_ns: u64, cancelled: &dyn Fn() -> bool) -> Result<(usize, Event), Nothing>;

    /// How a worker that closed its output ended; `None` if it still runs.
    fn death(&mut self, number: usize) -> Option<String>;

    /// The last lines of its log, for messages; empty if there is no log.
    fn end_of_log(&self, number: usize) -> String;

    fn pids(&self) -> Vec<u32>;

    /// How often a signal has stopped a worker so far.
    fn stopped(&self, _number: usize) -> Stopped {
        Stopped::default()
    }

    /// Ends all workers.
    fn dismiss(&mut self);
}

/// Workers that are processes.
pub struct Processes<'a> {
    launch: Launch,
    logs: PathBuf,
    workers: Vec<Worker>,
    events: Receiver<(u32, Event)>,
    sender: Sender<(u32, Event)>,
    janitor: &'a Janitor,
}

impl<'a> Processes<'a> {
    pub fn new(launch: Launch, logs: &Path, janitor: &'a Janitor) -> Self {
        let (sender, events) = channel();
        Self { launch, logs: logs.to_path_buf(), workers: vec![], events, sender, janitor }
    }
}

impl Workers for Processes<'_> {
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }

    fn start(&mut self) -> Result<()> {
        let number = self.workers.len();
        let log = self.logs.join(format!("worker-{number}.log"));
        let worker = Worker::start(&self.launch, number as u32, &log, self.sender.clone())?;
        self.janitor.group_lives(worker.pid());
        self.workers.push(worker);
        Ok(())
    }

    fn send(&mut self, number: usize, line: &ToolLine, pieces: &[Arc<[u8]>]) {
        self.workers[number].send_frame(line, pieces);
    }

    fn next(&mut self, until_ns: u64, cancelled: &dyn Fn() -> bool) -> Result<(usize, Event), Nothing> {
        let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
        next(&self.events, Instant::now() + left, cancelled).map(|(number, event)| (number as usize, event))
    }

    fn death(&mut self, number: usize) -> Option<String> {
        self.workers[number].death_after_output()
    }

    fn end_of_log(&self, number: usize) -> String {
        self.workers.get(number).map(Worker::end_of_log).unwrap_or_default()
    }

    fn pids(&self) -> Vec<u32> {
        self.workers.iter().map(Worker::pid).collect()
    }

    fn stopped(&self, number: usize) -> Stopped {
        self.workers[number].stops.so_far()
    }

    fn dismiss(&mut self) {
        for worker in &self.workers {
            worker.tell(&ToolLine::Quit);
        }
        for mut worker in self.workers.drain(..) {
            let pid = worker.pid();
            worker.quit(LEAVE_TIME);
            self.janitor.group_gone(pid);
        }
    }
}

impl Drop for Processes<'_> {
    fn drop(&mut self) {
        for mut worker in self.workers.drain(..) {
            let pid = worker.pid();
            worker.kill();
            self.janitor.group_gone(pid);
        }
    }
}
