//! A metric along an axis of numbers: where it stops improving, which contender is best at each value, or where it
//! rises above 0.

use crate::analysis::axis::{self, Row};
use crate::analysis::cell::{self, Cell};
use crate::analysis::compare::compare;
use crate::analysis::estimate::Estimator;
use crate::analysis::metric::{self, Metric};
use crate::stats::verdict::{Comparison, Direction, Verdict};
use crate::study::model::{Along, Study, Tells, Tier};

/// Findings of an `[[along]]` of the study.
pub struct AlongAnswer<'r> {
    pub along: &'r Along,
    pub metric: Metric,
    pub found: Vec<AlongAxis>,
}

/// The metric along the axis, with everything else equal.
pub struct AlongAxis {
    /// What the conditions have in common, in words; may be empty.
    pub common: String,
    pub firsts: Vec<Firsts>,
    /// Contenders with two values or more.
    pub contenders: Vec<ContenderAlong>,
}

/// The best contender of a tier at each value, for at least two values.
pub struct Firsts {
    pub tier: Tier,
    pub at: Vec<First>,
}

pub struct First {
    pub best: Point,
    pub next: Point,
    /// The best against the next.
    pub compared: Comparison,
}

pub struct ContenderAlong {
    pub contender: usize,
    /// At least two.
    pub points: Vec<Point>,
    pub turn: Turn,
}

/// A contender at one value of the axis.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    pub x: f64,
    pub contender: usize,
    pub value: f64,
    /// Whether the value is a lower bound.
    pub at_least: bool,
}

/// Where a metric turns. Points are numbered from 0.
pub enum Turn {
    /// Best at the last point; compared with the point before.
    BestWithLast(Comparison),
    /// It improves up to the point `knee`; the change from there to the last point.
    From {
        knee: usize,
        change: Change,
        compared: Comparison,
        /// The first point in between that may be better.
        open: Option<usize>,
    },
    NeverAboveZero,
    /// From this point on.
    AboveZeroFrom(usize),
}

impl Turn {
    /// Whether it follows from a comparison of two points.
    pub fn is_compared(&self) -> bool {
        matches!(self, Turn::BestWithLast(_) | Turn::From { .. })
    }

    /// Whether a turn was found.
    pub fn is_found(&self) -> bool {
        matches!(self, Turn::AboveZeroFrom(_) | Turn::From { change: Change::Worse | Change::Flat, open: None, .. })
    }
}

/// Change of a metric from one point to another.
#[derive(Debug, PartialEq, Eq)]
pub enum Change {
    Better,
    Worse,
    Flat,
    /// Not distinguishable from chance.
    Unknown,
    NotComparable(String),
}

/// Findings of each `[[along]]` for which the run has at least two values.
pub(super) fn alongs<'r>(study: &'r Study, estimator: &Estimator<'_>, cells: &[Cell]) -> Vec<AlongAnswer<'r>> {
    let rows = axis::rows(&study.conditions);
    let answer = |along: &'r Along| {
        let metric = metric::find(study, &along.metric)?;
        let of_axis = rows.iter().filter(|row| row.axis == along.axis);
        let along_axis = |row: &Row| Line { estimator, cells, tells: along.tells, metric: &metric, row }.along_axis();
        let found: Vec<AlongAxis> = of_axis.filter_map(along_axis).collect();
        (!found.is_empty()).then_some(AlongAnswer { along, metric, found })
    };
    study.alongs.iter().filter_map(answer).collect()
}

struct Line<'a> {
    estimator: &'a Estimator<'a>,
    cells: &'a [Cell],
    tells: Tells,
    metric: &'a Metric,
    row: &'a Row,
}

/// A point with its cell.
type Measured<'a> = (Point, &'a Cell);

impl<'a> Line<'a> {
    fn along_axis(&self) -> Option<AlongAxis> {
        let contenders = 0..self.estimator.study.contenders.len();
        let firsts: Vec<Firsts> = match self.tells {
            Tells::Plateau => Tier::GROUPS.into_iter().filter_map(|tier| self.firsts(tier)).collect(),
            Tells::Threshold => vec![],
        };
        let contenders: Vec<ContenderAlong> = contenders.filter_map(|c| self.of_contender(c)).collect();
        let found = !firsts.is_empty() || !contenders.is_empty();
        found.then(|| AlongAxis { common: self.row.common.clone(), firsts, contenders })
    }

    fn points(&self, contender: usize) -> Vec<Measured<'a>> {
        let point = |&(x, condition): &(f64, usize)| {
            let cell = cell::find(self.cells, condition, contender).filter(|cell| cell.has_data())?;
            let estimate = self.estimator.estimate(cell, self.metric);
            if let Some(value) = estimate.value {
                return Some((Point { x, contender, value, at_least: estimate.at_least }, cell));
            }
            // Above a threshold a lower bound is enough.
            let is_asked = self.tells == Tells::Threshold;
            let value = is_asked.then(|| self.estimator.own_at_least(cell, self.metric)).flatten()?;
            (value > 0.0).then_some((Point { x, contender, value, at_least: true }, cell))
        };
        self.row.conditions.iter().filter_map(point).collect()
    }

    fn of_contender(&self, contender: usize) -> Option<ContenderAlong> {
        let points = self.points(contender);
        if points.len() < 2 {
            return None;
        }
        let turn = match self.tells {
            Tells::Plateau => self.plateau(&points),
            Tells::Threshold => {
                let above = points.iter().position(|(point, _)| point.value > 0.0);
                above.map_or(Turn::NeverAboveZero, Turn::AboveZeroFrom)
            }
        };
        Some(ContenderAlong { contender, points: points.into_iter().map(|(point, _)| point).collect(), turn })
    }

    fn compared(&self, from: &Measured<'_>, to: &Measured<'_>) -> Comparison {
        let compared = compare(self.estimator, from.1, to.1, self.metric).comparison;
        match compared.verdict {
            // Without words only the two values are shown, and the ratio must agree with them.
            Verdict::NoWords if from.0.value > 0.0 => Comparison { ratio: Some(to.0.value / from.0.value), ..compared },
            _ => compared,
        }
    }

    fn plateau(&self, points: &[Measured<'_>]) -> Turn {
        let change = |compared: &Comparison| change(compared, self.metric, self.estimator.study.margin);
        let last = points.len() - 1;
        let better = |from: usize, to: &Measured<'_>| change(&self.compared(&points[from], to)) == Change::Better;
        let flat_from = |from: &usize| points[from + 1..].iter().all(|to| !better(*from, to));
        match (0..last).find(flat_from) {
            None => Turn::BestWithLast(self.compared(&points[last - 1], &points[last])),
            Some(knee) => {
                let to = |at: usize| self.compared(&points[knee], &points[at]);
                let open = (knee + 1..last).find(|at| self.may_be_better(&to(*at)));
                let compared = to(last);
                Turn::From { knee, change: change(&compared), compared, open }
            }
        }
    }

    /// Whether the second value may be better by more than the margin, although it is not shown.
    fn may_be_better(&self, compared: &Comparison) -> bool {
        let margin = self.estimator.study.margin;
        let gain = match self.metric.direction {
            Direction::HigherIsBetter => compared.high,
            Direction::LowerIsBetter => compared.low.map(|low| 1.0 / low),
        };
        match change(compared, self.metric, margin) {
            Change::Unknown => gain.is_none_or(|gain| gain > 1.0 + margin),
            Change::NotComparable(_) => true,
            _ => false,
        }
    }

    fn firsts(&self, tier: Tier) -> Option<Firsts> {
        let contenders = self.estimator.study.contenders.iter().enumerate().filter(|(_, of)| of.tier == tier);
        let all: Vec<Vec<Measured<'_>>> = contenders.map(|(at, _)| self.points(at)).collect();
        let first = |&(x, _): &(f64, usize)| {
            let mut here: Vec<&Measured<'_>> = all.iter().flatten().filter(|(point, _)| point.x == x).collect();
            here.sort_by(|(a, _), (b, _)| match self.metric.direction {
                Direction::HigherIsBetter => b.value.total_cmp(&a.value),
                Direction::LowerIsBetter => a.value.total_cmp(&b.value),
            });
            let [best, next, ..] = here[..] else { return None };
            Some(First { best: best.0, next: next.0, compared: self.compared(next, best) })
        };
        let at: Vec<First> = self.row.conditions.iter().filter_map(first).collect();
        (at.len() > 1).then_some(Firsts { tier, at })
    }
}

fn change(compared: &Comparison, metric: &Metric, margin: f64) -> Change {
    // With too few rounds there is only the ratio.
    let of_ratio = |ratio: f64| {
        let gain = if metric.direction == Direction::HigherIsBetter { ratio } else { 1.0 / ratio };
        match gain {
            gain if gain > 1.0 + margin => Change::Better,
            gain if gain < 1.0 - margin => Change::Worse,
            _ => Change::Flat,
        }
    };
    match &compared.verdict {
        Verdict::Faster | Verdict::SlightlyFaster => Change::Better,
        Verdict::Slower | Verdict::SlightlySlower => Change::Worse,
        Verdict::NoDifference | Verdict::AsAsked => Change::Flat,
        Verdict::CannotTell => Change::Unknown,
        Verdict::NotComparable(reason) => Change::NotComparable(reason.clone()),
        Verdict::NoWords => compared.ratio.map_or(Change::Unknown, of_ratio),
    }
}
