//! The rows of a copied database as files next to the workload, so that a study has the program's own data: generators do
//! not know which columns depend on each other, and in which order rows were written.

use crate::content::{quoted, value_counts};
use crate::literal::text;
use crate::manifest::{Content, Table, private_in, remove_abandoned};
use crate::workload::generator::is_serial;
use crate::workload::tables::{Files, Tables};
use anyhow::{Context, Result};
use contend::units::hex;
use contend_sql::{Catalogue, ParamType, table_columns};
use contend_wire::literal::Value;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use tempfile::NamedTempFile;

/// Largest database whose rows are written out.
const BYTES_MAX: u64 = 256 << 20;

/// The rows of a workload's tables.
pub struct Rows {
    /// With the keys of these rows.
    pub content: Content,
    pub entries: Files,
    /// Files without a name yet, and the names that they get.
    pub files: Vec<(NamedTempFile, String)>,
    /// Why generated rows take their place.
    pub why_none: Option<String>,
}

/// Writes the rows of all tables into files. All tables have their own rows, or none has: rows refer to each other. With hashes
/// there are none.
///
/// # Errors
/// The copy cannot be read, or a file not be written.
pub fn rows(dir: &Path, content: &Content, copy: Option<&Connection>) -> Result<Rows> {
    let none = |why_none| Rows { content: content.clone(), entries: Files::new(), files: vec![], why_none };
    let Some(copy) = copy else { return Ok(none(None)) };
    let all: Vec<Table> = Tables::of(content, None).all().into_iter().filter(|table| table.rows > 0).cloned().collect();
    if let Some(why) = unfit(copy, &all)? {
        return Ok(none(Some(why)));
    }
    let mut rows = none(None);
    for (at, table) in all.iter().enumerate() {
        let name = format!("rows-{}.tsv", at + 1);
        let cannot = || format!("cannot write {}", dir.join(&name).display());
        let mut file = private_in(dir).with_context(cannot)?;
        let (mut out, mut hash) = (BufWriter::new(file.as_file_mut()), Sha256::new());
        let emit = |line: &str| {
            hash.update(line);
            out.write_all(line.as_bytes())
        };
        let Some(count) = each_line(copy, table, emit).with_context(cannot)? else {
            return Ok(none(Some(format!("a value of {} cannot be on a server", table.name))));
        };
        out.flush().with_context(cannot)?;
        drop(out);
        let sha256 = hex(&hash.finalize());
        let entry = format!("{{ file = {}, rows = {count}, sha256 = \"{sha256}\" }}", text(&name));
        rows.entries.insert(table.name.clone(), entry);
        rows.files.push((file, name));
    }
    for table in rows.content.tables.iter_mut().filter(|table| rows.entries.contains_key(&table.name)) {
        table.keys = keys(copy, table)?;
    }
    Ok(rows)
}

/// Replaces the files of an earlier workload.
///
/// # Errors
/// A file cannot be removed or named.
pub fn replace(dir: &Path, files: Vec<(NamedTempFile, String)>) -> Result<()> {
    for entry in fs::read_dir(dir)?.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("rows-") && name.ends_with(".tsv") {
            fs::remove_file(entry.path())?;
        }
    }
    for (file, name) in files {
        file.persist(dir.join(name))?;
    }
    Ok(remove_abandoned(dir)?)
}

/// Lowest and highest value of the column that is an alias of the rowid.
fn keys(copy: &Connection, table: &Table) -> Result<Option<(i64, i64)>> {
    let Some(serial) = table.columns.iter().find(|column| is_serial(table, column)) else { return Ok(None) };
    let (of, name) = (quoted(&table.name), quoted(&serial.name));
    let ends = copy.query_row(&format!("SELECT min({name}), max({name}) FROM {of}"), [], |row| {
        Ok(row.get::<_, Option<i64>>(0)?.zip(row.get::<_, Option<i64>>(1)?))
    });
    Ok(ends?)
}

/// Why the rows cannot be loaded everywhere; `None` if there is no reason.
fn unfit(copy: &Connection, all: &[Table]) -> Result<Option<String>> {
    let bytes: u64 =
        copy.query_row("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", [], |row| {
            row.get(0).map(i64::cast_unsigned)
        })?;
    if bytes > BYTES_MAX {
        return Ok(Some(format!("the database has more than {} MiB", BYTES_MAX >> 20)));
    }
    // Also an error: a key of another table that is not unique.
    let orphan =
        copy.query_row("SELECT \"table\" FROM pragma_foreign_key_check LIMIT 1", [], |row| row.get::<_, String>(0));
    match orphan {
        Err(rusqlite::Error::QueryReturnedNoRows) => {}
        Ok(table) => return Ok(Some(format!("a row of {table} refers to a row that is missing"))),
        Err(why) => return Ok(Some(format!("foreign keys cannot be checked ({why})"))),
    }
    let mut catalogue = Catalogue::default();
    all.iter().for_each(|table| drop(catalogue.learn_what_can_be(&table.ddl)));
    for table in all {
        let mut refers = table.columns.iter().filter_map(|column| column.refers.as_ref());
        if refers.any(|(to, _)| to.eq_ignore_ascii_case(&table.name)) {
            return Ok(Some(format!("rows of {} refer to rows of {}", table.name, table.name)));
        }
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        let held = table_columns(&catalogue, &table.name).unwrap_or_default();
        for (name, counts) in names.iter().zip(value_counts(copy, &table.name, &names)?) {
            let holds = held.iter().find(|column| column.name.eq_ignore_ascii_case(name)).map(|column| column.holds);
            if !holds.unwrap_or(ParamType::Unknown).holds_all(counts) {
                return Ok(Some(format!("{}.{name} has values of a type that the column does not have", table.name)));
            }
            if name.contains(['\t', '\n', '\r']) {
                return Ok(Some(format!("the name of a column of {} has several lines or a tab", table.name)));
            }
        }
    }
    Ok(None)
}

/// Emits the lines of a table; the number of rows, or `None` if a value has no place in a line.
fn each_line(
    copy: &Connection,
    table: &Table,
    mut emit: impl FnMut(&str) -> std::io::Result<()>,
) -> Result<Option<u64>> {
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    emit(&(names.join("\t") + "\n"))?;
    let columns: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    let mut statement = copy.prepare(&format!("SELECT {} FROM {}", columns.join(", "), quoted(&table.name)))?;
    let (mut rows, mut count, mut line) = (statement.query([])?, 0, String::new());
    while let Some(row) = rows.next()? {
        line.clear();
        for at in 0..names.len() {
            let Some(value) = value(row.get_ref(at)?) else { return Ok(None) };
            value.encode_into(&mut line);
            line.push(if at + 1 < names.len() { '\t' } else { '\n' });
        }
        emit(&line)?;
        count += 1;
    }
    Ok(Some(count))
}

fn value(value: ValueRef) -> Option<Value> {
    Some(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(Some(number).filter(|number| number.is_finite())?),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
        ValueRef::Text(bytes) => {
            let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
            Value::Text(text.to_string())
        }
    })
}
