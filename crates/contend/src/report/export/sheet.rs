//! Reads a CSV in the columns of a study's export. Only its form is checked.

use crate::analysis::formula::Formula;
use crate::analysis::metric::name::Name;
use crate::analysis::metric::table::Of;
use crate::analysis::plain::{Export, Holds, Study};
use std::collections::{BTreeMap, BTreeSet};

/// Most rows of a page.
const ROWS_MAX: usize = 5_000;

/// Role of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Contender,
    /// A value that was set: an axis if it varies, else a circumstance.
    Set,
    /// A measured value.
    Metric,
}

/// The export's name for a contender. A contender from an axis has the value after a comma in its label; if this label
/// has no name, that of the part before the comma is used.
pub fn named<'n>(names: &'n BTreeMap<String, String>, label: &'n str) -> &'n str {
    let before_axes = || label.split(", ").next().and_then(|first| names.get(first));
    names.get(label).or_else(before_axes).map_or(label, String::as_str)
}

/// One row that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Name in the file.
    pub contender: String,
    /// By column of the export; `None` for empty cells and for the contender's column.
    pub values: Vec<Option<f64>>,
}

/// A file that was recognised.
#[derive(Debug, Clone)]
pub struct Sheet<'s> {
    pub study: &'s Study,
    pub export: &'s Export,
    pub roles: Vec<Role>,
    pub rows: Vec<Row>,
    /// Columns of the file that the export does not have.
    pub unused: Vec<String>,
}

impl<'s> Sheet<'s> {
    /// Reads `text`, the contents of `file`, as the export of one of these studies.
    ///
    /// # Errors
    /// File, line and column of the error, and the expected columns.
    pub fn read(file: &str, text: &str, studies: &'s [Study]) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim().is_empty() {
            return Err(format!("{file}: is empty"));
        }
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
        let head = reader.headers().map_err(|e| broken(file, &e))?.clone();
        let head: Vec<String> = head.iter().map(str::to_string).collect();
        if let Some(twice) = head.iter().enumerate().find(|(i, name)| head[..*i].contains(name)) {
            return Err(format!("{file}:1: column `{}` occurs twice", twice.1));
        }
        let (study, export) = recognise(file, &head, studies)?;
        let roles: Vec<Role> = export.columns.iter().map(|column| role(&column.holds, study)).collect();
        let has = |name: &String| export.columns.iter().any(|column| column.name == *name);
        let unused = head.iter().filter(|name| !has(name)).cloned().collect();
        let mut sheet = Self { study, export, roles, rows: vec![], unused };
        for record in reader.records() {
            let record = record.map_err(|e| broken(file, &e))?;
            let line = record.position().map_or(0, csv::Position::line);
            let row = sheet.row(&head, &record).map_err(|what| format!("{file}:{line}: {what}"))?;
            sheet.rows.push(row);
            if sheet.rows.len() > ROWS_MAX {
                return Err(format!("{file}:{line}: more than {ROWS_MAX} rows"));
            }
        }
        if sheet.rows.is_empty() {
            return Err(format!("{file}:1: there is no row below the names of the columns"));
        }
        Ok(sheet)
    }

    fn row(&self, head: &[String], record: &csv::StringRecord) -> Result<Row, String> {
        let mut row = Row { contender: String::new(), values: vec![] };
        for (column, role) in self.export.columns.iter().zip(&self.roles) {
            let at = head.iter().position(|name| *name == column.name);
            let text = at.and_then(|at| record.get(at)).unwrap_or_default();
            let wrong = |what: String| format!("column `{}`: {what}", column.name);
            row.values.push(match (&column.holds, text) {
                (Holds::Contender { .. }, text) => {
                    row.contender = self.contender(text).map_err(wrong)?;
                    None
                }
                (_, "") if *role == Role::Set => return Err(wrong("is empty".to_string())),
                (_, "") => None,
                (_, text) => match text.parse::<f64>().ok().filter(|number| number.is_finite()) {
                    Some(number) => Some(number),
                    None => return Err(wrong(format!("`{text}` is not a number"))),
                },
            });
        }
        Ok(row)
    }

    /// Names of contenders, in the order of the study.
    pub fn contenders(&self) -> Vec<String> {
        let names = self.export.columns.iter().find_map(|column| match &column.holds {
            Holds::Contender { contender } => Some(contender),
            Holds::Value { .. } => None,
        });
        let Some(names) = names else { return vec![String::new()] };
        let labels = self.study.contenders.iter().map(|contender| &contender.label);
        let mut listed: Vec<String> = labels.map(|label| named(names, label).to_string()).collect();
        listed.dedup();
        // Another variant may have further contenders.
        let further = names.values().filter(|text| !listed.contains(text)).cloned();
        listed.iter().cloned().chain(further).collect()
    }

    fn contender(&self, text: &str) -> Result<String, String> {
        let known = self.contenders();
        if known.iter().any(|name| name == text) {
            return Ok(text.to_string());
        }
        Err(format!("`{text}` is not a contender of study {}; contenders are {}", self.study.name, known.join(", ")))
    }

    /// Contenders that occur, in the order of the study.
    pub fn series(&self) -> Vec<String> {
        self.contenders().into_iter().filter(|name| self.rows.iter().any(|row| row.contender == *name)).collect()
    }

    /// Different values of a column, rising.
    pub fn values(&self, column: usize) -> Vec<f64> {
        let mut values: Vec<f64> = self.rows.iter().filter_map(|row| row.values[column]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    /// Columns of this role.
    pub fn columns(&self, role: Role) -> Vec<usize> {
        (0..self.roles.len()).filter(|column| self.roles[*column] == role).collect()
    }

    /// The axis to draw over: the set column with the most values; `None` if nothing varies.
    pub fn axis(&self) -> Option<usize> {
        let varies = |column: &usize| self.values(*column).len() > 1;
        // `max_by_key` returns the last of equals; the first is wanted.
        self.columns(Role::Set).into_iter().filter(varies).rev().max_by_key(|column| self.values(*column).len())
    }

    /// The other columns that vary, and their combinations of values in ascending order.
    pub fn conditions(&self) -> (Vec<usize>, Vec<Vec<f64>>) {
        let axis = self.axis();
        let others: Vec<usize> = self
            .columns(Role::Set)
            .into_iter()
            .filter(|column| Some(*column) != axis && self.values(*column).len() > 1)
            .collect();
        let mut found: Vec<Vec<f64>> = self.rows.iter().map(|row| at(row, &others)).collect();
        found.sort_by(|a, b| {
            a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne()).unwrap_or(a.len().cmp(&b.len()))
        });
        found.dedup();
        (others, found)
    }

    /// The mean of a metric over the rows of a contender under a condition, at one place of the axis.
    pub fn mean(&self, metric: usize, contender: &str, condition: &[(usize, f64)]) -> Option<f64> {
        let here = |row: &&Row| {
            row.contender == contender && condition.iter().all(|(column, value)| row.values[*column] == Some(*value))
        };
        let values: Vec<f64> = self.rows.iter().filter(here).filter_map(|row| row.values[metric]).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}

fn at(row: &Row, columns: &[usize]) -> Vec<f64> {
    columns.iter().filter_map(|column| row.values[*column]).collect()
}

fn broken(file: &str, error: &csv::Error) -> String {
    let line = error.position().map_or(0, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{file}:{line}: has {len} cells, the first line has {expected_len}")
        }
        _ => format!("{file}:{line}: is not CSV: {error}"),
    }
}

fn role(holds: &Holds, study: &Study) -> Role {
    let Holds::Value { value, .. } = holds else { return Role::Contender };
    let name = value.trim();
    let is_name = Formula::parse(value).is_ok_and(|formula| formula.names() == [name]);
    let own = study.metrics.iter().any(|own| own.name == name);
    let is_set = match Name::read(name) {
        Ok(Name::Number(_)) => true,
        Ok(Name::Listed(row, _)) => row.better.is_none() && !matches!(row.of, Of::Count(_)) && name != "elapsed_s",
        _ => false,
    };
    if is_name && is_set && !own { Role::Set } else { Role::Metric }
}

/// The export whose columns are all in the file; of several, the widest.
fn recognise<'s>(file: &str, head: &[String], studies: &'s [Study]) -> Result<(&'s Study, &'s Export), String> {
    let all = || studies.iter().flat_map(|study| study.exports.iter().map(move |export| (study, export)));
    let missing = |export: &Export| -> Vec<String> {
        export.columns.iter().map(|column| column.name.clone()).filter(|name| !head.contains(name)).collect()
    };
    let whole = all().filter(|(_, export)| missing(export).is_empty());
    if let Some(found) = whole.max_by_key(|(_, export)| export.columns.len()) {
        return Ok(found);
    }
    let has = |export: &Export| export.columns.len() - missing(export).len();
    let Some((study, export)) = all().max_by_key(|(_, export)| has(export)) else {
        return Err(format!("{file}: no study that was looked at has an [[export]]; name one with --study"));
    };
    let quoted = |names: Vec<String>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if 2 * has(export) > export.columns.len() {
        let missing = quoted(missing(export));
        return Err(format!(
            "{file}:1: this is like {} of study {}, but has no column {missing}",
            export.file, study.name
        ));
    }
    let studies: BTreeSet<&str> = all().map(|(study, _)| study.name.as_str()).collect();
    let studies = studies.into_iter().collect::<Vec<_>>().join(", ");
    let names = export.columns.iter().map(|column| column.name.clone()).collect();
    Err(format!(
        "{file}:1: these are not the columns of an export of a study (looked at: {studies}); {} of study {} has {}. \
         Name another study with --study",
        export.file,
        study.name,
        quoted(names)
    ))
}
