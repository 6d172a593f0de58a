//! Charts of a search: the bounded metrics against the rate, the probes in order, and the load of each suspect.

use crate::bound::metric_name;
use crate::capacity::plain_arms;
use crate::of::Of;
use crate::saved::{Arm, Busy, Probe, Saved};
use crate::search::ProbeResult;
use contend::analysis::metric::{Metric, listed};
use contend::report::content::axes::{extent, fitting, log_axis, short_count, short_ns, trimmed};
use contend::report::document::{Axis, Block, Id, Lines, Point, Section, Series};
use contend_stats::interval::median;
use contend_stats::precision::Percent;
use contend_stats::unit::Unit;

/// The sections with charts.
pub fn sections(saved: &Saved, most: &[f64]) -> Vec<Section> {
    let bounded = saved
        .bounds
        .iter()
        .zip(most)
        .enumerate()
        .filter_map(|(at, (bound, most))| against_rate(saved, at, &listed(&metric_name(bound))?, *most));
    let bounded: Vec<Block> = bounded.map(Block::Lines).collect();
    let intro = "Medians of the probes at about the same load; the level line is the bound.";
    let of = |id, title: &str, intro: &str, blocks: Vec<Block>| {
        let intro = Block::Text(intro.to_string());
        (!blocks.is_empty()).then(|| Section {
            id: Id::Other(id),
            title: title.to_string(),
            blocks: std::iter::once(intro).chain(blocks).collect(),
        })
    };
    let search = bisection(saved).map(Block::Lines).into_iter().collect();
    let busy = plain_arms(saved).filter_map(|(arm, of)| busy(saved, arm, of)).map(Block::Lines).collect();
    [
        of("bound", "Load and bound", intro, bounded),
        of("search", "The search", "What was probed, in order; a dotted line leads to a probe that missed.", search),
        of("busy", "How busy the suspects were", "Shares of what there is, against the load.", busy),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Probes of an arm with what was tried, if they count.
fn probes(saved: &Saved, arm: usize) -> impl Iterator<Item = (f64, &Probe)> {
    let of_arm = saved.probes.iter().filter(move |probe| probe.arm == arm && probe.seen != Some(ProbeResult::NoValue));
    of_arm.filter_map(|probe| Some((probe.at()?, probe)))
}

/// A point for each group of probes whose rates follow one another within 2 %: their medians.
fn middles(mut values: Vec<(f64, f64)>, tip: &dyn Fn(f64, f64) -> String) -> Vec<Point> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let near = |a: &(f64, f64), b: &(f64, f64)| b.0 <= a.0 * 1.02;
    let middle = |group: &[(f64, f64)]| {
        let of = |part: fn(&(f64, f64)) -> f64| median(&group.iter().map(part).collect::<Vec<_>>());
        let (x, y) = (of(|value| value.0)?, of(|value| value.1)?);
        Some(Point { x, y: Some(y), weak: false, tip: tip(x, y) })
    };
    values.chunk_by(near).filter_map(middle).collect()
}

fn axis(label: &str, axis: Axis) -> Axis {
    Axis { label: label.to_string(), ..axis }
}

/// Where the axis begins, as a part of its first label's rate.
const FIRST_LABEL: f64 = 0.7;

fn tried_axis(of: &Of, points: &[Series]) -> Option<Axis> {
    let (low, high) = extent(points.iter().flat_map(|series| &series.points).map(|point| point.x))?;
    let all = log_axis(low.max(f64::MIN_POSITIVE), high, &short_count);
    // On a narrow page the first label would meet that of the other axis.
    Some(axis(of.axis_label(), Axis { low: all.low * FIRST_LABEL, ..all }))
}

fn shown(unit: Unit) -> fn(f64) -> String {
    match unit {
        Unit::Ns => short_ns,
        Unit::Share => |share| format!("{} %", trimmed(share * 100.0)),
        _ => trimmed,
    }
}

fn against_rate(saved: &Saved, at: usize, metric: &Metric, most: f64) -> Option<Lines> {
    let searched = saved.of();
    let of_arm = |(arm, of): (usize, &Arm)| {
        let values = probes(saved, arm)
            .filter_map(|(rate, probe)| Some((rate, *probe.values.get(at).filter(|value| value.is_finite())?)));
        let name = of.name();
        let tip =
            |tried: f64, value: f64| format!("{name} at {}\n{}", searched.words(tried), metric.show_with_unit(value));
        Series { series: arm, label: name.clone(), points: middles(values.collect(), &tip) }
    };
    let mut series: Vec<Series> = plain_arms(saved).map(of_arm).filter(|series| !series.points.is_empty()).collect();
    let x = tried_axis(&saved.of(), &series)?;
    let level = |x: f64| Point { x, y: Some(most), weak: true, tip: format!("bound\n{}", metric.show_with_unit(most)) };
    let bound =
        Series { series: saved.arms.len(), label: "bound".to_string(), points: vec![level(x.low), level(x.high)] };
    series.push(bound);
    let values = || series.iter().flat_map(|series| &series.points).filter_map(|point| point.y);
    let y = axis("", fitting(values(), &shown(metric.unit))?);
    Some(Lines { title: metric.label(), condition: None, x, y, series, small: false, in_text: false })
}

/// The rate of each probe, in order.
fn bisection(saved: &Saved) -> Option<Lines> {
    let searched = saved.of();
    let of_arm = |(arm, of): (usize, &Arm)| {
        let point = |(at, (rate, probe)): (usize, (f64, &Probe))| {
            let (words, weak) = match probe.seen {
                Some(ProbeResult::Misses) => (format!("misses: {}", probe.why), true),
                _ => ("meets".to_string(), false),
            };
            let tip = format!(
                "{}, round {}, trial {}\n{}: {words}",
                of.name(),
                probe.round,
                probe.trial,
                searched.words(rate)
            );
            Point { x: at as f64 + 1.0, y: Some(rate), weak, tip }
        };
        Series { series: arm, label: of.name(), points: probes(saved, arm).enumerate().map(point).collect() }
    };
    let series: Vec<Series> = plain_arms(saved).map(of_arm).filter(|series| !series.points.is_empty()).collect();
    let points = || series.iter().flat_map(|series| &series.points);
    let x = axis("probe", fitting(points().map(|point| point.x), &trimmed)?);
    let y = axis(searched.axis_label(), fitting(points().filter_map(|point| point.y), &short_count)?);
    Some(Lines { title: "Values probed".to_string(), condition: None, x, y, series, small: false, in_text: false })
}

/// Load of each suspect at each rate.
fn busy(saved: &Saved, arm: usize, of: &Arm) -> Option<Lines> {
    let (processors, searched) = (f64::from(saved.processors.max(1)), saved.of());
    type Use<'u> = (&'u str, &'u dyn Fn(&Busy) -> Option<f64>);
    let uses: [Use<'_>; 7] = [
        ("write transactions", &|used| used.writing),
        ("clients", &|used| Some(used.clients)),
        ("processors, by clients", &|used| Some(used.client_cpu / processors)),
        ("processors, by the server", &|used| used.server_cpu.map(|cpu| cpu / processors)),
        ("processors, by others", &|used| Some(used.other_cpu / processors)),
        ("disk, in syncs", &|used| used.syncing),
        ("contend's own loop", &|used| Some(used.generator)),
    ];
    let series = uses.iter().enumerate().map(|(number, (label, of))| {
        let values = probes(saved, arm).filter_map(|(rate, probe)| Some((rate, of(probe.used.as_ref()?)?)));
        let tip = |tried: f64, share: f64| format!("{label} at {}\n{}", searched.words(tried), Percent(share));
        Series { series: number, label: label.to_string(), points: middles(values.collect(), &tip) }
    });
    let series: Vec<Series> = series.filter(|series| !series.points.is_empty()).collect();
    let x = tried_axis(&saved.of(), &series)?;
    let highest = series.iter().flat_map(|series| &series.points).filter_map(|point| point.y).fold(1.0, f64::max);
    let y = axis("", fitting([0.0, highest].into_iter(), &|share| Percent(share).to_string())?);
    Some(Lines { title: of.name(), condition: None, x, y, series, small: true, in_text: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_at_about_one_rate_are_one_point() {
        let points = middles(vec![(200.0, 9.0), (100.0, 3.0), (101.0, 1.0), (100.5, 2.0)], &|x, y| format!("{x} {y}"));
        let drawn: Vec<(f64, Option<f64>)> = points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(drawn, [(100.5, Some(2.0)), (200.0, Some(9.0))]);
        assert_eq!(points[0].tip, "100.5 2");
    }
}
