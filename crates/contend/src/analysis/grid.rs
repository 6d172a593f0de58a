//! A study's grids: a metric of contenders that differ in two choices. Finds the best of a tier, if intervals separate
//! it from the others, and how much each choice matters with the other kept.

use crate::analysis::cell::Cell;
use crate::analysis::compare;
use crate::analysis::estimate::Estimator;
use crate::analysis::metric::{self, Metric};
use crate::stats::verdict::Direction;
use crate::study::layout::{Layout, layout};
use crate::study::model::{Grid, Study, Tier, Variant};
use std::cmp::Ordering;

/// A grid under one condition, with its values.
pub struct FilledGrid<'r> {
    pub grid: &'r Grid,
    pub metric: Metric,
    pub layout: Layout,
    pub condition: usize,
    /// Values by row and column.
    pub values: Vec<Vec<Option<Value>>>,
}

/// A contender's metric, or the part of it that the grid shows.
#[derive(Debug, Clone, Copy)]
pub struct Value {
    pub value: f64,
    /// `None` if there are too few rounds, or the metric has no interval.
    pub interval: Option<(f64, f64)>,
    pub at_least: bool,
    pub tier: Tier,
    /// Some rounds do not count, its work differs from that of the others of its tier, or the load decides its throughput.
    pub unranked: bool,
}

/// A value with its row and column.
#[derive(Debug, Clone, Copy)]
pub struct At {
    pub row: usize,
    pub column: usize,
    pub value: Value,
}

impl At {
    fn is(&self, other: &At) -> bool {
        (self.row, self.column) == (other.row, other.column)
    }

    /// Whether the intervals do not touch, so that the difference is not chance.
    fn apart(&self, other: &At) -> bool {
        let both = self.value.interval.zip(other.value.interval);
        both.is_some_and(|((low, high), (other_low, other_high))| high < other_low || other_high < low)
    }
}

/// The best and the worst of one tier.
pub struct Ranking {
    pub best: At,
    pub worst: At,
    pub apart: Apart,
    /// The values that are worse than the best, if all have an interval and the best is not apart from all.
    pub level: Option<Level>,
    /// Values known only as a bound; one of them may be the best or the worst.
    pub bounds: Vec<At>,
}

/// Which ends of a ranking are apart from all others.
pub enum Apart {
    Both,
    Best,
    Worst,
    /// With the reason; `None` if only bounds are in the way.
    Neither(Option<WhyNot>),
}

pub enum WhyNot {
    /// Some value has no interval.
    NoInterval,
    /// Some values differ, but neither end differs from all others.
    NoEnd,
    /// No two values differ.
    NoTwo,
}

/// The others of a tier, next to the best.
pub struct Level {
    pub others: usize,
    /// Values apart from the best, at least one.
    pub behind: Vec<At>,
}

/// How much a choice matters where the other choice and the tier are the same.
pub enum Choice {
    /// No pair differs beyond the intervals.
    Nothing,
    /// The largest ratio of two values, and whether intervals tell them apart.
    Pair { high: At, low: At, factor: f64, apart: bool },
}

/// The grids of the study, filled, under each condition.
pub(super) fn grids<'r>(study: &'r Study, estimator: &Estimator<'_>, cells: &[Cell]) -> Vec<FilledGrid<'r>> {
    let of = |condition: usize| {
        let cells: Vec<&Cell> = cells.iter().filter(|cell| cell.condition == condition && cell.has_data()).collect();
        study.grids.iter().filter_map(move |grid| fill((study, grid), condition, estimator, &cells))
    };
    (0..study.conditions.len()).flat_map(of).collect()
}

fn fill<'r>(
    (study, grid): (&Study, &'r Grid),
    condition: usize,
    estimator: &Estimator<'_>,
    cells: &[&Cell],
) -> Option<FilledGrid<'r>> {
    let (metric, layout) = (metric::find(study, &grid.metric)?, layout(study, grid)?);
    let shown: Vec<usize> = layout.cells.iter().flatten().flatten().copied().collect();
    let in_grid: Vec<&Cell> = cells.iter().copied().filter(|cell| shown.contains(&cell.contender)).collect();
    let unranked = if grid.part_of.is_none() { unranked(estimator, &in_grid, &metric) } else { vec![] };
    let value = |contender: usize| {
        let cell = cells.iter().find(|cell| cell.contender == contender)?;
        let estimate = estimator.estimate(cell, &metric);
        Some(Value {
            value: estimate.value?,
            interval: estimate.low.zip(estimate.high).filter(|_| study.variant != Variant::AsPublished),
            at_least: estimate.at_least,
            tier: study.contenders[contender].tier,
            unranked: unranked.contains(&contender),
        })
    };
    let part = grid.part_of.as_ref().map(|label| {
        let part = study.contenders.iter().position(|contender| contender.label == *label);
        part.and_then(value)
    });
    let shown = |contender: &Option<usize>| match (contender.and_then(value), part) {
        (found, None) => found,
        // A lower bound has no part.
        (Some(found), Some(Some(part))) if found.value > 0.0 && !found.at_least && !part.at_least => {
            Some(Value { value: part.value / found.value, interval: None, ..found })
        }
        _ => None,
    };
    let values = layout.cells.iter().map(|row| row.iter().map(shown).collect()).collect();
    Some(FilledGrid { grid, metric, layout, condition, values })
}

/// Contenders of a grid that may not be ranked among those of their tier.
fn unranked(on: &Estimator<'_>, in_grid: &[&Cell], metric: &Metric) -> Vec<usize> {
    if on.as_published() {
        return vec![];
    }
    let of_tier = |tier: &Tier| {
        let cells = in_grid.iter().copied().filter(|cell| on.study.contenders[cell.contender].tier == *tier);
        unranked_of_tier(on, &cells.collect::<Vec<_>>(), metric)
    };
    Tier::GROUPS.iter().flat_map(of_tier).collect()
}

fn unranked_of_tier(on: &Estimator<'_>, cells: &[&Cell], metric: &Metric) -> Vec<usize> {
    let by_load = |cell: &&&Cell| metric.is_throughput() && cell.kept_up_at(on.rows).is_some();
    // Two that kept up are the best, and their order is that of the load.
    if cells.iter().filter(by_load).count() > 1 {
        return cells.iter().map(|cell| cell.contender).collect();
    }
    let is_baseline = |cell: &&&Cell| {
        let contender = &on.study.contenders[cell.contender];
        on.study.baselines.iter().any(|name| *name == contender.name || *name == contender.label)
    };
    let Some(reference) = cells.iter().find(is_baseline).or(cells.first()).copied() else { return vec![] };
    let differs = |cell: &&&Cell| compare::unequal_work(on, reference, cell, metric).is_some();
    let mut others: Vec<usize> = cells.iter().filter(differs).map(|cell| cell.contender).collect();
    // It is the reference that differs from most.
    if 2 * others.len() > cells.len() {
        others = vec![reference.contender];
    }
    let lost = cells.iter().filter(|cell| compare::lost_rounds(on, cell, "").is_some());
    others.into_iter().chain(lost.map(|cell| cell.contender)).collect()
}

impl FilledGrid<'_> {
    /// All exact values that may be ranked.
    pub fn exact(&self) -> Vec<At> {
        self.ranked_values(false)
    }

    fn ranked_values(&self, at_least: bool) -> Vec<At> {
        self.all().into_iter().filter(|at| at.value.at_least == at_least && !at.value.unranked).collect()
    }

    /// Values that may not be ranked.
    pub fn unranked(&self) -> Vec<At> {
        self.all().into_iter().filter(|at| at.value.unranked).collect()
    }

    fn all(&self) -> Vec<At> {
        let of_row = |(row, values): (usize, &Vec<Option<Value>>)| {
            let at = |(column, value): (usize, &Option<Value>)| Some(At { row, column, value: (*value)? });
            values.iter().enumerate().filter_map(at).collect::<Vec<_>>()
        };
        self.values.iter().enumerate().flat_map(of_row).collect()
    }

    fn better(&self, a: &At, b: &At) -> Ordering {
        match self.metric.direction {
            Direction::LowerIsBetter if self.grid.part_of.is_none() => b.value.value.total_cmp(&a.value.value),
            _ => a.value.value.total_cmp(&b.value.value),
        }
    }

    /// The best and the worst; `None` if they are one.
    pub fn ends(&self, all: &[At]) -> Option<(At, At)> {
        let (best, worst) =
            (all.iter().max_by(|a, b| self.better(a, b))?, all.iter().min_by(|a, b| self.better(a, b))?);
        (!best.is(worst)).then_some((*best, *worst))
    }

    /// Tiers with an exact value, and the ranking of each that has two.
    pub fn rankings(&self) -> Vec<(Tier, Option<Ranking>)> {
        let of = |tier: Tier| {
            let tiers = |at_least| {
                self.ranked_values(at_least).into_iter().filter(|at| at.value.tier == tier).collect::<Vec<_>>()
            };
            let all = tiers(false);
            (!all.is_empty()).then(|| (tier, self.ranked(&all, tiers(true))))
        };
        Tier::GROUPS.into_iter().filter_map(of).collect()
    }

    fn ranked(&self, all: &[At], bounds: Vec<At>) -> Option<Ranking> {
        let (best, worst) = self.ends(all)?;
        let alone = |one: At| bounds.is_empty() && all.iter().all(|other| other.is(&one) || other.apart(&one));
        let apart = match (alone(best), alone(worst)) {
            (true, true) => Apart::Both,
            (true, false) => Apart::Best,
            (false, true) => Apart::Worst,
            (false, false) => Apart::Neither(bounds.is_empty().then(|| why_not(all))),
        };
        let level = match apart {
            Apart::Worst | Apart::Neither(Some(_)) => level(best, all),
            _ => None,
        };
        Some(Ranking { best, worst, apart, level, bounds })
    }

    /// How much the choice of the column matters in the same row (`by_row`), or that of the row in the same column;
    /// `None` if no two values can be compared.
    pub fn choice(&self, by_row: bool) -> Option<Choice> {
        let all = self.exact();
        let line = |at: &At| if by_row { at.row } else { at.column };
        let comparable = |a: &At, b: &At| line(a) == line(b) && a.value.tier == b.value.tier;
        let of =
            |a: At| all.iter().filter(move |b| comparable(&a, b) && self.better(&a, b).is_gt()).map(move |b| (a, *b));
        let pairs = || all.iter().copied().flat_map(of);
        let factor = |(a, b): &(At, At)| (a.value.value / b.value.value).max(b.value.value / a.value.value);
        let widest = |pairs: &mut dyn Iterator<Item = (At, At)>| {
            pairs.filter(|pair| factor(pair).is_finite()).max_by(|a, b| factor(a).total_cmp(&factor(b)))
        };
        let apart = widest(&mut pairs().filter(|(a, b)| a.apart(b)));
        let known = pairs().all(|(a, b)| a.value.interval.is_some() && b.value.interval.is_some());
        if apart.is_none() && known && pairs().next().is_some() {
            return Some(Choice::Nothing);
        }
        let (high, low) = apart.or_else(|| widest(&mut pairs()))?;
        Some(Choice::Pair { high, low, factor: factor(&(high, low)), apart: apart.is_some() })
    }
}

fn level(best: At, all: &[At]) -> Option<Level> {
    let others = || all.iter().filter(|at| !at.is(&best));
    let behind: Vec<At> = others().filter(|at| at.apart(&best)).copied().collect();
    let known = all.iter().all(|at| at.value.interval.is_some());
    (known && !behind.is_empty()).then(|| Level { others: others().count(), behind })
}

fn why_not(all: &[At]) -> WhyNot {
    if all.iter().any(|at| at.value.interval.is_none()) {
        WhyNot::NoInterval
    } else if all.iter().any(|a| all.iter().any(|b| a.apart(b))) {
        WhyNot::NoEnd
    } else {
        WhyNot::NoTwo
    }
}
