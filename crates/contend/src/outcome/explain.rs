//! Explains an error to the program that gets it: what happened, why a timeout was or was not waited for, and what to change.
//! The texts are data, in `explain.toml`; `contend explain` and reports print the same.

use super::code::{Outcome, TABLE, lookup};
use contend_wire::sample::{CodeSpace, sqlstate_to_code};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// One explanation, for all codes that mean the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// `SPACE CODE`, such as `sqlite 5`, or `outcome WORD`. Without codes it explains only its texts, whose codes are exact.
    pub codes: Vec<String>,
    /// What drivers print, in lower case; `*` is any text.
    pub texts: Vec<String>,
    /// The code of a text that one product prints; any other text means all codes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exact: BTreeMap<String, String>,
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

    /// What a text of this explanation means.
    fn subjects(&self, text: &str) -> Vec<Subject> {
        let exact = self.exact.get(text).and_then(|key| of_key(key));
        exact.map_or_else(|| self.codes.iter().filter_map(|key| of_key(key)).collect(), |one| vec![one])
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
    /// The explanation of what a text named: an entry without codes explains its messages, and not all that their code means.
    pub fn explanation_in(self, text: &str) -> Option<&'static Explanation> {
        let text = text.to_lowercase();
        let says = |message: &str| has(&text, message) || is_fragment(text.trim(), message);
        let is_own =
            |one: &&Explanation| one.texts.iter().any(|message| says(message) && one.subjects(message) == [self]);
        ALL.iter().filter(|one| one.codes.is_empty()).find(is_own).or_else(|| self.explanation())
    }

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

/// The code that `explain.toml` writes like this; the opposite of [`key`].
fn of_key(written: &str) -> Option<Subject> {
    let (space, code) = written.split_once(' ')?;
    let space = CodeSpace::from_word(space)?;
    let code = match space {
        CodeSpace::Sqlstate => sqlstate_to_code(code),
        CodeSpace::Worker => TABLE.iter().find(|row| row.space == space && row.name == code).map(|row| row.code),
        _ => code.parse().ok(),
    };
    Some(Subject::Code(space, code?))
}

/// The codes of the longest message that is in the text. Of a fragment of messages, those of all that contain it.
pub(super) fn of_message(text: &str) -> Vec<Subject> {
    let text = text.to_lowercase();
    let text = text.trim();
    let all = || ALL.iter().flat_map(|one| one.texts.iter().map(move |message| (one, message.as_str())));
    let longest = all().filter(|(_, message)| has(text, message)).map(|(_, message)| message.len()).max();
    let fits = |message: &str| match longest {
        Some(longest) => message.len() == longest && has(text, message),
        None => is_fragment(text, message),
    };
    all().filter(|(_, message)| fits(message)).flat_map(|(one, message)| one.subjects(message)).collect()
}

/// Whether a text is a part of this message. Short ones are parts of too many.
fn is_fragment(text: &str, message: &str) -> bool {
    text.len() > 3 && message.contains(text)
}

/// Whether a text has this message in it.
fn has(text: &str, message: &str) -> bool {
    let mut rest = Some(text);
    for part in message.split('*') {
        rest = rest.and_then(|rest| rest.split_once(part)).map(|(_, rest)| rest);
    }
    rest.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::pasted::find;
    use std::collections::BTreeSet;

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
            for (text, code) in &one.exact {
                let subject = of_key(code).unwrap_or_else(|| panic!("{code} is no code"));
                assert_eq!(subject.explanation_in(text), Some(one), "{code} has another entry than `{text}`");
                assert!(one.texts.contains(text), "{text}");
            }
        }
    }

    #[test]
    fn a_fragment_has_all_meanings_and_a_message_its_own() {
        let codes = |text: &str| of_message(text).into_iter().collect::<Vec<_>>();
        let sqlite = |code| Subject::Code(CodeSpace::Sqlite, code);
        assert_eq!(codes("Locked"), [sqlite(5), sqlite(6), sqlite(6), sqlite(6)]);
        assert_eq!(codes("database is locked: t"), [sqlite(5)]);
        for text in
            ["cannot start a transaction within a transaction", "Error: cannot commit - no transaction is active"]
        {
            let [one] = find(text)[..] else { panic!("{text}") };
            let explained = one.explanation_in(text).expect("explained");
            assert!(
                one == sqlite(1) && explained.texts.iter().any(|known| text.contains(known)),
                "{text}: {explained:?}"
            );
        }
    }

    /// What a server reports is not to be seen in a study of SQLite alone.
    #[test]
    fn studies_and_commands_show_what_they_are_said_to_show() {
        for one in ALL.iter() {
            let of_server = one.codes.iter().any(|key| key.starts_with("sqlstate ") || key.starts_with("mysql "));
            assert!(!of_server || one.study.as_deref() != Some("locked"), "{:?}", one.codes);
            let is_command = |command: &String| command.trim_start_matches("sudo ").starts_with("contend ");
            assert!(one.see.iter().all(is_command), "{:?}", one.see);
            assert!(one.study.is_none() || one.in_words().contains("contend run "), "{}", one.in_words());
        }
        for text in ["40P01", "1205", "40001", "55P03"] {
            let one = find(text)[0].explanation().expect("explained");
            assert!(!one.commands().is_empty(), "{text}");
        }
    }
}
