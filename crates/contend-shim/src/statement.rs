//! A statement of the program: classified when it is prepared, executed by steps.

use crate::again::Again;
use crate::c::front::{Failed, Own};
use crate::c::{DONE, ERROR, INTERRUPT, OK, READONLY, ROW};
use crate::connection::{Connection, State};
use crate::copied::{Asked, Stopped};
use crate::does::{Does, does};
use crate::journal::Spent;
use crate::note::Note;
use crate::transaction::{done, transaction};
use crate::value::Value;
use crate::{copied, journal, note};
use std::collections::VecDeque;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

const UNFIT: &str = "a bound value has a type that its parameter does not take";

pub struct Statement {
    pub connection: Arc<Connection>,
    pub sql: String,
    pub does: Does,
    pub is_readonly: bool,
    /// The SQLite statement that has the program's columns, positioned at a row of these values; 0 without a row.
    row: AtomicUsize,
    /// Number of the front's schema that its columns belong to.
    epoch: AtomicU64,
    /// Whether it has begun and not ended. Not part of the progress, which is locked while the server works.
    is_active: AtomicBool,
    progress: Mutex<Progress>,
    /// Where its time goes, once it was executed.
    spent: OnceLock<Option<Arc<Spent>>>,
}

#[derive(Default)]
struct Progress {
    values: Vec<Value>,
    /// Remaining rows, between the first step and the last.
    rows: Option<VecDeque<Vec<Value>>>,
    /// Interrupts before its first row.
    interrupts: usize,
    /// Number of rows that it changed, added at its end.
    changed: Option<i64>,
    /// Whether it was stepped since the last reset.
    has_begun: bool,
    /// Error of the last step, which `sqlite3_reset` returns again.
    failed: Option<Failed>,
    carrier: Option<Own>,
}

/// SQLite's part of the work: a step of the program's statement in the front, and its text with the bound values.
pub struct Native<'n> {
    pub step: &'n dyn Fn() -> i32,
    pub expanded: &'n dyn Fn() -> Option<String>,
    /// Number of its columns, and their names.
    pub columns: &'n dyn Fn() -> usize,
    pub names: &'n dyn Fn() -> Vec<String>,
    /// Number of its parameters: those that are not bound are NULL.
    pub parameters: &'n dyn Fn() -> usize,
}

/// Whether a text has these letters, in any case.
fn has_word(sql: &str, word: &str) -> bool {
    sql.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

/// Rows, and the number of changed ones.
type Executed = (Vec<Vec<Value>>, Option<i64>);

impl Statement {
    /// A statement that SQLite prepared when the front had the schema of this epoch.
    pub fn new(connection: Arc<Connection>, sql: String, does: Does, (is_readonly, epoch): (bool, u64)) -> Statement {
        let (row, epoch) = (AtomicUsize::new(0), AtomicU64::new(epoch));
        let (is_active, progress) = (AtomicBool::new(false), Mutex::default());
        Statement { connection, sql, does, is_readonly, row, epoch, is_active, progress, spent: OnceLock::new() }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether SQLite's own statement executes it and has its columns.
    pub fn is_native(&self) -> bool {
        matches!(self.does, Does::Local | Does::Schema | Does::Echo(..) | Does::Library(..))
    }

    /// The SQLite statement with the columns of the current row of the server, if there is one.
    pub fn row(&self) -> Option<usize> {
        Some(self.row.load(Acquire)).filter(|address| *address != 0)
    }

    /// Whether it has begun and not ended.
    pub fn is_active(&self) -> bool {
        self.is_active.load(Relaxed)
    }

    fn set_active(&self, is_active: bool) {
        if self.is_active.swap(is_active, Relaxed) != is_active {
            self.connection.counts.active.fetch_add(if is_active { 1 } else { -1 }, Relaxed);
        }
    }

    /// Whether it has begun; values can then be bound only after a reset.
    pub fn has_begun(&self) -> bool {
        self.progress().has_begun
    }

    /// Stores a bound value; numbers begin at 1.
    pub fn bind(&self, number: usize, value: Value) {
        let mut progress = self.progress();
        if progress.values.len() < number {
            progress.values.resize(number, Value::Null);
        }
        progress.values[number - 1] = value;
    }

    pub fn clear_bindings(&self) {
        self.progress().values.clear();
    }

    /// The result of a reset.
    pub fn reset(&self) -> i32 {
        let mut progress = self.progress();
        self.row.store(0, Release);
        self.end(&mut progress);
        self.set_active(false);
        progress.has_begun = false;
        progress.failed.take().map_or(OK, |failed| self.connection.raise(&failed))
    }

    /// A step of a statement that SQLite does not execute alone.
    pub fn step(&self, native: &Native<'_>) -> i32 {
        let mut progress = self.progress();
        self.row.store(0, Release);
        self.set_active(true);
        progress.has_begun = true;
        progress.failed = None;
        let result = match progress.rows {
            Some(_) => Ok(()),
            None => self.begin(&mut progress, native),
        };
        let result = result.and_then(|()| self.next(&mut progress));
        self.set_active(result == Ok(ROW));
        match result {
            Ok(code) => code,
            Err(failed) => {
                progress.rows = None;
                let code = self.connection.raise(&failed);
                progress.failed = Some(failed);
                code
            }
        }
    }

    /// Ends the execution: there are no more rows.
    fn end(&self, progress: &mut Progress) {
        progress.rows = None;
        if let Some(changed) = progress.changed.take() {
            self.connection.counts.last.store(changed, Relaxed);
            self.connection.counts.total.fetch_add(changed, Relaxed);
        }
    }

    /// Returns the next row.
    fn next(&self, progress: &mut Progress) -> Result<i32, Failed> {
        let has_rows = progress.rows.as_ref().is_some_and(|rows| !rows.is_empty());
        if has_rows && self.is_readonly && progress.interrupts != self.connection.interrupts.count() {
            return Err(Failed::new(INTERRUPT, "interrupted"));
        }
        let Some(row) = progress.rows.as_mut().and_then(VecDeque::pop_front) else {
            self.end(progress);
            return Ok(DONE);
        };
        if progress.carrier.is_none() {
            let places: Vec<String> = (1..=row.len()).map(|i| format!("?{i}")).collect();
            progress.carrier = Some(self.connection.carriers.prepare(&format!("SELECT {}", places.join(", ")))?);
        }
        let Some(carrier) = &progress.carrier else { return Ok(DONE) };
        if carrier.put(&row) != ROW {
            return Err(self.connection.carriers.failed());
        }
        self.row.store(carrier.address(), Release);
        Ok(ROW)
    }

    fn begin(&self, progress: &mut Progress, native: &Native<'_>) -> Result<(), Failed> {
        self.connection.check_process()?;
        let (epoch, begun) = (self.epoch.load(Relaxed), Instant::now());
        let done = self.carried_out(&progress.values, native);
        if let Some(spent) = self.spent.get_or_init(|| journal::spent(&self.sql)) {
            spent.add(begun.elapsed());
        }
        let (rows, changed) = done.inspect_err(|_| self.connection.state().follow(&self.connection.front))?;
        if epoch != self.epoch.load(Relaxed) {
            // Its rows may have another number of columns.
            progress.carrier = None;
        }
        self.connection.succeeded();
        progress.changed = changed;
        if rows.first().is_some_and(|row| row.len() != (native.columns)()) {
            return Err(Failed::new(ERROR, "contend shim: the server's rows have a different number of columns"));
        }
        progress.rows = Some(rows.into());
        progress.interrupts = self.connection.interrupts.count();
        Ok(())
    }

    fn carried_out(&self, values: &[Value], native: &Native<'_>) -> Result<Executed, Failed> {
        let mut state = self.connection.state();
        let reason = match &self.does {
            Does::Copied(reason) => reason.clone(),
            Does::Server => match self.on_server(&mut state, values, native) {
                Ok(done) => return Ok(done),
                Err(Stopped::Failed(failed)) => return Err(failed),
                Err(Stopped::Untranslated(reason)) => reason,
            },
            _ => return self.not_on_server(&mut state, native),
        };
        drop(state);
        let ready = |state: &mut State| self.ready(state, native);
        let asked = Asked { sql: &self.sql, values, reason: &reason, ready: &ready };
        if self.is_readonly {
            return copied::rows(&self.connection, &asked).map(|rows| (rows, None));
        }
        if matches!(self.does, Does::Copied(_)) && (native.columns)() == 0 {
            return copied::deleted(&self.connection, &asked).map(|count| (vec![], Some(count)));
        }
        Err(journal::refused(&self.sql, &reason))
    }

    fn not_on_server(&self, state: &mut State, native: &Native<'_>) -> Result<Executed, Failed> {
        state.check_copies()?;
        let connection = &self.connection;
        match &self.does {
            Does::Refused(reason) => return Err(Failed::new(ERROR, format!("contend shim: {reason}"))),
            Does::Define => {
                self.may_write()?;
                self.define(state, native)?;
            }
            Does::Begin { .. } | Does::Commit | Does::Rollback | Does::Savepoint(..) => {
                transaction(&self.does, state, connection, native.step)?;
            }
            Does::Number(name, true) => {
                self.may_write()?;
                done((native.step)(), connection)?;
                // SQLite has read the number: 0x1F, '8', 1.9.
                let number = connection.front.rows(&format!("PRAGMA {name}"))?.into_iter().flatten().next();
                state.set(&connection.front, name, &number.map_or_else(String::new, Value::into_words))?;
            }
            Does::Number(name, false) => {
                state.read(&connection.front)?;
                return Ok((vec![vec![Value::Integer(state.number(name))]], None));
            }
            Does::ForeignKeys => {
                state.settle(&connection.front)?;
                self.enforce_keys(state)?;
            }
            Does::ForeignKeyCheck => state.check_keys(&connection.front)?,
            Does::Nothing | Does::Local | Does::Schema | Does::Echo(..) | Does::Library(..) => {}
            Does::Server | Does::Copied(_) => {}
        }
        Ok((vec![], None))
    }

    /// Changes the schema. If another connection has changed it meanwhile, this is begun again, for as long as a change waits
    /// for a lock.
    fn define(&self, state: &mut State, native: &Native<'_>) -> Result<(), Failed> {
        let Connection { front, counts, .. } = &*self.connection;
        let mut again = Again::within(state.link.definition_waits_ms());
        state.refresh(front)?;
        while again.tries() {
            if let Some(objection) = self.connection.objection(state, &self.sql, &Note::default()) {
                return Err(journal::refused(&self.sql, &objection.into_reason()));
            }
            self.enforce_keys(state)?;
            // Besides this one.
            let is_read = counts.active.load(Relaxed) > 1;
            if state.define(front, &self.sql, is_read, native.step)? {
                return Ok(());
            }
            state.follow_schema(front)?;
        }
        Err(Failed::outdated())
    }

    fn may_write(&self) -> Result<(), Failed> {
        if self.connection.is_readonly.load(Relaxed) && !self.is_readonly {
            return Err(Failed::new(READONLY, "attempt to write a readonly database"));
        }
        Ok(())
    }

    /// Once a connection has foreign keys on, by PRAGMA or `sqlite3_db_config`, the server enforces those of all tables, for
    /// all connections. The schema must be settled: a rollback may have reverted it.
    fn enforce_keys(&self, state: &mut State) -> Result<(), Failed> {
        let Connection { front, is_readonly, .. } = &*self.connection;
        state.link.set_checks_keys(front.has_keys_on());
        let is_missing = !state.enforces_keys() && !is_readonly.load(Relaxed) && front.has_keys_on();
        if is_missing { state.enforce_keys(front) } else { Ok(()) }
    }

    /// Where this connection has its keys off, SQLite changes no further rows; the server would.
    fn check_actions(&self, state: &mut State) -> Result<(), Failed> {
        let is_change = !self.is_readonly && state.enforces_keys() && !self.connection.front.has_keys_on();
        if !is_change || state.checks_by_session() || !state.has_actions(&self.sql) {
            return Ok(());
        }
        let reason = "foreign keys are off here, and the server would carry out the action of one";
        Err(journal::refused(&self.sql, reason))
    }

    /// The server's triggers do not fire for what they do themselves, nor for rows that REPLACE deletes.
    fn check_triggers(&self, state: &State) -> Result<(), Failed> {
        if self.is_readonly || !state.has_triggers() || !self.connection.front.has_on("recursive_triggers") {
            return Ok(());
        }
        Err(journal::refused(&self.sql, "recursive_triggers is on, and the database has triggers"))
    }

    /// A count after LIMIT that is no integer is an error of SQLite, which evaluates it although the front has no rows. To the
    /// server NULL would mean no limit.
    fn check_limit(&self, values: &[Value], native: &Native<'_>) -> Result<(), Failed> {
        let is_odd = |value: &Value| !matches!(value, Value::Integer(_));
        let is_missing = (native.parameters)() > values.len();
        let may_fail = self.is_readonly && (is_missing || values.iter().any(is_odd)) && has_word(&self.sql, "LIMIT");
        if may_fail { done((native.step)(), &self.connection) } else { Ok(()) }
    }

    /// Brings the front and the program's statement to the server's schema. A change is not made over a copy of rows, which
    /// would not have it.
    fn ready(&self, state: &mut State, native: &Native<'_>) -> Result<(), Failed> {
        if !self.is_readonly {
            self.may_write()?;
            state.check_copies()?;
        }
        state.settle(&self.connection.front)?;
        if !self.is_readonly {
            self.enforce_keys(state)?;
        }
        self.prepare_again(state, native)
    }

    /// Updates the columns of the program's statement to the current schema: SQLite prepares it again when it is
    /// stepped. The front has no rows, and changes by the step are undone.
    fn prepare_again(&self, state: &mut State, native: &Native<'_>) -> Result<(), Failed> {
        let epoch = self.connection.epoch(state);
        if self.epoch.load(Relaxed) == epoch {
            return Ok(());
        }
        state.check_copies()?;
        let front = &self.connection.front;
        note::begin();
        // A statement that no longer fits the schema fails with SQLite's message.
        let fresh = front.prepare(&self.sql);
        let (mut note, fresh) = (note::end(), fresh?);
        note.locate(front, &self.sql)?;
        let objection = || self.connection.objection(state, &self.sql, &note);
        let now = does(&self.sql, &note, |name| state.has_table(name), objection);
        if let Does::Refused(reason) | Does::Copied(reason) = &now
            && now != self.does
        {
            return Err(journal::refused(&self.sql, reason));
        }
        let is_same = now == self.does;
        let names = fresh.names();
        if is_same && !names.is_empty() {
            if self.is_readonly {
                (native.step)();
            } else {
                state.try_in_front(front, native.step)?;
            }
        }
        // Otherwise its rows would have wrong names.
        if !is_same || names != (native.names)() {
            return Err(Failed::outdated());
        }
        self.epoch.store(epoch, Relaxed);
        Ok(())
    }

    /// Executes it on the server. If another connection changed the schema, it is translated again.
    fn on_server(&self, state: &mut State, values: &[Value], native: &Native<'_>) -> Result<Executed, Stopped> {
        let connection = &self.connection;
        let mut again = Again::within(state.link.definition_waits_ms());
        while again.tries() {
            self.ready(state, native)?;
            self.check_actions(state)?;
            self.check_triggers(state)?;
            self.check_limit(values, native)?;
            let session = state.session(&connection.front, &connection.counts);
            let mut plan = state.plan(&self.sql);
            let mut messages = match &plan {
                Ok(plan) => plan.messages(values, &session),
                Err(_) => Ok(None),
            };
            // A value without the type implied by the text is written as a literal, and the statement translated with
            // it.
            if matches!(messages, Ok(None))
                && let Some(text) = written_out(&self.sql, values, native)
            {
                plan = state.plan(&text);
                if let Ok(plan) = &plan {
                    messages = plan.messages(&[], &session);
                }
            }
            let plan = plan.map_err(|refusal| Stopped::Untranslated(refusal.to_string()))?;
            let messages = messages.map_err(|reason| Failed::new(ERROR, format!("contend shim: {reason}")))?;
            let Some(messages) = messages else {
                return Err(Stopped::Untranslated(UNFIT.to_string()));
            };
            match state.carry_out(&connection.front, messages) {
                Ok(Some(answers)) => {
                    let tagless = |reason| Failed::new(ERROR, format!("contend shim: {reason}"));
                    let done = plan.done(answers).map_err(tagless)?;
                    if let Some(Err(reason)) = done.rowid {
                        journal::noted(&self.sql, &format!("sqlite3_last_insert_rowid() is unchanged: {reason}"));
                    }
                    state.keep(&connection.front, &done);
                    return Ok((done.rows, done.changed));
                }
                Ok(None) => {}
                Err(failed) => {
                    if !self.is_readonly {
                        connection.counts.last.store(0, Relaxed);
                    }
                    if plan.may_fail_late() {
                        state.forget_rowid(
                            &connection.front,
                            "it is unknown which rows the failed statement had stored",
                        );
                    }
                    return Err(failed.into());
                }
            }
        }
        Err(Failed::outdated().into())
    }
}

/// The text with its values as literals, if that is exact.
fn written_out(sql: &str, values: &[Value], native: &Native<'_>) -> Option<String> {
    let is_same = |value: &Value| match value {
        // SQLite writes 15 digits.
        Value::Real(r) => r.is_finite() && format!("{r:.14e}").parse() == Ok(*r),
        Value::Text(bytes) => !bytes.contains(&0),
        _ => true,
    };
    let has_sign = ["-?", "-:", "-@", "-$"].iter().any(|sign| sql.contains(sign));
    if values.is_empty() || has_sign || !values.iter().all(is_same) { None } else { (native.expanded)() }
}
