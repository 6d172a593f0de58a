//! The study's own tables of two dimensions, and what they say in words: which is best, and how much each of the two
//! choices matters while the other is kept.

use crate::report::content::words::{self, NOTHING};
use crate::report::document::{Block, Cell as TableCell, Said, Table, Tone};
use crate::report::summary::Summary;
use crate::report::summary::metric::Figure;
use crate::stats::precision::{Percent, Ratio};
use crate::stats::verdict::Direction;
use crate::study::grid::{Layout, driver_facts, layout};
use crate::study::model::Grid;

/// A grid under one condition, with its values.
struct Filled<'g> {
    grid: &'g Grid,
    figure: Figure,
    layout: Layout,
    condition: usize,
    values: Vec<Vec<Option<f64>>>,
}

fn filled<'g>(summary: &'g Summary<'_>, condition: usize) -> Vec<Filled<'g>> {
    let study = &summary.record.run.study;
    let fill = |grid: &'g Grid| {
        let (figure, layout) = (summary.figure(&grid.metric)?, layout(study, grid)?);
        let value = |contender: usize| {
            let cell = summary.cell(condition, contender).filter(|cell| cell.has_data())?;
            summary.estimator().estimate(cell, &figure).value
        };
        let whole = grid.part_of.as_ref().map(|label| {
            let part = study.contenders.iter().position(|contender| contender.label == *label);
            part.and_then(value)
        });
        let shown = |contender: &Option<usize>| match (contender.and_then(value), whole) {
            (value, None) => value,
            (Some(value), Some(Some(part))) if value > 0.0 => Some(part / value),
            _ => None,
        };
        let values = layout.cells.iter().map(|row| row.iter().map(shown).collect()).collect();
        Some(Filled { grid, figure, layout, condition, values })
    };
    study.grids.iter().filter_map(fill).collect()
}

/// What the grids answer.
pub fn answers(summary: &Summary<'_>) -> Vec<Block> {
    let mut blocks: Vec<Block> = vec![];
    let conditions = 0..summary.record.run.study.conditions.len();
    let several = conditions.len() > 1;
    for filled in conditions.flat_map(|condition| filled(summary, condition)) {
        let (Some(ask), Some(text)) = (&filled.grid.ask, filled.in_words()) else { continue };
        let condition = several.then(|| words::condition(summary, filled.condition));
        let said = Said { condition, text, tone: Tone::Plain };
        match blocks.iter_mut().find(|block| matches!(block, Block::Answer { ask: asked, .. } if asked == ask)) {
            Some(Block::Answer { said: all, .. }) => all.push(said),
            _ => blocks.push(Block::Answer { ask: ask.clone(), said: vec![said] }),
        }
    }
    blocks
}

/// The tables for a condition.
pub fn tables(summary: &Summary<'_>, condition: usize) -> Vec<Block> {
    let of = |filled: Filled<'_>| [Block::Heading(filled.grid.about.clone()), Block::Table(filled.table(summary))];
    filled(summary, condition).into_iter().flat_map(of).collect()
}

/// A value and where it stands.
#[derive(Clone, Copy)]
struct At {
    row: usize,
    column: usize,
    value: f64,
}

impl Filled<'_> {
    fn show(&self, value: f64) -> String {
        if self.grid.part_of.is_some() { Percent(value).to_string() } else { self.figure.show(value) }
    }

    fn table(&self, summary: &Summary<'_>) -> Table {
        let columns: Vec<String> =
            self.layout.columns.iter().map(|column| format!("{} {column}|", spoken(&self.grid.columns))).collect();
        let mut head = vec![self.grid.rows.as_str()];
        head.extend(columns.iter().map(String::as_str));
        let mut table = Table::new(&head);
        table.condition = Some(self.condition);
        for (row, name) in self.layout.rows.iter().enumerate() {
            let first = self.layout.cells[row].iter().flatten().next();
            let about = first.filter(|_| self.grid.rows == "driver");
            let about = about.map(|index| driver_facts(&summary.record.run.study.contenders[*index]));
            let mut cells = vec![TableCell::new(name).small(about.unwrap_or_default())];
            for (column, value) in self.values[row].iter().enumerate() {
                let series = self.layout.cells[row][column];
                cells.push(match value {
                    Some(value) => TableCell { series, ..TableCell::new(self.show(*value)) },
                    None => TableCell::muted(NOTHING),
                });
            }
            table.row(cells);
        }
        table
    }

    fn all(&self) -> Vec<At> {
        let rows = self.values.iter().enumerate();
        let of_row = |(row, values): (usize, &Vec<Option<f64>>)| {
            let at = |(column, value): (usize, &Option<f64>)| Some(At { row, column, value: (*value)? });
            values.iter().enumerate().filter_map(at).collect::<Vec<_>>()
        };
        rows.flat_map(of_row).collect()
    }

    fn name(&self, at: At) -> String {
        let (row, column) = (&self.layout.rows[at.row], &self.layout.columns[at.column]);
        format!("{row} with {} {column}", spoken(&self.grid.columns))
    }

    fn in_words(&self) -> Option<String> {
        let better = |a: &At, b: &At| match self.figure.direction {
            _ if self.grid.part_of.is_some() => a.value.total_cmp(&b.value),
            Direction::HigherIsBetter => a.value.total_cmp(&b.value),
            Direction::LowerIsBetter => b.value.total_cmp(&a.value),
        };
        let all = self.all();
        let (best, worst) = (*all.iter().max_by(|a, b| better(a, b))?, *all.iter().min_by(|a, b| better(a, b))?);
        if self.grid.part_of.is_some() {
            return Some(format!(
                "From {} ({}) to {} ({}).",
                self.show(worst.value),
                self.name(worst),
                self.show(best.value),
                self.name(best)
            ));
        }
        let mut text = format!(
            "{} is first with {}, {} last with {}.",
            capital(&self.name(best)),
            self.show(best.value),
            self.name(worst),
            self.show(worst.value)
        );
        let choices = [(&self.grid.rows, &self.grid.columns, false), (&self.grid.columns, &self.grid.rows, true)];
        for (choice, kept, by_row) in choices {
            let lines = if by_row { self.layout.rows.len() } else { self.layout.columns.len() };
            let widest = (0..lines).filter_map(|line| {
                let in_line = || all.iter().filter(|at| line == if by_row { at.row } else { at.column });
                let (high, low) = (in_line().max_by(|a, b| better(a, b))?, in_line().min_by(|a, b| better(a, b))?);
                let factor = (high.value / low.value).max(low.value / high.value);
                (high.row, high.column).ne(&(low.row, low.column)).then_some((factor, *high, *low))
            });
            if let Some((factor, high, low)) = widest.max_by(|a, b| a.0.total_cmp(&b.0)) {
                text += &format!(
                    " With the same {}, the choice of {} matters by a factor of up to {} ({}: {}; {}: {}).",
                    spoken(kept),
                    spoken(choice),
                    Ratio(factor),
                    self.name(high),
                    self.show(high.value),
                    self.name(low),
                    self.show(low.value)
                );
            }
        }
        Some(text)
    }
}

fn spoken(key: &str) -> String {
    key.replace('_', " ")
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
