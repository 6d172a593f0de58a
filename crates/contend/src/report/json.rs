//! The numbers for a program: answers, estimates, comparisons and effects with their raw values, no formatting.

use crate::analysis::Summary;
use crate::analysis::trial::TrialRow;
use crate::report::content::evidence;
use serde_json::{Value, json};

/// The document behind `--json`, with a line end.
pub fn json(summary: &Summary<'_>) -> String {
    format!("{:#}\n", value(summary))
}

/// The document itself.
pub fn value(summary: &Summary<'_>) -> Value {
    let run = &summary.record.run;
    let invalid = summary.rows.iter().filter(|row| !row.is_valid());
    let damaged = summary.record.damaged.iter();
    json!({
        "format": 1,
        "study": run.study.name,
        "question": run.study.question,
        "variant": run.study.variant.word(),
        "complete": run.finished.is_some(),
        "answers": answers(summary),
        "estimates": estimates(summary),
        "comparisons": comparisons(summary),
        "effects": effects(summary),
        "trials": summary.record.trials.len(),
        "invalid": invalid.map(|row| of_invalid(summary, row)).collect::<Vec<_>>(),
        "damaged": damaged.map(|(trial, why)| json!({"trial": trial, "why": why})).collect::<Vec<_>>(),
    })
}

fn condition<'s>(summary: &'s Summary<'_>, index: usize) -> &'s str {
    &summary.record.run.study.conditions[index].label
}

fn contender<'s>(summary: &'s Summary<'_>, index: usize) -> &'s str {
    &summary.record.run.study.contenders[index].name
}

/// A trial that does not count, also where only its samples show why.
fn of_invalid(summary: &Summary<'_>, row: &TrialRow) -> Value {
    json!({"trial": row.number, "contender": contender(summary, row.contender), "reasons": row.reasons})
}

fn answers(summary: &Summary<'_>) -> Vec<Value> {
    summary
        .answers
        .iter()
        .map(|a| {
            json!({
                "ask": a.ask,
                "condition": a.condition.map(|c| condition(summary, c)),
                "answer": a.text,
                "comparison": a.compared.as_ref().map(|c| &c.comparison),
            })
        })
        .collect()
}

/// The compared figures of every cell.
fn estimates(summary: &Summary<'_>) -> Vec<Value> {
    let figures = summary.compared_figures();
    let of_cell = |cell| {
        figures.iter().map(move |figure| {
            let e = summary.estimator().estimate(cell, figure);
            json!({
                "condition": condition(summary, cell.condition),
                "contender": contender(summary, cell.contender),
                "tier": summary.record.run.study.contenders[cell.contender].tier.word(),
                "tier_known": evidence::plain(summary, cell.contender).0,
                "figure": figure.name,
                "value": e.value,
                "low": e.low,
                "high": e.high,
                "at_least": e.at_least,
                "rounds": e.rounds.iter().map(|(_, value)| *value).collect::<Vec<_>>(),
            })
        })
    };
    summary.cells.iter().flat_map(of_cell).collect()
}

fn comparisons(summary: &Summary<'_>) -> Vec<Value> {
    summary
        .comparisons
        .iter()
        .map(|c| {
            json!({
                "condition": condition(summary, c.condition),
                "baseline": contender(summary, c.baseline),
                "candidate": contender(summary, c.candidate),
                "figure": c.figure.name,
                "comparison": c.comparison,
            })
        })
        .collect()
}

fn effects(summary: &Summary<'_>) -> Vec<Value> {
    summary
        .effects
        .iter()
        .map(|e| {
            let (effect, lacking) = match &e.result {
                Ok(effect) => (Some(effect), None),
                Err(why) => (None, Some(why)),
            };
            json!({
                "about": e.about,
                "condition": condition(summary, e.condition),
                "figure": e.figure.as_ref().map(|f| &f.name),
                "crosses_tiers": e.crosses_tiers,
                "effect": effect,
                "lacking": lacking,
            })
        })
        .collect()
}
