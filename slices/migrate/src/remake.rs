//! Makes SQLite's schema again from its statements. Another user of the server may have written these, so each one may
//! only create its own object.

use crate::ledger::{Entry, Kept, State};
use crate::look::Kind;
use anyhow::{Context, Result, anyhow};
use contend_wire::kept::mentions;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, Error, ErrorCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Objects that SQLite does not have again.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Tables without rows on the server, and objects that use them.
    pub gone: Vec<String>,
    /// Objects whose statement failed, and why.
    pub failed: Vec<String>,
}

pub fn of_kind(kept: &Kept, kind: Kind) -> impl Iterator<Item = &Entry> {
    kept.objects.iter().filter(move |object| object.kind == kind.word())
}

/// Creates the tables that have rows on the server. Returns an error for each one that SQLite rejects.
pub fn tables(sqlite: &Connection, kept: &Kept) -> Vec<anyhow::Error> {
    let tables = of_kind(kept, Kind::Table).filter(|object| object.state != State::Left);
    tables.filter_map(|table| make(sqlite, table).with_context(|| format!("table {}", table.name)).err()).collect()
}

/// Creates indexes, views and triggers.
///
/// # Errors
/// Rows violate an index: without it the database would not be the same.
pub fn rest(sqlite: &Connection, kept: &Kept) -> Result<Missing> {
    let mut missing = Missing::default();
    let mut names: Vec<String> = vec![];
    for table in of_kind(kept, Kind::Table).filter(|object| object.state == State::Left) {
        missing.gone.push(format!("table {}: it was not carried over to the server", table.name));
        names.push(table.name.clone());
    }
    for kind in [Kind::Index, Kind::View, Kind::Trigger] {
        for object in of_kind(kept, kind) {
            let what = format!("{} {}", object.kind, object.name);
            let uses = |name: &&String| object.table == **name || kind != Kind::Index && mentions(&object.sql, name);
            let made = match names.iter().find(uses) {
                Some(name) => {
                    missing.gone.push(format!("{what}: it uses {name}"));
                    false
                }
                None => match make(sqlite, object) {
                    Err(e) if is_violated(&e) => return Err(e.context(what)),
                    made => made.map_err(|e| missing.failed.push(format!("{what}: {e:#}"))).is_ok(),
                },
            };
            names.extend((!made && kind == Kind::View).then(|| object.name.clone()));
        }
    }
    Ok(missing)
}

fn is_violated(error: &anyhow::Error) -> bool {
    let code = error.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
    code == Some(ErrorCode::ConstraintViolation)
}

/// Executes the statement of an object if it creates this object and does nothing else.
fn make(sqlite: &Connection, object: &Entry) -> Result<()> {
    let creates = Arc::new(AtomicBool::new(false));
    let (kind, name, seen) = (object.kind.clone(), object.name.clone(), creates.clone());
    sqlite.authorizer(Some(move |context: AuthContext<'_>| {
        let (created, is_own) = created(&context.action);
        let is_own = is_own && context.database_name.is_none_or(|database| database == "main");
        match created {
            Some((created, of)) if is_own && created == kind && of.eq_ignore_ascii_case(&name) => {
                seen.store(true, Ordering::Relaxed);
                Authorization::Allow
            }
            // The index of a key, and the table of AUTOINCREMENT.
            Some((_, of)) if is_own && kind == "table" && of.starts_with("sqlite_") => Authorization::Allow,
            None if is_own => Authorization::Allow,
            _ => Authorization::Deny,
        }
    }))?;
    // Preparing executes nothing.
    let prepared = sqlite.prepare(&object.sql);
    let is_other = match &prepared {
        Ok(_) => !creates.load(Ordering::Relaxed),
        Err(Error::MultipleStatement) => true,
        Err(e) => e.sqlite_error_code() == Some(ErrorCode::AuthorizationForStatementDenied),
    };
    let made = match prepared {
        _ if is_other => Err(anyhow!("its statement on the server does something else than to create it")),
        prepared => prepared.and_then(|mut statement| statement.raw_execute()).map(drop).map_err(Into::into),
    };
    sqlite.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
    made
}

/// The kind and name of an object that an action creates, and whether a statement of a schema has such actions.
fn created<'a>(action: &AuthAction<'a>) -> (Option<(&'static str, &'a str)>, bool) {
    match *action {
        AuthAction::CreateTable { table_name } => (Some(("table", table_name)), true),
        AuthAction::CreateIndex { index_name, .. } => (Some(("index", index_name)), true),
        AuthAction::CreateView { view_name } => (Some(("view", view_name)), true),
        AuthAction::CreateTrigger { trigger_name, .. } => (Some(("trigger", trigger_name)), true),
        AuthAction::Insert { table_name } | AuthAction::Update { table_name, .. } => {
            (None, ["sqlite_master", "sqlite_schema"].contains(&table_name))
        }
        AuthAction::Read { .. } | AuthAction::Function { .. } | AuthAction::Reindex { .. } => (None, true),
        _ => (None, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: Kind, name: &str, sql: &str) -> Entry {
        let [kind, name, table, sql] = [kind.word(), name, "t", sql].map(str::to_string);
        Entry { position: 0, kind, name, table, sql, number: 0, state: State::Done }
    }

    #[test]
    fn an_index_that_rows_violate_is_not_left_out() {
        let sqlite = Connection::open_in_memory().expect("a database");
        sqlite.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1), (1)").expect("made");
        let indexes = |sql: &str| Kept { objects: vec![of(Kind::Index, "i", sql)], ..Kept::default() };
        let violated = rest(&sqlite, &indexes("CREATE UNIQUE INDEX i ON t (a)"));
        let Err(error) = violated else { panic!("it is left out") };
        assert!(format!("{error:#}").starts_with("index i: UNIQUE constraint failed"), "{error:#}");
        let missing = rest(&sqlite, &indexes("CREATE INDEX i ON t (myfn(a))")).expect("it is listed");
        assert_eq!(missing.failed.len(), 1);
    }

    #[test]
    fn a_statement_creates_its_own_object_and_does_nothing_else() {
        let dir = tempfile::tempdir().expect("a directory");
        let victim = dir.path().join("other.db");
        let other = Connection::open(&victim).expect("a database");
        other.execute_batch("CREATE TABLE precious (a); INSERT INTO precious VALUES (1)").expect("made");
        let sqlite = Connection::open_in_memory().expect("a database");
        let good = [
            (
                Kind::Table,
                "t",
                "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT UNIQUE CHECK (length(a) > 0));",
            ),
            (Kind::Index, "i", "CREATE UNIQUE INDEX i ON t (lower(a)) WHERE a > 'b' -- words"),
            (Kind::View, "v", "CREATE VIEW v AS WITH x AS (SELECT a FROM t) SELECT a, count(*) FROM x GROUP BY a"),
            (Kind::Trigger, "r", "create trigger R AFTER INSERT ON t BEGIN DELETE FROM t; SELECT 1; END"),
        ];
        for (kind, name, sql) in good {
            make(&sqlite, &of(kind, name, sql)).unwrap_or_else(|e| panic!("{sql}: {e:#}"));
        }
        let attach = format!("ATTACH '{}' AS o", victim.display());
        let create = "CREATE TABLE u (a)";
        let bad = [
            (Kind::Table, attach.as_str()),
            (Kind::Table, &format!("{create}; {attach}; DROP TABLE o.precious")),
            (Kind::Table, "CREATE TABLE w (a)"),
            (Kind::View, create),
            (Kind::Table, "CREATE TABLE u AS SELECT * FROM t"),
            (Kind::Table, "CREATE TEMP TABLE u (a)"),
            (Kind::Table, "CREATE VIRTUAL TABLE u USING fts5 (a)"),
            (Kind::Table, "DROP TABLE t"),
            (Kind::Table, "DELETE FROM t"),
            (Kind::Table, "PRAGMA journal_mode = WAL"),
            (Kind::Table, "SELECT 1"),
            (Kind::Table, "COMMIT"),
            (Kind::Table, "VACUUM"),
            (Kind::Table, ""),
        ];
        for (kind, sql) in bad {
            let refused = make(&sqlite, &of(kind, "u", sql)).expect_err(sql).to_string();
            assert!(refused.contains("something else"), "{sql}: {refused}");
        }
        let names = "SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_schema \
                     WHERE name NOT LIKE 'sqlite%' ORDER BY name)";
        assert_eq!(sqlite.query_row(names, (), |row| row.get::<_, String>(0)).expect("read"), "R i t v");
        assert_eq!(other.query_row("SELECT count(*) FROM precious", (), |row| row.get::<_, i64>(0)).expect("read"), 1);
    }
}
