//! What power cuts have proved, in later studies.

use crate::support::{Bench, root};
use contend::record::model::StudyFile;
use contend::record::parts::write_study;
use contend::record::seal::{TOML, sealed};
use contend::record::store::Record;
use std::fs;

/// What was proved stands in the next study with the same engine, version and settings, and in no other.
pub fn tells_other_studies(bench: &Bench) {
    let kept = fs::read_to_string(bench.path(".evidence/proofs.toml")).expect("what was proved");
    assert!(kept.contains("synchronous = \"full\"") && kept.contains("reached = \"durable\""), "{kept}");
    let study = root().join("tests/fixtures/tier-evidence.toml").display().to_string();
    bench.contend(&["run", &study, "--out", "load", "--quiet"]);
    let text = fs::read_to_string(bench.path("load/report.md")).expect("a report");
    assert!(text.contains("proved here: cut; only documented: other settings"), "{text}");
    let mut rows = text.lines().filter(|line| line.starts_with('|'));
    let row = rows.find(|row| row.contains("proved here")).expect("a row");
    assert!(row.contains("0 of 89 simulated power cuts left less, so below 3.4 %; SQLite 3."), "{row}");
    let csv = fs::read_to_string(bench.path("load/trials.csv")).expect("numbers");
    assert!(csv.contains(",proved-here,89,") && csv.contains(",documented,,"), "{csv}");
    believes_no_file_alone(bench, &study, &kept);
    // Those that become part of contend name no machine, worker or record.
    let shipped = bench.contend(&["durability", "evidence", "record"]).exits(0).out;
    let names = ["machine =", "worker =", "record ="].iter().any(|name| shipped.contains(name));
    assert!(shipped.contains("[[proof]]") && !names, "{shipped}");
    as_a_part(bench, &shipped);
    // A damaged file of proofs is reported before anything runs.
    fs::write(bench.path(".evidence/proofs.toml"), "[[proof]]\nengine = ").expect("written");
    let said = bench.contend(&["run", &study, "--out", "refused", "--quiet"]).exits(2);
    assert!(said.err.contains("proofs.toml"), "{}", said.err);
    assert!(!bench.path("refused/run.toml").exists());
    fs::write(bench.path(".evidence/proofs.toml"), &shipped).expect("written");
    let said = bench.contend(&["durability", "evidence", "load"]).exits(2);
    assert!(said.err.contains("proves nothing"), "{}", said.err);
}

/// A proof counts as seen only if the record that it names shows it, and only for the program of the worker that was cut.
fn believes_no_file_alone(bench: &Bench, study: &str, kept: &str) {
    let file = bench.path(".evidence/proofs.toml");
    assert!(kept.contains("record = \"record\"") && kept.contains("worker = \""), "{kept}");
    let (_, own) = kept.split_once('\n').expect("a seal");
    let run = |out: &str, text: &str| {
        fs::write(&file, text).expect("written");
        let said = bench.contend(&["run", study, "--out", out, "--quiet"]);
        (fs::read_to_string(bench.path(&format!("{out}/report.md"))).unwrap_or_default(), said.err)
    };
    // Of settings that no built-in proof has.
    let of_others = own.replace("page_size = \"4096\"", "page_size = \"8192\"");
    let forged = of_others.replace("power = 89", "power = 999999");
    let (_, said) = run("changed", &kept.replace("power = 89", "power = 999999"));
    assert!(said.contains("proofs.toml was changed after contend wrote it"), "{said}");
    for (out, text) in [
        ("forged", sealed(TOML, &forged)),
        ("unsealed", forged.clone()),
        ("no-record", forged.replace("record = \"record\"\n", "")),
        ("elsewhere", forged.replace("record = \"record\"\n", "record = \"../record\"\n")),
    ] {
        let (report, _) = run(out, &text);
        assert!(report.contains("reported by a file: other settings"), "{out}: {report}");
        let says = report.contains("durable in 999,999 simulated power cuts, says .evidence/proofs.toml");
        assert!(says && !report.contains("proved here"), "{out}: {report}");
    }
    let digest = own.split_once("worker = \"").expect("a digest").1.split('"').next().expect("a digest");
    let (report, _) = run("another-build", &of_others.replace(digest, &"0".repeat(digest.len())));
    assert!(!report.contains("proved here") && !report.contains("by a file"), "{report}");
    fs::rename(bench.path("record"), bench.path("moved")).expect("moved");
    let (report, _) = run("no-record-there", kept);
    assert!(!report.contains("proved here"), "{report}");
    fs::rename(bench.path("moved"), bench.path("record")).expect("moved back");
}

/// A study with parts has images and proofs in those that cut the power.
fn as_a_part(bench: &Bench, shipped: &str) {
    let whole = bench.path("whole");
    fs::create_dir(&whole).expect("made");
    let run = Record::open(&bench.path("record")).expect("a record").run;
    let study = run.study;
    let parts = StudyFile {
        format: run.format,
        contend: run.contend,
        started: run.started,
        command: run.command,
        study: study.name,
        question: study.question,
        variant: study.variant,
        extent: study.extent,
        parts: vec!["power".to_string(), "load".to_string()],
        finished: None,
    };
    write_study(&whole, &parts).expect("written");
    for (from, part) in [("record", "power"), ("load", "load")] {
        std::os::unix::fs::symlink(bench.path(from), whole.join(part)).expect("linked");
    }
    assert_eq!(bench.contend(&["durability", "evidence", "whole"]).exits(0).out, shipped);
    let said = bench.contend(&["durability", "replay", "whole/0001-1"]).exits(2);
    assert!(said.err.contains("whole/PART/0001-1") && said.err.contains("power, load"), "{}", said.err);
}
