//! Numbers of devices as the kernel's events and /proc/locks have them.

use procfs::process::Process;
use rustix::fs::{AtFlags, CWD, StatxFlags, major, minor, statfs, statx};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Type of btrfs in `statfs`.
const BTRFS: u64 = 0x9123_683E;

/// The number of a file's device, which `stat` gives as `seen`. Each subvolume of btrfs has another one for programs;
/// the kernel's number is in /proc/self/mountinfo.
pub fn device(path: &Path, seen: u64) -> u32 {
    static KNOWN: Mutex<BTreeMap<u64, u32>> = Mutex::new(BTreeMap::new());
    let as_seen = encoded(major(seen), minor(seen));
    // File systems without their own disk, and btrfs, have the major number 0.
    if major(seen) != 0 {
        return as_seen;
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = known.get(&seen) {
        return *device;
    }
    let is_btrfs = statfs(path).is_ok_and(|of| of.f_type as u64 == BTRFS);
    let found = if is_btrfs { of_mount(path) } else { Some(as_seen) };
    found.inspect(|device| _ = known.insert(seen, *device)).unwrap_or(as_seen)
}

/// The kernel's internal form: 12 bits of major and 20 of minor number.
fn encoded(major: u32, minor: u32) -> u32 {
    (major << 20) | (minor & 0xf_ffff)
}

fn of_mount(path: &Path) -> Option<u32> {
    let mount = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?.stx_mnt_id;
    let mounts = Process::myself().ok()?.mountinfo().ok()?;
    let own = mounts.into_iter().find(|info| u64::try_from(info.mnt_id).is_ok_and(|id| id == mount))?;
    let (major, minor) = own.majmin.split_once(':')?;
    Some(encoded(major.parse().ok()?, minor.parse().ok()?))
}
