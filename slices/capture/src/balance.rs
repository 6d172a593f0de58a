//! Whether the captured statements explain the number of rows of each table: those at the beginning, plus the inserted and
//! minus the deleted ones, are those at the end. If they are not, something that was not captured wrote to the database.
//!
//! A table is left out if statements do not say how many rows they add: replaced rows, triggers, cascades, scripts.

use crate::attach::{attached, number};
use crate::manifest::{Content, Database};
use crate::sql::{Does, Token, shape, tokens};
use crate::tables::Tables;
use crate::trace::{Call, How, Trace};
use contend_interpose::format::note;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// Time between calls of two threads on a connection from which on they do not mix.
const APART_NS: u64 = 1_000_000;

/// What a text does to the number of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Effect {
    Nothing,
    /// It adds `changes` times this number to the table.
    Changes(String, i64),
    Rollback,
    /// It has an unknown effect on tables with these names.
    Unknown(BTreeSet<String>),
    /// It has an unknown effect on all tables.
    AnyUnknown,
}

/// What each text does, alone or as a script.
type Effects = HashMap<(*const u8, bool), Effect>;

/// Numbers of rows that statements added to the tables of a database.
#[derive(Debug, Default)]
struct Added {
    rows: BTreeMap<String, i64>,
    unknown: BTreeSet<String>,
    any_unknown: bool,
}

/// The tables whose rows the trace does not explain, as sentences.
pub fn unexplained(trace: &Trace, databases: &[Database]) -> Vec<String> {
    let lost = &trace.lost;
    let attaching = attaching(trace);
    let is_understood = |call: &&Call| {
        let words = tokens(&call.sql).iter().filter(|token| is_word(token, "attach")).count();
        let known = attached(call).filter(|_| words == 1);
        known.is_some_and(|of| of.path.is_none_or(|path| number(databases, &path).is_some()))
    };
    if lost.records > 0 || lost.untracked > 0 || trace.damage.is_some() || !attaching.iter().all(is_understood) {
        return vec![];
    }
    let is_attached = |index: usize| {
        attaching.iter().filter_map(|call| attached(call)?.path).any(|path| number(databases, &path) == Some(index))
    };
    let attaches = |database: &Database| attaching.iter().any(|call| trace.is_on(call, &database.path));
    let all = databases.iter().enumerate().filter(|(i, database)| {
        let is_only = databases.iter().filter(|other| other.path == database.path).count() == 1;
        is_only && !is_attached(*i) && !attaches(database) && is_one_file(trace, database)
    });
    let mut effects = Effects::new();
    all.flat_map(|(_, database)| differences(database, &added(trace, &database.path, &mut effects))).collect()
}

/// Calls whose text has the word ATTACH, in whatever place.
fn attaching(trace: &Trace) -> Vec<&Call> {
    let mut texts: HashMap<*const u8, bool> = HashMap::new();
    let mut attaches = |call: &Call| *texts.entry(call.sql.as_ptr()).or_insert_with(|| has_word(&call.sql, "attach"));
    trace.calls.iter().filter(|call| attaches(call)).collect()
}

/// Whether the file of a database is one and the same from beginning to end, and only statements change it.
fn is_one_file(trace: &Trace, database: &Database) -> bool {
    let mut of_file: Vec<_> =
        trace.connections.values().filter(|connection| connection.path == database.path).collect();
    of_file.sort_by_key(|connection| connection.opened_ns);
    let Some(first) = of_file.first() else { return false };
    let writes = trace.calls.iter().filter(|call| !call.is_readonly && trace.is_on(call, &database.path));
    let written_ns = writes.map(|call| call.at_ns).min().unwrap_or(u64::MAX);
    // An empty file later than that is another one.
    let is_one = database.content.is_some() == first.has_content
        && of_file.iter().all(|one| one.has_content || (!first.has_content && one.opened_ns <= written_ns));
    let other_ways = [note::BACKUP, note::DESERIALIZE, note::EXTENSION];
    is_one && !of_file.iter().any(|connection| other_ways.iter().any(|way| connection.notes.contains(way)))
}

/// The rows that committed statements added.
fn added(trace: &Trace, path: &Path, effects: &mut Effects) -> Added {
    let mut added = Added::default();
    let mut open: HashMap<u64, BTreeMap<String, i64>> = HashMap::new();
    let mut last: HashMap<u64, (u32, u64)> = HashMap::new();
    for call in trace.calls.iter().filter(|call| trace.is_on(call, path)) {
        let effect =
            effects.entry((call.sql.as_ptr(), call.how == How::Exec)).or_insert_with(|| effect(&call.sql, call.how));
        let mine = open.entry(call.connection).or_default();
        // The number of changes, and whether a transaction is open, can be those of another thread's statement.
        let (tid, until_ns) = last.insert(call.connection, (call.who.tid, call.end_ns())).unwrap_or((call.who.tid, 0));
        let is_mixed = if tid == call.who.tid { call.at_ns < until_ns } else { call.at_ns < until_ns + APART_NS };
        // One that the end of its process cut off may have been committed.
        added.any_unknown |= call.is_pending() || is_mixed;
        match effect {
            Effect::Changes(table, _) if call.is_cut => drop(added.unknown.insert(table.clone())),
            Effect::Changes(table, sign) if !call.has_failed() => {
                let rows = *sign * call.changes;
                match mine.get_mut(table) {
                    Some(known) => *known += rows,
                    None => drop(mine.insert(table.clone(), rows)),
                }
            }
            Effect::Unknown(tables) => added.unknown.extend(tables.iter().cloned()),
            Effect::AnyUnknown => added.any_unknown = true,
            _ => {}
        }
        if call.after {
            let committed = std::mem::take(mine);
            let is_rolled_back = *effect == Effect::Rollback || (call.has_failed() && !call.before);
            if !is_rolled_back {
                committed.into_iter().for_each(|(table, rows)| *added.rows.entry(table).or_default() += rows);
            }
        }
    }
    added
}

fn differences(database: &Database, added: &Added) -> Vec<String> {
    let Some(end) = &database.end else { return vec![] };
    let contents = || database.content.iter().chain([end]);
    if added.any_unknown || contents().any(has_trigger) {
        return vec![];
    }
    let begin: BTreeMap<String, u64> = database
        .content
        .iter()
        .flat_map(|content| &content.tables)
        .map(|table| (table.name.to_ascii_lowercase(), table.rows))
        .collect();
    // The rows of a table with a collation of the program's own cannot always be counted.
    let is_known = |ddl: &str| !["replace", "fail", "cascade", "collate"].iter().any(|word| has_word(ddl, word));
    let tables = Tables { content: end, values: None }.all().into_iter().filter(|table| is_known(&table.ddl));
    tables
        .filter_map(|table| {
            // As SQLite compares names.
            let name = table.name.to_ascii_lowercase();
            let rows = begin.get(&name).copied().unwrap_or(0).cast_signed() + added.rows.get(&name).copied().unwrap_or(0);
            let is_left_out = added.unknown.contains(&name) || name.starts_with("sqlite_");
            (!is_left_out && rows != table.rows.cast_signed()).then(|| {
                format!(
                    "{}: the table {} has {} rows at the end, but with the captured statements it has {rows}. Something that \
                     is not captured wrote to the database, or replaced its file.",
                    database.path.display(),
                    table.name,
                    table.rows
                )
            })
        })
        .collect()
}

fn has_trigger(content: &Content) -> bool {
    content.others.iter().any(|sql| has_word(sql, "trigger"))
}

fn has_word(sql: &str, wanted: &str) -> bool {
    tokens(sql).iter().any(|token| is_word(token, wanted))
}

fn is_word(token: &Token, wanted: &str) -> bool {
    matches!(token, Token::Word(word) if word.eq_ignore_ascii_case(wanted))
}

fn effect(sql: &str, how: How) -> Effect {
    /// Words without which a script changes neither rows nor transactions.
    const OF_SCRIPTS: [&str; 16] = [
        "insert",
        "update",
        "delete",
        "replace",
        "drop",
        "alter",
        "begin",
        "commit",
        "end",
        "rollback",
        "savepoint",
        "release",
        "trigger",
        "temp",
        "temporary",
        "as",
    ];
    let tokens = tokens(sql);
    let has = |wanted: &str| tokens.iter().any(|token| is_word(token, wanted));
    let ends = tokens.iter().position(|token| *token == Token::Sign(";"));
    let is_script = ends.is_some_and(|end| tokens[end..].iter().any(|token| *token != Token::Sign(";")));
    if how == How::Exec && is_script {
        return if OF_SCRIPTS.into_iter().any(has) { Effect::AnyUnknown } else { Effect::Nothing };
    }
    let first = match tokens.first() {
        Some(Token::Word(word)) => word.to_ascii_lowercase(),
        _ => String::new(),
    };
    let on = |effect: fn(String) -> Effect| target(&tokens).map_or(Effect::AnyUnknown, effect);
    match (shape(sql).does, first.as_str()) {
        (Does::Rollback, _) => Effect::Rollback,
        (Does::Savepoint, "rollback") => Effect::AnyUnknown,
        (Does::Write, "delete") => on(|table| Effect::Changes(table, -1)),
        (Does::Write, "insert") if !["replace", "fail", "update"].into_iter().any(has) => {
            on(|table| Effect::Changes(table, 1))
        }
        (Does::Write, "update") if !has("replace") => Effect::Nothing,
        (Does::Write, "insert" | "replace") => on(|table| Effect::Unknown([table].into())),
        (Does::Write, _) => Effect::AnyUnknown,
        (Does::Schema, "create") if has("trigger") => Effect::AnyUnknown,
        (Does::Schema, "create") if !["temp", "temporary", "as", "virtual"].into_iter().any(has) => Effect::Nothing,
        (Does::Schema, "create" | "drop" | "alter") => Effect::Unknown(tokens.iter().filter_map(name).collect()),
        _ => Effect::Nothing,
    }
}

/// The table after INTO or FROM. A name in single quotes is not told from a text: in a capture of hashes it is a stand-in.
fn target(tokens: &[Token]) -> Option<String> {
    let at = tokens.iter().position(|token| is_word(token, "into") || is_word(token, "from"))? + 1;
    let at = if tokens.get(at + 1) == Some(&Token::Sign(".")) { at + 2 } else { at };
    name(tokens.get(at)?)
}

/// A name as SQLite compares it.
fn name(token: &Token) -> Option<String> {
    let Token::Word(word) = token else { return None };
    let inner = word.strip_prefix(['"', '`', '[']).and_then(|rest| rest.strip_suffix(['"', '`', ']'])).unwrap_or(word);
    (!inner.contains(['"', '`', '[', ']'])).then(|| inner.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_what_they_do_to_the_number_of_rows() {
        let of = |sql: &str| effect(sql, How::Statement);
        let named = |name: &str| Effect::Unknown([name.to_string()].into());
        assert_eq!(of("INSERT OR IGNORE INTO main.\"T\" VALUES (1)"), Effect::Changes("t".into(), 1));
        assert_eq!(of("DELETE FROM t"), Effect::Changes("t".into(), -1));
        assert_eq!(of("REPLACE INTO t VALUES (1)"), named("t"));
        assert_eq!(of("INSERT INTO t VALUES (1) ON CONFLICT DO UPDATE SET a = 2"), named("t"));
        assert_eq!(of("UPDATE t SET a = 1"), Effect::Nothing);
        assert_eq!(of("UPDATE OR REPLACE t SET a = 1"), Effect::AnyUnknown);
        assert_eq!(of("INSERT INTO 't' SELECT * FROM old"), Effect::AnyUnknown);
        assert_eq!(of("INSERT INTO \u{c4}rzte VALUES (1)"), Effect::Changes("\u{c4}rzte".into(), 1));
        assert_eq!(of("WITH n AS (SELECT 1) INSERT INTO t SELECT * FROM n"), Effect::AnyUnknown);
        assert_eq!(of("ROLLBACK"), Effect::Rollback);
        assert_eq!(of("ROLLBACK TO s"), Effect::AnyUnknown);
        assert_eq!(of("CREATE TABLE t (a)"), Effect::Nothing);
        assert_eq!(of("CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM u; END"), Effect::AnyUnknown);
        let Effect::Unknown(all) = of("ALTER TABLE \"new\" RENAME TO t") else { panic!("of these tables") };
        assert!(all.contains("new") && all.contains("t"));
    }

    #[test]
    fn a_script_may_do_anything() {
        let script = |sql: &str| effect(sql, How::Exec);
        assert_eq!(script("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2), (3)"), Effect::AnyUnknown);
        assert_eq!(script("INSERT INTO t VALUES (1);"), Effect::Changes("t".into(), 1));
        assert_eq!(script("PRAGMA foreign_keys = ON; CREATE TABLE IF NOT EXISTS t (a)"), Effect::Nothing);
        // The rows of the first transaction are committed, and the second one is open.
        assert_eq!(script("COMMIT; BEGIN"), Effect::AnyUnknown);
    }
}
