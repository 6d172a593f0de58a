//! The command line: verbs and options, and the module of each.
//!
//! Results go to standard output, progress and complaints to standard error. Exit status: 0 everything is
//! valid; 1 a trial is invalid, or data is missing; 2 usage or environment; 130 stopped by the user.

mod compare;
mod doctor;
mod explain;
mod list;
mod manifests;
pub mod order;
mod plan;
mod report;
pub mod run;
mod shell;
mod text;
mod translate;
mod verify;

pub use shell::{
    INVALID, OK, STOPPED, USAGE, arguments, paragraph, print, print_on, print_plain, quoted, say, stop_on_signals,
    style,
};
pub use text::read_text;

use self::compare::CompareArgs;
use self::doctor::DoctorArgs;
use self::explain::ExplainArgs;
use self::list::ListArgs;
use self::plan::PlanVerb;
use self::report::ReportArgs;
use self::run::RunArgs;
use self::translate::TranslateArgs;
use self::verify::VerifyArgs;
use crate::slice::{self, Form, Process, Slice, Verb};
use crate::trial::itself;
use crate::trial::watch::janitor;
use anyhow::{Context, Result};
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser};
use clap_complete::Shell;
use shell::is_broken_pipe;
use std::ffi::OsString;
use std::process::ExitCode;

/// Verbs with which contend starts itself as another process; clap does not parse their arguments.
const WORKER_VERB: &str = "worker";

/// The command without its verbs.
#[derive(Parser)]
#[command(
    name = "contend",
    version,
    about = "Measures a database that many clients use at once, compares engines, settings and drivers, and finds what holds a lock",
    subcommand_required = true
)]
struct Contend;

const EXAMPLES: &str = "Examples:
  contend run                           16 processes with WordPress's work on
                                        one SQLite file, in about a minute
  contend run wordpress --full          every setting, both profiles, 12 rounds
  contend run wordpress --as-published  the original's arms and rounds, in Rust
                                        (in PHP: --driver mysql-on-sqlite)
  contend run --contender sqlite:journal_mode=wal,synchronous=off
                                        with one more contender
  contend run my-study.toml             a question of your own, as a file
  contend list                          studies, workloads, engines, drivers
";

// Wrapped at 80 columns, so that lines do not break twice on a narrow terminal.
const AFTER_EXAMPLES: &str = "  contend report results/DIR            write the report of a record again
  contend compare results/A results/B   two records side by side
  contend doctor                        what this machine has and what it lacks

A study measures contenders (an engine with settings, a driver and a way to
call it) in rounds. Its record and report are in results/DATE-STUDY.
`contend help VERB` lists the options of a verb. docs/reading-a-report.md
explains the words of a report, docs/study-file.md how to write a study.

Environment: CONTEND_WORKERS names directories of workers, with `:` between
two; a worker.toml there adds drivers (docs/workers.md; `contend doctor` says
where contend looks). CONTEND_SERVERS names other directories of the servers'
programs (docs/servers.md).

Exit status: 0 valid, 1 a trial is invalid, 2 usage or environment, 130 stopped.";

/// Print a completion script for a shell
#[derive(Parser)]
struct CompletionsArgs {
    /// Which shell
    shell: Shell,
}

/// The core's verbs, as `contend --help` lists them.
const VERBS: &[Verb] = &[
    Verb {
        name: "run",
        run: |m| run::run(&RunArgs::from_arg_matches(m)?),
        questions: &[("Does WAL help many processes?", "contend run")],
        ..Verb::of::<RunArgs>()
    },
    Verb { name: "report", run: |m| report::report(&ReportArgs::from_arg_matches(m)?), ..Verb::of::<ReportArgs>() },
    Verb {
        name: "compare",
        run: |m| compare::compare(&CompareArgs::from_arg_matches(m)?),
        ..Verb::of::<CompareArgs>()
    },
    Verb {
        name: "explain",
        run: |m| explain::explain(&ExplainArgs::from_arg_matches(m)?),
        questions: &[("What does this error mean?", "contend explain 'database is locked'")],
        ..Verb::of::<ExplainArgs>()
    },
    Verb { name: "list", run: |m| list::list(&ListArgs::from_arg_matches(m)?), ..Verb::of::<ListArgs>() },
    Verb { name: "doctor", run: |m| doctor::doctor(&DoctorArgs::from_arg_matches(m)?), ..Verb::of::<DoctorArgs>() },
    Verb { name: "verify", run: |m| verify::verify(&VerifyArgs::from_arg_matches(m)?), ..Verb::of::<VerifyArgs>() },
    Verb {
        name: "translate",
        run: |m| translate::translate(&TranslateArgs::from_arg_matches(m)?),
        ..Verb::of::<TranslateArgs>()
    },
    Verb { name: "plan", run: |m| plan::plan(&PlanVerb::from_arg_matches(m)?), ..Verb::of::<PlanVerb>() },
    Verb {
        name: "completions",
        run: |m| completions(&CompletionsArgs::from_arg_matches(m)?),
        ..Verb::of::<CompletionsArgs>()
    },
];

/// The core's verbs and those of the slices, in the order of `contend --help`.
fn verbs() -> Vec<Verb> {
    let mut verbs = VERBS.to_vec();
    for verb in slice::all().iter().flat_map(|slice| slice.verbs) {
        let at = verbs.iter().position(|other| other.name == verb.after).map_or(verbs.len(), |at| at + 1);
        verbs.insert(at, *verb);
    }
    verbs
}

/// Other forms of a verb, from slices.
fn forms(verb: &str) -> impl Iterator<Item = &'static Form> {
    slice::all().iter().flat_map(|slice| slice.forms).filter(move |form| form.verb == verb)
}

fn command(verbs: &[Verb]) -> Command {
    let examples: String =
        verbs.iter().filter(|verb| !verb.example.is_empty()).map(|verb| format!("{}\n", verb.example)).collect();
    let with_forms = |verb: &Verb| {
        let command = (verb.command)().name(verb.name);
        forms(verb.name).fold(command, |command, form| (form.options)(command))
    };
    Contend::command()
        .after_help(format!("{EXAMPLES}{examples}{AFTER_EXAMPLES}"))
        .subcommands(verbs.iter().map(with_forms))
}

/// The text of `contend` alone: ten questions, each with the command that answers it, in lines of at most 80 characters.
fn questions(verbs: &[Verb]) -> String {
    let all = || verbs.iter().flat_map(|verb| verb.questions).chain([&("Everything else:", "contend --help")]);
    let widest = all().map(|(question, _)| question.len()).max().unwrap_or(0);
    all().map(|(question, command)| format!("{question:widest$}  {command}\n")).collect()
}

/// Runs the command and returns its exit status.
pub fn main(slices: &'static [Slice]) -> ExitCode {
    slice::register(slices);
    itself::take_name();
    shell::survive_file_limits();
    let args: Vec<OsString> = std::env::args_os().collect();
    if let Some(process) = args.get(1).and_then(|verb| process(verb.to_str()?)) {
        let Some(args) = args[2..].iter().map(|arg| arg.to_str().map(str::to_string)).collect::<Option<Vec<_>>>()
        else {
            crate::tell!("contend: an argument is not UTF-8");
            return ExitCode::from(USAGE);
        };
        return (process.serve)(&args);
    }
    let verbs = verbs();
    if args.len() == 1 {
        return print(&questions(&verbs)).map_or(ExitCode::from(USAGE), |()| ExitCode::SUCCESS);
    }
    // clap prints help, version and usage errors itself, and leaves with 0 or 2.
    let matches = command(&verbs).try_get_matches().unwrap_or_else(|e| {
        let verb = verbs.iter().find(|verb| args.get(1).is_some_and(|typed| typed.as_os_str() == verb.name));
        verb.map_or_else(|| e.exit(), |verb| refuse(&e, verb))
    });
    match carry_out(&verbs, &matches) {
        Ok(code) => ExitCode::from(code),
        Err(e) if is_broken_pipe(&e) => ExitCode::SUCCESS,
        Err(e) => {
            crate::tell!("contend: {e:#}");
            ExitCode::from(USAGE)
        }
    }
}

/// Prints what clap says of the options of a verb, and an example if one is missing or unknown. Leaves as clap does.
fn refuse(error: &clap::Error, verb: &Verb) -> ! {
    use clap::error::ErrorKind::{MissingRequiredArgument, UnknownArgument};
    if error.kind() == UnknownArgument {
        crate::ui::tell(verb.unknown_option);
    }
    if !matches!(error.kind(), UnknownArgument | MissingRequiredArgument) {
        error.exit()
    }
    // A closed pipe: the status says the same.
    let _ = error.print();
    if let Some(example) = example(verb) {
        crate::tell!("For example: {example}");
    }
    std::process::exit(error.exit_code())
}

/// The first command among the examples of a verb's help, without its explanation.
fn example(verb: &Verb) -> Option<String> {
    let help = (verb.command)().get_after_help()?.to_string();
    let begin = format!("contend {} ", verb.name);
    let line = help.lines().map(str::trim).find(|line| line.starts_with(&begin))?;
    line.split("  ").next().map(str::to_string)
}

/// The role in which contend was started as another process, if any.
fn process(verb: &str) -> Option<Process> {
    let ours = [
        Process { verb: WORKER_VERB, serve: contend_worker::main },
        Process {
            verb: janitor::VERB,
            serve: |_| {
                janitor::serve();
                ExitCode::SUCCESS
            },
        },
    ];
    let theirs = slice::all().iter().flat_map(|slice| slice.processes).copied();
    ours.into_iter().chain(theirs).find(|process| process.verb == verb)
}

fn carry_out(verbs: &[Verb], matches: &ArgMatches) -> Result<u8> {
    manifests::add()?;
    let (name, matches) = matches.subcommand().context("no verb")?;
    if let Some(form) = forms(name).find(|form| matches.contains_id(form.chosen_by)) {
        return (form.run)(matches);
    }
    let verb = verbs.iter().find(|verb| verb.name == name).context("a verb without a table entry")?;
    (verb.run)(matches)
}

fn completions(args: &CompletionsArgs) -> Result<u8> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut command(&verbs()), "contend", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(OK)
}
