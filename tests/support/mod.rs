//! What the black-box tests share: the built tool, a place to work in, and looking for what it left behind.

#![allow(dead_code)] // every test binary uses another part

pub mod django;
pub mod place;
#[path = "../../crates/contend-powercut/tests/support/possible.rs"]
pub mod possible;
pub mod workers;

use contend::record::model::{Reason, Run, Trial};
use contend::record::parts::StudyRecord;
use contend::record::store::{Record, RecordWriter};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The tool in its own directory, on the disk that also holds the build (never in memory).
pub struct Bench {
    pub dir: TempDir,
}

/// How a command ended and what it said.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub fn tool() -> &'static str {
    env!("CARGO_BIN_EXE_contend")
}

impl Bench {
    pub fn new() -> Self {
        let build = Path::new(tool()).parent().expect("a directory");
        Self { dir: TempDir::with_prefix_in("contend-test-", build).expect("a directory for the test") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The tool with these arguments, not yet started. Trials have the numbers of the schedule, however busy the
    /// machine is.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(tool());
        let begins = args.first() == Some(&"run") && !args.contains(&"--resume") && !args.contains(&"--again");
        command
            .args(args)
            .args(if begins { &["--again", "0"][..] } else { &[] })
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .env("NO_COLOR", "1");
        command
    }

    /// Runs the tool to its end.
    pub fn contend(&self, args: &[&str]) -> Said {
        self.command(args).output().expect("the tool starts").into()
    }

    /// The smallest study with these arguments, its record in `record`.
    pub fn tiny(&self, args: &[&str]) -> Said {
        let study = tiny_study();
        let mut all = vec!["run", &study, "--out", "record", "--quiet"];
        all.extend(args);
        self.contend(&all)
    }

    /// The smallest study, all trials of which must count.
    #[track_caller]
    pub fn tiny_sound(&self, args: &[&str]) -> Said {
        sound(&self.path("record"), || self.tiny(args))
    }

    /// Starts the tool and leaves it running.
    pub fn start(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the tool starts")
    }

    /// Fails if a process or a file of a run is left.
    pub fn assert_nothing_left(&self) {
        let mine = self.dir.path().to_string_lossy().into_owned();
        wait_for("all processes of the run to end", || processes_mentioning(&mine).is_empty());
        for entry in std::fs::read_dir(self.dir.path()).expect("readable").flatten() {
            assert!(!entry.path().join("data").exists(), "{} still holds data", entry.path().display());
        }
    }
}

/// Reasons why the work of a trial is wrong. How fast it was decides nothing here: guards of speed depend on what else
/// the machine does, and are tested on simulated workers, where time is exact.
pub fn wrong_with(trial: &Trial) -> Vec<&Reason> {
    trial.invalid.iter().filter(|reason| !reason.kind.is_of_speed()).collect()
}

/// Trials of a record whose work is wrong, with the reasons.
pub fn wrong_in(record: &Path) -> Vec<(u32, Vec<Reason>)> {
    let wrong = |trial: &Trial| (trial.slot.trial, wrong_with(trial).into_iter().cloned().collect::<Vec<_>>());
    trials(record).iter().map(wrong).filter(|(_, reasons)| !reasons.is_empty()).collect()
}

/// A run of which no trial's work is wrong; its status is 1 if one was too slow to count.
#[track_caller]
pub fn sound(record: &Path, run: impl Fn() -> Said) -> Said {
    run().settled(record)
}

pub fn tiny_study() -> String {
    root().join("tests/fixtures/tiny.toml").display().to_string()
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Said {
    /// Fails unless it came to its end, whatever its trials are worth. One that was killed has no code at all.
    #[track_caller]
    pub fn ran(&self) {
        let ended = matches!(self.code, Some(0 | 1));
        assert!(ended, "it ended with {:?}\nstdout: {}\nstderr: {}", self.code, self.out, self.err);
    }

    /// Fails if the work of a trial is wrong, or the run ended with another status than its trials call for.
    #[track_caller]
    pub fn settled(self, record: &Path) -> Self {
        assert_eq!(wrong_in(record), [], "{self:?}");
        self.exits(status(record))
    }

    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\nstdout: {}\nstderr: {}", self.out, self.err);
        self
    }
}

/// Programs that use far more of the processors than a trial that counts as undisturbed may see.
pub struct Busy(Vec<Child>);

impl Busy {
    pub fn begin() -> Self {
        let enough = available_parallelism().map_or(1, usize::from).div_ceil(8);
        let one = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell");
        Self((0..enough).map(|_| one()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}

/// Processes whose working directory or open files are below a path.
pub fn processes_mentioning(path: &str) -> Vec<String> {
    let me = std::process::id().to_string();
    let mut found = vec![];
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == me || !name.chars().all(|c| c.is_ascii_digit()) {
            continue;
        }
        let proc = entry.path();
        let cwd = std::fs::read_link(proc.join("cwd")).map(|p| p.display().to_string()).unwrap_or_default();
        let files = std::fs::read_dir(proc.join("fd")).into_iter().flatten().flatten();
        let opens = files.filter_map(|f| std::fs::read_link(f.path()).ok()).any(|f| f.starts_with(path));
        if cwd.starts_with(path) || opens {
            found.push(format!("{name} {}", std::fs::read_to_string(proc.join("cmdline")).unwrap_or_default()));
        }
    }
    found
}

/// Processes with this argument.
pub fn processes_with_argument(argument: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let lines = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.split('\0').any(|word| word == argument)).collect()
}

/// Does something with each item, `at_once` of them at a time: what mostly waits need not wait alone. Results are in no
/// order.
pub fn at_once<T: Sync, R: Send>(at_once: usize, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let take = || items.get(next.fetch_add(1, Ordering::Relaxed));
        std::iter::from_fn(take).map(&work).collect::<Vec<R>>()
    };
    std::thread::scope(|threads| {
        let all: Vec<_> = (0..at_once).map(|_| threads.spawn(worker)).collect();
        all.into_iter().flat_map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// Waits for something that must happen soon; its absence fails the test.
#[track_caller]
pub fn wait_for(what: &str, mut happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !happened() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Changes a file of a record, and takes its digests away: with them a changed file is refused.
pub fn edit(path: &Path, change: impl FnOnce(&str) -> String) {
    let text = std::fs::read_to_string(path).expect("a file of a record");
    let (seal, own) = text.split_once('\n').expect("lines");
    assert!(seal.starts_with("# SHA-256"), "{seal}");
    let own: String = own.split_inclusive('\n').filter(|line| !line.starts_with("bound_sha256")).collect();
    std::fs::write(path, change(&own)).expect("written");
}

/// Makes a complete record one that was interrupted before this trial, and changes what it says of the run.
pub fn interrupt(dir: &Path, trial: u32, change: impl FnOnce(&mut Run)) {
    let mut run = Record::open(dir).expect("a record").run;
    run.finished = None;
    change(&mut run);
    RecordWriter::resume(dir).and_then(|writer| writer.write_run(&run)).expect("written");
    std::fs::remove_dir_all(dir.join(format!("trials/{trial:04}"))).expect("removed");
}

/// The trials of a record, with parts or without.
pub fn trials(record: &Path) -> Vec<Trial> {
    let record = StudyRecord::open(record).expect("a record");
    record.parts.into_iter().flat_map(|(_, part)| part.trials).collect()
}

/// The reasons of every trial of a record, from its trial.toml files.
pub fn reasons(record: &Path) -> Vec<(u32, Vec<String>)> {
    let kinds = |trial: &Trial| trial.invalid.iter().map(|reason| reason.kind.to_string()).collect();
    trials(record).iter().map(|trial| (trial.slot.trial, kinds(trial))).collect()
}

/// What a run has to end with, and a report on it: 1 if a trial of the record does not count.
pub fn status(record: &Path) -> i32 {
    i32::from(reasons(record).iter().any(|(_, kinds)| !kinds.is_empty()))
}

/// Contender and value of a column of a record's table, where it has one.
pub fn column(csv: &Path, name: &str) -> Vec<(String, f64)> {
    let mut rows = csv::Reader::from_path(csv).expect("a table");
    let head = rows.headers().expect("a head").clone();
    let at = |name: &str| head.iter().position(|found| found == name).expect(name);
    let (contender, value) = (at("contender"), at(name));
    let rows = rows.records().map(|row| row.expect("a row"));
    rows.filter_map(|row| Some((row[contender].to_string(), row[value].parse().ok()?))).collect()
}

/// Fails unless the table of a record, or of a part, has this number of trials, and each committed something.
#[track_caller]
pub fn assert_all_committed(record: &Path, trials: usize) {
    let committed = column(&record.join("trials.csv"), "committed");
    assert!(committed.len() == trials && committed.iter().all(|(_, count)| *count > 0.0), "{committed:?}");
}
