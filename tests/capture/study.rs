//! What the workload and the study of a capture have of the program: equal values stay equal, rare long pauses stay long, and
//! what is lost is said.

use super::{capture, make};
use crate::support::Bench;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Reads an account twice, before and after another one is changed: the first and the last account, by turns.
const TWICE: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER)')
db.executemany('INSERT INTO account (balance) VALUES (?)', [(100,)] * 40)
for i in range(200):
    one, other = i % 10 + 1, i % 10 + 31
    db.execute('BEGIN IMMEDIATE')
    db.execute('SELECT balance FROM account WHERE id = ?', (one,)).fetchone()
    db.execute('UPDATE account SET balance = balance - 1 WHERE id = ?', (one,))
    db.execute('SELECT balance FROM account WHERE id = ?', (other,)).fetchone()
    db.execute('COMMIT')
";

#[test]
fn a_statement_at_two_places_of_a_transaction_has_two_arguments() {
    let bench = Bench::new();
    capture(&bench, &["--values=full"], &["python3", "-c", TWICE]).exits(0);
    let workload = workload(&bench.path("taken"));
    let transaction = &workload["transaction"]["update_account"];
    let steps = transaction["step"].as_array().expect("steps").iter().filter_map(|step| step.get("sql")?.as_str());
    let names: Vec<&str> = steps.map(|sql| sql.rsplit(':').next().expect("an argument")).collect();
    assert!(names[0] == names[1] && names[0] != names[2], "{transaction}");
    let keys = |name: &str| transaction["args"][name]["choice"].as_array().expect("keys").to_vec();
    assert!(keys(names[0]).iter().all(|key| key.as_integer() <= Some(10)), "{transaction}");
    assert!(keys(names[2]).iter().all(|key| key.as_integer() > Some(30)), "{transaction}");
}

/// Reads pages of 50 and of at most 7 rows, retries in a transaction that meets a lock, and changes a setting twice.
const SETTINGS: &str = "
import sqlite3
a, b = (sqlite3.connect('app.db', isolation_level=None, timeout=0) for _ in range(2))
a.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)')
a.execute('PRAGMA synchronous = off')
a.execute('BEGIN')
a.executemany('INSERT INTO t (v) VALUES (?)', [(str(i),) for i in range(200)])
a.execute('COMMIT')
a.execute('PRAGMA synchronous = normal')
for i in range(14):
    a.execute('SELECT * FROM t ORDER BY id LIMIT 50').fetchall()
    a.execute('SELECT * FROM t WHERE id < 8 LIMIT ?', (100,)).fetchall()
a.execute('BEGIN IMMEDIATE')
a.execute('UPDATE t SET v = 1 WHERE id = 5')
b.execute('BEGIN')
for i in range(4):
    try:
        b.execute('DELETE FROM t WHERE id = 9')
        raise SystemExit('not refused')
    except sqlite3.OperationalError:
        pass
a.execute('COMMIT')
b.execute('DELETE FROM t WHERE id = 9')
b.execute('COMMIT')
";

#[test]
fn settings_lock_errors_and_limits_are_those_of_the_program() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", SETTINGS]).exits(0);
    let study = std::fs::read_to_string(bench.path("taken/study.toml")).expect("written");
    assert!(
        study.contains("label = \"as captured\"\nsettings = { journal_mode = \"delete\", synchronous = \"normal\"")
    );
    // One of 32 attempts met a lock, at four calls.
    assert!(study.contains("of the 4 lock errors") && study.contains("(in the capture 31.2)"), "{study}");
    let workload = workload(&bench.path("taken"));
    let of = |name: &str| workload["transaction"][name]["args"].as_table().expect("arguments").values();
    let number = |name: &str| of(name).next_back().and_then(toml::Value::as_integer);
    assert_eq!((number("select_t"), number("select_t_2")), (Some(50), Some(7)), "{workload}");
}

/// Does the same to two databases, and more often to the first one.
const TWO: &str = "
import sqlite3
one, two = (sqlite3.connect(name, isolation_level=None) for name in ('one.db', 'two.db'))
for db in (one, two):
    db.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)')
for i in range(90):
    one.execute('INSERT INTO t (v) VALUES (?)', (i % 3,))
for i in range(60):
    two.execute('INSERT INTO t (v) VALUES (?)', (1000 + i % 3,))
";

#[test]
fn a_workload_has_what_was_done_to_its_database_only() {
    let bench = Bench::new();
    capture(&bench, &["--values=full"], &["python3", "-c", TWO]).exits(0);
    let workload = workload(&bench.path("taken"));
    let mix = &workload["role"].as_table().and_then(|roles| roles.values().next()).expect("a role")["mix"];
    assert_eq!(mix["insert_t"].as_integer(), Some(90), "{mix}");
    let generator = &workload["transaction"]["insert_t"]["args"]["a0_1"];
    assert_eq!(generator["choice"].to_string(), "[0, 1, 2]", "no value of the other database");
    let listed = bench.contend(&["capture", "to-workload", "taken"]).exits(0).err;
    assert!(listed.contains("two.db: a workload has one database; this one is left out"), "{listed}");
    let replayed = bench.contend(&["replay", "taken"]).exits(0).out;
    assert_eq!(replayed.matches("its table is the same").count(), 2, "each on its own database: {replayed}");
}

/// Calls one database far more often, and is refused once in the other one.
const REFUSED: &str = "
import sqlite3
queue, shop, other = (sqlite3.connect(f'{n}.db', timeout=0, isolation_level=None) for n in ('queue', 'shop', 'shop'))
for db in (queue, shop):
    db.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)')
for i in range(200):
    queue.execute('INSERT INTO t (v) VALUES (?)', (i,))
for i in range(10):
    shop.execute('INSERT INTO t (v) VALUES (?)', (i,))
shop.execute('BEGIN IMMEDIATE')
try:
    other.execute('INSERT INTO t (v) VALUES (11)')
    raise SystemExit('not refused')
except sqlite3.OperationalError:
    shop.execute('COMMIT')
";

#[test]
fn a_study_is_about_the_database_with_the_lock_errors_or_the_one_that_is_named() {
    let bench = Bench::new();
    let said = capture(&bench, &[], &["python3", "-c", REFUSED]).exits(0).err;
    assert!(said.contains("The study is about ") && said.contains("shop.db: it has 1 of 1 lock error"), "{said}");
    let about = || workload(&bench.path("taken"))["about"].as_str().expect("a text").to_string();
    assert!(about().ends_with("shop.db"), "{}", about());
    let said = bench.contend(&["capture", "to-workload", "taken", "--database", "queue.db"]).exits(0).err;
    assert!(said.contains("queue.db: it has 0 of 1 lock error"), "{said}");
    assert!(about().ends_with("queue.db"), "{}", about());
    let said = bench.contend(&["capture", "to-workload", "taken", "--database", "none.db"]).exits(2).err;
    assert!(said.contains("none.db is no database of the capture; it has ") && said.contains("shop.db"), "{said}");
}

/// Takes the oldest job and finishes it; each twentieth takes long. Counts jobs by a bound state.
const JOBS: &str = "
import sqlite3, time
db = sqlite3.connect('app.db', isolation_level=None)
for i in range(120):
    db.execute('BEGIN IMMEDIATE')
    job = db.execute(\"SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1\").fetchone()[0]
    if i % 20 == 7:
        time.sleep(0.1)
    db.execute(\"UPDATE jobs SET state = 'done' WHERE id = ?\", (job,))
    db.execute('COMMIT')
    state = 'done' if i % 3 == 0 else 'new'
    db.execute('SELECT count(*) FROM jobs WHERE state = ?', (state,)).fetchone()
";

fn jobs(bench: &Bench) {
    let sql = "CREATE TABLE jobs (id INTEGER PRIMARY KEY, state TEXT NOT NULL);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
         INSERT INTO jobs SELECT i, CASE WHEN i % 4 = 0 THEN 'done' ELSE 'new' END FROM n;";
    make(bench, "app.db", sql);
}

fn workload(dir: &Path) -> toml::Table {
    std::fs::read_to_string(dir.join("workload.toml")).expect("written").parse().expect("TOML")
}

/// Values of a generator, most frequent first.
fn choice(generator: &toml::Value) -> Vec<&str> {
    let values = generator.get("choice").and_then(toml::Value::as_array).unwrap_or_else(|| panic!("{generator}"));
    values.iter().map(|value| value.as_str().expect("a text")).collect()
}

/// The names of `new` and `done` in the rows are those in literals and in bound values.
fn names_agree(workload: &toml::Table) {
    let rows = choice(&workload["table"]["jobs"]["columns"]["state"]);
    let [new, done] = rows[..] else { panic!("{rows:?}") };
    let args = |name: &str| workload["transaction"][name]["args"].as_table().expect("arguments").values();
    let texts =
        |name: &str| args(name).filter(|generator| generator.get("choice").is_some()).map(choice).collect::<Vec<_>>();
    assert_eq!(texts("update_jobs"), [[new], [done]], "{workload}");
    assert_eq!(texts("select_jobs"), [[new, done]], "{workload}");
}

#[test]
fn equal_values_of_rows_literals_and_parameters_have_one_name() {
    for is_hashed in [true, false] {
        let bench = Bench::new();
        jobs(&bench);
        let values = if is_hashed { "--values=hash" } else { "--values=full" };
        let said = capture(&bench, &[values], &["python3", "-c", JOBS]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let dir = if is_hashed { "taken" } else { "hashed" };
        if !is_hashed {
            bench.contend(&["capture", "anonymise", "taken", "--out", "hashed"]).exits(0);
        }
        names_agree(&workload(&bench.path(dir)));
    }
}

#[test]
fn rare_long_pauses_have_their_own_transaction_and_the_study_says_what_it_lacks() {
    let bench = Bench::new();
    jobs(&bench);
    let said = capture(&bench, &[], &["python3", "-c", JOBS]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let workload = workload(&bench.path("taken"));
    let hold_us = |name: &str| {
        let steps = workload["transaction"][name]["step"].as_array().expect("steps").iter();
        let holds = steps.filter_map(|step| {
            step.get("hold")?.as_str()?.strip_prefix("holds*")?.strip_suffix("us")?.parse::<u64>().ok()
        });
        holds.sum::<u64>()
    };
    // The job that was chosen is the one that is finished, although the queue is empty after many more operations.
    assert!(workload["transaction"]["update_jobs"].to_string().contains("WHERE id = :k0_0"), "{workload}");
    // A busy machine adds some of its own.
    assert!(hold_us("update_jobs_slow") > 60_000, "{workload}");
    assert!(hold_us("update_jobs") < 10_000, "{workload}");
    let mix = &workload["role"].as_table().and_then(|roles| roles.values().next()).expect("a role")["mix"];
    let count = |name: &str| mix[name].as_integer().expect("a number");
    assert!((6..12).contains(&count("update_jobs_slow")), "{mix}");
    assert_eq!(count("update_jobs") + count("update_jobs_slow"), 120, "{mix}");
    let listed = bench.contend(&["capture", "to-workload", "taken"]).exits(0).err;
    assert!(listed.contains(" of 120 executions of update_jobs with a long pause"), "{listed}");

    let study = std::fs::read_to_string(bench.path("taken/study.toml")).expect("written");
    for limit in ["Other values are not: those statements draw their own", "a client between operations, not a rate"] {
        assert!(study.contains(limit), "{study}");
    }
    assert!(study.contains("both-not-fewer = "), "{study}");
    let options = ["--rounds", "1", "--window", "200ms", "--allow-tmpfs", "--only", "as captured"];
    bench.contend(&[&["run", "taken", "--quick"], &options[..]].concat()).ran();
    let shown =
        bench.contend(&["capture", "show", "taken"]).exits(0).out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("count once in the table. With every attempt: "), "both rates say what they count: {shown}");
}

/// Old rows are read far more often; their keys have gaps, and a later row has a later day.
const OWN_ROWS: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
if not db.execute('SELECT count(*) FROM sqlite_schema').fetchone()[0]:
    db.execute('CREATE TABLE note (id INTEGER PRIMARY KEY, day TEXT, body TEXT)')
    db.executemany('INSERT INTO note VALUES (?, ?, ?)', [(3 * i, f'2026-{i:04}', f'line\\n{i}') for i in range(1, 201)])
else:
    for i in range(400):
        db.execute('SELECT body FROM note WHERE id = ?', (3 * (i * i % 40 + 1),)).fetchone()
        db.execute('SELECT id FROM note WHERE body LIKE ? ORDER BY day LIMIT 9', (f'%{i % 200}%',)).fetchall()
";

/// Captures a program that finds what its first run has made.
fn capture_second_run(bench: &Bench, options: &[&str], program: &str) {
    let first = std::process::Command::new("python3").args(["-c", program]).current_dir(bench.dir.path()).status();
    assert!(first.expect("python3").success());
    capture(bench, options, &["python3", "-c", program]).exits(0);
}

#[test]
fn dates_and_rising_numbers_are_made_up_as_such() {
    let bench = Bench::new();
    let program =
        OWN_ROWS.replace("f'2026-{i:04}'", "f'2026-01-{i % 28 + 1:02} {i:04}'").replace("if not", "day = True\nif not");
    let program = program
        .replace("WHERE body LIKE ? ORDER BY day", "WHERE day > ? ORDER BY day")
        .replace("f'%{i % 200}%'", "f'2026-01-{i % 28 + 1}'");
    capture_second_run(&bench, &[], &program);
    let text = std::fs::read_to_string(bench.path("taken/workload.toml")).expect("written");
    assert!(text.contains("day = { time = [\"2020-01-01\", \"2024-12-31\"] }\n"), "{text}");
    assert!(text.contains("a0_1 = { time = [\"2020-01-01\", \"2024-12-31\"] }"), "{text}");
    let (_, data) = text.split_once("[scale]").expect("numbers");
    assert!(!data.contains("2026"), "no value: {text}");
    let study = std::fs::read_to_string(bench.path("taken/study.toml")).expect("written");
    assert!(study.contains("Rows are generated: which columns depend on each other"), "{study}");
    assert!(study.contains("isolation=serializable"), "{study}");
}

#[test]
fn a_study_of_a_capture_with_values_has_its_rows_and_search_words() {
    let bench = Bench::new();
    capture_second_run(&bench, &["--values=full"], OWN_ROWS);
    let text = std::fs::read_to_string(bench.path("taken/workload.toml")).expect("written");
    assert!(text.contains("content = { file = \"rows-1.tsv\", rows = 200, sha256 = \""), "{text}");
    assert!(text.contains("\"%199%\""), "words that are searched for: {text}");
    let rows = std::fs::read_to_string(bench.path("taken/rows-1.tsv")).expect("written");
    assert!(rows.starts_with("id\tday\tbody\ni3\tt2026-0001\ttline\\n1\n"), "{rows}");
    // An INSERT of the study would fail at a key that is there; a read of it finds the program's rows.
    let options =
        ["--window", "200ms", "--set", "load=full", "--only", "as captured", "--rounds", "1", "--allow-tmpfs"];
    let ran = bench.contend(&[&["run", "taken", "--out", "r"], &options[..]].concat());
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
    let found: Vec<std::path::PathBuf> = walk(&bench.path(".cache"));
    let db = found.iter().find(|path| path.ends_with("base.db")).unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!(std::fs::metadata(db).expect("there").permissions().mode() & 0o777, 0o600);
    let table = std::fs::read_to_string(bench.path("r/transactions.csv")).expect("a report");
    let columns = |line: &str| line.split(",").map(str::to_string).collect::<Vec<_>>();
    let head = columns(table.lines().next().expect("a line"));
    // A contender's name has commas in quotes.
    let at = |name: &str| head.len() - head.iter().position(|known| known == name).expect("a column");
    let reads = table.lines().map(columns).filter(|line| line.iter().any(|field| field == "select_note"));
    let numbers = reads
        .map(|line| ["committed", "rows"].map(|name| line[line.len() - at(name)].parse::<u64>().expect("a number")));
    let [read, found] = numbers.fold([0, 0], |sum, line| [sum[0] + line[0], sum[1] + line[1]]);
    assert!(read > 0 && found == read, "each key is one that the program has: {found} of {read}");
    let db = rusqlite::Connection::open(db).expect("opened");
    let last: (i64, String) = db
        .query_row("SELECT id, body FROM note ORDER BY id DESC", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .expect("a row");
    assert_eq!(last, (600, "line\n200".to_string()));
    // The rows are checked before they are used.
    std::fs::write(bench.path("taken/rows-1.tsv"), rows.replace("line", "word")).expect("written");
    std::fs::remove_dir_all(bench.path(".cache")).expect("removed");
    let said = bench.contend(&[&["run", "taken", "--out", "s"], &options[..]].concat()).exits(2);
    assert!(said.err.contains("rows-1.tsv is not the file that the workload was written with"), "{said:?}");
}

fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// Sets unique texts to new ones. Rows refer to a row that is missing.
const TOKENS: &str = "
import sqlite3, os
made = os.path.exists('app.db')
db = sqlite3.connect('app.db', isolation_level=None)
if not made:
    db.execute('CREATE TABLE parent (id INTEGER PRIMARY KEY)')
    db.execute('CREATE TABLE user (id INTEGER PRIMARY KEY, token TEXT UNIQUE, parent INTEGER REFERENCES parent (id))')
    db.executemany('INSERT INTO user VALUES (?, ?, 1)', [(i, f'first-{i}') for i in range(1, 51)])
else:
    for i in range(200):
        db.execute('UPDATE user SET token = ? WHERE id = ?', (f'token-{i}', i % 50 + 1))
";

#[test]
fn what_an_update_stores_is_not_searched_for_and_orphans_are_reported() {
    let bench = Bench::new();
    capture_second_run(&bench, &["--values=full"], TOKENS);
    let said = bench.contend(&["capture", "to-workload", "taken"]).exits(0);
    assert!(said.err.contains("made by generators, because a row of user refers to a row that is missing"), "{said:?}");
    assert!(!bench.path("taken/rows-1.tsv").exists());
    let workload = workload(&bench.path("taken"));
    let args = workload["transaction"]["update_user"]["args"].to_string();
    assert!(args.contains("a0_1 = { unique = true }") && args.contains("ref = \"user.id\""), "{args}");
}

/// Four processes that hold the write lock for 20 ms of their own work, and wait for it for 10 ms.
const HOLDS: &str = "
import os, sqlite3, time
def work():
    db = sqlite3.connect('app.db', timeout=0.01, isolation_level=None)
    for i in range(40):
        time.sleep(0.03)
        try:
            db.execute('BEGIN IMMEDIATE')
            time.sleep(0.02)
            db.execute('UPDATE stock SET n = n - 1 WHERE id = ?', (i % 20 + 1,))
            db.execute('COMMIT')
        except sqlite3.OperationalError:
            pass
children = []
for _ in range(4):
    children.append(os.fork())
    if not children[-1]:
        work()
        os._exit(0)
for child in children:
    os.waitpid(child, 0)
";

/// The first thing that `capture show` finds is a contender's load of the study.
#[test]
fn a_study_answers_what_short_transactions_would_do() {
    let bench = Bench::new();
    let sql = "CREATE TABLE stock (id INTEGER PRIMARY KEY, n INTEGER);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) INSERT INTO stock SELECT i, 1000 FROM n;";
    make(&bench, "app.db", sql);
    capture(&bench, &[], &["python3", "-c", HOLDS]).exits(0);
    let shown = bench.contend(&["capture", "show", "taken"]).exits(0).out;
    assert!(shown.contains("holds the write lock of app.db while it does something else"), "{shown}");
    let workload = workload(&bench.path("taken"));
    let preset = |load: &str| workload["preset"]["load"][load].as_table().expect("a preset").clone();
    let pause =
        |load: &str| preset(load).iter().find(|(name, _)| name.starts_with("pause_")).expect("a pause").1.as_integer();
    assert_eq!(preset("short")["holds"].as_integer(), Some(0), "{workload}");
    assert!(pause("short").expect("a number") >= pause("captured").expect("a number") + 15_000, "{workload}");
    let only = ["--only", "as captured", "--only", "WAL and a busy timeout of 5 s", "--allow-tmpfs"];
    let quick = ["run", "taken", "--quick", "--rounds", "1", "--window", "2s"];
    let ran = bench.contend(&[&quick[..], &only].concat());
    let said = ran.out.clone();
    ran.ran();
    let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, answer) = flat.split_once("> load=short: ").expect(&said);
    let (_, run) = answer.split_once("In this run ").expect(&said);
    let number = |text: &str| text.split(' ').next().and_then(|number| number.parse::<f64>().ok());
    let short = run.split_once(" and ").and_then(|(_, short)| number(short)).expect(&said);
    assert!(short < number(run).expect(&said), "fewer operations fail: {said}");
    assert!(!said.contains("not measured"), "{said}");
}

/// One process reads slowly, row by row, while another one writes. Before both, a first one holds the lock alone.
const SLOW: &str = "
import os, sqlite3, time
def connect(timeout):
    return sqlite3.connect('app.db', timeout=timeout, isolation_level=None)
def setup():
    db = connect(5)
    db.execute('BEGIN IMMEDIATE')
    db.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)')
    time.sleep(0.1)
    db.executemany('INSERT INTO t VALUES (?, 0)', [(i,) for i in range(1, 11)])
    db.execute('COMMIT')
def read():
    db = connect(5)
    for _ in range(3):
        for row in db.execute('SELECT id, n FROM t ORDER BY id'):
            time.sleep(0.03)
def write():
    db = connect(0.01)
    for i in range(40):
        try:
            db.execute('UPDATE t SET n = n + 1 WHERE id = ?', (i % 10 + 1,))
        except sqlite3.OperationalError:
            pass
        time.sleep(0.02)
def fork(work):
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    return child
os.waitpid(fork(setup), 0)
for child in [fork(read), fork(write)]:
    os.waitpid(child, 0)
";

#[test]
fn a_slow_reader_is_found_and_its_lock_is_held_in_the_study() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", SLOW]).exits(0);
    let shown = bench.contend(&["capture", "show", "taken"]).exits(0).out;
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("reads from app.db slowly, and no commit can end meanwhile"), "{shown}");
    assert!(flat.contains("In 3 reads the program worked between rows"), "{shown}");
    assert!(!flat.contains("holds the write lock of app.db while it does something else"), "it was alone: {shown}");
    let workload = workload(&bench.path("taken"));
    let read = &workload["transaction"]["select_t"];
    assert_eq!(read["begin"].as_str(), Some("deferred"), "{workload}");
    let holds = read["step"].as_array().expect("steps")[1]["hold"].as_str().expect("a hold");
    let us: u64 = holds.trim_start_matches("holds*").trim_end_matches("us").parse().expect("a number");
    // Python asks for a row before it gives out the one before.
    assert!(us >= 270_000, "30 ms after each of nine rows: {holds}");
}

/// Reads another result and updates while a result is read, with 10 ms of the program's own for each row; another connection waits for the lock.
const NESTED: &str = "
import sqlite3, threading, time
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)')
db.executemany('INSERT INTO t VALUES (?, 0)', [(i,) for i in range(1, 12)])
def write():
    other = sqlite3.connect('app.db', timeout=5, isolation_level=None)
    for _ in range(5):
        other.execute('UPDATE t SET n = 0 WHERE id = 11')
thread = threading.Thread(target=write)
for i in range(5):
    db.execute('BEGIN IMMEDIATE')
    if not i:
        thread.start()
    for (id,) in db.execute('SELECT id FROM t WHERE id < 11'):
        for _ in db.execute('SELECT n FROM t LIMIT 2'):
            time.sleep(0.005)
        db.execute('UPDATE t SET n = n + 1 WHERE id = ?', (id,))
    db.execute('COMMIT')
thread.join()
";

#[test]
fn time_between_rows_counts_once() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", NESTED]).exits(0);
    let workload = workload(&bench.path("taken"));
    let transactions = workload["transaction"].as_table().expect("transactions").values();
    let steps = transactions.flat_map(|transaction| transaction["step"].as_array().expect("steps"));
    let us = |step: &toml::Value| {
        step.get("hold")?.as_str()?.strip_prefix("holds*")?.strip_suffix("us")?.parse::<u64>().ok()
    };
    let holds: Vec<u64> = steps.filter_map(us).collect();
    let shown = bench.contend(&["capture", "show", "taken"]).exits(0).out;
    // Ten rows with 10 ms each, once; a busy machine adds some.
    assert!((90_000..180_000).contains(&holds.iter().sum::<u64>()), "{holds:?} {workload} {shown}");
}
