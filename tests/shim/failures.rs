//! The server ends, connections are cut, programs are killed: nothing that was acknowledged is lost, no half of a
//! transaction is there, and errors are those of SQLite.

use super::{Stage, fed, fixture, text};
use crate::support::wait_for;
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// The table of a client's rows.
fn made(stage: &Stage) {
    let path = stage.path("log.db").display().to_string();
    let made = fed(stage.shim(&[], &["python3", &fixture("client.py"), &path, "make"]), "");
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
}

/// A working client, by a command that runs through the shim; it adds its answers to a file.
fn client(stage: &Stage, first: u64, shim: impl Fn(&[&str]) -> Command) -> Child {
    let path = stage.path("log.db").display().to_string();
    let mut command = shim(&["python3", &fixture("client.py"), &path, &first.to_string()]);
    let out = OpenOptions::new().create(true).append(true).open(stage.path("said")).expect("created");
    let before = said(stage).lines().count();
    let child = command.stdout(out).stderr(Stdio::null()).spawn().expect("started");
    wait_for("commits", || said(stage).lines().count() > before + 50);
    child
}

/// Ends a client, and waits until the server knows it.
fn end(stage: &Stage, mut client: Child) {
    let pid = i32::try_from(client.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("told to end");
    client.wait().expect("ended");
    gone(stage);
}

/// Waits until the server has no connection of the shim.
fn gone(stage: &Stage) {
    let count = match stage.is_mariadb() {
        false => "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'contend shim'",
        true => "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB LIKE '%log.db'",
    };
    wait_for("the program's end", || stage.server.asked(count) == "0");
}

/// Every error must be one that tells a program of SQLite that the transaction is not there any more.
fn all_are_io_errors(stage: &Stage) {
    let said = said(stage);
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("error ")).collect();
    assert!(
        errors.iter().all(|line| line.starts_with("error OperationalError SQLITE_IOERR False disk I/O error")),
        "{errors:?}"
    );
}

/// The name of the schema of the client's database.
fn schema(stage: &Stage) -> String {
    if stage.is_mariadb() {
        return stage.server.asked("SELECT TABLE_SCHEMA FROM information_schema.TABLES WHERE TABLE_NAME = 'log'");
    }
    format!("{}/log.db", stage.path("").canonicalize().expect("a directory").display())
}

/// A script that holds a lock on the client's table for some seconds and then carries out a statement.
fn locked(stage: &Stage, seconds: u32, then: &str) -> String {
    let schema = schema(stage);
    match stage.is_mariadb() {
        false => format!("BEGIN; LOCK TABLE \"{schema}\".log; SELECT pg_sleep({seconds}); {then} COMMIT;"),
        true => format!("LOCK TABLES `{schema}`.log WRITE; SELECT SLEEP({seconds}); {then} UNLOCK TABLES;"),
    }
}

/// The statement that ends all connections of the client.
fn ends_connections(stage: &Stage) -> String {
    match stage.is_mariadb() {
        false => "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'contend shim';"
            .to_string(),
        true => format!(
            "\ndelimiter //\nBEGIN NOT ATOMIC FOR client IN (SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '{}') \
             DO EXECUTE IMMEDIATE CONCAT('KILL ', client.ID); END FOR; END//\ndelimiter ;\n",
            schema(stage)
        ),
    }
}

fn said(stage: &Stage) -> String {
    std::fs::read_to_string(stage.path("said")).unwrap_or_default()
}

/// Numbers of the transactions that were acknowledged.
fn acknowledged(said: &str) -> BTreeSet<u64> {
    said.lines().filter_map(|line| line.strip_prefix("committed ")?.parse().ok()).collect()
}

/// Numbers of the transactions that are in the database, each with both its rows.
fn there(stage: &Stage) -> BTreeSet<u64> {
    let schema = schema(stage);
    let sql = match stage.is_mariadb() {
        false => format!("SELECT id / 2 || ' ' || count(*) FROM \"{schema}\".log GROUP BY id / 2"),
        true => format!("SELECT CONCAT(id DIV 2, ' ', COUNT(*)) FROM `{schema}`.log GROUP BY id DIV 2"),
    };
    let rows = stage.server.asked(&sql);
    let numbers = rows.lines().map(|line| {
        let (number, count) = line.split_once(' ').expect("two numbers");
        assert_eq!(count, "2", "a half of transaction {number} is there");
        number.parse().expect("a number")
    });
    numbers.collect()
}

/// All that was acknowledged is there, and at most `unheard` more: one may have been committed and its answer lost, for
/// each cut.
fn nothing_is_lost(stage: &Stage, unheard: usize) {
    let (acknowledged, there) = (acknowledged(&said(stage)), there(stage));
    assert!(acknowledged.is_subset(&there), "lost: {:?}", acknowledged.difference(&there).collect::<Vec<_>>());
    assert!(there.len() <= acknowledged.len() + unheard, "{} and {}", there.len(), acknowledged.len());
}

#[test]
fn connections_that_the_server_cuts_are_io_errors_and_made_again() {
    Stage::both().into_iter().for_each(cut);
}

fn cut(stage: Stage) {
    made(&stage);
    let client = client(&stage, 1, |command| stage.shim(&[], command));
    for cut in 1..=2 {
        let before = acknowledged(&said(&stage)).len();
        // The client waits for the lock in the middle of a transaction when its connection is cut.
        stage.server.asked(&locked(&stage, 1, &ends_connections(&stage)));
        wait_for("an error", || said(&stage).matches("error ").count() >= cut);
        wait_for("further commits", || acknowledged(&said(&stage)).len() > before + 20);
    }
    end(&stage, client);
    all_are_io_errors(&stage);
    nothing_is_lost(&stage, 5);
}

/// The change waits for a lock when its connection is cut.
#[test]
fn a_connection_that_is_lost_during_a_change_of_the_schema_is_an_io_error() {
    let stage = Stage::start();
    let schema = schema(&stage).replace("log.db", "a.db");
    let run = |statements: &str| {
        let script = format!(
            "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
             try:\n    for sql in {statements}: c.execute(sql)\n\
             except sqlite3.Error as e: print(e.sqlite_errorname, c.in_transaction)\n"
        );
        text(&fed(stage.shim(&[], &["python3", "-c", &script, &schema]), "").stdout)
    };
    assert_eq!(run("'CREATE TABLE t (x TEXT)', 'CREATE TABLE u (x TEXT)'"), "");
    const WAITING: &str = "(SELECT count(*) FROM pg_locks WHERE NOT granted)";
    let hold = format!(
        "BEGIN; LOCK TABLE \"{schema}\".t; DO $$ BEGIN FOR i IN 1..300 LOOP PERFORM pg_sleep(0.1); \
         EXIT WHEN {WAITING} > 0; END LOOP; END $$; SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE application_name = 'contend shim'; COMMIT;"
    );
    let held = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted";
    std::thread::scope(|scope| {
        scope.spawn(|| stage.server.asked(&hold));
        wait_for("the lock", || stage.server.asked(held) == "1");
        assert_eq!(run("'BEGIN', \"INSERT INTO u VALUES ('a')\", 'DROP TABLE t'"), "SQLITE_IOERR False\n");
    });
}

#[test]
fn a_server_that_is_killed_and_starts_again_has_all_that_was_acknowledged() {
    Stage::both().into_iter().for_each(killed);
}

fn killed(mut stage: Stage) {
    made(&stage);
    let child = client(&stage, 1, |command| stage.shim(&[], command));
    for _ in 0..2 {
        let before = acknowledged(&said(&stage)).len();
        stage.server.crash(&stage.place);
        wait_for("further commits", || acknowledged(&said(&stage)).len() > before + 20);
    }
    end(&stage, child);
    all_are_io_errors(&stage);
    assert!(said(&stage).contains("error "), "the client noticed");
    nothing_is_lost(&stage, 5);
}

/// The client itself, below contend.
fn kill_the_program(stage: &Stage) {
    let path = stage.path("log.db").display().to_string();
    let is_python = |line: &str| line.split('\0').next().is_some_and(|program| program.ends_with("python3"));
    let is_client = |line: &str| is_python(line) && line.contains("client.py") && line.contains(&path);
    let pids = fs::read_dir("/proc").expect("/proc").flatten().filter_map(|entry| {
        let line = fs::read_to_string(entry.path().join("cmdline")).ok()?;
        is_client(&line).then(|| entry.file_name().to_string_lossy().parse::<i32>().ok())?
    });
    for pid in pids.filter_map(rustix::process::Pid::from_raw) {
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
    }
}

#[test]
fn a_program_that_is_killed_leaves_no_half_of_a_transaction() {
    Stage::both().into_iter().for_each(program_killed);
}

fn program_killed(stage: Stage) {
    made(&stage);
    for round in 0..4 {
        let first = 1 + 100_000 * round;
        let mut client = client(&stage, first, |command| stage.shim(&[], command));
        if round == 0 {
            // In the middle of a transaction, whose row waits for this lock.
            let lock = locked(&stage, 5, "");
            let waiting = match stage.is_mariadb() {
                false => "SELECT 'waits' FROM pg_locks WHERE NOT granted LIMIT 1;",
                true => {
                    "SELECT 'waits' FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table metadata%' LIMIT 1"
                }
            };
            std::thread::scope(|scope| {
                let lock = scope.spawn(|| stage.server.asked(&lock));
                wait_for("the program to wait", || stage.server.asked(waiting).contains("waits"));
                kill_the_program(&stage);
                lock.join().expect("a lock")
            });
        } else {
            kill_the_program(&stage);
        }
        assert_eq!(client.wait().expect("ended").code(), Some(137), "contend says what the program's end was");
        gone(&stage);
    }
    all_are_io_errors(&stage);
    nothing_is_lost(&stage, 4);
}

/// Whether a connection is cut at these bytes of the client, and then whether the server still gets them.
type Cut = dyn Fn(&[u8]) -> Option<bool> + Send + Sync;

/// A way to the server that cuts connections.
fn cutting_proxy(server: u16, cut: Arc<Cut>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
            let cut = Arc::clone(&cut);
            std::thread::spawn(move || between(client, server, &*cut));
        }
    });
    port
}

fn between(mut client: TcpStream, mut server: TcpStream, cut: &Cut) {
    let (mut answers, mut back) = (server.try_clone().expect("cloned"), client.try_clone().expect("cloned"));
    let returning = std::thread::spawn(move || {
        // Ends when either side is closed.
        let _ = std::io::copy(&mut answers, &mut back);
        let _ = back.shutdown(Shutdown::Both);
    });
    let mut piece = [0; 65_536];
    while let Ok(count @ 1..) = client.read(&mut piece) {
        let piece = &piece[..count];
        if let Some(is_passed_on) = cut(piece) {
            let _ = client.shutdown(Shutdown::Both);
            if is_passed_on {
                let _ = server.write_all(piece);
                // The server carries it out before it notices the end.
                std::thread::sleep(Duration::from_millis(20));
            }
            break;
        }
        if server.write_all(piece).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
    let _ = returning.join();
}

/// A command through the shim whose server is at another port.
fn through(stage: &Stage, port: u16, command: &[&str]) -> Command {
    let dsn = stage.dsn().replace(&stage.server.port.to_string(), &port.to_string());
    let mut all = vec!["shim", "--to", &dsn, "--"];
    all.extend(command);
    stage.place.bench.command(&all)
}

/// The connection is lost while a statement that failed is rolled back: the program knows only of the statement.
#[test]
fn a_commit_fails_if_the_connection_was_lost_after_another_statement_had_failed() {
    const PROGRAM: &str = "
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
if sys.argv[2:]:
    db.execute('CREATE TABLE t (id INTEGER PRIMARY KEY)')
    sys.exit()
for sql in 'BEGIN', 'INSERT INTO t VALUES (1)', 'INSERT INTO t VALUES (1)', 'COMMIT':
    try: db.execute(sql); print('done')
    except sqlite3.Error as error: print(type(error).__name__)
print(db.execute('SELECT count(*) FROM t').fetchall())
";
    for stage in Stage::both() {
        let path = stage.path("a.db").display().to_string();
        assert!(fed(stage.shim(&[], &["python3", "-c", PROGRAM, &path, "make"]), "").status.success());
        let cuts = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&cuts);
        let is_undone = move |piece: &[u8]| piece.windows(11).any(|word| word == b"ROLLBACK TO");
        let cut = move |piece: &[u8]| (is_undone(piece) && counted.fetch_add(1, Relaxed) == 0).then_some(false);
        let port = cutting_proxy(stage.server.port, Arc::new(cut));
        let said = fed(through(&stage, port, &["python3", "-c", PROGRAM, &path]), "");
        let wanted = "done\ndone\nIntegrityError\nOperationalError\n[(0,)]\n";
        assert_eq!((cuts.load(Relaxed), text(&said.stdout).as_str()), (1, wanted), "{}", text(&said.stderr));
    }
}

#[test]
fn sockets_that_close_around_a_commit_lose_nothing_that_was_acknowledged() {
    Stage::both().into_iter().for_each(commits_cut);
}

fn commits_cut(stage: Stage) {
    made(&stage);
    let cuts = Arc::new(AtomicUsize::new(0));
    // Around every seventh COMMIT: before the server gets it, or before its answer arrives.
    let (commits, counted) = (AtomicUsize::new(0), Arc::clone(&cuts));
    let port = cutting_proxy(
        stage.server.port,
        Arc::new(move |piece| {
            // A packet of MariaDB has its length before the text.
            let is_commit = piece.windows(7).any(|word| word == b"COMMIT\0") || piece.ends_with(b"\x03COMMIT");
            let number = if is_commit { commits.fetch_add(1, Relaxed) + 1 } else { 0 };
            let is_cut = is_commit && number.is_multiple_of(7);
            counted.fetch_add(usize::from(is_cut), Relaxed);
            is_cut.then(|| number.is_multiple_of(2))
        }),
    );
    let child = client(&stage, 1, |command| through(&stage, port, command));
    wait_for("cuts", || cuts.load(Relaxed) >= 20);
    end(&stage, child);
    all_are_io_errors(&stage);
    let cuts = cuts.load(Relaxed);
    assert!(said(&stage).matches("may or may not be committed").count() >= 10, "{}", said(&stage));
    nothing_is_lost(&stage, cuts + 1);
    // Half of the cuts came after the server had the COMMIT.
    assert!(there(&stage).len() > acknowledged(&said(&stage)).len(), "no answer was lost");
}
