//! The numbers as CSV: one row per trial, per transaction of a trial, per quantile. Integers have their unit in the
//! name; a value that was not measured is an empty cell, never 0.
//!
//! Quantiles of a single trial are given for any number of operations; `latencies.csv` has that number next to them. A
//! quantile that timeouts or cut-off operations reach into is only a lower bound and is empty in `trials.csv`.
//! `latencies.csv` has response times by outcome; those of `timeout` and `unknown` are lower bounds.

use crate::analysis::Findings;
use crate::analysis::metric::table::{COLUMNS, Part, Row, TABLE};
use crate::analysis::tally::Counts;
use crate::analysis::trial::{GroupRow, Measure, Numbers, Scope, TrialRow};
use crate::outcome::Outcome;
use crate::report::content::evidence;
use crate::report::files::one_line;
use crate::stats::quantile::Quantile;
use crate::stats::unit::Unit;
use anyhow::{Context, Result};
use std::collections::BTreeSet;

/// `trials.csv`.
pub fn trials(findings: &Findings<'_>) -> Result<String> {
    let axes: BTreeSet<&String> = findings.study.conditions.iter().flat_map(|c| c.axes.keys()).collect();
    let mut sheet = Sheet::empty();
    sheet.row(trial_head(findings, &axes))?;
    for row in &findings.rows {
        sheet.row(trial_cells(findings, row, &axes))?;
    }
    sheet.finish()
}

fn trial_head(findings: &Findings<'_>, axes: &BTreeSet<&String>) -> Vec<String> {
    let [of_contender, of_trial] = COLUMNS.map(|names| names.split(' ').map(str::to_string));
    let mut head: Vec<String> = of_contender.collect();
    head.extend(axes.iter().map(|name| format!("axis_{name}")));
    head.extend(of_trial);
    head.extend(listed().map(|row| row.name.clone()));
    head.extend(findings.study.metrics.iter().map(|m| m.name.clone()));
    head
}

fn trial_cells(findings: &Findings<'_>, row: &TrialRow<'_>, axes: &BTreeSet<&String>) -> Vec<String> {
    let study = &findings.study;
    let (contender, condition) = (&study.contenders[row.contender], &study.conditions[row.condition]);
    let (known, power_cuts) = evidence::plain(findings, row.contender);
    let mut cells = vec![
        study.name.clone(),
        study.variant.word().to_string(),
        row.number.to_string(),
        condition.profile.clone().unwrap_or_default(),
        contender.name.clone(),
        contender.engine.clone(),
        contender.tier.word().to_string(),
        contender.driver.clone(),
        contender.model.clone(),
        known.to_string(),
        optional(power_cuts),
        row.load_model().to_string(),
        row.clients().to_string(),
    ];
    cells.extend(axes.iter().map(|name| condition.axes.get(*name).cloned().unwrap_or_default()));
    cells.push(row.round.to_string());
    cells.push(row.is_valid().to_string());
    cells.push(
        row.reasons.iter().map(|r| one_line(&format!("{}: {}", r.kind, r.detail))).collect::<Vec<_>>().join("; "),
    );
    cells.push(row.marks().iter().map(|mark| one_line(&mark.to_string())).collect::<Vec<_>>().join("; "));
    cells.push(optional(row.measured.as_ref().map(|measured| measured.elapsed_ns)));
    cells.extend(listed().map(|metric| {
        let value = metric.of_trial(Part::Kind(Scope::All), row, &findings.transactions);
        let decimals = if metric.unit == Unit::PerSecond { 3 } else { 0 };
        value.map_or(String::new(), |value| format!("{value:.decimals$}"))
    }));
    for own in &study.metrics {
        let value = findings.metric(&own.name).and_then(|metric| metric.of_trial(row, &findings.transactions));
        cells.push(value.map_or(String::new(), |v| v.to_string()));
    }
    cells
}

/// Metrics with a column.
fn listed() -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(|row| row.in_csv)
}

/// `transactions.csv`.
pub fn transactions(findings: &Findings<'_>) -> Result<String> {
    let mut head: Vec<String> =
        ["trial", "contender", "condition", "tier", "round", "valid", "role", "transaction", "kind", "attempts"]
            .map(str::to_string)
            .to_vec();
    head.extend(Outcome::ALL.map(|o| o.word().to_string()));
    head.extend(["errors", "rows"].map(str::to_string));
    for measure in [Measure::Response, Measure::Service] {
        head.push(format!("{}_mean", measure.column()));
        head.extend(Quantile::ALL.map(|q| format!("{}_{}", measure.column(), q.column())));
    }
    let mut sheet = Sheet::empty();
    sheet.row(head)?;
    for row in &findings.rows {
        for group in row.measured.iter().flat_map(|m| &m.groups) {
            sheet.row(transaction_cells(findings, row, group))?;
        }
    }
    sheet.finish()
}

fn transaction_cells(findings: &Findings<'_>, row: &TrialRow<'_>, group: &GroupRow) -> Vec<String> {
    let study = &findings.study;
    let mut cells = vec![
        row.number.to_string(),
        study.contenders[row.contender].name.clone(),
        study.conditions[row.condition].label.clone(),
        study.contenders[row.contender].tier.word().to_string(),
        row.round.to_string(),
        row.is_valid().to_string(),
        group.role.clone(),
        transaction_name(findings, group),
        if group.write { "write" } else { "read" }.to_string(),
        group.counts.attempts.to_string(),
    ];
    cells.extend(Outcome::ALL.map(|o| group.counts.outcome(o).to_string()));
    cells.push(errors(&group.counts));
    cells.push(group.counts.rows.to_string());
    for measure in [Measure::Response, Measure::Service] {
        let numbers = group.measures.numbers(measure);
        cells.push(optional(numbers.mean_ns));
        cells.extend(Quantile::ALL.map(|q| optional(numbers.quantile(q))));
    }
    cells
}

fn transaction_name(findings: &Findings<'_>, group: &GroupRow) -> String {
    let name = findings.transactions.get(usize::from(group.transaction)).cloned();
    name.unwrap_or_else(|| group.transaction.to_string())
}

/// `sqlite.517=3 sqlite.5=1`.
fn errors(counts: &Counts) -> String {
    let code = |((space, code), n): (&(contend_wire::sample::CodeSpace, u32), &u64)| {
        format!("{}.{}={n}", space.word(), space.shown(*code))
    };
    counts.codes.iter().map(code).collect::<Vec<_>>().join(" ")
}

/// `latencies.csv`.
pub fn latencies(findings: &Findings<'_>) -> Result<String> {
    let mut sheet = Sheet::empty();
    sheet.row(
        ["trial", "role", "transaction", "outcome", "measure", "count", "quantile", "value_ns"].map(str::to_string),
    )?;
    for row in &findings.rows {
        for group in row.measured.iter().flat_map(|m| &m.groups) {
            let responses = group.responses.iter().map(|(outcome, numbers)| (*outcome, Measure::Response, numbers));
            let service = [(Outcome::Committed, Measure::Service, &group.service_committed)];
            let waits = [Measure::LockWait, Measure::AcquireWait]
                .map(|measure| (Outcome::Committed, measure, group.measures.numbers(measure)));
            for (outcome, measure, numbers) in responses.chain(service).chain(waits) {
                for cells in quantile_rows(numbers) {
                    let mut all = vec![row.number.to_string(), group.role.clone(), transaction_name(findings, group)];
                    all.extend([outcome.word().to_string(), measure.column().trim_end_matches("_ns").to_string()]);
                    all.extend(cells);
                    sheet.row(all)?;
                }
            }
        }
    }
    sheet.finish()
}

/// Count, quantile and value of each quantile that has a value.
fn quantile_rows(numbers: &Numbers) -> impl Iterator<Item = [String; 3]> + '_ {
    let row = |q: Quantile| {
        let value = numbers.quantile(q)?;
        Some([numbers.n.to_string(), q.fraction().to_string(), value.to_string()])
    };
    Quantile::ALL.into_iter().filter_map(row)
}

fn optional(value: Option<u64>) -> String {
    value.map_or(String::new(), |v| v.to_string())
}

/// A CSV file being written.
pub struct Sheet(csv::Writer<Vec<u8>>);

impl Sheet {
    pub fn empty() -> Self {
        Self(csv::Writer::from_writer(vec![]))
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) -> Result<()> {
        self.0.write_record(cells).context("cannot write a row of CSV")
    }

    pub fn finish(self) -> Result<String> {
        let bytes = self.0.into_inner().context("cannot write CSV")?;
        String::from_utf8(bytes).context("CSV of text is text")
    }
}
