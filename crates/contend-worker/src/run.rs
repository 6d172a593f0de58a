//! Running a plan: one thread and connection per client, and the thread that watches over them. It starts
//! them together, reports progress, ends window and drain, and collects the samples.

use crate::client::ClientLoop;
use crate::clock::monotonic_ns;
use crate::control::{Control, Pulse};
use crate::null;
use crate::options::Options;
use crate::sqlite::{self, Cancel, Setup};
use anyhow::{Result, anyhow, bail};
use contend_wire::handshake::Facts;
use contend_wire::plan::{Plan, Window};
use contend_wire::sample::Sample;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often progress is reported.
const PROGRESS_NS: u64 = 200_000_000;
/// How often connections are interrupted again after the drain: an interrupt reaches only what runs.
const INTERRUPT_AGAIN_NS: u64 = 10_000_000;
/// How long after the drain a client may take to return.
const STUCK_NS: u64 = 5_000_000_000;

/// What the tool asks for, with the bytes it announced.
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
    /// A line that is none of these, in words.
    Unreadable(String),
}

/// What reaches the supervising thread.
#[derive(Debug)]
pub enum Event {
    /// From the tool.
    Tool(Request),
    /// A client of the plan, by index, is done: its samples, and whether it ran out of operations.
    Ended(usize, Result<Vec<Sample>, String>, bool),
}

/// What the supervising thread tells during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The clock, as asked for.
    Clock(u64),
    /// Signs of life.
    Progress {
        /// Since the start.
        elapsed_ns: u64,
        /// Operations ended.
        operations: u64,
        /// Of them, those whose last attempt failed.
        failed: u64,
    },
}

/// What a run left behind.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Samples by client, in the plan's order.
    pub samples: Vec<Vec<Sample>>,
    /// Operations ended.
    pub operations: u64,
    /// Of them, those whose last attempt failed.
    pub failed: u64,
    /// Clients that ran out of operations before the window's end.
    pub exhausted: u64,
}

impl Outcome {
    /// All attempts.
    pub fn attempts(&self) -> usize {
        self.samples.iter().map(Vec::len).sum()
    }
}

/// The supervising thread's view of a client.
struct Member {
    id: u32,
    thread: Option<JoinHandle<()>>,
    link: Arc<Link>,
}

/// What a client's thread and the supervising thread share.
#[derive(Default)]
struct Link {
    pulse: Pulse,
    cancel: Cancel,
}

/// A plan whose connections are open and whose clients wait for the start.
pub struct Ready {
    control: Arc<Control>,
    window: Window,
    members: Vec<Member>,
    /// The settings of each connection, in the order of the clients.
    pub sessions: Vec<Facts>,
}

/// Opens every client's connection, one after the other: session statements such as a change of the journal
/// mode are refused when two connections try at once. `events` gets each client's end.
///
/// # Errors
/// What is wrong with the plan's options or with a client, naming it. Nothing stays open.
pub fn prepare(plan: Plan, events: &Sender<Event>) -> Result<Ready> {
    let options = Options::parse(&plan.head.options)?;
    if plan.head.model != "thread" {
        bail!("model {}: this worker has only `thread`", plan.head.model);
    }
    if !matches!(plan.head.driver.as_str(), "rusqlite" | "null") {
        bail!("driver {}: this worker has only `rusqlite` and `null`", plan.head.driver);
    }
    let plan = Arc::new(plan);
    let control = Arc::new(Control::new(plan.head.window.drain_ns));
    let mut ready = Ready { control, window: plan.head.window, members: vec![], sessions: vec![] };
    let opened = open_all(&plan, options, &mut ready, events);
    match opened {
        Ok(()) => Ok(ready),
        Err(e) => {
            ready.abandon();
            Err(e)
        }
    }
}

fn open_all(plan: &Arc<Plan>, options: Options, ready: &mut Ready, events: &Sender<Event>) -> Result<()> {
    for (index, client) in plan.clients.iter().enumerate() {
        let link = Arc::new(Link::default());
        let (opened, settings) = channel();
        let (plan, control, its_link, events) =
            (Arc::clone(plan), Arc::clone(&ready.control), Arc::clone(&link), events.clone());
        let body = move || client_thread(&plan, index, &options, &control, &its_link, &opened, &events);
        let thread = thread::Builder::new().name(format!("client {}", client.id)).spawn(body)?;
        ready.members.push(Member { id: client.id, thread: Some(thread), link });
        let settings = settings.recv().unwrap_or_else(|_| Err(anyhow!("client {} ended early", client.id)))?;
        ready.sessions.push(settings);
    }
    Ok(())
}

/// A client's thread. It says on `opened` how opening went, and on `events` how the run went if there was one.
fn client_thread(
    plan: &Plan,
    index: usize,
    options: &Options,
    control: &Arc<Control>,
    link: &Link,
    opened: &Sender<Result<Facts>>,
    events: &Sender<Event>,
) {
    let mut started = false;
    let body = AssertUnwindSafe(|| {
        let mut client = ClientLoop::new(plan, index, control, &link.pulse);
        let ready = |facts| {
            // The receiver is there: it waits for exactly this.
            let _ = opened.send(Ok(facts));
            let start_ns = control.wait_for_start();
            started = start_ns.is_some();
            start_ns
        };
        let setup = Setup { head: &plan.head, client: &plan.clients[index], options, control, cancel: &link.cancel };
        let run = match plan.head.driver.as_str() {
            "null" => null::drive(&mut client, setup.client.id, ready),
            _ => sqlite::drive(&mut client, setup, ready),
        };
        if let Err(e) = run {
            let _ = opened.send(Err(e));
        }
        client.into_result()
    });
    let (samples, exhausted) = match catch_unwind(body) {
        Ok((samples, exhausted)) => (Ok(samples), exhausted),
        Err(panic) => (Err(in_words(panic.as_ref())), false),
    };
    link.pulse.set_loop_over();
    if started {
        let _ = events.send(Event::Ended(index, samples, exhausted));
    }
}

fn in_words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_string())
}

impl Ready {
    /// Gives up the run: closes all connections.
    pub fn abandon(mut self) {
        self.close();
    }

    fn close(&mut self) {
        self.control.abandon();
        for member in &mut self.members {
            if let Some(thread) = member.thread.take() {
                let _ = thread.join();
            }
        }
    }

    /// Runs the plan from `start_ns` on, answering the tool through `tell` meanwhile, until every client is
    /// done and its connection closed.
    ///
    /// # Errors
    /// A client that did not return although it was interrupted, or whose thread failed; or `tell` failed.
    pub fn run(
        mut self,
        start_ns: u64,
        events: &Receiver<Event>,
        mut tell: impl FnMut(Notice) -> Result<()>,
    ) -> Result<Outcome> {
        self.control.start(start_ns, self.window.end_ns());
        let mut outcome = Outcome { samples: vec![vec![]; self.members.len()], ..Outcome::default() };
        let mut running = self.members.len();
        let mut broken = vec![];
        let mut next_progress_ns = monotonic_ns() + PROGRESS_NS;
        while running > 0 {
            let deadline_ns = next_progress_ns.min(self.next_interrupt_ns());
            let wait_ns = deadline_ns.saturating_sub(monotonic_ns());
            match events.recv_timeout(Duration::from_nanos(wait_ns)) {
                Ok(Event::Ended(index, samples, exhausted)) => {
                    running -= 1;
                    outcome.exhausted += u64::from(exhausted);
                    match samples {
                        Ok(samples) => outcome.samples[index] = samples,
                        Err(e) => broken.push(format!("client {}: {e}", self.members[index].id)),
                    }
                }
                Ok(Event::Tool(request)) => self.answer(request, &mut tell)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => bail!("the tool's requests ended during the run"),
            }
            let now_ns = monotonic_ns();
            if now_ns >= next_progress_ns && running > 0 {
                let (operations, failed) = self.counts();
                tell(Notice::Progress { elapsed_ns: now_ns.saturating_sub(start_ns), operations, failed })?;
                next_progress_ns = now_ns + PROGRESS_NS;
            }
            self.end_drain_if_due(now_ns)?;
        }
        self.close();
        if !broken.is_empty() {
            bail!(broken.join("; "));
        }
        (outcome.operations, outcome.failed) = self.counts();
        Ok(outcome)
    }

    fn answer(&self, request: Request, tell: &mut impl FnMut(Notice) -> Result<()>) -> Result<()> {
        match request {
            Request::Stop => {
                self.control.stop(monotonic_ns());
                self.wake_clients();
            }
            Request::Clock => tell(Notice::Clock(monotonic_ns()))?,
            Request::Quit => bail!("told to quit during the run"),
            other => eprintln!("contend worker: ignored during a run: {other:?}"),
        }
        Ok(())
    }

    fn counts(&self) -> (u64, u64) {
        self.members.iter().map(|m| m.link.pulse.get()).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    fn wake_clients(&self) {
        for thread in self.members.iter().filter_map(|m| m.thread.as_ref()) {
            thread.thread().unpark();
        }
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
        for member in in_loop() {
            if let Some(cancel) = &*member.link.cancel.lock().unwrap_or_else(PoisonError::into_inner) {
                cancel();
            }
        }
        self.wake_clients();
        Ok(())
    }
}

/// Prepares and runs a plan at once, for benchmarks and tests.
///
/// # Errors
/// As [`prepare`] and [`Ready::run`].
pub fn run_plan(plan: Plan) -> Result<Outcome> {
    let (sender, events) = channel();
    prepare(plan, &sender)?.run(monotonic_ns(), &events, |_| Ok(()))
}
