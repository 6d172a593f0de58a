//! What people see of a run: in a pipe, on a terminal of 80 columns, without colours.

use crate::support::{Bench, reasons, tiny_study};
use contend::record::store::Record;
use contend::stats::precision::counted;
use std::process::Command;

/// The output of a shell command on a terminal with this many columns, which `script` makes.
fn on_terminal(bench: &Bench, columns: usize, command: &str, variables: &[(&str, &str)]) -> String {
    let tool = env!("CARGO_BIN_EXE_contend");
    let shell = format!("stty cols {columns} rows 50; {}", command.replace("contend", tool));
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &shell, "typescript"]).current_dir(bench.path("."));
    script.env("TERM", "xterm").env_remove("NO_COLOR").envs(variables.iter().copied());
    let said = script.output().expect("util-linux is there");
    String::from_utf8_lossy(&said.stdout).replace('\r', "\n")
}

/// Without what colours it.
fn bare(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_string();
    first + &parts.map(|part| part.split_once('m').map_or(part, |(_, rest)| rest)).collect::<String>()
}

fn widest(text: &str) -> &str {
    text.lines().max_by_key(|line| line.chars().count()).unwrap_or_default()
}

#[test]
fn a_report_is_as_wide_as_its_terminal_and_coloured_unless_that_is_not_wanted() {
    let bench = Bench::new();
    bench.tiny(&["--rounds", "2"]).ran();
    let piped =
        bench.command(&["report", "record"]).env_remove("NO_COLOR").env("LANG", "C").output().expect("it starts");
    let piped = String::from_utf8(piped.stdout).expect("text");
    // A cell that is coloured and wrapped has spaces at the end of a line.
    let lines = |text: &str| {
        let lines = text.lines().filter(|line| !line.contains("record/"));
        lines.map(|line| format!("{}\n", line.trim_end())).collect::<String>()
    };
    assert!(piped.is_ascii() && !piped.contains('\u{1b}'), "{piped}");
    assert!((81..=100).contains(&widest(&lines(&piped)).chars().count()), "{}", widest(&lines(&piped)));
    for columns in [80, 60] {
        let coloured = on_terminal(&bench, columns, "contend report record", &[("LANG", "C")]);
        let shown = lines(&bare(&coloured));
        assert!(coloured.contains("\u{1b}[1m") && shown.is_ascii(), "{coloured}");
        assert!(widest(&shown).chars().count() <= columns, "{columns}: {}", widest(&shown));
        assert!(shown.contains("WAL/FULL") && shown.contains("TRUNCATE/FULL"), "{shown}");
        let plain = on_terminal(&bench, columns, "contend report record", &[("NO_COLOR", "1")]);
        assert!(!plain.contains('\u{1b}') && lines(&plain) == shown, "{plain}");
    }
    bench.assert_nothing_left();
}

#[test]
fn progress_says_what_was_found_so_far_and_a_pipe_gets_a_line_for_each_trial() {
    let bench = Bench::new();
    let study = tiny_study();
    let run = format!("contend run {study} --rounds 2 --out record --again 0");
    let shown = on_terminal(&bench, 80, &format!("{run} >/dev/null"), &[]);
    // Each valid trial changes the line, which is seen while the next trial runs.
    let record = Record::open(&bench.path("record")).expect("a record");
    let mut rounds = [0; 2];
    for trial in record.trials.iter().filter(|trial| trial.invalid.is_empty() && trial.slot.trial < 4) {
        rounds[trial.slot.contender] += 1;
        let found = format!("so far, {}: ", counted(rounds[0].max(rounds[1]), "round"));
        assert!(shown.contains(&found), "{found}: {shown:?}");
    }
    let piped = bench.contend(&["run", &study, "--rounds", "1", "--out", "piped"]);
    piped.ran();
    assert!(!piped.err.contains('\u{1b}'), "{}", piped.err);
    let valid = reasons(&bench.path("piped")).iter().filter(|(_, invalid)| invalid.is_empty()).count();
    assert_eq!(piped.err.lines().filter(|line| line.starts_with("round 1/1  ")).count(), valid, "{}", piped.err);
    bench.assert_nothing_left();
}

#[test]
fn no_dead_bar_is_left_and_no_label_steers_it() {
    let bench = Bench::new();
    let study = std::fs::read_to_string(tiny_study()).expect("the study");
    let settings = "settings = { journal_mode = \"truncate\"";
    let hostile = study.replacen(settings, &format!("label = \"\\u001b[31mred\"\n{settings}"), 1);
    std::fs::write(bench.path("study.toml"), hostile).expect("written");
    let shown = on_terminal(&bench, 80, "contend run study.toml >/dev/null", &[]);
    assert!(shown.contains("label: `?[31mred`") && !shown.contains("\u{1b}[31mred"), "{shown:?}");
    let run = format!("contend run {} --rounds 1 --out record --again 0 >/dev/null", tiny_study());
    let shown = on_terminal(&bench, 80, &run, &[]);
    assert!(shown.contains(": about") && !shown.contains("leftstudy"), "{shown:?}");
    assert!(shown.contains("round 1/1  "), "{shown:?}");
}

/// A pipe gets whole lines, which can be searched.
#[test]
fn lists_and_advice_are_as_wide_as_the_terminal() {
    let bench = Bench::new();
    for verb in ["", "list", "list outcomes", "doctor", "explain 1034"] {
        let shown = on_terminal(&bench, 80, &format!("contend {verb}"), &[]);
        // A path is not broken.
        let shown: String = shown
            .lines()
            .filter(|line| !line.contains(env!("CARGO_BIN_EXE_contend")))
            .map(|l| format!("{l}\n"))
            .collect();
        assert!(widest(&shown).chars().count() <= 80, "{verb}: {}", widest(&shown));
    }
    assert!(widest(&bench.contend(&["list"]).exits(0).out).chars().count() > 80);
}
