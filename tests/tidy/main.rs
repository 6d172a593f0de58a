//! The rules of the house, kept by a machine: which module may know which, who may start processes and
//! read clocks, what a source file looks like. `docs/architecture.md` gives the reasons.

mod fields;
mod names;
mod never;
mod pages;
mod results;
mod shape;
mod source;

use names::Crate;
use source::{assert_none, code, files, imports, is_test_file, root, slice_files, tool_files, worker_files};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Longest source file. Lower it when you can; raise it never.
const LINES_MAX: usize = 500;

/// What each module of the tool may import from the tool itself. A module that is not listed fails.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("source", &[]),
    ("units", &[]),
    ("stats", &[]),
    ("outcome", &["stats"]),
    ("operation", &["outcome"]),
    ("contender", &[]),
    ("engine", &["contender", "outcome", "registry", "source"]),
    ("load", &["units"]),
    ("study", &["analysis", "contender", "engine", "load", "registry", "source", "stats", "units"]),
    ("growing", &[]),
    ("workload", &["growing", "load", "source", "units"]),
    ("record", &["contender", "outcome", "registry", "study"]),
    ("analysis", &["load", "operation", "outcome", "record", "registry", "source", "stats", "study"]),
    ("check", &["analysis", "engine", "growing", "operation", "outcome", "record", "stats"]),
    ("report", &["analysis", "outcome", "registry", "stats"]),
    ("registry", &[]),
    (
        "trial",
        &[
            "analysis", "check", "engine", "load", "outcome", "record", "registry", "source", "stats", "study",
            "units", "workload",
        ],
    ),
    ("ui", &["stats", "study", "trial"]),
    (
        "cli",
        &[
            "analysis", "engine", "load", "outcome", "record", "report", "slice", "source", "stats", "study", "trial",
            "ui", "units", "workload",
        ],
    ),
    ("slice", &["analysis", "engine", "record", "report", "study", "trial"]),
    ("lib", &[]),
];

/// Modules that know an engine only by what the record says of it, so that a report does not change with the tables.
const WITHOUT_ENGINES: &[&str] = &["analysis", "record", "report"];

const NO_PANIC: &str = "it panics if standard error is closed or its disk is full: `tell!` does not";

/// Words that only these modules may use, with the reason.
const RESERVED: &[(&str, &[&str], &str)] = &[
    ("Command::new", &["trial"], "only trial starts processes"),
    ("Instant::now", &["trial"], "only trial reads clocks"),
    ("SystemTime", &["trial"], "only trial reads clocks"),
    ("clock_gettime", &["trial"], "only trial reads clocks"),
    ("std::net", &[], "the tool opens no sockets"),
    ("rusqlite::", &[], "everything that touches a database is a worker"),
    ("std::thread", &["trial"], "only trial runs things side by side"),
    ("std::fs", &["trial", "record", "report", "cli"], "pure modules get their text from their caller"),
    ("std::env", &["trial", "cli"], "nothing pure depends on the environment"),
    ("eprint", &[], NO_PANIC),
    ("contend_stats", &["lib"], "modules know it as `stats`, which MAY_KNOW looks for"),
];

/// Words that only these slices may use, with the reason. What a slice prints follows from values, as in the core.
const RESERVED_IN_SLICES: &[(&str, &[&str], &str)] = &[
    ("Command::new", &["capture", "gate", "powercut", "shim", "watch"], "these start programs of a user"),
    (
        "Instant::now",
        &["capture", "gate", "migrate", "powercut", "shim", "watch"],
        "these wait for such programs, or say how long a phase took",
    ),
    ("SystemTime", &["capture", "watch"], "these write down when something was seen"),
    ("clock_gettime", &["capture", "watch"], "these time what they see"),
    ("std::net", &["capture"], "only the proxy opens sockets"),
    ("rusqlite::", &["capture", "measure", "migrate"], "these read databases of a user"),
    ("eprint", &[], NO_PANIC),
];

/// Words that only these files of the Rust worker may use, with the reason.
const RESERVED_IN_WORKER: &[(&str, &[&str], &str)] = &[
    ("Command::new", &[], "a worker starts no processes"),
    ("SystemTime", &["clock.rs"], "one clock"),
    ("clock_gettime", &["clock.rs"], "one clock"),
    (
        "Instant::now",
        &["models/tasks.rs", "server.rs"],
        "timers of a runtime and of a connection, which are no samples",
    ),
    (
        "std::env",
        &["main.rs", "server.rs", "shim.rs"],
        "the plan says everything; a password, and the library of the shim, are in variables",
    ),
];

#[test]
fn modules_know_only_what_they_may() {
    let (mut problems, mut used) = (vec![], BTreeSet::new());
    for (module, path) in &tool_files() {
        let Some((_, may)) = MAY_KNOW.iter().find(|(name, _)| *name == module) else {
            problems.push(format!("{}: module `{module}` is not in MAY_KNOW", path.display()));
            continue;
        };
        for import in imports(&code(path)) {
            let is_module = MAY_KNOW.iter().any(|(name, _)| *name == import);
            if is_module && import != *module && !may.contains(&import.as_str()) {
                problems.push(format!("{}: `{module}` may not know `{import}`", path.display()));
            }
            used.insert((module.clone(), import));
        }
    }
    for (module, may) in MAY_KNOW {
        let unused = may.iter().filter(|known| !used.contains(&(module.to_string(), known.to_string())));
        problems.extend(unused.map(|known| format!("`{module}` need not know `{known}`: strike it from MAY_KNOW")));
    }
    assert_none(problems);
}

#[test]
fn a_report_reaches_no_table_of_engines() {
    let graph = Crate::read(&root().join("crates/contend/src")).graph();
    let starts = graph.keys().filter(|file| WITHOUT_ENGINES.iter().any(|module| file.starts_with(module)));
    let mut seen: Vec<(&PathBuf, Option<usize>)> = starts.map(|file| (file, None)).collect();
    let mut problems = vec![];
    let mut next = 0;
    while let Some((file, _)) = seen.get(next).copied() {
        if file.starts_with("engine") {
            let way = std::iter::successors(Some(next), |at| seen[*at].1).map(|at| seen[at].0.display().to_string());
            problems.push(way.collect::<Vec<_>>().join(" <- "));
        } else {
            for to in &graph[file] {
                if !seen.iter().any(|(other, _)| *other == to) {
                    seen.push((to, Some(next)));
                }
            }
        }
        next += 1;
    }
    assert!(seen.len() > 40, "files must be found: {seen:?}");
    assert_none(problems);
}

#[test]
fn processes_clocks_and_files_are_used_only_where_allowed() {
    let mut problems = vec![];
    for (module, path) in &tool_files() {
        let code = code(path);
        for (word, allowed, why) in RESERVED {
            if code.contains(word) && !allowed.contains(&module.as_str()) {
                problems.push(format!("{}: `{word}`: {why}", path.display()));
            }
        }
    }
    assert_none(problems);
}

/// Slices whose programs run in no trial.
const WITHOUT_TRIALS: &[&str] = &["capture", "shim", "watch"];

#[test]
fn programs_of_a_run_are_started_where_they_are_known_as_its_own() {
    let of_runs = slice_files().into_iter().filter(|(slice, _)| !WITHOUT_TRIALS.contains(&slice.as_str()));
    let (own, others): (Vec<_>, Vec<_>) = tool_files()
        .into_iter()
        .chain(of_runs)
        .filter(|(_, path)| code(path).contains(".spawn()"))
        .partition(|(_, path)| path.ends_with("trial/watch/orphans.rs"));
    assert_eq!(own.len(), 1, "the place must be found");
    assert_none(others.iter().map(|(_, path)| format!("{}: `.spawn()`: use orphans::spawn", path.display())).collect());
}

#[test]
fn slices_and_the_worker_use_reserved_words_only_where_allowed() {
    let mut problems = vec![];
    for (slice, path) in slice_files() {
        let code = code(&path);
        for (word, allowed, why) in RESERVED_IN_SLICES {
            if code.contains(word) && !allowed.contains(&slice.as_str()) {
                problems.push(format!("{}: `{word}`: {why}", path.display()));
            }
        }
    }
    for path in worker_files() {
        let code = code(&path);
        for (word, allowed, why) in RESERVED_IN_WORKER {
            if code.contains(word) && !allowed.iter().any(|file| path.ends_with(file)) {
                problems.push(format!("{}: `{word}`: {why}", path.display()));
            }
        }
    }
    assert_none(problems);
}

#[test]
fn no_source_names_a_study_a_workload_or_a_table() {
    // Also keys of the files and of the record, which mean those.
    const KEYS: &[&str] = &["blocks", "limits", "transactions"];
    let root = root();
    let mut names = vec![];
    for path in files(&root.join("workloads"), &[".toml"]).into_iter().chain(files(&root.join("studies"), &[".toml"])) {
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        names.extend(Some(stem).filter(|stem| !KEYS.contains(&stem.as_str())));
        let text = fs::read_to_string(&path).expect("readable");
        let tables = text.lines().filter_map(|l| l.strip_prefix("[table.")?.strip_suffix(']'));
        names.extend(tables.filter(|t| !t.contains('.') && !KEYS.contains(t)).map(str::to_string));
    }
    assert!(names.len() > 5, "the definitions must be found: {names:?}");
    let mut problems = vec![];
    let sources = ["crates", "slices"].into_iter().flat_map(|dir| files(&root.join(dir), &[".rs"]));
    for path in sources.filter(|p| !is_test_file(p)) {
        let is_verb = |line: &&str| line.trim_start().starts_with("name: \"");
        for line in code(&path).lines().filter(|l| !l.contains("include_str!") && !is_verb(l)) {
            for name in names.iter().filter(|name| line.contains(&format!("\"{name}\""))) {
                problems.push(format!("{}: names `{name}`: {}", path.display(), line.trim()));
            }
        }
    }
    assert_none(problems);
}

#[test]
fn every_source_opens_with_its_purpose_and_stays_short() {
    let mut problems = vec![];
    for path in files(&root(), &[".rs"]) {
        let text = fs::read_to_string(&path).expect("readable");
        if !text.starts_with("//! ") {
            problems.push(format!("{}: does not open with its purpose (`//! ...`)", path.display()));
        }
        let lines = text.lines().count();
        if lines > LINES_MAX {
            problems.push(format!("{}: {lines} lines; the maximum is {LINES_MAX}", path.display()));
        }
    }
    assert_none(problems);
}

#[test]
fn nothing_is_left_over() {
    // Put together so that this file does not find itself.
    let words = ["TO DO", "FIX ME", "un implemented!", "to do!("].map(|w| w.replace(' ', ""));
    let mut problems = vec![];
    for path in files(&root(), &[".rs", ".toml", ".py", ".js", ".css", ".sh", "Makefile"]) {
        let text = fs::read_to_string(&path).expect("readable");
        for (i, line) in text.lines().enumerate() {
            for word in words.iter().filter(|w| line.contains(w.as_str())) {
                problems.push(format!("{}:{}: `{word}`", path.display(), i + 1));
            }
            if line.ends_with([' ', '\t']) {
                problems.push(format!("{}:{}: white space at the end", path.display(), i + 1));
            }
        }
    }
    assert_none(problems);
}

#[test]
fn the_wire_crate_needs_nothing() {
    let text = fs::read_to_string(root().join("crates/contend-wire/Cargo.toml")).expect("readable");
    let after = text.split("[dependencies]").nth(1).expect("a section");
    let section = after.split('[').next().unwrap_or_default();
    assert_eq!(section.trim(), "", "contend-wire must stay free of dependencies");
}

#[test]
fn only_the_binary_depends_on_a_slice() {
    let read = |path: &Path| fs::read_to_string(path).expect("readable");
    let slices: Vec<PathBuf> = fs::read_dir(root().join("slices"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path().join("Cargo.toml"))
        .filter(|manifest| manifest.exists())
        .collect();
    assert!(!slices.is_empty(), "the slices must be found");
    let package = |manifest: &Path| {
        let text = read(manifest);
        text.split("name = \"").nth(1).and_then(|rest| rest.split('"').next()).expect("a name").to_string()
    };
    let names: Vec<String> = slices.iter().map(|manifest| package(manifest)).collect();
    let manifests = ["crates", "slices"].into_iter().flat_map(|dir| files(&root().join(dir), &["Cargo.toml"]));
    let mut problems = vec![];
    for manifest in manifests {
        let depends = |line: &&str, name: &String| {
            line.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
        };
        for name in names.iter().filter(|name| read(&manifest).lines().any(|line| depends(&line, name))) {
            problems.push(format!("{}: depends on the slice {name}; only the binary may", manifest.display()));
        }
    }
    assert_none(problems);
}
