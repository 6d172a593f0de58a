//! Statements that the server cannot execute: SQLite executes them in the front, over a copy of the rows of their tables,
//! which is removed again. Rows that are deleted there are then deleted on the server.

use crate::c::front::{Failed, Front};
use crate::c::{LOCKED, SCHEMA};
use crate::connection::{Connection, State};
use crate::note::{Note, is_local_function, is_schema_table};
use crate::value::Value;
use crate::{journal, note};
use contend_wire::kept::{literal, quoted};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

/// Most rows of one table that are copied.
const ROWS_MAX: usize = 100_000;
/// Most rows that one DELETE of the server names.
const ROWIDS_MAX: usize = 1_000;
/// Most repetitions because another connection changed the schema.
const OUTDATED_MAX: u32 = 20;

/// The rows of a table.
struct Copy {
    insert: String,
    rows: Vec<Vec<Value>>,
}

/// Why a query was not answered.
enum Stopped {
    Failed(Failed),
    /// A table cannot be copied.
    Obstacle(String),
}

impl Stopped {
    /// The error for the program. `reason`: why the server cannot execute the statement.
    fn into_failed(self, sql: &str, reason: &str) -> Failed {
        match self {
            Stopped::Failed(failed) => failed,
            Stopped::Obstacle(obstacle) => journal::refused(sql, &format!("{reason}; {obstacle}")),
        }
    }
}

impl From<Failed> for Stopped {
    fn from(failed: Failed) -> Stopped {
        Stopped::Failed(failed)
    }
}

/// The rows of a query, which the server cannot answer for this reason.
///
/// # Errors
/// A table cannot be copied, or the query fails.
pub fn rows(connection: &Connection, sql: &str, values: &[Value], reason: &str) -> Result<Vec<Vec<Value>>, Failed> {
    let (copies, _) = copied(connection, sql).map_err(|stopped| stopped.into_failed(sql, reason))?;
    note_copies(sql, &copies, reason);
    // The connection is free: a function of the program may use it.
    over(connection, &copies, |front| front.prepare(sql)?.all(values))
}

/// Deletes the rows that a DELETE without RETURNING, which the server cannot execute for this reason, deletes from a copy.
/// Returns their number. The transaction keeps others from changing the rows meanwhile.
///
/// # Errors
/// A table cannot be copied, no transaction is open, or a statement fails.
pub fn deleted(connection: &Connection, sql: &str, values: &[Value], reason: &str) -> Result<i64, Failed> {
    let (copies, note) = copied(connection, sql).map_err(|stopped| stopped.into_failed(sql, reason))?;
    let front = &connection.front;
    let Some(table) = target(connection, &note)? else {
        let obstacle =
            "a DELETE needs an open transaction, and a table with rowids to which no enforced foreign key refers";
        return Err(Stopped::Obstacle(obstacle.to_string()).into_failed(sql, reason));
    };
    note_copies(sql, &copies, reason);
    let table = quoted(&table);
    let (before, left) = over(connection, &copies, |front| {
        let rowids = format!("SELECT rowid FROM main.{table}");
        let before = front.rows(&rowids)?;
        front.prepare(sql)?.all(values)?;
        Ok((before, front.rows(&rowids)?.into_iter().map(rowid_of).collect::<BTreeSet<i64>>()))
    })?;
    let gone: Vec<i64> = before.into_iter().map(rowid_of).filter(|rowid| !left.contains(rowid)).collect();
    let (mut state, mut messages) = (connection.state(), vec![]);
    for part in gone.chunks(ROWIDS_MAX) {
        let rowids: Vec<String> = part.iter().map(i64::to_string).collect();
        let delete = format!("DELETE FROM {table} WHERE rowid IN ({})", rowids.join(", "));
        let plan = state.plan(&delete).map_err(|refusal| journal::refused(sql, &refusal.to_string()))?;
        messages.extend(plan.alone());
    }
    // All of them or none.
    if !messages.is_empty() && state.carry_out(front, messages)?.is_none() {
        return Err(Failed::new(SCHEMA, "database schema has changed"));
    }
    Ok(i64::try_from(gone.len()).unwrap_or(i64::MAX))
}

/// The table of a DELETE, if the server can delete the same rows by their rowids.
fn target(connection: &Connection, note: &Note) -> Result<Option<String>, Failed> {
    let (front, state) = (&connection.front, connection.state());
    let Some(table) = note.deleted.first().filter(|_| note.deleted.len() == 1) else { return Ok(None) };
    let names = front.rows(&format!("SELECT name FROM pragma_table_xinfo({})", literal(table)))?;
    let is_named = names.into_iter().flatten().any(|name| name.into_words().eq_ignore_ascii_case("rowid"));
    // A key that refers to it may act on other tables.
    let catalogue = state.catalogue();
    let is_usable = !is_named && catalogue.has_rowid(table) && !catalogue.is_referenced(table);
    Ok((is_usable && !front.is_autocommit()).then(|| table.clone()))
}

fn rowid_of(row: Vec<Value>) -> i64 {
    match row.first() {
        Some(Value::Integer(rowid)) => *rowid,
        _ => 0,
    }
}

fn note_copies(sql: &str, copies: &[Copy], reason: &str) {
    let count: usize = copies.iter().map(|copy| copy.rows.len()).sum();
    journal::noted(sql, &format!("answered by SQLite over a copy of {count} rows: {reason}"));
}

/// The rows of the tables that a statement reads, and what it does.
fn copied(connection: &Connection, sql: &str) -> Result<(Vec<Copy>, Note), Stopped> {
    let front = &connection.front;
    for _ in 0..OUTDATED_MAX {
        let mut state = connection.state();
        state.settle(front)?;
        note::begin();
        let prepared = front.prepare(sql);
        let mut note = note::end();
        drop(prepared?);
        note.locate(front, sql)?;
        let tables = reads(&state, front, &note)?;
        match read(&mut state, front, &tables)? {
            Some(copies) => return Ok((copies, note)),
            None => state.read(front)?,
        }
    }
    Err(Stopped::Obstacle("the schema changes too often".to_string()))
}

/// # Errors
/// The front has rows of the server, with which another thread, or a function of the program, would interfere.
pub fn check(connection: &Connection) -> Result<(), Failed> {
    if connection.has_copies.load(Acquire) { Err(in_use()) } else { Ok(()) }
}

fn in_use() -> Failed {
    Failed::new(LOCKED, "contend shim: the connection is executing a statement over a copy of rows")
}

/// Runs `query` while the front has these rows.
fn over<T>(
    connection: &Connection,
    copies: &[Copy],
    query: impl FnOnce(&Front) -> Result<T, Failed>,
) -> Result<T, Failed> {
    if connection.has_copies.swap(true, AcqRel) {
        return Err(in_use());
    }
    let front = &connection.front;
    let rowid = front.last_insert_rowid();
    let checks_keys = front.has_keys_on();
    let answer = front.execute("SAVEPOINT \"contend copy\"").and_then(|()| {
        let filled = copies.iter().try_for_each(|copy| fill(front, copy, checks_keys));
        front.set_last_insert_rowid(rowid);
        let answer = filled.and_then(|()| query(front));
        let undone = front.execute("ROLLBACK TO \"contend copy\"");
        undone.and_then(|()| front.execute("RELEASE \"contend copy\"")).and(answer)
    });
    front.set_last_insert_rowid(rowid);
    if checks_keys {
        let _ = front.execute("PRAGMA defer_foreign_keys = OFF");
    }
    connection.has_copies.store(false, Release);
    answer
}

fn fill(front: &Front, copy: &Copy, checks_keys: bool) -> Result<(), Failed> {
    if checks_keys {
        // A parent may come later, or not at all.
        front.execute("PRAGMA defer_foreign_keys = ON")?;
    }
    let insert = front.prepare(&copy.insert)?;
    copy.rows.iter().try_for_each(|row| insert.all(row).map(drop))
}

/// Statements that read the rows of a table and store them.
struct Read {
    select: String,
    insert: String,
}

/// Reads tables, all at one moment. `None`: another connection changed the schema.
fn read(state: &mut State, front: &Front, tables: &[Read]) -> Result<Option<Vec<Copy>>, Stopped> {
    let (mut plans, mut messages) = (vec![], vec![]);
    for table in tables {
        let plan = state.plan(&table.select).map_err(|refusal| Stopped::Obstacle(refusal.to_string()))?;
        let own = plan.alone();
        plans.push((plan, own.len()));
        messages.extend(own);
    }
    if messages.is_empty() {
        return Ok(Some(vec![]));
    }
    let Some(mut answers) = state.carry_out(front, messages)? else { return Ok(None) };
    let mut copies = vec![];
    for (Read { insert, .. }, (plan, count)) in tables.iter().zip(plans) {
        let done = plan.done(answers.drain(..count).collect());
        let rows = done.map_err(|reason| Stopped::Obstacle(reason.to_string()))?.rows;
        if rows.len() > ROWS_MAX {
            return Err(Stopped::Obstacle(format!("a table has more than {ROWS_MAX} rows")));
        }
        copies.push(Copy { insert: insert.clone(), rows });
    }
    Ok(Some(copies))
}

/// How to read the tables that a query reads.
fn reads(state: &State, front: &Front, note: &Note) -> Result<Vec<Read>, Stopped> {
    let mut reads = vec![];
    for (_, table) in note.tables.iter().filter(|(database, _)| database == "main") {
        if state.has_triggers_of(table) {
            return Err(Stopped::Obstacle(format!("{table} has triggers")));
        }
        if !state.has_table(table) && !is_schema_table(table) && !is_local_function(table) {
            return Err(Stopped::Obstacle(format!("{table} is SQLite's own")));
        }
        if state.is_stored(table) {
            reads.push(read_of(state, front, table, note.rowids.contains(table))?);
        }
    }
    Ok(reads)
}

/// How to read a table. `needs_rowid`: the query reads its rowid, which no column is.
fn read_of(state: &State, front: &Front, table: &str, needs_rowid: bool) -> Result<Read, Stopped> {
    let sql = format!("SELECT name FROM pragma_table_xinfo({}) WHERE hidden = 0", literal(table));
    let mut columns: Vec<String> = front.rows(&sql)?.into_iter().flatten().map(Value::into_words).collect();
    let is_rowid = |column: &String| column.eq_ignore_ascii_case("rowid");
    let has_rowid = state.catalogue().has_hidden_rowid(table) && !columns.iter().any(is_rowid);
    if needs_rowid && !has_rowid {
        let obstacle = format!("{table} has no INTEGER PRIMARY KEY, so the server has no rowid to give");
        return Err(Stopped::Obstacle(obstacle));
    }
    columns.iter_mut().for_each(|column| *column = quoted(column));
    if has_rowid {
        columns.insert(0, "rowid".to_string());
    }
    let (names, table) = (columns.join(", "), quoted(table));
    let places: Vec<String> = (1..=columns.len()).map(|place| format!("?{place}")).collect();
    let order = if has_rowid { " ORDER BY rowid" } else { "" };
    Ok(Read {
        select: format!("SELECT {names} FROM {table}{order} LIMIT {}", ROWS_MAX + 1),
        insert: format!("INSERT INTO main.{table} ({names}) VALUES ({})", places.join(", ")),
    })
}
