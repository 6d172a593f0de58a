//! The search for one round's value: bisection on the logarithm of the rate, or of a whole number such as that of clients.
//! Pure: results go in, the next value comes out.
//!
//! Or whether one rate meets the bounds, for which two equal results are enough.
//!
//! Both ends of the last bracket are probed a second time, and the second result counts. So a single pause of the
//! machine at a low rate costs time, but does not change the result.

use serde::{Deserialize, Serialize};

/// Ratio of the ends of the last bracket.
pub const STEP: f64 = 1.05;
/// Most probes with a value.
const PROBES_MAX: u32 = 40;
/// Most undisturbed probes without a value at one rate.
const NO_VALUE_MAX: u32 = 3;
/// Most disturbed ones.
const DISTURBED_MAX: u32 = 9;
/// Most probes with and without a value.
const TRIED_MAX: u32 = 80;
/// How far an only rate must lie from the contender's own to tell whether something else than chance moves it. One step above it
/// is where the contender's own search missed a bound, perhaps by little.
const DECISIVE: f64 = STEP * STEP;
/// Equal results for one rate that decide.
const EQUAL_RESULTS: u32 = 2;
/// Factor for moving a wrong upper end. It is small, because open loops rarely exceed a closed loop's rate.
const UPWARDS: f64 = 1.25;
/// Factor for whole numbers: each must be affordable even if the one before was the most.
const DOUBLE: f64 = 2.0;

/// How far from its contender's rate an arm is probed.
pub fn decisive(margin: f64) -> f64 {
    DECISIVE.max(1.0 + margin)
}

/// Result of a probe, as a word in `limit.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeResult {
    /// The rate meets the bounds.
    Meets,
    /// It does not.
    Misses,
    /// It does not count.
    NoValue,
}

/// The next action.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    Probe(f64),
    /// The highest value that met the bounds: the lower end of the last bracket.
    Found(f64),
    /// Whether the only probed rate meets the bounds.
    Only {
        rate: f64,
        meets: bool,
    },
    Nothing(Why),
}

/// Why there is no highest rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    NoValue,
    NothingMeets,
    NotSettled,
}

impl Why {
    pub fn words(self) -> &'static str {
        match self {
            Why::NoValue => "too many probes at one value did not count",
            Why::NothingMeets => {
                "the lowest value that a window can judge misses a bound; allow more, or bound a lower percentile"
            }
            Why::NotSettled => "the probes contradict one another; use a longer --window or a quieter machine",
        }
    }
}

/// Probes at one rate without a value. Of those that other programs disturbed more are tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    quiet: u32,
    disturbed: u32,
}

impl Lost {
    pub fn add(&mut self, is_disturbed: bool) {
        let count = if is_disturbed { &mut self.disturbed } else { &mut self.quiet };
        *count += 1;
    }

    pub fn is_final(self) -> bool {
        self.quiet >= NO_VALUE_MAX || self.disturbed >= DISTURBED_MAX
    }
}

/// A search in progress.
#[derive(Debug, Clone)]
pub struct Search {
    /// Rates that met the bounds, highest last, and greater rates that missed them, lowest last.
    met: Vec<End>,
    missed: Vec<End>,
    /// Assumed ends, until they are probed.
    lower: f64,
    upper: f64,
    /// Factors by which a wrong assumed end moves, down and up.
    widening: (f64, f64),
    lowest: f64,
    /// Only whole numbers up to this one are searched.
    most: Option<f64>,
    at: f64,
    /// Probes with a value, and all.
    probes: u32,
    tried: u32,
    lost: Lost,
    /// If only one rate is probed: how often it met the bounds, and how often it missed them.
    only: Option<(u32, u32)>,
}

/// A probed rate.
#[derive(Debug, Clone, Copy)]
struct End {
    rate: f64,
    /// Whether this is the second result at this rate, which counts whatever the first one was.
    twice: bool,
}

impl Search {
    /// Searches below a rate that a closed loop reached, and not below `lowest`. Most bounds are met at more than half of it;
    /// where not, the search moves down.
    pub fn below(reached: f64, lowest: f64) -> Self {
        Self::between(reached / 2.0, reached, lowest)
    }

    /// Searches all rates from `lowest` to the one at which the shortest window holds enough operations, because a closed loop whose
    /// clients waited for one another reached less. Its first probes are at high rates, where they take the least time.
    pub fn up_to(quickest: f64, lowest: f64) -> Self {
        Self::between(lowest, quickest, lowest)
    }

    /// Begins at the lowest rate, for a contender that perhaps meets the bounds at none.
    pub fn from_lowest(lowest: f64) -> Self {
        Self { widening: (STEP, DOUBLE), ..Self::between(lowest, lowest, lowest) }
    }

    /// Searches near the value of earlier rounds. `shift`, from 0 to 1, moves the probed rates by a part of a step,
    /// so that rounds do not share rounding errors.
    pub fn near(guess: f64, shift: f64, lowest: f64) -> Self {
        let guess = guess * STEP.powf(shift - 0.5);
        Self::between(guess / STEP.powi(2), guess * STEP.powi(2), lowest)
    }

    /// Finds whether one rate meets the bounds.
    pub fn only(rate: f64) -> Self {
        Self { only: Some((0, 0)), at: rate, ..Self::between(rate, rate, rate) }
    }

    /// Searches whole numbers from 1 to `most`, near the value of earlier rounds if there is one.
    pub fn whole(guess: Option<f64>, most: f64) -> Self {
        let (lower, upper) = match guess {
            None => (1.0, DOUBLE),
            Some(guess) => ((guess / STEP).floor().max(1.0), (guess * STEP).ceil().max(guess.round() + 1.0)),
        };
        Self { most: Some(most), widening: (DOUBLE, DOUBLE), ..Self::between(lower, upper.min(most), 1.0) }
    }

    fn between(lower: f64, upper: f64, lowest: f64) -> Self {
        let lower = lower.max(lowest);
        let upper = upper.max(lower * STEP);
        Self {
            met: vec![],
            missed: vec![],
            lower,
            upper,
            widening: (upper / lower, UPWARDS.min(upper / lower)),
            lowest,
            most: None,
            at: upper,
            probes: 0,
            tried: 0,
            lost: Lost::default(),
            only: None,
        }
    }

    /// Lower rates would need a longer window than there is: fewer operations count than was known. Whether this one is lower.
    pub fn not_below(&mut self, lowest: f64, tried: f64) -> bool {
        if tried >= lowest {
            return false;
        }
        (self.lowest, self.lower) = (self.lowest.max(lowest), self.lower.max(lowest));
        self.upper = self.upper.max(self.lower * STEP);
        true
    }

    /// The next rate, or the end.
    pub fn next(&mut self) -> Next {
        if self.lost.is_final() {
            return Next::Nothing(Why::NoValue);
        }
        if self.probes >= PROBES_MAX || self.tried >= TRIED_MAX {
            return Next::Nothing(Why::NotSettled);
        }
        if self.lost != Lost::default() {
            return Next::Probe(self.at);
        }
        if let Some((met, missed)) = self.only {
            return match (met >= EQUAL_RESULTS, missed >= EQUAL_RESULTS) {
                (true, _) => Next::Only { rate: self.at, meets: true },
                (_, true) => Next::Only { rate: self.at, meets: false },
                _ => Next::Probe(self.at),
            };
        }
        let low = self.met.last().map_or(self.lower, |met| met.rate);
        let high = self.missed.last().map_or(self.upper, |missed| missed.rate);
        let open = self.is_open(low, high);
        self.at = match (self.met.last(), self.missed.last()) {
            (None, Some(_)) if !open || self.missed.len() > 1 => low,
            (Some(met), None) if met.twice && self.most == Some(met.rate) => return Next::Found(met.rate),
            (Some(_), None) if !open || self.met.len() > 1 || self.most.is_some() => high,
            _ if open => self.middle(low, high),
            (Some(met), Some(missed)) => match (met.twice, missed.twice) {
                (_, false) => high,
                (false, true) => low,
                (true, true) => return Next::Found(low),
            },
            _ => high,
        };
        if self.at >= self.lowest {
            return Next::Probe(self.at);
        }
        // As at the ends of a bracket, a single miss does not decide.
        match self.missed.last().filter(|missed| !missed.twice) {
            Some(lowest) => {
                self.at = lowest.rate;
                Next::Probe(self.at)
            }
            None => Next::Nothing(Why::NothingMeets),
        }
    }

    /// What is known before the end: the highest value that met the bounds, and the lowest above it that missed one.
    pub fn bracket(&self) -> (Option<f64>, Option<f64>) {
        (self.met.last().map(|met| met.rate), self.missed.last().map(|missed| missed.rate))
    }

    /// Whether there is a value to try between two.
    fn is_open(&self, low: f64, high: f64) -> bool {
        high / low > STEP * 1.000_001 && (self.most.is_none() || high - low > 1.5)
    }

    fn middle(&self, low: f64, high: f64) -> f64 {
        let middle = (low * high).sqrt();
        if self.most.is_some() { middle.round().clamp(low + 1.0, high - 1.0) } else { middle }
    }

    /// Answers that changed above the highest rate that met the bounds may have changed at that rate, too: it is probed once more.
    pub fn doubt_if(&mut self, differs: bool) {
        if let Some(met) = self.met.last_mut().filter(|_| differs) {
            met.twice = false;
        }
    }

    /// Adds the result of the last probe. The latest result for a rate counts.
    pub fn saw(&mut self, seen: ProbeResult, is_disturbed: bool) {
        self.tried += 1;
        self.probes += u32::from(seen != ProbeResult::NoValue);
        let at = self.at;
        let before = |ends: &[End]| ends.last().is_some_and(|end| end.rate == at);
        match (seen, &mut self.only) {
            (ProbeResult::NoValue, _) => {
                self.lost.add(is_disturbed);
                return;
            }
            (ProbeResult::Meets, Some((met, _))) => *met += 1,
            (ProbeResult::Misses, Some((_, missed))) => *missed += 1,
            (ProbeResult::Meets, None) => {
                let twice = before(&self.met) || before(&self.missed);
                self.missed.retain(|missed| missed.rate > at);
                self.met.retain(|met| met.rate < at);
                self.met.push(End { rate: at, twice });
                if self.missed.is_empty() && at >= self.upper {
                    self.upper = match self.most {
                        Some(most) => (at * DOUBLE).min(most),
                        None => at * widened(&mut self.widening.1),
                    };
                }
            }
            (ProbeResult::Misses, None) => {
                let twice = before(&self.met) || before(&self.missed);
                self.met.retain(|met| met.rate < at);
                self.missed.retain(|missed| missed.rate > at);
                self.missed.push(End { rate: at, twice });
                if self.met.is_empty() && at <= self.lower {
                    // Nothing is probed below the lowest rate.
                    let next = match self.most {
                        Some(_) => (at / DOUBLE).floor(),
                        None => at / widened(&mut self.widening.0),
                    };
                    self.lower = if at > self.lowest { next.max(self.lowest) } else { next };
                }
            }
        }
        self.lost = Lost::default();
    }
}

/// Enlarges the next step.
fn widened(widening: &mut f64) -> f64 {
    let by = *widening;
    *widening = by.powf(1.5);
    by
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
