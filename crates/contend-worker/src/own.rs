//! The drivers of this worker, and how their plans are prepared.

use crate::clock::monotonic_ns;
use crate::control::Control;
use crate::kit::Kit;
use crate::models::access::Way;
use crate::models::place::Place;
use crate::models::tasks::{Database, Tasks, runtime};
use crate::models::{self, Model, Shared, thread};
use crate::options::{BLOCKING_THREADS, Options, POOL_READERS, TOKIO_THREADS};
use crate::run::{Carrier, Event, Member, Opening, Ready, RunResult};
use crate::serving;
use crate::serving::desk::{Desk, SECRET};
use crate::serving::served::Served;
use crate::{hello, http, script, shim};
use anyhow::{Result, bail};
use contend_wire::handshake::Facts;
use contend_wire::plan::Plan;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use tokio::runtime::Runtime;

/// The drivers of this worker.
pub const DRIVERS: &[&str] =
    &["rusqlite", "postgres", "tokio-postgres", "mysql", "http", "contend-sql", "shim", "null"];

/// The kit of this worker.
pub const KIT: Kit =
    Kit { hello: || Ok(hello::facts(DRIVERS)?), prepare, serve: Some(prepare_to_serve), script: script::carry_out };

/// Opens all connections, one after the other: session statements such as a change of the journal mode are
/// refused when two connections try at once. `events` gets each client's end.
///
/// # Errors
/// What is wrong with the plan's options or with a client, naming it. Nothing stays open.
pub fn prepare(mut plan: Plan, events: &Sender<Event>) -> Result<Ready> {
    if plan.head.driver == http::DRIVER {
        return http::prepare(plan, events);
    }
    shim::redirect(&mut plan.head)?;
    let options = Options::parse(&plan.head.options)?;
    if !DRIVERS.contains(&plan.head.driver.as_str()) {
        bail!("driver {}: this worker has {}", plan.head.driver, DRIVERS.join(", "));
    }
    let model = models::of(&plan, &options)?;
    let plan = Arc::new(plan);
    let control = Arc::new(Control::new(plan.head.window.drain_ns));
    let members = Member::all(&plan);
    let opening = Opening { plan: &plan, control: &control, members: &members, events };
    let (carrier, sessions) = match model {
        Model::Thread => open_threads(opening, options)?,
        Model::Shared(shared) => open_tasks(opening, &Sharing { model: shared, options })?,
    };
    Ok(Ready { control, window: plan.head.window, members, carrier, sessions })
}

/// Opens what the model opens in advance, to serve requests with it.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_to_serve(mut plan: Plan) -> Result<Served> {
    let guarded = |(name, _): &mut (String, String)| name == SECRET;
    let secret = plan.head.options.extract_if(.., guarded).last().map(|(_, secret)| secret);
    shim::redirect(&mut plan.head)?;
    let options = Options::parse(&plan.head.options)?;
    if !DRIVERS.contains(&plan.head.driver.as_str()) {
        bail!("driver {}: this worker has {}", plan.head.driver, DRIVERS.join(", "));
    }
    if plan.head.driver == http::DRIVER {
        bail!("driver {}: it is a client of services and cannot serve", plan.head.driver);
    }
    let model = models::of(&plan, &options)?;
    let desk = Desk::new(plan, secret)?;
    match model {
        Model::Thread => serving::threads::open(desk, options),
        Model::Shared(shared) => {
            let sharing = Sharing { model: shared, options };
            serving::tasks::open(&desk, sharing.tokio_threads(), sharing.blocking_threads(), |runtime| {
                open_database(runtime, &desk.plan, (0, 0), &sharing, &desk.control)
            })
        }
    }
}

/// A model whose clients share connections, with the plan's options for it.
struct Sharing {
    model: Shared,
    options: Options,
}

impl Sharing {
    fn tokio_threads(&self) -> u32 {
        self.options.tokio_threads.unwrap_or(TOKIO_THREADS)
    }

    /// `None` if the model uses no such threads.
    fn blocking_threads(&self) -> Option<u32> {
        let threads = self.options.blocking_threads.unwrap_or(BLOCKING_THREADS);
        self.model.uses_blocking_threads().then_some(threads)
    }

    /// `None` if the model has no pool.
    fn readers(&self) -> Option<u32> {
        (self.model == Shared::Pool).then(|| self.options.pool_readers.unwrap_or(POOL_READERS))
    }

    /// The model's own settings, as they took effect.
    fn facts(&self) -> Facts {
        let facts = [
            ("tokio_threads", Some(self.tokio_threads())),
            ("blocking_threads", self.blocking_threads()),
            ("pool_readers", self.readers()),
        ];
        facts.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?.to_string()))).collect()
    }
}

fn open_threads(opening: Opening<'_>, options: Options) -> Result<(Carrier, Vec<Facts>)> {
    let (mut threads, mut sessions) = (vec![], vec![]);
    for index in 0..opening.members.len() {
        match thread::open(opening, index, options) {
            Ok(opened) => {
                threads.push(opened.thread);
                sessions.push(opened.facts);
            }
            Err(e) => {
                opening.control.abandon();
                Carrier::Threads(threads).close()?;
                return Err(e);
            }
        }
    }
    Ok((Carrier::Threads(threads), sessions))
}

fn open_tasks(opening: Opening<'_>, sharing: &Sharing) -> Result<(Carrier, Vec<Facts>)> {
    let Opening { plan, control, .. } = opening;
    let runtime = runtime(sharing.tokio_threads(), sharing.blocking_threads(), control)?;
    let open = |runtime: &Runtime, first: usize| {
        let of = (plan.clients[first].id, plan.clients[first].database);
        open_database(runtime, plan, of, sharing, control)
    };
    let (tasks, sessions) = Tasks::open(runtime, opening, open)?;
    Ok((Carrier::Tasks(Box::new(tasks)), sessions))
}

fn open_database(
    runtime: &Runtime,
    plan: &Arc<Plan>,
    of: (u32, u32),
    sharing: &Sharing,
    control: &Arc<Control>,
) -> Result<Database<Way>> {
    let count = 1 + sharing.readers().unwrap_or(0);
    let (mut opened, mut facts) = (vec![], vec![]);
    let mut interrupts: Vec<Box<dyn Fn()>> = vec![];
    for _ in 0..count {
        let mut one = Place::open(plan, of, sharing.options, control)?;
        one.facts.extend(sharing.facts());
        facts.push(one.facts.clone());
        let place = Arc::clone(&one.place);
        interrupts.push(Box::new(move || place.interrupt()));
        opened.push(one);
    }
    let access = Way::new(sharing.model, opened);
    let control = Arc::clone(control);
    runtime.block_on(access.on_its_thread(move || control.thread_begins()));
    Ok(Database { access, facts, interrupts })
}

/// Prepares and runs a plan at once, for benchmarks and tests.
///
/// # Errors
/// As [`prepare`] and [`Ready::run`].
pub fn run_plan(plan: Plan) -> Result<RunResult> {
    let (sender, events) = channel();
    prepare(plan, &sender)?.run(monotonic_ns(), &events, |_| Ok(()))
}
