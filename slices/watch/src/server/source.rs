//! The source for servers: a thread that queries a server repeatedly over one connection.

use super::finding::{Finding, findings};
use super::history::History;
use super::look::Look;
use super::{mariadb, postgres};
use crate::watch::now_ns;
use anyhow::{Context, Result, bail};
use contend::trial::server::attached::Attached;
use contend::trial::watch::janitor::Janitor;
use contend::workload::sql::asked;
use contend_wire::database::Database;
use contend_wire::script::Target;
use contend_worker::script::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

/// Interval between two queries for clients, and between two for counters.
pub const EVERY: Duration = Duration::from_millis(50);
const COUNTERS_EVERY: Duration = Duration::from_secs(1);
/// After each query the thread pauses this many times as long, so queries take at most a tenth of the time.
const PAUSES: u32 = 9;
/// Longest time until the first answer.
const FIRST: Duration = Duration::from_secs(30);

/// A product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Product {
    Postgres,
    MariaDb,
}

/// Facts known before the first look.
struct Greeting {
    version: String,
    missing: Vec<String>,
}

enum Message {
    Greeting(Greeting),
    Look(Look),
    /// The connection has ended, with the reason.
    Gone(String),
}

/// A watched server.
pub struct Server {
    /// Without password.
    pub address: String,
    pub version: String,
    pub history: History,
    /// Why there are no further looks.
    pub gone: Option<String>,
    missing: Vec<String>,
    messages: Receiver<Message>,
    stop: Arc<AtomicBool>,
    /// Keeps the password file during the watch; the janitor removes it after a kill.
    _secret: (Attached, Janitor),
}

impl Server {
    /// Starts watching the server of an address in the form of `--dsn`.
    ///
    /// # Errors
    /// The address is wrong (the error does not contain it); the server cannot be reached, or shows nothing to this
    /// user.
    pub fn start(text: &str) -> Result<Server> {
        let (attached, janitor) = Attached::alone(text)?;
        let (product, driver) = match attached.address.scheme.as_str() {
            "postgres" => (Product::Postgres, "postgres"),
            "mysql" => (Product::MariaDb, "mysql"),
            other => bail!("servers of {other}:// cannot be watched; there are postgres:// and mysql://"),
        };
        let session = match product {
            Product::Postgres => &postgres::SESSION[..],
            Product::MariaDb => &mariadb::SESSION[..],
        };
        let mut address = attached.address.address.clone();
        if address.database.is_empty() && product == Product::Postgres {
            address.database = "postgres".to_string();
        }
        let target = Target {
            driver: driver.to_string(),
            database: Database::Server(address),
            options: vec![],
            session: session.iter().map(|sql| asked(sql)).collect(),
        };
        let (sender, messages) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        std::thread::spawn(move || {
            let ended = ask(product, &target, &seen, |message| sender.send(message).is_ok());
            if let Err(why) = ended {
                // The receiver may be gone.
                let _ = sender.send(Message::Gone(format!("{why:#}")));
            }
        });
        let shown = attached.shown().to_string();
        let greeting = match messages.recv_timeout(FIRST) {
            Ok(Message::Greeting(greeting)) => greeting,
            Ok(Message::Gone(why)) => bail!("{shown}: {why}"),
            Ok(Message::Look(_)) | Err(RecvTimeoutError::Disconnected) => bail!("{shown}: the connection ended"),
            Err(RecvTimeoutError::Timeout) => bail!("{shown}: no answer within {} s", FIRST.as_secs()),
        };
        let (version, missing) = (greeting.version, greeting.missing);
        let history = History::new(now_ns());
        Ok(Server {
            address: shown,
            version,
            history,
            gone: None,
            missing,
            messages,
            stop,
            _secret: (attached, janitor),
        })
    }

    /// Adds the looks since the last call.
    pub fn poll(&mut self) {
        loop {
            match self.messages.try_recv() {
                Ok(Message::Look(look)) => self.history.apply(look),
                Ok(Message::Gone(why)) => self.gone = Some(why),
                Ok(Message::Greeting(_)) => {}
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.gone.get_or_insert("the connection ended".to_string());
                    return;
                }
            }
        }
    }

    /// What is not visible, each in one sentence.
    pub fn missing(&self) -> Vec<String> {
        let mut missing = vec![format!("waits and pauses shorter than {} ms", EVERY.as_millis())];
        missing.extend(self.missing.iter().cloned());
        if let Some(why) = &self.gone {
            let seconds = self.history.now_ns.saturating_sub(self.history.from_ns) / 1_000_000_000;
            missing.push(format!("everything after {seconds} s: the server could not be asked any more ({why})"));
        }
        missing
    }

    /// Findings so far.
    pub fn findings(&self) -> Vec<Finding> {
        findings(&self.history)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Queries the server until `stop` is set or `send` returns false. The error is the reason why it cannot continue.
fn ask(product: Product, target: &Target, stop: &AtomicBool, send: impl Fn(Message) -> bool) -> Result<()> {
    let mut connection = Connection::open(target).context("cannot connect")?;
    let (version, rights, missing) = match product {
        Product::Postgres => {
            (postgres::version(&mut connection)?, mariadb::Rights::default(), postgres::missing(&mut connection)?)
        }
        Product::MariaDb => {
            let version = mariadb::version(&mut connection)?;
            let (rights, missing) = mariadb::rights(&mut connection)?;
            (version, rights, missing)
        }
    };
    let mut goes_on = send(Message::Greeting(Greeting { version, missing }));
    let (mut counted, mut deadlocks): (Option<Instant>, Option<u64>) = (None, None);
    while goes_on && !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        let clients = match product {
            Product::Postgres => postgres::clients(&mut connection)?,
            Product::MariaDb => mariadb::clients(&mut connection, rights)?,
        };
        let at_ns = now_ns();
        let counters = match counted {
            Some(at) if at.elapsed() < COUNTERS_EVERY => None,
            _ => {
                counted = Some(began);
                Some(match product {
                    Product::Postgres => postgres::counters(&mut connection)?,
                    Product::MariaDb => mariadb::counters(&mut connection, deadlocks)?,
                })
            }
        };
        deadlocks = counters.as_ref().map(|counters| counters.deadlocks).or(deadlocks);
        goes_on = send(Message::Look(Look { at_ns, clients, counters }));
        let took = began.elapsed();
        std::thread::sleep((took * PAUSES).max(EVERY.saturating_sub(took)));
    }
    Ok(())
}
