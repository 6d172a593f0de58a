//! The program of this process, which starts itself in other roles: worker, janitor, recorder.

use anyhow::{Context, Result};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
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

/// The file of a program. A build or an upgrade during a run replaces the file of this one: the run goes on with what it
/// began with.
pub fn file(program: &Path) -> &Path {
    if path().is_ok_and(|own| own == program) { Path::new(EXECUTED) } else { program }
}

/// A command that executes a program; this one as it is in memory, whatever is at its path by then.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(file(program));
    command.arg0(program);
    command
}

/// The program of a command in words.
pub fn name(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let own = path().ok().filter(|_| program == EXECUTED);
    own.as_deref().unwrap_or(program).display().to_string()
}

/// Gives this process the name of its program. The kernel names a process by the path that was executed, so one that
/// [`command`] started would be `exe` in a list of processes.
pub fn take_name() {
    let name =
        std::env::args_os().next().and_then(|program| CString::new(Path::new(&program).file_name()?.as_bytes()).ok());
    // Only a list of processes shows it.
    let _ = name.map(|name| rustix::thread::set_name(&name));
}
