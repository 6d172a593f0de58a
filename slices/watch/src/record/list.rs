//! A list of a record: a CSV file with a limit for each hour.

use anyhow::{Context, Result};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The file.
pub struct List {
    path: PathBuf,
    file: BufWriter<File>,
    /// Bytes written in this hour of the watch, and their limit.
    bytes: u64,
    bytes_max: u64,
    hour: u64,
    left_out: u64,
    /// Whether the limit of this hour is reached, and when one was reached for the first time, since the beginning.
    is_full: bool,
    full_ns: Option<u64>,
}

const HOUR_NS: u64 = 3_600_000_000_000;

impl List {
    /// Creates the file with its header line.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn make(out: &Path, name: &str, head: &str, bytes_max: u64) -> Result<List> {
        let path = out.join(name);
        let file = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
        let file = BufWriter::new(file);
        let mut list = List { path, file, bytes: 0, bytes_max, hour: 0, left_out: 0, is_full: false, full_ns: None };
        list.write(&format!("{head}\n"))?;
        Ok(list)
    }

    /// Appends a line of this time since the beginning, unless the limit of its hour is reached.
    ///
    /// # Errors
    /// The disk is full.
    pub fn add(&mut self, at_ns: u64, line: &str) -> Result<()> {
        // Times of lines do not only increase: a hold is written when it has ended.
        if at_ns / HOUR_NS > self.hour {
            (self.hour, self.bytes, self.is_full) = (at_ns / HOUR_NS, 0, false);
        }
        if self.is_full || self.bytes + line.len() as u64 > self.bytes_max {
            self.is_full = true;
            self.full_ns.get_or_insert(at_ns);
            self.left_out += 1;
            return Ok(());
        }
        self.write(line)
    }

    /// Flushes buffered lines to the file.
    ///
    /// # Errors
    /// The disk is full.
    pub fn flush(&mut self) -> Result<()> {
        self.file.flush().with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// What is missing because of the limit, as a sentence.
    pub fn left_out(&self) -> Option<String> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let seconds = self.full_ns? / 1_000_000_000;
        Some(format!(
            "{name}: {} lines are missing, the first {seconds} s after the beginning: the limit for an hour was reached",
            self.left_out
        ))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn write(&mut self, line: &str) -> Result<()> {
        self.bytes += line.len() as u64;
        self.file.write_all(line.as_bytes()).with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// Quotes a text as a CSV cell.
pub fn cell(text: &str) -> String {
    format!("\"{}\"", crate::words::one_line(text, 1_000).replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_ends_at_the_limit_of_each_hour_and_says_so() {
        let dir = std::env::temp_dir().join(format!("contend-list-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("made");
        let mut list = List::make(&dir, "a.csv", "n", 6).expect("made");
        for n in 0..9 {
            list.add(n * 1_000_000_000, &format!("{n}\n")).expect("written");
        }
        list.add(HOUR_NS, "h\n").expect("written");
        list.add(2, "l\n").expect("written");
        list.flush().expect("written");
        let text = std::fs::read_to_string(list.path()).expect("readable");
        std::fs::remove_dir_all(&dir).expect("removed");
        assert_eq!(text, "n\n0\n1\nh\nl\n", "a new hour has its own limit");
        let words = list.left_out().expect("it is full");
        assert!(words.contains("a.csv: 7 lines are missing, the first 2 s after"), "{words}");
    }
}
