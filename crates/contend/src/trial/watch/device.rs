//! Block devices as the kernel lists them, and how often the one that holds a directory was flushed.

use rustix::fs::{major, minor};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Position of this count among those of a device (Linux: Documentation/block/stat.rst).
const FLUSHES: usize = 15;

/// Flushes so far; `None` if the file system is on no device that the kernel counts for, or on an old kernel.
pub fn flushes(dir: &Path) -> Option<u64> {
    let device = numbered(&written(std::fs::metadata(dir).ok()?.dev()))?;
    std::fs::read_to_string(device.join("stat")).ok()?.split_whitespace().nth(FLUSHES)?.parse().ok()
}

/// The kernel's directory of a device by its number, such as `8:1`; that of the whole disk for a partition.
pub fn numbered(number: &str) -> Option<PathBuf> {
    whole(&Path::new("/sys/dev/block").join(number))
}

/// The kernel's directory of the device that a file such as `/dev/sda1` is.
pub fn of_file(file: &Path) -> Option<PathBuf> {
    numbered(&written(std::fs::metadata(file).ok()?.rdev()))
}

/// A partition has only the flushes and the model of its disk.
pub fn whole(device: &Path) -> Option<PathBuf> {
    let device = device.canonicalize().ok()?;
    if device.join("partition").exists() { device.parent().map(Path::to_path_buf) } else { Some(device) }
}

fn written(number: u64) -> String {
    format!("{}:{}", major(number), minor(number))
}
