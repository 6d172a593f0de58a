//! `contend replay`: repeats captured transactions on copies of the databases, and compares the results.
//!
//! Each transaction runs on its own connection.

use crate::attach::{attached, number};
use crate::config;
use crate::content::quoted;
use crate::copies::{Counts, compare, confine, copy_of, place};
use crate::gaps::only_of_the_program;
use crate::manifest::{Database, Manifest};
use crate::order::{Pace, Unit, had_no_effect, units};
use crate::outcome::{Divergences, Done, OF_THE_MOMENT, Replayed, differs, not_compared};
use crate::program::Shapes;
use crate::sql::{Does, is_of_the_moment};
use crate::trace::{Call, How, ROW, Trace, Value};
use anyhow::Result;
use contend::stats::precision::counted;
use rusqlite::hooks::{AuthContext, Authorization};
use rusqlite::types::ToSqlOutput;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, ErrorCode, ToSql};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

struct Replay<'r> {
    trace: &'r Trace,
    shapes: &'r Shapes,
    databases: &'r [Database],
    dir: &'r Path,
    connections: BTreeMap<u64, Connection>,
    outcome: Replayed,
    diverged: Divergences,
}

/// Replays a capture in its own directory. `speed`: factor on the captured speed; `None`: as fast as possible.
///
/// `None`: it was stopped.
///
/// # Errors
/// The capture has no values, or a copy cannot be created.
pub fn replay(
    taken: &Path,
    manifest: &Manifest,
    dir: &Path,
    speed: Option<f64>,
    stop: &AtomicBool,
) -> Result<Option<Replayed>> {
    manifest.needs_values("A replay")?;
    let trace = Trace::read(taken, manifest)?;
    let shapes = Shapes::of(&trace);
    for (i, database) in manifest.databases.iter().enumerate() {
        place(taken, database, &copy_of(dir, i))?;
    }
    let mut replay = Replay {
        trace: &trace,
        shapes: &shapes,
        databases: &manifest.databases,
        dir,
        connections: BTreeMap::new(),
        outcome: Replayed {
            captured_ns: trace.to_ns - trace.from_ns,
            missing: trace.missing(manifest),
            ..Replayed::default()
        },
        diverged: Divergences::default(),
    };
    let units = units(&trace, &shapes, &mut replay.outcome.left_out);
    let said = |sentence: &String| replay.outcome.missing.contains(sentence);
    let more: Vec<String> = only_of_the_program(&trace, false).into_iter().filter(|sentence| !said(sentence)).collect();
    replay.outcome.left_out.extend(more);
    let begin = Instant::now();
    if !replay.units(&units, &Pace { speed, begin, stop })? {
        return Ok(None);
    }
    replay.outcome.replayed_ns = u64::try_from(begin.elapsed().as_nanos())?;
    let Replay { mut outcome, diverged, .. } = replay;
    outcome.diverged = diverged.into_all();
    for (i, database) in manifest.databases.iter().enumerate() {
        let end = database.end.as_ref().map(|end| end.copied_in(taken)).transpose()?.flatten();
        match end {
            Some(end) => {
                let both = [copy_of(dir, i), end];
                outcome.databases.push(compare(&database.path, &both, Counts::Rowids)?);
            }
            None => {
                let path = database.path.display();
                outcome
                    .left_out
                    .insert(format!("{path} is not compared: the capture has no copy of its final content."));
            }
        }
    }
    outcome.not_compared = not_compared(manifest, &outcome.databases);
    outcome.other_version = other_version(&trace).filter(|_| !outcome.is_same() || !outcome.diverged.is_empty());
    Ok(Some(outcome))
}

/// The sentence about the program's versions of SQLite, if one is not the replay's.
fn other_version(trace: &Trace) -> Option<String> {
    let versions: BTreeSet<&str> = trace.connections.values().map(|connection| &*connection.version).collect();
    let others: Vec<&str> =
        versions.into_iter().filter(|version| !version.is_empty() && *version != rusqlite::version()).collect();
    (!others.is_empty()).then(|| {
        format!(
            "The program used SQLite {}, the replay {}: versions can have other results.",
            others.join(" and "),
            rusqlite::version()
        )
    })
}

impl Replay<'_> {
    /// Returns whether all were carried out, and not stopped.
    fn units(&mut self, units: &[Unit], pace: &Pace<'_>) -> Result<bool> {
        let trace = self.trace;
        let of = |unit: &Unit| trace.calls[unit.calls[0]].connection;
        let last: BTreeMap<u64, usize> = units.iter().map(of).zip(0..).collect();
        for (i, unit) in units.iter().enumerate() {
            if !pace.wait(unit, trace) {
                return Ok(false);
            }
            self.unit(unit)?;
            // A program may open a connection for each request, and one in an exclusive mode keeps its lock.
            if last.get(&of(unit)) == Some(&i) {
                self.connections.remove(&of(unit));
            }
        }
        Ok(true)
    }

    fn unit(&mut self, unit: &Unit) -> Result<()> {
        self.outcome.transactions += u64::from(unit.is_transaction);
        for &i in &unit.calls {
            let call = &self.trace.calls[i];
            if !had_no_effect(call, self.shapes) {
                self.call(call)?;
            }
        }
        // The program may have closed the connection, or a lock ended the transaction.
        let connection = self.trace.calls[unit.calls[0]].connection;
        if unit.is_transaction
            && let Some(db) = self.connections.get(&connection)
            && !db.is_autocommit()
            && self.trace.calls[*unit.calls.last().expect("not empty")].after
        {
            db.execute_batch("ROLLBACK")?;
        }
        Ok(())
    }

    fn open(&mut self, id: u64) -> Result<()> {
        if self.connections.contains_key(&id) {
            return Ok(());
        }
        let captured = self.trace.connections.get(&id);
        let path = captured.map_or(Path::new(""), |connection| &connection.path);
        let number = self.databases.iter().position(|database| database.path == path);
        let db = match number {
            Some(number) => Connection::open(copy_of(self.dir, number))?,
            None => Connection::open_in_memory()?,
        };
        db.busy_timeout(Duration::from_secs(5))?;
        // As in SQLite's own default, which contend's build of it does not have. A program that wants them enforced says so.
        db.pragma_update(None, "foreign_keys", false)?;
        confine(&db)?;
        self.connections.insert(id, db);
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Result<()> {
        let shape = self.shapes.get(call);
        let first = shape.text.split([' ', '(']).next().unwrap_or_default().to_ascii_lowercase();
        let words: Vec<&str> = shape.text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        // In a script, any statement may contain it.
        let has = |word: &str| shape.text.contains(';') && words.iter().any(|other| other.eq_ignore_ascii_case(word));
        let leaves = match first.as_str() {
            _ if has("attach") || has("detach") => Some("attach databases in a script"),
            _ if has("vacuum") && has("into") => Some("write another file"),
            "attach" if attached(call).is_none() => Some("attach a database whose name is computed"),
            "vacuum" if shape.text.to_ascii_lowercase().contains(" into ") => Some("write another file"),
            "pragma" if shape.text.to_ascii_lowercase().contains("directory") => Some("name directories"),
            _ => None,
        };
        if let Some(leaves) = leaves {
            self.outcome.left_out.insert(format!("Statements that {leaves} were left out."));
            return Ok(());
        }
        if is_of_the_moment(&call.sql) {
            self.outcome.left_out.insert(OF_THE_MOMENT.into());
        }
        self.open(call.connection)?;
        self.outcome.statements += 1;
        let db = &self.connections[&call.connection];
        let done = match (attached(call), config::carry_out(db, &call.sql)) {
            // It was not executed.
            _ if call.how == How::Prepare => db.prepare(&call.sql).map(|_| Done::default()),
            (Some(it), _) => self.attach(db, &it.schema, it.path.as_deref()),
            (None, Some(done)) => done.map(|()| Done::default()),
            (None, None) if call.how == How::Exec => script(db, call),
            (None, None) => statement(db, call),
        };
        let differs = match done {
            Ok(done) if call.has_failed() => {
                let changed = counted(usize::try_from(done.changes).unwrap_or(0), "changed row");
                let what = if shape.does == Does::Write { format!(", {changed}") } else { String::new() };
                Some(("result", format!("error {}", call.rc), format!("success{what}")))
            }
            Ok(done) => differs(call, &done, shape.does),
            Err(why) if code(&why).is_some_and(|code| code & 0xff == call.rc & 0xff) => None,
            Err(why) if why.sqlite_error_code() == Some(ErrorCode::AuthorizationForStatementDenied) => {
                self.outcome.left_out.insert("Statements that use other files were left out.".into());
                None
            }
            Err(why) => {
                let captured = if call.has_failed() { format!("error {}", call.rc) } else { "success".into() };
                let code = code(&why).map_or(String::new(), |code| format!("error {code}: "));
                Some(("result", captured, format!("{code}{why}")))
            }
        };
        if let Some(difference) = differs {
            self.diverged.add((self.shapes.number(call), &shape.text), difference);
        }
        Ok(())
    }
}

/// SQLite's extended code of an error; `None` for errors of rusqlite itself.
fn code(error: &rusqlite::Error) -> Option<i32> {
    match error {
        rusqlite::Error::SqliteFailure(error, _) | rusqlite::Error::SqlInputError { error, .. } => {
            Some(error.extended_code)
        }
        _ => None,
    }
}

impl Replay<'_> {
    /// Attaches the copy of a database. One that is not in the capture starts empty, in the replay's directory.
    fn attach(&self, db: &Connection, schema: &str, path: Option<&Path>) -> rusqlite::Result<Done> {
        let copy = path.map_or(PathBuf::new(), |path| match number(self.databases, path) {
            Some(number) => copy_of(self.dir, number),
            None => self.dir.join(format!("attached-{}.db", path.to_string_lossy().replace(['/', '\\'], "_"))),
        });
        db.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
        let attached = db.execute(&format!("ATTACH ?1 AS {}", quoted(schema)), [copy.to_string_lossy()]);
        confine(db)?;
        attached?;
        Ok(Done::default())
    }
}

fn script(db: &Connection, call: &Call) -> rusqlite::Result<Done> {
    // The rows of several statements cannot be separated.
    db.execute_batch(&call.sql)?;
    Ok(Done { rows: None, changes: i64::try_from(db.changes()).unwrap_or(0), rowid: Some(db.last_insert_rowid()) })
}

fn statement(db: &Connection, call: &Call) -> rusqlite::Result<Done> {
    let mut statement = db.prepare_cached(&call.sql)?;
    for (place, value) in &call.values {
        let place = usize::from(*place);
        if place <= statement.parameter_count() {
            statement.raw_bind_parameter(place, value)?;
        }
    }
    let mut rows = statement.raw_query();
    // The program may have read fewer rows than the statement has.
    let stops = call.is_cut || call.rc == ROW;
    let mut count = 0;
    while (!stops || count < call.rows) && rows.next()?.is_some() {
        count += 1;
    }
    drop(rows);
    Ok(Done {
        rows: Some(count),
        changes: i64::try_from(db.changes()).unwrap_or(0),
        rowid: Some(db.last_insert_rowid()),
    })
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self {
            Value::Null | Value::Opaque | Value::Hash(..) => Sql::Null,
            Value::Integer(number) => Sql::Integer(*number),
            Value::Real(number) => Sql::Real(*number),
            Value::Text(text) => return Ok(ToSqlOutput::Borrowed(rusqlite::types::ValueRef::Text(text))),
            Value::Blob(bytes) => return Ok(ToSqlOutput::Borrowed(rusqlite::types::ValueRef::Blob(bytes))),
            Value::Zeros(length) => Sql::Blob(vec![0; usize::try_from(*length).unwrap_or(0)]),
        };
        Ok(ToSqlOutput::Owned(value))
    }
}
