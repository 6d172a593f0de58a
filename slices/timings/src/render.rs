//! Prints a comparison of CSV timings as a table for a terminal.

use super::model::{CsvComparison, GroupComparison, Method};
use contend::report::content::words::tone;
use contend::report::document::{Block, Cell, Table};
use contend::report::text::{Style, render_block, wrapped};
use contend_stats::precision::{Change, Percent, counted};
use contend_stats::verdict::{Direction, ROUNDS_MAX, Verdict};
use std::collections::BTreeMap;

/// The table, the summary and the unused lines, ending with a line break.
pub fn render_text(result: &CsvComparison, style: Style) -> String {
    let line = |text: &str| wrapped(text, ["", ""], style);
    let within = |text: &str| wrapped(text, ["  ", "    "], style);
    let mut text = line(&heading(result)) + &render_block(&Block::Table(table(result)), style);
    text += &format!("\n{}", line(&result.summary));
    notes(result).iter().for_each(|note| text += &within(note));
    if result.comment_lines > 0 {
        let skipped = format!("Skipped: {} that begin with #", counted(result.comment_lines, "line"));
        text += &format!("\n{}", line(&skipped));
    }
    if !result.unused_lines.is_empty() {
        text += &format!("\nLines not used: {}\n", result.unused_lines.len());
    }
    for unused in &result.unused_lines {
        let group = unused.group.as_ref().map_or(String::new(), |group| format!("{group}, "));
        text += &within(&format!("line {}: {group}{}: {}", unused.line, unused.variant, unused.reason));
    }
    text
}

fn heading(result: &CsvComparison) -> String {
    let better = match result.direction {
        Direction::LowerIsBetter => "lower is better",
        Direction::HigherIsBetter => "higher is better",
    };
    let (value, baseline, margin) = (&result.value_column, &result.baseline, Percent(result.margin));
    format!("`{value}` against `{baseline}`; {better}, margin {margin}")
}

fn table(result: &CsvComparison) -> Table {
    let baseline = format!("{}|", result.baseline);
    let columns = ["variant", &baseline, "variant's|", "change|", "95 % interval|", "verdict"];
    let group = result.group_column.as_deref();
    let mut table = Table::new(&group.into_iter().chain(columns).collect::<Vec<_>>());
    for one in &result.comparisons {
        let group = group.map(|_| Cell::new(one.group.as_deref().unwrap_or_default()));
        table.row(group.into_iter().chain(cells(one)));
    }
    table
}

fn cells(one: &GroupComparison) -> [Cell; 6] {
    let comparison = &one.comparison;
    let change = comparison.ratio.map_or("-".into(), |ratio| Change(ratio).to_string());
    let interval = match (comparison.low, comparison.high) {
        (Some(low), Some(high)) => format!("{} .. {}", Change(low), Change(high)),
        _ => "-".into(),
    };
    let needed = comparison.rounds_needed.map(|rounds| match one.method {
        _ if rounds > ROUNDS_MAX => "too much noise, or too small a difference".to_string(),
        Method::Pairs => format!("needs about {rounds} pairs"),
        _ => format!("needs about {rounds} runs of each"),
    });
    let detectable = comparison.minimum_detectable_effect.map(|effect| format!("detectable: {}", Percent(effect)));
    let remarks: Vec<String> = needed.into_iter().chain(detectable).collect();
    let (base, is) = (one.baseline_arm.median.to_string(), one.variant_arm.median.to_string());
    let verdict = Cell::new(comparison.verdict.to_string()).small(remarks.join("; ")).tone(tone(&comparison.verdict));
    [Cell::new(&one.variant), Cell::new(base), Cell::new(is), Cell::new(change), Cell::new(interval), verdict]
}

/// Why verdicts are missing, and what each method assumes.
fn notes(result: &CsvComparison) -> Vec<String> {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for one in &result.comparisons {
        if let Some(why) = &one.why {
            let word = if one.comparison.verdict == Verdict::NoWords { "no words" } else { "cannot tell" };
            *reasons.entry(format!("{word}: {why}")).or_default() += 1;
        }
    }
    let all = result.comparisons.len();
    let count =
        |(reason, times): (String, usize)| if times == all { reason } else { format!("{reason} ({times} of {all})") };
    let mut notes: Vec<String> = reasons.into_iter().map(count).collect();
    let uses = |method: Method| result.comparisons.iter().any(|one| one.method == method);
    if let (true, Some(column)) = (uses(Method::Pairs), &result.pair_column) {
        notes.push(format!("paired by column `{column}`: right only if lines of a pair were run together"));
    }
    if uses(Method::UnpairedRuns) {
        notes.push(
            "unpaired runs: right only if the variants took turns; run one after the other, the hour differs too"
                .into(),
        );
    }
    notes
}
