//! `contend list`: prints the tables by which contend runs.

use super::{OK, paragraph, print, print_plain};
use crate::analysis::metric::table::{Row, TABLE as METRICS};
use crate::engine::{COMMON_SETTINGS, Driver, ENGINES, Setting, Values};
use crate::outcome::explain::Subject;
use crate::outcome::{Code, TABLE};
use crate::stats::precision::counted;
use crate::study::model::{Extent, Study, Variant, Whole};
use crate::study::{self, Choices};
use crate::trial::secret;
use crate::trial::server::private::Programs;
use crate::trial::workers::process::Launch;
use crate::workload::{self, scenario};
use anyhow::Result;
use clap::Parser;
use clap::ValueEnum;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// List workloads, studies, scenarios, engines, drivers and outcomes
#[derive(Parser)]
pub(super) struct ListArgs {
    /// What to list in full [default: everything, one line for each]
    #[arg(value_enum)]
    what: Option<What>,
    /// Only items with this in their name or text
    #[arg(requires = "what")]
    pattern: Option<String>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum What {
    /// Workloads: tables, transactions, mixes
    Workloads,
    /// Studies and their parts
    Studies,
    /// Scenarios for contend http
    Scenarios,
    /// Engines and their settings
    Engines,
    /// Drivers and their models
    Drivers,
    /// Error codes and the outcome of each
    Outcomes,
    /// What can be measured, and named in the formulas of a study
    Metrics,
}

pub(super) fn list(args: &ListArgs) -> Result<u8> {
    let Some(what) = args.what else { return everything(args.json) };
    let mut rows = rows(what)?;
    if let Some(pattern) = &args.pattern {
        let pattern = pattern.to_lowercase();
        rows.retain(|row| mentions(row, &pattern));
        anyhow::ensure!(!rows.is_empty(), "no entry of this list contains `{pattern}`");
    }
    match args.json {
        true => print(&(serde_json::to_string_pretty(&rows)? + "\n"))?,
        false => print_plain(&as_text(&rows))?,
    }
    Ok(OK)
}

/// Whether a text in an entry contains this one in lower case.
fn mentions(entry: &Value, pattern: &str) -> bool {
    match entry {
        Value::Array(all) => all.iter().any(|one| mentions(one, pattern)),
        Value::Object(all) => all.values().any(|one| mentions(one, pattern)),
        Value::String(text) => text.to_lowercase().contains(pattern),
        other => other.to_string().contains(pattern),
    }
}

fn rows(what: What) -> Result<Vec<Value>> {
    Ok(match what {
        What::Workloads => workloads()?,
        What::Studies => studies()?,
        What::Scenarios => scenarios()?,
        What::Engines => engines(),
        What::Drivers => drivers(),
        What::Outcomes => outcomes(),
        What::Metrics => metrics(),
    })
}

/// Every list, a line for each item.
fn everything(as_json: bool) -> Result<u8> {
    let mut text = String::new();
    let mut all = serde_json::Map::new();
    for what in What::value_variants() {
        let name = what.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default();
        let rows = rows(*what)?;
        let _ = writeln!(text, "{name}");
        text += &columns(&rows, "  ");
        all.insert(name, Value::Array(rows));
    }
    let _ = writeln!(text, "\n`contend list studies` and the like say more.");
    match as_json {
        true => print(&(serde_json::to_string_pretty(&all)? + "\n"))?,
        false => print_plain(&text)?,
    }
    Ok(OK)
}

/// One item: a name, a sentence, and lines of detail.
fn item(name: &str, about: &str, details: Vec<(String, String)>) -> Value {
    let details: Vec<Value> = details.into_iter().map(|(name, about)| json!({"name": name, "about": about})).collect();
    json!({"name": name, "about": about, "details": details})
}

fn as_text(rows: &[Value]) -> String {
    let mut out = String::new();
    for row in rows {
        let _ = writeln!(out, "{}", text(row, "name"));
        out += &paragraph(text(row, "about"), ["    ", "    "]);
        out += &columns(row["details"].as_array().map_or(&[], Vec::as_slice), "      ");
    }
    out
}

/// Names and what they are, in two columns.
fn columns(rows: &[Value], indent: &str) -> String {
    let width = rows.iter().map(|row| text(row, "name").chars().count()).max().unwrap_or(0);
    let further = " ".repeat(indent.len() + width + 2);
    let line = |row| paragraph(text(row, "about"), [&format!("{indent}{:width$}  ", text(row, "name")), &further]);
    rows.iter().map(line).collect()
}

fn text<'v>(row: &'v Value, key: &str) -> &'v str {
    row[key].as_str().unwrap_or_default()
}

fn metrics() -> Vec<Value> {
    let row = |row: &Row| {
        let details = [("unit", row.unit.word()), ("better", row.better_word()), ("after a dot", row.dot.words())];
        let details = details.into_iter().chain([("of several rounds", row.over_rounds().words())]);
        let details = details.filter(|(_, text)| !text.is_empty());
        item(&row.name, &row.label, details.map(|(name, text)| (name.to_string(), text.to_string())).collect())
    };
    METRICS.iter().map(row).collect()
}

fn workloads() -> Result<Vec<Value>> {
    let mut rows = vec![];
    for source in workload::LIBRARY.sources() {
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

fn scenarios() -> Result<Vec<Value>> {
    let mut rows = vec![];
    for written in scenario::LIBRARY.sources() {
        let w = workload::parse(&scenario::filled_in(&written, &[])?)?;
        let mut details = vec![
            ("transactions".to_string(), w.transactions.iter().map(|t| t.name.as_str()).collect::<Vec<_>>().join(", ")),
            ("modes".to_string(), w.profiles.keys().cloned().collect::<Vec<_>>().join(", ")),
        ];
        let variables = scenario::variables(&written)?;
        details.extend(
            variables.iter().map(|(name, value)| (format!("--set {name}="), format!("variable, `{value}` by itself"))),
        );
        let of_secret = |name: &str| (format!("--set {name}="), format!("secret, or in {}", secret::variable(name)));
        details.extend(w.secrets.names().map(of_secret));
        rows.push(item(&w.name, &w.about, details));
    }
    Ok(rows)
}

fn studies() -> Result<Vec<Value>> {
    let mut rows = vec![];
    for source in study::LIBRARY.sources() {
        let in_run = |variant, extent| study::resolve_parts(&source, &Choices::new(variant, extent));
        let full = in_run(Variant::Corrected, Extent::Full)?;
        let quick = in_run(Variant::Corrected, Extent::Quick)?;
        // Not every study has an original.
        let published = in_run(Variant::AsPublished, Extent::Full).ok();
        let runs = [("full", Some(&full)), ("quick", Some(&quick)), ("as-published", published.as_ref())];
        let mut details = vec![];
        if full.has_parts() || quick.has_parts() {
            details.extend(parts(&runs));
        } else if let [only] = full.studies.as_slice() {
            let labels: Vec<&str> = only.contenders.iter().map(|c| c.label.as_str()).collect();
            details.push(("workload".into(), only.workload.clone()));
            details.push(("contenders".into(), labels.join("; ")));
            details.push(("full".into(), cells(only)));
            details.extend(quick.studies.iter().map(|quick| ("quick".into(), cells(quick))));
        }
        rows.push(item(&full.name, &full.question, details));
    }
    Ok(rows)
}

/// A line for each part, and one for its cells in each of its runs.
fn parts(runs: &[(&str, Option<&Whole>)]) -> Vec<(String, String)> {
    let mut named: Vec<&Study> = vec![];
    for part in runs.iter().flat_map(|(_, whole)| whole).flat_map(|whole| &whole.studies) {
        if named.iter().all(|have| have.part != part.part) {
            named.push(part);
        }
    }
    let of = |part: &&Study| {
        let name = part.part.clone().unwrap_or_default();
        let mut lines = vec![(format!("part {name}"), format!("{} [workload {}]", part.about, part.workload))];
        for (run, whole) in runs {
            let here = whole.and_then(|whole| whole.studies.iter().find(|study| study.part == part.part));
            lines.extend(here.map(|study| (format!("  {run}"), cells(study))));
        }
        lines
    };
    named.iter().flat_map(of).collect()
}

fn cells(study: &Study) -> String {
    let Study { contenders, conditions, rounds, variant, .. } = study;
    let mark = if *variant == Variant::AsPublished { ", as published" } else { "" };
    let (contenders, conditions) = (counted(contenders.len(), "contender"), counted(conditions.len(), "condition"));
    format!("{contenders} x {conditions} x {}{mark}", counted(*rounds as usize, "round"))
}

fn engines() -> Vec<Value> {
    let own = ENGINES.iter().map(|e| {
        let here = e.server.map(|server| match Programs::find(server).and_then(|programs| programs.version(server)) {
            Ok(version) => ("(here)".to_string(), version),
            Err(e) => ("(missing)".to_string(), format!("{e:#}")),
        });
        item(e.name, e.about, here.into_iter().chain(e.listed_settings().map(setting)).collect())
    });
    let common = item("(every engine)", "settings of the harness", COMMON_SETTINGS.iter().map(setting).collect());
    own.chain([common]).collect()
}

fn setting(setting: &Setting) -> (String, String) {
    let values = match setting.values {
        Values::Words(words) => words.join(" | "),
        Values::Integer(low, high) => format!("{low} to {high}"),
        Values::Text => "text".to_string(),
        Values::Address(_) => "http://HOST:PORT".to_string(),
    };
    (setting.name.to_string(), format!("{} [{values}; default {}]", setting.about, setting.default))
}

fn drivers() -> Vec<Value> {
    let of = |engine: &'static crate::engine::Engine| {
        engine.drivers().map(|d| {
            let mut details = vec![
                ("language".to_string(), d.language.to_string()),
                ("models".to_string(), d.model_names().join(", ")),
            ];
            details.extend(d.facts.iter().map(|(name, value)| (name.to_string(), value.to_string())));
            details.push(("worker".to_string(), worker(d)));
            item(&format!("{}/{}", engine.name, d.name), d.about, details)
        })
    };
    ENGINES.iter().flat_map(|e| of(e)).collect()
}

/// Where the worker of a driver is, or how to build it.
fn worker(driver: &Driver) -> String {
    match (&driver.program, Launch::of(driver)) {
        (None, _) => "built in".to_string(),
        (Some(_), Ok(launch)) => launch.typed(),
        (Some(program), Err(_)) if program.build.is_empty() => format!("not there: {}", program.name),
        (Some(program), Err(_)) => format!("not built; `{}` in the project's directory builds it", program.build),
    }
}

/// It includes the messages of drivers, so that a pattern finds them.
fn explained(row: &Code) -> String {
    let found = Subject::Code(row.space, row.code).explanation();
    found.map_or(String::new(), |one| match &one.texts[..] {
        [] => one.happened.clone(),
        texts => format!("{} Drivers print: {}", one.happened, texts.join("; ")),
    })
}

fn outcomes() -> Vec<Value> {
    TABLE
        .iter()
        .map(|row| {
            let certain = if row.definite { "it left nothing behind" } else { "it may or may not have happened" };
            let again = if row.again { "can help" } else { "does not help" };
            let code = row.space.shown(row.code);
            item(
                &format!("{} {code} {}", row.space.word(), row.name),
                row.meaning,
                vec![
                    ("outcome".into(), row.outcome.word().to_string()),
                    ("certain".into(), certain.to_string()),
                    ("trying again".into(), again.to_string()),
                    ("explained".into(), explained(row)),
                ],
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_about_what_is_shown() {
        let found = |pattern| engines().iter().filter(|engine| mentions(engine, pattern)).count();
        assert_eq!((found("details"), found("synchronous_commit")), (0, 1));
    }
}
