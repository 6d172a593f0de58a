//! Recording without a file system: a worker whose SQLite writes the log itself, through a VFS. Possible only if the
//! database is in the tool's own worker and all clients are in one process.

use anyhow::{Context, Result, bail};
use contend::trial::workers::process::Launch;
use contend_powercut::record;
use std::path::Path;
use std::process::ExitCode;

/// The hidden verb that starts such a worker.
pub const VERB: &str = "recorded-worker";

/// Overrides the way of recording, for tests of other machines' ways: `mount`, `vfs`, or `none`.
const CHOICE: &str = "CONTEND_RECORDER";

const VFS_NAME: &str = "contend-recorder";

/// The part that writes the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    Mount,
    /// The VFS, with the reason why a mount is not possible.
    Shim(String),
}

/// How a contender is recorded here. `own`: its database is in the tool's own worker.
///
/// # Errors
/// The reason why recording is not possible, as a sentence.
pub fn way(own: bool) -> Result<Way> {
    let choice = std::env::var(CHOICE).ok();
    let why_no_mount = || match choice.as_deref() {
        None | Some("mount") => record::unavailable(),
        Some("vfs" | "none") => Some(format!("{CHOICE}={}", choice.as_deref().unwrap_or_default())),
        Some(other) => Some(format!("{CHOICE} cannot be `{other}`; it is mount, vfs or none")),
    };
    choose(why_no_mount(), choice.as_deref(), own)
}

fn choose(why_no_mount: Option<String>, choice: Option<&str>, own: bool) -> Result<Way> {
    match (why_no_mount, choice) {
        (None, _) => Ok(Way::Mount),
        (Some(why), None | Some("vfs")) if own => Ok(Way::Shim(why)),
        (Some(why), None | Some("vfs")) => {
            bail!("{why}; without a mount only SQLite in contend's own worker can be recorded")
        }
        (Some(why), _) => bail!("{why}"),
    }
}

/// Command of a worker that records its changes in `dir`.
///
/// # Errors
/// This program cannot be found.
pub fn launch(dir: &Path, log: &Path, bound: u64) -> Result<Launch> {
    let own = Launch::own()?;
    let args = [VERB.to_string(), dir.display().to_string(), log.display().to_string(), bound.to_string()];
    Ok(Launch { args: args.to_vec(), ..own })
}

/// Main function of that worker: the ordinary worker, with a VFS that writes the log.
pub fn serve(args: &[String]) -> ExitCode {
    match register(args) {
        Ok(vfs) => {
            let code = contend_worker::main(&args[3..]);
            // All connections are closed; the log gets its last mark.
            vfs.end();
            code
        }
        Err(e) => {
            contend::tell!("contend: {e:#}");
            ExitCode::FAILURE
        }
    }
}

fn register(args: &[String]) -> Result<contend_powercut_vfs::Vfs> {
    let [dir, log, bound, ..] = args else { bail!("`contend {VERB}` is for contend itself") };
    let bound = bound.parse().context("not a number of bytes")?;
    contend_powercut_vfs::register_as_default(VFS_NAME, Path::new(dir), Path::new(log), bound)
        .map_err(|e| anyhow::anyhow!("{e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shim_is_for_who_cannot_mount_and_has_the_database_inside() {
        let why = || Some("no /dev/fuse".to_string());
        assert_eq!(choose(None, None, true).unwrap(), Way::Mount);
        assert_eq!(choose(why(), None, true).unwrap(), Way::Shim("no /dev/fuse".to_string()));
        let error = choose(why(), None, false).unwrap_err().to_string();
        assert!(error.contains("no /dev/fuse") && error.contains("only SQLite in contend's own worker"), "{error}");
        assert!(choose(why(), Some("mount"), true).is_err(), "who wants the mount gets nothing else");
        assert!(choose(why(), Some("none"), true).is_err());
        assert!(choose(why(), Some("nonsense"), true).is_err());
    }
}
