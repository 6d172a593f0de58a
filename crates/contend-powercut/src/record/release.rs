//! Unmounts: in order, or by force.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use crate::{Error, Result};

/// Number of attempts for a mount in use, and the pause between them.
const TRIES: u32 = 60;
const BETWEEN: Duration = Duration::from_millis(50);

/// Result of one attempt.
enum Attempt {
    Gone,
    Busy,
    Refused(String),
}

/// Unmounts a directory that is no longer in use; its recorder then ends in order. A process that has just ended may
/// still be closing files, so a mount in use is retried for some seconds. A directory without a mount is not an
/// error.
pub fn release(mountpoint: &Path) -> Result<()> {
    for _ in 0..TRIES {
        match attempt(mountpoint) {
            Attempt::Gone => return Ok(()),
            Attempt::Busy => std::thread::sleep(BETWEEN),
            Attempt::Refused(why) => return Err(Error::at(mountpoint, "cannot be unmounted", why)),
        }
    }
    Err(Error::new(format!(
        "{}: still in use: a process has files open there or its working directory; stop it before unmounting",
        mountpoint.display()
    )))
}

fn attempt(mountpoint: &Path) -> Attempt {
    match rustix::mount::unmount(mountpoint, UnmountFlags::empty()) {
        // Another process may have unmounted it first.
        Ok(()) | Err(Errno::INVAL) => Attempt::Gone,
        Err(Errno::BUSY) => Attempt::Busy,
        Err(Errno::PERM) => match by_helper(mountpoint, &["-u"]) {
            Ok(()) => Attempt::Gone,
            Err(_) if !is_mounted(mountpoint) => Attempt::Gone,
            Err(why) if why.contains("busy") => Attempt::Busy,
            Err(why) => Attempt::Refused(why),
        },
        Err(e) => Attempt::Refused(e.to_string()),
    }
}

/// Unmounts by force, even a mount in use or one whose recorder is dead. A directory without a mount is not an error.
/// Users of the mount get errors from then on. Blocks if the recorder is alive but does not answer.
pub fn unmount(mountpoint: &Path) -> Result<()> {
    if !is_mounted(mountpoint) || rustix::mount::unmount(mountpoint, UnmountFlags::empty()).is_ok() {
        return Ok(());
    }
    match rustix::mount::unmount(mountpoint, UnmountFlags::DETACH | UnmountFlags::FORCE) {
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(Errno::PERM) => {
            by_helper(mountpoint, &["-u", "-z"]).map_err(|why| Error::at(mountpoint, "cannot be unmounted", why))
        }
        Err(e) => Err(Error::at(mountpoint, "cannot be unmounted", e)),
    }
}

/// An ordinary user may unmount only through the set-uid program. Its messages are compared and quoted, so it runs in
/// the C locale.
fn by_helper(mountpoint: &Path, options: &[&str]) -> std::result::Result<(), String> {
    let done = Command::new("fusermount3").env("LC_ALL", "C").args(options).arg("--").arg(mountpoint).output();
    match done {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_string()),
        Err(e) => Err(format!("fusermount3: {e}")),
    }
}

/// Whether a FUSE file system is mounted there, even with a dead recorder.
pub fn is_mounted(mountpoint: &Path) -> bool {
    let path = resolved(mountpoint);
    let Ok(mounts) = std::fs::read_to_string("/proc/self/mountinfo") else { return false };
    mounts.lines().any(|line| {
        let is_fuse = line.split(" - ").nth(1).is_some_and(|rest| rest.starts_with("fuse"));
        is_fuse && line.split(' ').nth(4).is_some_and(|field| Path::new(&unescaped(field)) == path)
    })
}

/// The canonical path. A dead mount cannot be resolved itself, but its parent can.
pub fn resolved(path: &Path) -> PathBuf {
    let parent = path.parent().map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
    match (parent.and_then(|p| p.canonicalize().ok()), path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path.to_path_buf(),
    }
}

/// Decodes a field of mountinfo, which writes a blank as \040.
fn unescaped(field: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(field.to_string(), |text, (code, plain)| text.replace(code, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_mounts_are_unescaped() {
        assert_eq!(unescaped("/a\\040b\\134c"), "/a b\\c");
    }

    #[test]
    fn what_is_not_mounted_needs_no_release() {
        let dir = tempfile::tempdir().expect("a directory");
        release(dir.path()).expect("nothing to do is no error");
    }
}
