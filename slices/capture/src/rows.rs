//! The rows of a copied database as files next to the workload, so that a study has the program's own data: generators do
//! not know which columns depend on each other, and in which order rows were written.

use crate::content::quoted;
use crate::generator::is_serial;
use crate::literal::text;
use crate::manifest::{Column, Content, Table, private_in};
use crate::tables::{Files, Tables};
use anyhow::Result;
use contend::units::hex;
use contend_wire::literal::Value;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::Path;

/// Largest database whose rows are written out.
const BYTES_MAX: u64 = 256 << 20;

/// Writes the rows of all tables into files of a directory: the content with the keys of these rows, and the files. `Err`: why
/// generated rows take their place. All tables have their own rows, or none has: rows refer to each other.
///
/// # Errors
/// The copy cannot be read, or a file not be written.
pub fn written(dir: &Path, content: &Content, copy: Option<&Connection>) -> Result<(Content, Result<Files, String>)> {
    let mut content = content.clone();
    remove_old(dir)?;
    // With hashes, which the study says.
    let Some(copy) = copy else { return Ok((content, Ok(Files::new()))) };
    let all: Vec<Table> =
        Tables::of(&content, None).all().into_iter().filter(|table| table.rows > 0).cloned().collect();
    if let Some(why) = unfit(copy, &all)? {
        return Ok((content, Err(why)));
    }
    let mut files = Files::new();
    for (at, table) in all.iter().enumerate() {
        let name = format!("rows-{}.tsv", at + 1);
        let mut file = private_in(dir)?;
        let (mut out, mut hash) = (BufWriter::new(file.as_file_mut()), Sha256::new());
        let written = each_line(copy, table, |line| {
            hash.update(line);
            out.write_all(line.as_bytes())
        })?;
        let Some(rows) = written else {
            remove_old(dir)?;
            return Ok((content, Err(format!("a value of {} cannot be on a server", table.name))));
        };
        out.flush()?;
        drop(out);
        file.persist(dir.join(&name))?;
        let sha256 = hex(&hash.finalize());
        let entry = format!("{{ file = {}, rows = {rows}, sha256 = \"{sha256}\" }}", text(&name));
        files.insert(table.name.clone(), entry);
    }
    for table in content.tables.iter_mut().filter(|table| files.contains_key(&table.name)) {
        table.keys = keys(copy, table)?;
    }
    Ok((content, Ok(files)))
}

/// Removes the files of an earlier workload.
fn remove_old(dir: &Path) -> Result<()> {
    for entry in fs::read_dir(dir)?.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("rows-") && name.ends_with(".tsv") {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
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
    for table in all {
        let mut refers = table.columns.iter().filter_map(|column| column.refers.as_ref());
        if refers.any(|(to, _)| to.eq_ignore_ascii_case(&table.name)) {
            return Ok(Some(format!("rows of {} refer to rows of {}", table.name, table.name)));
        }
        for column in &table.columns {
            if let Some(why) = unfit_column(copy, table, column)? {
                return Ok(Some(format!("{}.{} {why}", table.name, column.name)));
            }
        }
    }
    Ok(None)
}

fn unfit_column(copy: &Connection, table: &Table, column: &Column) -> Result<Option<String>> {
    if column.name.contains(['\t', '\n', '\r']) {
        return Ok(Some("has a name of several lines or with a tab".into()));
    }
    let (of, name) = (quoted(&table.name), quoted(&column.name));
    let other = format!("SELECT count(*) FROM {of} WHERE {name} IS NOT NULL AND typeof({name}) <> ?1");
    if copy.query_row(&other, [&column.kind], |row| row.get::<_, i64>(0))? > 0 {
        return Ok(Some("has values of several types".into()));
    }
    let (kind, declared) = (column.kind.as_str(), column.declared.to_ascii_lowercase());
    let is = |words: &[&str]| words.iter().any(|word| declared.contains(word));
    let fits = match kind {
        "null" => true,
        "text" => !is(&["int", "real", "floa", "doub", "blob"]),
        "integer" => !is(&["char", "clob", "text", "blob"]),
        "real" => !is(&["int", "char", "clob", "text", "blob"]),
        _ => declared.is_empty() || is(&["blob"]),
    };
    Ok((!fits).then(|| format!("is declared as {} and has values of type {kind}", column.declared)))
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
