//! The program of this process, which starts itself in other roles: worker, janitor, recorder.

use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The kernel's name for the program that a process executes, also if its file was deleted or replaced.
const EXECUTED: &str = "/proc/self/exe";

/// Path of this program when it was first asked for.
///
/// # Errors
/// It is unknown.
pub fn path() -> Result<PathBuf> {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let now = std::env::current_exe().context("cannot find the path of this program")?;
    Ok(PATH.get_or_init(|| now).clone())
}

/// The file to execute for a program. A build or an upgrade during a run replaces the file of this one: the run goes on
/// with what it began with.
pub fn executable(program: &Path) -> PathBuf {
    let file = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let is_replaced = path().is_ok_and(|own| own == program) && file(program) != file(Path::new(EXECUTED));
    PathBuf::from(if is_replaced { Path::new(EXECUTED) } else { program })
}
