//! How fast images are made: records a small SQLite database, then makes an image at every position under every model.
//! `cargo run --release -p contend-powercut --example images_per_second [JOURNAL SYNCHRONOUS COMMITS]`

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use contend_powercut::log::Log;
use contend_powercut::record::{self, Options};
use contend_powercut::replay::{Cut, Model, Namespace, Replayer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, dir] = arguments.as_slice()
        && verb == RECORD
    {
        return recorder(Path::new(dir));
    }
    let argument = |i: usize, default: &str| arguments.get(i).cloned().unwrap_or(default.to_string());
    let (journal, synchronous) = (argument(0, "wal"), argument(1, "full"));
    let commits: i64 = argument(2, "300").parse()?;
    // In memory if possible: the speed of the disk is not the subject here.
    let parent = if Path::new("/dev/shm").is_dir() { Path::new("/dev/shm").into() } else { std::env::temp_dir() };
    let dir = tempfile::tempdir_in(parent)?;
    let path = |name: &str| dir.path().join(name);
    for name in ["backing", "base", "mnt"] {
        std::fs::create_dir(path(name))?;
    }
    let mut recorder = Command::new(std::env::current_exe()?).args([RECORD]).arg(dir.path()).spawn()?;
    while !record::is_mounted(&path("mnt")) {
        if let Some(status) = recorder.try_wait()? {
            return Err(format!("the recorder ended: {status}").into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let seconds = insert(&path("mnt/db"), &journal, &synchronous, commits);
    record::unmount(&path("mnt"))?;
    let (seconds, _) = (seconds?, recorder.wait()?);
    let log = Log::read(&path("log"))?;
    println!(
        "{journal} + {synchronous}: {commits} commits recorded in {seconds:.3} s, {} entries, {} KiB of log",
        log.len(),
        std::fs::metadata(path("log"))?.len() / 1024
    );
    let mut replayer = Replayer::new(&path("base"), &log)?;
    Model::ALL.into_iter().try_for_each(|model| images(&mut replayer, model, log.len(), &path("image")))
}

/// Commits this many times; returns the seconds.
fn insert(database: &Path, journal: &str, synchronous: &str, commits: i64) -> rusqlite::Result<f64> {
    let db = rusqlite::Connection::open(database)?;
    db.query_row(&format!("PRAGMA journal_mode = {journal}"), [], |_| Ok(()))?;
    let table = "CREATE TABLE t (n INTEGER PRIMARY KEY, s TEXT)";
    db.execute_batch(&format!("PRAGMA synchronous = {synchronous}; {table}"))?;
    let start = Instant::now();
    for n in 0..commits {
        db.execute("INSERT INTO t VALUES (?1, ?2)", (n, "x".repeat(100)))?;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Makes an image at every position and prints the time.
fn images(replayer: &mut Replayer, model: Model, entries: usize, to: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let (mut made, mut written, busy) = (0.0, 0.0, cpu_seconds());
    for position in 0..=entries {
        let cut = Cut { position, model, namespace: Namespace::Journal, seed: position as u64 };
        let start = Instant::now();
        let image = replayer.image(&cut)?;
        made += start.elapsed().as_secs_f64();
        image.rewrite(to)?;
        written += start.elapsed().as_secs_f64();
    }
    let images = (entries + 1) as f64;
    println!(
        "{:8} {images} images, each {:.3} ms in memory, {:.3} ms with writing it ({:.3} ms of processor time); {:.0} per second",
        model.name(),
        made * 1e3 / images,
        written * 1e3 / images,
        (cpu_seconds() - busy) * 1e3 / images,
        images / written
    );
    Ok(())
}

/// CPU time of this thread: on a busy machine the only time that can be compared.
fn cpu_seconds() -> f64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

/// The recorder must not run in the database's process: see `record::mount`.
const RECORD: &str = "--record";

fn recorder(dir: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let options = Options {
        backing: dir.join("backing"),
        mountpoint: dir.join("mnt"),
        log: dir.join("log"),
        bound_bytes: 1 << 30,
        threads: 2,
    };
    record::mount(&options)?.wait()?;
    Ok(())
}
