//! An open database: its front, its link to the server, and the schema known to both.

mod change;
mod define;
mod opening;

use crate::again::Again;
use crate::c::front::{Counts, Failed, Front};
use crate::c::interrupt::Interrupts;
use crate::c::{CANTOPEN, ERROR, IOERR, LOCKED, MISUSE};
use crate::config::{Cache, Settings};
use crate::fault::{self, Key};
use crate::journal;
use crate::keys;
use crate::link::{Canceller, Link};
use crate::note::Note;
use crate::own::{Objection, Own};
use crate::plan::{Done, Plan, Session, plan};
use crate::schema;
use crate::server::{Kind, Message, Reply, Said, Trouble};
use crate::value::Value;
use contend_sql::{Catalogue, Refusal, Target};
use contend_wire::kept::literal;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// Most translations stored per connection.
const PLANS_MAX: usize = 2_000;

pub struct Connection {
    pub front: Front,
    /// Converts rows of the server to values of SQLite.
    pub carriers: Front,
    pub counts: Arc<Counts>,
    own: Mutex<Own>,
    /// The program's authorizer and its argument.
    pub authorizer: Mutex<(usize, usize)>,
    pub is_readonly: AtomicBool,
    /// Values of `PRAGMA journal_mode` and similar ones.
    pub echoes: Mutex<HashMap<String, String>>,
    /// Whether the last error was raised by this library and not by the front.
    has_raised: AtomicBool,
    pub interrupts: Interrupts,
    /// For `cancel` in another thread, while the state is locked.
    canceller: Canceller,
    fork: u32,
    state: Mutex<State>,
}

pub struct State {
    library: &'static Settings,
    pub link: Link,
    pub tally: journal::Counts,
    name: String,
    /// `None` if the version must be read first.
    version: Option<u64>,
    objects: Vec<schema::Object>,
    /// Rows about columns that hold what their declared types do not say.
    held: Vec<schema::Object>,
    settings: HashMap<String, String>,
    catalogue: Catalogue,
    /// All foreign keys, once they were asked for.
    keys: Option<Arc<Vec<keys::Key>>>,
    plans: HashMap<String, Arc<Plan>>,
    epoch: u64,
    /// Names of savepoints, the outermost first.
    pub savepoints: Vec<String>,
    /// Whether the outermost savepoint began the transaction.
    pub began_by_savepoint: bool,
    /// Whether the front's schema was changed in this transaction.
    pub has_defined: bool,
    /// Whether the front has rows of the server.
    pub has_copies: bool,
    /// Steps in the front that may change it, in this moment.
    pub changing_steps: usize,
    counts: Arc<Counts>,
    /// Why the server's last rowid is unknown, and the front's rowid at that time. `None`: the front's rowid is the last one.
    unknown_rowid: Option<(&'static str, i64)>,
}

impl Connection {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Errors
    /// This process is a child of the one that opened the connection.
    pub fn check_process(&self) -> Result<(), Failed> {
        if self.fork == journal::FORKS.load(Relaxed) {
            return Ok(());
        }
        Err(Failed::new(MISUSE, "the connection belongs to the parent process"))
    }

    /// Raises an error through the front.
    pub fn raise(&self, failed: &Failed) -> i32 {
        self.has_raised.store(true, Relaxed);
        self.front.say(failed)
    }

    /// The code of a call that failed in SQLite itself.
    pub fn has_failed(&self, code: i32) -> i32 {
        self.has_raised.store(true, Relaxed);
        code
    }

    /// Clears the last error: a call succeeded.
    pub fn succeeded(&self) {
        if self.has_raised.swap(false, Relaxed) {
            let _ = self.front.execute("SELECT 1");
        }
    }

    /// Functions and collations of the program.
    pub fn own(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the server cannot execute a statement, because of a function or collation of the program.
    pub fn objection(&self, state: &State, sql: &str, note: &Note) -> Option<Objection> {
        // A copy, because another thread may register a function while SQLite makes this one wait.
        let own = self.own().clone();
        own.objection(&self.front, sql, note, &state.objects)
    }

    /// Number of the front's current schema, functions and collations: statements of an earlier one may have other columns
    /// now, or be refused.
    pub fn epoch(&self, state: &State) -> u64 {
        state.epoch + self.own().count
    }

    /// Cancels the server's current statement from another thread. If the server is idle nothing is sent, because the
    /// next statement would be cancelled.
    pub fn cancel(&self) {
        if !matches!(self.state.try_lock(), Err(TryLockError::WouldBlock)) {
            return;
        }
        let canceller = self.canceller.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(canceller) = canceller {
            canceller();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let is_ours = self.check_process().is_ok();
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if is_ours {
            state.tally.round_trips = state.link.close();
            journal::counted(&state.tally);
            journal::write_times();
            self.carriers.close();
        } else {
            // The parent process still uses this socket.
            state.link.abandon();
        }
    }
}

/// Rolls back the front's transaction after the server's has ended.
fn leave_transaction(front: &Front) {
    if !front.is_autocommit() {
        let _ = front.execute("ROLLBACK");
    }
}

impl State {
    fn attach(&mut self, front: &Front, path: &Path, creates: bool) -> Result<(), Failed> {
        let cannot = |trouble: &Trouble| Failed::new(CANTOPEN, format!("unable to open database file: {trouble}"));
        let file = path.to_string_lossy();
        let dialect = self.library.dialect;
        let plain = |statements: Vec<String>| statements.into_iter().map(Message::Plain).collect::<Vec<_>>();
        let asked = dialect.ask_place(&file).map(Message::query);
        let answers = self.link.perform(asked.into()).map_err(|e| cannot(&e))?;
        let (there, has_pack) = schema::place(&answers, dialect.target()).map_err(|names| {
            let words = format!("unable to open database file: several schemas contain it: {}", names.join(", "));
            Failed::new(CANTOPEN, words)
        })?;
        if there.is_none() && !creates {
            return Err(Failed::new(CANTOPEN, journal::NOT_THERE));
        }
        if there.is_none() && path.metadata().is_ok_and(|metadata| metadata.len() > 0) {
            let words = format!(
                "unable to open database file: its rows are in the file and not on the server; `contend migrate {file} --to URL` \
                 moves them; to start with an empty database, move the file away"
            );
            return Err(Failed::new(CANTOPEN, words));
        }
        if !has_pack {
            self.link.perform_admitted(plain(dialect.install())).map_err(|e| cannot(&e))?;
        }
        if there.is_none() {
            self.link.perform_admitted(plain(dialect.make(&self.name, &file))).map_err(|e| cannot(&e))?;
        }
        let name = there.unwrap_or_else(|| self.name.clone());
        if name != self.name || !dialect.enters_early() {
            self.link.go_to(&name, dialect.session_of(&name)).map_err(|e| cannot(&e))?;
            self.name = name;
        }
        self.read(front)?;
        self.link.set_timeout(0);
        Ok(())
    }

    /// Reads the schema again.
    ///
    /// # Errors
    /// The server's, or SQLite's.
    pub fn read(&mut self, front: &Front) -> Result<(), Failed> {
        self.check_copies()?;
        let ask_all = schema::ask_all(self.library.dialect.ask_version(&self.name));
        let mut answers = self.ask(front, ask_all.clone())?;
        let mut version = schema::version(&answers[0].rows);
        let mut is_completed = false;
        let mut again = Again::within(self.link.definition_waits_ms());
        // Another process may begin the next change before this one has read what the last one left.
        while version.is_none() && self.library.dialect.commits_definitions() && !self.link.has_sent() {
            let completed = self.changing().complete().map_err(|trouble| self.fails(front, &trouble))?;
            let Some(is_one) = completed else { break };
            if !again.tries() {
                return Err(Failed::outdated());
            }
            is_completed |= is_one;
            answers = self.ask(front, ask_all.clone())?;
            version = schema::version(&answers[0].rows);
        }
        if version.is_none() {
            return Err(Failed::new(IOERR, "disk I/O error: the database's schema is gone from the server"));
        }
        let (held, objects) = schema::objects(&answers[1].rows).into_iter().partition(schema::is_held);
        self.held = held;
        let is_new = schema::put_in_front(front, &objects)?;
        // Whatever ends the transaction without a commit reverts it.
        self.has_defined |= is_new && !front.is_autocommit();
        self.settings = schema::settings(&answers[2].rows).into_iter().collect();
        self.version = version;
        self.know(objects);
        if is_completed && self.enforces_keys() {
            let keys = self.keys();
            self.changing().complete_keys(&keys).map_err(|trouble| self.fails(front, &trouble))?;
        }
        Ok(())
    }

    /// Stores a new schema.
    fn know(&mut self, objects: Vec<schema::Object>) {
        self.catalogue = self.catalogue_of(&objects, self.enforces_keys());
        self.counts.is_partial.store(self.catalogue.changes_further_rows(), Relaxed);
        self.objects = objects;
        self.keys = None;
        self.plans.clear();
        self.link.forget();
        self.front_changed();
    }

    /// Notes a change of the front's schema.
    pub fn front_changed(&mut self) {
        self.epoch += 1;
    }

    /// Reads the schema again if another connection changed it. Returns whether it did.
    ///
    /// # Errors
    /// As for [`State::read`].
    pub fn refresh(&mut self, front: &Front) -> Result<bool, Failed> {
        let ask_version = Message::query(self.library.dialect.ask_version(&self.name));
        let answers = self.ask(front, vec![ask_version])?;
        let version = schema::version(&answers[0].rows);
        if version.is_some() && version == self.version {
            return Ok(false);
        }
        self.read(front).map(|()| true)
    }

    /// Marks the schema as possibly outdated: it may belong to a transaction that was rolled back.
    pub fn doubt(&mut self) {
        self.version = None;
    }

    /// Reads the schema if it may be outdated.
    ///
    /// # Errors
    /// As for [`State::read`].
    pub fn settle(&mut self, front: &Front) -> Result<(), Failed> {
        if self.version.is_none() { self.read(front) } else { Ok(()) }
    }

    /// # Errors
    /// The front has rows of the server: what changes it now is undone with them.
    pub fn check_copies(&self) -> Result<(), Failed> {
        let words = "contend shim: the connection is executing a statement over a copy of rows";
        if self.has_copies { Err(Failed::new(LOCKED, words)) } else { Ok(()) }
    }

    /// Whether the server would change further rows where this statement, or a trigger of it, changes some.
    pub fn has_actions(&mut self, sql: &str) -> bool {
        keys::act_on(&self.keys(), sql, &self.objects)
    }

    pub fn has_triggers(&self) -> bool {
        self.objects.iter().any(|[kind, ..]| kind == "trigger")
    }

    fn target(&self) -> Target {
        self.library.dialect.target()
    }

    /// Whether a session decides for itself if foreign keys are checked, as by SQLite.
    pub fn checks_by_session(&self) -> bool {
        self.target() == Target::MariaDb
    }

    /// Whether the server enforces REFERENCES.
    pub fn enforces_keys(&self) -> bool {
        self.settings.get("foreign_keys").is_some_and(|value| value == "on")
    }

    /// Whether the database has a table or view with this name.
    pub fn has_table(&self, name: &str) -> bool {
        let is = |object: &schema::Object| ["table", "view"].contains(&object[0].as_str());
        self.objects.iter().any(|object| is(object) && object[1].eq_ignore_ascii_case(name))
    }

    /// A numeric setting of the database, 0 by default.
    pub fn number(&self, name: &str) -> i64 {
        self.settings.get(name).and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    /// # Errors
    /// The server reports an error.
    pub fn set(&mut self, front: &Front, name: &str, value: &str) -> Result<(), Failed> {
        self.perform(front, vec![Message::query(self.library.dialect.set(name, value))])?;
        self.settings.insert(name.to_string(), value.to_string());
        Ok(())
    }

    /// The translation of a statement.
    ///
    /// # Errors
    /// The statement cannot be translated.
    pub fn plan(&mut self, sql: &str) -> Result<Arc<Plan>, Refusal> {
        if let Some(plan) = self.plans.get(sql) {
            return Ok(Arc::clone(plan));
        }
        let made = Arc::new(self.plan_once(sql)?);
        if self.library.cache == Cache::None {
            return Ok(made);
        }
        if self.plans.len() >= PLANS_MAX {
            self.plans.clear();
        }
        self.plans.insert(sql.to_string(), Arc::clone(&made));
        Ok(made)
    }

    /// The same of a text that is not used again.
    ///
    /// # Errors
    /// As for [`State::plan`].
    pub fn plan_once(&self, sql: &str) -> Result<Plan, Refusal> {
        plan(sql, &self.catalogue, self.version.unwrap_or(0), self.target())
    }

    /// The answer to one of the library's own PRAGMAs.
    ///
    /// # Errors
    /// The server's, or this program may not speak to it.
    pub fn of_library(&mut self, front: &Front, name: &str, value: &str) -> Result<String, Failed> {
        if name == "contend_cache" {
            return Ok(self.library.cache.word().to_string());
        }
        if !self.library.has_server_pragma {
            return Err(Failed::new(ERROR, "contend shim: PRAGMA contend_server: it is for contend's own worker"));
        }
        let messages = vec![Message::query(value.to_string())];
        let answers = self.perform(front, messages)?;
        let first = answers.first().and_then(|answer| answer.rows.first()?.first().cloned());
        Ok(first.map_or_else(String::new, Value::into_words))
    }

    /// Current values of `SessionValue`s.
    pub fn session(&self, front: &Front, counts: &Counts) -> Session {
        let rowid = match (front.last_insert_rowid(), self.unknown_rowid) {
            (rowid, Some((reason, earlier))) if rowid == earlier => Err(reason),
            (rowid, _) => Ok(rowid),
        };
        Session { rowid, changes: counts.last.load(Relaxed), total: counts.total.load(Relaxed) }
    }

    /// Stores the effects of a statement.
    pub fn keep(&mut self, front: &Front, done: &Done) {
        match done.rowid {
            Some(Ok(rowid)) => {
                self.unknown_rowid = None;
                front.set_last_insert_rowid(rowid);
            }
            Some(Err(reason)) => self.forget_rowid(front, reason),
            None => {}
        }
    }

    pub fn forget_rowid(&mut self, front: &Front, reason: &'static str) {
        self.unknown_rowid = Some((reason, front.last_insert_rowid()));
    }

    /// Queries about the schema. They begin no transaction of the server: a change of the schema would have to commit it, and its
    /// snapshot would keep the schema that it saw.
    fn ask(&mut self, front: &Front, messages: Vec<Message>) -> Result<Vec<Reply>, Failed> {
        let is_queued = self.link.is_in_transaction() || self.library.dialect.commits_definitions();
        if is_queued && !self.link.has_sent() {
            return self.link.outside(messages).map_err(|trouble| self.fails(front, &trouble));
        }
        self.perform(front, messages)
    }

    /// Sends messages to the server. The error is SQLite's counterpart of the server's.
    fn perform(&mut self, front: &Front, messages: Vec<Message>) -> Result<Vec<Reply>, Failed> {
        self.link.perform(messages).map_err(|trouble| self.fails(front, &trouble))
    }

    /// Executes a plan. `Ok(None)`: another connection changed the schema, which was read again.
    ///
    /// # Errors
    /// The server's error, as SQLite's.
    pub fn carry_out(&mut self, front: &Front, messages: Vec<Message>) -> Result<Option<Vec<Reply>>, Failed> {
        self.tally.server += 1;
        match self.link.perform(messages) {
            Ok(answers) => Ok(Some(answers)),
            Err(trouble) if trouble.kind() == Some(Kind::Outdated) => self.follow_schema(front).map(|()| None),
            Err(trouble) if trouble.kind() == Some(Kind::Missing) && self.refresh(front)? => Ok(None),
            Err(trouble) => Err(self.fails(front, &trouble)),
        }
    }

    /// Converts the server's error to SQLite's, and applies its consequences.
    pub fn fails(&mut self, front: &Front, trouble: &Trouble) -> Failed {
        let key = match trouble {
            Trouble::Server(said) if said.kind == Kind::Unique => self.key(said, front),
            Trouble::Server(said) if said.kind == Kind::NotNull && self.may_be_of_trigger(said) => {
                fault::null_column(said, front)
            }
            _ => None,
        };
        let failed = fault::failed(trouble, self.link.is_in_transaction(), key.as_ref());
        if fault::ends_transaction(trouble) && self.link.is_in_transaction() {
            let _ = self.link.end("ROLLBACK");
            self.left(front);
        }
        failed
    }

    /// Whether a trigger may have changed another table than the statement, and the server names none.
    fn may_be_of_trigger(&self, said: &Said) -> bool {
        let has_triggers = |table: &str| self.has_triggers_of(table);
        self.library.dialect.commits_definitions() && said.table.as_deref().is_some_and(has_triggers)
    }

    /// The unique key that an index on the server implements.
    fn key(&mut self, said: &Said, front: &Front) -> Option<Key> {
        let (index, table) = (said.constraint.as_deref()?, said.table.as_deref().unwrap_or_default());
        let ask = self.library.dialect.ask_key(&self.name, table, index);
        let answers = self.link.perform(vec![Message::query(ask)]).ok()?;
        let mut key = Key::read(index, &answers.first()?.rows)?;
        let expressions = format!("SELECT 1 FROM pragma_index_xinfo({}) WHERE cid = -2", literal(index));
        if !front.rows(&expressions).ok()?.is_empty() {
            key.columns.clear();
        }
        let table = literal(&key.table);
        let sql = format!("SELECT name FROM pragma_table_info({table}, 'main') WHERE pk > 0 ORDER BY pk");
        let primary: Vec<String> = front.rows(&sql).ok()?.into_iter().flatten().map(Value::into_words).collect();
        key.is_primary = !primary.is_empty() && primary == key.columns;
        Some(key)
    }

    /// Rolls the server's transaction back if SQLite has rolled back its own: OR ROLLBACK, or an interrupt.
    pub fn follow(&mut self, front: &Front) {
        if front.is_autocommit() && self.link.is_in_transaction() {
            // If the connection is lost, so is the transaction.
            let _ = self.link.end("ROLLBACK");
            self.left(front);
        }
    }

    /// Notes that the transaction on the server has ended.
    pub fn left(&mut self, front: &Front) {
        leave_transaction(front);
        self.savepoints.clear();
        self.began_by_savepoint = false;
        if std::mem::take(&mut self.has_defined) {
            self.doubt();
        }
    }
}
