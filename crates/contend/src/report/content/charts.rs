//! Charts: throughput, latency by percentile, the course of the window, resources.

use crate::analysis::Findings;
use crate::analysis::cell::{Cell, Stretch};
use crate::analysis::dist::{CurvePoint, Shown};
use crate::analysis::metric::Metric;
use crate::analysis::plain::Tier;
use crate::analysis::reported;
use crate::analysis::trial::Scope;
use crate::report::content::axes::{extent, linear_axis, log_axis, short_count, short_ns, trimmed};
use crate::report::content::words;
use crate::report::document::{Axis, Bar, BarRow, Bars, Block, Id, Lines, Point, Section, Series, Tick};
use crate::stats::precision::{Ns, Percent, Rate};
use crate::stats::quantile::QuantileValue;
use crate::stats::verdict::Verdict;

/// Percentiles marked on the axis, as 1 / (1 - q).
const PERCENTILES: [(f64, &str, bool); 9] = [
    (1.0, "0", true),
    (2.0, "p50", false),
    (10.0, "p90", false),
    (20.0, "p95", true),
    (100.0, "p99", false),
    (1000.0, "p99.9", false),
    (10_000.0, "p99.99", false),
    (100_000.0, "p99.999", true),
    (1_000_000.0, "p99.9999", true),
];

/// Metrics of resources, shown as bars.
const RESOURCES: [&str; 6] = [
    "cpu_ns_per_operation",
    "written_bytes_per_operation",
    "rss_bytes_client",
    "rss_bytes_server",
    "size_bytes_compact",
    "size_bytes_wal",
];

fn conditions(findings: &Findings<'_>) -> std::ops::Range<usize> {
    0..findings.study.conditions.len()
}

/// Cells of a condition that have something to draw.
fn drawn<'s>(findings: &'s Findings<'_>, condition: usize) -> impl Iterator<Item = &'s Cell> {
    findings.cells.iter().filter(move |c| c.condition == condition && c.has_data())
}

fn section(id: Id, title: &str, intro: &str, blocks: Vec<Block>) -> Option<Section> {
    let intro = (!intro.is_empty()).then(|| Block::Text(intro.to_string()));
    (!blocks.is_empty()).then(|| Section {
        id,
        title: title.to_string(),
        blocks: intro.into_iter().chain(blocks).collect(),
    })
}

/// Bars of the headline, and of throughput.
pub fn throughput(findings: &Findings<'_>) -> Option<Section> {
    let metrics = findings.shown_metrics();
    let charts: Vec<Bars> =
        conditions(findings).flat_map(|c| metrics.iter().filter_map(move |f| bars(findings, c, f))).collect();
    let labels: Vec<String> = metrics.iter().map(Metric::label).collect();
    let title = capitalised(&labels.join(", "));
    let faint = charts.iter().flat_map(Bars::bars).any(|bar| bar.faint);
    section(
        Id::Throughput,
        &title,
        "Bars end at the value of all rounds (the median of the rounds; for a percentile, that of all operations; for a \
         study's own figure, its formula), each dot is one round, the line is the interval. Every tier has its own \
         promise, so compare inside a tier.",
        charts.into_iter().map(Block::Bars).chain(faint.then(faint_note)).collect(),
    )
}

fn faint_note() -> Block {
    let note = "A faint bar (dots in text) is not comparable with its tier's baseline, for example because it did not do \
                the same work: the verdict says why.";
    Block::Note(note.to_string())
}

pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

fn bars(findings: &Findings<'_>, condition: usize, metric: &Metric) -> Option<Bars> {
    let mut rows = vec![];
    for tier in Tier::GROUPS {
        let cells: Vec<&Cell> =
            drawn(findings, condition).filter(|c| findings.of_tier(tier).contains(&c.contender)).collect();
        if cells.is_empty() {
            continue;
        }
        let (name, promise) = words::tier(findings, tier);
        rows.push(BarRow::Group(name, promise));
        rows.extend(cells.into_iter().map(|cell| BarRow::Bar(bar(findings, cell, metric))));
    }
    let chart = Bars { title: titled(findings, condition, &metric.label()), condition, rows };
    let drawn = chart.bars().any(|bar| bar.value.is_some());
    drawn.then_some(chart)
}

/// A chart's title, with its condition where there are several.
pub fn titled(findings: &Findings<'_>, condition: usize, what: &str) -> String {
    let what = capitalised(what);
    if conditions(findings).len() > 1 { format!("{what}: {}", words::condition(findings, condition)) } else { what }
}

fn bar(findings: &Findings<'_>, cell: &Cell, metric: &Metric) -> Bar {
    let estimate = findings.estimator().estimate(cell, metric);
    let label = words::label(findings, cell.contender).to_string();
    let shown = words::estimate(metric, &estimate);
    let interval = words::interval(metric, &estimate);
    let mut tip = format!("{label}\n{}: {}", metric.label(), shown.text);
    if !interval.is_empty() {
        tip += &format!("\ninterval: {interval}");
    }
    tip += &format!("\nvalid rounds: {}", words::rounds(cell));
    // What has no comparison of its own is as comparable as the headline.
    let compared = |name: &str| findings.compared(cell.condition, cell.contender, name);
    let compared =
        compared(&metric.name).or_else(|| findings.headline.as_ref().and_then(|headline| compared(&headline.name)));
    let reason = compared.and_then(|compared| match &compared.comparison.verdict {
        Verdict::NotComparable(reason) => Some(reason),
        _ => None,
    });
    if let Some(reason) = reason {
        tip += &format!("\nnot comparable: {reason}");
    }
    Bar {
        series: cell.contender,
        label,
        value: estimate.value,
        low: estimate.low,
        high: estimate.high,
        // Without a value of the cell, its rounds are not drawn.
        points: estimate.rounds.iter().filter(|_| estimate.value.is_some()).map(|(_, value)| *value).collect(),
        shown: shown.text,
        tip,
        faint: reason.is_some(),
    }
}

/// Response time by percentile, reads and writes apart.
pub fn latency(findings: &Findings<'_>) -> Option<Section> {
    let scopes: &[Scope] = if findings.reads_and_writes() { &[Scope::Read, Scope::Write] } else { &[Scope::All] };
    let charts = conditions(findings).flat_map(|c| scopes.iter().filter_map(move |&s| latency_lines(findings, c, s)));
    section(
        Id::Latency,
        "Response time by percentile",
        "Read a curve at p99: 1 of 100 takes at least so long. Further right are the rarer, slower ones; a \
         curve ends where fewer than 30 lie beyond it.",
        charts.map(Block::Lines).collect(),
    )
}

fn latency_lines(findings: &Findings<'_>, condition: usize, scope: Scope) -> Option<Lines> {
    let series: Vec<Series> = drawn(findings, condition).map(|cell| latency_series(findings, cell, scope)).collect();
    let what = format!("response time{}", scope.of());
    let points = || series.iter().flat_map(|s| &s.points);
    let (low, high) = extent(points().filter_map(|p| p.y))?;
    let far = points().map(|p| p.x).fold(10.0, f64::max);
    let tick = |&(at, label, minor): &(f64, &str, bool)| Tick { at, label: label.to_string(), minor };
    let ticks = PERCENTILES.iter().filter(|(at, ..)| *at <= far * 1.01).map(tick).collect();
    Some(Lines {
        title: titled(findings, condition, &what),
        condition: Some(condition),
        x: Axis { label: "percentile".to_string(), log: true, low: 1.0, high: far, ticks },
        y: log_axis(low.max(1.0), high.max(1.0), &short_ns),
        series,
        small: false,
        in_text: false,
    })
}

fn latency_series(findings: &Findings<'_>, cell: &Cell, scope: Scope) -> Series {
    let label = words::label(findings, cell.contender).to_string();
    let dist = &cell.pool(scope).response;
    let point = |p: &CurvePoint| {
        let at = format!("p{}", trimmed(100.0 - 100.0 / p.one_in));
        let bound = if p.at_least { "at least " } else { "" };
        let few = if p.few { "\nfewer operations than this percentile needs" } else { "" };
        Point {
            x: p.one_in,
            y: Some(p.ns.max(1) as f64),
            weak: p.at_least || p.few,
            tip: format!("{label}\n{at}: {bound}{}\nn = {}{few}", Ns(p.ns), words::count(dist.n)),
        }
    };
    Series { series: cell.contender, points: dist.curve.iter().map(point).collect(), label: label.clone() }
}

/// The course of the window, all rounds laid over each other.
pub fn over_time(findings: &Findings<'_>) -> Option<Section> {
    let charts = conditions(findings).flat_map(|condition| {
        let cells: Vec<&Cell> = drawn(findings, condition).collect();
        let failures = cells.iter().any(|c| c.timeline.iter().any(|s| s.failed_per_s > 0.0));
        let rate = |get: fn(&Stretch) -> f64, what: &str| time_lines(findings, condition, &cells, what, &rate_of(get));
        let time =
            |get: fn(&Stretch) -> Shown, what: &str| time_lines(findings, condition, &cells, what, &time_of(get));
        let what = if findings.of_service() { "answers per second" } else { "commits per second" };
        let committed = rate(|s| s.committed_per_s, what);
        let of = |quantile: &str| {
            format!("{quantile} response time of {}", if findings.of_service() { "answers" } else { "commits" })
        };
        let slow = time(|s| s.p95, &of("p95")).or_else(|| time(|s| s.p50, &of("p50")));
        let failed = rate(|s| s.failed_per_s, "failures per second").filter(|_| failures);
        [committed, slow, failed].into_iter().flatten()
    });
    section(
        Id::Other("over-time"),
        "Over time",
        "Each point is a twentieth of the window, added up over the rounds. A line that climbs or falls has no steady \
         state, and its average describes nothing.",
        charts.map(Block::Lines).collect(),
    )
}

/// A value with its text, or none.
type Value = Box<dyn Fn(&Stretch) -> Option<(f64, String)>>;

fn rate_of(get: fn(&Stretch) -> f64) -> (Value, bool) {
    (Box::new(move |stretch| Some((get(stretch), Rate(get(stretch)).to_string()))), false)
}

fn time_of(get: fn(&Stretch) -> Shown) -> (Value, bool) {
    let value = move |stretch: &Stretch| match get(stretch).value {
        QuantileValue::Exact(ns) => Some((ns.max(1) as f64, Ns(ns).to_string())),
        _ => None,
    };
    (Box::new(value), true)
}

fn time_lines(
    findings: &Findings<'_>,
    condition: usize,
    cells: &[&Cell],
    what: &str,
    (value, log): &(Value, bool),
) -> Option<Lines> {
    let series = |cell: &&Cell| {
        let label = words::label(findings, cell.contender).to_string();
        let point = |stretch: &Stretch| {
            let found = value(stretch);
            let text = found.as_ref().map_or("too few operations".to_string(), |(_, text)| text.clone());
            let tip = format!("{label}\n{what}: {text}\nat {}", Ns(stretch.at_ns as u64));
            Point { x: stretch.at_ns, y: found.map(|(v, _)| v), weak: false, tip }
        };
        Series { series: cell.contender, points: cell.timeline.iter().map(point).collect(), label: label.clone() }
    };
    let series: Vec<Series> = cells.iter().map(series).collect();
    let (low, high) = extent(series.iter().flat_map(|s| &s.points).filter_map(|p| p.y))?;
    let end = series.iter().flat_map(|s| &s.points).map(|p| p.x).fold(0.0, f64::max);
    let y = if *log { log_axis(low.max(1.0), high.max(1.0), &short_ns) } else { linear_axis(high, &short_count) };
    let x = linear_axis(end * 1.02, &short_ns);
    Some(Lines {
        title: titled(findings, condition, what),
        condition: Some(condition),
        x,
        y,
        series,
        small: true,
        in_text: false,
    })
}

/// Bars of resources: processor, memory, disk.
pub fn resources(findings: &Findings<'_>) -> Option<Section> {
    let metrics: Vec<Metric> = RESOURCES.iter().filter_map(|name| findings.metric(name)).collect();
    let charts: Vec<Bars> =
        metrics.iter().flat_map(|f| conditions(findings).filter_map(move |c| bars(findings, c, f))).collect();
    let faint = charts.iter().flat_map(Bars::bars).any(|bar| bar.faint);
    let mut blocks: Vec<Block> = charts.into_iter().map(without_promises).map(Block::Bars).collect();
    blocks.extend(faint.then(faint_note));
    if !blocks.is_empty() {
        blocks.push(Block::Note(foreign(findings)));
    }
    section(Id::Other("resources"), "Processor, memory, disk", "", blocks)
}

/// Removes the promises of tiers, which the chart of throughput shows.
fn without_promises(mut chart: Bars) -> Bars {
    for row in &mut chart.rows {
        if let BarRow::Group(_, promise) = row {
            promise.clear();
        }
    }
    chart
}

/// CPU time of other programs, in words.
pub fn foreign(findings: &Findings<'_>) -> String {
    let found = reported::foreign(findings);
    let share = |permille: u32| Percent(f64::from(permille) / 1000.0);
    let server = if found.with_server { ", with the server if it is on this machine," } else { "" };
    format!(
        "Other programs{server} used {} of the processors' time in the median trial, {} in the busiest.",
        share(found.median_permille),
        share(found.max_permille)
    )
}
