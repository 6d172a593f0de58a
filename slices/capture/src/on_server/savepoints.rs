//! The savepoints of a transaction. SQLite keeps several with the same name, and MariaDB only the last: on the server
//! their names are therefore their places.

/// The program's savepoints, the outermost first.
#[derive(Debug, Default)]
pub struct Savepoints {
    names: Vec<String>,
    /// Whether the first one began the transaction.
    has_begun: bool,
}

impl Savepoints {
    /// The statements for the server; `None` if there is no savepoint of this name. `word`: `savepoint`, `release` or
    /// `rollback`; `name`: in lower case.
    pub fn statements(&mut self, (word, name): (&str, &str), is_open: bool) -> Option<Vec<String>> {
        if word == "savepoint" {
            if !is_open {
                (self.names, self.has_begun) = (vec![], true);
            }
            let made = format!("SAVEPOINT s{}", self.names.len());
            self.names.push(name.to_string());
            return Some((!is_open).then(|| "BEGIN".to_string()).into_iter().chain([made]).collect());
        }
        let at = self.names.iter().rposition(|known| known == name)?;
        if word == "release" && at == 0 && self.has_begun {
            self.clear();
            return Some(vec!["COMMIT".to_string()]);
        }
        let (verb, kept) = if word == "release" { ("RELEASE", at) } else { ("ROLLBACK TO", at + 1) };
        self.names.truncate(kept);
        Some(vec![format!("{verb} SAVEPOINT s{at}")])
    }

    /// The transaction has ended.
    pub fn clear(&mut self) {
        *self = Savepoints::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_savepoint_of_a_name_is_meant() {
        let mut all = Savepoints::default();
        let mut is_open = false;
        for (word, wanted) in [
            ("savepoint", "BEGIN;SAVEPOINT s0"),
            ("savepoint", "SAVEPOINT s1"),
            ("release", "RELEASE SAVEPOINT s1"),
            ("rollback", "ROLLBACK TO SAVEPOINT s0"),
            ("savepoint", "SAVEPOINT s1"),
            ("rollback", "ROLLBACK TO SAVEPOINT s1"),
            ("release", "RELEASE SAVEPOINT s1"),
            ("release", "COMMIT"),
        ] {
            assert_eq!(all.statements((word, "a"), is_open).map(|all| all.join(";")).as_deref(), Some(wanted));
            is_open = true;
        }
        assert_eq!(all.statements(("release", "a"), false), None);
        // In a transaction of BEGIN the outermost savepoint ends nothing.
        assert_eq!(all.statements(("savepoint", "a"), true), Some(vec!["SAVEPOINT s0".to_string()]));
        assert_eq!(all.statements(("rollback", "b"), true), None);
        assert_eq!(all.statements(("release", "a"), true), Some(vec!["RELEASE SAVEPOINT s0".to_string()]));
    }
}
