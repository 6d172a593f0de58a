//! `contend doctor`: what this machine has, what it lacks, and the command that installs it.

use super::{OK, USAGE, paragraph, print, print_plain};
use crate::engine::server::Server;
use crate::engine::{Driver, ENGINES};
use crate::slice::{self, Finding, State};
use crate::stats::precision::{Bytes, Ns};
use crate::trial::data::disk;
use crate::trial::server::identity::Identity;
use crate::trial::server::private::Programs;
use crate::trial::watch::janitor::Janitor;
use crate::trial::watch::machine;
use crate::trial::workers::admin::Admin;
use crate::trial::workers::probe;
use crate::trial::workers::process::{Launch, WORKERS, worker_dirs};
use anyhow::Result;
use clap::{Parser, ValueHint};
use contend_wire::handshake::fact;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Show what this machine has and what it lacks
#[derive(Parser)]
#[command(
    after_help = "contend looks for drivers that are separate programs in the directories that CONTEND_WORKERS names, else in `workers` \
    next to contend or next to its profile's directory."
)]
pub(super) struct DoctorArgs {
    /// Directory whose disk is measured [default: the current one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn doctor(args: &DoctorArgs) -> Result<u8> {
    let dir = args.out.clone().unwrap_or_else(|| PathBuf::from("."));
    // What most users look for, and no study needs.
    let mut findings: Vec<Finding> = slice::all().iter().flat_map(|slice| slice.findings).map(|look| look()).collect();
    findings.extend(machine_findings());
    findings.push(proc_finding());
    findings.extend(disk_findings(&dir));
    findings.push(worker_finding());
    findings.push(workers_finding());
    findings.extend(program_findings());
    findings.extend(ENGINES.iter().filter_map(|engine| engine.server).map(server_finding));
    findings.push(gnuplot_finding());
    let bad = findings.iter().any(|f| f.state == State::Bad);
    match args.json {
        true => print(&(serde_json::to_string_pretty(&findings)? + "\n"))?,
        false => print_plain(&as_text(&findings))?,
    }
    Ok(if bad { USAGE } else { OK })
}

fn as_text(findings: &[Finding]) -> String {
    let mut out = String::new();
    for f in findings {
        let state = match f.state {
            State::Ok => "ok  ",
            State::Note => "note",
            State::Bad => "BAD ",
        };
        let before = format!("{state}  {:<10} ", f.what);
        let indent = " ".repeat(before.len());
        let mut parts = f.detail.lines();
        out += &paragraph(parts.next().unwrap_or_default(), [&before, &indent]);
        // Commands, which are not broken into lines.
        parts.for_each(|command| out += &format!("{indent}{command}\n"));
    }
    out
}

fn machine_findings() -> Vec<Finding> {
    let m = machine::describe();
    let detail = format!("{} x {}, {}, Linux {}, {}", m.cores, m.cpu, Bytes(m.memory_bytes), m.kernel, m.os);
    let mut findings = vec![Finding { what: "machine", state: State::Ok, detail }];
    if m.virtual_machine {
        let detail = "a virtual machine: neighbours can disturb; contend interleaves rounds and marks noisy ones";
        findings.push(Finding { what: "machine", state: State::Note, detail: detail.to_string() });
    }
    findings
}

fn proc_finding() -> Finding {
    let readable = procfs::process::Process::myself().and_then(|p| p.stat()).is_ok();
    match readable {
        true => Finding { what: "/proc", state: State::Ok, detail: "CPU, memory and writes can be read".to_string() },
        false => Finding { what: "/proc", state: State::Bad, detail: "not readable; contend needs it".to_string() },
    }
}

fn disk_findings(dir: &Path) -> Vec<Finding> {
    let measured = match disk::measure(dir) {
        Ok(measured) => measured,
        Err(e) => {
            let detail = format!("{e:#}; name a directory you may write to with --out");
            return vec![Finding { what: "disk", state: State::Bad, detail }];
        }
    };
    let detail = format!(
        "{} in {}: fsync {} (p95 {}), fdatasync {} when appending, {} when overwriting; {} probes each",
        measured.file_system,
        dir.display(),
        Ns(measured.fsync_ns_p50),
        Ns(measured.fsync_ns_p95),
        Ns(measured.fdatasync_ns_p50),
        Ns(measured.overwrite_ns_p50),
        measured.probes
    );
    let mut findings = vec![Finding { what: "disk", state: State::Ok, detail }];
    if let Some(why) = measured.no_sync() {
        let detail = format!(
            "a file system {why}: a power cut can lose data that was synced, so nothing durable can be measured; use --out DIR"
        );
        findings.push(Finding { what: "disk", state: State::Note, detail });
    } else if measured.overwrite_ns_p50 < 10_000 {
        let detail =
            "a sync takes less than 10 µs: no disk is that fast, so a layer in between keeps the data in memory";
        findings.push(Finding { what: "disk", state: State::Note, detail: detail.to_string() });
    }
    findings
}

fn worker_finding() -> Finding {
    match worker_versions() {
        Ok(detail) => Finding { what: "sqlite", state: State::Ok, detail },
        Err(e) => {
            Finding { what: "sqlite", state: State::Bad, detail: format!("the Rust worker does not start: {e:#}") }
        }
    }
}

fn worker_versions() -> Result<String> {
    let janitor = Janitor::start()?;
    let log = tempfile::NamedTempFile::new()?;
    let admin = Admin::start(&Launch::own()?, log.path(), &janitor, &|| false)?;
    let said = |key| fact(&admin.hello, key).unwrap_or("?");
    Ok(format!("{} through {}, built in", said("engine"), said("driver")))
}

/// Directory of the workers that are separate programs. One named by the user must exist.
fn workers_finding() -> Finding {
    let finding = |state, detail| Finding { what: "drivers", state, detail };
    let dirs = match worker_dirs() {
        Ok(dirs) => dirs,
        Err(e) => return finding(State::Note, format!("{e:#}")),
    };
    let shown: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
    let named = std::env::var_os(WORKERS).is_some();
    let by = if named { format!(", as {WORKERS} says") } else { String::new() };
    let looked = format!("workers are searched for in {}{by}", shown.join(" or "));
    match named && !dirs.iter().any(|dir| dir.is_dir()) {
        true => {
            finding(State::Note, format!("{looked}, which is not a directory: name another one, or unset {WORKERS}"))
        }
        false => finding(State::Ok, looked),
    }
}

/// Drivers in separate worker programs: which are built, how to build the rest, and which do not start. Missing ones
/// are not an error.
fn program_findings() -> Vec<Finding> {
    let mut by_build: BTreeMap<&str, Vec<&'static Driver>> = BTreeMap::new();
    for driver in ENGINES.iter().flat_map(|engine| engine.drivers()) {
        let Some(program) = &driver.program else { continue };
        let drivers = by_build.entry(program.build).or_default();
        // A null driver serves several engines.
        if !drivers.iter().any(|known| known.name == driver.name) {
            drivers.push(driver);
        }
    }
    by_build.into_iter().flat_map(|(build, drivers)| findings_of(build, &drivers)).collect()
}

fn findings_of(build: &str, drivers: &[&'static Driver]) -> Vec<Finding> {
    let finding = |state, detail| Finding { what: "drivers", state, detail };
    let names = |drivers: &[&Driver]| match drivers {
        [] => "none".to_string(),
        some => some.iter().map(|driver| driver.name).collect::<Vec<_>>().join(", "),
    };
    let (built, missing): (Vec<&'static Driver>, Vec<&'static Driver>) =
        drivers.iter().partition(|driver| Launch::of(driver).is_ok());
    let mut findings = vec![match missing.is_empty() {
        true => finding(State::Ok, format!("built: {}", names(&built))),
        false => finding(
            State::Note,
            format!(
                "built: {}; not built (needed only for their own contenders): {}{}",
                names(&built),
                names(&missing),
                advice(build, &missing)
            ),
        ),
    }];
    for (driver, said) in built.iter().zip(probe::all(&built)) {
        if let Err(e) = said {
            let again = match build {
                "" => String::new(),
                _ => format!("; it needs {}, and `{build}` builds it again", needs(&[*driver])),
            };
            findings.push(finding(State::Note, format!("driver {}: {e:#}{again}", driver.name)));
        }
    }
    findings
}

/// How to build these drivers; unknown for some workers of users.
fn advice(build: &str, missing: &[&'static Driver]) -> String {
    if build.is_empty() {
        return String::new();
    }
    let (needs, absent) = (needs(missing), not_on_path(missing));
    format!("; `{build}` in the project's directory builds them, which needs {needs}{absent}")
}

/// What building these drivers needs; drivers of one command may differ.
fn needs(drivers: &[&'static Driver]) -> String {
    let mut all: Vec<&str> = drivers.iter().filter_map(|driver| Some(driver.program.as_ref()?.needs)).collect();
    all.dedup();
    all.join("; ")
}

/// The needed programs that are missing; empty if all exist. A missing driver then lacks a library or an extension, or
/// is not built yet.
fn not_on_path(drivers: &[&'static Driver]) -> String {
    let mut absent: Vec<&str> = vec![];
    for program in drivers.iter().filter_map(|driver| driver.program.as_ref()).flat_map(|program| program.programs) {
        if !absent.contains(program) && !is_on_path(program) {
            absent.push(program);
        }
    }
    if absent.is_empty() { String::new() } else { format!("; not found in PATH: {}", absent.join(", ")) }
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

fn server_finding(server: &'static Server) -> Finding {
    let found = Programs::find(server).and_then(|programs| programs.version(server));
    let identity = Identity::for_servers(&std::env::temp_dir().join("data"));
    match (found, identity) {
        (Ok(version), Ok(_)) => Finding { what: server.title, state: State::Ok, detail: version },
        (Ok(_), Err(e)) => Finding { what: server.title, state: State::Note, detail: format!("{e:#}") },
        (Err(_), _) => Finding {
            what: server.title,
            state: State::Note,
            detail: format!("not installed; only needed for contenders of that engine: {}", server.install),
        },
    }
}

fn gnuplot_finding() -> Finding {
    match is_on_path("gnuplot") {
        true => {
            Finding { what: "gnuplot", state: State::Ok, detail: "can draw charts.gnuplot of a record".to_string() }
        }
        false => Finding {
            what: "gnuplot",
            state: State::Note,
            detail: "not installed; only needed for charts.gnuplot of a record: apt-get install gnuplot-nox"
                .to_string(),
        },
    }
}
