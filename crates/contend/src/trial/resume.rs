//! Whether an interrupted run can be continued here: all trials of a record must come from one machine, one version of
//! contend, and the same servers and workers.

use crate::engine::dsn::Dsn;
use crate::record::model::{Instead, Machine, Mount, Program, Run};
use crate::trial::workers::process::{InsteadOf, Launch};
use anyhow::{Result, bail};
use contend_wire::database::{Address, Password};
use std::path::Path;

/// Replacements of contend's own server and programs, as kept in a record: without passwords.
pub fn instead(of: &InsteadOf, attached: Option<&Dsn>) -> Instead {
    Instead {
        server: attached.map(without_password),
        worker: of.worker.as_ref().map(Launch::typed),
        client: of.client.as_ref().map(Launch::typed),
    }
}

fn without_password(dsn: &Dsn) -> String {
    let address = Address { password: Password::None, ..dsn.address.clone() };
    Dsn { address, ..dsn.clone() }.to_string()
}

/// Whether the record is on the kind of disk on which the run was begun: type of file system, options of the mount, and
/// whether a sync keeps data.
///
/// # Errors
/// The difference, and what to do.
pub fn same_disk(run: &Run, dir: &Path, (file_system, mount): &(String, Option<Mount>)) -> Result<()> {
    // Records of older versions do not have the mount.
    let with = |of: &Option<Mount>| match (&run.disk.mount, of) {
        (Some(_), Some(mount)) if !mount.options.is_empty() => format!(" mounted with {}", mount.options.join(",")),
        _ => String::new(),
    };
    let why = |no_sync: Option<String>| no_sync.map_or(String::new(), |why| format!(", a file system {why},"));
    let (before, here) = (&run.disk, mount.as_ref().and_then(|mount| mount.no_sync.clone()));
    let kept = before.mount.is_none() || before.no_sync().is_none() == here.is_none();
    let (options, options_here) = (with(&before.mount), with(mount));
    if before.file_system != *file_system || options != options_here || !kept {
        bail!(
            "{} was begun on {}{options}{} and is on {file_system}{options_here}{} now; move it back to such a disk, or \
             begin again",
            dir.display(),
            before.file_system,
            why(before.no_sync()),
            why(here)
        );
    }
    Ok(())
}

/// Whether a run may be continued on this machine and with these replacements.
///
/// # Errors
/// The difference, and what to do.
pub fn fits(run: &Run, dir: &Path, here: &Machine, now: &Instead) -> Result<()> {
    let dir = dir.display();
    let cores = |of: &Machine| format!("{} processors", of.cores);
    for (here, before) in [
        (here.cpu.clone(), run.machine.cpu.clone()),
        (here.kernel.clone(), run.machine.kernel.clone()),
        (cores(here), cores(&run.machine)),
    ] {
        if here != before {
            bail!(
                "{dir} was begun with {before}, this is {here}: a record has the trials of one machine only; begin again"
            );
        }
    }
    let version = env!("CARGO_PKG_VERSION");
    if run.contend != version {
        bail!(
            "{dir} was begun with contend {}, this is {version}; resume it with that one, or begin again",
            run.contend
        );
    }
    for (option, before, now, own) in [
        ("--dsn", &run.instead.server, &now.server, "private servers"),
        ("--worker-command", &run.instead.worker, &now.worker, "contend's own workers"),
        ("--client-command", &run.instead.client, &now.client, "contend's own client"),
    ] {
        match (before, now) {
            (Some(before), _) if now.as_ref() != Some(before) => {
                bail!("{dir} was begun with {option} '{before}'; resume it with the same")
            }
            // Old records do not have `instead`.
            (None, _) if run.command.iter().any(|word| word.split('=').next() == Some(option)) => {
                bail!("{dir} was begun with {option}, but does not say what it was; begin again")
            }
            (None, Some(_)) => bail!("{dir} was begun with {own}; resume it without {option}"),
            _ => {}
        }
    }
    Ok(())
}

/// Whether the workers are the programs with which the run was begun, when it is resumed and at its end. Records of old versions do
/// not have them.
///
/// # Errors
/// Names the first replaced worker and the next step.
pub fn same_programs(before: &[Program], now: &[Program], dir: &Path) -> Result<()> {
    let is_of = |one: &Program, other: &Program| (&one.driver, &one.worker) == (&other.driver, &other.worker);
    let changed = |one: &Program, program: &Program| match (&one.libraries_sha256, &program.libraries_sha256) {
        _ if program.sha256 != one.sha256 => Some("has changed"),
        // Older records do not have the libraries.
        (Some(before), Some(now)) if before != now => Some("has other files in its libraries"),
        (Some(_), None) => Some("has lost its libraries"),
        _ => None,
    };
    for one in before {
        if let Some(how) = now.iter().filter(|program| is_of(program, one)).find_map(|program| changed(one, program)) {
            bail!(
                "{}: the worker of {} {how} since the start; resume with the same build, or begin again",
                dir.display(),
                one.driver
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::dsn::Typed;
    use crate::report::testing::Story;

    #[test]
    fn a_worker_that_was_replaced_is_refused() {
        let program =
            |driver: &str, sha256: &str| Program { driver: driver.into(), sha256: sha256.into(), ..Program::default() };
        let before = [program("mattn", "a"), program("modernc", "b")];
        let fits = |now: &[Program]| same_programs(&before, now, Path::new("record"));
        assert!(fits(&before).is_ok() && fits(&before[..1]).is_ok(), "a missing one is reported by its trials");
        let said = fits(&[before[0].clone(), program("modernc", "c")]).unwrap_err().to_string();
        assert!(said.starts_with("record: the worker of modernc has changed"), "{said}");
        let libraries = |digest: Option<&str>| {
            vec![Program { libraries_sha256: digest.map(str::to_string), ..program("apsw", "a") }]
        };
        let of_python = |before, now| same_programs(&libraries(before), &libraries(now), Path::new("record"));
        assert!(of_python(Some("1"), Some("1")).is_ok() && of_python(None, Some("1")).is_ok());
        let said = of_python(Some("1"), Some("2")).unwrap_err().to_string();
        assert!(said.starts_with("record: the worker of apsw has other files in its libraries since"), "{said}");
        assert!(of_python(Some("1"), None).is_err());
    }

    /// The place is checked again: what was on a disk may be in memory now.
    #[test]
    fn a_run_goes_on_only_where_a_sync_does_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let mut run = Story::default().write(dir.path()).run;
        let mount = |options: &[&str], no_sync: Option<&str>| {
            let options = options.iter().map(|option| option.to_string()).collect();
            Some(Mount { source: "/dev/loop0".into(), options, model: None, no_sync: no_sync.map(str::to_string) })
        };
        let why = "over /dev/shm, which is in memory (tmpfs)";
        let fits = |run: &Run, now: &Option<Mount>| same_disk(run, Path::new("record"), &("ext4".into(), now.clone()));
        let said = |run: &Run, now: &Option<Mount>| fits(run, now).unwrap_err().to_string();
        let (plain, synced, in_memory) = (mount(&[], None), mount(&["sync"], None), mount(&[], Some(why)));
        let fits_older = [&plain, &synced, &in_memory].map(|now| fits(&run, now).is_ok());
        assert_eq!(fits_older, [true; 3], "an older record does not have the mount");
        let now = format!("record was begun on ext4 and is on ext4, a file system {why}, now; move it back");
        run.disk.mount = plain.clone();
        assert!(fits(&run, &plain).is_ok() && said(&run, &in_memory).starts_with(&now));
        assert!(said(&run, &synced).starts_with("record was begun on ext4 and is on ext4 mounted with sync now; move"));
        run.disk.mount = in_memory.clone();
        assert!(fits(&run, &in_memory).is_ok() && fits(&run, &plain).is_err());
        (run.disk.file_system, run.disk.mount) = ("tmpfs".to_string(), None);
        let same = same_disk(&run, Path::new("record"), &("tmpfs".into(), mount(&[], Some("in memory (tmpfs)"))));
        assert!(same.is_ok(), "allowed when it was begun");
    }

    #[test]
    fn what_is_kept_opens_nothing() {
        let worker = "env A=1 'my worker'";
        let of = InsteadOf { worker: Some(Launch::shell(worker)), client: None };
        for password in ["?password_file=/tmp/secret", "?password_env=SECRET", ""] {
            let address = Typed::parse(&format!("postgres://me@h/d{password}")).unwrap().dsn;
            let kept = instead(&of, Some(&address));
            assert_eq!(kept.server.as_deref(), Some("postgres://me@h:5432/d"));
            assert_eq!((kept.worker.as_deref(), kept.client), (Some(worker), None));
        }
        assert_eq!(instead(&InsteadOf::default(), None), Instead::default());
    }
}
