//! Shared memory under a name, which outlives a server that was killed: what a server of contend's own had is noted while it
//! runs and removed with it. What belongs to others is never touched.

use crate::trial::watch::janitor::Janitor;
use procfs::process::{MMapPath, Process};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where Linux shows it as files.
const DIRECTORY: &str = "/dev/shm";

/// Files that a process had mapped, with their numbers: a name may be given again.
#[derive(Debug, Default)]
pub struct SharedMemory(Vec<(PathBuf, u64)>);

impl SharedMemory {
    /// What a process has now; nothing if it may not be seen.
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

    /// Tells the janitor what to remove should the tool be killed.
    pub fn tell(&self, janitor: &Janitor) {
        self.0.iter().for_each(|(path, _)| janitor.dir_exists(path));
    }

    /// There is nothing left for the janitor.
    pub fn forget(&self, janitor: &Janitor) {
        self.0.iter().for_each(|(path, _)| janitor.dir_gone(path));
    }

    /// Removes what is still there, and first what it lists: names of more of it.
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
