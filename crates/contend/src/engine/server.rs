//! What contend knows of an engine that is a server: its programs and where packages put them, how its data
//! directory is made, how it is configured, started, asked and stopped. Data only; `trial` does it.

use super::{Engine, Expected, HTTP, Setting, Settings, Setup, TRANSPORT, Values, go};
use contend_wire::database::{Address, Endpoint, Password};
use std::path::{Path, PathBuf};

/// Reads a file by its name; none if it cannot.
pub type ReadFile<'f> = &'f dyn Fn(&str) -> Option<String>;

/// How a server is run.
#[derive(Debug)]
pub struct Server {
    /// The name people know it by.
    pub title: &'static str,
    /// Of its addresses, see `contend_wire::address`.
    pub scheme: &'static str,
    /// The dialect of its SQL.
    pub dialect: contend_sql::Target,
    /// The programs it needs.
    pub programs: &'static [&'static str],
    /// Directories that may have them besides those of PATH, best first; `*` stands for the highest version.
    pub places: &'static [&'static str],
    /// The command that installs it on Debian and its relatives.
    pub install: &'static str,
    /// The user contend works as.
    pub user: &'static str,
    /// A database that is always there.
    pub first_database: &'static str,
    /// Commands that make an empty data directory, program first.
    pub initialise: fn(&Layout) -> Vec<Vec<String>>,
    /// Name of the configuration file in the data directory, and its text.
    pub configuration: fn(&Settings, &Layout) -> (&'static str, String),
    /// The command that starts it in the foreground, program first.
    pub start: fn(&Layout) -> Vec<String>,
    /// File name of its Unix socket, which may depend on the port.
    pub socket: fn(Option<u16>) -> String,
    /// Stops it in good order.
    pub stop: Signal,
    /// Stops it at once, leaving its data as a crash would.
    pub abort: Signal,
    /// Asks a running server for its version.
    pub version: &'static str,
    /// Statements in the first database of a new data directory, such as those that shut outsiders out.
    pub provision: fn() -> Vec<String>,
    /// Statements that let contend's user in over TCP, with this password.
    pub let_in: fn(&str) -> Vec<String>,
    /// The statement that creates a database.
    pub create_database: fn(&str) -> String,
    /// The statement that drops a database.
    pub drop_database: fn(&str) -> String,
    /// Statements in a new database, before its tables.
    pub new_database: &'static [&'static str],
    /// Turns the translated `INSERT INTO t (columns) VALUES (...)` of a load into what loads fastest.
    pub load: fn(&str) -> String,
    /// Statements after loading, such as those that gather statistics of these tables.
    pub after_load: fn(&[String]) -> Vec<String>,
    /// The command that removes what a killed server leaves outside its data directory; it is given a reader of
    /// files in there.
    pub leftover: fn(ReadFile<'_>) -> Option<Vec<String>>,
    /// Names of further shared memory that is listed in one that the server's first process has.
    pub lists_memory: fn(&[u8]) -> Vec<String>,
    /// Settings that only a restart changes: an attached server must have them already.
    pub fixed: &'static [&'static str],
    /// Statements after which pages that were changed go to the data files, long before the server would do it by itself.
    pub write_back: &'static [&'static str],
    /// How long it takes its time until it has done so at least twice.
    pub write_back_ns: u64,
    /// Asks it how often it has synced a file since its start.
    pub syncs: &'static str,
    /// How one learns of its own waits for locks.
    pub lock_waits: LockWaits,
}

/// Where a server tells how long sessions waited for each other's locks.
#[derive(Debug)]
pub enum LockWaits {
    /// In its log: nanoseconds, where a line tells of a wait that is over.
    Log(fn(&str) -> Option<u64>),
    /// In counters since its start: a query for their number, milliseconds in all, and those of the longest.
    Counters(&'static str),
}

/// Signals, so that tables need no library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Quit,
    Terminate,
    Kill,
}

/// Where a private server lives.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Its data directory.
    pub data: PathBuf,
    /// Holds its socket, and nothing else.
    pub socket_dir: PathBuf,
    /// File name of the socket.
    pub socket: String,
    /// Where it listens on the loopback interface; none: on the socket only.
    pub port: Option<u16>,
    /// Connections it must be able to serve.
    pub connections: u32,
}

impl Layout {
    /// The path of the socket.
    pub fn socket_path(&self) -> PathBuf {
        self.socket_dir.join(&self.socket)
    }
}

impl Server {
    /// The address of a database of a private server over its socket.
    pub fn by_socket(&self, layout: &Layout, database: &str) -> Address {
        Address {
            user: self.user.to_string(),
            endpoint: Endpoint::Socket(layout.socket_path().display().to_string()),
            database: database.to_string(),
            password: Password::None,
        }
    }

    /// The address of a database of a private server over TCP, its password in a file.
    pub fn by_tcp(&self, port: u16, password_file: &Path, database: &str) -> Address {
        Address {
            user: self.user.to_string(),
            endpoint: Endpoint::Tcp("127.0.0.1".to_string(), port),
            database: database.to_string(),
            password: Password::File(password_file.display().to_string()),
        }
    }
}

/// The level of isolation, which every server has under the same names.
pub const fn isolation(default: &'static str) -> Setting {
    Setting {
        name: ISOLATION,
        values: Values::Words(&["read-committed", "repeatable-read", "serializable"]),
        default,
        about: "isolation level of transactions",
    }
}

/// Whether statements are prepared; `about` says what that means to a server.
pub const fn statements(about: &'static str) -> Setting {
    Setting { name: STATEMENTS, values: Values::Words(&["prepared", "each"]), default: "prepared", about }
}

/// How clients reach a server.
pub const REACHED_BY: Setting = Setting {
    name: TRANSPORT,
    values: Values::Words(&["socket", "tcp", HTTP]),
    default: "socket",
    about: "Unix socket, or TCP on the loopback interface with a random password; or HTTP to a worker, which uses the socket",
};

const ISOLATION: &str = "isolation";
const STATEMENTS: &str = "statements";
/// Whether statements stand between savepoints.
pub const SAVEPOINTS: &str = "savepoints";
/// Longest wait for a lock, in values of each server's own.
pub const LOCK_TIMEOUT: &str = "lock_timeout";

/// Settings that are not the server's: they decide how clients work.
const OF_CLIENTS: &[&str] = &[ISOLATION, LOCK_TIMEOUT, SAVEPOINTS, STATEMENTS, TRANSPORT];

/// Settings that stand in the server's configuration.
pub fn own_settings(engine: &'static Engine) -> impl Iterator<Item = &'static str> {
    let names = engine.settings.iter().map(|setting| setting.name);
    names.filter(|name| !OF_CLIENTS.contains(name) && !go::OF_POOL.contains(name))
}

/// How a server's connections are told of settings and asked for them.
pub struct Sessions {
    /// Statements that set what a session can set.
    pub session: Vec<String>,
    /// The server's own settings, and what else has a name of its own there.
    pub readbacks: Vec<Expected>,
    /// Asks whether the connection came over `socket` or `tcp`.
    pub transport: &'static str,
}

/// Settings as a plan carries them out, on any server.
pub fn setup(dialect: contend_sql::Target, engine: &Engine, settings: &Settings, sessions: Sessions) -> Setup {
    let Sessions { session: own, mut readbacks, transport } = sessions;
    // Behind HTTP is the socket.
    let reached = engine.value(settings, TRANSPORT);
    readbacks.push(Expected::asked(TRANSPORT, transport, if reached == HTTP { "socket" } else { reached }));
    let mut setup = Setup {
        options: vec![(STATEMENTS.to_string(), engine.value(settings, STATEMENTS).to_string())],
        session: [session(dialect), own].concat(),
        readbacks,
        begin_write: Some("BEGIN".to_string()),
        ..Setup::default()
    };
    go::pass_on(go::OF_POOL, settings, &mut setup);
    setup
}

/// A name between these marks.
pub fn quoted(name: &str, mark: char) -> String {
    format!("{mark}{}{mark}", name.replace(mark, &format!("{mark}{mark}")))
}

/// What every connection is told so that translated SQL means what it meant, but for the level of isolation: that is
/// a setting of the contender.
pub fn session(dialect: contend_sql::Target) -> Vec<String> {
    let statements = contend_sql::session(dialect).iter().map(ToString::to_string);
    statements.filter(|sql| !sql.to_ascii_lowercase().contains("isolation")).collect()
}

/// Connections beside those of clients: contend's own, and what a server keeps for its administrator.
const CONNECTIONS_MORE: u32 = 20;

/// The limit of connections for so many clients, in steps: contenders that differ a little in their clients
/// should not differ in it.
pub fn connection_limit(clients: u32) -> u32 {
    (clients + CONNECTIONS_MORE).next_multiple_of(100)
}

/// What tests of engines have in common.
#[cfg(test)]
pub(super) mod testing {
    use super::super::{Engine, Part, Settings};
    use crate::contender::Tier;

    pub fn settings(pairs: &[(&str, &str)]) -> Settings {
        pairs.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect()
    }

    /// Settings have these tiers, and those that stand for a tier have that one.
    #[track_caller]
    pub fn assert_tiers(engine: &Engine, cases: &[(&[(&str, &str)], Tier)]) {
        for (pairs, expected) in cases {
            assert_eq!((engine.tier)(&settings(pairs)), *expected, "{pairs:?}");
        }
        for wanted in Tier::ALL {
            assert_eq!((engine.tier)(&settings((engine.tier_settings)(wanted))), wanted);
        }
    }

    #[track_caller]
    pub fn assert_parts(engine: &Engine, cases: &[(&str, Part)]) {
        for (path, expected) in cases {
            assert_eq!((engine.part)(path), *expected, "{path}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_connections_goes_in_steps() {
        assert_eq!([1, 80, 81, 500].map(connection_limit), [100, 100, 200, 600]);
    }
}
