//! Makes the directory of a record, and gives it to the user who called sudo.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, lchown};
use std::path::Path;

/// Makes the directory.
///
/// # Errors
/// It is there and not empty, or cannot be made.
pub fn make(out: &Path) -> Result<()> {
    let parents: Vec<&Path> =
        out.ancestors().skip(1).take_while(|dir| *dir != Path::new("") && !dir.exists()).collect();
    for parent in parents.into_iter().rev() {
        fs::create_dir(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        give(parent);
    }
    if !out.is_dir() {
        // Statements, users and addresses are for the owner alone.
        fs::DirBuilder::new().mode(0o700).create(out).with_context(|| format!("cannot make {}", out.display()))?;
    }
    let entries = fs::read_dir(out).with_context(|| format!("cannot read {}", out.display()))?.count();
    ensure!(entries == 0, "{} is not empty; name a directory that is not there yet", out.display());
    Ok(())
}

/// Gives a finished record that root made to the user who called sudo.
pub fn give_all(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        give(&entry.path());
    }
    give(dir);
}

/// Gives what root made to the user who called sudo. What cannot be given stays root's.
fn give(path: &Path) {
    let id = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    let is_roots = rustix::process::geteuid().is_root() && fs::symlink_metadata(path).is_ok_and(|file| file.uid() == 0);
    if let (true, Some(user), Some(group)) = (is_roots, id("SUDO_UID"), id("SUDO_GID")) {
        let _ = lchown(path, Some(user), Some(group));
    }
}
