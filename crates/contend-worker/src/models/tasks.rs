//! Clients as tasks on a Tokio runtime. A task reads the clock itself when it runs, so delays of the runtime are part
//! of the response time (due to finished) but not of the service time.

use crate::attempt::Failed;
use crate::client::{ClientLoop, EngineRuns, room_for_samples};
use crate::clock::monotonic_ns;
use crate::control::Control;
use crate::failure::INTERRUPT;
use crate::models::job::{Job, Part, parts};
use crate::run::{Carried, Event, Link, Opening};
use anyhow::{Context, Result};
use contend_wire::handshake::Facts;
use contend_wire::plan::Plan;
use contend_wire::sample::{NOT_MEASURED, Sample};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, timeout_at};

/// A client's access to the connections of its database, in which the models differ. Each client has one.
pub trait Access: Clone + Send + Sync + 'static {
    /// Whether the driver measures waits for locks.
    const MEASURES_LOCK_WAIT: bool = true;

    /// Carries out a job with the connection, and returns it.
    ///
    /// # Errors
    /// The driver's code panicked, or its threads have ended.
    fn call(&self, job: Box<Job>) -> impl Future<Output = Result<Box<Job>>> + Send;

    /// Reads back the connections that were opened after the start, when no client holds any of them.
    fn look_again(&self) -> impl Future<Output = ()> + Send;

    /// Finishes and closes the connections after a run, when no other client has access to them.
    ///
    /// # Errors
    /// What was done could not be kept.
    fn close(self) -> impl Future<Output = Result<()>> + Send;
}

/// The connections of one database, as a model has opened them.
pub struct Database<A> {
    /// Access to them.
    pub access: A,
    /// The settings of each.
    pub facts: Vec<Facts>,
    /// Interrupts each of them.
    pub interrupts: Vec<Box<dyn Fn()>>,
}

/// The runtime with its clients, and the connections they share.
pub struct Tasks<A> {
    /// `None` once it was shut down.
    runtime: Option<Runtime>,
    interrupts: Vec<Box<dyn Fn()>>,
    databases: Vec<A>,
}

/// What the clients of a plan share.
struct Common {
    plan: Arc<Plan>,
    control: Arc<Control>,
    /// The parts of each transaction of the plan.
    parts: Vec<Vec<Part>>,
    /// If false, no attempt has a lock wait, even if it never got a connection.
    lock_wait_measured: bool,
}

impl<A: Access> Tasks<A> {
    /// Opens the connections of each database that the plan's clients use, with `open`, which gets the index of the
    /// first of them; and a task for each client, which waits for the start. Also returns the settings of each
    /// connection.
    ///
    /// # Errors
    /// What went wrong while a connection was opened.
    pub fn open(
        runtime: Runtime,
        opening: Opening<'_>,
        mut open: impl FnMut(&Runtime, usize) -> Result<Database<A>>,
    ) -> Result<(Self, Vec<Facts>)> {
        let Opening { plan, control, members, events } = opening;
        let mut tasks = Tasks { runtime: Some(runtime), interrupts: vec![], databases: vec![] };
        let mut facts = vec![];
        let mut ways: BTreeMap<u32, A> = BTreeMap::new();
        for (index, client) in plan.clients.iter().enumerate() {
            if let Entry::Vacant(free) = ways.entry(client.database) {
                let opened = open(tasks.runtime(), index)?;
                facts.extend(opened.facts);
                tasks.interrupts.extend(opened.interrupts);
                tasks.databases.push(free.insert(opened.access).clone());
            }
        }
        let parts = plan.head.transactions.iter().map(parts).collect();
        let off = |(name, value): &(String, String)| name == "lock_wait" && value == "off";
        let lock_wait_measured = A::MEASURES_LOCK_WAIT && !plan.head.options.iter().any(off);
        let common =
            Arc::new(Common { plan: Arc::clone(plan), control: Arc::clone(control), parts, lock_wait_measured });
        for (index, (client, member)) in plan.clients.iter().zip(members).enumerate() {
            let farewell = Farewell { events: events.clone(), link: Arc::clone(&member.link), index, said: false };
            let (access, room) = (ways[&client.database].clone(), room_for_samples(plan, client, EngineRuns::Here));
            let task = client_task(Arc::clone(&common), index, access, room, farewell);
            tasks.runtime().spawn(task);
        }
        Ok((tasks, facts))
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("the runtime lives until it is closed")
    }
}

impl<A: Access> Carried for Tasks<A> {
    fn interrupt(&self) {
        self.interrupts.iter().for_each(|interrupt| interrupt());
    }

    fn look_again(&self) {
        self.databases.iter().for_each(|access| self.runtime().block_on(access.look_again()));
    }

    fn close(mut self: Box<Self>) -> Result<()> {
        let mut closed = Ok(());
        for access in std::mem::take(&mut self.databases) {
            closed = closed.and(self.runtime().block_on(access.close()));
        }
        // Ends the tasks that never started, and with them the last accesses to the connections.
        drop(self.runtime.take());
        closed
    }
}

impl<A> Drop for Tasks<A> {
    fn drop(&mut self) {
        // It was not closed: a task is stuck, and must not be waited for.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A runtime whose threads are woken when the window ends.
///
/// # Errors
/// Its threads cannot be started.
pub fn runtime(tokio_threads: u32, blocking_threads: Option<u32>, control: &Arc<Control>) -> Result<Runtime> {
    builder(tokio_threads, blocking_threads, control).build().context("cannot make a Tokio runtime")
}

/// Builder of such a runtime, which has timers and no sockets.
pub fn builder(tokio_threads: u32, blocking_threads: Option<u32>, control: &Arc<Control>) -> Builder {
    let (begins, ends) = (Arc::clone(control), Arc::clone(control));
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(tokio_threads as usize)
        .thread_name("tokio")
        .enable_time()
        .on_thread_start(move || begins.thread_begins())
        .on_thread_stop(move || ends.thread_ends());
    if let Some(threads) = blocking_threads {
        builder.max_blocking_threads(threads as usize);
    }
    builder
}

/// Reports to the supervising thread how a client ended, even if its task panics.
struct Farewell {
    events: Sender<Event>,
    link: Arc<Link>,
    index: usize,
    said: bool,
}

impl Farewell {
    fn say(&mut self, samples: Result<Vec<Sample>, String>, exhausted: bool) {
        self.said = true;
        self.link.pulse.set_loop_over();
        // The receiver may be gone after a failed run.
        let _ = self.events.send(Event::Ended(self.index, samples, exhausted));
    }
}

impl Drop for Farewell {
    fn drop(&mut self) {
        if !self.said {
            self.say(Err("its task did not come to its end".to_string()), false);
        }
    }
}

/// A client's task. It drops its access to the connection before it reports its end.
async fn client_task(
    common: Arc<Common>,
    index: usize,
    access: impl Access,
    room: Vec<Sample>,
    mut farewell: Farewell,
) {
    let (plan, control) = (&common.plan, &common.control);
    let link = Arc::clone(&farewell.link);
    let mut client = ClientLoop::new(plan, index, control, &link.pulse, room);
    let job = Job::new(plan, control, index);
    let Some(start_ns) = control.started().await else {
        farewell.said = true;
        return;
    };
    client.start(start_ns);
    let done = work(&mut client, &common, &access, job).await;
    drop(access);
    let (samples, exhausted) = client.into_result();
    farewell.say(done.map(|()| samples).map_err(|e| format!("{e:#}")), exhausted);
}

async fn work(client: &mut ClientLoop<'_>, common: &Common, access: &impl Access, mut job: Box<Job>) -> Result<()> {
    while let Some(mut turn) = client.next_turn() {
        let now_ns = wait_until(&common.control, turn.not_before_ns, || client.in_vain(&turn)).await;
        if !client.begin(&mut turn, now_ns) {
            continue;
        }
        job.attempt(&turn, client);
        let parts = &common.parts[usize::from(client.transaction(&turn))];
        job = carry_out(parts, &common.control, access, job).await?;
        let finished_ns = monotonic_ns();
        if !common.lock_wait_measured {
            job.waits.lock_ns = NOT_MEASURED;
        }
        client.end_attempt(turn, job.outcome, job.rows, job.waits, finished_ns);
        // Between two operations the runtime may take another task, as in any program that awaits something there.
        // A call that never waits (`direct`) would keep its thread for good.
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Carries out an attempt, part by part, until one fails.
///
/// # Errors
/// As [`Access::call`].
pub async fn carry_out(parts: &[Part], control: &Control, access: &impl Access, mut job: Box<Job>) -> Result<Box<Job>> {
    for (i, part) in parts.iter().enumerate() {
        match part {
            Part::Call(steps) => {
                if i > 0 {
                    job.asked_ns = monotonic_ns();
                }
                job.steps = steps.clone();
                job = access.call(job).await?;
            }
            Part::Pause(step, ns) => {
                let until_ns = monotonic_ns().saturating_add(*ns);
                let over = || control.drain_over();
                if wait_until(control, until_ns, over).await < until_ns {
                    job.outcome = Err(Failed { step: *step, failure: INTERRUPT });
                }
            }
        }
        if job.outcome.is_err() {
            break;
        }
    }
    Ok(job)
}

/// Waits until the clock reads `until_ns` or `stop` holds, and returns the reading. Tokio's timer counts in
/// milliseconds and fires late rather than early, as in any program that uses it.
pub async fn wait_until(control: &Control, until_ns: u64, stop: impl Fn() -> bool) -> u64 {
    // Longer than any run, and short enough to be added to any instant.
    const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
    let mut now_ns = monotonic_ns();
    while now_ns < until_ns {
        let moved = control.moved();
        if stop() {
            break;
        }
        let at = Instant::now() + Duration::from_nanos(until_ns - now_ns).min(LONGEST);
        // In both cases the condition is checked again.
        let _ = timeout_at(at, moved).await;
        now_ns = monotonic_ns();
    }
    now_ns
}
