//! Checks whether a recorder can be mounted here, before anything is created.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::mounting::config;
use super::{release, unmount};

/// An empty file system, mounted for a moment.
struct Nothing;

impl fuser::Filesystem for Nothing {}

/// The reason why recording is not possible here, or `None`.
pub fn unavailable() -> Option<String> {
    unavailable_through(Path::new("/dev/fuse")).or_else(|| not_mountable(&std::env::temp_dir()))
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

/// Opening the device does not imply the right to mount (root in most containers lacks it). So a mount is tried in a
/// new directory.
fn not_mountable(parent: &Path) -> Option<String> {
    let point = match new_directory(parent) {
        Ok(point) => point,
        Err(e) => return Some(format!("mounting cannot be tried: {}: {e}", parent.display())),
    };
    let tried = fuser::spawn_mount(Nothing, &point, &config(1)).map_err(|e| refusal(&e)).and_then(|session| {
        let released = release(&point).map_err(|e| e.to_string());
        if released.is_err() {
            // The test mount is not in use and must be removed.
            let _ = unmount(&point);
        }
        drop(session);
        released
    });
    let _ = std::fs::remove_dir(&point);
    tried.err()
}

fn refusal(error: &std::io::Error) -> String {
    let hint = if rustix::process::geteuid().is_root() {
        "root needs the capability CAP_SYS_ADMIN for it (in a container: --cap-add SYS_ADMIN, and a security profile \
         that allows mounting)"
    } else {
        "fusermount3 must be set-uid root, and not in a container that forbids mounting"
    };
    // The message of fusermount3 ends with a newline.
    let error = error.to_string();
    format!("a file system cannot be mounted here: {}; {hint}", error.trim_end())
}

/// A new directory with a random name: one left over from a killed process must not be in the way.
fn new_directory(parent: &Path) -> std::io::Result<PathBuf> {
    let path = parent.join(format!("contend-mounts-{:016x}", RandomState::new().build_hasher().finish()));
    std::fs::create_dir(&path)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_device_and_a_forbidden_one_are_told_apart() {
        let missing = unavailable_through(Path::new("/dev/no-such-device")).expect("a reason");
        assert!(missing.contains("there is no /dev/no-such-device"), "{missing}");
        // A path that no user can open for writing, not even root.
        let refused = unavailable_through(Path::new("/proc")).expect("a reason");
        assert!(refused.contains("/proc"), "{refused}");
    }

    #[test]
    fn a_process_with_the_id_of_a_dead_one_can_try() {
        let dir = tempfile::tempdir().expect("a directory");
        for number in 0..9 {
            let left = dir.path().join(format!("contend-mounts-{}-{number}", std::process::id()));
            std::fs::create_dir(left).expect("a directory");
        }
        new_directory(dir.path()).expect("another name");
    }

    #[test]
    fn trying_leaves_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let why = not_mountable(dir.path());
        assert_eq!(std::fs::read_dir(dir.path()).expect("readable").count(), 0, "{why:?}");
        let nowhere = not_mountable(&dir.path().join("nowhere")).expect("a reason");
        assert!(nowhere.contains("nowhere"), "{nowhere}");
    }
}
