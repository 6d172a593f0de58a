//! The source for servers: a thread that queries a server repeatedly over one connection.

use super::finding::{Finding, findings};
use super::history::History;
use super::look::{Counters, Look};
use super::{mariadb, postgres};
use crate::watch::now_ns;
use anyhow::{Context, Result, bail};
use contend::trial::server::attached::Attached;
use contend::trial::watch::janitor::Janitor;
use contend::trial::watch::machine::now_utc;
use contend::workload::sql::asked;
use contend_wire::database::Database;
use contend_wire::script::Target;
use contend_worker::script::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

/// Interval between two queries for clients, and between two for counters.
const EVERY: Duration = Duration::from_millis(50);
/// Pause after the queries to MariaDB. It updates `INNODB_TRX` and the tables of locks only if they were not read in the last 100
/// ms, so with shorter pauses a transaction that has ended would stay in them.
const UNREAD: Duration = Duration::from_millis(120);
const COUNTERS_EVERY: Duration = Duration::from_secs(1);
/// After each query the thread pauses this many times as long, so queries take at most a tenth of the time.
const PAUSES: u32 = 9;
/// Longest time until the first answer.
const FIRST: Duration = Duration::from_secs(30);
/// Longest time without an answer: a server may restart meanwhile.
const AWAY: Duration = Duration::from_secs(30);
/// Pause before the next attempt to connect.
const AGAIN: Duration = Duration::from_millis(500);

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
    /// A query failed, with the server's words. The next one may not.
    Failed(String),
    /// The server does not answer any more, with the reason.
    Gone(String),
}

/// A watched server.
pub struct Server {
    /// Without password.
    pub address: String,
    pub version: String,
    pub history: History,
    /// When the watch began, in UTC.
    pub began: String,
    /// Interval between two looks, if the server answers at once.
    every: Duration,
    /// Why there are no further looks.
    pub gone: Option<String>,
    missing: Vec<String>,
    /// Number of failed queries, and the server's words of the first.
    failed: u64,
    why: Option<String>,
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
            Ok(Message::Look(_) | Message::Failed(_)) | Err(RecvTimeoutError::Disconnected) => {
                bail!("{shown}: the connection ended")
            }
            Err(RecvTimeoutError::Timeout) => bail!("{shown}: no answer within {} s", FIRST.as_secs()),
        };
        let (version, missing) = (greeting.version, greeting.missing);
        let history = History::new(now_ns());
        Ok(Server {
            address: shown,
            version,
            history,
            began: now_utc(),
            gone: None,
            every: if product == Product::MariaDb { UNREAD } else { EVERY },
            missing,
            failed: 0,
            why: None,
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
                Ok(Message::Failed(why)) => {
                    self.failed += 1;
                    self.why.get_or_insert(why);
                }
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
        let mut missing = vec![self.history.unseen(self.every)];
        missing.extend(self.missing.iter().cloned());
        if let Some(why) = &self.why {
            missing.push(format!("failed queries: {} (the first: {why})", self.failed));
        }
        if let Some(why) = &self.gone {
            let seconds = self.history.now_ns.saturating_sub(self.history.from_ns) / 1_000_000_000;
            missing.push(format!("everything after {seconds} s: the server stopped answering ({why})"));
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
    let mut connection = Some(Connection::open(target).context("cannot connect")?);
    let (greeting, rights) = match &mut connection {
        Some(connection) => greet(product, connection)?,
        None => bail!("the connection ended"),
    };
    let mut goes_on = send(Message::Greeting(greeting));
    let mut looks = Looks { product, rights, counted: None, deadlocks: None, connections: 0, answered: Instant::now() };
    // The first failure since the server last answered.
    let mut why: Option<anyhow::Error> = None;
    while goes_on && !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        let looked = match &mut connection {
            Some(connection) => looks.look(connection, &send),
            None => Connection::open(target).context("cannot connect").map(|opened| {
                connection = Some(opened);
                looks.connections += 1;
                true
            }),
        };
        match looked {
            Ok(sent) => {
                goes_on = sent;
                why = why.filter(|_| looks.answered < began);
            }
            Err(error) => {
                goes_on = send(Message::Failed(format!("{error:#}")));
                why = why.filter(|_| looks.answered < began);
                let first = why.get_or_insert(error);
                if looks.answered.elapsed() >= AWAY {
                    bail!("{first:#}");
                }
                // A query that took too long leaves the connection as it is.
                if connection.as_mut().is_none_or(|connection| connection.rows("SELECT 1").is_err()) {
                    connection = None;
                    std::thread::sleep(AGAIN);
                    continue;
                }
            }
        }
        let took = began.elapsed();
        let least = if product == Product::MariaDb { UNREAD } else { EVERY.saturating_sub(took) };
        std::thread::sleep((took * PAUSES).max(least));
    }
    Ok(())
}

/// Facts about the server, and what this user may read.
fn greet(product: Product, connection: &mut Connection) -> Result<(Greeting, mariadb::Rights)> {
    Ok(match product {
        Product::Postgres => {
            let (version, missing) = (postgres::version(connection)?, postgres::missing(connection)?);
            (Greeting { version, missing }, mariadb::Rights::default())
        }
        Product::MariaDb => {
            let version = mariadb::version(connection)?;
            let (rights, missing) = mariadb::rights(connection)?;
            (Greeting { version, missing }, rights)
        }
    })
}

/// The queries of a server.
struct Looks {
    product: Product,
    rights: mariadb::Rights,
    /// When counters were read, or failed to be.
    counted: Option<Instant>,
    deadlocks: Option<u64>,
    /// Number of connections after the first.
    connections: u64,
    /// When clients were last read.
    answered: Instant,
}

impl Looks {
    /// Queries clients, and once a second counters, and sends them. Returns whether they were received.
    fn look(&mut self, connection: &mut Connection, send: &impl Fn(Message) -> bool) -> Result<bool> {
        let mut clients = match self.product {
            Product::Postgres => postgres::clients(connection)?,
            Product::MariaDb => mariadb::clients(connection, self.rights)?,
        };
        self.answered = Instant::now();
        if self.product == Product::MariaDb {
            // A restarted server counts its clients from the beginning.
            clients.iter_mut().for_each(|client| client.began = self.connections);
        }
        let at_ns = now_ns();
        let counters = match self.counted {
            Some(at) if at.elapsed() < COUNTERS_EVERY => None,
            _ => {
                self.counted = Some(Instant::now());
                match self.counters(connection) {
                    Ok(counters) => Some(counters),
                    Err(why) => {
                        send(Message::Look(Look { at_ns, clients, counters: None }));
                        return Err(why);
                    }
                }
            }
        };
        self.deadlocks = counters.as_ref().map(|counters| counters.deadlocks).or(self.deadlocks);
        Ok(send(Message::Look(Look { at_ns, clients, counters })))
    }

    fn counters(&self, connection: &mut Connection) -> Result<Counters> {
        match self.product {
            Product::Postgres => postgres::counters(connection),
            Product::MariaDb => mariadb::counters(connection, self.deadlocks),
        }
    }
}
