//! Equal work: every workload does the same on SQLite and on every server, and leaves the same data; its invariants
//! hold on each after several clients have worked at once.

use crate::support::place::{Place, study};
use crate::support::{at_once, root};
use contend::engine::ENGINES;
use contend::record::store::Record;
use contend::source::Source;
use contend::workload::model::Mix;
use contend::workload::{self, Dialect, TransactionSpec, Workload};
use contend_wire::plan::Step;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Of each workload's own rows. A read of `lookups` returns 101 of its 10,000.
const SCALE: &str = "0.05";

/// Statements of one contender, about: enough for the rarest transaction of every profile, and not for minutes.
const STATEMENTS: u32 = 6000;

/// Workloads that cannot run on a server, with the tool's message.
const NOT_ON_SERVERS: &[(&str, &str)] =
    &[("rowread", "the table has no INTEGER PRIMARY KEY, so the server has no rowid to give")];

/// Axes with which a workload is contended for within a second.
const AXES: &[(&str, &str)] = &[
    // One client writes unless more are asked for.
    ("backlog", "writers = [2]"),
    // It appends once a second, in one database.
    ("chain", "databases = [2]\nwrite_delay_ms = [10]"),
    // One transaction alone stays open for three seconds.
    ("locking", "test = [\"inserts\"]"),
    // A transaction stays open for a second.
    ("seeding", "tenths = [2]"),
    // Twenty rows are replaced in any order: its clients would do little else than wait for each other in a circle.
    ("translation", "times = [2]"),
];

/// Transactions that the database must reject: workload and name.
const ALWAYS_REJECTED: [(&str, &str); 1] = [("bank", "overdraft")];

/// Every engine that stores something.
fn engines() -> BTreeSet<&'static str> {
    ENGINES.iter().filter(|engine| engine.server.is_some()).map(|engine| engine.name).chain(["sqlite"]).collect()
}

/// Every workload, from the directory: one that is new cannot be forgotten.
fn workloads() -> Vec<Workload> {
    let files =
        fs::read_dir(root().join("workloads")).expect("a directory").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).expect("readable");
        workload::parse(&Source::new(path.display().to_string(), text)).unwrap_or_else(|e| panic!("{e}"))
    };
    files.iter().map(read).collect()
}

/// Each profile with its transactions; those of a workload without profiles are alike.
fn mixes(workload: &Workload) -> Vec<(Option<&str>, Mix)> {
    match workload.profiles.is_empty() {
        true => vec![(None, (0..workload.transactions.len()).map(|transaction| (transaction, 1.0)).collect())],
        false => workload.profiles.iter().map(|(name, mix)| (Some(name.as_str()), mix.clone())).collect(),
    }
}

/// A translation may add statements, such as one that moves a counter: then a server would be asked more often.
fn has_as_many_statements(workload: &Workload) {
    for (engine, server) in ENGINES.iter().filter_map(|engine| Some((engine.name, engine.server?))) {
        let spoken = contend::workload::spoken(workload, Dialect::of_server(server.dialect), server.load);
        if let Some((_, why)) = refusal(workload) {
            assert!(
                spoken.is_err_and(|e| e.to_string().contains(why)),
                "{} can be asked for on {engine}",
                workload.name
            );
            continue;
        }
        let spoken = spoken.unwrap_or_else(|e| panic!("{e:#}"));
        for (own, other) in workload.transactions.iter().zip(&spoken.transactions) {
            assert_eq!(statements(own), statements(other), "{} {} on {engine}", workload.name, own.name);
        }
    }
}

/// How many statements a transaction has, with their repetitions.
fn statements(transaction: &TransactionSpec) -> u32 {
    transaction.steps.iter().map(|step| if let Step::Sql(step) = step { step.repeat } else { 0 }).sum()
}

/// Why a workload cannot run on a server.
fn refusal(workload: &Workload) -> Option<&'static (&'static str, &'static str)> {
    NOT_ON_SERVERS.iter().find(|(name, _)| *name == workload.name)
}

/// Carries out the same operations everywhere and looks at what the tool says of them.
fn is_the_same(place: &Place, workload: &Workload) {
    for (profile, mix) in mixes(workload) {
        let who = format!("{} {}", workload.name, profile.unwrap_or_default());
        let operations = operations(workload, &mix).to_string();
        let args = ["verify", &workload.name, "--out", ".", "--scale", SCALE, "--operations", &operations];
        let profile = profile.map(|profile| ["--profile", profile]);
        let said = place.contend(&[&args[..], profile.as_ref().map_or(&[], |words| &words[..])].concat());
        if let Some((_, why)) = refusal(workload) {
            assert!(said.code == Some(2) && said.err.contains(why), "{who} is no exception: {said:?}");
            continue;
        }
        let said = said.exits(0);
        let verdict = said.out.lines().last().unwrap_or_default();
        let all = verdict.strip_prefix("The same everywhere: ").unwrap_or_else(|| panic!("{who}: {said:?}"));
        let took_part: BTreeSet<&str> = all.split("; ").filter_map(|contender| contender.split('/').next()).collect();
        assert_eq!(took_part, engines(), "{who}: {said:?}");
        for (transaction, _) in mix.iter().filter(|(_, weight)| *weight > 0.0) {
            let name = &workload.transactions[*transaction].name;
            let ended = if ALWAYS_REJECTED.contains(&(workload.name.as_str(), name.as_str())) {
                "rejected"
            } else {
                "committed"
            };
            let line = format!("{name} {ended}: ");
            assert!(said.out.lines().any(|found| found.starts_with(&line)), "{who}: no {line}{}", said.out);
        }
    }
}

/// Operations of a mix that take about [`STATEMENTS`].
fn operations(workload: &Workload, mix: &[(usize, f64)]) -> u32 {
    let of = |(transaction, _): &(usize, f64)| statements(&workload.transactions[*transaction]);
    (STATEMENTS / mix.iter().map(of).max().unwrap_or(1).max(1)).clamp(40, 300)
}

/// Has several clients write at once and looks at what they leave.
fn is_whole_under_load(place: &Place, workload: &Workload) {
    let writes = |transaction: usize| workload.transactions[transaction].writes;
    let share = |mix: &[(usize, f64)]| {
        let of = |writing: &[(usize, f64)]| writing.iter().map(|(_, weight)| weight).sum::<f64>();
        of(&mix.iter().copied().filter(|(transaction, _)| writes(*transaction)).collect::<Vec<_>>()) / of(mix)
    };
    let mixes = mixes(workload);
    let (profile, mix) = mixes.iter().max_by(|a, b| share(&a.1).total_cmp(&share(&b.1))).expect("a mix");
    if share(mix) == 0.0 || refusal(workload).is_some() {
        return;
    }
    assert!(!workload.invariants.is_empty(), "{} writes, and nothing must be true of its data", workload.name);
    let file = written(place, workload, *profile);
    let (out, record) = (workload.name.as_str(), place.bench.path(&workload.name));
    let args = ["run", &file, "--out", out, "--rounds", "1", "--scale", SCALE, "--quiet"];
    let said = place.contend(&args).settled(&record);
    let record = Record::open(&record).expect("a record");
    let took_part: BTreeSet<&str> = record.trials.iter().filter_map(|t| t.contender.split('/').next()).collect();
    assert_eq!(took_part, engines(), "{out}: {said:?}");
    for trial in &record.trials {
        let who = format!("{out}: {}", trial.contender);
        assert!(trial.invariants.iter().all(|invariant| invariant.holds), "{who}: {:?}", trial.invariants);
        for invariant in &workload.invariants {
            assert!(trial.invariants.iter().any(|found| found.name == invariant.name), "{who}: no {}", invariant.name);
        }
        let mut writers = BTreeSet::new();
        let written = record.samples(trial.slot.trial, |sample| {
            if sample.is_ok() && writes(usize::from(sample.transaction)) {
                writers.insert(sample.client);
            }
        });
        written.expect("samples");
        assert!(writers.len() > 1, "{who}: {} clients have written", writers.len());
    }
}

/// The fixture with a workload in its place, and what that needs.
fn written(place: &Place, workload: &Workload, profile: Option<&str>) -> String {
    let own = AXES.iter().find(|(name, _)| *name == workload.name).map(|(_, axes)| (*axes).to_string());
    let axes = own.or(profile.map(|profile| format!("profile = [\"{profile}\"]"))).unwrap_or_default();
    let replaced = [
        ("workload = \"bank\"", format!("workload = \"{}\"\ncompact = false", workload.name)),
        ("profile = [\"mixed\"]", axes),
        ("window = \"300ms\"", "window = \"800ms\"".to_string()),
    ];
    let text = fs::read_to_string(study()).expect("the fixture");
    let text = replaced.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "the fixture has no {from}");
        text.replacen(from, to, 1)
    });
    // Numbers that the workload's roles set themselves.
    let own = |line: &&str| !workload.own_counts().iter().any(|count| line.starts_with(&format!("{count} = ")));
    let text: String = text.lines().filter(own).map(|line| format!("{line}\n")).collect();
    let file = format!("{}.toml", workload.name);
    fs::write(place.bench.path(&file), text).expect("written");
    file
}

/// One after the other on data that is loaded once; three workloads at a time.
#[test]
fn every_workload_is_the_same_work_on_every_engine_and_whole_under_load() {
    let all = workloads();
    let known = |name: &str| all.iter().any(|workload| workload.name == name);
    let named = NOT_ON_SERVERS.iter().chain(AXES).map(|(name, _)| *name);
    named.for_each(|name| assert!(known(name), "there is no workload {name} any more"));
    let place = Place::new();
    at_once(3, &all, |workload| {
        has_as_many_statements(workload);
        is_the_same(&place, workload);
        is_whole_under_load(&place, workload);
    });
    place.assert_nothing_left();
}
