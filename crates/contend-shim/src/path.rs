//! The file that a program means by a name.

use std::path::{Path, PathBuf};

/// A database file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseFile {
    /// Absolute path.
    pub path: PathBuf,
    /// Whether the URI has `mode=ro` or `immutable=1`.
    pub is_readonly: bool,
    /// Whether the URI allows to make a new file: `mode=ro` and `mode=rw` do not.
    pub may_create: bool,
    /// The library's settings, if the URI has them as `contend_shim`.
    pub settings: Option<String>,
}

/// The file; `None` for a database in memory or a temporary one, which stay with SQLite.
pub fn place(name: &str, is_uri: bool) -> Option<DatabaseFile> {
    let uri = name.strip_prefix("file:").filter(|_| is_uri);
    let (file, query) = match uri {
        Some(rest) => {
            let rest = rest.split('#').next().unwrap_or_default();
            let (file, query) = rest.split_once('?').unwrap_or((rest, ""));
            // file:///path and file://localhost/path
            let file = file.strip_prefix("//").map_or(file, |rest| &rest[rest.find('/').unwrap_or(0)..]);
            (decoded(file), query)
        }
        None => (name.to_string(), ""),
    };
    let has = |pair: &str| query.split('&').any(|other| other == pair);
    if file.is_empty() || file == ":memory:" || has("mode=memory") || has("vfs=memdb") {
        return None;
    }
    let path = std::path::absolute(&file).ok()?;
    let settings = query.split('&').find_map(|pair| pair.strip_prefix("contend_shim=")).map(decoded);
    Some(DatabaseFile {
        path: real_path(&path),
        is_readonly: has("mode=ro") || has("immutable=1"),
        may_create: !has("mode=ro") && !has("mode=rw"),
        settings,
    })
}

/// Most links that are followed to a file that does not exist, as in Linux.
const LINKS_MAX: usize = 40;

/// Resolves symbolic links, as far as the path exists. The file at their end may be on the server alone.
fn real_path(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        let Ok(target) = path.read_link() else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent().and_then(|parent| parent.canonicalize().ok()), path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path,
    }
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut i) = (vec![], 0);
    while i < bytes.len() {
        let code = text.get(i + 1..i + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code.filter(|_| bytes[i] == b'%') {
            Some(byte) => {
                out.push(byte);
                i += 3;
            }
            None => {
                out.push(bytes[i]);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_files() {
        let path = |name: &str, uri: bool| place(name, uri).map(|place| place.path.display().to_string());
        assert_eq!(path("/nowhere/a.db", false).as_deref(), Some("/nowhere/a.db"));
        assert_eq!(path("file:/nowhere/a%20b.db?mode=ro", true).as_deref(), Some("/nowhere/a b.db"));
        assert_eq!(path("file:///nowhere/a.db", true).as_deref(), Some("/nowhere/a.db"));
        assert_eq!(place("file:/nowhere/a.db?mode=ro", true).map(|place| place.is_readonly), Some(true));
        let may_create = |name| place(name, true).map(|place| place.may_create);
        assert_eq!(may_create("file:/nowhere/a.db?mode=rw"), Some(false));
        assert_eq!(may_create("file:/nowhere/a.db?mode=rwc"), Some(true));
        let settings =
            place("file:/nowhere/a.db?contend_shim=user%3Dme%0Aport%3D1", true).and_then(|place| place.settings);
        assert_eq!(settings.as_deref(), Some("user=me\nport=1"));
        for (name, uri) in [(":memory:", false), ("", false), ("file::memory:", true), ("file:x?mode=memory", true)] {
            assert_eq!(path(name, uri), None, "{name}");
        }
    }

    #[test]
    fn links_lead_to_a_file_that_is_not_there() {
        let dir = std::env::temp_dir().join(format!("contend-links-{}", std::process::id()));
        std::fs::create_dir(&dir).expect("a directory");
        for (target, link) in [("real.db", "one.db"), ("one.db", "two.db"), ("b.db", "a.db"), ("a.db", "b.db")] {
            std::os::unix::fs::symlink(target, dir.join(link)).expect("a link");
        }
        let dir = dir.canonicalize().expect("it");
        assert_eq!(real_path(&dir.join("two.db")), dir.join("real.db"));
        assert!(real_path(&dir.join("a.db")).starts_with(&dir), "links in a circle end");
        std::fs::remove_dir_all(&dir).expect("removed");
    }
}
