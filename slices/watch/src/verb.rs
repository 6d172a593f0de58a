//! `contend watch`: arguments, and the choice of source and output.

use crate::janitor::Janitor;
use crate::named;
use crate::process::databases_of;
use crate::record::{self, Recorder, ServerRecorder};
use crate::rights;
use crate::server::Server;
use crate::session::{self, Files, Live, Served, Until};
use crate::target::Database;
use crate::watch::{Depth, Watch, now_ns};
use anyhow::{Context, Result, bail, ensure};
use clap::{ArgMatches, FromArgMatches, Parser, ValueHint};
use contend::cli::{INVALID, OK, print, stop_on_signals};
use contend::slice::Verb;
use contend::trial::watch::usage::tree;
use contend::units::duration_ns;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Show who holds a database's lock, since when, in which statement, and who waits
#[derive(Parser)]
#[command(after_help = "Examples:
  contend watch app.db                      a live screen; `q` ends it
  contend watch --pid 4711                  the databases it has open
  contend watch app.db --for 60s | tee log  a line each second, then findings
  contend watch app.db --for 60s --out DIR  keeps what was seen, with a page
  contend watch 'postgres://me@db/app?password_env=PW'
                                            a server: who blocks whom, what was left open

As root: sudo finds no program outside of the system's directories, so name it by its path, such
as sudo target/release/contend watch app.db, or sudo \"$(command -v contend)\" watch app.db.

No debugger is attached to the watched programs, nothing is written to the database, and no lock
is taken on it. Each sqlite3_prepare* and each sqlite3_step (one for each row) takes a few
microseconds longer; --no-sql places no probes.
Depths: with-statements and exact need root (tracefs). sampled needs nothing, and sees neither
statements nor waits nor refusals, nor holds shorter than 20 ms.
docs/watch.md explains every column and finding.

Exit status: 0 no finding, 1 a finding, 2 usage or environment.")]
struct WatchArgs {
    /// SQLite databases (also as sqlite:///PATH or file:PATH), directories of them, or the address of a server
    #[arg(value_name = "DATABASE", value_hint = ValueHint::AnyPath, required_unless_present = "pid")]
    databases: Vec<String>,
    /// The databases that this process has open, or those of its children if it has none
    #[arg(long, value_name = "PID", conflicts_with = "databases")]
    pid: Option<u32>,
    /// How much is seen: sampled, exact or with-statements [default: the most that is allowed]
    #[arg(long, value_name = "DEPTH")]
    depth: Option<String>,
    /// No statements: the same as --depth exact
    #[arg(long, conflicts_with = "depth")]
    no_sql: bool,
    /// End after this time, such as 60s
    #[arg(long = "for", value_name = "TIME")]
    duration: Option<String>,
    /// A line of JSON each second
    #[arg(long)]
    json_line: bool,
    /// Keep what was seen in this directory, with a report
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Most that the lists of --out grow in an hour, in MiB; the rest of that hour is left out, and the report lists what
    /// is missing. watch.json, with findings and sums, is always complete
    #[arg(long, value_name = "MIB", default_value_t = 100, requires = "out", value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    limit_mib: u64,
}

pub const VERB: Verb = Verb {
    name: "watch",
    after: "compare",
    run: |matches: &ArgMatches| run(&WatchArgs::from_arg_matches(matches)?),
    example: "  contend watch app.db                  who holds the lock, and who waits",
    questions: &[("Who holds the lock just now?", "contend watch app.db")],
    ..Verb::of::<WatchArgs>()
};

/// Longest watch.
const DURATION_NS_MAX: u64 = 7 * 24 * 3600 * 1_000_000_000;

fn run(args: &WatchArgs) -> Result<u8> {
    let duration_ns = args.duration.as_deref().map(duration).transpose()?;
    let limit = args.limit_mib << 20;
    if let Some(address) = address(args)? {
        let stop = stop_on_signals()?;
        let server = Server::start(address)?;
        let record = args.out.as_deref().map(|out| ServerRecorder::make(out, limit)).transpose()?;
        let mut served = Served::new(server, record);
        follow(&mut served, args, duration_ns, &stop)?;
        if let Some(why) = &served.server.gone {
            bail!("{} stopped answering: {why}", served.server.address);
        }
        return Ok(if served.server.findings().is_empty() { OK } else { INVALID });
    }
    let databases = match args.pid {
        Some(pid) => of_process(pid)?,
        None => args.databases.iter().map(|text| named::path_of(text)).collect::<Result<_>>()?,
    };
    let databases = Database::open_all(&databases)?;
    let depth = depth(args)?;
    // Before anything is created that must be removed.
    let stop = stop_on_signals()?;
    let _janitor = Janitor::start()?;
    let watch = Watch::start(databases, depth)?;
    // A watch that cannot begin leaves no directory.
    let record = args.out.as_deref().map(|out| Recorder::make(out, limit)).transpose()?;
    let mut files = Files::new(watch, record);
    follow(&mut files, args, duration_ns, &stop)?;
    Ok(if files.watch.findings().is_empty() { OK } else { INVALID })
}

/// Shows a watch until its end, then its findings.
fn follow(live: &mut dyn Live, args: &WatchArgs, duration_ns: Option<u64>, stop: &AtomicBool) -> Result<()> {
    let until = Until { end_ns: duration_ns.map(|ns| now_ns() + ns), stop };
    let on_screen = std::io::stdout().is_terminal() && std::io::stdin().is_terminal() && !args.json_line;
    let shown = match on_screen {
        true => session::on_screen(live, &until),
        false => session::in_lines(live, args.json_line, &until),
    };
    // The record is ended first: the pipe of what is shown may be closed.
    let files = live.end_record()?;
    shown?;
    if !args.json_line {
        print(&live.summary())?;
    }
    let Some(out) = args.out.as_deref().filter(|_| !files.is_empty()) else { return Ok(()) };
    let page = record::report(out)?;
    if args.json_line { Ok(()) } else { print(&format!("Report: {}\n", page.display())) }
}

/// The address of a server, if the target is one.
fn address(args: &WatchArgs) -> Result<Option<&str>> {
    let is_server = |text: &&String| text.contains("://") && !named::is_address(text);
    let Some(address) = args.databases.iter().find(is_server) else { return Ok(None) };
    ensure!(args.databases.len() == 1, "one server is watched at a time, without files");
    ensure!(args.depth.is_none() && !args.no_sql, "--depth and --no-sql are for SQLite; a server is always sampled");
    Ok(Some(address))
}

/// The databases that a process has open.
fn of_process(pid: u32) -> Result<Vec<PathBuf>> {
    let found = databases_of(pid);
    let mut found = found.with_context(|| {
        let command = rights::command().filter(|_| Path::new("/proc").join(pid.to_string()).exists());
        command.map_or(format!("process {pid} does not exist; `pgrep -a NAME` lists those of a program"), |command| {
            format!("process {pid} belongs to another user; as root: {command}")
        })
    })?;
    // A server that forks its workers has none open itself.
    if found.is_empty() {
        found = tree(pid).iter().filter_map(|process| databases_of(process.pid.cast_unsigned())).flatten().collect();
        found.sort();
        found.dedup();
    }
    ensure!(
        !found.is_empty(),
        "process {pid} and its children have no SQLite database open at this moment; name the file instead"
    );
    Ok(found)
}

fn depth(args: &WatchArgs) -> Result<Option<Depth>> {
    let Some(asked) = &args.depth else { return Ok(args.no_sql.then_some(Depth::Exact)) };
    match Depth::WORDS.iter().find(|(word, _)| word == asked) {
        Some((_, depth)) => Ok(Some(*depth)),
        None => bail!("--depth `{asked}`: there are {}", Depth::WORDS.map(|(word, _)| word).join(", ")),
    }
}

fn duration(text: &str) -> Result<u64> {
    let ns = duration_ns(text).map_err(|why| anyhow::anyhow!("--for `{text}`: {why}"))?;
    ensure!(ns > 0 && ns <= DURATION_NS_MAX, "--for `{text}`: it must be above 0 and at most 7 days");
    Ok(ns)
}

/// `contend report DIR` of a record of a watch.
pub fn report(dir: &Path, json: bool) -> Result<u8> {
    let saved = record::read(dir)?;
    let page = record::report(dir)?;
    print(&match json {
        true => serde_json::to_string_pretty(&saved)? + "\n",
        false => format!("{}\nReport: {}\n", record::text(dir, contend::cli::style())?, page.display()),
    })?;
    Ok(if saved.findings.is_empty() { OK } else { INVALID })
}

#[cfg(test)]
mod tests {
    use super::of_process;

    #[test]
    fn a_process_that_is_not_there_is_no_dead_end() {
        let why = of_process(u32::MAX).expect_err("no such process").to_string();
        assert!(why.contains("does not exist; `pgrep -a NAME`"), "{why}");
    }
}
