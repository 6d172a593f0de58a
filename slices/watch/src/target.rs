//! Watched databases: their files by the kernel's numbers, and their sizes.

use crate::device::device;
use crate::journal::{self, Journal};
use crate::lock::{File, PENDING_BYTE};
use crate::named::{self, MAGIC};
use crate::rights;
use anyhow::{Context, Result, bail};
use contend::engine::wal::{HEADER_BYTES, Log, companion};
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The first copy of the header in `-shm`.
const SHM_HEADER: Range<usize> = 0..48;
/// The change counter in the header of a database.
const CHANGE_COUNTER: Range<usize> = 24..28;
/// Most databases in one watch.
const DATABASES_MAX: usize = 64;
/// Interval between looks at a database's header.
const HEADER_EVERY: Duration = Duration::from_secs(1);

/// A file as tracepoints identify it: device in the kernel's internal numbering, and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    pub device: u32,
    pub inode: u64,
}

impl FileId {
    /// The file at a path. `None` if it does not exist.
    pub fn at(path: &Path) -> Option<FileId> {
        let metadata = fs::metadata(path).ok()?;
        Some(FileId { device: device(path, metadata.dev()), inode: metadata.ino() })
    }
}

/// A watched SQLite database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    pub path: PathBuf,
    pub id: FileId,
    /// The `-shm` file, if it exists: connections create and remove it.
    pub shm: Option<FileId>,
    /// The `-shm` files of the last two looks: events on them may still arrive, and some are read in the next poll.
    shm_before: [Option<FileId>; 2],
    /// The mode in its header, and when that was read.
    journal: Journal,
    read_at: Instant,
}

/// Sizes, and state of the log, at one time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State {
    pub database_bytes: u64,
    pub log_bytes: u64,
    /// Header of the `-shm` file; `None` outside of WAL mode, or while it changes.
    pub log: Option<Log>,
    /// Mode in the header of the database.
    pub journal: Journal,
    /// Rollback journal with content.
    pub journal_content: Option<journal::Content>,
}

/// The state at a time of CLOCK_MONOTONIC.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub at_ns: u64,
    pub state: State,
}

impl Database {
    /// Opens a database file.
    ///
    /// # Errors
    /// It does not exist, is not a file, or is not a SQLite database.
    pub fn open(path: &Path) -> Result<Database> {
        let id = FileId::at(path);
        // Below /proc/PID/root are the files of another mount namespace, which a resolved path leaves.
        let resolved = path.canonicalize().ok().filter(|resolved| FileId::at(resolved) == id);
        let found = id.and_then(|_| resolved.or_else(|| std::path::absolute(path).ok()));
        let path = found.with_context(|| {
            let why = fs::metadata(path).err().map_or(String::new(), |why| format!(": {why}"));
            format!("{} cannot be found{why}{}", path.display(), way_on(path))
        })?;
        let cannot_be_read = || format!("{} cannot be read{}", path.display(), way_on(&path));
        let metadata = fs::metadata(&path).with_context(cannot_be_read)?;
        let kind = metadata.file_type();
        if kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device() {
            bail!("{} is not a file; name a SQLite database", path.display());
        }
        let mut head = vec![];
        let file = fs::File::open(&path).with_context(cannot_be_read)?;
        file.take(MAGIC.len() as u64).read_to_end(&mut head).with_context(|| format!("{}", path.display()))?;
        // A new database is an empty file until its first commit.
        if !head.is_empty() && head != MAGIC {
            let way_on = named::near(&path);
            bail!("{} is not a SQLite database: it does not begin with \"SQLite format 3\"{way_on}", path.display());
        }
        let id = id.with_context(|| format!("{}: cannot be read", path.display()))?;
        let shm = FileId::at(&companion(&path, "-shm"));
        Ok(Database { journal: Journal::of(&path), read_at: Instant::now(), path, id, shm, shm_before: [None; 2] })
    }

    /// The databases at these paths: files, or all databases directly in a directory.
    ///
    /// # Errors
    /// A path is not a database; a directory has none, or too many.
    pub fn open_all(paths: &[PathBuf]) -> Result<Vec<Database>> {
        let mut found = vec![];
        for path in paths {
            if !path.is_dir() {
                found.push(Database::open(path)?);
                continue;
            }
            let cannot_be_read = || format!("{} cannot be read{}", path.display(), way_on(path));
            let entries = fs::read_dir(path).with_context(cannot_be_read)?;
            let before = found.len();
            let files = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file());
            found.extend(files.filter_map(|file| Database::open(&file).ok()).filter(|db| !is_empty(&db.path)));
            if found.len() == before {
                bail!("{} holds no SQLite database{}", path.display(), named::below(path));
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found.dedup_by_key(|database| database.id);
        if found.len() > DATABASES_MAX {
            bail!("{} databases; at most {DATABASES_MAX} are watched at once: name some of them", found.len());
        }
        Ok(found)
    }

    /// Looks up the `-shm` file, and once a second the journal mode. Returns whether the `-shm` was created, removed or
    /// replaced.
    pub fn look_again(&mut self) -> bool {
        if self.read_at.elapsed() >= HEADER_EVERY && self.is_at_its_path() {
            (self.journal, self.read_at) = (Journal::of(&self.path), Instant::now());
        }
        let before = self.shm;
        self.look_at_shm();
        self.shm != before
    }

    /// Looks up the `-shm` file again at the end of a poll; events on the previous one are still attributed.
    pub fn look_once_more(&mut self) -> bool {
        let changed = self.shm != self.shm_now();
        if changed {
            self.look_at_shm();
        }
        changed
    }

    fn look_at_shm(&mut self) {
        let now = self.shm_now();
        self.shm_before = [std::mem::replace(&mut self.shm, now), self.shm_before[0]];
    }

    /// The `-shm` file. Once the database has been deleted, moved or replaced, the last known one, which its
    /// connections keep.
    fn shm_now(&self) -> Option<FileId> {
        let found = FileId::at(&companion(&self.path, "-shm"));
        if found == self.shm || self.is_at_its_path() { found } else { self.shm }
    }

    /// Whether the path still has this database. If not, the files next to it belong to another one.
    fn is_at_its_path(&self) -> bool {
        FileId::at(&self.path) == Some(self.id)
    }

    /// A message if the path has another file now, or none.
    pub fn what_happened(&self) -> Option<String> {
        let path = self.path.display();
        let happened = match FileId::at(&self.path) {
            Some(id) if id == self.id => return None,
            Some(_) => "replaced: the file that was there is watched, not the new one",
            None => "deleted or moved: the file that was there is watched",
        };
        Some(format!("{path} was {happened}; sizes, log and journal since then are unknown"))
    }

    pub fn is_wal(&self) -> bool {
        self.journal == Journal::Wal
    }

    /// The kind of the file with this number.
    fn file(&self, id: FileId) -> Option<File> {
        if id == self.id { Some(File::Database) } else { (self.shm == Some(id)).then_some(File::Shm) }
    }

    /// Whether this was the number of its `-shm`.
    fn was_shm(&self, id: FileId) -> bool {
        self.shm_before.contains(&Some(id))
    }

    /// Whether this is the file of the database with this suffix, such as `-wal`, as it is now.
    pub fn has_file(&self, id: FileId, suffix: &str) -> bool {
        id.device == self.id.device && FileId::at(&companion(&self.path, suffix)) == Some(id) && self.is_at_its_path()
    }

    /// Bytes that a commit changes, except with `locking_mode = EXCLUSIVE`: the header of the log's index, or the change
    /// counter of the database. `None` if they cannot be read.
    pub fn commit_mark(&self) -> Option<Vec<u8>> {
        let shm = companion(&self.path, "-shm");
        let (path, place) = if self.shm.is_some() { (&shm, SHM_HEADER) } else { (&self.path, CHANGE_COUNTER) };
        let mut head = vec![];
        if let Some(file) = journal::regular(path) {
            let _ = file.take(place.end as u64).read_to_end(&mut head);
        }
        head.get(place).map(<[u8]>::to_vec)
    }

    /// Sizes and log, read from this process: it holds no locks on the files, which closing them would drop. All are
    /// zero once the database has been deleted, moved or replaced.
    pub fn state(&self) -> State {
        if !self.is_at_its_path() {
            return State { journal: self.journal, ..State::default() };
        }
        let length = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
        let mut header = vec![];
        if let Some(file) = journal::regular(&companion(&self.path, "-shm")) {
            // A header that cannot be read counts as missing.
            let _ = file.take(HEADER_BYTES as u64).read_to_end(&mut header);
        }
        State {
            database_bytes: length(&self.path),
            log_bytes: length(&companion(&self.path, "-wal")),
            log: Log::read(&header),
            journal: self.journal,
            journal_content: journal::content(&companion(&self.path, "-journal")),
        }
    }
}

/// Place of the database that a file with this number belongs to, now or else until shortly before, and its kind.
pub fn find(databases: &[Database], id: FileId) -> Option<(usize, File)> {
    let now = databases.iter().enumerate().find_map(|(at, database)| Some((at, database.file(id)?)));
    now.or_else(|| Some((databases.iter().position(|database| database.was_shm(id))?, File::Shm)))
}

/// Longest filter: the kernel refuses one that does not fit into a page.
const FILTER_BYTES_MAX: usize = 4_000;

/// Filter for lock calls on the database files and their `-shm`; without a `-shm`, for its lock bytes in any file. For
/// very many files: for all lock bytes of databases and `-shm` on their devices; [`find`] sorts out the others.
pub fn lock_filter(databases: &[Database]) -> String {
    const OF_SHM: &str = "fl_start >= 120 && fl_start <= 128";
    let terms = databases.iter().map(|database| {
        let (device, inode) = (database.id.device, database.id.inode);
        let shm = database.shm.map_or(OF_SHM.to_string(), |shm| format!("i_ino == {}", shm.inode));
        format!("(s_dev == {device} && (i_ino == {inode} || ({shm})))")
    });
    let filter = terms.collect::<Vec<_>>().join(" || ");
    if filter.len() <= FILTER_BYTES_MAX {
        return filter;
    }
    let devices: BTreeSet<u32> = databases.iter().map(|database| database.id.device).collect();
    let devices = devices.iter().map(|device| format!("s_dev == {device}")).collect::<Vec<_>>().join(" || ");
    // A release of all locks of a file ends at its last possible byte.
    format!("({devices}) && (fl_end >= {PENDING_BYTE} || ({OF_SHM}))")
}

/// The end of an error about a path that cannot be watched.
fn way_on(path: &Path) -> String {
    let command = rights::command().filter(|_| rights::is_closed(path));
    command.map_or_else(|| named::near(path), |command| format!("; as root: {command}"))
}

fn is_empty(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_ref;

    /// Another database's `-shm` may have the inode number of one that was removed.
    #[test]
    fn a_number_belongs_to_the_database_that_has_it_now() {
        let id = |inode| FileId { device: 1, inode };
        let database = |shm, before| Database {
            path: PathBuf::from("a.db"),
            id: id(1),
            shm,
            shm_before: [before, None],
            journal: Journal::default(),
            read_at: Instant::now(),
        };
        let both = [database(None, Some(id(9))), database(Some(id(9)), None)];
        assert_eq!(find(&both, id(9)), Some((1, File::Shm)));
        assert_eq!(find(&both[..1], id(9)), Some((0, File::Shm)));
    }

    /// The kernel refuses a filter that does not fit into a page.
    #[test]
    fn a_filter_of_very_many_files_is_one_of_their_devices_and_bytes() {
        let database = |inode| Database {
            path: PathBuf::from("a.db"),
            id: FileId { device: 266_338_304, inode },
            shm: None,
            shm_before: [None; 2],
            journal: Journal::default(),
            read_at: Instant::now(),
        };
        let of = |count| lock_filter(&(0..count).map(|n| database(1 << 40 | n)).collect::<Vec<_>>());
        assert!(of(2).starts_with("(s_dev == 266338304 && (i_ino == 1099511627776 || (fl_start >= 120"), "{}", of(2));
        let bytes = "(fl_end >= 1073741824 || (fl_start >= 120 && fl_start <= 128))";
        assert_eq!(of(DATABASES_MAX as u64), format!("(s_dev == 266338304) && {bytes}"));
    }

    /// The last connection removes the `-shm` when it closes, and its last events are read afterwards.
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
        assert_eq!(find(from_ref(&database), id), Some((0, File::Shm)));
        fs::write(&shm, "").expect("written");
        assert!(database.look_once_more());
        assert_eq!(find(from_ref(&database), id), Some((0, File::Shm)), "the old one or its number");
        let id = database.shm.expect("it is there");
        fs::remove_file(&shm).expect("removed");
        assert!(database.look_once_more() && !database.look_again());
        assert_eq!(
            find(from_ref(&database), id),
            Some((0, File::Shm)),
            "events that were too young for the poll are read in the next"
        );
        assert!(!database.look_again());
        assert_eq!(find(from_ref(&database), id), None);
        fs::remove_dir_all(&dir).expect("removed");
    }

    #[test]
    fn the_shm_of_a_database_that_was_deleted_or_replaced_is_still_known() {
        let dir = std::env::temp_dir().join(format!("contend-replaced-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("made");
        let (path, shm) = (dir.join("a.db"), dir.join("a.db-shm"));
        let write = |path: &Path| fs::write(path, MAGIC).expect("written");
        [&path, &shm].into_iter().for_each(|path| write(path));
        // A connection keeps both, so that no new file has their numbers.
        let open = [&path, &shm].map(|path| fs::File::open(path).expect("open"));
        let mut database = Database::open(&path).expect("a database");
        let id = database.shm.expect("it is there");
        for what in ["deleted", "replaced"] {
            for path in [&path, &shm] {
                if what == "deleted" { fs::remove_file(path).expect("removed") } else { write(path) }
            }
            for _ in 0..3 {
                assert!(!database.look_again() && !database.look_once_more(), "{what}");
            }
            assert_eq!(find(from_ref(&database), id), Some((0, File::Shm)), "{what}");
            assert_eq!(database.state(), State::default(), "the size of no other file: {what}");
            let said = database.what_happened().expect("a sentence");
            assert!(said.contains(what) && said.ends_with("; sizes, log and journal since then are unknown"), "{said}");
        }
        drop(open);
        fs::remove_dir_all(&dir).expect("removed");
    }
}
