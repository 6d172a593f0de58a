//! The directory of a private server's socket and password. The tool holds a lock in it as long as it lives: one whose lock
//! is free is that of a tool that was killed together with its janitor, and the next server of the same user removes it.

use crate::engine::server::Server;
use crate::trial::server::identity::Identity;
use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The kernel's limit for the path of a socket, without its terminating NUL.
const SOCKET_PATH_BYTES_MAX: usize = 107;

const PREFIX: &str = "contend-";
const RANDOM: usize = 10;
const LOCK: &str = "lock";

pub struct SocketDir {
    dir: TempDir,
    /// Held until the end.
    _lock: File,
}

impl SocketDir {
    /// A directory that only the server's user may enter, with a path short enough.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn make(server: &Server, identity: &Identity) -> Result<Self> {
        let longest = (server.socket)(Some(u16::MAX));
        let name = format!("{PREFIX}{}", "0".repeat(RANDOM));
        let fits = |dir: &Path| dir.join(&name).join(&longest).as_os_str().len() <= SOCKET_PATH_BYTES_MAX;
        let wanted = std::env::temp_dir();
        let parent = if fits(&wanted) && Identity::may_enter(&wanted) { wanted } else { PathBuf::from("/tmp") };
        remove_dead(&parent);
        let dir = tempfile::Builder::new().prefix(PREFIX).rand_bytes(RANDOM).tempdir_in(&parent);
        let dir = dir.with_context(|| format!("cannot create a directory for a socket in {}", parent.display()))?;
        let lock = locked(dir.path()).with_context(|| format!("cannot lock {}", dir.path().display()))?;
        identity.own(dir.path())?;
        Ok(Self { dir, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// The lock gets its name once it is held, so that no other tool takes the directory for one that a dead tool left.
fn locked(dir: &Path) -> Result<File> {
    let aside = dir.join("lock.new");
    let file = File::create_new(&aside)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    fs::rename(&aside, dir.join(LOCK))?;
    Ok(file)
}

/// Removes the directories that dead tools of this user have left. What cannot be removed stays; nothing depends on it.
fn remove_dead(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_one = name.to_str().is_some_and(|name| name.len() == PREFIX.len() + RANDOM && name.starts_with(PREFIX));
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_one && is_dir && is_dead(&entry.path().join(LOCK)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether this is a lock of this user that no process holds.
fn is_dead(lock: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let Ok(file) = open(lock, flags, Mode::empty()).map(File::from) else { return false };
    let mine = |found: fs::Metadata| found.is_file() && found.uid() == rustix::process::geteuid().as_raw();
    file.metadata().is_ok_and(mine) && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_dead_tool_has_left_is_removed() {
        let parent = tempfile::tempdir().expect("a directory");
        let dir = |name: &str| {
            let dir = parent.path().join(name);
            fs::create_dir(&dir).expect("created");
            dir
        };
        let (dead, alive, other, long) = (
            dir("contend-0123456789"),
            dir("contend-abcdefghij"),
            dir("contend-ABCDEFGHIJ"),
            dir("contend-0123456789x"),
        );
        fs::write(dead.join("password"), "x").expect("written");
        drop(locked(&dead).expect("locked"));
        drop(locked(&long).expect("locked"));
        let held = locked(&alive).expect("locked");
        std::os::unix::fs::symlink(&other, parent.path().join("contend-9876543210")).expect("linked");
        remove_dead(parent.path());
        assert_eq!([&dead, &alive, &other, &long].map(|dir| dir.exists()), [false, true, true, true]);
        drop(held);
        remove_dead(parent.path());
        assert!(!alive.exists());
    }
}
