//! What parts of the house must not know: the list "never" of `docs/architecture.md`.

use super::source::{
    bare, code, files, is_test_file, module, nothing_breaks, paths, root, shown, slice_files, tool_files, worker_files,
};
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

/// Modules of the Rust worker that are drivers, and those that bring plans and drivers together.
const DRIVERS: &[&str] = &["http", "mysql", "null", "postgres", "sqlite", "translate"];
const KNOW_DRIVERS: &[&str] = &["hello", "lib", "models", "options", "own", "script", "serving"];

/// Files that read the wording of something that is not a message of contend.
const READ_WORDING: &[(&str, &str)] = &[
    ("crates/contend/src/engine/postgres.rs", "the server's log and SQL"),
    ("crates/contend/src/source/mod.rs", "errors of the TOML library, which have no kinds"),
    ("crates/contend/src/trial/server/private.rs", "the server's log"),
    ("slices/capture/src/replay.rs", "SQL"),
    ("slices/watch/src/instance.rs", "the kernel's statistics"),
    ("slices/watch/src/server/mariadb.rs", "the server's status"),
    ("slices/watch/src/server/postgres.rs", "the server's views"),
];

/// Ways to look for a text.
const LOOKS: &[&str] = &[
    "contains(\"",
    "starts_with(\"",
    "ends_with(\"",
    "split_once(\"",
    "find(\"",
    "split(\"",
    "strip_prefix(\"",
    "strip_suffix(\"",
];

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
        let named = named(path);
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
    let files =
        ["model.rs", "server.rs", "evidence.rs"].map(|file| root().join("crates/contend/src/record").join(file));
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
    assert!(["Trial", "ServerInfo", "KnownTier"].iter().all(|name| types.contains(*name)), "{types:?}");
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

#[test]
fn a_driver_of_the_worker_knows_no_other() {
    let src = root().join("crates/contend-worker/src");
    let mut found = BTreeSet::new();
    for path in worker_files() {
        let own = module(&path, &src);
        for other in named(&path).iter().filter(|other| DRIVERS.contains(&other.as_str()) && **other != own) {
            if !KNOW_DRIVERS.contains(&own.as_str()) {
                found.insert(format!("{} -> {other}", shown(&path)));
            }
        }
    }
    nothing_breaks("only models, scripts and serving know drivers", &found);
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
    let mut read = BTreeSet::new();
    let of_others = tool_files().into_iter().chain(slice_files()).map(|(_, path)| path).chain(worker_files());
    for path in of_others {
        let code = code(&path);
        for rest in LOOKS.iter().flat_map(|look| code.split(look).skip(1)) {
            let text = rest.split('"').next().unwrap_or_default();
            if !is_wording(text) {
                continue;
            }
            match READ_WORDING.iter().find(|(file, _)| *file == shown(&path)) {
                Some((file, _)) => drop(read.insert(*file)),
                None => drop(found.insert(format!("{}: {text}", shown(&path)))),
            }
        }
    }
    nothing_breaks("a decision needs a value, not the wording of a message", &found);
    let unread: Vec<_> = READ_WORDING.iter().filter(|(file, _)| !read.contains(file)).collect();
    assert!(unread.is_empty(), "these read no wording any more: {unread:?}");
}

#[test]
fn wording_is_words() {
    for (text, expected) in
        [("it takes", true), ("unknown ", true), (", ", false), ("INTEGER PRIMARY", false), ("axes.", false)]
    {
        assert_eq!(is_wording(text), expected, "{text}");
    }
}
