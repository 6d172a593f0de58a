//! Workers that are programs of their own, which may not be built: a test that leaves one out says so, or fails if it must not.

use super::possible::lacking;
use super::{Said, tool};
use std::path::{Path, PathBuf};

/// Set to 1 where every worker must be built, and nothing is left out. The scripts that build them know it, too.
const MUST: &str = "CONTEND_TESTS_MUST_HAVE_WORKERS";

/// Where `make` puts them.
pub fn workers_dir() -> PathBuf {
    let profile = Path::new(tool()).parent().expect("a directory");
    profile.parent().expect("a directory").join("workers")
}

/// A worker's program, where it is built.
pub fn program(name: &str) -> Option<PathBuf> {
    Some(workers_dir().join(name)).filter(|path| path.is_file())
}

/// The same; where it is not built, that is said.
///
/// # Panics
/// It is not built, and [`MUST`] says that it must be.
#[track_caller]
pub fn needed(name: &str) -> Option<PathBuf> {
    let found = program(name);
    if found.is_none() {
        left_out(name);
    }
    found
}

/// Says without which workers a test does.
///
/// # Panics
/// [`MUST`] says that it may not.
#[track_caller]
pub fn left_out(which: &str) {
    lacking(MUST, &format!("these workers are not built: {which}; `make workers` builds all there are"));
}

impl Said {
    /// Whether the run could not begin as none of the workers of its contenders is built, which is said.
    ///
    /// # Panics
    /// [`MUST`] says that they must be.
    #[track_caller]
    pub fn is_without_workers(&self) -> bool {
        let without = self.code == Some(2) && self.err.contains("needs the worker");
        if without {
            left_out(&format!("all ({})", self.err.trim()));
        }
        without
    }

    /// How many contenders the run did without, as their workers are not built, which is said.
    ///
    /// # Panics
    /// [`MUST`] says that they must be.
    #[track_caller]
    pub fn contenders_left_out(&self) -> usize {
        let lines = self.err.lines().filter_map(|line| line.strip_prefix("Left out: "));
        let of: Vec<&str> = lines.map(|line| line.split_once(". ").map_or(line, |(contender, _)| contender)).collect();
        if !of.is_empty() {
            left_out(&format!("those of {}", of.join(", ")));
        }
        of.len()
    }
}
