//! `contend capture --listen` in front of a real PostgreSQL: what its clients do is there, what they get is unchanged,
//! and nothing private is kept.

use super::{counts, script, shown};
use crate::support::place::{Own, Place, files, free_port};
use crate::support::{Said, django, wait_for};
use postgres::{Client, NoTls};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// A server whose log has every statement, and a capture of its clients.
struct Stage {
    server: Own,
    place: Place,
}

pub struct Capture {
    pub tool: Child,
    err: BufReader<std::process::ChildStderr>,
    heard: String,
    pub port: u16,
}

impl Stage {
    fn start() -> Stage {
        let place = Place::new();
        Stage { server: Own::postgres_with(&place, "-c log_statement=all -c log_line_prefix="), place }
    }

    fn to(&self) -> String {
        format!("postgres://127.0.0.1:{}", self.server.port)
    }

    fn capture(&self, options: &[&str]) -> Capture {
        Capture::start(self.command(options))
    }

    fn command(&self, options: &[&str]) -> Command {
        let to = self.to();
        let mut args = vec!["capture", "--out", "taken", "--listen", "127.0.0.1:0", "--to", &to];
        args.extend(options);
        self.place.command(&args)
    }

    /// How many statements with this beginning the server executed, by its own log.
    fn logged(&self, begin: &str) -> u64 {
        let log = fs::read_to_string(self.place.bench.path("own-postgres/log")).expect("readable");
        let is_one = |line: &str| {
            let rest = line.strip_prefix("LOG:  ").unwrap_or_default();
            let is_execution = rest.starts_with("execute ") || rest.starts_with("statement: ");
            is_execution && rest.split_once(": ").is_some_and(|(_, sql)| sql.starts_with(begin))
        };
        log.lines().filter(|line| is_one(line)).count() as u64
    }
}

impl Capture {
    pub fn start(mut command: Command) -> Capture {
        let mut tool = command.stderr(Stdio::piped()).spawn().expect("the tool starts");
        let mut err = BufReader::new(tool.stderr.take().expect("piped"));
        let mut heard = String::new();
        err.read_line(&mut heard).expect("a line");
        let port = heard.split_once("port=").and_then(|(_, rest)| rest.split_once(' ')).map(|(port, _)| port.parse());
        let port = port.unwrap_or_else(|| panic!("{heard}")).expect("a port");
        Capture { tool, err, heard, port }
    }

    fn address(&self, parameters: &str) -> String {
        format!("postgres://me@127.0.0.1:{}/postgres{parameters}", self.port)
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .env("PGPASSWORD", "geheim")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.tool.id()).ok().and_then(Pid::from_raw).expect("a process");
        kill_process(pid, signal).expect("there");
    }

    /// Ends it as Ctrl-C does.
    pub fn end(mut self) -> Said {
        self.signal(Signal::INT);
        self.err.read_to_string(&mut self.heard).expect("text");
        Said { code: self.tool.wait().expect("ended").code(), out: String::new(), err: std::mem::take(&mut self.heard) }
    }
}

impl Drop for Capture {
    /// A failed test leaves no proxy behind.
    fn drop(&mut self) {
        let _ = self.tool.kill();
        let _ = self.tool.wait();
    }
}

fn psql(address: &str, sql: &str) -> Output {
    let mut psql = Command::new("psql");
    psql.args([address, "-X", "-A"]).env("PGPASSWORD", "geheim").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut psql = psql.stderr(Stdio::piped()).spawn().expect("psql");
    // One that is refused ends without reading it.
    let _ = psql.stdin.take().expect("piped").write_all(sql.as_bytes());
    psql.wait_with_output().expect("psql")
}

/// One prepared statement, a transaction, and rows in portions.
fn in_rust(port: u16) {
    let mut config = postgres::Config::new();
    config.host("127.0.0.1").port(port).user("me").password("geheim").dbname("postgres").application_name("rusty");
    let mut client: Client = config.connect(NoTls).expect("connected");
    client.batch_execute("CREATE TABLE note (id bigint PRIMARY KEY, body text)").expect("made");
    let insert = client.prepare("INSERT INTO note VALUES ($1, $2)").expect("prepared");
    for id in 0..25_i64 {
        assert_eq!(client.execute(&insert, &[&id, &"secret-note"]).expect("inserted"), 1);
    }
    let mut transaction = client.transaction().expect("begun");
    transaction.execute("UPDATE note SET body = $1 WHERE id < $2", &[&"x", &10_i64]).expect("updated");
    let portal = transaction.bind("SELECT id FROM note ORDER BY id", &[]).expect("bound");
    let mut portions = vec![];
    while portions.last() != Some(&0) && portions.last() != Some(&4) {
        portions.push(transaction.query_portal(&portal, 7).expect("rows").len());
    }
    assert_eq!(portions, [7, 7, 7, 4]);
    transaction.commit().expect("committed");
    assert!(client.execute(&insert, &[&1_i64, &"secret-note"]).is_err());
}

const IN_PSQL: &str = "CREATE TABLE word (t text UNIQUE);
INSERT INTO word VALUES ('secret-word'), (E'it\\'s secret'), ($$secret's$$);
SELECT t FROM word ORDER BY t;
INSERT INTO word VALUES ('secret-word');
BEGIN; INSERT INTO word VALUES ('lost'); SELECT 1/0; COMMIT;
SELECT count(*) FROM word; INSERT INTO word VALUES ('a') \\; INSERT INTO word VALUES ('b');
\\copy word from pstdin
secret-copy
\\.
CREATE ROLE clerk PASSWORD 'secret-password';
SET statement_timeout = 60000;
";

/// Statements in which the captured number must be that of the server's log.
const BEGINS: [&str; 8] =
    ["INSERT INTO thing", "SELECT name", "SELECT count", "INSERT INTO note", "UPDATE", "COMMIT", "COPY", "CREATE"];

fn all_clients(capture: &Capture) {
    let python = django::python();
    let done = capture.command(python, &[&script("postgres.py"), &capture.address("")]).output().expect("Python");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    in_rust(capture.port);
    assert!(psql(&capture.address(""), IN_PSQL).status.success());
}

pub fn errors(summary: &Value) -> Vec<(String, u64)> {
    serde_json::from_value(summary["errors"].clone()).expect("a list")
}

#[test]
fn every_statement_of_three_kinds_of_clients_is_there() {
    let stage = Stage::start();
    let capture = stage.capture(&[]);
    all_clients(&capture);
    let said = capture.end().exits(0);
    assert!(said.err.contains("programs: 3"), "{said:?}");
    let (_, gaps) = said.err.split_once("The capture has gaps:").unwrap_or_else(|| panic!("{said:?}"));
    let gaps: Vec<&str> = gaps.lines().filter(|line| line.starts_with("contend: - ")).collect();
    assert!(
        gaps.iter().all(|gap| gap.contains("used COPY or LOAD DATA LOCAL; the rows are not captured")),
        "nothing else: {gaps:?}"
    );
    let summary = shown(&stage.place.bench);
    for begin in BEGINS {
        // The log has the text of a client, a capture that of a shape.
        assert_eq!(counts(&summary, begin)[0], stage.logged(begin), "{begin}: {summary}");
    }
    assert_eq!(counts(&summary, "INSERT INTO thing"), [71, 0, 70, 1], "calls, rows, changes, failures");
    assert_eq!(counts(&summary, "SELECT name"), [40, (1..=40).sum(), 0, 0]);
    assert_eq!(counts(&summary, "INSERT INTO note"), [26, 0, 25, 1]);
    assert_eq!(counts(&summary, "SELECT id FROM note"), [1, 25, 0, 0], "four portions are one execution");
    assert_eq!(counts(&summary, "COPY thing")[2], 20);
    assert_eq!(counts(&summary, "FETCH")[1], 70);
    let by_code = errors(&summary);
    for (code, count) in [("23505", 3), ("55P03", 3), ("22012", 1), ("25P02", 1)] {
        assert!(by_code.contains(&(code.to_string(), count)), "{code}: {by_code:?}");
    }
    assert_eq!(summary["lock_errors"], 3);
    let settings = summary["connections"].to_string();
    assert!(settings.contains("PostgreSQL 1") && settings.contains("set statement_timeout = 60000"), "{settings}");
    assert!(settings.contains("COPY or LOAD DATA LOCAL (the rows are not captured)"), "{settings}");
    let transaction = |begin: &str| {
        let all = summary["transactions"].as_array().expect("a list").iter();
        all.filter(|kind| kind["statements"][0][0].as_str().is_some_and(|text| text.starts_with(begin)))
            .cloned()
            .collect::<Vec<_>>()
    };
    let updates = transaction("UPDATE note");
    assert_eq!((updates.len(), &updates[0]["committed"], &updates[0]["begin"]), (1, &1.into(), &"deferred".into()));
    let inserts = transaction("INSERT INTO thing VALUES");
    assert_eq!(inserts[0]["committed"], 40, "an INSERT and a SELECT each: {inserts:?}");
    let text = stage.place.contend(&["capture", "show", "taken"]).exits(0).out;
    assert!(text.contains("in the server") && text.contains("Errors by code (SQLSTATE): "), "{text}");
    assert!(!text.contains("busy timeout") && !text.contains("of it waiting"), "{text}");
}

#[test]
fn no_value_and_no_password_is_kept() {
    for (values, is_full) in [("--values=hash", false), ("--values=full", true)] {
        let stage = Stage::start();
        let capture = stage.capture(&[values]);
        all_clients(&capture);
        let said = capture.end().exits(0);
        assert_eq!(said.err.contains("ALL VALUES"), is_full, "{said:?}");
        let has = |dir: &str, value: &str| {
            let all = files(&stage.place.bench.path(dir));
            assert!(all.len() > 2, "{all:?}");
            let is_in = |file: &PathBuf| super::content(file).windows(value.len()).any(|part| part == value.as_bytes());
            all.iter().any(is_in)
        };
        for password in ["geheim", "secret-password"] {
            assert!(!has("taken", password) && !said.err.contains(password), "{password}");
        }
        for value in ["secret-word", "it's secret", "secret's", "secret-note", "secret-3"] {
            assert_eq!(has("taken", value) || has("taken", &value.replace('\'', "''")), is_full, "{value}");
        }
        assert!(!has("taken", "secret-cop"), "rows of COPY");
        for file in files(&stage.place.bench.path("taken")) {
            assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o600, "{}", file.display());
        }
        if is_full {
            stage.place.contend(&["capture", "anonymise", "taken", "--out", "hashed"]).exits(0);
            assert!(!has("hashed", "secret"), "anonymised");
            let kinds = |dir: &str| {
                let said = stage.place.contend(&["capture", "show", dir, "--json"]).exits(0);
                let mut summary: Value = serde_json::from_str(&said.out).expect("JSON");
                // A password's stand-in has another one.
                let kinds = summary["transactions"].as_array_mut().expect("a list");
                kinds.retain(|kind| !kind["statements"].to_string().contains("CREATE ROLE"));
                (summary["transactions"].clone(), summary["errors"].clone(), summary["keys"].clone())
            };
            assert_eq!(kinds("taken"), kinds("hashed"));
        }
    }
}

#[test]
fn clients_get_the_same_as_without_the_proxy() {
    let stage = Stage::start();
    let script =
        "SELECT 1; SELEC; SELECT repeat('x', 3000000); COPY (SELECT g FROM generate_series(1, 50000) g) TO STDOUT;
        SELECT 1/0; SELECT NULL, current_database(), 'it''s'; LISTEN a; NOTIFY a; SELECT 1 WHERE false; \\; ;";
    let direct = psql(&format!("postgres://me@127.0.0.1:{}/postgres", stage.server.port), script);
    let capture = stage.capture(&[]);
    let through = psql(&capture.address("?sslmode=prefer"), script);
    let pids = |output: &Output| {
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter(|line| !line.contains("PID"))
            .map(str::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(pids(&direct), pids(&through));
    assert_eq!((direct.status, direct.stderr), (through.status, through.stderr));
    let wrong = capture
        .command("psql", &[&capture.address(""), "-c", "SELECT 1"])
        .env("PGPASSWORD", "falsch")
        .output()
        .expect("psql");
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("password authentication failed"), "{wrong:?}");
    capture.end().exits(0);
}

#[test]
fn cancellation_tls_and_the_end_of_the_capture() {
    let stage = Stage::start();
    let capture = stage.capture(&[]);
    let insists =
        capture.command("psql", &[&capture.address("?sslmode=require"), "-c", "SELECT 1"]).output().expect("psql");
    assert!(String::from_utf8_lossy(&insists.stderr).contains("does not support SSL"), "{insists:?}");
    let sleeper = capture.command("psql", &[&capture.address(""), "-c", "SELECT pg_sleep(100)"]).spawn().expect("psql");
    wait_for("the statement", || {
        stage.server.asked("SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(100)'") == "1"
    });
    kill_process(Pid::from_child(&sleeper), Signal::INT).expect("there");
    let cancelled = sleeper.wait_with_output().expect("psql");
    assert!(String::from_utf8_lossy(&cancelled.stderr).contains("canceling statement"), "{cancelled:?}");
    let mut idle = capture.command("psql", &[&capture.address("")]).spawn().expect("psql");
    wait_for("a connection", || {
        stage.server.asked("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'psql'") == "2"
    });
    let said = capture.end().exits(0);
    assert!(
        said.err.contains("A client insists on TLS") && said.err.contains("1 connections were still open"),
        "{said:?}"
    );
    assert!(said.err.contains("The capture has gaps:"), "{said:?}");
    for words in [
        "A study is made of captures of SQLite only",
        "write a workload file",
        "this needs a capture with --values=full",
    ] {
        assert!(said.err.contains(words), "{words}: {said:?}");
    }
    drop(idle.stdin.take());
    idle.wait().expect("ended");
    assert_eq!(errors(&shown(&stage.place.bench)), [("57014".to_string(), 1)]);
    hashes_of_a_server_are_refused(&stage.place);
}

/// Neither a replay nor a workload can be made of a server's capture with hashes.
pub fn hashes_of_a_server_are_refused(place: &Place) {
    for (args, words) in [
        (&["replay", "taken", "--to", "postgres://me@127.0.0.1/shop"][..], "capture again with --values=full"),
        (&["capture", "to-workload", "taken"], "A workload is made of captures of SQLite only"),
        (&["run", "taken", "--quick"], "`contend capture to-workload taken` says why"),
    ] {
        let said = place.contend(args).exits(2);
        assert!(said.err.contains(words), "{said:?}");
    }
}

#[test]
fn a_killed_proxy_leaves_what_is_older_than_a_moment() {
    let stage = Stage::start();
    let mut capture = stage.capture(&[]);
    assert!(psql(&capture.address(""), "CREATE TABLE a (b int); INSERT INTO a VALUES (1);").status.success());
    let segments = stage.place.bench.path("taken/segments");
    wait_for("the records", || {
        let all: Vec<Vec<u8>> = files(&segments).iter().map(|file| super::content(file)).collect();
        all.iter().any(|bytes| bytes.windows(13).any(|part| part == b"INSERT INTO a"))
    });
    capture.signal(Signal::KILL);
    capture.tool.wait().expect("ended");
    let said = stage.place.contend(&["capture", "show", "taken"]).exits(0);
    assert!(said.out.contains("The capture is incomplete") && said.out.contains("INSERT INTO a"), "{said:?}");
}

/// The same command with at most 154 open files, and fewer by default.
fn limited(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -Sn 100; ulimit -Hn 154; exec \"$@\"", "sh"]);
    shell.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    if let Some(dir) = command.get_current_dir() {
        shell.current_dir(dir);
    }
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}

#[test]
fn a_client_beyond_the_most_connections_is_refused_and_said() {
    // A quarter of the files may be those of segments without a client.
    const MOST: usize = (154 - 64 - 154 / 4) / 3;
    let stage = Stage::start();
    let capture = Capture::start(limited(&stage.command(&[])));
    let login = || {
        let body = b"\0\x03\0\0user\0me\0database\0postgres\0\0";
        let mut client = std::net::TcpStream::connect(("127.0.0.1", capture.port)).expect("connected");
        let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
        client.write_all(&[&length[..], body].concat()).expect("sent");
        let mut answer = [0];
        client.read_exact(&mut answer).expect("an answer");
        assert_eq!(&answer, b"R", "the server asks for a password");
        client
    };
    let sleeper = capture.command("psql", &[&capture.address(""), "-c", "SELECT pg_sleep(100)"]).spawn().expect("psql");
    wait_for("the statement", || {
        stage.server.asked("SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(100)'") == "1"
    });
    let all: Vec<_> = (1..MOST).map(|_| login()).collect();
    // With its default sslmode, psql asks for encryption first.
    let refused = psql(&capture.address(""), "SELECT 1");
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(text.contains(&format!("contend capture has {MOST} connections already")), "{refused:?}");
    // A cancellation is no further connection.
    kill_process(Pid::from_child(&sleeper), Signal::INT).expect("there");
    let cancelled = sleeper.wait_with_output().expect("psql");
    assert!(String::from_utf8_lossy(&cancelled.stderr).contains("canceling statement"), "{cancelled:?}");
    drop(all);
    wait_for("a place", || psql(&capture.address(""), "SELECT 1").status.success());
    let said = capture.end();
    let words = format!("more than {MOST} connections at the same time");
    assert!(said.code == Some(0) && said.err.contains(&words), "{said:?}");
}

#[test]
fn addresses_that_cannot_be_captured_are_refused() {
    let place = Place::new();
    let nobody = format!("postgres://127.0.0.1:{}", free_port());
    for (args, words) in [
        (&["--listen", "127.0.0.1:0"][..], "--to"),
        (&["--listen", "127.0.0.1:0", "--to", &nobody], "cannot reach"),
        (&["--listen", "0.0.0.0:0", "--to", &nobody], "only an address of this machine"),
        (&["--listen", "127.0.0.1:0", "--to", "mysql://me:geheim@127.0.0.1:1"], "leave out the password"),
        (&["--listen", "127.0.0.1:0", "--to", "postgres://me:geheim@127.0.0.1:1/d"], "leave out the password"),
        (&["--listen", "127.0.0.1:0", "--to", "postgres://me@h/d?password_env=P"], "leave out the password"),
        (&["--listen", "127.0.0.1:0", "--to", &nobody, "--", "true"], "cannot be used with"),
    ] {
        let said = place.contend(&[&["capture"], args].concat()).exits(2);
        assert!(said.err.contains(words) && !said.err.contains("geheim"), "{args:?}: {said:?}");
        assert!(!place.bench.path("capture-1").exists(), "{args:?}");
    }
}
