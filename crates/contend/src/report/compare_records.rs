//! The comparison of two records, for a terminal.

use crate::analysis::compare_records::{ComparedRow, METHOD, RecordComparison, RecordName};
use crate::report::content::words;
use crate::report::document::{Block, Cell as TableCell, Id, Section, Table};
use crate::report::text::{self, Style};
use crate::stats::precision::Percent;
use crate::stats::verdict::Verdict;

/// For a terminal.
pub fn text(comparison: &RecordComparison, style: Style) -> String {
    let name = |r: &RecordName| format!("{}, {}, {} (contend {})", r.study, r.variant, r.started, r.contend);
    let mut blocks = vec![Block::List(vec![
        format!("A, the baseline: {}", name(&comparison.a)),
        format!("B: {}", name(&comparison.b)),
    ])];
    blocks.extend(comparison.said_not_sealed.iter().cloned().map(Block::Text));
    if !comparison.differences.is_empty() {
        blocks.push(Block::Text("Not comparable, so there are ratios but no words:".to_string()));
        blocks.push(Block::List(comparison.differences.clone()));
    }
    if !comparison.disturbances.is_empty() {
        blocks.push(Block::Text("Trials of the two records:".to_string()));
        blocks.push(Block::List(comparison.disturbances.clone()));
    }
    if !comparison.changes.is_empty() {
        blocks.push(Block::Text("What differs, so a change may come from it:".to_string()));
        blocks.push(Block::List(comparison.changes.clone()));
    }
    blocks.extend(comparison.hint.clone().map(Block::Text));
    blocks.extend(tables(comparison));
    for (which, only) in [("A", &comparison.only_in_a), ("B", &comparison.only_in_b)] {
        if !only.is_empty() {
            blocks.push(Block::Heading(format!("Only in {which}")));
            blocks.push(Block::List(only.clone()));
        }
    }
    blocks.push(Block::Note(METHOD.to_string()));
    text::render_section(&Section { id: Id::Other("compare"), title: "B against A".to_string(), blocks }, style)
}

/// Whether both values may be printed.
fn shows_both(row: &ComparedRow) -> bool {
    row.value_a.is_some() && row.value_b.is_some()
}

/// One table per condition.
fn tables(comparison: &RecordComparison) -> Vec<Block> {
    let mut blocks = vec![];
    for rows in comparison.rows.chunk_by(|x, y| x.condition == y.condition) {
        let mut table = Table::new(&["contender", "figure", "A|", "B|", "B / A|", "verdict"]);
        for row in rows {
            let c = &row.comparison;
            let word = match &c.verdict {
                Verdict::NotComparable(reason) if comparison.differences.is_empty() => {
                    TableCell::new("not comparable").small(reason)
                }
                Verdict::NotComparable(_) => TableCell::new("not comparable"),
                word => match c.minimum_detectable_effect {
                    Some(effect) => TableCell::new(word.to_string()).small(format!("detectable: {}", Percent(effect))),
                    None => TableCell::new(word.to_string()),
                },
            };
            let shown = row.estimates.each_ref().map(|estimate| words::estimate(&row.of, estimate));
            let plain = |cell: &TableCell| TableCell::new(&cell.text);
            table.row([
                TableCell::new(&row.label),
                TableCell::new(&row.metric),
                plain(&shown[0]),
                plain(&shown[1]),
                // Values that are not shown have no ratio.
                if shows_both(row) { words::ratio(c.low, c.ratio, c.high) } else { TableCell::muted(words::NOTHING) },
                word.tone(words::tone(&c.verdict)),
            ]);
        }
        blocks.extend(Some(&rows[0].condition).filter(|label| !label.is_empty()).cloned().map(Block::Heading));
        blocks.push(Block::Table(table));
    }
    blocks
}
