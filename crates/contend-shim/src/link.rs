//! A connection to the server and its transaction: decides which messages are sent together, in how many round trips.
//!
//! Unlike in PostgreSQL, a failed statement must not end the transaction. So each statement of a transaction is sent
//! between SAVEPOINT and RELEASE, in the same round trip. The first one needs no savepoint: if it fails, nothing else
//! is lost.

use crate::config::{Cache, Settings};
use crate::fault::is_conflict;
use crate::server::{Message, Reply, Server, Trouble};
use contend_wire::kept::{self, literal};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio_postgres::CancelToken;

/// The savepoint around a statement. Those of the program are `s0`, `s1` and so on.
const SAVEPOINT: &str = "SAVEPOINT \"contend statement\"";
const RELEASE: &str = "RELEASE \"contend statement\"";
const UNDO: &str = "ROLLBACK TO \"contend statement\"; RELEASE \"contend statement\"";
const BEGIN: &str = "BEGIN";
/// Least `lock_timeout`. The server's own work takes locks, too, for some milliseconds, and is not another program's.
const LEAST_MS: i32 = 100;
/// The same for changes of the schema. Autovacuum keeps its lock on a table until another session has waited for
/// `deadlock_timeout`, which is 1 s.
const DEFINITION_LEAST_MS: i32 = 3_000;
/// Pause before a statement is repeated after a conflict.
const PAUSE: Duration = Duration::from_millis(2);

/// For other threads, to cancel what the current connection does.
pub type Canceller = Arc<Mutex<Option<CancelToken>>>;

pub struct Link {
    settings: &'static Settings,
    /// Settings of every new session.
    session: String,
    /// Name of the lock for BEGIN IMMEDIATE.
    schema: String,
    server: Option<Server>,
    pub canceller: Canceller,
    /// Round trips of earlier connections.
    earlier: u64,
    transaction: Option<Transaction>,
    timeout_ms: i32,
    is_timeout_set: bool,
}

#[derive(Default)]
struct Transaction {
    /// Statements for the next batch: BEGIN, SAVEPOINT.
    queued: Vec<String>,
    /// Whether the server has received BEGIN.
    is_sent: bool,
    has_lock: bool,
    /// Whether its state is unknown, so that it can only be rolled back.
    is_broken: bool,
}

fn plain(sql: impl Into<String>) -> Message {
    Message::Plain(sql.into())
}

/// The answers, or the first error that is not a consequence of another one.
fn all(answers: Vec<Result<Reply, Trouble>>) -> Result<Vec<Reply>, Trouble> {
    let follows = |trouble: &Trouble| matches!(trouble, Trouble::Server(said) if said.state == "25P02");
    let first = answers.iter().filter_map(|answer| answer.as_ref().err()).find(|trouble| !follows(trouble));
    match first {
        Some(trouble) => Err(trouble.clone()),
        None => answers.into_iter().collect(),
    }
}

impl Link {
    pub fn new(settings: &'static Settings, schema: &str, session: String) -> Link {
        Link {
            settings,
            session,
            schema: schema.to_string(),
            server: None,
            canceller: Canceller::default(),
            earlier: 0,
            transaction: None,
            timeout_ms: 0,
            is_timeout_set: false,
        }
    }

    /// Changes the schema and the session settings.
    ///
    /// # Errors
    /// The server cannot be reached, or reports an error.
    pub fn go_to(&mut self, schema: &str, session: String) -> Result<(), Trouble> {
        self.schema = schema.to_string();
        self.session = session;
        self.send(vec![plain(&self.session)]).map(drop)
    }

    pub fn set_timeout(&mut self, ms: i32) {
        self.is_timeout_set &= self.timeout_ms == ms;
        self.timeout_ms = ms;
    }

    pub fn is_in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// Drops the prepared statements, which are outdated.
    pub fn forget(&mut self) {
        if let Some(server) = &mut self.server {
            server.forget();
        }
    }

    /// Connects if there is no connection.
    fn server(&mut self) -> Result<&mut Server, Trouble> {
        if self.server.as_ref().is_some_and(Server::is_closed) {
            self.drop_server();
        }
        if self.server.is_none() {
            if self.transaction.as_ref().is_some_and(|t| t.is_sent || t.has_lock) {
                return Err(Trouble::Lost("it was lost within the transaction".to_string()));
            }
            let mut server = Server::connect(&self.settings.server, self.settings.cache == Cache::All)?;
            all(server.exchange(&[plain(&self.session)]))?;
            *self.canceller.lock().unwrap_or_else(PoisonError::into_inner) = Some(server.canceller());
            self.server = Some(server);
            self.is_timeout_set = false;
        }
        self.server.as_mut().ok_or_else(|| Trouble::Lost("there is none".to_string()))
    }

    fn drop_server(&mut self) {
        if let Some(server) = self.server.take() {
            self.earlier += server.round_trips;
            server.close();
        }
    }

    /// Sends a batch. Drops the connection if it is lost.
    fn send(&mut self, mut messages: Vec<Message>) -> Result<Vec<Reply>, Trouble> {
        let count = messages.len();
        self.server()?;
        if !self.is_timeout_set {
            messages.insert(0, plain(format!("SET lock_timeout = {}", self.lock_timeout_ms())));
        }
        let answers = self.server()?.exchange(&messages);
        let result = all(answers);
        match &result {
            Ok(_) => self.is_timeout_set = true,
            Err(Trouble::Lost(_)) => self.drop_server(),
            Err(_) => {}
        }
        result.map(|mut answers| answers.split_off(answers.len().saturating_sub(count)))
    }

    /// The server's `lock_timeout`. 0 means "for ever" to the server, and "not at all" to SQLite, whose longest timeout is
    /// 24 days.
    fn lock_timeout_ms(&self) -> i32 {
        if self.timeout_ms == i32::MAX { 0 } else { self.timeout_ms.max(LEAST_MS) }
    }

    /// Like [`Link::perform`], for schema changes; autovacuum may hold the required lock.
    pub fn perform_definition(&mut self, mut messages: Vec<Message>) -> Result<Vec<Reply>, Trouble> {
        if self.timeout_ms < DEFINITION_LEAST_MS {
            let wait = |ms: i32| plain(format!("SET LOCAL lock_timeout = {ms}"));
            messages.insert(0, wait(DEFINITION_LEAST_MS));
            messages.push(wait(self.lock_timeout_ms()));
        }
        self.perform(messages)
    }

    /// Executes the messages of one statement: all of them or none.
    pub fn perform(&mut self, messages: Vec<Message>) -> Result<Vec<Reply>, Trouble> {
        match &mut self.transaction {
            None => self.alone(messages),
            Some(transaction) if transaction.is_broken => {
                Err(Trouble::Lost("the outcome of the transaction is unknown".to_string()))
            }
            Some(transaction) if !transaction.is_sent && transaction.queued == [BEGIN] => self.first(messages),
            Some(_) => self.within(messages),
        }
    }

    /// Executes them in their own transaction. After a conflict they are repeated for as long as SQLite would wait
    /// for a lock.
    fn alone(&mut self, messages: Vec<Message>) -> Result<Vec<Reply>, Trouble> {
        let until = Instant::now() + Duration::from_millis(self.timeout_ms.max(0).unsigned_abs().into());
        loop {
            let done = match messages.as_slice() {
                [Message::Query { .. }] => self.send(messages.clone()),
                _ => self.several(&messages),
            };
            match done {
                Err(trouble) if is_conflict(&trouble) && Instant::now() < until => std::thread::sleep(PAUSE),
                done => return done,
            }
        }
    }

    fn several(&mut self, messages: &[Message]) -> Result<Vec<Reply>, Trouble> {
        let mut batch = vec![plain(BEGIN)];
        batch.extend_from_slice(messages);
        batch.push(plain("COMMIT"));
        match self.send(batch) {
            Ok(mut answers) => {
                answers.pop();
                Ok(answers.split_off(1))
            }
            Err(trouble) => {
                // If a statement could not be prepared, a part of the batch may not have been sent.
                self.undo("ROLLBACK");
                Err(trouble)
            }
        }
    }

    /// Executes them in their own transaction, under the lock that admits one process at a time. After an error the
    /// connection must be closed, because it may still have the lock.
    pub fn perform_admitted(&mut self, messages: Vec<Message>) -> Result<(), Trouble> {
        let [lock, unlock] = kept::lock().map(plain);
        // Alone: the server carries out messages after one that failed.
        self.send(vec![lock])?;
        let mut batch = vec![plain(BEGIN)];
        batch.extend(messages);
        batch.extend([plain("COMMIT"), unlock]);
        self.send(batch).map(drop)
    }

    fn first(&mut self, messages: Vec<Message>) -> Result<Vec<Reply>, Trouble> {
        let mut batch = vec![plain(BEGIN)];
        batch.extend(messages);
        match self.send(batch) {
            Ok(mut answers) => {
                self.sent();
                Ok(answers.split_off(1))
            }
            Err(trouble) => {
                self.undo("ROLLBACK");
                Err(trouble)
            }
        }
    }

    fn within(&mut self, messages: Vec<Message>) -> Result<Vec<Reply>, Trouble> {
        let (count, queued) = (messages.len(), self.queued());
        let mut batch: Vec<Message> = queued.into_iter().map(plain).collect();
        batch.push(plain(SAVEPOINT));
        batch.extend(messages);
        batch.push(plain(RELEASE));
        self.sent();
        match self.send(batch) {
            Ok(mut answers) => {
                answers.pop();
                Ok(answers.split_off(answers.len() - count))
            }
            Err(trouble) => {
                self.undo(UNDO);
                Err(trouble)
            }
        }
    }

    fn queued(&mut self) -> Vec<String> {
        self.transaction.as_mut().map(|transaction| std::mem::take(&mut transaction.queued)).unwrap_or_default()
    }

    fn sent(&mut self) {
        if let Some(transaction) = &mut self.transaction {
            transaction.queued.clear();
            transaction.is_sent = true;
        }
    }

    /// Rolls back a statement.
    fn undo(&mut self, sql: &str) {
        let undone = match &mut self.server {
            Some(server) => all(server.exchange(&[plain(sql)])).is_ok(),
            None => false,
        };
        if let Some(transaction) = &mut self.transaction {
            transaction.is_broken |= !undone;
        }
    }

    /// BEGIN. Sends nothing unless it takes the lock.
    pub fn begin(&mut self, with_lock: bool) -> Result<(), Trouble> {
        let has_lock = with_lock && self.settings.locks;
        if has_lock {
            self.send(vec![Message::Query { sql: self.lock("pg_advisory_lock"), values: vec![] }])?;
        }
        self.transaction = Some(Transaction { queued: vec![BEGIN.to_string()], has_lock, ..Transaction::default() });
        Ok(())
    }

    fn lock(&self, function: &str) -> String {
        format!("SELECT {function}(hashtextextended({}, 0))", literal(&self.schema))
    }

    /// COMMIT or ROLLBACK. Afterwards there is no transaction, whatever the result.
    pub fn end(&mut self, word: &str) -> Result<(), Trouble> {
        let Some(transaction) = self.transaction.take() else { return Ok(()) };
        let word = if transaction.is_broken { "ROLLBACK" } else { word };
        let mut batch = vec![];
        if transaction.is_sent {
            batch.push(plain(word));
        }
        if transaction.has_lock {
            // Not a query: one that is due to be prepared is not sent if the COMMIT before it fails.
            batch.push(plain(self.lock("pg_advisory_unlock")));
        }
        let Some(server) = self.server.as_mut().filter(|server| !server.is_closed()) else {
            let lost = || Trouble::Lost("it was lost within the transaction, which is rolled back".to_string());
            return if transaction.is_sent && word == "COMMIT" { Err(lost()) } else { Ok(()) };
        };
        let result = if batch.is_empty() { Ok(vec![]) } else { all(server.exchange(&batch)) };
        // A rollback also reverts settings made in the transaction.
        self.is_timeout_set &= word == "COMMIT" && result.is_ok();
        if matches!(result, Err(Trouble::Lost(_))) {
            self.drop_server();
        }
        match result {
            Ok(_) if transaction.is_broken => Err(Trouble::Lost("the outcome of the transaction is unknown".into())),
            Ok(_) => Ok(()),
            Err(Trouble::Lost(words)) if word == "COMMIT" => {
                Err(Trouble::Lost(format!("{words}; the transaction may or may not be committed")))
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// SAVEPOINT, sent with the next statement. The server keeps 63 bytes of a name, so the names are the places in the program's
    /// list.
    pub fn savepoint(&mut self, place: usize) {
        if let Some(transaction) = &mut self.transaction {
            transaction.queued.push(format!("SAVEPOINT s{place}"));
        }
    }

    /// RELEASE or ROLLBACK TO.
    pub fn back_to(&mut self, word: &str, place: usize) -> Result<(), Trouble> {
        let queued = self.queued();
        let mut batch: Vec<Message> = queued.into_iter().map(plain).collect();
        batch.push(plain(format!("{word} s{place}")));
        self.sent();
        self.is_timeout_set &= word == "RELEASE";
        let result = self.send(batch).map(drop);
        if let (Err(_), Some(transaction)) = (&result, &mut self.transaction) {
            transaction.is_broken = true;
        }
        result
    }

    /// Closes the connection; returns the round trips of all connections.
    pub fn close(&mut self) -> u64 {
        self.drop_server();
        self.earlier
    }

    /// Leaves the connection to the parent process.
    pub fn abandon(&mut self) {
        std::mem::forget(self.server.take());
    }
}
