//! The driver `shim`: rusqlite over a shared SQLite, whose calls contend's library answers from PostgreSQL (docs/shim.md).
//! A database on the server becomes a file for rusqlite; its URI has the library's settings.

use crate::server;
use anyhow::{Context, Result, bail, ensure};
use contend_wire::database::{Address, Database, Endpoint};
use contend_wire::kept::file_of;
use contend_wire::plan::{Head, Readback};
use std::fmt::Write as _;
use std::path::Path;

/// Its name.
pub const DRIVER: &str = "shim";

/// Name, library and version, for `hello`.
pub const VERSION: &str = "shim rusqlite 0.40.2";

/// Option for what the library keeps.
const CACHE: &str = "shim_cache";

/// Part of the name of the library.
const LIBRARY: &str = "libcontend_shim";

/// The library's settings for a database: lines of `KEY=VALUE`, without those that a command line adds.
///
/// # Errors
/// PostgreSQL could not have such a socket.
pub fn settings(address: &Address, password: Option<&str>, is_mariadb: bool) -> Result<Vec<String>> {
    let mut lines = vec![format!("user={}", address.user), format!("database={}", address.database)];
    lines.extend(is_mariadb.then(|| "engine=mariadb".to_string()));
    match &address.endpoint {
        Endpoint::Tcp(host, port) => lines.extend([format!("host={host}"), format!("port={port}")]),
        Endpoint::Socket(path) if is_mariadb => lines.push(format!("socket={path}")),
        Endpoint::Socket(path) => {
            let path = Path::new(path);
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let port = name.strip_prefix(".s.PGSQL.").context("the socket of PostgreSQL is named .s.PGSQL.PORT")?;
            let dir = path.parent().unwrap_or(Path::new("/"));
            lines.extend([format!("socket_dir={}", dir.display()), format!("port={port}")]);
        }
    }
    lines.extend(password.map(|password| format!("password={password}")));
    ensure!(lines.iter().all(|line| !line.contains('\n')), "a line break in the address");
    Ok(lines)
}

/// Turns the servers of a plan into files, if its driver is this one.
///
/// # Errors
/// This worker has SQLite built in; a database that is on no server.
pub fn redirect(head: &mut Head) -> Result<()> {
    if head.driver != DRIVER {
        return Ok(());
    }
    let is_loaded = std::env::var("LD_PRELOAD").is_ok_and(|loaded| loaded.contains(LIBRARY));
    if !is_loaded {
        bail!("driver {DRIVER}: the library is not loaded into this worker; `make worker-shim` builds one that has it");
    }
    let is_cache = |(name, _): &mut (String, String)| name == CACHE;
    let cache = head.options.extract_if(.., is_cache).last().map(|(_, word)| word);
    if cache.is_some() {
        head.readbacks.push(Readback { name: CACHE.to_string(), sql: "PRAGMA contend_cache".to_string() });
    }
    for database in &mut head.databases {
        let address = database.server().map_err(anyhow::Error::msg)?;
        let password = server::password(address)?;
        let mut lines = settings(address, password.as_deref(), false)?;
        // Every server begins its transactions in one way, so there is no lock that SQLite's ways would need.
        lines.extend(["immediate=plain".to_string(), "server_pragma=on".to_string()]);
        lines.extend(cache.iter().map(|word| format!("cache={word}")));
        *database = Database::File(uri(&file_of(&address.database), &lines.join("\n")));
    }
    Ok(())
}

fn uri(path: &str, settings: &str) -> String {
    let mut uri = "file:".to_string();
    let mut push = |text: &str, also: &[u8]| {
        for byte in text.bytes() {
            if byte.is_ascii_alphanumeric() || also.contains(&byte) {
                uri.push(char::from(byte));
            } else {
                // Writing into a String cannot fail.
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    };
    push(path, b"/._-");
    push("?", b"?");
    push("contend_shim=", b"_=");
    push(settings, b"._-");
    uri
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_wire::database::Password;

    #[test]
    fn a_database_on_the_server_is_a_file_with_settings() {
        let address = Address {
            endpoint: Endpoint::Socket("/run/a b/.s.PGSQL.5433".to_string()),
            user: "me".to_string(),
            database: "app_0".to_string(),
            password: Password::None,
        };
        let lines = settings(&address, Some("a%b"), false).expect("a socket of PostgreSQL");
        assert_eq!(lines, ["user=me", "database=app_0", "socket_dir=/run/a b", "port=5433", "password=a%b"]);
        let uri = uri(&file_of("app_0"), &lines[2..].join("\n"));
        assert_eq!(uri, "file:/app_0.db?contend_shim=socket_dir%3D%2Frun%2Fa%20b%0Aport%3D5433%0Apassword%3Da%25b");
        let elsewhere = Endpoint::Socket("/run/mysqld.sock".to_string());
        let address = Address { endpoint: elsewhere, ..address };
        assert!(settings(&address, None, false).is_err());
        let lines = settings(&address, None, true).expect("a socket of MariaDB");
        assert_eq!(lines, ["user=me", "database=app_0", "engine=mariadb", "socket=/run/mysqld.sock"]);
    }
}
