//! Values of the source that a column of the server cannot hold, found before anything is written. Reports never
//! contain the values: only the place of the first one and their number.

use crate::plan::Table;
use crate::profile::{Column, Occurrences, Profile, Sort};
use anyhow::Result;
use contend_sql::{HeldColumn, ParamType, Target};
use contend_wire::kept::quoted;

/// Largest entry of a PostgreSQL index, in bytes.
const POSTGRES_KEY_BYTES: usize = 2_700;

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
        (ParamType::Real, Sort::Infinite) => (!postgres).then_some("infinite; MariaDB has no such real"),
        (ParamType::Number, Sort::Far) => (!postgres).then_some("a real with too many digits for DECIMAL(60,30)"),
        (ParamType::Text, Sort::TextWithNul) => (postgres).then_some("a text with a NUL; PostgreSQL's texts have none"),
        (_, Sort::BrokenText) => Some("a text that is not UTF-8"),
        (_, Sort::Integer) => Some("an integer"),
        (ParamType::Number, Sort::Whole) => Some("a real without a fraction, which would come back as an integer"),
        (_, Sort::Whole | Sort::Real | Sort::Far) => Some("a real"),
        (_, Sort::Infinite) => Some("infinite"),
        (_, Sort::Text | Sort::TextWithNul) => Some("a text"),
        (_, Sort::Blob) => Some("a blob"),
    }
}

/// Advice about values of another kind.
fn remedy(table: &Table, column: &HeldColumn, sort: Sort) -> String {
    let kind = match sort {
        Sort::Integer => "integer",
        Sort::Whole | Sort::Real | Sort::Far | Sort::Infinite => "real",
        Sort::Blob => "blob",
        _ => "text",
    };
    let (table, name) = (quoted(&table.name), quoted(&column.name));
    match sort {
        Sort::BrokenText => format!("store them as blobs (CAST({name} AS BLOB)), all of the column, or correct them"),
        Sort::TextWithNul => format!("find them with `SELECT * FROM {table} WHERE instr({name}, char(0))`"),
        _ => format!(
            "the column holds {}; find them with `SELECT * FROM {table} WHERE typeof({name}) = '{kind}'`",
            column.holds.word()
        ),
    }
}

/// Values of a table that are too long. `above` counts the rows in which an expression exceeds a number.
///
/// # Errors
/// `above` returned an error.
pub fn too_long(
    table: &Table,
    source: &crate::look::Table,
    profile: &Profile,
    room: Room,
    above: impl Fn(&str, usize) -> Result<Occurrences>,
) -> Result<Vec<Misfit>> {
    let mut found = vec![];
    for column in table.columns.iter().filter(|c| matches!(c.holds, ParamType::Text | ParamType::Blob)) {
        let Some(seen) = profile_of(source, profile, &column.name) else { continue };
        let (measure, longest, most, unit) = match (room.target, column.key_characters) {
            (Target::MariaDb, Some(characters)) => ("length", seen.longest_characters, characters, "characters"),
            (Target::Postgres, Some(_)) => ("octet_length", seen.longest_bytes, POSTGRES_KEY_BYTES, "bytes"),
            (_, None) => ("octet_length", seen.longest_bytes, room.value_bytes, "bytes"),
        };
        if longest <= most {
            continue;
        }
        let seen = above(&format!("{measure}({})", quoted(&column.name)), most)?;
        let (what, remedy) = match column.key_characters {
            Some(_) => (
                format!("longer than {most} {unit}, the most in a key or index"),
                "shorten them, or drop the key or index in the source",
            ),
            None => (
                format!("longer than {most} bytes, the most that this server takes"),
                "raise max_allowed_packet on the server (MariaDB), or shorten them",
            ),
        };
        if seen.count > 0 {
            found.push(misfit(table, column, &seen, what, remedy.to_string()));
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
                        &[Sort::Null, Sort::Whole, Sort::Real, Sort::Far, Sort::Infinite]
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
