//! The study of a capture: what would have helped?

use crate::generator::text;
use crate::manifest::Database;
use crate::summary::Known;
use std::fmt::Write as _;

/// Settings of the program's connections, as far as a contender can have them.
struct Settings {
    journal_mode: String,
    synchronous: String,
    busy_timeout: i64,
    begin: &'static str,
}

fn captured(known: &Known, database: &Database, begin: &'static str) -> Settings {
    let on = || known.trace.connections.values().filter(|connection| connection.path == database.path);
    let pragma = |name: &str| {
        let all = on().flat_map(|connection| &connection.pragmas).map(|pragma| pragma.to_ascii_lowercase());
        // A script may set several, each with `=` or in brackets.
        let each: Vec<String> =
            all.flat_map(|script| script.split(';').map(str::to_string).collect::<Vec<_>>()).collect();
        let mut values = each.iter().filter_map(|pragma| {
            let (left, value) = pragma.split_once(['=', '('])?;
            left.trim_end().ends_with(name).then(|| value.trim().trim_matches(['\'', '"', ')']).to_string())
        });
        values.next()
    };
    let content = database.end.as_ref().or(database.content.as_ref());
    let mode = content.map_or("delete", |content| content.journal_mode.as_str());
    let mode = if ["delete", "truncate", "persist", "memory", "off", "wal"].contains(&mode) { mode } else { "delete" };
    let synchronous = match pragma("synchronous").as_deref() {
        Some("0" | "off") => "off",
        Some("1" | "normal") => "normal",
        Some("3" | "extra") => "extra",
        _ => "full",
    };
    let timeout = on().filter_map(|connection| connection.busy_timeout_ms).max();
    let busy_timeout = pragma("busy_timeout").and_then(|value| value.parse().ok()).or(timeout).unwrap_or(0);
    Settings { journal_mode: mode.into(), synchronous: synchronous.into(), busy_timeout, begin }
}

/// A contender: its label and what differs from the captured settings.
struct Contender {
    label: &'static str,
    journal_mode: Option<&'static str>,
    begin: Option<&'static str>,
    busy_timeout: Option<i64>,
}

const CAPTURED: &str = "as captured";

fn contenders(now: &Settings) -> Vec<Contender> {
    let none = Contender { label: CAPTURED, journal_mode: None, begin: None, busy_timeout: None };
    let wal = (now.journal_mode != "wal").then_some("wal");
    let immediate = (now.begin == "deferred").then_some("immediate");
    let patient = (now.busy_timeout < 5_000).then_some(5_000);
    let mut all = vec![none];
    let mut add =
        |label, journal_mode: Option<&'static str>, begin: Option<&'static str>, busy_timeout: Option<i64>| {
            all.push(Contender { label, journal_mode, begin, busy_timeout });
        };
    if wal.is_some() {
        add("WAL", wal, None, None);
    }
    if immediate.is_some() {
        add("BEGIN IMMEDIATE", None, immediate, None);
    }
    if patient.is_some() {
        add("busy timeout 5 s", None, None, patient);
    }
    if [wal.is_some(), immediate.is_some(), patient.is_some()].iter().filter(|is| **is).count() > 1 {
        add("all of it", wal, immediate, patient);
    }
    all
}

/// The study file.
pub fn study(known: &Known, database: &Database, begin: &'static str) -> String {
    let now = captured(known, database, begin);
    let command = known.manifest.command.join(" ");
    let mut out = format!(
        "# Made by contend capture to-workload. docs/study-file.md explains every key.\n\n\
         question = {}\nworkload = \"workload.toml\"\nkind = \"load\"\nheadline = \"throughput_ops_per_s\"\n\
         baseline = [\"{CAPTURED}\"]\nlimits = [\"Values are drawn by generators that were fitted to the capture, and clients do not pause.\"]\n\n\
         [load]\nwindow = \"5s\"\n\n[quick]\nrounds = 6\nload = {{ window = \"800ms\", run_in = \"200ms\", drain = \"6s\" }}\n\n\
         [[metric]]\nname = \"lock_failures_per_1000\"\nabout = \"operations that failed because the database was locked, per 1,000\"\n\
         value = \"1000 * (conflict + timeout) / planned\"\nper = \"1000\"\nhigher_is_better = false\n",
        text(&format!("What would have helped `{command}`?"))
    );
    let all = contenders(&now);
    for contender in &all {
        let _ = write!(
            out,
            "\n[[contender]]\nengine = \"sqlite\"\nlabel = {}\nsettings = {{ journal_mode = {}, synchronous = {}, busy_timeout = {}, begin = {} }}\n",
            text(contender.label),
            text(contender.journal_mode.unwrap_or(&now.journal_mode)),
            text(&now.synchronous),
            contender.busy_timeout.unwrap_or(now.busy_timeout),
            text(contender.begin.unwrap_or(now.begin)),
        );
    }
    // Verdicts are between contenders that promise the same.
    let settings = [("journal_mode", &now.journal_mode), ("synchronous", &now.synchronous)];
    let settings = settings.map(|(key, value)| (key.to_string(), value.clone())).into();
    let tier = (contend::engine::sqlite::ENGINE.durability.tier)(&settings).word();
    let _ = write!(out, "\n[[contender]]\nengine = \"postgres\"\nlabel = \"PostgreSQL\"\ntier = \"{tier}\"\n");
    for contender in all.iter().skip(1) {
        let _ = write!(
            out,
            "\n[[answer]]\nask = \"Does {0} remove lock errors?\"\nmetric = \"lock_failures_per_1000\"\nthis = {0:?}\nagainst = \"{CAPTURED}\"\n\n\
             [answer.facts]\nneither = \"There are none to remove under this load.\"\n\
             only-this = \"No: it adds some: {{this_value}} of 1,000 operations.\"\n\
             only-against = \"Yes, all: as captured {{against_value}} of 1,000 operations fail, with {0} none.\"\n\
             both = \"{{this_value}} of 1,000 operations fail with {0}, and {{against_value}} as captured.\"\n",
            contender.label
        );
    }
    effects(&mut out, &now);
    let _ = write!(
        out,
        "\n[[answer]]\nask = \"Is PostgreSQL faster?\"\nmetric = \"throughput_ops_per_s\"\nthis = \"PostgreSQL\"\nagainst = \"{CAPTURED}\"\n\n\
         [answer.words]\nfaster = \"Yes: {{ratio}} times as much gets done ({{low}} to {{high}}).\"\n\
         no-difference = \"No: both get the same done.\"\ncannot-tell = \"This run cannot tell: anything from {{low}} to {{high}} times fits.\"\n\
         slower = \"No: {{ratio}} times as much gets done ({{low}} to {{high}}).\"\n\
         not-comparable = \"The two cannot be compared in this run: {{reason}}.\"\n"
    );
    out
}

/// What single settings do to throughput, also where contenders do not promise the same.
fn effects(out: &mut String, now: &Settings) {
    let effect = |out: &mut String, (about, factor): (&str, &str), (from, to): (&str, &str), at: &str| {
        let _ = write!(
            out,
            "\n[[effect]]\nabout = {}\nask = \"What does it do to throughput?\"\nfactor = \"{factor}\"\nfrom = {}\nto = {}\nat = {{ {at} }}\nmetric = \"throughput_ops_per_s\"\n",
            text(about),
            text(from),
            text(to)
        );
    };
    let (begin, timeout) = (format!("begin = \"{}\"", now.begin), format!("busy_timeout = {}", now.busy_timeout));
    if now.journal_mode != "wal" {
        effect(
            out,
            ("WAL instead of the captured journal", "journal_mode"),
            (&now.journal_mode, "wal"),
            &format!("{begin}, {timeout}"),
        );
    }
    if now.begin == "deferred" {
        let mode = format!("journal_mode = {}, {timeout}", text(&now.journal_mode));
        effect(out, ("BEGIN IMMEDIATE instead of BEGIN", "begin"), ("deferred", "immediate"), &mode);
    }
}
