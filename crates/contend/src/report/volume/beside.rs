//! Metrics of two parts with the same question, as published and corrected, side by side. There is no verdict: the
//! parts count differently, and that difference is the point.

use crate::analysis::Findings;
use crate::analysis::metric::Metric;
use crate::analysis::plain::{Study, Variant};
use crate::report::content::words;
use crate::report::document::{Block, Cell, Id, Section, Table};

/// Metrics shown next to the headlines of both parts. The two latencies differ if clients wait for their turn.
const ALSO_SHOWN: [&str; 3] = ["throughput_ops_per_s", "service_ns_p99", "response_ns_p99"];

/// `None` if no part is as published, or no other part asks the same.
pub fn section(parts: &[(String, Findings<'_>)]) -> Option<Section> {
    let mut blocks = vec![];
    for (_, original) in parts.iter().filter(|(_, part)| part.as_published()) {
        if let Some(fair) = partner(original, parts) {
            blocks.extend(side_by_side(original, fair));
        }
    }
    if blocks.is_empty() {
        return None;
    }
    let note = "The same contenders under the same conditions, measured as the original did and measured fairly. The \
                two count differently, so there is no verdict between them: what differs is what the original's way \
                of measuring does.";
    blocks.push(Block::Note(note.to_string()));
    Some(Section { id: Id::Other("beside"), title: "As published, and corrected".to_string(), blocks })
}

/// The part it names, else the corrected part of the same workload with which it shares most cells.
fn partner<'a, 'r>(original: &Findings<'r>, all: &'a [(String, Findings<'r>)]) -> Option<&'a Findings<'r>> {
    let all = all.iter().map(|(_, part)| part);
    let mine = study(original);
    if mine.beside.is_some() {
        return { all }.find(|other| study(other).part == mine.beside);
    }
    let fair = all.filter(|other| study(other).variant == Variant::Corrected);
    let same_work = fair.filter(|other| study(other).workload == mine.workload);
    // `max_by_key` returns the last of equals; the first is wanted.
    let best = same_work.rev().max_by_key(|other| shared(mine, study(other)).len())?;
    (!shared(mine, study(best)).is_empty()).then_some(best)
}

fn study<'r>(findings: &Findings<'r>) -> &'r Study {
    findings.study
}

/// Condition and contender of two parts.
type Places = [(usize, usize); 2];

/// Cells of the same contender under the same condition, by label. If both parts have a single condition, it counts as
/// the same.
fn shared(a: &Study, b: &Study) -> Vec<Places> {
    let single = a.conditions.len() == 1 && b.conditions.len() == 1;
    let mut places = vec![];
    for (condition, here) in a.conditions.iter().enumerate() {
        let there = b.conditions.iter().position(|other| single || other.label == here.label);
        for (contender, mine) in a.contenders.iter().enumerate() {
            let theirs = b.contenders.iter().position(|other| other.label == mine.label);
            places.extend(there.zip(theirs).map(|there| [(condition, contender), there]));
        }
    }
    places
}

fn side_by_side(original: &Findings<'_>, fair: &Findings<'_>) -> Vec<Block> {
    let (mine, theirs) = (study(original), study(fair));
    let name = |study: &Study| study.part.clone().unwrap_or_default();
    let metrics = metrics(original, fair);
    let titles = [format!("{}: as published|", name(mine)), format!("{}: corrected|", name(theirs))];
    let mut table = Table::new(&["contender", "figure", &titles[0], &titles[1]]);
    let mut open = None;
    for [(condition, contender), there] in shared(mine, theirs) {
        let Some((ours, others)) = original.cell(condition, contender).zip(fair.cell(there.0, there.1)) else {
            continue;
        };
        if open != Some(condition) && mine.conditions.len() > 1 {
            table.group(words::condition(original, condition), "");
        }
        open = Some(condition);
        for (row, [metric, other]) in metrics.iter().enumerate() {
            let label = if row == 0 { words::label(original, contender) } else { "" };
            let shown = |findings: &Findings<'_>, metric, cell| {
                words::estimate(metric, &findings.estimator().estimate(cell, metric))
            };
            let cells = [shown(original, metric, ours), shown(fair, other, others)];
            table.row([Cell::new(label), Cell::new(metric.label())].into_iter().chain(cells));
        }
    }
    if table.rows.is_empty() {
        return vec![];
    }
    vec![Block::Heading(format!("{} and {}", name(mine), name(theirs))), Block::Table(table)]
}

/// Metrics that both parts have, as each counts them: the two headlines and [`ALSO_SHOWN`].
fn metrics(a: &Findings<'_>, b: &Findings<'_>) -> Vec<[Metric; 2]> {
    let names = [study(a).headline.as_str(), study(b).headline.as_str()].into_iter().chain(ALSO_SHOWN);
    let mut metrics: Vec<[Metric; 2]> = vec![];
    for (of_a, of_b) in names.filter_map(|name| a.metric(name).zip(b.metric(name))) {
        if metrics.iter().all(|[have, _]| have.name != of_a.name) {
            metrics.push([of_a, of_b]);
        }
    }
    metrics
}
