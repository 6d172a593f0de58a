//! `contend replay`: arguments and output.

use crate::manifest::{Manifest, make_private};
use crate::on_server;
use crate::outcome::{Refused, Replayed};
use crate::own_dir::OwnDir;
use crate::replay::replay;
use anyhow::{Result, bail};
use clap::{ArgMatches, FromArgMatches, Parser, ValueHint};
use contend::cli::{INVALID, OK, STOPPED, print, stop_on_signals};
use contend::slice::Verb;
use contend::stats::harmless::harmless;
use contend::stats::precision::counted;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Do again what was captured, on copies of the databases or on a server, and compare the tables at the end
#[derive(Parser)]
#[command(after_help = "Examples:
  contend capture --out day --values=full -- python3 app.py
  contend replay day                     as fast as possible
  contend replay day --speed captured    with the captured pauses; `--speed 4` four times as fast
  contend replay day --to 'postgres://me@db/test?password_env=PW'
                                         on an empty database of PostgreSQL or MariaDB

Transactions are carried out one after the other, in the order in which they held the write lock. The program's own \
databases are not touched. The capture needs --values=full. With --to all statements are translated first, and nothing is \
written if one has no translation; docs/capture.md explains the rest.

Exit status: 0 the tables are the same, 1 they differ, 2 nothing could be compared, usage or environment, 130 stopped.")]
struct ReplayArgs {
    /// The capture
    #[arg(value_hint = ValueHint::DirPath)]
    dir: PathBuf,
    /// asap, captured, or how many times as fast as captured
    #[arg(long, default_value = "asap")]
    speed: String,
    /// Address of an empty database on a server (postgres://, mysql://), in the form of --dsn
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,
    /// Leave statements out that have no translation
    #[arg(long, requires = "to")]
    skip_refused: bool,
    /// Keep the replayed databases in this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    keep: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub const VERB: Verb = Verb {
    name: "replay",
    after: "capture",
    run: |matches: &ArgMatches| run(&ReplayArgs::from_arg_matches(matches)?),
    ..Verb::of::<ReplayArgs>()
};

fn run(args: &ReplayArgs) -> Result<u8> {
    let manifest = Manifest::read(&args.dir)?;
    manifest.needs_sqlite("A replay")?;
    manifest.needs_values("A replay")?;
    let speed = match args.speed.as_str() {
        "asap" => None,
        "captured" => Some(1.0),
        number => match number.parse::<f64>() {
            Ok(times) if times.is_finite() && times > 0.0 => Some(times),
            _ => bail!("--speed `{number}`: there are asap, captured, and numbers such as 4"),
        },
    };
    let stop = stop_on_signals()?;
    let replay = |dir: &Path| match &args.to {
        None => replay(&args.dir, &manifest, dir, speed, &stop),
        Some(to) => {
            let (taken, skips_refused) = (args.dir.as_path(), args.skip_refused);
            let asked = on_server::Asked { taken, manifest: &manifest, dir, to, skips_refused, speed };
            on_server::replay(&asked, &stop)
        }
    };
    let replayed = match &args.keep {
        Some(dir) => {
            make_private(dir)?;
            replay(dir)?
        }
        None => {
            let dir = OwnDir::new(&args.dir)?;
            replay(dir.path())?
        }
    };
    let Some(replayed) = replayed else {
        contend::tell!("stopped: nothing was compared");
        return Ok(STOPPED);
    };
    print(&if args.json {
        serde_json::to_string_pretty(&replayed)? + "\n"
    } else {
        harmless(&text(&replayed, args.keep.as_deref())).into_owned()
    })?;
    if let Some(why) = &replayed.not_compared {
        bail!("{why}");
    }
    Ok(if replayed.is_same() { OK } else { INVALID })
}

fn text(replayed: &Replayed, kept: Option<&Path>) -> String {
    let mut out = String::new();
    let seconds = |ns: u64| ns as f64 / 1e9;
    out += &refused(&replayed.refused);
    let was_carried_out = replayed.refused.is_empty() || replayed.statements > 0;
    if was_carried_out {
        let _ = writeln!(
            out,
            "{}, {} in {:.2} s (captured: {:.2} s).",
            counted(replayed.transactions as usize, "transaction"),
            counted(replayed.statements as usize, "statement"),
            seconds(replayed.replayed_ns),
            seconds(replayed.captured_ns)
        );
    }
    for database in &replayed.databases {
        let path = database.path.display();
        if database.tables > 0 && database.differ.is_empty() {
            let tables = match database.tables {
                1 => "its table is".to_string(),
                tables => format!("all {tables} tables are"),
            };
            let _ = writeln!(out, "{path}: {tables} the same as at the end of the capture.");
        }
        for (table, captured, replayed) in &database.differ {
            let _ = writeln!(
                out,
                "{path}: table {table} DIFFERS: {} only in the capture, {replayed} only in the replay.",
                counted(*captured as usize, "row")
            );
        }
    }
    if replayed.statements > 0 && replayed.diverged.is_empty() {
        out += "No compared result of a statement differs from the captured one.\n";
    }
    for one in &replayed.diverged {
        let _ = writeln!(
            out,
            "{}: {} times other {}: {} captured, {} replayed (the first time).",
            one.statement, one.count, one.what, one.captured, one.replayed
        );
    }
    for sentence in replayed.left_out.iter().chain(&replayed.missing) {
        let _ = writeln!(out, "{sentence}");
    }
    if let Some(left) = &replayed.left {
        let _ = writeln!(out, "The tables are left on {}; to remove them: {}", left.address, left.remove);
    }
    if let Some(kept) = kept.filter(|_| was_carried_out) {
        let _ = writeln!(out, "The replayed databases are in {}.", kept.display());
    }
    out
}

fn refused(all: &[Refused]) -> String {
    let mut out = String::new();
    for one in all {
        let _ = writeln!(
            out,
            "No translation: {}\n  {}; {} ({:.1} % of the calls, {:.1} % of the time in statements).",
            one.statement,
            one.why,
            counted(one.calls as usize, "call"),
            one.calls_percent,
            one.time_percent
        );
    }
    out
}
