//! Carries out a plan on a server, on one connection: units follow each other, and each begins and ends its transaction.

use crate::on_server::keys::Counter;
use crate::on_server::link::{Answer, Failed, Kind, Link};
use crate::on_server::plan::{Plan, Run, Session, Step};
use crate::order::{Pace, Unit};
use crate::outcome::{Difference, Divergences, Done, differs};
use crate::program::Shapes;
use crate::sql::Does;
use crate::trace::{Call, DONE, How, ROW, Trace};
use anyhow::{Result, bail};
use contend_sql::{Keys, Target};
use std::collections::HashMap;

/// A failed statement ends a transaction of PostgreSQL, unless it is between these.
const GUARD: [&str; 3] =
    ["SAVEPOINT contend_sql", "RELEASE SAVEPOINT contend_sql", "ROLLBACK TO SAVEPOINT contend_sql"];

/// A replay in progress.
pub struct Carrying<'c> {
    pub trace: &'c Trace,
    pub shapes: &'c Shapes,
    pub plan: &'c Plan,
    /// Counters of the rows that triggers insert.
    fired: &'c [Counter],
    /// Whether the server may have used up more keys than SQLite.
    has_skipped: bool,
    pub link: Box<dyn Link>,
    pub diverged: Divergences,
    pub transactions: u64,
    pub statements: u64,
    /// By captured connection, with the captured last rowid.
    sessions: HashMap<u64, (Session, i64)>,
    is_open: bool,
    /// The savepoint that began the transaction.
    begun_by: Option<String>,
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
            link,
            diverged: Divergences::default(),
            transactions: 0,
            statements: 0,
            sessions: HashMap::new(),
            is_open: false,
            begun_by: None,
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
            self.begun_by = None;
        }
        Ok(true)
    }

    /// The keys of rows that triggers insert are not captured: they follow the largest one.
    fn begin_unit(&mut self) -> Result<()> {
        if std::mem::take(&mut self.has_skipped) {
            for counter in self.fired {
                match self.link.after_largest(counter) {
                    Err(Failed::Lost(why)) => bail!("the connection to the server is lost: {why}"),
                    Err(Failed::Refused(_, code)) => {
                        bail!("the server does not set the counter of {} ({code})", counter.table)
                    }
                    Ok(()) => {}
                }
            }
        }
        Ok(())
    }

    fn call(&mut self, call: &Call, steps: &[Step]) -> Result<()> {
        let mut done = Ok(Done { rows: None, changes: 0, rowid: None });
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
        if let Some((word, name)) = &run.savepoint {
            let begins = word == "savepoint" && !self.is_open;
            if begins {
                self.link.run("BEGIN")?;
                (self.is_open, self.begun_by) = (true, Some(name.clone()));
            } else if word == "release" && self.begun_by.as_ref() == Some(name) {
                self.is_open = false;
                return self.link.run("COMMIT").map(|()| Done { rows: None, changes: 0, rowid: None });
            }
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
            // A COMMIT that fails has rolled back.
            Does::Commit | Does::Rollback => (self.is_open, self.begun_by) = (false, None),
            _ => {}
        }
        let is_delete = run.statements.iter().any(|statement| statement.sql.starts_with("DELETE "));
        self.has_skipped |= done.is_err() || is_delete || matches!(run.does, Does::Rollback | Does::Savepoint);
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

    fn statements_of(&mut self, run: &Run, call: &Call, is_alone: bool) -> Result<Done, Failed> {
        let (session, captured) = *self.session(call);
        let keys = [call.rowid.cast_signed(), captured];
        let counter = run.counter.as_ref().filter(|_| is_alone && has_rowid(call));
        if let Some((counter, first)) =
            counter.and_then(|counter| Some((counter, counter.first(&call.values, call.changes, keys)?)))
        {
            self.link.next_key(counter, first)?;
        }
        let mut done = Done { rows: None, changes: 0, rowid: None };
        for statement in &run.statements {
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
    call.how == How::Exec || !call.is_readonly && call.rc == DONE && !call.is_cut
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
