//! The overhead of each worker, next to the times of its contenders.

use crate::analysis::Findings;
use crate::analysis::circumstances::WorkerOverhead;
use crate::analysis::plain::NullDriver;
use crate::report::content::pauses;
use crate::report::content::words::{self, NOTHING};
use crate::report::document::{Block, Cell as TableCell, Id, Section, Table};
use crate::stats::precision::{Ns, Percent};
use std::collections::BTreeMap;

/// The contender of a worker with the shortest operations, and their mean time.
fn quickest(findings: &Findings<'_>, condition: usize, null: &str) -> Option<(usize, f64)> {
    let metric = findings.metric("service_ns_mean")?;
    let contenders = findings.study.contenders.iter().enumerate();
    let of_worker = contenders
        .filter(|(_, contender)| contender.resolved.overhead.as_ref().is_some_and(|idle| idle.driver == null));
    let means = of_worker.filter(|(_, contender)| contender.driver != null).filter_map(|(index, _)| {
        let cell = findings.cell(condition, index).filter(|cell| cell.has_data())?;
        Some((index, findings.estimator().estimate(cell, &metric).value?))
    });
    means.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Overheads and pauses of the workers; `None` if the record has neither.
pub fn section(findings: &Findings<'_>) -> Option<Section> {
    let mut blocks = costs(findings);
    blocks.extend(not_there(findings).map(Block::Note));
    blocks.extend(pauses::blocks(findings));
    (!blocks.is_empty()).then(|| Section {
        id: Id::Other("overheads"),
        title: "What the workers take for themselves".to_string(),
        blocks,
    })
}

/// A row for each worker under each condition.
fn costs(findings: &Findings<'_>) -> Vec<Block> {
    let overheads = &findings.circumstances.overheads;
    if overheads.is_empty() {
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
    for WorkerOverhead { driver, condition, times } in overheads {
        let shortest = match quickest(findings, *condition, driver) {
            None => TableCell::muted(NOTHING),
            Some((contender, mean_ns)) => {
                let share = Percent(times.mean_ns as f64 / mean_ns);
                let small = format!("{}; the worker's own is {share} of it", words::label(findings, contender));
                TableCell::new(Ns(mean_ns as u64).to_string()).small(small)
            }
        };
        table.row([
            TableCell::new(*driver),
            TableCell::new(words::condition(findings, *condition)),
            TableCell::new(Ns(times.mean_ns).to_string()),
            TableCell::new(Ns(times.p999_ns).to_string()),
            TableCell::new(Ns(times.max_ns).to_string()),
            shortest,
        ]);
    }
    let text = "One client of each worker carried out the same operations on its null driver before the first trial. \
                Times are from the end of one operation to the end of the next, in the later half. What remains is \
                the cost of the language: its loop, its clock, its garbage collector. The longest is its longest \
                stall there.";
    let note = "It is a part of every operation measured below or above it, and it is not subtracted anywhere. Conditions that differ \
                in the number of clients share one measurement.";
    let mut blocks = vec![Block::Text(text.to_string()), Block::Table(table), Block::Note(note.to_string())];
    blocks.extend(other_models(findings).map(Block::Note));
    blocks
}

/// Workers whose overhead is unknown.
fn not_there(findings: &Findings<'_>) -> Option<String> {
    let missing = findings.circumstances.overheads_missing;
    (!missing.is_empty()).then(|| {
        format!(
            "Not measured, because the worker with the null driver was not there: {}. `contend doctor` says how to \
             build it.",
            missing.join(", ")
        )
    })
}

/// Contenders whose overhead was measured in another model than theirs.
fn other_models(findings: &Findings<'_>) -> Option<String> {
    let mut above: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let overheads = &findings.circumstances.overheads;
    for contender in &findings.study.contenders {
        let known = |idle: &&NullDriver| overheads.iter().any(|overhead| overhead.driver == idle.driver);
        let measured = contender.resolved.overhead.as_ref().filter(known).map(|idle| &idle.model);
        if let Some(model) = measured.filter(|model| contender.model != **model) {
            above.entry(format!("{} instead of {model}", contender.model)).or_default().push(&contender.label);
        }
    }
    let of = |(models, labels): (String, Vec<&str>)| format!("{models}: {}", words::labels(&labels));
    let all: Vec<String> = above.into_iter().map(of).collect();
    (!all.is_empty()).then(|| {
        format!("The cost of a model beyond that of the null driver's model is not in it ({}).", all.join("; "))
    })
}
