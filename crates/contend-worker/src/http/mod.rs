//! The driver `http` with its model `events`. A client is a connection to a service, and many clients share a thread with its
//! event loop ([`events`]): a service on the same machine loses as little CPU as possible to them. Requests ([`template`])
//! are made before they are due. Answers ([`answer`]) are parsed ([`json`]) only where the plan says so.

pub mod answer;
pub mod cookies;
mod count;
pub mod events;
pub mod json;
pub mod login;
pub mod options;
pub mod responses;
pub mod said;
pub mod shared;
pub mod template;
mod tls;

use crate::kept::Kept;
use crate::run::{Carrier, Event, Member, Ready};
use anyhow::{Result, anyhow, bail, ensure};
use contend_wire::handshake::Facts;
use contend_wire::plan::{Connections, Plan, Step};
use events::Events;
use options::Options;
use shared::Shared;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};

/// Its name.
pub const DRIVER: &str = "http";
/// Its only model.
pub const MODEL: &str = "events";
/// Library and version, for `hello`.
pub const VERSION: &str = "http httparse 1.10.1";

/// Opens all connections and logs in every client, on threads that then wait for the start.
///
/// # Errors
/// What the driver cannot do, or the client that could not be made ready.
pub fn prepare(plan: Plan, events: &Sender<Event>) -> Result<Ready> {
    let options = Options::parse(&plan.head.options)?;
    check(&plan)?;
    let shared = Shared::new(plan, options)?;
    let threads = shared.options.threads.min(shared.plan.clients.len().max(1));
    let (mut handles, mut waiting): (Vec<JoinHandle<()>>, _) = (vec![], vec![]);
    for number in 0..threads {
        let (opened, settings) = channel();
        let (shared, events) = (shared.clone(), events.clone());
        let body = move || loop_thread(&shared, number, threads, &opened, &events);
        handles.push(thread::Builder::new().name(format!("events {number}")).spawn(body)?);
        waiting.push(settings);
    }
    let mut sessions: Vec<(usize, Facts)> = vec![];
    let mut failed = None;
    for settings in waiting {
        match settings.recv().unwrap_or_else(|_| Err(anyhow!("an event loop ended early"))) {
            Ok(facts) => sessions.extend(facts),
            Err(e) => failed = failed.or(Some(e)),
        }
    }
    if let Some(e) = failed {
        shared.control.abandon();
        Carrier::Threads(handles).close()?;
        return Err(e);
    }
    sessions.sort_by_key(|(index, _)| *index);
    let members = shared.members.iter().map(|m| Member { id: m.id, link: Arc::clone(&m.link) }).collect();
    Ok(Ready {
        control: Arc::clone(&shared.control),
        window: shared.plan.head.window,
        members,
        carrier: Carrier::Threads(handles),
        sessions: sessions.into_iter().map(|(_, facts)| facts).collect(),
    })
}

/// Connects the only client of a plan, logs it in, and carries out the first transaction, unless the plan has only the login;
/// returns the kept values.
///
/// # Errors
/// What the driver cannot do, or the failure.
pub fn once(plan: Plan) -> Result<Kept> {
    let options = Options::parse(&plan.head.options)?;
    check(&plan)?;
    ensure!(plan.clients.len() == 1, "one client is needed");
    let shared = Shared::new(plan, options)?;
    let (events, head) = (opened(&shared, &[0])?, &shared.plan.head);
    let is_only_login = head.transactions.len() == usize::from(head.login.is_some());
    if is_only_login { Ok(Kept::new(head)) } else { login::carry_out_once(events, 0) }
}

/// An event loop whose clients are connected and logged in.
///
/// # Errors
/// The client that could not be made ready, and why.
fn opened<'s>(shared: &'s Shared, clients: &[usize]) -> Result<Events<'s>> {
    let mut events = Events::open(shared, clients)?;
    login::log_in(&mut events)?;
    Ok(events)
}

/// The thread of an event loop. It sends the result of opening on `opened`, and the ends of its clients on `events`.
fn loop_thread(
    shared: &Shared,
    number: usize,
    threads: usize,
    opened: &Sender<Result<Vec<(usize, Facts)>>>,
    events: &Sender<Event>,
) {
    let clients: Vec<usize> = (number..shared.plan.clients.len()).step_by(threads).collect();
    let mut ended = vec![false; shared.plan.clients.len()];
    let body = std::panic::AssertUnwindSafe(|| -> Result<()> {
        crate::clock::wake_exactly();
        let mut made = match self::opened(shared, &clients) {
            Ok(made) => made,
            Err(e) => {
                // The receiver is waiting for this.
                let _ = opened.send(Err(e));
                return Ok(());
            }
        };
        let _ = opened.send(Ok(made.facts()));
        let Some(start_ns) = shared.control.wait_for_start() else { return Ok(()) };
        made.run(start_ns, &mut |index, samples, exhausted| {
            ended[index] = true;
            // The receiver may be gone after a failed run.
            let _ = events.send(Event::Ended(index, Ok(samples), exhausted));
        })?;
        let mut said = shared.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.merge(std::mem::take(&mut made.said));
        let mut responses = shared.responses.lock().unwrap_or_else(PoisonError::into_inner);
        responses.merge(std::mem::take(&mut made.responses));
        let responses = responses.facts(&|place| shared.method(place));
        shared.control.report(said.facts().into_iter().chain(responses).collect());
        Ok(())
    });
    let why = match std::panic::catch_unwind(body) {
        Ok(Ok(())) => return,
        Ok(Err(e)) => format!("{e:#}"),
        Err(panic) => crate::run::in_words(panic.as_ref()),
    };
    for index in clients.into_iter().filter(|index| !ended[*index]) {
        shared.members[index].link.pulse.set_loop_over();
        let _ = events.send(Event::Ended(index, Err(why.clone()), false));
    }
}

/// Rejects a plan that this driver cannot carry out.
fn check(plan: &Plan) -> Result<()> {
    let head = &plan.head;
    ensure!(head.model == MODEL, "model {}: driver {DRIVER} has only {MODEL}", head.model);
    ensure!(head.connections == Connections::Client, "model {MODEL}: each client has a connection of its own");
    let sql =
        [("session", head.session.len()), ("readback", head.readbacks.len()), ("statement", head.statements.len())];
    if let Some((kind, _)) = sql.iter().find(|(_, count)| *count > 0) {
        bail!("driver {DRIVER}: a `{kind}` line is SQL, which it does not speak");
    }
    for transaction in &head.transactions {
        let name = &transaction.name;
        for step in &transaction.steps {
            match step {
                Step::Http(_) | Step::Pause { .. } => {}
                Step::Sql(_) => bail!("driver {DRIVER}: `{name}` has SQL, which it does not speak"),
                Step::Hold { .. } => bail!("driver {DRIVER}: `{name}` holds a connection, which has no meaning here"),
                Step::Connect => bail!("driver {DRIVER}: `{name}` has `connect`; use the option connection = close"),
            }
        }
        let sends = transaction.steps.iter().any(|step| matches!(step, Step::Http(_)));
        ensure!(sends, "driver {DRIVER}: `{name}` sends no request");
        ensure!(transaction.begin.is_none(), "driver {DRIVER}: `{name}` has a begin, which is SQL");
    }
    Ok(())
}
