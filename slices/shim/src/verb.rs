//! `contend shim`: arguments.

use crate::run::{Asked, run};
use anyhow::{Result, ensure};
use clap::{ArgMatches, FromArgMatches, Parser, ValueEnum, ValueHint};
use contend::cli::stop_on_signals;
use contend::slice::Verb;
use std::path::PathBuf;

/// Run an unmodified SQLite program with its databases on PostgreSQL or MariaDB
#[derive(Parser)]
#[command(after_help = "Examples:
  contend shim --to postgres://me@localhost/app -- python3 app.py
  contend shim --to 'postgres://me@/app?socket=/run/postgresql/.s.PGSQL.5432' \\
      -- sqlite3 notes.db
  contend shim --to mysql://me@localhost/ -- python3 app.py

Every database file that the command opens is a schema of PostgreSQL or a database of MariaDB, named after the file's \
path; databases in memory and temporary ones stay with SQLite. SQL is translated as by `contend translate`; what has no translation fails \
with SQLITE_ERROR, the rule and the place, and is listed at the end. So are the statements that took most time, and \
the errors that the program received, counted by code, with what to do about SQLITE_BUSY. SQLite must be linked dynamically. \
docs/shim.md says what works, what is refused and what it costs.

Exit status: that of the command (128 and the signal's number if a signal ended it), 2 usage or environment.")]
struct ShimArgs {
    /// The server: postgres://USER@HOST/DATABASE or mysql://USER@HOST/, the password with ?password_file=PATH or ?password_env=NAME
    #[arg(long, value_name = "URL")]
    to: String,
    /// What BEGIN IMMEDIATE and EXCLUSIVE do
    #[arg(long, value_enum, default_value = "lock")]
    immediate: Immediate,
    /// On MariaDB, CREATE, ALTER and DROP in a transaction that has read or changed rows
    #[arg(long, value_enum, default_value = "refuse")]
    ddl: Ddl,
    /// What is kept for the next use of a statement
    #[arg(long, value_enum, default_value = "all")]
    cache: Cache,
    /// Write refused and noted statements to a file instead of standard error
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    log: Option<PathBuf>,
    /// The command, after `--`
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    command: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Immediate {
    /// Such transactions wait for each other, as in SQLite
    Lock,
    /// They begin like others; conflicts are errors
    Plain,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ddl {
    /// They are errors: MariaDB would commit the transaction
    Refuse,
    /// They commit it; a ROLLBACK afterwards is an error
    Commit,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Cache {
    /// Its translation; from its third use it is also prepared on the server
    All,
    /// Its translation only
    Translations,
    /// Nothing: for measuring what the others save
    None,
}

pub const VERB: Verb = Verb {
    name: "shim",
    after: "capture",
    run: |matches: &ArgMatches| shim(&ShimArgs::from_arg_matches(matches)?),
    example: "  contend shim --to postgres://me@db/app -- ./app   your SQLite program on a server",
    questions: &[("Is my program better on a server?", "contend shim --to postgres://db/app -- ./app")],
    ..Verb::of::<ShimArgs>()
};

fn shim(args: &ShimArgs) -> Result<u8> {
    ensure!(!args.command.is_empty(), "name the command: contend shim --to URL -- COMMAND...");
    let asked = Asked {
        to: &args.to,
        cache: match args.cache {
            Cache::All => "all",
            Cache::Translations => "translations",
            Cache::None => "none",
        },
        commits_definitions: args.ddl == Ddl::Commit,
        locks: args.immediate == Immediate::Lock,
        log: args.log.as_deref(),
        command: &args.command,
    };
    let stop = stop_on_signals()?;
    run(&asked, &stop)
}
