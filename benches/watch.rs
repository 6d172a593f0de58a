//! What `contend watch` costs a program that is watched: point reads in autocommit, commits in WAL without a sync and
//! with one, and the rows of a scan, of this process and of one in Python, unwatched, with locks only, with statements,
//! and while another database is watched. In turns, so that all see the same machine. A time is the processor time of
//! the thread, and of a commit with a sync the time that passes; the least of several batches; ratios are within a turn.
//! The goals are printed, and whether they are missed. Also what the watch itself uses, and what the sampler of studies
//! takes.

use contend::trial::clock::monotonic_ns;
use contend::trial::watch::backlog::Logs;
use rusqlite::Connection;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

const TURNS: usize = 9;
const ROWS: i64 = 10_000;
/// Operations of a batch, and batches of which the fastest counts.
const READS: i64 = 2_000;
const COMMITS: i64 = 400;
const DURABLE: i64 = 20;
const SCANS: i64 = 4;
const BATCHES: usize = 20;
/// What is done: its name, the lock calls of each (a read mark, the writer's byte, each taken and released), and the most
/// that locks only may cost, as a ratio. A row of a scan is a call of `sqlite3_step` without one.
const WORKS: [(&str, f64, f64); 8] = [
    ("point read", 2.0, 1.10),
    ("commit", 4.0, 1.03),
    ("commit with a sync", 4.0, 1.03),
    ("row of a scan", 0.0, NOTHING),
    ("point read in Python", 2.0, 1.10),
    ("commit in Python", 4.0, 1.03),
    ("commit with a sync in Python", 4.0, 1.03),
    ("row of a scan in Python", 0.0, NOTHING),
];
/// A ratio up to which a difference is not told from none.
const NOTHING: f64 = 1.01;
/// Looks of the sampler of studies, which it takes five times a second.
const LOOKS: u32 = 1_000;
const LOOKS_PER_S: f64 = 5.0;

/// A program that does the same in Python on the database in its first argument: for each line, nanoseconds of a read, of a
/// commit without and with a sync, and of a row of a scan.
const IN_PYTHON: &str = "\
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute('PRAGMA synchronous = NORMAL')
rows, reads, commits, durable, scans, batches = map(int, sys.argv[2:])
def least(count, work, clock=time.thread_time_ns):
    def batch():
        begun = clock()
        for n in range(count): work(n)
        return (clock() - begun) / count
    return min(batch() for _ in range(batches))
def synced():
    db.execute('PRAGMA synchronous = FULL')
    least_ns = least(durable, commit, time.monotonic_ns)
    db.execute('PRAGMA synchronous = NORMAL')
    return least_ns
def read(n): db.execute('SELECT v FROM t WHERE id = ?', (n * 7919 % rows + 1,)).fetchone()
def commit(n): db.execute('UPDATE t SET v = -v WHERE id = ?', (n % rows + 1,))
def scan(n): db.execute('SELECT v FROM t').fetchall()
for line in sys.stdin:
    print(least(reads, read), least(commits, commit), synced(), least(scans, scan) / rows, flush=True)
";

/// A database and options of a watch.
type Watched = (&'static str, &'static [&'static str]);

/// What is watched; the first is that with which the others are compared. The last is of a database without users.
const WATCHES: [(&str, Option<Watched>); 4] = [
    ("not watched", None),
    ("locks only", Some(("own.db", &["--no-sql"]))),
    ("with statements", Some(("own.db", &[]))),
    ("another database", Some(("other.db", &["--no-sql"]))),
];

type Times = [f64; WORKS.len()];

fn main() {
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let build = Path::new(env!("CARGO_BIN_EXE_contend")).parent().expect("a directory");
    let dir = tempfile::TempDir::with_prefix_in("contend-bench-", build).expect("a directory");
    let [own, other] = ["own.db", "other.db"].map(|name| filled(&dir.path().join(name)));
    // A process that has the watched database open is no other.
    drop(other);
    let mut python = Python::started(&dir.path().join("own.db"));
    let mut times: [Vec<Times>; WATCHES.len()] = Default::default();
    let mut used: [Vec<[f64; 2]>; WATCHES.len()] = Default::default();
    for turn in 0..TURNS {
        for step in 0..WATCHES.len() {
            // Each comes first as often as any other.
            let which = (turn + step) % WATCHES.len();
            let watch = WATCHES[which].1.map(|(name, options)| started(&dir.path().join(name), options));
            let Some(watch) = watch.map_or(Some(None), |watch| watch.map(Some)) else {
                println!("cost of contend watch: NOT MEASURED: tracefs cannot be used; run as root");
                return;
            };
            let (begun, before_s) = (Instant::now(), watch.as_ref().map_or(0.0, processor_s));
            let ours = [reads_ns(&own), commits_ns(&own, COMMITS, thread_ns), durable_ns(&own), rows_ns(&own)];
            let all = [ours, python.times()].concat();
            times[which].push(std::array::from_fn(|work| all[work]));
            if let Some(watch) = watch {
                let percent = 100.0 * (processor_s(&watch) - before_s) / begun.elapsed().as_secs_f64();
                used[which].push([percent, peak_mb(&watch)]);
                stopped(watch);
            }
        }
    }
    circumstances();
    costs(&times);
    for ((name, _), used) in WATCHES.iter().zip(&used).filter(|(_, used)| !used.is_empty()) {
        let of = |what: usize| of_sorted(&used.iter().map(|used| used[what]).collect::<Vec<_>>())[1];
        println!("{name:>18}: the watch used {:.0} % of a processor and at most {:.0} MB", of(0), of(1));
    }
    let us = look_us(dir.path());
    let percent = us * LOOKS_PER_S / 1e4;
    println!("sampler of studies: {us:.0} us for a look at a log, 5 a second: {percent:.3} % of a processor");
}

/// Prints the costs next to their goals.
fn costs(times: &[Vec<Times>; WATCHES.len()]) {
    println!("processor time of a thread, of commits with a sync the time that passes, {TURNS} turns, medians:");
    for (work, (unit, calls, goal)) in WORKS.into_iter().enumerate() {
        for (which, (name, _)) in WATCHES.iter().enumerate() {
            let ns: Vec<f64> = times[which].iter().map(|times| times[work]).collect();
            let pairs = || times[which].iter().zip(&times[0]);
            let [least, middle, most] = of_sorted(&pairs().map(|(t, none)| t[work] / none[work]).collect::<Vec<_>>());
            let each = |(t, none): (&Times, &Times)| (t[work] - none[work]) / calls;
            let [_, more, _] = of_sorted(&pairs().map(each).collect::<Vec<_>>());
            let more = match which == 0 || calls == 0.0 {
                true => String::new(),
                false => format!(", {more:.0} ns more for each lock call"),
            };
            let against = |goal: f64| format!(", goal {goal:.2}: {}", if middle <= goal { "met" } else { "MISSED" });
            let judged = match which {
                1 => against(goal),
                3 => against(NOTHING),
                _ => String::new(),
            };
            let ns = of_sorted(&ns)[1];
            println!("{name:>18}: {ns:>7.0} ns a {unit}, ratio {middle:.3} ({least:.3} to {most:.3}){more}{judged}");
        }
    }
}

/// The program in Python at work.
struct Python {
    child: Child,
    output: std::io::Lines<BufReader<ChildStdout>>,
}

impl Python {
    fn started(database: &Path) -> Python {
        let mut command = Command::new("python3");
        command.args(["-c", IN_PYTHON]).arg(database);
        command.args([ROWS, READS, COMMITS, DURABLE, SCANS, BATCHES as i64].map(|number| number.to_string()));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3");
        let output = BufReader::new(child.stdout.take().expect("piped")).lines();
        Python { child, output }
    }

    /// Nanoseconds of a read, of a commit without and with a sync, and of a row.
    fn times(&mut self) -> [f64; 4] {
        writeln!(self.child.stdin.as_mut().expect("piped"), "again").expect("it reads");
        let line = self.output.next().expect("a line").expect("text");
        let mut numbers = line.split(' ').map(|number| number.parse().expect("a number"));
        std::array::from_fn(|_| numbers.next().expect("four numbers"))
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Machine, versions and date, for the page that quotes these figures.
fn circumstances() {
    let of = |command: &str, args: &[&str]| {
        let output = Command::new(command).args(args).output().expect("a tool of the system");
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    };
    let processors = fs::read_to_string("/proc/cpuinfo").expect("readable");
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let load = fs::read_to_string("/proc/loadavg").expect("readable");
    println!(
        "machine: {} x {}, {}; SQLite {}; {}; load {}",
        of("nproc", &[]),
        model.trim_start_matches([' ', '\t', ':']),
        of("uname", &["-sr"]),
        rusqlite::version(),
        of("date", &["+%F"]),
        load.split(' ').next().unwrap_or_default()
    );
}

/// Processor time of a watch so far, in seconds.
fn processor_s(watch: &Child) -> f64 {
    /// Ticks a second in /proc.
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string(format!("/proc/{}/stat", watch.id())).expect("it runs");
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    // User and system time are the 14th and 15th field of the line, the 12th and 13th after the name.
    fields.skip(11).take(2).map(|ticks| ticks.parse::<f64>().expect("a number")).sum::<f64>() / TICKS
}

/// Largest resident memory of a watch so far.
fn peak_mb(watch: &Child) -> f64 {
    let status = fs::read_to_string(format!("/proc/{}/status", watch.id())).expect("it runs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    peak.trim().trim_end_matches(" kB").parse::<f64>().expect("a number") / 1e3
}

/// Time of one look of the sampler of studies, in microseconds.
fn look_us(dir: &Path) -> f64 {
    let mut logs = Logs::default();
    let begun = Instant::now();
    for at in 0..LOOKS {
        assert!(logs.look(dir, u64::from(at)).is_some(), "there are logs");
    }
    begun.elapsed().as_secs_f64() * 1e6 / f64::from(LOOKS)
}

/// Least, median and most.
fn of_sorted(values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    [sorted[0], sorted[sorted.len() / 2], sorted[sorted.len() - 1]]
}

fn filled(path: &Path) -> Connection {
    let db = Connection::open(path).expect("a database");
    let sql =
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER);";
    db.execute_batch(sql).expect("made");
    let rows = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?) INSERT INTO t SELECT i, i FROM n";
    db.execute(rows, [ROWS]).expect("filled");
    db
}

/// A watch that has begun. `None` if this user may not trace.
fn started(database: &Path, options: &[&str]) -> Option<Child> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.arg("watch").arg(database).args(options).stdin(Stdio::null());
    let depth = if options.is_empty() { &["--depth", "with-statements"][..] } else { &[] };
    let mut child = command.args(depth).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    if lines.next().is_none() {
        child.wait().expect("it ends");
        return None;
    }
    // It writes a line a second, which is not read.
    std::thread::spawn(move || lines.for_each(drop));
    Some(child)
}

fn stopped(mut watch: Child) {
    let status = Command::new("kill").arg("-INT").arg(watch.id().to_string()).status().expect("kill");
    assert!(status.success());
    watch.wait().expect("it ends");
}

/// Processor time of this thread, in nanoseconds.
fn thread_ns() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Time that passes, in nanoseconds.
fn passed_ns() -> f64 {
    monotonic_ns() as f64
}

/// Nanoseconds of one of `count` operations by a clock, in the fastest batch.
fn least_ns(count: i64, clock: fn() -> f64, mut work: impl FnMut(i64)) -> f64 {
    let mut batch = || {
        let begun = clock();
        (0..count).for_each(&mut work);
        (clock() - begun) / count as f64
    };
    (0..BATCHES).map(|_| batch()).fold(f64::INFINITY, f64::min)
}

fn reads_ns(db: &Connection) -> f64 {
    let mut read = db.prepare("SELECT v FROM t WHERE id = ?").expect("prepared");
    least_ns(READS, thread_ns, |at| {
        let id = at * 7_919 % ROWS + 1;
        let v: i64 = read.query_row([id], |row| row.get(0)).expect("a row");
        assert_eq!(v.abs(), id);
    })
}

fn commits_ns(db: &Connection, count: i64, clock: fn() -> f64) -> f64 {
    // SQLite writes nothing to the log if the value is there already.
    let mut write = db.prepare("UPDATE t SET v = -v WHERE id = ?1").expect("prepared");
    least_ns(count, clock, |at| _ = write.execute([at % ROWS + 1]).expect("written"))
}

/// A commit that is on the disk when it returns.
fn durable_ns(db: &Connection) -> f64 {
    db.pragma_update(None, "synchronous", "FULL").expect("set");
    let least_ns = commits_ns(db, DURABLE, passed_ns);
    db.pragma_update(None, "synchronous", "NORMAL").expect("set");
    least_ns
}

/// A scan of the whole table, by row.
fn rows_ns(db: &Connection) -> f64 {
    let mut scan = db.prepare("SELECT v FROM t").expect("prepared");
    let of_scan = least_ns(SCANS, thread_ns, |_| {
        let mut rows = scan.query([]).expect("rows");
        let mut count = 0;
        while rows.next().expect("a row").is_some() {
            count += 1;
        }
        assert_eq!(count, ROWS);
    });
    of_scan / ROWS as f64
}
