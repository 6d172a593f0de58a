//! Rows of a table from a file next to the workload, in place of generated ones. The first line has the names of the columns,
//! every other line a row; fields are separated by tabs and encoded as in a script.

use super::generator::Fields;
use crate::units::hex;
use anyhow::{Context, Result, bail, ensure};
use contend_wire::literal::Value;
use sha2::{Digest as _, Sha256};
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

/// Opens a file of rows.
pub type Open<'o> = &'o dyn Fn(&Path) -> io::Result<Box<dyn BufRead>>;

/// The file that has the rows of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowsFile {
    pub path: PathBuf,
    pub rows: u64,
    /// Of the whole file.
    pub sha256: String,
}

/// An open file of rows.
pub struct Rows<'f> {
    of: &'f RowsFile,
    reader: Box<dyn BufRead>,
    hash: Sha256,
    line: String,
    lines: u64,
    /// Place in the row of each field of a line.
    places: Vec<usize>,
}

impl<'f> Rows<'f> {
    /// Opens a file that must have exactly the columns `fields`, in any order.
    ///
    /// # Errors
    /// It cannot be read, or has other columns.
    pub fn open(of: &'f RowsFile, fields: &Fields, open: Open<'_>) -> Result<Self> {
        let reader = open(&of.path).with_context(|| {
            let from = if of.path.is_relative() { ", from the directory in which the run was begun" } else { "" };
            format!("cannot read the rows of a table, {}{from}", of.path.display())
        })?;
        let (hash, line) = (Sha256::new(), String::new());
        let mut rows = Rows { of, reader, hash, line, lines: 0, places: vec![] };
        rows.next_line()?;
        let places: Option<Vec<usize>> = rows.line.split('\t').map(|name| fields.position(name)).collect();
        let mut sorted = places.clone().unwrap_or_default();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..fields.0.len()) {
            let names: Vec<&str> = fields.0.iter().map(|field| field.name.as_str()).collect();
            bail!("{}, line 1: expected the columns {}, found {}", of.path.display(), names.join(", "), rows.line);
        }
        rows.places = places.unwrap_or_default();
        Ok(rows)
    }

    /// Reads the next row.
    ///
    /// # Errors
    /// There is none, or it is not what it should be. The message names file and line.
    pub fn next(&mut self, row: &mut [Value]) -> Result<()> {
        self.next_line()?;
        let wrong = |why: String| format!("{}, line {}: {why}", self.of.path.display(), self.lines);
        let fields: Vec<&str> = self.line.split('\t').collect();
        ensure!(
            fields.len() == self.places.len(),
            wrong(format!("expected {} values, found {}", self.places.len(), fields.len()))
        );
        for (field, &place) in fields.iter().zip(&self.places) {
            row[place] = Value::decode(field).map_err(|why| anyhow::anyhow!(wrong(why)))?;
        }
        Ok(())
    }

    /// Checks after the last row that the file is the one that the workload names.
    ///
    /// # Errors
    /// It has more rows or another content.
    pub fn end(mut self) -> Result<()> {
        let rest = self.reader.read_line(&mut self.line)?;
        let found = hex(&self.hash.finalize());
        let is_it = rest == 0 && found == self.of.sha256;
        ensure!(
            is_it,
            "{} is not the file that the workload was written with (sha256 {})",
            self.of.path.display(),
            self.of.sha256
        );
        Ok(())
    }

    fn next_line(&mut self) -> Result<()> {
        self.line.clear();
        let path = self.of.path.display();
        let read = self.reader.read_line(&mut self.line).with_context(|| format!("cannot read {path}"))?;
        ensure!(read > 0, "{path} ends after line {}; the workload expects {} rows", self.lines, self.of.rows);
        self.hash.update(&self.line);
        self.line.truncate(self.line.trim_end_matches('\n').len());
        self.lines += 1;
        Ok(())
    }
}
