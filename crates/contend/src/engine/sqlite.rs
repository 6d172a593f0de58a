//! SQLite: embedded, so there is no server to start. A database is a directory with one file in it.

use super::pool::{self, OF_POOL};
use super::product::{Durability, Engine, FileCommits, Part};
use super::setting::{Expected, HTTP, Setting, Settings, Setup, TRANSPORT, Values};
use crate::contender::Tier;
use contend_wire::sample::CodeSpace;

pub const ENGINE: Engine = Engine {
    name: "sqlite",
    about: "SQLite, in the process of the client",
    settings: SETTINGS,
    durability: Durability {
        tier,
        keeps: &["journal_mode", "synchronous", "page_size", "storage"],
        log_ending: |settings| match ENGINE.own_value(settings, "journal_mode") {
            "wal" => "-wal",
            _ => "-journal",
        },
        commits_by_name: |settings| ENGINE.own_value(settings, "journal_mode") == "delete",
        survives_kill,
        syncs: |settings| ENGINE.own_value(settings, "synchronous") != "off",
        tier_settings,
    },
    implied: |_| &[],
    setup,
    further: &[
        ("synchronous", SYNCHRONOUS_IN_USE),
        ("synchronous_wal", SYNCHRONOUS_IN_WAL),
        ("busy_timeout", "PRAGMA busy_timeout"),
        ("read_uncommitted", "PRAGMA read_uncommitted"),
        // SQLite has only these two levels, and the lower one only if connections share a cache.
        ("isolation", "SELECT iif(read_uncommitted, 'read-uncommitted', 'serializable') FROM pragma_read_uncommitted"),
    ],
    before_load,
    group_commit: false,
    executes: true,
    integrity: |_| "PRAGMA integrity_check".to_string(),
    // Names that begin with `sqlite_` are its own, such as those of statistics.
    schema: r"SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\'",
    crash_safe: "",
    compact: |_| {
        ["PRAGMA synchronous = OFF", "PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"]
            .map(str::to_string)
            .to_vec()
    },
    table_bytes: "SELECT m.tbl_name, sum(iif(m.type = 'table', s.pgsize, 0)), sum(iif(m.type = 'index', s.pgsize, 0)) \
        FROM dbstat AS s JOIN sqlite_schema AS m ON m.name = s.name WHERE s.aggregate = TRUE GROUP BY m.tbl_name",
    // A program that enforces no foreign keys can have rows without a parent, and the loader's SQLite enforces them by default.
    load_session: &["PRAGMA synchronous = OFF", "PRAGMA journal_mode = OFF", "PRAGMA foreign_keys = OFF"],
    part,
    code_space: CodeSpace::Sqlite,
    loader: "rusqlite",
    aliases: &[],
    file_commits: Some(&FILE_COMMITS),
    server: None,
};

/// With a rollback journal the header of the file counts the transactions that changed it. With WAL the header of the
/// shared memory counts them since the first connection opened the database.
const FILE_COMMITS: FileCommits = FileCommits {
    in_file: |head| {
        let rollback_journal = head.get(18..20)? == [1, 1];
        let count: [u8; 4] = head.get(24..28)?.try_into().ok()?;
        rollback_journal.then(|| u32::from_be_bytes(count))
    },
    shared_ending: "-shm",
    in_shared: |head| Some(u32::from_ne_bytes(head.get(8..12)?.try_into().ok()?)),
    // `pagerSharedLock` reads 16 bytes of the header, to see whether its cache is still right. WAL uses shared memory instead, and
    // a mapped file needs no call.
    looked_at_by_each: |settings| {
        let is = |name: &str, value: &str| settings.get(name).is_some_and(|found| found == value);
        settings.contains_key("journal_mode") && !is("journal_mode", "wal") && is("mmap_size", "0")
    },
    syncs_of_each: |settings| match (
        ENGINE.own_value(settings, "journal_mode"),
        ENGINE.own_value(settings, "synchronous"),
    ) {
        (_, "off") | ("wal", "normal") => 0,
        ("wal" | "memory" | "off", _) => 1,
        // The journal, and then the file.
        _ => 2,
    },
    touched_by_each: |settings| {
        let journal = ENGINE.own_value(settings, "journal_mode");
        ["delete", "truncate", "persist"].contains(&journal).then_some("-journal")
    },
};

/// A library may be built with another level for WAL (`SQLITE_DEFAULT_WAL_SYNCHRONOUS`). That level applies from the first read of a
/// WAL file; the pragma before that read returns a value that will not last.
const SYNCHRONOUS_IN_USE: &str = "SELECT synchronous FROM (SELECT count(*) FROM sqlite_master), pragma_synchronous";
/// The level that a WAL file has, or would get from the build. A level that the driver itself chose would stay; SQLite does not
/// report which of the two it is.
const SYNCHRONOUS_IN_WAL: &str = "SELECT CASE (SELECT journal_mode FROM pragma_journal_mode) \
    WHEN 'wal' THEN (SELECT synchronous FROM (SELECT count(*) FROM sqlite_master), pragma_synchronous) \
    ELSE coalesce((SELECT substr(compile_options, 25) FROM pragma_compile_options \
    WHERE compile_options LIKE 'DEFAULT_WAL_SYNCHRONOUS=%'), (SELECT synchronous FROM pragma_synchronous)) END";

/// The -shm file is neither data nor log, but shared memory.
fn part(path: &str) -> Part {
    if path.ends_with("-wal") || path.ends_with("-journal") {
        Part::Log
    } else if path.ends_with("-shm") || path.starts_with('.') {
        Part::Other
    } else {
        Part::Data
    }
}

/// Settings that are pragmas of the same name, in the order in which they are set.
const PRAGMAS: [&str; 8] = [
    "journal_mode",
    "synchronous",
    "cache_size",
    "mmap_size",
    "wal_autocheckpoint",
    "journal_size_limit",
    "temp_store",
    "foreign_keys",
];

const ON_OFF: Values = Values::Words(&["on", "off"]);

/// Session pragmas have the name of the setting; [`setup`] explains the rest.
const SETTINGS: &[Setting] = &[
    Setting {
        name: "journal_mode",
        values: Values::Words(&["delete", "truncate", "persist", "memory", "wal", "off"]),
        default: "delete",
        about: "how a transaction is undone or redone after a crash",
    },
    Setting {
        name: "journal_mode_set",
        values: Values::Words(&["once", "connection"]),
        default: "once",
        about: "WAL is a property of the file: set before any client connects, or also by every connection, as some code does",
    },
    Setting {
        name: "synchronous",
        values: Values::Words(&["off", "normal", "full", "extra"]),
        default: "full",
        about: "how often SQLite calls fsync",
    },
    Setting {
        name: "busy_timeout",
        values: Values::Integer(0, 600_000),
        default: "0",
        about: "milliseconds to wait for a lock before SQLITE_BUSY",
    },
    Setting {
        name: "begin",
        values: Values::Words(&["deferred", "immediate", "exclusive"]),
        default: "deferred",
        about: "how writing transactions begin, unless the workload sets it",
    },
    Setting {
        name: "statements",
        values: Values::Words(&["prepared", "each"]),
        default: "prepared",
        about: "prepare once per connection, or again for every execution",
    },
    Setting {
        name: "cache_size",
        values: Values::Integer(-1_000_000_000, 1_000_000_000),
        default: "-2000",
        about: "page cache per connection: pages, or KiB if negative",
    },
    Setting {
        name: "mmap_size",
        values: Values::Integer(0, 1 << 40),
        default: "0",
        about: "bytes of the database file that are memory-mapped",
    },
    Setting {
        name: "wal_autocheckpoint",
        values: Values::Integer(0, 1_000_000_000),
        default: "1000",
        about: "pages in the write-ahead log that start a checkpoint; 0 = never",
    },
    Setting {
        name: "journal_size_limit",
        values: Values::Integer(-1, 1 << 40),
        default: "-1",
        about: "bytes that a log or journal keeps on disk once it is used again; -1 = no limit",
    },
    Setting {
        name: "temp_store",
        values: Values::Words(&["default", "file", "memory"]),
        default: "default",
        about: "where temporary tables and sorts live",
    },
    Setting {
        name: "foreign_keys",
        values: ON_OFF,
        default: "off",
        about: "whether foreign keys are enforced (SQLite's own default is off)",
    },
    Setting {
        name: "page_size",
        values: Values::Words(&["512", "1024", "2048", "4096", "8192", "16384", "32768", "65536"]),
        default: "4096",
        about: "bytes per page; applied when the data is loaded",
    },
    pool::SETTING_SIZE,
    pool::SETTING_IDLE,
    pool::SETTING_OPEN,
    Setting {
        name: TRANSPORT,
        values: Values::Words(&["in-process", HTTP]),
        default: "in-process",
        about: "clients call the driver themselves, or ask a worker that has it over HTTP on loopback",
    },
    Setting {
        name: "storage",
        values: Values::Words(&["file", "memory"]),
        default: "file",
        about: "in memory the data is copied from its file before the run and back after it; one connection per database",
    },
];

/// Tiers as measured by power cuts in simulation and on real kernels: `docs/methodology.md`.
fn tier(settings: &Settings) -> Tier {
    let journal = ENGINE.own_value(settings, "journal_mode");
    let synchronous = ENGINE.own_value(settings, "synchronous");
    if in_memory(settings) {
        return Tier::Unsafe;
    }
    match (journal, synchronous) {
        (_, "off") | ("memory" | "off", _) => Tier::Unsafe,
        ("wal", "normal") => Tier::Bounded,
        ("wal", _) => Tier::Durable,
        (_, "normal") => Tier::Unsafe,
        // The unlink of the rollback journal is not synced: the last commit can roll back.
        ("delete", "full") => Tier::Bounded,
        _ => Tier::Durable,
    }
}

/// Everything is lost with the process.
fn in_memory(settings: &Settings) -> bool {
    ENGINE.own_value(settings, "storage") == "memory"
}

/// A journal in memory, or none, is gone with the process in the middle of a transaction.
fn survives_kill(settings: &Settings) -> bool {
    !in_memory(settings) && !matches!(ENGINE.own_value(settings, "journal_mode"), "memory" | "off")
}

fn tier_settings(tier: Tier) -> &'static [(&'static str, &'static str)] {
    match tier {
        Tier::Durable => &[("journal_mode", "wal"), ("synchronous", "full")],
        Tier::Bounded => &[("journal_mode", "wal"), ("synchronous", "normal")],
        Tier::Unsafe => &[("journal_mode", "wal"), ("synchronous", "off")],
        Tier::Unknown => &[],
    }
}

fn before_load(settings: &Settings) -> Vec<String> {
    vec![format!("PRAGMA page_size = {}", ENGINE.own_value(settings, "page_size"))]
}

fn setup(settings: &Settings) -> Setup {
    let value = |name| ENGINE.own_value(settings, name).to_string();
    let mut setup = Setup {
        options: vec![
            ("busy_timeout_ms".to_string(), value("busy_timeout")),
            ("statements".to_string(), value("statements")),
        ],
        begin_write: Some(format!("BEGIN {}", value("begin").to_ascii_uppercase())),
        ..Setup::default()
    };
    // The worker sets it, asks SQLite for it, and only then installs its own measuring handler.
    setup.readbacks.push(Expected::reported("busy_timeout", value("busy_timeout")));
    for name in PRAGMAS {
        let pragma = format!("PRAGMA {name} = {}", value(name));
        let expected = match name {
            // Data in memory has a journal in memory, whatever the setting is.
            "journal_mode" if in_memory(settings) => "memory".to_string(),
            // There is no file to map, so SQLite returns nothing.
            "mmap_size" if in_memory(settings) => String::new(),
            _ => as_read_back(name, &value(name)),
        };
        setup.readbacks.push(Expected::asked(name, format!("PRAGMA {name}"), expected));
        match name {
            "journal_mode" if in_memory(settings) => {}
            // WAL is a property of the file: set once, so that racing connections cannot fail on it.
            "journal_mode" if value(name) == "wal" => {
                if value("journal_mode_set") == "connection" {
                    setup.session.push(pragma.clone());
                }
                setup.prepare.push(pragma);
            }
            _ => setup.session.push(pragma),
        }
    }
    setup.readbacks.push(Expected::asked("page_size", "PRAGMA page_size", value("page_size")));
    if in_memory(settings) {
        setup.options.push(("storage".to_string(), "memory".to_string()));
        setup.one_connection = true;
    }
    setup.pass_on(OF_POOL.iter().copied(), settings);
    setup
}

/// The form in which SQLite reports a setting.
fn as_read_back(name: &str, value: &str) -> String {
    let position = |words: &[&str]| words.iter().position(|word| *word == value).expect("a listed word").to_string();
    match name {
        "synchronous" => position(&["off", "normal", "full", "extra"]),
        "temp_store" => position(&["default", "file", "memory"]),
        "foreign_keys" => position(&["off", "on"]),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(journal: &str, synchronous: &str) -> Settings {
        [("journal_mode", journal), ("synchronous", synchronous)]
            .map(|(k, v)| (k.to_string(), v.to_string()))
            .into_iter()
            .collect()
    }

    #[test]
    fn tiers_follow_the_power_cut_measurements() {
        let table = [
            ("wal", ["unsafe", "bounded", "durable", "durable"]),
            ("delete", ["unsafe", "unsafe", "bounded", "durable"]),
            ("truncate", ["unsafe", "unsafe", "durable", "durable"]),
            ("persist", ["unsafe", "unsafe", "durable", "durable"]),
            ("memory", ["unsafe", "unsafe", "unsafe", "unsafe"]),
            ("off", ["unsafe", "unsafe", "unsafe", "unsafe"]),
        ];
        for (journal, tiers) in table {
            for (synchronous, expected) in ["off", "normal", "full", "extra"].into_iter().zip(tiers) {
                assert_eq!(tier(&settings(journal, synchronous)).word(), expected, "{journal}/{synchronous}");
            }
        }
        assert_eq!(tier(&Settings::new()), Tier::Bounded, "SQLite's own default, DELETE and FULL");
    }

    #[test]
    fn data_in_memory_is_lost_with_the_process() {
        let mut settings = settings("wal", "full");
        settings.insert("storage".to_string(), "memory".to_string());
        assert_eq!(tier(&settings), Tier::Unsafe);
        let setup = setup(&settings);
        let journal = setup.readbacks.iter().find(|r| r.name == "journal_mode").expect("read back");
        assert_eq!((journal.value.as_str(), setup.prepare.len(), setup.one_connection), ("memory", 0, true));
    }

    #[test]
    fn tier_settings_reach_their_tier() {
        for wanted in Tier::ALL {
            let settings = tier_settings(wanted).iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect();
            assert_eq!(tier(&settings), wanted);
        }
    }

    #[test]
    fn every_default_is_a_legal_value() {
        for setting in SETTINGS.iter().chain(super::super::COMMON_SETTINGS) {
            assert_eq!(setting.canonical(setting.default).as_deref(), Ok(setting.default), "{}", setting.name);
        }
    }
}
