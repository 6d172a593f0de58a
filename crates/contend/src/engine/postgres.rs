//! PostgreSQL.

use super::pool;
use super::product::{Durability, Engine, Part};
use super::server::{Counts, Layout, LockWaits, Server, Signal, connection_limit, quoted};
use super::sessions::{self, LOCK_TIMEOUT, SAVEPOINTS, Sessions};
use super::setting::{Expected, Setting, Settings, Setup, Values};
use crate::contender::Tier;
use contend_wire::sample::CodeSpace;

pub const ENGINE: Engine = Engine {
    name: "postgres",
    about: "PostgreSQL, a private server that contend starts for each trial",
    settings: SETTINGS,
    durability: Durability {
        tier,
        keeps: &["fsync", "full_page_writes", "synchronous_commit", "wal_sync_method"],
        log_ending: |_| "",
        commits_by_name: |_| false,
        survives_kill: |settings| ENGINE.own_value(settings, "synchronous_commit") != "off",
        syncs: |settings| ENGINE.own_value(settings, "fsync") != "off",
        tier_settings,
    },
    implied: |_| &[],
    setup,
    // A setting local to a transaction is lost after a statement that is its own transaction.
    further: &[
        ("in_one_transaction", "SELECT set_config('contend.probe', 'set', true)"),
        ("autocommit", "SELECT CASE WHEN current_setting('contend.probe', true) = 'set' THEN 'off' ELSE 'on' END"),
    ],
    before_load: |_| vec![],
    group_commit: true,
    executes: true,
    integrity,
    schema: SCHEMA,
    crash_safe: "logged",
    compact: |tables| {
        let full = tables.iter().map(|table| format!("VACUUM (FULL, ANALYZE) {table}"));
        full.chain(["CHECKPOINT".to_string()]).collect()
    },
    table_bytes: "SELECT c.relname::text, pg_table_size(c.oid), pg_indexes_size(c.oid) FROM pg_class AS c \
        JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = 'public' \
        AND NOT starts_with(c.relname, '_contend_')",
    load_session: &["SET synchronous_commit = off"],
    part,
    code_space: CodeSpace::Sqlstate,
    loader: "postgres",
    aliases: &[("busy_timeout", "lock_timeout")],
    file_commits: None,
    server: Some(&SERVER),
};

const SERVER: Server = Server {
    title: "PostgreSQL",
    scheme: "postgres",
    dialect: contend_sql::Target::Postgres,
    programs: &["postgres", "initdb"],
    places: &["/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin"],
    install: "apt-get install postgresql",
    user: "contend",
    first_database: "postgres",
    initialise: |layout| {
        let words = [
            "initdb",
            // The socket's directory is closed to other users; the TCP port is open to all of them.
            "--auth-local=trust",
            "--auth-host=scram-sha-256",
            "--username=contend",
            "--encoding=UTF8",
            "--no-locale",
            "--no-sync",
        ];
        let mut command: Vec<String> = words.map(str::to_string).to_vec();
        command.push(format!("--pgdata={}", layout.data.display()));
        vec![command]
    },
    configuration,
    access,
    start: |layout| vec!["postgres".to_string(), "-D".to_string(), layout.data.display().to_string()],
    socket: |port| format!(".s.PGSQL.{}", port.unwrap_or(5432)),
    stop: Signal::Interrupt,
    abort: Signal::Quit,
    version: "SHOW server_version",
    provision: |_| vec![],
    let_in: |password| vec![format!("ALTER ROLE contend PASSWORD '{password}'")],
    create_database: |name| format!("CREATE DATABASE {} TEMPLATE template0", quoted(name, '"')),
    drop_database: |name| format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", quoted(name, '"')),
    new_database: &["CREATE EXTENSION IF NOT EXISTS amcheck"],
    own_session: &["SET search_path TO public"],
    load,
    after_load: |_| vec!["VACUUM (FREEZE, ANALYZE)".to_string(), "CHECKPOINT".to_string()],
    // A killed server leaves a few bytes of shared memory, whose id is the second word of the seventh line.
    leftover: |read| {
        let text = read("postmaster.pid")?;
        let number: u64 = text.lines().nth(6)?.split_whitespace().nth(1)?.parse().ok()?;
        Some(vec!["/usr/bin/ipcrm".to_string(), "-m".to_string(), number.to_string()])
    },
    lists_memory,
    fixed: &[
        "fsync",
        "full_page_writes",
        "wal_sync_method",
        "shared_buffers",
        "max_wal_size",
        "checkpoint_timeout",
        "deadlock_timeout",
    ],
    write_back: &["CHECKPOINT"],
    write_back_ns: 100_000_000,
    // Syncs of the log only. If each write is a sync, the server counts none (manual, `pg_stat_wal`). A session's are counted before
    // it is no longer listed, from version 15 on. Sessions can reset the counts, and so does the recovery from a crash of a session.
    // Version 18 does not count syncs here, and version 13 has no such view.
    own_counts: "WITH kept AS (SELECT CASE WHEN current_setting('wal_sync_method') NOT LIKE 'open%' \
        THEN (to_jsonb(w) ->> 'wal_sync')::bigint END AS syncs, \
        current_setting('server_version_num')::int >= 150000 AS whole, stats_reset AS wal_reset FROM pg_stat_wal AS w) \
        SELECT syncs, CASE WHEN whole THEN (SELECT count(*) FROM pg_stat_activity \
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()) END, NULL, \
        CASE WHEN whole THEN (SELECT sum(xact_rollback)::bigint FROM pg_stat_database) END, \
        CASE WHEN whole THEN (extract(epoch FROM greatest(wal_reset, (SELECT max(stats_reset) FROM pg_stat_database))) \
        * 1000000)::bigint END FROM kept",
    // One process at a time syncs the log.
    syncs_at_once: 1,
    // Each writing transaction takes the next id, and so does the server's own gathering of statistics. Those before `xmax` have
    // ended, except the ones in progress. A session reports a commit that is no longer in progress. This transaction begins
    // before its snapshot is taken.
    commits: "SELECT pg_snapshot_xmax(s)::text::bigint - (SELECT count(*) FROM pg_snapshot_xip(s)), \
        (extract(epoch FROM now()) * 1000000)::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint \
        FROM pg_current_snapshot() AS s",
    counts: Counts::Writers,
    own_commits: 100,
    configured: ("time of its configuration", "SELECT extract(epoch FROM pg_conf_load_time())::text"),
    lock_waits: LockWaits::Log(logged_wait_ns),
};

/// A table can be kept out of the log, and the triggers of foreign keys can be disabled.
const SCHEMA: &str = "SELECT 'table', c.relname::text, c.relname::text, concat_ws(' ', CASE c.relpersistence WHEN 'p' THEN 'logged' ELSE 'unlogged' END, c.reloptions::text, \
    (SELECT string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, \
    pg_get_expr(d.adbin, d.adrelid)), ', ' ORDER BY a.attnum) FROM pg_attribute AS a LEFT JOIN pg_attrdef AS d \
    ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)) \
    FROM pg_class AS c WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace \
    UNION ALL SELECT 'index', i.relname::text, t.relname::text, concat_ws(' ', pg_get_indexdef(i.oid), x.indisvalid) \
    FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid JOIN pg_class AS t ON t.oid = x.indrelid \
    WHERE t.relnamespace = 'public'::regnamespace \
    UNION ALL SELECT 'constraint', k.conname::text, t.relname::text, pg_get_constraintdef(k.oid) \
    FROM pg_constraint AS k JOIN pg_class AS t ON t.oid = k.conrelid WHERE t.relnamespace = 'public'::regnamespace \
    UNION ALL SELECT 'trigger', g.tgname::text, t.relname::text, concat_ws(' ', pg_get_triggerdef(g.oid), g.tgenabled) \
    FROM pg_trigger AS g JOIN pg_class AS t ON t.oid = g.tgrelid \
    WHERE t.relnamespace = 'public'::regnamespace AND (NOT g.tgisinternal OR g.tgenabled <> 'O')";

const ON_OFF: Values = Values::Words(&["on", "off"]);

const SETTINGS: &[Setting] = &[
    Setting {
        name: "synchronous_commit",
        values: ON_OFF,
        default: "on",
        about: "whether a commit waits until its log is on disk",
    },
    Setting { name: "fsync", values: ON_OFF, default: "on", about: "whether the server syncs at all" },
    Setting {
        name: "full_page_writes",
        values: ON_OFF,
        default: "on",
        about: "whole pages in the log after a checkpoint, against pages half written",
    },
    Setting {
        name: "wal_sync_method",
        values: Values::Words(&["fdatasync", "fsync", "open_datasync", "open_sync"]),
        default: "fdatasync",
        about: "how the log reaches the disk",
    },
    Setting {
        name: "shared_buffers",
        values: Values::Integer(1, 1 << 20),
        default: "128",
        about: "the server's own page cache, MiB",
    },
    Setting {
        name: "max_wal_size",
        values: Values::Integer(32, 1 << 20),
        default: "1024",
        about: "log that starts a checkpoint, MiB",
    },
    Setting {
        name: "checkpoint_timeout",
        values: Values::Integer(30, 86_400),
        default: "300",
        about: "seconds between checkpoints at most",
    },
    Setting {
        name: "deadlock_timeout",
        values: Values::Integer(1, 600_000),
        default: "1000",
        about: "milliseconds a lock is waited for before the server looks for a deadlock, and logs the wait",
    },
    Setting { name: "work_mem", values: Values::Integer(64, 1 << 21), default: "4096", about: "memory of a sort, KiB" },
    Setting { name: "jit", values: ON_OFF, default: "on", about: "compile expensive queries" },
    sessions::isolation("read-committed"),
    Setting {
        name: LOCK_TIMEOUT,
        values: Values::Integer(-1, 600_000),
        default: "-1",
        about: "milliseconds a statement waits for a lock; -1 = for ever, 0 = the server's least, 1 ms",
    },
    sessions::statements("prepare once per connection, or send text and values each time"),
    Setting {
        name: SAVEPOINTS,
        values: Values::Words(&["none", "each"]),
        default: "none",
        about: "each: a savepoint around every statement of a transaction, so that one that fails leaves it alive, as on SQLite",
    },
    sessions::REACHED_BY,
    pool::SETTING_SIZE,
    pool::SETTING_IDLE,
    pool::SETTING_OPEN,
];

/// Without syncs or whole pages a power cut can damage the database; without waiting for the log it loses the last
/// commits (and so does a crash of the server).
fn tier(settings: &Settings) -> Tier {
    let off = |name| ENGINE.own_value(settings, name) == "off";
    if off("fsync") || off("full_page_writes") {
        Tier::Unsafe
    } else if off("synchronous_commit") {
        Tier::Bounded
    } else {
        Tier::Durable
    }
}

fn tier_settings(tier: Tier) -> &'static [(&'static str, &'static str)] {
    match tier {
        Tier::Durable => &[("fsync", "on"), ("full_page_writes", "on"), ("synchronous_commit", "on")],
        Tier::Bounded => &[("fsync", "on"), ("full_page_writes", "on"), ("synchronous_commit", "off")],
        Tier::Unsafe => &[("fsync", "off"), ("full_page_writes", "off"), ("synchronous_commit", "off")],
        Tier::Unknown => &[],
    }
}

/// Written to the configuration with a unit, read back from `pg_settings` in the server's own.
fn in_configuration(name: &str, value: &str) -> String {
    match name {
        "shared_buffers" | "max_wal_size" => format!("{value}MB"),
        "checkpoint_timeout" => format!("{value}s"),
        "deadlock_timeout" => format!("{value}ms"),
        "work_mem" => format!("{value}kB"),
        _ => value.to_string(),
    }
}

fn configuration(settings: &Settings, layout: &Layout) -> (&'static str, String) {
    let mut text = String::from("# Written by contend for one trial.\n");
    let mut line = |name: &str, value: &str| text.push_str(&format!("{name} = '{value}'\n"));
    line("unix_socket_directories", &layout.socket_dir.display().to_string().replace('\'', "''"));
    line("unix_socket_permissions", "0700");
    line("listen_addresses", if layout.port.is_some() { "127.0.0.1" } else { "" });
    line("port", &layout.port.unwrap_or(5432).to_string());
    line("max_connections", &connection_limit(layout.connections).to_string());
    line("password_encryption", "scram-sha-256");
    line("log_timezone", "UTC");
    line("timezone", "UTC");
    // A failed statement may hold a password, and failures are recorded as outcomes.
    line("log_min_error_statement", "panic");
    line("log_min_messages", "log");
    // Logs waits longer than deadlock_timeout, which the server checks anyway.
    line("log_lock_waits", "on");
    for name in sessions::own_settings(&ENGINE) {
        line(name, &in_configuration(name, ENGINE.own_value(settings, name)));
    }
    if layout.only.is_some() {
        for (setting, file) in [("hba_file", HBA_FILE), ("ident_file", IDENT_FILE)] {
            line(setting, &layout.data.join(file).display().to_string().replace('\'', "''"));
        }
    }
    ("postgresql.conf", text)
}

const HBA_FILE: &str = "contend_hba.conf";
const IDENT_FILE: &str = "contend_ident.conf";

/// Rules of login: by the socket only this user of the machine, over TCP only with a password. While contend runs the server they
/// replace the files of initdb, which let everyone log in who reaches the socket.
fn access(layout: &Layout) -> Vec<(&'static str, String)> {
    let Some(user) = layout.only else { return vec![] };
    let rules = ["local {} all peer map=contend", "host {} all 127.0.0.1/32 scram-sha-256"];
    let lines =
        ["all", "replication"].iter().flat_map(|databases| rules.map(|rule| rule.replace("{}", databases) + "\n"));
    vec![(HBA_FILE, lines.collect()), (IDENT_FILE, format!("contend {user} {}\n", SERVER.user))]
}

fn setup(settings: &Settings) -> Setup {
    let value = |name| ENGINE.own_value(settings, name).to_string();
    let isolation = value("isolation").replace('-', " ");
    let lock_timeout_ms = match value(LOCK_TIMEOUT).as_str() {
        "-1" => "0".to_string(),
        "0" => "1".to_string(),
        ms => ms.to_string(),
    };
    let read = |name: &str, value: &str| {
        Expected::asked(name, format!("SELECT setting FROM pg_settings WHERE name = '{name}'"), value)
    };
    let mut readbacks: Vec<Expected> =
        sessions::own_settings(&ENGINE).map(|name| read(name, &as_read_back(name, &value(name)))).collect();
    readbacks.push(read("default_transaction_isolation", &isolation));
    readbacks.push(read("lock_timeout", &lock_timeout_ms));
    let mut session = vec![
        format!("SET default_transaction_isolation = '{isolation}'"),
        format!("SET lock_timeout = {lock_timeout_ms}"),
    ];
    for name in ["synchronous_commit", "work_mem", "jit"] {
        session.push(format!("SET {name} = '{}'", in_configuration(name, &value(name))));
    }
    let transport = "SELECT CASE WHEN inet_client_addr() IS NULL THEN 'socket' ELSE 'tcp' END";
    sessions::setup(SERVER.dialect, &ENGINE, settings, Sessions { session, readbacks, transport })
}

/// The server counts `shared_buffers` in pages of 8 KiB.
fn as_read_back(name: &str, value: &str) -> String {
    match (name, value.parse::<u64>()) {
        ("shared_buffers", Ok(mib)) => (mib * 128).to_string(),
        _ => value.to_string(),
    }
}

/// Names of shared memory in the server's control segment: a header of 16 bytes (magic number, number of entries,
/// capacity), then entries of 40 bytes (handle, reference count, ...). Entries without references are gone, and those
/// with an odd handle are elsewhere. Segments with another magic number are ignored.
fn lists_memory(control: &[u8]) -> Vec<String> {
    const MAGIC: u32 = 0x9a50_3d32;
    const HEAD: usize = 16;
    const ENTRY: usize = 40;
    let number = |at: usize| Some(u32::from_ne_bytes(control.get(at..at + 4)?.try_into().ok()?));
    if number(0) != Some(MAGIC) {
        return vec![];
    }
    let entries = (0..number(4).unwrap_or(0) as usize).map(|i| HEAD + i * ENTRY);
    let used = entries.map_while(|at| Some((number(at)?, number(at + 4)?)));
    used.filter(|(handle, users)| *users > 0 && handle % 2 == 0)
        .map(|(handle, _)| format!("PostgreSQL.{handle}"))
        .collect()
}

/// The length of a wait from `process 7 acquired ShareLock on transaction 9 after 1.234 ms`, or from the message that
/// it failed. Messages of waits that continue are ignored.
fn logged_wait_ns(line: &str) -> Option<u64> {
    let (_, said) = line.split_once("process ")?;
    let over = [" acquired ", " failed to acquire ", " detected deadlock while waiting for "];
    over.iter().find(|words| said.contains(*words))?;
    let ms = said.rsplit_once(" after ")?.1.strip_suffix(" ms")?;
    let (whole, thousandths) = ms.split_once('.')?;
    let us = whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(thousandths.parse().ok()?)?;
    us.checked_mul(1000)
}

/// Checks the structure and order of every index, which also reads the tables (module amcheck).
fn integrity(_: &[String]) -> String {
    "SELECT CASE WHEN count(bt_index_check(c.oid, true)::text) >= 0 THEN 'ok' END \
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam \
     JOIN pg_namespace n ON n.oid = c.relnamespace \
     WHERE a.amname = 'btree' AND i.indisvalid AND c.relpersistence = 'p' AND n.nspname NOT LIKE 'pg\\_%'"
        .to_string()
}

/// Only contend's databases count as data: their ids begin at 16384.
fn part(path: &str) -> Part {
    let mut parts = path.split('/').skip(1);
    match (parts.next(), parts.next(), parts.next()) {
        (None, ..) | (Some("base"), None, _) => Part::Inside,
        (Some("base"), Some(database), file) => match (database.parse::<u64>(), file) {
            (Ok(oid), None) if oid >= 16_384 => Part::Inside,
            (Ok(oid), Some(_)) if oid >= 16_384 => Part::Data,
            _ => Part::Other,
        },
        (Some("pg_wal"), None, _) => Part::Inside,
        (Some("pg_wal"), Some(file), None) if file.len() == 24 => Part::Log,
        _ => Part::Other,
    }
}

/// `INSERT INTO t (a) VALUES (...)` as `COPY t (a) FROM STDIN`.
fn load(insert: &str) -> String {
    let target = insert.strip_prefix("INSERT INTO ").unwrap_or(insert);
    let target = target.rfind(" VALUES").map_or(target, |at| &target[..at]);
    format!("COPY {target} FROM STDIN")
}

#[cfg(test)]
mod tests {
    use super::super::sessions::testing::{assert_parts, assert_tiers, settings};
    use super::*;

    #[test]
    fn tiers_follow_the_design() {
        let cases = [
            (&[][..], Tier::Durable),
            (&[("synchronous_commit", "off")], Tier::Bounded),
            (&[("fsync", "off")], Tier::Unsafe),
            (&[("full_page_writes", "off")], Tier::Unsafe),
        ];
        assert_tiers(&ENGINE, &cases);
    }

    #[test]
    fn waits_for_locks_are_read_from_the_log() {
        let log = "2026-01-02 03:04:05.678 UTC [7] LOG:  process 7 still waiting for ShareLock on transaction 9 after 1.042 ms\n\
                   2026-01-02 03:04:05.680 UTC [7] LOG:  process 7 acquired ShareLock on transaction 9 after 3.250 ms\n\
                   2026-01-02 03:04:06.000 UTC [8] LOG:  process 8 detected deadlock while waiting for ShareLock on \
                   transaction 11 after 1.000 ms\n\
                   2026-01-02 03:04:06.000 UTC [8] DETAIL:  Process holding the lock: 7. Wait queue: .\n\
                   2026-01-02 03:04:07.000 UTC [1] LOG:  checkpoint complete: sync=0.001 s, process 1 after 5 ms";
        let waits: Vec<u64> = log.lines().filter_map(logged_wait_ns).collect();
        assert_eq!(waits, [3_250_000, 1_000_000]);
    }

    #[test]
    fn settings_are_written_with_units_and_read_back_without() {
        let layout = Layout {
            data: "/d".into(),
            socket_dir: "/s".into(),
            socket: (SERVER.socket)(Some(5999)),
            port: Some(5999),
            connections: 4,
            only: None,
        };
        let (_, text) = configuration(&settings(&[("shared_buffers", "256")]), &layout);
        for line in ["shared_buffers = '256MB'", "listen_addresses = '127.0.0.1'", "port = '5999'", "fsync = 'on'"] {
            assert!(text.contains(line), "{line}: {text}");
        }
        let setup = setup(&settings(&[("shared_buffers", "256"), ("lock_timeout", "0")]));
        let value = |name: &str| setup.readbacks.iter().find(|r| r.name == name).map(|r| r.value.clone());
        assert_eq!(value("shared_buffers").as_deref(), Some("32768"));
        assert_eq!(value("lock_timeout").as_deref(), Some("1"));
    }

    #[test]
    fn shared_memory_lists_the_rest() {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        let entry = |handle, users| words(&[handle, users, 0, 0, 0, 0, 0, 0, 0, 0]);
        let entries = [entry(10, 2), entry(12, 0), entry(13, 2), entry(u32::MAX - 1, 1)].concat();
        let control = |magic| [words(&[magic, 4, 99, 0]), entries.clone()].concat();
        assert_eq!(lists_memory(&control(0x9a50_3d32)), ["PostgreSQL.10", "PostgreSQL.4294967294"]);
        assert!(lists_memory(&control(7)).is_empty());
        assert_eq!(lists_memory(&control(0x9a50_3d32)[..40]), ["PostgreSQL.10"], "cut off");
    }

    #[test]
    fn files_are_told_apart() {
        let cases = [
            ("server", Part::Inside),
            ("server/base", Part::Inside),
            ("server/base/16384", Part::Inside),
            ("server/base/16384/2619_fsm", Part::Data),
            ("server/base/1", Part::Other),
            ("server/pg_wal/000000010000000000000001", Part::Log),
            ("server/pg_wal/archive_status", Part::Other),
            ("server/global", Part::Other),
        ];
        assert_parts(&ENGINE, &cases);
    }

    #[test]
    fn a_load_is_a_copy() {
        assert_eq!(load("INSERT INTO \"t\" (\"a\", b) VALUES ($1, $2)"), "COPY \"t\" (\"a\", b) FROM STDIN");
    }
}
