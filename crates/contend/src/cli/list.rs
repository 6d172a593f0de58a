//! `contend list`: what this contend knows, from the same tables it runs by.

use super::{ListArgs, OK, print};
use crate::engine::{COMMON_SETTINGS, ENGINES, Setting, Values};
use crate::outcome::TABLE;
use crate::study::model::{Extent, Variant};
use crate::study::{self, Choices};
use crate::workload;
use anyhow::Result;
use clap::ValueEnum;
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum What {
    /// What can be done: tables, transactions, mixes
    Workloads,
    /// What can be asked
    Studies,
    /// Databases, with their settings
    Engines,
    /// Client libraries and models
    Drivers,
    /// Error codes and what they mean for an operation
    Outcomes,
}

pub(super) fn list(args: &ListArgs) -> Result<u8> {
    let rows = match args.what {
        What::Workloads => workloads()?,
        What::Studies => studies()?,
        What::Engines => engines(),
        What::Drivers => drivers(),
        What::Outcomes => outcomes(),
    };
    let text = if args.json { serde_json::to_string_pretty(&rows)? + "\n" } else { as_text(&rows) };
    print(&text)?;
    Ok(OK)
}

/// One item: a name, a sentence, and lines of detail.
fn item(name: &str, about: &str, details: Vec<(String, String)>) -> Value {
    let details: Vec<Value> = details.into_iter().map(|(name, about)| json!({"name": name, "about": about})).collect();
    json!({"name": name, "about": about, "details": details})
}

fn as_text(rows: &[Value]) -> String {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_string();
    let mut out = String::new();
    for row in rows {
        let _ = writeln!(out, "{}\n    {}", text(row, "name"), text(row, "about"));
        let details = row["details"].as_array().cloned().unwrap_or_default();
        let width = details.iter().map(|d| text(d, "name").chars().count()).max().unwrap_or(0);
        for detail in &details {
            let _ = writeln!(out, "      {:width$}  {}", text(detail, "name"), text(detail, "about"));
        }
    }
    out
}

fn workloads() -> Result<Vec<Value>> {
    let mut rows = vec![];
    for source in workload::builtin_names().into_iter().filter_map(workload::builtin) {
        let w = workload::parse(&source)?;
        let names = |list: Vec<String>| list.join(", ");
        let counts = w.rows(1.0).iter().map(|(table, rows)| format!("{table} {rows}")).collect();
        rows.push(item(
            &w.name,
            &w.about,
            vec![
                ("transactions".into(), names(w.transactions.iter().map(|t| t.name.clone()).collect())),
                ("profiles".into(), names(w.profiles.keys().cloned().collect())),
                ("rows".into(), names(counts)),
            ],
        ));
    }
    Ok(rows)
}

fn studies() -> Result<Vec<Value>> {
    let mut rows = vec![];
    for source in study::builtin_names().filter_map(study::builtin) {
        let full = study::resolve(&source, &Choices::new(Variant::Corrected, Extent::Full))?;
        let quick = study::resolve(&source, &Choices::new(Variant::Corrected, Extent::Quick))?;
        let labels: Vec<&str> = full.contenders.iter().map(|c| c.label.as_str()).collect();
        let cells = |s: &crate::study::model::Study| {
            format!("{} contenders x {} conditions x {} rounds", s.contenders.len(), s.conditions.len(), s.rounds)
        };
        rows.push(item(
            &full.name,
            &full.question,
            vec![
                ("workload".into(), full.workload.clone()),
                ("contenders".into(), labels.join("; ")),
                ("full".into(), cells(&full)),
                ("quick".into(), cells(&quick)),
            ],
        ));
    }
    Ok(rows)
}

fn engines() -> Vec<Value> {
    let own = ENGINES.iter().map(|e| item(e.name, e.about, e.settings.iter().map(setting).collect()));
    let common = item("(every engine)", "settings of the harness", COMMON_SETTINGS.iter().map(setting).collect());
    own.chain([common]).collect()
}

fn setting(setting: &Setting) -> (String, String) {
    let values = match setting.values {
        Values::Words(words) => words.join(" | "),
        Values::Integer(low, high) => format!("{low} to {high}"),
    };
    (setting.name.to_string(), format!("{} [{values}; default {}]", setting.about, setting.default))
}

fn drivers() -> Vec<Value> {
    let of = |engine: &'static crate::engine::Engine| {
        engine.drivers.iter().map(|d| {
            let details =
                vec![("language".to_string(), d.language.to_string()), ("models".to_string(), d.models.join(", "))];
            item(&format!("{}/{}", engine.name, d.name), d.about, details)
        })
    };
    ENGINES.iter().flat_map(|e| of(e)).collect()
}

fn outcomes() -> Vec<Value> {
    TABLE
        .iter()
        .map(|row| {
            let certain = if row.definite { "it left nothing behind" } else { "nobody can tell whether it happened" };
            let again = if row.again { "can help" } else { "does not help" };
            item(
                &format!("{} {} {}", row.space.word(), row.code, row.name),
                row.meaning,
                vec![
                    ("outcome".into(), row.outcome.word().to_string()),
                    ("certain".into(), certain.to_string()),
                    ("trying again".into(), again.to_string()),
                ],
            )
        })
        .collect()
}
