//! The `[[grid]]` tables of a study file: one figure of contenders that differ in two things, one down, one across.

use super::arm::{Problem, value_text};
use super::file::File;
use super::model::{Contender, Grid, Metric, Study};
use super::questions::{Reach, check_metric};
use std::collections::BTreeMap;

/// Where each contender of a grid stands.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    pub rows: Vec<String>,
    pub columns: Vec<String>,
    /// Contenders by row and column, as indexes.
    pub cells: Vec<Vec<Option<usize>>>,
}

pub(super) fn read(file: &File, metrics: &[Metric], reach: &Reach) -> Result<Vec<Grid>, Problem> {
    let mut grids = Vec::new();
    for (index, written) in file.grid.iter().enumerate() {
        let index = index.to_string();
        let wrong = |path: &[&str], message: String| Problem::at(&["grid", &index], path, message);
        check_metric(&written.metric, metrics).map_err(|message| wrong(&["metric"], message))?;
        let mut at = BTreeMap::new();
        for (key, value) in &written.at {
            at.insert(key.clone(), value_text(value).map_err(|message| wrong(&["at", key], message))?);
        }
        let keys = at.keys().map(|key| vec!["at", key.as_str()]).collect::<Vec<_>>();
        let named = [(vec!["rows"], &written.rows), (vec!["columns"], &written.columns)];
        for (path, key) in named.into_iter().chain(keys.iter().cloned().zip(at.keys())) {
            if !reach.arms.iter().flat_map(|arm| &arm.contenders).any(|it| value(it, key).is_some()) {
                let message = format!("no contender of this study has `{key}`: it is driver, model or a setting");
                return Err(wrong(&path, message));
            }
        }
        if let Some(label) = &written.part_of {
            reach.check_contender(label).map_err(|message| wrong(&["part_of"], message))?;
        }
        let grid = Grid {
            about: written.about.clone(),
            ask: written.ask.clone(),
            rows: written.rows.clone(),
            columns: written.columns.clone(),
            at,
            metric: written.metric.clone(),
            part_of: written.part_of.clone(),
        };
        if reach.arms.iter().all(|arm| !has_several(&of(&arm.contenders, &grid))) {
            return Err(wrong(&["rows"], "no variant of this study has two contenders for it".to_string()));
        }
        grids.push(grid);
    }
    Ok(grids)
}

/// What a contender has under this name.
fn value(contender: &Contender, key: &str) -> Option<String> {
    match key {
        "driver" => Some(contender.driver.clone()),
        "model" => Some(contender.model.clone()),
        _ => contender.resolved.settings.get(key).cloned(),
    }
}

fn of(contenders: &[Contender], grid: &Grid) -> Layout {
    let mut layout = Layout { rows: vec![], columns: vec![], cells: vec![] };
    let mut places = vec![];
    for (index, contender) in contenders.iter().enumerate() {
        let fits = |(key, wanted): (&String, &String)| value(contender, key).as_ref() == Some(wanted);
        // Who has no such choice, or does nothing, has no place in the table.
        let chosen = |key: &str| matches!(key, "driver" | "model") || contender.settings.contains_key(key);
        if contender.resolved.executes_nothing || !grid.at.iter().all(fits) || !chosen(&grid.rows) || !chosen(&grid.columns) {
            continue;
        }
        if let (Some(row), Some(column)) = (value(contender, &grid.rows), value(contender, &grid.columns)) {
            places.push((place(&mut layout.rows, row), place(&mut layout.columns, column), index));
        }
    }
    layout.cells = vec![vec![None; layout.columns.len()]; layout.rows.len()];
    for (row, column, index) in places {
        layout.cells[row][column].get_or_insert(index);
    }
    layout
}

fn place(all: &mut Vec<String>, one: String) -> usize {
    all.iter().position(|other| *other == one).unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    })
}

fn has_several(layout: &Layout) -> bool {
    layout.cells.iter().flatten().flatten().count() > 1
}

/// Where the contenders of a study stand in a grid; none if there is at most one.
pub fn layout(study: &Study, grid: &Grid) -> Option<Layout> {
    Some(of(&study.contenders, grid)).filter(has_several)
}
