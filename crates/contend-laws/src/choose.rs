//! Chooses a law: each law is fitted without the largest number of clients, and without the two largest, and the law
//! that predicts them best is chosen. The fit itself decides nothing: laws that are wrong by half at eight times as
//! many clients fit as well as the right one.

use crate::fit::fit;
use crate::law::Law;
use contend_stats::interval;
use serde::Serialize;

/// Largest error of a good law at the points left out.
pub const GOOD: f64 = 0.05;
/// Largest error of a usable law; beyond it a law predicts nothing.
pub const USABLE: f64 = 0.15;
/// How far a good law predicts, as a multiple of the largest number that was measured.
pub const REACH_GOOD: f64 = 4.0;
/// The same for a usable law.
pub const REACH_USABLE: f64 = 2.0;
/// Laws whose errors differ by no more than this count as equally good.
const CLOSE: f64 = 0.01;
/// Share of the throughput per client at the smallest number that is left at the largest, if no limit was reached.
const LINEAR: f64 = 0.85;
/// Mean response time at the highest rate, as a multiple of that at the lowest, from which a limit can be seen.
const QUEUES: f64 = 1.2;
/// Most numbers that are left out.
pub const LEFT_OUT: usize = 2;

/// Measurements at one number of clients, or at one rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    pub x: f64,
    /// Round and value.
    pub rounds: Vec<(u32, f64)>,
    /// Round and CPU time of an operation, where it was measured.
    pub cpu_s: Vec<(u32, f64)>,
}

impl Point {
    pub fn median(&self) -> Option<f64> {
        middle(&self.rounds)
    }
}

fn middle(rounds: &[(u32, f64)]) -> Option<f64> {
    interval::median(&rounds.iter().map(|(_, value)| *value).collect::<Vec<_>>())
}

/// What is varied, and the measured quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sweep {
    /// Throughput over clients, on this number of processors.
    Closed { processors: u32 },
    /// Throughput of this number of clients over processors.
    Processors { clients: u32 },
    /// Mean response time in seconds over the rate of arrivals.
    Open,
}

impl Sweep {
    /// The candidate laws. That of the processors needs the CPU time of an operation at the largest number.
    pub(crate) fn laws(self, points: &[Point]) -> Vec<Law> {
        let of_processors = |law: &dyn Fn(f64) -> Law| cpu_s(points).map(law).into_iter();
        match self {
            Sweep::Open => vec![Law::OpenQueue],
            Sweep::Closed { processors } => of_processors(&|cpu_s| Law::Processors { processors, cpu_s })
                .chain([Law::OneWriter, Law::GroupCommit, Law::Usl])
                .collect(),
            Sweep::Processors { clients } => {
                of_processors(&|cpu_s| Law::OverProcessors { clients, cpu_s }).chain([Law::Amdahl, Law::Usl]).collect()
            }
        }
    }

    /// Most operations per second that the processors allow, for every law.
    pub fn cap_per_s(self, points: &[Point]) -> Option<f64> {
        let Sweep::Closed { processors } = self else { return None };
        Some(f64::from(processors) / cpu_s(points)?)
    }
}

/// CPU time of an operation at the largest number.
fn cpu_s(points: &[Point]) -> Option<f64> {
    points.iter().rev().find_map(|point| middle(&point.cpu_s))
}

/// A point that was left out, and its prediction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Missed {
    pub x: f64,
    pub measured: f64,
    pub predicted: f64,
}

impl Missed {
    /// Relative: 0.03 is 3 % too much.
    pub fn error(self) -> f64 {
        self.predicted / self.measured - 1.0
    }
}

/// One law with its fit and errors.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    pub law: Law,
    /// Parameters from all points; `None` if there are too few.
    pub of: Option<Vec<f64>>,
    /// With the largest number left out, and with the two largest.
    pub left_out: Vec<Vec<Missed>>,
    pub cap_per_s: Option<f64>,
}

impl Tried {
    /// The largest error at the points left out; `None` unless both were tried.
    pub fn worst(&self) -> Option<f64> {
        let errors = self.left_out.iter().flatten().map(|missed| missed.error().abs());
        (self.left_out.len() == LEFT_OUT).then(|| errors.fold(0.0, f64::max))
    }

    /// The law's value at `x`, limited by the cap.
    pub fn value(&self, x: f64) -> Option<f64> {
        Some(capped(self.law.value(self.of.as_ref()?, x), self.cap_per_s))
    }

    /// Number of points that this law needs: one for each parameter after two are left out.
    pub fn needs(&self) -> usize {
        self.law.parameters().len() + LEFT_OUT
    }
}

pub fn capped(value: f64, cap_per_s: Option<f64>) -> f64 {
    cap_per_s.map_or(value, |cap_per_s| value.min(cap_per_s))
}

/// Medians of the rounds; points without a value above 0 are left out.
pub fn medians(points: &[Point]) -> Vec<(f64, f64)> {
    let median = |point: &Point| Some((point.x, point.median().filter(|median| *median > 0.0)?));
    points.iter().filter_map(median).collect()
}

/// Every law, fitted and tried. `points` in the order of their numbers.
pub fn try_all(sweep: Sweep, points: &[Point]) -> Vec<Tried> {
    sweep.laws(points).into_iter().enumerate().map(|(at, law)| try_one(sweep, points, law, at)).collect()
}

fn try_one(sweep: Sweep, points: &[Point], law: Law, at: usize) -> Tried {
    let left_out = |count: usize| {
        let kept = &points[..points.len().checked_sub(count)?];
        // The law of the processors must not use the CPU time of the point that it predicts.
        let law = *sweep.laws(kept).get(at).filter(|kept| kept.name() == law.name())?;
        let of = fit(law, &medians(kept))?;
        let predicted = |x: f64| capped(law.value(&of, x), sweep.cap_per_s(kept));
        let missed = |(x, measured): (f64, f64)| Missed { x, measured, predicted: predicted(x) };
        Some(medians(&points[kept.len()..]).into_iter().map(missed).collect())
    };
    Tried {
        law,
        of: fit(law, &medians(points)),
        left_out: (1..=LEFT_OUT).filter_map(left_out).collect(),
        cap_per_s: sweep.cap_per_s(points),
    }
}

/// The law with the smallest error at the points left out; `None` if none was tried. Of equally good laws the one with
/// the fewest parameters.
pub fn chosen(tried: &[Tried]) -> Option<usize> {
    let worst = |at: &usize| tried[*at].worst();
    let best = (0..tried.len()).filter_map(|at| worst(&at)).min_by(f64::total_cmp)?;
    let close = (0..tried.len()).filter(|at| worst(at).is_some_and(|error| error <= best + CLOSE));
    close.min_by_key(|at| tried[*at].law.parameters().len())
}

/// Whether throughput at the largest number is nearly in proportion to it, or the mean response time at the highest rate nearly
/// that at the lowest: then no limit was reached, and laws with any limit fit equally well.
pub fn is_linear(sweep: Sweep, points: &[Point]) -> bool {
    let medians = medians(points);
    let (Some((first, least)), Some((last, most))) = (medians.first(), medians.last()) else { return false };
    match sweep {
        Sweep::Open => *most < QUEUES * least,
        Sweep::Closed { .. } | Sweep::Processors { .. } => last > first && most / last >= LINEAR * least / first,
    }
}

/// How much a prediction may be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    Good,
    Usable,
    NoPrediction,
}

impl Word {
    /// The word for a relative error or half width of an interval.
    pub fn of(error: f64) -> Word {
        match error {
            error if error <= GOOD => Word::Good,
            error if error <= USABLE => Word::Usable,
            _ => Word::NoPrediction,
        }
    }

    /// The word for a law, by its errors at the points left out.
    pub fn of_law(tried: &Tried) -> Word {
        tried.worst().map_or(Word::NoPrediction, Word::of)
    }

    pub fn text(self) -> &'static str {
        match self {
            Word::Good => "good",
            Word::Usable => "usable",
            Word::NoPrediction => "no prediction",
        }
    }

    /// How far it predicts, as a multiple of the largest number.
    pub fn reach(self) -> f64 {
        match self {
            Word::Good => REACH_GOOD,
            Word::Usable => REACH_USABLE,
            Word::NoPrediction => 0.0,
        }
    }
}
