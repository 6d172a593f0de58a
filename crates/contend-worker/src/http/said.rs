//! Answers to failed requests, with counts, so that a report can quote the service and not only a code.

use crate::failure::Failure;
use contend_wire::handshake::Facts;
use std::collections::BTreeMap;

/// Most bytes of an answer that are kept.
pub const SHOWN_BYTES: usize = 200;
/// Most different texts that are counted, so that a service with ever new texts does not fill the memory.
const DISTINCT_MAX: usize = 500;
/// Most texts that are reported at the end, the most frequent ones first.
const TOLD_MAX: usize = 20;
/// Prefix of these facts.
const FACT: &str = "answer";

/// Texts with their codes and counts.
#[derive(Debug, Default)]
pub struct Said(BTreeMap<(String, String), u64>);

impl Said {
    /// Counts an answer with this body and failure. An answer without text adds nothing to its code.
    #[cold]
    pub fn heard(&mut self, failure: Failure, body: &[u8]) {
        let text = cropped(body, SHOWN_BYTES);
        if !text.is_empty() {
            self.count((code(failure), text), 1);
        }
    }

    /// Adds the answers of another loop.
    pub fn merge(&mut self, other: Self) {
        other.0.into_iter().for_each(|(key, count)| self.count(key, count));
    }

    fn count(&mut self, key: (String, String), count: u64) {
        if self.0.len() < DISTINCT_MAX || self.0.contains_key(&key) {
            *self.0.entry(key).or_default() += count;
        }
    }

    /// The most frequent texts as `answer.N` = `COUNT SPACE:CODE TEXT`.
    pub fn facts(&self) -> Facts {
        let mut most: Vec<(&(String, String), &u64)> = self.0.iter().collect();
        most.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let numbered = most.into_iter().take(TOLD_MAX).zip(1..);
        numbered.map(|(((code, text), count), n)| (format!("{FACT}.{n}"), format!("{count} {code} {text}"))).collect()
    }
}

/// `http:500`, as in the header `contend-code`.
fn code(failure: Failure) -> String {
    format!("{}:{}", failure.space.word(), failure.space.shown(failure.code))
}

/// An answer as one line of at most `bytes_max` bytes. A cropped text ends with three dots, so that a caller that masks
/// secrets can look for parts of them there.
pub fn cropped(body: &[u8], bytes_max: usize) -> String {
    let shown = String::from_utf8_lossy(&body[..body.len().min(bytes_max)]).replace(char::is_control, " ");
    match body.len() > bytes_max {
        true => format!("{}...", shown.trim_end_matches(char::REPLACEMENT_CHARACTER)),
        false => shown.trim().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_wire::sample::CodeSpace;

    const HTTP_500: Failure = Failure { space: CodeSpace::Http, code: 500 };

    #[test]
    fn the_most_frequent_come_first_and_others_take_no_room() {
        let mut said = Said::default();
        (0..3).for_each(|_| said.heard(HTTP_500, b"database is\nlocked"));
        said.heard(Failure { code: 404, ..HTTP_500 }, b"");
        let mut other = Said::default();
        other.heard(HTTP_500, b"database is\nlocked");
        (0..10 * DISTINCT_MAX).for_each(|i| other.heard(HTTP_500, format!("request {i}").as_bytes()));
        said.merge(other);
        assert_eq!(said.0.len(), DISTINCT_MAX);
        let facts = said.facts();
        assert_eq!(facts[0], ("answer.1".to_string(), "4 http:500 database is locked".to_string()));
        assert_eq!(facts.len(), TOLD_MAX);
    }

    #[test]
    fn a_long_answer_is_cropped_between_characters() {
        let long = format!("{}ä", "x".repeat(SHOWN_BYTES - 1));
        assert_eq!(cropped(long.as_bytes(), SHOWN_BYTES), format!("{}...", "x".repeat(SHOWN_BYTES - 1)));
        assert_eq!(cropped(b" a\x1b[31m b\n", SHOWN_BYTES), "a [31m b");
    }
}
