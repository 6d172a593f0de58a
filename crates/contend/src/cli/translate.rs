//! `contend translate`: SQLite's SQL as a server understands it, or why not.

use super::{INVALID, OK, print};
use anyhow::{Context, Result};
use clap::{Args, ValueEnum, ValueHint};
use contend_sql::{Catalogue, Certainty, Options, Refusal, Target, Translation};
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, ValueEnum)]
enum Dialect {
    Postgres,
    Mariadb,
}

#[derive(Args)]
pub(super) struct TranslateArgs {
    /// The server whose SQL is wanted
    #[arg(long)]
    to: Dialect,
    /// CREATE statements of the tables that the SQL uses
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    schema: Option<PathBuf>,
    /// Say which rules applied, and under which conditions the answer is SQLite's
    #[arg(long)]
    explain: bool,
    /// SQL [default: standard input]
    #[arg(value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,
}

pub(super) fn translate(args: &TranslateArgs) -> Result<u8> {
    let target = match args.to {
        Dialect::Postgres => Target::Postgres,
        Dialect::Mariadb => Target::MariaDb,
    };
    let mut catalogue = Catalogue::default();
    if let Some(path) = &args.schema {
        let schema = read(path)?;
        if let Err(refusal) = catalogue.learn(&schema) {
            return refuse(&path.display().to_string(), &refusal);
        }
    }
    let (name, sql) = match &args.file {
        Some(path) => (path.display().to_string(), read(path)?),
        None => {
            let mut sql = String::new();
            std::io::stdin().read_to_string(&mut sql).context("cannot read standard input")?;
            ("standard input".to_string(), sql)
        }
    };
    // Tables that the text creates itself may be used in it, too.
    if let Err(refusal) = catalogue.learn(&sql) {
        return refuse(&name, &refusal);
    }
    match contend_sql::translate(&sql, &catalogue, &Options::to(target)) {
        Ok(translation) => {
            print(&as_text(&translation, args.explain))?;
            Ok(OK)
        }
        Err(refusal) => refuse(&name, &refusal),
    }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn refuse(name: &str, refusal: &Refusal) -> Result<u8> {
    eprintln!("{name}: {refusal}");
    Ok(INVALID)
}

fn as_text(translation: &Translation, explain: bool) -> String {
    let mut text = String::new();
    if explain {
        for fired in &translation.rules {
            let _ = match fired.certainty {
                Certainty::Exact => writeln!(text, "-- {}: exact", fired.rule),
                Certainty::Equivalent(when) => writeln!(text, "-- {}: the same {when}", fired.rule),
                Certainty::Lossy(what) => writeln!(text, "-- {}: NOT the same: {what}", fired.rule),
            };
        }
    }
    for statement in &translation.statements {
        let _ = writeln!(text, "{};", statement.sql);
    }
    text
}
