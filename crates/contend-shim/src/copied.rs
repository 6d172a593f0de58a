//! Statements that the server cannot execute: SQLite executes them in the front, over a copy of the rows of their tables,
//! which is removed again. Rows that are deleted there are then deleted on the server.

use crate::again::Again;
use crate::c::front::{Failed, Front};
use crate::c::{ERROR, LOCKED};
use crate::connection::{Connection, State};
use crate::note::{Note, is_local_function, is_schema_table};
use crate::value::Value;
use crate::{fault, journal, note};
use contend_wire::kept::{literal, quoted};
use std::collections::BTreeSet;

/// Most rows of one table that are copied.
const ROWS_MAX: usize = 100_000;
/// Most rows that one DELETE of the server names.
const ROWIDS_MAX: usize = 1_000;

/// A statement that the server cannot execute.
pub struct Asked<'a> {
    pub sql: &'a str,
    pub values: &'a [Value],
    /// Why the server cannot.
    pub reason: &'a str,
    /// Brings the front and the program's statement to the server's schema.
    pub ready: &'a dyn Fn(&mut State) -> Result<(), Failed>,
}

/// The rows of a table.
struct Copy {
    insert: String,
    rows: Vec<Vec<Value>>,
}

/// Why a statement was not executed.
pub enum Stopped {
    Failed(Failed),
    /// It, a value bound to it, or the reading of a table has no translation.
    Untranslated(String),
}

impl From<Failed> for Stopped {
    fn from(failed: Failed) -> Stopped {
        Stopped::Failed(failed)
    }
}

impl Asked<'_> {
    /// The error for the program.
    fn failed(&self, stopped: Stopped) -> Failed {
        match stopped {
            Stopped::Failed(failed) => failed,
            Stopped::Untranslated(obstacle) => journal::refused(self.sql, &format!("{}; {obstacle}", self.reason)),
        }
    }

    fn note(&self, copies: &[Copy]) {
        let (count, reason) = (copies.iter().map(|copy| copy.rows.len()).sum::<usize>(), self.reason);
        journal::noted(self.sql, &format!("answered by SQLite over a copy of {count} rows: {reason}"));
    }
}

/// The rows of a query.
///
/// # Errors
/// A table cannot be copied, or the query fails.
pub fn rows(connection: &Connection, asked: &Asked<'_>) -> Result<Vec<Vec<Value>>, Failed> {
    let (copies, _) = copied(connection, asked).map_err(|stopped| asked.failed(stopped))?;
    // The connection is free: a function of the program may use it.
    let rows = over(connection, &copies, |front| front.prepare(asked.sql)?.all(asked.values))?;
    asked.note(&copies);
    Ok(rows)
}

/// Deletes the rows that a DELETE without RETURNING deletes from a copy. Returns their number. The transaction keeps others from
/// changing the rows meanwhile.
///
/// # Errors
/// A table cannot be copied, no transaction is open, or a statement fails.
pub fn deleted(connection: &Connection, asked: &Asked<'_>) -> Result<i64, Failed> {
    let (copies, note) = copied(connection, asked).map_err(|stopped| asked.failed(stopped))?;
    let front = &connection.front;
    let Some(table) = target(connection, &note)? else {
        let obstacle =
            "a DELETE needs an open transaction, and a table with rowids to which no enforced foreign key refers";
        return Err(asked.failed(Stopped::Untranslated(obstacle.to_string())));
    };
    let table = quoted(&table);
    let gone = over(connection, &copies, |front| {
        let before = rowids(front, &table)?;
        front.prepare(asked.sql)?.all(asked.values)?;
        let left = rowids(front, &table)?;
        Ok(before.difference(&left).copied().collect::<Vec<i64>>())
    })?;
    let (mut state, mut messages) = (connection.state(), vec![]);
    for part in gone.chunks(ROWIDS_MAX) {
        let rowids: Vec<String> = part.iter().map(i64::to_string).collect();
        let delete = format!("DELETE FROM {table} WHERE rowid IN ({})", rowids.join(", "));
        let plan = state.plan_once(&delete).map_err(|refusal| journal::refused(asked.sql, &refusal.to_string()))?;
        messages.extend(plan.messages_without_values());
    }
    // All of them or none.
    if !messages.is_empty() && state.carry_out(front, messages)?.is_none() {
        return Err(Failed::outdated());
    }
    asked.note(&copies);
    Ok(i64::try_from(gone.len()).unwrap_or(i64::MAX))
}

fn rowids(front: &Front, table: &str) -> Result<BTreeSet<i64>, Failed> {
    let rows = front.rows(&format!("SELECT rowid FROM main.{table}"))?;
    let rowid = |row: Vec<Value>| match row[..] {
        [Value::Integer(rowid)] => Ok(rowid),
        _ => Err(Failed::new(ERROR, "contend shim: a rowid that is no integer")),
    };
    rows.into_iter().map(rowid).collect()
}

/// The table of a DELETE, if the server can delete the same rows by their rowids.
fn target(connection: &Connection, note: &Note) -> Result<Option<String>, Failed> {
    let (front, state) = (&connection.front, connection.state());
    let Some(table) = note.deleted.first().filter(|_| note.deleted.len() == 1) else { return Ok(None) };
    let names = front.rows(&format!("SELECT name FROM pragma_table_xinfo({}, 'main')", literal(table)))?;
    let is_named = names.into_iter().flatten().any(|name| name.into_words().eq_ignore_ascii_case("rowid"));
    // A key that refers to it may act on other tables.
    let catalogue = state.catalogue();
    let is_usable = !is_named && catalogue.has_rowid(table) && !catalogue.is_referenced(table);
    Ok((is_usable && !front.is_autocommit()).then(|| table.clone()))
}

/// The rows of the tables that a statement reads, and what it does.
fn copied(connection: &Connection, asked: &Asked<'_>) -> Result<(Vec<Copy>, Note), Stopped> {
    let front = &connection.front;
    let mut again = Again::within(connection.state().link.definition_waits_ms());
    while again.tries() {
        let mut state = connection.state();
        state.check_copies()?;
        (asked.ready)(&mut state)?;
        note::begin();
        let prepared = front.prepare(asked.sql);
        let mut note = note::end();
        drop(prepared?);
        note.locate(front, asked.sql)?;
        let tables = reads(&state, front, &note)?;
        if let Some(copies) = read(&mut state, front, &tables)? {
            return Ok((copies, note));
        }
    }
    Err(Failed::outdated().into())
}

/// Runs `query` while the front has these rows. The lock of the state keeps other threads from changing the front while the
/// rows come and go; between, they see `has_copies`.
fn over<T>(
    connection: &Connection,
    copies: &[Copy],
    query: impl FnOnce(&Front) -> Result<T, Failed>,
) -> Result<T, Failed> {
    let Connection { front, interrupts, .. } = connection;
    let mut state = connection.state();
    state.check_copies()?;
    if state.changing_steps > 0 {
        return Err(Failed::new(LOCKED, "contend shim: the connection is changing a temporary table"));
    }
    let (rowid, checks_keys) = (front.last_insert_rowid(), front.has_keys_on());
    interrupts.hold(front);
    let begun = front.execute("SAVEPOINT \"contend copy\"");
    state.has_copies = begun.is_ok();
    let filled = begun.and_then(|()| fill(connection, copies, checks_keys));
    front.set_last_insert_rowid(rowid);
    drop(state);
    let answer = filled.and_then(|()| {
        interrupts.admit(front);
        let answer = query(front);
        interrupts.hold(front);
        answer.and_then(|answer| interrupts.check().map(|()| answer))
    });
    let cleared = clear(front, &mut connection.state());
    front.set_last_insert_rowid(rowid);
    if checks_keys {
        let _ = front.execute("PRAGMA defer_foreign_keys = OFF");
    }
    interrupts.release(front);
    answer.and_then(|answer| cleared.map(|()| answer))
}

/// Stores the rows. No interrupt may reach its statements: it would roll back the whole transaction.
fn fill(connection: &Connection, copies: &[Copy], checks_keys: bool) -> Result<(), Failed> {
    let front = &connection.front;
    if checks_keys {
        // A parent may come later, or not at all.
        front.execute("PRAGMA defer_foreign_keys = ON")?;
    }
    for copy in copies {
        let insert = front.prepare(&copy.insert)?;
        for row in &copy.rows {
            connection.interrupts.check()?;
            insert.all(row)?;
        }
    }
    Ok(())
}

/// Removes the rows. If that fails, the front keeps them, and the connection answers such statements no more.
fn clear(front: &Front, state: &mut State) -> Result<(), Failed> {
    if !state.has_copies {
        return Ok(());
    }
    let is_undone = front.is_autocommit();
    if !is_undone {
        front.execute("ROLLBACK TO \"contend copy\"")?;
        front.execute("RELEASE \"contend copy\"")?;
    }
    state.has_copies = false;
    // The server rolled the transaction back, so the query may have missed rows.
    if is_undone { Err(Failed::new(fault::ABORT_ROLLBACK, "abort due to ROLLBACK")) } else { Ok(()) }
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
        let plan = state.plan(&table.select).map_err(|refusal| Stopped::Untranslated(refusal.to_string()))?;
        let own = plan.messages_without_values();
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
        let rows = done.map_err(|reason| Stopped::Untranslated(reason.to_string()))?.rows;
        if rows.len() > ROWS_MAX {
            return Err(Stopped::Untranslated(format!("a table has more than {ROWS_MAX} rows")));
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
            return Err(Stopped::Untranslated(format!("{table} has triggers")));
        }
        if !state.has_table(table) && !is_schema_table(table) && !is_local_function(table) {
            return Err(Stopped::Untranslated(format!("{table} is SQLite's own")));
        }
        if state.is_stored(table) {
            reads.push(read_of(state, front, table, note.rowids.contains(table))?);
        }
    }
    Ok(reads)
}

/// How to read a table. `needs_rowid`: the query reads its rowid, which is not a column.
fn read_of(state: &State, front: &Front, table: &str, needs_rowid: bool) -> Result<Read, Stopped> {
    let sql = format!("SELECT name FROM pragma_table_xinfo({}, 'main') WHERE hidden = 0", literal(table));
    let mut columns: Vec<String> = front.rows(&sql)?.into_iter().flatten().map(Value::into_words).collect();
    let is_rowid = |column: &String| column.eq_ignore_ascii_case("rowid");
    let has_rowid = state.catalogue().has_hidden_rowid(table) && !columns.iter().any(is_rowid);
    if needs_rowid && !has_rowid {
        let obstacle = format!("{table} has no INTEGER PRIMARY KEY, so the server has no rowid to give");
        return Err(Stopped::Untranslated(obstacle));
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
