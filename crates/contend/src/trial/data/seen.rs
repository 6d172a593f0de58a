//! Loaded data as the run has seen it: what another process changes of it, or of the directories of its copies, would change all
//! later trials.

use super::load::sorted_entries;
use anyhow::{Context, Result, ensure};
use rustix::fs::{IFlags, ioctl_getflags};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Inode flags that change how fast a file is. New files inherit them from their directory.
const FLAGS: IFlags = IFlags::SYNC
    .union(IFlags::DIRSYNC)
    .union(IFlags::NOATIME)
    .union(IFlags::JOURNALING)
    .union(IFlags::NOCOW)
    .union(IFlags::COMPRESSED);

/// Files and directories with what a change of any of them changes.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen(Vec<(PathBuf, [i64; 6])>);

impl Seen {
    /// The file, or all below the directory.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(path: &Path) -> Result<Self> {
        let mut all = vec![];
        see(path, &mut all)?;
        Ok(Self(all))
    }
}

fn see(path: &Path, all: &mut Vec<(PathBuf, [i64; 6])>) -> Result<()> {
    let found = fs::symlink_metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    let [inode, bytes] = [found.ino(), found.len()].map(u64::cast_signed);
    let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
    all.push((path.to_path_buf(), [inode, bytes, times[0], times[1], times[2], times[3]]));
    if found.is_dir() {
        sorted_entries(path)?.iter().try_for_each(|entry| see(entry, all))?;
    }
    Ok(())
}

/// Whether a copy of the data, or its directory, has the inode flags of what it was copied from.
///
/// # Errors
/// It has others; what to do.
pub fn same_flags(copy: &Path, original: &Path) -> Result<()> {
    let [here, there] = [copy, original].map(flags);
    ensure!(
        here == there,
        "{} has other inode flags than {}, from which it was copied: another process, such as a worker, has changed those of a \
         directory (`lsattr -d` shows them, `chattr` removes them)",
        copy.display(),
        original.display()
    );
    Ok(())
}

/// No flags if the file system has none.
fn flags(path: &Path) -> IFlags {
    let found = File::open(path).ok().and_then(|file| ioctl_getflags(&file).ok());
    found.unwrap_or(IFlags::empty()).intersection(FLAGS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::ioctl_setflags;

    #[test]
    fn a_change_of_a_file_or_its_attributes_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("base.db");
        fs::write(&file, "one").unwrap();
        let seen = || Seen::of(dir.path()).unwrap();
        let before = seen();
        fs::read(&file).unwrap();
        assert_eq!(before, seen());
        let modified = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&file, "two").unwrap();
        File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
        assert_ne!(before, seen(), "the time of the last change of an inode cannot be set");
    }

    #[test]
    fn inherited_flags_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let [original, other] = ["original", "other"].map(|name| dir.path().join(name));
        fs::create_dir(&original).unwrap();
        fs::create_dir(&other).unwrap();
        same_flags(&other, &original).unwrap();
        if ioctl_setflags(File::open(&other).unwrap(), IFlags::SYNC).is_err() {
            println!("NOT VERIFIED: this file system has no inode flags");
            return;
        }
        let copy = other.join("copy");
        fs::create_dir(&copy).unwrap();
        let error = same_flags(&copy, &original).unwrap_err().to_string();
        assert!(error.contains("has other inode flags"), "{error}");
    }
}
