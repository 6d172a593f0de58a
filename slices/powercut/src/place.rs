//! Directories for recordings and images: in memory if there is room, because nothing in them must last.

use anyhow::{Context, Result};
use contend::trial::data::disk;
use contend::trial::watch::janitor::Janitor;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A file system in memory that most machines have.
const MEMORY: &str = "/dev/shm";

/// Space in memory that must stay free.
const SPARE_BYTES: u64 = 512 << 20;

/// Copies of the data that exist at once: the base, the recorder's backing directory, images, the replayer's own.
const COPIES: u64 = 6;

pub struct WorkDir<'j> {
    dir: TempDir,
    janitor: &'j Janitor,
}

impl<'j> WorkDir<'j> {
    /// A directory for data and a log of these sizes; in `fallback` if memory has too little room.
    pub fn make(data_bytes: u64, log_bytes: u64, fallback: &Path, janitor: &'j Janitor) -> Result<Self> {
        let needed = data_bytes * COPIES + log_bytes + SPARE_BYTES;
        let memory = Path::new(MEMORY);
        let parent = if disk::room(memory) >= needed { memory } else { fallback };
        let dir = tempfile::Builder::new().prefix("contend-cut-").tempdir_in(parent);
        let dir = dir.with_context(|| format!("cannot create a directory in {}", parent.display()))?;
        janitor.dir_exists(dir.path());
        // Servers run as another user.
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755))?;
        Ok(Self { dir, janitor })
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
