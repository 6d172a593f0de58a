//! Values of the source that a column of the server cannot hold, found before anything is written. Reports never
//! contain the values: only the place of the first one and their number.

use crate::plan::Table;
use crate::profile::{Column, Occurrences, Profile, Sort, characters};
use anyhow::Result;
use contend_sql::{HeldColumn, ParamType, Target};
use contend_wire::kept::quoted;
use contend_worker::argument::Argument;

/// Most bytes of the texts and blobs in an entry of a PostgreSQL index of a single column. A third of a page is 2,704
/// bytes; a head, the mark of NULLs and the length of a value also take some.
const POSTGRES_KEY_BYTES: usize = 2_680;
/// Bytes of an entry for the length and the place of a text or blob, at most.
const VARIABLE_BYTES: usize = 7;
/// Bytes of an entry for any number, at most.
const NUMBER_BYTES: usize = 24;

/// Limits of a server.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    pub target: Target,
    /// Largest value, in bytes.
    pub value_bytes: usize,
}

/// Values that do not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    pub table: String,
    pub column: String,
    pub count: u64,
    /// Place of the first one: `rowid 17`.
    pub first: String,
    /// The problem.
    pub what: String,
    /// The advice.
    pub remedy: String,
}

/// Values of a table whose kind does not fit the column.
pub fn of_table(table: &Table, source: &crate::look::Table, profile: &Profile, room: Room) -> Vec<Misfit> {
    let mut found = vec![];
    for column in &table.columns {
        let Some(seen) = profile_of(source, profile, &column.name) else { continue };
        for sort in Sort::ALL {
            let seen = seen.of(sort);
            if seen.count > 0
                && let Some(what) = unfit(column.holds, sort, room.target)
            {
                found.push(misfit(table, column, seen, what.to_string(), remedy(table, column, sort)));
            }
        }
        let nulls = seen.of(Sort::Null);
        if room.target == Target::MariaDb && nulls.count > 0 && source.key.contains(&column.name) && !column.is_rowid {
            let what = "NULL in a primary key, where MariaDB has none".to_string();
            found.push(misfit(table, column, nulls, what, "give these rows a key".to_string()));
        }
    }
    found
}

/// The profile of a column by its name.
fn profile_of<'p>(source: &crate::look::Table, profile: &'p Profile, name: &str) -> Option<&'p Column> {
    source.columns.iter().position(|column| column == name).map(|at| &profile.columns[at])
}

fn misfit(table: &Table, column: &HeldColumn, seen: &Occurrences, what: String, remedy: String) -> Misfit {
    let (count, first) = (seen.count, seen.first.clone());
    Misfit { table: table.name.clone(), column: column.name.clone(), count, first, what, remedy }
}

/// Why a column cannot hold a kind of value; `None` if it can.
fn unfit(holds: ParamType, sort: Sort, target: Target) -> Option<&'static str> {
    let postgres = target == Target::Postgres;
    match (holds, sort) {
        (_, Sort::Null)
        | (ParamType::Integer | ParamType::Number, Sort::Integer)
        | (ParamType::Real, Sort::Whole | Sort::Real | Sort::Far)
        | (ParamType::Number, Sort::Real)
        | (ParamType::Text, Sort::Text)
        | (ParamType::Blob, Sort::Blob) => None,
        (ParamType::Real, Sort::NegativeZero) => (!postgres).then_some("a negative zero; MariaDB makes it 0"),
        (ParamType::Real, Sort::Infinite) => (!postgres).then_some("infinite; MariaDB has no such real"),
        (ParamType::Number, Sort::Far) => (!postgres).then_some("a real with too many digits for DECIMAL(60,30)"),
        (ParamType::Text, Sort::TextWithNul) => (postgres).then_some("a text with a NUL; PostgreSQL's texts have none"),
        (_, Sort::BrokenText) => Some("a text that is not UTF-8 or UTF-16"),
        (_, Sort::Integer) => Some("an integer"),
        (ParamType::Number, Sort::Whole | Sort::NegativeZero) => {
            Some("a real without a fraction, which would come back as an integer")
        }
        (_, Sort::Whole | Sort::NegativeZero | Sort::Real | Sort::Far) => Some("a real"),
        (_, Sort::Infinite) => Some("infinite"),
        (_, Sort::Text | Sort::TextWithNul) => Some("a text"),
        (_, Sort::Blob) => Some("a blob"),
    }
}

/// Advice about values of another kind.
fn remedy(table: &Table, column: &HeldColumn, sort: Sort) -> String {
    let kind = match sort {
        Sort::Integer => "integer",
        Sort::Whole | Sort::NegativeZero | Sort::Real | Sort::Far | Sort::Infinite => "real",
        Sort::Blob => "blob",
        _ => "text",
    };
    let (table, name) = (quoted(&table.name), quoted(&column.name));
    match sort {
        Sort::BrokenText => format!("store them as blobs (CAST({name} AS BLOB)), all of the column, or correct them"),
        Sort::NegativeZero if column.holds == ParamType::Real => {
            format!("correct them with `UPDATE {table} SET {name} = 0.0 WHERE {name} = 0`")
        }
        Sort::TextWithNul => format!("find them with `SELECT * FROM {table} WHERE instr({name}, char(0))`"),
        _ => format!(
            "the column holds {}; find them with `SELECT * FROM {table} WHERE typeof({name}) = '{kind}'`",
            column.holds.word()
        ),
    }
}

/// Bytes of a row of PostgreSQL: what a page has room for.
const POSTGRES_ROW_BYTES: usize = 8_160;
/// Bytes in a row for a value that is stored elsewhere.
const POINTER_BYTES: usize = 18;
/// Bytes in a row for any number but NULL, at least.
const SMALL_NUMBER_BYTES: usize = 5;

/// What a server measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Bytes,
    /// Of a text; bytes of a blob.
    Characters,
    /// Bytes in an entry of an index of PostgreSQL, without compression.
    InEntry,
    /// Least bytes in a row of PostgreSQL, which has longer values elsewhere.
    InRow,
}

impl Unit {
    fn size(self, value: &Argument<'_>) -> usize {
        match (self, value) {
            (_, Argument::Null) => 0,
            (Unit::Characters, _) => characters(value),
            (Unit::Bytes, Argument::Text(bytes) | Argument::Blob(bytes)) => bytes.len(),
            (Unit::InEntry, Argument::Text(bytes) | Argument::Blob(bytes)) => bytes.len() + VARIABLE_BYTES,
            (Unit::InRow, Argument::Text(bytes) | Argument::Blob(bytes)) => (bytes.len() + 1).min(POINTER_BYTES),
            (Unit::InRow, _) => SMALL_NUMBER_BYTES,
            (Unit::Bytes | Unit::InEntry, _) => NUMBER_BYTES,
        }
    }

    /// The largest size that a value of a column can have.
    fn largest(self, column: &Column) -> usize {
        match self {
            Unit::Characters => column.longest_characters,
            Unit::Bytes | Unit::InEntry => column.longest_bytes + NUMBER_BYTES,
            Unit::InRow => POINTER_BYTES,
        }
    }
}

/// Columns whose values together must not be longer than `most`.
struct Limit<'t> {
    /// The columns, for people.
    name: String,
    columns: Vec<&'t str>,
    unit: Unit,
    most: usize,
}

/// The limits of a table's values. MariaDB's keys have a limit for each column, PostgreSQL's one for all of their columns.
fn limits<'t>(table: &'t Table, source: &'t crate::look::Table, room: Room) -> Vec<Limit<'t>> {
    let is_postgres = room.target == Target::Postgres;
    let mut limits = vec![];
    for column in table.columns.iter().filter(|c| matches!(c.holds, ParamType::Text | ParamType::Blob)) {
        let (unit, most) = match column.key_characters {
            Some(characters) if !is_postgres => (Unit::Characters, characters),
            _ => (Unit::Bytes, room.value_bytes),
        };
        limits.push(Limit { name: column.name.clone(), columns: vec![&column.name], unit, most });
    }
    for key in source.keys.iter().filter(|_| is_postgres) {
        let columns = key.iter().map(String::as_str).collect();
        let most = POSTGRES_KEY_BYTES + VARIABLE_BYTES;
        limits.push(Limit { name: key.join(", "), columns, unit: Unit::InEntry, most });
    }
    // The proof reads a row in one packet of MariaDB.
    let (unit, most) = if is_postgres { (Unit::InRow, POSTGRES_ROW_BYTES) } else { (Unit::Bytes, room.value_bytes) };
    let columns: Vec<&str> = source.columns.iter().map(String::as_str).collect();
    limits.push(Limit { name: "(row)".to_string(), columns, unit, most });
    limits
}

/// Values of a table that are too long. `above` counts the rows in which the size of some columns exceeds a number.
///
/// # Errors
/// `above` returned an error.
pub fn too_long(
    table: &Table,
    source: &crate::look::Table,
    profile: &Profile,
    room: Room,
    above: impl Fn(&[&str], &dyn Fn(&[Argument<'_>]) -> usize, usize) -> Result<Occurrences>,
) -> Result<Vec<Misfit>> {
    let mut found: Vec<Misfit> = vec![];
    for Limit { name: column, columns, unit, most } in limits(table, source, room) {
        let seen = columns.iter().filter_map(|name| profile_of(source, profile, name));
        let is_known = found.iter().any(|misfit| misfit.column == column);
        if is_known || seen.map(|seen| unit.largest(seen)).sum::<usize>() <= most {
            continue;
        }
        let size = |values: &[Argument<'_>]| values.iter().map(|value| unit.size(value)).sum();
        let Occurrences { count, first } = above(&columns, &size, most)?;
        let in_key = "shorten them, or drop the key or index in the source";
        let (what, remedy) = match unit {
            Unit::Characters => (format!("longer than {most} characters, the most in a key or index"), in_key),
            Unit::InEntry => (
                format!(
                    "longer than {most} bytes with {VARIABLE_BYTES} for each text and 24 for each number, the most in a key or index"
                ),
                in_key,
            ),
            Unit::InRow => (
                format!("longer than {most} bytes, with {POINTER_BYTES} for each text or blob that is longer"),
                "shorten them, or move columns to another table in the source",
            ),
            Unit::Bytes => (
                format!("longer than {most} bytes, the most that this server takes"),
                "raise max_allowed_packet on the server (MariaDB), or shorten them",
            ),
        };
        if count > 0 {
            let remedy = remedy.to_string();
            found.push(Misfit { table: table.name.clone(), column, count, first, what, remedy });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_takes_its_own_kind_of_values() {
        for target in [Target::Postgres, Target::MariaDb] {
            for holds in [ParamType::Integer, ParamType::Real, ParamType::Number, ParamType::Text, ParamType::Blob] {
                let fit: Vec<Sort> = Sort::ALL.into_iter().filter(|s| unfit(holds, *s, target).is_none()).collect();
                let wanted: &[Sort] = match (holds, target) {
                    (ParamType::Integer, _) => &[Sort::Null, Sort::Integer],
                    (ParamType::Real, Target::Postgres) => {
                        &[Sort::Null, Sort::Whole, Sort::NegativeZero, Sort::Real, Sort::Far, Sort::Infinite]
                    }
                    (ParamType::Real, Target::MariaDb) => &[Sort::Null, Sort::Whole, Sort::Real, Sort::Far],
                    (ParamType::Number, Target::Postgres) => &[Sort::Null, Sort::Integer, Sort::Real, Sort::Far],
                    (ParamType::Number, Target::MariaDb) => &[Sort::Null, Sort::Integer, Sort::Real],
                    (ParamType::Text, Target::Postgres) => &[Sort::Null, Sort::Text],
                    (ParamType::Text, Target::MariaDb) => &[Sort::Null, Sort::Text, Sort::TextWithNul],
                    _ => &[Sort::Null, Sort::Blob],
                };
                assert_eq!(fit, wanted, "{holds:?} {target:?}");
            }
        }
    }
}
