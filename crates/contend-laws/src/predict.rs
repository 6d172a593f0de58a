//! What the chosen law says of numbers that were not measured, with the interval that chance gives it.

use crate::choose::{Point, Sweep, Tried, Word, capped, chosen, try_all};
use crate::fit::fit_from;
use crate::law::Law;
use contend_stats::bootstrap::{RESAMPLES, draws, expanded_ranks};
use contend_stats::interval::{self, MIN_ROUNDS};
use std::collections::BTreeSet;

/// A value that was not measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    pub x: f64,
    pub value: f64,
    /// 95 % of what the rounds' chance makes of it, if the law is right; none with too few rounds.
    pub interval: Option<(f64, f64)>,
    pub word: Word,
}

/// Where throughput begins to fall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    pub x: f64,
    pub value: f64,
}

/// All that may be said beyond what was measured.
#[derive(Debug, Clone)]
pub struct Outlook {
    pub tried: Vec<Tried>,
    /// Position of the law that is used; none if none could be tried.
    pub chosen: Option<usize>,
    /// The word of that law.
    pub word: Word,
    pub predictions: Vec<Prediction>,
    pub peak: Option<Peak>,
}

/// Tries all laws on `points`, which are in the order of their numbers, and predicts the numbers `at`; those that are further
/// away than the law reaches are left out.
pub fn outlook(sweep: Sweep, points: &[Point], at: &[f64], seed: u64) -> Outlook {
    let tried = try_all(sweep, points);
    let chosen = chosen(&tried);
    let word = chosen.map_or(Word::NoPrediction, |at| Word::of_law(&tried[at]));
    let mut outlook = Outlook { tried, chosen, word, predictions: vec![], peak: None };
    let (Some(at_law), Some(last)) = (chosen, points.last()) else { return outlook };
    let law = &outlook.tried[at_law];
    let resampled = resampled(law, points, seed);
    let within = at.iter().filter(|x| **x <= word.reach() * last.x);
    outlook.predictions = within.filter_map(|x| prediction(law, &resampled, *x, word)).collect();
    outlook.peak = peak(law, &resampled, last.x);
    outlook
}

/// Parameters of the law in resamples of the rounds, and which of them bound 95 %; empty with too few rounds.
struct Resampled {
    all: Vec<Vec<f64>>,
    ranks: (usize, usize),
}

fn resampled(tried: &Tried, points: &[Point], seed: u64) -> Resampled {
    let rounds: BTreeSet<u32> = points.iter().flat_map(|point| point.rounds.iter().map(|(round, _)| *round)).collect();
    let fewest = points.iter().map(|point| point.rounds.len()).min().unwrap_or(0);
    let Some(of) = tried.of.as_ref().filter(|_| fewest >= MIN_ROUNDS) else {
        return Resampled { all: vec![], ranks: (0, 0) };
    };
    let fit_again = |times: Vec<u64>| {
        let times_of = |round: &u32| times[rounds.iter().position(|other| other == round).expect("a round")];
        let median = |point: &Point| {
            let drawn = point.rounds.iter().flat_map(|(round, value)| (0..times_of(round)).map(move |_| *value));
            Some((point.x, interval::median(&drawn.collect::<Vec<_>>())?))
        };
        let medians: Vec<(f64, f64)> = points.iter().filter_map(median).collect();
        fit_from(tried.law, &medians, of.clone())
    };
    let all: Vec<Vec<f64>> = draws(rounds.len(), seed).filter_map(fit_again).collect();
    // A resample that fits nothing is rare, and the ranks are those of all.
    let all = if all.len() == RESAMPLES { all } else { vec![] };
    Resampled { all, ranks: expanded_ranks(fewest) }
}

impl Resampled {
    /// The interval of something that follows from the parameters.
    fn interval(&self, of: impl Fn(&[f64]) -> f64) -> Option<(f64, f64)> {
        let values = interval::sorted(&self.all.iter().map(|parameters| of(parameters)).collect::<Vec<_>>());
        Some((*values.get(self.ranks.0)?, *values.get(self.ranks.1)?))
    }
}

/// A value is no better known than its law, nor than chance lets it be. With too few rounds for an interval it is not good.
fn prediction(tried: &Tried, resampled: &Resampled, x: f64, word: Word) -> Option<Prediction> {
    let value = tried.value(x)?;
    let interval = resampled.interval(|of| capped(tried.law.value(of, x), tried.cap_per_s));
    let chance = interval.map_or(Word::Usable, |(low, high)| Word::of((high - low) / 2.0 / value));
    Some(Prediction { x, value, interval, word: word.max(chance) })
}

/// A peak is a claim of its own: the law must be the one that has it, by more than chance, and something beyond it was
/// measured.
fn peak(tried: &Tried, resampled: &Resampled, last: f64) -> Option<Peak> {
    let of = tried.of.as_ref().filter(|_| tried.law == Law::Usl)?;
    let (low, _) = resampled.interval(|of| of[2])?;
    let x = ((1.0 - of[1]) / of[2]).sqrt();
    (low > 0.0 && x >= 1.0 && x < last).then(|| Peak { x, value: tried.law.value(of, x) })
}

/// The first rate at which the value reaches a bound, if the law reaches so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    pub x: f64,
    pub word: Word,
}

/// The rate at which a mean response time reaches `bound`; none if the lowest rate is beyond it, or the law does not predict
/// so far.
pub fn limit(outlook: &Outlook, points: &[Point], bound: f64) -> Option<Limit> {
    let tried = &outlook.tried[outlook.chosen?];
    let (mut low, mut high) = (points.first()?.x, points.last()?.x * outlook.word.reach());
    let beyond = |x: f64| tried.value(x).is_none_or(|value| value > bound);
    if beyond(low) || !beyond(high) {
        return None;
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if beyond(middle) { high = middle } else { low = middle }
    }
    Some(Limit { x: low, word: outlook.word })
}
