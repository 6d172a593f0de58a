//! The pages: links lead to a heading that exists, guides name sources that exist, lines are wrapped.

use super::source::{assert_none, files, root, shown};
use std::collections::BTreeSet;
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

/// Pages that lead through the sources.
const GUIDES: [&str; 4] = ["CONTRIBUTING.md", "docs/architecture.md", "docs/tour.md", "slices/README.md"];

/// Endings of sources.
const SOURCES: [&str; 4] = [".go", ".py", ".rs", ".sh"];

/// `crew.rs`, `workers/crew.rs` and `report/html/` are a file and a folder anywhere that end so.
fn exists(name: &str, sources: &[String]) -> bool {
    let inside = format!("/{name}");
    match name.ends_with('/') {
        true => root().join(name).is_dir() || sources.iter().any(|path| path.contains(&inside)),
        false => sources.iter().any(|path| path == name || path.ends_with(&inside)),
    }
}

#[test]
fn sources_that_a_guide_names_exist() {
    let sources: Vec<String> = files(&root(), &SOURCES).iter().map(|path| shown(path)).collect();
    let (mut problems, mut seen) = (vec![], 0);
    for guide in GUIDES {
        let text = fs::read_to_string(root().join(guide)).expect("readable");
        let text: String = prose(&text).map(|(_, line)| format!("{line}\n")).collect();
        let is_name = |name: &&str| SOURCES.iter().any(|ending| name.ends_with(ending)) || name.ends_with('/');
        for name in text.split('`').skip(1).step_by(2).filter(is_name) {
            seen += 1;
            if !exists(name, &sources) {
                problems.push(format!("{guide}: names {name}, which does not exist"));
            }
        }
    }
    assert!(seen > 60, "only {seen} names were found");
    assert_none(problems);
}

/// A name of several words in a chapter of the tour, such as a function's, is in one of the files that the chapter names.
#[test]
fn names_in_the_tour_are_in_its_files() {
    let sources: Vec<String> = files(&root(), &SOURCES).iter().map(|path| shown(path)).collect();
    let tour = fs::read_to_string(root().join("docs/tour.md")).expect("readable");
    let (mut problems, mut seen) = (vec![], 0);
    for chapter in tour.split("\n### ").skip(1) {
        let quoted = || chapter.split('`').skip(1).step_by(2);
        let is_named = |path: &&String| quoted().any(|name| exists(name, std::slice::from_ref(path)));
        let read = |path| fs::read_to_string(root().join(path)).expect("readable");
        let text: String = sources.iter().filter(is_named).map(read).collect();
        let words: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let is_name = |name: &&str| name.contains('_') && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        for name in quoted().filter(is_name) {
            seen += 1;
            if !words.contains(name) {
                problems.push(format!("docs/tour.md: `{name}` is in no file of its chapter"));
            }
        }
    }
    assert!(seen > 30, "only {seen} names were found");
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

/// The page of what was found names a test for each row, and each of them exists.
#[test]
fn tests_that_hold_what_was_found_exist() {
    let page = fs::read_to_string(root().join("docs/attacks.md")).expect("the page");
    let sources = files(&root(), &[".rs"]);
    let text = |path: &PathBuf| fs::read_to_string(path).expect("readable");
    let functions: String = sources.iter().map(text).collect();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| what")).collect();
    let mut problems = vec![];
    for row in &rows {
        let commands: Vec<&str> = row.split('`').filter(|quoted| quoted.starts_with("cargo test ")).collect();
        if commands.is_empty() {
            problems.push(format!("no test holds {row}"));
        }
        let name = |command: &str| command.rsplit([' ', ':']).next().unwrap_or_default().to_string();
        let missing = commands.into_iter().filter(|command| {
            let name = name(command);
            name != "tests" && !functions.contains(&format!("fn {name}"))
        });
        problems.extend(missing.map(|command| format!("docs/attacks.md: no test for `{command}`")));
    }
    assert_eq!(rows.len(), 19 + 5 + 3 + 6 + 8, "{rows:#?}");
    assert_none(problems);
}
