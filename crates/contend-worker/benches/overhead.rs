//! What the worker's loop costs: the same statements through the worker and through a bare loop over
//! rusqlite, in interleaved slices, and the cost of an attempt that executes nothing.
//!
//! `cargo bench -p contend-worker` prints the median and the spread of the ratios; 1 means that recording
//! costs nothing. The directory for the databases can be given as an argument; it must be on a real disk
//! for the inserts to mean anything.

use contend_wire::database::Database;
use contend_wire::literal::Value;
use contend_wire::plan::{
    ANY_ROWS, Client, Connections, Head, Loop, NowSource, Plan, Retry, Source, SqlStep, Step, Transaction, Window,
};
use contend_wire::statement::Statement;
use contend_worker::own::run_plan;
use rusqlite::Connection;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

const SLICES: usize = 15;
/// Turns of both sides within a slice: short, so that a burst of foreign load hits both alike.
const TURNS: usize = 12;
const ROWS: i64 = 100_000;
const CYCLE: usize = 16_384;

/// One comparison: a statement with one integer argument per operation.
struct Case {
    name: &'static str,
    sql: &'static str,
    operations: u32,
    session: &'static [&'static str],
}

const READS: Case = Case {
    name: "point reads by rowid",
    sql: "SELECT id, name, value FROM item WHERE id = ?",
    operations: 25_000,
    session: &[],
};

const INSERTS: Case = Case {
    name: "WAL inserts, synchronous=normal",
    sql: "INSERT INTO log (item, note) VALUES (?, 'a note of some length, as notes have it')",
    operations: 5_000,
    session: &["PRAGMA synchronous = NORMAL"],
};

fn create(path: &Path) {
    let db = Connection::open(path).expect("the database opens");
    db.execute_batch(&format!(
        "PRAGMA journal_mode = WAL;
         CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, value REAL);
         CREATE TABLE log (id INTEGER PRIMARY KEY, item INTEGER, note TEXT);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
         INSERT INTO item SELECT i, 'item number ' || i, i * 0.5 FROM n;"
    ))
    .expect("the tables are filled");
}

/// The same keys for both sides, spread over the table.
fn keys() -> Vec<i64> {
    (0..CYCLE as i64).map(|i| i * 7919 % ROWS + 1).collect()
}

fn plan(case: &Case, driver: &str, path: &Path) -> Plan {
    let step = SqlStep {
        statement: 0,
        rows_min: 1,
        rows_max: ANY_ROWS,
        repeat: 1,
        keep: vec![],
        args: vec![Source::Argument { first: 0, stride: 0 }],
    };
    let mut client = Client {
        id: 0,
        database: 0,
        load: Loop::Closed,
        cyclic: true,
        limit: case.operations,
        start_ns: 0,
        operations: vec![],
        arguments: vec![],
    };
    for key in keys() {
        client.push(0, 0, [Value::Integer(key)]);
    }
    Plan {
        head: Head {
            worker: 0,
            window: Window { run_in_ns: 0, length_ns: 0, drain_ns: 0 },
            now: NowSource::Clock,
            driver: driver.into(),
            model: "thread".into(),
            connections: Connections::Client,
            options: vec![],
            databases: vec![Database::File(path.to_str().expect("a path of UTF-8").into())],
            session: case.session.iter().map(|sql| Statement::plain(sql.to_string())).collect(),
            readbacks: vec![],
            statements: vec![Statement::plain(case.sql)],
            requests: vec![],
            texts: vec![],
            transactions: vec![Transaction {
                name: "it".into(),
                writes: true,
                begin: None,
                uniques: 0,
                slots: 0,
                steps: vec![Step::Sql(step)],
            }],
            login: None,
            retry: Retry::never(),
        },
        clients: vec![client],
    }
}

/// Nanoseconds per operation through the worker, from the first start to the last end.
fn through_worker(case: &Case, driver: &str, path: &Path) -> f64 {
    let result = run_plan(plan(case, driver, path)).expect("the plan runs");
    let samples = &result.samples[0];
    assert_eq!(samples.len(), case.operations as usize);
    assert!(samples.iter().all(|s| s.is_ok() && s.rows == 1), "every operation succeeds");
    let elapsed_ns = samples[samples.len() - 1].finished_ns - samples[0].started_ns;
    elapsed_ns as f64 / samples.len() as f64
}

/// As [`bare_here`], on its own thread as a client of the worker has: system calls and allocations of a
/// process with a single thread are cheaper, and that is no difference of the two loops.
fn bare(case: &Case, path: &Path) -> f64 {
    thread::scope(|scope| scope.spawn(|| bare_here(case, path)).join().expect("the bare loop runs"))
}

/// Nanoseconds per operation in a bare loop: bind, step, read the columns, reset.
fn bare_here(case: &Case, path: &Path) -> f64 {
    let db = Connection::open(path).expect("the database opens");
    for sql in case.session {
        db.execute_batch(sql).expect("the session statement runs");
    }
    let keys = keys();
    let mut statement = db.prepare(case.sql).expect("the statement is prepared");
    let reads = statement.column_count() > 0;
    let started = Instant::now();
    for i in 0..case.operations as usize {
        statement.raw_bind_parameter(1, keys[i % CYCLE]).expect("the key is bound");
        if reads {
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next().expect("a row or the end") {
                for column in 0..3 {
                    black_box(row.get_ref(column).expect("a column"));
                }
            }
        } else {
            black_box(statement.raw_execute().expect("the row is inserted"));
        }
    }
    started.elapsed().as_nanos() as f64 / f64::from(case.operations)
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

fn compare(case: &Case, path: &Path) {
    let (mut ratios, mut bare_ns, mut worker_ns) = (vec![], vec![], vec![]);
    for slice in 0..SLICES {
        let (mut plain, mut ours) = (0.0, 0.0);
        for turn in 0..TURNS {
            // Neither side always runs first.
            if (slice + turn) % 2 == 0 {
                plain += bare(case, path);
                ours += through_worker(case, "rusqlite", path);
            } else {
                ours += through_worker(case, "rusqlite", path);
                plain += bare(case, path);
            }
        }
        ratios.push(plain / ours);
        bare_ns.push(plain / TURNS as f64);
        worker_ns.push(ours / TURNS as f64);
    }
    let (ratios, bare_ns, worker_ns) = (sorted(ratios), sorted(bare_ns), sorted(worker_ns));
    println!(
        "{}: bare/worker {:.3} (median of {SLICES}; {:.3} to {:.3}; middle half {:.3} to {:.3}), bare {:.0} ns, worker {:.0} ns per operation",
        case.name,
        ratios[SLICES / 2],
        ratios[0],
        ratios[SLICES - 1],
        ratios[SLICES / 4],
        ratios[SLICES * 3 / 4],
        bare_ns[SLICES / 2],
        worker_ns[SLICES / 2],
    );
}

fn main() {
    // `cargo test --all-targets` starts benchmarks too, without this argument.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let given = std::env::args().skip(1).find(|arg| !arg.starts_with("--")).map(PathBuf::from);
    let root = given.unwrap_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")));
    let dir = tempfile::tempdir_in(root).expect("a directory for the databases");
    let path = dir.path().join("overhead.db");
    create(&path);
    let null = sorted((0..SLICES).map(|_| through_worker(&READS, "null", &path)).collect());
    println!(
        "an attempt that executes nothing: {:.0} ns (median of {SLICES}; {:.0} to {:.0})",
        null[SLICES / 2],
        null[0],
        null[SLICES - 1]
    );
    compare(&READS, &path);
    compare(&INSERTS, &path);
}
