//! Runs a plan: the plan's model opens the clients, and the supervising thread starts them together, reports progress,
//! ends window and drain, and collects the samples. It does not depend on the clients' threads, so a blocked runtime
//! cannot delay it.

use crate::clock::monotonic_ns;
use crate::control::{Cancel, Control, Pulse};
use anyhow::{Result, bail};
use contend_wire::handshake::Facts;
use contend_wire::plan::{Plan, Window};
use contend_wire::sample::Sample;
use std::any::Any;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often progress is reported.
const PROGRESS_NS: u64 = 200_000_000;
/// How often connections are interrupted again after the drain: an interrupt reaches only what runs.
const INTERRUPT_AGAIN_NS: u64 = 10_000_000;
/// How long a client may take to return after the drain.
const STUCK_NS: u64 = 5_000_000_000;

/// A request of the tool, with its frame.
#[derive(Debug)]
pub enum Request {
    /// A plan to prepare.
    Plan(Vec<u8>),
    /// A script to carry out.
    Script(Vec<u8>),
    /// The clock.
    Clock,
    /// Begin the run.
    Start(u64),
    /// End the window now.
    Stop,
    /// Leave.
    Quit,
    /// A line that cannot be read, with the error.
    Unreadable(String),
}

/// Events for the supervising thread.
#[derive(Debug)]
pub enum Event {
    /// From the tool.
    Tool(Request),
    /// A client of the plan, by index, has ended: its samples, and whether it ran out of operations.
    Ended(usize, Result<Vec<Sample>, String>, bool),
}

/// What the supervising thread reports during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The requested reading of the clock.
    Clock(u64),
    /// Progress.
    Progress {
        /// Since the start.
        elapsed_ns: u64,
        /// Operations ended.
        operations: u64,
        /// Operations whose last attempt failed.
        failed: u64,
    },
}

/// Results of a run.
#[derive(Debug, Default)]
pub struct RunResult {
    /// Samples by client, in the plan's order.
    pub samples: Vec<Vec<Sample>>,
    /// Operations ended.
    pub operations: u64,
    /// Operations whose last attempt failed.
    pub failed: u64,
    /// Clients that ran out of operations before the window's end.
    pub exhausted: u64,
    /// Facts in addition to these accounts.
    pub reported: Facts,
}

impl RunResult {
    /// All attempts.
    pub fn attempts(&self) -> usize {
        self.samples.iter().map(Vec::len).sum()
    }
}

/// The supervising thread's view of a client.
pub struct Member {
    /// Its number.
    pub id: u32,
    /// Shared state.
    pub link: Arc<Link>,
}

impl Member {
    /// All clients of a plan.
    pub fn all(plan: &Plan) -> Vec<Self> {
        plan.clients.iter().map(|client| Self { id: client.id, link: Arc::default() }).collect()
    }
}

/// State shared by a client and the supervising thread.
#[derive(Default)]
pub struct Link {
    /// Its progress.
    pub pulse: Pulse,
    /// Interrupts its own connection.
    pub cancel: Cancel,
}

/// The clients of a plan, before their connections are opened.
#[derive(Clone, Copy)]
pub struct Opening<'a> {
    /// The plan.
    pub plan: &'a Arc<Plan>,
    /// The window.
    pub control: &'a Arc<Control>,
    /// The clients, in the plan's order.
    pub members: &'a [Member],
    /// Gets each client's end.
    pub events: &'a Sender<Event>,
}

/// Clients that are tasks of a runtime, with their shared state.
pub trait Carried {
    /// Interrupts whatever the connections are doing.
    fn interrupt(&self);

    /// Reads back the connections. All tasks have ended.
    fn look_again(&self);

    /// Closes connections and runtime. All tasks have ended, or wait for a start that will not come.
    ///
    /// # Errors
    /// Data could not be written back.
    fn close(self: Box<Self>) -> Result<()>;
}

/// How the clients of a plan are run.
pub enum Carrier {
    /// A thread each.
    Threads(Vec<JoinHandle<()>>),
    /// Tasks of a runtime.
    Tasks(Box<dyn Carried>),
}

impl Carrier {
    /// Reads back the connections of clients that share them; all have ended. Threads have read back their own.
    fn look_again(&self) {
        if let Carrier::Tasks(tasks) = self {
            tasks.look_again();
        }
    }

    /// Waits until everything is closed; all clients have ended, or never started.
    ///
    /// # Errors
    /// Data could not be written back.
    pub fn close(self) -> Result<()> {
        match self {
            Carrier::Threads(threads) => {
                // A panic was reported when the client ended.
                threads.into_iter().for_each(|thread| drop(thread.join()));
                Ok(())
            }
            Carrier::Tasks(tasks) => tasks.close(),
        }
    }
}

/// A plan whose connections are open and whose clients wait for the start.
pub struct Ready {
    /// The window.
    pub control: Arc<Control>,
    /// Window of the plan.
    pub window: Window,
    /// The clients, in the plan's order.
    pub members: Vec<Member>,
    /// Threads or tasks that run them.
    pub carrier: Carrier,
    /// The settings of each connection, in the order of the clients that use them first.
    pub sessions: Vec<Facts>,
}

/// Message of a panic.
pub fn in_words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_string())
}

impl Ready {
    /// Gives up the run: closes all connections.
    pub fn abandon(self) {
        self.control.abandon();
        // Nothing was written, so nothing can be lost.
        let _ = self.carrier.close();
    }

    /// Runs the plan from `start_ns` on, answering the tool through `send` meanwhile, until every client is
    /// done and its connection closed.
    ///
    /// # Errors
    /// A client that did not return although it was interrupted, or whose thread or task failed; data in memory
    /// that could not be written back; or `send` failed.
    pub fn run(
        self,
        start_ns: u64,
        events: &Receiver<Event>,
        mut send: impl FnMut(Notice) -> Result<()>,
    ) -> Result<RunResult> {
        self.control.start(start_ns, self.window.end_ns());
        let mut result = RunResult { samples: vec![vec![]; self.members.len()], ..RunResult::default() };
        let mut running = self.members.len();
        let mut broken = vec![];
        let mut next_progress_ns = monotonic_ns() + PROGRESS_NS;
        while running > 0 {
            let deadline_ns = next_progress_ns.min(self.next_interrupt_ns());
            let wait_ns = deadline_ns.saturating_sub(monotonic_ns());
            match events.recv_timeout(Duration::from_nanos(wait_ns)) {
                Ok(Event::Ended(index, samples, exhausted)) => {
                    running -= 1;
                    result.exhausted += u64::from(exhausted);
                    match samples {
                        Ok(samples) => result.samples[index] = samples,
                        Err(e) => broken.push(format!("client {}: {e}", self.members[index].id)),
                    }
                }
                Ok(Event::Tool(request)) => self.answer(request, &mut send)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => bail!("the tool's requests ended during the run"),
            }
            let now_ns = monotonic_ns();
            if now_ns >= next_progress_ns && running > 0 {
                let (operations, failed) = self.counts();
                send(Notice::Progress { elapsed_ns: now_ns.saturating_sub(start_ns), operations, failed })?;
                next_progress_ns = now_ns + PROGRESS_NS;
            }
            self.end_drain_if_due(now_ns)?;
        }
        (result.operations, result.failed) = self.counts();
        // All clients have ended; closing connections may take time.
        let elapsed_ns = monotonic_ns().saturating_sub(start_ns);
        send(Notice::Progress { elapsed_ns, operations: result.operations, failed: result.failed })?;
        self.carrier.look_again();
        let closed = self.carrier.close();
        result.reported = self.control.reported();
        if !broken.is_empty() {
            bail!(broken.join("; "));
        }
        closed?;
        Ok(result)
    }

    fn answer(&self, request: Request, send: &mut impl FnMut(Notice) -> Result<()>) -> Result<()> {
        match request {
            Request::Stop => {
                self.control.stop(monotonic_ns());
                self.control.wake();
            }
            Request::Clock => send(Notice::Clock(monotonic_ns()))?,
            Request::Quit => bail!("asked to quit during the run"),
            other => eprintln!("contend worker: ignored during a run: {other:?}"),
        }
        Ok(())
    }

    fn counts(&self) -> (u64, u64) {
        self.members.iter().map(|m| m.link.pulse.get()).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// When the drain ends, or when to interrupt again.
    fn next_interrupt_ns(&self) -> u64 {
        if self.control.drain_over() { monotonic_ns() + INTERRUPT_AGAIN_NS } else { self.control.drain_end_ns() }
    }

    fn end_drain_if_due(&self, now_ns: u64) -> Result<()> {
        let drain_end_ns = self.control.drain_end_ns();
        if now_ns < drain_end_ns {
            return Ok(());
        }
        self.control.end_drain();
        let in_loop = || self.members.iter().filter(|m| !m.link.pulse.loop_over());
        let stuck = now_ns >= drain_end_ns.saturating_add(STUCK_NS);
        if let Some(member) = in_loop().next().filter(|_| stuck) {
            bail!("client {} did not return 5 s after it was interrupted", member.id);
        }
        match &self.carrier {
            Carrier::Threads(_) => in_loop().for_each(|member| member.link.cancel.call()),
            Carrier::Tasks(tasks) if in_loop().next().is_some() => tasks.interrupt(),
            Carrier::Tasks(_) => {}
        }
        self.control.wake();
        Ok(())
    }
}
