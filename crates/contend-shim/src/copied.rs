//! Queries that the server cannot answer: SQLite answers them in the front, over a copy of the rows of their tables, which is
//! removed again.

use crate::c::front::{Failed, Front};
use crate::connection::{Connection, State};
use crate::note::{Note, is_local_function, is_schema_table};
use crate::value::Value;
use crate::{journal, note};
use contend_wire::kept::{literal, quoted};

/// Most rows of one table that are copied.
const ROWS_MAX: usize = 100_000;
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
    let copies = match copied(connection, sql) {
        Ok(copies) => copies,
        Err(Stopped::Failed(failed)) => return Err(failed),
        Err(Stopped::Obstacle(obstacle)) => return Err(journal::refused(sql, &format!("{reason}; {obstacle}"))),
    };
    let count: usize = copies.iter().map(|copy| copy.rows.len()).sum();
    journal::listed(sql, &format!("answered by SQLite over a copy of {count} rows: {reason}"));
    let front = &connection.front;
    // The connection is free: a function of the program may use it.
    over(front, &copies, || front.prepare(sql)?.all(values))
}

/// The rows of the tables that a query reads.
fn copied(connection: &Connection, sql: &str) -> Result<Vec<Copy>, Stopped> {
    let front = &connection.front;
    for _ in 0..OUTDATED_MAX {
        let mut state = connection.state();
        state.settle(front)?;
        note::begin();
        let prepared = front.prepare(sql);
        let mut note = note::end();
        drop(prepared?);
        note.locate(front)?;
        let tables = reads(&state, front, &note)?;
        match read(&mut state, front, &tables)? {
            Some(copies) => return Ok(copies),
            None => state.read(front)?,
        }
    }
    Err(Stopped::Obstacle("the schema changes too often".to_string()))
}

/// Runs `query` while the front has these rows.
fn over<T>(front: &Front, copies: &[Copy], query: impl FnOnce() -> Result<T, Failed>) -> Result<T, Failed> {
    let rowid = front.last_insert_rowid();
    let checks_keys = front.has_keys_on();
    front.execute("SAVEPOINT \"contend copy\"")?;
    let filled = copies.iter().try_for_each(|copy| fill(front, copy, checks_keys));
    front.set_last_insert_rowid(rowid);
    let answer = filled.and_then(|()| query());
    let undone = front.execute("ROLLBACK TO \"contend copy\"").and_then(|()| front.execute("RELEASE \"contend copy\""));
    front.set_last_insert_rowid(rowid);
    if checks_keys {
        front.execute("PRAGMA defer_foreign_keys = OFF")?;
    }
    undone.and(answer)
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
