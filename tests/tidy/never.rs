//! What parts of the house must not know: the list "never" of `docs/architecture.md`.

use super::source::{bare, code, files, is_test_file, nothing_breaks, paths, root, shown, tool_files};
use std::collections::BTreeSet;
use std::path::Path;

/// What each room must not know of the tool, and why.
const NEVER: &[(&str, &[&str], &str)] = &[
    (
        "report",
        &["check", "engine", "operation", "record", "study", "trial", "workload"],
        "a report is a function of findings alone",
    ),
    ("analysis", &["engine", "trial", "workload"], "findings follow from a record alone"),
    ("workload", &["study"], "what is done does not depend on what is asked of it"),
    ("study", &["workload"], "what is asked does not depend on what is done"),
    ("record", &["analysis", "engine", "trial", "workload"], "a record carries its own meaning"),
];

/// Parts of the room `study` that read study files. A record knows the room's plain types only.
const READING: &[&str] = &["file", "axis", "edition", "questions", "grid", "parts", "label", "spec"];

/// Languages of workers. An engine is a product; its drivers are data of their workers.
const LANGUAGES: &[&str] = &["cgo", "go", "java", "node", "php", "python", "rust", "tokio"];

/// Rooms that decide nothing on the wording of a message. `engine` and `trial` read what other programs print.
const WITHOUT_WORDING: &[&str] = &["analysis", "check", "cli", "record", "report", "stats", "study", "ui", "workload"];

/// Ways to look for a text.
const LOOKS: &[&str] =
    &["contains(\"", "starts_with(\"", "ends_with(\"", "split_once(\"", "find(\"", "split(\"", "strip_prefix(\""];

/// Modules of the tool that a file names, to the second: `study`, `study::axis`.
fn named(path: &Path) -> BTreeSet<String> {
    let text = bare(&code(path));
    let mut found = BTreeSet::new();
    for path in paths(&text).iter().filter(|path| path.len() > 1 && path[0] == "crate") {
        found.insert(path[1].clone());
        found.extend(path.get(2).map(|second| format!("{}::{second}", path[1])));
    }
    found
}

#[test]
fn no_room_knows_what_it_never_may() {
    let mut found = BTreeSet::new();
    for (room, path) in &tool_files() {
        let door = |other: &str| super::DOORS.iter().any(|(file, to, _)| path.ends_with(file) && *to == other);
        let named: BTreeSet<String> = named(path).into_iter().filter(|name| !door(name)).collect();
        for (_, never, _) in NEVER.iter().filter(|(of, ..)| of == room) {
            found
                .extend(never.iter().filter(|other| named.contains(**other)).map(|other| format!("{room} -> {other}")));
        }
        if room == "record" {
            let reading = READING.iter().map(|part| format!("study::{part}"));
            found.extend(reading.filter(|part| named.contains(part)).map(|part| format!("record -> {part}")));
        }
    }
    nothing_breaks("is never allowed; NEVER in tests/tidy/never.rs says why", &found);
}

/// Names of the types that a file of the room `record` defines.
fn types_of_records() -> BTreeSet<String> {
    let files = ["model.rs", "evidence.rs"].map(|file| root().join("crates/contend/src/record").join(file));
    let texts = files.map(|path| code(&path));
    let named = |text: &str, word: &str| -> Vec<String> {
        let rest = text.split(word).skip(1);
        rest.map(|rest| rest.chars().take_while(|c| c.is_alphanumeric()).collect()).collect()
    };
    texts.iter().flat_map(|text| ["\npub struct ", "\npub enum "].map(|word| named(text, word))).flatten().collect()
}

/// A report gets values, not parts of a record: neither under another name nor as fields of findings.
#[test]
fn analysis_hands_no_type_of_a_record_to_reports() {
    let types = types_of_records();
    assert!(types.contains("Trial") && types.contains("KnownTier"), "{types:?}");
    let mut found = BTreeSet::new();
    for path in files(&root().join("crates/contend/src/analysis"), &[".rs"]).iter().filter(|path| !is_test_file(path)) {
        let text = bare(&code(path));
        let hands = |line: &&str| line.starts_with("pub use ") || line.starts_with("pub ") && line.ends_with(',');
        for line in text.lines().map(str::trim).filter(hands).filter(|line| !line.contains("fn ")) {
            let words = line.split(|c: char| !c.is_alphanumeric());
            found.extend(words.filter(|word| types.contains(*word)).map(str::to_string));
        }
    }
    nothing_breaks("is a type of a record, which a report never sees: hand over what it says", &found);
}

#[test]
fn an_engine_knows_no_language() {
    let engine = files(&root().join("crates/contend/src/engine"), &[".rs"]);
    let mut found = BTreeSet::new();
    for path in engine.iter().filter(|path| !is_test_file(path)) {
        // The manifests' places are the one exception.
        for line in code(path).lines().filter(|line| !line.contains("include_str!")) {
            let words = line.split(|c: char| !c.is_alphanumeric()).map(str::to_ascii_lowercase);
            let language = words.into_iter().find(|word| LANGUAGES.contains(&word.as_str()));
            found.extend(language.map(|word| format!("{}: {word}", shown(path))));
        }
    }
    nothing_breaks("drivers are data of workers (worker.toml), not of engines", &found);
}

#[test]
fn a_worker_reads_neither_sql_nor_addresses() {
    const ENDINGS: &[&str] = &[".go", ".java", ".js", ".php", ".py", ".rs"];
    let reads = |path: &Path| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
        ["address", "sqltext", "statements"].contains(&stem.as_str())
    };
    let places = ["workers", "crates/contend-worker/src"];
    let found = places.iter().flat_map(|place| files(&root().join(place), ENDINGS)).filter(|path| reads(path));
    nothing_breaks("the plan says it", &found.map(|path| shown(&path)).collect());
}

/// Words of English: small letters on a side of a space.
fn is_wording(text: &str) -> bool {
    let mut before = ['.'; 3];
    text.chars().chain(['.']).any(|c| {
        let [a, b, space] = before;
        before = [b, space, c];
        space == ' ' && (a.is_lowercase() && b.is_lowercase() || c.is_lowercase())
    })
}

#[test]
fn nothing_is_decided_on_wording() {
    let mut found = BTreeSet::new();
    for (_, path) in tool_files().iter().filter(|(room, _)| WITHOUT_WORDING.contains(&room.as_str())) {
        let code = code(path);
        for rest in LOOKS.iter().flat_map(|look| code.split(look).skip(1)) {
            let text = rest.split('"').next().unwrap_or_default();
            if is_wording(text) {
                found.insert(format!("{}: {text}", shown(path)));
            }
        }
    }
    nothing_breaks("a decision needs a value, not the wording of a message", &found);
}

#[test]
fn wording_is_words() {
    for (text, expected) in
        [("it takes", true), ("unknown ", true), (", ", false), ("INTEGER PRIMARY", false), ("axes.", false)]
    {
        assert_eq!(is_wording(text), expected, "{text}");
    }
}
