//! Predictions of the chosen law for numbers that were not measured, with intervals from the rounds.

use crate::choose::{Point, Sweep, Tried, Word, capped, chosen, is_linear, medians, try_all};
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
    /// 95 % interval from the rounds' variation, if the law is right; `None` with too few rounds.
    pub interval: Option<(f64, f64)>,
    pub word: Word,
}

/// Where throughput begins to fall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    pub x: f64,
    pub value: f64,
}

/// All predictions beyond the measurements.
#[derive(Debug, Clone)]
pub struct Outlook {
    pub tried: Vec<Tried>,
    /// Position of the chosen law; `None` if none could be tried.
    pub chosen: Option<usize>,
    /// The word of that law; not good if no limit was reached.
    pub word: Word,
    /// Whether no limit was reached, so that nothing beyond the largest number is predicted: throughput is nearly in proportion to
    /// the numbers, the mean response time hardly grows with the rate, or the rounds do not bound the capacity.
    pub linear: bool,
    pub predictions: Vec<Prediction>,
    pub peak: Option<Peak>,
    resampled: Resampled,
}

/// Tries all laws on `points`, which are in the order of their numbers, and predicts the numbers `at`; those that are further
/// away than the law reaches are left out.
pub fn outlook(sweep: Sweep, points: &[Point], at: &[f64], seed: u64) -> Outlook {
    let tried = try_all(sweep, points);
    let chosen = chosen(&tried);
    let resampled = chosen.map(|at| resampled(sweep, &tried[at], points, seed)).unwrap_or_default();
    let linear = is_linear(sweep, points) || chosen.is_some_and(|at| resampled.has_no_capacity(&tried[at]));
    let word = chosen.map_or(Word::NoPrediction, |at| Word::of_law(&tried[at]));
    let word = if linear { word.max(Word::Usable) } else { word };
    let mut outlook = Outlook { tried, chosen, word, linear, predictions: vec![], peak: None, resampled };
    let (Some(at_law), Some(last)) = (chosen, points.last()) else { return outlook };
    let law = &outlook.tried[at_law];
    let reach = if linear { word.reach().min(1.0) } else { word.reach() };
    let within = at.iter().filter(|x| **x <= reach * last.x);
    outlook.predictions = within.filter_map(|x| prediction(law, &outlook.resampled, *x, word)).collect();
    outlook.peak = peak(law, &outlook.resampled, last.x).filter(|_| word != Word::NoPrediction);
    outlook
}

/// The law fitted to resamples of the rounds, and which of them bound 95 %; empty with too few rounds.
#[derive(Debug, Clone, Default)]
struct Resampled {
    all: Vec<Fitted>,
    ranks: (usize, usize),
}

/// A law with its parameters.
#[derive(Debug, Clone)]
struct Fitted {
    law: Law,
    of: Vec<f64>,
    cap_per_s: Option<f64>,
}

impl Fitted {
    fn value(&self, x: f64) -> f64 {
        capped(self.law.value(&self.of, x), self.cap_per_s)
    }
}

fn resampled(sweep: Sweep, tried: &Tried, points: &[Point], seed: u64) -> Resampled {
    let rounds: BTreeSet<u32> = points.iter().flat_map(|point| point.rounds.iter().map(|(round, _)| *round)).collect();
    let fewest = points.iter().map(|point| point.rounds.len()).min().unwrap_or(0);
    let Some(of) = tried.of.as_ref().filter(|_| fewest >= MIN_ROUNDS) else { return Resampled::default() };
    let fit_again = |times: Vec<u64>| {
        let times_of = |round: &u32| rounds.iter().position(|other| other == round).map_or(0, |at| times[at]);
        let draw = |values: &[(u32, f64)]| -> Vec<(u32, f64)> {
            values.iter().flat_map(|value| (0..times_of(&value.0)).map(|_| *value)).collect()
        };
        let draw = |point: &Point| Point { x: point.x, rounds: draw(&point.rounds), cpu_s: draw(&point.cpu_s) };
        let drawn: Vec<Point> = points.iter().map(draw).collect();
        let law = sweep.laws(&drawn).into_iter().find(|law| law.name() == tried.law.name())?;
        let of = fit_from(law, &medians(&drawn), of.clone())?;
        Some(Fitted { law, of, cap_per_s: sweep.cap_per_s(&drawn) })
    };
    let all: Vec<Fitted> = draws(rounds.len(), seed).filter_map(fit_again).collect();
    // A resample that fits nothing is rare, and the ranks are those of all.
    let all = if all.len() == RESAMPLES { all } else { vec![] };
    Resampled { all, ranks: expanded_ranks(fewest) }
}

impl Resampled {
    /// The interval of something that follows from the fitted law.
    fn interval(&self, of: impl Fn(&Fitted) -> f64) -> Option<(f64, f64)> {
        let values = interval::sorted(&self.all.iter().map(of).collect::<Vec<_>>());
        Some((*values.get(self.ranks.0)?, *values.get(self.ranks.1)?))
    }

    /// Whether the capacity of an open queue, 1 / S, may as well be twice the fitted one, or endless.
    fn has_no_capacity(&self, tried: &Tried) -> bool {
        let Some(of) = tried.of.as_ref().filter(|_| tried.law == Law::OpenQueue) else { return false };
        self.interval(|fitted| fitted.of[1]).is_some_and(|(least_s, _)| least_s <= of[1] / 2.0)
    }

    /// The word from the width of an interval; not good without an interval.
    fn word(interval: Option<(f64, f64)>, value: f64) -> Word {
        interval.map_or(Word::Usable, |(low, high)| Word::of((high - low) / 2.0 / value))
    }
}

/// A predicted value: its word is the worse of the law's and the interval's.
fn prediction(tried: &Tried, resampled: &Resampled, x: f64, word: Word) -> Option<Prediction> {
    let value = tried.value(x)?;
    let interval = resampled.interval(|fitted| fitted.value(x));
    Some(Prediction { x, value, interval, word: word.max(Resampled::word(interval, value)) })
}

/// The peak, if the law has one by more than chance and points beyond it were measured.
fn peak(tried: &Tried, resampled: &Resampled, last: f64) -> Option<Peak> {
    let of = tried.of.as_ref().filter(|_| tried.law == Law::Usl)?;
    let (low, _) = resampled.interval(|fitted| fitted.of[2])?;
    let x = ((1.0 - of[1]) / of[2]).sqrt();
    (low > 0.0 && x >= 1.0 && x < last).then(|| Peak { x, value: tried.law.value(of, x) })
}

/// The first rate at which the value reaches a bound, if the law reaches so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    pub x: f64,
    pub word: Word,
}

/// Where a bound is reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reached {
    At(Limit),
    /// The lowest measured rate exceeds it already.
    AtLowest,
    /// Not as far as the law predicts.
    Not,
    /// No limit was reached, so nothing shows how the value grows.
    NoLimit,
    /// No law predicts it, or the rounds differ too much.
    Unknown,
}

/// The rate at which a mean response time reaches `bound`.
pub fn limit(outlook: &Outlook, points: &[Point], bound: f64) -> Reached {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Reached::Unknown };
    if first.median().is_some_and(|value| value > bound) {
        return Reached::AtLowest;
    }
    // What was measured beyond the bound needs no law that reaches a limit.
    if outlook.linear && last.median().is_none_or(|value| value <= bound) {
        return Reached::NoLimit;
    }
    let Some(tried) = outlook.chosen.map(|at| &outlook.tried[at]) else { return Reached::Unknown };
    if outlook.word == Word::NoPrediction {
        return Reached::Unknown;
    }
    let reach = if outlook.linear { 1.0 } else { outlook.word.reach() };
    let ends = (first.x, last.x * reach);
    let beyond = |x: f64| tried.value(x).is_none_or(|value| value > bound);
    if !beyond(ends.1) {
        return Reached::Not;
    }
    // A law that is a little high at the lowest rate, which was measured within the bound, has no crossing.
    if beyond(ends.0) {
        return Reached::Unknown;
    }
    let x = crossing(ends, beyond);
    let interval = outlook.resampled.interval(|fitted| crossing(ends, |x| fitted.value(x) > bound));
    let word = outlook.word.max(Resampled::word(interval, x));
    if word == Word::NoPrediction { Reached::Unknown } else { Reached::At(Limit { x, word }) }
}

/// Where something that holds at the upper end begins to hold.
fn crossing((mut low, mut high): (f64, f64), holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if holds(middle) { high = middle } else { low = middle }
    }
    low
}
