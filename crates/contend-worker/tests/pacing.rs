//! When operations begin and when they end: due times, limits, the window, the drain.

mod common;

use common::*;
use contend_wire::literal::Value;
use contend_wire::plan::{Loop, Plan, Source, Step, UNIQUE_STRIDE, Window};
use contend_wire::sample::{CodeSpace, Sample, flag};
use contend_wire::statement::Statement;
use contend_worker::clock::monotonic_ns;
use contend_worker::run::{Event, Notice, Request};
use std::path::Path;

/// Runs forever unless interrupted.
const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

#[test]
fn the_same_in_every_model() {
    run_again_in_every_model("the_same_in_every_model");
}

/// A plan whose statements cost next to nothing: on no database where the model can do without one.
fn idle_plan() -> Plan {
    let mut p = plan(":memory:".as_ref());
    if p.head.model == "thread" {
        p.head.driver = "null".into();
    }
    let step = Step::Sql(sql(&mut p, "SELECT ?", vec![argument(0)]));
    transaction(&mut p, None, vec![step]);
    p
}

fn one() -> Vec<Value> {
    vec![Value::Integer(1)]
}

fn window(p: &mut Plan, length_ms: u64, drain_ms: u64) {
    p.head.window = Window { run_in_ns: 0, length_ns: length_ms * MS, drain_ns: drain_ms * MS };
}

#[test]
fn an_open_loop_is_due_as_drawn_even_when_it_is_late() {
    let mut p = idle_plan();
    let stall = transaction(&mut p, None, vec![Step::Hold { ns: 30 * MS }]);
    let c =
        client(&mut p, vec![(5 * MS, 0, one()), (10 * MS, stall, vec![]), (12 * MS, 0, one()), (14 * MS, 0, one())]);
    c.load = Loop::Open;
    let start_ns = monotonic_ns() + 2 * MS;
    let (ready, _sender, events) = ready(&p);
    let samples = ready.run(start_ns, &events, |_| Ok(())).unwrap().samples.remove(0);
    let due: Vec<u64> = samples.iter().map(|s| (s.due_ns - start_ns) / MS).collect();
    assert_eq!(due, [5, 10, 12, 14]);
    assert!(samples.iter().all(|s| s.started_ns >= s.due_ns), "nothing begins early");
    // The stall shows in the response of those behind it, not in their service.
    for late in &samples[2..] {
        assert!(late.finished_ns - late.due_ns >= 25 * MS, "{late:?}");
        assert!(late.finished_ns - late.started_ns < late.finished_ns - late.due_ns - 20 * MS, "{late:?}");
    }
}

#[test]
fn an_open_loop_leaves_unsent_what_the_window_did_not_reach() {
    let mut p = idle_plan();
    // Long enough for a slow machine to begin the first.
    window(&mut p, 500, 1000);
    let stall = transaction(&mut p, None, vec![Step::Hold { ns: 600 * MS }]);
    let c = client(&mut p, vec![(0, stall, vec![]), (100 * MS, 0, one()), (550 * MS, 0, one())]);
    (c.load, c.limit) = (Loop::Open, 0);
    let result = run(&p);
    assert_eq!(result.samples[0].len(), 1, "the second could not be sent in time, the third was not due");
    assert!(result.samples[0][0].is_ok(), "in flight at the end, finished in the drain");
    assert_eq!(result.exhausted, 0);
}

#[test]
fn a_closed_loop_is_due_a_pause_after_the_previous_end() {
    let mut p = idle_plan();
    let hold = transaction(&mut p, None, vec![Step::Hold { ns: 4 * MS }, Step::Pause { ns: 2 * MS }]);
    client(&mut p, vec![(3 * MS, hold, vec![]), (0, hold, vec![]), (5 * MS, hold, vec![])]).start_ns = 7 * MS;
    let (ready, _sender, events) = ready(&p);
    let start_ns = monotonic_ns();
    let samples = ready.run(start_ns, &events, |_| Ok(())).unwrap().samples.remove(0);
    assert_eq!(samples[0].due_ns, start_ns + 10 * MS);
    assert_eq!(samples[1].due_ns, samples[0].finished_ns);
    assert_eq!(samples[2].due_ns, samples[1].finished_ns + 5 * MS);
    for sample in &samples {
        assert!(sample.finished_ns - sample.started_ns >= 6 * MS, "hold and pause are part of the attempt");
    }
}

#[test]
fn a_cycle_goes_on_counting() {
    let db = db("CREATE TABLE t (u)");
    let mut p = plan(&db.path);
    let unique = Source::Unique { first: 3, stride: 0 };
    let step = Step::Sql(sql(&mut p, "INSERT INTO t VALUES (?)", vec![unique]));
    let t = transaction(&mut p, None, vec![step]);
    let c = client(&mut p, vec![(0, t, vec![]); 3]);
    (c.id, c.cyclic, c.limit) = (2, true, 10);
    let result = run(&p);
    let numbers: Vec<u32> = result.samples[0].iter().map(|s| s.operation).collect();
    assert_eq!(numbers, (0..10).collect::<Vec<_>>());
    assert_eq!((result.operations, result.failed, result.exhausted), (10, 0, 0));
    assert_eq!(db.count("SELECT count(DISTINCT u) FROM t"), 10);
    assert_eq!(db.count("SELECT max(u) FROM t"), 2 * UNIQUE_STRIDE + 9 * 4 + 3);
}

#[test]
fn a_finite_plan_that_ends_before_the_window_is_exhausted() {
    let mut p = idle_plan();
    window(&mut p, 10_000, 0);
    client(&mut p, vec![(0, 0, one()); 5]).limit = 0;
    client(&mut p, vec![(0, 0, one()); 5]);
    client(&mut p, vec![]).cyclic = true;
    let result = run(&p);
    assert_eq!(result.exhausted, 2, "one did its limit");
    assert_eq!(result.attempts(), 10);
}

#[test]
fn the_window_ends_a_cycle() {
    let mut p = idle_plan();
    window(&mut p, 300, 1000);
    let c = client(&mut p, vec![(MS, 0, one())]);
    (c.cyclic, c.limit) = (true, 0);
    let (ready, _sender, events) = ready(&p);
    let start_ns = monotonic_ns();
    let result = ready.run(start_ns, &events, |_| Ok(())).unwrap();
    assert!(result.samples[0].iter().all(|s| s.due_ns < start_ns + 300 * MS));
    // Each is due 1 ms after the one before; a busy machine may come to the first one only.
    assert!((1..=300).contains(&result.attempts()), "{}", result.attempts());
    assert_eq!(result.exhausted, 0);
}

#[test]
fn stop_ends_a_run_without_a_window() {
    let mut p = idle_plan();
    let c = client(&mut p, vec![(60_000 * MS, 0, one())]);
    (c.cyclic, c.limit) = (true, 0);
    let c = client(&mut p, vec![(MS, 0, one())]);
    (c.cyclic, c.limit) = (true, 0);
    let (ready, sender, events) = ready(&p);
    let stopper = sender.clone();
    // Stops once the run has shown a sign of life.
    let result = ready
        .run(monotonic_ns(), &events, |notice| {
            if let Notice::Progress { operations, failed, .. } = notice {
                assert!(operations > 0 && failed == 0);
                stopper.send(Event::Tool(Request::Stop))?;
            }
            Ok(())
        })
        .unwrap();
    assert!(result.samples[0].is_empty(), "its first operation was due in a minute");
    assert!(!result.samples[1].is_empty());
}

fn interrupted(sample: &Sample) {
    assert_eq!((sample.code_space, sample.flags & flag::INTERRUPTED), (CodeSpace::Sqlite, flag::INTERRUPTED));
}

#[test]
fn what_outlives_the_drain_is_interrupted() {
    let db = db("CREATE TABLE t (a)");
    let mut p = plan(&db.path);
    // Long enough for a slow machine to begin each.
    window(&mut p, 500, 200);
    option(&mut p, "busy_timeout_ms", "60000");
    let endless = Step::Sql(sql(&mut p, ENDLESS, vec![]));
    let query = transaction(&mut p, Some("BEGIN"), vec![endless]);
    let hold = transaction(&mut p, None, vec![Step::Hold { ns: 60_000 * MS }]);
    p.head.session.push(Statement::plain("CREATE TABLE IF NOT EXISTS t (a)"));
    let insert = Step::Sql(sql(&mut p, "INSERT INTO t VALUES (1)", vec![]));
    let locked = transaction(&mut p, Some("BEGIN IMMEDIATE"), vec![insert]);
    // Each on its own database, so that none waits for another in any model.
    p.head.databases.extend([file(Path::new(":memory:")), file(Path::new(":memory:"))]);
    for (t, database) in [(query, 1), (hold, 2), (locked, 0)] {
        client(&mut p, vec![(0, t, vec![])]).database = database;
    }
    db.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (ready, _sender, events) = ready(&p);
    let start_ns = monotonic_ns();
    let result = ready.run(start_ns, &events, |_| Ok(())).unwrap();
    for (samples, code) in result.samples.iter().zip([9, 9, 5]) {
        interrupted(&samples[0]);
        assert_eq!(samples[0].code, code, "{:?}", samples[0]);
        assert!(samples[0].finished_ns >= start_ns + 700 * MS, "not before the drain is over");
        assert_eq!(samples[0].flags & flag::LOCK_TIMEOUT_SPENT, 0);
    }
    assert!(result.samples[2][0].lock_wait_ns >= 100 * MS);
    assert_eq!(result.failed, 3);
}

#[test]
fn the_null_driver_goes_the_whole_way() {
    let mut p = idle_plan();
    p.head.driver = "null".into();
    use_model(&mut p, "thread");
    let first = keep(rows(sql(&mut p, "SELECT a", vec![]), 3, 3), 0, 0, 1);
    let second = sql(&mut p, "SELECT ?", vec![Source::Kept { slot: 0, plus: 1 }]);
    let t = transaction(&mut p, Some("BEGIN"), vec![Step::Connect, Step::Sql(first), Step::Sql(second)]);
    client(&mut p, vec![(0, t, vec![]), (0, 0, one())]);
    let samples = run_one(&p);
    assert!(samples.iter().all(Sample::is_ok), "{samples:?}");
    assert_eq!(samples.iter().map(|s| s.rows).collect::<Vec<_>>(), [3, 0]);
}
