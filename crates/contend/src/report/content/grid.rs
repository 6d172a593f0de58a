//! The study's grids: tables, and their findings in words.

use crate::analysis::Findings;
use crate::analysis::grid::{Apart, At, Choice, FilledGrid, Level, Ranking, Value, WhyNot};
use crate::analysis::plain::{Contender, Tier};
use crate::report::content::charts::capitalised;
use crate::report::content::words::{self, NOTHING};
use crate::report::document::{Block, Cell as TableCell, Said, Table, Tone};
use crate::stats::precision::{Percent, Ratio};

/// Most contenders behind the best that are named; of more, only the number is given.
const NAMED_MAX: usize = 3;

/// Answers from the grids.
pub fn answers(findings: &Findings<'_>) -> Vec<Block> {
    let mut blocks: Vec<Block> = vec![];
    let several = findings.study.conditions.len() > 1;
    for filled in &findings.grids {
        let (Some(ask), Some(text)) = (&filled.grid.ask, in_words(filled)) else { continue };
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
    let hidden = |filled: &FilledGrid<'_>| {
        let hidden = filled.layout.hidden;
        let differ = if hidden == 1 { "differs" } else { "differ" };
        (hidden > 0).then(|| {
            Block::Note(format!(
                "{} that {differ} in further settings {} not in this table, nor in what is said of it: narrow it with --only \
                 or --set.",
                words::counted(hidden, "contender"),
                if hidden == 1 { "is" } else { "are" }
            ))
        })
    };
    let of = |filled: &FilledGrid<'_>| {
        let blocks = [Block::Heading(filled.grid.about.clone()), Block::Table(table(filled, findings))];
        blocks.into_iter().chain(hidden(filled)).collect::<Vec<_>>()
    };
    findings.grids.iter().filter(|filled| filled.condition == condition).flat_map(of).collect()
}

fn show(filled: &FilledGrid<'_>, value: Value) -> String {
    let bound = if value.at_least { "at least " } else { "" };
    match filled.grid.part_of.is_some() {
        true => Percent(value.value).to_string(),
        false => format!("{bound}{}", filled.metric.show(value.value)),
    }
}

fn table(filled: &FilledGrid<'_>, findings: &Findings<'_>) -> Table {
    let FilledGrid { grid, layout, .. } = filled;
    let columns: Vec<String> =
        layout.columns.iter().map(|column| format!("{} {column}|", spoken(&grid.columns))).collect();
    let mut head = vec![grid.rows.as_str()];
    head.extend(columns.iter().map(String::as_str));
    let mut table = Table::new(&head);
    table.condition = Some(filled.condition);
    for (row, name) in layout.rows.iter().enumerate() {
        let first = layout.cells[row].iter().flatten().next();
        let about = first.filter(|_| grid.rows == "driver");
        let about = about.map(|index| driver_facts(&findings.study.contenders[*index]));
        let mut cells = vec![TableCell::new(name).small(about.unwrap_or_default())];
        for (column, value) in filled.values[row].iter().enumerate() {
            let series = layout.cells[row][column];
            cells.push(match value {
                Some(value) => TableCell { series, ..TableCell::new(show(filled, *value)) },
                None => TableCell::muted(NOTHING),
            });
        }
        table.row(cells);
    }
    table
}

fn name(filled: &FilledGrid<'_>, at: At) -> String {
    let (row, column) = (&filled.layout.rows[at.row], &filled.layout.columns[at.column]);
    format!("{row} with {} {column}", spoken(&filled.grid.columns))
}

fn with_value(filled: &FilledGrid<'_>, at: At) -> String {
    format!("{} ({})", show(filled, at.value), name(filled, at))
}

fn between(filled: &FilledGrid<'_>, best: At, worst: At) -> String {
    format!("from {} to {}", with_value(filled, worst), with_value(filled, best))
}

fn in_words(filled: &FilledGrid<'_>) -> Option<String> {
    if filled.grid.part_of.is_some() {
        let (best, worst) = filled.ends(&filled.exact())?;
        return Some(capitalised(&between(filled, best, worst)) + ".");
    }
    let rankings = filled.rankings();
    let one_tier = rankings.len() == 1;
    let of_tier = |(tier, ranking): &(Tier, Option<Ranking>)| {
        let text = ranked(filled, ranking.as_ref()?);
        Some(if one_tier { capitalised(&text) } else { format!("{}: {text}", capitalised(tier.word())) })
    };
    let mut said: Vec<String> = rankings.iter().filter_map(of_tier).collect();
    let unranked = filled.unranked();
    if said.is_empty() && !rankings.is_empty() && unranked.is_empty() {
        said.push("No two of them promise the same and have a value, so none is ranked.".to_string());
    }
    said.extend([false, true].into_iter().filter_map(|by_row| choice(filled, by_row)));
    said.extend((!unranked.is_empty()).then(|| unranked_in_words(filled, &unranked)));
    (!said.is_empty()).then(|| said.join(" "))
}

fn unranked_in_words(filled: &FilledGrid<'_>, unranked: &[At]) -> String {
    let names: Vec<String> = unranked.iter().map(|at| name(filled, *at)).collect();
    let which = if names.len() > NAMED_MAX { words::counted(names.len(), "value") } else { names.join(", ") };
    format!("Not ranked, because their work differs, some of their rounds do not count, or the load decides: {which}.")
}

/// The best and the worst of one tier, if they are apart from all others.
fn ranked(filled: &FilledGrid<'_>, ranking: &Ranking) -> String {
    let Ranking { best, worst, .. } = *ranking;
    let of_ranked = if filled.unranked().is_empty() { "" } else { " of those that are ranked" };
    let is = |at: At, what: &str| format!("{} is {what}{of_ranked} with {}", name(filled, at), show(filled, at.value));
    let level = ranking.level.as_ref().map_or(String::new(), |level| level_with(filled, level));
    let said = match &ranking.apart {
        Apart::Both => {
            format!("{}, {} last with {}.", is(best, "first"), name(filled, worst), show(filled, worst.value))
        }
        Apart::Best => {
            format!("{}; the worst, {}, overlaps with others.", is(best, "first"), with_value(filled, worst))
        }
        Apart::Worst => {
            let best = with_value(filled, best);
            format!("{}; the best, {best}, overlaps with others.{level}", is(worst, "last"))
        }
        Apart::Neither(None) => format!("{}.", between(filled, best, worst)),
        Apart::Neither(Some(why)) => format!("{}; {}.{level}", between(filled, best, worst), why_not(why)),
    };
    let bounds: Vec<String> = ranking.bounds.iter().map(|at| with_value(filled, *at)).collect();
    match bounds.is_empty() {
        true => said,
        false => format!("{said} Not ranked, as only the least is known: {}.", bounds.join(", ")),
    }
}

/// How many are level with the best, and which are behind it.
fn level_with(filled: &FilledGrid<'_>, level: &Level) -> String {
    let behind: Vec<String> = level.behind.iter().map(|at| name(filled, *at)).collect();
    let same = level.others - behind.len();
    let count = format!(" Of the other {}, {same} cannot be distinguished from the best", level.others);
    match behind.len() {
        1..=NAMED_MAX => format!("{count}; {} can.", behind.join(", ")),
        _ => format!("{count}."),
    }
}

fn why_not(why: &WhyNot) -> &'static str {
    match why {
        WhyNot::NoInterval => "not every value has an interval to distinguish it from chance",
        WhyNot::NoEnd => "the best and the worst overlap with others",
        WhyNot::NoTwo => "all of them overlap",
    }
}

/// How much one of the two choices matters with the other choice and the tier fixed.
fn choice(filled: &FilledGrid<'_>, by_row: bool) -> Option<String> {
    let (rows, columns) = (spoken(&filled.grid.rows), spoken(&filled.grid.columns));
    let (choice, kept) = if by_row { (columns, rows) } else { (rows, columns) };
    let (high, low, factor, what) = match filled.choice(by_row)? {
        Choice::Nothing => {
            return Some(format!(
                "With the same {kept}, no choice of {choice} makes a difference beyond the intervals."
            ));
        }
        Choice::Pair { high, low, factor, apart: true } => {
            (high, low, factor, format!("the choice of {choice} matters by a factor of up to"))
        }
        Choice::Pair { high, low, factor, apart: false } => {
            (high, low, factor, format!("values differ by {choice}, which is not distinguished from chance, by up to"))
        }
    };
    Some(format!(
        "With the same {kept}, {what} {} ({}: {}; {}: {}).",
        Ratio(factor),
        name(filled, high),
        show(filled, high.value),
        name(filled, low),
        show(filled, low.value)
    ))
}

fn spoken(key: &str) -> String {
    key.replace('_', " ")
}

/// Facts of a contender's driver for choosing one, in one line.
fn driver_facts(contender: &Contender) -> String {
    let facts = contender.resolved.driver_facts.iter();
    facts.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}
