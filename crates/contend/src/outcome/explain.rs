//! Explains an error to the program that gets it: what happened, why a timeout was or was not waited for, and what to change.
//! The texts are data, in `explain.toml`; `contend explain` and reports print the same.

use super::code::{Code, Outcome, TABLE, lookup};
use contend_wire::sample::{CodeSpace, sqlstate_to_code};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// One explanation, for all codes that mean the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// `SPACE CODE`, such as `sqlite 5`, or `outcome WORD`.
    pub codes: Vec<String>,
    /// What drivers print, in lower case.
    pub texts: Vec<String>,
    pub happened: String,
    /// Why a configured timeout was or was not waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<String>,
    pub change: Vec<String>,
    /// The built-in study that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<String>,
}

impl Explanation {
    /// The explanation in a few sentences, to be printed next to the code.
    pub fn in_short(&self) -> String {
        let change = self.change.first().map(|change| format!("What helps: {change}"));
        [Some(self.happened.clone()), self.waited.clone(), change].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    explain: Vec<Explanation>,
}

static ALL: LazyLock<Vec<Explanation>> = LazyLock::new(|| {
    let file: File =
        toml::from_str(include_str!("explain.toml")).expect("explain.toml is part of the tool, and tested");
    file.explain
});

/// The code or outcome that a text is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Code(CodeSpace, u32),
    Outcome(Outcome),
}

impl Subject {
    pub fn explanation(self) -> Option<&'static Explanation> {
        let with = |key: &str| ALL.iter().find(|one| one.codes.iter().any(|code| code == key));
        match self {
            Subject::Outcome(outcome) => with(&format!("outcome {}", outcome.word())),
            Subject::Code(space, code) => {
                let row = lookup(space, code);
                with(&key(space, code)).or_else(|| with(&key(space, row?.code)))
            }
        }
    }
}

/// A code as `explain.toml` writes it; codes of the worker have their names.
fn key(space: CodeSpace, code: u32) -> String {
    let of_worker = lookup(space, code).filter(|_| space == CodeSpace::Worker);
    format!("{} {}", space.word(), of_worker.map_or(space.shown(code), |row| row.name.to_string()))
}

/// Finds what a text names, the most certain first: codes and names of codes, then messages that drivers print.
pub fn find(text: &str) -> Vec<Subject> {
    let words: Vec<&str> = words(text).collect();
    if let [word] = words[..] {
        let outcome = Outcome::ALL.into_iter().find(|outcome| outcome.word().eq_ignore_ascii_case(word));
        let alone: Vec<Subject> = outcome.map(Subject::Outcome).into_iter().chain(of_code(word)).collect();
        if !alone.is_empty() {
            return alone;
        }
    }
    let named: Vec<Subject> = words.iter().filter_map(|word| of_name(word)).collect();
    if !named.is_empty() {
        return named;
    }
    let messages = of_message(text);
    let coded: Vec<Subject> = words.iter().flat_map(|word| of_code(word)).collect();
    // A number in a message counts where the message is of the same database: `database is locked (517)`.
    let same =
        |one: &&Subject| messages.iter().any(|message| space(**one).is_some() && space(**one) == space(*message));
    let exact: Vec<Subject> = coded.iter().filter(same).copied().collect();
    match (exact.is_empty(), messages.is_empty()) {
        (false, _) => exact,
        (true, false) => messages,
        (true, true) => coded,
    }
}

fn space(subject: Subject) -> Option<CodeSpace> {
    match subject {
        Subject::Code(space, _) => Some(space),
        Subject::Outcome(_) => None,
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

fn code(row: &Code) -> Subject {
    Subject::Code(row.space, row.code)
}

/// The codes of any database that are written like this. A number without a row is an extended code of SQLite, or a status.
fn of_code(word: &str) -> Vec<Subject> {
    let listed: Vec<Subject> =
        TABLE.iter().filter(|row| row.space.shown(row.code).eq_ignore_ascii_case(word)).map(code).collect();
    if !listed.is_empty() {
        return listed;
    }
    let known = |space: CodeSpace, code: u32| lookup(space, code).map(|_| Subject::Code(space, code));
    let found = match word.parse::<u32>() {
        Ok(code @ 300..600) => known(CodeSpace::Http, code),
        Ok(code @ 256..) if word.len() < 5 => known(CodeSpace::Sqlite, code),
        _ if word.len() == 5 && word.bytes().any(|b| b.is_ascii_digit()) => {
            sqlstate_to_code(&word.to_uppercase()).and_then(|code| known(CodeSpace::Sqlstate, code))
        }
        _ => None,
    };
    found.into_iter().collect()
}

/// The code with this name, or the one whose name it extends: `SQLITE_CONSTRAINT_UNIQUE`.
fn of_name(word: &str) -> Option<Subject> {
    let is_name = word.contains('_') || word.len() > 3 && word.bytes().all(|b| b.is_ascii_uppercase());
    let upper = word.to_ascii_uppercase();
    let fits = |row: &&Code| {
        let name = row.name.to_ascii_uppercase();
        upper == name || upper.strip_prefix(&name).is_some_and(|rest| rest.starts_with('_'))
    };
    TABLE.iter().filter(|_| is_name).filter(fits).max_by_key(|row| row.name.len()).map(code)
}

/// The first code of every explanation one of whose messages is in the text, or has the text in it; the longest wins.
fn of_message(text: &str) -> Vec<Subject> {
    let text = text.to_lowercase();
    let text = text.trim();
    let fits = |message: &&String| text.contains(message.as_str()) || text.len() > 3 && message.contains(text);
    let length = |one: &Explanation| one.texts.iter().filter(fits).map(String::len).max();
    let longest = ALL.iter().filter_map(length).max();
    let found = ALL.iter().filter(|one| longest.is_some() && length(one) == longest);
    found.flat_map(|one| one.codes.iter().filter_map(|key| of_key(key))).collect()
}

fn of_key(written: &str) -> Option<Subject> {
    TABLE.iter().find(|row| key(row.space, row.code) == written).map(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::code_name;
    use std::collections::BTreeSet;

    fn names(text: &str) -> Vec<String> {
        let name = |subject: Subject| match subject {
            Subject::Code(space, code) => code_name(space, code),
            Subject::Outcome(outcome) => outcome.word().to_string(),
        };
        find(text).into_iter().map(name).collect()
    }

    #[test]
    fn every_code_and_outcome_is_explained_once() {
        for row in TABLE {
            let found = Subject::Code(row.space, row.code).explanation();
            assert!(found.is_some_and(|one| !one.change.is_empty()), "{} {}", row.space.word(), row.name);
        }
        assert!(Outcome::ALL.into_iter().all(|outcome| Subject::Outcome(outcome).explanation().is_some()));
        let (mut codes, mut texts) = (BTreeSet::new(), BTreeSet::new());
        for one in ALL.iter() {
            for written in one.codes.iter().filter(|key| !key.starts_with("outcome ")) {
                assert!(codes.insert(written), "{written} is there twice");
                let row = TABLE.iter().find(|row| key(row.space, row.code) == *written);
                let row = row.unwrap_or_else(|| panic!("the table of outcomes has no {written}"));
                let is_wait = matches!(row.outcome, Outcome::Conflict | Outcome::Timeout);
                assert!(!is_wait || one.waited.is_some(), "{written} must say why it was or was not waited for");
            }
            for text in &one.texts {
                assert!(texts.insert(text) && text.to_lowercase() == *text, "{text}");
            }
        }
    }

    #[test]
    fn a_message_as_drivers_print_it_finds_its_code() {
        for (text, expected) in [
            ("database is locked", "SQLITE_BUSY (5)"),
            ("sqlite3.OperationalError: database is locked", "SQLITE_BUSY (5)"),
            ("SQLSTATE[HY000]: General error: 5 database is locked", "SQLITE_BUSY (5)"),
            ("database is locked (517)", "SQLITE_BUSY_SNAPSHOT (517)"),
            ("SqliteError: SQLITE_BUSY_SNAPSHOT: database is locked", "SQLITE_BUSY_SNAPSHOT (517)"),
            ("517", "SQLITE_BUSY_SNAPSHOT (517)"),
            ("2067", "SQLITE_CONSTRAINT (extended 2067)"),
            ("SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT (19)"),
            ("ERROR: deadlock detected", "deadlock_detected (40P01)"),
            ("40p01", "deadlock_detected (40P01)"),
            ("23514", "integrity_constraint_violation (SQLSTATE 23514)"),
            (
                "ERROR 1205 (HY000): Lock wait timeout exceeded; try restarting transaction",
                "ER_LOCK_WAIT_TIMEOUT (1205)",
            ),
            ("Error 1213 (40001): Deadlock found when trying to get lock", "ER_LOCK_DEADLOCK (1213)"),
            ("HTTP 503", "HTTP 503 Service Unavailable"),
            ("418", "HTTP 418 (as 400)"),
            ("connect ECONNREFUSED 127.0.0.1:5432", "ECONNREFUSED (111)"),
            ("unsent", "unsent"),
        ] {
            assert_eq!(names(text).first().map(String::as_str), Some(expected), "{text}");
        }
        assert_eq!(names("what is this"), Vec::<String>::new());
        assert_eq!(names(""), Vec::<String>::new());
    }
}
