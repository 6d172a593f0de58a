//! Where loaded data is kept, and whether another user can have changed it: a server carries out what its data directory
//! says.

use anyhow::{Context, Result, ensure};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Name of the place.
const NAME: &str = ".cache";

/// Of the place and of loaded data. A server that runs as another user than root must pass through.
pub const MODE: u32 = 0o755;
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Where a record's loaded data is: next to it, shared with other records, or inside of it if what is next to it belongs to
/// another user, who could change the data or what a server loads with it.
pub fn place(out: &Path) -> PathBuf {
    let shared = out.parent().unwrap_or(out).join(NAME);
    if fs::symlink_metadata(&shared).is_ok() && !is_own(&shared) { out.join(NAME) } else { shared }
}

/// Makes the place. A place of an earlier run may be writable by others: from now on it is not.
pub fn make(cache: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(MODE).create(cache);
    made.with_context(|| format!("cannot create {}", cache.display()))?;
    ensure!(is_own(cache), "{} belongs to another user; choose another directory with --out", cache.display());
    if fs::metadata(cache).is_ok_and(|found| found.mode() & WRITABLE_BY_OTHERS != 0) {
        // Where it has no effect, as on file systems without modes, data is loaded again each time.
        let _ = fs::set_permissions(cache, fs::Permissions::from_mode(MODE));
    }
    Ok(())
}

/// Whether loaded data in its directory is this user's, and no other one can have changed it. What is inside of a server's data
/// directory belongs to the server's user, and is protected by the server.
pub fn is_safe(dir: &Path, data: &Path) -> bool {
    let is_protected = |path: &Path| {
        fs::symlink_metadata(path).is_ok_and(|found| !found.is_symlink() && found.mode() & WRITABLE_BY_OTHERS == 0)
    };
    is_protected(dir) && is_protected(data) && is_own(dir)
}

/// Whether a directory belongs to the owner of what this process makes in it. Some file systems of a network have owners of
/// their own.
fn is_own(dir: &Path) -> bool {
    let made = tempfile::NamedTempFile::new_in(dir).and_then(|made| made.as_file().metadata());
    let found = fs::symlink_metadata(dir).ok().filter(fs::Metadata::is_dir);
    made.ok().zip(found).is_some_and(|(made, found)| made.uid() == found.uid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_users_place_and_what_others_can_write_is_not_used() {
        let results = tempfile::tempdir().unwrap();
        let (shared, out) = (results.path().join(NAME), results.path().join("mine"));
        assert_eq!(place(&out), shared);
        make(&shared).unwrap();
        let set = |dir: &Path, mode| fs::set_permissions(dir, fs::Permissions::from_mode(mode)).unwrap();
        let data = shared.join("key");
        fs::create_dir(&data).unwrap();
        let file = data.join("base.db");
        fs::write(&file, "").unwrap();
        for (of_data, of_file, is_expected) in
            [(0o775, 0o644, false), (0o757, 0o644, false), (MODE, 0o664, false), (MODE, 0o644, true)]
        {
            set(&data, of_data);
            set(&file, of_file);
            assert_eq!(is_safe(&data, &file), is_expected, "{of_data:o} {of_file:o}");
        }
        set(&shared, 0o777);
        make(&shared).unwrap();
        assert_eq!(fs::metadata(&shared).unwrap().mode() & 0o777, MODE);
        fs::rename(&shared, results.path().join("other")).unwrap();
        std::os::unix::fs::symlink(results.path().join("other"), &shared).unwrap();
        assert_eq!(place(&out), out.join(NAME), "a link can lead anywhere");
        assert!(make(&shared).unwrap_err().to_string().contains("belongs to another user; choose another directory"));
        if rustix::process::geteuid().is_root() {
            fs::remove_file(&shared).unwrap();
            fs::create_dir(&shared).unwrap();
            std::os::unix::fs::chown(&shared, Some(65534), None).unwrap();
            assert_eq!(place(&out), out.join(NAME));
        }
    }
}
