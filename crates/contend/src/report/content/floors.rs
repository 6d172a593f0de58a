//! What each worker takes for itself, beside what its contenders took.

use crate::report::content::words::{self, NOTHING};
use crate::report::document::{Block, Cell as TableCell, Section, Table};
use crate::report::summary::Summary;
use crate::stats::precision::{Ns, Percent};
use crate::study::readback::floor_driver;

/// Which contender of a worker has the shortest operations, and how long they take on average.
fn quickest(summary: &Summary<'_>, condition: usize, null: &str) -> Option<(usize, f64)> {
    let figure = summary.figure("service_ns_mean")?;
    let contenders = summary.record.run.study.contenders.iter().enumerate();
    let of_worker = contenders.filter(|(_, contender)| floor_driver(contender) == Some(null));
    let means = of_worker.filter(|(_, contender)| contender.driver != null).filter_map(|(index, _)| {
        let cell = summary.cell(condition, index).filter(|cell| cell.has_data())?;
        Some((index, summary.estimator().estimate(cell, &figure).value?))
    });
    means.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Pauses that workers tell of themselves, each with the heading of its column: the longest over all trials.
const PAUSES: [(&str, &str); 2] =
    [("gc_pause_ns_max", "garbage collection|"), ("event_loop_lag_ns_max", "event loop|")];

/// The longest of its own pauses that each contender's workers tell of; none where nobody tells.
fn pauses(summary: &Summary<'_>) -> Option<Table> {
    let mut head = vec!["contender"];
    head.extend(PAUSES.map(|(_, title)| title));
    let mut table = Table::new(&head);
    for (index, contender) in summary.record.run.study.contenders.iter().enumerate() {
        let trials = || summary.record.trials.iter().filter(|trial| trial.slot.contender == index);
        let longest = PAUSES.map(|(name, _)| {
            let told = trials().flat_map(|trial| &trial.workers).filter_map(|worker| worker.told.get(name));
            told.filter_map(|ns| ns.parse::<u64>().ok()).max()
        });
        if longest.iter().any(Option::is_some) {
            let mut cells = vec![TableCell::new(&contender.label).series(index)];
            cells.extend(
                longest.map(|ns| ns.map_or(TableCell::muted(NOTHING), |ns| TableCell::new(Ns(ns).to_string()))),
            );
            table.row(cells);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// The workers' own cost and pauses; none in a record that does not know.
pub fn section(summary: &Summary<'_>) -> Option<Section> {
    let mut blocks = costs(summary);
    if let Some(table) = pauses(summary) {
        blocks.push(Block::Heading("Longest pauses in a trial, as the workers tell".to_string()));
        blocks.push(Block::Table(table));
    }
    (!blocks.is_empty()).then(|| Section {
        id: "floors",
        title: "What the workers take for themselves".to_string(),
        blocks,
    })
}

/// A row for each worker under each condition.
fn costs(summary: &Summary<'_>) -> Vec<Block> {
    let floors = &summary.record.run.floors;
    if floors.is_empty() {
        return vec![];
    }
    let mut table = Table::new(&[
        "worker with driver",
        "condition",
        "mean of 99.9 %|",
        "p99.9|",
        "longest|",
        "shortest mean operation|",
    ]);
    for floor in floors {
        let shortest = match quickest(summary, floor.condition, &floor.driver) {
            None => TableCell::muted(NOTHING),
            Some((contender, mean_ns)) => {
                let share = Percent(floor.ns_per_operation as f64 / mean_ns);
                let small = format!("{}; the worker's own is {share} of it", words::label(summary, contender));
                TableCell::new(Ns(mean_ns as u64).to_string()).small(small)
            }
        };
        table.row([
            TableCell::new(&floor.driver),
            TableCell::new(words::condition(summary, floor.condition)),
            TableCell::new(Ns(floor.ns_per_operation).to_string()),
            TableCell::new(Ns(floor.ns_p999).to_string()),
            TableCell::new(Ns(floor.ns_max).to_string()),
            shortest,
        ]);
    }
    let text = "The same operations for one client of each worker, on its driver that does nothing, before the first trial: from \
                the end of one to the end of the next, in the later half. What is left is the language's: its loop, its \
                clock, its garbage collector. The longest is its longest stall there.";
    let note = "It is a part of every operation measured below or above it, and it is not subtracted anywhere. Conditions that differ \
                in the number of clients share one measurement.";
    vec![Block::Text(text.to_string()), Block::Table(table), Block::Note(note.to_string())]
}
