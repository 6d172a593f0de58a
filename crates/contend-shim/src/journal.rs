//! The journal for the summary of `contend shim`: refused and noted statements, counts, and times. All processes of the command
//! append whole lines, so those of a killed process remain.

use crate::c::ERROR;
use crate::c::front::Failed;
use crate::config::{Settings, directory, settings};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Counts of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Statements that the server executed.
    pub server: u64,
    /// Statements that SQLite executed itself.
    pub local: u64,
    pub round_trips: u64,
}

static LISTED: Mutex<BTreeSet<(&str, String)>> = Mutex::new(BTreeSet::new());
/// SQLite's message for a database that is not there.
pub const NOT_THERE: &str = "unable to open database file";
/// Most distinct listed statements.
const LISTED_MAX: usize = 10_000;

/// Writes a refusal; returns the error for the program.
pub fn refused(sql: &str, reason: &str) -> Failed {
    list("refused", without_values(sql), reason);
    Failed::new(ERROR, format!("contend shim: {reason}"))
}

/// Writes how a statement was carried out into the summary, if a user should know.
pub fn noted(sql: &str, how: &str) {
    list("noted", without_values(sql), how);
}

/// Writes why a database was not opened: an application may show its users another message. One that is not there is no
/// surprise.
pub fn not_opened(path: &Path, failed: &Failed) {
    if failed.message != NOT_THERE {
        list("unopened", one_line(&format!("opening {}", path.display())), &failed.message);
    }
}

/// Once per kind and statement or database: a statement may be carried out first, and refused later.
fn list(what: &'static str, text: String, reason: &str) {
    let mut listed = LISTED.lock().unwrap_or_else(PoisonError::into_inner);
    if listed.len() < LISTED_MAX && listed.insert((what, text.clone())) {
        if directory().is_none() {
            // In contend's own worker, whose log is kept.
            eprintln!("contend shim: {what}: {}: {text}", one_line(reason));
        }
        append(&format!("{what}\t{}\t{text}\n", one_line(reason)));
    }
}

/// Executions of a statement, and their time in nanoseconds, that are not in the journal yet.
#[derive(Default)]
pub struct Spent {
    count: AtomicU64,
    ns: AtomicU64,
}

impl Spent {
    pub fn add(&self, time: Duration) {
        self.count.fetch_add(1, Relaxed);
        self.ns.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }
}

/// The statements of this process without their values, and when they were last written.
struct Times {
    /// A child process begins with those of its parent.
    forks: u32,
    of: BTreeMap<String, Arc<Spent>>,
    written: Option<Instant>,
}

static TIMES: Mutex<Times> = Mutex::new(Times { forks: 0, of: BTreeMap::new(), written: None });
/// Shortest time between two times at which they are written, until the process ends.
const TIMES_EVERY: Duration = Duration::from_secs(1);

/// The entry of a statement; none where there is no journal.
pub fn spent(sql: &str, forks: u32) -> Option<Arc<Spent>> {
    settings().and_then(Settings::journal)?;
    let text = without_values(sql);
    let mut times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
    if times.forks != forks {
        *times = Times { forks, of: BTreeMap::new(), written: None };
    }
    let has_room = times.of.len() < LISTED_MAX || times.of.contains_key(&text);
    has_room.then(|| Arc::clone(times.of.entry(text).or_default()))
}

/// Writes the times of this process, at the end of a connection or, `is_last`, of the process.
pub fn write_times(forks: u32, is_last: bool) {
    let mut times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
    if times.forks != forks || !is_last && times.written.is_some_and(|written| written.elapsed() < TIMES_EVERY) {
        return;
    }
    let taken = times.of.iter().map(|(text, spent)| (spent.count.swap(0, Relaxed), spent.ns.swap(0, Relaxed), text));
    let lines: String = taken
        .filter(|(count, ..)| *count > 0)
        .map(|(count, ns, text)| format!("spent\t{count}\t{ns}\t{text}\n"))
        .collect();
    append(&lines);
    times.written = Some(Instant::now());
}

/// Writes that a database was opened: a killed program, or one that does not close its connections, leaves no counts.
pub fn opened() {
    append("opened\n");
}

/// Writes the counts of a connection when it is closed.
pub fn counted(counts: &Counts) {
    append(&format!("counts\t{}\t{}\t{}\n", counts.server, counts.local, counts.round_trips));
}

fn append(line: &str) {
    let Some(journal) = settings().and_then(Settings::journal) else { return };
    // Without a journal the program still gets its error.
    if let Ok(mut file) = OpenOptions::new().append(true).open(journal) {
        let _ = file.write_all(line.as_bytes());
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What stands before the name of a table, an index or a column.
const BEFORE_NAMES: &[&str] = &["from", "join", "into", "update", "table", "index", "references", "as", "exists"];

/// Whether text in double quotes between these is a name. Elsewhere it may be a value, too.
fn is_name(before: &str, after: Option<&char>) -> bool {
    let before = before.trim_end().to_lowercase();
    let last = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let is_compared = last == "from" && before.trim_end_matches("from").trim_end().ends_with("distinct");
    before.ends_with('.') || after == Some(&'.') || BEFORE_NAMES.contains(&last) && !is_compared
}

/// A statement on one line without comments, texts and numbers, which are the user's data.
fn without_values(sql: &str) -> String {
    let mut out = String::new();
    let mut chars = sql.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        if c == '\'' || c == '"' {
            let mut text = String::new();
            while let Some(inner) = chars.next() {
                if inner == c && chars.next_if_eq(&c).is_none() {
                    break;
                }
                text.push(inner);
            }
            if c == '"' && is_name(&out, chars.peek()) {
                out.push_str(&format!("\"{}\"", text.replace('"', "\"\"")));
            } else {
                out.push('\u{2026}');
            }
        } else if c == '-' && chars.next_if_eq(&'-').is_some() {
            while chars.next_if(|c| *c != '\n').is_some() {}
        } else if c == '/' && chars.next_if_eq(&'*').is_some() {
            let mut last = ' ';
            while let Some(inner) = chars.next().filter(|inner| (last, *inner) != ('*', '/')) {
                last = inner;
            }
            out.push(' ');
        } else if c.is_ascii_digit() && !(before.is_alphanumeric() || before == '_' || before == '?') {
            while chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '.').is_some() {}
            out.push('\u{2026}');
        } else {
            out.push(c);
        }
        before = c;
    }
    one_line(&out).chars().take(500).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_out_of_the_journal() {
        let sql = "SELECT  a1, 'it''s me' FROM t2 -- for Ada\nWHERE b > 12.5e3 /* * 'Bob */AND c = x'00' AND d = ?1 \
                   AND e = \"se\"\"cret\" - 7 / 8 -- '";
        assert_eq!(without_values(sql), "SELECT a1, … FROM t2 WHERE b > … AND c = x… AND d = ?1 AND e = … - … / …");
        let names = r#"UPDATE "a"."b c" SET "x" = "y" WHERE "b"."d" IN (SELECT "e" FROM  "f" JOIN "g""h" AS "i" ON "i".j) AND k IS DISTINCT FROM "m""#;
        let kept = r#"UPDATE "a"."b c" SET … = … WHERE "b"."d" IN (SELECT … FROM "f" JOIN "g""h" AS "i" ON "i".j) AND k IS DISTINCT FROM …"#;
        assert_eq!(without_values(names), kept);
    }
}
