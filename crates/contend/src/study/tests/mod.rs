//! Whole studies: what a file and the choices of a run become.

mod errors;
mod gameplan;
pub(crate) mod kind;
mod models;
mod overrides;
mod parts;
mod plex;
mod wordpress;

use super::model::{Extent, Study, Variant, Whole};
use super::{
    Choices, LIBRARY, StudyError, Vocabulary, check_vocabulary, estimate_ns, parse_set, resolve, resolve_parts,
};
use crate::source::Source;

const CORRECTED: (Variant, Extent) = (Variant::Corrected, Extent::Full);
const QUICK: (Variant, Extent) = (Variant::Corrected, Extent::Quick);
const AS_PUBLISHED: (Variant, Extent) = (Variant::AsPublished, Extent::Full);

/// An embedded study with `--set` applied.
fn embedded(name: &str, (variant, extent): (Variant, Extent), set: &[&str]) -> Whole {
    let mut choices = Choices::new(variant, extent);
    choices.set = set.iter().map(|text| parse_set(text).unwrap()).collect();
    resolve_parts(&LIBRARY.find(name).unwrap(), &choices).unwrap_or_else(|error| panic!("{error}"))
}

/// The variants and extents of an embedded study.
fn runs(name: &str) -> impl Iterator<Item = (Variant, Extent)> {
    // There are no published crashes, a whole site or all these drivers to be repeated.
    let of_our_own = ["durability", "languages", "locked", "wordpress-driver", "wordpress-http", "wordpress-rate"];
    let as_published = (!of_our_own.contains(&name)).then_some(AS_PUBLISHED);
    [QUICK, CORRECTED].into_iter().chain(as_published)
}

fn names(whole: &Whole) -> Vec<&str> {
    whole.studies.iter().filter_map(|study| study.part.as_deref()).collect()
}

fn part<'w>(whole: &'w Whole, name: &str) -> &'w Study {
    whole.studies.iter().find(|study| study.part.as_deref() == Some(name)).unwrap_or_else(|| panic!("no part {name}"))
}

fn labels(study: &Study) -> Vec<&str> {
    study.contenders.iter().map(|contender| contender.label.as_str()).collect()
}

fn conditions(study: &Study) -> Vec<&str> {
    study.conditions.iter().map(|condition| condition.label.as_str()).collect()
}

fn resolved(text: &str, (variant, extent): (Variant, Extent)) -> Result<Study, StudyError> {
    resolve(&Source::new("studies/test.toml", text), &Choices::new(variant, extent))
}

/// Fails if the quick form of an embedded study, all parts together, is expected to take longer.
#[track_caller]
fn assert_quick_within(name: &str, seconds: u64) {
    let whole = embedded(name, QUICK, &[]);
    let expected_ns: u64 = whole.studies.iter().map(estimate_ns).sum();
    assert!(expected_ns <= seconds * 1_000_000_000, "{name} --quick takes about {} s", expected_ns / 1_000_000_000);
}

/// A study in which every kind of key is there once.
const SAMPLE: &str = r#"question = "q"
workload = "w"
kind = "load"
headline = "throughput_ops_per_s"
margin = 0.1
baseline = ["WAL/FULL"]
[settings]
busy_timeout = 5000
[axes]
profile = ["a", "b"]
clients = [1, 8]
synchronous = ["full", "normal"]
[[contender]]
engine = "sqlite"
settings = { journal_mode = "wal" }
[[contender]]
engine = "sqlite"
label = "safe"
settings = { journal_mode = "delete", synchronous = "extra" }
[load]
window = "2s"
[quick]
rounds = 6
axes = { profile = ["a"], synchronous = ["full"] }
[as_published]
rounds = 3
axes = { profile = ["a"] }
[[as_published.contender]]
engine = "sqlite"
label = "original"
[[metric]]
name = "failures"
about = "failed"
value = "conflict / planned"
higher_is_better = false
[[answer]]
ask = "Is it?"
metric = "throughput_ops_per_s"
this = "WAL/FULL"
against = "safe"
[answer.words]
faster = "yes {ratio}"
no-difference = "same"
cannot-tell = "perhaps"
slower = "no"
not-comparable = "unknown"
[[effect]]
about = "sync"
factor = "synchronous"
from = "full"
to = "normal"
at = { journal_mode = "wal" }
metric = "failures"
[[along]]
ask = "Up to how many?"
axis = "clients"
metric = "throughput_ops_per_s"
tells = "plateau"
because = { "safe" = "locks" }
[[published]]
condition = "a"
contender = "original"
metric = "failures"
value = 3
[[export]]
file = "out.csv"
rows = "cell"
columns = [
  { name = "who", contender = { "safe" = "sure" } },
  { name = "fails", value = "failures", decimals = 2 },
]
"#;

#[test]
fn axes_multiply_what_they_are_axes_of() {
    let study = resolved(SAMPLE, CORRECTED).unwrap();
    assert_eq!(study.name, "test");
    assert_eq!(labels(&study), ["WAL/FULL", "WAL/NORMAL", "safe"]);
    assert_eq!(conditions(&study), ["a, 1 client", "a, 8 clients", "b, 1 client", "b, 8 clients"]);
    assert_eq!(study.conditions[3].axes["clients"], "8");
    assert_eq!(study.contenders[0].name, "sqlite/rusqlite/thread:busy_timeout=5000,journal_mode=wal,synchronous=full");
    assert_eq!((study.rounds, study.load.window_ns, study.load.run_in_ns), (12, 2_000_000_000, 500_000_000));
    assert_eq!(study.load.under(&study.conditions[3].axes).clients, Some(8));
}

#[test]
fn overlays_replace_tables_and_keep_the_keys_of_the_load() {
    let quick = resolved(SAMPLE, QUICK).unwrap();
    assert_eq!(labels(&quick), ["WAL/FULL", "safe"]);
    assert_eq!(conditions(&quick), ["a"]);
    assert_eq!(quick.rounds, 6);
    let published = resolved(SAMPLE, AS_PUBLISHED).unwrap();
    assert_eq!(labels(&published), ["original"]);
    assert_eq!(published.load.window_ns, 2_000_000_000);
    assert_eq!(published, resolved(SAMPLE, (Variant::AsPublished, Extent::Quick)).map(full).unwrap());
}

fn full(study: Study) -> Study {
    Study { extent: Extent::Full, ..study }
}

#[test]
fn what_a_variant_does_not_cover_is_left_out() {
    let corrected = resolved(SAMPLE, CORRECTED).unwrap();
    assert_eq!((corrected.answers.len(), corrected.effects.len(), corrected.published.len()), (1, 1, 0));
    let quick = resolved(SAMPLE, QUICK).unwrap();
    assert_eq!((quick.answers.len(), quick.effects.len(), quick.published.len()), (1, 0, 0));
    let published = resolved(SAMPLE, AS_PUBLISHED).unwrap();
    assert_eq!((published.answers.len(), published.effects.len(), published.published.len()), (0, 0, 1));
}

#[test]
fn slight_verdicts_fall_back_to_the_plain_ones() {
    let study = resolved(SAMPLE, CORRECTED).unwrap();
    assert_eq!(study.answers[0].words["slightly-faster"], "yes {ratio}");
    assert_eq!(study.answers[0].words.len(), super::blank::Word::ALL.len());
}

#[test]
fn the_same_may_be_asked_of_several() {
    let asked = |this: &str, against: &str| {
        let text = SAMPLE.replace("this = \"WAL/FULL\"", this).replace("against = \"safe\"", against);
        let answers = resolved(&text, CORRECTED).unwrap().answers;
        answers.into_iter().map(|answer| [answer.this, answer.against].join(" - ")).collect::<Vec<_>>()
    };
    let (both, swapped) = ("this = [\"WAL/FULL\", \"safe\"]", "against = [\"safe\", \"WAL/FULL\"]");
    assert_eq!(asked("this = [\"WAL/FULL\"]", "against = \"safe\""), ["WAL/FULL - safe"]);
    assert_eq!(asked(both, swapped), ["WAL/FULL - safe", "safe - WAL/FULL"]);
}

#[test]
fn every_tier_has_a_baseline_and_the_study_names_it_if_it_can() {
    let study = resolved(SAMPLE, CORRECTED).unwrap();
    let labels: Vec<&str> = study
        .baselines
        .iter()
        .map(|name| study.contenders.iter().find(|it| it.name == *name).unwrap().label.as_str())
        .collect();
    assert_eq!(labels, ["WAL/FULL", "WAL/NORMAL"]);
    let by_spec = SAMPLE.replace("[\"WAL/FULL\"]", "[\"sqlite:synchronous=extra,journal_mode=DELETE\"]");
    assert!(resolved(&by_spec, CORRECTED).unwrap().baselines[0].contains("extra"));
}

#[test]
fn given_labels_are_extended_by_the_axes() {
    let text = SAMPLE
        .replace("settings = { journal_mode = \"wal\" }", "label = \"wal\"\nsettings = { journal_mode = \"wal\" }");
    let text = text.replace("\"WAL/FULL\"", "\"wal, WAL/FULL\"");
    assert_eq!(labels(&resolved(&text, CORRECTED).unwrap()), ["wal, WAL/FULL", "wal, WAL/NORMAL", "safe"]);
}

#[test]
fn a_tier_can_be_an_axis() {
    let text = r#"question = "q"
workload = "w"
kind = "load"
headline = "throughput_ops_per_s"
axes = { tier = ["durable", "bounded"] }
contender = [{ engine = "sqlite" }]
load = { operations = 100 }
"#;
    let study = resolved(text, CORRECTED).unwrap();
    assert_eq!(labels(&study), ["WAL/FULL", "WAL/NORMAL"]);
    assert_eq!(conditions(&study), ["default"]);
    assert_eq!((study.load.window_ns, study.load.run_in_ns, study.load.operations), (0, 0, Some(100)));
}

#[test]
fn a_study_can_be_written_and_read_back() {
    let study = resolved(SAMPLE, CORRECTED).unwrap();
    assert_eq!(toml::from_str::<Study>(&toml::to_string(&study).unwrap()), Ok(study));
}

#[test]
fn the_example_of_the_documentation_resolves() {
    let page = include_str!("../../../../../docs/study-file.md");
    let (_, rest) = page.split_once("```toml\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("the end of the example");
    assert_eq!(labels(&resolved(example, CORRECTED).unwrap()), ["2 MiB", "64 MiB"]);
    assert_eq!(conditions(&resolved(example, QUICK).unwrap()), ["public, 4 clients"]);
}

#[test]
fn every_name_of_an_embedded_study_is_one_of_its_workload() {
    let vocabulary = |name: &str| {
        let parsed = crate::workload::parse(&crate::workload::LIBRARY.find(name).unwrap()).unwrap();
        Vocabulary {
            profiles: parsed.profiles.keys().cloned().collect(),
            scale: parsed.scale.keys().chain(&parsed.presets).cloned().collect(),
            transactions: parsed.transactions.iter().map(|t| t.name.clone()).collect(),
            tables: parsed.tables.iter().map(|t| t.name.clone()).collect(),
            own_counts: parsed.own_counts(),
        }
    };
    for name in LIBRARY.names() {
        for run in runs(name) {
            for study in &embedded(name, run, &[]).studies {
                check_vocabulary(&LIBRARY.find(name).unwrap(), study, &vocabulary(&study.workload)).unwrap();
            }
        }
    }
}

#[test]
fn the_way_in_by_symptom_takes_a_minute() {
    assert_quick_within("locked", 60);
    let study = embedded("locked", QUICK, &[]).studies.remove(0);
    assert_eq!((study.contenders.len(), study.answers.len(), study.grids.len()), (24, 3, 5));
}

#[test]
fn operations_are_counted_from_the_start() {
    let mut counted = 0;
    for name in LIBRARY.names() {
        for run in runs(name) {
            for study in embedded(name, run, &[]).studies.iter().filter(|study| study.load.operations.is_some()) {
                assert_eq!(study.load.run_in_ns, 0, "{name} {:?}", study.part);
                counted += 1;
            }
        }
    }
    assert!(counted > 4, "{counted} parts of embedded studies end after a number of operations");
}
