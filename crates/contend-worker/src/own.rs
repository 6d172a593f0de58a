//! The drivers of this worker: how a plan of theirs is made ready.

use crate::clock::monotonic_ns;
use crate::control::Control;
use crate::kit::Kit;
use crate::models::access::Way;
use crate::models::place::Place;
use crate::models::tasks::{Database, Tasks, runtime};
use crate::models::{self, Model, Shared, thread};
use crate::options::{BLOCKING_THREADS, Options, POOL_READERS, TOKIO_THREADS};
use crate::run::{Crew, Event, Link, Member, Outcome, Ready};
use crate::{hello, http, script};
use anyhow::{Result, bail};
use contend_wire::handshake::Facts;
use contend_wire::plan::Plan;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use tokio::runtime::Runtime;

/// The drivers there are.
pub const DRIVERS: &[&str] = &["rusqlite", "postgres", "tokio-postgres", "mysql", "http", "null"];

/// What this worker can do.
pub const KIT: Kit = Kit { hello: || Ok(hello::facts()?), prepare, script: script::carry_out };

/// Opens all connections, one after the other: session statements such as a change of the journal mode are
/// refused when two connections try at once. `events` gets each client's end.
///
/// # Errors
/// What is wrong with the plan's options or with a client, naming it. Nothing stays open.
pub fn prepare(plan: Plan, events: &Sender<Event>) -> Result<Ready> {
    if plan.head.driver == http::DRIVER {
        return http::prepare(plan, events);
    }
    let options = Options::parse(&plan.head.options)?;
    if !DRIVERS.contains(&plan.head.driver.as_str()) {
        bail!("driver {}: this worker has {}", plan.head.driver, DRIVERS.join(", "));
    }
    let model = models::of(&plan, &options)?;
    let plan = Arc::new(plan);
    let control = Arc::new(Control::new(plan.head.window.drain_ns));
    let members = Member::all(&plan);
    let (crew, sessions) = match model {
        Model::Thread => open_threads(&plan, options, &control, &members, events)?,
        Model::Shared(shared) => open_tasks(&plan, shared, options, &control, &members, events)?,
    };
    Ok(Ready { control, window: plan.head.window, members, crew, sessions })
}

fn open_threads(
    plan: &Arc<Plan>,
    options: Options,
    control: &Arc<Control>,
    members: &[Member],
    events: &Sender<Event>,
) -> Result<(Crew, Vec<Facts>)> {
    let (mut threads, mut sessions) = (vec![], vec![]);
    for (index, member) in members.iter().enumerate() {
        match thread::open(plan, index, options, control, &member.link, events) {
            Ok(opened) => {
                threads.push(opened.thread);
                sessions.push(opened.facts);
            }
            Err(e) => {
                control.abandon();
                Crew::Threads(threads).close()?;
                return Err(e);
            }
        }
    }
    Ok((Crew::Threads(threads), sessions))
}

fn open_tasks(
    plan: &Arc<Plan>,
    model: Shared,
    options: Options,
    control: &Arc<Control>,
    members: &[Member],
    events: &Sender<Event>,
) -> Result<(Crew, Vec<Facts>)> {
    let blocking = options.blocking_threads.unwrap_or(BLOCKING_THREADS);
    let blocking = model.uses_blocking_threads().then_some(blocking);
    let runtime = runtime(options.tokio_threads.unwrap_or(TOKIO_THREADS), blocking, control)?;
    let links: Vec<Arc<Link>> = members.iter().map(|member| Arc::clone(&member.link)).collect();
    let open = |runtime: &Runtime, first| open_database(runtime, plan, first, model, options, control);
    let (tasks, sessions) = Tasks::open(runtime, plan, control, &links, events, open)?;
    Ok((Crew::Tasks(Box::new(tasks)), sessions))
}

fn open_database(
    runtime: &Runtime,
    plan: &Arc<Plan>,
    first: usize,
    model: Shared,
    options: Options,
    control: &Arc<Control>,
) -> Result<Database<Way>> {
    let count = if model == Shared::Pool { 1 + options.pool_readers.unwrap_or(POOL_READERS) } else { 1 };
    let (mut opened, mut facts) = (vec![], vec![]);
    let mut interrupts: Vec<Box<dyn Fn()>> = vec![];
    for _ in 0..count {
        let mut one = Place::open(plan, first, options, control)?;
        one.facts.extend(model_facts(model, &options));
        facts.push(one.facts.clone());
        let place = Arc::clone(&one.place);
        interrupts.push(Box::new(move || place.interrupt()));
        opened.push(one);
    }
    let access = Way::new(model, opened);
    let control = Arc::clone(control);
    runtime.block_on(access.on_its_thread(move || control.thread_begins()));
    Ok(Database { access, facts, interrupts })
}

/// The model's own settings, as they took effect.
fn model_facts(model: Shared, options: &Options) -> Facts {
    let mut facts = vec![("tokio_threads", options.tokio_threads.unwrap_or(TOKIO_THREADS))];
    if model.uses_blocking_threads() {
        facts.push(("blocking_threads", options.blocking_threads.unwrap_or(BLOCKING_THREADS)));
    }
    if model == Shared::Pool {
        facts.push(("pool_readers", options.pool_readers.unwrap_or(POOL_READERS)));
    }
    facts.into_iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

/// Prepares and runs a plan at once, for benchmarks and tests.
///
/// # Errors
/// As [`prepare`] and [`Ready::run`].
pub fn run_plan(plan: Plan) -> Result<Outcome> {
    let (sender, events) = channel();
    prepare(plan, &sender)?.run(monotonic_ns(), &events, |_| Ok(()))
}
