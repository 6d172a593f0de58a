//! Whether the captured statements explain the number of rows of each table: those at the beginning, plus the inserted and
//! minus the deleted ones, are those at the end. If they are not, something that was not captured wrote to the database.
//!
//! A table is left out if statements do not say how many rows they add: replaced rows, triggers, cascades, scripts.

use crate::attach::{attached, number};
use crate::manifest::{Content, Database};
use crate::sql::{Does, Token, shape, tokens};
use crate::trace::{Call, How, Trace};
use crate::workload::tables::Tables;
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
        let known = attached(call).filter(|_| attachments(&call.sql) == 1);
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

/// Calls with an ATTACH, also inside of a script.
fn attaching(trace: &Trace) -> Vec<&Call> {
    let mut texts: HashMap<*const u8, bool> = HashMap::new();
    let mut attaches = |call: &Call| *texts.entry(call.sql.as_ptr()).or_insert_with(|| attachments(&call.sql) > 0);
    trace.calls.iter().filter(|call| attaches(call)).collect()
}

/// Number of statements of a text that begin with ATTACH.
fn attachments(sql: &str) -> usize {
    let tokens = tokens(sql);
    let begins = |at: usize| at == 0 || tokens[at - 1] == Token::Sign(";");
    (0..tokens.len()).filter(|at| begins(*at) && tokens[*at].is_word("attach")).count()
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
    let is_one = database.content.is_some() == first.has_content()
        && of_file.iter().all(|one| one.has_content() || (!first.has_content() && one.opened_ns <= written_ns));
    let other_ways = [note::BACKUP, note::DESERIALIZE, note::EXTENSION];
    is_one && !of_file.iter().any(|connection| other_ways.iter().any(|way| connection.notes.contains(way)))
}

/// The rows that committed statements added.
fn added(trace: &Trace, path: &Path, effects: &mut Effects) -> Added {
    let mut added = Added::default();
    let mut open: HashMap<u64, BTreeMap<String, i64>> = HashMap::new();
    // By connection: the thread of the last call, and the ends of all calls, and of those that may change something.
    let mut last: HashMap<u64, (u32, u64, u64)> = HashMap::new();
    for call in trace.calls.iter().filter(|call| trace.is_on(call, path)) {
        let effect =
            effects.entry((call.sql.as_ptr(), call.how == How::Exec)).or_insert_with(|| effect(&call.sql, call.how));
        let mine = open.entry(call.connection).or_default();
        // The number of changes, and whether a transaction is open, can be those of another thread's statement, or of one that
        // began before this one and goes on.
        let (tid, until_ns, changed_ns) = last.get(&call.connection).copied().unwrap_or((call.who.tid, 0, 0));
        let is_mixed = match tid == call.who.tid {
            true => !call.is_readonly && call.at_ns < changed_ns,
            false => call.at_ns < until_ns + APART_NS,
        };
        let changed_ns = if call.is_readonly { changed_ns } else { changed_ns.max(call.end_ns()) };
        last.insert(call.connection, (call.who.tid, until_ns.max(call.end_ns()), changed_ns));
        // One that the end of its process cut off may have been committed.
        added.any_unknown |= call.is_pending() || is_mixed;
        match effect {
            Effect::Changes(table, _) if call.changes < 0 => drop(added.unknown.insert(table.clone())),
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
    let is_known =
        |ddl: &str| !["replace", "fail", "cascade"].iter().any(|word| has_word(ddl, word)) && !has_own_collation(ddl);
    let tables = Tables::of(end, None).all().into_iter().filter(|table| is_known(&table.ddl));
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

/// Whether a table has a collation of the program's own: its rows cannot always be counted.
fn has_own_collation(ddl: &str) -> bool {
    const BUILT_IN: [&str; 3] = ["binary", "nocase", "rtrim"];
    let is_own = |name: &Token| !BUILT_IN.iter().any(|known| name.is_name(known));
    tokens(ddl).windows(2).any(|pair| pair[0].is_word("collate") && is_own(&pair[1]))
}

fn has_word(sql: &str, wanted: &str) -> bool {
    tokens(sql).iter().any(|token| token.is_word(wanted))
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
    let has = |wanted: &str| tokens.iter().any(|token| token.is_word(wanted));
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
    let at = tokens.iter().position(|token| token.is_word("into") || token.is_word("from"))? + 1;
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
    fn an_attach_is_a_statement_and_no_name() {
        let of =
            ["SELECT attach FROM mail", "ATTACH 'b.db' AS b", "PRAGMA a = 1; attach 'b.db' AS b; ATTACH 'c.db' AS c"];
        assert_eq!(of.map(attachments), [0, 1, 2]);
    }

    #[test]
    fn rows_under_a_collation_of_sqlite_can_be_counted() {
        let of =
            |collation: &str| has_own_collation(&format!("CREATE TABLE t (a TEXT COLLATE {collation} PRIMARY KEY)"));
        assert_eq!(["NOCASE", "rtrim", "german"].map(of), [false, false, true]);
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
