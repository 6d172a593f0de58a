//! The proof: reads every row of both sides again in SQLite's representation, and compares them.

use crate::digest::{Digest, RowHash, bucket, row_hash};
use crate::look::{self, each_row, listed};
use crate::plan::Table;
use crate::progress::Progress;
use crate::rows::untag;
use crate::server::Server;
use anyhow::{Context, Result};
use contend::trial::stop::Cancelled;
use contend_wire::kept::quoted;
use contend_worker::argument::Argument;
use rusqlite::Connection;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// Most rows kept in memory to find the first one that differs.
const ROWS_AGAIN_MAX: u64 = 1_000_000;
/// Number of rows between two updates of the progress.
const SHOWN_EVERY: u64 = 10_000;

/// The result for a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    pub table: String,
    pub sqlite: Side,
    pub server: Side,
    /// Place of the first difference, if there is one.
    pub differs: Option<String>,
}

/// One side of the comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    pub rows: u64,
    pub digest: String,
}

/// The two sides.
pub struct Sides<'s> {
    pub sqlite: &'s Connection,
    pub tables: &'s [look::Table],
    pub server: &'s mut Server,
    pub progress: &'s Progress,
    pub stop: &'s AtomicBool,
}

impl Sides<'_> {
    /// Compares all tables.
    ///
    /// # Errors
    /// A side cannot be read, has a value that SQLite cannot represent, or a signal arrived.
    pub fn prove(&mut self, tables: &[Table]) -> Result<Vec<Proof>> {
        let mut proofs = vec![];
        for table in tables {
            proofs.push(self.table(table, None).with_context(|| format!("table {}", table.name))?);
        }
        Ok(proofs)
    }

    /// Compares the first rows of SQLite's table with all that the server has.
    ///
    /// # Errors
    /// As [`Sides::prove`].
    pub fn prove_first(&mut self, table: &Table, rows: u64) -> Result<Proof> {
        self.table(table, Some(rows))
    }

    fn table(&mut self, table: &Table, first: Option<u64>) -> Result<Proof> {
        let of = self.tables.iter().find(|of| of.name == table.name).context("it is not in the SQLite database")?;
        self.progress.begin(&format!("proof of table {}", table.name), Some(2 * first.unwrap_or(table.rows)));
        let (mut sqlite, mut server) = (Digest::default(), Digest::default());
        let limit = first.map_or(String::new(), |rows| format!(" LIMIT {rows}"));
        let all = format!("{}{limit}", of.all_rows(&of.listed(table.all())));
        self.each_of_sqlite(&all, |_, _, hash| sqlite.take(hash))?;
        self.each_of_server(table, sqlite.rows, |_, hash| server.take(hash))?;
        let differs =
            if sqlite == server { None } else { Some(self.difference((of, &all), table, &sqlite, &server)?) };
        let side = |digest: &Digest| Side { rows: digest.rows, digest: digest.word() };
        Ok(Proof { table: table.name.clone(), sqlite: side(&sqlite), server: side(&server), differs })
    }

    fn seen(&self, rows: u64) -> Result<()> {
        if rows.is_multiple_of(SHOWN_EVERY) {
            self.progress.at(rows);
            if self.stop.load(Ordering::Relaxed) {
                return Err(Cancelled.into());
            }
        }
        Ok(())
    }

    fn each_of_sqlite(&self, sql: &str, mut each: impl FnMut(u64, i64, RowHash)) -> Result<()> {
        each_row(self.sqlite, sql, |number, rowid, values| {
            each(number, rowid, row_hash(values));
            self.seen(number)
        })
    }

    fn each_of_server(
        &mut self,
        table: &Table,
        before: u64,
        mut each: impl FnMut(&[Argument<'_>], RowHash),
    ) -> Result<()> {
        let sql = format!("SELECT {} FROM {}", listed(table.all()), quoted(&table.name));
        let (mut rows, progress, stop) = (before, self.progress, self.stop);
        let tagged = table.tagged(table.all());
        self.server.product.read(&sql, &mut |values| {
            untag(values, &tagged, |values| {
                each(values, row_hash(values));
                Ok(())
            })?;
            rows += 1;
            if rows.is_multiple_of(SHOWN_EVERY) {
                progress.at(rows);
                if stop.load(Ordering::Relaxed) {
                    return Err(Cancelled.into());
                }
            }
            Ok(())
        })
    }

    /// Describes the first row that only one side has. `all`: the query for SQLite's rows.
    fn difference(
        &mut self,
        (of, all): (&look::Table, &str),
        table: &Table,
        sqlite: &Digest,
        server: &Digest,
    ) -> Result<String> {
        let (again, is_all) = sqlite.differing(server, ROWS_AGAIN_MAX);
        let first = if is_all { "first" } else { "among others" };
        let mut left: HashMap<RowHash, u64> = HashMap::new();
        self.each_of_server(table, 0, |_, hash| {
            if again[bucket(hash)] {
                *left.entry(hash).or_default() += 1;
            }
        })?;
        let mut found = None;
        self.each_of_sqlite(all, |number, rowid, hash| {
            if !again[bucket(hash)] || found.is_some() {
                return;
            }
            match left.get_mut(&hash).filter(|count| **count > 0) {
                Some(count) => *count -= 1,
                None => found = Some(of.place(rowid, number)),
            }
        })?;
        if let Some(place) = found {
            return Ok(format!("{first} {place}: the server has no row that is the same"));
        }
        let key = table.columns.iter().position(|column| column.is_rowid);
        let mut extra: Option<i64> = None;
        self.each_of_server(table, 0, |values, hash| {
            if left.get(&hash).is_some_and(|count| *count > 0)
                && let Some(Argument::Integer(rowid)) = key.map(|at| values[at])
            {
                extra = Some(extra.map_or(rowid, |least| least.min(rowid)));
            }
        })?;
        let place = extra.map_or(String::new(), |rowid| format!(", {first} rowid {rowid}"));
        Ok(format!("the server has rows that SQLite does not have{place}"))
    }
}
