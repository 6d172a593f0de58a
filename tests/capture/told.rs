//! What `contend capture show` says of programs is so.

use super::{built, capture, counts, database, make, shown};
use crate::support::Bench;
use serde_json::{Value, json};

fn list<'v>(summary: &'v Value, key: &str) -> &'v Vec<Value> {
    summary[key].as_array().expect("a list")
}

/// The evidence of the only finding of a kind.
fn evidence(summary: &Value, kind: &str) -> String {
    let mut all = list(summary, "findings").iter().filter(|finding| finding["kind"] == kind);
    let (first, more) = (all.next(), all.next());
    assert!(more.is_none(), "{summary}");
    first.unwrap_or_else(|| panic!("{kind}: {summary}"))["evidence"].as_str().expect("a text").to_string()
}

#[test]
fn scripts_are_transactions_that_write() {
    let bench = Bench::new();
    let Some(program) = built(&bench, "found.c") else { return };
    capture(&bench, &[], &[&program, "scripts", "app.db"]).exits(0);
    let summary = shown(&bench);
    let of = |word: &str| {
        let is_it = |kind: &&Value| kind["statements"].to_string().contains(word);
        let kind = list(&summary, "transactions").iter().find(is_it).unwrap_or_else(|| panic!("{word}: {summary}"));
        [&kind["begin"], &kind["writes"], &kind["committed"], &kind["rolled_back"]].map(Value::clone)
    };
    assert_eq!(of("CREATE"), [json!("none"), json!(true), json!(1), json!(0)]);
    assert_eq!(of("INSERT"), [json!("immediate"), json!(true), json!(1), json!(0)]);
    assert_eq!(of("DELETE"), [json!("deferred"), json!(true), json!(0), json!(1)]);
}

#[test]
fn the_commit_in_a_reset_is_time_of_the_statement() {
    let bench = Bench::new();
    let Some(program) = built(&bench, "found.c") else { return };
    capture(&bench, &[], &[&program, "resets", "app.db"]).exits(0);
    let summary = shown(&bench);
    let insert = list(&summary, "statements").iter().find(|one| one["text"].to_string().contains("INSERT"));
    let insert = insert.expect("an INSERT");
    let ns = |key: &str| insert[key].as_u64().expect("a number");
    // SQLite's own waits come to a few ms less than the timeout of 100 ms.
    assert!(ns("waited_ns") > 50_000_000 && ns("total_ns") > ns("waited_ns"), "{insert}");
    assert!(evidence(&summary, "timeout-too-short").starts_with("1 call, after "), "{summary}");
}

#[test]
fn settings_are_the_last_ones_and_failed_connections_are_named() {
    let bench = Bench::new();
    let Some(program) = built(&bench, "found.c") else { return };
    capture(&bench, &[], &[&program, "opens", "app.db"]).exits(0);
    let summary = shown(&bench);
    let [failed, opened] = list(&summary, "connections").as_slice() else { panic!("{summary}") };
    assert_eq!((&failed["connections"], &failed["error"]), (&3.into(), &"SQLITE_CANTOPEN (14)".into()));
    assert_eq!((&opened["busy_timeout_ms"], &opened["error"]), (&90.into(), &Value::Null));
    assert_eq!(opened["pragmas"], json!(["pragma cache_size = 20", "pragma synchronous = normal"]));
    let text = bench.contend(&["capture", "show", "taken"]).exits(0).out;
    assert!(text.contains("on app.db could not be opened: SQLITE_CANTOPEN (14)"), "{text}");
}

#[test]
fn texts_that_are_not_utf8_are_said_and_their_values_are_not() {
    let bench = Bench::new();
    let Some(program) = built(&bench, "found.c") else { return };
    let said = capture(&bench, &["--values=full"], &[&program, "latin", "app.db"]).exits(0).err;
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let gap = "1 text of statements not in UTF-8: each other byte is U+FFFD in the capture";
    assert!(flat(&said).contains(gap) && flat(&said).contains("The first one: INSERT INTO t VALUES (...)"), "{said}");
    assert!(!said.contains("caf"), "{said}");
    let replayed = bench.contend(&["replay", "taken"]);
    assert!(replayed.code == Some(1) && flat(&replayed.out).contains(gap), "{replayed:?}");
    // As a hash it is the program's own text.
    std::fs::remove_file(bench.path("app.db")).expect("removed");
    let said = bench.contend(&["capture", "--out", "hashed", "--", &program, "latin", "app.db"]).exits(0).err;
    assert!(said.contains("Nothing is known to be missing."), "{said}");
}

/// Savepoints with generated names, and errors.
const NAMES: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('CREATE TABLE t (v INTEGER UNIQUE)')
for i in range(20):
    db.execute(f'SAVEPOINT sp_{i}')
    db.execute('INSERT INTO t VALUES (?)', (i,))
    db.execute(f'RELEASE SAVEPOINT sp_{i}')
def refused(sql):
    try:
        db.execute(sql)
        raise SystemExit('not refused: ' + sql)
    except sqlite3.Error:
        pass
refused('INSERT INTO t VALUES (3)')
refused('SELECT * FROM s')
refused('DELETE FROM s')
";

#[test]
fn made_up_names_make_no_kinds_and_errors_are_counted_by_code() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", NAMES]).exits(0);
    let summary = shown(&bench);
    let most = &list(&summary, "transactions")[0];
    let statements = json!([["SAVEPOINT ?", 1], ["INSERT INTO t VALUES (?)", 1], ["RELEASE SAVEPOINT ?", 1]]);
    assert_eq!((&most["count"], &most["statements"]), (&20.into(), &statements));
    assert_eq!(counts(&summary, "SAVEPOINT")[0], 20);
    assert_eq!(summary["errors"], json!([["SQLITE_ERROR (1)", 2], ["SQLITE_CONSTRAINT_UNIQUE (2067)", 1]]));
    let text = bench.contend(&["capture", "show", "taken"]).exits(0).out;
    assert!(
        text.contains("Errors by code: SQLITE_ERROR (1) 2 times, SQLITE_CONSTRAINT_UNIQUE (2067) 1 time."),
        "{text}"
    );
}

/// Refused changes of the journal mode, writes while a cursor reads, locks of a shared cache in memory, and statements that
/// give up, each a number of times.
const REFUSED: &str = "
import sqlite3
def connect(timeout, name='app.db', **more):
    return sqlite3.connect(name, isolation_level=None, timeout=timeout, **more)
def refused(db, sql, times=1):
    for i in range(times):
        try:
            db.execute(sql).fetchall()
            raise SystemExit('not refused: ' + sql)
        except sqlite3.OperationalError:
            pass
a, b, c = connect(5), connect(0), connect(0.02)
a.execute('CREATE TABLE t (v)')
a.execute('CREATE TABLE s (v)')
a.execute('BEGIN EXCLUSIVE')
refused(b, 'PRAGMA journal_mode = wal')
b.execute('PRAGMA busy_timeout = 5000')
refused(c, 'DELETE FROM t', 3)
refused(c, 'DELETE FROM s')
refused(c, 'UPDATE t SET v = 1', 4)
refused(c, 'UPDATE s SET v = 1', 2)
a.execute('COMMIT')
m, n = [connect(5, 'file:m?mode=memory&cache=shared', uri=True) for i in range(2)]
m.execute('CREATE TABLE t (v)')
m.execute('BEGIN')
m.execute('INSERT INTO t VALUES (1)')
refused(n, 'SELECT * FROM t')
m.execute('COMMIT')
";

#[test]
fn every_lock_error_is_in_a_finding_with_the_statements_that_it_met_most() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", REFUSED]).exits(0);
    let summary = shown(&bench);
    assert_eq!(evidence(&summary, "no-busy-timeout"), "1 refusal, such as `PRAGMA journal_mode = wal`.");
    let gave_up = evidence(&summary, "timeout-too-short");
    assert!(gave_up.starts_with("10 calls, after "), "{gave_up}");
    let which =
        "such as `UPDATE t SET v = ...` (4 times), `DELETE FROM t` (3 times), `UPDATE s SET v = ...` (2 times).";
    assert!(gave_up.ends_with(which), "{gave_up}");
    let locked = list(&summary, "findings").iter().find(|finding| finding["kind"] == "table-locked").expect("found");
    assert!(locked["title"].to_string().contains("a database in memory"), "{locked}");
    assert_eq!(locked["evidence"], "1 refusal, such as `SELECT * FROM t`. No busy timeout waits for that.");
}

/// A timeout does not help where a cursor of the connection reads another state.
const NEVER_WAITS: &str = "
import sqlite3
a, b = [sqlite3.connect('app.db', isolation_level=None, timeout=5) for i in range(2)]
a.execute('CREATE TABLE t (v)')
a.execute('INSERT INTO t VALUES (1), (2)')
rows = a.execute('SELECT * FROM t')
next(rows)
b.execute('BEGIN IMMEDIATE')
b.execute('INSERT INTO t VALUES (3)')
try:
    a.execute('UPDATE t SET v = 4')
    raise SystemExit('not refused')
except sqlite3.OperationalError:
    pass
rows.close()
b.execute('COMMIT')
";

#[test]
fn a_refusal_in_spite_of_a_timeout_has_its_own_finding() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", NEVER_WAITS]).exits(0);
    let found = evidence(&shown(&bench), "refused-at-once");
    assert!(found.starts_with("1 refusal, such as `UPDATE t SET v = ...`. SQLite does not wait"), "{found}");
}

/// Leaves a transaction open, and does nothing for a while; with `dies`, another process of it does, which is killed, and whose
/// database is written afterwards.
const OPEN: &str = "
import os, signal, sqlite3, sys, time
def begin():
    db = sqlite3.connect('app.db', isolation_level=None)
    db.execute('BEGIN IMMEDIATE')
    db.execute('INSERT INTO t VALUES (1)')
    return db
sqlite3.connect('app.db').execute('CREATE TABLE t (v)')
if sys.argv[1] == 'dies':
    child = os.fork()
    if child == 0:
        begin()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    sqlite3.connect('app.db', isolation_level=None).execute('INSERT INTO t VALUES (2)')
else:
    db = begin()
time.sleep(1.2)
os._exit(0)
";

#[test]
fn a_transaction_that_is_open_at_the_end_lasts_until_then_unless_its_process_had_ended() {
    let bench = Bench::new();
    for how in ["stays", "dies"] {
        let out = ["capture", "--out", how, "--", "python3", "-c", OPEN, how];
        bench.contend(&out).exits(0);
        let shown = bench.contend(&["capture", "show", how, "--json"]).exits(0).out;
        let summary: Value = serde_json::from_str(&shown).expect("JSON");
        let is_idle = list(&summary, "findings").iter().any(|finding| finding["kind"] == "idle-in-transaction");
        let open = list(&summary, "transactions").iter().find(|kind| kind["begin"] == "immediate").expect("it");
        let is_long = [&open["p50_ns"], &open["in_program_with_lock_ns"]].map(|ns| ns.as_u64() > Some(1_200_000_000));
        assert_eq!((is_idle, is_long), (how == "stays", [how == "stays"; 2]), "{how}: {summary}");
        std::fs::remove_file(database(&bench)).expect("removed");
    }
}

/// Attaches a database whose name is computed, drops and makes tables, and searches lists.
const TABLES: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute(\"ATTACH 'oth' || 'er.db' AS other\")
db.execute(\"ATTACH 'new.db' AS new\")
db.execute('CREATE TABLE new.n (v)')
db.execute('DROP TABLE gone')
db.execute('CREATE TABLE made (v)')
db.execute('SELECT * FROM other.o').fetchall()
for i in range(30):
    marks = ', '.join('?' * (2 + i % 3))
    db.execute(f'SELECT * FROM made WHERE v IN ({marks}) AND v < ? AND v > {i % 5}', [i % 2] * (2 + i % 3) + [100 + i % 4])
";

#[test]
fn tables_and_keys_are_those_of_the_program() {
    let bench = Bench::new();
    for (name, sql) in
        [("app.db", "CREATE TABLE gone (v); INSERT INTO gone VALUES (1)"), ("other.db", "CREATE TABLE o (v)")]
    {
        make(&bench, name, sql);
    }
    capture(&bench, &["--values=full"], &["python3", "-c", TABLES]).exits(0);
    let summary = shown(&bench);
    let app = &list(&summary, "databases")[0];
    assert_eq!(app["tables"], json!([["made", 0, 0], ["gone", 1, null]]));
    assert_eq!(app["dropped"], json!(["gone"]));
    let text = bench.contend(&["capture", "show", "taken"]).exits(0).out;
    assert!(text.contains("dropped"), "{text}");
    assert!(text.contains("table  value  values  distinct"), "a list has several in a call: {text}");
    let made = |name: &str| {
        let of = |database: &&Value| database["path"].as_str().is_some_and(|path| path.ends_with(name));
        list(&summary, "databases").iter().find(of).map(|database| &database["made_by_the_program"])
    };
    assert_eq!((made("new.db"), made("app.db")), (Some(&true.into()), Some(&false.into())), "{summary}");
    let keys = list(&summary, "keys").iter();
    let keys: Vec<_> = keys.map(|key| [&key["place"], &key["count"], &key["distinct"]].map(Value::clone)).collect();
    assert_eq!(keys, [[1, 90, 2], [2, 30, 4], [3, 30, 5]].map(|key| key.map(Value::from)), "{summary}");
}

/// Has a database locked when it is attached, so that its content is unknown.
const ATTACHED: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None, timeout=0)
db.execute('CREATE TABLE t (v)')
try:
    db.execute(\"ATTACH 'other.db' AS other\")
except sqlite3.OperationalError:
    pass
";

#[test]
fn an_attached_database_that_was_there_is_not_made_by_the_program() {
    let bench = Bench::new();
    let other = rusqlite::Connection::open(bench.path("other.db")).expect("made");
    other.execute_batch("CREATE TABLE o (v); BEGIN EXCLUSIVE; INSERT INTO o VALUES (1);").expect("locked");
    capture(&bench, &["--values=full"], &["python3", "-c", ATTACHED]).exits(0);
    let summary = shown(&bench);
    let made: Vec<_> = list(&summary, "databases").iter().map(|one| &one["made_by_the_program"]).collect();
    assert_eq!(made, [false, true], "{summary}");
}

/// Temporary tables with random names, a statement with more values than an operation can have, and one with fewer.
const MANY: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)')
for i in range(12):
    name = f'tmp_{i * 2654435761 % 2**32:08x}'
    db.execute(f'CREATE TEMP TABLE {name} (v)')
    db.execute(f'INSERT INTO {name} VALUES (?)', (i,))
for i in range(2):
    db.execute('INSERT INTO t (v) VALUES ' + ', '.join(['(7)'] * 70_000))
    db.execute('UPDATE t SET v = 8 WHERE id IN (' + ', '.join(['?'] * 3_000) + ')', range(3_000))
";

#[test]
fn made_up_names_are_listed_once_and_an_operation_with_too_many_values_is_left_out() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", MANY]).exits(0);
    let listed = bench.contend(&["capture", "to-workload", "taken"]).exits(0).err;
    let line = |words: &str| listed.lines().any(|line| line.contains(words));
    assert!(line("(seen: 12, with 12 names): CREATE TEMP TABLE tmp_*(v)"), "{listed}");
    assert!(line("(seen: 12, with 12 names): INSERT INTO tmp_* VALUES (?)"), "{listed}");
    assert!(
        line("because it has 70,000 values, and an operation of a workload has at most 65,535 (seen: 2)"),
        "{listed}"
    );
    assert!(listed.matches("tmp_").count() == 2, "{listed}");
    let workload = std::fs::read_to_string(bench.path("taken/workload.toml")).expect("written");
    assert!(
        workload.contains("UPDATE t SET v = 8 WHERE id IN (") || workload.contains("UPDATE t SET v = :"),
        "{workload}"
    );
}

/// Counts rows by columns that are named by their numbers.
const BY_NUMBER: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, size INTEGER)')
for i in range(40):
    db.execute('INSERT INTO t (name, size) VALUES (?, ?)', (f'name-{i % 7}', i % 3))
    db.execute(f'SELECT size, name, count(*) FROM t WHERE size < {i + 50} GROUP BY 1, 2 ORDER BY 3 DESC, 2 LIMIT 77').fetchall()
";

#[test]
fn numbers_of_columns_are_part_of_a_statement() {
    let bench = Bench::new();
    let said = capture(&bench, &[], &["python3", "-c", BY_NUMBER]).exits(0).err;
    assert!(!said.contains("not in the study"), "{said}");
    let shape = "SELECT size, name, count(*) FROM t WHERE size < ? GROUP BY 1, 2 ORDER BY 3 DESC, 2 LIMIT ?";
    assert_eq!(counts(&shown(&bench), shape)[0], 40);
    let workload = std::fs::read_to_string(bench.path("taken/workload.toml")).expect("written");
    assert!(workload.contains(" GROUP BY 1, 2 ORDER BY 3 DESC, 2 LIMIT :"), "{workload}");
}

/// A program with its own spacing, literals in texts, and pairs of statements in one transaction.
const SPACED: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('CREATE TABLE event (id INTEGER PRIMARY KEY, name TEXT)')
db.execute('CREATE TABLE seat (event INTEGER,num INTEGER)')
db.execute('BEGIN')
for event in range(10):
    db.execute('INSERT INTO event(id,name) VALUES (?,?)', (event, f'Concert {event}'))
    db.executemany('INSERT INTO seat(event,num) VALUES (?,?)', [(event, num) for num in range(20)])
db.execute('COMMIT')
for event in range(30):
    db.execute(f\"SELECT   count(*) FROM seat WHERE event={event % 10} AND num<15\").fetchall()
";

#[test]
fn a_statement_can_be_found_in_the_source_and_what_repeats_is_one_line() {
    let bench = Bench::new();
    capture(&bench, &["--values=full"], &["python3", "-c", SPACED]).exits(0);
    let text = bench.contend(&["capture", "show", "taken"]).exits(0).out;
    let lists =
        text.split_once("Transaction 1:").expect("a list").1.split_once("Statements by time").expect("a section").0;
    let count = "- SELECT count(*) FROM seat WHERE event=... AND num<...\n";
    assert!(lists.contains(count) && SPACED.contains("count(*) FROM seat WHERE event="), "{text}");
    let both = ["INSERT INTO event(id,name) VALUES (?,?)", "INSERT INTO seat(event,num) VALUES (?,?)"];
    let [event, seat] = both;
    let lists = lists.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(lists.contains(&format!("- 10 times: {event}; then 20 times: {seat} ")), "{text}");
    assert!(both.iter().all(|sql| SPACED.contains(sql) && lists.matches(sql).count() == 1), "{text}");
    let summary = shown(&bench);
    let statement = list(&summary, "statements").iter().find(|one| one["written"] == event).expect("as written");
    assert_eq!(statement["text"], "INSERT INTO event(id, name) VALUES (?, ...)");
}

#[test]
fn messages_are_as_wide_as_the_terminal_and_one_line_in_a_pipe() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", SPACED]).exits(0);
    let command = format!("stty cols 60 rows 50; {} capture to-workload taken", env!("CARGO_BIN_EXE_contend"));
    let mut script = std::process::Command::new("script");
    script.args(["--quiet", "--return", "--command", &command, "typescript"]).current_dir(bench.path("."));
    let shown = String::from_utf8(script.output().expect("util-linux is there").stdout).expect("text");
    let widest = shown.lines().map(|line| line.trim_end().chars().count()).max().unwrap_or(0);
    assert!(widest <= 60, "{shown}");
    let piped = bench.contend(&["capture", "to-workload", "taken"]).exits(0).err;
    let longest = piped.lines().find(|line| line.len() > 60).expect("a long message");
    let of_terminal = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(of_terminal.contains(longest), "{longest}: {shown}");
}
