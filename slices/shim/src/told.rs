//! Reads the library's journal: refused and noted statements, counts, and times.

use std::collections::BTreeMap;

/// Statements that are listed as those that took most time.
const SLOWEST: usize = 5;

/// The content of a journal.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Refused statements, with the reason of each.
    pub refused: BTreeMap<String, String>,
    /// Databases that were not opened, with the reason of each.
    pub unopened: BTreeMap<String, String>,
    /// Executions of each statement that SQLite did not carry out alone, and their time in nanoseconds.
    pub spent: BTreeMap<String, (u64, u64)>,
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
            let is_longer = statement.chars().count() > width;
            let cut: String = statement.chars().take(if is_longer { width.saturating_sub(1) } else { width }).collect();
            let (total, mean) = (*ns as f64 / 1e6, *ns as f64 / 1e6 / (*count).max(1) as f64);
            let end = if is_longer { "\u{2026}" } else { "" };
            let times = if *count == 1 { "time" } else { "times" };
            format!("{cut}{end}\n    {count} {times}, {total:.1} ms in total, {mean:.3} ms each\n")
        };
        let lines: String = spent.into_iter().take(SLOWEST).map(line).collect();
        if lines.is_empty() { lines } else { format!("contend: The statements that took most time:\n{lines}") }
    }

    /// The summary sentence.
    pub fn sentence(&self) -> String {
        let counts = format!(
            "connections: {}, statements on the server: {}, by SQLite itself: {}, round trips: {}, refused statements: {}, noted: {}.",
            self.connections,
            self.server,
            self.local,
            self.round_trips,
            self.refused.len(),
            self.noted.len()
        );
        let unopened = match self.unopened.len() {
            0 => String::new(),
            unopened => format!(" Databases that were not opened: {unopened}."),
        };
        match self.opened.saturating_sub(self.connections) {
            0 => counts + &unopened,
            open => format!("{counts}{unopened} Connections that were never closed, without counts: {open}."),
        }
    }
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
        assert!(told.sentence().ends_with("round trips: 13, refused statements: 1, noted: 1."));
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
    fn a_database_that_was_not_opened_is_no_refused_statement() {
        let told = read("unopened\tits rows are in the file\topening a.db\nopened\ncounts\t1\t0\t4\n");
        assert_eq!(told.list(), "opening a.db\n    its rows are in the file\n");
        assert!(told.sentence().ends_with("refused statements: 0, noted: 0. Databases that were not opened: 1."));
    }

    #[test]
    fn a_connection_that_was_never_closed_is_named() {
        let told = read("opened\nopened\ncounts\t3\t2\t9\n");
        assert_eq!((told.opened, told.connections), (2, 1));
        assert!(told.sentence().ends_with(" Connections that were never closed, without counts: 1."));
    }
}
