//! The recording file system: a directory passed through, every change logged before it is answered.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fuser::{BackgroundSession, Config, MountOption, SessionACL};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use crate::log::{Recorded, Writer};
use crate::{Error, Result};

mod changes;
mod filesystem;
mod ledger;
mod tree;

pub use ledger::Ledger;

#[derive(Debug, Clone)]
pub struct Options {
    /// Where the files really are. Nobody else may change it while it is mounted.
    pub backing: PathBuf,
    /// An empty directory outside `backing`.
    pub mountpoint: PathBuf,
    /// Must not exist, and lie outside `backing`.
    pub log: PathBuf,
    /// Nothing is recorded beyond this size; the log and the summary say so.
    pub bound_bytes: u64,
    /// How many requests are carried out at once.
    pub threads: usize,
}

/// A running recorder. Dropping it unmounts.
pub struct Mount {
    mountpoint: PathBuf,
    session: Option<BackgroundSession>,
    log: Arc<Writer>,
}

/// Mounts and returns; the work is done by threads of this process. It must be a process that does nothing else: one that
/// itself maps a file of the mount (an embedded database does) waits for its own answer for ever, as the kernel holds
/// its memory map while it waits for the recorder, and the recorder's threads need the same map.
pub fn mount(options: &Options) -> Result<Mount> {
    let mountpoint = free_mountpoint(options)?;
    if let Some(why) = unavailable() {
        return Err(Error::new(format!("recording is not possible here: {why}")));
    }
    let (tree, known) = tree::Tree::load(&options.backing)?;
    let log = Arc::new(Writer::create(&options.log, options.bound_bytes)?);
    known.iter().try_for_each(|known| log.known(known))?;
    let recorder = Arc::new(changes::Recorder::new(tree, log.clone()));
    let mounted = fuser::spawn_mount(filesystem::Passthrough(recorder), &mountpoint, &config(options.threads));
    let session = mounted.map_err(|e| {
        // Nothing was recorded: the next attempt must not find a log in its way.
        let _ = std::fs::remove_file(&options.log);
        Error::new(format!(
            "{}: the recording file system cannot be mounted: {e}; mounting needs root, or fusermount3 and a \
             readable and writable /dev/fuse",
            mountpoint.display()
        ))
    })?;
    Ok(Mount { mountpoint, session: Some(session), log })
}

fn config(threads: usize) -> Config {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("contend-powercut".into()),
        MountOption::Subtype("contend-powercut".into()),
        MountOption::DefaultPermissions,
        MountOption::NoAtime,
    ];
    // Servers run as users of their own. An ordinary user can only let himself in.
    config.acl = if rustix::process::geteuid().is_root() { SessionACL::All } else { SessionACL::Owner };
    config.n_threads = Some(threads.max(1));
    config.clone_fd = threads > 1;
    config
}

/// The mount point, absolute, after looking at everything that can be wrong with it.
fn free_mountpoint(options: &Options) -> Result<PathBuf> {
    let point = &options.mountpoint;
    if is_mounted(point) {
        return Err(Error::new(format!(
            "{}: a file system is mounted here, perhaps left over from a recorder that was killed; unmount it first: \
             umount -l {0}",
            point.display()
        )));
    }
    let backing = options.backing.canonicalize().map_err(|e| Error::at(&options.backing, "cannot be recorded", e))?;
    if !backing.is_dir() {
        return Err(Error::at(&backing, "cannot be recorded", "it is no directory"));
    }
    let absolute = point.canonicalize().map_err(|e| Error::at(point, "nothing can be mounted here", e))?;
    let mut entries = absolute.read_dir().map_err(|e| Error::at(point, "nothing can be mounted here", e))?;
    if entries.next().is_some() {
        return Err(Error::at(point, "nothing is mounted here", "the directory is not empty"));
    }
    let log = resolved(&options.log);
    for (path, what) in [(&absolute, "mount point"), (&log, "log")] {
        if path.starts_with(&backing) || (what == "log" && path.starts_with(&absolute)) {
            return Err(Error::at(path, &format!("the {what} cannot lie in what is recorded"), backing.display()));
        }
    }
    Ok(absolute)
}

impl Mount {
    /// So far.
    pub fn recorded(&self) -> Recorded {
        self.log.recorded()
    }

    /// Until somebody unmounts it (`unmount` below, umount, fusermount3 -u), then the summary.
    pub fn wait(mut self) -> Result<Recorded> {
        self.join()
    }

    fn join(&mut self) -> Result<Recorded> {
        if let Some(session) = self.session.take() {
            session.join().map_err(|e| Error::at(&self.mountpoint, "the recorder failed", e))?;
        }
        let recorded = self.log.recorded();
        recorded.failed.clone().map_or(Ok(recorded), |failed| Err(Error::new(failed)))
    }

    /// Unmounts and returns the summary. While files are open on it this fails after some seconds; the mount then
    /// vanishes from sight, and ends when the last of them is closed.
    pub fn unmount(mut self) -> Result<Recorded> {
        const TRIES: u32 = 60;
        for _ in 0..TRIES {
            match rustix::mount::unmount(&self.mountpoint, UnmountFlags::empty()) {
                // A process that has just ended can still be letting go of its files.
                Err(Errno::BUSY) => std::thread::sleep(Duration::from_millis(50)),
                // Somebody else was faster.
                Ok(()) | Err(Errno::INVAL) => return self.join(),
                Err(_) => {
                    unmount(&self.mountpoint)?;
                    return self.join();
                }
            }
        }
        Err(Error::new(format!(
            "{}: still in use: a process has files open there or its working directory; stop it before unmounting",
            self.mountpoint.display()
        )))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.session.is_some() {
            let _ = unmount(&self.mountpoint);
        }
    }
}

/// Unmounts what is left there, in use or not, dead recorder or not. Nothing mounted there is no error. If it is in use,
/// its users get errors from then on, and nobody can wait for a recorder that does not answer.
pub fn unmount(mountpoint: &Path) -> Result<()> {
    if !is_mounted(mountpoint) {
        return Ok(());
    }
    if rustix::mount::unmount(mountpoint, UnmountFlags::empty()).is_ok() {
        return Ok(());
    }
    match rustix::mount::unmount(mountpoint, UnmountFlags::DETACH | UnmountFlags::FORCE) {
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(Errno::PERM) => by_helper(mountpoint),
        Err(e) => Err(Error::at(mountpoint, "cannot be unmounted", e)),
    }
}

/// An ordinary user may unmount only through the set-uid program.
fn by_helper(mountpoint: &Path) -> Result<()> {
    let done = std::process::Command::new("fusermount3").args(["-u", "-z", "--"]).arg(mountpoint).output();
    match done {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(Error::at(mountpoint, "fusermount3 -u", String::from_utf8_lossy(&output.stderr).trim())),
        Err(e) => Err(Error::at(mountpoint, "cannot be unmounted: fusermount3", e)),
    }
}

/// Whether a FUSE file system is mounted there (also when its recorder is dead).
pub fn is_mounted(mountpoint: &Path) -> bool {
    let path = resolved(mountpoint);
    let Ok(mounts) = std::fs::read_to_string("/proc/self/mountinfo") else { return false };
    mounts.lines().any(|line| {
        let is_fuse = line.split(" - ").nth(1).is_some_and(|rest| rest.starts_with("fuse"));
        is_fuse && line.split(' ').nth(4).is_some_and(|field| Path::new(&unescaped(field)) == path)
    })
}

/// A dead mount cannot be asked for its path, but its parent can.
fn resolved(path: &Path) -> PathBuf {
    let parent = path.parent().map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
    match (parent.and_then(|p| p.canonicalize().ok()), path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path.to_path_buf(),
    }
}

/// mountinfo writes a blank as \040.
fn unescaped(field: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(field.to_string(), |text, (code, plain)| text.replace(code, plain))
}

/// Why recording is not possible here, in words, or nothing.
pub fn unavailable() -> Option<String> {
    unavailable_through(Path::new("/dev/fuse"))
}

fn unavailable_through(device: &Path) -> Option<String> {
    match rustix::fs::open(device, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
        Ok(_) => (),
        Err(Errno::NOENT | Errno::NODEV | Errno::NXIO) => {
            return Some(format!(
                "there is no {}: load the kernel module fuse, or give the container the device",
                device.display()
            ));
        }
        Err(Errno::ACCESS | Errno::PERM) => {
            return Some(format!(
                "no permission for {}: run as root, or make the device readable and writable for this user",
                device.display()
            ));
        }
        Err(e) => return Some(format!("{}: {e}", device.display())),
    }
    let has_helper = || {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|dir| dir.join("fusermount3").exists() || dir.join("fusermount").exists())
    };
    let root = rustix::process::geteuid().is_root();
    (!root && !has_helper())
        .then(|| "mounting as an ordinary user needs the program fusermount3 (Debian package fuse3)".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_device_and_a_forbidden_one_are_told_apart() {
        let missing = unavailable_through(Path::new("/dev/no-such-device")).expect("a reason");
        assert!(missing.contains("there is no /dev/no-such-device"), "{missing}");
        // No device that can be opened for writing: every user is refused, root too.
        let refused = unavailable_through(Path::new("/proc")).expect("a reason");
        assert!(refused.contains("/proc"), "{refused}");
    }

    #[test]
    fn paths_of_mounts_are_unescaped() {
        assert_eq!(unescaped("/a\\040b\\134c"), "/a b\\c");
    }
}
