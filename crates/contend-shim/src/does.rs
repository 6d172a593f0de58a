//! Decides how a statement is executed: pure, from its first word and SQLite's authorizer actions.

use crate::note::{Note, is_local_function, is_schema_function, is_schema_table};
use crate::own::Objection;
use crate::pragma::{Pragma, pragma};
pub use crate::word::first_word;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Does {
    /// The front executes it.
    Local,
    /// The front executes it, after reading the current schema.
    Schema,
    /// The server executes it.
    Server,
    /// The front executes it over a copy of the rows, because the server cannot for this reason.
    Copied(String),
    /// CREATE, ALTER and DROP.
    Define,
    Begin {
        with_lock: bool,
    },
    Commit,
    Rollback,
    /// BEGIN, RELEASE or ROLLBACK, and the name.
    Savepoint(String, String),
    /// `user_version` or `application_id`, and whether it is set.
    Number(String, bool),
    ForeignKeys,
    ForeignKeyCheck,
    Echo(String, String),
    /// A PRAGMA of the library itself, and its value.
    Library(String, String),
    /// No effect.
    Nothing,
    Refused(String),
}

/// Decides. `has_table`: whether a name is a table or view of the database; `objection`: why the server cannot execute it,
/// because of the program's functions and collations.
pub fn does(
    sql: &str,
    note: &Note,
    has_table: impl Fn(&str) -> bool,
    objection: impl Fn() -> Option<Objection>,
) -> Does {
    match decided(sql, note, has_table) {
        does @ (Does::Server | Does::Define | Does::Copied(_)) => match objection() {
            None => does,
            Some(Objection::Added(_)) if matches!(does, Does::Copied(_)) => does,
            Some(Objection::Added(reason)) if does == Does::Server && (!note.writes || deletes(sql)) => {
                Does::Copied(reason)
            }
            Some(objection) => Does::Refused(objection.into_reason()),
        },
        does => does,
    }
}

/// Whether a statement deletes rows, and does nothing else.
fn deletes(sql: &str) -> bool {
    first_word(sql) == "DELETE"
}

fn decided(sql: &str, note: &Note, has_table: impl Fn(&str) -> bool) -> Does {
    let word = first_word(sql);
    if let Some(odd) = note.odd {
        return Does::Refused(format!("{odd}: there is no counterpart on the server"));
    }
    match word.as_str() {
        "BEGIN" => {
            let with_lock = sql.to_ascii_uppercase();
            return Does::Begin { with_lock: ["IMMEDIATE", "EXCLUSIVE"].iter().any(|kind| with_lock.contains(kind)) };
        }
        "COMMIT" | "END" => return Does::Commit,
        "ROLLBACK" if note.savepoint.is_none() => return Does::Rollback,
        "VACUUM" | "REINDEX" => {
            // Spaces around it are optional: VACUUM INTO'copy.db'.
            let into = sql.to_ascii_uppercase().contains("INTO");
            return if into { Does::Refused("VACUUM INTO".to_string()) } else { Does::Nothing };
        }
        "ANALYZE" => return Does::Nothing,
        "EXPLAIN" => return Does::Refused("EXPLAIN: the plan is the server's".to_string()),
        "DETACH" => return Does::Local,
        _ => {}
    }
    if let Some((what, name)) = &note.savepoint {
        return Does::Savepoint(what.clone(), name.clone());
    }
    if let Some((name, value)) = &note.pragma {
        return of_pragma(name, value.as_deref());
    }
    if ["CREATE", "ALTER", "DROP"].contains(&word.as_str()) {
        return if note.defines.as_deref() == Some("temp") { temporary(note) } else { Does::Define };
    }
    of_tables(sql, note, has_table)
}

fn of_pragma(name: &str, value: Option<&str>) -> Does {
    match pragma(name, value) {
        Pragma::Local => Does::Local,
        Pragma::Schema => Does::Schema,
        Pragma::Number(name) => Does::Number(name, value.is_some()),
        Pragma::ForeignKeys => Does::ForeignKeys,
        Pragma::ForeignKeyCheck => Does::ForeignKeyCheck,
        Pragma::Echo(name, word) => Does::Echo(name, word),
        Pragma::Library(name, value) => Does::Library(name, value),
        Pragma::Refused => Does::Refused(format!("PRAGMA {name}: what it does or returns has no counterpart")),
    }
}

/// Creates or drops a temporary object: in the front, unless it reads rows of the database.
fn temporary(note: &Note) -> Does {
    let reads_rows = note.tables.iter().any(|(database, table)| database == "main" && !is_schema_table(table));
    if reads_rows {
        Does::Refused("a temporary table or view of rows of the database".to_string())
    } else {
        Does::Local
    }
}

fn of_tables(sql: &str, note: &Note, has_table: impl Fn(&str) -> bool) -> Does {
    if note.changes_schema && ["INSERT", "REPLACE", "UPDATE", "DELETE", "WITH"].contains(&first_word(sql).as_str()) {
        return Does::Refused("a schema table is changed".to_string());
    }
    let (mut rows, mut schema, mut temporary) = (false, false, false);
    for (database, table) in &note.tables {
        if is_schema_table(table) {
            schema = true;
        } else if database == "temp" {
            temporary = true;
        } else if has_table(table) || table.to_ascii_lowercase().starts_with("sqlite_") {
            rows = true;
        } else if is_schema_function(table) {
            schema = true;
        } else if !is_local_function(table) {
            return Does::Refused(format!("{table} has no counterpart on the server"));
        }
    }
    match (rows, temporary) {
        (true, true) => {
            let reason = "rows of the database and of a temporary table in one statement".to_string();
            if note.writes { Does::Refused(reason) } else { Does::Copied(reason) }
        }
        (true, false) => Does::Server,
        _ if schema => Does::Schema,
        _ => Does::Local,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(sql: &str, tables: &[(&str, &str)]) -> Does {
        let tables = tables.iter().map(|(database, table)| (database.to_string(), table.to_string())).collect();
        let note = Note { tables, ..Note::default() };
        does(sql, &note, |table| table == "t", || None)
    }

    #[test]
    fn what_reads_rows_goes_to_the_server() {
        assert_eq!(with("SELECT a FROM t", &[("main", "t")]), Does::Server);
        assert_eq!(with("SELECT 1", &[]), Does::Local);
        assert_eq!(with("SELECT * FROM sqlite_master", &[("main", "sqlite_master")]), Does::Schema);
        assert_eq!(with("SELECT * FROM x", &[("temp", "x")]), Does::Local);
        assert!(matches!(with("SELECT * FROM x, t", &[("temp", "x"), ("main", "t")]), Does::Copied(_)));
        assert!(matches!(with("SELECT * FROM dbstat", &[("main", "dbstat")]), Does::Refused(_)));
        assert_eq!(with("/* a */ -- b\n begin immediate", &[]), Does::Begin { with_lock: true });
        assert_eq!(with("vacuum", &[]), Does::Nothing);
        assert!(matches!(with("vacuum into'copy.db'", &[]), Does::Refused(_)));
    }

    #[test]
    fn what_the_server_lacks_is_refused_where_it_would_need_it() {
        let mut note = Note::default();
        let lacks = || Some(Objection::Added("mine() is missing".to_string()));
        assert_eq!(does("SELECT mine(1)", &note, |_| true, lacks), Does::Local);
        note.tables.insert(("main".to_string(), "t".to_string()));
        assert!(matches!(does("SELECT mine(a) FROM t", &note, |_| true, lacks), Does::Copied(_)));
        let change = Note { writes: true, ..note.clone() };
        assert!(matches!(does("DELETE FROM t WHERE mine(a)", &change, |_| true, lacks), Does::Copied(_)));
        assert!(matches!(does("UPDATE t SET a = mine(a)", &change, |_| true, lacks), Does::Refused(_)));
        assert!(matches!(does("CREATE TABLE u (x CHECK (mine(x)))", &note, |_| true, lacks), Does::Refused(_)));
    }
}
