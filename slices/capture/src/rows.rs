//! The rows of a copied database as files next to the workload, so that a study has the program's own data: generators do
//! not know which columns depend on each other, and in which order rows were written.

use crate::content::quoted;
use crate::literal::text;
use crate::manifest::{Table, private_in};
use anyhow::Result;
use contend::units::hex;
use contend_wire::literal::Value;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::io::{BufWriter, Write as _};
use std::path::Path;

/// Largest database whose rows are written out.
const BYTES_MAX: u64 = 256 << 20;

/// Entries `content` of the workload's tables, by the name of the table.
pub type Files = BTreeMap<String, String>;

/// Writes the rows of all tables into files of a directory. `Err`: why generated rows take their place. All tables have their
/// own rows, or none has: rows refer to each other.
///
/// # Errors
/// The copy cannot be read, or a file not be written.
pub fn write(dir: &Path, copy: &Connection, tables: &[&Table]) -> Result<Result<Files, String>> {
    let bytes: u64 =
        copy.query_row("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", [], |row| {
            row.get(0).map(i64::cast_unsigned)
        })?;
    if bytes > BYTES_MAX {
        return Ok(Err(format!("the database has more than {} MiB", BYTES_MAX >> 20)));
    }
    let mut files = Files::new();
    for (at, table) in tables.iter().enumerate().filter(|(_, table)| table.rows > 0) {
        if let Some(why) = unfit(copy, table)? {
            return Ok(Err(why));
        }
        let name = format!("rows-{}.tsv", at + 1);
        let mut file = private_in(dir)?;
        let (mut out, mut hash) = (BufWriter::new(file.as_file_mut()), Sha256::new());
        let written = each_line(copy, table, |line| {
            hash.update(line);
            out.write_all(line.as_bytes())
        })?;
        let Some(rows) = written else { return Ok(Err(format!("a value of {} cannot be on a server", table.name))) };
        out.flush()?;
        drop(out);
        file.persist(dir.join(&name))?;
        let sha256 = hex(&hash.finalize());
        let entry = format!("{{ file = {}, rows = {rows}, sha256 = \"{sha256}\" }}", text(&name));
        files.insert(table.name.clone(), entry);
    }
    Ok(Ok(files))
}

/// Why a server might not take the rows of a table; `None` if there is no reason.
fn unfit(copy: &Connection, table: &Table) -> Result<Option<String>> {
    let mut refers = table.columns.iter().filter_map(|column| column.refers.as_ref());
    if refers.any(|(to, _)| to.eq_ignore_ascii_case(&table.name)) {
        return Ok(Some(format!("rows of {} refer to rows of {}", table.name, table.name)));
    }
    for column in &table.columns {
        let (of, name) = (quoted(&table.name), quoted(&column.name));
        let other = format!("SELECT count(*) FROM {of} WHERE {name} IS NOT NULL AND typeof({name}) <> ?1");
        if copy.query_row(&other, [&column.kind], |row| row.get::<_, i64>(0))? > 0 {
            return Ok(Some(format!("{}.{} has values of several types", table.name, column.name)));
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
