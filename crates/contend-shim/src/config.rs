//! The library's settings: lines of `KEY=VALUE`. An environment variable names a directory with a file of them that only
//! this user can read; contend's own worker writes them into the URI of a database instead.

use crate::dialect::{self, Dialect};
use crate::server::Address;
use contend_sql::Target;
use mysql::consts::CapabilityFlags;
use mysql::{Opts, OptsBuilder};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Environment variable with the directory.
const VARIABLE: &str = "CONTEND_SHIM";

pub struct Settings {
    /// `None` for settings from a URI, which have no journal.
    dir: Option<PathBuf>,
    pub server: Address,
    pub dialect: &'static dyn Dialect,
    /// Whether BEGIN IMMEDIATE and EXCLUSIVE wait for each other.
    pub locks: bool,
    pub cache: Cache,
    /// Whether a change of the schema may commit a transaction that has used rows, where the server commits.
    pub commits_definitions: bool,
    /// Whether `PRAGMA contend_server` carries out a statement of the server.
    pub has_server_pragma: bool,
}

/// What is kept for the next use of the same text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// Translations, and statements prepared on the server.
    All,
    /// Translations only.
    Translations,
    None,
}

impl Cache {
    const WORDS: [(Cache, &'static str); 3] =
        [(Cache::All, "all"), (Cache::Translations, "translations"), (Cache::None, "none")];

    fn of(word: &str) -> Option<Cache> {
        Cache::WORDS.into_iter().find(|(_, known)| *known == word).map(|(cache, _)| cache)
    }

    pub fn word(self) -> &'static str {
        Cache::WORDS.into_iter().find(|(known, _)| *known == self).map_or("", |(_, word)| word)
    }
}

/// The directory that the variable had when this program began; `None` without it. Read when the library is loaded: a
/// program may clear its environment later.
pub fn directory() -> Option<&'static Path> {
    static DIRECTORY: OnceLock<Option<PathBuf>> = OnceLock::new();
    DIRECTORY.get_or_init(|| std::env::var_os(VARIABLE).map(PathBuf::from)).as_deref()
}

/// The settings; `None` without the variable, or if they cannot be read.
pub fn settings() -> Option<&'static Settings> {
    static SETTINGS: OnceLock<Option<Settings>> = OnceLock::new();
    SETTINGS.get_or_init(|| read(directory()?)).as_ref()
}

/// The settings that a URI has; `None` if they cannot be read. A program opens few different databases, so they are kept.
pub fn of_uri(text: &str) -> Option<&'static Settings> {
    static ALL: OnceLock<Mutex<HashMap<String, &'static Settings>>> = OnceLock::new();
    let mut all = ALL.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.get(text) {
        return Some(known);
    }
    let settings: &'static Settings = Box::leak(Box::new(parse(text)?));
    all.insert(text.to_string(), settings);
    Some(settings)
}

fn read(dir: &Path) -> Option<Settings> {
    let text = std::fs::read_to_string(dir.join("settings")).ok()?;
    Some(Settings { dir: Some(dir.to_path_buf()), ..parse(&text)? })
}

fn parse(text: &str) -> Option<Settings> {
    let values: HashMap<&str, &str> = text.lines().filter_map(|line| line.split_once('=')).collect();
    let (target, server) = match values.get("engine") {
        Some(&"mariadb") => (Target::MariaDb, Address::MariaDb(mariadb(&values)?)),
        Some(_) => return None,
        None => (Target::Postgres, Address::Postgres(Box::new(postgres(&values)?))),
    };
    Some(Settings {
        dir: None,
        server,
        dialect: dialect::of(target),
        locks: values.get("immediate") != Some(&"plain"),
        cache: values.get("cache").map_or(Some(Cache::All), |word| Cache::of(word))?,
        commits_definitions: values.get("ddl") == Some(&"commit"),
        has_server_pragma: values.get("server_pragma") == Some(&"on"),
    })
}

type Values<'v> = HashMap<&'v str, &'v str>;

fn postgres(values: &Values<'_>) -> Option<tokio_postgres::Config> {
    let mut server = tokio_postgres::Config::new();
    server.application_name("contend shim").user(*values.get("user")?).port(values.get("port")?.parse().ok()?);
    match values.get("socket_dir") {
        Some(dir) => server.host_path(dir),
        None => server.host(*values.get("host")?),
    };
    if let Some(password) = values.get("password") {
        server.password(password);
    }
    if let Some(database) = values.get("database").filter(|database| !database.is_empty()) {
        server.dbname(*database);
    }
    Some(server)
}

/// The database of the address is not entered: every file has its own.
fn mariadb(values: &Values<'_>) -> Option<Opts> {
    let server = OptsBuilder::new()
        .prefer_socket(false)
        .user(Some(*values.get("user")?))
        .pass(values.get("password").copied())
        .stmt_cache_size(0)
        // An UPDATE counts the rows found, as in SQLite.
        .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS);
    Some(match values.get("socket") {
        Some(path) => server.socket(Some(*path)).into(),
        None => server.ip_or_hostname(Some(*values.get("host")?)).tcp_port(values.get("port")?.parse().ok()?).into(),
    })
}

impl Settings {
    /// File to which refusals and counts are appended.
    pub fn journal(&self) -> Option<PathBuf> {
        self.dir.as_ref().map(|dir| dir.join("journal"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_lines() {
        let text = "user=me\nport=5432\nsocket_dir=/run\n";
        let settings = parse(text).expect("all that is needed");
        assert!(settings.locks && settings.cache == Cache::All && !settings.has_server_pragma);
        let settings = parse(&format!("{text}cache=none\nimmediate=plain\nserver_pragma=on\n")).expect("known words");
        assert!(!settings.locks && settings.cache == Cache::None && settings.has_server_pragma);
        assert!(parse(&format!("{text}cache=some\n")).is_none());
        assert!(parse("user=me\n").is_none());
        let settings = parse("engine=mariadb\nuser=me\nsocket=/run/s\n").expect("all that is needed");
        assert_eq!(settings.dialect.target(), Target::MariaDb);
        assert!(parse("engine=other\nuser=me\nsocket=/run/s\n").is_none());
    }
}
