//! Data about an engine that is a server: its programs, how its data directory is made, how it is configured, started,
//! queried and stopped. `trial` carries this out.

use super::setting::Settings;
use contend_wire::database::{Address, Endpoint, Password};
use std::path::{Path, PathBuf};

/// Reads a file by its name; `None` if it cannot.
pub type ReadFile<'f> = &'f dyn Fn(&str) -> Option<String>;

/// How a server is run.
#[derive(Debug)]
pub struct Server {
    /// Its name for people.
    pub title: &'static str,
    /// Scheme of its addresses, see [`super::dsn`].
    pub scheme: &'static str,
    /// The dialect of its SQL.
    pub dialect: contend_sql::Target,
    /// The programs it needs.
    pub programs: &'static [&'static str],
    /// Directories for its programs in addition to PATH, best first; `*` stands for the highest version.
    pub places: &'static [&'static str],
    /// The command that installs it on Debian and its relatives.
    pub install: &'static str,
    /// The user contend works as.
    pub user: &'static str,
    /// A database that always exists.
    pub first_database: &'static str,
    /// Commands that make an empty data directory, program first.
    pub initialise: fn(&Layout) -> Vec<Vec<String>>,
    /// Name of the configuration file in the data directory, and its text.
    pub configuration: fn(&Settings, &Layout) -> (&'static str, String),
    /// Names and texts of further files in the data directory, which the configuration names: who may log in.
    pub access: fn(&Layout) -> Vec<(&'static str, String)>,
    /// The command that starts it in the foreground, program first.
    pub start: fn(&Layout) -> Vec<String>,
    /// File name of its Unix socket, which may depend on the port.
    pub socket: fn(Option<u16>) -> String,
    /// Stops it in an orderly way.
    pub stop: Signal,
    /// Stops it at once, leaving its data as a crash would.
    pub abort: Signal,
    /// Asks a running server for its version.
    pub version: &'static str,
    /// Statements in the first database of a new data directory, such as those that shut outsiders out.
    pub provision: fn(&Layout) -> Vec<String>,
    /// Statements that allow contend's user over TCP, with this password.
    pub let_in: fn(&str) -> Vec<String>,
    /// The statement that creates a database.
    pub create_database: fn(&str) -> String,
    /// The statement that drops a database.
    pub drop_database: fn(&str) -> String,
    /// Statements in a new database, before its tables.
    pub new_database: &'static [&'static str],
    /// Turns the translated `INSERT INTO t (columns) VALUES (...)` of a load into the fastest statement.
    pub load: fn(&str) -> String,
    /// Statements after loading, such as those that gather statistics of these tables.
    pub after_load: fn(&[String]) -> Vec<String>,
    /// The command that removes what a killed server leaves outside its data directory; it gets a reader of files in
    /// that directory.
    pub leftover: fn(ReadFile<'_>) -> Option<Vec<String>>,
    /// Names of further shared memory, listed in a segment of the server's first process.
    pub lists_memory: fn(&[u8]) -> Vec<String>,
    /// Settings that only a restart changes: an attached server must have them already.
    pub fixed: &'static [&'static str],
    /// Statements that make the server write changed pages to its data files early.
    pub write_back: &'static [&'static str],
    /// Time after which it has done so at least twice.
    pub write_back_ns: u64,
    /// Statements of contend's own sessions: names must mean the same to them, whatever a client sets for its role or database.
    pub own_session: &'static [&'static str],
    /// Query for [`OwnCounts`], in the order of its fields, NULL for what is not counted.
    pub own_counts: &'static str,
    /// For how many syncs at the same time one flush of the disk can serve: the threads that sync what its count of syncs counts.
    pub syncs_at_once: u64,
    /// Query for this count since the data directory was made; perhaps also for the times before and after it was taken, in
    /// microseconds of the wall clock.
    pub commits: &'static str,
    pub counts: Counts,
    /// What any change of its configuration changes, also one that was undone: its name, and the query for it.
    pub configured: (&'static str, &'static str),
    /// How many of them it may carry out on its own in each database and begun minute of a trial.
    pub own_commits: u64,
    /// How it reports waits for locks.
    pub lock_waits: LockWaits,
}

/// What a server's count of commits counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counts {
    /// Transactions that have written.
    #[default]
    Transactions,
    /// Transactions that have written, also those that were rolled back.
    Writers,
    /// COMMITs, and statements that may change data, successful or not.
    Statements,
}

/// Where a server reports how long sessions waited for locks.
#[derive(Debug)]
pub enum LockWaits {
    /// In its log: the length of a wait in ns, if the line reports its end.
    Log(fn(&str) -> Option<u64>),
    /// In counters since its start: a query for number, sum and longest in milliseconds.
    Counters(&'static str),
}

/// Counts that a server keeps of itself since its start, and what was counted outside of it in the meantime.
#[derive(Debug, Clone, Copy, Default)]
pub struct OwnCounts {
    /// Syncs of its files.
    pub syncs: Option<u64>,
    /// Other sessions, if the syncs are those of the log alone and a session's are counted before it is no longer listed.
    pub sessions: Option<u64>,
    /// Commits in a second log, which a session can leave out.
    pub logged: Option<u64>,
    /// Transactions that were rolled back; those of a session are counted before it is no longer listed.
    pub rolled_back: Option<u64>,
    /// When counts were last set to zero, in microseconds of the wall clock; `None` if they never were.
    pub reset_us: Option<u64>,
    /// Whether they were set to zero between two readings.
    pub is_reset: bool,
    /// Flushes of the disk since right before the server's start, by whatever program: not the server's own count.
    pub flushes: Option<u64>,
}

impl OwnCounts {
    pub fn since(self, before: Self) -> Self {
        let more = |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?));
        Self {
            syncs: more(self.syncs, before.syncs),
            logged: more(self.logged, before.logged),
            rolled_back: more(self.rolled_back, before.rolled_back),
            // A server that does not answer has neither.
            is_reset: (self.syncs.is_some() || self.sessions.is_some()) && self.reset_us != before.reset_us,
            ..self
        }
    }
}

/// Signals, so that tables need no library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Quit,
    Terminate,
    Kill,
}

/// Directories and addresses of a private server.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Its data directory.
    pub data: PathBuf,
    /// Directory of its socket only.
    pub socket_dir: PathBuf,
    /// File name of the socket.
    pub socket: String,
    /// Port on the loopback interface; `None` for the socket only.
    pub port: Option<u16>,
    /// Connections it must be able to serve.
    pub connections: u32,
    /// The user of the machine who alone may log in by the socket; `None`: all who may enter its directory.
    pub only: Option<&'static str>,
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

/// A name quoted with this mark.
pub fn quoted(name: &str, mark: char) -> String {
    format!("{mark}{}{mark}", name.replace(mark, &format!("{mark}{mark}")))
}

/// Statements of every connection that keep the meaning of translated SQL. The level of isolation is a setting of the
/// contender.
pub fn session(dialect: contend_sql::Target) -> Vec<String> {
    let statements = contend_sql::session(dialect).iter().map(ToString::to_string);
    statements.filter(|sql| !sql.to_ascii_lowercase().contains("isolation")).collect()
}

/// Connections in addition to those of clients: contend's, and those that a server reserves for its administrator.
const CONNECTIONS_MORE: u32 = 20;

/// The limit of connections for this number of clients, in steps, so that contenders with slightly different numbers
/// have the same limit.
pub fn connection_limit(clients: u32) -> u32 {
    (clients + CONNECTIONS_MORE).next_multiple_of(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_connections_goes_in_steps() {
        assert_eq!([1, 80, 81, 500].map(connection_limit), [100, 100, 200, 600]);
    }
}
