//! Answers to the study's questions in its own sentences; the only place where blanks are filled in.

use crate::analysis::cell::Cell;
use crate::analysis::compare::{Compared, compare};
use crate::analysis::estimate::Estimate;
use crate::analysis::findings::{Answered, Findings, Sentence, Why};
use crate::analysis::metric::{Metric, plain};
use crate::stats::interval::MIN_ROUNDS;
use crate::stats::precision::{alike, counted};
use crate::stats::verdict::{Comparison, Verdict};
use crate::study::blank::{Blank, Fact, Word};
use crate::study::model::{Answer, Study, VALUE_OF};

/// Answers one question under each of its conditions.
pub fn answer(findings: &Findings<'_>, answer: &Answer) -> Vec<Answered> {
    let study = &findings.study;
    let wanted = |label: &str| answer.condition.as_deref().is_none_or(|wanted| wanted == label);
    let conditions: Vec<usize> = (0..study.conditions.len()).filter(|&i| wanted(&study.conditions[i].label)).collect();
    if conditions.is_empty() {
        let condition = answer.condition.clone().unwrap_or_default();
        return vec![unanswered(findings, answer, None, Why::NoCondition(condition))];
    }
    conditions.into_iter().map(|condition| under(findings, answer, condition)).collect()
}

/// The question with its only possible blank, the condition, filled in.
fn ask(findings: &Findings<'_>, answer: &Answer, condition: usize) -> String {
    let label = findings.study.conditions[condition].label.clone();
    fill(&answer.ask, &[("condition".to_string(), label)])
}

fn unanswered(findings: &Findings<'_>, answer: &Answer, condition: Option<usize>, why: Why) -> Answered {
    let ask = condition.map_or_else(|| answer.ask.clone(), |condition| ask(findings, answer, condition));
    Answered { ask, condition, said: Err(why) }
}

fn under(findings: &Findings<'_>, answer: &Answer, condition: usize) -> Answered {
    let study = &findings.study;
    let Some(metric) = findings.metric(&answer.metric) else {
        return unanswered(findings, answer, Some(condition), Why::NoMetric(answer.metric.clone()));
    };
    let contender = |label: &str| study.contenders.iter().position(|c| c.label == label);
    let other = answer.against_condition.as_ref();
    let other = other.and_then(|other| study.conditions.iter().position(|known| known.label == *other));
    let cell = |label: &str, condition: usize| {
        let found = contender(label).and_then(|contender| findings.cell(condition, contender));
        found.filter(|cell| cell.has_data()).ok_or_else(|| Why::NoValidTrial(label.to_string()))
    };
    let (this, against) = match (cell(&answer.this, condition), cell(&answer.against, other.unwrap_or(condition))) {
        (Ok(this), Ok(against)) => (this, against),
        (Err(why), _) | (_, Err(why)) => return unanswered(findings, answer, Some(condition), why),
    };
    let estimator = findings.estimator();
    let mut values = [this, against].map(|cell| estimator.estimate(cell, &metric));
    let compared = compare(&estimator, against, this, &metric);
    let is_open =
        answer.cannot_tell_if.as_ref().and_then(|name| findings.metric(name)).is_some_and(|metric| {
            [this, against].iter().any(|cell| estimator.estimate(cell, &metric).value > Some(0.0))
        });
    let fact = if is_open { Some(Fact::CannotTell) } else { fact(&values) }.and_then(|fact| {
        let of = |fact: Fact| answer.facts.get(fact.key());
        of(fact).or_else(|| of(fact.stands_in()?))
    });
    let sentence = match fact {
        // The sentences of a user's file can contradict what was measured.
        Some(sentence) if study.built_in || shows_both_values(sentence) => sentence.clone(),
        Some(sentence) => format!("{sentence} (Values: {{this}} {{this_shown}}, {{against}} {{against_shown}}.)"),
        None => verdict_sentence(answer, &compared, findings),
    };
    let sentence = with_what_there_is(sentence, &compared.comparison);
    let sound = |estimate: &Estimate| estimate.value.is_some() && !estimate.at_least && !estimate.few;
    let shared = shared_rounds(findings, [this, against]).filter(|_| fact.is_none() && values.iter().all(sound));
    if let Some(rounds) = &shared {
        values =
            [0, 1].map(|side| estimator.estimate_of(&rounds[side], &metric).unwrap_or_else(|| values[side].clone()));
    }
    let mut blanks = blanks(answer, &metric, &values, &compared, study);
    blanks.extend(other_metrics(findings, &sentence, [this, against]));
    let mut text = fill(&sentence, &blanks) + &of_which_rounds(&sentence, &compared, study, &values, shared.is_some());
    let rounds = compared.comparison.rounds as usize;
    if fact.is_some() && rounds < MIN_ROUNDS && !findings.as_published() {
        text += &match study.rounds as usize {
            planned if planned < MIN_ROUNDS => format!(" ({rounds} round{}.)", if rounds == 1 { "" } else { "s" }),
            _ => format!(" ({rounds} of the {MIN_ROUNDS} rounds that a verdict needs.)"),
        };
    }
    let compared = fact.is_none().then(|| Box::new(compared));
    Answered {
        ask: ask(findings, answer, condition),
        condition: Some(condition),
        said: Ok(Sentence { text, compared }),
    }
}

/// Whether a sentence has the two values of the answer's metric, or of another one.
fn shows_both_values(sentence: &str) -> bool {
    let shows = |side: &str| ["value", "shown"].iter().any(|what| sentence.contains(&format!("{{{side}_{what}}}")));
    let mut others = sentence.split("{this.").skip(1).filter_map(|rest| rest.split_once('}'));
    shows("this") && shows("against") || others.any(|(name, _)| sentence.contains(&format!("{{against.{name}}}")))
}

/// The sentence, or a plain one if it needs a ratio or an interval that does not exist.
fn with_what_there_is(sentence: String, comparison: &Comparison) -> String {
    let lacks = |blank: &str, value: Option<f64>| value.is_none() && sentence.contains(blank);
    if lacks("{ratio}", comparison.ratio) {
        return "{this}: {this_shown}, {against}: {against_shown}. There is no ratio of the two.".to_string();
    }
    if lacks("{low}", comparison.low) || lacks("{high}", comparison.high) {
        return "{this}: {this_shown}, {against}: {against_shown}, a ratio of {ratio}. There is no interval to tell it \
                from chance."
            .to_string();
    }
    sentence
}

/// For each cell, its rows in the rounds that both have; `None` if these are all rounds or none.
fn shared_rounds(findings: &Findings<'_>, cells: [&Cell; 2]) -> Option<[Vec<usize>; 2]> {
    let round = |index: &usize| findings.rows[*index].round;
    let has = |cell: &Cell, wanted: u32| cell.valid.iter().any(|index| round(index) == wanted);
    let shared = [0, 1].map(|side| {
        let of = cells[side].valid.iter().filter(|index| has(cells[1 - side], round(index)));
        of.copied().collect::<Vec<usize>>()
    });
    let all = (0..2).all(|side| shared[side].len() == cells[side].valid.len());
    (!all && !shared[0].is_empty()).then_some(shared)
}

/// A remark if a verdict's two values do not come from all rounds, and why its ratio differs from theirs.
fn of_which_rounds(
    sentence: &str,
    compared: &Compared,
    study: &Study,
    [this, against]: &[Estimate; 2],
    shared: bool,
) -> String {
    let comparison = &compared.comparison;
    if !["{this_value}", "{this_shown}"].into_iter().any(|blank| sentence.contains(blank)) {
        return String::new();
    }
    let quotient = this.value.zip(against.value).map(|(this, against)| this / against);
    let (low, high) = match (comparison.low, comparison.high, comparison.ratio) {
        (Some(low), Some(high), _) => (low, high),
        (_, _, Some(ratio)) => (ratio / (1.0 + study.margin), ratio * (1.0 + study.margin)),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let off = sentence.contains("{ratio}") && quotient.is_some_and(|found| !(low..=high).contains(&found));
    let rounds = counted(comparison.rounds as usize, "round");
    match (shared, off) {
        (true, true) => format!(" (In the {rounds} that both have; the ratio is the median of theirs.)"),
        (true, false) => format!(" (In the {rounds} that both have.)"),
        (false, true) => format!(" (The ratio is the median of those of the {rounds}.)"),
        (false, false) => String::new(),
    }
}

/// Which of the two counts are above zero, and whether there are fewer.
fn fact([this, against]: &[Estimate; 2]) -> Option<Fact> {
    Some(Fact::of(this.value?, against.value?))
}

/// The study's sentence for the word, with the verdict if it is from a user's file; a plain one if it has none.
fn verdict_sentence(answer: &Answer, compared: &Compared, findings: &Findings<'_>) -> String {
    let normal = |written: &str| written.to_lowercase().replace(['-', '_'], " ");
    let own = Word::of(&compared.comparison.verdict).and_then(|word| {
        let key = normal(word.key());
        answer.words.iter().find(|(written, _)| {
            let written = normal(written);
            written == key || (word == Word::NoDifference && written.starts_with(&key))
        })
    });
    if let Some((_, sentence)) = own {
        return match !findings.study.built_in {
            true => format!("{sentence} (Verdict: {}.)", in_own_words(&compared.comparison.verdict)),
            false => sentence.clone(),
        };
    }
    match &compared.comparison.verdict {
        Verdict::NotComparable(reason) => format!("{{this}} and {{against}} cannot be compared: {}.", shield(reason)),
        Verdict::NoWords if findings.as_published() => {
            "{this}: {this_shown}, {against}: {against_shown}, a ratio of {ratio}, \
                                             measured as the original did, which says nothing about chance."
                .to_string()
        }
        Verdict::NoWords => "{this}: {this_shown}, {against}: {against_shown}, a ratio of {ratio}. The rounds are too \
                             few to say whether that is more than chance."
            .to_string(),
        Verdict::CannotTell => "{rounds} rounds cannot tell {this} from {against}: the ratio is {ratio}, and \
                                anything from {low} to {high} would fit."
            .to_string(),
        Verdict::AsAsked => "{this} and {against} both did all that was asked of them, so their throughput is that of \
                             the load. Compare their times."
            .to_string(),
        Verdict::NoDifference => "{this} and {against} do not differ by more than the margin.".to_string(),
        word => format!("{{this}} is {word} than {{against}}: {{this_shown}} against {{against_shown}}."),
    }
}

/// The verdict, next to a sentence that can contradict it.
fn in_own_words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Faster | Verdict::SlightlyFaster | Verdict::SlightlySlower | Verdict::Slower => {
            format!("{{this}} is {verdict} than {{against}}")
        }
        Verdict::NotComparable(_) => "not comparable".to_string(),
        word => word.to_string(),
    }
}

/// Escapes braces in a text that is not a sentence of the study.
fn shield(text: &str) -> String {
    text.replace(['{', '}'], "")
}

/// Names of blanks with their texts.
type Blanks = Vec<(String, String)>;

/// Blanks of a sentence for other metrics: `{this.NAME}` and `{against.NAME}`.
fn other_metrics(findings: &Findings<'_>, sentence: &str, cells: [&Cell; 2]) -> Blanks {
    let mut blanks = vec![];
    for (name, whose) in sentence.split('{').skip(1).filter_map(|after| {
        let (name, _) = after.split_once('}')?;
        let whose = VALUE_OF.iter().position(|whose| name.starts_with(whose))?;
        Some((name, whose))
    }) {
        if let Some(metric) = findings.metric(&name[VALUE_OF[whose].len()..]) {
            let estimate = findings.estimator().estimate(cells[whose], &metric);
            blanks.push((name.to_string(), shown(&metric, &estimate)));
        }
    }
    blanks
}

fn shown(metric: &Metric, estimate: &Estimate) -> String {
    as_shown(estimate, &|value| metric.show(value))
}

fn as_shown(estimate: &Estimate, show: &dyn Fn(f64) -> String) -> String {
    match estimate.value {
        Some(value) if estimate.at_least => format!("at least {}", show(value)),
        Some(value) => show(value),
        None => "not measured".to_string(),
    }
}

fn blanks(
    answer: &Answer,
    metric: &Metric,
    [this, against]: &[Estimate; 2],
    compared: &Compared,
    study: &Study,
) -> Blanks {
    let comparison = &compared.comparison;
    let [ratio, low, high] =
        alike([comparison.ratio, comparison.low, comparison.high].map(|n| n.map(plain).unwrap_or_default()));
    let reason = match &compared.comparison.verdict {
        Verdict::NotComparable(reason) => reason.clone(),
        _ => String::new(),
    };
    let with_unit = |estimate: &Estimate| as_shown(estimate, &|value| metric.show_with_unit(value));
    let value = |blank: Blank| match blank {
        Blank::This => answer.this.clone(),
        Blank::Against => answer.against.clone(),
        Blank::Ratio => ratio.clone(),
        Blank::Low => low.clone(),
        Blank::High => high.clone(),
        Blank::ThisValue => shown(metric, this),
        Blank::AgainstValue => shown(metric, against),
        Blank::ThisShown => with_unit(this),
        Blank::AgainstShown => with_unit(against),
        Blank::Condition => study.conditions[compared.condition].label.clone(),
        Blank::Tier => study.contenders[compared.candidate].tier.to_string(),
        Blank::Rounds => compared.comparison.rounds.to_string(),
        Blank::Reason => reason.clone(),
    };
    Blank::ALL.iter().map(|(blank, name)| (name.to_string(), value(*blank))).collect()
}

/// Fills in `{blanks}` in one pass: braces in filled-in texts and unknown blanks stay as they are.
pub fn fill(sentence: &str, blanks: &[(String, String)]) -> String {
    let mut filled = String::new();
    let mut rest = sentence;
    while let Some(open) = rest.find('{') {
        filled.push_str(&rest[..open]);
        rest = &rest[open..];
        let known = rest.find('}').and_then(|close| {
            let (_, value) = blanks.iter().find(|(name, _)| *name == rest[1..close])?;
            Some((close, value))
        });
        match known {
            Some((close, value)) => {
                filled.push_str(value);
                rest = &rest[close + 1..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::verdict::{Direction, LnRatio, judge};

    #[test]
    fn a_sentence_speaks_only_of_what_there_is() {
        let of = |center: Option<f64>| {
            judge(LnRatio { center, interval: None, rounds: 6 }, Direction::HigherIsBetter, 0.05, None)
        };
        let sentence = |text: &str, center| with_what_there_is(text.to_string(), &of(center));
        assert!(sentence("{ratio} times", None).ends_with("There is no ratio of the two."));
        assert!(sentence("{low} to {high}", Some(0.5)).contains("a ratio of {ratio}. There is no interval"));
        assert_eq!(sentence("{ratio} times", Some(0.5)), "{ratio} times");
        assert_eq!(sentence("{this_value}", None), "{this_value}");
    }
}
