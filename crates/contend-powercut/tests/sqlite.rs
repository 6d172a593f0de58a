//! A real database on the recorder: SQLite's settings keep and lose what is documented, and faults of the disk are
//! found.

mod support;

use std::path::Path;

use contend_powercut::Error;
use contend_powercut::lies::Lie;
use contend_powercut::log::{Log, now_ns};
use contend_powercut::minimise::minimise;
use contend_powercut::replay::{Cut, Model, Namespace, Replayer};
use rusqlite::Connection;
use support::{Place, cut};

/// A recording, and the time at which each commit (an `INSERT` of its number) was acknowledged.
struct Run {
    place: Place,
    log: Log,
    acknowledged_ns: Vec<u64>,
    started_ns: Vec<u64>,
}

const COMMITS: i64 = 40;

fn open(path: &Path, journal: &str, synchronous: &str) -> rusqlite::Result<Connection> {
    let db = Connection::open(path)?;
    db.busy_timeout(std::time::Duration::from_secs(20))?;
    let mode: String = db.query_row(&format!("PRAGMA journal_mode = {journal}"), [], |row| row.get(0))?;
    assert_eq!(mode, journal);
    db.execute_batch(&format!("PRAGMA synchronous = {synchronous}"))?;
    Ok(db)
}

fn record(journal: &str, synchronous: &str) -> Option<Run> {
    let place = Place::new();
    let made = open(&place.path("backing/db"), journal, synchronous).expect("a database");
    made.execute_batch("CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)").expect("a table");
    drop(made);
    let mount = place.mount()?;
    let db = open(&place.path("mnt/db"), journal, synchronous).expect("a database");
    let (mut acknowledged_ns, mut started_ns) = (vec![], vec![]);
    for n in 0..COMMITS {
        started_ns.push(now_ns());
        db.execute("INSERT INTO t VALUES (?1, ?2)", (n, "x".repeat(600))).expect("a commit");
        acknowledged_ns.push(now_ns());
    }
    drop(db);
    mount.unmount();
    let log = place.log();
    Some(Run { place, log, acknowledged_ns, started_ns })
}

#[derive(Debug, Default, PartialEq)]
struct Verdict {
    images: usize,
    lossy: usize,
    most_lost: i64,
    corrupt: usize,
    /// Commits that are visible though they were sent after the cut, or that are not a prefix: the replayer is wrong.
    impossible: usize,
}

/// Number of commits that an image has lost; `None` if it is corrupt.
fn lost(run: &Run, position: usize, image: &Path) -> Option<(i64, bool)> {
    let seen = visible(image).ok()?;
    let acknowledged = run.acknowledged_ns.partition_point(|ns| *ns < run.log.ends_ns(position)) as i64;
    let sent = run.started_ns.partition_point(|ns| *ns <= run.log.begins_ns(position)) as i64;
    Some(((acknowledged - seen).max(0), seen > sent))
}

/// Number of rows, if they are the first ones and the database is sound.
fn visible(image: &Path) -> rusqlite::Result<i64> {
    let db = Connection::open(image.join("db"))?;
    let sound: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    let (count, max): (i64, i64) =
        db.query_row("SELECT count(*), coalesce(max(n), -1) FROM t", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if sound == "ok" && max == count - 1 { Ok(count) } else { Err(rusqlite::Error::InvalidQuery) }
}

fn judge(run: &Run, replayer: &mut Replayer, models: &[Model]) -> (Verdict, Option<Cut>) {
    let (mut verdict, mut failing) = (Verdict::default(), None);
    let image = run.place.path("image");
    for position in 0..=run.log.len() {
        for (i, model) in models.iter().enumerate() {
            let cut = cut(position, *model, Namespace::Journal, (position * 7 + i) as u64);
            replayer.image(&cut).and_then(|made| made.rewrite(&image)).expect("an image");
            verdict.images += 1;
            match lost(run, position, &image) {
                None => {
                    verdict.corrupt += 1;
                    failing = failing.or(Some(cut));
                }
                Some((n, too_many)) => {
                    verdict.lossy += usize::from(n > 0);
                    verdict.most_lost = verdict.most_lost.max(n);
                    verdict.impossible += usize::from(too_many);
                    failing = if n > 0 { failing.or(Some(cut)) } else { failing };
                }
            }
        }
    }
    (verdict, failing)
}

const POWER_CUTS: [Model; 4] = [Model::Drop, Model::Reorder, Model::Torn, Model::Prefix];

fn verdict(journal: &str, synchronous: &str, models: &[Model]) -> Option<Verdict> {
    let run = record(journal, synchronous)?;
    let mut replayer = Replayer::new(&run.place.path("base"), &run.log).expect("a replayer");
    let (verdict, failing) = judge(&run, &mut replayer, models);
    println!("{journal} + {synchronous}, {models:?}: {verdict:?}, first: {failing:?}");
    assert_eq!(verdict.impossible, 0, "no image has what was sent after the cut");
    assert!(verdict.images >= 200, "enough entries were recorded");
    Some(verdict)
}

#[test]
fn delete_with_full_loses_the_last_commit_and_no_more() {
    let Some(verdict) = verdict("delete", "full", &POWER_CUTS) else { return };
    assert!(verdict.lossy * 20 > verdict.images, "{verdict:?}");
    assert_eq!((verdict.most_lost, verdict.corrupt), (1, 0));
}

#[test]
fn settings_that_are_documented_as_durable_lose_nothing() {
    for (journal, synchronous) in [("wal", "full"), ("delete", "extra"), ("truncate", "full"), ("persist", "full")] {
        let Some(verdict) = verdict(journal, synchronous, &POWER_CUTS) else { return };
        assert_eq!((verdict.lossy, verdict.corrupt), (0, 0), "{journal} + {synchronous}");
    }
}

#[test]
fn wal_with_normal_loses_much_and_corrupts_nothing() {
    let Some(verdict) = verdict("wal", "normal", &POWER_CUTS) else { return };
    assert!(verdict.lossy * 2 > verdict.images && verdict.most_lost > 5, "{verdict:?}");
    assert_eq!(verdict.corrupt, 0);
}

#[test]
fn without_syncs_a_power_cut_corrupts_and_a_process_crash_does_not() {
    let Some(cuts) = verdict("delete", "off", &POWER_CUTS) else { return };
    assert!(cuts.corrupt > 20, "{cuts:?}");
    let crashes = verdict("delete", "off", &[Model::Kill]).expect("recorded");
    assert_eq!((crashes.lossy, crashes.corrupt), (0, 0));
}

#[test]
fn planted_lies_of_the_disk_are_found_and_minimised() {
    let Some(run) = record("wal", "full") else { return };
    let honest = Replayer::new(&run.place.path("base"), &run.log).expect("a replayer");
    let lies = [
        Lie::IgnoreSync { every: 1 },
        Lie::IgnoreSync { every: 10 },
        Lie::IgnoreSyncOf { suffix: "-wal".into() },
        Lie::LateSync { entries: 5 },
        Lie::SyncOtherFile,
    ];
    for lie in lies {
        let mut lying = honest.lying(std::slice::from_ref(&lie));
        let (verdict, failing) = judge(&run, &mut lying, &POWER_CUTS);
        println!("{lie:?}: {verdict:?}");
        // While only the log is written, a sync of "the other file" finds none.
        assert!(verdict.lossy + verdict.corrupt > 0, "{lie:?} was not found");
        let cut = failing.expect("a failing image");
        let image = run.place.path("image");
        let fails = |dir: &Path| Ok(lost(&run, cut.position, dir).is_none_or(|(n, _)| n > 0));
        let minimal = minimise(&mut lying, &cut, &image, 300, fails).expect("minimised");
        assert!(!minimal.lost.is_empty() && minimal.lost.len() <= minimal.lost_at_first, "{minimal:?}");
        assert!(lost(&run, cut.position, &image).is_none_or(|(n, _)| n > 0), "the smallest image is there, and fails");
        println!(
            "  {} of {} pieces in {} tries: {}",
            minimal.lost.len(),
            minimal.lost_at_first,
            minimal.tries,
            minimal.lost[0].what
        );
    }
    let sound = minimise(
        &mut honest.lying(&[]),
        &cut(5, Model::Kill, Namespace::Journal, 1),
        &run.place.path("image"),
        9,
        |_| Ok::<bool, Error>(false),
    );
    assert!(sound.expect_err("an error").0.contains("does not fail"));
}

#[test]
fn a_lie_about_directories_shows_where_names_matter() {
    let Some(run) = record("delete", "extra") else { return };
    let replayer = Replayer::new(&run.place.path("base"), &run.log).expect("a replayer");
    let verdict = |lie| judge(&run, &mut replayer.lying(&[lie]), &POWER_CUTS).0;
    let (ignored, kept) = (verdict(Lie::NoDirectorySync), verdict(Lie::LateSync { entries: 0 }));
    assert!(ignored.lossy > 0 && ignored.most_lost == 1, "EXTRA is FULL without its directory syncs: {ignored:?}");
    assert_eq!((kept.lossy, kept.corrupt), (0, 0), "late by nothing is not late");
    assert!(verdict(Lie::NoMetadata).lossy + verdict(Lie::NoMetadata).corrupt == 0, "it syncs its directory itself");
}

#[test]
fn processes_share_a_database_through_its_mapped_index() {
    let place = Place::new();
    let Some(mount) = place.mount() else { return };
    let path = place.path("mnt/db");
    let db = open(&path, "wal", "normal").expect("a database");
    db.execute_batch("CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)").expect("a table");
    // Three processes at once: this one and two of the sqlite3 program, each with its own mapping of the -shm file.
    let inserts =
        |from: i64| (from..from + 100).map(|n| format!("INSERT INTO t VALUES ({n}, 'x');")).collect::<String>();
    let others: Vec<_> = [1000, 2000]
        .iter()
        .map(|from| {
            let text = format!("PRAGMA busy_timeout = 20000;{}", inserts(*from));
            std::process::Command::new("sqlite3").arg(&path).arg(text).stdout(std::process::Stdio::null()).spawn()
        })
        .collect();
    if others.iter().any(Result::is_err) {
        eprintln!("NOT VERIFIED: the program sqlite3 is not here");
        return;
    }
    for n in 0..100 {
        db.execute("INSERT INTO t VALUES (?1, 'y')", [n]).expect("a commit");
    }
    for other in others {
        assert!(other.expect("started").wait().expect("ended").success());
    }
    let count = |db: &Connection| db.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0));
    assert_eq!(count(&db).expect("a count"), 300);
    drop(db);
    mount.unmount();
    let log = place.log();
    let mut replayer = Replayer::new(&place.path("base"), &log).expect("a replayer");
    let image = place.path("image");
    let last = cut(log.len(), Model::Kill, Namespace::Journal, 0);
    replayer.image(&last).and_then(|made| made.rewrite(&image)).expect("an image");
    assert_eq!(count(&Connection::open(image.join("db")).expect("opened")).expect("a count"), 300);
}
