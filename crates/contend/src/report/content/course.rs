//! Resources over the window: processors, memory, database, log.

use crate::analysis::Findings;
use crate::analysis::cell::Cell;
use crate::analysis::course::Course;
use crate::report::content::axes::{bytes_axis, extent, linear_axis, short_count, short_ns};
use crate::report::content::charts::{capitalised, titled};
use crate::report::content::words;
use crate::report::document::{Block, Id, Lines, Point, Section, Series};
use crate::stats::precision::Ns;
use crate::stats::unit::Unit;

/// Fewest points of a line for which a chart is drawn; the sampler reads every 200 ms.
const POINTS_MIN: usize = 4;

/// Number of charts about processes; they come before those about files.
const OF_PROCESSES: usize = 2;

type Get = fn(&Course) -> Option<f64>;

const CHARTS: [(&str, Unit, Get); 7] = [
    ("processors in use", Unit::Plain, |course| course.cpus),
    ("resident memory", Unit::Bytes, |course| course.rss_bytes),
    ("size of the database", Unit::Bytes, |course| course.size_bytes_db),
    ("size of log or journal", Unit::Bytes, |course| course.size_bytes_wal),
    ("log frames not yet checkpointed", Unit::Plain, |course| course.frames_backlog),
    ("log frames since the oldest snapshot in use", Unit::Plain, |course| course.frames_reader_behind),
    ("age of the oldest snapshot in use", Unit::Ns, |course| course.reader_ns),
];

/// Lines of each contender over the window.
pub fn section(findings: &Findings<'_>) -> Option<Section> {
    let conditions = 0..findings.study.conditions.len();
    // The files of a service are elsewhere.
    let shown = if findings.of_service() { &CHARTS[..OF_PROCESSES] } else { &CHARTS[..] };
    let charts = conditions.flat_map(|condition| shown.iter().filter_map(move |of| chart(findings, condition, of)));
    let blocks: Vec<Block> = charts.map(Block::Lines).collect();
    (!blocks.is_empty()).then(|| {
        let intro = match findings.of_service() {
            true => "Means over the rounds, of the clients and of contend itself; the service is not watched.",
            false => {
                "Means over the rounds. Processors and memory are those of the workers and of contend itself; a log \
                 that grows without end will one day be read back."
            }
        };
        Section {
            id: Id::Other("course"),
            title: "Machine over time".to_string(),
            blocks: std::iter::once(Block::Text(intro.to_string())).chain(blocks).collect(),
        }
    })
}

fn chart(findings: &Findings<'_>, condition: usize, (what, unit, get): &(&str, Unit, Get)) -> Option<Lines> {
    let cells = findings.cells.iter().filter(|cell| cell.condition == condition && cell.has_data());
    let series: Vec<Series> = cells.map(|cell| line(findings, cell, what, *unit, *get)).collect();
    let points = || series.iter().flat_map(|s| &s.points);
    let (_, high) = extent(points().filter_map(|point| point.y))?;
    let (_, end) = extent(points().map(|point| point.x))?;
    if series.iter().all(|s| s.points.len() < POINTS_MIN) {
        return None;
    }
    let y = match unit {
        Unit::Bytes => bytes_axis(high),
        Unit::Ns => linear_axis(high, &short_ns),
        _ => linear_axis(high, &short_count),
    };
    Some(Lines {
        title: capitalised(&titled(findings, condition, what)),
        condition: Some(condition),
        x: linear_axis(end * 1.02, &short_ns),
        y,
        series,
        small: true,
        in_text: false,
    })
}

fn line(findings: &Findings<'_>, cell: &Cell, what: &str, unit: Unit, get: Get) -> Series {
    let label = words::label(findings, cell.contender).to_string();
    let point = |course: &Course| {
        let y = get(course)?;
        let tip = format!("{label}\n{what}: {}\nat {}", unit.show(y), Ns(course.at_ns as u64));
        Some(Point { x: course.at_ns, y: Some(y), weak: false, tip })
    };
    // Slices without a reading do not interrupt a line.
    let points = cell.course.iter().filter_map(point).collect();
    Series { series: cell.contender, points, label: label.clone() }
}
