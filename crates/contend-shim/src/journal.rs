//! The journal for the summary of `contend shim`: refused and noted statements, errors, counts, and times. All processes of the
//! command append whole lines, so those of a killed process remain.

use crate::c::ERROR;
use crate::c::front::Failed;
use crate::config::{Settings, directory, settings};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
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

/// Forks of this process: a connection belongs to the process that opened it.
pub static FORKS: AtomicU32 = AtomicU32::new(0);
/// SQLite's message for a database that is not there.
pub const NOT_THERE: &str = "unable to open database file";
/// Most distinct listed statements.
const LISTED_MAX: usize = 10_000;
/// Errors of a process that are written at once. Later ones are written as times are, so that a loop does not fill the disk.
const AT_ONCE_MAX: u64 = 10_000;
/// Longest wait for another thread when the process ends.
const AT_END: Duration = Duration::from_secs(1);

/// What a process keeps for its journal.
struct Kept {
    forks: u32,
    listed: BTreeSet<(&'static str, String)>,
    /// The statements without their values.
    spent: BTreeMap<String, Arc<Spent>>,
    /// Errors that are not in the journal yet: their number by code and statement without values.
    errors: BTreeMap<(i32, String), u64>,
    /// Conflicts among them of transactions that had begun with the lock.
    under_lock: u64,
    /// Number of all errors.
    failed: u64,
    /// When times were last written.
    written: Option<Instant>,
}

impl Kept {
    const fn new(forks: u32) -> Kept {
        let listed = BTreeSet::new();
        Kept { forks, listed, spent: BTreeMap::new(), errors: BTreeMap::new(), under_lock: 0, failed: 0, written: None }
    }

    /// Writes the times and errors that are not in the journal yet.
    fn write(&mut self) {
        let taken =
            self.spent.iter().map(|(text, spent)| (spent.count.swap(0, Relaxed), spent.ns.swap(0, Relaxed), text));
        let lines = taken
            .filter(|(count, ..)| *count > 0)
            .map(|(count, ns, text)| format!("spent\t{count}\t{ns}\t{text}\n"))
            .collect();
        append(lines);
        self.write_errors();
        self.written = Some(Instant::now());
    }

    fn write_errors(&mut self) {
        let taken = std::mem::take(&mut self.errors).into_iter();
        append(taken.map(|((code, text), count)| format!("error\t{code}\t{count}\t{text}\n")).collect());
        match std::mem::take(&mut self.under_lock) {
            0 => {}
            count => append(format!("under-lock\t{count}\n")),
        }
    }

    /// Whether the last writing is [`TIMES_EVERY`] ago.
    fn is_due(&self) -> bool {
        self.written.is_none_or(|written| written.elapsed() >= TIMES_EVERY)
    }

    fn add_error(&mut self, code: i32, text: String, is_under_lock: bool) {
        self.under_lock += u64::from(is_under_lock);
        *self.errors.entry((code, text)).or_default() += 1;
        self.failed += 1;
        if self.failed <= AT_ONCE_MAX {
            self.write_errors();
        } else if self.is_due() {
            self.write();
        }
    }
}

/// Of this process at its number of forks. A child process begins with its own: another thread of its parent may have had the
/// lock at the fork, and no thread of the child would release it.
static KEPT: [Mutex<Kept>; 16] = [const { Mutex::new(Kept::new(0)) }; 16];

fn kept() -> MutexGuard<'static, Kept> {
    kept_of(FORKS.load(Relaxed))
}

/// What a process with this number of forks keeps.
fn kept_of(forks: u32) -> MutexGuard<'static, Kept> {
    let mut kept = of_process(forks).lock().unwrap_or_else(PoisonError::into_inner);
    if kept.forks != forks {
        *kept = Kept::new(forks);
    }
    kept
}

fn of_process(forks: u32) -> &'static Mutex<Kept> {
    &KEPT[forks as usize % KEPT.len()]
}

/// As [`kept_of`], if it has something and no other thread holds it for longer than `wait`.
fn kept_within(forks: u32, wait: Duration) -> Option<MutexGuard<'static, Kept>> {
    let begun = Instant::now();
    let kept = loop {
        match of_process(forks).try_lock() {
            Ok(kept) => break kept,
            Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
            Err(TryLockError::WouldBlock) if begun.elapsed() < wait => std::thread::sleep(Duration::from_millis(1)),
            Err(TryLockError::WouldBlock) => return None,
        }
    };
    Some(kept).filter(|kept| kept.forks == forks)
}

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
    let mut kept = kept();
    if kept.listed.len() < LISTED_MAX && kept.listed.insert((what, text.clone())) {
        if directory().is_none() {
            // In contend's own worker, whose log is kept.
            eprintln!("contend shim: {what}: {}: {text}", one_line(reason));
        }
        append(format!("{what}\t{}\t{text}\n", one_line(reason)));
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

/// Shortest time between two times at which they are written, until the process ends.
const TIMES_EVERY: Duration = Duration::from_secs(1);

/// The entry of a statement; none where there is no journal.
pub fn spent(sql: &str) -> Option<Arc<Spent>> {
    settings().and_then(Settings::journal)?;
    let text = without_values(sql);
    let mut kept = kept();
    let has_room = kept.spent.len() < LISTED_MAX || kept.spent.contains_key(&text);
    has_room.then(|| Arc::clone(kept.spent.entry(text).or_default()))
}

/// Writes the times of this process at the end of a connection, if they were not just written.
pub fn write_times() {
    let mut kept = kept();
    if kept.is_due() {
        kept.write();
    }
}

/// Counts an error that the program received: SQLite's extended code, and the statement, empty if it was not prepared.
/// `is_under_lock`: a conflict of a transaction that had begun with the lock of BEGIN IMMEDIATE.
pub fn error(code: i32, sql: &str, is_under_lock: bool) {
    if settings().and_then(Settings::journal).is_some() {
        kept().add_error(code, without_values(sql), is_under_lock);
    }
}

/// Writes the times of this process when it ends. A signal handler can end it while its own thread has the lock, and a child
/// of a fork that calls no handlers has that of its parent: then the last times are left out.
#[cfg_attr(test, expect(dead_code, reason = "called from .fini_array"))]
pub fn write_last_times() {
    if let Some(mut kept) = kept_within(FORKS.load(Relaxed), AT_END) {
        kept.write();
    }
}

/// Writes that a database was opened: a killed program, or one that does not close its connections, leaves no counts.
pub fn opened() {
    append("opened\n".to_string());
}

/// Writes the counts of a connection when it is closed.
pub fn counted(counts: &Counts) {
    append(format!("counts\t{}\t{}\t{}\n", counts.server, counts.local, counts.round_trips));
}

fn append(lines: String) {
    if lines.is_empty() {
        return;
    }
    let Some(journal) = settings().and_then(Settings::journal) else { return };
    // Without a journal the program still gets its error.
    if let Ok(mut file) = OpenOptions::new().append(true).open(journal) {
        let _ = file.write_all(lines.as_bytes());
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What stands before the name of a table, an index or a column.
const BEFORE_NAMES: &[&str] = &["from", "join", "into", "update", "table", "index", "references", "as", "exists"];

/// Whether text in double quotes between these is a name. Elsewhere it may be a value, too.
fn is_name(before: &str, after: Option<&char>) -> bool {
    let (rest, last) = last_word(before);
    let is = |word: &str| last.eq_ignore_ascii_case(word);
    let is_compared = is("from") && last_word(rest).1.eq_ignore_ascii_case("distinct");
    let has_dot = last.is_empty() && rest.ends_with('.');
    has_dot || after == Some(&'.') || BEFORE_NAMES.iter().any(|word| is(word)) && !is_compared
}

/// The last word of a text, which may be empty, and what is before it.
fn last_word(text: &str) -> (&str, &str) {
    let text = text.trim_end();
    text.split_at(text.trim_end_matches(char::is_alphanumeric).len())
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
    fn a_child_waits_for_no_lock_of_its_parent() {
        let mut parent = kept_of(8);
        parent.listed.insert(("refused", "SELECT 1".to_string()));
        let begun = Instant::now();
        assert!(kept_within(8, Duration::from_millis(20)).is_none(), "as in a signal handler");
        assert!(begun.elapsed() < AT_END);
        assert!(kept_of(9).listed.is_empty(), "the child's");
        drop(parent);
        assert!(kept_within(8, AT_END).is_some_and(|kept| !kept.listed.is_empty()));
        assert!(kept_within(8 + 16, AT_END).is_none(), "the times of an ancestor are not written again");
        assert!(kept_of(8 + 16).listed.is_empty());
    }

    #[test]
    fn errors_are_counted_by_code_and_statement_until_they_are_written() {
        let mut kept = Kept::new(0);
        kept.failed = AT_ONCE_MAX - 1;
        kept.add_error(5, "UPDATE t".to_string(), false);
        assert!(kept.errors.is_empty(), "written at once");
        kept.written = Some(Instant::now());
        for code in [5, 5, 19] {
            kept.add_error(code, "UPDATE t".to_string(), false);
        }
        let counts: Vec<u64> = kept.errors.values().copied().collect();
        assert_eq!(counts, [2, 1]);
        kept.written = None;
        kept.add_error(5, "UPDATE t".to_string(), false);
        assert!(kept.errors.is_empty() && kept.written.is_some());
    }

    #[test]
    fn a_statement_with_many_names_is_read_once() {
        let names = "\"name\", ".repeat(50_000);
        let begun = Instant::now();
        assert!(without_values(&format!("SELECT {names} 1 FROM t")).starts_with("SELECT \u{2026}, \u{2026}, "));
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }

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
