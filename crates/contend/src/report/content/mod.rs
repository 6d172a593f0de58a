//! The document, section by section, from the numbers.

mod along;
pub mod axes;
pub mod charts;
mod checks;
mod circumstances;
mod course;
mod crashes;
mod detail;
pub mod evidence;
mod first;
mod floors;
mod grid;
mod method;
mod pauses;
mod powercut;
mod readback;
mod recording;
mod servers;
mod service;
mod settings;
mod speed;
pub mod sweep;
pub mod words;

use crate::analysis::Summary;
use crate::report::document::{Document, Section};
use crate::study::model::{Extent, Variant};

/// The whole report.
pub fn document(summary: &Summary<'_>) -> Document {
    let run = &summary.record.run;
    let conditions: Vec<String> = (0..run.study.conditions.len()).map(|i| words::condition(summary, i)).collect();
    let sections = if summary.of_service() { service::sections(summary) } else { of_databases(summary) };
    let title = match summary.of_service() {
        true => run.study.name.clone(),
        false => format!("{}, {}", run.study.name, run.study.variant.word()),
    };
    Document {
        title,
        question: run.study.question.clone(),
        facts: facts(summary),
        warnings: circumstances::warnings(summary),
        conditions: if conditions.len() > 1 { conditions } else { vec![] },
        origin:
            "Made by contend from the record in this directory; the same record gives the same page. The numbers are \
                 in trials.csv, transactions.csv and latencies.csv beside it."
                .to_string(),
        sections: sections.into_iter().flatten().collect(),
    }
}

fn of_databases(summary: &Summary<'_>) -> Vec<Option<Section>> {
    vec![
        Some(first::answer(summary)),
        powercut::promise(summary),
        crashes::section(summary),
        charts::throughput(summary),
        sweep::section(summary),
        charts::latency(summary),
        method::effects(summary),
        detail::transactions(summary),
        detail::outcomes(summary),
        detail::own_figures(summary),
        charts::over_time(summary),
        course::section(summary),
        charts::resources(summary),
        servers::servers(summary),
        detail::fairness(summary),
        method::published(summary),
        Some(method::comparisons(summary)),
        circumstances::invalid(summary),
        floors::section(summary),
        Some(circumstances::machine(summary)),
        Some(settings::section(summary)),
        Some(circumstances::schedule(summary)),
    ]
}

fn facts(summary: &Summary<'_>) -> Vec<String> {
    let run = &summary.record.run;
    let rounds = words::counted(run.study.rounds as usize, "round");
    if summary.of_service() {
        return vec![run.study.name.clone(), rounds, run.started.clone()];
    }
    let variant = match run.study.variant {
        Variant::Corrected => "corrected variant",
        Variant::AsPublished => "as published, flaws included",
    };
    let extent = match run.study.extent {
        Extent::Quick => "quick",
        Extent::Full => "full",
    };
    vec![
        format!("study {}", run.study.name),
        variant.to_string(),
        extent.to_string(),
        words::counted(run.study.contenders.len(), "contender"),
        rounds,
        run.started.clone(),
    ]
}
