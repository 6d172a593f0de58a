//! Findings on the live screen: the first in full, with evidence and what to change; others in full while there is room,
//! else by their titles.

use crate::lines::{parts, wrapped};
use crate::words::Words;
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;

/// Columns of the panel, and most rows.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

/// Lines of the findings, at most `size.rows`. `none` stands for no finding. What was not seen comes last, if there is room.
pub fn lines(found: &[&Words], missing: &[String], none: &str, size: Size) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'_>> = vec![];
    let all: Vec<[Vec<String>; 3]> = found.iter().map(|words| in_full(words, size.columns)).collect();
    // Only then are there more to choose from.
    let is_cut = found.len() > 1 && all.iter().flatten().map(Vec::len).sum::<usize>() > size.rows;
    let rows = size.rows.saturating_sub(usize::from(is_cut));
    for (at, [title, evidence, change]) in all.into_iter().enumerate() {
        let (room, after) = (rows.saturating_sub(lines.len()), found.len() - at - 1);
        // Of each of the others there is a title at least.
        let is_whole = at == 0 || title.len() + evidence.len() + change.len() + after <= room;
        let others = if is_whole { within(evidence, change, room.saturating_sub(title.len())) } else { vec![] };
        let title = if is_whole { title } else { vec![first_line(&title, size.columns)] };
        lines.extend(title.into_iter().map(|line| Line::styled(line, BOLD)).take(room));
        lines.extend(others.into_iter().map(Line::raw));
    }
    if is_cut {
        lines.push(Line::raw(format!("{} findings. Down: the next one in full; f: without the table.", found.len())));
    }
    let mut texts = vec![];
    if found.is_empty() {
        texts.push(none.to_string());
    }
    if !missing.is_empty() {
        texts.push(format!("Not seen: {}.", missing.join("; ")));
    }
    let texts = texts.iter().map(|text| wrapped(text, "", "  ", size.columns));
    lines.extend(texts.flat_map(|text| text.lines().map(|line| Line::raw(line.to_string())).collect::<Vec<_>>()));
    lines.truncate(size.rows);
    lines
}

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// Title, evidence and change of a finding.
fn in_full(words: &Words, columns: usize) -> [Vec<String>; 3] {
    parts(words, columns).map(|part| part.lines().map(str::to_string).collect())
}

/// The first line of a title, with a mark if it has others.
fn first_line(title: &[String], columns: usize) -> String {
    const MARK: &str = " ...";
    let [first, _, ..] = title else { return title.concat() };
    let kept: String = first.chars().take(columns.saturating_sub(MARK.len())).collect();
    kept.trim_end().to_string() + MARK
}

/// Evidence and change in this many lines. If there are too few, the evidence is cut: what to change stays.
fn within(mut evidence: Vec<String>, change: Vec<String>, rows: usize) -> Vec<String> {
    if evidence.len() + change.len() > rows {
        evidence.truncate(rows.saturating_sub(change.len()));
        if let Some(last) = evidence.last_mut() {
            *last = "  ... (f: all of the evidence)".to_string();
        }
    }
    evidence.into_iter().chain(change).take(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_that_is_cut_has_a_mark() {
        let title = |text: &str| text.split('|').map(str::to_string).collect::<Vec<_>>();
        assert_eq!(first_line(&title("It is short."), 20), "It is short.");
        assert_eq!(first_line(&title("It is a long|title"), 20), "It is a long ...");
        assert_eq!(first_line(&title("It is a longer title|of two lines"), 20), "It is a longer t ...");
    }
}
