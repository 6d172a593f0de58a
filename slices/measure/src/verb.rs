//! `contend measure`.

use crate::model::Measured;
use crate::{process, server, sqlite, text};
use anyhow::{Result, ensure};
use clap::{Parser, ValueHint};
use contend::cli::{OK, print};
use contend_stats::harmless::harmless;
use std::path::Path;

/// Show what a database takes on disk, by table and index, and what a process takes in memory
///
/// Of a SQLite file every page is read once, in one read transaction: in WAL mode writers go on, with a rollback journal
/// they wait meanwhile. Of a server the sizes are what it reports, and numbers of rows are its estimates. Several
/// databases are shown side by side, table by table.
#[derive(Parser)]
#[command(after_help = "Examples:
  contend measure app.db                          pages, log, tables, indexes
  contend measure app.db postgres://me@host/app   the same tables in both
  contend measure --pid 4711                      memory of a process

A password is read from a variable or file that the address names: ?password_env=NAME or
?password_file=PATH (docs/servers.md).

Exit status: 0 measured, 2 usage or environment.")]
pub struct MeasureArgs {
    /// SQLite files, and servers as postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE
    #[arg(value_name = "DATABASE", value_hint = ValueHint::FilePath)]
    databases: Vec<String>,
    /// Processes whose memory is shown
    #[arg(long, value_name = "PID", value_delimiter = ',')]
    pid: Vec<i32>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub fn measure(args: &MeasureArgs) -> Result<u8> {
    ensure!(
        !args.databases.is_empty() || !args.pid.is_empty(),
        "name a SQLite file, a server such as postgres://USER@HOST/DATABASE, or a process with --pid"
    );
    let databases = args.databases.iter().map(|database| match database.contains("://") {
        true => server::measured(database),
        false => sqlite::measured(Path::new(database)),
    });
    let processes = args.pid.iter().map(|pid| process::measured(*pid));
    let all: Vec<Measured> = databases.chain(processes).collect::<Result<_>>()?;
    print(&match args.json {
        true => serde_json::to_string_pretty(&all)? + "\n",
        false => harmless(&text::text(&all)).into_owned(),
    })?;
    Ok(OK)
}
