//! Whether an interrupted run can be continued here: all trials of a record must come from one machine, one version of
//! contend, and the same servers and workers.

use crate::engine::dsn::Dsn;
use crate::record::model::{Instead, Machine, Program, Run};
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

/// Whether the record is on the kind of disk on which the run was begun.
///
/// # Errors
/// The difference, and what to do.
pub fn same_disk(run: &Run, dir: &Path, here: &str) -> Result<()> {
    let before = &run.disk.file_system;
    if before != here {
        let dir = dir.display();
        bail!("{dir} was begun on {before} and is on {here} now; move it back to such a disk, or begin again");
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

/// Whether the workers are the programs with which the run was begun. Records of old versions do not have them.
///
/// # Errors
/// Names the first replaced worker and the next step.
pub fn same_programs(before: &[Program], now: &[Program], dir: &Path) -> Result<()> {
    let is_of = |one: &Program, other: &Program| (&one.driver, &one.worker) == (&other.driver, &other.worker);
    let other = |one: &&Program| now.iter().any(|program| is_of(program, one) && program.sha256 != one.sha256);
    if let Some(Program { driver, .. }) = before.iter().find(other) {
        bail!(
            "{}: the worker of {driver} has changed since the start; resume with the same build, or begin again",
            dir.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::dsn::Typed;

    #[test]
    fn a_worker_that_was_replaced_is_refused() {
        let program =
            |driver: &str, sha256: &str| Program { driver: driver.into(), worker: None, sha256: sha256.into() };
        let before = [program("mattn", "a"), program("modernc", "b")];
        let fits = |now: &[Program]| same_programs(&before, now, Path::new("record"));
        assert!(fits(&before).is_ok() && fits(&before[..1]).is_ok(), "a missing one is reported by its trials");
        let said = fits(&[before[0].clone(), program("modernc", "c")]).unwrap_err().to_string();
        assert!(said.starts_with("record: the worker of modernc has changed"), "{said}");
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
