//! Explains an error to the program that gets it: what happened, why a timeout was or was not waited for, and what to change.
//! The texts are data, in `explain.toml`; `contend explain` and reports print the same.

use super::code::{Code, Outcome, TABLE, lookup};
use super::extended::{sqlite_extended, sqlite_extended_named};
use contend_wire::sample::{CodeSpace, sqlstate_to_code};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// One explanation, for all codes that mean the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// `SPACE CODE`, such as `sqlite 5`, or `outcome WORD`.
    pub codes: Vec<String>,
    /// What drivers print, in lower case; `*` is any text.
    pub texts: Vec<String>,
    pub happened: String,
    /// Why a configured timeout was or was not waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<String>,
    pub change: Vec<String>,
    /// The built-in study that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<String>,
    /// Other commands that show it, which are printed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub see: Vec<String>,
}

impl Explanation {
    /// All of it in one paragraph, to be printed next to the code.
    pub fn in_words(&self) -> String {
        let change = (!self.change.is_empty()).then(|| format!("What to change: {}", self.change.join(" ")));
        let see = self.commands();
        let see = (!see.is_empty()).then(|| format!("See it: {}.", see.join("; ")));
        [Some(self.happened.clone()), self.waited.clone(), change, see]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Commands that show it: first those for the user's own database, then the study.
    pub fn commands(&self) -> Vec<String> {
        let study = self.study.iter().map(|study| format!("contend run {study} --quick"));
        self.see.iter().cloned().chain(study).collect()
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

/// Finds what a text names, the most certain first: a code after the name of its kind (`HTTP 503`), codes and names of codes, then
/// messages that drivers print. A number has every meaning that is known of it.
pub fn find(text: &str) -> Vec<Subject> {
    let words: Vec<&str> = words(text).collect();
    let of_mariadb: Vec<Subject> = words.windows(3).flat_map(of_mariadb).collect();
    if !of_mariadb.is_empty() {
        return of_mariadb;
    }
    let paired: Vec<Subject> = words.windows(2).flat_map(|two| of_code_in(of_space(two[0]), two[1])).collect();
    if !paired.is_empty() {
        return paired;
    }
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

/// The code in MariaDB's own form, `ERROR 1213 (40001)`: its SQLSTATE belongs to the number and has no meaning besides it.
fn of_mariadb(words: &[&str]) -> Vec<Subject> {
    match words {
        [error, number, state] if error.eq_ignore_ascii_case("error") && state.len() == 5 => {
            of_code_in(&[CodeSpace::Mysql], number)
        }
        _ => vec![],
    }
}

/// The kind of the code that follows this word.
fn of_space(word: &str) -> &'static [CodeSpace] {
    match word.to_ascii_lowercase().as_str() {
        "http" | "status" => &[CodeSpace::Http],
        "sqlite" => &[CodeSpace::Sqlite],
        "sqlstate" => &[CodeSpace::Sqlstate],
        "mysql" | "mariadb" => &[CodeSpace::Mysql],
        "errno" => &[CodeSpace::Os],
        _ => &[],
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

/// The codes of any kind that are written like this. A worker's own have names.
fn of_code(word: &str) -> Vec<Subject> {
    const ALL: &[CodeSpace] =
        &[CodeSpace::Sqlite, CodeSpace::Sqlstate, CodeSpace::Mysql, CodeSpace::Http, CodeSpace::Os];
    let found = of_code_in(ALL, word);
    // A number that may be no status at all is one only after that word.
    found.into_iter().filter(|one| !matches!(one, Subject::Code(CodeSpace::Http, code) if !is_status(*code))).collect()
}

/// The codes of these kinds that are written like this: listed ones, extended codes of SQLite, and those whose class or hundred
/// is listed. No other number is guessed.
fn of_code_in(spaces: &[CodeSpace], word: &str) -> Vec<Subject> {
    let number = word.parse::<u32>().ok().filter(|_| !word.starts_with('+'));
    let of = |space: &CodeSpace| {
        let listed = TABLE.iter().find(|row| row.space == *space && space.shown(row.code).eq_ignore_ascii_case(word));
        let unlisted = || match space {
            CodeSpace::Sqlite => number.filter(|code| sqlite_extended(*code).is_some()),
            CodeSpace::Http => number.filter(|code| (300..600).contains(code)),
            CodeSpace::Sqlstate if word.len() == 5 && word.bytes().any(|b| b.is_ascii_digit()) => {
                sqlstate_to_code(&word.to_uppercase()).filter(|code| lookup(*space, *code).is_some())
            }
            _ => None,
        };
        let code = listed.map(|row| row.code).or_else(unlisted)?;
        Some(Subject::Code(*space, code))
    };
    spaces.iter().filter_map(of).collect()
}

/// Whether services answer with this status: those that are registered, and those of nginx and Cloudflare.
fn is_status(code: u32) -> bool {
    matches!(code, 300..=308 | 400..=418 | 421..=431 | 451 | 499..=511 | 520..=527 | 530)
}

/// The code with this name, or the one whose name it extends: `SQLITE_CONSTRAINT_UNIQUE`.
fn of_name(word: &str) -> Option<Subject> {
    let is_name = word.contains('_') || word.len() > 3 && word.bytes().all(|b| b.is_ascii_uppercase());
    let upper = word.to_ascii_uppercase();
    if let Some(code) = sqlite_extended_named(&upper) {
        return Some(Subject::Code(CodeSpace::Sqlite, code));
    }
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
    let fits = |message: &&String| has(text, message) || text.len() > 3 && message.contains(text);
    let length = |one: &Explanation| one.texts.iter().filter(fits).map(String::len).max();
    let longest = ALL.iter().filter_map(length).max();
    let found = ALL.iter().filter(|one| longest.is_some() && length(one) == longest);
    found.flat_map(|one| one.codes.iter().filter_map(|key| of_key(key))).collect()
}

/// Whether a text has this message in it.
fn has(text: &str, message: &str) -> bool {
    let mut rest = Some(text);
    for part in message.split('*') {
        rest = rest.and_then(|rest| rest.split_once(part)).map(|(_, rest)| rest);
    }
    rest.is_some()
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
    fn a_number_with_several_meanings_has_all_of_them_and_an_unlisted_one_has_none() {
        for (text, expected) in [
            ("516", &["SQLITE_ABORT_ROLLBACK (516)"][..]),
            ("518", &["SQLITE_LOCKED_VTAB (518)"]),
            ("520", &["SQLITE_READONLY_CANTLOCK (520)", "HTTP 520 (as 500)"]),
            ("522", &["SQLITE_IOERR_SHORT_READ (522)", "HTTP 522 (as 500)"]),
            ("526", &["SQLITE_CANTOPEN_ISDIR (526)", "HTTP 526 (as 500)"]),
            ("HTTP 522", &["HTTP 522 (as 500)"]),
            ("sqlite 522", &["SQLITE_IOERR_SHORT_READ (522)"]),
            ("1290", &["SQLITE_IOERR_DIR_FSYNC (1290)", "ER_OPTION_PREVENTS_STATEMENT (1290)"]),
            ("MariaDB 1290", &["ER_OPTION_PREVENTS_STATEMENT (1290)"]),
            ("5", &["SQLITE_BUSY (5)"]),
            ("ERROR 1213 (40001)", &["ER_LOCK_DEADLOCK (1213)"]),
            (
                "ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction",
                &["ER_LOCK_DEADLOCK (1213)"],
            ),
            ("1030", &[]),
            ("1050", &[]),
            ("mysql 1050", &[]),
            ("512", &[]),
            ("999", &[]),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
    }

    /// What a server reports is not to be seen in a study of SQLite alone.
    #[test]
    fn studies_and_commands_show_what_they_are_said_to_show() {
        for one in ALL.iter() {
            let of_server = one.codes.iter().any(|key| key.starts_with("sqlstate ") || key.starts_with("mysql "));
            assert!(!of_server || one.study.as_deref() != Some("locked"), "{:?}", one.codes);
            assert!(one.see.iter().all(|command| command.starts_with("contend ")), "{:?}", one.see);
            assert!(one.study.is_none() || one.in_words().contains("contend run "), "{}", one.in_words());
        }
        for text in ["40P01", "1205", "40001", "55P03"] {
            let one = find(text)[0].explanation().expect("explained");
            assert!(!one.commands().is_empty(), "{text}");
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
            ("2067", "SQLITE_CONSTRAINT_UNIQUE (2067)"),
            ("SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_UNIQUE (2067)"),
            ("ERROR: canceling statement due to statement timeout", "query_canceled (57014)"),
            ("HTTP/1.1 503 Service Unavailable", "HTTP 503 Service Unavailable"),
            ("ERROR: prepared statement \"s1\" does not exist", "invalid_sql_statement_name (26000)"),
            ("FATAL: database \"app\" does not exist", "invalid_catalog_name (3D000)"),
            ("ERROR: relation \"t\" does not exist", "SQLITE_ERROR (1)"),
            ("HTTP 599", "HTTP 599 (as 500)"),
            ("301", "HTTP 301 (as 300)"),
            ("408", "HTTP 408 Request Timeout"),
            ("SQLSTATE 26000", "invalid_sql_statement_name (26000)"),
            (
                "ERROR 1969 (70100): Query execution was interrupted (max_statement_time exceeded)",
                "ER_STATEMENT_TIMEOUT (1969)",
            ),
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
