//! Every execution model of the built tool keeps the invariants of every workload, on a file and in memory.

use crate::support::{Bench, at_once, root, wrong_with};
use contend::record::store::Record;
use std::fs;

/// The fixture with another workload under other axes and load.
fn study(bench: &Bench, workload: &str, axes: &str, load: &str) -> String {
    let text = fs::read_to_string(root().join("tests/fixtures/models.toml")).expect("the fixture");
    let replaced = [
        ("workload = \"bank\"", format!("workload = \"{workload}\"")),
        ("profile = [\"mixed\"]", axes.to_string()),
        ("processes = 1\nclients = 4\nwindow = \"300ms\"", load.to_string()),
    ];
    let text = replaced.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "the fixture has no {from}");
        text.replacen(from, to, 1)
    });
    let path = bench.path("models.toml");
    fs::write(&path, text).expect("written");
    path.display().to_string()
}

/// Runs one round of the contenders that match, `count` of them.
fn keeps_the_data_whole(workload: &str, axes: &str, load: &str, only: &str, count: usize) {
    let bench = Bench::new();
    let study = study(&bench, workload, axes, load);
    let said = bench.contend(&["run", &study, "--rounds", "1", "--out", "record", "--quiet", "--only", only]);
    let record = Record::open(&bench.path("record")).unwrap_or_else(|e| panic!("{e:#}: {said:?}"));
    assert_eq!(record.trials.len(), count, "{said:?}");
    for trial in &record.trials {
        let wrong = wrong_with(trial);
        assert!(wrong.is_empty(), "{}: {wrong:?}", trial.contender);
        assert!(!trial.invariants.is_empty() && trial.invariants.iter().all(|i| i.holds), "{trial:?}");
        let directory = bench.path("record/trials").join(format!("{:04}", trial.slot.trial));
        let samples = fs::metadata(directory.join("samples.bin")).expect("samples").len();
        assert!(samples > 64, "{}: nothing was done", trial.contender);
        let in_memory = trial.contender.contains("storage=memory");
        assert_eq!(trial.settings["journal_mode"], if in_memory { "memory" } else { "wal" }, "{}", trial.contender);
        let threads = trial.settings.get("tokio_threads").map(String::as_str);
        let expected = match (trial.contender.contains("/thread:"), in_memory) {
            (true, _) => None,
            (false, true) => Some("2"),
            (false, false) => Some("4"),
        };
        assert_eq!(threads, expected, "{}", trial.contender);
    }
    bench.assert_nothing_left();
}

const FOUR_CLIENTS: &str = "processes = 1\nclients = 4\nwindow = \"300ms\"";
/// Where roles say how many there are.
const ROLES: &str = "window = \"300ms\"";
const ALL: (&str, usize) = ("*", 10);
/// Data in memory is of one process, and not for transactions that open a connection.
const ON_FILES: (&str, usize) = ("*journal_mode=wal*", 6);

#[test]
fn transfers_between_accounts() {
    keeps_the_data_whole("bank", "profile = [\"mixed\"]", FOUR_CLIENTS, ALL.0, ALL.1);
}

#[test]
fn a_site_with_many_kinds_of_transactions() {
    let load = format!("{FOUR_CLIENTS}\nscale = 0.1");
    keeps_the_data_whole("wordpress", "profile = [\"write-burst\"]", &load, ALL.0, ALL.1);
}

#[test]
fn many_databases_with_slow_writers() {
    let axes = "databases = [3]\nreaders = [2]\nwrite_delay_ms = [5]";
    let load = format!("{ROLES}\nprocesses = 1");
    keeps_the_data_whole("chain", axes, &load, "*/direct:*", 2);
    let load = format!("{ROLES}\nprocesses = 1");
    for model in ["spawn-blocking", "dedicated", "fifo"] {
        keeps_the_data_whole("chain", axes, &load, &format!("*/{model}:*"), 2);
    }
    keeps_the_data_whole("chain", axes, &load, "*/pool:*", 1);
    keeps_the_data_whole("chain", axes, &load, "*/thread:*", 1);
}

#[test]
fn processes_with_roles() {
    let load = format!("{ROLES}\nscale = 0.1");
    keeps_the_data_whole("library", "work = [\"sqlite\"]", &load, ON_FILES.0, ON_FILES.1);
    keeps_the_data_whole("playback", "work = [\"sqlite\"]", &load, ON_FILES.0, ON_FILES.1);
}

#[test]
fn queries_alone() {
    keeps_the_data_whole("lookups", "profile = [\"insert\"]", FOUR_CLIENTS, ALL.0, ALL.1);
}

#[test]
fn a_transaction_held_open_and_connections_opened_meanwhile() {
    keeps_the_data_whole("locking", "test = [\"inserts\"]", ROLES, ON_FILES.0, ON_FILES.1);
    // One transaction takes three seconds, in which the others wait.
    let long = "window = \"3500ms\"\ndrain = \"4s\"";
    at_once(3, &["thread", "direct", "spawn-blocking", "dedicated", "fifo", "pool"], |model| {
        keeps_the_data_whole("locking", "test = [\"held\"]", long, &format!("*/{model}:{}", ON_FILES.0), 1);
    });
}

#[test]
fn data_in_memory_is_not_opened_twice() {
    let bench = Bench::new();
    let study = root().join("tests/fixtures/models.toml").display().to_string();
    let args = ["--contender", "sqlite/rusqlite/thread:storage=memory", "--rounds", "1", "--out", "record", "--quiet"];
    let mut all = vec!["run", &study, "--only", "sqlite/rusqlite/thread:*storage=memory*"];
    all.extend(args);
    let said = bench.contend(&all).exits(2);
    assert!(said.err.contains("more than once") && said.err.contains("condition `"), "{said:?}");
    assert!(!bench.path("record").exists(), "it is said before anything is loaded");
    bench.assert_nothing_left();
}
