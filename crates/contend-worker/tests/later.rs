//! Connections are read back after the measurement, in every model.

mod common;

use common::*;
use contend_wire::handshake::{Facts, ToolLine, WorkerLine, fact};
use contend_wire::plan::{Plan, Readback, Step, Window};
use contend_worker::run::RunResult;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

/// Transactions that change what the setting `changed` reads back, and that open a connection.
fn plan_of(model: &str, db: &Db) -> (Plan, u16, u16) {
    let mut p = plan(&db.path);
    use_model(&mut p, model);
    option(&mut p, "busy_timeout_ms", "4321");
    for (name, sql) in [("journal_mode", "PRAGMA journal_mode"), ("changed", "SELECT count(*) FROM t")] {
        p.head.readbacks.push(Readback { name: name.into(), sql: sql.into() });
    }
    let insert = Step::Sql(sql(&mut p, "INSERT INTO t VALUES (1)", vec![]));
    let change = transaction(&mut p, None, vec![insert]);
    let look = Step::Sql(sql(&mut p, "SELECT 1", vec![]));
    let reconnect = transaction(&mut p, None, vec![Step::Connect, look]);
    p.head.transactions[usize::from(reconnect)].writes = false;
    (p, change, reconnect)
}

/// What the worker reports at the end of one client's operations.
fn reported(p: &mut Plan, operations: &[u16]) -> Facts {
    client(p, operations.iter().map(|t| (0, *t, vec![])).collect());
    let result: RunResult = run(p);
    assert_eq!((result.failed, result.operations), (0, operations.len() as u64), "{}", p.head.model);
    result.reported
}

const DIFFERS: &str = "a connection reads back changed = 1 after the start, the first one 0 before";

fn every_model() -> impl Iterator<Item = &'static str> {
    ["thread"].into_iter().chain(SHARED)
}

#[test]
fn a_connection_that_differs_is_told_in_every_model() {
    for model in every_model() {
        let db = db("CREATE TABLE t (a)");
        let (mut p, change, reconnect) = plan_of(model, &db);
        let reported = reported(&mut p, &[change, reconnect]);
        assert_eq!(fact(&reported, "settings_differ"), Some(DIFFERS), "{model}");
    }
}

#[test]
fn what_does_not_differ_is_counted() {
    for model in every_model() {
        for (name, value) in [("lock_wait", "off"), ("lock_wait", "measured"), ("statements", "each")] {
            let db = db("CREATE TABLE t (a)");
            let (mut p, _, reconnect) = plan_of(model, &db);
            option(&mut p, name, value);
            p.head.readbacks.push(Readback { name: "busy_timeout".into(), sql: "PRAGMA busy_timeout".into() });
            let reported = reported(&mut p, &[reconnect]);
            let count = fact(&reported, "connections_read_back").and_then(|count| count.parse::<u32>().ok());
            assert_eq!(fact(&reported, "settings_differ"), None, "{model}, {name} = {value}");
            assert!(count.is_some_and(|count| count > 0), "{model}, {name} = {value}: {reported:?}");
        }
    }
}

#[test]
fn a_timeout_that_an_operation_sets_is_told() {
    for model in every_model() {
        let db = db("CREATE TABLE t (a)");
        let (mut p, _, reconnect) = plan_of(model, &db);
        let set = Step::Sql(sql(&mut p, "PRAGMA busy_timeout = 7", vec![]));
        p.head.transactions[usize::from(reconnect)].steps.push(set);
        let reported = reported(&mut p, &[reconnect]);
        let words = "a connection reads back busy_timeout = 7 after the start, the first one 4321 before";
        assert_eq!(fact(&reported, "settings_differ"), Some(words), "{model}");
    }
}

#[test]
fn a_setting_that_changes_in_the_run_is_told_of_the_first_connections_too() {
    for model in every_model() {
        let db = db("CREATE TABLE t (a)");
        let (mut p, change, _) = plan_of(model, &db);
        let reported = reported(&mut p, &[change, change]);
        let words = "a connection reads back changed = 2 after the start, the first one 0 before";
        assert_eq!(fact(&reported, "settings_differ"), Some(words), "{model}");
    }
}

#[test]
fn a_client_reads_its_last_connection() {
    let db = db("CREATE TABLE t (a)");
    let (mut p, change, reconnect) = plan_of("thread", &db);
    client(&mut p, vec![(0, change, vec![])]);
    client(&mut p, vec![(0, reconnect, vec![]); 3]);
    client(&mut p, vec![(0, reconnect, vec![]), (0, change, vec![])]);
    assert_eq!(fact(&run(&p).reported, "connections_read_back"), Some("3"));
}

#[test]
fn a_client_that_could_not_connect_in_the_end_reads_another_connection() {
    let db = db("PRAGMA journal_mode = DELETE; CREATE TABLE t (a)");
    let (mut p, _, reconnect) = plan_of("thread", &db);
    option(&mut p, "busy_timeout_ms", "20");
    let hold = transaction(&mut p, Some("BEGIN EXCLUSIVE"), vec![Step::Hold { ns: 1000 * MS }]);
    client(&mut p, vec![(0, hold, vec![])]);
    client(&mut p, vec![(400 * MS, reconnect, vec![])]);
    let result = run(&p);
    assert_eq!(
        (result.failed, fact(&result.reported, "connections_read_back")),
        (1, Some("2")),
        "{:?}",
        result.reported
    );
}

#[test]
fn after_the_drain_nothing_is_read() {
    for model in ["thread", "dedicated", "pool"] {
        let db = db("CREATE TABLE t (a)");
        let (mut p, change, reconnect) = plan_of(model, &db);
        p.head.window = Window { run_in_ns: 0, length_ns: 1000 * MS, drain_ns: 10 * MS };
        p.head.transactions[usize::from(reconnect)].steps.push(Step::Hold { ns: 60_000 * MS });
        client(&mut p, vec![(0, change, vec![]), (0, reconnect, vec![])]);
        let result = run(&p);
        assert_eq!((result.failed, &result.reported), (1, &vec![]), "{model}");
    }
}

/// Starts a server of this plan, asks for transactions one after the other, and stops it: the status of each, and `done`.
fn served(p: &Plan, transactions: &[&str]) -> (Vec<String>, Facts) {
    let mut server = Command::new(env!("CARGO_BIN_EXE_contend-worker"));
    let mut child = server.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut line = || {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        WorkerLine::decode(line.trim_end_matches('\n')).unwrap()
    };
    let text = p.encode();
    input.write_all((ToolLine::Plan(text.len()).encode() + &text).as_bytes()).unwrap();
    let url = loop {
        match line() {
            WorkerLine::Hello(_) | WorkerLine::Session(_) => {}
            WorkerLine::Serving(url) => break url,
            other => panic!("{other:?}"),
        }
    };
    let ask = |transaction: &&str| {
        let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
        stream
            .write_all(format!("GET /{transaction} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").as_bytes())
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().to_string()
    };
    let statuses = transactions.iter().map(ask).collect();
    input.write_all((ToolLine::Stop.encode() + &ToolLine::Quit.encode()).as_bytes()).unwrap();
    let WorkerLine::Done(done) = line() else { panic!("it must say what it did") };
    assert!(child.wait().unwrap().success());
    (statuses, done)
}

#[test]
fn a_server_tells_it_too() {
    for model in every_model() {
        let db = db("CREATE TABLE t (a)");
        let (mut p, ..) = plan_of(model, &db);
        p.head.transactions.iter_mut().for_each(|t| t.uniques = 0);
        let (statuses, done) = served(&p, &["t1", "t1"]);
        assert_eq!((statuses, fact(&done, "settings_differ")), (vec!["200".to_string(); 2], None), "{model}");
        let (statuses, done) = served(&p, &["t0", "t1"]);
        // Where each HTTP connection has one of its own, it is read back when it is opened, and a request fails at once.
        let second = if model == "thread" { "500" } else { "200" };
        assert_eq!(statuses, ["200", second], "{model}");
        assert_eq!(fact(&done, "settings_differ"), Some(DIFFERS), "{model}");
    }
}
