//! What becomes of a metric along an axis of numbers, in words: from where on it improves no more and who is first at each
//! value, or from where on it is above 0. With too few rounds for a verdict the words say so.

use crate::analysis::Findings;
use crate::analysis::cell::Cell;
use crate::analysis::compare::compare;
use crate::analysis::metric::{Metric, plain};
use crate::analysis::plain::{Along, Tells, Tier};
use crate::report::content::sweep::{self, Row};
use crate::report::content::{axes::trimmed, charts, words};
use crate::report::document::{Block, Said, Tone};
use crate::stats::interval::MIN_ROUNDS;
use crate::stats::verdict::{Comparison, Direction, Verdict};

/// One answer for each `[[along]]` of the study that this run has at least two values for.
pub fn answers(findings: &Findings<'_>) -> Vec<Block> {
    let study = &findings.study;
    let rows = sweep::rows(&study.conditions);
    let answered = |along: &Along| {
        let metric = findings.metric(&along.metric)?;
        let of_axis = rows.iter().filter(|row| row.axis == along.axis);
        let said: Vec<Said> = of_axis.flat_map(|row| Course { findings, along, metric: &metric, row }.said()).collect();
        (!said.is_empty()).then(|| Block::Answer { ask: along.ask.clone(), said })
    };
    study.alongs.iter().filter_map(answered).collect()
}

/// A metric along an axis, while everything else is the same.
struct Course<'a> {
    findings: &'a Findings<'a>,
    along: &'a Along,
    metric: &'a Metric,
    row: &'a Row,
}

/// A contender at one value of the axis.
struct Point<'a> {
    x: f64,
    cell: &'a Cell,
    value: f64,
}

impl<'a> Course<'a> {
    fn said(&self) -> Vec<Said> {
        let contenders = 0..self.findings.study.contenders.len();
        let mut texts: Vec<String> = match self.along.tells {
            Tells::Plateau => Tier::GROUPS.into_iter().filter_map(|tier| self.firsts(tier)).collect(),
            Tells::Threshold => vec![],
        };
        texts.extend(contenders.filter_map(|contender| self.of_contender(contender)));
        if let Some(last) = texts.last_mut() {
            *last += &self.few_rounds();
        }
        let condition = (!self.row.common.is_empty()).then(|| self.row.common.clone());
        texts.into_iter().map(|text| Said { condition: condition.clone(), text, tone: Tone::Plain }).collect()
    }

    fn few_rounds(&self) -> String {
        let rounds = self.findings.study.rounds as usize;
        match rounds < MIN_ROUNDS && !self.findings.as_published() {
            true => format!(" ({rounds} of the {MIN_ROUNDS} rounds that a verdict takes.)"),
            false => String::new(),
        }
    }

    fn points(&self, contender: usize) -> Vec<Point<'a>> {
        let point = |&(x, condition): &(f64, usize)| {
            let cell = self.findings.cell(condition, contender).filter(|cell| cell.has_data())?;
            let value = self.findings.estimator().estimate(cell, self.metric).value?;
            Some(Point { x, cell, value })
        };
        self.row.conditions.iter().filter_map(point).collect()
    }

    fn of_contender(&self, contender: usize) -> Option<String> {
        let label = words::label(self.findings, contender);
        let points = self.points(contender);
        if points.len() < 2 {
            return None;
        }
        let values = listed(points.iter().map(|point| self.metric.show(point.value)));
        let at = listed(points.iter().map(|point| trimmed(point.x)));
        let (found, holds) = match self.along.tells {
            Tells::Plateau => self.plateau(&points),
            Tells::Threshold => threshold(&points),
        };
        let because = self.along.because.get(label).filter(|_| holds);
        let because = because.map_or(String::new(), |because| format!(" {because}"));
        Some(format!("{label}: {values} with {at} {}; {found}.{because}", self.axis()))
    }

    fn axis(&self) -> String {
        match self.along.axis.as_str() {
            "rate_per_s" => "operations/s asked for".to_string(),
            axis => axis.replace('_', " "),
        }
    }

    fn compared(&self, from: &Point<'_>, to: &Point<'_>) -> Comparison {
        let compared = compare(&self.findings.estimator(), from.cell, to.cell, self.metric).comparison;
        match compared.verdict {
            // Without words there is nothing but the two values that are shown; their ratio is not to contradict them.
            Verdict::NoWords if from.value > 0.0 => Comparison { ratio: Some(to.value / from.value), ..compared },
            _ => compared,
        }
    }

    /// From where on it improves no more, and whether that was found.
    fn plateau(&self, points: &[Point<'_>]) -> (String, bool) {
        let margin = self.findings.study.margin;
        let better =
            |from: &Point<'_>, to: &Point<'_>| change(&self.compared(from, to), self.metric, margin) == Change::Better;
        let last = &points[points.len() - 1];
        let flat_from = |from: &usize| points[from + 1..].iter().all(|to| !better(&points[*from], to));
        let knee = (0..points.len()).find(flat_from).unwrap_or(points.len() - 1);
        let from = &points[knee];
        if knee + 1 == points.len() {
            let before = &points[knee - 1];
            let by = by(&self.compared(before, last));
            let (x, before) = (trimmed(last.x), trimmed(before.x));
            return (format!("best with {x}, the most that was tried: {by} that with {before}"), false);
        }
        let compared = self.compared(from, last);
        let (here, there, by) = (trimmed(from.x), trimmed(last.x), by(&compared));
        match change(&compared, self.metric, margin) {
            Change::Worse => (format!("best with {here}, and worse with more: with {there} {by} that"), true),
            Change::NotComparable(reason) => (format!("{here} and {there} cannot be compared ({reason})"), false),
            Change::Unknown => {
                (format!("whether it improves beyond {here} cannot be told: with {there} {by} that"), false)
            }
            _ => (format!("from {here} on it improves no more: with {there} {by} that"), true),
        }
    }

    /// Who is first of a tier at each value.
    fn firsts(&self, tier: Tier) -> Option<String> {
        let all: Vec<Vec<Point<'_>>> = self.findings.of_tier(tier).into_iter().map(|c| self.points(c)).collect();
        let first = |&(x, _): &(f64, usize)| {
            let mut here: Vec<&Point<'_>> = all.iter().flatten().filter(|point| point.x == x).collect();
            here.sort_by(|a, b| match self.metric.direction {
                Direction::HigherIsBetter => b.value.total_cmp(&a.value),
                Direction::LowerIsBetter => a.value.total_cmp(&b.value),
            });
            let [best, next, ..] = here[..] else { return None };
            let name = |point: &Point<'_>| words::label(self.findings, point.cell.contender).to_string();
            let compared = self.compared(next, best);
            let told = compared.verdict.is_difference();
            let rather = match (told, &compared.verdict) {
                (true, _) | (_, Verdict::NoWords) => format!("{} that of {}", by(&compared), name(next)),
                _ => format!("not told from {} with {}", name(next), self.metric.show(next.value)),
            };
            Some(format!("with {} {} ({}, {rather})", trimmed(x), name(best), self.metric.show(best.value)))
        };
        let firsts: Vec<String> = self.row.conditions.iter().filter_map(first).collect();
        let label = charts::capitalised(&self.metric.label());
        (firsts.len() > 1)
            .then(|| format!("{label} by {}, best of {}: {}.", self.axis(), tier.word(), firsts.join("; ")))
    }
}

/// From where on it is above 0, and whether it is anywhere.
fn threshold(points: &[Point<'_>]) -> (String, bool) {
    let (first, last) = (trimmed(points[0].x), trimmed(points[points.len() - 1].x));
    match points.iter().position(|point| point.value > 0.0) {
        None => (format!("none up to {last}"), false),
        Some(0) => (format!("already with {first}, the least that was tried"), true),
        Some(at) => {
            (format!("none up to {}, and some from {} on", trimmed(points[at - 1].x), trimmed(points[at].x)), true)
        }
    }
}

/// What a metric does from one value of the axis to another.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Better,
    Worse,
    Same,
    /// Chance explains it as well.
    Unknown,
    NotComparable(String),
}

fn change(compared: &Comparison, metric: &Metric, margin: f64) -> Change {
    // With too few rounds there is only the ratio.
    let of_ratio = |ratio: f64| {
        let gain = if metric.direction == Direction::HigherIsBetter { ratio } else { 1.0 / ratio };
        match gain {
            gain if gain > 1.0 + margin => Change::Better,
            gain if gain < 1.0 - margin => Change::Worse,
            _ => Change::Same,
        }
    };
    match &compared.verdict {
        Verdict::Faster | Verdict::SlightlyFaster => Change::Better,
        Verdict::Slower | Verdict::SlightlySlower => Change::Worse,
        Verdict::NoDifference => Change::Same,
        Verdict::CannotTell => Change::Unknown,
        Verdict::NotComparable(reason) => Change::NotComparable(reason.clone()),
        Verdict::NoWords => compared.ratio.map_or(Change::Unknown, of_ratio),
    }
}

/// `1.36 times`, with its interval where there is one.
fn by(compared: &Comparison) -> String {
    let Some(ratio) = compared.ratio else { return "an unknown part".to_string() };
    match compared.low.zip(compared.high) {
        Some((low, high)) => format!("{} times ({} to {})", plain(ratio), plain(low), plain(high)),
        None => format!("{} times", plain(ratio)),
    }
}

/// `a, b and c`.
fn listed(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    match items.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => items.concat(),
    }
}
