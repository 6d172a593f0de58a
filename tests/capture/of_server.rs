//! The capture of a server is replayed on another database with the same content, and leaves the same rows.

use super::server::Capture;
use super::{has, keeps_pauses, script};
use crate::support::django;
use crate::support::place::{Own, Place};
use crate::support::{Said, root};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

/// What both databases have at the beginning. Notes are unique, and rows refer to accounts.
const CONTENT: &str = "INSERT INTO account (id, v, note) SELECT n, n, concat('it''s ', n) FROM number;";

const OF_POSTGRES: &str = "CREATE TABLE account (id int PRIMARY KEY, v numeric, note text UNIQUE);
CREATE VIEW number AS SELECT generate_series(1, 20) AS n;
CREATE TABLE event (id serial PRIMARY KEY, account int REFERENCES account, at timestamptz, amount numeric, data bytea,
    key uuid, ok boolean, ratio float8);";

const OF_MARIADB: &str =
    "CREATE TABLE account (id int PRIMARY KEY, v double, note varchar(50) UNIQUE, large bigint unsigned);
CREATE VIEW number AS SELECT seq AS n FROM seq_1_to_20;
CREATE TABLE event (id int PRIMARY KEY AUTO_INCREMENT, account int, note text, data blob, at datetime, amount double,
    FOREIGN KEY (account) REFERENCES account (id));";

/// All rows, without those of the view.
const POSTGRES_ROWS: &str = "SELECT a::text FROM account a ORDER BY id; SELECT e::text FROM event e ORDER BY id; SELECT last_value FROM event_id_seq;";
const MARIADB_ROWS: &str = "SELECT * FROM account ORDER BY id; SELECT *, hex(data), hex(note) FROM event ORDER BY id;";

/// A server with the databases `shop`, which is captured, `same`, and `other`, which lacks the account 3.
struct Stage {
    own: Own,
    place: Place,
    is_mariadb: bool,
}

impl Stage {
    fn start(start: fn(&Place) -> Own) -> Stage {
        let place = Place::new();
        let own = start(&place);
        let stage = Stage { is_mariadb: own.dsn("").starts_with("mysql"), own, place };
        for name in ["shop", "same", "other"] {
            stage.own.asked(&format!("CREATE DATABASE {name};"));
            let schema = if stage.is_mariadb { OF_MARIADB } else { OF_POSTGRES };
            stage.asked(name, &format!("{schema}{CONTENT}"));
        }
        stage.asked("other", "DELETE FROM account WHERE id = 3;");
        stage
    }

    fn asked(&self, database: &str, sql: &str) -> String {
        let uses = if self.is_mariadb { format!("USE {database};\n") } else { format!("\\c {database}\n") };
        let said = self.own.asked(&format!("{uses}{sql}"));
        said.lines().filter(|line| !line.starts_with("You are now connected")).collect::<Vec<_>>().join("\n")
    }

    fn rows(&self, database: &str) -> String {
        self.asked(database, if self.is_mariadb { MARIADB_ROWS } else { POSTGRES_ROWS })
    }

    fn capture(&self, values: &str) -> Capture {
        let (scheme, port) = (if self.is_mariadb { "mysql" } else { "postgres" }, self.own.port);
        let to = format!("{scheme}://127.0.0.1:{port}");
        let args = ["capture", "--out", "taken", values, "--listen", "127.0.0.1:0", "--to", &to];
        Capture::start(self.place.command(&args))
    }

    fn to(&self, database: &str) -> String {
        let dsn = self.own.dsn("geheim");
        let (server, _) = dsn.rsplit_once('/').expect("a database");
        format!("{server}/{database}")
    }

    /// Replays on a database; the password is not shown.
    fn replays(&self, database: &str, further: &[&str]) -> Said {
        let to = self.to(database);
        let said = self.place.contend(&[&["replay", "taken", "--to", &to], further].concat());
        assert!(!format!("{said:?}").contains("geheim"), "{said:?}");
        said
    }

    /// The replay on a database with the same content does the same; returns what it left out.
    fn comes_again(&self) -> String {
        let said = self.replays("same", &["--json"]);
        let outcome: Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"));
        assert_eq!(outcome["diverged"].as_array().map(Vec::len), Some(0), "{outcome:#}");
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.err.contains("/same is written to now."), "{said:?}");
        assert_eq!(self.rows("same"), self.rows("shop"), "{outcome:#}");
        assert!(outcome["statements"].as_u64() > Some(60), "{outcome:#}");
        let product = if self.is_mariadb { "MariaDB " } else { "PostgreSQL " };
        assert!(
            outcome["servers"]["captured"].as_str().is_some_and(|version| version.starts_with(product)),
            "{outcome:#}"
        );
        assert_eq!(outcome["servers"]["captured"], outcome["servers"]["replayed"]);
        outcome["left_out"].to_string()
    }

    /// The replay on a database that lacks a row names the statements that need it.
    fn diverges(&self, all: &[&str]) {
        let said = self.replays("other", &[]).exits(1);
        all.iter().for_each(|words| assert!(said.out.contains(words), "{words}: {said:?}"));
        assert!(said.out.contains("Captured on "), "{said:?}");
    }

    /// Without the tables, on another product, without a database, and with options of SQLite.
    fn is_named(&self, tool: &str) {
        self.own.asked("CREATE DATABASE empty;");
        let said = self.replays("empty", &[]).exits(1);
        let needed =
            "lacks tables: it must have the content that the captured database had when the capture began. Copy";
        assert!(said.out.contains(&format!("/empty {needed} that with {tool} before")), "{said:?}");
        let of_other = if self.is_mariadb { "postgres://me@127.0.0.1/a" } else { "mysql://me@127.0.0.1/a" };
        for (args, words) in [
            (&["--to", of_other][..], "and is replayed on a server of the same kind"),
            (&["--to", &self.to("")], "name a database that has the content"),
            (&[], "name a database that has the content of its beginning, --to "),
            (&["--to", &self.to("same"), "--keep", "kept"], "--keep and --skip-refused are for captures of SQLite"),
        ] {
            let said = self.place.contend(&[&["replay", "taken"], args].concat()).exits(2);
            assert!(said.err.contains(words), "{said:?}");
        }
    }
}

#[test]
fn a_program_of_postgres_comes_again() {
    let stage = Stage::start(Own::postgres);
    let capture = stage.capture("--values=full");
    let address = format!("postgres://me:geheim@127.0.0.1:{}/shop", capture.port);
    let args = [&script("postgres_again.py"), &address, &stage.to("shop")];
    let done = Command::new(django::python()).args(args).output().expect("Python");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    // PDO prepares by a message and ends the statement by a text.
    let has_php = has("php", "a replay of DEALLOCATE");
    if has_php {
        let pdo = "$d = new PDO($argv[1], 'me', 'geheim'); $s = $d->prepare('SELECT * FROM account WHERE id < ?'); \
                   $s->execute([5]); $s->fetchAll();";
        let address = format!("pgsql:host=127.0.0.1;port={};dbname=shop", capture.port);
        let done = Command::new("php").args(["-r", pdo, &address]).output().expect("PHP");
        assert!(done.status.success(), "{done:?}");
    }
    capture.end().exits(0);
    let left_out = stage.comes_again();
    let deallocates = "1 statement with DEALLOCATE or EXECUTE of a statement that no text had";
    assert_eq!(left_out.contains(deallocates), has_php, "{left_out}");
    assert!(left_out.contains("1 statement with rows or files (COPY, LOAD DATA, INTO OUTFILE)"), "{left_out}");
    stage.diverges(&[
        "UPDATE account SET v = v + ? WHERE id = ?; UPDATE account SET v = v + ? WHERE id < ?; SELECT ?: 1 times other \
         changes: 3 captured, 2 replayed (the first time).",
        "INSERT INTO event(account, at, amount, data, key, ok, ratio) VALUES (?, ...): 3 times other result: success \
         captured, error 23503 replayed (the first time).",
    ]);
    let note = stage.asked("other", "SELECT note FROM account WHERE id = 12;");
    assert!(note.contains("after a difference"), "the rest of a transaction is carried out: {note}");
    stage.is_named("pg_dump");
}

#[test]
fn programs_of_mariadb_come_again() {
    let (python, php) = (root().join("target/workers/python/venv/bin/python"), std::path::Path::new("php"));
    if !has(&python.display().to_string(), "a replay of MariaDB") || !has("php", "a replay of MariaDB") {
        return;
    }
    let stage = Stage::start(Own::mariadb);
    let capture = stage.capture("--values=full");
    let ports = [capture.port, stage.own.port].map(|port| port.to_string());
    for (program, name) in [(python.as_path(), "mariadb_again.py"), (php, "mariadb_again.php")] {
        let done = Command::new(program).args([&script(name), &ports[0], &ports[1]]).output().expect("a client");
        assert!(done.status.success(), "{name}: {done:?}");
    }
    capture.end().exits(0);
    let left_out = stage.comes_again();
    assert!(
        left_out.contains("1 statement with the name of another database of the server was left out."),
        "{left_out}"
    );
    assert!(left_out.contains("1 statement on the database mysql was left out: "), "{left_out}");
    stage.diverges(&[
        "UPDATE account SET large = ? WHERE id = ?: 1 times other changes: 1 captured, 0 replayed (the first time).",
        "INSERT INTO event(account, note, data) VALUES (?, ...): 3 times other result: success captured, error 1452 \
         replayed (the first time).",
    ]);
    stage.is_named("mariadb-dump");
}

/// Balances, and what was done, without times.
const BALANCES: &str = "SELECT md5(string_agg(a::text, ',' ORDER BY aid)) FROM pgbench_accounts a;
SELECT t::text FROM pgbench_tellers t ORDER BY tid; SELECT b::text FROM pgbench_branches b ORDER BY bid;
SELECT tid, aid, delta, count(*) FROM pgbench_history GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;";

#[test]
fn clients_that_wait_for_each_other_come_again() {
    let stage = Stage::start(Own::postgres);
    let pgbench = |port: u16, database: &str, args: &[&str]| {
        let mut command = Command::new("pgbench");
        command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-U", "me"]).args(args).arg(database);
        let done = command.env("PGPASSWORD", "geheim").output().expect("pgbench");
        assert!(done.status.success(), "{done:?}");
    };
    ["shop", "same"].iter().for_each(|database| pgbench(stage.own.port, database, &["-i", "-q"]));
    let capture = stage.capture("--values=full");
    for protocol in ["simple", "extended", "prepared"] {
        pgbench(capture.port, "shop", &["-n", "-c", "4", "-j", "2", "-t", "50", "-M", protocol]);
    }
    capture.end().exits(0);
    let said = stage.replays("same", &["--json"]).exits(0);
    let outcome: Value = serde_json::from_str(&said.out).expect("JSON");
    assert!(outcome["transactions"].as_u64() >= Some(600), "{outcome:#}");
    assert_eq!(outcome["left_out"].as_array().map(Vec::len), Some(0), "{outcome:#}");
    assert_eq!(stage.asked("same", BALANCES), stage.asked("shop", BALANCES));
}

#[test]
fn a_replay_keeps_the_pauses_of_clients_or_shortens_them() {
    const PAUSE: Duration = Duration::from_millis(1200);
    let stage = Stage::start(Own::postgres);
    let capture = stage.capture("--values=full");
    let mut config = postgres::Config::new();
    config.host("127.0.0.1").port(capture.port).user("me").password("geheim").dbname("shop");
    let mut client = config.connect(postgres::NoTls).expect("connected");
    for _ in 0..2 {
        client.batch_execute("UPDATE account SET v = v + 1 WHERE id = 1").expect("done");
        std::thread::sleep(PAUSE);
    }
    drop(client);
    capture.end().exits(0);
    keeps_pauses(PAUSE, |speed| stage.replays("same", &["--json", "--speed", speed]));
}
