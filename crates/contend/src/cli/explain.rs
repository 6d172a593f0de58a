//! `contend explain`: what an error means, from its text or code.

use super::{OK, paragraph, print, print_plain, style};
use crate::outcome::explain::{Explanation, Subject};
use crate::outcome::pasted::{Missing, find, missing};
use crate::outcome::{Code, Outcome, code_name, lookup};
use crate::report::text::wrapped;
use anyhow::{Result, anyhow};
use clap::Parser;
use contend_wire::sample::CodeSpace;
use std::fmt::Write as _;

/// Explain an error: what happened, why a timeout was not waited for, what to change
#[derive(Parser)]
#[command(after_help = "Examples:
  contend explain 'database is locked'
  contend explain SQLITE_BUSY_SNAPSHOT
  contend explain 40P01
  contend explain 'ERROR 1205 (HY000): Lock wait timeout exceeded'
  contend explain HTTP 503       # 522 alone is an error of SQLite, too
  contend explain MariaDB 1290   # only what this product means by it

Of a number alone all meanings are printed. `contend list outcomes PATTERN` searches all codes.")]
pub(super) struct ExplainArgs {
    /// The message as a program printed it; a code, its name or number; or an outcome such as `unknown`
    #[arg(required = true, allow_hyphen_values = true)]
    text: Vec<String>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// More meanings than these are only named.
const EXPLAINED_MAX: usize = 4;

pub(super) fn explain(args: &ExplainArgs) -> Result<u8> {
    // A message may begin with a hyphen, so clap takes options behind it for words.
    let (words, json) = match args.text.split_last() {
        Some((last, words)) if last == "--json" && !words.is_empty() => (words, true),
        _ => (&args.text[..], args.json),
    };
    let text = words.join(" ");
    let mut found: Vec<(&Explanation, Vec<Subject>)> = vec![];
    for subject in find(&text) {
        let Some(explanation) = subject.explanation_in(&text) else { continue };
        match found.iter_mut().find(|(other, _)| *other == explanation) {
            Some((_, subjects)) => subjects.push(subject),
            None => found.push((explanation, vec![subject])),
        }
    }
    if found.is_empty() {
        return Err(unknown(&text));
    }
    if json {
        let all: Vec<_> = found.iter().map(|(explanation, _)| explanation).collect();
        print(&(serde_json::to_string_pretty(&all)? + "\n"))?;
    } else {
        print_plain(&meanings(&text, &found))?;
    }
    Ok(OK)
}

fn meanings(text: &str, found: &[(&Explanation, Vec<Subject>)]) -> String {
    if found.len() > EXPLAINED_MAX {
        return named(text, found);
    }
    let each = found.iter().map(|(one, subjects)| in_words(one, subjects)).collect::<Vec<_>>().join("\n");
    match found.len() {
        1 if is_perhaps_of_mariadb(text, found) => format!("{each}\n{}", paragraph(MARIADB_HAS_MORE, ["", ""])),
        1 => each,
        several => format!("`{text}` has {several} meanings.\n\n{each}"),
    }
}

/// The names of many meanings.
fn named(text: &str, found: &[(&Explanation, Vec<Subject>)]) -> String {
    let name = |subject: &Subject| match subject {
        Subject::Outcome(outcome) => outcome.word().to_string(),
        Subject::Code(space, code) => {
            let meaning = lookup(*space, *code).map_or("", |row| row.meaning);
            format!("{}{}: {meaning}", engine(*space), code_name(*space, *code))
        }
    };
    let names = found.iter().flat_map(|(_, subjects)| subjects);
    let names: String = names.map(|subject| wrapped(&name(subject), ["- ", "  "], style())).collect();
    let more = "Give more of the message, or a code. `contend list outcomes PATTERN` searches all codes.";
    format!("`{text}` may be one of these:\n\n{names}\n{}", wrapped(more, ["", ""], style()))
}

/// Why a text is not explained, and what to do.
fn unknown(text: &str) -> anyhow::Error {
    let Some(Missing { space, number, others }) = missing(text) else {
        return anyhow!(
            "`{text}` names no error that contend knows; give the message as it was printed, or a code: a whole number \
             or a name (`contend list outcomes PATTERN` searches them)"
        );
    };
    let more = match space {
        CodeSpace::Mysql => "All of them are in https://mariadb.com/kb/en/mariadb-error-code-reference/",
        _ => "`contend list outcomes PATTERN` searches all codes.",
    };
    let others: Vec<String> = others.into_iter().map(of_other).collect();
    anyhow!("{} has no code {number} that contend knows. {}{more}", kind(space), others.concat())
}

/// The name of a kind of code in a sentence.
fn kind(space: CodeSpace) -> &'static str {
    match space {
        CodeSpace::Http => "HTTP",
        CodeSpace::Os => "the operating system",
        _ => engine(space).trim_end(),
    }
}

/// What another product means by a number.
fn of_other(subject: Subject) -> String {
    let Subject::Code(space, code) = subject else { return String::new() };
    let meaning = lookup(space, code).map_or("", |row| row.meaning);
    format!("In {} it is {}: {meaning}. ", kind(space), code_name(space, code))
}

const MARIADB_HAS_MORE: &str = "MariaDB has numbers of this size, too, and contend does not list all of them: compare with \
    https://mariadb.com/kb/en/mariadb-error-code-reference/";

/// Whether a bare number is known as an extended code of SQLite alone, and is as large as MariaDB's numbers.
fn is_perhaps_of_mariadb(text: &str, found: &[(&Explanation, Vec<Subject>)]) -> bool {
    let is_large = |subject: &Subject| matches!(subject, Subject::Code(CodeSpace::Sqlite, 1000..5000));
    text.trim().bytes().all(|b| b.is_ascii_digit()) && found.iter().flat_map(|(_, subjects)| subjects).all(is_large)
}

fn in_words(one: &Explanation, subjects: &[Subject]) -> String {
    let mut text = String::new();
    for subject in subjects {
        let _ = match subject {
            Subject::Outcome(outcome) => writeln!(text, "{}", outcome.word()),
            Subject::Code(space, code) => {
                let (row, name) = (lookup(*space, *code), code_name(*space, *code));
                let outcome = row.map_or(Outcome::Unknown, |row| row.outcome);
                let head = format!(
                    "{}{name}: counted as {} ({}); {}",
                    engine(*space),
                    outcome.word(),
                    counted(outcome),
                    left(row)
                );
                write!(text, "{}", wrapped(&head, ["", "  "], style()))
            }
        };
    }
    part(&mut text, "What happened", &one.happened);
    if let Some(waited) = &one.waited {
        part(&mut text, "Was the timeout waited for", waited);
    }
    if let Some((first, others)) = one.change.split_first() {
        part(&mut text, "What to change", &format!("- {first}"));
        text.extend(others.iter().map(|change| wrapped(&format!("- {change}"), ["  ", "    "], style())));
    }
    // sudo searches only the system's directories.
    let program = std::env::current_exe().map_or("contend".to_string(), |path| path.display().to_string());
    let commands = one.commands().into_iter();
    let commands: Vec<String> =
        commands.map(|command| command.replacen("sudo contend", &format!("sudo {program}"), 1)).collect();
    if !commands.is_empty() {
        let _ = writeln!(text, "\nSee it\n  {}", commands.join("\n  "));
    }
    text
}

/// The product whose code it is; other kinds are in their codes' names.
fn engine(space: CodeSpace) -> &'static str {
    match space {
        CodeSpace::Sqlite => "SQLite ",
        CodeSpace::Sqlstate => "PostgreSQL ",
        CodeSpace::Mysql => "MariaDB ",
        CodeSpace::Os => "operating system ",
        _ => "",
    }
}

/// What a report means by an outcome.
fn counted(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Committed => "acknowledged",
        Outcome::Rejected => "refused",
        Outcome::Conflict => "refused because another client was in the way",
        Outcome::Timeout => "gave up after it had waited",
        Outcome::Unknown => "no answer says whether it happened",
        Outcome::Unsent => "never begun",
    }
}

/// What is left after an error. Servers that detect a deadlock, and PostgreSQL after any error, end the transaction.
fn left(row: Option<&Code>) -> &'static str {
    let Some(row) = row.filter(|row| row.definite) else { return "it may or may not have happened" };
    let is_of_lock = matches!(row.outcome, Outcome::Conflict | Outcome::Timeout);
    match row.space {
        CodeSpace::Mysql if matches!(row.code, 1020 | 1213 | 1614) => "the whole transaction was rolled back",
        CodeSpace::Sqlstate if is_of_lock => {
            "the statement was not executed, and the transaction can only be rolled back"
        }
        CodeSpace::Sqlite | CodeSpace::Mysql if is_of_lock => {
            "the statement was not executed; the transaction may still be open, and must be rolled back or retried"
        }
        CodeSpace::Sqlite => "the statement was not executed; the transaction may still be open",
        CodeSpace::Http => {
            "a read left nothing behind; whether a write happened is known only if the scenario names the code"
        }
        _ => "it left nothing behind",
    }
}

fn part(text: &mut String, title: &str, words: &str) {
    let _ = writeln!(text, "\n{title}");
    text.push_str(&wrapped(words, ["  ", if words.starts_with("- ") { "    " } else { "  " }], style()));
}
