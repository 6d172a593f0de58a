//! Functions of SQLite by the names that programs give them: those of its interface, and in SQLite translated to Go those that
//! do the work for them, because the Go compiler copies short functions into their callers.

use std::collections::HashMap;

/// Functions of SQLite: `(connection, text, ...)` compiles a statement, `(statement)` executes it, `(connection, ...)`
/// makes a checkpoint, `(path, ...)` opens a connection. The last one, `sqlite3_sql`, is not probed; its code shows
/// where a statement stores the pointer to its text.
const FUNCTIONS: [(&str, Option<Called>); 11] = [
    ("sqlite3_prepare_v2", Some(Called::Prepare)),
    ("sqlite3_prepare_v3", Some(Called::Prepare)),
    ("sqlite3_prepare", Some(Called::Prepare)),
    ("sqlite3_prepare16_v2", Some(Called::Prepare16)),
    ("sqlite3_prepare16_v3", Some(Called::Prepare16)),
    ("sqlite3_prepare16", Some(Called::Prepare16)),
    ("sqlite3_step", Some(Called::Step)),
    ("sqlite3_wal_checkpoint_v2", Some(Called::Checkpoint)),
    ("sqlite3_open", Some(Called::Open)),
    ("sqlite3_open_v2", Some(Called::Open)),
    ("sqlite3_sql", None),
];
/// Prefix of their names.
const COMMON: &[u8] = b"sqlite3_";
/// Prefix of the names in SQLite translated to Go, where those of its interface have a further letter. Their first argument is
/// the thread's state.
pub const TRANSLATED: &str = "modernc.org/sqlite/lib.";
const OF_INTERFACE: &str = "X";
/// Functions that do the work of others, with the same first arguments, and these others.
const INNER: [(&str, Called, &[Called]); 2] = [
    ("_sqlite3LockAndPrepare", Called::Prepare, &[Called::Prepare, Called::Prepare16]),
    ("_openDatabase", Called::Open, &[Called::Open]),
];

/// Purpose of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Called {
    Prepare,
    /// With a text in UTF-16.
    Prepare16,
    Step,
    Checkpoint,
    Open,
}

/// The purpose of a function of SQLite translated to Go. `None` for other functions.
pub fn called(name: &str) -> Option<Option<Called>> {
    let name = name.strip_prefix(TRANSLATED)?;
    let inner = INNER.iter().find(|(inner, ..)| *inner == name).map(|(_, called, _)| Some(*called));
    let of_interface = || {
        let name = name.strip_prefix(OF_INTERFACE)?;
        FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, called)| *called)
    };
    inner.or_else(of_interface)
}

/// Whether the work of a function is done by another one of these, of which the calls are seen in its place.
pub fn is_inlined(name: &str, all: &[String]) -> bool {
    let Some(called) = called(name).flatten().filter(|_| name[TRANSLATED.len()..].starts_with(OF_INTERFACE)) else {
        return false;
    };
    let has = |inner: &str| all.iter().any(|name| name.strip_prefix(TRANSLATED) == Some(inner));
    INNER.iter().any(|(inner, _, of)| of.contains(&called) && has(inner))
}

/// Offsets of the functions' names in a string table. A name that ends another one may share its text.
pub fn places_of_names(names: &[u8]) -> HashMap<u32, (String, Option<Called>)> {
    let mut places = HashMap::new();
    for at in memchr::memmem::find_iter(names, COMMON) {
        let text = names[at..].split(|byte| *byte == 0).next().unwrap_or_default();
        if let Some((name, called)) = FUNCTIONS.iter().find(|(name, _)| name.as_bytes() == text) {
            places.insert(at as u32, (name.to_string(), *called));
        }
    }
    for at in memchr::memmem::find_iter(names, TRANSLATED.as_bytes()) {
        let text = names[at..].split(|byte| *byte == 0).next().unwrap_or_default();
        let Ok(name) = str::from_utf8(text) else { continue };
        if let Some(called) = called(name) {
            places.insert(at as u32, (name.to_string(), called));
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_that_end_others() {
        let names = b"\0f_Cfunc_sqlite3_step\0modernc.org/sqlite/lib.Xsqlite3_prepare_v2\0sqlite3_stepped\0";
        let places = places_of_names(names);
        let mut found: Vec<(u32, &str)> = places.iter().map(|(at, (name, _))| (*at, name.as_str())).collect();
        found.sort_unstable();
        let translated = (22, "modernc.org/sqlite/lib.Xsqlite3_prepare_v2");
        assert_eq!(found, [(9, "sqlite3_step"), translated, (46, "sqlite3_prepare_v2")]);
    }

    /// The compiler copies short functions into their callers: a probe of the rest of them is never met.
    #[test]
    fn in_go_the_function_that_does_the_work_stands_for_short_ones() {
        let names: Vec<String> =
            ["_sqlite3LockAndPrepare", "Xsqlite3_prepare_v2", "Xsqlite3_prepare16", "Xsqlite3_open", "Xsqlite3_step"]
                .map(|name| format!("{TRANSLATED}{name}"))
                .to_vec();
        let table = names.join("\0") + "\0";
        let places = places_of_names(table.as_bytes());
        assert_eq!(places[&0], (names[0].clone(), Some(Called::Prepare)));
        let is_inlined = |name: &String| is_inlined(name, &names);
        assert_eq!(names.iter().map(is_inlined).collect::<Vec<_>>(), [false, true, true, false, false]);
        assert!(!super::is_inlined("sqlite3_prepare_v2", &names), "another copy of SQLite, in C");
    }
}
