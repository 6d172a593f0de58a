//! Named shared memory, which outlives a killed server. That of a private server is listed while it runs and removed
//! with it; that of other programs is never touched.

use crate::trial::watch::janitor::Janitor;
use procfs::process::{MMapPath, Process};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Directory in which Linux shows it as files.
const DIRECTORY: &str = "/dev/shm";

/// Files that a process had mapped, with their inode numbers, because a name may be reused.
#[derive(Debug, Default)]
pub struct SharedMemory(Vec<(PathBuf, u64)>);

impl SharedMemory {
    /// The shared memory of a process now; empty if it may not be read.
    pub fn of(pid: u32) -> Self {
        let maps = Process::new(pid as i32).and_then(|process| process.maps());
        let paths = maps.into_iter().flatten().filter_map(|map| match map.pathname {
            MMapPath::Path(path) if path.starts_with(DIRECTORY) => Some(path),
            _ => None,
        });
        let mut files: Vec<_> =
            paths.filter_map(|path| Some((number(&path)?, path))).map(|(n, path)| (path, n)).collect();
        files.dedup();
        Self(files)
    }

    /// Registers the files with the janitor, which removes them if the tool is killed.
    pub fn tell(&self, janitor: &Janitor) {
        self.0.iter().for_each(|(path, _)| janitor.dir_exists(path));
    }

    /// Withdraws the files from the janitor.
    pub fn forget(&self, janitor: &Janitor) {
        self.0.iter().for_each(|(path, _)| janitor.dir_gone(path));
    }

    /// Removes the files that still exist, and before them those that they list by name.
    pub fn remove(&self, lists: fn(&[u8]) -> Vec<String>) {
        for (path, _) in self.0.iter().filter(|(path, n)| number(path) == Some(*n)) {
            for name in std::fs::read(path).map(|bytes| lists(&bytes)).unwrap_or_default() {
                let _ = std::fs::remove_file(Path::new(DIRECTORY).join(name));
            }
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A mapping of a file that was removed has a path that leads nowhere.
fn number(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|found| found.ino())
}
