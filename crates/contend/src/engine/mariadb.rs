//! MariaDB.

use super::pool;
use super::product::{Durability, Engine, Part};
use super::server::{Counts, Layout, LockWaits, Server, Signal, connection_limit, quoted};
use super::sessions::{self, LOCK_TIMEOUT, Sessions};
use super::setting::{Expected, Setting, Settings, Setup, Values};
use crate::contender::Tier;
use contend_wire::sample::CodeSpace;
use std::path::Path;

pub const ENGINE: Engine = Engine {
    name: "mariadb",
    about: "MariaDB, a private server that contend starts for each trial",
    settings: SETTINGS,
    durability: Durability {
        tier,
        keeps: &[
            "innodb_doublewrite",
            "innodb_flush_log_at_trx_commit",
            "innodb_flush_method",
            "innodb_log_file_buffering",
            "log_bin",
            "sync_binlog",
        ],
        log_ending: |_| "",
        commits_by_name: |_| false,
        survives_kill: |settings| ENGINE.own_value(settings, "innodb_flush_log_at_trx_commit") != "0",
        syncs: |_| true,
        tier_settings,
    },
    implied,
    setup,
    further: &[("autocommit", "SELECT IF(@@autocommit, 'on', 'off')")],
    before_load: |_| vec![],
    group_commit: true,
    executes: true,
    integrity: |tables| format!("CHECK TABLE {} EXTENDED", list(tables)),
    schema: SCHEMA,
    crash_safe: "InnoDB",
    compact: |tables| vec![format!("OPTIMIZE TABLE {}", list(tables))],
    table_bytes: "SELECT table_name, CAST(data_length AS SIGNED), CAST(index_length AS SIGNED) \
        FROM information_schema.tables WHERE table_schema = database() AND table_type = 'BASE TABLE'",
    load_session: &["SET unique_checks = 1"],
    part,
    code_space: CodeSpace::Mysql,
    loader: "mysql",
    aliases: &[("busy_timeout", "lock_timeout")],
    file_commits: None,
    server: Some(&SERVER),
};

const SERVER: Server = Server {
    title: "MariaDB",
    scheme: "mysql",
    dialect: contend_sql::Target::MariaDb,
    programs: &["mariadbd", "mariadb-install-db"],
    places: &["/usr/sbin", "/usr/bin", "/usr/local/mysql/bin", "/usr/libexec"],
    install: "apt-get install mariadb-server",
    user: "root",
    first_database: "mysql",
    initialise: |layout| {
        let words = [
            "mariadb-install-db",
            "--no-defaults",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--skip-name-resolve",
        ];
        let mut command: Vec<String> = words.map(str::to_string).to_vec();
        // Its temporary files go to TMPDIR: it splits `--tmpdir` at blanks.
        command.push(format!("--datadir={}", layout.data.display()));
        vec![command]
    },
    configuration,
    access: |_| vec![],
    start: |layout| {
        let configuration = layout.data.join(CONFIGURATION);
        vec!["mariadbd".to_string(), format!("--defaults-file={}", configuration.display())]
    },
    socket: |_| "mariadb.sock".to_string(),
    stop: Signal::Terminate,
    abort: Signal::Kill,
    version: "SELECT version()",
    // A new data directory has a root without a password on every interface.
    provision: |layout| {
        let others = ["DELETE FROM mysql.global_priv WHERE Host <> 'localhost' OR User = ''", "FLUSH PRIVILEGES"];
        // The user of the server has the name of the one who may log in, as this plugin requires.
        let by_socket = layout.only.map(|user| format!("ALTER USER {user}@localhost IDENTIFIED VIA unix_socket"));
        others.map(str::to_string).into_iter().chain(by_socket).collect()
    },
    let_in: |password| {
        vec![
            format!("CREATE USER root@'127.0.0.1' IDENTIFIED BY '{password}'"),
            "GRANT ALL PRIVILEGES ON *.* TO root@'127.0.0.1' WITH GRANT OPTION".to_string(),
        ]
    },
    create_database: |name| {
        format!("CREATE DATABASE {} CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin", quoted(name, '`'))
    },
    drop_database: |name| format!("DROP DATABASE IF EXISTS {}", quoted(name, '`')),
    new_database: &[],
    own_session: &[],
    load: str::to_string,
    after_load: |tables| vec![format!("ANALYZE TABLE {}", list(tables))],
    leftover: |_| None,
    lists_memory: |_| vec![],
    fixed: &["innodb_doublewrite", "innodb_log_file_size", "innodb_flush_method", "log_bin"],
    // Its page cleaner runs once a second (10.11.19), even if requested more often.
    write_back: &["SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0", "SET GLOBAL innodb_max_dirty_pages_pct = 0"],
    write_back_ns: 2_400_000_000,
    // Syncs of data files and of the redo log. With o_dsync each write is a sync, and none is counted.
    own_counts: "SELECT max(CASE WHEN variable_name = 'INNODB_DATA_FSYNCS' AND @@innodb_flush_method <> 'O_DSYNC' \
        THEN CAST(variable_value AS SIGNED) END), NULL, \
        max(CASE WHEN variable_name = 'BINLOG_COMMITS' AND @@log_bin THEN CAST(variable_value AS SIGNED) END), NULL, NULL \
        FROM information_schema.global_status WHERE variable_name IN ('INNODB_DATA_FSYNCS', 'BINLOG_COMMITS')",
    // A session with the redo log, the page cleaner, and those that write pages twice.
    syncs_at_once: 4,
    // Its counters of transactions include reads, or lose concurrent counts. Those of statements are kept by each
    // connection and exact.
    commits: "SELECT CAST(sum(variable_value) AS SIGNED) FROM information_schema.global_status WHERE variable_name IN \
        ('COM_COMMIT', 'COM_INSERT', 'COM_INSERT_SELECT', 'COM_UPDATE', 'COM_UPDATE_MULTI', 'COM_DELETE', \
        'COM_DELETE_MULTI', 'COM_REPLACE', 'COM_REPLACE_SELECT')",
    counts: Counts::Statements,
    own_commits: 0,
    // The origin of a variable stays SQL when it is set back to its old value.
    configured: (
        "list of variables set by SET GLOBAL",
        "SELECT coalesce(group_concat(lower(variable_name) ORDER BY variable_name SEPARATOR ', '), 'empty') \
         FROM information_schema.system_variables WHERE global_value_origin = 'SQL'",
    ),
    lock_waits: LockWaits::Counters(
        "SELECT sum(if(variable_name = 'INNODB_ROW_LOCK_WAITS', variable_value, 0)), \
         sum(if(variable_name = 'INNODB_ROW_LOCK_TIME', variable_value, 0)), \
         sum(if(variable_name = 'INNODB_ROW_LOCK_TIME_MAX', variable_value, 0)) FROM information_schema.global_status",
    ),
};

const CONFIGURATION: &str = "contend.cnf";

/// How files are written and synced.
const FLUSH_METHOD: &str = "innodb_flush_method";

/// A setting since 10.8.4.
const LOG_BUFFERING: &str = "innodb_log_file_buffering";
const DOUBLEWRITE: &str = "innodb_doublewrite";

/// Value of a setting that the server does not have.
const ABSENT: &str = "absent";

const SCHEMA: &str = "SELECT if(t.table_type = 'VIEW', 'view', 'table'), t.table_name, t.table_name, concat_ws(' ', t.engine, t.create_options, \
    (SELECT group_concat(concat_ws(' ', c.column_name, c.column_type, c.is_nullable, c.column_default, c.extra) \
    ORDER BY c.ordinal_position) FROM information_schema.columns AS c \
    WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name)) \
    FROM information_schema.tables AS t WHERE t.table_schema = database() \
    UNION ALL SELECT 'index', index_name, table_name, concat_ws(' ', index_type, min(non_unique), min(ignored), \
    group_concat(concat_ws(' ', column_name, sub_part) ORDER BY seq_in_index)) \
    FROM information_schema.statistics WHERE table_schema = database() GROUP BY table_name, index_name, index_type \
    UNION ALL SELECT 'constraint', constraint_name, table_name, \
    concat_ws(' ', referenced_table_name, update_rule, delete_rule) \
    FROM information_schema.referential_constraints WHERE constraint_schema = database() \
    UNION ALL SELECT 'constraint', constraint_name, table_name, check_clause \
    FROM information_schema.check_constraints WHERE constraint_schema = database() \
    UNION ALL SELECT 'trigger', trigger_name, event_object_table, \
    concat_ws(' ', action_timing, event_manipulation, action_statement) \
    FROM information_schema.triggers WHERE trigger_schema = database()";

const ON_OFF: Values = Values::Words(&["on", "off"]);

const SETTINGS: &[Setting] = &[
    Setting {
        name: "innodb_flush_log_at_trx_commit",
        values: Values::Words(&["0", "1", "2"]),
        default: "1",
        about: "a commit's log: 1 = written and synced, 2 = written, 0 = neither, once a second",
    },
    Setting {
        name: "innodb_doublewrite",
        values: ON_OFF,
        default: "on",
        about: "pages are written twice, against pages half written",
    },
    Setting { name: "log_bin", values: ON_OFF, default: "off", about: "whether there is a binary log" },
    Setting {
        name: "sync_binlog",
        values: Values::Integer(0, 1_000_000),
        default: "0",
        about: "commits after which the binary log is synced; 0 = never",
    },
    Setting {
        name: "innodb_buffer_pool_size",
        values: Values::Integer(6, 1 << 20),
        default: "128",
        about: "the server's own page cache, MiB",
    },
    Setting {
        name: "innodb_log_file_size",
        values: Values::Integer(4, 1 << 19),
        default: "96",
        about: "size of the redo log, MiB",
    },
    Setting {
        name: LOG_BUFFERING,
        values: ON_OFF,
        default: "off",
        about: "whether the redo log goes through the system's cache; on whenever innodb_flush_log_at_trx_commit=2, and on servers without this setting",
    },
    Setting {
        name: FLUSH_METHOD,
        values: Values::Words(&["o_direct", "fsync", "o_dsync", "o_direct_no_fsync"]),
        default: "o_direct",
        about: "how data files are written",
    },
    sessions::isolation("repeatable-read"),
    Setting {
        name: LOCK_TIMEOUT,
        values: Values::Integer(0, 600_000),
        default: "50000",
        about: "milliseconds a statement waits for a row lock, in whole seconds (rounded up)",
    },
    sessions::statements("prepare once per connection, or send text with its values in it each time"),
    sessions::REACHED_BY,
    pool::SETTING_SIZE,
    pool::SETTING_IDLE,
    pool::SETTING_OPEN,
];

/// A commit is safe if the redo log is synced and there is no binary log, which recovery would follow instead.
fn tier(settings: &Settings) -> Tier {
    let value = |name| ENGINE.own_value(settings, name);
    let binlog_behind = value("log_bin") == "on" && value("sync_binlog") != "1";
    if value("innodb_doublewrite") == "off" {
        Tier::Unsafe
    } else if value(FLUSH_METHOD) == "o_direct_no_fsync" {
        // Data files are never flushed from the device's cache, and no power cuts have been made to see the effect.
        Tier::Unknown
    } else if value("innodb_flush_log_at_trx_commit") != "1" || binlog_behind {
        Tier::Bounded
    } else {
        Tier::Durable
    }
}

fn tier_settings(tier: Tier) -> &'static [(&'static str, &'static str)] {
    match tier {
        Tier::Durable => &[("innodb_doublewrite", "on"), ("innodb_flush_log_at_trx_commit", "1"), ("log_bin", "off")],
        Tier::Bounded => &[("innodb_doublewrite", "on"), ("innodb_flush_log_at_trx_commit", "2"), ("log_bin", "off")],
        Tier::Unsafe => &[("innodb_doublewrite", "off"), ("innodb_flush_log_at_trx_commit", "0"), ("log_bin", "off")],
        Tier::Unknown => &[],
    }
}

/// With =2 the server turns buffering on, whatever the configuration (10.11.19): the log must be in the system's cache.
fn implied(settings: &Settings) -> &'static [(&'static str, &'static str)] {
    match ENGINE.own_value(settings, "innodb_flush_log_at_trx_commit") {
        "2" => &[(LOG_BUFFERING, "on")],
        _ => &[],
    }
}

fn is_mib(name: &str) -> bool {
    matches!(name, "innodb_buffer_pool_size" | "innodb_log_file_size")
}

fn configuration(settings: &Settings, layout: &Layout) -> (&'static str, String) {
    let mut text = String::from("# Written by contend for one trial.\n[mariadbd]\n");
    let mut line = |name: &str, value: &str| text.push_str(&format!("{name} = {value}\n"));
    // Without quotes a `#` begins a comment.
    let path = |path: &Path| format!("\"{}\"", path.display().to_string().replace('\\', "\\\\").replace('"', "\\\""));
    line("datadir", &path(&layout.data));
    // A starting server removes temporary tables of other servers in the same directory.
    line("tmpdir", &path(&layout.data));
    line("socket", &path(&layout.socket_path()));
    line("pid-file", &path(&layout.data.join("server.pid")));
    match layout.port {
        Some(port) => {
            line("bind-address", "127.0.0.1");
            line("port", &port.to_string());
        }
        None => line("skip-networking", "1"),
    }
    line("skip-name-resolve", "1");
    line("max_connections", &connection_limit(layout.connections).to_string());
    line("character-set-server", "utf8mb4");
    line("collation-server", "utf8mb4_nopad_bin");
    line("default-time-zone", "'+00:00'");
    line("innodb_buffer_pool_dump_at_shutdown", "0");
    line("innodb_buffer_pool_load_at_startup", "0");
    for name in sessions::own_settings(&ENGINE) {
        let value = ENGINE.own_value(settings, name);
        match (name, value) {
            ("log_bin", "on") => line("log_bin", "binlog"),
            ("log_bin", _) => line("skip-log-bin", "1"),
            // With `loose-`, a server without the setting warns and starts.
            (LOG_BUFFERING, _) => line(&format!("loose-{name}"), value),
            _ if is_mib(name) => line(name, &format!("{value}M")),
            _ => line(name, value),
        }
    }
    (CONFIGURATION, text)
}

fn setup(settings: &Settings) -> Setup {
    let value = |name| ENGINE.own_value(settings, name).to_string();
    let isolation = value("isolation").to_ascii_uppercase();
    let seconds = value(LOCK_TIMEOUT).parse::<u64>().unwrap_or(0).div_ceil(1000).to_string();
    let read = |name: &str, value: &str| Expected::asked(name, format!("SELECT @@{name}"), value);
    let mut readbacks: Vec<Expected> = sessions::own_settings(&ENGINE)
        .map(|name| match name {
            LOG_BUFFERING => log_buffering(settings),
            DOUBLEWRITE => doublewrite(settings),
            _ => read(name, &as_read_back(name, &value(name))),
        })
        .collect();
    readbacks.push(Expected { name: "isolation".to_string(), ..read("tx_isolation", &isolation) });
    readbacks.push(read("innodb_lock_wait_timeout", &seconds));
    // A session with the privilege BINLOG ADMIN can leave the binary log out.
    readbacks.extend((value("log_bin") == "on").then(|| read("sql_log_bin", "1")));
    let session = vec![
        format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", isolation.replace('-', " ")),
        format!("SET SESSION innodb_lock_wait_timeout = {seconds}"),
    ];
    // Over the socket there is no port.
    let transport = "SELECT IF(HOST LIKE '%:%', 'tcp', 'socket') FROM information_schema.PROCESSLIST \
                     WHERE ID = CONNECTION_ID()";
    sessions::setup(SERVER.dialect, &ENGINE, settings, Sessions { session, readbacks, transport })
}

/// A server without this setting writes its log through the system's cache, so it behaves as `on`. Only an explicit `off` is a
/// mismatch.
fn log_buffering(settings: &Settings) -> Expected {
    let value = as_read_back(LOG_BUFFERING, ENGINE.own_value(settings, LOG_BUFFERING));
    let refused = settings.get(LOG_BUFFERING).is_some_and(|value| value == "off");
    let sql = format!(
        "SELECT coalesce(max(if(global_value = 'ON', '1', '0')), '{ABSENT}') \
         FROM information_schema.system_variables WHERE variable_name = '{LOG_BUFFERING}'"
    );
    Expected { or: (!refused).then_some(ABSENT), ..Expected::asked(LOG_BUFFERING, sql, value) }
}

/// Servers since 11.0 report it as a word.
fn doublewrite(settings: &Settings) -> Expected {
    let value = as_read_back(DOUBLEWRITE, ENGINE.own_value(settings, DOUBLEWRITE));
    let word = format!("CAST(@@{DOUBLEWRITE} AS CHAR)");
    let sql = format!("SELECT CASE {word} WHEN 'ON' THEN '1' WHEN 'OFF' THEN '0' ELSE {word} END");
    Expected::asked(DOUBLEWRITE, sql, value)
}

/// The form in which the server reports a setting.
fn as_read_back(name: &str, value: &str) -> String {
    match (value, value.parse::<u64>()) {
        ("on", _) => "1".to_string(),
        ("off", _) => "0".to_string(),
        (_, Ok(mib)) if is_mib(name) => (mib << 20).to_string(),
        _ if name == "innodb_flush_method" && value != "fsync" => value.to_ascii_uppercase(),
        _ => value.to_string(),
    }
}

/// Data: files of contend's databases. Log: redo and binary log.
fn part(path: &str) -> Part {
    let mut parts = path.split('/').skip(1);
    match (parts.next(), parts.next()) {
        (None, _) => Part::Inside,
        (Some(file), None) if file.starts_with("ib_logfile") || file.starts_with("binlog.") => Part::Log,
        (Some("mysql" | "performance_schema" | "sys"), _) => Part::Other,
        (Some(name), None) if !name.contains('.') && !name.starts_with("ib") => Part::Inside,
        (Some(_), Some(file)) if file.ends_with(".ibd") => Part::Data,
        _ => Part::Other,
    }
}

fn list(tables: &[String]) -> String {
    tables.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::sessions::testing::{assert_parts, assert_tiers, settings};
    use super::*;

    #[test]
    fn tiers_follow_the_design() {
        let cases = [
            (&[][..], Tier::Durable),
            (&[("innodb_flush_log_at_trx_commit", "2")], Tier::Bounded),
            (&[("innodb_flush_log_at_trx_commit", "0")], Tier::Bounded),
            (&[("log_bin", "on")], Tier::Bounded),
            (&[("log_bin", "on"), ("sync_binlog", "1")], Tier::Durable),
            (&[("innodb_doublewrite", "off")], Tier::Unsafe),
            (&[("innodb_flush_method", "o_dsync")], Tier::Durable),
            (&[("innodb_flush_method", "o_direct_no_fsync")], Tier::Unknown),
            (&[("innodb_flush_method", "o_direct_no_fsync"), ("innodb_doublewrite", "off")], Tier::Unsafe),
        ];
        assert_tiers(&ENGINE, &cases);
    }

    #[test]
    fn a_directory_may_have_any_name() {
        let layout = Layout {
            data: "/a b#\"c".into(),
            socket_dir: "/tmp".into(),
            socket: "s".to_string(),
            port: None,
            connections: 1,
            only: None,
        };
        let (_, text) = configuration(&Settings::new(), &layout);
        assert!(text.contains("datadir = \"/a b#\\\"c\"\n"), "{text}");
    }

    #[test]
    fn files_are_told_apart() {
        let cases = [
            ("server", Part::Inside),
            ("server/ib_logfile0", Part::Log),
            ("server/binlog.000001", Part::Log),
            ("server/ibdata1", Part::Other),
            ("server/app_0", Part::Inside),
            ("server/app_0/post.ibd", Part::Data),
            ("server/app_0/post.frm", Part::Other),
            ("server/mysql", Part::Other),
        ];
        assert_parts(&ENGINE, &cases);
    }

    #[test]
    fn a_server_that_does_not_know_of_buffering_does_it() {
        for (pairs, found) in [
            (&[][..], [("0", true), ("1", false), (ABSENT, true)]),
            (&[(LOG_BUFFERING, "on")], [("0", false), ("1", true), (ABSENT, true)]),
            (&[(LOG_BUFFERING, "off")], [("0", true), ("1", false), (ABSENT, false)]),
        ] {
            let expected = log_buffering(&settings(pairs));
            assert_eq!(found.map(|(found, _)| (found, expected.is(found))), found, "{pairs:?}");
        }
    }

    #[test]
    fn timeouts_are_whole_seconds() {
        let setup = setup(&settings(&[("lock_timeout", "1500")]));
        assert!(setup.session.contains(&"SET SESSION innodb_lock_wait_timeout = 2".to_string()));
    }
}
