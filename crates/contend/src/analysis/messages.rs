//! Failures in words: the service's own answer if the client kept it, else the meaning of the code.

use crate::outcome::{code_name, lookup};
use crate::record::model::Trial;
use contend_wire::sample::{CodeSpace, Sample, sqlstate_to_code};
use std::collections::BTreeMap;

/// Prefix of a client's facts with answers: `COUNT SPACE:CODE TEXT`.
const FACT: &str = "answer.";
/// Name for operations that never began: they have no code.
const UNSENT: &str = "unsent";

/// One kind of failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub text: String,
    /// The name of its code, as in tables.
    pub code: String,
    pub count: u64,
}

type Code = (CodeSpace, u32);

/// Failures by code, and the answers of services.
#[derive(Debug, Default)]
pub struct Messages {
    failed: BTreeMap<Code, u64>,
    answers: BTreeMap<Code, BTreeMap<String, u64>>,
    unsent: u64,
}

impl Messages {
    /// Adds an operation that failed with this sample.
    pub fn failed(&mut self, sample: &Sample) {
        self.many((sample.code_space, sample.code), 1);
    }

    /// Adds failures with a code.
    pub fn many(&mut self, code: Code, count: u64) {
        *self.failed.entry(code).or_default() += count;
    }

    /// Adds operations that were due and never began.
    pub fn unsent(&mut self, count: u64) {
        self.unsent += count;
    }

    /// Adds the answers that the clients of a trial kept.
    pub fn add(&mut self, trial: &Trial) {
        let facts = trial.workers.iter().flat_map(|worker| &worker.done);
        for (count, code, text) in facts.filter(|(name, _)| name.starts_with(FACT)).filter_map(|(_, text)| read(text)) {
            *self.answers.entry(code).or_default().entry(text.to_string()).or_default() += count;
        }
    }

    /// The most frequent messages. An answer is never counted more often than its code: an attempt that succeeded on
    /// retry was answered, but is not a failure.
    pub fn most_frequent(&self, at_most: usize) -> Vec<Message> {
        let mut all = vec![];
        for (&(space, code), &failed) in &self.failed {
            let (mut left, name) = (failed, name(space, code));
            let mut answers: Vec<_> = self.answers.get(&(space, code)).into_iter().flatten().collect();
            answers.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            for (text, &count) in answers {
                let count = count.min(left);
                left -= count;
                all.push(Message { text: text.clone(), code: name.clone(), count });
            }
            all.push(Message { text: meaning(space, code), code: name, count: left });
        }
        let text = "it was due and never begun: the clients were still busy".to_string();
        all.push(Message { text, code: UNSENT.to_string(), count: self.unsent });
        all.retain(|message| message.count > 0);
        all.sort_by_key(|message| std::cmp::Reverse(message.count));
        all.truncate(at_most);
        all
    }
}

/// The name of a code, without its outcome.
pub fn name(space: CodeSpace, code: u32) -> String {
    match lookup(space, code) {
        Some(row) if space == CodeSpace::Http && row.code != code => format!("HTTP {code}"),
        _ => code_name(space, code),
    }
}

fn meaning(space: CodeSpace, code: u32) -> String {
    match lookup(space, code) {
        // A status that is found only by its class has no meaning of its own.
        Some(row) if row.code == code || space != CodeSpace::Http => row.meaning.to_string(),
        Some(_) if space == CodeSpace::Http && (300..400).contains(&code) => {
            "a redirection, which contend does not follow: give the address in its `location`".to_string()
        }
        Some(_) if space == CodeSpace::Http => format!("the status {code}, which the scenario does not expect"),
        _ => "a code this tool does not know".to_string(),
    }
}

fn read(text: &str) -> Option<(u64, Code, &str)> {
    let (count, rest) = text.split_once(' ')?;
    let (code, text) = rest.split_once(' ')?;
    let (space, code) = code.split_once(':')?;
    let space = CodeSpace::from_word(space)?;
    let code = if space == CodeSpace::Sqlstate { sqlstate_to_code(code)? } else { code.parse().ok()? };
    Some((count.parse().ok()?, (space, code), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_quoted_and_a_silent_one_described() {
        let mut messages = Messages::default();
        messages.many((CodeSpace::Http, 500), 5);
        messages.many((CodeSpace::Os, 110), 4);
        messages.many((CodeSpace::Http, 200), 1);
        messages.unsent(7);
        assert!(meaning(CodeSpace::Http, 301).starts_with("a redirection, which contend does not follow"));
        let (count, code, text) = read("3 http:500 {\"error\": \"database is locked\"}").unwrap();
        messages.answers.entry(code).or_default().insert(text.to_string(), count);
        let all = messages.most_frequent(9);
        let shown: Vec<(u64, &str, &str)> = all.iter().map(|m| (m.count, m.code.as_str(), m.text.as_str())).collect();
        assert_eq!(
            shown,
            [
                (7, "unsent", "it was due and never begun: the clients were still busy"),
                (4, "ETIMEDOUT (110)", "no answer in time"),
                (3, "HTTP 500 Internal Server Error", "{\"error\": \"database is locked\"}"),
                (2, "HTTP 500 Internal Server Error", "the service failed"),
                (1, "HTTP 200", "the status 200, which the scenario does not expect"),
            ]
        );
        assert_eq!(messages.most_frequent(3).len(), 3);
    }

    #[test]
    fn facts_of_others_are_passed_over() {
        for text in ["", "many http:500 x", "1 ftp:500 x", "1 http:x x", "1 http:500"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert!(matches!(read("1 sqlstate:40001 x"), Some((1, (CodeSpace::Sqlstate, _), "x"))));
    }
}
