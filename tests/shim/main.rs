//! `contend shim` on real programs and a real PostgreSQL and MariaDB: the same output as with SQLite, or an error that says why.

#[path = "../support/mod.rs"]
mod support;

mod busy;
mod cases;
mod changes;
mod contender;
mod copies;
mod corners;
mod corpus;
mod django;
mod failures;
mod joined;
mod keys;
mod mariadb;
mod programs;
mod rowids;
mod sequences;
mod wordpress;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use support::place::{Own, Place};
use support::root;

/// A server, and a directory for databases. The server does not sync: no test here cuts the power, and what a killed server has
/// written is there without.
pub struct Stage {
    /// First, so that the server has ended when its directory goes.
    pub server: Own,
    pub place: Place,
}

impl Stage {
    pub fn start() -> Stage {
        Stage::with("")
    }

    /// With further options of the server's command line.
    pub fn with(options: &str) -> Stage {
        let place = Place::new();
        Stage { server: Own::postgres_with(&place, &format!("-c fsync=off {options}")), place }
    }

    /// With MariaDB, which has a database `app` for `contend migrate`.
    pub fn mariadb() -> Stage {
        let place = Place::new();
        let unsynced = "--debug-no-sync --innodb-flush-method=nosync";
        let stage = Stage { server: Own::mariadb_with(&place, unsynced), place };
        stage.server.asked("CREATE DATABASE app");
        stage
    }

    /// One for each server.
    pub fn both() -> [Stage; 2] {
        [Stage::start(), Stage::mariadb()]
    }

    pub fn is_mariadb(&self) -> bool {
        self.server.dsn("").starts_with("mysql:")
    }

    /// The address of the server; on MariaDB with the database `app`.
    pub fn dsn(&self) -> String {
        let dsn = self.server.dsn("geheim");
        dsn.strip_suffix("/mysql").map_or(dsn.clone(), |server| format!("{server}/app"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.bench.path(name)
    }

    /// A command through the shim, not started.
    pub fn shim(&self, options: &[&str], command: &[&str]) -> Command {
        let dsn = self.dsn();
        let mut args = vec!["shim", "--to", &dsn];
        args.extend(options);
        args.push("--");
        args.extend(command);
        self.place.bench.command(&args)
    }
}

/// Runs a command with this input.
pub fn fed(mut command: Command, input: &str) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("read");
    child.wait_with_output().expect("ended")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn fixture(name: &str) -> String {
    root().join("tests/shim").join(name).display().to_string()
}

/// Whether a program is there; prints what is not verified otherwise.
pub fn has(program: &str, test: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    is_there(found.is_ok(), program, test)
}

/// Whether what a test needs is there; prints what is not verified otherwise.
pub fn is_there(is_there: bool, what: &str, test: &str) -> bool {
    assert!(is_there || std::env::var_os("CONTEND_TESTS_MUST_HAVE_WORKERS").is_none(), "{what} is missing");
    if !is_there {
        println!("NOT VERIFIED: {test}: there is no {what}");
    }
    is_there
}

/// A program that calls SQLite's interface, compiled.
pub fn compiled(stage: &Stage, name: &str) -> String {
    let program = stage.path(name).display().to_string();
    let source = fixture(&format!("{name}.c"));
    let compiled = Command::new("cc").args(["-o", &program, &source, "-lsqlite3"]).status().expect("cc");
    assert!(compiled.success());
    program
}

/// A number from the environment.
fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a number")),
        Err(_) => otherwise,
    }
}

/// What came of sequences of calls that were carried out on SQLite and through the shim.
#[derive(Default)]
struct Sums {
    sequences: usize,
    calls: usize,
    same: usize,
    /// Refusals with which sequences ended, and how many did.
    refused: BTreeMap<String, usize>,
    different: Vec<String>,
}

impl Sums {
    /// Carries out the sequence of a seed on both.
    fn add(&mut self, stage: &Stage, program: &str, seed: u64) {
        let paths = ["sqlite", "shim"].map(|name| stage.path(&format!("{name}-{seed}.db")));
        let calls = |path: &PathBuf| sequences::sequence(seed, &path.display().to_string(), stage.is_mariadb());
        let [sqlite, shim] = paths.each_ref().map(calls);
        let one = fed(Command::new(program), &sqlite);
        let other = fed(stage.shim(&[], &[program]), &shim);
        assert!(other.status.success(), "seed {seed}: {}", text(&other.stderr));
        let compared = sequences::compare(&shim, &text(&one.stdout), &text(&other.stdout));
        self.sequences += 1;
        self.calls += shim.lines().count();
        self.same += compared.same;
        if let Some(refused) = compared.refused {
            *self.refused.entry(refused).or_default() += 1;
        }
        self.different.extend(compared.different.map(|what| format!("seed {seed}, {what}")));
    }

    fn judge(&self) {
        let Sums { sequences, calls, same, refused, different } = self;
        let ended: usize = refused.values().sum();
        println!(
            "{same} of {calls} calls did the same in {sequences} sequences, {ended} of which ended with a refusal"
        );
        refused.iter().for_each(|(refused, count)| println!("  {count} x {refused}"));
        assert!(different.is_empty(), "{}", different.join("\n"));
        assert!(same * 100 > calls * SAME_MIN, "sequences are compared to their end");
    }
}

/// Calls in percent that are compared; a refusal ends a sequence.
const SAME_MIN: usize = 80;

/// `CONTEND_SHIM_SEQUENCES` from `CONTEND_SHIM_SEED`.
#[test]
fn random_calls_do_the_same() {
    for stage in Stage::both() {
        let program = compiled(&stage, "calls");
        let (from, count) = (number("CONTEND_SHIM_SEED", 1), number("CONTEND_SHIM_SEQUENCES", 40));
        let mut sums = Sums::default();
        (from..from + count).for_each(|seed| sums.add(&stage, &program, seed));
        sums.judge();
    }
}

/// Other sequences for `CONTEND_SHIM_SECONDS`; what differs names its seed, which the short test takes.
#[test]
#[ignore = "long: make verify, make fuzz"]
fn random_calls_do_the_same_for_long() {
    const DIFFERENT_MAX: usize = 20;
    let time = Duration::from_secs(number("CONTEND_SHIM_SECONDS", 300)) / 2;
    for stage in Stage::both() {
        let begun = Instant::now();
        let program = compiled(&stage, "calls");
        let mut sums = Sums::default();
        for seed in number("CONTEND_SHIM_SEED", 1_000_000).. {
            if begun.elapsed() > time || sums.different.len() >= DIFFERENT_MAX {
                break;
            }
            sums.add(&stage, &program, seed);
        }
        sums.judge();
    }
}
