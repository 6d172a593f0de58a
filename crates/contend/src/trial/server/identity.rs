//! The user that servers run as. Database servers refuse to run as root: started by root they run as `nobody`, in
//! directories given to it. Otherwise they run as the user who started contend.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt, chown, fchown};
use std::path::Path;
use std::process::Command;

/// The user servers run as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// User and group to switch to; `None`: the current user.
    become_other: Option<(u32, u32)>,
}

/// Numbers of `nobody` and `nogroup` where the system does not say.
const NOBODY: u32 = 65_534;

impl Identity {
    /// The user of a server with its data in `data`.
    ///
    /// # Errors
    /// That user may not enter the directory, or switching to it is not permitted.
    pub fn for_servers(data: &Path) -> Result<Self> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self { become_other: None });
        }
        let parent = data.parent().unwrap_or(data);
        if let Some(closed) = parent.ancestors().find(|dir| dir.exists() && !may_pass(dir)) {
            bail!(
                "started by root, servers run as `nobody`, which may not enter {}; choose another directory \
                 with --out, let others pass through (chmod o+x), or run contend as another user",
                closed.display()
            );
        }
        if !Path::new(SETPRIV).is_file() {
            bail!(
                "{SETPRIV} is missing, which starts a server as another user; install util-linux or do not run as root"
            );
        }
        let ids = std::fs::read_to_string("/etc/passwd").ok().and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("nobody:"))?.to_string();
            let mut fields = line.split(':').skip(1);
            Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
        });
        Ok(Self { become_other: Some(ids.unwrap_or((NOBODY, NOBODY))) })
    }

    /// The user who alone may log in to servers that run as another user: other programs may run as that one, too.
    pub fn only() -> Option<&'static str> {
        rustix::process::geteuid().is_root().then_some("root")
    }

    /// Whether servers may enter a directory.
    pub fn may_enter(dir: &Path) -> bool {
        !rustix::process::geteuid().is_root() || dir.ancestors().all(may_pass)
    }

    /// Writes a file in a directory of the server's user, for whom it is. Others who run as that user may have put a link
    /// there: nothing is written through it.
    ///
    /// # Errors
    /// The file cannot be written or given to the server's user.
    pub fn write(&self, path: &Path, text: &str) -> Result<()> {
        let context = || format!("cannot write {}", path.display());
        match std::fs::remove_file(path) {
            Err(why) if why.kind() != ErrorKind::NotFound => return Err(why).with_context(context),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).with_context(context)?;
        file.write_all(text.as_bytes()).with_context(context)?;
        if let Some((user, group)) = self.become_other {
            fchown(&file, Some(user), Some(group)).with_context(context)?;
        }
        Ok(())
    }

    /// Gives a file or directory to the server's user, closed to all others.
    ///
    /// # Errors
    /// The owner cannot be changed.
    pub fn own(&self, path: &Path) -> Result<()> {
        let mode = if path.is_dir() { 0o700 } else { 0o600 };
        let context = || format!("cannot give {} to the server's user", path.display());
        if let Some((user, group)) = self.become_other {
            chown(path, Some(user), Some(group)).with_context(context)?;
        }
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).with_context(context)
    }
}

fn may_pass(dir: &Path) -> bool {
    std::fs::metadata(dir).is_ok_and(|found| found.permissions().mode() & 0o001 != 0)
}

const SETPRIV: &str = "/usr/bin/setpriv";

/// Signal that a server gets if the tool and its janitor die at once: it ends without delay and removes its shared
/// memory.
const ORPHANED: &str = "--pdeathsig=QUIT";

/// A command, run as `identity`. The program replaces `setpriv`, so its number is the server's.
pub fn command(program: &Path, args: &[impl AsRef<OsStr>], identity: Option<&Identity>) -> Command {
    let other = identity.and_then(|identity| identity.become_other);
    let mut command = match other {
        None if !Path::new(SETPRIV).exists() => Command::new(program),
        None => {
            let mut command = Command::new(SETPRIV);
            command.args([ORPHANED, "--"]).arg(program);
            command
        }
        Some((user, group)) => {
            let mut command = Command::new(SETPRIV);
            command
                .arg(format!("--reuid={user}"))
                .arg(format!("--regid={group}"))
                .args(["--clear-groups", "--no-new-privs", ORPHANED, "--"])
                .arg(program);
            command
        }
    };
    // The output of a server is parsed, so its language is fixed; only its configuration file may set anything. What else is in
    // the environment may be a secret, a library to load, or a directory that is closed to the server's user.
    command.env_clear().args(args).env("LC_ALL", "C").envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_gets_nothing_of_the_environment_but_the_path() {
        let output = command(Path::new("/usr/bin/env"), &["--"; 0], None).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut names: Vec<&str> = text.lines().filter_map(|line| line.split('=').next()).collect();
        names.sort_unstable();
        assert_eq!(names, ["LC_ALL", "PATH"]);
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let [other, path] = ["other", "file"].map(|name| dir.path().join(name));
        std::fs::write(&other, "kept").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        let identity = Identity { become_other: None };
        for text in ["first", "second"] {
            identity.write(&path, text).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "kept");
        let found = std::fs::symlink_metadata(&path).unwrap();
        assert!(found.is_file() && found.permissions().mode() & 0o777 == 0o600, "{found:?}");
    }
}
