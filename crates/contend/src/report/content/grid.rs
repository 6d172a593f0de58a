//! The study's own tables of two dimensions, and what they say in words: which is best of a tier where intervals tell it from
//! chance, and how much each of the two choices matters while the other is kept.

use crate::analysis::Findings;
use crate::analysis::metric::Metric;
use crate::analysis::plain::Layout;
use crate::analysis::plain::{Contender, Grid, Tier};
use crate::report::content::words::{self, NOTHING};
use crate::report::document::{Block, Cell as TableCell, Said, Table, Tone};
use crate::stats::precision::{Percent, Ratio};
use crate::stats::verdict::Direction;
use std::cmp::Ordering;

/// So many that are told from the best are named; of more only the number is said.
const NAMED_MAX: usize = 3;

/// A grid under one condition, with its values.
struct Filled<'g> {
    grid: &'g Grid,
    metric: Metric,
    layout: Layout,
    condition: usize,
    values: Vec<Vec<Option<Found>>>,
}

fn filled<'g>(findings: &'g Findings<'_>, condition: usize) -> Vec<Filled<'g>> {
    let study = &findings.study;
    let fill = |grid: &'g Grid| {
        let (metric, layout) = (findings.metric(&grid.metric)?, findings.layout(grid)?);
        let found = |contender: usize| {
            let cell = findings.cell(condition, contender).filter(|cell| cell.has_data())?;
            let estimate = findings.estimator().estimate(cell, &metric);
            Some(Found {
                value: estimate.value?,
                interval: estimate.low.zip(estimate.high).filter(|_| !findings.as_published()),
                at_least: estimate.at_least,
                tier: study.contenders[contender].tier,
            })
        };
        let whole = grid.part_of.as_ref().map(|label| {
            let part = study.contenders.iter().position(|contender| contender.label == *label);
            part.and_then(found)
        });
        let shown = |contender: &Option<usize>| match (contender.and_then(found), whole) {
            (found, None) => found,
            // Of a lower bound there is no part.
            (Some(found), Some(Some(part))) if found.value > 0.0 && !found.at_least && !part.at_least => {
                Some(Found { value: part.value / found.value, interval: None, ..found })
            }
            _ => None,
        };
        let values = layout.cells.iter().map(|row| row.iter().map(shown).collect()).collect();
        Some(Filled { grid, metric, layout, condition, values })
    };
    study.grids.iter().filter_map(fill).collect()
}

/// What the grids answer.
pub fn answers(findings: &Findings<'_>) -> Vec<Block> {
    let mut blocks: Vec<Block> = vec![];
    let conditions = 0..findings.study.conditions.len();
    let several = conditions.len() > 1;
    for filled in conditions.flat_map(|condition| filled(findings, condition)) {
        let (Some(ask), Some(text)) = (&filled.grid.ask, filled.in_words()) else { continue };
        let condition = several.then(|| words::condition(findings, filled.condition));
        let said = Said { condition, text, tone: Tone::Plain };
        match blocks.iter_mut().find(|block| matches!(block, Block::Answer { ask: asked, .. } if asked == ask)) {
            Some(Block::Answer { said: all, .. }) => all.push(said),
            _ => blocks.push(Block::Answer { ask: ask.clone(), said: vec![said] }),
        }
    }
    blocks
}

/// The tables for a condition.
pub fn tables(findings: &Findings<'_>, condition: usize) -> Vec<Block> {
    let of = |filled: Filled<'_>| [Block::Heading(filled.grid.about.clone()), Block::Table(filled.table(findings))];
    filled(findings, condition).into_iter().flat_map(of).collect()
}

/// What a contender has of the metric.
#[derive(Debug, Clone, Copy)]
struct Found {
    value: f64,
    /// None: there are too few rounds, or the metric has none.
    interval: Option<(f64, f64)>,
    at_least: bool,
    tier: Tier,
}

/// A value and where it stands.
#[derive(Debug, Clone, Copy)]
struct At {
    row: usize,
    column: usize,
    found: Found,
}

impl At {
    fn is(&self, other: &At) -> bool {
        (self.row, self.column) == (other.row, other.column)
    }

    /// Whether chance does not explain the difference: their intervals do not touch.
    fn apart(&self, other: &At) -> bool {
        let both = self.found.interval.zip(other.found.interval);
        both.is_some_and(|((low, high), (other_low, other_high))| high < other_low || other_high < low)
    }
}

impl Filled<'_> {
    fn show(&self, found: Found) -> String {
        let bound = if found.at_least { "at least " } else { "" };
        match self.grid.part_of.is_some() {
            true => Percent(found.value).to_string(),
            false => format!("{bound}{}", self.metric.show(found.value)),
        }
    }

    fn table(&self, findings: &Findings<'_>) -> Table {
        let columns: Vec<String> =
            self.layout.columns.iter().map(|column| format!("{} {column}|", spoken(&self.grid.columns))).collect();
        let mut head = vec![self.grid.rows.as_str()];
        head.extend(columns.iter().map(String::as_str));
        let mut table = Table::new(&head);
        table.condition = Some(self.condition);
        for (row, name) in self.layout.rows.iter().enumerate() {
            let first = self.layout.cells[row].iter().flatten().next();
            let about = first.filter(|_| self.grid.rows == "driver");
            let about = about.map(|index| driver_facts(&findings.study.contenders[*index]));
            let mut cells = vec![TableCell::new(name).small(about.unwrap_or_default())];
            for (column, value) in self.values[row].iter().enumerate() {
                let series = self.layout.cells[row][column];
                cells.push(match value {
                    Some(found) => TableCell { series, ..TableCell::new(self.show(*found)) },
                    None => TableCell::muted(NOTHING),
                });
            }
            table.row(cells);
        }
        table
    }

    fn all(&self) -> Vec<At> {
        let rows = self.values.iter().enumerate();
        let of_row = |(row, values): (usize, &Vec<Option<Found>>)| {
            let at = |(column, found): (usize, &Option<Found>)| Some(At { row, column, found: (*found)? });
            values.iter().enumerate().filter_map(at).collect::<Vec<_>>()
        };
        rows.flat_map(of_row).collect()
    }

    fn name(&self, at: At) -> String {
        let (row, column) = (&self.layout.rows[at.row], &self.layout.columns[at.column]);
        format!("{row} with {} {column}", spoken(&self.grid.columns))
    }

    fn with_value(&self, at: At) -> String {
        format!("{} ({})", self.show(at.found), self.name(at))
    }

    fn better(&self, a: &At, b: &At) -> Ordering {
        match self.metric.direction {
            _ if self.grid.part_of.is_some() => a.found.value.total_cmp(&b.found.value),
            Direction::HigherIsBetter => a.found.value.total_cmp(&b.found.value),
            Direction::LowerIsBetter => b.found.value.total_cmp(&a.found.value),
        }
    }

    /// The best and the worst, if these are two.
    fn ends<'a>(&self, all: impl Iterator<Item = &'a At> + Clone) -> Option<(At, At)> {
        let (best, worst) = (all.clone().max_by(|a, b| self.better(a, b))?, all.min_by(|a, b| self.better(a, b))?);
        (!best.is(worst)).then_some((*best, *worst))
    }

    fn in_words(&self) -> Option<String> {
        let (bounds, all): (Vec<At>, Vec<At>) = self.all().into_iter().partition(|at| at.found.at_least);
        if self.grid.part_of.is_some() {
            let (best, worst) = self.ends(all.iter())?;
            return Some(capital(&self.between(best, worst)) + ".");
        }
        let of_tier = |tier: Tier| all.iter().copied().filter(|at| at.found.tier == tier).collect::<Vec<_>>();
        let tiers: Vec<Tier> = Tier::GROUPS.into_iter().filter(|tier| !of_tier(*tier).is_empty()).collect();
        let mut said: Vec<String> = vec![];
        for tier in &tiers {
            let bounds = bounds.iter().filter(|at| at.found.tier == *tier).copied().collect::<Vec<_>>();
            let ends = self.ranked(&of_tier(*tier), &bounds);
            said.extend(ends.map(|text| match tiers.len() {
                1 => capital(&text),
                _ => format!("{}: {text}", capital(tier.word())),
            }));
        }
        if said.is_empty() && !tiers.is_empty() {
            said.push("No two of them promise the same and have a value, so none is ranked.".to_string());
        }
        said.extend([false, true].into_iter().filter_map(|by_row| self.choice(&all, by_row)));
        (!said.is_empty()).then(|| said.join(" "))
    }

    fn between(&self, best: At, worst: At) -> String {
        format!("from {} to {}", self.with_value(worst), self.with_value(best))
    }

    /// Who is first and who is last of one tier: said only of who is apart from all others.
    fn ranked(&self, all: &[At], bounds: &[At]) -> Option<String> {
        let (best, worst) = self.ends(all.iter())?;
        let alone = |one: At| bounds.is_empty() && all.iter().all(|other| other.is(&one) || other.apart(&one));
        let is = |at: At, what: &str| format!("{} is {what} with {}", self.name(at), self.show(at.found));
        let said = match (alone(best), alone(worst)) {
            (true, true) => {
                format!("{}, {} last with {}.", is(best, "first"), self.name(worst), self.show(worst.found))
            }
            (true, false) => {
                format!("{}; the worst, {}, is not apart from all others.", is(best, "first"), self.with_value(worst))
            }
            (false, true) => {
                let level = self.level_with(best, all);
                format!(
                    "{}; the best, {}, is not apart from all others.{level}",
                    is(worst, "last"),
                    self.with_value(best)
                )
            }
            (false, false) if bounds.is_empty() => {
                format!("{}; {}.{}", self.between(best, worst), self.not_apart(all), self.level_with(best, all))
            }
            // A contender that is known only by a bound may be the best, or the worst.
            (false, false) => format!("{}.", self.between(best, worst)),
        };
        let left_out: Vec<String> = bounds.iter().map(|at| self.with_value(*at)).collect();
        Some(match left_out.is_empty() {
            true => said,
            false => format!("{said} Not ranked, as only the least is known: {}.", left_out.join(", ")),
        })
    }

    /// How many cannot be told from the best, and who can: what a choice is left to decide by other reasons.
    fn level_with(&self, best: At, all: &[At]) -> String {
        let others: Vec<&At> = all.iter().filter(|at| !at.is(&best)).collect();
        let behind: Vec<String> = others.iter().filter(|at| at.apart(&best)).map(|at| self.name(**at)).collect();
        if behind.is_empty() || all.iter().any(|at| at.found.interval.is_none()) {
            return String::new();
        }
        let count =
            format!(" Of the other {}, {} cannot be told from the best", others.len(), others.len() - behind.len());
        match behind.len() {
            1..=NAMED_MAX => format!("{count}; {} can.", behind.join(", ")),
            _ => format!("{count}."),
        }
    }

    /// Why there is no first and no last.
    fn not_apart(&self, all: &[At]) -> &'static str {
        if all.iter().any(|at| at.found.interval.is_none()) {
            "there is no interval of each that would tell it from chance"
        } else if all.iter().any(|a| all.iter().any(|b| a.apart(b))) {
            "neither end is apart from all others"
        } else {
            "no two of them are apart from each other"
        }
    }

    /// How much one of the two choices matters where the other one and the tier are the same.
    fn choice(&self, all: &[At], by_row: bool) -> Option<String> {
        let (rows, columns) = (spoken(&self.grid.rows), spoken(&self.grid.columns));
        let (choice, kept) = if by_row { (columns, rows) } else { (rows, columns) };
        let line = |at: &At| if by_row { at.row } else { at.column };
        let comparable = |a: &At, b: &At| line(a) == line(b) && a.found.tier == b.found.tier;
        let of =
            |a: At| all.iter().filter(move |b| comparable(&a, b) && self.better(&a, b).is_gt()).map(move |b| (a, *b));
        let pairs = || all.iter().copied().flat_map(of);
        let factor = |(a, b): &(At, At)| (a.found.value / b.found.value).max(b.found.value / a.found.value);
        let widest = |pairs: &mut dyn Iterator<Item = (At, At)>| {
            pairs.filter(|pair| factor(pair).is_finite()).max_by(|a, b| factor(a).total_cmp(&factor(b)))
        };
        let known = pairs().all(|(a, b)| a.found.interval.is_some() && b.found.interval.is_some());
        let (pair, what) = match widest(&mut pairs().filter(|(a, b)| a.apart(b))) {
            Some(pair) => (pair, format!("the choice of {choice} matters by a factor of up to")),
            None if known && pairs().next().is_some() => {
                return Some(format!(
                    "With the same {kept}, no choice of {choice} makes a difference beyond the intervals."
                ));
            }
            None => {
                (widest(&mut pairs())?, format!("values differ by {choice}, which is not told from chance, by up to"))
            }
        };
        let (high, low) = pair;
        Some(format!(
            "With the same {kept}, {what} {} ({}: {}; {}: {}).",
            Ratio(factor(&pair)),
            self.name(high),
            self.show(high.found),
            self.name(low),
            self.show(low.found)
        ))
    }
}

fn spoken(key: &str) -> String {
    key.replace('_', " ")
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// What to know of a contender's driver when choosing one, in a line.
fn driver_facts(contender: &Contender) -> String {
    let facts = contender.resolved.driver_facts.iter();
    facts.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}
