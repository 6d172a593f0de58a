//! `contend capture`: arguments, and what is printed.

use crate::manifest::{Manifest, Values, write_private};
use crate::session::Session;
use crate::show;
use crate::summary::Known;
use crate::trace::Trace;
use crate::workload;
use anyhow::{Result, ensure};
use clap::{ArgMatches, FromArgMatches, Parser, Subcommand, ValueEnum, ValueHint};
use contend::cli::{OK, colour, print, stop_on_signals};
use contend::report::{html, text};
use contend::slice::Verb;
use std::path::{Path, PathBuf};

/// Record what an unmodified program does to SQLite; show it, and make a workload of it
#[derive(Parser)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  contend capture -- python3 app.py                 what it does, with hashes instead of values
  contend capture --out day --values=full -- ./app  with all values, so that it can be replayed
  contend capture show capture-1                    transactions, statements, connections, keys
  contend replay day                                does it again and compares the tables at the end
  contend capture to-workload capture-1             a workload and a study: contend run capture-1

The program is not changed, and its databases are opened by contend's own process only. SQLite must be \
linked dynamically; what cannot be captured is named at once and at the end. Values are kept as keyed hashes, and the key \
is forgotten at the end. docs/capture.md explains every column and limit.

Exit status: that of the command (128 and the signal's number if a signal ended it), 2 usage or environment."
)]
struct CaptureArgs {
    #[command(subcommand)]
    verb: Option<CaptureVerb>,
    /// Directory for the capture [default: capture-1, capture-2, ...]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// What is kept of values
    #[arg(long, value_enum, default_value = "hash")]
    values: Keeps,
    /// The command, after `--`
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    command: Vec<String>,
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
    /// Make a workload and a study of a capture, to run and to edit
    ToWorkload(ToWorkloadArgs),
}

#[derive(Parser)]
struct ToWorkloadArgs {
    /// The capture; workload.toml and study.toml are written into it
    #[arg(value_hint = ValueHint::DirPath)]
    dir: PathBuf,
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
}

pub const VERB: Verb = Verb {
    name: "capture",
    after: "watch",
    run: |matches: &ArgMatches| run(&CaptureArgs::from_arg_matches(matches)?),
    example: "  contend capture -- python3 app.py     what your program does to SQLite",
    questions: &[("What does my own program do to its SQLite database?", "contend capture -- python3 app.py")],
    ..Verb::of::<CaptureArgs>()
};

fn run(args: &CaptureArgs) -> Result<u8> {
    match &args.verb {
        Some(CaptureVerb::Show(show)) => self::show(show),
        Some(CaptureVerb::ToWorkload(args)) => to_workload(args),
        None => capture(args),
    }
}

fn capture(args: &CaptureArgs) -> Result<u8> {
    ensure!(!args.command.is_empty(), "name the command: contend capture -- COMMAND...");
    let free = || (1..).map(|i| PathBuf::from(format!("capture-{i}"))).find(|path| !path.exists());
    let out = args.out.clone().or_else(free).expect("there is always a next number");
    let values = match args.values {
        Keeps::Hash => Values::Hash,
        Keeps::Full => Values::Full,
    };
    let stop = stop_on_signals()?;
    Session::new(&out, &args.command, values, &stop)?.run()
}

fn show(args: &ShowArgs) -> Result<u8> {
    let manifest = Manifest::read(&args.dir)?;
    let trace = Trace::read(&args.dir, &manifest)?;
    let summary = Known::new(&manifest, trace).summary();
    let document = show::document(&summary);
    if args.json {
        print(&(serde_json::to_string_pretty(&summary)? + "\n"))?;
    } else if args.page.is_none() {
        print(&text::text(&document, colour()))?;
    }
    if let Some(page) = &args.page {
        write_private(Path::new(page), html::html(&document).as_bytes())?;
        print(&format!("{}\n", page.display()))?;
    }
    Ok(OK)
}

fn to_workload(args: &ToWorkloadArgs) -> Result<u8> {
    let manifest = Manifest::read(&args.dir)?;
    let known = Known::new(&manifest, Trace::read(&args.dir, &manifest)?);
    let written = workload::write(&args.dir, &known)?;
    for (name, text) in [("workload.toml", &written.workload), ("study.toml", &written.study)] {
        write_private(&args.dir.join(name), text.as_bytes())?;
        print(&format!("{}\n", args.dir.join(name).display()))?;
    }
    for sentence in &written.left_out {
        eprintln!("contend: {sentence}");
    }
    print(&format!("Run it: contend run {} --quick\n", args.dir.display()))?;
    Ok(OK)
}
