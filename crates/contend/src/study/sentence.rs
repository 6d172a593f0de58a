//! The sentences of an answer: one per verdict word, or one per fact about two counts.

use super::file;
use super::model::{OwnMetric, VALUE_OF};
use super::questions::check_metric;
use std::collections::BTreeMap;

/// Verdict words an answer needs a sentence for. The slight ones may be left out: each then says what
/// the word without `slightly-` says.
pub const WORDS: [&str; 7] =
    ["faster", "slightly-faster", "no-difference", "cannot-tell", "slightly-slower", "slower", "not-comparable"];

const SLIGHTLY: &str = "slightly-";

/// Facts about two counts, by which of them are above 0.
pub const FACTS: [&str; 4] = ["neither", "only-this", "only-against", "both"];

const PLACEHOLDERS: [&str; 13] = [
    "this",
    "against",
    "ratio",
    "low",
    "high",
    "this_value",
    "against_value",
    "this_shown",
    "against_shown",
    "condition",
    "tier",
    "rounds",
    "reason",
];
/// Known only where there is a verdict.
const OF_A_RATIO: [&str; 3] = ["ratio", "low", "high"];
type Sentences = BTreeMap<String, String>;
type Wrong = (Vec<String>, String);

/// Words and facts of an answer, complete; one of the two is empty.
pub(super) fn read(answer: &file::Answer, metrics: &[OwnMetric]) -> Result<(Sentences, Sentences), Wrong> {
    let wrong = |path: &[&str], message: String| {
        (path.iter().filter(|step| !step.is_empty()).map(ToString::to_string).collect(), message)
    };
    check_placeholders(&answer.ask, &["condition"], None).map_err(|message| wrong(&["ask"], message))?;
    match (answer.words.is_empty(), answer.facts.is_empty()) {
        (true, true) => Err(wrong(&[], "needs sentences: [answer.words] or [answer.facts]".to_string())),
        (false, false) => Err(wrong(&["facts"], "an answer has either words or facts".to_string())),
        (false, true) => {
            check(&answer.words, "words", &WORDS, metrics)
                .map_err(|(key, message)| wrong(&["words", &key], message))?;
            Ok((with_slight_words(&answer.words), Sentences::new()))
        }
        (true, false) => {
            check(&answer.facts, "facts", &FACTS, metrics)
                .map_err(|(key, message)| wrong(&["facts", &key], message))?;
            Ok((Sentences::new(), answer.facts.clone()))
        }
    }
}

fn with_slight_words(words: &Sentences) -> Sentences {
    let mut words = words.clone();
    for side in ["faster", "slower"] {
        let sentence = words[side].clone();
        words.entry(format!("{SLIGHTLY}{side}")).or_insert(sentence);
    }
    words
}

/// Every sentence there, no other, and in each only what can be filled in. Errors name the key of the
/// sentence, or an empty one if it is missing.
fn check(sentences: &Sentences, kind: &str, keys: &[&str], metrics: &[OwnMetric]) -> Result<(), (String, String)> {
    for (key, sentence) in sentences {
        if !keys.contains(&key.as_str()) {
            return Err((key.clone(), format!("is not one of {}", keys.join(", "))));
        }
        let without_ratio = kind == "facts" || key == "not-comparable";
        let allowed: Vec<&str> =
            PLACEHOLDERS.into_iter().filter(|name| !(without_ratio && OF_A_RATIO.contains(name))).collect();
        check_placeholders(sentence, &allowed, Some(metrics)).map_err(|message| (key.clone(), message))?;
    }
    let needed = keys.iter().copied().filter(|key| !key.starts_with(SLIGHTLY));
    let missing: Vec<&str> = needed.filter(|key| !sentences.contains_key(*key)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err((String::new(), format!("has no sentence for {}", missing.join(", "))))
}

/// Without metrics, none of another one can be filled in.
fn check_placeholders(sentence: &str, allowed: &[&str], metrics: Option<&[OwnMetric]>) -> Result<(), String> {
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
    fn placeholders_are_checked() {
        let check = |sentence: &str| check_placeholders(sentence, &PLACEHOLDERS, Some(&[]));
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
        let asked = check_placeholders("{this.response_ns_p99}?", &["condition"], None);
        assert!(asked.unwrap_err().contains("available: {condition}"), "the question has no metric");
    }
}
