//! The study's own metrics, and checks of metric names in a file.

use super::edition::Problem;
use super::file::File;
use super::model::OwnMetric;
use super::spelling;
use crate::analysis::metric::name::{self, compared_names};
use crate::analysis::metric::{self, table};
use crate::source::nearest;

/// The metrics that a file defines.
pub(super) fn read_metrics(file: &File) -> Result<Vec<OwnMetric>, Problem> {
    let mut metrics: Vec<OwnMetric> = Vec::new();
    for (index, written) in file.metric.iter().enumerate() {
        let index = index.to_string();
        let wrong = |path: &[&str], message: String| Problem::at(&["metric", &index], path, message);
        check_metric_name(&written.name, &metrics).map_err(|message| wrong(&["name"], message))?;
        name::read(&written.value).map_err(|message| wrong(&["value"], message))?;
        metrics.push(written.clone());
    }
    Ok(metrics)
}

/// Checks a name: it becomes a column of `trials.csv`, so it must be a plain word that is not yet used.
fn check_metric_name(name: &str, earlier: &[OwnMetric]) -> Result<(), String> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    if name.is_empty() || !name.bytes().all(plain) {
        return Err(format!("`{name}` must be lower-case letters, digits and underscores"));
    }
    let means = spelling::canonical(name);
    if means != name {
        return Err(format!("`{name}` means {means}; choose another name"));
    }
    if metric::exists(earlier, name) || table::row(name).is_some() {
        return Err(format!("there is already a metric `{name}`"));
    }
    if table::COLUMNS.iter().any(|names| names.split(' ').any(|column| column == name)) || name.starts_with("axis_") {
        return Err(format!("`{name}` is another column of trials.csv; choose another name"));
    }
    Ok(())
}

/// Checks the name of a metric where it is used.
pub(super) fn check_metric(name: &str, own: &[OwnMetric]) -> Result<(), String> {
    if metric::exists(own, name) {
        return Ok(());
    }
    let mut names: Vec<String> = own.iter().map(|metric| metric.name.clone()).collect();
    names.extend(compared_names().map(str::to_string));
    if let Some(found) = nearest(name, names.iter().map(String::as_str)) {
        return Err(format!("there is no metric `{name}`; did you mean `{found}`?"));
    }
    Err(format!("there is no metric `{name}`; metrics are {}", names.join(", ")))
}
