//! `capture.json`: what was captured, how, and what was not.

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub const FORMAT: u32 = 1;
const FILE: &str = "capture.json";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    pub command: Vec<String>,
    /// When it began, in seconds since 1970.
    pub began_unix_s: u64,
    pub values: Values,
    pub clock: Clock,
    /// Exit status of the command; `None` if contend was ended before it.
    pub status: Option<i32>,
    pub databases: Vec<Database>,
    /// What could not be captured, in sentences.
    pub missing: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Values {
    /// Type, length and a keyed hash. The key is not kept.
    Hash,
    Full,
}

/// Two readings of the capture's clock and of the machine's, at begin and end.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Clock {
    pub is_ticks: bool,
    pub from: (u64, u64),
    pub to: (u64, u64),
}

impl Clock {
    pub fn ns(&self, ticks: u64) -> u64 {
        if self.is_ticks { self.from.1 + self.span(ticks.saturating_sub(self.from.0)) } else { ticks }
    }

    pub fn span(&self, ticks: u64) -> u64 {
        let counted = self.to.0.saturating_sub(self.from.0);
        if !self.is_ticks || counted == 0 {
            return ticks;
        }
        let ns = u128::from(ticks) * u128::from(self.to.1.saturating_sub(self.from.1)) / u128::from(counted);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

/// A database that the program used.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Database {
    pub path: PathBuf,
    /// What was in it before the program opened it: a copy where values are whole. `None`: the program made it.
    pub content: Option<Content>,
    /// What was in it at the end; `None` if it was not there any more.
    pub end: Option<Content>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Content {
    /// A copy of the database, in the capture's directory.
    pub copy: Option<String>,
    pub journal_mode: String,
    pub page_size: u32,
    pub tables: Vec<Table>,
    /// Statements of indexes, views and triggers.
    pub others: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Table {
    pub name: String,
    pub ddl: String,
    pub rows: u64,
    pub columns: Vec<Column>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Column {
    pub name: String,
    pub declared: String,
    pub not_null: bool,
    pub has_default: bool,
    /// Its place in the primary key, from 1; 0 if it is not part of it.
    pub key: u32,
    /// Whether an index makes it unique by itself.
    pub unique: bool,
    /// Table and column that it refers to.
    pub refers: Option<(String, String)>,
    /// Of the rows that were looked at: how many, NULLs, different values, and the most frequent type.
    pub seen: u64,
    pub nulls: u64,
    pub distinct: u64,
    pub kind: String,
    pub length_min: u64,
    pub length_mean: u64,
    pub length_max: u64,
}

impl Manifest {
    /// What is missing, also where contend could not write it down.
    pub fn missing_in_all(&self) -> Vec<String> {
        let killed = self.status.is_none().then(|| {
            "The capture has no end: contend was killed before the command had ended. What the databases contained at the \
             end, and what was not seen, is not known."
                .to_string()
        });
        self.missing.iter().cloned().chain(killed).collect()
    }

    /// # Errors
    /// There is no capture, it is of another version, or cannot be read.
    pub fn read(dir: &Path) -> Result<Manifest> {
        let path = dir.join(FILE);
        let text = fs::read_to_string(&path).with_context(|| {
            format!("{} is no capture: it has no {FILE}. `contend capture -- COMMAND` makes one", dir.display())
        })?;
        let manifest: Manifest =
            serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))?;
        ensure!(
            manifest.format == FORMAT,
            "{}: format {}, this contend reads {FORMAT}",
            path.display(),
            manifest.format
        );
        Ok(manifest)
    }

    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, dir: &Path) -> Result<()> {
        write_private(&dir.join(FILE), serde_json::to_string_pretty(self)?.as_bytes())
    }

    /// # Errors
    /// Values are hashes.
    pub fn needs_values(&self, what: &str) -> Result<()> {
        if self.values == Values::Hash {
            bail!("{what} needs the values, and this capture has hashes of them: capture again with --values=full");
        }
        Ok(())
    }
}

/// Makes a directory that only its owner can enter.
///
/// # Errors
/// It is there and not empty, or cannot be made.
pub fn make_private(dir: &Path) -> Result<()> {
    let made = fs::DirBuilder::new().mode(0o700).recursive(true).create(dir);
    made.with_context(|| format!("cannot make {}", dir.display()))?;
    let entries = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?.count();
    ensure!(entries == 0, "{} is not empty; name a directory that is not there yet", dir.display());
    let owner_only = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(dir, owner_only).with_context(|| format!("cannot close {} to others", dir.display()))
}

/// Writes a file that only its owner can read.
///
/// # Errors
/// It cannot be written.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    let open = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    open.and_then(|mut file| file.write_all(bytes)).with_context(|| format!("cannot write {}", path.display()))
}
