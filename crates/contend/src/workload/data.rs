//! The data of a workload as scripts for a loader: tables, rows, indexes, in this order, so that rows
//! are appended before any index but the primary key has to be kept.

use super::generate::{Binder, RowPosition};
use super::model::{Table, Workload};
use super::random::Stream;
use super::rows::{Open, Rows};
use super::sql::{Brackets, asked, load, quoted};
use crate::units::hex;
use anyhow::{Result, ensure};
use contend_wire::literal::Value;
use contend_wire::script::{Load, ScriptWriter, Target};
use sha2::{Digest as _, Sha256};

/// Raised when the same file, scale and seed lead to other data than before.
const GENERATOR_VERSION: u32 = 1;

/// The data of a workload at a scale. The same scale and seed always lead to the same data.
#[derive(Clone, Copy)]
pub struct Data<'w> {
    pub workload: &'w Workload,
    pub scale: f64,
    pub seed: u64,
}

impl Data<'_> {
    /// Emits scripts of about `chunk_bytes` each, to be run one after the other. Returns the number of rows. `open`: for tables
    /// whose rows are in a file.
    ///
    /// # Errors
    /// A reference to a table without rows at this scale, a file of rows that is not the right one, and errors of `emit`.
    pub fn scripts(
        &self,
        chunk_bytes: usize,
        target: &Target,
        open: Open<'_>,
        emit: &mut dyn FnMut(String) -> Result<()>,
    ) -> Result<u64> {
        let Self { workload, scale, seed } = *self;
        let rows = rows_to_load(workload, scale)?;
        // Rows of one table refer to those of another.
        let has_files = workload.tables.iter().zip(&rows).all(|(table, rows)| match &table.content {
            Some(content) => content.rows == *rows,
            None => true,
        });
        let binder = Binder { tables: &workload.tables, rows };
        let mut loader = Loader { binder, has_files, seed, chunk_bytes, target, open, emit };
        let mut writer = ScriptWriter::new(target);
        for ddl in workload.schema_sql() {
            writer.sql(&asked(&ddl));
        }
        for (i, table) in workload.tables.iter().enumerate() {
            let (insert, after) = match &workload.translated {
                Some(translated) => {
                    let table = &translated.tables[i];
                    (load(&table.load, Brackets::Plain), &table.after[..])
                }
                None => (load(&insert_sql(table), Brackets::Quote), &[][..]),
            };
            writer = loader.table(i, table, &insert, writer)?;
            for sql in after {
                writer.sql(&asked(sql));
            }
        }
        for sql in workload.index_sql().iter().chain(workload.after_load.iter().map(|after| &after.sql)) {
            writer.sql(&asked(sql));
        }
        (loader.emit)(writer.finish())?;
        Ok(loader.binder.rows.iter().sum())
    }

    /// Hash of everything that the scripts depend on.
    pub fn sha256(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(format!("{GENERATOR_VERSION}\n{}\n{:?}\n", self.seed, self.workload.rows(self.scale)));
        hash.update(&self.workload.data_definition);
        hex(&hash.finalize())
    }
}

/// Rows of each table at a scale.
///
/// # Errors
/// A scale that is not above 0, and one with more than [`ROWS_MAX`] rows.
pub fn rows_to_load(workload: &Workload, scale: f64) -> Result<Vec<u64>> {
    ensure!(scale.is_finite() && scale > 0.0, "the scale must be greater than 0, found {scale}");
    let rows: Vec<u64> = workload.tables.iter().map(|table| table.rows.at(&workload.scale, scale)).collect();
    let total = rows.iter().fold(0, |sum: u64, rows| sum.saturating_add(*rows));
    ensure!(total <= ROWS_MAX, "{total} rows would have to be loaded, the maximum is {ROWS_MAX}: choose a lower scale");
    Ok(rows)
}

/// Most rows that are loaded.
const ROWS_MAX: u64 = 1_000_000_000;

struct Loader<'a> {
    binder: Binder<'a>,
    /// Whether the rows of tables come from their files.
    has_files: bool,
    seed: u64,
    chunk_bytes: usize,
    target: &'a Target,
    open: Open<'a>,
    emit: &'a mut dyn FnMut(String) -> Result<()>,
}

impl Loader<'_> {
    /// Writes the rows of one table, emitting scripts as they fill up, and returns the one begun last.
    fn table(&mut self, index: usize, table: &Table, insert: &Load, mut writer: ScriptWriter) -> Result<ScriptWriter> {
        let rows = self.binder.rows[index];
        if rows == 0 {
            return Ok(writer);
        }
        let columns = &table.columns.0;
        let content = table.content.as_ref().filter(|_| self.has_files);
        let mut content = content.map(|content| Rows::open(content, &table.columns, self.open)).transpose()?;
        let fields = self.binder.fields(&table.columns, rows)?;
        // One stream per column, so that a new column does not change the values of the others.
        let mut streams: Vec<Stream> =
            columns.iter().map(|column| Stream::new(self.seed, &["column", &table.name, &column.name])).collect();
        let mut row = vec![Value::Null; fields.len()];
        writer.load(insert);
        for i in 0..rows {
            if writer.len() >= self.chunk_bytes {
                (self.emit)(writer.finish())?;
                writer = ScriptWriter::new(self.target);
                writer.load(insert);
            }
            match &mut content {
                Some(content) => content.next(&mut row)?,
                None => fields.fill(RowPosition { row: i, rows }, &mut streams, &mut row),
            }
            writer.row(&row);
        }
        content.map_or(Ok(()), Rows::end)?;
        Ok(writer)
    }
}

/// The statement that loads a row of a table, in SQLite's dialect.
pub(super) fn insert_sql(table: &Table) -> String {
    let names: Vec<String> = table.columns.0.iter().map(|column| quoted(&column.name)).collect();
    let places = vec!["?"; names.len()].join(", ");
    format!("INSERT INTO {} ({}) VALUES ({places})", quoted(&table.name), names.join(", "))
}
