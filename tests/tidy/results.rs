//! Figures on the pages of studies: a table of them is written by a script from records, between the marks of that
//! script, so that no figure is copied by hand.

use super::source::{assert_none, files, root, shown};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// Tables by hand: `FILE: HEAD`, and why no record of contend has their figures. This list may only get shorter.
const BY_HAND: &[(&str, &str)] = &[
    ("docs/study-durability.md: | setting | power cut | process crash |", "a prototype, from before contend"),
    ("docs/study-go-drivers.md: | what | failed |", "programs with libraries of 2021"),
    (
        "docs/study-languages.md: | SQLite built | lock waits (voluntary switches) per operation | operations in 0.7 s |",
        "a program in C, with three builds of SQLite",
    ),
    (
        "docs/study-languages.md: | driver | one client | eight threads of one process | eight processes with one client each |",
        "processor time of runs that were made for it, in no study",
    ),
    (
        "docs/study-languages.md: | | point read, 1 client | WordPress's public mix, 8 clients |",
        "a quick run whose record is gone; the study has no published figures, so its page has no marks",
    ),
];

/// Tables outside generated blocks: head and cells of the body.
fn tables(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = vec![];
    let (mut generated, mut inside) = (false, false);
    for line in text.lines().map(str::trim) {
        generated = generated && !line.ends_with(": end -->") || line.ends_with(": begin -->");
        let is_row = line.starts_with('|') && !generated;
        match (is_row, inside) {
            (true, false) => found.push((line.to_string(), vec![])),
            (true, true) if !line.starts_with("|---") => {
                let cells = line.trim_matches('|').split(" | ").skip(1).map(|cell| cell.trim().to_string());
                found.last_mut().expect("begun").1.extend(cells);
            }
            _ => {}
        }
        inside = is_row;
    }
    found
}

/// Whether most cells after the first column are figures.
fn is_of_figures(cells: &[String]) -> bool {
    let figures = cells.iter().filter(|cell| cell.trim_start_matches('*').starts_with(|c: char| c.is_ascii_digit()));
    figures.count() * 2 > cells.iter().filter(|cell| !cell.is_empty()).count()
}

fn by_hand(text: &str) -> Vec<String> {
    tables(text).into_iter().filter(|(_, cells)| is_of_figures(cells)).map(|(head, _)| head).collect()
}

#[test]
fn tables_of_figures_are_generated() {
    let mut found = BTreeSet::new();
    for path in files(&root().join("docs"), &[".md"]) {
        let name = shown(&path);
        if name.contains("study-") {
            let text = fs::read_to_string(&path).expect("readable");
            found.extend(by_hand(&text).into_iter().map(|head| format!("{name}: {head}")));
        }
    }
    let listed: BTreeSet<String> = BY_HAND.iter().map(|(table, _)| table.to_string()).collect();
    let new = found
        .difference(&listed)
        .map(|table| format!("{table}: figures without the marks of a script that wrote them"));
    let gone = listed.difference(&found).map(|table| format!("{table}: is no longer there; remove it from the list"));
    assert_none(new.chain(gone).collect());
}

#[test]
fn a_table_by_hand_is_seen() {
    let table = "| what | a | b |\n|---|---|---|\n| x | 1.5 | 2 ms |\n| y | 3 | - |\n";
    assert_eq!(by_hand(table), ["| what | a | b |"]);
    assert!(by_hand(&format!("<!-- results: begin -->\n\n{table}\n<!-- results: end -->\n")).is_empty());
    assert!(by_hand("| part | what |\n|---|---|\n| `go` | the six drivers |\n").is_empty());
}

#[test]
fn pages_are_what_their_figures_make_them() {
    let said =
        Command::new(root().join("scripts/update-results.sh")).arg("--check").output().expect("python3 is there");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}
