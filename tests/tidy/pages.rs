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

/// A row that is wrapped is none: its other lines are shown as text below the table.
#[test]
fn rows_of_tables_are_whole() {
    let mut problems = vec![];
    for (path, text) in pages() {
        let is_cut = |line: &str| line.trim().starts_with('|') && !line.trim().ends_with('|');
        for (number, _) in prose(&text).filter(|(_, line)| is_cut(line)) {
            problems.push(format!("{}:{number}: the row of a table goes on in another line", shown(&path)));
        }
    }
    assert_none(problems);
}

/// Examples of `--help` stand on lines of their own, which a terminal of 80 columns would break.
#[test]
fn examples_of_help_fit_a_narrow_terminal() {
    let (mut problems, mut seen) = (vec![], 0);
    for path in files(&root(), &[".rs"]) {
        let text = fs::read_to_string(&path).expect("readable");
        for (at, line) in text.lines().enumerate().filter(|(_, line)| line.starts_with("  contend ")) {
            let line = line.trim_end_matches(")]").trim_end_matches('"').replace("\\\"", "\"");
            seen += 1;
            if line.chars().count() > 80 {
                problems.push(format!("{}:{}: {} characters", shown(&path), at + 1, line.chars().count()));
            }
        }
    }
    assert!(seen > 50, "only {seen} examples were found");
    assert_none(problems);
}

/// Every test of a file with its modules, such as `tests::run::explain::an_error_is_explained`.
fn tests_of(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("readable");
    let module = shown(path).trim_end_matches(".rs").trim_end_matches("/mod").replace('/', "::");
    // `pasted_tests.rs` is `pasted::tests` where `pasted.rs` says so.
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let owner = path.with_file_name(file.replace("_tests.rs", ".rs"));
    let is_inside = fs::read_to_string(owner).is_ok_and(|text| text.contains(&format!("#[path = \"{file}\"]")));
    let module = if is_inside { module.replace("_tests", "::tests") } else { module };
    let (mut inner, mut is_test, mut found) = ("", false, vec![]);
    for line in text.lines() {
        inner = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(" {")).unwrap_or(inner);
        is_test |= line.trim() == "#[test]";
        let name = line.trim_start().strip_prefix("fn ").and_then(|rest| rest.split('(').next());
        if let Some(name) = name.filter(|_| std::mem::take(&mut is_test)) {
            let inner = if inner.is_empty() { String::new() } else { format!("{inner}::") };
            found.push(format!("{module}::{inner}{name}"));
        }
    }
    found
}

/// Directory of a package, as modules: `slices::timings::`.
fn directory_of(package: &str) -> Option<String> {
    let name = format!("name = \"{package}\"");
    let is_its = |path: &&PathBuf| fs::read_to_string(path).is_ok_and(|text| text.lines().any(|line| line == name));
    let manifests = files(&root(), &["Cargo.toml"]);
    let manifest = manifests.iter().find(is_its)?;
    Some(shown(manifest).trim_end_matches("Cargo.toml").replace('/', "::"))
}

/// Whether a command such as `cargo test --test run explain::an_error` runs one of these tests.
fn runs_one(command: &str, tests: &[String]) -> bool {
    let words: Vec<&str> = command.split(' ').collect();
    let after = |option: &str| words.iter().position(|word| *word == option).and_then(|at| words.get(at + 1));
    let package = after("-p").map_or(Some(String::new()), |package| directory_of(package));
    let target = after("--test").map_or(String::new(), |target| format!("tests::{target}::"));
    let filter = words.last().copied().unwrap_or_default();
    let below = package.map(|package| format!("{package}{target}"));
    let of_target =
        |test: &String| below.as_ref().and_then(|below| test.strip_prefix(below.as_str()).map(str::to_string));
    tests.iter().filter_map(of_target).any(|test| test.contains(filter))
}

/// The page of what was found names a test for each row, and each of them exists in that module.
#[test]
fn tests_that_hold_what_was_found_exist() {
    let page = fs::read_to_string(root().join("docs/attacks.md")).expect("the page");
    let tests: Vec<String> = files(&root(), &[".rs"]).iter().flat_map(|path| tests_of(path)).collect();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| what")).collect();
    let mut problems = vec![];
    for row in &rows {
        let commands: Vec<&str> = row.split('`').filter(|quoted| quoted.starts_with("cargo test ")).collect();
        if commands.is_empty() {
            problems.push(format!("no test holds {row}"));
        }
        let missing = commands.into_iter().filter(|command| !runs_one(command, &tests));
        problems.extend(missing.map(|command| format!("docs/attacks.md: no test for `{command}`")));
    }
    assert!(rows.len() >= 19 + 5 + 3 + 6 + 8 + 11 + 8 + 9 + 5 + 11, "{rows:#?}");
    assert_none(problems);
}
