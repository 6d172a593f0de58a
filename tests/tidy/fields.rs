//! The tables of a record's fields in docs/formats.md: made from the doc comments of its types, with examples from a record.
//! `CONTEND_WRITE_DOCS=1 cargo test --test tidy fields` writes them.

use super::source::root;
use std::fmt::Write as _;
use std::fs;

/// The types of a record: source file, type, and where the fixture has a value of it, as file and keys.
const TYPES: &[(&str, &str, &str)] = &[
    ("record/model.rs", "StudyFile", "../examples/study.toml"),
    ("record/model.rs", "Run", "run.toml"),
    ("record/model.rs", "Instead", ""),
    ("record/model.rs", "Machine", "run.toml machine"),
    ("record/model.rs", "Disk", "run.toml disk"),
    ("record/model.rs", "Mount", "../examples/run.toml disk mount"),
    ("contender.rs", "Contender", "run.toml study contenders"),
    ("contender.rs", "Resolved", "run.toml study contenders resolved"),
    ("contender.rs", "NullDriver", "run.toml study contenders resolved overhead"),
    ("record/model.rs", "WorkloadInfo", "run.toml workload"),
    ("record/model.rs", "TransactionInfo", "run.toml workload transactions"),
    ("record/model.rs", "DataInfo", ""),
    ("record/model.rs", "ScenarioInfo", ""),
    ("record/model.rs", "Overhead", "run.toml floors"),
    ("record/model.rs", "Program", "run.toml programs"),
    ("study/model.rs", "Slot", "run.toml schedule"),
    ("record/evidence.rs", "KnownTier", "run.toml tiers"),
    ("record/evidence.rs", "ProofResult", "run.toml tiers found"),
    ("record/model.rs", "Finished", "run.toml finished"),
    ("record/model.rs", "Trial", "trials/0001/trial.toml"),
    ("outcome/reason.rs", "Reason", ""),
    ("outcome/reason.rs", "Invalid", ""),
    ("outcome/mark.rs", "Mark", ""),
    ("record/model.rs", "WorkerInfo", "trials/0001/trial.toml workers"),
    ("record/model.rs", "RoleClients", "trials/0001/trial.toml workers roles"),
    ("record/server.rs", "ServerInfo", "../examples/server.toml server"),
    ("record/server.rs", "Used", ""),
    ("record/server.rs", "Syncs", "../examples/server.toml server syncs"),
    ("record/server.rs", "ServerLockWaits", "../examples/server.toml server lock_waits"),
    ("record/model.rs", "InvariantResult", "trials/0001/trial.toml invariants"),
    ("record/model.rs", "Footprint", "trials/0001/trial.toml footprint"),
    ("record/server.rs", "TableBytes", "../examples/server.toml tables *"),
    ("slices/powercut/src/results.rs", "Powercut", "../examples/powercut.toml powercut"),
    ("slices/powercut/src/results.rs", "Crashes", "../examples/powercut.toml powercut crashes"),
    ("slices/powercut/src/results.rs", "Lie", "../examples/powercut.toml powercut lies"),
    ("slices/powercut/src/results.rs", "KernelCuts", ""),
    ("slices/powercut/src/results.rs", "Control", "../examples/powercut.toml powercut controls"),
    ("slices/powercut/src/results.rs", "Failing", "../examples/powercut.toml powercut failing"),
    ("slices/limit/src/saved.rs", "Saved", "../examples/limit.toml"),
    ("slices/limit/src/saved.rs", "Budget", "../examples/limit.toml budget"),
    ("slices/limit/src/saved.rs", "Arm", "../examples/limit.toml arms"),
    ("slices/limit/src/saved.rs", "Relaxed", "../examples/limit.toml arms relaxed"),
    ("slices/limit/src/saved.rs", "Capacity", "../examples/limit.toml capacities"),
    ("slices/limit/src/saved.rs", "Probe", "../examples/limit.toml probes"),
    ("slices/limit/src/search.rs", "ProbeResult", ""),
    ("slices/limit/src/judge.rs", "Thirds", "../examples/limit.toml probes thirds"),
    ("slices/limit/src/growth.rs", "Growth", "../examples/limit.toml probes log"),
    ("slices/limit/src/growth.rs", "Speeds", "../examples/limit.toml probes speeds"),
    ("slices/limit/src/saved.rs", "Busy", "../examples/limit.toml probes used"),
    ("slices/gate/src/saved.rs", "Gate", "../examples/gate.toml"),
    ("slices/gate/src/saved.rs", "Round", "../examples/gate.toml rounds"),
    ("slices/gate/src/saved.rs", "Took", "../examples/gate.toml rounds a"),
];

/// Longest example in a table.
const EXAMPLE_MAX: usize = 48;

/// What a type has: fields of a struct, or kinds of an enum.
struct Part {
    name: String,
    /// Type of a field; fields of a kind.
    holds: String,
    about: String,
}

/// A file of the core, or one of a slice with its whole path.
fn source(file: &str) -> String {
    let dir = if file.starts_with("slices/") { root() } else { root().join("crates/contend/src") };
    fs::read_to_string(dir.join(file)).expect("readable")
}

/// The parts of a type, from its source.
fn parts(text: &str, name: &str) -> Vec<Part> {
    let is_struct = text.contains(&format!("pub struct {name} {{\n"));
    let begin = format!("pub {} {name} {{\n", if is_struct { "struct" } else { "enum" });
    let body = text.split_once(&begin).unwrap_or_else(|| panic!("there is no {name}")).1;
    let body = body.split_once("\n}\n").expect("it ends").0;
    let (mut found, mut about, mut renamed, mut is_skipped) = (vec![], vec![], None, false);
    let mut absent = "";
    for line in body.lines() {
        let word = line.trim();
        absent = word.split_once("skip_serializing_if = ").map_or(absent, |(_, condition)| said_absent(condition));
        if let Some(comment) = word.strip_prefix("/// ") {
            about.push(comment);
        } else if let Some(rest) = word.strip_prefix("#[serde(rename = \"") {
            renamed = rest.split('"').next();
        } else if word == "#[serde(skip)]" {
            is_skipped = true;
        } else if is_skipped {
            (is_skipped, about) = (false, vec![]);
        } else if word == "#[serde(flatten)]" {
            renamed = Some("KIND");
        } else if line.starts_with("     ") && !is_struct {
            let last: &mut Part = found.last_mut().expect("a kind before its field");
            last.holds.extend(word.split_once(": ").map(|(field, _)| format!("`{field}`")));
        } else if !word.starts_with('#') && word != "}," {
            let mut part = part(word, is_struct, renamed.take(), about.join(" "));
            part.holds += std::mem::take(&mut absent);
            found.push(part);
            about.clear();
        }
    }
    found
}

/// When a field is left out, by the condition of its attribute; a value that may be missing says so itself.
fn said_absent(condition: &str) -> &'static str {
    match condition {
        _ if condition.contains("is_none") => "",
        _ if condition.contains("::not\"") => ", absent if false",
        _ if condition.contains("is_empty") => ", absent if empty",
        _ => ", absent if as usual",
    }
}

fn part(line: &str, is_struct: bool, renamed: Option<&str>, about: String) -> Part {
    let line = line.trim_end_matches(',');
    if is_struct {
        let (name, holds) = line.trim_start_matches("pub ").split_once(": ").expect("a field and its type");
        return Part { name: renamed.unwrap_or(name).to_string(), holds: kind(holds, name), about };
    }
    let (name, fields) = line.split_once(" {").unwrap_or((line, ""));
    let fields: Vec<String> =
        fields.split(',').filter_map(|field| Some(format!("`{}`", field.split_once(':')?.0.trim()))).collect();
    Part { name: kebab(name), holds: fields.join(", "), about }
}

fn kebab(name: &str) -> String {
    let mut word = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !word.is_empty() {
            word.push('-');
        }
        word.push(c.to_ascii_lowercase());
    }
    word
}

/// A type as a reader of TOML sees it, with the unit that the field's name has.
fn kind(rust: &str, name: &str) -> String {
    let inner = |outer: &str| rust.strip_prefix(outer)?.strip_suffix('>');
    if let Some(inner) = inner("Option<") {
        return format!("{}, optional", kind(inner, name));
    }
    if let Some(inner) = inner("Vec<") {
        return format!("list: {}", kind(inner, name));
    }
    if let Some(inner) = inner("BTreeMap<String, ") {
        return format!("by name: {}", kind(inner, name));
    }
    match rust {
        "String" => "text".to_string(),
        "bool" => "boolean".to_string(),
        "(String, String)" => "pair of texts".to_string(),
        "Tier" | "ProbeResult" | "Variant" | "Extent" | "ProofOrigin" | "Invalid" => "word".to_string(),
        "f64" => "number".to_string(),
        "u16" | "u32" | "u64" | "i64" | "usize" => format!("integer{}", unit(name)),
        _ => "table".to_string(),
    }
}

fn unit(name: &str) -> &'static str {
    let has = |unit: &str| name.split('_').any(|part| part == unit);
    match name {
        _ if has("ns") => ", ns",
        _ if has("bytes") || has("size") => ", bytes",
        _ if has("permille") => ", 1/1000",
        _ => "",
    }
}

/// A value in the record of the newest format, or in a file of `examples`, as TOML.
fn example(place: &str, field: &str) -> Option<String> {
    let mut keys: Vec<&str> = place.split(' ').chain([field]).collect();
    let file = Some(keys.remove(0)).filter(|file| !file.is_empty())?;
    let text = fs::read_to_string(root().join("tests/fixtures/records/format-3").join(file)).expect("a fixture");
    let shown = found(&toml::Value::Table(text.parse().expect("a table")), &keys)?.to_string().replace('\n', " ");
    Some(format!("`{}`", shown.replace('|', "\\|"))).filter(|shown| shown.len() <= EXAMPLE_MAX && shown != "`[]`")
}

/// The first value below these keys that is no table; `*` is any key.
fn found<'v>(value: &'v toml::Value, keys: &[&str]) -> Option<&'v toml::Value> {
    match (value, keys) {
        (toml::Value::Array(all), _) if all.first().is_some_and(toml::Value::is_table) => {
            all.iter().find_map(|one| found(one, keys))
        }
        (toml::Value::Table(table), ["*", rest @ ..]) => table.values().find_map(|one| found(one, rest)),
        (toml::Value::Table(table), [key, rest @ ..]) => found(table.get(*key)?, rest),
        (other, []) => Some(other).filter(|other| !other.is_table()),
        _ => None,
    }
}

fn table(file: &str, name: &str, place: &str) -> String {
    let text = source(file);
    let is_struct = text.contains(&format!("pub struct {name} {{\n"));
    let mut table = match is_struct {
        true => "| field | type, unit | meaning | example |\n|---|---|---|---|\n".to_string(),
        false => "| kind | fields | meaning |\n|---|---|---|\n".to_string(),
    };
    for part in parts(&text, name) {
        assert!(!part.about.is_empty(), "{file}: {name}: {} has no doc comment", part.name);
        let _ = write!(table, "| `{}` | {} | {} |", part.name, part.holds, part.about.replace('|', "\\|"));
        if is_struct {
            let _ = write!(table, " {} |", example(place, &part.name).unwrap_or_default());
        }
        table.push('\n');
    }
    table.replace("|  |", "| |")
}

#[test]
fn the_tables_of_a_records_fields_are_its_doc_comments() {
    let path = root().join("docs/formats.md");
    let written = fs::read_to_string(&path).expect("readable");
    let mut text = written.clone();
    for (file, name, place) in TYPES {
        let begin = format!("<!-- {name} -->\n");
        let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("docs/formats.md has no {begin}"));
        let after = rest.split_once("\n\n").map_or("", |(_, after)| after);
        text = format!("{before}{begin}{}\n{after}", table(file, name, place));
    }
    if std::env::var_os("CONTEND_WRITE_DOCS").is_some() {
        return fs::write(&path, &text).expect("writable");
    }
    assert!(
        text == written,
        "docs/formats.md differs from the doc comments: CONTEND_WRITE_DOCS=1 cargo test --test tidy fields"
    );
}

#[test]
fn every_type_of_a_record_has_a_table() {
    for file in [
        "record/model.rs",
        "record/server.rs",
        "slices/powercut/src/results.rs",
        "slices/limit/src/saved.rs",
        "slices/gate/src/saved.rs",
    ] {
        let text = source(file);
        for name in text.split("pub struct ").skip(1).filter_map(|rest| rest.split(" {").next()) {
            assert!(TYPES.iter().any(|(_, listed, _)| *listed == name), "{file}: {name} is not in TYPES");
        }
    }
}
