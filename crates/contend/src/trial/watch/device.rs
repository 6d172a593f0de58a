//! How often the device that holds a directory was flushed, as the kernel counts it.

use rustix::fs::{major, minor};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Position of this count among those of a device (Linux: Documentation/block/stat.rst).
const FLUSHES: usize = 15;

/// Flushes so far; `None` if the file system is on no device that the kernel counts for, or on an old kernel.
pub fn flushes(dir: &Path) -> Option<u64> {
    let number = std::fs::metadata(dir).ok()?.dev();
    let device = PathBuf::from(format!("/sys/dev/block/{}:{}", major(number), minor(number))).canonicalize().ok()?;
    // A partition has only the flushes of its disk.
    let whole = if device.join("partition").exists() { device.parent()? } else { &device };
    std::fs::read_to_string(whole.join("stat")).ok()?.split_whitespace().nth(FLUSHES)?.parse().ok()
}
