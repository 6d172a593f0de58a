//! `contend migrate`: arguments.

use crate::back::Back;
use crate::stopped::Unbegun;
use crate::there::There;
use crate::{back, there};
use anyhow::{Result, ensure};
use clap::{ArgMatches, FromArgMatches, Parser, ValueHint};
use contend::cli::{STOPPED, stop_on_signals};
use contend::slice::Verb;
use contend::trial::stop::Cancelled;
use std::path::Path;

/// Move a SQLite database to PostgreSQL or MariaDB, or back, and prove that every value is the same
#[derive(Parser)]
#[command(after_help = "Examples:
  contend migrate app.db --to 'postgres://me@db/app?password_env=PW' --dry-run
                                            the plan, its SQL, and every value that does not fit
  contend migrate app.db --to 'postgres://me@db/app?password_env=PW'
                                            tables, rows, indexes, counters, then the proof
  contend migrate app.db --to mysql://me@db/app --resume
                                            continues an interrupted migration; proves a finished one
  contend migrate mysql://me@db/app --to app2.db
                                            back, with SQLite's own statements

The SQLite database is only read, in one transaction. The database on the server must not have tables of these names. \
Values that a column's type cannot hold are listed before anything is written. SQLite's statements are kept on the server, in \
the table contend_migration, which the way back needs. `contend shim` then finds the database by the path of \
its file. docs/migrate.md explains all of it.

Exit status: 0 the same, 1 not the same or something does not fit, 2 usage or environment, 130 stopped.")]
struct MigrateArgs {
    /// SQLite database, or the address of a server
    #[arg(value_name = "FROM", value_hint = ValueHint::FilePath)]
    from: String,
    /// Address of a server (postgres://, mysql://), or a new SQLite database
    #[arg(long, value_name = "TO")]
    to: String,
    /// Print the plan and its statements; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Continue an interrupted migration, or prove a finished one again
    #[arg(long, conflicts_with = "dry_run")]
    resume: bool,
    /// PostgreSQL: the schema of the tables, made if it is missing [default: the first of the user's search path]
    #[arg(long, value_name = "NAME")]
    schema: Option<String>,
    /// Leave a table out, with its indexes and triggers; or an index, a view or a trigger
    #[arg(long, value_name = "NAME")]
    without: Vec<String>,
    /// Leave foreign keys out
    #[arg(long)]
    no_foreign_keys: bool,
    /// Leave SQLite's rowids out, which are a column _contend_rowid in tables without INTEGER PRIMARY KEY
    #[arg(long)]
    no_rowids: bool,
    /// Most rows of one transaction on the server
    #[arg(long, value_name = "ROWS", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    commit_rows: u64,
}

pub const VERB: Verb = Verb {
    name: "migrate",
    after: "capture",
    run: |matches: &ArgMatches| run(&MigrateArgs::from_arg_matches(matches)?),
    example: "  contend migrate app.db --to postgres://me@db/app    moves a database, and proves it",
    ..Verb::of::<MigrateArgs>()
};

fn run(args: &MigrateArgs) -> Result<u8> {
    let is_server = |text: &str| text.contains("://");
    ensure!(
        is_server(&args.from) != is_server(&args.to),
        "one of FROM and --to is a SQLite database, the other a server"
    );
    let stop = stop_on_signals()?;
    let done = if is_server(&args.from) {
        let only_there = args.resume || !args.without.is_empty() || args.no_foreign_keys || args.no_rowids;
        ensure!(!only_there, "--resume, --without, --no-foreign-keys and --no-rowids are for the way to a server");
        let asked =
            Back { from: &args.from, schema: args.schema.as_deref(), file: Path::new(&args.to), dry_run: args.dry_run };
        back::migrate(&asked, &stop)
    } else {
        let asked = There {
            file: Path::new(&args.from),
            to: &args.to,
            schema: args.schema.as_deref(),
            dry_run: args.dry_run,
            resume: args.resume,
            without: args.without.clone(),
            foreign_keys: !args.no_foreign_keys,
            rowids: !args.no_rowids,
            commit_rows: args.commit_rows,
        };
        there::migrate(&asked, &stop)
    };
    match done {
        Err(e) if e.is::<Cancelled>() => {
            let next = if is_server(&args.from) { "nothing was made; begin again" } else { "continue with --resume" };
            contend::tell!("contend: {e:#}; {next}");
            Ok(STOPPED)
        }
        Err(e) if e.is::<Unbegun>() => {
            contend::tell!("contend: {e:#}; begin again");
            Ok(STOPPED)
        }
        done => done,
    }
}
