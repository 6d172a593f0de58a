//! What sets the models apart: who waits for whom, who holds a connection for how long, what a blocked runtime
//! does to the clocks, and which plans they refuse. What they have in common is tested with each of them in
//! `transactions.rs` and `pacing.rs`.

mod common;

use common::*;
use contend_wire::literal::Value;
use contend_wire::plan::{Connections, Loop, Plan, Step, Window};
use contend_wire::sample::{CodeSpace, Sample, flag};
use contend_wire::statement::Statement;
use contend_worker::clock::monotonic_ns;
use contend_worker::run::RunResult;
use std::collections::BTreeSet;

fn plan_in(model: &str, db: &Db) -> Plan {
    let mut p = plan(&db.path);
    use_model(&mut p, model);
    option(&mut p, "busy_timeout_ms", "5000");
    p
}

fn hold(ms: u64) -> Step {
    Step::Hold { ns: ms * MS }
}

fn insert(p: &mut Plan) -> Step {
    Step::Sql(sql(p, "INSERT INTO t VALUES (1)", vec![]))
}

fn read(p: &mut Plan) -> Step {
    Step::Sql(sql(p, "SELECT count(*) FROM t", vec![]))
}

fn reading(p: &mut Plan, t: u16) {
    p.head.transactions[usize::from(t)].writes = false;
}

fn refused(p: &Plan) -> String {
    let (sender, _events) = std::sync::mpsc::channel();
    contend_worker::own::prepare(p.clone(), &sender).map(drop).unwrap_err().to_string()
}

fn service_ns(sample: &Sample) -> u64 {
    sample.finished_ns - sample.started_ns
}

fn late_ns(sample: &Sample) -> u64 {
    sample.started_ns - sample.due_ns
}

/// A writer that holds its connection for 100 ms at a time, and a reader of another database every 10 ms, on a runtime
/// with one thread.
fn beside_a_slow_disk(model: &str) -> RunResult {
    let (slow, quick) = (db("CREATE TABLE t (a)"), db("CREATE TABLE t (a)"));
    let mut p = plan_in(model, &slow);
    p.head.databases.push(file(&quick.path));
    option(&mut p, "tokio_threads", "1");
    let write = insert(&mut p);
    let w = transaction(&mut p, None, vec![hold(100), write]);
    let look = read(&mut p);
    let r = transaction(&mut p, None, vec![look]);
    reading(&mut p, r);
    client(&mut p, vec![(0, w, vec![]); 4]);
    client(&mut p, vec![(10 * MS, r, vec![]); 20]).database = 1;
    run(&p)
}

/// Begin and end of the time in which an attempt had its connection.
fn held_ns(sample: &Sample) -> (u64, u64) {
    (sample.started_ns + sample.acquire_wait_ns, sample.finished_ns)
}

/// Reads, by their own clock, of which a part was in the time of a write.
fn reads_in_a_write(result: &RunResult) -> Vec<&Sample> {
    let [writes, reads] = &result.samples[..] else { panic!("two clients: {:?}", result.samples) };
    assert!(writes.iter().chain(reads).all(Sample::is_ok), "{:?}", result.samples);
    let overlap = |read: &Sample, write: &Sample| {
        let (begin_ns, end_ns) = held_ns(write);
        read.started_ns < end_ns && begin_ns < read.finished_ns
    };
    reads.iter().filter(|read| writes.iter().any(|write| overlap(read, write))).collect()
}

#[test]
fn direct_lets_everybody_wait_and_no_clock_inside_a_task_sees_it() {
    let result = beside_a_slow_disk("direct");
    let late: u64 = result.samples[1].iter().map(late_ns).sum();
    assert!(late >= 80 * MS, "the reader could not begin while the only thread was blocked: {late} ns");
    // The one thread carries out one attempt at a time: what the task itself measures does not have the wait.
    assert_eq!(reads_in_a_write(&result), [] as [&Sample; 0]);
}

#[test]
fn other_models_keep_the_runtime_free() {
    // The reader asks every 10 ms and each write takes 100 ms: a blocked runtime alone keeps every read out of every write.
    for model in ["block-in-place", "spawn-blocking", "dedicated", "fifo", "pool"] {
        let result = beside_a_slow_disk(model);
        assert!(!reads_in_a_write(&result).is_empty(), "{model}: {:?}", result.samples);
    }
}

#[test]
fn an_attempt_holds_the_connection_from_its_first_to_its_last_step() {
    for model in SHARED {
        let db = db("CREATE TABLE t (a)");
        let mut p = plan_in(model, &db);
        let write = insert(&mut p);
        let w = transaction(&mut p, None, vec![hold(20), write.clone(), write.clone(), write]);
        for _ in 0..4 {
            client(&mut p, vec![(0, w, vec![])]);
        }
        let result = run(&p);
        let samples: Vec<Sample> = result.samples.concat();
        assert!(samples.iter().all(Sample::is_ok), "{model}: {samples:?}");
        let mut held: Vec<(u64, u64)> = samples.iter().map(held_ns).collect();
        held.sort_unstable();
        // 20 ms each, one after the other: what each waited for the one before it is its wait for the connection.
        assert!(held.windows(2).all(|two| two[1].0 - two[0].0 >= 20 * MS), "{model}: {held:?}");
        assert!(samples.iter().all(|s| s.lock_wait_ns == 0), "{model}: no client waited inside SQLite");
    }
}

#[test]
fn a_pause_gives_the_connection_back_unless_a_transaction_is_open() {
    let cases = SHARED.iter().flat_map(|model| [(model, None, true), (model, Some("BEGIN IMMEDIATE"), false)]);
    // They mostly pause.
    std::thread::scope(|scope| {
        for (model, begin, given_back) in cases {
            scope.spawn(move || pauses(model, begin, given_back));
        }
    });
}

fn pauses(model: &str, begin: Option<&str>, given_back: bool) {
    const PAUSE_NS: u64 = 2_000 * MS;
    let db = db("CREATE TABLE t (a)");
    let mut p = plan_in(model, &db);
    let write = insert(&mut p);
    let long = transaction(&mut p, begin, vec![write.clone(), Step::Pause { ns: PAUSE_NS }, write.clone()]);
    let short = transaction(&mut p, None, vec![write]);
    client(&mut p, vec![(0, long, vec![])]);
    client(&mut p, vec![(0, short, vec![])]).start_ns = 500 * MS;
    let result = run(&p);
    let (long, short) = (result.samples[0][0], result.samples[1][0]);
    assert!(long.is_ok() && short.is_ok(), "{model}: {long:?} {short:?}");
    assert!(service_ns(&long) >= PAUSE_NS, "a pause is part of the attempt");
    assert_eq!((long.rows, db.count("SELECT count(*) FROM t")), (2, 3));
    if given_back {
        assert!(short.finished_ns < long.finished_ns, "{model}: {short:?} waited for {long:?}");
    } else {
        let free_ns = held_ns(&long).0 + PAUSE_NS;
        assert!(held_ns(&short).0 >= free_ns, "{model}: {short:?} did not wait for {long:?}");
    }
}

#[test]
fn a_pool_reads_while_it_writes() {
    const HOLD_NS: u64 = 2_000 * MS;
    for (model, waits) in [("pool", false), ("fifo", true), ("dedicated", true)] {
        let db = db("CREATE TABLE t (a)");
        let mut p = plan_in(model, &db);
        let write = insert(&mut p);
        let w = transaction(&mut p, Some("BEGIN IMMEDIATE"), vec![write, Step::Hold { ns: HOLD_NS }]);
        let look = read(&mut p);
        let r = transaction(&mut p, None, vec![look]);
        reading(&mut p, r);
        client(&mut p, vec![(0, w, vec![])]);
        client(&mut p, vec![(0, r, vec![])]).start_ns = 500 * MS;
        let result = run(&p);
        let (written, read) = (result.samples[0][0], result.samples[1][0]);
        if waits {
            let free_ns = held_ns(&written).0 + HOLD_NS;
            assert!(held_ns(&read).0 >= free_ns, "{model}: {read:?} did not wait for {written:?}");
        } else {
            assert!(read.finished_ns < written.finished_ns, "{model}: {read:?} waited for {written:?}");
        }
    }
}

#[test]
fn a_wait_for_a_lock_belongs_to_the_attempt_that_waited() {
    for model in SHARED {
        let (locked, free) = (db("CREATE TABLE t (a)"), db("CREATE TABLE t (a)"));
        let mut p = plan_in(model, &locked);
        p.head.options[0].1 = "60".into();
        p.head.databases.push(file(&free.path));
        let write = insert(&mut p);
        let w = transaction(&mut p, Some("BEGIN IMMEDIATE"), vec![write]);
        client(&mut p, vec![(0, w, vec![]); 3]);
        client(&mut p, vec![(5 * MS, w, vec![]); 20]).database = 1;
        locked.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        let result = run(&p);
        for sample in &result.samples[0] {
            assert_eq!((sample.code_space, sample.code), (CodeSpace::Sqlite, 5));
            assert_eq!(sample.flags, flag::LOCK_TIMEOUT_SPENT);
            assert!(sample.lock_wait_ns >= 60 * MS, "{model}: {sample:?}");
        }
        assert!(result.samples[1].iter().all(|s| s.is_ok() && s.lock_wait_ns == 0), "{model}");
    }
}

/// Fifty databases whose writers hold their connection for a second, on two threads.
#[test]
fn a_blocked_runtime_ends_with_the_drain_and_forgets_nobody() {
    let schema = "CREATE TABLE t (a)";
    let databases: Vec<Db> = (0..50).map(|_| db(schema)).collect();
    for model in SHARED {
        let mut p = plan_in(model, &databases[0]);
        p.head.databases = databases.iter().map(|db| file(&db.path)).collect();
        p.head.window = Window { run_in_ns: 0, length_ns: 100 * MS, drain_ns: 200 * MS };
        option(&mut p, "tokio_threads", "2");
        let write = insert(&mut p);
        let w = transaction(&mut p, None, vec![hold(1_000), write]);
        let look = read(&mut p);
        let r = transaction(&mut p, None, vec![look, Step::Pause { ns: 2_000 * MS }]);
        reading(&mut p, r);
        for database in 0..50 {
            for t in [w, r] {
                let c = client(&mut p, vec![(0, t, vec![])]);
                (c.database, c.cyclic, c.limit) = (database, true, 0);
            }
        }
        let start_ns = monotonic_ns();
        let (ready, _sender, events) = ready(&p);
        let result = ready.run(start_ns, &events, |_| Ok(())).unwrap();
        let took_ms = (monotonic_ns() - start_ns) / MS;
        // With all holds in full it would be 25 s, and a client that needs 5 s longer than the drain fails the run.
        assert!(took_ms < 15_000, "{model}: {took_ms} ms");
        for samples in &result.samples {
            assert_eq!(samples.len(), 1, "{model}: each was due once");
            let s = &samples[0];
            assert_eq!((s.code_space, s.code, s.flags), (CodeSpace::Sqlite, 9, flag::INTERRUPTED), "{model}: {s:?}");
        }
    }
}

#[test]
fn ten_thousand_clients_work() {
    for model in SHARED {
        let db = db("CREATE TABLE t (a)");
        let mut p = plan_in(model, &db);
        p.head.session.push(Statement::plain("PRAGMA synchronous = OFF"));
        let write = insert(&mut p);
        let w = transaction(&mut p, None, vec![write]);
        for _ in 0..10_000 {
            client(&mut p, vec![(0, w, vec![])]);
        }
        let result = run(&p);
        assert_eq!((result.operations, result.failed, result.attempts()), (10_000, 0, 10_000), "{model}");
        assert_eq!(db.count("SELECT count(*) FROM t"), 10_000);
    }
}

#[test]
fn an_open_loop_shares_too() {
    for model in SHARED {
        let db = db("CREATE TABLE t (a)");
        let mut p = plan_in(model, &db);
        let write = insert(&mut p);
        let w = transaction(&mut p, None, vec![write]);
        for _ in 0..4 {
            client(&mut p, (0..20).map(|i| (i * 2 * MS, w, vec![])).collect()).load = Loop::Open;
        }
        let result = run(&p);
        assert_eq!(db.count("SELECT count(*) FROM t"), 80, "{model}");
        assert!(result.samples.concat().iter().all(|s| s.is_ok() && s.started_ns >= s.due_ns), "{model}");
    }
}

#[test]
fn every_connection_reports_its_settings() {
    for model in SHARED {
        let (a, b) = (db("CREATE TABLE t (a)"), db("CREATE TABLE t (a)"));
        let mut p = plan_in(model, &a);
        p.head.databases.push(file(&b.path));
        if model == "pool" {
            option(&mut p, "pool_readers", "2");
        }
        let look = read(&mut p);
        let r = transaction(&mut p, None, vec![look]);
        for database in [1, 1, 0, 0] {
            client(&mut p, vec![(0, r, vec![])]).database = database;
        }
        let (ready, _sender, _events) = ready(&p);
        let of = |name: &str| -> Vec<String> {
            let values = ready.sessions.iter().filter_map(|s| s.iter().find(|(key, _)| key == name));
            values.map(|(_, value)| value.clone()).collect()
        };
        let clients: Vec<&str> = if model == "pool" { vec!["0", "0", "0", "2", "2", "2"] } else { vec!["0", "2"] };
        assert_eq!(of("client"), clients, "{model}: the first client that uses it");
        assert_eq!(of("tokio_threads"), vec!["4"; clients.len()]);
        assert_eq!(of("pool_readers"), if model == "pool" { vec!["2"; 6] } else { vec![] });
        let blocks = ["block-in-place", "spawn-blocking", "fifo", "pool"].contains(&model);
        assert_eq!(of("blocking_threads").iter().collect::<BTreeSet<_>>().len(), usize::from(blocks));
        ready.abandon();
    }
}

#[test]
fn data_in_memory_comes_back_to_its_file() {
    for model in ["thread", "direct", "block-in-place", "spawn-blocking", "dedicated", "fifo"] {
        for journal in ["WAL", "DELETE"] {
            let db = db("CREATE TABLE t (a); INSERT INTO t VALUES (10)");
            db.connection.pragma_update(None, "journal_mode", journal).unwrap();
            let mut p = plan_in(model, &db);
            option(&mut p, "storage", "memory");
            for name in ["journal_mode", "mmap_size", "cache_size", "wal_autocheckpoint", "page_size"] {
                let sql = format!("PRAGMA {name}");
                p.head.readbacks.push(contend_wire::plan::Readback { name: name.into(), sql });
            }
            let write = insert(&mut p);
            let w = transaction(&mut p, Some("BEGIN IMMEDIATE"), vec![write]);
            let clients = if model == "thread" { 1 } else { 4 };
            for _ in 0..clients {
                client(&mut p, vec![(0, w, vec![]); 5]);
            }
            let (ready, _sender, events) = ready(&p);
            assert!(ready.sessions[0].contains(&("journal_mode".into(), "memory".into())), "{:?}", ready.sessions);
            assert!(ready.sessions[0].contains(&("page_size".into(), "4096".into())), "{:?}", ready.sessions);
            assert_eq!(db.count("SELECT sum(a) FROM t"), 10);
            let result = ready.run(monotonic_ns(), &events, |_| Ok(())).unwrap();
            assert_eq!(result.failed, 0, "{model}");
            assert_eq!(db.count("SELECT sum(a) FROM t"), 10 + 5 * clients, "{model}, {journal}");
            assert_eq!(db.count("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let db = db("CREATE TABLE t (a)");
    let with = |model: &str, name: &str, value: &str, clients: usize| {
        let mut p = plan_in(model, &db);
        option(&mut p, name, value);
        let look = read(&mut p);
        let r = transaction(&mut p, None, vec![look]);
        for _ in 0..clients {
            client(&mut p, vec![(0, r, vec![])]);
        }
        p
    };
    for (model, name, value, clients, part) in [
        ("thread", "tokio_threads", "2", 1, "no runtime"),
        ("direct", "blocking_threads", "2", 1, "blocking_threads"),
        ("dedicated", "blocking_threads", "2", 1, "blocking_threads"),
        ("fifo", "pool_readers", "2", 1, "no pool"),
        ("pool", "pool_readers", "0", 1, "pool_readers"),
        ("pool", "storage", "memory", 1, "several connections"),
        ("thread", "storage", "memory", 2, "client 1 opens a second connection"),
        ("direct", "tokio_threads", "many", 1, "many"),
        ("thread", "busy_handler", "2ms", 1, "busy_handler"),
    ] {
        let message = refused(&with(model, name, value, clients));
        assert!(message.contains(part), "{model}, {name}: {message}");
    }
    let mut p = with("direct", "storage", "memory", 1);
    p.head.transactions[0].steps.insert(0, Step::Connect);
    assert!(refused(&p).contains("loses the data"));
    let mut p = with("direct", "tokio_threads", "2", 1);
    p.head.connections = Connections::Client;
    assert!(refused(&p).contains("share"));
    p.head.driver = "null".into();
    p.head.connections = Connections::Database;
    assert!(refused(&p).contains("only the model thread"));
    let mut p = with("thread", "busy_handler", "1ms", 1);
    p.head.driver = "null".into();
    assert!(refused(&p).contains("only rusqlite has it"));
}

#[test]
fn values_kept_before_a_pause_are_there_after_it() {
    for model in SHARED {
        let db = db("CREATE TABLE t (a); INSERT INTO t VALUES (41)");
        let mut p = plan_in(model, &db);
        let first = keep(sql(&mut p, "SELECT a FROM t", vec![]), 0, 0, 1);
        let source = contend_wire::plan::Source::Kept { slot: 0, plus: 1 };
        let second = sql(&mut p, "INSERT INTO t VALUES (? + ?)", vec![source, argument(0)]);
        let steps = vec![Step::Sql(first), Step::Pause { ns: MS }, Step::Sql(second)];
        let t = transaction(&mut p, None, steps);
        client(&mut p, vec![(0, t, vec![Value::Integer(100)])]);
        assert!(run_one(&p)[0].is_ok(), "{model}");
        assert_eq!(db.count("SELECT max(a) FROM t"), 142);
    }
}

/// A statistical statement, so not part of every run: the same load on a lock that promises no client a turn and on
/// a queue.
#[test]
#[ignore = "compares distributions; a busy machine can change them"]
fn a_queue_serves_everybody_alike() {
    let spread = |model: &str| {
        let db = db("CREATE TABLE t (a)");
        let mut p = plan_in(model, &db);
        p.head.window = Window { run_in_ns: 0, length_ns: 1_500 * MS, drain_ns: 500 * MS };
        let write = insert(&mut p);
        let w = transaction(&mut p, None, vec![hold(2), write]);
        for _ in 0..8 {
            let c = client(&mut p, vec![(0, w, vec![])]);
            (c.cyclic, c.limit) = (true, 0);
        }
        let mut waits: Vec<u64> = run(&p).samples.concat().iter().map(|s| s.acquire_wait_ns).collect();
        waits.sort_unstable();
        let (p50, p99) = (waits[waits.len() / 2], waits[waits.len() * 99 / 100]);
        println!("{model}: wait for the connection p50 {} us, p99 {} us", p50 / 1000, p99 / 1000);
        p99 as f64 / p50.max(1) as f64
    };
    let (unfair, fair) = (spread("spawn-blocking"), spread("fifo"));
    assert!(fair < 3.0, "in a queue of eight no client waits much longer than the others: p99 / p50 = {fair:.1}");
    assert!(unfair > fair, "{unfair:.1} against {fair:.1}");
}
