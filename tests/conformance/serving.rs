//! Serve mode: every worker answers requests with the same rows and codes, and leaves the same data as if it had carried
//! out the operations itself.

use crate::rows;
use crate::rules::Problem;
use crate::short::complete;
use crate::support::{self, tool};
use crate::worker::{Ran, Worker};
use crate::workers::{ENTRIES, Entry};
use contend::workload::sql::Brackets;
use contend_wire::handshake::{ToolLine, WorkerLine, fact};
use contend_wire::plan::{Connections, Plan};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

const TRANSACTIONS: &str = "statement\t0\tSELECT id, name, price, none FROM item WHERE id >= ? ORDER BY id LIMIT 2\n\
    statement\t1\tINSERT INTO item (id, name, price) VALUES (?, ?, ?)\n\
    statement\t2\tUPDATE item SET name = ? WHERE id = ?\n\
    statement\t3\tSELECT ? + 0 AS at\n\
    transaction\t0\tget items\tread\t-\t0\t0\t1\n\
    step\tsql\t0\t1..2\t1\t-\tp0+0\n\
    transaction\t1\tadd\twrite\tBEGIN IMMEDIATE\t2\t0\t3\n\
    step\tsql\t1\t1..1\t2\t-\tu0+1\tp0+0\tr1.5\n\
    step\tsql\t2\t1..1\t1\t-\tp0+0\ti1\n\
    step\tsql\t0\t1..2\t1\t-\tu1+0\n\
    transaction\t2\tdouble\twrite\tBEGIN IMMEDIATE\t0\t0\t1\n\
    step\tsql\t1\t1..1\t1\t-\ti1\tp0+0\tn\n\
    transaction\t3\tcount\tread\t-\t0\t0\t1\n\
    step\tsql\t3\t1..1\t1\t-\tc1000000000\n\
    retry\t1\t-\t-\t-\n";

/// Operations of the plan and of the requests: what the plan says, what is asked, and the status.
const OPERATIONS: [(&str, &str, u16); 6] = [
    ("op\t0\t0\ti10", "/get%20items?p0=i10", 200),
    ("op\t0\t1\tt\u{161} & 100% \"a\"", "/add?p0=t%C5%A1%20%26%20100%25%20%22a%22&u0=i0&u1=i1", 200),
    ("op\t0\t2\ttx", "/double?p0=tx", 500),
    ("op\t0\t1\tn", "/add?p0=n&u0=i2&u1=i3", 200),
    ("op\t0\t0\ti9007199254740994", "/get%20items?p0=i9007199254740994", 500),
    ("op\t0\t0\ti2", "/get%20items?p0=i2", 200),
];

/// What the requests of a trial bring; other users of the machine do not know it.
const SECRET: &str = "contend-secret: geheim\r\n";

fn plan(entry: &Entry, path: &Path, further: &str, clients: &str) -> String {
    let sharing = if entry.connections == Connections::Client { "client" } else { "database" };
    let options: String = entry.options.iter().map(|(name, value)| format!("option\t{name}\t{value}\n")).collect();
    let text = format!(
        "contend-plan 3\nworker\t0\ndriver\t{}\t{}\nconnections\t{sharing}\nwindow\t0\t0\t2000000000\nnow\tfixed\t0\t1000000000\n\
         option\tbusy_timeout_ms\t50\n{options}{further}database\t{}\nreadback\tjournal_mode\tPRAGMA journal_mode\n{TRANSACTIONS}{clients}end\n",
        entry.driver,
        entry.model,
        path.display()
    );
    complete(&text, Brackets::Quote)
}

fn database(path: &Path) {
    let made = Connection::open(path).and_then(|c| {
        c.execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL, none TEXT);
             INSERT INTO item VALUES (10, 'pen', 0.25, NULL), (9007199254740993, 'far', -3.0, NULL)",
        )
    });
    made.expect("a database");
}

/// A server and one connection to it that is kept alive.
struct Asked {
    stream: BufReader<TcpStream>,
}

/// Status, code of the engine, and body.
type Answer = (u16, String, Value);

impl Asked {
    fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        Self { stream: BufReader::new(stream) }
    }

    fn ask(&mut self, method: &str, target: &str) -> Answer {
        self.ask_with(SECRET, method, target)
    }

    fn ask_with(&mut self, header: &str, method: &str, target: &str) -> Answer {
        let request = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n");
        self.stream.get_mut().write_all(request.as_bytes()).expect("it listens");
        let mut line = || {
            let mut line = String::new();
            self.stream.read_line(&mut line).expect("it answers in time");
            line.trim_end().to_string()
        };
        let status = line().split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let (mut code, mut length) = (String::new(), 0);
        loop {
            let header = line();
            let Some((name, value)) = header.split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "contend-code" => code = value.trim().to_string(),
                "content-length" => length = value.trim().parse().expect("a length"),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("a body of that length");
        (status, code, serde_json::from_slice(&body).expect("the body is JSON"))
    }
}

/// Starts the worker's serve mode; the address it answers at.
fn serve(command: &[String], plan: &str, log: &Path) -> (Worker, String, usize) {
    let command: Vec<String> = command.iter().cloned().chain(["serve".to_string()]).collect();
    let mut worker = Worker::start(&command, log).expect("a worker that serves");
    worker.say(&ToolLine::Plan(plan.len()), plan.as_bytes()).expect("it listens");
    let mut sessions = 0;
    loop {
        match worker.hear().expect("an answer to the plan").0 {
            WorkerLine::Session(facts) => {
                assert_eq!(fact(&facts, "journal_mode"), Some("wal"), "{facts:?}");
                sessions += 1;
            }
            WorkerLine::Serving(url) => {
                let address = url.strip_prefix("http://").expect("an address of HTTP").to_string();
                return (worker, address, sessions);
            }
            other => panic!("answered a plan with {other:?}"),
        }
    }
}

fn contents(witness: &mut Worker, path: &Path) -> String {
    let read = rows(witness, "rusqlite", &path.display().to_string(), "SELECT * FROM item ORDER BY id");
    read.unwrap_or_else(|problem| match problem {
        Problem::Wrong(words) => panic!("{words}"),
    })
}

/// The operations in the worker's own process.
fn carried_out(entry: &Entry, command: &[String], dir: &Path, database: &Path) -> Ran {
    let operations: String = OPERATIONS.iter().map(|(op, ..)| format!("{op}\n")).collect();
    let clients = format!("clients\t1\nclient\t0\t0\tclosed\tfinite\t{0}\t0\t{0}\n{operations}", OPERATIONS.len());
    let own = plan(entry, database, "", &clients);
    Plan::decode(&own).expect("the plan is right");
    let mut worker = Worker::start(command, &dir.join("own.log")).expect("a worker");
    worker.plan(&own).expect("an answer").expect("the plan is accepted");
    worker.run(None).expect("a run")
}

fn check(entry: &Entry, command: &[String], dir: &Path) {
    let name = entry.name();
    let (asked_path, own_path) = (dir.join("asked.db"), dir.join("own.db"));
    database(&asked_path);
    database(&own_path);
    let ran = carried_out(entry, command, dir, &own_path);
    // And asked for.
    let asked = plan(entry, &asked_path, "option\tsecret\tgeheim\n", "clients\t0\n");
    let (mut worker, address, sessions) = serve(command, &asked, &dir.join("log"));
    assert_eq!(sessions, if entry.connections == Connections::Client { 1 } else { entry.opens }, "{name}");
    let mut client = Asked::connect(&address);
    let answers: Vec<Answer> = OPERATIONS.iter().map(|(_, target, _)| client.ask("GET", target)).collect();
    for ((op, _, status), ((found, code, body), sample)) in OPERATIONS.iter().zip(answers.iter().zip(&ran.samples)) {
        assert_eq!(found, status, "{name}: {op}: {body}");
        let own = if sample.is_ok() { String::new() } else { format!("{}:{}", sample.code_space.word(), sample.code) };
        assert_eq!(*code, own, "{name}: {op}: the code in process and over HTTP");
    }
    let far = json!({"id": 9_007_199_254_740_993_i64, "name": "far", "price": -3.0, "none": null});
    let pen = json!({"id": 10, "name": "pen", "price": 0.25, "none": null});
    assert_eq!(answers[0].2, json!({"rows": [pen, far]}), "{name}");
    assert_eq!(answers[5].2["rows"][0], json!({"id": 2, "name": null, "price": 1.5, "none": null}), "{name}");
    let (own_rows, asked_rows) = {
        let mut witness = witness(dir);
        (contents(&mut witness, &own_path), contents(&mut witness, &asked_path))
    };
    assert_eq!(asked_rows, own_rows, "{name}: the data, asked for over HTTP and carried out in process");
    for (method, target, status) in [
        ("GET", "/get%20items", 400),
        ("GET", "/get%20items?p0=T1", 400),
        ("GET", "/get%20items?p0=7", 400),
        ("GET", "/get%20items?p0=i1&p1=i1", 400),
        ("GET", "/nothing", 404),
        ("POST", "/double?p0=tx", 405),
        ("GET", "/add?u1=i1&p0=n&u0=i0", 400),
    ] {
        assert_eq!(Asked::connect(&address).ask(method, target).0, status, "{name}: {method} {target}");
    }
    for header in ["", "contend-secret: \r\n", "contend-secret: geheim2\r\n", "contend-secret: GEHEIM\r\n"] {
        let answer = Asked::connect(&address).ask_with(header, "GET", "/add?p0=n&u0=i5&u1=i6");
        assert_eq!(answer.0, 403, "{name}: {header}: {answer:?}");
    }
    // Those that were refused are no operations, those that failed are.
    assert_eq!(client.ask("GET", "/count").2, json!({"rows": [{"at": OPERATIONS.len()}]}), "{name}");
    let lock = Connection::open(&asked_path).expect("the database");
    lock.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    let (status, code, _) = client.ask("GET", "/double?p0=tx");
    assert_eq!((status, code.as_str()), (500, "sqlite:5"), "{name}: somebody holds the lock");
    drop(lock);
    worker.say(&ToolLine::Stop, b"").expect("it listens");
    match worker.hear().expect("an answer to `stop`").0 {
        WorkerLine::Done(facts) => {
            let told = ["requests", "failed"].map(|key| fact(&facts, key).and_then(|n| n.parse::<u64>().ok()));
            assert_eq!(told, [Some(15), Some(10)], "{name}: {facts:?}");
            assert!(fact(&facts, "connections_opened").is_some(), "{name}: {facts:?}");
        }
        other => panic!("{name}: answered `stop` with {other:?}"),
    }
    assert!(TcpStream::connect(&address).is_err(), "{name}: a stopped server accepts no connection");
    worker.say(&ToolLine::Quit, b"").expect("it listens");
    assert!(worker.leaves(Duration::from_secs(60)).is_some(), "{name}: it must leave when told to");
}

fn witness(dir: &Path) -> Worker {
    Worker::start(&[tool().to_string(), "worker".into()], &dir.join("witness.log")).expect("ours")
}

#[test]
fn every_worker_serves_what_it_carries_out() {
    let bench = support::Bench::new();
    let only = std::env::var("CONTEND_CONFORMANCE").unwrap_or_default();
    let chosen = ENTRIES.iter().filter(|e| e.engine == "sqlite" && !e.lacks.contains(&"serve"));
    let mut tested = 0;
    for entry in chosen.filter(|e| e.name().contains(&only)) {
        let Some(command) = entry.command(tool()) else { continue };
        let dir = bench.path(&format!("serve-{}", entry.name().replace('/', "-")));
        std::fs::create_dir_all(&dir).expect("a directory");
        check(entry, &command, &dir);
        tested += 1;
    }
    assert!(tested > 0, "no worker was tested");
}
