//! The library's settings: an environment variable names a directory with a file that only this user can read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tokio_postgres::Config;

/// Environment variable with the directory.
const VARIABLE: &str = "CONTEND_SHIM";

pub struct Settings {
    dir: PathBuf,
    pub server: Config,
    /// Whether BEGIN IMMEDIATE and EXCLUSIVE wait for each other.
    pub locks: bool,
}

/// Whether `contend shim` started this program.
pub fn is_asked_for() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// The settings; `None` outside of `contend shim`, or if they cannot be read.
pub fn settings() -> Option<&'static Settings> {
    static SETTINGS: OnceLock<Option<Settings>> = OnceLock::new();
    SETTINGS.get_or_init(|| read(Path::new(&std::env::var_os(VARIABLE)?))).as_ref()
}

/// Parses lines of `KEY=VALUE`.
fn read(dir: &Path) -> Option<Settings> {
    let text = std::fs::read_to_string(dir.join("settings")).ok()?;
    let values: HashMap<&str, &str> = text.lines().filter_map(|line| line.split_once('=')).collect();
    let mut server = Config::new();
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
    Some(Settings { dir: dir.to_path_buf(), server, locks: values.get("immediate") != Some(&"plain") })
}

impl Settings {
    /// File to which refusals and counts are appended.
    pub fn journal(&self) -> PathBuf {
        self.dir.join("journal")
    }
}
