//! Directories for recordings and images: in memory if there is room, because nothing in them must last.

use anyhow::{Context, Result};
use contend::trial::data::disk;
use contend::trial::watch::janitor::Janitor;
use contend_powercut::record;
use rustix::fs::{FlockOperation, OFlags, flock};
use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A file system in memory that most machines have.
const MEMORY: &str = "/dev/shm";

/// Space in memory that must stay free.
const SPARE_BYTES: u64 = 512 << 20;

/// Copies of the data that exist at once: the base, the recorder's backing directory, images, the replayer's own.
const COPIES: u64 = 6;

const PREFIX: &str = "contend-cut-";
const LOCK: &str = "lock";

/// Name of the recorder's mount point.
pub const MOUNT: &str = "mount";

pub struct WorkDir<'j> {
    dir: TempDir,
    janitor: &'j Janitor,
    /// Held until the end. A directory whose lock is free is left over from a tool that was killed with its janitor.
    _lock: File,
}

impl<'j> WorkDir<'j> {
    /// A directory for data and a log of these sizes; in `fallback` if memory has too little room.
    pub fn make(data_bytes: u64, log_bytes: u64, fallback: &Path, janitor: &'j Janitor) -> Result<Self> {
        let needed = data_bytes * COPIES + log_bytes + SPARE_BYTES;
        let memory = Path::new(MEMORY);
        remove_dead(memory);
        remove_dead(fallback);
        let parent = if disk::room(memory) >= needed { memory } else { fallback };
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent);
        let dir = dir.with_context(|| format!("cannot create a directory in {}", parent.display()))?;
        janitor.dir_exists(dir.path());
        let lock = locked(dir.path()).with_context(|| format!("cannot lock {}", dir.path().display()))?;
        // Servers run as another user.
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755))?;
        Ok(Self { dir, janitor, _lock: lock })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Creates an empty directory in it, replacing an older one.
    pub fn empty(&self, name: &str) -> Result<PathBuf> {
        let path = self.path(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(path)
    }
}

impl Drop for WorkDir<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.dir.path());
        self.janitor.dir_gone(self.dir.path());
    }
}

/// The lock gets its name once it is held, so that no other tool takes the directory for a dead tool's.
fn locked(dir: &Path) -> Result<File> {
    let aside = dir.join("lock.new");
    let file = File::create_new(&aside)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    std::fs::rename(&aside, dir.join(LOCK))?;
    Ok(file)
}

/// Removes the directories and mounts that dead tools of this user left. What cannot be removed stays.
fn remove_dead(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_one = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let mine = |found: Metadata| found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
        let is_dead = || std::fs::symlink_metadata(&path).is_ok_and(mine) && is_free(&path.join(LOCK));
        if is_one && is_dead() && record::unmount(&path.join(MOUNT)).is_ok() {
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

/// Whether this is a lock that no process holds.
fn is_free(lock: &Path) -> bool {
    let file = OpenOptions::new().read(true).custom_flags(OFlags::NOFOLLOW.bits() as i32).open(lock);
    file.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok())
}

/// Bytes of all files below a directory.
pub fn size(path: &Path) -> u64 {
    let Ok(found) = std::fs::symlink_metadata(path) else { return 0 };
    if !found.is_dir() {
        return found.len();
    }
    std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size(&entry.path())).sum()
}

/// Copies a directory recursively, with owners and permissions.
///
/// # Errors
/// Names the file that cannot be copied.
pub fn copy_same(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in std::fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        let copied = || format!("cannot copy {} to {}", path.display(), target.display());
        if kind.is_dir() {
            copy_same(&path, &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(&path)?, &target).with_context(copied)?;
        } else if kind.is_file() {
            std::fs::copy(&path, &target).with_context(copied)?;
            give(&path, &target)?;
        }
    }
    give(from, to)
}

fn give(like: &Path, path: &Path) -> Result<()> {
    let found = std::fs::metadata(like)?;
    std::fs::set_permissions(path, found.permissions())?;
    if rustix::process::geteuid().is_root() {
        chown(path, Some(found.uid()), Some(found.gid()))
            .with_context(|| format!("cannot give away {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_dead_tool_left_is_removed() {
        let parent = TempDir::new().unwrap();
        let dir = |name: &str| {
            let dir = parent.path().join(name);
            std::fs::create_dir_all(dir.join("base")).unwrap();
            dir
        };
        let (dead, alive, unlocked) = (dir("contend-cut-a"), dir("contend-cut-b"), dir("contend-cut-c"));
        let other = dir("contend-a");
        drop(locked(&dead).unwrap());
        drop(locked(&other).unwrap());
        let held = locked(&alive).unwrap();
        std::os::unix::fs::symlink(&other, parent.path().join("contend-cut-d")).unwrap();
        remove_dead(parent.path());
        assert_eq!([&dead, &alive, &unlocked, &other].map(|dir| dir.exists()), [false, true, true, true]);
        drop(held);
        remove_dead(parent.path());
        assert!(!alive.exists());
    }

    #[test]
    fn copies_are_the_same() {
        let dir = TempDir::new().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        std::fs::create_dir_all(from.join("sub")).unwrap();
        std::fs::write(from.join("sub/file"), "abc").unwrap();
        std::fs::set_permissions(from.join("sub"), std::fs::Permissions::from_mode(0o700)).unwrap();
        copy_same(&from, &to).unwrap();
        assert_eq!(std::fs::read_to_string(to.join("sub/file")).unwrap(), "abc");
        assert_eq!(std::fs::metadata(to.join("sub")).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!((size(&from), size(&to)), (3, 3));
    }
}
