//! What the execution models cost: time per operation on a database in memory against `thread`, how late a
//! thousand clients begin, and memory per client. Models take turns in slices, medians are printed.

use contend_wire::database::Database;
use contend_wire::literal::Value;
use contend_wire::plan::{
    ANY_ROWS, Client, Connections, Head, Loop, NowSource, Plan, Retry, Source, SqlStep, Step, Transaction, Window,
};
use contend_wire::statement::Statement;
use contend_worker::clock::monotonic_ns;
use contend_worker::own::{prepare, run_plan};
use contend_worker::run::RunResult;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;

const MODELS: [&str; 7] = ["thread", "direct", "block-in-place", "spawn-blocking", "dedicated", "fifo", "pool"];
const ROWS: i64 = 10_000;
const SLICES: usize = 15;
const OPERATIONS: u32 = 20_000;

fn create(path: &Path) {
    let db = Connection::open(path).expect("the database opens");
    db.execute_batch(&format!(
        "PRAGMA journal_mode = WAL;
         CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, value REAL);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
         INSERT INTO item SELECT i, 'item number ' || i, i * 0.5 FROM n;"
    ))
    .expect("the table is filled");
}

/// Clients that read rows by their number.
struct Load {
    clients: u32,
    /// Operations each.
    limit: u32,
    pause_ns: u64,
    in_memory: bool,
}

fn plan(model: &str, load: &Load, path: &Path) -> Plan {
    let step = SqlStep {
        statement: 0,
        rows_min: 1,
        rows_max: ANY_ROWS,
        repeat: 1,
        keep: vec![],
        args: vec![Source::Argument { first: 0, stride: 0 }],
    };
    let transaction = Transaction {
        name: "it".into(),
        writes: false,
        begin: None,
        uniques: 0,
        slots: 0,
        steps: vec![Step::Sql(step)],
    };
    let storage = |memory| ("storage".to_string(), if memory { "memory" } else { "file" }.to_string());
    let head = Head {
        worker: 0,
        window: Window { run_in_ns: 0, length_ns: 0, drain_ns: 0 },
        now: NowSource::Clock,
        driver: "rusqlite".into(),
        model: model.into(),
        connections: if model == "thread" { Connections::Client } else { Connections::Database },
        options: vec![storage(load.in_memory)],
        databases: vec![Database::File(path.to_str().expect("a path of UTF-8").into())],
        session: vec![],
        readbacks: vec![],
        statements: vec![Statement::plain("SELECT id, name, value FROM item WHERE id = ?")],
        requests: vec![],
        texts: vec![],
        transactions: vec![transaction],
        login: None,
        retry: Retry::never(),
    };
    let clients = (0..load.clients).map(|id| {
        let mut client = Client {
            id,
            database: 0,
            load: Loop::Closed,
            cyclic: true,
            limit: load.limit,
            // Spread over a pause, as clients that came at different times are.
            start_ns: load.pause_ns * u64::from(id) / u64::from(load.clients),
            operations: vec![],
            arguments: vec![],
        };
        for i in 0..load.limit.min(256) {
            let key = i64::from(id * 31 + i) * 7919 % ROWS + 1;
            client.push(load.pause_ns, 0, [Value::Integer(key)]);
        }
        client
    });
    Plan { clients: clients.collect(), head }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn whole(result: &RunResult) {
    assert_eq!(result.failed, 0, "every operation succeeds");
}

/// Time from the first start to the last end of one client's operations.
fn ns_per_operation(model: &str, path: &Path) -> f64 {
    // A pool has no data in memory; its file is in the page cache.
    let load = Load { clients: 1, limit: OPERATIONS, pause_ns: 0, in_memory: model != "pool" };
    let result = run_plan(plan(model, &load, path)).expect("the plan runs");
    whole(&result);
    let samples = &result.samples[0];
    let (first, last) = (samples.first().expect("samples"), samples.last().expect("samples"));
    (last.finished_ns - first.started_ns) as f64 / f64::from(OPERATIONS)
}

fn cost(path: &Path) {
    println!("one client, point reads by rowid without a pause ({OPERATIONS} x {SLICES}; medians)");
    let mut times = vec![vec![]; MODELS.len()];
    for slice in 0..SLICES {
        for turn in 0..MODELS.len() {
            let i = (turn + slice) % MODELS.len();
            times[i].push(ns_per_operation(MODELS[i], path));
        }
    }
    println!("{:>16} {:>12} {:>12} {:>24}", "model", "ns", "of thread", "middle half");
    for (model, of_model) in MODELS.iter().zip(&times) {
        let mut ratios: Vec<f64> = of_model.iter().zip(&times[0]).map(|(ours, thread)| ours / thread).collect();
        ratios.sort_by(f64::total_cmp);
        let half = format!("{:.2} to {:.2}", ratios[SLICES / 4], ratios[SLICES * 3 / 4]);
        println!("{model:>16} {:>12.0} {:>12.2} {half:>24}", median(of_model.clone()), ratios[SLICES / 2]);
    }
}

fn quantile(sorted: &[u64], q: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * q) as usize] as f64 / 1e3
}

fn lag(path: &Path) {
    println!("\n1,000 clients on one database, a point read every 200 ms each: response - service, in us");
    println!("{:>16} {:>10} {:>10} {:>10} {:>10}", "model", "p50", "p90", "p99", "max");
    for model in MODELS {
        let load = Load { clients: 1_000, limit: 10, pause_ns: 200_000_000, in_memory: false };
        let result = run_plan(plan(model, &load, path)).expect("the plan runs");
        whole(&result);
        let mut late: Vec<u64> = result.samples.iter().flatten().map(|s| s.started_ns - s.due_ns).collect();
        late.sort_unstable();
        let q = |q| quantile(&late, q);
        println!("{model:>16} {:>10.0} {:>10.0} {:>10.0} {:>10.0}", q(0.5), q(0.9), q(0.99), q(1.0));
    }
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

/// In its own process: what the clients of one plan add to it, the plan itself left out.
fn memory_of(model: &str, clients: u32, path: &Path) {
    let load = Load { clients, limit: 1, pause_ns: 1_000_000, in_memory: false };
    let plan = plan(model, &load, path);
    let before = resident_bytes();
    let (sender, events) = channel();
    let ready = prepare(plan, &sender).expect("the plan is ready");
    let waiting = resident_bytes();
    let result = ready.run(monotonic_ns(), &events, |_| Ok(())).expect("the plan runs");
    whole(&result);
    println!("{}", waiting.saturating_sub(before));
}

fn memory(path: &Path) {
    const COUNTS: [u32; 4] = [10, 100, 1_000, 10_000];
    println!("\nresident memory that clients waiting for the start add to the process, in KiB: all / each");
    println!("{:>16} {:>16} {:>16} {:>16} {:>16}", "model", "10", "100", "1,000", "10,000");
    for model in MODELS {
        let mut line = format!("{model:>16}");
        for clients in COUNTS {
            // A thread and a connection each: a gigabyte and more.
            if model == "thread" && clients == 10_000 {
                line.push_str(&format!(" {:>16}", "-"));
                continue;
            }
            let mut itself = Command::new(std::env::current_exe().expect("this program"));
            let args = ["--bench", "--memory-of", model, &clients.to_string()];
            let output = itself.args(args).arg(path).output().expect("it starts");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let text = String::from_utf8_lossy(&output.stdout);
            let kib = text.trim().parse::<f64>().expect("bytes") / 1024.0;
            line.push_str(&format!(" {:>16}", format!("{kib:.0} / {:.1}", kib / f64::from(clients))));
        }
        println!("{line}");
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --all-targets` starts benchmarks too, without this argument.
    if !args.iter().any(|arg| arg == "--bench") {
        return;
    }
    if let Some(at) = args.iter().position(|arg| arg == "--memory-of") {
        let clients = args[at + 2].parse().expect("a number");
        return memory_of(&args[at + 1], clients, &PathBuf::from(&args[at + 3]));
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory for the database");
    let path = dir.path().join("models.db");
    create(&path);
    cost(&path);
    lag(&path);
    memory(&path);
}
