//! Prints a comparison of CSV timings as a table for a terminal.

use super::model::{CsvComparison, GroupComparison, Method};
use contend_stats::precision::{Change, Percent, counted};
use contend_stats::verdict::{Direction, ROUNDS_MAX, Verdict};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The table, the summary and the unused lines, ending with a line break.
pub fn render_text(result: &CsvComparison) -> String {
    let mut text = heading(result);
    text.push_str(&table(result));
    let _ = write!(text, "\n{}\n", result.summary);
    for note in notes(result) {
        let _ = writeln!(text, "  {note}");
    }
    if result.comment_lines > 0 {
        let _ = writeln!(text, "\nSkipped: {} that begin with #", counted(result.comment_lines, "line"));
    }
    if !result.unused_lines.is_empty() {
        let _ = writeln!(text, "\nLines not used: {}", result.unused_lines.len());
    }
    for line in &result.unused_lines {
        let group = line.group.as_ref().map_or(String::new(), |group| format!("{group}, "));
        let _ = writeln!(text, "  line {}: {group}{}: {}", line.line, line.variant, line.reason);
    }
    text
}

fn heading(result: &CsvComparison) -> String {
    let better = match result.direction {
        Direction::LowerIsBetter => "lower is better",
        Direction::HigherIsBetter => "higher is better",
    };
    let (value, baseline, margin) = (&result.value_column, &result.baseline, Percent(result.margin));
    format!("`{value}` against `{baseline}`; {better}, margin {margin}\n\n")
}

fn table(result: &CsvComparison) -> String {
    let group = result.group_column.clone().unwrap_or_default();
    let mut rows = vec![[
        group,
        "variant".into(),
        result.baseline.clone(),
        "variant's".into(),
        "change".into(),
        "95 % interval".into(),
        "verdict".into(),
    ]];
    rows.extend(result.comparisons.iter().map(cells));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..7).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate().filter(|&(column, _)| widths[column] > 0) {
            let width = widths[column];
            // Numbers are right-aligned, words left-aligned.
            let _ = if (2..6).contains(&column) {
                write!(line, "{cell:>width$}  ")
            } else {
                write!(line, "{cell:<width$}  ")
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn cells(one: &GroupComparison) -> [String; 7] {
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
    let remarks = if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join("; ")) };
    let (base, is) = (one.baseline_arm.median.to_string(), one.variant_arm.median.to_string());
    let group = one.group.clone().unwrap_or_default();
    [group, one.variant.clone(), base, is, change, interval, format!("{}{remarks}", comparison.verdict)]
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
