//! The recording file system: passes a directory through, and logs every change before it is answered.

use std::path::PathBuf;
use std::sync::Arc;

use fuser::BackgroundSession;

use crate::log::{Recorded, Writer};
use crate::{Error, Result};

mod changes;
mod filesystem;
mod ledger;
mod mounting;
mod possible;
mod release;
mod tree;

pub use ledger::Ledger;
pub use possible::unavailable;
pub use release::{is_mounted, release, unmount};

#[derive(Debug, Clone)]
pub struct Options {
    /// Directory with the real files. No other process may change it while it is mounted.
    pub backing: PathBuf,
    /// An empty directory outside `backing`.
    pub mountpoint: PathBuf,
    /// Must not exist, and must be outside `backing`.
    pub log: PathBuf,
    /// Largest size of the log. Beyond it nothing is recorded; the log and the summary report that.
    pub bound_bytes: u64,
    /// Number of requests that are carried out at the same time.
    pub threads: usize,
}

/// A running recorder. Dropping it unmounts.
pub struct Mount {
    mountpoint: PathBuf,
    session: Option<BackgroundSession>,
    log: Arc<Writer>,
}

/// Mounts and returns; threads of this process serve the requests. The process must not map a file of the mount, as
/// an embedded database does, or it deadlocks: the kernel holds the process's memory map while it waits for the
/// recorder, whose threads need the same map.
pub fn mount(options: &Options) -> Result<Mount> {
    let mountpoint = free_mountpoint(options)?;
    if let Some(why) = unavailable() {
        return Err(Error::new(format!("recording is not possible here: {why}")));
    }
    let (tree, known) = tree::Tree::load(&options.backing)?;
    let log = Arc::new(Writer::create(&options.log, options.bound_bytes)?);
    known.iter().try_for_each(|known| log.known(known))?;
    let recorder = Arc::new(changes::Recorder::new(tree, log.clone()));
    let mounted =
        fuser::spawn_mount(filesystem::Passthrough(recorder), &mountpoint, &mounting::config(options.threads));
    let session = mounted.map_err(|e| {
        // Nothing was recorded; a leftover log would block the next attempt.
        let _ = std::fs::remove_file(&options.log);
        Error::new(format!(
            "{}: the recording file system cannot be mounted: {e}; mounting needs root, or fusermount3 and a \
             readable and writable /dev/fuse",
            mountpoint.display()
        ))
    })?;
    Ok(Mount { mountpoint, session: Some(session), log })
}

/// The absolute path of the mount point, after all checks.
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
        return Err(Error::at(&backing, "cannot be recorded", "it is not a directory"));
    }
    let absolute = point.canonicalize().map_err(|e| Error::at(point, "nothing can be mounted here", e))?;
    let mut entries = absolute.read_dir().map_err(|e| Error::at(point, "nothing can be mounted here", e))?;
    if entries.next().is_some() {
        return Err(Error::at(point, "nothing is mounted here", "the directory is not empty"));
    }
    let log = release::resolved(&options.log);
    for (path, what) in [(&absolute, "mount point"), (&log, "log")] {
        if path.starts_with(&backing) || (what == "log" && path.starts_with(&absolute)) {
            return Err(Error::at(
                path,
                &format!("the {what} cannot be inside the recorded directory"),
                backing.display(),
            ));
        }
    }
    Ok(absolute)
}

impl Mount {
    /// The summary so far.
    pub fn recorded(&self) -> Recorded {
        self.log.recorded()
    }

    /// Waits until the mount is unmounted (`unmount` below, umount, fusermount3 -u), and returns the summary.
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

    /// Unmounts and returns the summary. While files are open on the mount, this fails after some seconds; the mount
    /// then disappears from the tree, and ends when the last file is closed.
    pub fn unmount(mut self) -> Result<Recorded> {
        release(&self.mountpoint)?;
        self.join()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.session.is_some() {
            let _ = unmount(&self.mountpoint);
        }
    }
}
