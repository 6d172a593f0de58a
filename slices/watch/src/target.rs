//! The databases that are watched: their files, as the kernel numbers them, and how large they are.

use crate::lock::File;

use anyhow::{Context, Result, bail};
use contend::engine::wal::{HEADER_BYTES, Log};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// First bytes of every SQLite database that has content.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Most databases that are watched at once.
const DATABASES_MAX: usize = 64;

/// A file as tracepoints name it: the device in the kernel's own numbering, and the inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    pub device: u32,
    pub inode: u64,
}

impl FileId {
    /// The file at a path. `None` if there is none.
    pub fn at(path: &Path) -> Option<FileId> {
        let metadata = fs::metadata(path).ok()?;
        Some(FileId { device: kernel_device(metadata.dev()), inode: metadata.ino() })
    }
}

/// The kernel's own numbering of devices has 12 bits of major and 20 of minor number.
fn kernel_device(device: u64) -> u32 {
    (rustix::fs::major(device) << 20) | (rustix::fs::minor(device) & 0xf_ffff)
}

/// A SQLite database that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    pub path: PathBuf,
    pub id: FileId,
    /// The `-shm` file, while there is one: it comes and goes with the connections.
    pub shm: Option<FileId>,
    /// That of the look before: what was done to it since then is read only now.
    shm_before: Option<FileId>,
}

/// Sizes and the state of the log at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State {
    pub database_bytes: u64,
    pub log_bytes: u64,
    /// The header of `-shm`; `None` outside of WAL mode or while it changes.
    pub log: Option<Log>,
    /// Whether there is a rollback journal with content.
    pub has_journal: bool,
}

impl Database {
    /// A database file.
    ///
    /// # Errors
    /// It is not there, is not a file, or is not a SQLite database; with what it is.
    pub fn open(path: &Path) -> Result<Database> {
        let path = path.canonicalize().with_context(|| format!("{}: cannot be found", path.display()))?;
        let metadata = fs::metadata(&path).with_context(|| format!("{}: cannot be read", path.display()))?;
        let kind = metadata.file_type();
        if kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device() {
            bail!("{} is not a file; name a SQLite database", path.display());
        }
        let mut head = vec![];
        let file = fs::File::open(&path).with_context(|| format!("{}: cannot be read", path.display()))?;
        file.take(MAGIC.len() as u64).read_to_end(&mut head).with_context(|| format!("{}", path.display()))?;
        // A new database is an empty file until its first commit.
        if !head.is_empty() && head != MAGIC {
            bail!("{} is not a SQLite database: it does not begin with \"SQLite format 3\"", path.display());
        }
        let id = FileId::at(&path).with_context(|| format!("{}: cannot be read", path.display()))?;
        let shm = FileId::at(&beside(&path, "-shm"));
        Ok(Database { path, id, shm, shm_before: None })
    }

    /// The databases that paths stand for: files, or all databases directly in a directory.
    ///
    /// # Errors
    /// A path is no database; a directory has none, or too many.
    pub fn open_all(paths: &[PathBuf]) -> Result<Vec<Database>> {
        let mut found = vec![];
        for path in paths {
            if !path.is_dir() {
                found.push(Database::open(path)?);
                continue;
            }
            let entries = fs::read_dir(path).with_context(|| format!("{}: cannot be read", path.display()))?;
            let before = found.len();
            let files = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file());
            found.extend(files.filter_map(|file| Database::open(&file).ok()).filter(|db| !is_empty(&db.path)));
            if found.len() == before {
                bail!("{} holds no SQLite database", path.display());
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found.dedup_by_key(|database| database.id);
        if found.len() > DATABASES_MAX {
            bail!("{} databases; at most {DATABASES_MAX} are watched at once: name some of them", found.len());
        }
        Ok(found)
    }

    /// Whether the `-shm` file has come, gone or been replaced since the last look.
    pub fn look_again(&mut self) -> bool {
        let shm = FileId::at(&beside(&self.path, "-shm"));
        self.shm_before = std::mem::replace(&mut self.shm, shm);
        self.shm != self.shm_before
    }

    /// Whether another file (or none) is at the path now.
    pub fn was_replaced(&self) -> bool {
        FileId::at(&self.path) != Some(self.id)
    }

    /// Which of the database's files this is.
    pub fn file(&self, id: FileId) -> Option<File> {
        if id == self.id {
            return Some(File::Database);
        }
        [self.shm, self.shm_before].contains(&Some(id)).then_some(File::Shm)
    }

    /// Sizes and log, read from this process: it has no locks on the files that closing them could drop.
    pub fn state(&self) -> State {
        let length = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
        let mut header = vec![];
        if let Ok(file) = fs::File::open(beside(&self.path, "-shm")) {
            // A header that cannot be read is none.
            let _ = file.take(HEADER_BYTES as u64).read_to_end(&mut header);
        }
        State {
            database_bytes: length(&self.path),
            log_bytes: length(&beside(&self.path, "-wal")),
            log: Log::read(&header),
            has_journal: length(&beside(&self.path, "-journal")) > 0,
        }
    }
}

/// The name of a file that SQLite keeps next to the database, such as `app.db-shm`.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn is_empty(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last to close a database removes its `-shm`, and its last events are read a moment later.
    #[test]
    fn a_file_that_has_just_gone_is_still_known() {
        let dir = std::env::temp_dir().join(format!("contend-target-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("made");
        let shm = dir.join("a.db-shm");
        fs::write(dir.join("a.db"), MAGIC).expect("written");
        fs::write(&shm, "").expect("written");
        let mut database = Database::open(&dir.join("a.db")).expect("a database");
        let id = database.shm.expect("it is there");
        fs::remove_file(&shm).expect("removed");
        assert!(database.look_again());
        assert_eq!(database.file(id), Some(File::Shm));
        assert!(!database.look_again());
        assert_eq!(database.file(id), None);
        fs::remove_dir_all(&dir).expect("removed");
    }
}
