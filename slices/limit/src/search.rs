//! The search for one round's value: bisection on the logarithm of the rate. Pure: what was seen goes in, the next rate comes out.
//!
//! Both ends of the last bracket are tried a second time, and the second word holds: a single pause of the machine at a low rate
//! costs time, and not the result.

/// Quotient of the ends of the last bracket.
pub const STEP: f64 = 1.05;
/// Probes of one search, at most.
const PROBES_MAX: u32 = 40;
/// Probes in a row that may have no value.
const NO_VALUE_MAX: u32 = 3;
/// A closed loop's rate is hardly exceeded, so an upper end that was wrong moves by little.
const UPWARDS: f64 = 1.25;

/// What a probe said of its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    Meets,
    Misses,
    /// It does not count.
    NoValue,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    Probe(f64),
    /// The highest rate that meets the bounds.
    Found(f64),
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
            Why::NoValue => "three probes in a row did not count (see Probes)",
            Why::NothingMeets => "the lowest rate that a window can judge misses a bound; allow more, or bound p95",
            Why::NotSettled => "the probes contradict one another; use a longer --window or a quieter machine",
        }
    }
}

/// A search under way.
#[derive(Debug, Clone)]
pub struct Search {
    /// Rates that met the bounds, the highest last, and rates above them that missed them, the lowest last.
    met: Vec<End>,
    missed: Vec<End>,
    /// Assumed ends, until a probe has seen them.
    floor: f64,
    ceiling: f64,
    /// By how much an assumed end moves when it was wrong, down and up.
    widening: (f64, f64),
    lowest: f64,
    at: f64,
    probes: u32,
    without_value: u32,
}

/// A rate that a probe has seen.
#[derive(Debug, Clone, Copy)]
struct End {
    rate: f64,
    twice: bool,
}

impl Search {
    /// Below a rate that a closed loop reached, and not below `lowest`.
    pub fn below(ceiling: f64, lowest: f64) -> Self {
        Self::between(ceiling / 10.0, ceiling, lowest)
    }

    /// Near the value of earlier rounds. `shift`, from 0 to 1, moves the rates that are tried by a part of a step, so that rounds do
    /// not share their rounding.
    pub fn near(guess: f64, shift: f64, lowest: f64) -> Self {
        let guess = guess * STEP.powf(shift - 0.5);
        Self::between(guess / STEP.powi(2), guess * STEP.powi(2), lowest)
    }

    fn between(floor: f64, ceiling: f64, lowest: f64) -> Self {
        let floor = floor.max(lowest);
        let ceiling = ceiling.max(floor * STEP);
        Self {
            met: vec![],
            missed: vec![],
            floor,
            ceiling,
            widening: (ceiling / floor, UPWARDS.min(ceiling / floor)),
            lowest,
            at: ceiling,
            probes: 0,
            without_value: 0,
        }
    }

    /// The rate to try now, or the end.
    pub fn next(&mut self) -> Next {
        if self.without_value >= NO_VALUE_MAX {
            return Next::Nothing(Why::NoValue);
        }
        if self.probes >= PROBES_MAX {
            return Next::Nothing(Why::NotSettled);
        }
        if self.without_value > 0 {
            return Next::Probe(self.at);
        }
        let low = self.met.last().map_or(self.floor, |met| met.rate);
        let high = self.missed.last().map_or(self.ceiling, |missed| missed.rate);
        let open = high / low > STEP * 1.000_001;
        self.at = match (self.met.last(), self.missed.last()) {
            (None, Some(_)) if !open || self.missed.len() > 1 => low,
            (Some(_), None) if !open || self.met.len() > 1 => high,
            _ if open => (low * high).sqrt(),
            (Some(met), Some(missed)) => match (met.twice, missed.twice) {
                (_, false) => high,
                (false, true) => low,
                (true, true) => return Next::Found((low * high).sqrt()),
            },
            _ => high,
        };
        if self.at < self.lowest { Next::Nothing(Why::NothingMeets) } else { Next::Probe(self.at) }
    }

    /// Takes what the probe at that rate said. The last word on a rate holds.
    pub fn saw(&mut self, seen: Seen) {
        self.probes += 1;
        let at = self.at;
        let before = |ends: &[End]| ends.last().is_some_and(|end| end.rate == at);
        match seen {
            Seen::NoValue => {
                self.without_value += 1;
                return;
            }
            Seen::Meets => {
                let twice = before(&self.met) || before(&self.missed);
                self.missed.retain(|missed| missed.rate > at);
                self.met.retain(|met| met.rate < at);
                self.met.push(End { rate: at, twice });
                if self.missed.is_empty() && at >= self.ceiling {
                    self.ceiling = at * widened(&mut self.widening.1);
                }
            }
            Seen::Misses => {
                let twice = before(&self.met) || before(&self.missed);
                self.met.retain(|met| met.rate < at);
                self.missed.retain(|missed| missed.rate > at);
                self.missed.push(End { rate: at, twice });
                if self.met.is_empty() && at <= self.floor {
                    // Once the lowest rate was missed there is none below it.
                    let next = at / widened(&mut self.widening.0);
                    self.floor = if at > self.lowest { next.max(self.lowest) } else { next };
                }
            }
        }
        self.without_value = 0;
    }
}

/// The next step is longer.
fn widened(widening: &mut f64) -> f64 {
    let by = *widening;
    *widening = by.powf(1.5);
    by
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
