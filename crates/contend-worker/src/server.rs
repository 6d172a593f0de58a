//! Shared code of the drivers of database servers: passwords, running a client on its own connections, and interrupting
//! a statement without blocking the supervising thread.

use crate::client::ClientLoop;
use crate::connection::{Connection, OpenError, RECONNECT_PAUSE, ServerSession, When};
use crate::failure::Failure;
use crate::models::alone::{Leave, Loop};
use crate::session::Waits;
use crate::setup::Setup;
use anyhow::{Result, bail};
use contend_wire::database::{Address, Database, Password};
use contend_wire::handshake::Facts;
use contend_wire::plan::Step;
use contend_wire::sample::worker_code;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Shortest time between two interrupts of a connection: each one opens another connection.
const INTERRUPT_EVERY_MS: u64 = 100;

/// Longest time for a server to accept a connection.
pub const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Runs a client on its own connections. `ready` gets the settings of the first one and returns the start, or `None` if
/// there is no run.
///
/// # Errors
/// What went wrong before `ready`, naming client, database and statement.
pub fn drive<'p, C: Connection>(
    client: &mut ClientLoop<'p>,
    setup: &Setup<'p>,
    ready: impl FnOnce(Facts) -> Option<u64>,
) -> Result<()> {
    let words = |e: OpenError| e.in_words(setup);
    let mut session = ServerSession::<C>::open(setup, When::BeforeTheRun).map_err(words)?;
    let mut facts = vec![("client".to_string(), setup.client.to_string())];
    facts.extend(session.read_back().map_err(words)?);
    let mut kept = client.kept();
    let Some(start_ns) = ready(facts.clone()) else { return Ok(()) };
    client.start(start_ns);
    let mut client = Loop { client, head: setup.head, control: setup.control };
    let mut leave = client.run(&mut session, &mut kept, None);
    if matches!(leave, Leave::Finished) {
        session.look_again(&facts);
        // Closing the connection may take longer than the supervisor waits for the loop.
        client.client.set_loop_over();
    }
    drop(session);
    while let Leave::Reconnect(turn) = leave {
        leave = match ServerSession::<C>::open(setup, When::InTheRun) {
            Ok(mut session) => {
                let leave = client.run(&mut session, &mut kept, Some(turn));
                if matches!(leave, Leave::Finished) {
                    session.look_again(&facts);
                    client.client.set_loop_over();
                }
                leave
            }
            Err(e) => {
                std::thread::sleep(RECONNECT_PAUSE);
                client.connect_failed(turn, e.failure, Waits::UNKNOWN)
            }
        };
    }
    client.client.set_loop_over();
    Ok(())
}

/// Checks that each step has one argument for every placeholder, and keeps only existing columns. `columns` is `None`
/// if they are unknown before the statement runs.
///
/// # Errors
/// The mismatch, in words.
pub fn check_statement(setup: &Setup<'_>, index: usize, placeholders: usize, columns: usize) -> Result<(), OpenError> {
    let sql = &setup.head.statements[index].sql;
    let wrong =
        |message: String| Err(OpenError { what: sql.clone(), failure: Failure::worker(worker_code::VALUE), message });
    let steps = setup.head.transactions.iter().flat_map(|t| &t.steps).filter_map(|step| match step {
        Step::Sql(step) if step.statement as usize == index => Some(step),
        _ => None,
    });
    for step in steps {
        let found = step.args.len();
        if placeholders != found {
            return wrong(format!("it has {placeholders} placeholders, the plan brings {found} arguments"));
        }
        if let Some(keep) = step.keep.iter().find(|keep| usize::from(keep.column) >= columns) {
            return wrong(format!("it has {columns} columns, the plan keeps column {}", keep.column));
        }
    }
    Ok(())
}

/// Gives the supervising thread a way to interrupt a connection. `interrupt` runs on its own thread: it opens a second
/// connection, and a hanging server must block only that thread.
pub fn interrupt_with(setup: &Setup<'_>, interrupt: impl Fn() + Send + Sync + 'static) {
    let interrupt = Arc::new(interrupt);
    let (opened, last_ms) = (Instant::now(), AtomicU64::new(0));
    let cancel = move || {
        let now_ms = opened.elapsed().as_millis() as u64 + INTERRUPT_EVERY_MS;
        if now_ms - last_ms.load(Relaxed) >= INTERRUPT_EVERY_MS {
            last_ms.store(now_ms, Relaxed);
            let interrupt = Arc::clone(&interrupt);
            // If no thread can be started, the next interrupt tries again.
            let _ = std::thread::Builder::new().name("interrupt".into()).spawn(move || interrupt());
        }
    };
    setup.cancel.set(cancel);
}

/// The password of an address; `None` if it needs none.
///
/// # Errors
/// It cannot be read from where the address says.
pub fn password(address: &Address) -> Result<Option<String>> {
    match &address.password {
        Password::None => Ok(None),
        Password::Env(name) => match std::env::var(name) {
            Ok(password) => Ok(Some(password)),
            Err(_) => bail!("the password is expected in the variable {name}, which is not set"),
        },
        Password::File(path) => match std::fs::read_to_string(path) {
            Ok(text) => Ok(Some(text.lines().next().unwrap_or_default().to_string())),
            Err(e) => bail!("the password is expected in {path}, which cannot be read: {e}"),
        },
    }
}

/// The server a database is on, with the password.
///
/// # Errors
/// The database is on no server, or the password is not there.
pub fn address(database: &Database) -> Result<(&Address, Option<String>), OpenError> {
    let address = database.server().map_err(anyhow::Error::msg);
    let found = address.and_then(|address| Ok((address, password(address)?)));
    found.map_err(|e| OpenError {
        what: "connect".to_string(),
        failure: Failure::worker(worker_code::DRIVER),
        message: format!("{e:#}"),
    })
}

/// Prints the first errors without a code of the engine on standard error.
#[cold]
pub fn tell_of_driver_error(driver: &str, error: &dyn std::fmt::Display) {
    static PRINTED: AtomicU32 = AtomicU32::new(0);
    const PRINTED_AT_MOST: u32 = 20;
    if PRINTED.fetch_add(1, Relaxed) < PRINTED_AT_MOST {
        eprintln!("contend worker: an error of {driver} itself: {error}");
    }
}
