//! Reads the library's journal: refused statements, and counts.

use std::collections::BTreeMap;

/// The content of a journal.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Refused statements, with the reason of each.
    pub refused: BTreeMap<String, String>,
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
    /// The refused statements, each with its reason.
    pub fn list(&self) -> String {
        self.refused.iter().map(|(statement, reason)| format!("{statement}\n    {reason}\n")).collect()
    }

    /// The summary sentence.
    pub fn sentence(&self) -> String {
        let counts = format!(
            "connections: {}, statements on the server: {}, by SQLite itself: {}, round trips: {}, refused statements: {}.",
            self.connections,
            self.server,
            self.local,
            self.round_trips,
            self.refused.len()
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
        let told =
            read("refused\tno (x)\tSELECT a\ncounts\t3\t2\t9\nrefused\tno (x)\tSELECT a\ncounts\t1\t0\t4\ncounts\t1");
        assert_eq!((told.connections, told.server, told.local, told.round_trips), (2, 4, 2, 13));
        assert_eq!(told.list(), "SELECT a\n    no (x)\n");
        assert!(told.sentence().ends_with("round trips: 13, refused statements: 1."));
    }

    #[test]
    fn a_connection_that_was_never_closed_is_named() {
        let told = read("opened\nopened\ncounts\t3\t2\t9\n");
        assert_eq!((told.opened, told.connections), (2, 1));
        assert!(told.sentence().ends_with(" Connections that were never closed, without counts: 1."));
    }
}
