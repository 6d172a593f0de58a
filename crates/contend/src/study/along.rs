//! The `[[along]]` tables of a study file: the course of a metric along an axis of numbers, such as the clients.

use super::edition::Problem;
use super::file::File;
use super::metric::check_metric;
use super::model::{Along, OwnMetric};
use super::questions::Reach;
use crate::load;
use std::collections::BTreeSet;

pub(super) fn read(file: &File, metrics: &[OwnMetric], reach: &Reach) -> Result<Vec<Along>, Problem> {
    let known = axes(file);
    let mut found = Vec::new();
    for (index, written) in file.along.iter().enumerate() {
        let index = index.to_string();
        let wrong = |path: &[&str], message: String| Problem::at(&["along", &index], path, message);
        check_metric(&written.metric, metrics).map_err(|message| wrong(&["metric"], message))?;
        let axis = load::key(&written.axis);
        if !known.contains(written.axis.as_str()) {
            let axes = known.iter().copied().collect::<Vec<_>>().join(", ");
            let message = format!("no variant of this study has an axis `{}`; axes are {axes}", written.axis);
            return Err(wrong(&["axis"], message));
        }
        if !reach.numbers.contains(axis) {
            let message = format!(
                "`{}` is not an axis of numbers over which conditions vary, and the answer would be empty; {}",
                written.axis,
                match reach.numbers.is_empty() {
                    true => "this study has none".to_string(),
                    false => format!("this study has {}", reach.numbers.iter().cloned().collect::<Vec<_>>().join(", ")),
                }
            );
            return Err(wrong(&["axis"], message));
        }
        if written.ask.trim().is_empty() {
            return Err(wrong(&["ask"], "must not be empty".to_string()));
        }
        for label in written.because.keys() {
            reach.check_contender(label).map_err(|message| wrong(&["because", label], message))?;
        }
        found.push(Along { axis: axis.to_string(), ..written.clone() });
    }
    Ok(found)
}

/// Axes of any variant and extent.
fn axes(file: &File) -> BTreeSet<&str> {
    let published = file.as_published.as_ref();
    let overlays = [file.quick.as_ref(), published, published.and_then(|published| published.quick.as_deref())];
    let of_overlays = overlays.into_iter().flatten().filter_map(|overlay| overlay.axes.as_ref());
    file.axes.iter().chain(of_overlays).flat_map(|axes| axes.keys().map(String::as_str)).collect()
}
