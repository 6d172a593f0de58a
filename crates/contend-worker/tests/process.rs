//! The worker as a process: the handshake over its pipes, scripts, and what happens when the tool dies.

mod common;

use common::*;
use contend_wire::database::Database;
use contend_wire::handshake::{Facts, ToolLine, WorkerLine, fact};
use contend_wire::literal::Value;
use contend_wire::plan::{Plan, Step};
use contend_wire::sample::{CodeSpace, SAMPLE_BYTES, Sample, worker_code};
use contend_wire::script::{LineResult, Load, Reply, ScriptWriter, Target};
use contend_wire::statement::{Placeholder, Statement};
use contend_worker::clock::monotonic_ns;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    hello: Facts,
}

impl Worker {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_contend-worker"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut worker = Worker { child, input, output, hello: vec![] };
        let WorkerLine::Hello(hello) = worker.line() else { panic!("the first line is hello") };
        worker.hello = hello;
        worker
    }

    fn say(&mut self, line: &ToolLine, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.encode().as_bytes()).unwrap();
        input.write_all(bytes).unwrap();
    }

    fn line(&mut self) -> WorkerLine {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        WorkerLine::decode(line.trim_end_matches('\n')).unwrap()
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.output.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn script(&mut self, text: &str) -> Reply {
        self.say(&ToolLine::Script(text.len()), text.as_bytes());
        match self.line() {
            WorkerLine::Reply(length) => {
                let bytes = self.bytes(length);
                Reply::decode(&String::from_utf8(bytes).unwrap()).unwrap()
            }
            other => panic!("{other:?}"),
        }
    }

    /// Sends a plan; the sessions, once the worker is ready.
    fn plan(&mut self, plan: &Plan) -> Vec<Facts> {
        let text = plan.encode();
        self.say(&ToolLine::Plan(text.len()), text.as_bytes());
        let mut sessions = vec![];
        loop {
            match self.line() {
                WorkerLine::Session(facts) => sessions.push(facts),
                WorkerLine::Ready => return sessions,
                other => panic!("{other:?}"),
            }
        }
    }

    /// Runs what is ready to its end.
    fn run(&mut self) -> (Facts, Vec<Sample>) {
        self.say(&ToolLine::Start(monotonic_ns()), b"");
        let mut done = vec![];
        let mut samples = vec![];
        loop {
            match self.line() {
                WorkerLine::Progress(_) => {}
                WorkerLine::Done(facts) => done = facts,
                WorkerLine::Samples(length) => {
                    assert!(length <= 1 << 20 && length.is_multiple_of(SAMPLE_BYTES));
                    let bytes = self.bytes(length);
                    samples.extend(bytes.chunks(SAMPLE_BYTES).map(|b| Sample::decode(b.try_into().unwrap()).unwrap()));
                }
                WorkerLine::End => return (done, samples),
                other => panic!("{other:?}"),
            }
        }
    }

    fn failure(&mut self) -> String {
        match self.line() {
            WorkerLine::Failed(message) => message,
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn writer(path: &Path) -> ScriptWriter {
    let database = Database::File(path.to_str().unwrap().to_string());
    ScriptWriter::new(&Target { driver: "rusqlite".into(), database, options: vec![], session: vec![] })
}

/// An INSERT whose values are placeholders alone.
fn load(sql: &str) -> Load {
    let placeholders = sql.match_indices('?').map(|(at, _)| Placeholder { at: at as u32, number: None }).collect();
    Load { sql: sql.to_string(), group: sql.rfind('(').map(|at| at as u32), placeholders }
}

#[test]
fn hello_tells_versions_and_capabilities() {
    let worker = Worker::start();
    let is = |key| fact(&worker.hello, key).unwrap();
    assert_eq!((is("protocol"), is("lock_wait")), ("1", "measured"));
    assert_eq!(is("models"), "thread,direct,block-in-place,spawn-blocking,dedicated,fifo,pool,events");
    assert_eq!(is("driver"), "rusqlite 0.40.2");
    assert_eq!(is("drivers"), "rusqlite,postgres,tokio-postgres,mysql,http,contend-sql,shim,null");
    assert!(is("language").starts_with("rustc 1."));
    assert!(is("engine").starts_with("SQLite 3."));
    assert!(is("compile_options").contains("THREADSAFE=1"));
}

#[test]
fn a_script_loads_and_asks() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new.db");
    let mut worker = Worker::start();
    let row =
        [Value::Integer(-1), Value::Text("a\tb\\".into()), Value::Real(0.5), Value::Blob(vec![0, 255]), Value::Null];
    let mut script = writer(&path);
    script.sql(&Statement::plain("CREATE TABLE t (a, b, c, d, e)")).load(&load("INSERT INTO t VALUES (?, ?, ?, ?, ?)"));
    for _ in 0..1000 {
        script.row(&row);
    }
    script.load(&load("INSERT INTO t (a) VALUES (?)"));
    script.sql(&Statement::plain("SELECT * FROM t LIMIT 1")).sql(&Statement::plain("SELECT count(*) FROM t"));
    let reply = worker.script(&script.finish());
    assert_eq!(reply.error, None);
    let count = vec![vec![Value::Integer(1000)]];
    assert_eq!(
        reply.answers,
        [
            LineResult::Rows(vec![]),
            LineResult::Loaded(1000),
            LineResult::Loaded(0),
            LineResult::Rows(vec![row.to_vec()]),
            LineResult::Rows(count)
        ]
    );
}

#[test]
fn the_first_error_ends_a_script_and_names_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new.db");
    let mut worker = Worker::start();
    let mut script = writer(&path);
    script.sql(&Statement::plain("CREATE TABLE t (a PRIMARY KEY)")).load(&load("INSERT INTO t VALUES (?)"));
    script.row(&[Value::Integer(1)]).row(&[Value::Integer(2)]).row(&[Value::Integer(1)]);
    script.sql(&Statement::plain("SELECT 'never reached'"));
    let reply = worker.script(&script.finish());
    let error = reply.error.unwrap();
    assert_eq!((error.line, error.space, error.code), (8, CodeSpace::Sqlite, 1555));
    assert_eq!(reply.answers, [LineResult::Rows(vec![])]);

    let mut script = writer(&path);
    script
        .sql(&Statement::plain("SELECT count(*) FROM t"))
        .load(&load("INSERT INTO t VALUES (?)"))
        .row(&[Value::Null, Value::Null]);
    let reply = worker.script(&script.finish());
    assert_eq!(reply.answers, [LineResult::Rows(vec![vec![Value::Integer(0)]])], "the failed load was rolled back");
    let error = reply.error.unwrap();
    assert_eq!((error.line, error.space, error.code), (6, CodeSpace::Worker, worker_code::VALUE));

    let mut script = writer(&path);
    script.sql(&Statement::plain("SELECT 9e999"));
    assert_eq!(worker.script(&script.finish()).error.unwrap().code, worker_code::VALUE);
}

#[test]
fn plans_run_one_after_the_other() {
    let db = db("CREATE TABLE t (a)");
    let mut p = plan(&db.path);
    let insert = Step::Sql(sql(&mut p, "INSERT INTO t VALUES (?)", vec![argument(0)]));
    let t = transaction(&mut p, Some("BEGIN IMMEDIATE"), vec![insert]);
    for _ in 0..2 {
        let c = client(&mut p, vec![(0, t, vec![Value::Integer(1)])]);
        (c.cyclic, c.limit) = (true, 50);
    }
    let mut worker = Worker::start();
    worker.plan(&p);
    for round in 1..=2 {
        // A plan that was ready and never started gives way to the next.
        let sessions = worker.plan(&p);
        assert_eq!(sessions.len(), 2);
        assert_eq!(fact(&sessions[1], "client"), Some("1"));
        worker.say(&ToolLine::Clock, b"");
        let WorkerLine::Clock(ns) = worker.line() else { panic!("a clock line") };
        assert!(monotonic_ns().abs_diff(ns) < 60_000 * MS, "the same clock as ours");
        let (done, samples) = worker.run();
        assert_eq!(samples.len(), 100);
        assert!(samples[..50].iter().all(|s| s.client == 0) && samples[50..].iter().all(|s| s.client == 1));
        for (key, value) in [("operations", "100"), ("attempts", "100"), ("failed", "0"), ("exhausted", "0")] {
            assert_eq!(fact(&done, key), Some(value));
        }
        assert_eq!(db.count("SELECT count(*) FROM t"), round * 100);
    }
    worker.say(&ToolLine::Quit, b"");
    assert!(worker.child.wait().unwrap().success());
}

#[test]
fn what_cannot_be_done_is_said_and_does_not_end_the_worker() {
    let mut worker = Worker::start();
    worker.say(&ToolLine::Start(1), b"");
    assert!(worker.failure().contains("without a plan"));
    worker.say(&ToolLine::Plan(15), b"contend-plan 9\n");
    assert!(worker.failure().contains("newer"));
    worker.input.as_mut().unwrap().write_all(b"dance\n").unwrap();
    assert!(worker.failure().contains("dance"));
    let mut p = plan("/nowhere/at/all.db".as_ref());
    transaction(&mut p, None, vec![]);
    client(&mut p, vec![(0, 0, vec![])]).id = 12;
    let text = p.encode();
    worker.say(&ToolLine::Plan(text.len()), text.as_bytes());
    let message = worker.failure();
    assert!(message.contains("client 12") && message.contains("/nowhere/at/all.db"), "{message}");
    worker.say(&ToolLine::Clock, b"");
    assert!(matches!(worker.line(), WorkerLine::Clock(_)));
}

#[test]
fn the_end_of_the_input_ends_a_run_at_once() {
    let db = db("CREATE TABLE t (a)");
    let mut p = plan(&db.path);
    let hold = transaction(&mut p, None, vec![Step::Hold { ns: 600_000 * MS }]);
    client(&mut p, vec![(0, hold, vec![])]);
    let mut worker = Worker::start();
    worker.plan(&p);
    worker.say(&ToolLine::Start(monotonic_ns()), b"");
    assert!(matches!(worker.line(), WorkerLine::Progress(_)), "it runs");
    worker.input = None;
    assert!(worker.child.wait().unwrap().success());
}

#[test]
fn a_plan_can_be_carried_out_by_hand() {
    let db = db("CREATE TABLE t (a PRIMARY KEY)");
    let mut p = plan(&db.path);
    let insert = Step::Sql(sql(&mut p, "INSERT INTO t VALUES (?)", vec![argument(0)]));
    let t = transaction(&mut p, None, vec![insert]);
    client(&mut p, [1, 2, 1].map(|n| (0, t, vec![Value::Integer(n)])).to_vec());
    let (plan_path, samples_path) = (db.dir.path().join("plan.txt"), db.dir.path().join("samples.bin"));
    std::fs::write(&plan_path, p.encode()).unwrap();
    let by_hand = |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_contend-worker")).args(args).output().unwrap();
    let out = by_hand(&["--plan", plan_path.to_str().unwrap(), "--samples", samples_path.to_str().unwrap()]);
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success(), "{text}");
    for line in ["session client=0 busy_timeout=5000", "t0 ok 0: 2", "t0 sqlite 1555: 1"] {
        assert!(text.lines().any(|l| l == line), "{text}");
    }
    assert_eq!(std::fs::metadata(&samples_path).unwrap().len(), 3 * SAMPLE_BYTES as u64);
    let out = by_hand(&["--plan"]);
    assert!(!out.status.success() && String::from_utf8(out.stderr).unwrap().contains("usage"));
}
