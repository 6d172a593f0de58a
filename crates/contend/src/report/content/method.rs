//! The basis of the conclusions: all comparisons, effects of single factors, the original's metrics.

use crate::analysis::compare::{Compared, FactorEffect};
use crate::analysis::plain::Tier;
use crate::analysis::{Findings, Reproduced};
use crate::report::content::charts::capitalised;
use crate::report::content::until;
use crate::report::content::words::{self, NOTHING};
use crate::report::document::{Block, Cell as TableCell, Id, Section, Table};
use crate::stats::precision::{Change, Percent};

/// Titles of sections.
pub const EFFECTS: &str = "What each setting does";
pub const COMPARISONS: &str = "Every comparison";

/// Effects of single settings: ratios without verdicts.
pub fn effects(findings: &Findings<'_>) -> Option<Section> {
    let mut table = Table::new(&["effect", "condition", "figure", "ratio|", "change|", "pairs|"]);
    for effect in &findings.effects {
        table.row(effect_row(findings, effect));
    }
    if table.rows.is_empty() {
        return None;
    }
    let blocks = vec![
        Block::Text(
            "One factor at a time: contenders that differ in it alone are paired, round by round, and this is what the \
             change costs or brings. It is neither a verdict nor a ranking, because what a crash may take can change \
             with it."
                .to_string(),
        ),
        Block::Table(table),
    ];
    Some(Section { id: Id::Effects, title: EFFECTS.to_string(), blocks })
}

fn effect_row(findings: &Findings<'_>, effect: &FactorEffect) -> Vec<TableCell> {
    let factor = &effect.factor;
    let metric = effect.metric.as_ref().map_or(factor.metric.clone(), |f| f.label());
    let crosses = if effect.crosses_tiers { "; crosses tiers" } else { "" };
    let about =
        TableCell::new(&effect.about).small(format!("{}: {} to {}{crosses}", factor.factor, factor.from, factor.to));
    let mut row = vec![about, TableCell::new(words::condition(findings, effect.condition)), TableCell::new(metric)];
    match &effect.result {
        Ok(found) => row.extend([
            words::ratio(found.interval.map(|i| i.low), Some(found.ratio), found.interval.map(|i| i.high)),
            TableCell::new(Change(found.ratio).to_string()),
            TableCell::new(found.pairs.to_string()),
        ]),
        Err(why) => row.extend([TableCell::muted(NOTHING).small(why), TableCell::muted(NOTHING), TableCell::new("")]),
    }
    row
}

/// All comparisons, with the smallest effect that each could detect.
pub fn comparisons(findings: &Findings<'_>) -> Section {
    let study = &findings.study;
    let mut blocks = vec![Block::Text(counting(findings))];
    blocks.extend(until::method(findings).map(Block::Text));
    for condition in 0..study.conditions.len() {
        let mut table = Table::new(&["contender", "figure", "ratio|", "verdict", "detectable|", "rounds|"]);
        table.condition = Some(condition);
        for tier in Tier::GROUPS {
            let Some(baseline) = findings.baseline(tier) else { continue };
            let here = |c: &&Compared| c.condition == condition && c.baseline == baseline;
            let mut rows = findings.comparisons.iter().filter(here).peekable();
            if rows.peek().is_some() {
                table.group(tier.word(), format!("against {}", words::label(findings, baseline)));
                rows.for_each(|compared| table.row(comparison_row(findings, compared)));
            }
        }
        if !table.rows.is_empty() {
            blocks.push(Block::Heading(words::condition(findings, condition)));
            blocks.push(Block::Table(table));
        }
    }
    blocks.push(Block::Note(
        "Detectable is the smallest difference that these rounds could have distinguished from none: one of just this size is \
         found about every other time."
            .to_string(),
    ));
    blocks.push(Block::Heading("The machine's own noise".to_string()));
    blocks.extend(noise(findings));
    Section { id: Id::Comparisons, title: COMPARISONS.to_string(), blocks }
}

fn counting(findings: &Findings<'_>) -> String {
    let made = findings.comparisons.len();
    let others = findings.other_comparisons();
    if made + others == 0 {
        return "No comparison was made: a tier needs a baseline and another contender with valid trials.".to_string();
    }
    let one = if made + others == 1 { "it finds" } else { "each finds" };
    let more = match others {
        0 => String::new(),
        more => format!(", and {more} more for answers and courses along an axis"),
    };
    format!(
        "{} with a baseline of the same tier{more}, the round as the unit. Where two systems are equal {one} a difference by \
         chance about once in twenty times; the headline, {}, was named in advance.",
        words::counted(made, "comparison"),
        findings.headline.as_ref().map_or(findings.study.headline.clone(), |f| f.label())
    )
}

fn comparison_row(findings: &Findings<'_>, compared: &Compared) -> Vec<TableCell> {
    let c = &compared.comparison;
    let rounds = if (c.rounds as usize) < compared.scheduled {
        format!("{} of {}", c.rounds, compared.scheduled)
    } else {
        c.rounds.to_string()
    };
    let detectable = c.minimum_detectable_effect.map(|mde| TableCell::new(Percent(mde).to_string()));
    vec![
        TableCell::new(words::label(findings, compared.candidate)).series(compared.candidate),
        TableCell::new(compared.metric.label()),
        words::compared_ratio(c),
        words::verdict(findings, compared),
        detectable.unwrap_or(TableCell::muted(NOTHING)),
        TableCell::new(rounds),
    ]
}

fn noise(findings: &Findings<'_>) -> Vec<Block> {
    let mut lines: Vec<String> = findings.self_comparisons.iter().map(|c| self_sentence(findings, c)).collect();
    if lines.is_empty() {
        lines.push(
            "A against A was not part of this run, so the noise of the machine is known only through the intervals."
                .to_string(),
        );
    }
    lines.extend(drifts(findings));
    vec![Block::List(lines)]
}

/// Trends over the rounds and within windows.
pub fn drifts(findings: &Findings<'_>) -> Vec<String> {
    let over_rounds = findings.drifts.iter().map(|drift| {
        let change = drift.trend.change;
        format!(
            "Drift: {} under {} {} from the first rounds to the last.",
            words::label(findings, drift.contender),
            words::condition(findings, drift.condition),
            if change.is_finite() {
                format!("changes by {}", Change(1.0 + change))
            } else {
                "rises from 0".to_string()
            }
        )
    });
    let mut lines: Vec<String> = over_rounds.collect();
    let drifting = |row: &&crate::analysis::trial::TrialRow| {
        row.measured.as_ref().and_then(|m| m.trend).is_some_and(|t| t.drifting)
    };
    let inside = findings.rows.iter().filter(drifting).count();
    if inside > 0 {
        lines.push(format!("In {} the throughput climbs or falls within the window.", words::counted(inside, "trial")));
    }
    lines
}

fn self_sentence(findings: &Findings<'_>, compared: &Compared) -> String {
    let c = &compared.comparison;
    let ratio = words::ratio(c.low, c.ratio, c.high);
    let interval = if ratio.small.is_empty() { String::new() } else { format!(" ({})", ratio.small) };
    format!(
        "A against A: {} and {} are the same system; under {} the ratio of their {} is {}{interval}: {}.",
        words::label(findings, compared.baseline),
        words::label(findings, compared.candidate),
        words::condition(findings, compared.condition),
        compared.metric.label(),
        ratio.text,
        words::word(findings, &c.verdict)
    )
}

/// The original's metrics next to ours, and what the corrected variant changes.
pub fn published(findings: &Findings<'_>) -> Option<Section> {
    let study = &findings.study;
    if findings.reproduced.is_empty() && study.changes.is_empty() {
        return None;
    }
    let mut blocks = vec![];
    if !findings.reproduced.is_empty() {
        let mut table = Table::new(&["contender", "condition", "figure", "published|", "here|", "here / published|"]);
        findings.reproduced.iter().for_each(|one| table.row(reproduced_row(findings, one)));
        blocks.push(Block::Table(table));
        blocks.push(Block::Note(
            "Another machine, another day: rates differ, the order should not. How large a difference is depends on \
             processors and disk, too."
                .to_string(),
        ));
        if findings.as_published() {
            blocks.push(Block::Note(words::FEW_NOTE.to_string()));
        }
    }
    if !study.changes.is_empty() {
        let title =
            if findings.as_published() { "What the corrected variant changes" } else { "What was changed, and why" };
        blocks.push(Block::Heading(title.to_string()));
        blocks.push(Block::List(study.changes.iter().map(|text| capitalised(text)).collect()));
    }
    Some(Section { id: Id::Published, title: "Compared with the original".to_string(), blocks })
}

fn reproduced_row(findings: &Findings<'_>, one: &Reproduced) -> Vec<TableCell> {
    let published = &one.published;
    let series = findings.study.contenders.iter().position(|c| c.label == published.contender);
    let name = TableCell { series, ..TableCell::new(&published.contender) };
    let (metric, theirs, ours) = match &one.metric {
        Some(metric) => {
            let ours = one.ours.as_ref().map_or(TableCell::muted("not run"), |ours| words::estimate(metric, ours));
            (metric.label(), metric.show(published.value), ours)
        }
        None => (published.metric.clone(), published.value.to_string(), TableCell::muted(NOTHING)),
    };
    let ratio = words::ratio(None, one.ratio, None);
    let is_bound = one.ratio.is_some() && one.ours.as_ref().is_some_and(|ours| ours.at_least);
    let ratio = if is_bound { TableCell { text: format!("at least {}", ratio.text), ..ratio } } else { ratio };
    vec![name, TableCell::new(&published.condition), TableCell::new(metric), TableCell::new(theirs), ours, ratio]
}
