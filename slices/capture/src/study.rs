//! The study of a capture: what would have helped?

use crate::generator::plain;
use crate::literal::text;
use crate::manifest::Database;
use crate::program::Transaction;
use crate::roles::{PACES, Role};
use crate::servers::Server;
use crate::share::Share;
use crate::sql::Does;
use crate::summary::Known;
use crate::trace::{Call, Connection};
use contend::stats::precision::{count as whole, plain as number};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Settings of the program's connections that a contender can have.
#[derive(Clone)]
struct Settings {
    journal_mode: String,
    synchronous: String,
    busy_timeout: i64,
    /// `None` if no writing transaction begins with a statement of its own.
    begin: Option<&'static str>,
    /// Other settings that connections set, with values as TOML.
    others: Vec<(&'static str, String)>,
}

/// Other settings than those that the study changes. They are those of all its contenders.
const OTHERS: [&str; 5] = ["cache_size", "mmap_size", "wal_autocheckpoint", "temp_store", "foreign_keys"];

/// The most that SQLite maps, unless it is built otherwise.
const MMAP_MAX: i64 = 0x7fff_0000;

/// The value of a PRAGMA as that of a setting.
fn other(name: &str, value: &str) -> Option<String> {
    match (name, value) {
        ("foreign_keys", "1" | "on" | "yes" | "true") => Some("\"on\"".into()),
        ("temp_store", "1" | "file") => Some("\"file\"".into()),
        ("temp_store", "2" | "memory") => Some("\"memory\"".into()),
        ("foreign_keys" | "temp_store", _) => None,
        ("mmap_size", _) => {
            value.parse().ok().filter(|size| *size >= 0).map(|size: i64| size.min(MMAP_MAX).to_string())
        }
        ("wal_autocheckpoint", _) => value.parse::<i32>().ok().map(|pages| pages.max(0).to_string()),
        _ => value.parse::<i32>().ok().map(|number| number.to_string()),
    }
}

/// The last value that a text gives to a setting. A script may contain several PRAGMAs, each with `=` or parentheses.
fn set_by(script: &str, name: &str) -> Option<String> {
    script.to_ascii_lowercase().rsplit(';').find_map(|pragma| {
        let (left, value) = pragma.split_once(['=', '('])?;
        let is_it = left.split([' ', '.', '\t', '\n']).rfind(|word| !word.is_empty()) == Some(name);
        is_it.then(|| value.trim().trim_matches(['\'', '"', ')']).to_string())
    })
}

/// The most frequent of some values; of equally frequent ones the greatest.
fn most_frequent<T: Ord>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(value, _)| value)
}

fn captured(known: &Known, database: &Database, begin: Option<&'static str>) -> Settings {
    // Readers may have other settings, and the questions are about writers.
    let is_pragma = |sql: &str| sql.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("pragma"));
    let writing = known.trace.calls.iter().filter(|call| !call.is_readonly && !is_pragma(&call.sql));
    let writers: BTreeSet<u64> = writing.map(|call| call.connection).collect();
    let all = || known.trace.connections.iter();
    let on = || all().filter(|(id, _)| writers.is_empty() || writers.contains(id)).map(|(_, connection)| connection);
    let set = |connection: &Connection, name: &str| connection.pragmas.iter().rev().find_map(|sql| set_by(sql, name));
    // The last value of each connection, `None` for one that has the default; of these the most frequent one.
    let pragma = |name: &str| most_frequent(on().map(|connection| set(connection, name))).flatten();
    let content = database.end.as_ref().or(database.content.as_ref());
    // WAL is a property of the file, every other mode one of each connection.
    let of_file = content.map_or("delete", |content| content.journal_mode.as_str());
    let own = pragma("journal_mode").filter(|mode| of_file != "wal" && mode != "wal");
    let mode = own.as_deref().unwrap_or(of_file);
    let mode = if ["delete", "truncate", "persist", "memory", "off", "wal"].contains(&mode) { mode } else { "delete" };
    let synchronous = |connection: &Connection| match set(connection, "synchronous").as_deref() {
        Some("0" | "off") => "off",
        Some("1" | "normal") => "normal",
        Some("3" | "extra") => "extra",
        _ => "full",
    };
    let synchronous = most_frequent(on().map(synchronous)).unwrap_or("full");
    let timeout = |connection: &Connection| {
        let by_pragma = set(connection, "busy_timeout").and_then(|value| value.parse().ok());
        by_pragma.or(connection.busy_timeout_ms).unwrap_or(0)
    };
    let busy_timeout = most_frequent(on().map(timeout)).unwrap_or(0);
    let others = OTHERS.iter().filter_map(|name| Some((*name, other(name, &pragma(name)?)?))).collect();
    Settings { journal_mode: mode.into(), synchronous: synchronous.into(), busy_timeout, begin, others }
}

/// Whether the program has foreign keys enforced.
pub fn enforces_foreign_keys(known: &Known, database: &Database) -> bool {
    captured(known, database, None).others.iter().any(|(name, _)| *name == "foreign_keys")
}

/// A contender on SQLite: its label, its settings, and how its clients share connections.
struct Contender {
    label: String,
    settings: Settings,
    model: Option<&'static str>,
}

const CAPTURED: &str = "as captured";

/// A change of settings, and its name.
type Change = (&'static str, fn(&mut Settings));

/// Changes that may remove lock errors and that the program does not have yet.
fn changes(now: &Settings) -> Vec<Change> {
    let all: [(bool, Change); 3] = [
        (now.journal_mode != "wal", ("WAL", |settings| settings.journal_mode = "wal".into())),
        (now.begin == Some("deferred"), ("BEGIN IMMEDIATE", |settings| settings.begin = Some("immediate"))),
        (now.busy_timeout < 5_000, ("a busy timeout of 5 s", |settings| settings.busy_timeout = 5_000)),
    ];
    all.into_iter().filter(|(differs, _)| *differs).map(|(_, change)| change).collect()
}

fn contenders(now: &Settings, may_share: bool) -> Vec<Contender> {
    let with = |label: String, changes: &[Change]| {
        let mut settings = now.clone();
        changes.iter().for_each(|(_, change)| change(&mut settings));
        Contender { label, settings, model: None }
    };
    let changes = changes(now);
    let mut all = vec![with(CAPTURED.into(), &[])];
    all.extend(changes.iter().map(|change| with(change.0.into(), &[*change])));
    if let [others @ .., last] = changes.as_slice()
        && !others.is_empty()
    {
        let others: Vec<&str> = others.iter().map(|(label, _)| *label).collect();
        all.push(with(format!("{} and {}", others.join(", "), last.0), &changes));
    }
    if may_share {
        let best = all.last().map_or(now, |best| &best.settings).clone();
        all.push(Contender { label: "one connection for writes".into(), settings: best, model: Some("pool") });
    }
    all
}

fn tier(settings: &Settings) -> &'static str {
    let of = [("journal_mode", &settings.journal_mode), ("synchronous", &settings.synchronous)];
    let of = of.map(|(key, value)| (key.to_string(), value.clone())).into();
    (contend::engine::sqlite::ENGINE.durability.tier)(&of).word()
}

/// The value of `synchronous` with the next safer promise.
fn safer(now: &Settings) -> Option<Settings> {
    const ALL: [&str; 4] = ["off", "normal", "full", "extra"];
    let at = ALL.iter().position(|value| *value == now.synchronous)?;
    let with = |value: &&str| Settings { synchronous: (*value).into(), ..now.clone() };
    ALL[at + 1..].iter().map(with).find(|settings| tier(settings) != tier(now))
}

/// The capture that a study is made from.
pub struct Captured<'c> {
    pub known: &'c Known<'c>,
    pub database: &'c Database,
    pub share: &'c Share,
    /// Whether the workload has the program's own rows.
    pub has_rows: bool,
    /// Transactions with statements that find other numbers of rows in the workload.
    pub differ: &'c [String],
    pub servers: &'c [Server],
}

/// The study file. `begin`: the most frequent BEGIN of writing transactions; `None` if all are single statements.
pub fn study(of: &Captured, begin: Option<&'static str>, roles: &[Role]) -> String {
    let Captured { known, database, servers, .. } = of;
    let now = captured(known, database, begin);
    let all = contenders(&now, roles.len() == 1 && roles[0].shares_a_process());
    let best = all.iter().rfind(|contender| contender.model.is_none()).expect("the captured one");
    let mut out = head(of, tier(&now));
    for contender in &all {
        write_contender(&mut out, contender, &contender.label);
    }
    if let Some(settings) = safer(&now) {
        let label = format!("synchronous={}", settings.synchronous.to_ascii_uppercase());
        write_contender(&mut out, &Contender { label: String::new(), settings, model: None }, &label);
    }
    // Verdicts require equal promises.
    for (at, Server { engine, title }) in servers.iter().enumerate() {
        // Quick runs have the first one.
        let (tier, runs) = (tier(&best.settings), if at == 0 { "" } else { "runs = [\"full\"]\n" });
        let _ = write!(out, "\n[[contender]]\nengine = \"{engine}\"\nlabel = \"{title}\"\ntier = \"{tier}\"\n{runs}");
    }
    let errors = LockErrors::of(known);
    for contender in all.iter().skip(1) {
        errors.write_answer(&mut out, &contender.label);
    }
    for (load, times) in PACES.into_iter().skip(1) {
        if all.len() > 1 {
            write_more_load(&mut out, &best.label, load, times);
        }
    }
    for server in *servers {
        write_server(&mut out, server.title, &best.label);
    }
    effects(&mut out, &now);
    out
}

/// A line of the study's limits.
const NOT_CARRIED: &str = "  \"The key of the only row that a SELECT returns, or that an INSERT makes, is carried into the statements after it. Other values are not: those \
                           statements draw their own, and clients meet on the same row less often than in the program.\",\n";

/// Whether a transaction of the program reads rows before it changes some.
fn uses_what_it_read(known: &Known) -> bool {
    let does = |shape: usize| known.shapes.all[shape].does;
    known.groups.iter().any(|group| {
        let read = group.steps.iter().position(|step| does(step.shape) == Does::Read);
        read.is_some_and(|at| group.steps[at..].iter().any(|step| does(step.shape) == Does::Write))
    })
}

/// What the first line of a report says of a study from a capture with missing records. The limits have the numbers.
const DAMAGED: &str = " (Made from a damaged capture: see what this does not show.)";

/// The gaps of the capture as lines of the study's limits: a run lacks them too.
fn gaps(known: &Known) -> String {
    let missing = known.trace.missing(known.manifest).into_iter();
    missing.map(|gap| format!("  {},\n", text(&format!("The capture has a gap: {gap}")))).collect()
}

/// A line of the study's limits, where rows are generated.
const GENERATED: &str = "  \"Rows are generated: which columns depend on each other, and the order in which rows were written, are not known. A query \
                         that searches or sorts by such columns can take another time.\",\n";

/// A line of the study's limits, where a trial of the workload showed other rows than the capture.
fn other_rows(differ: &[String]) -> String {
    let line = format!(
        "Statements of these transactions find another number of rows in the workload than in the capture, and can take another time: {}. \
         `contend capture to-workload` lists them.",
        differ.join(", ")
    );
    if differ.is_empty() { String::new() } else { format!("  {},\n", text(&line)) }
}

/// A line of the study's limits, with a server and foreign keys.
const NO_FOREIGN_KEYS: &str = "  \"Foreign keys are enforced on SQLite, as in the program, and on no server.\",\n";

/// A line of the study's limits, with a server.
const ISOLATION: &str = "  \"Servers have their default isolation, READ COMMITTED or REPEATABLE READ, and SQLite's is SERIALIZABLE: a transaction that \
                         reads before it writes can lose an update there. With \\\"--contender postgres:isolation=serializable\\\" such transactions fail instead.\",\n";

fn head(of: &Captured, tier: &str) -> String {
    let Captured { known, share, .. } = of;
    let command = known.manifest.program();
    let is_damaged = known.trace.damage.is_some();
    let (paces, quick) = (PACES.map(|(label, _)| text(label)).join(", "), "\"captured\", \"full\"");
    format!(
        "# Made by contend capture to-workload. docs/study-file.md explains every key.\n\n\
         question = {}\nworkload = \"workload.toml\"\nkind = \"load\"\nheadline = \"throughput_ops_per_s\"\n\
         baseline = [\"{CAPTURED}\"]\nlimits = [\n  \"The study has {}; `contend capture to-workload` lists the rest, such as triggers.\",\n  \"Values are drawn by generators that were fitted to the capture.\",\n  \
         \"An operation that met a lock is not tried again.\",\n  \"load=captured is the captured mean pause of a client between operations, not a rate: a client that waits sends fewer operations.\",\n{}{}{}{}{}{}  \"The captured settings are {tier}: {}.\",\n]\n\n\
         [axes]\nload = [{paces}]\n\n[load]\nwindow = \"5s\"\n\n\
         [quick]\nrounds = 6\naxes = {{ load = [{quick}] }}\nload = {{ window = \"800ms\", run_in = \"200ms\", drain = \"6s\" }}\n\n\
         [[metric]]\nname = \"lock_errors_per_1000\"\nabout = \"operations that failed because the database was locked, per 1,000\"\n\
         value = \"1000 * (conflict + timeout) / planned\"\nper = \"1000\"\nhigher_is_better = false\n",
        text(&format!("What would have helped `{command}`?{}", if is_damaged { DAMAGED } else { "" })),
        share.words(),
        if uses_what_it_read(known) { NOT_CARRIED } else { "" },
        if of.has_rows { "" } else { GENERATED },
        other_rows(of.differ),
        if of.servers.is_empty() { "" } else { ISOLATION },
        if of.servers.is_empty() || !enforces_foreign_keys(known, of.database) { "" } else { NO_FOREIGN_KEYS },
        gaps(known),
        match tier {
            "durable" => "every acknowledged commit survives a power cut",
            "bounded" => "a power cut can take the last commits",
            _ => "a power cut can damage the database",
        }
    )
}

fn write_contender(out: &mut String, contender: &Contender, label: &str) {
    let settings = &contender.settings;
    let model = contender.model.map_or(String::new(), |model| format!("model = \"{model}\"\n"));
    let _ = write!(
        out,
        "\n[[contender]]\nengine = \"sqlite\"\n{model}label = {}\nsettings = {{ journal_mode = {}, synchronous = {}, busy_timeout = {}, begin = {}{} }}\n",
        text(label),
        text(&settings.journal_mode),
        text(&settings.synchronous),
        settings.busy_timeout,
        text(settings.begin.unwrap_or("deferred")),
        settings.others.iter().map(|(name, value)| format!(", {name} = {value}")).collect::<String>(),
    );
}

/// Captured calls that another connection's lock ended, and the attempts with such a call per 1,000. An operation of the study
/// is one attempt.
struct LockErrors {
    count: usize,
    per_1000: f64,
}

impl LockErrors {
    fn of(known: &Known) -> LockErrors {
        let is_refused = |call: &Call| call.is_busy() && !call.is_locked();
        let count = known.trace.calls.iter().filter(|call| is_refused(call)).count();
        let met = |attempt: &&Transaction| attempt.calls.iter().any(|&i| is_refused(&known.trace.calls[i]));
        let (failed, all) = (known.transactions.iter().filter(met).count(), known.transactions.len());
        LockErrors { count, per_1000: 1000.0 * failed as f64 / all.max(1) as f64 }
    }

    /// Writes the question whether a contender removes them. The captured number is scaled with the ratio of both rates in
    /// the study.
    fn write_answer(&self, out: &mut String, label: &str) {
        let (LockErrors { count, .. }, count_shown) = (self, whole(self.count as u64));
        let per_1000 = number(self.per_1000);
        let metric = format!("left_by_{}", plain(label));
        let rate = "(conflict + timeout) / planned";
        let captured = "((conflict@[as captured] + timeout@[as captured]) / planned@[as captured])";
        let _ = write!(
            out,
            "\n[[metric]]\nname = \"{metric}\"\nabout = \"of the {count_shown} lock errors of the capture, those that would be left\"\n\
             value = \"min({count}, floor({count} * {rate} / {captured} + 0.5))\"\nhigher_is_better = false\n"
        );
        let here = format!("of 1,000 operations {{against_value}} fail as captured (in the capture {per_1000}), and");
        let (neither, only_against, both, not_fewer) = if *count == 0 {
            (
                "The capture has no lock error, and the study has none.".to_string(),
                format!(
                    "The capture has none. In the study {{against_value}} of 1,000 operations fail as captured, and none with {label}."
                ),
                format!(
                    "The capture has none. In the study {{against_value}} of 1,000 operations fail as captured, and {{this_value}} with {label}."
                ),
                format!(
                    "The capture has none. In the study {{against_value}} of 1,000 operations fail as captured, and not fewer with {label}: {{this_value}}."
                ),
            )
        } else {
            (
                format!(
                    "This run cannot tell: with the captured settings the study has none of the {count_shown} lock errors of the capture."
                ),
                format!(
                    "Yes: {label} would have removed {count_shown} of {count_shown} lock errors. In this run {here} none with it."
                ),
                format!(
                    "Not all: {label} would have left about {{this.{metric}}} of {count_shown} lock errors. In this run {here} {{this_value}} with it."
                ),
                format!(
                    "No: {label} would have removed none of the {count_shown} lock errors. In this run {here} {{this_value}} with it."
                ),
            )
        };
        let _ = write!(
            out,
            "\n[[answer]]\nask = {}\nmetric = \"lock_errors_per_1000\"\ncondition = \"load=captured\"\nthis = {}\nagainst = \"{CAPTURED}\"\n\n\
             [answer.facts]\nneither = {}\nonly-this = {}\nonly-against = {}\nboth = {}\nboth-not-fewer = {}\n",
            text(&format!("Would {label} have removed the lock errors?")),
            text(label),
            text(&neither),
            text("No: it adds lock errors, {this_value} in 1,000 operations."),
            text(&only_against),
            text(&both),
            text(&not_fewer)
        );
    }
}

/// Lock errors at a multiple of the captured load.
fn write_more_load(out: &mut String, label: &str, load: &str, times: u64) {
    let ask = if times == 0 { "with clients that never pause".into() } else { format!("at {times} times the load") };
    let _ = write!(
        out,
        "\n[[answer]]\nask = \"What about locks {ask}?\"\nmetric = \"lock_errors_per_1000\"\ncondition = \"load={load}\"\nthis = {}\nagainst = \"{CAPTURED}\"\n\n\
         [answer.facts]\nneither = \"No operation fails at a lock.\"\n\
         only-this = \"{{this_value}} of 1,000 operations fail with {{this}}, as captured none.\"\n\
         only-against = \"{{against_value}} of 1,000 operations fail as captured, with {{this}} none.\"\n\
         both = \"{{against_value}} of 1,000 operations fail as captured, with {{this}} {{this_value}}.\"\n",
        text(label)
    );
}

/// Writes the questions about a server against the best settings of SQLite: at the captured load, and with clients that never
/// pause.
fn write_server(out: &mut String, server: &str, best: &str) {
    let than = if best == CAPTURED { String::new() } else { format!(" than SQLite with {best}") };
    let of_load = [
        ("captured", "at the captured load", "both get the same done"),
        ("full", "with clients that never pause", "there is no difference"),
    ];
    for (load, words, same) in of_load {
        let speed = format!("{server} would have been {{ratio}} times as fast ({{low}} to {{high}}), {words}");
        let _ = write!(
            out,
            "\n[[answer]]\nask = {}\nmetric = \"throughput_ops_per_s\"\ncondition = \"load={load}\"\nthis = \"{server}\"\nagainst = {}\n\n\
             [answer.words]\nfaster = \"Yes: {speed}.\"\nslower = \"No: {speed}.\"\nno-difference = \"No: {words} {same}.\"\n\
             cannot-tell = \"This run cannot tell: anything from {{low}} to {{high}} times fits.\"\n\
             not-comparable = \"The two cannot be compared in this run: {{reason}}.\"\n",
            text(&format!("Is {server} faster{than}, {words}?")),
            text(best)
        );
    }
}

/// Effects of single settings on throughput, also between contenders with different promises.
fn effects(out: &mut String, now: &Settings) {
    let mode = format!("journal_mode = {}", text(&now.journal_mode));
    let sync = format!("synchronous = {}", text(&now.synchronous));
    let (begin, timeout) =
        (format!("begin = \"{}\"", now.begin.unwrap_or("deferred")), format!("busy_timeout = {}", now.busy_timeout));
    let mut effect = |about: &str, (factor, from, to): (&str, &str, &str), at: [&String; 3]| {
        let at = at.map(String::as_str).join(", ");
        let _ = write!(
            out,
            "\n[[effect]]\nabout = {}\nask = \"What does it do to throughput?\"\nfactor = \"{factor}\"\nfrom = {}\nto = {}\nat = {{ {at} }}\nmetric = \"throughput_ops_per_s\"\n",
            text(about),
            text(from),
            text(to)
        );
    };
    if now.journal_mode != "wal" {
        effect(
            "WAL instead of the captured journal",
            ("journal_mode", &now.journal_mode, "wal"),
            [&begin, &sync, &timeout],
        );
    }
    if now.begin == Some("deferred") {
        effect("BEGIN IMMEDIATE instead of BEGIN", ("begin", "deferred", "immediate"), [&mode, &sync, &timeout]);
    }
    if let Some(safer) = safer(now) {
        let about = format!("{} instead of {}", tier(&safer), tier(now));
        effect(&about, ("synchronous", &now.synchronous, &safer.synchronous), [&mode, &begin, &timeout]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_no_where_no_lock_error_is_gone_and_has_one_form_of_numbers() {
        let mut out = String::new();
        LockErrors { count: 1_060, per_1000: 557.308 }.write_answer(&mut out, "WAL");
        let answer: Vec<&str> = out.lines().collect();
        let of =
            |key: &str| answer.iter().find_map(|line| line.strip_prefix(&format!("{key} = "))).expect("a sentence");
        assert!(of("both-not-fewer").contains("No: WAL would have removed none of the 1,060 lock errors."), "{out}");
        assert!(
            of("both").contains("Not all: WAL would have left about {this.left_by_wal} of 1,060 lock errors"),
            "{out}"
        );
        assert!(of("both").contains("(in the capture 557)") && !out.contains("557.308"), "{out}");
        assert!(of("only-against").contains("removed 1,060 of 1,060"), "{out}");
    }
}
