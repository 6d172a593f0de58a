//! `contend watch` on real servers that contend did not start: each pathology is planted by sessions of the server's
//! own client, and found with the right session and statement; a server with healthy clients has no finding.

use super::last;
use crate::support::place::{Own, Place};
use crate::wait_for;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

/// A session of the server's own client, which stays open.
struct Session {
    child: Child,
    input: ChildStdin,
    output: std::io::Lines<BufReader<ChildStdout>>,
    id: u64,
}

impl Session {
    fn open(server: &Own) -> Session {
        let port = server.port.to_string();
        let is_mariadb = server.dsn("").starts_with("mysql");
        let mut client = if is_mariadb {
            let mut client = Command::new("mariadb");
            let args = ["--no-defaults", "-h127.0.0.1", "-P", &port, "-ume", "-N", "--unbuffered", "--force", "mysql"];
            client.args(args).env("MYSQL_PWD", "geheim");
            client
        } else {
            let mut client = Command::new("psql");
            client.args([&format!("postgres://me@127.0.0.1:{port}/postgres"), "-Atq"]).env("PGPASSWORD", "geheim");
            client
        };
        client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = client.spawn().expect("the server's client");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut session = Session { child, input, output, id: 0 };
        let own_id = if is_mariadb { "SELECT CONNECTION_ID();" } else { "SELECT pg_backend_pid();" };
        session.id = session.answers(own_id).parse().expect("a number");
        session
    }

    /// Sends statements and does not wait for them.
    fn send(&mut self, sql: &str) {
        writeln!(self.input, "{sql}").expect("it reads");
    }

    /// Sends statements, the last of which answers with one line.
    fn answers(&mut self, sql: &str) -> String {
        self.send(sql);
        self.output.next().expect("a line").expect("text")
    }

    /// Sends statements and waits until they are done.
    fn does(&mut self, sql: &str) {
        assert_eq!(self.answers(&format!("{sql} SELECT 'done';")), "done");
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const TABLE: &str = "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, name VARCHAR(20)); \
    INSERT INTO account VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c');";

/// Longest watch that ends with what it must find.
const SECONDS: u32 = 300;

/// Watches for some seconds, or until a line after `meanwhile` is as wanted; `meanwhile` begins after the first line. The last
/// line.
fn watched(
    place: &Place,
    server: &Own,
    seconds: u32,
    is_as_wanted: &dyn Fn(&Value) -> bool,
    meanwhile: impl FnOnce(),
) -> Value {
    let mut command =
        place.command(&["watch", &server.dsn("geheim"), "--json-line", "--for", &format!("{}s", seconds + 1)]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    lines.next().expect("a line");
    meanwhile();
    let (mut all, mut goes_on) = (vec![], true);
    for line in lines {
        if goes_on && serde_json::from_str(&line).is_ok_and(|line| is_as_wanted(&line)) {
            goes_on = false;
            Command::new("kill").arg("-INT").arg(child.id().to_string()).status().expect("kill");
        }
        all.push(line);
    }
    let output = Output { stdout: all.join("\n").into_bytes(), ..child.wait_with_output().expect("it ends") };
    let shown = format!("{output:?}");
    assert!(!shown.contains("geheim") && !shown.contains("secret"), "{shown}");
    last(&output)
}

/// The same until there is a finding of this kind about this session, if it is not 0; the line and the finding.
#[track_caller]
fn watched_until(
    place: &Place,
    server: &Own,
    (kind, id): (&str, u64),
    is_as_wanted: &dyn Fn(&Value) -> bool,
    meanwhile: impl FnOnce(),
) -> (Value, Value) {
    let is_found = |line: &Value| about(line, kind, id).is_some_and(is_as_wanted);
    let line = watched(place, server, SECONDS, &is_found, meanwhile);
    let found = about(&line, kind, id).unwrap_or_else(|| panic!("no `{kind}` of {id} in {line:#}")).clone();
    (line, found)
}

/// The finding of this kind about this session, or about any.
fn about<'l>(line: &'l Value, kind: &str, id: u64) -> Option<&'l Value> {
    let all = line["findings"].as_array().expect("a list");
    all.iter().find(|finding| finding["kind"] == kind && (id == 0 || finding["client"] == id))
}

fn both(test: impl Fn(&Place, &Own)) {
    let postgres = |place: &Place| Own::postgres_with(place, "-c max_prepared_transactions=2");
    for is_mariadb in [false, true] {
        let place = Place::new();
        let server = if is_mariadb { Own::mariadb(&place) } else { postgres(&place) };
        Session::open(&server).does(TABLE);
        test(&place, &server);
    }
}

#[test]
fn a_transaction_left_open_and_those_that_wait_for_it_are_named() {
    both(|place, server| {
        let (mut left, mut first, mut second) = (Session::open(server), Session::open(server), Session::open(server));
        left.does("BEGIN; UPDATE account SET balance = 77 WHERE name = 'a';");
        first.send("UPDATE account SET balance = 5, name = 'secret' WHERE id = 1;");
        second.send("UPDATE account SET balance = 6 WHERE id = 1;");
        let is_long = |found: &Value| found["blocks"] == 2 && found["longest_wait_ns"].as_u64() >= Some(2_000_000_000);
        let (line, found) = watched_until(place, server, ("idle-in-transaction", left.id), &is_long, || {});
        assert!(is_long(&found), "{found}");
        assert!(
            found["waiting"].as_str().is_some_and(|sql| sql.starts_with("UPDATE account SET balance = ?")),
            "{found}"
        );
        if server.dsn("").starts_with("postgres") {
            assert_eq!(found["last"], "SELECT ?;", "the last statement of the session: {found}");
        }
        assert_eq!(line["findings"].as_array().map(Vec::len), Some(1), "only the root is to blame: {line:#}");
        let output = place.contend(&["watch", &server.dsn("geheim"), "--for", "2s"]).exits(1).out;
        let tree = format!("\n  {} ", left.id);
        // Which of the two waits for the other, too, is up to the server.
        let below = [first.id, second.id].map(|id| output.contains(&format!("\n    {id} ")));
        assert!(output.contains(&tree) && below.contains(&true), "{output}");
        assert!(output.contains("waiting statement") && !output.contains("secret"), "{output}");
    });
}

#[test]
fn a_client_that_works_while_others_wait_for_it_is_named_with_its_statement() {
    both(|place, server| {
        let (mut works, mut waits) = (Session::open(server), Session::open(server));
        let sleep = if server.dsn("").starts_with("mysql") { "SELECT SLEEP(60);" } else { "SELECT pg_sleep(60);" };
        works.does("BEGIN; UPDATE account SET balance = 1 WHERE id = 2;");
        works.send(sleep);
        waits.send("DELETE FROM account WHERE id = 2;");
        let (_, found) = watched_until(place, server, ("blocks-others", works.id), &|_| true, || {});
        assert_eq!(
            found["statement"],
            sleep.replace("60", "?").trim_end_matches(|c| c == ';' && sleep.contains("SLEEP"))
        );
        assert_eq!((&found["blocks"], &found["waiting"]), (&1.into(), &found["waiting"]), "{found}");
    });
}

#[test]
fn deadlocks_are_counted_while_watched() {
    both(|place, server| {
        let has_both = |found: &Value| {
            let statements = found["statements"].as_array().expect("a list").iter().filter_map(Value::as_str);
            let updates = statements.filter(|sql| sql.starts_with("UPDATE account SET")).count();
            (updates, found["statements"].as_array().map(Vec::len)) == (2, Some(2))
        };
        let (_, found) = watched_until(place, server, ("deadlocks", 0), &has_both, || {
            let (mut one, mut other) = (Session::open(server), Session::open(server));
            one.does("BEGIN; UPDATE account SET balance = 1 WHERE id = 1;");
            other.does("BEGIN; UPDATE account SET balance = 1 WHERE id = 2;");
            one.send("UPDATE account SET name = 'secret' WHERE id = 2;");
            other.send("UPDATE account SET balance = 2 WHERE id = 1;");
            // A server reports it once one of the two has ended.
            one.send("ROLLBACK;");
            other.send("ROLLBACK;");
            one.does("");
            other.does("");
        });
        assert!(found["count"] == 1 && has_both(&found), "{found}");
    });
}

#[test]
fn an_old_snapshot_is_named_with_what_it_keeps() {
    both(|place, server| {
        let (mut old, mut writer) = (Session::open(server), Session::open(server));
        let begin = if server.dsn("").starts_with("mysql") {
            "START TRANSACTION"
        } else {
            "BEGIN ISOLATION LEVEL REPEATABLE READ"
        };
        old.answers(&format!("{begin}; SELECT count(*) FROM account;"));
        let is_kept = |found: &Value| found["behind"].as_u64() >= Some(1_000) || found["grown"].as_u64() >= Some(2_000);
        let (_, found) = watched_until(place, server, ("old-snapshot", old.id), &is_kept, || {
            for _ in 0..2_500 {
                writer.send("UPDATE account SET balance = balance + 1 WHERE id = 3;");
            }
            writer.does("");
        });
        assert!(is_kept(&found), "{found}");
    });
}

#[test]
fn a_forgotten_prepared_transaction_is_named() {
    let place = Place::new();
    let server = Own::postgres_with(&place, "-c max_prepared_transactions=2 -c fsync=off");
    let mut session = Session::open(&server);
    session.does(TABLE);
    session.does("BEGIN; UPDATE account SET balance = 0 WHERE id = 1; PREPARE TRANSACTION 'forgotten';");
    session.does("DO $$ BEGIN FOR i IN 1..11000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$;");
    let (_, found) = watched_until(&place, &server, ("held-back", 0), &|_| true, || {});
    assert_eq!(found["by"], "prepared transaction forgotten", "{found}");
}

#[test]
fn a_replication_slot_that_is_not_read_is_named() {
    let place = Place::new();
    let server = Own::postgres_with(&place, "-c wal_level=logical -c fsync=off");
    let mut session = Session::open(&server);
    session.answers("SELECT slot_name FROM pg_create_logical_replication_slot('left_alone', 'pgoutput');");
    session.does("DO $$ BEGIN FOR i IN 1..11000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$;");
    let (_, found) = watched_until(&place, &server, ("held-back", 0), &|_| true, || {});
    assert_eq!(found["by"], "replication slot left_alone", "{found}");
    assert!(found["behind"].as_u64() >= Some(10_000), "{found}");
}

/// A table that is being exported stops the purge.
#[test]
fn a_history_that_no_snapshot_explains_is_found() {
    let place = Place::new();
    let server = Own::mariadb(&place);
    let mut session = Session::open(&server);
    session.does(TABLE);
    session.does("SET GLOBAL innodb_flush_log_at_trx_commit = 0; CREATE TABLE exported (id INTEGER) ENGINE = InnoDB;");
    session.send("DELIMITER //");
    session.send(
        "CREATE PROCEDURE churn(n INT) BEGIN WHILE n > 0 DO UPDATE account SET balance = balance + 1 WHERE id = 1; \
         SET n = n - 1; END WHILE; END//",
    );
    session.send("DELIMITER ;");
    let mut export = Session::open(&server);
    export.does("FLUSH TABLES exported FOR EXPORT;");
    let churns = || session.does("CALL churn(130000);");
    let (_, found) = watched_until(&place, &server, ("history-grows", 0), &|_| true, churns);
    assert!(found["grown"].as_u64() >= Some(100_000) && found["length"].as_u64() >= found["grown"].as_u64(), "{found}");
}

#[test]
fn who_keeps_the_definition_of_a_table_is_named() {
    let place = Place::new();
    let server = Own::mariadb(&place);
    let mut reads = Session::open(&server);
    reads.does(TABLE);
    reads.does("INSTALL SONAME 'metadata_lock_info';");
    let mut alters = Session::open(&server);
    reads.does("BEGIN; SELECT COUNT(*) INTO @rows FROM account;");
    alters.send("ALTER TABLE account ADD COLUMN more INTEGER;");
    let is_long = |found: &Value| found["longest_wait_ns"].as_u64() >= Some(1_000_000_000);
    let (_, found) = watched_until(&place, &server, ("idle-in-transaction", reads.id), &is_long, || {});
    assert_eq!(found["blocks"], 1, "{found}");
    assert!(found["waiting"].as_str().is_some_and(|sql| sql.starts_with("ALTER TABLE account")), "{found}");
    assert!(is_long(&found), "{found}");
}

/// Named and server-wide locks. Without the plugin the holder of the second is not known.
#[test]
fn waits_for_locks_that_are_not_of_rows_are_findings() {
    let place = Place::new();
    let server = Own::mariadb(&place);
    let (mut holds, mut waits) = (Session::open(&server), Session::open(&server));
    holds.does(TABLE);
    holds.does("DO GET_LOCK('secret', 60);");
    waits.send("DO GET_LOCK('secret', 60); DO RELEASE_LOCK('secret');");
    let (_, found) = watched_until(&place, &server, ("blocks-others", holds.id), &|_| true, || {});
    assert_eq!(found["waiting"], "DO GET_LOCK(?, ?)", "{found}");
    holds.does("DO RELEASE_LOCK('secret'); FLUSH TABLES WITH READ LOCK;");
    waits.send("UPDATE account SET balance = 5 WHERE id = 1;");
    let (line, found) = watched_until(&place, &server, ("unknown-holder", 0), &|_| true, || {});
    assert_eq!((&found["lock"], &found["waiters"]), (&"backup lock".into(), &1.into()), "{found}");
    assert_eq!(line["findings"].as_array().map(Vec::len), Some(1), "{line:#}");
    holds.does("UNLOCK TABLES; INSTALL SONAME 'metadata_lock_info'; FLUSH TABLES WITH READ LOCK;");
    waits.send("UPDATE account SET balance = 6 WHERE id = 1;");
    let (_, found) = watched_until(&place, &server, ("blocks-others", holds.id), &|_| true, || {});
    assert!(found["waiting"].as_str().is_some_and(|sql| sql.starts_with("UPDATE account")), "{found}");
}

#[test]
fn dead_rows_that_no_vacuum_removes_are_found() {
    let place = Place::new();
    let server = Own::postgres_with(&place, "-c autovacuum=off -c fsync=off");
    Session::open(&server)
        .does("CREATE TABLE event (id INTEGER); INSERT INTO event SELECT * FROM generate_series(1, 30000);");
    let has_all = |found: &Value| found["dead"] == 20_000 && found["grown"] == 20_000;
    let (_, found) = watched_until(&place, &server, ("dead-rows-grow", 0), &has_all, || {
        // A session counts what it did when it ends.
        Session::open(&server).does("DELETE FROM event WHERE id > 10000;");
    });
    let counts = ["table", "dead", "live", "grown"].map(|key| found[key].clone());
    assert_eq!(counts, ["public.event".into(), 20_000.into(), 10_000.into(), Value::from(20_000)], "{found}");
}

#[test]
fn a_server_with_healthy_clients_has_no_finding() {
    both(|place, server| {
        let (mut one, mut other) = (Session::open(server), Session::open(server));
        let line = watched(place, server, 4, &|_| false, || {
            for n in 0..200 {
                one.send("BEGIN; UPDATE account SET balance = balance + 1 WHERE id = 1; COMMIT;");
                other.send(&format!("UPDATE account SET balance = {n} WHERE id = 1; SELECT count(*) FROM account;"));
            }
            one.does("");
        });
        assert_eq!(line["findings"].as_array().map(Vec::len), Some(0), "{line:#}");
        assert!(line["clients"].as_array().is_some_and(|clients| clients.len() >= 2), "{line:#}");
    });
}

#[test]
fn a_server_that_stops_ends_the_watch_with_a_word() {
    let place = Place::new();
    let server = Own::postgres(&place);
    let mut command = place.command(&["watch", &server.dsn("geheim"), "--for", "120s"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    lines.next().expect("a line").expect("text");
    drop(server);
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert_eq!(child.wait().expect("it ends").code(), Some(2));
    let rest = rest.join(" ");
    // What the server says, if the query was under way, or the end of the connection, as the kernel may call it first.
    let whys = ["the connection ended", "connection closed", "Connection reset", "administrator command"];
    assert!(rest.contains("everything after") && whys.iter().any(|why| rest.contains(why)), "{rest}");
}

/// A lock that keeps out the watch's own queries, and the end of its connection.
#[test]
fn a_watch_goes_on_after_failed_queries_and_a_lost_connection() {
    both(|place, server| {
        let is_mariadb = server.dsn("").starts_with("mysql");
        let (mut left, mut waits, mut other) = (Session::open(server), Session::open(server), Session::open(server));
        let mut command = place.command(&["watch", &server.dsn("geheim"), "--for", "120s"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        // With its first line it is connected.
        let mut said = vec![lines.next().expect("a line")];
        if is_mariadb {
            // The watch has the newest connection.
            let id = other.answers("SELECT MAX(ID) FROM information_schema.PROCESSLIST WHERE USER = 'me';");
            other.does(&format!("KILL {id};"));
        } else {
            other.does("BEGIN; LOCK TABLE pg_database IN ACCESS EXCLUSIVE MODE;");
            std::thread::sleep(std::time::Duration::from_secs(1));
            other.does("ROLLBACK;");
            let own = "FROM pg_stat_activity WHERE application_name = 'contend watch';";
            wait_for("its connection", || other.answers(&format!("SELECT count(*) {own}")) == "1");
            assert_eq!(other.answers(&format!("SELECT pg_terminate_backend(pid) {own}")), "t");
        }
        left.does("BEGIN; UPDATE account SET balance = 77 WHERE name = 'a';");
        waits.send("UPDATE account SET balance = 5 WHERE id = 1;");
        let flat = |said: &[String]| said.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        while !flat(&said).contains("has left a transaction open") {
            said.push(lines.next().unwrap_or_else(|| panic!("it is not found: {said:?}")));
        }
        Command::new("kill").arg("-INT").arg(child.id().to_string()).status().expect("kill");
        said.extend(lines);
        let output = child.wait_with_output().expect("it ends");
        let words = flat(&said);
        assert_eq!(output.status.code(), Some(1), "{words}");
        assert!(
            words.contains("failed queries: ") && words.contains("has left a transaction open, and 1 client"),
            "{words}"
        );
    });
}

#[test]
fn a_prepared_transaction_that_blocks_is_named() {
    both(|place, server| {
        let is_mariadb = server.dsn("").starts_with("mysql");
        let mut prepares = Session::open(server);
        if is_mariadb {
            prepares.does("XA START 'forgotten'; UPDATE account SET balance = 0 WHERE id = 1; XA END 'forgotten';");
            prepares.does("XA PREPARE 'forgotten';");
        } else {
            prepares.does("BEGIN; UPDATE account SET balance = 0 WHERE id = 1; PREPARE TRANSACTION 'forgotten';");
        }
        drop(prepares);
        let mut waits = Session::open(server);
        waits.send("UPDATE account SET balance = 5, name = 'secret' WHERE id = 1;");
        let (line, found) = watched_until(place, server, ("prepared-blocks", 0), &|_| true, || {});
        let by = if is_mariadb { "prepared transaction" } else { "prepared transaction forgotten" };
        assert_eq!((&found["by"], &found["blocks"]), (&by.into(), &1.into()), "{found}");
        assert_eq!(line["findings"].as_array().map(Vec::len), Some(1), "{line:#}");
    });
}

/// A transaction that has written makes the snapshots of all others old.
#[test]
fn only_the_oldest_transaction_keeps_old_rows() {
    let place = Place::new();
    let server = Own::postgres_with(&place, "-c fsync=off");
    let (mut old, mut reads, mut writer) = (Session::open(&server), Session::open(&server), Session::open(&server));
    old.does(TABLE);
    old.does("BEGIN; UPDATE account SET balance = 0 WHERE id = 1;");
    let line = watched(&place, &server, 10, &|_| false, || {
        reads.send("BEGIN;");
        for _ in 0..60 {
            reads.send("SELECT count(*), pg_sleep(0.1) FROM account WHERE id = 2;");
        }
        for _ in 0..2_500 {
            writer.send("UPDATE account SET balance = balance + 1 WHERE id = 3;");
        }
        writer.does("");
    });
    let found = about(&line, "old-snapshot", old.id).unwrap_or_else(|| panic!("{line:#}"));
    assert!(found["behind"].as_u64() >= Some(1_000), "{found}");
    let all = line["findings"].as_array().expect("a list").iter().filter(|found| found["kind"] == "old-snapshot");
    assert_eq!(all.count(), 1, "{line:#}");
}

#[test]
fn a_user_who_may_see_nothing_is_told_what_to_grant() {
    let place = Place::new();
    let server = Own::mariadb(&place);
    Session::open(&server).does("CREATE USER poor@'127.0.0.1' IDENTIFIED BY 'geheim';");
    let dsn = format!("mysql://poor:geheim@127.0.0.1:{}/", server.port);
    let said = place.contend(&["watch", &dsn, "--for", "2s"]).exits(2);
    assert!(said.err.contains("GRANT PROCESS"), "{said:?}");
    drop(server);
    let server = Own::postgres(&place);
    Session::open(&server).does("CREATE ROLE poor LOGIN PASSWORD 'geheim';");
    let dsn = format!("postgres://poor:geheim@127.0.0.1:{}/postgres", server.port);
    let said = place.contend(&["watch", &dsn, "--for", "2s"]).exits(0);
    assert!(said.out.contains("clients of other users"), "{said:?}");
}

/// A worker of logical replication is no client, and can hold locks for as long as one.
#[test]
fn a_process_of_the_server_for_which_others_wait_is_named() {
    let place = Place::new();
    let server = Own::postgres_with(&place, "-c wal_level=logical");
    let (mut origin, mut copy, mut waits) = (Session::open(&server), Session::open(&server), Session::open(&server));
    origin.does("CREATE TABLE t (id INTEGER PRIMARY KEY); CREATE PUBLICATION p FOR TABLE t;");
    origin.does(
        "SELECT 'slot' FROM pg_create_logical_replication_slot('s', 'pgoutput') \\g /dev/null\nCREATE DATABASE copy;",
    );
    copy.does(
        "\\connect copy\nCREATE TABLE t (id INTEGER PRIMARY KEY); \
         CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(20); RETURN NULL; END'; \
         CREATE TRIGGER slow AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION slow(); \
         ALTER TABLE t ENABLE ALWAYS TRIGGER slow;",
    );
    let port = server.port;
    copy.does(&format!(
        "CREATE SUBSCRIPTION s CONNECTION 'host=127.0.0.1 port={port} user=me password=geheim dbname=postgres' \
         PUBLICATION p WITH (create_slot = false, slot_name = 's', copy_data = false);"
    ));
    waits.does("\\connect copy\n");
    origin.does("INSERT INTO t VALUES (1);");
    let worker = "SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass AND mode = 'RowExclusiveLock';";
    wait_for("the worker's lock", || waits.answers(worker) != "0");
    let locks = || waits.send("BEGIN; LOCK TABLE t;");
    let (_, found) = watched_until(&place, &server, ("blocks-others", 0), &|_| true, locks);
    assert!(found["who"].as_str().is_some_and(|who| who.contains("logical replication")), "{found}");
    assert!(found["waiting"].as_str().is_some_and(|sql| sql.starts_with("LOCK TABLE t")), "{found}");
}
