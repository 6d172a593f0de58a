//! The `[[grid]]` tables of a study file: one metric of contenders that differ in two choices, as rows and columns.

use super::edition::{Problem, value_text};
use super::file::File;
use super::layout::{has_several, of, value};
use super::metric::check_metric;
use super::model::{Grid, OwnMetric};
use super::questions::Reach;
use std::collections::BTreeMap;

pub(super) fn read(file: &File, metrics: &[OwnMetric], reach: &Reach) -> Result<Vec<Grid>, Problem> {
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
            if !reach.editions.iter().flat_map(|edition| &edition.contenders).any(|it| value(it, key).is_some()) {
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
        if reach.editions.iter().all(|edition| !has_several(&of(&edition.contenders, &grid))) {
            return Err(wrong(&["rows"], "no variant of this study has two contenders for it".to_string()));
        }
        grids.push(grid);
    }
    Ok(grids)
}
