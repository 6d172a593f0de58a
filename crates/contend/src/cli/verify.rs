//! `contend verify`: carries out the same operations on several engines, or in-process and over HTTP, and compares the
//! results.

use super::plan::{Drawn, contender, single};
use super::{INVALID, OK, STOPPED, print_plain, stop_on_signals};
use crate::engine::ENGINES;
use crate::study::CYCLE;
use crate::trial::contents::Contents;
use crate::trial::equal::{Came, Effort, carry_out};
use crate::trial::server::private::Programs;
use crate::trial::stop::Cancelled;
use crate::workload;
use anyhow::{Result, ensure};
use clap::{Parser, ValueHint};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Carry out the same operations on several engines and compare the results
#[derive(Parser)]
#[command(after_help = "Examples:
  contend verify bank     the same transfers on every installed engine")]
pub(super) struct VerifyArgs {
    /// A built-in workload (see `contend list workloads`) or the path of a workload file
    #[arg(value_hint = ValueHint::AnyPath)]
    workload: String,
    /// Contenders to compare with SQLite [default: every engine this machine has]
    #[arg(long, value_name = "SPEC")]
    contender: Vec<String>,
    /// Number of operations of the single client
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    operations: u32,
    /// Profile of the workload [default: the first]
    #[arg(long)]
    profile: Option<String>,
    /// Seed of every random choice
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: u64,
    /// Multiplies the workload's row counts
    #[arg(long, value_name = "FACTOR", default_value_t = 0.1)]
    scale: f64,
    /// Longest time for the operations of one contender, in seconds; a request over HTTP waits 30 s for its answer, or
    /// request_timeout_ms, a setting of the contender
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Directory to work in; it is empty again afterwards
    #[arg(long, value_name = "DIR", default_value = "results", value_hint = ValueHint::DirPath)]
    out: PathBuf,
}

pub(super) fn verify(args: &VerifyArgs) -> Result<u8> {
    let stop = stop_on_signals()?;
    let source = workload::LIBRARY.open(&args.workload, |path| super::read_text(path))?;
    let parsed = workload::parse(&source)?;
    let installed = ENGINES.iter().filter(|engine| engine.server.is_some_and(|s| Programs::find(s).is_ok()));
    let installed: Vec<String> = installed.map(|engine| engine.name.to_string()).collect();
    let contenders =
        specs(&args.contender, installed)?.iter().map(|spec| contender(spec)).collect::<Result<Vec<_>>>()?;
    let study = {
        let (seed, scale, cycle) = (args.seed, args.scale, args.operations.min(CYCLE));
        single(&parsed, contenders, args.profile.as_deref(), &Drawn { seed, scale, cycle })?
    };
    let out = args.out.join(format!(".verify-{}", std::process::id()));
    let effort = Effort { operations: args.operations, timeout: Duration::from_secs(args.timeout) };
    let came = carry_out(&study, &source, &out, effort, &|| stop.load(Ordering::Relaxed));
    let came = match came {
        Err(e) if e.is::<Cancelled>() => {
            crate::tell!("Stopped; nothing is left.");
            return Ok(STOPPED);
        }
        came => came?,
    };
    let (text, same) = in_words(&came);
    print_plain(&text)?;
    Ok(if same { OK } else { INVALID })
}

/// SQLite, and the contenders that were typed, or else the servers that are installed.
fn specs(typed: &[String], installed: Vec<String>) -> Result<Vec<String>> {
    let others = if typed.is_empty() { installed } else { typed.to_vec() };
    ensure!(
        !others.is_empty(),
        "there is nothing to compare SQLite with: name a --contender, or install a server (contend doctor)"
    );
    Ok(["sqlite".to_string()].into_iter().chain(others).collect())
}

/// All results in words, and whether they are equal.
fn in_words(came: &[Came]) -> (String, bool) {
    let mut text = String::new();
    let Some(first) = came.first() else { return (text, true) };
    let mut same = true;
    let operations: BTreeSet<&String> = came.iter().flat_map(|c| c.attempts.keys()).collect();
    for what in operations {
        let cell = |c: &Came| match c.attempts.get(what) {
            None => "none".to_string(),
            // A worker that does not report rows agrees if the attempts do.
            Some(sum) => match sum.rows.or(first.attempts.get(what).and_then(|first| first.rows)) {
                Some(rows) => format!("{} ({rows} rows)", sum.attempts),
                None => format!("{}", sum.attempts),
            },
        };
        same &= line(&mut text, what, came, first, cell);
    }
    for table in first.tables.keys() {
        let cell = |c: &Came| c.tables.get(table).map_or("none".to_string(), Contents::in_short);
        same &= line(&mut text, &format!("table {table}"), came, first, cell);
        let reference = &first.tables[table];
        for other in came {
            let difference = other.tables.get(table).and_then(|there| reference.difference(there));
            if let Some(difference) = difference {
                let _ = writeln!(text, "  {}: {difference}", other.contender);
            }
        }
        if !reference.clocked.is_empty() {
            let columns = reference.clocked.iter().cloned().collect::<Vec<_>>().join(", ");
            let _ = writeln!(text, "  times of the run are not compared: {columns}");
        }
    }
    let names: Vec<&str> = came.iter().map(|c| c.contender.as_str()).collect();
    let verdict = if same { "The same everywhere" } else { "NOT the same everywhere" };
    let _ = writeln!(text, "{verdict}: {}.", names.join("; "));
    (text, same)
}

fn line(text: &mut String, what: &str, came: &[Came], first: &Came, cell: impl Fn(&Came) -> String) -> bool {
    let expected = cell(first);
    let others = came.iter().skip(1).map(|c| (c, cell(c))).filter(|(_, cell)| *cell != expected);
    let others: Vec<String> = others.map(|(c, cell)| format!("{}: {cell}", c.contender)).collect();
    let _ = match others.is_empty() {
        true => writeln!(text, "{what}: {expected}"),
        false => writeln!(text, "{what}: {expected}, BUT {}", others.join(", ")),
    };
    others.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlite_alone_is_no_comparison() {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let error = specs(&[], vec![]).expect_err("nothing to compare with").to_string();
        assert!(error.contains("name a --contender"), "{error}");
        assert_eq!(specs(&[], words(&["postgres"])).expect("two"), ["sqlite", "postgres"]);
        assert_eq!(specs(&words(&["mariadb"]), words(&["postgres"])).expect("two"), ["sqlite", "mariadb"]);
    }
}
