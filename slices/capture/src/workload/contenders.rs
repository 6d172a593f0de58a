//! The contenders of a capture's study: the captured settings, and changes of them.

use crate::literal::text;
use crate::manifest::Database;
use crate::program::{Began, Group, Transaction};
use crate::statement::{pragma, tokens};
use crate::summary::Known;
use crate::trace::Connection;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Settings of the program's connections that a contender can have.
#[derive(Clone)]
pub struct Settings {
    pub journal_mode: String,
    pub synchronous: String,
    pub busy_timeout: i64,
    /// The weakest BEGIN of writing transactions. Others have their own in the workload, so that a stronger one changes these
    /// only. `None` if no writing transaction begins with a statement of its own.
    pub begin: Option<&'static str>,
    /// Other settings that connections set, with values as TOML.
    others: Vec<(&'static str, String)>,
}

/// Other settings than those that the study changes. They are those of all its contenders.
const OTHERS: [&str; 5] = ["cache_size", "mmap_size", "wal_autocheckpoint", "temp_store", "foreign_keys"];

/// The most that SQLite maps, unless it is built otherwise.
const MMAP_MAX: i64 = 0x7fff_0000;

/// The longest busy timeout, and the largest other number, that a study may have.
const BUSY_TIMEOUT_MAX_MS: i64 = 600_000;
const NUMBER_MAX: i32 = 1_000_000_000;

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
        ("wal_autocheckpoint", _) => value.parse::<i32>().ok().map(|pages| pages.clamp(0, NUMBER_MAX).to_string()),
        _ => value.parse::<i32>().ok().map(|number| number.clamp(-NUMBER_MAX, NUMBER_MAX).to_string()),
    }
}

/// The value that a statement gives to a setting.
fn set_by(statement: &str, name: &str) -> Option<String> {
    let (of, value) = pragma(&tokens(statement))?;
    (of == name && !value.is_empty()).then_some(value)
}

/// The value with the greatest weight; of equal ones the greatest.
fn most_frequent<T: Ord>(values: impl Iterator<Item = (T, usize)>) -> Option<T> {
    let mut weights: BTreeMap<T, usize> = BTreeMap::new();
    values.for_each(|(value, weight)| *weights.entry(value).or_default() += weight);
    weights.into_iter().max_by_key(|(_, weight)| *weight).map(|(value, _)| value)
}

/// Number of transactions of each connection that write or try to, except for those that only set something.
pub fn writing(known: &Known) -> BTreeMap<u64, usize> {
    let is_pragma = |sql: &str| sql.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("pragma"));
    let sets = |of: &Transaction| of.calls.iter().all(|&i| is_pragma(&known.trace.calls[i].sql));
    let mut all: BTreeMap<u64, usize> = BTreeMap::new();
    for transaction in known.transactions.iter().filter(|of| of.writes && !sets(of)) {
        *all.entry(transaction.connection).or_default() += 1;
    }
    all
}

impl Settings {
    /// Those of the writers of a captured database; `begin` follows from the transactions of the workload.
    pub fn of(known: &Known, database: &Database) -> Settings {
        // Readers may have other settings, and the questions are about writers. A program can have many connections that write
        // once, and a few that write most.
        let writing = writing(known);
        let weight = |id: &u64| if writing.is_empty() { 1 } else { writing.get(id).copied().unwrap_or(0) };
        let on = || known.trace.connections.iter().map(|(id, of)| (of, weight(id))).filter(|(_, weight)| *weight > 0);
        let set =
            |connection: &Connection, name: &str| connection.pragmas.iter().rev().find_map(|sql| set_by(sql, name));
        // The last value of each connection, `None` for one that has the default; of these that of most writing transactions.
        let value = |name: &str| most_frequent(on().map(|(of, weight)| (set(of, name), weight))).flatten();
        let content = database.end.as_ref().or(database.content.as_ref());
        // WAL is a property of the file, every other mode one of each connection.
        let of_file = content.map_or("delete", |content| content.journal_mode.as_str());
        let own = value("journal_mode").filter(|mode| of_file != "wal" && mode != "wal");
        let mode = own.as_deref().unwrap_or(of_file);
        let mode =
            if ["delete", "truncate", "persist", "memory", "off", "wal"].contains(&mode) { mode } else { "delete" };
        let synchronous = |connection: &Connection| match set(connection, "synchronous").as_deref() {
            Some("0" | "off") => "off",
            Some("1" | "normal") => "normal",
            Some("3" | "extra") => "extra",
            _ => "full",
        };
        let synchronous = most_frequent(on().map(|(of, weight)| (synchronous(of), weight))).unwrap_or("full");
        let busy_timeout =
            most_frequent(on().map(|(of, weight)| (of.busy_timeout_ms.unwrap_or(0), weight))).unwrap_or(0);
        let busy_timeout = busy_timeout.clamp(0, BUSY_TIMEOUT_MAX_MS);
        let others = OTHERS.iter().filter_map(|name| Some((*name, other(name, &value(name)?)?))).collect();
        Settings { journal_mode: mode.into(), synchronous: synchronous.into(), busy_timeout, begin: None, others }
    }

    /// With the weakest BEGIN of these transactions.
    pub fn begun_as<'g>(self, groups: impl Iterator<Item = &'g Group>) -> Settings {
        let begins =
            groups.filter(|group| group.writes && matches!(group.began, Began::By(_))).map(|group| group.began);
        Settings { begin: begins.min().map(Began::word), ..self }
    }

    /// The BEGIN of a writing transaction, if it is another one than that of these settings.
    pub fn other_begin(&self, group: &Group) -> Option<&'static str> {
        let own = matches!(group.began, Began::By(_)).then(|| group.began.word());
        own.filter(|_| own != self.begin)
    }

    /// Whether the program has foreign keys enforced.
    pub fn enforces_foreign_keys(&self) -> bool {
        self.others.iter().any(|(name, _)| *name == "foreign_keys")
    }
}

/// A contender on SQLite: its label, its settings, and how its clients share connections.
pub struct Contender {
    pub label: String,
    pub settings: Settings,
    pub model: Option<&'static str>,
}

/// What a change does to the busy timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    AsCaptured,
    Longer,
    /// Nothing else changes.
    OnlyLonger,
}

impl Contender {
    /// What it does to the busy timeout of the captured settings.
    pub fn waits(&self, now: &Settings) -> Waits {
        let its = &self.settings;
        let is_else_equal = self.model.is_none() && its.journal_mode == now.journal_mode && its.begin == now.begin;
        match (its.busy_timeout == now.busy_timeout, is_else_equal) {
            (true, _) => Waits::AsCaptured,
            (_, true) => Waits::OnlyLonger,
            _ => Waits::Longer,
        }
    }
}

pub const CAPTURED: &str = "as captured";

/// A change of settings, and its name.
type Change = (String, Box<dyn Fn(&mut Settings)>);

/// Changes that may remove lock errors and that the program does not have yet.
fn changes(now: &Settings, longer_ms: Option<i64>) -> Vec<Change> {
    let mut all: Vec<Change> = vec![];
    if now.journal_mode != "wal" {
        all.push(("WAL".into(), Box::new(|settings| settings.journal_mode = "wal".into())));
    }
    if now.begin == Some("deferred") {
        all.push(("BEGIN IMMEDIATE".into(), Box::new(|settings| settings.begin = Some("immediate"))));
    }
    if let Some(ms) = longer_ms {
        let label = format!("a busy timeout of {} s", ms / 1_000);
        all.push((label, Box::new(move |settings| settings.busy_timeout = ms)));
    }
    all
}

/// The busy timeout in ms that may remove lock errors: 5 s, or if the program has that and calls gave up nevertheless, twice the
/// longest time for which the program held the lock, and at least twice the captured timeout.
pub fn longer_timeout(now: &Settings, gave_up: bool, longest_ns: u64) -> Option<i64> {
    const STEP_MS: i64 = 5_000;
    const MOST_MS: i64 = 60_000;
    if now.busy_timeout < STEP_MS {
        return Some(STEP_MS);
    }
    let twice = 2 * now.busy_timeout.min(MOST_MS).max((longest_ns / 1_000_000).cast_signed().min(MOST_MS));
    let longer = ((twice + STEP_MS - 1) / STEP_MS * STEP_MS).min(MOST_MS);
    (gave_up && longer > now.busy_timeout).then_some(longer)
}

/// The captured settings and those with changes, also with a busy timeout of `longer_ms`.
pub fn contenders(now: &Settings, longer_ms: Option<i64>, may_share: bool) -> Vec<Contender> {
    let with = |label: String, changes: &[Change]| {
        let mut settings = now.clone();
        changes.iter().for_each(|(_, change)| change(&mut settings));
        Contender { label, settings, model: None }
    };
    let changes = changes(now, longer_ms);
    let mut all = vec![with(CAPTURED.into(), &[])];
    all.extend(changes.iter().map(|change| with(change.0.clone(), std::slice::from_ref(change))));
    if let [others @ .., last] = changes.as_slice()
        && !others.is_empty()
    {
        let others: Vec<&str> = others.iter().map(|(label, _)| label.as_str()).collect();
        all.push(with(format!("{} and {}", others.join(", "), last.0), &changes));
    }
    if may_share {
        let best = all.last().map_or(now, |best| &best.settings).clone();
        all.push(Contender { label: "one connection for writes".into(), settings: best, model: Some("pool") });
    }
    all
}

pub fn tier(settings: &Settings) -> &'static str {
    let of = [("journal_mode", &settings.journal_mode), ("synchronous", &settings.synchronous)];
    let of = of.map(|(key, value)| (key.to_string(), value.clone())).into();
    (contend::engine::sqlite::ENGINE.durability.tier)(&of).word()
}

/// The value of `synchronous` with the next safer promise.
pub fn safer(now: &Settings) -> Option<Settings> {
    const ALL: [&str; 4] = ["off", "normal", "full", "extra"];
    let at = ALL.iter().position(|value| *value == now.synchronous)?;
    let with = |value: &&str| Settings { synchronous: (*value).into(), ..now.clone() };
    ALL[at + 1..].iter().map(with).find(|settings| tier(settings) != tier(now))
}

pub fn write(out: &mut String, contender: &Contender, label: &str) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_waits_5_s_already_is_asked_about_a_timeout_longer_than_its_holds() {
        let settings = |busy_timeout| Settings {
            journal_mode: "delete".into(),
            synchronous: "full".into(),
            busy_timeout,
            begin: Some("deferred"),
            others: vec![],
        };
        let longer = |now, gave_up, hold_s: u64| longer_timeout(&settings(now), gave_up, hold_s * 1_000_000_000);
        assert_eq!(longer(500, false, 0), Some(5_000));
        assert_eq!(longer(5_000, true, 7), Some(15_000), "twice 7 s");
        assert_eq!(longer(10_000, true, 7), Some(20_000), "twice the timeout");
        assert_eq!(longer(5_000, false, 7), None, "all calls were refused at once");
        assert_eq!(longer(5_000, true, 1_000), Some(60_000));
        assert_eq!(longer(60_000, true, 1_000), None);

        let labels = |longer_ms| -> Vec<String> {
            contenders(&settings(5_000), longer_ms, false).into_iter().map(|contender| contender.label).collect()
        };
        assert_eq!(labels(None), ["as captured", "WAL", "BEGIN IMMEDIATE", "WAL and BEGIN IMMEDIATE"]);
        let all = contenders(&settings(5_000), Some(15_000), false);
        assert_eq!(
            labels(Some(15_000))[3..],
            ["a busy timeout of 15 s", "WAL, BEGIN IMMEDIATE and a busy timeout of 15 s"]
        );
        let waits = all[1..].iter().map(|of| of.waits(&settings(5_000))).collect::<Vec<_>>();
        assert_eq!(waits, [Waits::AsCaptured, Waits::AsCaptured, Waits::OnlyLonger, Waits::Longer]);
        assert_eq!(
            all.iter().map(|of| of.settings.busy_timeout).collect::<Vec<_>>(),
            [5_000, 5_000, 5_000, 15_000, 15_000]
        );
    }
}
