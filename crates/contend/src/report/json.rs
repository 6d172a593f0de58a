//! The numbers as JSON: answers, estimates, comparisons and effects with raw values.

use crate::analysis::Findings;
use crate::analysis::estimate::Lacking;
use crate::analysis::reported::{self, RanAgain};
use crate::analysis::trial::TrialRow;
use crate::report::content::{evidence, words};
use serde_json::{Value, json};

/// The document behind `--json`, with a line end.
pub fn json(findings: &Findings<'_>) -> String {
    format!("{:#}\n", value(findings))
}

/// The document itself.
pub fn value(findings: &Findings<'_>) -> Value {
    let invalid = findings.rows.iter().filter(|row| !row.is_valid());
    let marked = findings.rows.iter().filter(|row| row.is_valid() && !row.marks().is_empty());
    let damaged = findings.damaged.iter();
    json!({
        "format": 1,
        "study": findings.study.name,
        "question": findings.study.question,
        "variant": findings.study.variant.word(),
        "not_sealed": reported::not_sealed(findings),
        "complete": findings.circumstances.finished.is_some(),
        "answers": answers(findings),
        "estimates": estimates(findings),
        "comparisons": comparisons(findings),
        "effects": effects(findings),
        "trials": findings.trial_count(),
        "missing": reported::missing(findings),
        "marked": marked.map(|row| of_marked(findings, row)).collect::<Vec<_>>(),
        "invalid": invalid.map(|row| of_invalid(findings, row)).collect::<Vec<_>>(),
        "again": reported::ran_again(findings).iter().map(|trial| of_again(findings, trial)).collect::<Vec<_>>(),
        "damaged": damaged.map(|(trial, why)| json!({"trial": trial, "why": why})).collect::<Vec<_>>(),
    })
}

fn condition<'s>(findings: &'s Findings<'_>, index: usize) -> &'s str {
    &findings.study.conditions[index].label
}

fn contender<'s>(findings: &'s Findings<'_>, index: usize) -> &'s str {
    &findings.study.contenders[index].name
}

/// An invalid trial with its reasons, including those found only in its samples.
fn of_invalid(findings: &Findings<'_>, row: &TrialRow) -> Value {
    json!({"trial": row.number, "contender": contender(findings, row.contender), "reasons": row.reasons})
}

/// A trial that counts, with its marks.
fn of_marked(findings: &Findings<'_>, row: &TrialRow) -> Value {
    json!({"trial": row.number, "round": row.round, "contender": contender(findings, row.contender),
        "condition": condition(findings, row.condition), "marks": row.marks()})
}

/// A trial that was disturbed, or in a round with one that was, and ran again.
fn of_again(findings: &Findings<'_>, trial: &RanAgain<'_>) -> Value {
    let slot = trial.slot;
    json!({"trial": slot.trial, "round": slot.round, "contender": contender(findings, slot.contender),
        "condition": condition(findings, slot.condition), "marks": trial.marks})
}

fn answers(findings: &Findings<'_>) -> Vec<Value> {
    findings
        .answers
        .iter()
        .map(|a| {
            json!({
                "ask": a.ask,
                "condition": a.condition.map(|c| condition(findings, c)),
                "answer": words::answer(a),
                "comparison": a.compared().map(|c| &c.comparison),
            })
        })
        .collect()
}

/// The compared metrics of every cell.
fn estimates(findings: &Findings<'_>) -> Vec<Value> {
    let metrics = findings.compared_metrics();
    let of_cell = |cell| {
        metrics.iter().map(move |metric| {
            let e = findings.estimator().estimate(cell, metric);
            json!({
                "condition": condition(findings, cell.condition),
                "contender": contender(findings, cell.contender),
                "tier": findings.study.contenders[cell.contender].tier.word(),
                "tier_known": evidence::plain(findings, cell.contender).0,
                "figure": metric.name,
                "value": e.value,
                "low": e.low,
                "high": e.high,
                "at_least": e.at_least,
                "few": e.few,
                "lacking": e.lacking.map(lacking),
                "rounds": e.rounds.iter().map(|(_, value)| *value).collect::<Vec<_>>(),
            })
        })
    };
    findings.cells.iter().flat_map(of_cell).collect()
}

/// Why a value is missing, as a word.
fn lacking(lacking: Lacking) -> &'static str {
    match lacking {
        Lacking::NothingMeasured => "nothing-measured",
        Lacking::TooFew { .. } => "too-few",
        Lacking::CutOff => "cut-off",
    }
}

fn comparisons(findings: &Findings<'_>) -> Vec<Value> {
    findings
        .comparisons
        .iter()
        .map(|c| {
            json!({
                "condition": condition(findings, c.condition),
                "baseline": contender(findings, c.baseline),
                "candidate": contender(findings, c.candidate),
                "figure": c.metric.name,
                "comparison": c.comparison,
            })
        })
        .collect()
}

fn effects(findings: &Findings<'_>) -> Vec<Value> {
    findings
        .effects
        .iter()
        .map(|e| {
            let (effect, lacking) = match &e.result {
                Ok(effect) => (Some(effect), None),
                Err(why) => (None, Some(why)),
            };
            json!({
                "about": e.about,
                "condition": condition(findings, e.condition),
                "figure": e.metric.as_ref().map(|f| &f.name),
                "crosses_tiers": e.crosses_tiers,
                "effect": effect,
                "lacking": lacking,
            })
        })
        .collect()
}
