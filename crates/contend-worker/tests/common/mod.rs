//! Building small plans and databases for the tests.

#![allow(dead_code, reason = "each test program uses its own part")]

use contend_wire::database::Database;
use contend_wire::literal::Value;
use contend_wire::plan::{
    ANY_ROWS, Client, Connections, Head, Keep, Loop, NowSource, Plan, Retry, Source, SqlStep, Step, Transaction, Window,
};
use contend_wire::sample::Sample;
use contend_wire::statement::{Placeholder, Statement};
use contend_worker::own::{prepare, run_plan};
use contend_worker::run::{Event, Ready, RunResult};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const MS: u64 = 1_000_000;

/// The models in which the clients of a database share connections.
pub const SHARED: [&str; 6] = ["direct", "block-in-place", "spawn-blocking", "dedicated", "fifo", "pool"];

/// Which model the plans of this run of the tests ask for.
const MODEL: &str = "CONTEND_TEST_MODEL";

/// The model of all plans built here: `thread` unless the tests run again in another.
pub fn model() -> String {
    std::env::var(MODEL).unwrap_or_else(|_| "thread".into())
}

/// Runs all tests of this program again in every other model; `me` is the test that does. One
/// after the other: they measure times.
pub fn run_again_in_every_model(me: &str) {
    if std::env::var_os(MODEL).is_some() {
        return;
    }
    for model in SHARED {
        let mut tests = std::process::Command::new(std::env::current_exe().unwrap());
        let output = tests.args(["--skip", me, "--test-threads", "1"]).env(MODEL, model).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{model}: {said}");
        assert!(!said.contains("running 0 tests"), "{said}");
    }
}

/// Sets the model of a plan.
pub fn use_model(plan: &mut Plan, model: &str) {
    plan.head.model = model.into();
    plan.head.connections = if model == "thread" { Connections::Client } else { Connections::Database };
}

/// A directory with one database in WAL mode.
pub struct Db {
    pub dir: TempDir,
    pub path: PathBuf,
    pub connection: Connection,
}

pub fn db(schema: &str) -> Db {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    connection.execute_batch(schema).unwrap();
    Db { dir, path, connection }
}

impl Db {
    pub fn count(&self, sql: &str) -> i64 {
        self.connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

/// The database in this file.
pub fn file(path: &Path) -> Database {
    Database::File(path.to_str().unwrap().into())
}

/// A plan on `path` without transactions or clients.
pub fn plan(path: &Path) -> Plan {
    let mut plan = Plan {
        head: Head {
            worker: 0,
            window: Window { run_in_ns: 0, length_ns: 0, drain_ns: 2_000 * MS },
            now: NowSource::Clock,
            driver: "rusqlite".into(),
            model: "thread".into(),
            connections: Connections::Client,
            options: vec![],
            databases: vec![file(path)],
            session: vec![],
            readbacks: vec![],
            statements: vec![],
            requests: vec![],
            texts: vec![],
            transactions: vec![],
            login: None,
            retry: Retry::never(),
        },
        clients: vec![],
    };
    use_model(&mut plan, &model());
    plan
}

pub fn option(plan: &mut Plan, name: &str, value: &str) {
    plan.head.options.push((name.into(), value.into()));
}

/// Adds a statement to the plan and returns a step that executes it.
pub fn sql(plan: &mut Plan, text: &str, args: Vec<Source>) -> SqlStep {
    let placeholders = text.match_indices('?').map(|(at, _)| Placeholder { at: at as u32, number: None }).collect();
    plan.head.statements.push(Statement { placeholders, ..Statement::plain(text) });
    let statement = plan.head.statements.len() as u32 - 1;
    SqlStep { statement, rows_min: 0, rows_max: ANY_ROWS, repeat: 1, keep: vec![], args }
}

pub fn rows(step: SqlStep, min: u32, max: u32) -> SqlStep {
    SqlStep { rows_min: min, rows_max: max, ..step }
}

pub fn keep(step: SqlStep, slot: u16, column: u16, rows: u16) -> SqlStep {
    let mut step = step;
    step.keep.push(Keep { slot, column, rows });
    step
}

pub fn argument(first: u16) -> Source {
    Source::Argument { first, stride: 0 }
}

/// Adds a transaction and returns its number.
pub fn transaction(plan: &mut Plan, begin: Option<&str>, steps: Vec<Step>) -> u16 {
    plan.head.transactions.push(Transaction {
        name: format!("t{}", plan.head.transactions.len()),
        writes: true,
        begin: begin.map(Into::into),
        uniques: 4,
        slots: 4,
        steps,
    });
    plan.head.transactions.len() as u16 - 1
}

/// Adds a finite closed-loop client that is done with its operations when they are done.
pub fn client(plan: &mut Plan, operations: Vec<(u64, u16, Vec<Value>)>) -> &mut Client {
    let mut client = Client {
        id: plan.clients.len() as u32,
        database: 0,
        load: Loop::Closed,
        cyclic: false,
        limit: operations.len() as u32,
        start_ns: 0,
        operations: vec![],
        arguments: vec![],
    };
    for (offset_ns, transaction, arguments) in operations {
        client.push(offset_ns, transaction, arguments);
    }
    plan.clients.push(client);
    plan.clients.last_mut().unwrap()
}

/// Runs a plan after sending it through its own text form, as every plan arrives.
pub fn run(plan: &Plan) -> RunResult {
    run_plan(Plan::decode(&plan.encode()).unwrap()).unwrap()
}

/// The samples of a plan with one client.
pub fn run_one(plan: &Plan) -> Vec<Sample> {
    run(plan).samples.remove(0)
}

/// A prepared plan with the channel that steers its run.
pub fn ready(plan: &Plan) -> (Ready, Sender<Event>, Receiver<Event>) {
    let (sender, events) = channel();
    let ready = prepare(Plan::decode(&plan.encode()).unwrap(), &sender).unwrap();
    (ready, sender, events)
}

/// What must happen soon, however slow the machine is.
#[track_caller]
pub fn wait_until(happened: impl Fn() -> bool) {
    let begun = Instant::now();
    while !happened() {
        assert!(begun.elapsed() < Duration::from_secs(20), "waited in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
}
