//! The log of the VFS gives the known verdicts about SQLite's settings, as the log of a mount does.

use std::path::Path;

use contend_powercut::log::{Log, now_ns};
use contend_powercut::replay::{Cut, Model, Namespace, Replayer};
use rusqlite::{Connection, OpenFlags};

const COMMITS: i64 = 30;
const POWER_CUTS: [Model; 4] = [Model::Drop, Model::Reorder, Model::Torn, Model::Prefix];

/// Number of rows, if they are the first ones inserted and the database is sound.
fn visible(image: &Path) -> rusqlite::Result<i64> {
    let db = Connection::open(image.join("db"))?;
    let sound: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    let seen = |row: &rusqlite::Row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
    let (count, max) = db.query_row("SELECT count(*), coalesce(max(n), -1) FROM t", [], seen)?;
    if sound == "ok" && max == count - 1 { Ok(count) } else { Err(rusqlite::Error::InvalidQuery) }
}

/// Number of images, images with a loss, most commits lost, corrupt images.
fn verdict(journal: &str, synchronous: &str, models: &[Model]) -> (usize, usize, i64, usize) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    for name in ["data", "base"] {
        std::fs::create_dir(path(name)).expect("a directory");
    }
    let setup = format!("PRAGMA journal_mode = {journal}; PRAGMA synchronous = {synchronous}");
    let run = |db: &Connection, sql: &str| db.execute_batch(sql).expect("done");
    let db = Connection::open(path("data/db")).expect("a database");
    db.query_row(&format!("PRAGMA journal_mode = {journal}"), [], |_| Ok(())).expect("set");
    run(&db, "CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)");
    drop(db);
    // Some journal modes keep their journal file.
    for entry in std::fs::read_dir(path("data")).expect("a directory").flatten() {
        std::fs::copy(entry.path(), path("base").join(entry.file_name())).expect("a copy");
    }
    let name = format!("powercut-{journal}-{synchronous}-{}", models.len());
    let vfs = contend_powercut_vfs::register(&name, &path("data"), &path("log"), 1 << 30).expect("registered");
    assert!(contend_powercut_vfs::register(&name, &path("data"), &path("log"), 1).is_err(), "a name is given once");
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let db = Connection::open_with_flags_and_vfs(path("data/db"), flags, name.as_str()).expect("a database");
    run(&db, &setup);
    let (mut acknowledged, mut started) = (vec![], vec![]);
    for n in 0..COMMITS {
        started.push(now_ns());
        db.execute("INSERT INTO t VALUES (?1, ?2)", (n, "x".repeat(600))).expect("a commit");
        acknowledged.push(now_ns());
    }
    drop(db);
    let recorded = vfs.end();
    let log = Log::read(&path("log")).expect("a log");
    assert!(log.complete && recorded.entries as usize == log.len());
    let mut replayer = Replayer::new(&path("base"), &log).expect("a replayer");
    let mut found = (0, 0, 0, 0);
    for position in 0..=log.len() {
        for model in models {
            let cut = Cut { position, model: *model, namespace: Namespace::Journal, seed: position as u64 };
            replayer.image(&cut).and_then(|image| image.rewrite(&path("image"))).expect("an image");
            found.0 += 1;
            let Ok(seen) = visible(&path("image")) else {
                found.3 += 1;
                continue;
            };
            assert!(seen <= started.partition_point(|ns| *ns <= log.begins_ns(position)) as i64, "sent after the cut");
            let lost = acknowledged.partition_point(|ns| *ns < log.ends_ns(position)) as i64 - seen;
            found.1 += usize::from(lost > 0);
            found.2 = found.2.max(lost);
        }
    }
    println!("{journal} + {synchronous}: {found:?}");
    assert!(found.0 > 100, "enough was recorded");
    found
}

#[test]
fn delete_with_full_loses_the_last_commit() {
    let (images, lossy, most, corrupt) = verdict("delete", "full", &POWER_CUTS);
    assert!(lossy * 20 > images && most == 1 && corrupt == 0);
}

#[test]
fn durable_settings_lose_nothing() {
    for (journal, synchronous) in [("wal", "full"), ("delete", "extra"), ("truncate", "full"), ("persist", "full")] {
        let (_, lossy, _, corrupt) = verdict(journal, synchronous, &POWER_CUTS);
        assert_eq!((lossy, corrupt), (0, 0), "{journal} + {synchronous}");
    }
}

#[test]
fn without_syncs_a_power_cut_corrupts_and_a_process_crash_does_not() {
    assert!(verdict("delete", "off", &POWER_CUTS).3 > 10);
    let (_, lossy, _, corrupt) = verdict("delete", "off", &[Model::Kill]);
    assert_eq!((lossy, corrupt), (0, 0));
}

#[test]
fn wal_with_normal_loses_and_does_not_corrupt() {
    let (images, lossy, most, corrupt) = verdict("wal", "normal", &POWER_CUTS);
    assert!(lossy * 2 > images && most > 5 && corrupt == 0);
}
