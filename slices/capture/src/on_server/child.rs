//! `contend migrate` as a process: it carries the content to the server and back.

use anyhow::{Context, Result, bail};
use contend::stats::harmless::harmless;
use contend::trial::itself;
use contend::trial::watch::janitor::Janitor;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Interval of the checks whether the process has ended or the replay was stopped.
const LOOKS_EVERY: Duration = Duration::from_millis(20);

/// Runs `contend migrate` with these arguments; its output goes to a file in `dir`. Returns whether it was not stopped.
///
/// # Errors
/// It failed; its messages are then printed.
pub fn migrate(args: &[&str], dir: &Path, janitor: &Janitor, stop: &AtomicBool) -> Result<bool> {
    let log = dir.join("migrate.log");
    let out = fs::File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    // In its own group: Ctrl-C is passed on once.
    let mut command = itself::command(&itself::path()?);
    command.arg("migrate").args(args).stdin(Stdio::null()).stderr(out.try_clone()?).stdout(out).process_group(0);
    let mut child = command.spawn().context("cannot start `contend migrate`")?;
    janitor.program_lives(child.id());
    let mut is_told = false;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if stop.load(Relaxed) && !is_told {
            let _ = kill_process(Pid::from_child(&child), Signal::INT);
            is_told = true;
        }
        std::thread::sleep(LOOKS_EVERY);
    };
    janitor.program_gone(child.id());
    // The message of a server may be in another encoding.
    let said = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
    let _ = fs::remove_file(&log);
    if stop.load(Relaxed) {
        return Ok(false);
    }
    if !status.success() {
        contend::tell!("{}", harmless(said.trim_end()));
        bail!("`contend migrate` has failed; its messages are above");
    }
    Ok(true)
}
