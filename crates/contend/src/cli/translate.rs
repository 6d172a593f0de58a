//! `contend translate`: SQLite's SQL in a server's dialect, or the reasons against a translation.

use super::{INVALID, OK, print};
use crate::stats::harmless::is_harmful;
use anyhow::{Context, Result};
use clap::{Parser, ValueEnum, ValueHint};
use contend_sql::{Catalogue, Certainty, Options, Refusal, Target, Translation};
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, ValueEnum)]
enum Dialect {
    Postgres,
    Mariadb,
}

/// Translate SQLite's SQL for a server, or report why it is rejected
#[derive(Parser)]
#[command(after_help = "Examples:
  contend translate --to postgres --schema schema.sql queries.sql
  contend translate --to postgres --functions | psql
  contend translate --to mariadb --functions | mariadb
  (contend translate --to mariadb --session; contend translate --to mariadb app.sql) | mariadb app

A translation is for connections that have run the output of --session: without it a server can
give the same text another meaning.")]
pub(super) struct TranslateArgs {
    /// The server to translate for
    #[arg(long)]
    to: Dialect,
    /// CREATE statements of the tables that are there before the SQL, which may create and change tables itself
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    schema: Option<PathBuf>,
    /// Print which rules applied, and under which conditions the answer equals SQLite's
    #[arg(long)]
    explain: bool,
    /// Use the function pack: more is translated, at the price of its functions
    #[arg(long)]
    pack: bool,
    /// Translate results whose type depends on the row: the caller reads them by their tags (`i17`, `r0.5`, `tword`,
    /// `x00ff`); columns without a type hold such values
    #[arg(long, requires = "pack")]
    tagged: bool,
    /// Put a savepoint around every query and change, so that a failed one leaves its transaction alive, as on SQLite
    /// (PostgreSQL only; MariaDB needs none)
    #[arg(long)]
    savepoints: bool,
    /// Print the SQL that installs the function pack in its own schema, and exit
    #[arg(long, conflicts_with_all = ["schema", "explain", "pack", "tagged", "savepoints", "file"])]
    functions: bool,
    /// Print the SQL that every connection must run before a translation, and exit
    #[arg(long, conflicts_with_all = ["schema", "explain", "pack", "tagged", "savepoints", "functions", "file"])]
    session: bool,
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
        print(&functions(target))?;
        return Ok(OK);
    }
    if args.session {
        print(&contend_sql::session(target).iter().map(|sql| format!("{sql};\n")).collect::<String>())?;
        return Ok(OK);
    }
    let mut catalogue = Catalogue::default();
    if let Some(path) = &args.schema {
        let schema = read(path)?;
        let refused = catalogue.learn_what_can_be(&schema);
        if !refused.is_empty() {
            return Ok(refuse(&path.display().to_string(), &schema, &refused));
        }
    }
    let (name, sql) = match &args.file {
        Some(path) => (path.display().to_string(), read(path).context("SQL comes from a file or standard input")?),
        None => {
            let mut sql = String::new();
            std::io::stdin().read_to_string(&mut sql).context("cannot read standard input")?;
            ("standard input".to_string(), without_mark(sql))
        }
    };
    let options = Options { pack: args.pack, tagged: args.tagged, savepoints: args.savepoints, ..Options::to(target) };
    let refused = match contend_sql::translate_script(&sql, &catalogue, &options) {
        Ok(translation) => {
            print(&as_text(&translation, target, args.explain))?;
            if !args.explain {
                crate::ui::tell(&warned(&translation));
                if !translation.statements.is_empty() {
                    crate::tell!("for connections that have run the output of --session");
                }
            }
            return Ok(OK);
        }
        Err(refused) => refused,
    };
    let code = refuse(&name, &sql, &refused);
    if args.schema.is_none() && refused.iter().any(Refusal::wants_a_table) {
        crate::tell!("  the meaning depends on the tables: give a file of their CREATE statements with --schema");
    }
    Ok(code)
}

/// The function pack for the server's own client.
fn functions(target: Target) -> String {
    let pack = contend_sql::function_pack(target);
    match target {
        Target::Postgres => pack.to_string(),
        Target::MariaDb => delimited(pack.trim_end()),
    }
}

/// Statements with bodies for MariaDB's own client, which ends a statement at every semicolon, even in a body, unless another
/// delimiter is set; it then sends everything at once.
fn delimited(sql: &str) -> String {
    let mut delimiter = "//".to_string();
    while sql.contains(&delimiter) {
        delimiter.push('/');
    }
    format!("DELIMITER {delimiter}\n{sql}\n{delimiter}\nDELIMITER ;\n")
}

fn read(path: &Path) -> Result<String> {
    let text = super::read_text(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(without_mark(text))
}

/// Removes a byte order mark, which SQLite treats as a space.
fn without_mark(text: String) -> String {
    text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text)
}

/// Most refusals that are shown.
const SHOWN: usize = 50;

/// Prints each refusal below its line, with place, reason and rule.
fn refuse(name: &str, sql: &str, refused: &[Refusal]) -> u8 {
    for refusal in refused.iter().take(SHOWN) {
        let Refusal { rule, line, column, reason, .. } = refusal;
        let shown = sql.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default().trim_end();
        let (part, mark) = around(shown, column.saturating_sub(1) as usize);
        crate::tell!("{name}:{line}:{column}: no translation, by the rule `{rule}`: {reason}\n  {part}\n  {mark}^");
    }
    if refused.len() > SHOWN {
        crate::tell!("{name}: and {} more without a translation", refused.len() - SHOWN);
    }
    INVALID
}

/// Characters shown before a column and from it on.
const AROUND: (usize, usize) = (60, 50);

/// The part of a long line around a column (from 0), and the spaces in front of the mark below it.
fn around(line: &str, column: usize) -> (String, String) {
    let (before, behind) = AROUND;
    let from = column.saturating_sub(before);
    let length = line.chars().count();
    let mut part = String::from(if from > 0 { "..." } else { "" });
    let mark = " ".repeat(part.len() + column - from);
    part.extend(
        line.chars()
            .skip(from)
            .take(column - from + behind)
            .map(|c| if c.is_control() || is_harmful(c) { ' ' } else { c }),
    );
    if length > column + behind {
        part.push_str("...");
    }
    (part, mark)
}

/// A summary for users without `--explain`: what differs from SQLite, and the number of conditions.
fn warned(translation: &Translation) -> String {
    let mut text = String::new();
    let mut conditions = 0;
    for fired in &translation.rules {
        match fired.certainty {
            Certainty::Exact => {}
            Certainty::Lossy(how) => drop(writeln!(text, "NOT the same as on SQLite: {} - {how}", fired.rule)),
            Certainty::Equivalent(_) => conditions += 1,
        }
    }
    let _ = match conditions {
        0 => Ok(()),
        1 => writeln!(text, "the same as on SQLite under one condition, which --explain names"),
        more => writeln!(text, "the same as on SQLite under {more} conditions, which --explain names"),
    };
    text
}

/// The rules that applied: lossy and conditional ones first, one per line.
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

fn as_text(translation: &Translation, target: Target, explain: bool) -> String {
    let mut text = if explain { explained(translation) } else { String::new() };
    for statement in &translation.statements {
        if target == Target::MariaDb && statement.sql.starts_with("CREATE TRIGGER ") {
            text.push_str(&delimited(&statement.sql));
        } else {
            let _ = writeln!(text, "{};", statement.sql);
        }
        if !statement.tagged.is_empty() {
            let columns: Vec<String> = statement.tagged.iter().map(|place| (place + 1).to_string()).collect();
            let _ = writeln!(text, "-- tagged: column {}", columns.join(", "));
        }
    }
    if let Some(on_error) = translation.on_error {
        let _ = writeln!(text, "-- when a statement fails: {on_error};");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_around_the_column() {
        assert_eq!(around("SELECT a", 7), ("SELECT a".to_string(), " ".repeat(7)));
        let line = format!("{}é{}", "x".repeat(5_000), "y".repeat(5_000));
        let (part, mark) = around(&line, 5_000);
        assert_eq!(part, format!("...{}é{}...", "x".repeat(60), "y".repeat(49)));
        assert_eq!(part.chars().nth(mark.len()), Some('é'));
        assert_eq!(around("", 3), (String::new(), "   ".to_string()));
        assert_eq!(around("a\tb", 2), ("a b".to_string(), "  ".to_string()));
    }

    #[test]
    fn each_statement_of_a_script_has_the_schema_of_its_place() {
        let file = std::env::temp_dir().join(format!("contend-translate-{}.sql", std::process::id()));
        let status = |sql: &str| {
            std::fs::write(&file, sql).expect("written");
            let args = TranslateArgs::parse_from(["translate", "--to", "mariadb", &file.display().to_string()]);
            translate(&args).expect("read")
        };
        let (text, number) = ("CREATE TABLE t (a TEXT);", "CREATE TABLE t (a INTEGER);");
        let select = "SELECT a + 1 FROM t;";
        assert_eq!(status(&format!("{text} {select} DROP TABLE t; {number}")), INVALID);
        assert_eq!(status(&format!("{text} DROP TABLE t; {number} {select}")), OK);
        assert_eq!(
            status(&format!("{text} ALTER TABLE t RENAME TO u; ALTER TABLE u ADD b TEXT; {number} {select}")),
            OK
        );
        std::fs::remove_file(&file).expect("removed");
    }

    #[test]
    fn the_delimiter_does_not_occur_in_what_it_ends() {
        assert_eq!(delimited("BEGIN a; END"), "DELIMITER //\nBEGIN a; END\n//\nDELIMITER ;\n");
        assert_eq!(delimited("SELECT 'http://a';"), "DELIMITER ///\nSELECT 'http://a';\n///\nDELIMITER ;\n");
    }

    #[test]
    fn a_byte_order_mark_is_left_out() {
        assert_eq!(without_mark("\u{feff}SELECT 1".to_string()), "SELECT 1");
        assert_eq!(without_mark("SELECT 1".to_string()), "SELECT 1");
    }
}
