//! Tests of the words: a table of cases, and properties that hold for any data.

use super::*;
use crate::interval::MIN_ROUNDS;
use Direction::{HigherIsBetter, LowerIsBetter};
use proptest::prelude::*;

fn rounds(ratios: &[f64]) -> Vec<RoundPair> {
    ratios.iter().map(|&ratio| RoundPair { baseline: 1000.0, candidate: 1000.0 * ratio }).collect()
}

fn verdict(ratios: &[f64], direction: Direction) -> Verdict {
    compare_rounds(&rounds(ratios), direction, MARGIN, None).verdict
}

#[test]
fn the_words_in_their_order() {
    let cases: [(&[f64], Verdict); 6] = [
        (&[1.20, 1.21, 1.22, 1.19, 1.18, 1.10], Verdict::Faster),
        (&[0.80, 0.81, 0.82, 0.79, 0.78, 0.90], Verdict::Slower),
        (&[1.01, 1.02, 1.03, 1.02, 1.01, 1.02], Verdict::SlightlyFaster),
        (&[0.99, 0.98, 0.97, 0.98, 0.99, 0.98], Verdict::SlightlySlower),
        (&[0.98, 1.01, 1.02, 0.99, 1.00, 1.01], Verdict::NoDifference),
        (&[0.80, 1.30, 1.10, 1.20, 0.90, 1.00], Verdict::CannotTell),
    ];
    for (ratios, expected) in cases {
        assert_eq!(verdict(ratios, HigherIsBetter), expected, "{ratios:?}");
        assert_eq!(verdict(ratios, LowerIsBetter), expected.mirrored(), "{ratios:?}");
    }
}

#[test]
fn fewer_than_six_rounds_give_a_ratio_without_words() {
    let five = compare_rounds(&rounds(&[2.0; 5]), HigherIsBetter, MARGIN, None);
    assert_eq!(five.verdict, Verdict::NoWords);
    assert!((five.ratio.unwrap() - 2.0).abs() < 1e-12);
    assert_eq!((five.low, five.coverage, five.rounds_needed), (None, None, None));
    assert_eq!(compare_rounds(&[], HigherIsBetter, MARGIN, None).verdict, Verdict::NoWords);
}

#[test]
fn a_reason_not_to_compare_comes_before_everything() {
    let reason = "tiers differ: durable against bounded";
    for n in [2, 12] {
        let comparison = compare_rounds(&rounds(&vec![2.0; n]), HigherIsBetter, MARGIN, Some(reason));
        assert_eq!(comparison.verdict, Verdict::NotComparable(reason.into()));
        assert_eq!(comparison.verdict.to_string(), format!("not comparable: {reason}"));
    }
}

#[test]
fn a_round_without_a_ratio_is_told() {
    let mut data = rounds(&[1.0; 6]);
    data[3].candidate = 0.0;
    assert_eq!(compare_rounds(&data, HigherIsBetter, MARGIN, None).ratio, None);
    let reason = |data: &[RoundPair]| match compare_rounds(data, HigherIsBetter, MARGIN, None).verdict {
        Verdict::NotComparable(reason) => {
            reason.strip_suffix("; measure longer, or compare another metric").expect("what to do").to_string()
        }
        other => panic!("{other}"),
    };
    assert_eq!(reason(&data), "1 of 6 rounds have no ratio (such as 0 against 1,000)");
    data[3].baseline = 0.0;
    assert_eq!(reason(&data), "in 1 of 6 rounds neither had any");
    assert_eq!(reason(&[RoundPair { baseline: 0.0, candidate: 0.0 }]), "neither had any");
    assert_eq!(reason(&[RoundPair { baseline: 0.0, candidate: 99984.5798 }]), "100,000 against 0 is not a ratio");
}

#[test]
fn cannot_tell_says_how_many_rounds_it_would_take() {
    let comparison = compare_rounds(&rounds(&[0.9, 1.1, 1.0, 0.95, 1.05, 1.0]), HigherIsBetter, MARGIN, None);
    // h = ln(1.1 / 0.9) / 2 = 0.1003; 6 x (0.1003 / 0.04879)^2 = 25.4.
    assert_eq!((comparison.verdict, comparison.rounds_needed), (Verdict::CannotTell, Some(26)));
    assert!((comparison.minimum_detectable_effect.unwrap() - 0.1055).abs() < 1e-3);
}

#[test]
fn rounds_needed_are_even_and_at_least_two_more() {
    assert_eq!(rounds_needed(6, (0.0, 0.0), MARGIN), 8);
    assert_eq!(rounds_needed(7, (0.0, 0.0), MARGIN), 10);
    assert_eq!(rounds_needed(12, (0.0, 2.0 * MARGIN.ln_1p()), MARGIN), 48);
    assert_eq!(rounds_needed(12, (0.0, f64::INFINITY), MARGIN), u32::MAX - 1);
}

#[test]
fn rounds_needed_depend_on_where_the_median_lies() {
    let (m, h) = (MARGIN.ln_1p(), 2.0 * MARGIN.ln_1p());
    // In the middle between 1 and the margin the interval must be twice as narrow as at 1; at 4 m it excludes 1 sooner.
    for (center, needed) in [(0.0, 48), (m / 2.0, 192), (-m / 2.0, 192), (m, 48), (4.0 * m, 14)] {
        assert_eq!(rounds_needed(12, (center, h), MARGIN), needed, "{center}");
    }
}

#[test]
fn the_json_carries_the_word_and_the_reason() {
    let json = |verdict: Verdict| serde_json::to_string(&verdict).unwrap();
    assert_eq!(json(Verdict::SlightlyFaster), r#"{"word":"slightly faster"}"#);
    assert_eq!(json(Verdict::NotComparable("drift".into())), r#"{"word":"not comparable","reason":"drift"}"#);
}

fn any_rounds() -> impl Strategy<Value = Vec<RoundPair>> {
    let value = || 1e-3..1e12f64;
    prop::collection::vec((value(), value()), 0..40)
        .prop_map(|pairs| pairs.into_iter().map(|(baseline, candidate)| RoundPair { baseline, candidate }).collect())
}

/// Rounds near 1, where the words are decided.
fn close_rounds() -> impl Strategy<Value = Vec<RoundPair>> {
    prop::collection::vec(0.9..1.12f64, 0..40).prop_map(|ratios| rounds(&ratios))
}

fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a / b - 1.0).abs() < 1e-9,
        (a, b) => a == b,
    }
}

proptest! {
    #[test]
    fn the_interval_contains_the_median(data in any_rounds()) {
        let comparison = compare_rounds(&data, HigherIsBetter, MARGIN, None);
        prop_assert_eq!(comparison.low.is_some(), data.len() >= MIN_ROUNDS);
        if let (Some(low), Some(ratio), Some(high)) = (comparison.low, comparison.ratio, comparison.high) {
            prop_assert!(low <= ratio && ratio <= high);
            prop_assert!(comparison.coverage.unwrap() >= interval::COVERAGE);
        }
    }

    #[test]
    fn swapping_the_arms_inverts_the_ratio_and_mirrors_the_words(data in prop_oneof![any_rounds(), close_rounds()]) {
        let swap = |round: &RoundPair| RoundPair { baseline: round.candidate, candidate: round.baseline };
        let swapped: Vec<RoundPair> = data.iter().map(swap).collect();
        let one = compare_rounds(&data, HigherIsBetter, MARGIN, None);
        let other = compare_rounds(&swapped, HigherIsBetter, MARGIN, None);
        let inverse = |value: Option<f64>| value.map(|value| 1.0 / value);
        prop_assert!(close(one.ratio, inverse(other.ratio)));
        prop_assert!(close(one.low, inverse(other.high)) && close(one.high, inverse(other.low)));
        prop_assert_eq!(one.verdict, other.verdict.mirrored());
        prop_assert_eq!(one.rounds_needed, other.rounds_needed);
    }

    #[test]
    fn scaling_both_arms_changes_nothing(data in prop_oneof![any_rounds(), close_rounds()], scale in 1e-3..1e3f64) {
        let scale = |round: &RoundPair| RoundPair { baseline: round.baseline * scale, candidate: round.candidate * scale };
        let scaled: Vec<RoundPair> = data.iter().map(scale).collect();
        let one = compare_rounds(&data, LowerIsBetter, MARGIN, None);
        let other = compare_rounds(&scaled, LowerIsBetter, MARGIN, None);
        prop_assert!(close(one.ratio, other.ratio) && close(one.low, other.low) && close(one.high, other.high));
        prop_assert_eq!(one.verdict, other.verdict);
    }
}
