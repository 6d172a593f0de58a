//! `contend capture`: arguments and output.

use crate::anonymise::anonymise;
use crate::finding::findings;
use crate::keys::keys;
use crate::listening::listen;
use crate::manifest::{Manifest, Values, write_named, write_private};
use crate::session::{Session, shown};
use crate::show;
use crate::summary::{Known, Sort};
use crate::trace::Trace;
use crate::workload::{self, Written};
use crate::workload::{rows, servers};
use anyhow::{Result, ensure};
use clap::{ArgMatches, FromArgMatches, Parser, Subcommand, ValueEnum, ValueHint};
use contend::cli::say;
use contend::cli::{OK, print, stop_on_signals, style};
use contend::report::{html, text};
use contend::slice::Verb;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Record what an unmodified program does to SQLite, PostgreSQL or MariaDB; show it, and make a workload of it
#[derive(Parser)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  contend capture -- python3 app.py            what it does, values as hashes
  contend capture --listen 127.0.0.1:6432 --to postgres://127.0.0.1:5432
                                               what the clients of a server do
  contend capture --out day --values=full -- ./app     with all values
  contend capture show capture-1               findings, transactions, tables
  contend replay day                           again, and compares the tables
  contend run capture-1 --quick                what would have helped?
  contend capture anonymise day --out hashed   hashes in place of values
  contend capture to-workload capture-1        writes workload and study again

The program is not changed, and its databases are opened by contend's own process only. SQLite is a \
shared library, or linked in with its symbols; what cannot be captured is named at once and at the end. Values are kept \
as keyed hashes, and the key is forgotten at the end. Clients of a server use the address of --listen instead of the \
server's, with their own users and passwords, which are not recorded. docs/capture.md explains every column and limit.

Exit status: that of the command (128 and the signal's number if a signal ended it), 2 usage or environment."
)]
struct CaptureArgs {
    #[command(subcommand)]
    verb: Option<CaptureVerb>,
    /// Directory for the capture [default: capture-1, capture-2, ...]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// The form in which values are stored
    #[arg(long, value_enum, default_value = "hash")]
    values: Keeps,
    /// Pass connections on to the server of --to, and record them: an address of this machine
    #[arg(long, value_name = "HOST:PORT", requires = "to", conflicts_with = "command")]
    listen: Option<String>,
    /// The server: postgres://HOST:PORT, mysql://HOST:PORT, or SCHEME:///?socket=PATH
    #[arg(long, value_name = "SERVER", requires = "listen")]
    to: Option<String>,
    /// The command, after `--`
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Keeps {
    /// Type, length and a keyed hash: equal values stay equal
    Hash,
    /// Everything, with copies of the databases; needed to replay
    Full,
}

#[derive(Subcommand)]
enum CaptureVerb {
    /// Show what a captured program does
    Show(ShowArgs),
    /// Write the workload and the study of a capture again, and list what is not in them
    ToWorkload(ToWorkloadArgs),
    /// Make a capture of hashes out of one with all values, to give away
    Anonymise(AnonymiseArgs),
}

#[derive(Parser)]
struct AnonymiseArgs {
    /// The capture, made with --values=full
    #[arg(value_hint = ValueHint::DirPath)]
    dir: PathBuf,
    /// Directory for the capture with hashes
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: PathBuf,
}

#[derive(Parser)]
struct ToWorkloadArgs {
    /// The capture; workload.toml, study.toml and crash.toml are written into it
    #[arg(value_hint = ValueHint::DirPath)]
    dir: PathBuf,
    /// The database that they are about, by its path or name [default: the one with the most lock errors]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    database: Option<PathBuf>,
}

#[derive(Parser)]
struct ShowArgs {
    /// The capture
    #[arg(value_hint = ValueHint::DirPath)]
    dir: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Write a page to read in a browser
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    page: Option<PathBuf>,
    /// Order of the statements, most first
    #[arg(long, value_enum, default_value = "time")]
    sort: Sort,
}

pub const VERB: Verb = Verb {
    name: "capture",
    after: "watch",
    run: |matches: &ArgMatches| run(&CaptureArgs::from_arg_matches(matches)?),
    example: "  contend capture -- python3 app.py     what your program does to SQLite",
    questions: &[("What does my own program do?", "contend capture -- python3 app.py")],
    ..Verb::of::<CaptureArgs>()
};

fn run(args: &CaptureArgs) -> Result<u8> {
    match &args.verb {
        Some(CaptureVerb::Show(show)) => self::show(show),
        Some(CaptureVerb::ToWorkload(args)) => to_workload(args),
        Some(CaptureVerb::Anonymise(args)) => anonymised(args),
        None => capture(args),
    }
}

fn capture(args: &CaptureArgs) -> Result<u8> {
    let addresses = args.listen.as_deref().zip(args.to.as_deref());
    ensure!(
        !args.command.is_empty() || addresses.is_some(),
        "name the command: contend capture -- COMMAND... (for a server: --listen and --to)"
    );
    let free = || (1..).map(|i| PathBuf::from(format!("capture-{i}"))).find(|path| !path.exists());
    let out = args.out.clone().or_else(free).expect("there is always a next number");
    let values = match args.values {
        Keeps::Hash => Values::Hash,
        Keeps::Full => Values::Full,
    };
    let stop = stop_on_signals()?;
    if let Some(addresses) = addresses {
        return listen(addresses, &out, values, &stop);
    }
    let status = Session::new(&out, &args.command, values, &stop)?.run()?;
    match write_study(&out, None) {
        Ok(written) => {
            let dir = shown(&out);
            written.notes().for_each(|sentence| say(sentence));
            if !written.left_out.is_empty() {
                let share = written.share.words();
                say(&format!("The study has {share}. What is left out: contend capture to-workload {dir}"));
            }
            contend::tell!("contend: What would have helped: contend run {dir} --quick");
            contend::tell!("contend: What a crash would take: contend run {dir}/crash.toml");
        }
        Err(why) => say(&format!("No study can be made of it: {why:#}")),
    }
    Ok(status)
}

/// Writes the workload and the study of a capture, about this database.
fn write_study(dir: &Path, database: Option<&Path>) -> Result<Written> {
    let manifest = Manifest::read(dir)?;
    manifest.needs_sqlite("A workload")?;
    let mut written = workload::write(dir, &manifest, Trace::read(dir, &manifest)?, database)?;
    rows::replace(dir, std::mem::take(&mut written.rows))?;
    let files = [("workload.toml", &written.workload), ("study.toml", &written.study), ("crash.toml", &written.crash)];
    for (name, text) in files {
        write_private(&dir.join(name), text.as_bytes())?;
    }
    Ok(written)
}

fn show(args: &ShowArgs) -> Result<u8> {
    let manifest = Manifest::read(&args.dir)?;
    let trace = Trace::read(&args.dir, &manifest)?;
    let known = Known::new(&manifest, trace);
    let mut summary = known.summary(args.sort);
    summary.findings = findings(&known);
    summary.keys = keys(&known);
    // It may have been edited since the capture.
    if let Ok(workload) = fs::read_to_string(args.dir.join("workload.toml"))
        && let Err(why) = servers::of_capture(&manifest, &workload, None, &mut summary.not_in_study)
    {
        summary.not_in_study.push(format!("{why:#}"));
    }
    let document = show::document(&summary, args.sort);
    if args.json {
        print(&(serde_json::to_string_pretty(&summary)? + "\n"))?;
    } else if args.page.is_none() {
        print(&text::text(&document, style()))?;
    }
    if let Some(page) = &args.page {
        write_named(Path::new(page), html::html(&document).as_bytes())?;
        print(&format!("{}\n", page.display()))?;
    }
    Ok(OK)
}

fn anonymised(args: &AnonymiseArgs) -> Result<u8> {
    anonymise(&args.dir, &args.out)?;
    let out = args.out.display();
    if Manifest::read(&args.out)?.server.is_none()
        && let Err(why) = write_study(&args.out, None)
    {
        say(&format!("No study can be made of it: {why:#}"));
    }
    print(&format!(
        "{out} has hashes in place of values, and no copy of the data. Still in it: paths, names, the command with its \
         arguments, the schema with its literals, and texts in double quotes in statements. Look at it before you give it \
         away: contend capture show {out}\n"
    ))?;
    Ok(OK)
}

fn to_workload(args: &ToWorkloadArgs) -> Result<u8> {
    let written = write_study(&args.dir, args.database.as_deref())?;
    written.left_out.iter().chain(written.notes()).for_each(|sentence| say(sentence));
    say(&format!("The study has {}.", written.share.words()));
    let dir = args.dir.display();
    print(&format!(
        "{dir}/workload.toml\n{dir}/study.toml\n{dir}/crash.toml\nRun it: contend run {dir} --quick\nWith power cuts: contend run {dir}/crash.toml\n"
    ))?;
    Ok(OK)
}
