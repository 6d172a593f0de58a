//! CSVs with columns chosen by a study: written from a record (`csv`), read back from ours or from the original's file
//! (`sheet`), and drawn (`page`).

pub mod page;
pub mod sheet;

use crate::analysis::Findings;
use crate::analysis::cell::Cell;
use crate::analysis::formula::Formula;
use crate::analysis::metric::Metric;
use crate::analysis::metric::name::Name;
use crate::analysis::plain::{Column, Export, ExportRows, Holds};
use crate::analysis::trial::TrialRow;
use crate::report::csv::Sheet;
use crate::report::export::sheet::named;
use anyhow::Result;

/// The export as CSV. It holds valid trials only; a missing value is an empty cell.
pub fn csv(findings: &Findings<'_>, export: &Export) -> Result<String> {
    let mut sheet = Sheet::empty();
    sheet.row(export.columns.iter().map(|column| column.name.clone()))?;
    match export.rows {
        ExportRows::Trial => {
            for row in findings.rows.iter().filter(|row| row.is_valid()) {
                let value = |name: &str| of_trial(findings, row, name);
                sheet.row(export.columns.iter().map(|column| cell(findings, column, row.contender, &value)))?;
            }
        }
        ExportRows::Cell => {
            for pooled in findings.cells.iter().filter(|cell| cell.has_data()) {
                let value = |name: &str| of_cell(findings, pooled, name);
                sheet.row(export.columns.iter().map(|column| cell(findings, column, pooled.contender, &value)))?;
            }
        }
    }
    sheet.finish()
}

fn cell(findings: &Findings<'_>, column: &Column, contender: usize, value: &dyn Fn(&str) -> Option<f64>) -> String {
    match &column.holds {
        Holds::Contender { contender: names } => named(names, &findings.study.contenders[contender].label).to_string(),
        Holds::Value { value: formula, decimals } => {
            let found = Formula::parse(formula).ok().and_then(|formula| formula.value(value));
            match (found, decimals) {
                (None, _) => String::new(),
                (Some(found), Some(decimals)) => format!("{found:.*}", usize::from(*decimals)),
                (Some(found), None) => found.to_string(),
            }
        }
    }
}

/// A metric of the table, or one of the study's own metrics.
fn of_trial(findings: &Findings<'_>, row: &TrialRow<'_>, name: &str) -> Option<f64> {
    match own(findings, name) {
        Some(metric) => metric.of_trial(row, &findings.transactions),
        None => Name::read(name).ok()?.of_trial(name, row, &findings.transactions),
    }
}

fn of_cell(findings: &Findings<'_>, cell: &Cell, name: &str) -> Option<f64> {
    match own(findings, name) {
        Some(metric) => findings.estimator().value(cell, &metric),
        None => findings.estimator().named(name, cell),
    }
}

fn own(findings: &Findings<'_>, name: &str) -> Option<Metric> {
    let is_own = findings.study.metrics.iter().any(|own| own.name == name);
    is_own.then(|| findings.metric(name)).flatten()
}

#[cfg(test)]
mod tests;
