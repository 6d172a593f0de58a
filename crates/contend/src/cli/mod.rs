//! The command line: what can be said, and which module carries it out.
//!
//! Results go to standard output, progress and complaints to standard error. Exit status: 0 everything is
//! valid; 1 a trial is invalid, or data is missing; 2 usage or environment; 130 stopped by the user.

mod compare;
mod doctor;
mod durability;
mod http;
mod list;
mod manifests;
mod plan;
mod report;
mod run;
mod translate;
mod verify;

use crate::report::text::Colour;
use crate::trial::janitor;
use crate::trial::powercut::{recorder, shim};
use anyhow::Result;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A valid result.
pub const OK: u8 = 0;
/// A trial is invalid, or a record is damaged.
pub const INVALID: u8 = 1;
/// Usage or environment.
pub const USAGE: u8 = 2;
/// Stopped by the user.
pub const STOPPED: u8 = 130;

/// Becomes true when somebody wants the run to end. The second signal ends the tool at once; the janitor then cleans up.
fn stop_on_signals() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(signal, i32::from(STOPPED), Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// Verbs that other processes of contend are started with; their arguments are not clap's.
const WORKER_VERB: &str = "worker";

#[derive(Parser)]
#[command(
    name = "contend",
    version,
    about = "Shows what a database does when many clients want it at once, and says which one to use",
    after_help = "Examples:
  contend run                          the WordPress study on SQLite, quick: a bit over a minute
  contend run wordpress --full         every setting, both profiles, twelve rounds
  contend run wordpress --as-published the original's way of measuring, flaws included
  contend run --contender sqlite:journal_mode=wal,synchronous=off
                                       one contender more than the study has
  contend run my-study.toml            a question of your own, as a file
  contend list                         studies, workloads, engines and drivers that there are
  contend http http://127.0.0.1:8080/  load an HTTP service
  contend report results/DIR           write the report of a record again
  contend compare results/A results/B  two records side by side
  contend doctor                       what this machine has, and what it lacks

A study measures contenders (an engine with settings, a driver and a way to call it) in rounds. Its record and report are
left in results/DATE-STUDY. `contend help VERB` says what each verb takes; what the words of a report mean is in
docs/reading-a-report.md, how to write a study in docs/study-file.md.

Environment: CONTEND_WORKERS names directories of workers, with `:` between two; a worker.toml there adds drivers
(docs/workers.md; `contend doctor` says where workers are looked for). CONTEND_SERVERS names other directories of the
servers' programs (docs/servers.md).

Exit status: 0 valid, 1 a trial is invalid, 2 usage or environment, 130 stopped."
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run a study and write its report
    Run(Box<RunArgs>),
    /// Carry out a scenario against a service over HTTP and write its report
    Http(Box<http::HttpArgs>),
    /// Write the report of a record again, from the record alone
    Report(ReportArgs),
    /// Compare two records, or the variants in a CSV of timings
    Compare(CompareArgs),
    /// List what there is: workloads, studies, scenarios, engines, drivers, outcomes
    List(ListArgs),
    /// Say what this machine has and what it lacks
    Doctor(DoctorArgs),
    /// Carry out the same operations on several engines and compare what came of them
    Verify(verify::VerifyArgs),
    /// Translate SQLite's SQL into that of a server, or say why it cannot be
    Translate(translate::TranslateArgs),
    /// Look at what a power cut has left
    #[command(subcommand)]
    Durability(durability::DurabilityVerb),
    /// Show what a worker is told to do
    #[command(subcommand)]
    Plan(PlanVerb),
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: Shell,
    },
}

#[derive(Args)]
#[command(after_help = "Examples:
  contend run                               the first built-in study, quick
  contend run wordpress --set profile=public --rounds 6
  contend run wordpress --set synchronous=full,normal --only '*FULL*'
  contend run wordpress --rate 500          open loop: 500 arrivals per second, however long they take
  contend run my-study.toml --out results/mine
  contend run my-study.toml --set part=a,b  only these parts of a study that has several
  contend run --resume results/mine         continue what was interrupted")]
struct RunArgs {
    /// A built-in study (see `contend list studies`) or the path of a study file
    #[arg(value_hint = ValueHint::AnyPath)]
    study: Option<String>,
    /// Few cells and short windows (the default without a study)
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The whole study (the default with a study)
    #[arg(long)]
    full: bool,
    /// Measure the way the original did, flaws included
    #[arg(long)]
    as_published: bool,
    /// Values of an axis or a setting, such as journal_mode=wal,delete, profile=public or clients=1,8; part=a,b for parts of
    /// a study. Can be given several times
    #[arg(long, value_name = "AXIS=V,...")]
    set: Vec<String>,
    /// One contender more: engine[/driver[/model]]:key=value,... (see `contend list engines` and `contend list drivers`)
    #[arg(long, value_name = "SPEC")]
    contender: Vec<String>,
    /// Only contenders whose label or spec matches (a part of it, or with * and ?)
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,
    /// This driver for every contender whose engine has it (see `contend list drivers`)
    #[arg(long, value_name = "NAME")]
    driver: Option<String>,
    /// Rounds: how often every contender has its turn
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Clients in each worker process
    #[arg(long, value_name = "N")]
    clients: Option<u32>,
    /// Worker processes
    #[arg(long, value_name = "N")]
    processes: Option<u32>,
    /// Open loop: arrivals per second over all clients
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<f64>,
    /// Multiplies the workload's row counts
    #[arg(long, value_name = "FACTOR")]
    scale: Option<f64>,
    /// Everything random follows from it
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Length of the measured window, such as 2s or 500ms
    #[arg(long, value_name = "TIME")]
    window: Option<String>,
    /// Directory of the record [default: results/DATE-STUDY, with -as-published and -quick for such runs]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Continue the run that this record was interrupted in, with the same --dsn and commands in place of workers
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = [
        "study", "quick", "full", "as_published", "set", "contender", "only", "driver", "rounds", "clients", "processes",
        "rate", "scale", "seed", "window", "out",
    ])]
    resume: Option<PathBuf>,
    /// Work on this running server instead of private ones: postgres://USER@HOST/ or mysql://USER@HOST/, the password
    /// with password_env=NAME or password_file=PATH after a `?` (in the address itself others can see it)
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    dsn: Option<String>,
    /// Let the data lie on a file system in memory, where a sync costs nothing
    #[arg(long)]
    allow_tmpfs: bool,
    /// Start this shell command as the worker instead of the driver's own
    #[arg(long, value_name = "COMMAND")]
    worker_command: Option<String>,
    /// Start this shell command in place of contend's own client that asks over HTTP (with transport=http)
    #[arg(long, value_name = "COMMAND")]
    client_command: Option<String>,
    /// Seconds a worker may take to get ready, be silent while it works, hand over its samples, and that the check of one
    /// database's data may take [default: 60, 15, 60 and 60]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    deadline: Option<u64>,
    /// Print the result as JSON instead of text
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Args)]
struct ReportArgs {
    /// Directory of the record
    #[arg(value_hint = ValueHint::DirPath, required_unless_present = "import", conflicts_with = "import")]
    dir: Option<PathBuf>,
    /// Print the numbers as JSON instead of the text
    #[arg(long, conflicts_with = "import")]
    json: bool,
    /// Draw a CSV in the columns of a study's export, which nobody here measured, instead of a record
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    import: Option<PathBuf>,
    /// The study whose export it is, if it is not built in
    #[arg(long, value_name = "STUDY", value_hint = ValueHint::FilePath, requires = "import")]
    study: Option<String>,
    /// Where to put what is drawn [default: FILE without .csv]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "import")]
    out: Option<PathBuf>,
}

#[derive(Args)]
struct CompareArgs {
    /// Directories of two records: the one to compare with, then the one in question
    #[arg(value_hint = ValueHint::DirPath, num_args = 2, required_unless_present = "csv", conflicts_with = "csv")]
    records: Vec<PathBuf>,
    /// A CSV file of timings instead of records
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "variant", requires = "value")]
    csv: Option<PathBuf>,
    /// Column that says which variant a line measures
    #[arg(long, value_name = "COLUMN")]
    variant: Option<String>,
    /// Column of the timing: 12.5, 10:26, 10m40s, 640ms
    #[arg(long, value_name = "COLUMN")]
    value: Option<String>,
    /// Column that groups lines; each group is compared by itself
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// Column whose equal values belong together [default: pair, round or run, if there is one]
    #[arg(long, value_name = "COLUMN", conflicts_with = "unpaired")]
    pair: Option<String>,
    /// Ignore any pairing
    #[arg(long)]
    unpaired: bool,
    /// The variant to compare with [default: the first in the file]
    #[arg(long, value_name = "VALUE")]
    baseline: Option<String>,
    /// The values are rates, not times
    #[arg(long)]
    higher_is_better: bool,
    /// Differences up to this many per cent do not matter
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    margin: f64,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct ListArgs {
    /// What to list, in full; without it everything, a line for each
    #[arg(value_enum)]
    what: Option<list::What>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(
    after_help = "Drivers that are programs of their own are looked for in the directory that CONTEND_WORKERS names, else in `workers` \
    beside contend or beside its profile's directory."
)]
struct DoctorArgs {
    /// Directory whose disk is measured [default: the current one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum PlanVerb {
    /// Print the plan of one worker exactly as it gets it
    Show(plan::ShowArgs),
}

/// The command, from its arguments to its exit status.
pub fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some(WORKER_VERB) => return contend_worker::main(&args[2..]),
        Some(janitor::VERB) => {
            janitor::serve();
            return ExitCode::SUCCESS;
        }
        Some(recorder::VERB) => return recorder::serve(&args[2..]),
        Some(shim::VERB) => return shim::serve(&args[2..]),
        _ => {}
    }
    // clap prints help, version and usage errors itself, and leaves with 0 or 2.
    let cli = Cli::try_parse().unwrap_or_else(|e| {
        let unknown = e.kind() == clap::error::ErrorKind::UnknownArgument;
        if unknown && args.get(1).is_some_and(|verb| verb == "http") {
            // clap leaves at once.
            eprintln!("A scenario's variables are set with --set NAME=VALUE,...\n");
        }
        e.exit()
    });
    match dispatch(cli.verb) {
        Ok(code) => ExitCode::from(code),
        Err(e) if is_broken_pipe(&e) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("contend: {e:#}");
            ExitCode::from(USAGE)
        }
    }
}

fn dispatch(verb: Verb) -> Result<u8> {
    manifests::add()?;
    match verb {
        Verb::Run(args) => run::run(&args),
        Verb::Http(args) => http::http(&args),
        Verb::Report(args) => report::report(&args),
        Verb::Compare(args) => compare::compare(&args),
        Verb::List(args) => list::list(&args),
        Verb::Doctor(args) => doctor::doctor(&args),
        Verb::Verify(args) => verify::verify(&args),
        Verb::Translate(args) => translate::translate(&args),
        Verb::Durability(durability::DurabilityVerb::Replay(args)) => durability::replay(&args),
        Verb::Durability(durability::DurabilityVerb::Evidence(args)) => durability::evidence(&args),
        Verb::Plan(PlanVerb::Show(args)) => plan::show(&args),
        Verb::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "contend", &mut std::io::stdout());
            Ok(OK)
        }
    }
}

/// Whoever reads our output may stop reading: `contend list ... | head` is not an error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Colour on a terminal, unless the user does not want it (<https://no-color.org>).
fn colour() -> Colour {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    if wanted && std::io::stdout().is_terminal() { Colour::Ansi } else { Colour::No }
}

/// A definition is no longer than this: whoever names a device or a dump should learn it before memory is gone.
const TEXT_BYTES_MAX: u64 = 16 << 20;

/// The text of a file that somebody wrote.
fn read_text(path: impl AsRef<Path>) -> std::io::Result<String> {
    use std::io::Error;
    let path = path.as_ref();
    let file = std::fs::metadata(path)?;
    if !file.is_file() {
        return Err(Error::other("it is no regular file"));
    }
    if file.len() > TEXT_BYTES_MAX {
        return Err(Error::other(format!("it has {} bytes, and a definition at most {TEXT_BYTES_MAX}", file.len())));
    }
    std::fs::read_to_string(path)
}

/// Writes to standard output; a closed pipe is an error of the kind [`is_broken_pipe`] knows.
fn print(text: &str) -> Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}
