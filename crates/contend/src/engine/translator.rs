//! The translator of SQLite's SQL, measured like an engine: its client translates every statement of the workload and
//! executes none. The schema comes from a SQLite database, which does not change.

use super::product::Engine;
use super::setting::{Expected, Setting, Settings, Setup, Values};
use super::sqlite;

pub const ENGINE: Engine = Engine {
    name: "translator",
    about: "contend-sql: translates the workload's statements for a server and executes none",
    settings: SETTINGS,
    setup,
    integrity: sqlite::ENGINE.integrity,
    compact: sqlite::ENGINE.compact,
    load_session: sqlite::ENGINE.load_session,
    part: sqlite::ENGINE.part,
    ..Engine::WITHOUT_DATA
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "translate_to",
        values: Values::Words(&["postgres", "mariadb"]),
        default: "postgres",
        about: "whose SQL is written",
    },
    Setting {
        name: "translate",
        values: Values::Words(&["cold", "hot", "look-up"]),
        default: "cold",
        about: "cold: every text is new; hot: its translation is found in the cache; look-up: only a number is kept there",
    },
    Setting {
        name: "cache",
        values: Values::Words(&["none", "thread", "thread-hash", "mutex", "rwlock", "atomic"]),
        default: "thread",
        about: "none; one for each client, which knows a text by where it lies in memory or, with thread-hash, by its hash alone; or one for all clients of a process, by hash: behind a mutex, a read-write lock, or with slots filled once and read without a lock",
    },
    Setting {
        name: "cache_slots",
        values: Values::Integer(4, 1 << 20),
        default: "512",
        about: "translations a cache holds",
    },
    Setting {
        name: "texts",
        values: Values::Integer(1, 10_000),
        default: "1",
        about: "hot, look-up: different texts of each statement, in turn over its repetitions",
    },
];

fn setup(settings: &Settings) -> Setup {
    let of = |setting: &Setting| (setting.name.to_string(), ENGINE.own_value(settings, setting.name).to_string());
    let options: Vec<(String, String)> = SETTINGS.iter().map(of).collect();
    // The worker reports them itself.
    let readback = |(name, value): &(String, String)| Expected::reported(name, value);
    Setup { readbacks: options.iter().map(readback).collect(), options, ..Setup::default() }
}
