//! What an attempt does with a real database: conflicts, waits for locks, retries, values in and out.
//! Conflicts are brought about by connections that hold locks while others try, never by timing.

mod common;

use common::*;
use contend_wire::literal::Value;
use contend_wire::plan::{NowSource, Retry, Source, SqlStep, Step, UNIQUE_STRIDE};
use contend_wire::sample::{CodeSpace, NOT_MEASURED, STEP_BEGIN, STEP_COMMIT, STEP_NONE, Sample, flag, worker_code};
use contend_wire::statement::Statement;
use rusqlite::Connection;

const BUSY: u32 = 5;
const BUSY_SNAPSHOT: u32 = 517;

fn failed_with(sample: &Sample, step: u16, space: CodeSpace, code: u32) {
    assert_eq!((sample.failed_step, sample.code_space, sample.code), (step, space, code), "{sample:?}");
}

fn insert_plan(db: &Db, begin: Option<&str>) -> contend_wire::plan::Plan {
    let mut p = plan(&db.path);
    option(&mut p, "busy_timeout_ms", "0");
    let insert = sql(&mut p, "INSERT INTO t (a) VALUES (?)", vec![argument(0)]);
    let t = transaction(&mut p, begin, vec![Step::Sql(rows(insert, 1, 1))]);
    client(&mut p, vec![(0, t, vec![Value::Integer(7)])]);
    p
}

#[test]
fn the_same_in_every_model() {
    run_again_in_every_model("the_same_in_every_model");
}

#[test]
fn every_begin_meets_a_writer_where_sqlite_says() {
    let db = db("CREATE TABLE t (a)");
    for (begin, step) in [
        (Some("BEGIN IMMEDIATE"), STEP_BEGIN),
        (Some("BEGIN EXCLUSIVE"), STEP_BEGIN),
        (Some("BEGIN DEFERRED"), 0),
        (Some("BEGIN"), 0),
        (None, 0),
    ] {
        db.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        let samples = run_one(&insert_plan(&db, begin));
        failed_with(&samples[0], step, CodeSpace::Sqlite, BUSY);
        assert_eq!(samples[0].flags, 0, "nothing waited with a timeout of 0");
        assert_eq!(samples[0].lock_wait_ns, 0);
        db.connection.execute_batch("ROLLBACK").unwrap();
        assert!(run_one(&insert_plan(&db, begin))[0].is_ok());
    }
    assert_eq!(db.count("SELECT count(*) FROM t"), 5);
}

#[test]
fn a_worker_begins_although_its_database_is_locked_at_first() {
    let db = db("PRAGMA journal_mode = DELETE; CREATE TABLE t (a)");
    db.connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let mut p = insert_plan(&db, None);
    p.head.session.push(Statement::plain("PRAGMA synchronous = normal"));
    let running = std::thread::spawn(move || run_one(&p));
    // Too short to be waited for is a pass too: what must not happen is a refusal.
    std::thread::sleep(std::time::Duration::from_millis(100));
    db.connection.execute_batch("ROLLBACK").unwrap();
    assert!(running.join().unwrap()[0].is_ok());
}

#[test]
fn a_reader_keeps_a_rollback_journal_from_committing() {
    let db = db("PRAGMA journal_mode = DELETE; CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    let reader = Connection::open(&db.path).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM t").unwrap();
    reader.query_row("SELECT a FROM t", [], |row| row.get::<_, i64>(0)).unwrap();
    let samples = run_one(&insert_plan(&db, Some("BEGIN IMMEDIATE")));
    failed_with(&samples[0], STEP_COMMIT, CodeSpace::Sqlite, BUSY);
    reader.execute_batch("COMMIT").unwrap();
    // The failed transaction was rolled back, or this one could not begin.
    assert!(run_one(&insert_plan(&db, Some("BEGIN IMMEDIATE")))[0].is_ok());
    assert_eq!(db.count("SELECT count(*) FROM t"), 2);
}

#[test]
fn a_stale_snapshot_is_refused_at_once() {
    let db = db("CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    let side = |name: &str| {
        let path = db.dir.path().join(name);
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("CREATE TABLE s (a)").unwrap();
        (path, connection)
    };
    let ((bell_path, bell), (door_path, door)) = (side("bell.db"), side("door.db"));
    let mut p = plan(&db.path);
    option(&mut p, "busy_timeout_ms", "20000");
    for (path, name) in [(&bell_path, "bell"), (&door_path, "door")] {
        p.head.session.push(Statement::plain(format!("ATTACH '{}' AS {name}", path.display())));
    }
    // Reads, rings the bell by locking its database, waits at the door, then writes.
    let steps =
        ["SELECT a FROM t", "INSERT INTO bell.s VALUES (1)", "INSERT INTO door.s VALUES (1)", "UPDATE t SET a = a + 1"]
            .map(|text| Step::Sql(sql(&mut p, text, vec![])));
    let t = transaction(&mut p, Some("BEGIN"), steps.to_vec());
    client(&mut p, vec![(0, t, vec![])]);
    door.execute_batch("BEGIN IMMEDIATE").unwrap();
    let running = std::thread::spawn(move || run_one(&p));
    bell.busy_timeout(std::time::Duration::ZERO).unwrap();
    while bell.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok() {
        std::thread::yield_now();
    }
    db.connection.execute_batch("UPDATE t SET a = 10").unwrap();
    door.execute_batch("COMMIT").unwrap();
    let samples = running.join().unwrap();
    failed_with(&samples[0], 3, CodeSpace::Sqlite, BUSY_SNAPSHOT);
    assert_eq!(samples[0].flags & flag::LOCK_TIMEOUT_SPENT, 0, "it did not wait for a lock");
    assert_eq!(db.count("SELECT a FROM t"), 10);
}

#[test]
fn a_spent_busy_timeout_is_measured_and_flagged() {
    let db = db("CREATE TABLE t (a)");
    db.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut p = insert_plan(&db, Some("BEGIN IMMEDIATE"));
    p.head.options[0].1 = "60".into();
    let sample = run_one(&p)[0];
    failed_with(&sample, STEP_BEGIN, CodeSpace::Sqlite, BUSY);
    assert_eq!(sample.flags, flag::LOCK_TIMEOUT_SPENT);
    assert!(sample.lock_wait_ns >= 60 * MS, "{sample:?}");
    assert!(sample.finished_ns - sample.started_ns >= sample.lock_wait_ns);

    option(&mut p, "lock_wait", "off");
    let sample = run_one(&p)[0];
    failed_with(&sample, STEP_BEGIN, CodeSpace::Sqlite, BUSY);
    assert_eq!((sample.flags, sample.lock_wait_ns), (0, NOT_MEASURED));
    assert!(sample.finished_ns - sample.started_ns >= 60 * MS);
}

#[test]
fn settings_are_read_back_from_sqlite() {
    let db = db("CREATE TABLE t (a)");
    let mut p = insert_plan(&db, None);
    p.head.options[0].1 = "4321".into();
    option(&mut p, "foreign_keys", "off");
    p.head.session.push(Statement::plain("PRAGMA synchronous = FULL"));
    for name in ["synchronous", "journal_mode", "foreign_keys"] {
        let sql = format!("PRAGMA {name}");
        p.head.readbacks.push(contend_wire::plan::Readback { name: name.into(), sql });
    }
    let (ready, _sender, _events) = ready(&p);
    let facts: Vec<String> = ready.sessions[0].iter().map(|(k, v)| format!("{k}={v}")).collect();
    assert_eq!(facts[..5], ["client=0", "synchronous=2", "journal_mode=wal", "foreign_keys=0", "busy_timeout=4321"]);
    ready.abandon();
}

#[test]
fn a_retry_repeats_the_operation_with_the_same_unique_numbers() {
    let db = db("CREATE TABLE log (u); CREATE TABLE none (a)");
    let mut p = plan(&db.path);
    let unique = |first, stride| Source::Unique { first, stride };
    let log = SqlStep { repeat: 2, ..sql(&mut p, "INSERT INTO log VALUES (?)", vec![unique(1, 2)]) };
    let miss = rows(sql(&mut p, "SELECT a FROM none", vec![]), 1, 1);
    let t = transaction(&mut p, None, vec![Step::Sql(log), Step::Sql(miss)]);
    p.head.retry = Retry {
        tries: 3,
        backoff_ns: vec![MS, 4 * MS],
        jitter_permille: vec![1000, 2000],
        codes: vec![(CodeSpace::Worker, worker_code::ROWS)],
    };
    client(&mut p, vec![(0, t, vec![]), (0, t, vec![])]).id = 3;
    let samples = run_one(&p);
    assert_eq!(samples.len(), 6);
    for (i, sample) in samples.iter().enumerate() {
        failed_with(sample, 1, CodeSpace::Worker, worker_code::ROWS);
        assert_eq!((sample.operation, sample.attempt), (i as u32 / 3, i as u16 % 3));
        assert_eq!(sample.due_ns, samples[i / 3 * 3].due_ns, "all attempts are due when the operation was");
        assert_eq!(sample.rows, 2, "rows of the steps before the failure");
    }
    for (after, wait_ns) in [(0, MS), (1, 8 * MS), (3, MS), (4, 8 * MS)] {
        assert!(samples[after + 1].started_ns - samples[after].finished_ns >= wait_ns, "back-off times jitter");
    }
    let first = 3 * UNIQUE_STRIDE;
    for (number, times) in [(1, 3), (3, 3), (5, 3), (7, 3)] {
        assert_eq!(db.count(&format!("SELECT count(*) FROM log WHERE u = {}", first + number)), times);
    }
}

#[test]
fn an_error_that_is_not_named_is_not_retried() {
    let db = db("CREATE TABLE t (a PRIMARY KEY); INSERT INTO t VALUES (7)");
    let mut p = insert_plan(&db, None);
    p.head.retry =
        Retry { tries: 5, backoff_ns: vec![], jitter_permille: vec![], codes: vec![(CodeSpace::Sqlite, BUSY)] };
    let samples = run_one(&p);
    assert_eq!(samples.len(), 1);
    failed_with(&samples[0], 0, CodeSpace::Sqlite, 1555);
}

#[test]
fn kept_values_reach_later_steps() {
    let db = db("CREATE TABLE t (a, b); CREATE TABLE out (v);
         INSERT INTO t VALUES (10, 'ten'), (20, x'00ff'), (30, NULL), (40, 2.5)");
    let mut p = plan(&db.path);
    let steps = {
        let column = keep(keep(sql(&mut p, "SELECT a, b FROM t ORDER BY a", vec![]), 0, 0, 3), 1, 1, 4);
        let mut steps = vec![Step::Sql(column)];
        for source in [
            Source::Kept { slot: 0, plus: 5 },
            Source::KeptRow { slot: 0, row: 2 },
            Source::KeptRow { slot: 0, row: 3 },
            Source::Kept { slot: 1, plus: 0 },
            Source::KeptRow { slot: 1, row: 1 },
            Source::KeptRow { slot: 1, row: 3 },
        ] {
            steps.push(Step::Sql(sql(&mut p, "INSERT INTO out VALUES (?)", vec![source])));
        }
        steps
    };
    let t = transaction(&mut p, Some("BEGIN IMMEDIATE"), steps);
    client(&mut p, vec![(0, t, vec![])]);
    let samples = run_one(&p);
    assert!(samples[0].is_ok(), "{samples:?}");
    assert_eq!(samples[0].rows, 4 + 6);
    let found: String = db
        .connection
        .query_row("SELECT group_concat(quote(v), ' ') FROM (SELECT v FROM out ORDER BY rowid)", [], |row| row.get(0))
        .unwrap();
    assert_eq!(found, "15 30 NULL 'ten' X'00FF' 2.5");
}

#[test]
fn a_value_that_was_not_kept_fails_the_step() {
    let db = db("CREATE TABLE t (a)");
    let mut p = plan(&db.path);
    let nothing = keep(sql(&mut p, "SELECT a FROM t", vec![]), 2, 0, 1);
    let insert = sql(&mut p, "INSERT INTO t VALUES (?)", vec![Source::Kept { slot: 2, plus: 0 }]);
    let t = transaction(&mut p, Some("BEGIN"), vec![Step::Sql(nothing), Step::Sql(insert)]);
    let text = keep(sql(&mut p, "SELECT 'x'", vec![]), 0, 0, 1);
    let plus = sql(&mut p, "INSERT INTO t VALUES (?)", vec![Source::Kept { slot: 0, plus: 1 }]);
    let u = transaction(&mut p, Some("BEGIN"), vec![Step::Sql(text), Step::Sql(plus)]);
    client(&mut p, vec![(0, t, vec![]), (0, u, vec![])]);
    let samples = run_one(&p);
    failed_with(&samples[0], 1, CodeSpace::Worker, worker_code::NOT_KEPT);
    failed_with(&samples[1], 1, CodeSpace::Worker, worker_code::VALUE);
}

#[test]
fn rows_outside_the_bounds_roll_back() {
    let db = db("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3)");
    for (text, min, max, ok) in [
        ("UPDATE t SET a = a + 1", 3, 3, true),
        ("UPDATE t SET a = a + 1", 1, 2, false),
        ("UPDATE t SET a = a + 1", 4, 9, false),
        ("UPDATE t SET a = a + 1 RETURNING a", 3, 3, true),
        ("DELETE FROM t RETURNING a", 0, 2, false),
        ("CREATE TABLE IF NOT EXISTS u (a)", 0, 0, true),
    ] {
        let mut p = plan(&db.path);
        let step = Step::Sql(rows(sql(&mut p, text, vec![]), min, max));
        let t = transaction(&mut p, Some("BEGIN IMMEDIATE"), vec![step]);
        client(&mut p, vec![(0, t, vec![])]);
        let sample = run_one(&p)[0];
        if ok {
            assert!(sample.is_ok(), "{text}: {sample:?}");
        } else {
            failed_with(&sample, 0, CodeSpace::Worker, worker_code::ROWS);
            assert_eq!(sample.rows, 3, "all rows are counted before the bounds are applied");
        }
    }
    assert_eq!(db.count("SELECT sum(a) FROM t"), 6 + 3 + 3);
}

#[test]
fn values_of_every_kind_arrive_as_they_are() {
    let db = db("CREATE TABLE t (k INTEGER PRIMARY KEY, v)");
    let mut p = plan(&db.path);
    p.head.texts.push("a long text, \t\n\0 'quoted'".into());
    let values = [
        Value::Null,
        Value::Integer(i64::MIN),
        Value::Integer(i64::MAX),
        Value::Real(0.1),
        Value::Real(-1.5e300),
        Value::Text(String::new()),
        Value::Text("tab\tand 'ü' \\".into()),
        Value::TextRef(0),
        Value::Blob(vec![]),
        Value::Blob(vec![0, 1, 255]),
    ];
    let drawn = sql(&mut p, "INSERT INTO t (v) VALUES (?)", vec![argument(0)]);
    let t = transaction(&mut p, None, vec![Step::Sql(drawn)]);
    let mut operations = vec![];
    for value in &values {
        let literal = sql(&mut p, "INSERT INTO t (v) VALUES (?)", vec![Source::Literal(value.clone())]);
        let l = transaction(&mut p, None, vec![Step::Sql(literal)]);
        operations.extend([(0, t, vec![value.clone()]), (0, l, vec![])]);
    }
    client(&mut p, operations);
    assert!(run_one(&p).iter().all(Sample::is_ok));
    let mut statement = db.connection.prepare("SELECT v FROM t ORDER BY k").unwrap();
    let found: Vec<rusqlite::types::Value> =
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    for (i, value) in values.iter().enumerate() {
        use rusqlite::types::Value as Sql;
        let expected = match value.clone() {
            Value::Null => Sql::Null,
            Value::Integer(i) => Sql::Integer(i),
            Value::Real(r) => Sql::Real(r),
            Value::Text(text) => Sql::Text(text),
            Value::TextRef(_) => Sql::Text(p.head.texts[0].clone()),
            Value::Blob(bytes) => Sql::Blob(bytes),
        };
        assert_eq!(found[2 * i], expected);
        assert_eq!(found[2 * i + 1], expected);
    }
}

#[test]
fn a_repeated_step_takes_its_arguments_in_strides() {
    let db = db("CREATE TABLE t (a, b)");
    let mut p = plan(&db.path);
    let args = vec![Source::Argument { first: 0, stride: 2 }, Source::Argument { first: 1, stride: 2 }];
    let step = SqlStep { repeat: 3, ..rows(sql(&mut p, "INSERT INTO t VALUES (?, ?)", args), 1, 1) };
    let t = transaction(&mut p, Some("BEGIN"), vec![Step::Sql(step)]);
    client(&mut p, vec![(0, t, (1..=6).map(Value::Integer).collect())]);
    let sample = run_one(&p)[0];
    assert!(sample.is_ok());
    assert_eq!(sample.rows, 3);
    assert_eq!(db.count("SELECT sum(a * 100 + b) FROM t"), 102 + 304 + 506);
}

#[test]
fn now_is_fixed_by_the_plan_or_read_from_the_clock() {
    let db = db("CREATE TABLE t (a, b)");
    let mut p = plan(&db.path);
    let now = |unit_ns| Source::Now { unit_ns };
    let step = sql(&mut p, "INSERT INTO t VALUES (?, ?)", vec![now(1_000_000_000), now(1_000_000)]);
    let t = transaction(&mut p, None, vec![Step::Sql(step)]);
    client(&mut p, vec![(0, t, vec![]), (0, t, vec![]), (0, t, vec![])]);
    p.head.now = NowSource::Fixed { base_ns: 5_999_999_999, step_ns: 1 };
    run_one(&p);
    assert_eq!(db.count("SELECT sum(a) FROM t"), 5 + 6 + 6);
    assert_eq!(db.count("SELECT sum(b) FROM t"), 5_999 + 6_000 + 6_000);
    p.head.now = NowSource::Clock;
    run_one(&p);
    let off = db.count("SELECT max(abs(a - unixepoch())) FROM t WHERE rowid > 3");
    assert!(off <= 60, "{off} s off the clock");
}

#[test]
fn connect_opens_a_new_connection_with_the_same_settings() {
    let db = db("CREATE TABLE t (a)");
    for statements in ["prepared", "each"] {
        let mut p = plan(&db.path);
        option(&mut p, "statements", statements);
        p.head.session.push(Statement::plain("CREATE TEMP TABLE mine (a)"));
        p.head.session.push(Statement::plain("INSERT INTO mine VALUES (1)"));
        let add = Step::Sql(sql(&mut p, "INSERT INTO mine VALUES (2)", vec![]));
        let count = |p: &mut _, n: i64| {
            let text = "SELECT count(*) FROM mine HAVING count(*) = ?";
            Step::Sql(rows(sql(p, text, vec![Source::Literal(Value::Integer(n))]), 1, 1))
        };
        let two = count(&mut p, 2);
        let one = count(&mut p, 1);
        let stay = transaction(&mut p, Some("BEGIN"), vec![add, two]);
        let again = transaction(&mut p, Some("BEGIN"), vec![Step::Connect, one.clone()]);
        let check = transaction(&mut p, None, vec![one]);
        client(&mut p, [stay, again, check, again].map(|t| (0, t, vec![])).to_vec());
        let samples = run_one(&p);
        assert_eq!(samples.len(), 4);
        assert!(samples.iter().all(Sample::is_ok), "{statements}: {samples:?}");
    }
}

#[test]
fn a_connection_that_cannot_be_reopened_fails_attempts_until_it_can() {
    if model() == "pool" {
        // Only the first of its connections could be opened.
        return;
    }
    let db = db("CREATE TABLE t (a)");
    let mut p = insert_plan(&db, None);
    p.head.session.push(Statement::plain("INSERT INTO once VALUES (1)"));
    db.connection.execute_batch("CREATE TABLE once (a PRIMARY KEY)").unwrap();
    let read = Step::Sql(sql(&mut p, "SELECT 1", vec![]));
    let again = transaction(&mut p, None, vec![Step::Connect, read.clone()]);
    let begun = transaction(&mut p, Some("BEGIN"), vec![read]);
    p.clients.clear();
    let insert = |n| (0, 0, vec![Value::Integer(n)]);
    client(&mut p, vec![insert(1), (0, again, vec![]), insert(2), (0, begun, vec![])]);
    let samples = run_one(&p);
    assert_eq!(samples[0].failed_step, STEP_NONE);
    failed_with(&samples[1], 0, CodeSpace::Sqlite, 1555);
    failed_with(&samples[2], 0, CodeSpace::Sqlite, 1555);
    failed_with(&samples[3], STEP_BEGIN, CodeSpace::Sqlite, 1555);
}

#[test]
fn mistakes_show_before_the_run() {
    let db = db("CREATE TABLE t (a)");
    let refused = |p: &contend_wire::plan::Plan| {
        let (sender, _events) = std::sync::mpsc::channel();
        contend_worker::own::prepare(p.clone(), &sender).map(drop).unwrap_err().to_string()
    };
    let mut p = insert_plan(&db, None);
    p.head.statements[0].sql = "INSERT INTO nowhere VALUES (?)".into();
    let message = refused(&p);
    for part in ["client 0", "test.db", "nowhere"] {
        assert!(message.contains(part), "{message}");
    }
    let mut p = insert_plan(&db, None);
    option(&mut p, "cache", "on");
    assert!(refused(&p).contains("cache"));
    let mut p = insert_plan(&db, None);
    p.head.model = "magic".into();
    assert!(refused(&p).contains("magic"));
    let mut p = insert_plan(&db, None);
    p.head.session.push(Statement::plain("PRAGMA journal_mode = "));
    assert!(refused(&p).contains("PRAGMA journal_mode = "));
}
