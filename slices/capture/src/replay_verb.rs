//! `contend replay`: arguments and output.

use crate::manifest::{Manifest, Server, make_private};
use crate::of_server;
use crate::on_server;
use crate::outcome::{Compared, ROWS, Refused, Replayed, Servers};
use crate::own_dir::OwnDir;
use crate::replay::replay;
use anyhow::{Context as _, Result, bail};
use clap::{ArgMatches, FromArgMatches, Parser, ValueHint};
use contend::cli::{INVALID, OK, STOPPED, print, stop_on_signals};
use contend::slice::Verb;
use contend::stats::harmless::harmless;
use contend::stats::precision::{count, counted};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Do again what was captured, on copies of the databases or on a server, and compare the results
#[derive(Parser)]
#[command(after_help = "Examples:
  contend capture --out day --values=full -- python3 app.py
  contend replay day                     as fast as possible
  contend replay day --speed captured    with the captured pauses; 4: faster
  contend replay day --to 'postgres://me@db/test?password_env=PW'
                                         on an empty database of PostgreSQL or MariaDB
  contend replay clients --to 'postgres://me@new/copy?password_env=PW'
                                         what a server's clients did, on a newer server

Transactions are carried out one after the other, in the order in which they held the write lock. The program's own \
databases are not touched. The capture needs --values=full. With --to SQLite's statements are translated first, and nothing \
is written if one has no translation.

A capture of a server's clients (--listen) needs --to, with a database of the same product that has the content of the \
beginning: copy it with pg_dump or mariadb-dump before the capture. Results of statements are compared, not tables. \
docs/capture.md explains the rest.

Exit status: 0 the tables are the same (of a server's clients: all results), 1 they differ, 2 nothing could be compared, \
usage or environment, 130 stopped.")]
struct ReplayArgs {
    /// The capture
    #[arg(value_hint = ValueHint::DirPath)]
    dir: PathBuf,
    /// asap, captured, or how many times as fast as captured
    #[arg(long, default_value = "asap")]
    speed: String,
    /// Address of an empty database on a server (postgres://, mysql://), in the form of --dsn; for a capture of clients, of
    /// one with the content of the beginning
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

impl ReplayArgs {
    /// The database for a server's capture.
    fn to_of_server(&self, server: &Server) -> Result<&str> {
        let needed = || {
            format!(
                "this is a capture of {}: name a database that has the content of its beginning, --to \
                 {}://USER@HOST/DATABASE",
                server.address, server.engine
            )
        };
        if self.skip_refused || self.keep.is_some() {
            bail!("--keep and --skip-refused are for captures of SQLite; this one is of {}", server.address);
        }
        self.to.as_deref().with_context(needed)
    }
}

fn run(args: &ReplayArgs) -> Result<u8> {
    let manifest = Manifest::read(&args.dir)?;
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
    if let Some(server) = &manifest.server {
        let to = args.to_of_server(server)?;
        return finish(args, of_server::replay(&args.dir, (&manifest, server), to, speed, &stop)?);
    }
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
    finish(args, replayed)
}

fn finish(args: &ReplayArgs, replayed: Option<Replayed>) -> Result<u8> {
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
    if let Some(Servers { captured, replayed, address }) = &replayed.servers {
        let _ = writeln!(out, "Captured on {captured}, replayed on {replayed} ({address}).");
    }
    replayed.databases.iter().for_each(|database| out += &compared(database));
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
    if replayed.diverged.iter().any(|one| one.what == ROWS) {
        out += "Other rows: a query returned another number of rows. The replay executes transactions one after the other, so a \
                query can find what another transaction changed before it or after it in the capture.\n";
    }
    for sentence in replayed.other_version.iter().chain(&replayed.left_out).chain(&replayed.missing) {
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

/// The comparison of a database with its end in the capture.
fn compared(database: &Compared) -> String {
    let mut out = String::new();
    let path = database.path.display();
    if database.tables > 0 && database.differ.is_empty() {
        let tables = match database.tables {
            1 => "its table is".to_string(),
            tables => format!("all {tables} tables are"),
        };
        let _ = writeln!(out, "{path}: {tables} the same as at the end of the capture.");
    }
    for (table, captured, replayed) in &database.differ {
        let rows = counted(*captured as usize, "row");
        let how = match database.columns.get(table).map_or(&[][..], Vec::as_slice) {
            [] => format!("{rows} only in the capture, {} only in the replay", count(*replayed)),
            [one] => format!("in {rows} with the same key only {one} differs"),
            several => format!("in {rows} with the same key {} differ", several.join(", ")),
        };
        let _ = writeln!(out, "{path}: table {table} DIFFERS: {how}.");
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
