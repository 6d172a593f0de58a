//! The sentences of an answer: one per verdict word, or one per fact about two counts.

use super::blank::{Blank, Fact, Word};
use super::file;
use super::metric::check_metric;
use super::model::{OwnMetric, VALUE_OF};
use std::collections::BTreeMap;

type Sentences = BTreeMap<String, String>;
type Wrong = (Vec<String>, String);

/// Words and facts of an answer, complete; one of the two is empty.
pub(super) fn read(answer: &file::AnswerFile, metrics: &[OwnMetric]) -> Result<(Sentences, Sentences), Wrong> {
    let wrong = |path: &[&str], message: String| {
        (path.iter().filter(|step| !step.is_empty()).map(ToString::to_string).collect(), message)
    };
    check_blanks(&answer.ask, &["condition"], None).map_err(|message| wrong(&["ask"], message))?;
    match (answer.words.is_empty(), answer.facts.is_empty()) {
        (true, true) => Err(wrong(&[], "needs sentences: [answer.words] or [answer.facts]".to_string())),
        (false, false) => Err(wrong(&["facts"], "an answer has either words or facts".to_string())),
        (false, true) => {
            check(&answer.words, &Kind::words(), metrics).map_err(|(key, message)| wrong(&["words", &key], message))?;
            Ok((with_slight_words(&answer.words), Sentences::new()))
        }
        (true, false) => {
            let kind = Kind::facts(answer.cannot_tell_if.is_some());
            check(&answer.facts, &kind, metrics).map_err(|(key, message)| wrong(&["facts", &key], message))?;
            Ok((Sentences::new(), answer.facts.clone()))
        }
    }
}

fn with_slight_words(words: &Sentences) -> Sentences {
    let mut words = words.clone();
    for (word, key) in Word::ALL {
        if let Some(sentence) = word.stands_in().and_then(|other| words.get(other.key())).cloned() {
            words.entry(key.to_string()).or_insert(sentence);
        }
    }
    words
}

/// The keys that sentences of an answer have.
struct Kind {
    /// All keys, with whether their sentences have a ratio.
    keys: Vec<(&'static str, bool)>,
    needed: Vec<&'static str>,
}

impl Kind {
    fn words() -> Self {
        let needed = Word::ALL.iter().filter(|(word, _)| word.stands_in().is_none()).map(|(_, key)| *key);
        let keys = Word::ALL.iter().map(|(word, key)| (*key, *word != Word::NotComparable));
        Self { keys: keys.collect(), needed: needed.collect() }
    }

    /// `may_not_tell`: with the key `cannot_tell_if`.
    fn facts(may_not_tell: bool) -> Self {
        let needed = Fact::ALL.iter().filter(|(fact, _)| fact.is_needed(may_not_tell)).map(|(_, key)| *key);
        let keys = Fact::ALL.iter().filter(|(fact, _)| may_not_tell || *fact != Fact::CannotTell);
        Self { keys: keys.map(|(_, key)| (*key, false)).collect(), needed: needed.collect() }
    }
}

/// Checks that all required sentences exist and no others, each with known blanks only. Errors have the key of the
/// sentence, or an empty one if it is missing.
fn check(sentences: &Sentences, kind: &Kind, metrics: &[OwnMetric]) -> Result<(), (String, String)> {
    for (key, sentence) in sentences {
        let Some((_, has_ratio)) = kind.keys.iter().find(|(known, _)| known == key) else {
            let known: Vec<&str> = kind.keys.iter().map(|(known, _)| *known).collect();
            return Err((key.clone(), format!("is not one of {}", known.join(", "))));
        };
        let allowed = Blank::ALL.iter().filter(|(blank, _)| *has_ratio || !blank.is_of_a_ratio());
        let allowed: Vec<&str> = allowed.map(|(_, name)| *name).collect();
        check_blanks(sentence, &allowed, Some(metrics)).map_err(|message| (key.clone(), message))?;
    }
    let missing: Vec<&str> = kind.needed.iter().copied().filter(|key| !sentences.contains_key(*key)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err((String::new(), format!("has no sentence for {}", missing.join(", "))))
}

/// Checks that all blanks can be filled in. Without `metrics`, blanks of other metrics are not allowed.
fn check_blanks(sentence: &str, allowed: &[&str], metrics: Option<&[OwnMetric]>) -> Result<(), String> {
    if sentence.trim().is_empty() {
        return Err("must not be empty".to_string());
    }
    let mut rest = sentence;
    while let Some(at) = rest.find(['{', '}']) {
        let inside = rest[at..].strip_prefix('{').and_then(|after| after.split_once('}'));
        let Some((name, after)) = inside else { return Err("has a brace without its partner".to_string()) };
        let metric = VALUE_OF.iter().find_map(|whose| name.strip_prefix(whose));
        if let Some((metric, metrics)) = metric.zip(metrics) {
            check_metric(metric, metrics)?;
        } else if !allowed.contains(&name) {
            let allowed: Vec<String> = allowed.iter().map(|name| format!("{{{name}}}")).collect();
            return Err(format!("cannot fill in {{{name}}} here; available: {}", allowed.join(", ")));
        }
        rest = after;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_checked() {
        let check = |sentence: &str| check_blanks(sentence, &Blank::ALL.map(|(_, name)| name), Some(&[]));
        assert_eq!(check("{this} is {ratio} x {against}"), Ok(()));
        assert_eq!(check("{this.response_ns_p99} and {against.throughput_ops_per_s.read}"), Ok(()));
        for (sentence, part) in [
            ("{that} is", "cannot fill in {that}"),
            ("{this is", "without its partner"),
            ("this} is", "without its partner"),
            ("{}", "cannot fill in {}"),
            (" ", "must not be empty"),
            ("{this.response_ns_p9}", "there is no metric `response_ns_p9`"),
            ("{that.response_ns_p99}", "cannot fill in {that.response_ns_p99}"),
        ] {
            assert!(check(sentence).unwrap_err().contains(part), "{sentence}");
        }
        let asked = check_blanks("{this.response_ns_p99}?", &["condition"], None);
        assert!(asked.unwrap_err().contains("available: {condition}"), "the question has no metric");
    }
}
