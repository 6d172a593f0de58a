//! Carries out a plan on a server, on one connection: units follow each other, and each begins and ends its transaction.

use crate::on_server::keys::{Counter, with_key};
use crate::on_server::link::{Answer, Failed, Kind, Link};
use crate::on_server::plan::{Plan, Run, Session, Step};
use crate::on_server::savepoints::Savepoints;
use crate::order::{Pace, Unit};
use crate::outcome::{Difference, Divergences, Done, differs};
use crate::program::Shapes;
use crate::sql::Does;
use crate::trace::{Call, DONE, How, ROW, Trace};
use anyhow::{Result, bail};
use contend_sql::{Keys, Statement, Target};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

/// A failed statement ends a transaction of PostgreSQL, unless it is between these.
const GUARD: [&str; 3] =
    ["SAVEPOINT contend_sql", "RELEASE SAVEPOINT contend_sql", "ROLLBACK TO SAVEPOINT contend_sql"];

const FAILED_COMMIT: &str = "A COMMIT that failed has rolled back on the server; in SQLite the transaction stays open.";
const LOW_KEYS: &str =
    "SQLite gave keys of 0 or less, which a server's counter does not give: those rows and later ones have other keys.";

/// A replay in progress.
pub struct Carrying<'c> {
    pub trace: &'c Trace,
    pub shapes: &'c Shapes,
    pub plan: &'c Plan,
    /// Counters of the rows that triggers insert.
    fired: &'c [Counter],
    /// Whether the server may have used up more keys than SQLite.
    has_skipped: bool,
    /// Whether SQLite may give keys again.
    has_deleted: bool,
    pub link: Box<dyn Link>,
    pub diverged: Divergences,
    /// What is not done as in SQLite, as sentences.
    pub left_out: BTreeSet<String>,
    pub transactions: u64,
    pub statements: u64,
    /// By captured connection, with the captured last rowid.
    sessions: HashMap<u64, (Session, i64)>,
    is_open: bool,
    savepoints: Savepoints,
    /// Tables in which the server gave another key than SQLite: their counters are not set onto a row that is there.
    off: BTreeSet<String>,
}

impl<'c> Carrying<'c> {
    pub fn new(
        (trace, shapes): (&'c Trace, &'c Shapes),
        (plan, fired): (&'c Plan, &'c [Counter]),
        link: Box<dyn Link>,
    ) -> Self {
        Self {
            trace,
            shapes,
            plan,
            fired,
            has_skipped: false,
            has_deleted: false,
            link,
            diverged: Divergences::default(),
            left_out: BTreeSet::new(),
            transactions: 0,
            statements: 0,
            sessions: HashMap::new(),
            is_open: false,
            savepoints: Savepoints::default(),
            off: BTreeSet::new(),
        }
    }

    /// Returns whether all were carried out, and not stopped.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn units(&mut self, units: &[Unit], pace: &Pace<'_>) -> Result<bool> {
        for unit in units {
            if !pace.wait(unit, self.trace) {
                return Ok(false);
            }
            self.transactions += u64::from(unit.is_transaction);
            self.begin_unit()?;
            for &at in &unit.calls {
                // The server rolls back what is not committed when the connection ends.
                if pace.is_stopped() {
                    return Ok(false);
                }
                if let Some(steps) = self.plan.steps.get(&at) {
                    self.call(&self.trace.calls[at], steps)?;
                }
            }
            // The program may have closed the connection.
            if std::mem::take(&mut self.is_open) {
                self.has_skipped = true;
                let _ = self.link.run("ROLLBACK");
            }
            self.savepoints.clear();
        }
        Ok(true)
    }

    /// The keys of rows that triggers insert are not captured: they follow the largest one.
    fn begin_unit(&mut self) -> Result<()> {
        let has_skipped = std::mem::take(&mut self.has_skipped);
        let has_deleted = std::mem::take(&mut self.has_deleted);
        let is_off = |counter: &&Counter| has_skipped || has_deleted && !counter.is_autoincrement;
        for counter in self.fired.iter().filter(is_off) {
            match self.link.after_largest(counter) {
                Err(Failed::Lost(why)) => bail!("the connection to the server is lost: {why}"),
                Err(Failed::Refused(_, code)) => {
                    bail!("the server does not set the counter of {} ({code})", counter.table)
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }

    fn call(&mut self, call: &Call, steps: &[Step]) -> Result<()> {
        let mut done = Ok(Done::default());
        let mut has_run = false;
        for step in steps {
            let Step::Runs(run) = step else { continue };
            has_run = true;
            done = self.run(run, call, steps.len() == 1);
            if done.is_err() {
                break;
            }
        }
        if has_rowid(call) {
            let (session, captured) = self.session(call);
            (session.rowid, *captured) = (Some(call.rowid.cast_signed()), call.rowid.cast_signed());
        }
        if !has_run {
            return Ok(());
        }
        self.statements += 1;
        if let Some(difference) = difference(call, done, self.shapes.get(call).does)? {
            let shape = self.shapes.get(call);
            self.diverged.add((self.shapes.number(call), &shape.text), difference);
        }
        Ok(())
    }

    fn session(&mut self, call: &Call) -> &mut (Session, i64) {
        let new = Session { rowid: Some(0), changes: 0, total: 0 };
        self.sessions.entry(call.connection).or_insert((new, 0))
    }

    /// Carries out a statement of a text. `is_alone`: the text has no other.
    fn run(&mut self, run: &Run, call: &Call, is_alone: bool) -> Result<Done, Failed> {
        if let Some(savepoint) = &run.savepoint {
            return self.savepoint(savepoint);
        }
        let is_guarded = self.is_open
            && self.link.target() == Target::Postgres
            && matches!(run.does, Does::Read | Does::Write | Does::Other);
        if is_guarded {
            self.link.run(GUARD[0])?;
        }
        let done = self.statements_of(run, call, is_alone);
        if is_guarded {
            if done.is_err() {
                self.link.run(GUARD[2])?;
            }
            self.link.run(GUARD[1])?;
        }
        match run.does {
            Does::Begin(_) => self.is_open |= done.is_ok(),
            Does::Commit => self.has_committed(&done),
            Does::Rollback => {
                self.is_open = false;
                self.savepoints.clear();
            }
            _ => {}
        }
        self.has_deleted |= run.statements.iter().any(|statement| statement.sql.starts_with("DELETE "));
        self.has_skipped |= done.is_err() || run.does == Does::Rollback;
        let (session, _) = self.session(call);
        match &done {
            Ok(done) if run.does == Does::Write => {
                (session.changes, session.total) = (done.changes, session.total + done.changes);
            }
            Err(_) if run.does == Does::Write => session.changes = 0,
            _ => {}
        }
        done
    }

    fn savepoint(&mut self, (word, name): &(String, String)) -> Result<Done, Failed> {
        let Some(statements) = self.savepoints.statements((word, name), self.is_open) else {
            return Err(Failed::Refused(Kind::Other, "no such savepoint".to_string()));
        };
        self.has_skipped |= word == "rollback";
        for sql in statements {
            let done = self.link.run(&sql);
            match sql.as_str() {
                "BEGIN" => self.is_open = done.is_ok(),
                "COMMIT" => self.has_committed(&done),
                _ => {}
            }
            done?;
        }
        Ok(Done::default())
    }

    /// After a COMMIT the server has no transaction, also if it failed.
    fn has_committed<T>(&mut self, done: &Result<T, Failed>) {
        if let Err(Failed::Refused(..)) = done {
            self.has_skipped = true;
            self.left_out.insert(FAILED_COMMIT.to_string());
        }
        self.is_open = false;
        self.savepoints.clear();
    }

    /// Has the server give the captured key. Returns the statements, with the key if no counter gives it.
    fn keyed<'r>(
        &mut self,
        run: &'r Run,
        (counter, first): (&Counter, i64),
        call: &Call,
    ) -> Result<Cow<'r, [Statement]>, Failed> {
        if first > 0 {
            if !self.off.contains(&counter.table) {
                self.link.next_key(counter, first)?;
            }
            return Ok(Cow::Borrowed(run.statements.as_slice()));
        }
        let mut statements = run.statements.clone();
        let main = statements.iter_mut().find(|statement| statement.main && call.changes == 1);
        let keyed = main.and_then(|main| Some((with_key(&main.sql, &counter.column, first)?, main)));
        if let Some((sql, main)) = keyed {
            main.sql = sql;
        } else {
            self.off.insert(counter.table.clone());
            self.left_out.insert(LOW_KEYS.to_string());
        }
        Ok(Cow::Owned(statements))
    }

    fn statements_of(&mut self, run: &Run, call: &Call, is_alone: bool) -> Result<Done, Failed> {
        let (session, captured) = *self.session(call);
        let keys = [call.rowid.cast_signed(), captured];
        let counter = run.counter.as_ref().filter(|_| is_alone && has_rowid(call));
        let key = counter.and_then(|counter| Some((counter, counter.first(&call.values, call.changes, keys)?)));
        let statements = match key {
            Some(key) => self.keyed(run, key, call)?,
            None => Cow::Borrowed(run.statements.as_slice()),
        };
        let mut done = Done::default();
        for statement in statements.iter() {
            let bound = run.bound(statement, call, session);
            let values = bound.map_err(|why| Failed::Refused(Kind::Other, why))?;
            if values.is_empty() && !matches!(run.does, Does::Read | Does::Write | Does::Other) {
                self.link.run(&statement.sql)?;
                continue;
            }
            let Answer { rows, changed, key } = self.link.execute(statement, &values)?;
            if !statement.main {
                continue;
            }
            let counted = i64::try_from(changed).unwrap_or(i64::MAX);
            let changes = if run.counts_otherwise { call.changes } else { counted };
            done = Done { rows: Some(rows), changes, rowid: key };
            let (session, _) = self.session(call);
            match statement.keys {
                Keys::Unknown(_) if changed > 0 => session.rowid = None,
                _ => session.rowid = key.or(session.rowid),
            }
        }
        Ok(done)
    }
}

/// Whether the last rowid is captured.
fn has_rowid(call: &Call) -> bool {
    call.how == How::Exec || !call.is_readonly && call.rc == DONE && call.changes >= 0
}

/// The difference between a captured and a replayed result.
///
/// # Errors
/// The connection is lost.
fn difference(call: &Call, done: Result<Done, Failed>, does: Does) -> Result<Option<Difference>> {
    let captured = || match Kind::of_sqlite(call.rc) {
        _ if !call.has_failed() => "success".to_string(),
        kind => format!("{} (SQLite's {})", kind.map_or("constraint", Kind::word), call.rc),
    };
    Ok(match done {
        Err(Failed::Lost(why)) => bail!("the connection to the server is lost: {why}"),
        Err(Failed::Refused(kind, code)) => {
            let expected = Kind::of_sqlite(call.rc).map_or(kind != Kind::Other, |captured| captured == kind);
            let is_same = call.has_failed() && expected;
            (!is_same).then(|| ("result", captured(), format!("{} ({code})", kind.word())))
        }
        Ok(_) if call.has_failed() => Some(("result", captured(), "success".to_string())),
        Ok(mut done) => {
            // The program may have read fewer rows than the statement has.
            let is_cut = call.is_cut || call.rc == ROW;
            done.rows = done.rows.map(|rows| if is_cut { rows.min(call.rows) } else { rows });
            differs(call, &done, does)
        }
    })
}
