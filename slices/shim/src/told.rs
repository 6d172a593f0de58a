//! Reads the library's journal: refused and noted statements, and counts.

use std::collections::BTreeMap;

/// The content of a journal.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Refused statements, with the reason of each.
    pub refused: BTreeMap<String, String>,
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
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields.as_slice() {
            ["refused", reason, statement] => {
                told.refused.insert((*statement).to_string(), (*reason).to_string());
            }
            ["noted", how, statement] => {
                told.noted.insert((*statement).to_string(), (*how).to_string());
            }
            ["opened"] => told.opened += 1,
            ["counts", server, local, round_trips] => {
                let number = |text: &str| text.parse::<u64>().unwrap_or(0);
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
    /// The refused statements, then the noted ones, each with its reason.
    pub fn list(&self) -> String {
        self.refused
            .iter()
            .chain(&self.noted)
            .map(|(statement, reason)| format!("{statement}\n    {reason}\n"))
            .collect()
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
        match self.opened.saturating_sub(self.connections) {
            0 => counts,
            open => format!("{counts} Connections that were never closed, without counts: {open}."),
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
    fn a_connection_that_was_never_closed_is_named() {
        let told = read("opened\nopened\ncounts\t3\t2\t9\n");
        assert_eq!((told.opened, told.connections), (2, 1));
        assert!(told.sentence().ends_with(" Connections that were never closed, without counts: 1."));
    }
}
