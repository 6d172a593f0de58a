//! `scripts/results.toml`: each cell that it puts next to a published figure exists in the study, so that the column
//! *corrected, here* can be filled.

use crate::support::root;
use contend::analysis::metric;
use contend::slice;
use contend::source::Source;
use contend::study::model::{Extent, Published, Study, Variant};
use contend::study::{Choices, LIBRARY, resolve_parts};
use std::fs;
use toml::{Table, Value};

const SLICES: &[slice::Slice] = &[timings::SLICE, powercut::SLICE, http::SLICE, limit::SLICE];

/// A study as its published figures say, and as `--full` runs it.
fn parts(source: &Source, variant: Variant) -> Vec<Study> {
    let whole = resolve_parts(source, &Choices::new(variant, Extent::Full));
    whole.unwrap_or_else(|error| panic!("{}: {error}", source.name)).studies
}

/// Whether anybody published figures of it; without them a study has tables of corrected figures only.
fn has_published(source: &Source) -> bool {
    let study: Table = source.text.parse().expect("TOML");
    let parts = study.get("part").and_then(Value::as_table).into_iter().flat_map(Table::values);
    parts.filter_map(Value::as_table).chain([&study]).any(|part| part.contains_key("published"))
}

/// Name of the corrected variant for a published name.
fn renamed<'n>(rule: Option<&'n Value>, what: &str, name: &'n str) -> &'n str {
    let new = rule.and_then(|rule| rule.get(what)?.get(name));
    new.map_or(name, |new| new.as_str().expect("a name"))
}

/// What a run of the part would have no figure for.
fn missing(study: &Study, wanted: &Published, rule: Option<&Value>, columns: &Value) -> Option<String> {
    let condition = renamed(rule, "conditions", &wanted.condition);
    let contender = renamed(rule, "contenders", &wanted.contender);
    let metric = renamed(rule, "metrics", &wanted.metric);
    let column = columns.get(metric).map_or(metric, |column| column[0].as_str().expect("a name"));
    let is_condition = |label: &str| label == condition || label.is_empty() && condition == "default";
    if !study.conditions.iter().any(|c| is_condition(&c.label)) {
        let labels: Vec<&String> = study.conditions.iter().map(|c| &c.label).collect();
        return Some(format!("condition {condition:?}, there are {labels:?}"));
    }
    if !study.contenders.iter().any(|c| c.label == contender) {
        let labels: Vec<&String> = study.contenders.iter().map(|c| &c.label).collect();
        return Some(format!("contender {contender:?}, there are {labels:?}"));
    }
    (!metric::exists(&study.metrics, column)).then(|| format!("metric {column:?}"))
}

/// Cells of a table without published figures.
fn cells(table: &Value) -> Vec<Published> {
    let names =
        |key: &str| table[key].as_array().expect("a list").iter().map(|n| n.as_str().expect("a name").to_string());
    let mut cells = vec![];
    for condition in names("conditions") {
        for contender in names("contenders") {
            let cell =
                |metric| Published { condition: condition.clone(), contender: contender.clone(), metric, value: 0.0 };
            cells.extend(names("metrics").map(cell));
        }
    }
    cells
}

#[test]
fn what_stands_next_to_a_published_figure_exists() {
    slice::register(SLICES);
    let rules: Table =
        fs::read_to_string(root().join("scripts/results.toml")).expect("readable").parse().expect("TOML");
    let (mut problems, mut figures) = (vec![], 0);
    for (name, rules_of) in rules.iter().filter(|(name, _)| *name != "columns") {
        let source = LIBRARY.find(name).expect("a study");
        let corrected = parts(&source, Variant::Corrected);
        let published = if has_published(&source) { parts(&source, Variant::AsPublished) } else { vec![] };
        for study in published {
            let rule = study.part.as_ref().and_then(|part| rules_of.get("part")?.get(part));
            let to = rule.and_then(|rule| rule.get("to")?.as_str()).map(str::to_string).or_else(|| study.part.clone());
            let beside =
                corrected.iter().find(|other| other.part == to).unwrap_or_else(|| panic!("{name}: no part {to:?}"));
            for wanted in &study.published {
                figures += 1;
                problems.extend(
                    missing(beside, wanted, rule, &rules["columns"]).map(|what| format!("{name}, {to:?}: no {what}")),
                );
            }
        }
    }
    for (name, rules_of) in rules.iter().filter(|(name, _)| *name != "columns") {
        let source = LIBRARY.find(name).expect("a study");
        let corrected = parts(&source, Variant::Corrected);
        let tables = rules_of.get("table").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for table in tables {
            let part = table["part"].as_str();
            let study = corrected.iter().find(|study| study.part.as_deref() == part).expect("the part of the table");
            for wanted in cells(table) {
                figures += 1;
                let what = missing(study, &wanted, None, &rules["columns"]);
                problems.extend(what.map(|what| format!("{name}, {part:?}: no {what}")));
            }
        }
    }
    problems.dedup();
    assert!(figures > 100 && problems.is_empty(), "{figures} figures; {}", problems.join("\n"));
}
