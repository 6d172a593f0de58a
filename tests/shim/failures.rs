//! The server ends, connections are cut, programs are killed: nothing that was acknowledged is lost, no half of a
//! transaction is there, and errors are those of SQLite.

use super::{Stage, fed, fixture, text};
use crate::support::wait_for;
use std::collections::BTreeSet;
use std::fs::File;
use std::process::{Child, Stdio};

/// A working client that writes its answers into a file.
fn client(stage: &Stage) -> Child {
    let path = stage.path("log.db").display().to_string();
    let made = fed(stage.shim(&[], &["python3", &fixture("client.py"), &path, "make"]), "");
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    let mut command = stage.shim(&[], &["python3", &fixture("client.py"), &path]);
    let out = File::create(stage.path("said")).expect("created");
    let child = command.stdout(out).stderr(Stdio::null()).spawn().expect("started");
    wait_for("commits", || said(stage).lines().count() > 50);
    child
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
    let dir = stage.path("");
    let schema = format!("{}/log.db", dir.canonicalize().expect("a directory").display());
    let rows = stage.server.asked(&format!("SELECT id / 2 || ' ' || count(*) FROM \"{schema}\".log GROUP BY id / 2"));
    let numbers = rows.lines().map(|line| {
        let (number, count) = line.split_once(' ').expect("two numbers");
        assert_eq!(count, "2", "a half of transaction {number} is there");
        number.parse().expect("a number")
    });
    numbers.collect()
}

fn nothing_is_lost(stage: &Stage) {
    let (acknowledged, there) = (acknowledged(&said(stage)), there(stage));
    assert!(acknowledged.is_subset(&there), "lost: {:?}", acknowledged.difference(&there).collect::<Vec<_>>());
    // One may have been committed and its answer lost, for each cut.
    assert!(there.len() <= acknowledged.len() + 5, "{} and {}", there.len(), acknowledged.len());
}

#[test]
fn connections_that_the_server_cuts_are_io_errors_and_made_again() {
    let stage = Stage::start();
    let mut client = client(&stage);
    let path = stage.path("log.db");
    let schema = path.parent().expect("a directory").canonicalize().expect("a directory").join("log.db");
    for cut in 1..=2 {
        let before = acknowledged(&said(&stage)).len();
        // The client waits for the lock in the middle of a transaction when its connection is cut.
        stage.server.asked(&format!(
            "BEGIN; LOCK TABLE \"{}\".log; SELECT pg_sleep(1); SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE application_name = 'contend shim'; COMMIT;",
            schema.display()
        ));
        wait_for("an error", || said(&stage).matches("error ").count() >= cut);
        wait_for("further commits", || acknowledged(&said(&stage)).len() > before + 20);
    }
    let pid = i32::try_from(client.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("told to end");
    client.wait().expect("ended");
    let said = said(&stage);
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("error ")).collect();
    assert!(
        errors.iter().all(|line| line.starts_with("error OperationalError SQLITE_IOERR False disk I/O error")),
        "{errors:?}"
    );
    wait_for("the program's end", || {
        stage.server.asked("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'contend shim'") == "0"
    });
    nothing_is_lost(&stage);
}
