//! `contend capture --listen` in front of a real MariaDB: what its clients do is there, what they get is unchanged, and
//! nothing private is kept.

use super::server::{Capture, errors, hashes_of_a_server_are_refused};
use super::{content, counts, has, script, shown};
use crate::support::place::{Own, Place, files, free_port, is_root};
use crate::support::{root, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// A server whose log has every statement, and a database `shop`.
struct Stage {
    server: Own,
    place: Place,
}

impl Stage {
    fn start() -> Stage {
        let place = Place::new();
        let server = Own::mariadb(&place);
        let log = place.bench.path("own-mysql/general");
        server.asked(&format!(
            "CREATE DATABASE shop; SET GLOBAL max_allowed_packet = 67108864; SET GLOBAL general_log_file = '{}'; \
             SET GLOBAL general_log = 1",
            log.display()
        ));
        Stage { server, place }
    }

    fn capture(&self, options: &[&str]) -> Capture {
        capture(&self.place, self.server.port, options)
    }

    /// How many statements with this beginning the server executed, by its own log.
    fn logged(&self, begin: &str) -> u64 {
        let log = fs::read(self.place.bench.path("own-mysql/general")).expect("readable");
        let log = String::from_utf8_lossy(&log);
        let is_one = |line: &&str| {
            let told = line.split_once(" Query\t").or_else(|| line.split_once(" Execute\t"));
            told.is_some_and(|(_, sql)| sql.starts_with(begin))
        };
        log.lines().filter(is_one).count() as u64
    }
}

fn capture(place: &Place, port: u16, options: &[&str]) -> Capture {
    let to = format!("mysql://me@127.0.0.1:{port}/shop");
    let mut args = vec!["capture", "--out", "taken", "--listen", "127.0.0.1:0", "--to", &to];
    args.extend(options);
    Capture::start(place.command(&args))
}

fn shell(port: u16, options: &[&str], sql: &str) -> Output {
    let mut shell = Command::new("mariadb");
    shell.args(["--no-defaults", "-h127.0.0.1", "-P", &port.to_string(), "-ume", "-f", "-t"]).args(options);
    shell.env("MYSQL_PWD", "geheim").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut shell = shell.spawn().expect("mariadb");
    // One that is refused ends without reading it.
    let _ = shell.stdin.take().expect("piped").write_all(sql.as_bytes());
    shell.wait_with_output().expect("mariadb")
}

fn succeeds(program: &Path, script_name: &str, port: u16) {
    let mut command = Command::new(program);
    command.args([&script(script_name), &port.to_string()]);
    command.env("NODE_PATH", root().join("target/workers/node/node_modules"));
    let done = command.output().expect("a client");
    assert!(done.status.success(), "{script_name}: {done:?}");
}

/// Carries out what each client does; returns how many clients there are.
fn all_clients(port: u16, dir: &Path) -> usize {
    let mut clients = 1;
    let workers = root().join("target/workers");
    for (program, name) in [
        (workers.join("python/venv/bin/python").as_path(), "mariadb.py"),
        (Path::new("php"), "mariadb.php"),
        (Path::new("node"), "mariadb.js"),
    ] {
        if has(&program.display().to_string(), name) {
            succeeds(program, name, port);
            clients += 1;
        }
    }
    let file = dir.join("rows.csv");
    fs::write(&file, "1000\tsecret-copied\n1001\tsecret-copied\n").expect("written");
    let sql = format!(
        "CREATE TABLE pair (a int PRIMARY KEY, b text);
        LOAD DATA LOCAL INFILE '{}' INTO TABLE pair;
        INSERT INTO pair VALUES (1, \"secret-double\"), (2, 'it\\'s secret'), (3, _utf8mb4'secret-3');
        INSERT INTO pair VALUES (1, 'lost') # secret-comment
        ; SELECT b FROM pair ORDER BY a;
        CREATE USER clerk IDENTIFIED BY 'secret-password';
        SET innodb_lock_wait_timeout = 7; SET @who = 'secret-variable';
        SET sql_mode = 'ANSI_QUOTES'; SELECT \"b\" FROM pair WHERE a = 2; SELECT missing FROM pair;
        SET autocommit = 0; DELETE FROM pair WHERE a = 2; ROLLBACK;",
        file.display()
    );
    assert!(shell(port, &["--local-infile=1", "shop"], &sql).status.success());
    clients
}

/// Statements in which the captured number must be that of the server's log.
const BEGINS: [&str; 8] = [
    "INSERT INTO thing",
    "SELECT name",
    "UPDATE thing",
    "INSERT INTO note",
    "INSERT INTO word",
    "INSERT INTO pair",
    "COMMIT",
    "LOAD DATA",
];

#[test]
fn every_statement_of_four_kinds_of_clients_is_there() {
    let stage = Stage::start();
    let capture = stage.capture(&[]);
    let clients = all_clients(capture.port, stage.place.bench.dir.path());
    let said = capture.end().exits(0);
    let summary = shown(&stage.place.bench);
    if clients < 4 {
        return;
    }
    let (_, gaps) = said.err.split_once("The capture has gaps:").unwrap_or_else(|| panic!("{said:?}"));
    let gaps: Vec<&str> = gaps.lines().filter(|line| line.starts_with("contend: - ")).collect();
    let (long, others): (Vec<&str>, Vec<&str>) = gaps.iter().partition(|gap| gap.contains("a_text_of_more_than_1_MiB"));
    assert!(long.len() == 1 && others.iter().all(|gap| gap.contains("LOAD DATA LOCAL")), "nothing else: {gaps:?}");
    for begin in BEGINS {
        let sent = stage.logged(begin);
        assert!(sent > 0 && counts(&summary, begin)[0] == sent, "{begin}: {sent}: {summary:#}");
    }
    let by_change = counts(&summary, "ROLLBACK of a reset connection")[0];
    assert_eq!((counts(&summary, "ROLLBACK")[0] - by_change, by_change), (stage.logged("ROLLBACK"), 1));
    assert_eq!(counts(&summary, "INSERT INTO thing"), [41, 0, 40, 1], "calls, rows, changes, failures");
    assert_eq!(counts(&summary, "SELECT name"), [40, (1..=40).sum(), 0, 0]);
    assert_eq!(counts(&summary, "SELECT ?; SELECT id"), [1, 41, 4, 0], "three results, the last of an UPDATE");
    assert_eq!(counts(&summary, "INSERT INTO note"), [26, 0, 25, 1]);
    assert_eq!(counts(&summary, "SELECT id FROM note"), [1, 25, 0, 0], "the portions are one execution");
    assert_eq!(counts(&summary, "SELECT body, price"), [7, 7, 0, 0]);
    assert_eq!(counts(&summary, "SELECT t FROM word"), [1, 20, 0, 0]);
    assert_eq!(counts(&summary, "LOAD DATA"), [1, 0, 2, 0]);
    assert_eq!(counts(&summary, "SELECT body FROM large"), [1, 1, 0, 0]);
    let by_number = errors(&summary);
    for (number, count) in [("1062", 3), ("1205", 1), ("1213", 1), ("1054", 1)] {
        assert!(by_number.contains(&(number.to_string(), count)), "{number}: {by_number:?}");
    }
    assert_eq!(summary["lock_errors"], 2);
    check_transactions(&summary);
    let text = stage.place.contend(&["capture", "show", "taken"]).exits(0).out;
    assert!(text.contains("in the server") && text.contains("Errors by number: 1062 3 times"), "{text}");
    stage.place.contend(&["capture", "show", "taken", "--page", "page.html"]).exits(0);
}

fn check_transactions(summary: &Value) {
    let transactions = |begin: &str| {
        let all = summary["transactions"].as_array().expect("a list").iter();
        all.filter(|kind| kind["statements"][0][0].as_str().is_some_and(|text| text.starts_with(begin)))
            .cloned()
            .collect::<Vec<_>>()
    };
    let inserts = transactions("INSERT INTO thing");
    let pairs = inserts.iter().find(|kind| kind["committed"] == 40).unwrap_or_else(|| panic!("{inserts:#?}"));
    assert_eq!(pairs["statements"].as_array().map(Vec::len), Some(2), "INSERT and SELECT until COMMIT: {pairs:#}");
    let updates = transactions("UPDATE note");
    assert_eq!((updates.len(), &updates[0]["committed"], &updates[0]["begin"]), (1, &1.into(), &"deferred".into()));
    let deleted = transactions("DELETE FROM note");
    assert_eq!((deleted.len(), &deleted[0]["rolled_back"]), (1, &1.into()), "by the change of the user: {deleted:#?}");
    let deleted = transactions("DELETE FROM pair");
    assert_eq!((deleted.len(), &deleted[0]["rolled_back"]), (1, &1.into()), "autocommit is off: {deleted:#?}");
    let settings = summary["connections"].to_string();
    assert!(settings.contains("MariaDB 1") && settings.contains("set innodb_lock_wait_timeout = 7"), "{settings}");
    let roles = summary["roles"].to_string();
    assert!(roles.contains("shop") && roles.contains("mariadb") || roles.contains("mysql"), "{roles}");
}

#[test]
fn no_value_and_no_password_is_kept() {
    for (values, is_full) in [("--values=hash", false), ("--values=full", true)] {
        let stage = Stage::start();
        let capture = stage.capture(&[values]);
        let clients = all_clients(capture.port, stage.place.bench.dir.path());
        let said = capture.end().exits(0);
        assert_eq!(said.err.contains("ALL VALUES"), is_full, "{said:?}");
        let is_kept = |dir: &str, value: &str| {
            let all = files(&stage.place.bench.path(dir));
            assert!(all.len() > 2, "{all:?}");
            all.iter().any(|file| content(file).windows(value.len()).any(|part| part == value.as_bytes()))
        };
        for password in ["geheim", "secret-password", "secret-comment", "secret-copied"] {
            assert!(!is_kept("taken", password) && !said.err.contains(password), "{password}");
        }
        let mut values = vec!["secret-double", "it''s secret", "secret-3", "secret-variable"];
        if clients == 4 {
            values.extend(["secret-1", "secret''s", "secret-note", "secret-update", "secret-long-data", "secret-word"]);
        }
        for value in values {
            assert_eq!(is_kept("taken", value), is_full, "{value}");
        }
        if is_full {
            stage.place.contend(&["capture", "anonymise", "taken", "--out", "hashed"]).exits(0);
            assert!(!is_kept("hashed", "secret"), "anonymised");
        } else {
            assert!(!is_kept("taken", "secret"), "in no form");
        }
    }
}

#[test]
fn clients_get_the_same_as_without_the_proxy() {
    let stage = Stage::start();
    let script =
        "SELECT 1; SELEC; SELECT repeat('x', 3000000); SELECT * FROM seq_1_to_50000; SELECT 1/0, NULL, 'it''s';
        SHOW WARNINGS; SELECT 1 FROM dual WHERE false; /*!50001 SELECT '2' */; DO 1; SELECT repeat('y', 17000000) AS z;
        delimiter //\nCREATE PROCEDURE shop.p() BEGIN SELECT 1; SELECT 2, 3; END//\nCALL shop.p()//\n\
        DROP PROCEDURE shop.p//\n";
    let options = ["--max-allowed-packet=64M"];
    let direct = shell(stage.server.port, &options, script);
    let capture = stage.capture(&[]);
    let through = shell(capture.port, &options, script);
    assert!(direct.stdout == through.stdout && direct.stdout.len() > 20_000_000);
    assert_eq!((direct.status, direct.stderr), (through.status, through.stderr));
    let wrong = Command::new("mariadb")
        .args(["--no-defaults", "-h127.0.0.1", "-P", &capture.port.to_string(), "-ume", "-pfalsch", "-e", "SELECT 1"])
        .output()
        .expect("mariadb");
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("ERROR 1045"), "{wrong:?}");
    let said = capture.end().exits(0);
    assert!(
        said.err
            .contains("The text of 1 statement is not in the capture, which has a_text_whose_version_decides instead"),
        "{said:?}"
    );
    assert_eq!(counts(&shown(&stage.place.bench), "CALL")[..2], [1, 2]);
}

/// A server that offers TLS.
struct Tls {
    child: Child,
    port: u16,
}

impl Tls {
    fn start(place: &Place) -> Tls {
        let (dir, port) = (place.bench.path("tls"), free_port());
        fs::create_dir(&dir).expect("created");
        let mut command = Command::new("sh");
        if is_root() {
            Command::new("chown").arg("nobody").arg(&dir).status().expect("chown");
            command = Command::new("setpriv");
            command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups", "sh"]);
        }
        let script = format!(
            "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=h -days 2 -keyout {d}/key -out {d}/cert 2>/dev/null && \
             mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db \
             --skip-name-resolve --datadir={d}/data --tmpdir={d}/data >/dev/null 2>&1 && \
             echo \"GRANT ALL ON *.* TO me@'127.0.0.1' IDENTIFIED BY 'geheim';\" >{d}/init && \
             PATH=$PATH:/usr/sbin exec mariadbd --no-defaults --datadir={d}/data --tmpdir={d}/data --port={port} \
             --bind-address=127.0.0.1 --socket={d}/s --pid-file={d}/pid --init-file={d}/init --ssl-cert={d}/cert \
             --ssl-key={d}/key 2>{d}/log",
            d = dir.display(),
        );
        let child = command.args(["-c", &script]).current_dir("/").stdout(Stdio::null()).spawn().expect("a shell");
        let is_ready = || fs::read_to_string(dir.join("log")).is_ok_and(|log| log.contains("ready for connections"));
        wait_for("the server with TLS", is_ready);
        Tls { child, port }
    }
}

impl Drop for Tls {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

#[test]
fn clients_that_prefer_tls_go_on_without_it_and_others_are_reported() {
    const CIPHER: &str = "SHOW STATUS LIKE 'Ssl_cipher'; SELECT 'cipher'";
    let place = Place::new();
    let server = Tls::start(&place);
    let text = |output: &Output| String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    // This client uses TLS with --ssl if it is offered, and insists on it only to verify the server.
    let direct = text(&shell(server.port, &["--ssl"], CIPHER));
    assert!(direct.contains("TLS"), "the server offers it: {direct}");
    let capture = capture(&place, server.port, &[]);
    let through = text(&shell(capture.port, &[], CIPHER));
    assert!(through.contains("cipher") && !through.contains("TLS"), "{through}");
    let insists = text(&shell(capture.port, &["--ssl", "--ssl-verify-server-cert"], CIPHER));
    assert!(insists.contains("SSL"), "{insists}");
    // Most other clients end at a greeting without TLS.
    let mut other = std::net::TcpStream::connect(("127.0.0.1", capture.port)).expect("connected");
    assert!(other.read(&mut [0; 1 << 10]).expect("a greeting") > 60);
    drop(other);
    assert!(shell(capture.port, &[], "SELECT 1").status.success(), "and others go on");
    let said = capture.end().exits(0);
    assert!(said.err.contains("gave up at the server's greeting"), "{said:?}");
    assert!(said.err.contains("The capture has gaps:"), "{said:?}");
}

#[test]
fn killed_clients_and_the_end_of_the_capture() {
    let stage = Stage::start();
    let capture = stage.capture(&[]);
    let start = |sql: &str| {
        let mut shell = Command::new("mariadb");
        shell.args(["--no-defaults", "-h127.0.0.1", "-P", &capture.port.to_string(), "-ume", "shop", "-e", sql]);
        shell.env("MYSQL_PWD", "geheim").stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("mariadb")
    };
    let asleep = |count: &str| {
        let sql = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'SELECT sleep%'";
        wait_for("the statement", || stage.server.asked(sql) == count);
    };
    let mut killed = start("CREATE TABLE a (b int); BEGIN; INSERT INTO a VALUES (1); SELECT sleep(100)");
    asleep("1");
    killed.kill().and_then(|()| killed.wait()).expect("killed");
    let mut idle = start("SELECT sleep(101)");
    wait_for("the second statement", || {
        let sql = "SELECT count(*) FROM information_schema.processlist WHERE info = 'SELECT sleep(101)'";
        stage.server.asked(sql) == "1"
    });
    let said = capture.end().exits(0);
    assert!(said.err.contains("still open and have been ended"), "{said:?}");
    assert!(!idle.wait().expect("ended").success());
    let summary = shown(&stage.place.bench);
    assert_eq!(counts(&summary, "INSERT INTO a"), [1, 0, 1, 0]);
    assert_eq!(counts(&summary, "SELECT sleep"), [2, 0, 0, 0], "unanswered: {summary:#}");
    let all = summary["transactions"].as_array().expect("a list");
    let with = |begin: &str| all.iter().find(|kind| kind["statements"].to_string().contains(begin)).cloned();
    assert_eq!(with("INSERT INTO a").expect("a transaction")["committed"], 0, "{summary:#}");
    hashes_of_a_server_are_refused(&stage.place);
}

#[test]
fn a_killed_proxy_leaves_what_is_older_than_a_moment() {
    let stage = Stage::start();
    let mut capture = stage.capture(&[]);
    assert!(shell(capture.port, &["shop"], "CREATE TABLE a (b int); INSERT INTO a VALUES (1);").status.success());
    let segments = stage.place.bench.path("taken/segments");
    wait_for("the records", || {
        let all: Vec<Vec<u8>> = files(&segments).iter().map(|file| content(file)).collect();
        all.iter().any(|bytes| bytes.windows(13).any(|part| part == b"INSERT INTO a"))
    });
    capture.signal(Signal::KILL);
    capture.tool.wait().expect("ended");
    let said = stage.place.contend(&["capture", "show", "taken"]).exits(0);
    assert!(said.out.contains("The capture is incomplete") && said.out.contains("INSERT INTO a"), "{said:?}");
}
