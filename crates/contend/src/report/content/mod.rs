//! From findings to a document, section by section.

mod along;
pub mod axes;
pub mod charts;
pub mod circumstances;
pub mod course;
pub mod detail;
pub mod evidence;
pub mod first;
mod grid;
pub mod method;
pub mod notice;
mod overheads;
mod pauses;
mod readback;
mod servers;
pub mod settings;
pub mod speed;
pub mod sweep;
mod unclear;
mod until;
pub mod words;

use crate::analysis::Findings;
use crate::analysis::plain::{Extent, LeftOut, Study, Variant};
use crate::registry::Registry;
use crate::report::document::{Block, Document, Id, Section};
use crate::report::kind;

/// The whole report.
pub fn document(findings: &Findings<'_>) -> Document {
    let study = findings.study;
    let conditions: Vec<String> = (0..study.conditions.len()).map(|i| words::condition(findings, i)).collect();
    let mut sections: Vec<Section> = sections(findings).into_iter().flatten().collect();
    note(&mut sections, circumstances::notes(findings));
    let title = match findings.of_service() {
        true => study.name.clone(),
        false => format!("{}, {}", study.name, study.variant.word()),
    };
    Document {
        title,
        question: study.question.clone(),
        facts: facts(findings),
        warnings: circumstances::warnings(findings),
        conditions: if conditions.len() > 1 { conditions } else { vec![] },
        unanswered: unanswered(study),
        origin:
            "Made by contend from the record in this directory; the same record gives the same page. The numbers are \
                 in trials.csv, transactions.csv and latencies.csv next to it."
                .to_string(),
        sections,
        chart: kind::of(findings).map_or_else(Id::default, |report| report.chart),
    }
}

/// Puts notes after the answers in words.
fn note(sections: &mut [Section], notes: Vec<String>) {
    let Some(answer) = sections.iter_mut().find(|section| section.id == Id::Answer) else { return };
    let last = answer.blocks.iter().rposition(|block| matches!(block, Block::Answer { .. }));
    if !notes.is_empty() {
        answer.blocks.insert(last.map_or(0, |last| last + 1), Block::Notes(notes));
    }
}

/// All sections of a report.
pub type Sections = fn(&Findings<'_>) -> Vec<Option<Section>>;

/// Sections of reports on services, from a slice.
pub static OF_SERVICES: Registry<Sections> = Registry::empty();

fn sections(findings: &Findings<'_>) -> Vec<Option<Section>> {
    let of_service = OF_SERVICES.all().first().filter(|_| findings.of_service());
    of_service.map_or_else(|| of_databases(findings), |sections| sections(findings))
}

fn unanswered(study: &Study) -> Vec<String> {
    let mut asked: Vec<String> = vec![];
    for what in &study.left_out {
        if let LeftOut::Answer { ask, .. } = what
            && !asked.contains(ask)
        {
            asked.push(ask.clone());
        }
    }
    asked
}

fn of_databases(findings: &Findings<'_>) -> Vec<Option<Section>> {
    let of_kind = kind::of(findings).map_or_else(Vec::new, |report| (report.sections)(findings));
    let measured = vec![
        charts::throughput(findings),
        sweep::section(findings),
        charts::latency(findings),
        method::effects(findings),
        detail::transactions(findings),
        detail::outcomes(findings),
        detail::own_metrics(findings),
        charts::over_time(findings),
        course::section(findings),
        charts::resources(findings),
        servers::servers(findings),
        detail::fairness(findings),
        method::published(findings),
        Some(method::comparisons(findings)),
        circumstances::invalid(findings),
        overheads::section(findings),
        Some(circumstances::machine(findings)),
        Some(settings::section(findings)),
        Some(circumstances::schedule(findings)),
    ];
    [vec![Some(first::answer(findings))], of_kind, measured].concat()
}

/// Whether a study repeats a published benchmark.
pub fn has_original(study: &Study) -> bool {
    !study.published.is_empty() || !study.changes.is_empty()
}

/// The variant of a study that has an original.
pub const CORRECTED: &str = "the original, corrected";

fn facts(findings: &Findings<'_>) -> Vec<String> {
    let study = findings.study;
    let rounds = until::rounds(findings);
    if findings.of_service() {
        return vec![study.name.clone(), rounds, findings.circumstances.started.to_string()];
    }
    let variant = match study.variant {
        Variant::Corrected => has_original(study).then_some(CORRECTED),
        Variant::AsPublished => Some("as published, flaws included"),
    };
    let extent = match study.extent {
        Extent::Quick => "quick",
        Extent::Full => "full",
    };
    let mut facts = vec![format!("study {}", study.name)];
    facts.extend(variant.map(str::to_string));
    facts.extend([
        extent.to_string(),
        words::counted(study.contenders.len(), "contender"),
        rounds,
        findings.circumstances.started.to_string(),
    ]);
    facts
}
