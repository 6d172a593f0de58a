//! What `contend capture` costs. A program on SQLite: processor time of a statement plain, with the library loaded but
//! off, and captured. Clients of a PostgreSQL server (`--listen`): prepared point reads and small writes, directly and
//! through the proxy, with one client and with four. In turns, so that all see the same machine.

#[path = "../tests/support/mod.rs"]
mod support;

use postgres::{Client, NoTls};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use support::place::{Own, Place};
use support::{Bench, root};

const TURNS: usize = 9;
const ROWS: i32 = 10_000;
const OPERATIONS: i32 = 4_000;

/// A kind of work, with the number of clients.
const WORK: [(&str, usize, &str); 4] = [
    ("point read, 1 client", 1, "SELECT v FROM t WHERE id = $1"),
    ("point read, 4 clients", 4, "SELECT v FROM t WHERE id = $1"),
    ("write, 1 client", 1, "UPDATE t SET v = v + 1 WHERE id = $1"),
    ("write, 4 clients", 4, "UPDATE t SET v = v + 1 WHERE id = $1"),
];

/// An argument: without the program on SQLite.
const CLIENTS_ONLY: &str = "clients";

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if !args.iter().any(|arg| arg == "--bench") {
        return;
    }
    if !args.iter().any(|arg| arg == CLIENTS_ONLY) {
        of_a_program();
    }
    of_clients();
}

/// Turns of the program in each way, and statements of each kind in a round.
const RUNS: usize = 11;
const STATEMENTS: usize = 20_000;
/// INSERTs, SELECTs and scans of one run of `cost.c`, which has five rounds.
const CAPTURED: u64 = 5 * (2 * STATEMENTS as u64 + 2);

/// Processor time of a statement, lowest of all turns, and what a capture takes on disk.
fn of_a_program() {
    let bench = Bench::new();
    let (program, library) = (bench.path("cost").display().to_string(), bench.path("library.so"));
    let source = root().join("benches/cost.c").display().to_string();
    let built = Command::new("cc").args(["-O2", "-o", &program, &source, "-lsqlite3"]).status();
    if !built.is_ok_and(|status| status.success()) {
        println!("contend capture, a program on SQLite: not measured: there is no C compiler with sqlite3.h");
        return;
    }
    std::fs::write(&library, contend_interpose::LIBRARY).expect("written");
    let count = STATEMENTS.to_string();
    let mut best = [[f64::MAX; 4]; 4];
    let mut bytes = [0; 2];
    for turn in 0..RUNS {
        for step in 0..best.len() {
            let way = (turn + step) % best.len();
            let taken = format!("taken-{turn}-{way}");
            let values = if way == 3 { "--values=full" } else { "--values=hash" };
            let mut command = match way {
                0 | 1 => Command::new(&program),
                _ => bench.command(&["capture", "--out", &taken, values, "--", &program, &count]),
            };
            if way < 2 {
                command.arg(&count);
            }
            if way == 1 {
                command.env("LD_PRELOAD", &library);
            }
            let out = command.stderr(Stdio::null()).output().expect("runs").stdout;
            let text = String::from_utf8(out).expect("text");
            let times = text.split_whitespace().map(|number| number.parse::<f64>().expect("a number"));
            best[way].iter_mut().zip(times).for_each(|(best, time)| *best = best.min(time));
            if way >= 2 {
                let files = std::fs::read_dir(bench.path(&taken).join("segments")).expect("readable").flatten();
                bytes[way - 2] = files.map(|file| file.metadata().expect("there").len()).sum::<u64>();
            }
            let _ = std::fs::remove_dir_all(bench.path(&taken));
        }
    }
    println!("contend capture, a program on SQLite: processor time, lowest of {RUNS} turns; what the capture adds");
    for (kind, name) in
        ["INSERT with two values", "point SELECT", "row that is read", "row that is not read"].into_iter().enumerate()
    {
        let [plain, off, hash, full] = [0, 1, 2, 3].map(|way: usize| best[way][kind]);
        println!(
            "{name:>22}: {plain:>6.1} ns; loaded but off {:>+6.1}, captured {:>+6.1} (hashes), {:>+6.1} (values)",
            off - plain,
            hash - plain,
            full - plain
        );
    }
    let each = |bytes: u64| bytes as f64 / CAPTURED as f64;
    println!(
        "{:>22}: {:.1} bytes a statement (hashes), {:.1} (values)",
        "on disk, packed",
        each(bytes[0]),
        each(bytes[1])
    );
}

fn of_clients() {
    let place = Place::new();
    // Commits that do not wait for the disk: what the proxy adds is a larger part of them.
    let server = Own::postgres_with(&place, "-c synchronous_commit=off");
    connect(server.port)
        .batch_execute(&format!(
            "CREATE TABLE t (id integer PRIMARY KEY, v integer NOT NULL); INSERT INTO t SELECT g, 0 FROM generate_series(1, {ROWS}) g"
        ))
        .expect("filled");
    let (mut proxy, port) = listening(&place, server.port);
    let mut times: [Vec<[f64; 2]>; WORK.len()] = Default::default();
    let mut used = [0.0; WORK.len()];
    for turn in 0..TURNS {
        for (work, (_, clients, sql)) in WORK.iter().enumerate() {
            let mut both = [0.0; 2];
            for step in 0..2 {
                let which = (turn + step) % 2;
                let before = processor_s(proxy.id());
                both[which] = us(if which == 0 { server.port } else { port }, *clients, sql);
                used[work] += processor_s(proxy.id()) - before;
            }
            times[work].push(both);
        }
    }
    println!(
        "contend capture --listen: mean time of a statement directly, and what the proxy adds; middle of {TURNS} turns, \
         with the lowest and the highest"
    );
    for (work, (name, clients, _)) in WORK.iter().enumerate() {
        let mut added: Vec<f64> = times[work].iter().map(|both| both[1] - both[0]).collect();
        added.sort_by(f64::total_cmp);
        let statements = f64::from(OPERATIONS) * *clients as f64 * TURNS as f64;
        println!(
            "{name:>22}: {:>6.1} us, {:+.1} us ({:+.1} to {:+.1}); the proxy used {:.1} us of processor time",
            middle(times[work].iter().map(|both| both[0]).collect()),
            added[TURNS / 2],
            added[0],
            added[TURNS - 1],
            used[work] * 1e6 / statements
        );
    }
    let _ = std::process::Command::new("kill").arg("-INT").arg(proxy.id().to_string()).status();
    let _ = proxy.wait();
}

fn connect(port: u16) -> Client {
    let mut config = postgres::Config::new();
    config.host("127.0.0.1").port(port).user("me").password("geheim").dbname("postgres");
    config.connect(NoTls).expect("connected")
}

fn listening(place: &Place, port: u16) -> (Child, u16) {
    let to = format!("postgres://127.0.0.1:{port}");
    let args = ["capture", "--out", "taken", "--listen", "127.0.0.1:0", "--to", &to];
    let mut tool = place.command(&args).stderr(Stdio::piped()).spawn().expect("the tool starts");
    let mut line = String::new();
    BufReader::new(tool.stderr.as_mut().expect("piped")).read_line(&mut line).expect("a line");
    let port = line.split_once("port=").and_then(|(_, rest)| rest.split_once(' ')).expect("a port").0;
    (tool, port.parse().expect("a number"))
}

/// Mean time of a statement as a client sees it.
fn us(port: u16, clients: usize, sql: &str) -> f64 {
    let one = |number: usize| {
        let mut client = connect(port);
        let statement = client.prepare(sql).expect("prepared");
        let begin = Instant::now();
        for i in 0..OPERATIONS {
            // Clients write different rows.
            let id = (i * 4 + number as i32) % ROWS + 1;
            client.query(&statement, &[&id]).expect("executed");
        }
        begin.elapsed().as_secs_f64() * 1e6 / f64::from(OPERATIONS)
    };
    let all = std::thread::scope(|threads| {
        let all: Vec<_> = (0..clients).map(|number| threads.spawn(move || one(number))).collect();
        all.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<f64>>()
    });
    all.iter().sum::<f64>() / clients as f64
}

fn processor_s(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("there");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().expect("a number");
    (ticks(11) + ticks(12)) / rustix::param::clock_ticks_per_second() as f64
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
