//! Figures over an axis of numbers: clients, databases, arrivals. A line per contender.

use crate::analysis::Findings;
use crate::analysis::axis::{self, Row};
use crate::analysis::cell::Cell;
use crate::analysis::metric::Metric;
use crate::report::content::axes::{extent, fitting, short_count, short_ns, trimmed};
use crate::report::content::charts::capitalised;
use crate::report::content::words;
use crate::report::document::{Axis, Block, Id, Lines, Point, Section, Series, Tick};
use crate::stats::unit::Unit;

/// Data of one chart.
pub struct Sweep {
    pub title: String,
    /// Its condition, if it is about one.
    pub condition: Option<usize>,
    pub axis: String,
    pub metric: String,
    /// Colour, name and points of each line.
    pub series: Vec<(usize, String, Vec<SweepPoint>)>,
}

pub struct SweepPoint {
    pub x: f64,
    pub y: Option<f64>,
    pub shown: String,
    /// A lower bound, or too few observations.
    pub weak: bool,
}

impl Sweep {
    /// The chart; `None` without a value.
    pub fn lines(self, show: &dyn Fn(f64) -> String) -> Option<Lines> {
        let points = || self.series.iter().flat_map(|(_, _, points)| points);
        let y = fitting(points().filter_map(|point| point.y), show)?;
        let x = x_axis(&self.axis, points().map(|point| point.x))?;
        let series = self.series.iter().map(|(series, label, points)| {
            let point = |point: &SweepPoint| Point {
                x: point.x,
                y: point.y,
                weak: point.weak,
                tip: format!("{label}\n{}: {}\n{} {}", self.metric, point.shown, self.axis, trimmed(point.x)),
            };
            Series { series: *series, label: label.clone(), points: points.iter().map(point).collect() }
        });
        let series = series.collect();
        Some(Lines { title: self.title, condition: self.condition, x, y, series, small: true, in_text: true })
    }
}

/// From the smallest to the largest value, with a mark at every one.
fn x_axis(label: &str, values: impl Iterator<Item = f64> + Clone) -> Option<Axis> {
    let (low, high) = extent(values.clone())?;
    let log = fitting(values.clone(), &trimmed)?.log;
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let ticks = all.into_iter().map(|at| Tick { at, label: trimmed(at), minor: false }).collect();
    Some(Axis { label: label.to_string(), log, low: if log { low } else { low.min(0.0) }, high, ticks })
}

/// Metrics drawn over an axis: the headline, throughput and p99 (reads and writes apart if both occur), and the study's
/// own.
fn metrics(findings: &Findings<'_>) -> Vec<Metric> {
    let ends: &[&str] = if findings.reads_and_writes() { &[".read", ".write"] } else { &[""] };
    let standard = ["throughput_ops_per_s", "response_ns_p99"].into_iter();
    let standard = standard.flat_map(|name| ends.iter().map(move |end| format!("{name}{end}")));
    let own = findings.study.metrics.iter().map(|own| own.name.clone());
    let mut metrics: Vec<Metric> = findings.headline.iter().cloned().collect();
    for metric in standard.chain(own).filter_map(|name| findings.metric(&name)) {
        if metrics.iter().all(|have| have.name != metric.name) {
            metrics.push(metric);
        }
    }
    metrics
}

/// Lines over every axis of numbers.
pub fn section(findings: &Findings<'_>) -> Option<Section> {
    let rows = axis::rows(&findings.study.conditions);
    let metrics = metrics(findings);
    let charts = rows.iter().flat_map(|row| metrics.iter().filter_map(move |metric| chart(findings, row, metric)));
    let blocks: Vec<Block> = charts.map(Block::Lines).collect();
    (!blocks.is_empty()).then(|| {
        let intro =
            Block::Text("Each point is what the tables show there. Axes with wide ranges are logarithmic.".to_string());
        Section {
            id: Id::OverAxis,
            title: "Over what was varied".to_string(),
            blocks: std::iter::once(intro).chain(blocks).collect(),
        }
    })
}

fn chart(findings: &Findings<'_>, row: &Row, metric: &Metric) -> Option<Lines> {
    let contenders = &findings.study.contenders;
    let series = contenders.iter().enumerate().map(|(contender, of)| {
        let point = |&(x, condition): &(f64, usize)| {
            let cell = findings.cell(condition, contender).filter(|cell| cell.has_data());
            let (y, bound, few) = cell.map_or((None, false, false), |cell| value(findings, cell, metric));
            let shown = y.map_or(words::NOTHING.to_string(), |y| metric.show(y));
            let at_least = if bound { "at least " } else { "" };
            let mark = if few { " (too few operations)" } else { "" };
            SweepPoint { x, y, shown: format!("{at_least}{shown}{mark}"), weak: bound || few }
        };
        (contender, of.label.clone(), row.conditions.iter().map(point).collect())
    });
    let what = format!("{} over {}", metric.label(), row.axis);
    let title = capitalised(&if row.common.is_empty() { what } else { format!("{what}: {}", row.common) });
    let sweep =
        Sweep { title, condition: None, axis: row.axis.clone(), metric: metric.label(), series: series.collect() };
    let show: fn(f64) -> String = match metric.unit {
        Unit::Ns => short_ns,
        _ => short_count,
    };
    sweep.lines(&show)
}

/// Value, whether it is a lower bound, and whether it is of too few operations. The interval of quantiles is expensive and not drawn, so it is not computed.
fn value(findings: &Findings<'_>, cell: &Cell, metric: &Metric) -> (Option<f64>, bool, bool) {
    if let Some((measure, quantile, scope)) = metric.quantile() {
        let shown = cell.pool(scope).dist(measure).quantile(quantile);
        let bound = matches!(shown.value, crate::stats::quantile::QuantileValue::AtLeast(_));
        return (shown.ns().map(|ns| ns as f64), bound, shown.few);
    }
    (findings.estimator().estimate(cell, metric).value, false, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_is_drawn_with_characters() {
        let point = |x: f64, y: f64| SweepPoint { x, y: Some(y), shown: y.to_string(), weak: false };
        let sweep = Sweep {
            title: "Rate over clients".to_string(),
            condition: None,
            axis: "clients".to_string(),
            metric: "rate".to_string(),
            series: vec![
                (0, "one".to_string(), vec![point(1.0, 100.0), point(10.0, 1000.0), point(100.0, 10_000.0)]),
                (1, "two".to_string(), vec![point(1.0, 100.0), point(10.0, 100.0), point(100.0, 100.0)]),
            ],
        };
        let chart = sweep.lines(&short_count).unwrap();
        assert!(chart.x.log && chart.y.log && chart.in_text);
        let drawn = crate::report::plot::plot(&chart, 60);
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines.len(), 15 + 2 + 2);
        assert!(lines[0].starts_with("    10,000 |") && lines[0].ends_with("..a"), "{drawn}");
        assert!(lines[7].starts_with("     1,000 |") && lines[7].contains('a'), "{drawn}");
        assert!(lines[14].starts_with("       100 |*") && lines[14].ends_with('b'), "{drawn}");
        assert!(lines[16].contains("1 ") && lines[16].ends_with("100  clients"), "{drawn}");
        assert_eq!(lines[18], "      b two");
    }
}
