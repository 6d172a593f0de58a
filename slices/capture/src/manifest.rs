//! `capture.json`: the captured command and databases, the settings, and what is missing.

use anyhow::{Context, Result, bail, ensure};
use contend::record::seal::{self, Seal};
use contend_interpose::hash;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

pub const FORMAT: u32 = 1;
const FILE: &str = "capture.json";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    pub command: Vec<String>,
    /// Start, in seconds since 1970.
    pub began_unix_s: u64,
    pub values: Values,
    pub clock: Clock,
    /// Exit status of the command; `None` if contend ended before it had written everything.
    pub status: Option<i32>,
    pub databases: Vec<Database>,
    /// Gaps of the capture, as sentences.
    pub missing: Vec<String>,
    /// The segment files at the end, by name. `None`: contend was killed before it had packed them, or an older contend made the capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments: Option<BTreeMap<String, Total>>,
    /// The server, if connections to one were captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Server>,
    /// Whether it was read from a file without a seal.
    #[serde(skip)]
    pub not_sealed: bool,
}

/// The content of a segment file: its number of records, and a hash of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    pub records: u64,
    pub hash: u64,
}

impl Total {
    pub fn of(bytes: &[u8], records: u64) -> Total {
        Total { records, hash: hash::bytes([0, 0], bytes) }
    }
}

/// A server whose clients were captured.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Server {
    pub engine: String,
    /// Without user and database.
    pub address: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Values {
    /// Type, length and a keyed hash. The key is not stored.
    Hash,
    Full,
}

/// Readings of the capture's clock and of the machine's, at the beginning and the end. Until the end is known it is a moment
/// after the beginning: a capture that was killed then has times that are right to about one in 10,000.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Clock {
    pub is_ticks: bool,
    pub from: (u64, u64),
    pub to: (u64, u64),
}

impl Clock {
    pub fn ns(&self, ticks: u64) -> u64 {
        if self.is_ticks { self.from.1.saturating_add(self.span(ticks.saturating_sub(self.from.0))) } else { ticks }
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
    #[serde(with = "path_bytes")]
    pub path: PathBuf,
    /// Content before the program opened it, with a copy if values are stored. `None`: the program created the
    /// database.
    pub content: Option<Content>,
    /// Content at the end; `None` if the file was gone.
    pub end: Option<Content>,
    /// Whether it was there before the program, although its content is unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_there: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Content {
    /// Copy of the database in the capture's directory.
    pub copy: Option<String>,
    /// Hash of its bytes at the end of the capture. `None`: contend was killed before, or an older contend made the capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_hash: Option<u64>,
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
    /// Lowest and highest rowid, if a column is its alias and the workload has the program's rows. Not kept: keys are values.
    #[serde(skip)]
    pub keys: Option<(i64, i64)>,
    pub columns: Vec<Column>,
}

impl Table {
    /// The first rowid, if there is no gap between the first and the last one.
    pub fn first_key(&self) -> Option<i64> {
        self.keys.filter(|(low, high)| high.abs_diff(*low).checked_add(1) == Some(self.rows)).map(|(low, _)| low)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    pub name: String,
    pub declared: String,
    pub not_null: bool,
    pub has_default: bool,
    /// Position in the primary key, from 1; 0 if it is not part of it.
    pub key: u32,
    /// Whether an index on it alone makes it unique.
    pub unique: bool,
    /// Whether it is the last column of an index that makes several columns unique together.
    #[serde(default)]
    pub completes_unique: bool,
    /// Table and column that it references.
    pub refers: Option<(String, String)>,
    /// Number of examined rows; of these the NULLs, distinct values, and most frequent type.
    pub seen: u64,
    pub nulls: u64,
    pub distinct: u64,
    /// Rows with the most frequent value; 0 in captures of older versions.
    #[serde(default)]
    pub most: u64,
    /// Whether all values are texts that begin with a date, and whether no row has a lower value than the one before it.
    #[serde(default)]
    pub has_dates: bool,
    #[serde(default)]
    pub rises: bool,
    pub kind: String,
    pub length_min: u64,
    pub length_mean: u64,
    pub length_max: u64,
    /// In a capture of hashes, of a column with few values or with names of rows: the hash of each and its number of rows, most
    /// frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hashes: Vec<(u64, u64)>,
    /// In a capture of hashes: the only values that the schema allows, as TOML, and their hashes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<(String, u64)>,
}

impl Column {
    /// Whether distinct values in this column alone satisfy every unique index that ends with it.
    pub fn is_unique(&self) -> bool {
        self.unique || self.completes_unique
    }

    /// Whether its values are texts that name the rows: each row has another one.
    pub fn names_rows(&self) -> bool {
        let is_key = self.unique || self.key > 0;
        is_key && self.kind == "text" && self.nulls == 0 && self.seen > 0 && self.distinct == self.seen
    }
}

impl Content {
    /// Size of all rows, about.
    pub fn bytes(&self) -> u64 {
        let length = |table: &Table| table.columns.iter().map(|column| column.length_mean).sum::<u64>();
        let of = |table: &Table| table.rows.saturating_mul(length(table));
        self.tables.iter().map(of).fold(0, u64::saturating_add)
    }
}

impl Manifest {
    /// The program, and its first argument if that is named like a file: `python3 app.py`. Others can be passwords, and this
    /// reaches reports.
    pub fn program(&self) -> String {
        let is_file = |word: &&String| {
            let ending = word.rsplit_once('.').map_or("", |(_, ending)| ending);
            let is_plain =
                !word.starts_with('-') && !word.contains(['=', '@', ':']) && !word.contains(char::is_control);
            is_plain && (1..=4).contains(&ending.len()) && ending.chars().all(|c| c.is_ascii_alphabetic())
        };
        let file = self.command.get(1).filter(is_file);
        let words: Vec<&str> = self.command.iter().take(1).chain(file).map(String::as_str).collect();
        words.join(" ").chars().take(60).collect()
    }

    /// The command that captures the program again, with its values: `contend capture --values=full -- python3 'my app.py'`.
    pub fn with_values(&self) -> String {
        let words: Vec<String> = self.command.iter().map(|word| contend::cli::quoted(word)).collect();
        format!("contend capture --values=full -- {}", words.join(" "))
    }

    /// All gaps, also that of a contend that was killed, and that of a file without a seal.
    pub fn missing_in_all(&self) -> Vec<String> {
        let not_sealed = self.not_sealed.then(|| seal::said_not_sealed(FILE, 0));
        let killed = self.status.is_none().then(|| {
            "The capture is incomplete: contend was killed before it had written the end. The final contents of the \
             databases, and other gaps, are unknown."
                .to_string()
        });
        not_sealed.into_iter().chain(self.missing.iter().cloned()).chain(killed).collect()
    }

    /// # Errors
    /// The directory is not a capture, has another version, was changed, or cannot be read.
    pub fn read(dir: &Path) -> Result<Manifest> {
        let path = dir.join(FILE);
        ensure!(
            fs::symlink_metadata(&path).is_ok(),
            "{} is not a capture: it has no {FILE}. `contend capture -- COMMAND` makes one",
            dir.display()
        );
        let is_damaged = || format!("{} is damaged", path.display());
        let text = String::from_utf8(read_own(&path)?).with_context(is_damaged)?;
        let (seal, _) = seal::of(seal::JSON, &text);
        ensure!(seal != Seal::Broken, "{} {}. Restore the file, or capture again", path.display(), seal::WAS_CHANGED);
        let read: Manifest = serde_json::from_str(&text).with_context(is_damaged)?;
        let manifest = Manifest { not_sealed: seal == Seal::Absent, ..read };
        ensure!(
            manifest.format == FORMAT,
            "{}: format {}, this contend reads {FORMAT}",
            path.display(),
            manifest.format
        );
        manifest.stays_inside(dir)?;
        Ok(manifest)
    }

    /// Refuses copies outside of the capture's directory: another person may have made the capture.
    fn stays_inside(&self, dir: &Path) -> Result<()> {
        for (i, database) in self.databases.iter().enumerate() {
            for (key, content) in [("content", &database.content), ("end", &database.end)] {
                let Some(copy) = content.as_ref().and_then(|content| content.copy.as_ref()) else { continue };
                let is_name = Path::new(copy).file_name() == Some(OsStr::new(copy));
                // A copy that is not there is reported when it is needed.
                let is_file = || fs::symlink_metadata(dir.join(copy)).map_or(true, |there| there.is_file());
                ensure!(
                    is_name && is_file(),
                    "{}: databases[{i}].{key}.copy = {copy:?} leads out of the capture: it must name a regular file in {}",
                    dir.join(FILE).display(),
                    dir.display()
                );
            }
        }
        Ok(())
    }

    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, dir: &Path) -> Result<()> {
        let text = seal::sealed(seal::JSON, &serde_json::to_string_pretty(self)?);
        write_private(&dir.join(FILE), text.as_bytes())
    }

    /// # Errors
    /// It is the capture of a server.
    pub fn needs_sqlite(&self, what: &str) -> Result<()> {
        match &self.server {
            Some(server) => bail!(
                "{what} is made of captures of SQLite only: this one is of {}, whose tables and rows are not in it. For a \
                 study of that server write a workload file (docs/workload-file.md). To carry out the captured statements \
                 again: contend replay DIR --to {}://...{}",
                server.address,
                server.engine,
                if self.values == Values::Hash { " (this needs a capture with --values=full)" } else { "" }
            ),
            None => Ok(()),
        }
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

/// A path in JSON: a text, or if it is not UTF-8 the array of its bytes.
mod path_bytes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::path::{Path, PathBuf};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Text(PathBuf),
        Bytes(Vec<u8>),
    }

    pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => path.as_os_str().as_bytes().serialize(serializer),
        }
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<PathBuf, D::Error> {
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Text(path) => path,
            Stored::Bytes(bytes) => OsString::from_vec(bytes).into(),
        })
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
    ensure!(entries == 0, "{} is not empty: name a new directory", dir.display());
    let owner_only = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(dir, owner_only).with_context(|| format!("cannot make {} private", dir.display()))
}

/// Reads a file of a capture. A symbolic link could lead out of the capture, and a pipe would wait for a writer.
///
/// # Errors
/// It is no regular file, or cannot be read.
pub fn read_own(path: &Path) -> Result<Vec<u8>> {
    let is_file = fs::symlink_metadata(path).with_context(|| format!("cannot read {}", path.display()))?.is_file();
    ensure!(is_file, "{} is a symbolic link or not a regular file: a capture has neither", path.display());
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Names of files that do not have their name yet begin with this.
const UNNAMED: &str = ".contend-";

/// A file with a new name that only its owner can read (O_EXCL, mode 0600). It is removed unless it gets its name. Its lock
/// says that a process still writes it.
///
/// # Errors
/// It cannot be made.
pub fn private_in(dir: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    loop {
        let file = tempfile::Builder::new().prefix(UNNAMED).tempfile_in(dir)?;
        flock(file.as_file(), FlockOperation::LockShared)?;
        // Between the two calls above another process can have taken it for an abandoned file.
        if file.as_file().metadata()?.nlink() > 0 {
            return Ok(file);
        }
    }
}

/// Removes what [`private_in`] made for processes that were killed: it has the rows of a database, too.
///
/// # Errors
/// A file cannot be removed.
pub fn remove_abandoned(dir: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)?.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(UNNAMED) {
            continue;
        }
        let Ok(file) = fs::File::open(entry.path()) else { continue };
        let is_abandoned = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        // It can have got its name since the directory was read.
        if is_abandoned && entry.path().exists() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Writes to a path that the user named: a pipe or a terminal as it is, anything else as [`write_private`].
///
/// # Errors
/// It cannot be written.
pub fn write_named(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        let write = || fs::OpenOptions::new().write(true).open(path)?.write_all(bytes);
        return write().with_context(|| format!("cannot write {}", path.display()));
    }
    write_private(path, bytes)
}

/// Writes a file that only its owner can read. It replaces a file, pipe or symbolic link of this name: the permissions of
/// the one and the target of the other do not matter.
///
/// # Errors
/// It cannot be written.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut file = private_in(dir)?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// A key for hashes of values.
///
/// # Errors
/// The system has no random numbers.
pub fn random_key() -> Result<[u8; 16]> {
    let mut key = [0u8; 16];
    fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut key))
        .context("cannot read random numbers")?;
    Ok(key)
}

/// A key as the hashes take it.
pub fn halves(key: [u8; 16]) -> [u64; 2] {
    let (one, other) = key.split_at(8);
    [one, other].map(|half| half.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_private_file_takes_neither_the_mode_nor_the_target_of_what_was_there() {
        let dir = tempfile::tempdir().expect("a directory");
        let (target, link, old) = (dir.path().join("target"), dir.path().join("link"), dir.path().join("old"));
        fs::write(&target, "theirs").expect("written");
        std::os::unix::fs::symlink(&target, &link).expect("linked");
        fs::write(&old, "old").expect("written");
        fs::set_permissions(&old, PermissionsExt::from_mode(0o644)).expect("set");
        for path in [&link, &old] {
            write_private(path, b"new").expect("written");
            let meta = fs::symlink_metadata(path).expect("there");
            assert!(meta.is_file() && meta.permissions().mode() & 0o777 == 0o600, "{}", path.display());
            assert_eq!(fs::read(path).expect("readable"), b"new");
        }
        assert_eq!(fs::read(&target).expect("readable"), b"theirs");
        assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 3, "no temporary file is left");
    }

    #[test]
    fn only_what_no_process_writes_any_more_is_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut written = private_in(dir.path()).expect("made");
        let (_, killed) = private_in(dir.path()).expect("made").keep().expect("kept");
        remove_abandoned(dir.path()).expect("removed");
        assert!(!killed.exists(), "its process has closed it");
        written.write_all(b"rows").expect("written");
        written.persist(dir.path().join("rows-1.tsv")).expect("named");
    }
}
