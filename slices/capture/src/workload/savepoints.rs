//! Savepoints of a workload. Programs count their names up, so the workload has names by depth; MariaDB replaces a savepoint of the
//! same name.

use crate::statement::{Token, tokens, without_quotes, word};

/// The program's names of the savepoints that are open.
#[derive(Default)]
pub struct Savepoints {
    open: Vec<String>,
}

impl Savepoints {
    /// The workload's statement for one of the program; `None` if its savepoint is not open.
    pub fn statement(&mut self, sql: &str) -> Option<String> {
        let all = tokens(sql);
        let name = all.iter().rev().find_map(|token| match token {
            Token::Word(name) | Token::Literal(name) => Some(without_quotes(name).to_lowercase()),
            _ => None,
        })?;
        let place = self.open.iter().rposition(|open| *open == name);
        let (verb, number) = match word(&all, 0).as_str() {
            "savepoint" => {
                self.open.push(name);
                ("SAVEPOINT", self.open.len())
            }
            "release" => {
                self.open.truncate(place?);
                ("RELEASE SAVEPOINT", place? + 1)
            }
            _ => {
                self.open.truncate(place? + 1);
                ("ROLLBACK TO SAVEPOINT", place? + 1)
            }
        };
        Some(format!("{verb} s{number}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_depths() {
        let mut savepoints = Savepoints::default();
        let all = [
            ("SAVEPOINT a_7", Some("SAVEPOINT s1")),
            ("savepoint \"a_8\"", Some("SAVEPOINT s2")),
            ("SAVEPOINT A_8;", Some("SAVEPOINT s3")),
            ("ROLLBACK TO a_8", Some("ROLLBACK TO SAVEPOINT s3")),
            ("RELEASE a_8", Some("RELEASE SAVEPOINT s3")),
            ("ROLLBACK TRANSACTION TO SAVEPOINT a_7", Some("ROLLBACK TO SAVEPOINT s1")),
            ("RELEASE SAVEPOINT a_8", None),
            ("SAVEPOINT 'b c'", Some("SAVEPOINT s2")),
            ("RELEASE SAVEPOINT a_7", Some("RELEASE SAVEPOINT s1")),
            ("RELEASE SAVEPOINT 'b c'", None),
        ];
        for (of, wanted) in all {
            assert_eq!(savepoints.statement(of).as_deref(), wanted, "{of}");
        }
    }
}
