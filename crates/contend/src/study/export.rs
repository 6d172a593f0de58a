//! The `[[export]]` tables of a study file: further CSVs of the report with columns chosen by the study, such as those
//! of the original. Such CSVs can be read back.

use super::edition::Problem;
use super::file::{self, File};
use super::model::{Column, Export, Holds, OwnMetric};
use super::questions::Reach;
use crate::analysis::metric::name::{self, KnownNames};
use std::collections::BTreeSet;

const DECIMALS_MAX: u8 = 9;

pub(super) fn read(file: &File, reach: &Reach) -> Result<Vec<Export>, Problem> {
    let mut exports: Vec<Export> = Vec::new();
    for (index, written) in file.export.iter().enumerate() {
        let index = index.to_string();
        let wrong = |path: &[&str], message: String| Problem::at(&["export", &index], path, message);
        Export::check_file(&written.file).map_err(|message| wrong(&["file"], message))?;
        if exports.iter().any(|other| other.file == written.file) {
            return Err(wrong(&["file"], format!("there is already an export `{}`", written.file)));
        }
        if written.columns.is_empty() {
            return Err(wrong(&["columns"], "must have at least one column".to_string()));
        }
        let mut names = BTreeSet::new();
        let mut columns = Vec::new();
        for (position, column) in written.columns.iter().enumerate() {
            let position = position.to_string();
            let wrong = |(key, message): (&str, String)| match key {
                "" => wrong(&["columns", &position], message),
                key => wrong(&["columns", &position, key], message),
            };
            if column.name.trim().is_empty() || !names.insert(&column.name) {
                return Err(wrong(("name", "must not be empty, nor given twice".to_string())));
            }
            columns.push(Column { name: column.name.clone(), holds: holds(column, reach).map_err(wrong)? });
        }
        if columns.iter().filter(|column| matches!(column.holds, Holds::Contender { .. })).count() > 1 {
            return Err(wrong(&["columns"], "has two columns for the contender".to_string()));
        }
        exports.push(Export { file: written.file.clone(), rows: written.rows, columns });
    }
    Ok(exports)
}

/// What a column holds; the error has the key at fault.
fn holds<'c>(column: &'c file::Column, reach: &Reach) -> Result<Holds, (&'c str, String)> {
    match (&column.contender, &column.value) {
        (Some(names), None) => {
            if column.decimals.is_some() {
                return Err(("decimals", "a name has none".to_string()));
            }
            let mut texts = BTreeSet::new();
            for (label, text) in names {
                reach.check_contender(label).map_err(|message| ("contender", message))?;
                if text.trim().is_empty() || text.contains([',', '"', '\n']) {
                    return Err(("contender", format!("`{text}` must be a text without commas and quotes")));
                }
                if !texts.insert(text) {
                    return Err(("contender", format!("`{text}` would be the name of two contenders")));
                }
            }
            Ok(Holds::Contender { contender: names.clone() })
        }
        (None, Some(value)) => {
            name::read(value).map_err(|message| ("value", message))?;
            if column.decimals.is_some_and(|decimals| decimals > DECIMALS_MAX) {
                return Err(("decimals", format!("must be {DECIMALS_MAX} or less")));
            }
            Ok(Holds::Value { value: value.clone(), decimals: column.decimals })
        }
        _ => Err(("", format!("column `{}` needs either `contender` or `value`", column.name))),
    }
}

/// Checks the names in formulas, including the study's own metrics.
///
/// # Errors
/// The path of the key in the file, and what is wrong there.
pub(super) fn check(
    exports: &[Export],
    metrics: &[OwnMetric],
    known: &KnownNames,
) -> Result<(), (Vec<String>, String)> {
    let known = KnownNames {
        transactions: known.transactions,
        scale: known.scale,
        tables: known.tables,
        settings: known.settings.clone(),
        metrics: metrics.iter().map(|metric| metric.name.as_str()).collect(),
    };
    for (index, export) in exports.iter().enumerate() {
        for (position, column) in export.columns.iter().enumerate() {
            if let Holds::Value { value, .. } = &column.holds {
                let path = ["export", &index.to_string(), "columns", &position.to_string(), "value"];
                name::check(value, &known).map_err(|message| (path.map(str::to_string).to_vec(), message))?;
            }
        }
    }
    Ok(())
}
