//! Settings as connections reported them: those in which the contenders of an engine differ, and those that they share.

use crate::analysis::Findings;
use crate::analysis::reported;
use crate::report::content::evidence;
use crate::report::content::words::{self, NOTHING};
use crate::report::document::{Block, Cell as TableCell, Id, Section, Table};
use std::collections::{BTreeMap, BTreeSet};

/// Most contenders that are columns of a table of settings. With more, each value is listed with its contenders.
const BESIDE_MAX: usize = 6;

const ABOUT: &str = "Read back from every connection, not taken from what was asked for; a connection that reports anything else \
    makes its trial invalid.";

/// Settings of one contender, with every value that any of its trials had.
type Read = BTreeMap<String, BTreeSet<String>>;

pub fn section(findings: &Findings<'_>) -> Section {
    let contenders = &findings.study.contenders;
    let mut blocks = vec![Block::Text(ABOUT.to_string()), Block::Table(tiers(findings))];
    let engines = of_engines(findings);
    for (engine, of_it) in &engines {
        if engines.len() > 1 {
            blocks.push(Block::Heading((*engine).to_string()));
        }
        blocks.extend(in_blocks(of_it));
    }
    blocks.push(Block::Heading("Full names".to_string()));
    blocks.push(Block::List(contenders.iter().map(|c| format!("{}: {}", c.label, c.name)).collect()));
    Section { id: Id::Other("settings"), title: "Settings, read back".to_string(), blocks }
}

/// The tier of each contender, and how it is known.
fn tiers(findings: &Findings<'_>) -> Table {
    let mut table = Table::new(&["contender", "tier", "known how"]);
    for (index, contender) in findings.study.contenders.iter().enumerate() {
        table.row([
            TableCell::new(&contender.label).series(index),
            TableCell::new(contender.tier.word()),
            evidence::cell(findings, index),
        ]);
    }
    table
}

/// Each engine with its contenders that reported settings, in the order of the study.
fn of_engines<'s>(findings: &'s Findings<'_>) -> Vec<(&'s str, Vec<Contender<'s>>)> {
    let mut engines: Vec<(&str, Vec<Contender<'_>>)> = vec![];
    for (index, contender) in findings.study.contenders.iter().enumerate() {
        let contender_read =
            Contender { label: words::label(findings, index), read: reported::settings(findings, index) };
        match engines.iter_mut().find(|(engine, _)| *engine == contender.engine) {
            _ if contender_read.read.is_empty() => {}
            Some((_, of_it)) => of_it.push(contender_read),
            None => engines.push((&contender.engine, vec![contender_read])),
        }
    }
    engines
}

/// Settings of a contender as read back.
struct Contender<'s> {
    label: &'s str,
    read: Read,
}

impl Contender<'_> {
    /// All values of a setting; `None` if no connection reported it.
    fn value(&self, name: &str) -> Option<String> {
        self.read.get(name).map(|values| values.iter().map(String::as_str).collect::<Vec<_>>().join("; "))
    }
}

/// The settings that differ as a table, then the others.
fn in_blocks(contenders: &[Contender<'_>]) -> Vec<Block> {
    let names: BTreeSet<&str> = contenders.iter().flat_map(|c| c.read.keys()).map(String::as_str).collect();
    let is_same = |name: &&str| contenders.iter().all(|c| c.value(name) == contenders[0].value(name));
    let (same, differing): (Vec<&str>, Vec<&str>) = names.into_iter().partition(is_same);
    let mut blocks = vec![];
    if !differing.is_empty() {
        let table = if contenders.len() <= BESIDE_MAX { beside } else { by_value };
        blocks.push(Block::Table(table(contenders, &differing)));
    }
    if !same.is_empty() {
        let counted = words::counted(same.len(), "setting");
        let title = match contenders {
            [only] => format!("{counted} of {}", only.label),
            all => format!("{counted}, the same for all {}", all.len()),
        };
        let shown = |name: &&str| format!("{name} = {}", contenders[0].value(name).unwrap_or_default());
        blocks.push(Block::Folded(title, same.iter().map(shown).collect()));
    }
    blocks
}

/// A row for each setting, a column for each contender.
fn beside(contenders: &[Contender<'_>], names: &[&str]) -> Table {
    let titles: Vec<&str> = std::iter::once("setting").chain(contenders.iter().map(|c| c.label)).collect();
    let mut table = Table::new(&titles);
    for name in names {
        let value = |c: &Contender<'_>| c.value(name).map_or(TableCell::muted(NOTHING), TableCell::new);
        table.row(std::iter::once(TableCell::new(*name)).chain(contenders.iter().map(value)));
    }
    table
}

/// A row for each value of a setting, with its contenders.
fn by_value(contenders: &[Contender<'_>], names: &[&str]) -> Table {
    let mut table = Table::new(&["setting", "value", "contenders"]);
    for name in names {
        let mut values: Vec<(Option<String>, Vec<&str>)> = vec![];
        for contender in contenders {
            let value = contender.value(name);
            match values.iter_mut().find(|(known, _)| *known == value) {
                Some((_, labels)) => labels.push(contender.label),
                None => values.push((value, vec![contender.label])),
            }
        }
        for (at, (value, labels)) in values.into_iter().enumerate() {
            let name = if at == 0 { TableCell::new(*name) } else { TableCell::new("") };
            let value = value.map_or(TableCell::muted(NOTHING), TableCell::new);
            // Labels may hold commas.
            table.row([name, value, TableCell::new(labels.join("; "))]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::document::Row;

    fn contender<'s>(label: &'s str, settings: &[(&str, &str)]) -> Contender<'s> {
        let read =
            settings.iter().map(|(name, value)| (name.to_string(), BTreeSet::from([value.to_string()]))).collect();
        Contender { label, read }
    }

    /// Titles and cells of a table, row by row.
    fn texts(table: &Table) -> Vec<Vec<String>> {
        let cells = |row: &Row| match row {
            Row::Cells(cells) => cells.iter().map(|cell| cell.text.clone()).collect(),
            Row::Group(name, _) => vec![name.clone()],
        };
        let titles = table.head.iter().map(|head| head.title.clone()).collect();
        std::iter::once(titles).chain(table.rows.iter().map(cells)).collect()
    }

    #[test]
    fn settings_are_rows_and_what_all_share_is_folded() {
        let some = [
            contender("A", &[("mode", "wal"), ("page", "4096"), ("sync", "2")]),
            contender("B", &[("mode", "wal"), ("page", "4096"), ("sync", "1"), ("threads", "4")]),
        ];
        let blocks = in_blocks(&some);
        let [Block::Table(table), Block::Folded(title, same)] = blocks.as_slice() else { panic!("{blocks:?}") };
        assert_eq!(texts(table), [vec!["setting", "A", "B"], vec!["sync", "2", "1"], vec!["threads", NOTHING, "4"]]);
        assert_eq!(title, "2 settings, the same for all 2");
        assert_eq!(same, &["mode = wal", "page = 4096"]);
        let alone = in_blocks(&some[..1]);
        assert!(
            matches!(alone.as_slice(), [Block::Folded(title, same)] if title == "3 settings of A" && same.len() == 3)
        );
    }

    #[test]
    fn many_contenders_are_told_by_value() {
        let labels = ["A", "B", "C", "D", "E", "F", "G"];
        let of = |label: &&'static str| contender(label, &[("mode", if *label == "C" { "delete" } else { "wal" })]);
        let blocks = in_blocks(&labels.iter().map(of).collect::<Vec<_>>());
        let [Block::Table(table)] = blocks.as_slice() else { panic!("{blocks:?}") };
        let rows = [["setting", "value", "contenders"], ["mode", "wal", "A; B; D; E; F; G"], ["", "delete", "C"]];
        assert_eq!(texts(table), rows);
    }
}
