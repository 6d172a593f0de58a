//! Loading a workload's data at scale 10, in rows per second, against the `sqlite3` shell importing the
//! same rows as CSV into the same tables. In turns, so that both see the same machine.

use contend::engine;
use contend::trial::data::load::{Places, Wanted, base};
use contend::trial::watch::janitor::Janitor;
use contend::trial::workers::admin::Admin;
use contend::trial::workers::process::Launch;
use contend::workload;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const TURNS: usize = 5;
const SCALE: f64 = 10.0;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    // The janitor is this very program, started again.
    if args.get(1).map(String::as_str) == Some(contend::trial::watch::janitor::VERB) {
        contend::trial::watch::janitor::serve();
        return;
    }
    if !args.iter().any(|arg| arg == "--bench") {
        return;
    }
    let build = Path::new(env!("CARGO_BIN_EXE_contend")).parent().expect("a directory");
    let dir = tempfile::TempDir::with_prefix_in("contend-bench-", build).expect("a directory");
    let name = workload::LIBRARY.names().into_iter().max_by_key(|n| workload::LIBRARY.find(n).map(|s| s.text.len()));
    let workload =
        workload::parse(&name.and_then(|name| workload::LIBRARY.find(name)).expect("a workload")).expect("it is valid");
    let rows: u64 = workload.rows(SCALE).values().sum();

    let (mut ours, mut shells) = (vec![], vec![]);
    for turn in 0..TURNS {
        let cache = dir.path().join(format!("turn-{turn}"));
        let begun = Instant::now();
        let file = load(&workload, &cache);
        ours.push(begun.elapsed().as_secs_f64());
        if turn == 0 {
            export(&file, dir.path(), &workload);
        }
        shells.push(import(dir.path(), &workload));
        std::fs::remove_dir_all(&cache).expect("removed");
    }
    let ratios: Vec<f64> = ours.iter().zip(&shells).map(|(o, s)| s / o).collect();
    println!("loading {} at scale {SCALE}: {rows} rows, drawn, bound and indexed", workload.name);
    print("contend", &ours, rows);
    print("sqlite3 .import", &shells, rows);
    let sorted = sorted(&ratios);
    println!("rows/s, contend / sqlite3: {:.2} ({:.2} to {:.2})", median(&ratios), sorted[0], sorted[TURNS - 1]);
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

fn median(values: &[f64]) -> f64 {
    sorted(values)[values.len() / 2]
}

fn print(who: &str, seconds: &[f64], rows: u64) {
    println!("{who:>16}: {:.2} s, {:.0} rows/s", median(seconds), rows as f64 / median(seconds));
}

fn load(workload: &workload::Workload, cache: &Path) -> std::path::PathBuf {
    let janitor = Janitor::of(env!("CARGO_BIN_EXE_contend").into()).expect("a janitor");
    let launch = Launch { program: env!("CARGO_BIN_EXE_contend").into(), args: vec!["worker".to_string()] };
    let log = cache.with_extension("log");
    let mut admin = Admin::start(&launch, &log, &janitor, &|| false).expect("a worker");
    let engine = engine::find("sqlite").expect("an engine");
    let wanted =
        Wanted { engine, workload, scale: SCALE, seed: 1, before: vec![], loader: String::new(), by: engine.loader };
    let places = Places { cache, loading: &cache.join(".loading"), janitor: &janitor };
    base(&places, &wanted, &mut admin).expect("loaded").path
}

/// The same rows as CSV files, one per table.
fn export(file: &Path, dir: &Path, workload: &workload::Workload) {
    for table in &workload.tables {
        let csv = std::fs::File::create(dir.join(format!("{}.csv", table.name))).expect("a file");
        let sql = format!("SELECT * FROM {}", table.name);
        let status = Command::new("sqlite3").args(["-csv"]).arg(file).arg(sql).stdout(csv).status();
        assert!(status.expect("the sqlite3 shell").success());
    }
}

/// Seconds the shell takes for schema, rows and indexes, without syncs and journal as ours.
fn import(dir: &Path, workload: &workload::Workload) -> f64 {
    let file = dir.join("shell.db");
    let _ = std::fs::remove_file(&file);
    let mut script = "PRAGMA synchronous = OFF;\nPRAGMA journal_mode = OFF;\n".to_string();
    for sql in workload.schema_sql() {
        script.push_str(&format!("{sql};\n"));
    }
    for table in &workload.tables {
        script.push_str(&format!(
            ".import --csv {} {}\n",
            dir.join(format!("{}.csv", table.name)).display(),
            table.name
        ));
    }
    for sql in workload.index_sql().iter().chain(workload.after_load.iter().map(|after| &after.sql)) {
        script.push_str(&format!("{sql};\n"));
    }
    let begun = Instant::now();
    let mut child = Command::new("sqlite3")
        .arg(&file)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the sqlite3 shell");
    child.stdin.take().expect("piped").write_all(script.as_bytes()).expect("written");
    assert!(child.wait().expect("a child").success());
    begun.elapsed().as_secs_f64()
}
