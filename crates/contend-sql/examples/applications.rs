//! How many of the statements that applications send are translated: `cargo run --example applications -- FILE...`.
//!
//! A file has a line of JSON for each statement that SQLite carried out, in their order: `[database, "SQL", "types"]`, the last
//! a letter for each bound value: i, r, t, b or n (`scripts/record-statements.py` makes such files). Each database has a catalogue, which what its statements say about
//! the schema changes, and which goes back where a transaction or a savepoint does. Each text counts once per file, as
//! it is met first; statements of a table that was itself refused are counted as refused too. PRAGMAs that list the
//! schema are counted apart: `contend shim` answers them by itself.

use contend_sql::{Catalogue, Options, ParamType, Target, translate};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::error::Error;
use std::fmt::Write as _;
use std::{env, fs};

/// Longest part of a statement that is printed.
const SHOWN: usize = 160;

/// PRAGMAs that list the schema.
const LISTING: [&str; 7] =
    ["foreign_key_list", "index_info", "index_list", "index_xinfo", "table_info", "table_list", "table_xinfo"];

/// A database's catalogue, and its states when each transaction and savepoint began.
struct Database {
    now: Catalogue,
    begun: Vec<(String, Catalogue)>,
}

impl Default for Database {
    fn default() -> Database {
        let mut now = Catalogue::default();
        now.keep_rowids();
        Database { now, begun: vec![] }
    }
}

impl Database {
    /// Applies a statement to the schema.
    fn take(&mut self, sql: &str) {
        let words: Vec<String> = sql.split_whitespace().take(4).map(str::to_ascii_uppercase).collect();
        let word = |at: usize| words.get(at).map(|w| w.trim_end_matches(';')).unwrap_or_default();
        let name = words.last().map(|w| w.trim_end_matches(';').trim_matches('"').to_string()).unwrap_or_default();
        match (word(0), word(1)) {
            ("BEGIN", _) => self.begun = vec![(String::new(), self.now.clone())],
            ("SAVEPOINT", _) => self.begun.push((name, self.now.clone())),
            ("ROLLBACK", "TO") | ("ROLLBACK", "TRANSACTION") if words.len() > 2 => {
                if let Some(at) = self.begun.iter().rposition(|(known, _)| *known == name) {
                    self.now = self.begun[at].1.clone();
                    self.begun.truncate(at + 1);
                }
            }
            ("ROLLBACK", _) => {
                if let Some((_, before)) = self.begun.drain(..).next() {
                    self.now = before;
                }
            }
            ("COMMIT" | "END", _) => self.begun.clear(),
            ("CREATE" | "ALTER" | "DROP" | "PRAGMA", _) => drop(self.now.learn(sql)),
            _ => {}
        }
    }
}

#[derive(Default)]
struct Found {
    distinct: usize,
    handled: usize,
    listing: usize,
    /// How many distinct statements for which reason, and the first of them.
    refused: BTreeMap<String, (usize, String)>,
}

type Line = (u64, String, String);

fn type_of(letter: char) -> ParamType {
    match letter {
        'i' => ParamType::Integer,
        'r' => ParamType::Real,
        't' => ParamType::Text,
        'b' => ParamType::Blob,
        'n' => ParamType::Null,
        _ => ParamType::Unknown,
    }
}

fn measure(lines: &[Line], options: &Options) -> Found {
    let (mut databases, mut seen) = (HashMap::<u64, Database>::new(), HashSet::new());
    let mut found = Found::default();
    for (number, sql, types) in lines {
        let database = databases.entry(*number).or_default();
        if seen.insert(sql) {
            found.distinct += 1;
            let options = Options { bound: types.chars().map(type_of).collect(), ..options.clone() };
            match translate(sql, &database.now, &options) {
                Ok(_) => found.handled += 1,
                Err(refusal) if refusal.rule == "pragma" && lists(sql) => found.listing += 1,
                Err(refusal) => {
                    let quoted = |c: char| c == '`';
                    let reason: String = refusal.reason.split(quoted).step_by(2).collect::<Vec<_>>().join("..");
                    let entry = found.refused.entry(format!("{}: {reason}", refusal.rule));
                    let shown: String = sql.chars().take(SHOWN).collect();
                    entry.or_insert_with(|| (0, shown)).0 += 1;
                }
            }
        }
        database.take(sql);
    }
    found
}

/// Whether a PRAGMA lists the schema.
fn lists(sql: &str) -> bool {
    let after = |word: &str| word.split(['(', '=', ';']).next().unwrap_or_default().trim().to_ascii_lowercase();
    let name = sql.split_whitespace().nth(1).map(after).unwrap_or_default();
    LISTING.contains(&name.rsplit('.').next().unwrap_or_default())
}

fn report(name: &str, found: &Found, mode: &str, shown: bool) -> String {
    let share = |part: usize| 100.0 * part as f64 / found.distinct.max(1) as f64;
    let (handled, answered) = (share(found.handled), share(found.handled + found.listing));
    let mut text = format!(
        "{name} | {mode} | {} | {} | {handled:.1} % | {} list the schema | {answered:.1} %\n",
        found.distinct, found.handled, found.listing
    );
    let mut reasons: Vec<_> = found.refused.iter().collect();
    reasons.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    for (reason, (count, first)) in reasons {
        let first = if shown { format!(" | {}", first.replace('\n', " ")) } else { String::new() };
        let _ = writeln!(text, "  {count} {reason}{first}");
    }
    text
}

fn main() -> Result<(), Box<dyn Error>> {
    let shown = env::var_os("CONTEND_SHOW_STATEMENTS").is_some();
    for path in env::args().skip(1) {
        let text = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
        let read = |(at, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|e| format!("{path}:{}: {e}; a line is [0, \"SQL\", \"it\"]", at + 1))
        };
        let lines: Vec<Line> = text.lines().enumerate().map(read).collect::<Result<_, _>>()?;
        for (target, name) in [(Target::Postgres, "PostgreSQL"), (Target::MariaDb, "MariaDB")] {
            for pack in [false, true] {
                let options = Options { pack, session: true, tagged: true, ..Options::to(target) };
                let mode = format!("{name}, {}", if pack { "pack" } else { "portable" });
                print!("{}", report(&path, &measure(&lines, &options), &mode, shown && pack));
            }
        }
    }
    Ok(())
}
