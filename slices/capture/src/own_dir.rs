//! A directory in the capture for the databases of a replay. Its end removes it; after a crash the next replay does.

use crate::manifest::make_private;
use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::path::Path;
use tempfile::TempDir;

const PREFIX: &str = "replay-";

/// A file in it that its process has locked. A directory of `--keep` has none.
const MARK: &str = "in-use";

pub struct OwnDir {
    dir: TempDir,
    _lock: File,
}

impl OwnDir {
    /// Makes it, and removes those of processes that have ended.
    ///
    /// # Errors
    /// The capture's directory cannot be written.
    pub fn new(taken: &Path) -> Result<OwnDir> {
        remove_abandoned(taken);
        // A new name, which no symbolic link in the capture has.
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(taken);
        let dir = dir.with_context(|| format!("cannot write to {}", taken.display()))?;
        make_private(dir.path())?;
        let lock = mark(dir.path()).with_context(|| format!("cannot write to {}", dir.path().display()))?;
        Ok(OwnDir { dir, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// The mark is locked before it has its name, so that no other replay finds it unlocked.
fn mark(dir: &Path) -> std::io::Result<File> {
    let new = dir.join("new");
    let lock = File::create_new(&new)?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    fs::rename(new, dir.join(MARK))?;
    Ok(lock)
}

fn remove_abandoned(taken: &Path) {
    for entry in fs::read_dir(taken).into_iter().flatten().flatten() {
        // A symbolic link to a directory does not count as a directory.
        let is_own = entry.file_type().is_ok_and(|kind| kind.is_dir())
            && entry.file_name().to_string_lossy().starts_with(PREFIX);
        if let Some(_lock) = is_own.then(|| abandoned(&entry.path())).flatten() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The lock of a directory whose process has ended.
fn abandoned(dir: &Path) -> Option<File> {
    let mark = dir.join(MARK);
    fs::symlink_metadata(&mark).ok().filter(fs::Metadata::is_file)?;
    File::open(mark).ok().filter(|file| flock(file, FlockOperation::NonBlockingLockExclusive).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_crash_left_is_removed_and_nothing_else() {
        let taken = tempfile::tempdir().expect("a directory");
        let names = ["replay-crashed", "replay-kept", "other", "other/in"];
        let [crashed, kept, other, inside] = names.map(|name| taken.path().join(name));
        for dir in [&crashed, &kept, &inside] {
            fs::create_dir_all(dir).expect("made");
        }
        drop(mark(&crashed).expect("marked"));
        drop(mark(&other).expect("marked"));
        let link = taken.path().join("replay-link");
        std::os::unix::fs::symlink(&other, &link).expect("linked");
        let running = OwnDir::new(taken.path()).expect("made");
        let second = OwnDir::new(taken.path()).expect("made");
        assert!(!crashed.exists() && kept.exists() && inside.exists() && link.exists());
        assert!(running.path().exists() && second.path().exists());
        let path = running.path().to_path_buf();
        drop(running);
        assert!(!path.exists());
    }
}
