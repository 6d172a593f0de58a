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
    /// Use the function pack: more is translated, at the price of its functions
    #[arg(long)]
    pack: bool,
    /// Print what installs the function pack, in a schema of its own, and end
    #[arg(long, conflicts_with_all = ["schema", "explain", "pack", "file"])]
    functions: bool,
    /// SQL [default: standard input]
    #[arg(value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,
}

pub(super) fn translate(args: &TranslateArgs) -> Result<u8> {
    let target = match args.to {
        Dialect::Postgres => Target::Postgres,
        Dialect::Mariadb => Target::MariaDb,
    };
    if args.functions {
        print(contend_sql::function_pack(target))?;
        return Ok(OK);
    }
    let mut catalogue = Catalogue::default();
    if let Some(path) = &args.schema {
        let schema = read(path)?;
        if let Err(refusal) = catalogue.learn(&schema) {
            return refuse(&path.display().to_string(), &schema, &refusal);
        }
    }
    let (name, sql) = match &args.file {
        Some(path) => (path.display().to_string(), read(path).context("SQL comes from a file or standard input")?),
        None => {
            let mut sql = String::new();
            std::io::stdin().read_to_string(&mut sql).context("cannot read standard input")?;
            ("standard input".to_string(), sql)
        }
    };
    // Tables that the text creates itself may be used in it, too.
    if let Err(refusal) = catalogue.learn(&sql) {
        return refuse(&name, &sql, &refusal);
    }
    let options = Options { pack: args.pack, ..Options::to(target) };
    match contend_sql::translate(&sql, &catalogue, &options) {
        Ok(translation) => {
            print(&as_text(&translation, args.explain))?;
            Ok(OK)
        }
        Err(refusal) => {
            let refused = refuse(&name, &sql, &refusal)?;
            if refusal.wants_a_table() && args.schema.is_none() {
                eprintln!(
                    "  what it means depends on its tables: name a file of their CREATE statements with --schema"
                );
            }
            Ok(refused)
        }
    }
}

fn read(path: &Path) -> Result<String> {
    super::read_text(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Says where, why and by which rule, under the line that is meant.
fn refuse(name: &str, sql: &str, refusal: &Refusal) -> Result<u8> {
    let Refusal { rule, line, column, reason, .. } = refusal;
    let shown = sql.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default().trim_end();
    let mark = " ".repeat(column.saturating_sub(1) as usize);
    eprintln!("{name}:{line}:{column}: no translation, by the rule `{rule}`: {reason}\n  {shown}\n  {mark}^");
    Ok(INVALID)
}

/// Rules by how sure they are: what is to be known comes first, in a line each.
fn explained(translation: &Translation) -> String {
    let mut text = String::new();
    let what = |id: &str| contend_sql::rules().iter().find(|rule| rule.id == id).map_or("", |rule| rule.what);
    for fired in &translation.rules {
        let _ = match fired.certainty {
            Certainty::Exact => continue,
            Certainty::Lossy(how) => writeln!(text, "-- NOT the same: {} - {how}", fired.rule),
            Certainty::Equivalent(when) => writeln!(text, "-- the same if: {} - {when}", fired.rule),
        };
    }
    let exact = translation.rules.iter().filter(|fired| fired.certainty == Certainty::Exact);
    for fired in exact {
        let _ = writeln!(text, "-- the same: {} - {}", fired.rule, what(fired.rule));
    }
    text
}

fn as_text(translation: &Translation, explain: bool) -> String {
    let mut text = if explain { explained(translation) } else { String::new() };
    for statement in &translation.statements {
        let _ = writeln!(text, "{};", statement.sql);
    }
    text
}
