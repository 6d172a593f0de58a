//! The pages: links lead to a heading that exists, lines are wrapped.

use super::source::{assert_none, files, root, shown};
use std::fs;
use std::path::{Path, PathBuf};

/// Longest line of a page, in characters, outside tables and code.
const COLUMNS_MAX: usize = 100;

fn pages() -> Vec<(PathBuf, String)> {
    let text = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("readable");
        (path, text)
    };
    files(&root(), &[".md"]).into_iter().map(text).collect()
}

/// Lines outside fenced code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((at + 1, line))
    })
}

/// The anchor of a heading: `## Why, and how?` is `why-and-how`.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

fn has_anchor(page: &Path, wanted: &str) -> bool {
    let text = fs::read_to_string(page).unwrap_or_default();
    prose(&text).any(|(_, line)| line.starts_with('#') && anchor(line) == wanted)
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut problems = vec![];
    for (path, text) in pages() {
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            if ["http://", "https://", "mailto:"].iter().any(|scheme| target.starts_with(scheme)) {
                continue;
            }
            let to = if file.is_empty() { path.clone() } else { path.parent().expect("a folder").join(file) };
            let is_page = to.extension().is_some_and(|ending| ending == "md");
            if !to.exists() || is_page && !heading.is_empty() && !has_anchor(&to, heading) {
                problems.push(format!("{}: links to {target}, which does not exist", shown(&path)));
            }
        }
    }
    assert_none(problems);
}

#[test]
fn pages_are_wrapped() {
    let mut problems = vec![];
    for (path, text) in pages() {
        let is_long = |line: &str| line.chars().count() > COLUMNS_MAX && !line.starts_with("    ");
        for (number, _) in prose(&text).filter(|(_, line)| !line.trim_start().starts_with('|') && is_long(line)) {
            problems.push(format!("{}:{number}: longer than {COLUMNS_MAX} characters", shown(&path)));
        }
    }
    assert_none(problems);
}
