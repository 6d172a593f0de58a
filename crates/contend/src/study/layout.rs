//! Rows and columns of the contenders in a `[[grid]]`.

use super::model::{Contender, Grid, Study};

/// Rows and columns of a grid.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    pub rows: Vec<String>,
    pub columns: Vec<String>,
    /// Contenders by row and column, as indexes.
    pub cells: Vec<Vec<Option<usize>>>,
    /// Number of contenders whose place another one has, from which they differ in further settings.
    pub hidden: usize,
}

/// A contender's value of a key: driver, model or a setting.
pub(super) fn value(contender: &Contender, key: &str) -> Option<String> {
    match key {
        "driver" => Some(contender.driver.clone()),
        "model" => Some(contender.model.clone()),
        _ => contender.resolved.settings.get(key).cloned(),
    }
}

pub(super) fn of(contenders: &[Contender], grid: &Grid) -> Layout {
    let mut layout = Layout { rows: vec![], columns: vec![], cells: vec![], hidden: 0 };
    let mut places = vec![];
    for (index, contender) in contenders.iter().enumerate() {
        let fits = |(key, wanted): (&String, &String)| value(contender, key).as_ref() == Some(wanted);
        // Contenders without such a choice, and null drivers, have no place in the table.
        let chosen = |key: &str| matches!(key, "driver" | "model") || contender.settings.contains_key(key);
        if contender.resolved.executes_nothing
            || !grid.at.iter().all(fits)
            || !chosen(&grid.rows)
            || !chosen(&grid.columns)
        {
            continue;
        }
        if let (Some(row), Some(column)) = (value(contender, &grid.rows), value(contender, &grid.columns)) {
            places.push((place(&mut layout.rows, row), place(&mut layout.columns, column), index));
        }
    }
    layout.cells = vec![vec![None; layout.columns.len()]; layout.rows.len()];
    for (row, column, index) in places {
        layout.hidden += usize::from(layout.cells[row][column].is_some());
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

pub(super) fn has_several(layout: &Layout) -> bool {
    layout.cells.iter().flatten().flatten().count() > 1
}

/// The layout of a grid; `None` if it has at most one contender.
pub fn layout(study: &Study, grid: &Grid) -> Option<Layout> {
    Some(of(&study.contenders, grid)).filter(has_several)
}
