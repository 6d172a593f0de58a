//! Settings that connections reported: a table chosen by the study, and the differences in words.

use crate::analysis::Findings;
use crate::analysis::plain::Readback;
use crate::analysis::reported;
use crate::report::content::words::{self, NOTHING};
use crate::report::document::{Block, Cell as TableCell, Said, Table, Tone};
use std::collections::BTreeMap;

/// The answers in words: each setting in which contenders differ, with the contenders of each value.
pub fn answers(findings: &Findings<'_>) -> Vec<Block> {
    let asked = findings.study.readbacks.iter().filter_map(|table| Some((table, table.ask.as_ref()?)));
    asked
        .map(|(table, ask)| {
            let said = |text: String| Said { condition: None, text, tone: Tone::Plain };
            Block::Answer { ask: ask.clone(), said: in_words(findings, table).into_iter().map(said).collect() }
        })
        .collect()
}

fn in_words(findings: &Findings<'_>, table: &Readback) -> Vec<String> {
    let mut same = vec![];
    let mut lines = vec![];
    let mut by_few = vec![];
    for name in &table.names {
        let mut who: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        let found = reported::readback(findings, name);
        let (all, reporters) = (found.len(), found.iter().flatten().count());
        // If only some contenders report the setting, their number is given.
        let of = if reporters < all { format!(" ({reporters} of {all} {})", report(reporters)) } else { String::new() };
        for (contender, value) in found.into_iter().enumerate() {
            if let Some(value) = value {
                who.entry(value).or_default().push(words::label(findings, contender));
            }
        }
        let mut values: Vec<(String, Vec<&str>)> = who.into_iter().collect();
        // The rarest value first: it is the surprising one.
        values.sort_by_key(|(_, labels)| labels.len());
        match values.pop() {
            None => {}
            Some((value, _)) if values.is_empty() && reporters < all => {
                by_few.push(format!("{name} = {}{of}", shown(&value)))
            }
            Some((value, _)) if values.is_empty() => same.push(format!("{name} = {}", shown(&value))),
            Some((common, rest)) => {
                let who =
                    |(value, labels): &(String, Vec<&str>)| format!("{} with {}", shown(value), words::labels(labels));
                let rare: Vec<String> = values.iter().map(who).collect();
                let others = match rest.len() {
                    1 => format!("with {}", rest[0]),
                    n => format!("with the other {n}"),
                };
                lines.push(format!("{name}{of}: {}; {} {others}.", rare.join("; "), shown(&common)));
            }
        }
    }
    if !same.is_empty() {
        lines.push(format!("The same for all: {}.", same.join(", ")));
    }
    if !by_few.is_empty() {
        lines.push(format!("The same for all that report it: {}.", by_few.join(", ")));
    }
    lines
}

fn report(reporters: usize) -> &'static str {
    if reporters == 1 { "reports it" } else { "report it" }
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "nothing" } else { value }
}

/// The tables themselves.
pub fn tables(findings: &Findings<'_>) -> Vec<Block> {
    let of = |table: &Readback| [Block::Heading(table.about.clone()), Block::Table(filled(findings, table))];
    findings.study.readbacks.iter().flat_map(of).collect()
}

fn filled(findings: &Findings<'_>, wanted: &Readback) -> Table {
    let mut head = vec!["contender", "language", "tier"];
    head.extend(wanted.names.iter().map(String::as_str));
    let mut table = Table::new(&head);
    let columns: Vec<Vec<Option<String>>> =
        wanted.names.iter().map(|name| reported::readback(findings, name)).collect();
    for (index, contender) in findings.study.contenders.iter().enumerate() {
        let mut cells =
            vec![TableCell::new(&contender.label).series(index), TableCell::new(&contender.resolved.language)];
        // The tier of the settings as found, which may differ from the assumed tier of a contender without settings.
        cells.push(
            reported::tier_reported(findings, index)
                .map_or(TableCell::muted(NOTHING), |tier| TableCell::new(tier.word())),
        );
        cells.extend(columns.iter().map(|column| match &column[index] {
            Some(value) => TableCell::new(shown(value)),
            None => TableCell::muted(NOTHING),
        }));
        table.row(cells);
    }
    table
}
