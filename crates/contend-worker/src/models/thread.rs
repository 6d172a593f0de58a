//! The model `thread`: one OS thread for each client, with its own connection. The thread waits for what
//! is due and calls the driver itself; nothing is between them.

use crate::busy;
use crate::client::{ClientLoop, Turn, room_for_samples};
use crate::control::Control;
use crate::driver::Driver;
use crate::kept::Kept;
use crate::models::alone::{Leave, Loop};
use crate::mysql;
use crate::null;
use crate::options::Options;
use crate::postgres::{Connected, crate_postgres, direct};
use crate::run::{Event, Link, Opening, in_words};
use crate::server;
use crate::setup::Setup;
use crate::sqlite::session::SqliteSession;
use crate::sqlite::{SetupError, check_arguments, memory, open_again, open_first, read_back_later, waits, when_free};
use crate::translate;
use anyhow::{Context, Result, anyhow};
use contend_wire::handshake::Facts;
use contend_wire::plan::Plan;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

/// A client's thread, which waits for the start, and the settings of its connection.
pub struct Opened {
    /// To be joined after its `Event::Ended`.
    pub thread: JoinHandle<()>,
    /// As read back.
    pub facts: Facts,
}

/// Starts a client's thread and waits until its connection is open.
///
/// # Errors
/// What went wrong while it was opened.
pub fn open(opening: Opening<'_>, index: usize, options: Options) -> Result<Opened> {
    let Opening { plan, control, members, events } = opening;
    let id = plan.clients[index].id;
    let (opened, settings) = channel();
    let client = Client {
        driver: Driver::of(&plan.head.driver)?,
        plan: Arc::clone(plan),
        index,
        options,
        control: Arc::clone(control),
        link: Arc::clone(&members[index].link),
        opened,
        events: events.clone(),
    };
    let thread = thread::Builder::new().name(format!("client {id}")).spawn(move || client.live())?;
    let facts = settings.recv().unwrap_or_else(|_| Err(anyhow!("client {id} ended early")));
    match facts {
        Ok(facts) => Ok(Opened { thread, facts }),
        Err(e) => {
            let _ = thread.join();
            Err(e)
        }
    }
}

/// Inputs of a client's thread.
struct Client {
    driver: Driver,
    plan: Arc<Plan>,
    index: usize,
    options: Options,
    control: Arc<Control>,
    link: Arc<Link>,
    /// Gets the settings of the connection, or why it could not be opened.
    opened: Sender<Result<Facts>>,
    /// Gets the result of the run, if there was one.
    events: Sender<Event>,
}

impl Client {
    /// The thread, from its first connection to its end.
    fn live(self) {
        let Client { driver, plan, index, options, control, link, opened, events } = &self;
        control.thread_begins();
        let mut started = false;
        let body = AssertUnwindSafe(|| {
            let room = room_for_samples(plan, &plan.clients[*index], driver.engine_runs());
            let mut client = ClientLoop::new(plan, *index, control, &link.pulse, room);
            let ready = |facts| {
                // The receiver is waiting for this.
                let _ = opened.send(Ok(facts));
                let start_ns = control.wait_for_start();
                started = start_ns.is_some();
                start_ns
            };
            let (head, of) = (&plan.head, &plan.clients[*index]);
            let setup = Setup { head, client: of.id, database: of.database, options, control, cancel: &link.cancel };
            let run = match driver {
                Driver::Sqlite => drive(&mut client, &setup, ready),
                Driver::Postgres => server::drive::<Connected<crate_postgres::Blocking>>(&mut client, &setup, ready),
                Driver::TokioPostgres => server::drive::<Connected<direct::Direct>>(&mut client, &setup, ready),
                Driver::Mysql => server::drive::<mysql::Connected>(&mut client, &setup, ready),
                Driver::Translator => translate::drive(&mut client, &setup, ready),
                Driver::Null => null::drive(&mut client, head, control, of.id, ready),
            };
            // Before `ready` an error is the result of opening, afterwards that of the run.
            let run = run.map_err(|e| opened.send(Err(e)).err().map(|unheard| unheard.0));
            match run {
                Err(Some(Err(e))) => Err(format!("{e:#}")),
                _ => Ok(client.into_result()),
            }
        });
        let (samples, exhausted) = match catch_unwind(body) {
            Ok(Ok((samples, exhausted))) => (Ok(samples), exhausted),
            Ok(Err(e)) => (Err(e), false),
            Err(panic) => (Err(in_words(panic.as_ref())), false),
        };
        link.pulse.set_loop_over();
        if started {
            let _ = events.send(Event::Ended(*index, samples, exhausted));
        }
    }
}

/// Runs a client on its own connections. `ready` gets the settings of the first one and returns the start, or `None` if
/// there is no run.
///
/// # Errors
/// What went wrong before `ready`, naming client, database and statement; or, after the run, what kept the data
/// from being written back.
fn drive<'p>(client: &mut ClientLoop<'p>, setup: &Setup<'p>, ready: impl FnOnce(Facts) -> Option<u64>) -> Result<()> {
    let opened = open_first(setup)?;
    let (connection, timeout_ms) = (opened.connection, opened.timeout_ms);
    let first = Before { facts: opened.facts.clone(), timeout_ms };
    let mut kept = client.kept();
    let mut client = Loop { client, head: setup.head, control: setup.control };
    let mut leave = {
        let mut session = SqliteSession::new(&connection, setup).map_err(|e| e.in_words(setup))?;
        check_arguments(&connection, setup)?;
        let Some(start_ns) = ready(opened.facts) else { return Ok(()) };
        client.client.start(start_ns);
        client.run(&mut session, &mut kept, None)
    };
    if matches!(leave, Leave::Finished) {
        look_again(&connection, setup, &first);
    }
    let mut previous = Some(connection);
    while let Leave::Reconnect(turn) = leave {
        drop(previous.take());
        busy::reset();
        leave = match run_on_new_connection(&mut client, &mut kept, turn, setup, &first) {
            Ok(leave) => leave,
            Err(e) => {
                let leave = client.connect_failed(turn, e.into(), waits(setup.options));
                if matches!(leave, Leave::Finished) {
                    look_at_another(setup, &first);
                }
                leave
            }
        };
    }
    client.client.set_loop_over();
    match previous {
        Some(connection) if setup.options.in_memory => memory::store(&connection, setup.path())
            .with_context(|| format!("client {}: cannot write {} back", setup.client, setup.database())),
        _ => Ok(()),
    }
}

/// Facts of a client's first connection, before the run.
struct Before {
    facts: Facts,
    timeout_ms: u32,
}

/// Runs the client on a new connection, which is read back if it is the last one. Errors occur only before the attempt
/// has reached the connection.
fn run_on_new_connection<'p>(
    client: &mut Loop<'_, 'p>,
    kept: &mut Kept,
    turn: Turn,
    setup: &Setup<'p>,
    first: &Before,
) -> Result<Leave, SetupError> {
    let connection = open_again(setup, first.timeout_ms)?;
    let mut session = SqliteSession::in_the_run(&connection, setup);
    let leave = client.run(&mut session, kept, Some(turn));
    if matches!(leave, Leave::Finished) {
        look_again(&connection, setup, first);
        // Closing the connection may take longer than the supervisor waits for the loop.
        client.client.set_loop_over();
    }
    Ok(leave)
}

/// Opens a connection to read back for a client whose last one could not be opened.
fn look_at_another(setup: &Setup<'_>, first: &Before) {
    if let Ok(connection) = when_free(setup.control, || open_again(setup, first.timeout_ms)) {
        look_again(&connection, setup, first);
    }
}

/// Reads back the client's last connection after the measurement, unless it was interrupted.
fn look_again(connection: &rusqlite::Connection, setup: &Setup<'_>, first: &Before) {
    if !setup.control.drain_over() {
        let found = when_free(setup.control, || read_back_later(connection, setup, first.timeout_ms));
        let found = found.map_err(|e| e.in_words(setup));
        setup.control.hold_later(&first.facts, found.as_ref());
    }
}
