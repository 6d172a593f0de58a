//! Writes the report of a study with parts: that of each part into its directory, and that of the whole next to them.

use super::content::{circumstances, notice};
use super::files::{Terminal, Written, script_name, write_file};
use super::single::files;
use super::{content, html, json};
use crate::analysis::plain::Variant;
use crate::analysis::reported;
use crate::analysis::{Findings, Parts};
use crate::report::document::Document;
use crate::report::text::Style;
use crate::report::volume::{AS_PUBLISHED, Chapter, Volume, beside, markdown, text};
use anyhow::Result;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// Files of a part's report that a chapter does not include.
const NUMBERS: [&str; 4] = ["trials.csv", "transactions.csv", "latencies.csv", "charts.gnuplot"];

/// Writes the report of every part into its directory, and that of the whole next to them.
///
/// # Errors
/// A file that cannot be written.
pub fn write(record: &Parts<'_>, out: &Path) -> Result<Written> {
    let mut chapters = vec![];
    for (name, part) in &record.parts {
        let document = content::document(part);
        for file in files(part, &document)? {
            write_file(&out.join(name), &file.name, &file.contents)?;
        }
        chapters.push(chapter(name, part, document));
    }
    let volume = Volume {
        title: format!("{}, {}", record.study, record.variant.word()),
        question: record.question.to_string(),
        facts: facts(record),
        warnings: warnings(record),
        beside: beside::section(&record.parts),
        chapters,
    };
    let json = to_json(record);
    let rendered = [
        ("report.html", html::volume(&volume)),
        ("report.md", markdown::volume(&volume)),
        ("report.txt", text::volume(&volume, Style::FILE)),
        ("report.json", json.clone()),
    ];
    let files = rendered.into_iter().map(|(name, text)| write_file(out, name, &text)).collect::<Result<_>>()?;
    let invalid = record.parts.iter().flat_map(|(_, findings)| &findings.rows).filter(|row| !row.is_valid()).count();
    Ok(Written { files, terminal: Terminal::Parts(volume), json, invalid })
}

fn chapter(name: &str, part: &Findings<'_>, document: Document) -> Chapter {
    let study = part.study;
    let exports = part.exports().flat_map(|export| [export.file.clone(), script_name(&export.file)]);
    Chapter {
        name: name.to_string(),
        about: study.about.clone(),
        as_published: study.variant == Variant::AsPublished,
        files: NUMBERS.into_iter().map(str::to_string).chain(exports).collect(),
        document,
    }
}

fn facts(record: &Parts<'_>) -> Vec<String> {
    let studies = || record.parts.iter().map(|(_, part)| part.study);
    let variant = match studies().any(|study| study.variant == Variant::Corrected) {
        true => studies().any(content::has_original).then_some(content::CORRECTED),
        false => Some(AS_PUBLISHED),
    };
    let mut facts = vec![format!("study {}", record.study)];
    facts.extend(variant.map(str::to_string));
    facts.extend([
        record.extent.word().to_string(),
        content::words::counted(record.parts.len(), "part"),
        record.started.to_string(),
    ]);
    facts
}

/// Counts trials of a part: how many of how many.
type Counted<'f> = dyn Fn(&Findings<'_>) -> Option<(usize, usize)> + 'f;

/// Warnings at the top of the whole; those of each part have more details.
fn warnings(record: &Parts<'_>) -> Vec<String> {
    let of = |found: &Counted<'_>| {
        let found = record.parts.iter().filter_map(|(name, part)| found(part).map(|found| (name, found)));
        let listed: Vec<String> = found.map(|(name, (n, of))| format!("{name} ({n} of {of} trials)")).collect();
        listed.join(", ")
    };
    let scheduled = |part: &Findings<'_>| part.circumstances.schedule.len();
    let some = |n: usize, of: usize| (n > 0).then_some((n, of));
    let notes = [
        ("Interrupted, so that not all trials are there", {
            of(&|part| part.circumstances.finished.is_none().then_some((part.trial_count(), scheduled(part))))
        }),
        ("Trials that do not count", {
            of(&|findings| some(findings.rows.iter().filter(|row| !row.is_valid()).count(), findings.rows.len()))
        }),
        ("Trials of the schedule that are missing", {
            of(&|part| {
                part.circumstances.finished.as_ref().and_then(|_| some(reported::missing(part), scheduled(part)))
            })
        }),
        ("Trials that cannot be read", of(&|part| some(part.damaged.len(), scheduled(part)))),
        ("Disturbed, or in such a round, and run again", {
            of(&|part| some(reported::ran_again(part).len(), part.trial_count() + reported::ran_again(part).len()))
        }),
        ("Disturbed, and counting nevertheless", {
            of(&|part| some(reported::marked(part).disturbed, part.trial_count()))
        }),
    ];
    let notes = notes.into_iter().filter(|(_, parts)| !parts.is_empty());
    let notes = notes.map(|(what, parts)| format!("{what}: {parts}. The reasons are with each part."));
    let mut of_parts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, part) in &record.parts {
        let said = reported::said_not_sealed(part).into_iter().chain(part.no_sync().map(circumstances::no_sync));
        let said = said.chain(circumstances::mostly_disturbed(part)).chain(notice::starved(part));
        said.for_each(|said| of_parts.entry(said).or_default().push(name));
    }
    let of_parts = of_parts.into_iter().map(|(said, parts)| format!("Of {}: {said}", parts.join(", ")));
    of_parts.chain(notes).collect()
}

/// The numbers of all parts, for a program.
fn to_json(record: &Parts<'_>) -> String {
    let part = |(name, part): &(String, Findings<'_>)| {
        let mut value = json::value(part);
        value["part"] = json!(name);
        value["about"] = json!(part.study.about);
        value
    };
    let document = json!({
        "format": 1,
        "study": record.study,
        "question": record.question,
        "variant": record.variant.word(),
        "complete": record.complete,
        "parts": record.parts.iter().map(part).collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}
