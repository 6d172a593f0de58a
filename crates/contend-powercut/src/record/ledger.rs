//! The log of a program that reports its own changes, where no file system can be mounted: a layer inside the
//! program, such as a VFS of SQLite, reports what it does with the files of one directory. One process per log.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::tree::{Tree, attributes_of, kind_of};
use crate::log::{Ino, Op, Recorded, Writer};
use crate::{Error, Result};

/// Names and log of one directory. Report a change after it is made and before the program gets its answer.
pub struct Ledger {
    directory: PathBuf,
    tree: Mutex<Tree>,
    log: Writer,
}

impl Ledger {
    /// Starts a log. The directory's content at this call is the base: copy it before.
    pub fn create(directory: &Path, log: &Path, bound_bytes: u64) -> Result<Ledger> {
        let directory = directory.canonicalize().map_err(|e| Error::at(directory, "cannot be recorded", e))?;
        if super::release::resolved(log).starts_with(&directory) {
            return Err(Error::at(log, "the log cannot be inside the recorded directory", directory.display()));
        }
        let (tree, known) = Tree::load(&directory)?;
        let log = Writer::create(log, bound_bytes)?;
        known.iter().try_for_each(|known| log.known(known))?;
        Ok(Ledger { directory, tree: Mutex::new(tree), log })
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Directory of a path, and the name in it; `None` if the path is not recorded.
    fn place<'a>(&self, tree: &Tree, path: &'a Path) -> Option<(Ino, &'a std::ffi::OsStr)> {
        let inside = path.strip_prefix(&self.directory).ok()?;
        let mut parents = inside.parent()?.iter();
        let parent = parents.try_fold(crate::log::ROOT, |at, name| tree.child(at, name))?;
        Some((parent, inside.file_name()?))
    }

    /// Records that a file was opened, and created if it did not exist. `None` if it is outside the directory.
    pub fn opened(&self, path: &Path) -> Option<Ino> {
        let mut tree = self.tree();
        let (parent, name) = self.place(&tree, path)?;
        if let Some(ino) = tree.child(parent, name) {
            return Some(ino);
        }
        let data = path.symlink_metadata().ok()?;
        let kind = kind_of(&data);
        let ino = tree.add(parent, name, kind);
        let (name, target) = (name.to_os_string(), Default::default());
        self.log.append(&Op::Create { parent, name, ino, kind, attributes: attributes_of(&data), target });
        Some(ino)
    }

    /// Calls `remove`, and records the removal if the returned flag is true.
    pub fn removing<T>(&self, path: &Path, remove: impl FnOnce() -> (T, bool)) -> T {
        let mut tree = self.tree();
        let (answer, done) = remove();
        if done && let Some((parent, name)) = self.place(&tree, path) {
            let name = name.to_os_string();
            if tree.unlink(parent, &name).is_some() {
                self.log.append(&Op::Remove { parent, name });
            }
        }
        answer
    }

    pub fn written(&self, ino: Ino, offset: u64, data: &[u8]) {
        self.log.write(ino, offset, data, false);
    }

    pub fn cut(&self, ino: Ino, size: u64) {
        self.log.append(&Op::Truncate { ino, size });
    }

    pub fn grown(&self, ino: Ino, size: u64) {
        self.log.append(&Op::Allocate { ino, size });
    }

    pub fn synced(&self, ino: Ino, data_only: bool) {
        self.log.append(&Op::Sync { ino, data_only });
    }

    /// Records a sync of the file's directory.
    pub fn synced_directory_of(&self, path: &Path) {
        let parent = self.place(&self.tree(), path).map(|(parent, _)| parent);
        if let Some(ino) = parent {
            self.log.append(&Op::SyncDirectory { ino });
        }
    }

    /// Writes the last mark of the log.
    pub fn end(&self) -> Recorded {
        self.log.end()
    }
}
