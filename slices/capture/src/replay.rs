//! `contend replay`: repeats captured transactions on copies of the databases, and compares the results.
//!
//! Transactions run one after the other, each on its own connection, in the order in which they held the write lock.
//! A transaction that could commit read nothing that another one changed meanwhile, so this order gives the same
//! tables.

use crate::attach::{attached, number};
use crate::content::{address, quoted};
use crate::manifest::{Database, Manifest};
use crate::program::{Began, End, Shapes, Transaction, transactions};
use crate::sql::{Does, Token, tokens};
use crate::trace::{Call, How, ROW, Trace, Value};
use anyhow::{Context, Result};
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ToSqlOutput;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, ErrorCode, ToSql, ffi};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A pause of the program is cut short this often, to see whether the replay was stopped.
const STOPS_WITHIN: Duration = Duration::from_millis(100);

/// The result of a replay.
#[derive(Debug, Default, Serialize)]
pub struct Replayed {
    pub transactions: u64,
    pub statements: u64,
    pub captured_ns: u64,
    pub replayed_ns: u64,
    /// Statements whose result differs from the captured one.
    pub diverged: Vec<Divergence>,
    /// Statements and transactions that are left out, as sentences.
    pub left_out: BTreeSet<String>,
    /// Gaps of the capture, as sentences.
    pub missing: Vec<String>,
    pub databases: Vec<Compared>,
    /// Why no table was compared, as a sentence.
    pub not_compared: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Divergence {
    pub statement: String,
    pub what: &'static str,
    pub count: u64,
    pub captured: String,
    pub replayed: String,
}

/// The final state of a database.
#[derive(Debug, Serialize)]
pub struct Compared {
    pub path: PathBuf,
    pub tables: u64,
    /// Tables that differ: rows only in the capture, and rows only in the replay.
    pub differ: Vec<(String, u64, u64)>,
}

impl Replayed {
    pub fn is_same(&self) -> bool {
        self.not_compared.is_none() && self.databases.iter().all(|database| database.differ.is_empty())
    }
}

/// A unit of the replay: a transaction, or a call outside of one.
struct Unit {
    /// Position in the order.
    at_ns: u64,
    calls: Vec<usize>,
    is_transaction: bool,
}

fn units(trace: &Trace, shapes: &Shapes, left_out: &mut BTreeSet<String>) -> Vec<Unit> {
    let all = transactions(trace, shapes);
    let mut inside = vec![false; trace.calls.len()];
    let mut units = vec![];
    for transaction in &all {
        transaction.calls.iter().for_each(|&call| inside[call] = true);
        match transaction.end {
            End::Unfinished => {
                left_out.insert(
                    "A transaction that had not ended was left out; its last statement may have committed.".into(),
                );
            }
            // A statement refused because of a lock has no effect.
            End::Failed if transaction.is_busy => {}
            _ => units.push(Unit {
                at_ns: moment(transaction, trace),
                calls: transaction.calls.clone(),
                is_transaction: true,
            }),
        }
    }
    for (i, call) in trace.calls.iter().enumerate().filter(|(i, _)| !inside[*i]) {
        units.push(Unit { at_ns: call.at_ns, calls: vec![i], is_transaction: false });
    }
    units.sort_by_key(|unit| unit.at_ns);
    units
}

/// A time at which the transaction held the write lock; for a read-only one, its first statement.
fn moment(transaction: &Transaction, trace: &Trace) -> u64 {
    let place = if transaction.writes { transaction.calls.last() } else { transaction.calls.first() };
    let call = &trace.calls[*place.expect("a transaction has a call")];
    // A single statement holds the lock after its wait; a COMMIT holds it from the beginning.
    call.at_ns + if transaction.began == Began::Alone { call.waited_ns } else { 0 }
}

struct Replay<'r> {
    trace: &'r Trace,
    shapes: &'r Shapes,
    databases: &'r [Database],
    dir: &'r Path,
    connections: BTreeMap<u64, Connection>,
    outcome: Replayed,
    diverged: BTreeMap<(usize, &'static str), Divergence>,
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
        diverged: BTreeMap::new(),
    };
    let units = units(&trace, &shapes, &mut replay.outcome.left_out);
    let begin = Instant::now();
    if !replay.units(&units, speed, stop)? {
        return Ok(None);
    }
    replay.outcome.replayed_ns = u64::try_from(begin.elapsed().as_nanos())?;
    let Replay { mut outcome, diverged, .. } = replay;
    outcome.diverged = diverged.into_values().collect();
    for (i, database) in manifest.databases.iter().enumerate() {
        let end = database.end.as_ref().and_then(|end| end.copy.as_ref());
        match end {
            Some(end) => outcome.databases.push(compare(&database.path, &copy_of(dir, i), &taken.join(end))?),
            None => {
                let path = database.path.display();
                outcome
                    .left_out
                    .insert(format!("{path} is not compared: the capture has no copy of its final content."));
            }
        }
    }
    outcome.not_compared = not_compared(manifest, &outcome.databases);
    Ok(Some(outcome))
}

/// Why no table was compared; `None` if some were.
fn not_compared(manifest: &Manifest, compared: &[Compared]) -> Option<String> {
    if compared.iter().any(|database| database.tables > 0 || !database.differ.is_empty()) {
        return None;
    }
    let why = if !compared.is_empty() {
        "the databases have no tables, neither at the end of the capture nor after the replay"
    } else if manifest.status.is_none() {
        "contend was killed during the capture, before it could copy the databases"
    } else if manifest.databases.is_empty() {
        "the program opened no database file"
    } else {
        "the capture has no copy of the final content of any database"
    };
    Some(format!("Nothing was compared: {why}."))
}

fn copy_of(dir: &Path, number: usize) -> PathBuf {
    dir.join(format!("{}.db", number + 1))
}

/// Puts the initial content into the replay's directory.
fn place(taken: &Path, database: &Database, to: &Path) -> Result<()> {
    let Some(content) = &database.content else { return Ok(()) };
    let Some(copy) = &content.copy else { return Ok(()) };
    let from = taken.join(copy);
    std::fs::copy(&from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    let db = Connection::open(to)?;
    db.pragma_update(None, "journal_mode", &content.journal_mode)?;
    Ok(())
}

impl Replay<'_> {
    /// Returns whether all were carried out, and not stopped.
    fn units(&mut self, units: &[Unit], speed: Option<f64>, stop: &AtomicBool) -> Result<bool> {
        let trace = self.trace;
        let of = |unit: &Unit| trace.calls[unit.calls[0]].connection;
        let last: BTreeMap<u64, usize> = units.iter().map(of).zip(0..).collect();
        let begin = Instant::now();
        for (i, unit) in units.iter().enumerate() {
            let due = speed.map(|speed| Duration::from_nanos(((unit.at_ns - trace.from_ns) as f64 / speed) as u64));
            while due.is_some_and(|due| due > begin.elapsed()) && !stop.load(Relaxed) {
                std::thread::sleep(due.unwrap_or_default().saturating_sub(begin.elapsed()).min(STOPS_WITHIN));
            }
            if stop.load(Relaxed) {
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
            if !call.is_busy() {
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
            self.outcome.left_out.insert(
                "Statements use random numbers or the present time, which are not those of the capture.".into(),
            );
        }
        self.open(call.connection)?;
        self.outcome.statements += 1;
        let db = &self.connections[&call.connection];
        let done = match attached(call) {
            Some(it) => self.attach(db, &it.schema, it.path.as_deref()),
            None if call.how == How::Exec => script(db, call),
            None => statement(db, call),
        };
        let differs = match done {
            Ok(done) if call.has_failed() => {
                Some(("result", format!("error {}", call.rc), format!("{} rows", done.rows.unwrap_or(0))))
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
        if let Some((what, captured, replayed)) = differs {
            let new = Divergence { statement: shape.text.clone(), what, count: 0, captured, replayed };
            self.diverged.entry((self.shapes.number(call), what)).or_insert(new).count += 1;
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
        Ok(Done { rows: None, changes: 0, rowid: 0 })
    }
}

/// Keeps the statements of a capture in the replay's directory, however they are written: SQLite itself refuses to attach a
/// file, also for `VACUUM INTO`, and to change the directory of temporary files.
fn confine(db: &Connection) -> rusqlite::Result<()> {
    db.authorizer(Some(|context: AuthContext<'_>| match context.action {
        // VACUUM attaches a temporary database.
        AuthAction::Attach { filename: "" } => Authorization::Allow,
        AuthAction::Attach { .. } | AuthAction::Unknown { code: ffi::SQLITE_ATTACH, .. } => Authorization::Deny,
        AuthAction::Pragma { pragma_name, .. } if pragma_name.to_ascii_lowercase().ends_with("_store_directory") => {
            Authorization::Deny
        }
        _ => Authorization::Allow,
    }))
}

/// Result of a statement in the replay; rows of a script are unknown.
struct Done {
    rows: Option<u64>,
    changes: i64,
    rowid: i64,
}

fn script(db: &Connection, call: &Call) -> rusqlite::Result<Done> {
    // The rows of several statements cannot be separated.
    db.execute_batch(&call.sql)?;
    Ok(Done { rows: None, changes: i64::try_from(db.changes()).unwrap_or(0), rowid: db.last_insert_rowid() })
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
    Ok(Done { rows: Some(count), changes: i64::try_from(db.changes()).unwrap_or(0), rowid: db.last_insert_rowid() })
}

/// The first difference between captured and replayed result.
fn differs(call: &Call, done: &Done, does: Does) -> Option<(&'static str, String, String)> {
    if call.how != How::Statement {
        return None;
    }
    let rows = done.rows.filter(|rows| *rows != call.rows && does != Does::Pragma);
    if let Some(rows) = rows {
        return Some(("rows", call.rows.to_string(), rows.to_string()));
    }
    if does == Does::Write && done.changes != call.changes {
        return Some(("changes", call.changes.to_string(), done.changes.to_string()));
    }
    let inserts = call.sql.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("insert"));
    if inserts && done.changes > 0 && done.rowid.cast_unsigned() != call.rowid {
        return Some(("rowid", call.rowid.cast_signed().to_string(), done.rowid.to_string()));
    }
    None
}

/// Whether a statement's result depends on the time or number of its executions.
fn is_of_the_moment(sql: &str) -> bool {
    const WORDS: &[&str] = &["random", "randomblob", "current_timestamp", "current_time", "current_date", "'now'"];
    let moment = |token: &Token| matches!(token, Token::Word(word) if WORDS.iter().any(|known| known.eq_ignore_ascii_case(word)));
    tokens(sql).iter().any(moment)
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

/// Compares the tables of two databases, including rowids.
fn compare(path: &Path, replayed: &Path, captured: &Path) -> Result<Compared> {
    let db = Connection::open(replayed)?;
    db.execute("ATTACH ?1 AS captured", [address(captured)?])?;
    let tables = |schema: &str| -> rusqlite::Result<BTreeSet<String>> {
        let sql = format!(
            "SELECT name FROM {schema}.sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
             AND (name NOT LIKE 'sqlite\\_%' ESCAPE '\\' OR name = 'sqlite_sequence')"
        );
        let mut statement = db.prepare(&sql)?;
        let names = statement.query_map([], |row| row.get(0))?;
        names.collect()
    };
    let (of_replay, of_capture) = (tables("main")?, tables("captured")?);
    let mut compared = Compared { path: path.to_path_buf(), tables: of_capture.len() as u64, differ: vec![] };
    for table in of_replay.union(&of_capture) {
        let name = quoted(table);
        let count = |schema: &str| {
            let sql = format!("SELECT count(*) FROM {schema}.{name}");
            db.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap_or(0).cast_unsigned()
        };
        let is_in_both = of_replay.contains(table) && of_capture.contains(table);
        let values = if is_in_both { values(&db, &name)? } else { None };
        let Some(values) = values else {
            compared.differ.push((table.clone(), count("captured"), count("main")));
            continue;
        };
        let only = |one: &str, other: &str| -> rusqlite::Result<u64> {
            let query = |columns: &str| {
                let sql = format!(
                    "SELECT count(*) FROM (SELECT {columns} FROM {one}.{name} EXCEPT SELECT {columns} FROM {other}.{name})"
                );
                db.query_row(&sql, [], |row| row.get::<_, i64>(0))
            };
            // A table WITHOUT ROWID has no rowid.
            query(&format!("rowid, {values}")).or_else(|_| query(&values)).map(i64::cast_unsigned)
        };
        let (captured, replayed) = (only("captured", "main")?, only("main", "captured")?);
        if captured + replayed > 0 || count("captured") != count("main") {
            compared.differ.push((table.clone(), captured, replayed));
        }
    }
    Ok(compared)
}

/// Expressions that are equal only if types and bytes of a table's values are: columns may ignore the case of letters, and
/// 1 equals 1.0. `None` if the two tables have other columns.
fn values(db: &Connection, table: &str) -> rusqlite::Result<Option<String>> {
    let columns = |schema: &str| -> rusqlite::Result<Vec<String>> {
        let statement = db.prepare(&format!("SELECT * FROM {schema}.{table}"))?;
        Ok(statement.column_names().into_iter().map(quoted).collect())
    };
    let names = columns("main")?;
    if names != columns("captured")? {
        return Ok(None);
    }
    let exact = names.iter().map(|name| format!("typeof({name}), {name} COLLATE BINARY"));
    Ok(Some(exact.collect::<Vec<_>>().join(", ")))
}
