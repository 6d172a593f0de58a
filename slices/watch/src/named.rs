//! What a user names as a target: a path, the address of a SQLite database as programs write it, or a file next to a
//! database; and what is near if it is none of them.

use crate::journal::regular;
use anyhow::{Result, bail};
use contend::source::nearest;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// First bytes of every SQLite database that has content.
pub const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Schemes of addresses of SQLite databases; SQLAlchemy adds its driver, as in `sqlite+aiosqlite`.
const SCHEMES: [&str; 3] = ["sqlite", "sqlite3", "file"];
/// Files that SQLite keeps next to a database, and what they are.
const COMPANIONS: [(&str, &str); 3] =
    [("-wal", "a write-ahead log"), ("-shm", "the index of a write-ahead log"), ("-journal", "a rollback journal")];
/// Most entries of a directory that are looked at to help.
const ENTRIES_MAX: usize = 1_000;

/// The path of the database that a text names: `app.db`, `sqlite:///srv/app.db`, `file:app.db?mode=ro`, or `app.db-wal`.
///
/// # Errors
/// It is in memory, or a file of a database that is not there.
pub fn path_of(text: &str) -> Result<PathBuf> {
    of_companion(address_path(text)?)
}

/// Whether a text is the address of a SQLite database.
pub fn is_address(text: &str) -> bool {
    of_scheme(text).is_some()
}

/// What follows the scheme of a SQLite database.
fn of_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.strip_prefix("jdbc:").unwrap_or(text).split_once(':')?;
    let scheme = scheme.split('+').next().unwrap_or_default();
    SCHEMES.contains(&scheme).then_some(rest)
}

fn address_path(text: &str) -> Result<PathBuf> {
    if text == ":memory:" {
        bail!("{IN_MEMORY}");
    }
    let path = PathBuf::from(text);
    let Some(rest) = of_scheme(text).filter(|_| !path.exists()) else { return Ok(path) };
    let is_in_memory = rest.trim_start_matches('/').starts_with(":memory:")
        || rest.split_once('?').is_some_and(|(_, options)| options.contains("mode=memory"));
    if is_in_memory || rest.trim_matches('/').is_empty() {
        bail!("`{text}`: {IN_MEMORY}");
    }
    let is_file = text.starts_with("file:");
    let path = if is_file { path_in_uri(rest) } else { rest.split(['?', '#']).next().unwrap_or_default() };
    let path = decoded(if is_file { path } else { path.strip_prefix("//").unwrap_or(path) });
    // Of `sqlite:///app.db` some programs take all of the path, and others (SQLAlchemy) what follows the slash.
    let relative = path.strip_prefix('/').map(PathBuf::from).filter(|_| !is_file);
    Ok(relative.filter(|relative| relative.exists() && !Path::new(&path).exists()).unwrap_or_else(|| path.into()))
}

const IN_MEMORY: &str =
    "a database in memory has no file, and no other process can lock it; name the file of a database";

/// The path in a URI without its scheme, such as `app.db?mode=rw`, `///srv/app.db` or `//localhost/srv/app.db`.
pub fn path_in_uri(uri: &str) -> &str {
    let uri = uri.split(['?', '#']).next().unwrap_or_default();
    // After `//` comes the name of a host, which is empty or `localhost`.
    uri.strip_prefix("//").map_or(uri, |rest| rest.find('/').map_or("", |at| &rest[at..]))
}

/// A path with its escapes (`%20`) replaced.
fn decoded(path: &str) -> String {
    let mut parts = path.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => bytes.extend([&[byte], &part.as_bytes()[2..]].concat()),
            None => bytes.extend([b"%", part.as_bytes()].concat()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The database of a file next to it; any other path as it is.
fn of_companion(path: PathBuf) -> Result<PathBuf> {
    let text = path.to_string_lossy();
    let of = |(ending, what): (&str, &'static str)| Some((PathBuf::from(text.strip_suffix(ending)?), what));
    let Some((database, what)) = COMPANIONS.into_iter().find_map(of).filter(|_| !is_database(&path)) else {
        return Ok(path);
    };
    if !database.is_file() {
        bail!("{text} is {what}, and its database {} is not there{}", database.display(), near(&database));
    }
    Ok(database)
}

/// Whether a file begins like a SQLite database.
pub fn is_database(path: &Path) -> bool {
    let mut head = vec![];
    // A pipe would wait for a writer, and opening a device can have an effect.
    let file = Some(path).filter(|path| path.is_file()).and_then(regular);
    let read = file.map(|file| file.take(MAGIC.len() as u64).read_to_end(&mut head));
    read.is_some_and(|read| read.is_ok()) && head == MAGIC
}

/// Databases directly in a directory.
fn databases_in(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().take(ENTRIES_MAX).map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|path| is_database(path)).collect();
    found.sort();
    found
}

/// The end of an error about a path: the databases next to it.
pub fn near(path: &Path) -> String {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name_of = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let found: Vec<String> = databases_in(dir).iter().map(|path| name_of(path)).collect();
    let shown = |name: &str| dir.join(name).display().to_string();
    match (nearest(&name_of(path), found.iter().map(String::as_str)), &found[..]) {
        (Some(one), _) => format!("; did you mean `{}`?", shown(one)),
        (None, []) => "; --pid PID finds the databases of a process".to_string(),
        (None, [one]) => format!("; there is `{}`", shown(one)),
        (None, [one, others @ ..]) => format!("; there are `{}` and {} more databases", shown(one), others.len()),
    }
}

/// The end of an error about a directory without databases: the first directory in it that has some.
pub fn below(dir: &Path) -> String {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().take(ENTRIES_MAX).map(|entry| entry.path());
    let mut dirs: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    dirs.sort();
    let found = dirs.into_iter().map(|dir| (databases_in(&dir).len(), dir)).find(|(count, _)| *count > 0);
    found.map_or("; --pid PID finds the databases of a process".to_string(), |(count, dir)| {
        let databases = if count == 1 { "1 database".to_string() } else { format!("{count} databases") };
        format!("; `{}` holds {databases}", dir.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_programs_are_paths() {
        let here = fs::canonicalize("src/named.rs").expect("this file").display().to_string();
        for (text, path) in [
            ("app.db", "app.db"),
            ("/srv/app.db", "/srv/app.db"),
            ("sqlite:app.db", "app.db"),
            ("sqlite://app.db", "app.db"),
            ("sqlite:///srv/app.db", "/srv/app.db"),
            ("sqlite:////srv/app.db", "//srv/app.db"),
            // The part after the third slash is there.
            ("sqlite:///src/named.rs", "src/named.rs"),
            (&format!("sqlite://{here}"), &here),
            ("sqlite+aiosqlite:///srv/app.db", "/srv/app.db"),
            ("jdbc:sqlite:/srv/app.db?journal_mode=WAL", "/srv/app.db"),
            ("file:app.db?mode=ro&cache=shared", "app.db"),
            ("file:///srv/my%20app.db#x", "/srv/my app.db"),
            ("file://localhost/srv/app.db", "/srv/app.db"),
            ("file:100%.db", "100%.db"),
            ("a:b.db", "a:b.db"),
        ] {
            assert_eq!(path_of(text).expect("a path"), PathBuf::from(path), "{text}");
        }
        for text in [":memory:", "sqlite://", "sqlite:///:memory:", "file::memory:?cache=shared", "file:x?mode=memory"]
        {
            let said = path_of(text).expect_err("no file").to_string();
            assert!(said.contains("in memory has no file"), "{text}: {said}");
        }
        assert!(is_address("sqlite:///app.db") && !is_address("postgres://h/d") && !is_address("app.db"));
    }

    #[test]
    fn files_next_to_a_database_name_it() {
        let dir = std::env::temp_dir().join(format!("contend-named-{}", std::process::id()));
        fs::create_dir_all(dir.join("data")).expect("made");
        let path = |name: &str| dir.join(name);
        assert!(below(&dir).contains("--pid PID"), "{}", below(&dir));
        fs::write(path("data/app.db"), MAGIC).expect("written");
        assert!(below(&dir).ends_with("/data` holds 1 database"), "{}", below(&dir));
        fs::write(path("data/other.db-wal"), MAGIC).expect("written");
        for (named, database) in [
            ("data/app.db-wal", "data/app.db"),
            ("data/app.db-shm", "data/app.db"),
            ("data/app.db-journal", "data/app.db"),
            ("data/app.db", "data/app.db"),
            // It is a database itself.
            ("data/other.db-wal", "data/other.db-wal"),
        ] {
            assert_eq!(path_of(&path(named).display().to_string()).expect("a path"), path(database));
        }
        let said = path_of(&path("data/gone.db-wal").display().to_string()).expect_err("no database").to_string();
        assert!(said.contains("is a write-ahead log, and its database") && said.contains("; there are `"), "{said}");
        assert!(near(&path("data/ap.db")).ends_with("/data/app.db`?"), "{}", near(&path("data/ap.db")));
        fs::remove_dir_all(&dir).expect("removed");
    }
}
