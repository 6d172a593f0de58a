//! Trials of a record belong to their places, and records that have nothing in common are not compared.

use crate::support::{Bench, edit, tiny_study};
use contend::record::store::Record;
use std::fs;
use std::path::Path;

/// The trials that a record names as damaged, with the reasons.
fn damaged(record: &Path) -> Vec<(String, String)> {
    Record::open(record).expect("a record").damaged
}

#[test]
fn a_trial_in_another_place_or_with_another_contender_is_named_and_does_not_count() {
    let bench = Bench::new();
    bench.tiny_sound(&["--rounds", "1"]);
    let record = bench.path("record");
    assert_eq!(damaged(&record), []);
    let (first, copy) = (record.join("trials/0001"), record.join("trials/0003"));
    fs::create_dir(&copy).expect("made");
    for entry in fs::read_dir(&first).expect("a trial").flatten() {
        fs::copy(entry.path(), copy.join(entry.file_name())).expect("copied");
    }
    let found = damaged(&record);
    assert!(found.len() == 1 && found[0].0 == "0003" && found[0].1.contains("was copied or renamed"), "{found:?}");
    fs::remove_dir_all(copy).expect("removed");
    let file = first.join("trial.toml");
    let whole = fs::read_to_string(&file).expect("a trial");
    let (_, text) = whole.split_once('\n').expect("a seal");
    let id = &Record::open(&record).expect("a record").run.id.expect("a number");
    let modes = ("journal_mode=wal", "journal_mode=truncate");
    let (of, other) = if text.contains(modes.0) { modes } else { (modes.1, modes.0) };
    let exchanged = |from: &str, to: &str| text.replacen(from, to, 1);
    let tier = |tier: &str| format!("\ntier = \"{tier}\"");
    for (changed, words) in [
        (exchanged(of, other), "it is of sqlite"),
        (exchanged("round = 1", "round = 2"), "the schedule has another round"),
        (exchanged("plan_sha256 = \"", "plan_sha256 = \"0"), "`bound_sha256` differs"),
        (exchanged("window_end_ns = ", "window_end_ns = 1"), "`bound_sha256` differs"),
        (exchanged(&tier("durable"), &tier("unsafe")), "`bound_sha256` differs"),
        (
            exchanged("invalid = []\n", "") + "[[invalid]]\nkind = \"stalled\"\ndetail = \"\"\n",
            "`bound_sha256` differs",
        ),
    ] {
        assert_ne!(changed, text, "{words}");
        fs::write(&file, changed).expect("written");
        let found = damaged(&record);
        assert!(found.len() == 1 && found[0].0 == "0001" && found[0].1.contains(words), "{words}: {found:?}");
    }
    // A trial of another run.
    fs::write(&file, whole).expect("put back");
    assert_eq!(damaged(&record), []);
    edit(&record.join("run.toml"), |text| text.replacen(id, "0", 1));
    let found = damaged(&record);
    assert!(found.len() == 2 && found[0].1.contains("is of another run"), "{found:?}");
}

#[test]
fn a_comparison_of_nothing_says_so_and_is_no_success() {
    let bench = Bench::new();
    bench.tiny_sound(&["--rounds", "1", "--only", "WAL/FULL"]);
    let study = tiny_study();
    let only = ["--rounds", "1", "--only", "TRUNCATE/FULL", "--quiet"];
    bench.contend(&[&["run", &study, "--out", "other"][..], &only].concat());
    let said = bench.contend(&["compare", "record", "other"]).exits(1);
    assert!(said.out.contains("Nothing is compared"), "{}", said.out);
}
