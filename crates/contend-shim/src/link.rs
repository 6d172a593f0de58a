//! A connection to the server and its transaction: decides which messages are sent together, in how many round trips.
//!
//! A failed statement must not end the transaction, as on PostgreSQL, and must leave nothing of itself, although it may be
//! several statements of the server. So each statement of a transaction is sent between SAVEPOINT and RELEASE, in the
//! same round trip. The first one needs no savepoint: if it fails, nothing else is lost.

use crate::config::{Cache, Settings};
use crate::fault::is_conflict;
use crate::schema;
use crate::server::{Cancel, Kind, Message, Reply, Server, Trouble, connect};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The savepoint around a statement. Those of the program are `s0`, `s1` and so on.
const SAVEPOINT: &str = "SAVEPOINT \"contend statement\"";
const RELEASE: &str = "RELEASE SAVEPOINT \"contend statement\"";
const UNDO: &str = "ROLLBACK TO \"contend statement\"; RELEASE SAVEPOINT \"contend statement\"";
const BEGIN: &str = "BEGIN";
/// Least `lock_timeout`. The server's own work takes locks, too, for some milliseconds, and is not another program's.
const LEAST_MS: i32 = 100;
/// The same for changes of the schema. On PostgreSQL, autovacuum keeps its lock on a table until another session has waited for
/// `deadlock_timeout`, which is 1 s.
const DEFINITION_LEAST_MS: i32 = 3_000;
/// Pause before a statement is repeated after a conflict.
const PAUSE: Duration = Duration::from_millis(2);

/// For other threads, to cancel what the current connection does.
pub type Canceller = Arc<Mutex<Option<Cancel>>>;

pub struct Link {
    settings: &'static Settings,
    /// Settings of every new session.
    session: String,
    /// Name of the lock for BEGIN IMMEDIATE.
    schema: String,
    server: Option<Box<dyn Server>>,
    pub canceller: Canceller,
    /// Round trips of earlier connections.
    earlier: u64,
    transaction: Option<Transaction>,
    /// Whether the last transaction, which may have ended, began with the lock.
    pub began_with_lock: bool,
    timeout_ms: i32,
    /// Whether foreign keys are checked, where that is the session's.
    checks_keys: bool,
    /// Whether the server's session has both.
    is_session_set: bool,
}

#[derive(Default)]
struct Transaction {
    /// Statements for the next batch: BEGIN, SAVEPOINT.
    queued: Vec<String>,
    /// Whether the server has received BEGIN.
    is_sent: bool,
    has_lock: bool,
    /// Savepoints before changes that the server committed.
    kept_places: usize,
    /// Whether the server has committed something of it.
    is_kept: bool,
    /// Why it can only be rolled back: the server did that because of a conflict, or its state is unknown.
    broken: Option<Trouble>,
}

fn plain(sql: impl Into<String>) -> Message {
    Message::Plain(sql.into())
}

fn unknown() -> Trouble {
    Trouble::Lost("the outcome of the transaction is unknown".to_string())
}

/// What a COMMIT says that was not answered.
fn perhaps_committed(trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::Lost(words) => Trouble::Lost(format!("{words}; the transaction may or may not be committed")),
        trouble => trouble,
    }
}

/// The answers, or the first error that is not a consequence of another one.
fn all(answers: Vec<Result<Reply, Trouble>>) -> Result<Vec<Reply>, Trouble> {
    let follows = |trouble: &Trouble| trouble.kind() == Some(Kind::Follows);
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
            began_with_lock: false,
            timeout_ms: 0,
            checks_keys: false,
            is_session_set: false,
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
        self.is_session_set &= self.timeout_ms == ms;
        self.timeout_ms = ms;
    }

    /// Whether foreign keys are checked in this session, where servers have such a setting.
    pub fn set_checks_keys(&mut self, checks: bool) {
        self.is_session_set &= self.checks_keys == checks;
        self.checks_keys = checks;
    }

    /// Sends the session's settings again.
    pub fn forget_session(&mut self) {
        self.is_session_set = false;
    }

    pub fn is_in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// Whether the server has a part of the transaction.
    pub fn has_sent(&self) -> bool {
        self.transaction.as_ref().is_some_and(|transaction| transaction.is_sent)
    }

    /// Commits what the transaction did so far, and goes on with another one, with savepoints at these places.
    pub fn commit_early(&mut self, places: usize) -> Result<(), Trouble> {
        let Some(transaction) = &mut self.transaction else { return Ok(()) };
        if let Some(trouble) = &transaction.broken {
            return Err(trouble.clone());
        }
        let has_sent = std::mem::take(&mut transaction.is_sent);
        transaction.queued = vec![BEGIN.to_string()];
        transaction.queued.extend((0..places).map(|place| format!("SAVEPOINT s{place}")));
        transaction.kept_places = places;
        transaction.is_kept |= has_sent;
        if has_sent {
            // The server is still in the transaction, so a new connection would not do.
            let committed = self.server.as_mut().map(|server| all(server.exchange(&[plain("COMMIT")])));
            committed.unwrap_or_else(|| Err(unknown())).map_err(perhaps_committed)?;
        }
        Ok(())
    }

    /// Notes that the server has committed a part of the transaction.
    pub fn keep(&mut self) {
        if let Some(transaction) = &mut self.transaction {
            transaction.is_kept = true;
        }
    }

    /// Whether it has.
    pub fn is_kept(&self) -> bool {
        self.transaction.as_ref().is_some_and(|transaction| transaction.is_kept)
    }

    /// Executes messages without a transaction, of which the server has no part.
    pub fn outside(&mut self, messages: Vec<Message>) -> Result<Vec<Reply>, Trouble> {
        self.send(messages)
    }

    /// Drops the prepared statements, which are outdated.
    pub fn forget(&mut self) {
        if let Some(server) = &mut self.server {
            server.forget();
        }
    }

    /// Connects if there is no connection.
    fn server(&mut self) -> Result<&mut dyn Server, Trouble> {
        if self.server.as_ref().is_some_and(|server| server.is_closed()) {
            self.drop_server();
        }
        if self.server.is_none() {
            if self.transaction.as_ref().is_some_and(|t| t.is_sent || t.has_lock) {
                return Err(Trouble::Lost("it was lost within the transaction".to_string()));
            }
            let mut server = connect(&self.settings.server, self.settings.cache == Cache::All)?;
            all(server.exchange(&[plain(&self.session)]))?;
            *self.canceller.lock().unwrap_or_else(PoisonError::into_inner) = Some(server.canceller());
            self.server = Some(server);
            self.is_session_set = false;
        }
        match &mut self.server {
            Some(server) => Ok(server.as_mut()),
            None => Err(Trouble::Lost("there is none".to_string())),
        }
    }

    fn drop_server(&mut self) {
        if let Some(server) = self.server.take() {
            self.earlier += server.round_trips();
            server.close();
        }
    }

    /// Sends a batch. Drops the connection if it is lost.
    fn send(&mut self, mut messages: Vec<Message>) -> Result<Vec<Reply>, Trouble> {
        let count = messages.len();
        self.server()?;
        if !self.is_session_set {
            messages.insert(0, plain(self.settings.dialect.session_settings(self.lock_timeout_ms(), self.checks_keys)));
        }
        let answers = self.server()?.exchange(&messages);
        let result = all(answers);
        match &result {
            Ok(_) => self.is_session_set = true,
            Err(Trouble::Lost(_)) => self.drop_server(),
            Err(_) => {}
        }
        result.map(|mut answers| answers.split_off(answers.len().saturating_sub(count)))
    }

    /// How long the server waits for a lock; `None` for SQLite's longest time, 24 days.
    fn lock_timeout_ms(&self) -> Option<i32> {
        Some(self.timeout_ms.max(LEAST_MS)).filter(|ms| *ms != i32::MAX)
    }

    /// How long a change of the schema waits for a lock of another connection.
    pub fn definition_waits_ms(&self) -> i32 {
        self.timeout_ms.max(DEFINITION_LEAST_MS)
    }

    /// Like [`Link::perform`], for a change of the schema of PostgreSQL from this version to the next. The version comes
    /// first: its lock admits one change at a time, and a change of an older version fails before it has met anything else.
    pub fn perform_definition(&mut self, version: u64, mut statements: Vec<String>) -> Result<(), Trouble> {
        statements.insert(0, schema::next_version(version));
        if self.timeout_ms < DEFINITION_LEAST_MS {
            let wait = |ms: Option<i32>| format!("SET LOCAL lock_timeout = {}", ms.unwrap_or(0));
            statements.insert(0, wait(Some(DEFINITION_LEAST_MS)));
            statements.push(wait(self.lock_timeout_ms()));
        }
        self.perform(statements.into_iter().map(plain).collect()).map(drop)
    }

    /// Executes the messages of one statement: all of them or none.
    pub fn perform(&mut self, messages: Vec<Message>) -> Result<Vec<Reply>, Trouble> {
        match &mut self.transaction {
            None => self.alone(messages),
            Some(Transaction { broken: Some(trouble), .. }) => Err(trouble.clone()),
            Some(transaction) if !transaction.is_sent && transaction.queued == [BEGIN] => {
                // The program has seen nothing of this transaction yet, so it may as well begin later.
                self.repeated(|link| link.first(messages.clone()))
            }
            Some(_) => self.within(messages),
        }
    }

    /// Executes them in their own transaction. After a conflict they are repeated for as long as SQLite would wait
    /// for a lock.
    fn alone(&mut self, messages: Vec<Message>) -> Result<Vec<Reply>, Trouble> {
        self.repeated(|link| match messages.as_slice() {
            [Message::Query { .. }] => link.send(messages.clone()),
            _ => link.several(&messages),
        })
    }

    /// Repeats after a conflict, until the timeout is over, something that leaves nothing behind if it fails.
    fn repeated(&mut self, attempt: impl Fn(&mut Link) -> Result<Vec<Reply>, Trouble>) -> Result<Vec<Reply>, Trouble> {
        let until = Instant::now() + Duration::from_millis(self.timeout_ms.max(0).unsigned_abs().into());
        loop {
            match attempt(self) {
                Err(trouble) if is_conflict(&trouble) && !self.is_broken() && Instant::now() < until => {
                    std::thread::sleep(PAUSE);
                }
                done => return done,
            }
        }
    }

    fn is_broken(&self) -> bool {
        self.transaction.as_ref().is_some_and(|transaction| transaction.broken.is_some())
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
                self.undo("ROLLBACK", &trouble);
                Err(trouble)
            }
        }
    }

    /// Executes them in their own transaction, under the lock that admits one process at a time. After an error the
    /// connection must be closed, because it may still have the lock.
    pub fn perform_admitted(&mut self, messages: Vec<Message>) -> Result<(), Trouble> {
        let [lock, unlock] = self.settings.dialect.lock_all().map(plain);
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
                self.undo("ROLLBACK", &trouble);
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
                self.undo(UNDO, &trouble);
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

    /// Rolls back a statement that failed. After a deadlock there may be no transaction to do it in.
    fn undo(&mut self, sql: &str, trouble: &Trouble) {
        let undone = match &mut self.server {
            Some(server) => all(server.exchange(&[plain(sql)])).is_ok(),
            None => false,
        };
        if let Some(transaction) = self.transaction.as_mut().filter(|_| !undone) {
            transaction.broken = Some(if is_conflict(trouble) { trouble.clone() } else { unknown() });
        }
    }

    /// BEGIN. Sends nothing unless it takes the lock.
    pub fn begin(&mut self, with_lock: bool) -> Result<(), Trouble> {
        let has_lock = with_lock && self.settings.locks;
        if has_lock {
            let [lock, _] = self.lock();
            self.send(vec![plain(lock)])?;
        }
        self.began_with_lock = has_lock;
        self.transaction = Some(Transaction { queued: vec![BEGIN.to_string()], has_lock, ..Transaction::default() });
        Ok(())
    }

    fn lock(&self) -> [String; 2] {
        self.settings.dialect.lock(&self.schema, self.timeout_ms)
    }

    /// COMMIT or ROLLBACK. Afterwards there is no transaction, whatever the result.
    pub fn end(&mut self, word: &str) -> Result<(), Trouble> {
        let Some(transaction) = self.transaction.take() else { return Ok(()) };
        let is_rollback = word == "ROLLBACK";
        let word = if transaction.broken.is_some() { "ROLLBACK" } else { word };
        let mut batch = vec![];
        if transaction.is_sent {
            batch.push(plain(word));
        }
        if transaction.has_lock {
            let [_, unlock] = self.lock();
            batch.push(plain(unlock));
        }
        let Some(server) = self.server.as_mut().filter(|server| !server.is_closed()) else {
            let lost = || Trouble::Lost("it was lost within the transaction, which is rolled back".to_string());
            return if transaction.is_sent && !is_rollback { Err(lost()) } else { Ok(()) };
        };
        let mut answers = if batch.is_empty() { vec![] } else { server.exchange(&batch) };
        // The answer to COMMIT says what became of the transaction, not that to the release of the lock.
        let released = if transaction.has_lock && answers.len() == batch.len() { answers.pop() } else { None };
        let result = all(answers);
        let mut keeps_lock = false;
        if !server.is_closed() {
            if transaction.is_sent && result.is_err() {
                // MariaDB may still be in it.
                server.exchange(&[plain("ROLLBACK")]);
            }
            if transaction.has_lock && !matches!(released, Some(Ok(_))) {
                keeps_lock = all(server.exchange(&batch[batch.len() - 1..])).is_err();
            }
        }
        // A rollback also reverts settings made in the transaction.
        self.is_session_set &= word == "COMMIT" && result.is_ok();
        if keeps_lock || matches!(result, Err(Trouble::Lost(_))) {
            self.drop_server();
        }
        match result {
            Ok(_) => match transaction.broken.filter(|trouble| !(is_rollback && is_conflict(trouble))) {
                Some(trouble) => Err(trouble),
                None => Ok(()),
            },
            Err(trouble) if word == "COMMIT" => Err(perhaps_committed(trouble)),
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

    /// RELEASE SAVEPOINT or ROLLBACK TO.
    pub fn back_to(&mut self, word: &str, place: usize) -> Result<(), Trouble> {
        if let Some(Transaction { broken: Some(trouble), .. }) = &self.transaction
            && is_conflict(trouble)
        {
            return Err(trouble.clone());
        }
        if word != "RELEASE SAVEPOINT" && self.transaction.as_ref().is_some_and(|t| place < t.kept_places) {
            return Err(Trouble::Value(
                "MariaDB has committed what came after this savepoint: CREATE, ALTER or DROP".into(),
            ));
        }
        let savepoint = format!("SAVEPOINT s{place}");
        if let Some(transaction) = &mut self.transaction
            && let Some(at) = transaction.queued.iter().position(|queued| *queued == savepoint)
        {
            // The server has nothing of it.
            transaction.queued.truncate(at + usize::from(word != "RELEASE SAVEPOINT"));
            return Ok(());
        }
        let queued = self.queued();
        let mut batch: Vec<Message> = queued.into_iter().map(plain).collect();
        batch.push(plain(format!("{word} s{place}")));
        self.sent();
        self.is_session_set &= word == "RELEASE SAVEPOINT";
        let result = self.send(batch).map(drop);
        if let (Err(_), Some(transaction)) = (&result, &mut self.transaction) {
            transaction.broken.get_or_insert_with(unknown);
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
