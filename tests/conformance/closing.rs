//! The tool goes on when a run is over: it looks at the data, copies it, removes it. By then every connection of the
//! worker must be closed, and what closing writes must be written: here the write-ahead log, which the last connection
//! copies into the database.

use crate::short::complete;
use crate::support::{self, tool};
use crate::worker::Worker;
use crate::workers::{ENTRIES, Entry};
use contend::workload::sql::Brackets;
use contend_wire::plan::Connections;
use rusqlite::Connection;
use std::path::Path;

/// Fewest pages of the log at the end: copying them takes longer than sending the samples of the run.
const PAGES: usize = 8_000;

/// Workers that may leave the log, each with the reason. The disk decides whether the library ends before the log is
/// copied.
const KNOWN: &[(&str, &str)] = &[
    ("node-libsql/event-loop", "a connection is closed once its statements are collected as garbage"),
    (
        "crawshaw/pool",
        "the library's pool interrupts its connections when it closes them, and with them the copying of the log",
    ),
];

fn plan(entry: &Entry, path: &Path) -> String {
    let sharing = if entry.connections == Connections::Client { "client" } else { "database" };
    let options: String = entry.options.iter().map(|(name, value)| format!("option\t{name}\t{value}\n")).collect();
    let text = format!(
        "contend-plan 3\nworker\t0\ndriver\t{}\t{}\nconnections\t{sharing}\nwindow\t0\t0\t10000000000\nnow\tclock\n{options}database\t{}\n\
         session\tPRAGMA wal_autocheckpoint = 0\n\
         statement\t0\tWITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {PAGES}) \
         INSERT INTO t SELECT zeroblob(4000) FROM n\n\
         transaction\t0\tfill\twrite\tBEGIN IMMEDIATE\t0\t0\t1\nstep\tsql\t0\t{PAGES}..{PAGES}\t1\t-\n\
         retry\t1\t-\t-\t-\nclients\t1\nclient\t0\t0\tclosed\tfinite\t1\t0\t1\nop\t0\t0\nend\n",
        entry.driver,
        entry.model,
        path.display()
    );
    complete(&text, Brackets::Quote)
}

#[test]
fn every_worker_has_closed_its_connections_when_the_run_is_over() {
    let bench = support::Bench::new();
    let only = std::env::var("CONTEND_CONFORMANCE").unwrap_or_default();
    let mut problems = vec![];
    // The plan is in SQLite's SQL.
    let of_sqlite = |e: &&Entry| e.engine == "sqlite" && e.words.is_empty();
    for entry in ENTRIES.iter().filter(of_sqlite).filter(|e| e.name().contains(&only)) {
        let Some(command) = entry.command(tool()) else { continue };
        let (name, path) = (entry.name(), bench.path("a.db"));
        let made =
            Connection::open(&path).and_then(|c| c.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x)"));
        made.expect("a database");
        let mut worker = Worker::start(&command, &bench.path("log")).expect("a worker");
        worker.plan(&plan(entry, &path)).expect("an answer").unwrap_or_else(|e| panic!("{name}: {e}"));
        let ran = worker.run(None).unwrap_or_else(|e| panic!("{name}: {e}"));
        let log = path.with_extension("db-wal");
        if log.exists() && !KNOWN.iter().any(|(leaves, _)| *leaves == name) {
            problems.push(format!("{name}: the log is still there"));
        }
        assert!(ran.samples.iter().all(contend_wire::sample::Sample::is_ok), "{name}: {:?}", ran.samples);
        drop(worker);
        for suffix in ["db", "db-wal", "db-shm"] {
            let _ = std::fs::remove_file(path.with_extension(suffix));
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}
