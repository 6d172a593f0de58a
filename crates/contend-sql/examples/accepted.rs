//! How many statements of SQLite's own tests the parser accepts: `cargo run --example accepted -- DIRECTORY`.
//!
//! The directory has SQLite's `*.test` files, which are Tcl. Every part between braces that begins with a SQL keyword
//! is split into statements. Counted are statements that SQLite itself prepares, in a database in memory where each
//! file's CREATE, ALTER and DROP are executed; and, separately, statements that fail there for another reason than
//! their syntax, such as a table that only the test's Tcl creates. Each text counts once.

use contend_sql::Catalogue;
use rusqlite::Connection;
use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

const BEGINNINGS: [&str; 24] = [
    "ALTER",
    "ANALYZE",
    "ATTACH",
    "BEGIN",
    "COMMIT",
    "CREATE",
    "DELETE",
    "DETACH",
    "DROP",
    "END",
    "EXPLAIN",
    "INSERT",
    "PRAGMA",
    "REINDEX",
    "RELEASE",
    "REPLACE",
    "ROLLBACK",
    "SAVEPOINT",
    "SELECT",
    "UPDATE",
    "VACUUM",
    "VALUES",
    "WITH",
    "--",
];

/// The first word in upper case, after white space; `--` before a comment.
fn first_word(text: &str) -> String {
    let text = text.trim_start();
    if text.starts_with("--") {
        return "--".to_string();
    }
    text.chars().take_while(char::is_ascii_alphabetic).collect::<String>().to_ascii_uppercase()
}

/// The outermost parts of a Tcl text between braces that begin like SQL.
fn scripts(tcl: &str) -> Vec<&str> {
    let (mut open, mut found) = (vec![], vec![]);
    let mut escaped = false;
    for (at, c) in tcl.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' => open.push(at + 1),
            '}' => {
                let Some(from) = open.pop() else { continue };
                let part = &tcl[from..at];
                if BEGINNINGS.contains(&first_word(part).as_str()) {
                    // An enclosing part replaces the parts inside it.
                    while found.last().is_some_and(|(start, _): &(usize, &str)| *start >= from) {
                        found.pop();
                    }
                    found.push((from, part));
                }
            }
            _ => {}
        }
    }
    found.into_iter().map(|(_, part)| part).collect()
}

/// The statements of a script: they end at a semicolon outside of texts, names and comments, triggers behind END.
fn statements(script: &str) -> Vec<String> {
    let (mut found, mut from, mut at) = (vec![], 0, 0);
    let bytes = script.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'\'' | b'"' | b'`' | b'[') => {
                let close = if quote == b'[' { b']' } else { quote };
                at += 1 + bytes[at + 1..].iter().take_while(|byte| **byte != close).count();
            }
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                at += bytes[at..].iter().take_while(|byte| **byte != b'\n').count();
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = script[at + 2..].find("*/").map_or(bytes.len(), |end| at + 2 + end + 1);
            }
            b';' if !within_trigger(&script[from..at]) => {
                found.push(script[from..=at].trim().to_string());
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    found.push(script[from..].trim().to_string());
    found.retain(|statement| !statement.trim_matches([';', ' ', '\n', '\t']).is_empty());
    found
}

/// Whether a text is the beginning of a CREATE TRIGGER without its end.
fn within_trigger(text: &str) -> bool {
    let mut words = text.split_whitespace().map(str::to_ascii_uppercase);
    let last = text.split_whitespace().next_back().unwrap_or_default();
    words.next().as_deref() == Some("CREATE")
        && words.take(2).any(|word| word == "TRIGGER")
        && !last.rsplit(';').next().unwrap_or_default().eq_ignore_ascii_case("END")
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Said {
    Prepared,
    /// The statement fails, but not because of its syntax.
    Otherwise,
    Syntax,
}

fn asked(db: &Connection, statement: &str) -> Said {
    let said = match db.prepare(statement) {
        Ok(_) => Said::Prepared,
        Err(e) => {
            let text = e.to_string();
            let grammar = ["syntax error", "unrecognized token", "incomplete input", "parser stack overflow"];
            if grammar.iter().any(|word| text.contains(word)) { Said::Syntax } else { Said::Otherwise }
        }
    };
    if said == Said::Prepared && ["CREATE", "ALTER", "DROP"].contains(&first_word(statement).as_str()) {
        // Needed by later statements, whether or not it succeeds.
        let _ = db.execute_batch(statement);
    }
    said
}

#[derive(Default)]
struct Tally {
    statements: usize,
    accepted: usize,
    /// Words of the refusal, how often, one of the statements.
    refused: BTreeMap<String, (usize, String)>,
}

impl Tally {
    fn count(&mut self, statement: &str) {
        self.statements += 1;
        match Catalogue::default().learn(statement) {
            Err(refusal) if ["syntax", "depth"].contains(&refusal.rule) => {
                let entry = self.refused.entry(refusal.reason).or_insert((0, statement.to_string()));
                entry.0 += 1;
            }
            _ => self.accepted += 1,
        }
    }

    fn show(&self, name: &str) {
        let share = 100.0 * self.accepted as f64 / self.statements.max(1) as f64;
        println!("{name}: {} of {} accepted, {share:.3} %", self.accepted, self.statements);
        for (reason, (count, example)) in &self.refused {
            println!("  {count} x {reason}: {}", example.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
}

fn files(directory: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = vec![];
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "test") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = env::args().nth(1).ok_or("name the directory of SQLite's *.test files")?;
    let (mut prepared, mut otherwise, mut seen) = (Tally::default(), Tally::default(), HashSet::new());
    let files = files(Path::new(&directory))?;
    for file in &files {
        let text = String::from_utf8_lossy(&fs::read(file)?).into_owned();
        let db = Connection::open_in_memory()?;
        for statement in scripts(&text).into_iter().flat_map(statements) {
            let said = asked(&db, &statement);
            if said != Said::Syntax && seen.insert(statement.clone()) {
                if said == Said::Prepared { prepared.count(&statement) } else { otherwise.count(&statement) }
            }
        }
    }
    println!("{} files, SQLite {}", files.len(), rusqlite::version());
    prepared.show("what SQLite prepares");
    otherwise.show("what SQLite refuses for another reason than its syntax");
    Ok(())
}
