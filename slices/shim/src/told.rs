//! Reads the library's journal: refused and noted statements, errors, counts, and times.

use contend::outcome::code_name;
use contend::report::text::{Style, wrapped};
use contend::stats::precision::counted;
use contend_wire::sample::CodeSpace;
use std::collections::BTreeMap;

/// Statements that are listed as those that took most time.
const SLOWEST: usize = 5;

/// Primary codes of errors that other transactions or statements cause.
const BUSY: u32 = 5;
const LOCKED: u32 = 6;
/// The extended code of a transaction that conflicts with another one.
const BUSY_SNAPSHOT: u32 = 517;

/// The content of a journal.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Refused statements, with the reason of each.
    pub refused: BTreeMap<String, String>,
    /// Databases that were not opened, with the reason of each.
    pub unopened: BTreeMap<String, String>,
    /// Executions of each statement that SQLite did not carry out alone, and their time in nanoseconds.
    pub spent: BTreeMap<String, (u64, u64)>,
    /// Errors that the program received: their number by SQLite's extended code and statement. The statement is empty if it was
    /// not prepared.
    pub errors: BTreeMap<u32, BTreeMap<String, u64>>,
    /// Conflicts among them of transactions that had begun with BEGIN IMMEDIATE or EXCLUSIVE, and so with the lock.
    pub under_lock: u64,
    /// Statements that were carried out in a way that a user should know, with the way of each.
    pub noted: BTreeMap<String, String>,
    /// Connections that were opened.
    pub opened: u64,
    /// Connections that were closed, and so have counts.
    pub connections: u64,
    /// Statements that the server executed.
    pub server: u64,
    /// Statements that SQLite executed itself.
    pub local: u64,
    pub round_trips: u64,
}

/// Reads a journal, without a last line that a killed process left incomplete.
pub fn read(text: &str) -> Told {
    let mut told = Told::default();
    let number = |text: &str| text.parse::<u64>().unwrap_or(0);
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields.as_slice() {
            ["refused", reason, statement] => {
                told.refused.insert((*statement).to_string(), (*reason).to_string());
            }
            ["noted", how, statement] => {
                told.noted.insert((*statement).to_string(), (*how).to_string());
            }
            ["unopened", reason, database] => {
                told.unopened.insert((*database).to_string(), (*reason).to_string());
            }
            ["spent", count, ns, statement] => {
                let spent = told.spent.entry((*statement).to_string()).or_default();
                *spent = (spent.0 + number(count), spent.1.saturating_add(number(ns)));
            }
            ["error", code, count, statement] => {
                let code = code.parse().unwrap_or_default();
                *told.errors.entry(code).or_default().entry((*statement).to_string()).or_default() += number(count);
            }
            ["under-lock", count] => told.under_lock += number(count),
            ["opened"] => told.opened += 1,
            ["counts", server, local, round_trips] => {
                told.connections += 1;
                told.server += number(server);
                told.local += number(local);
                told.round_trips += number(round_trips);
            }
            _ => {}
        }
    }
    told
}

impl Told {
    /// The refused statements, the databases that were not opened, and the noted statements, each with its reason.
    pub fn list(&self) -> String {
        self.refused
            .iter()
            .chain(&self.unopened)
            .chain(&self.noted)
            .map(|(statement, reason)| format!("{statement}\n    {reason}\n"))
            .collect()
    }

    /// The statements that took most time, the longest first, with counts and times. `width` of a line, in characters.
    pub fn slowest(&self, width: usize) -> String {
        let mut spent: Vec<(&String, &(u64, u64))> = self.spent.iter().collect();
        spent.sort_by_key(|(_, (_, ns))| std::cmp::Reverse(*ns));
        let line = |(statement, (count, ns)): (&String, &(u64, u64))| {
            let (total, mean) = (*ns as f64 / 1e6, *ns as f64 / 1e6 / (*count).max(1) as f64);
            let (cut, times) = (cut(statement, width), times(*count));
            format!("{cut}\n    {times}, {total:.1} ms in total, {mean:.3} ms each\n")
        };
        let lines: String = spent.into_iter().take(SLOWEST).map(line).collect();
        if lines.is_empty() { lines } else { format!("contend: The statements that took most time:\n{lines}") }
    }

    /// Errors that the program received, by code, first those that other transactions cause. `width` of a line, in characters.
    pub fn errors(&self, width: usize) -> String {
        let line = |(code, statements): (&u32, &BTreeMap<String, u64>)| {
            let sum: u64 = statements.values().sum();
            let (name, total) = (code_name(CodeSpace::Sqlite, *code), times(sum));
            let below = |text: String| wrapped(&text, ["    ", "    "], Style::terminal(width, false));
            let most =
                statements.iter().filter(|(statement, _)| !statement.is_empty()).max_by_key(|(_, count)| **count);
            match (self.advice(*code, sum), most) {
                (None, _) => format!("{name}: {total}\n"),
                (Some(advice), None) => format!("{name}: {total}\n{}", below(advice)),
                (Some(advice), Some((statement, count))) => {
                    let cut = cut(statement, width.saturating_sub(4));
                    let most =
                        if statements.len() == 1 { "".into() } else { format!(", most often ({})", times(*count)) };
                    format!("{name}: {total}{most} from\n    {cut}\n{}", below(advice))
                }
            }
        };
        let (first, others): (Vec<_>, Vec<_>) = self.errors.iter().partition(|(code, _)| advice(**code).is_some());
        let lines: String = first.into_iter().chain(others).map(line).collect();
        if lines.is_empty() { lines } else { format!("contend: Errors that the program received:\n{lines}") }
    }

    /// What to do about an error that another transaction or statement causes, which the program received this often. A
    /// transaction that has begun with BEGIN IMMEDIATE conflicts only with one that has not.
    fn advice(&self, code: u32, count: u64) -> Option<String> {
        let general = advice(code)?;
        let of_other =
            "The other transaction had not begun so, and read before it wrote: begin that one with BEGIN IMMEDIATE.";
        Some(match (code, self.under_lock) {
            (BUSY_SNAPSHOT, under_lock) if under_lock > 0 && under_lock >= count => {
                format!("{REPEAT} It had begun with BEGIN IMMEDIATE. {of_other}")
            }
            (BUSY_SNAPSHOT, under_lock) if under_lock > 0 => {
                format!("{general} {} it had begun with BEGIN IMMEDIATE. {of_other}", times(under_lock))
            }
            _ => general.to_string(),
        })
    }

    /// The summary sentence.
    pub fn sentence(&self) -> String {
        let mut parts = vec![];
        if self.connections > 0 || self.opened == 0 {
            parts.push(format!(
                "connections: {}, statements on the server: {}, by SQLite itself: {}, round trips: {}",
                self.connections, self.server, self.local, self.round_trips
            ));
        }
        let errors = self.errors.values().flat_map(BTreeMap::values).sum::<u64>();
        let (refused, noted) = (self.refused.len(), self.noted.len());
        parts.push(format!("errors: {errors}, refused statements: {refused}, noted: {noted}."));
        let counts = parts.join(", ");
        let unopened = match self.unopened.len() {
            0 => String::new(),
            unopened => format!(" Databases that were not opened: {unopened}."),
        };
        match self.opened.saturating_sub(self.connections) {
            0 => counts + &unopened,
            open => format!("{counts}{unopened} Connections that were never closed, without other counts: {open}."),
        }
    }
}

/// What to do in any case about a conflict.
const REPEAT: &str =
    "Another transaction used the same rows, and waiting would not help. Roll back and repeat the transaction.";

/// What to do about an error that another transaction or statement causes.
fn advice(code: u32) -> Option<&'static str> {
    match (code, code & 0xff) {
        (BUSY_SNAPSHOT, _) => Some(
            "Another transaction used the same rows, and waiting would not help. Roll back and repeat the transaction, keep \
             it short, and begin it with BEGIN IMMEDIATE if it writes.",
        ),
        (_, BUSY) => Some(
            "Another transaction held a lock until the busy timeout was over. Set a longer one (PRAGMA busy_timeout), keep \
             transactions short, and repeat those that fail.",
        ),
        (_, LOCKED) => Some(
            "Another statement of the same connection was not finished. Finish or reset it first, or use two connections.",
        ),
        _ => None,
    }
}

fn times(count: u64) -> String {
    counted(count as usize, "time")
}

/// A statement on one line of this width, in characters.
fn cut(statement: &str, width: usize) -> String {
    if statement.chars().count() <= width {
        return statement.to_string();
    }
    statement.chars().take(width.saturating_sub(1)).chain(['\u{2026}']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_summed_up() {
        let refused = "refused\tno (x)\tSELECT a\n";
        let noted = "noted\tover a copy\tSELECT b\n";
        let told = read(&format!("{refused}counts\t3\t2\t9\n{refused}counts\t1\t0\t4\n{noted}counts\t1"));
        assert_eq!((told.connections, told.server, told.local, told.round_trips), (2, 4, 2, 13));
        assert_eq!(told.list(), "SELECT a\n    no (x)\nSELECT b\n    over a copy\n");
        assert!(told.sentence().ends_with("round trips: 13, errors: 0, refused statements: 1, noted: 1."));
    }

    #[test]
    fn what_took_most_time_comes_first_and_fits_the_width() {
        let lines = "spent\t2\t3000000\tSELECT a\nspent\t1\t9000000\tSELECT 'ö' FROM b\nspent\t2\t1000000\tSELECT a\n";
        let told = read(lines);
        let slowest = "SELECT 'ö' …\n    1 time, 9.0 ms in total, 9.000 ms each\n\
                       SELECT a\n    4 times, 4.0 ms in total, 1.000 ms each\n";
        assert_eq!(told.slowest(12), format!("contend: The statements that took most time:\n{slowest}"));
        let many: String = (0..9).map(|at| format!("spent\t1\t{at}\tSELECT {at}\n")).collect();
        assert_eq!(read(&many).slowest(12).matches("SELECT").count(), 5);
        assert_eq!(read("").slowest(12), "");
        assert!(told.slowest(0).contains("\n\u{2026}\n    4 times"), "a terminal can say that it has no columns");
    }

    #[test]
    fn errors_are_counted_by_code_with_the_statement_of_most() {
        let told = read(
            "error\t2067\t2\tINSERT INTO a\nerror\t5\t1\tUPDATE a\nerror\t5\t3\tUPDATE b\nerror\t1\t1\t\n\
             error\t5\t3\tUPDATE a\nerror\t517\t1\tCOMMIT\nerror\t6\t1\t\nerror\t5\t9\t\n",
        );
        let errors = told.errors(400).split_whitespace().collect::<Vec<_>>().join(" ");
        let [busy, snapshot, locked] =
            [BUSY, BUSY_SNAPSHOT, LOCKED].map(|code| advice(code).expect("something can be done"));
        assert_eq!(
            errors,
            format!(
                "contend: Errors that the program received: \
                 SQLITE_BUSY (5): 16 times, most often (4 times) from UPDATE a {busy} \
                 SQLITE_LOCKED (6): 1 time {locked} \
                 SQLITE_BUSY_SNAPSHOT (517): 1 time from COMMIT {snapshot} \
                 SQLITE_ERROR (1): 1 time SQLITE_CONSTRAINT_UNIQUE (2067): 2 times"
            )
        );
        assert!(told.sentence().contains(", errors: 21, refused statements: 0, "), "{}", told.sentence());
        assert!(told.errors(11).contains("    UPDATE\u{2026}\n") && advice(261) == Some(busy));
        assert!(told.errors(60).lines().all(|line| line.len() <= 60), "{}", told.errors(60));
        assert_eq!(read("").errors(12), "");
    }

    #[test]
    fn the_holder_of_the_lock_is_not_told_to_take_it() {
        let errors = |lines: &str| read(lines).errors(400).split_whitespace().collect::<Vec<_>>().join(" ");
        let all = errors("error\t517\t2\tUPDATE a\nunder-lock\t1\nunder-lock\t1\n");
        assert!(all.ends_with("begin that one with BEGIN IMMEDIATE.") && !all.contains("if it writes"), "{all}");
        let some = errors("error\t517\t3\tUPDATE a\nunder-lock\t2\n");
        assert!(some.contains("if it writes. 2 times it had begun with BEGIN IMMEDIATE."), "{some}");
        assert!(!errors("error\t517\t3\tUPDATE a\n").contains("had begun"));
    }

    #[test]
    fn a_database_that_was_not_opened_is_no_refused_statement() {
        let told = read("unopened\tits rows are in the file\topening a.db\nopened\ncounts\t1\t0\t4\n");
        assert_eq!(told.list(), "opening a.db\n    its rows are in the file\n");
        assert!(told.sentence().ends_with("refused statements: 0, noted: 0. Databases that were not opened: 1."));
    }

    #[test]
    fn a_connection_that_was_never_closed_is_named() {
        let told = read("opened\nopened\ncounts\t3\t2\t9\n");
        assert_eq!((told.opened, told.connections), (2, 1));
        assert!(told.sentence().ends_with(" Connections that were never closed, without other counts: 1."));
        let none_closed = read("opened\nerror\t5\t3\tUPDATE b\n").sentence();
        assert!(none_closed.starts_with("errors: 3, refused statements: 0"), "no zeros for what is not counted");
    }
}
