//! Rows of the source that violate the constraints of their table. SQLite can have them, and no server takes them: rows that were
//! written while keys or checks were off, or before the constraint was there.

use crate::look::{self, bound, each_row, is_unknown, listed};
use crate::misfits::Misfit;
use crate::plan::Table;
use crate::profile::Occurrences;
use crate::stopped::go_on;
use anyhow::Result;
use contend_sql::HIDDEN_ROWID;
use contend_wire::kept::{mentions, quoted};
use rusqlite::{Connection, ErrorCode, params_from_iter};
use std::sync::atomic::AtomicBool;

fn misfit(table: &look::Table, what: String, seen: Occurrences, column: &str, remedy: &str) -> Misfit {
    let (table, column, remedy) = (table.name.clone(), column.to_string(), remedy.to_string());
    Misfit { table, column, count: seen.count, first: seen.first, what, remedy }
}

/// Rows that violate a CHECK, NOT NULL or a type of a STRICT table, each with SQLite's own message.
///
/// # Errors
/// The source cannot be read, or a signal arrived.
pub fn of_constraints(
    (source, stop): (&Connection, &AtomicBool),
    of: &look::Table,
    table: &Table,
    create: &str,
) -> Result<Vec<Misfit>> {
    // SQLite reads no CHECK of a database that is opened read-only.
    let is_checked = mentions(create, "check");
    if !is_checked && (!["null", "strict"].iter().any(|word| mentions(create, word)) || is_sound(source, of)?) {
        return Ok(vec![]);
    }
    let copy = Connection::open_in_memory()?;
    copy.execute_batch("PRAGMA foreign_keys = OFF")?;
    match copy.prepare(create).and_then(|mut created| created.raw_execute()) {
        Err(e) if is_unknown(&e) => return Ok(vec![]),
        made => made?,
    };
    let columns: Vec<&str> = table.stored().filter(|name| *name != HIDDEN_ROWID).collect();
    let (name, places) = (quoted(&of.name), vec!["?"; columns.len()].join(", "));
    let columns = listed(columns);
    let mut insert = copy.prepare(&format!("INSERT OR ABORT INTO {name} ({columns}) VALUES ({places})"))?;
    let mut delete = copy.prepare(&format!("DELETE FROM {name}"))?;
    let mut found: Vec<(String, Occurrences)> = vec![];
    each_row(source, &of.all_rows(&columns), |number, rowid, values| {
        go_on(stop)?;
        match insert.execute(params_from_iter(values.iter().map(bound))) {
            // The condition of a CHECK may fail itself, such as json_extract() of a damaged text.
            Err(e) if matches!(e.sqlite_error_code(), Some(ErrorCode::ConstraintViolation | ErrorCode::Unknown)) => {
                let what = e.to_string();
                let at = found.iter().position(|(known, _)| *known == what).unwrap_or_else(|| {
                    found.push((what, Occurrences::default()));
                    found.len() - 1
                });
                found[at].1.note(|| of.place(rowid, number));
            }
            done => {
                done?;
                delete.execute(())?;
            }
        }
        Ok(())
    })?;
    let remedy = "correct or delete these rows, or drop the constraint in the source";
    Ok(found.into_iter().map(|(what, seen)| misfit(of, what, seen, "(constraints)", remedy)).collect())
}

/// Whether SQLite finds no row that violates anything but a CHECK.
fn is_sound(source: &Connection, table: &look::Table) -> Result<bool> {
    let check = format!("PRAGMA quick_check({})", quoted(&table.name));
    match source.query_row(&check, (), |row| row.get::<_, String>(0)) {
        Err(e) if is_unknown(&e) => Ok(true),
        said => Ok(said? == "ok"),
    }
}

/// Rows whose foreign key references no row.
///
/// # Errors
/// The source cannot be read.
pub fn of_foreign_keys(source: &Connection, table: &look::Table) -> Result<Option<Misfit>> {
    let count = || -> rusqlite::Result<Occurrences> {
        let mut check = source.prepare(&format!("PRAGMA foreign_key_check({})", quoted(&table.name)))?;
        let mut rows = check.query(())?;
        let mut seen = Occurrences::default();
        while let Some(row) = rows.next()? {
            let rowid = row.get::<_, Option<i64>>(1)?;
            seen.note(|| rowid.map_or("not said".to_string(), |rowid| format!("rowid {rowid}")));
        }
        Ok(seen)
    };
    let seen = match count() {
        // SQLite checks no key of a table if one is unusable, such as one to columns without a unique index. The server checks
        // the others when it makes them.
        Err(e) if is_unknown(&e) => return Ok(None),
        seen => seen?,
    };
    let remedy = "correct or delete these rows (`PRAGMA foreign_key_check` lists them), or use --no-foreign-keys";
    let what = "a foreign key that leads to no row".to_string();
    Ok((seen.count > 0).then(|| misfit(table, what, seen, "(foreign keys)", remedy)))
}
