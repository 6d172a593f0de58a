//! `contend gate`: on commands, and on two records.

use crate::given::{self, Work};
use crate::support::{Bench, processes_with_argument, root, wait_for};
use contend::outcome::reason::Invalid;
use contend::record::model::Trial;
use contend::study::model::Contender;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::Path;
use std::process::Command;

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn a_slower_command_fails_the_gate() {
    let bench = Bench::new();
    let fixed = ["gate", "--a", "sleep 0.02; echo of A", "--b", "sleep 0.2", "--out"];
    let said = bench.contend(&[&fixed[..], &["slower"]].concat()).exits(1);
    let line = said.out.lines().find(|line| line.starts_with("> slower: B takes")).expect("an answer");
    assert!(line.contains("times the wall time of A"), "{line}");
    // It ends when it knows, and nothing but the record is kept.
    let gate: toml::Table = read(&bench.path("slower/gate.toml")).parse().expect("TOML");
    assert_eq!(gate["ended"].as_str(), Some("decided"));
    let mut names: Vec<String> = fs::read_dir(bench.path("slower"))
        .expect("a directory")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["gate.md", "gate.toml", "junit.xml"]);
    let (markdown, junit) = (read(&bench.path("slower/gate.md")), read(&bench.path("slower/junit.xml")));
    assert!(markdown.contains("slower: B takes") && markdown.contains("CPU time"), "{markdown}");
    assert!(junit.contains("failures=\"1\"") && junit.contains("<failure message=\"slower: B takes"), "{junit}");

    // The report comes from the record alone.
    let again = bench.contend(&["report", "slower"]).exits(1);
    assert_eq!((again.out, read(&bench.path("slower/gate.md"))), (said.out, markdown));
    let changed = read(&bench.path("slower/gate.toml")).replacen("wall_ns = ", "wall_ns = 9", 1);
    fs::write(bench.path("slower/gate.toml"), &changed).expect("written");
    let said = bench.contend(&["report", "slower"]).exits(2);
    assert!(said.err.contains("gate.toml was changed after contend wrote it"), "{}", said.err);
    let (_, own) = changed.split_once('\n').expect("a seal");
    fs::write(bench.path("slower/gate.toml"), own).expect("written");
    let said = bench.contend(&["report", "slower"]);
    assert!(said.out.contains("Not sealed: gate.toml has no SHA-256 in the first line."), "{}", said.out);
    bench.assert_nothing_left();
}

#[test]
fn a_faster_command_passes_by_the_time_that_was_chosen() {
    let bench = Bench::new();
    // A waits longer, B computes: each is the faster one by one of the two times.
    let computes = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    for (by, status, word) in [("cpu", 1, "slower: B takes"), ("wall", 0, "faster: B takes")] {
        let fixed = ["gate", "--a", "sleep 0.3", "--b", computes, "--by", by, "--warm-up", "0", "--out", by];
        let said = bench.contend(&fixed).exits(status);
        assert!(said.out.contains(word), "{}", said.out);
    }
}

#[test]
fn what_is_prepared_is_not_measured() {
    let bench = Bench::new();
    let fixed = ["gate", "--a", "test -e made && rm made", "--b", "rm made", "--rounds", "2", "--warm-up", "1"];
    let said = bench.contend(&[&fixed[..], &["--before", "sleep 0.3; touch made", "--out", "out"]].concat()).exits(3);
    assert!(
        said.out.contains("cannot tell") && said.out.contains("in 2 rounds, and an interval needs 11"),
        "{}",
        said.out
    );
    let gate: toml::Table = read(&bench.path("out/gate.toml")).parse().expect("TOML");
    let shortest = gate["rounds"].as_array().expect("rounds").iter().map(|r| r["a"]["wall_ns"].as_integer()).min();
    assert!(shortest.flatten().is_some_and(|ns| ns < 300_000_000), "{gate}");
    let fixed = ["gate", "--a", "true", "--b", "true", "--rounds", "1", "--pass-if-unsure", "--out", "passes"];
    bench.contend(&fixed).exits(0);
}

#[test]
fn a_command_that_fails_ends_the_gate_with_its_output() {
    let bench = Bench::new();
    let fails = "echo tried >> count; echo 'no such <table>' >&2; test $(wc -l < count) -lt 3";
    let said = bench.contend(&["gate", "--a", "true", "--b", fails, "--out", "out"]).exits(2);
    assert!(said.err.contains("B failed in round 2 (exit status: 1)"), "{}", said.err);
    assert!(said.err.contains("output-b.txt") && said.err.contains("no such <table>"), "{}", said.err);
    assert_eq!(read(&bench.path("out/output-b.txt")), "no such <table>\n");
    let junit = read(&bench.path("out/junit.xml"));
    assert!(junit.contains("errors=\"1\"") && junit.contains("no such &lt;table&gt;"), "{junit}");
    // What was measured before is kept.
    assert!(read(&bench.path("out/gate.toml")).contains("ended = \"failed\""));
    // The report of it has the same error, and no answer.
    let again = bench.contend(&["report", "out"]).exits(2);
    assert!(again.err.contains("B failed in round 2"), "{}", again.err);
    assert_eq!(read(&bench.path("out/junit.xml")), junit);
    let missing = bench.contend(&["gate", "--a", "./not-there", "--b", "true", "--out", "missing"]).exits(2);
    assert!(missing.err.contains("A failed in the warm-up (exit status: 127)"), "{}", missing.err);
    let used = bench.contend(&["gate", "--a", "true", "--b", "true", "--out", "out"]).exits(2);
    assert!(used.err.contains("is not empty"), "{}", used.err);
}

#[test]
fn a_long_output_is_bounded_on_the_disk_and_in_the_error() {
    let bench = Bench::new();
    // A line without an end, and one that is written over.
    let long = "head -c 3000000 /dev/zero | tr '\\0' x; printf '\\rstep 1\\rstep 2'; exit 1";
    let said = bench.contend(&["gate", "--a", long, "--b", "true", "--out", "long"]).exits(2);
    assert!(said.err.contains("ends with:\n  x") && said.err.ends_with(" ...\n  step 1\n  step 2\n"), "{}", said.err);
    assert!(said.err.len() < 1000 && read(&bench.path("long/junit.xml")).len() < 2000, "{}", said.err);
    // It goes on only when a part was dropped; contend may drop it before the last bytes are written.
    let much = "head -c 17000000 /dev/zero; until grep -aq 'contend: the output' much/output-a.txt; do sleep 0.01; done; \
                echo; echo the end; exit 1";
    let said = bench.contend(&["gate", "--a", much, "--b", "true", "--out", "much"]).exits(2);
    assert!(said.err.ends_with("\n  the end\n"), "{}", said.err);
    let kept = read(&bench.path("much/output-a.txt"));
    assert!(kept.contains("too long, and what came before") && kept.len() < 1_000_000, "{}", kept.len());
}

#[test]
fn a_command_that_hangs_is_ended_with_all_it_has_started() {
    let bench = Bench::new();
    let fixed = ["gate", "--a", "sleep 1000 & sleep 1000; true", "--b", "true", "--budget", "500ms", "--out", "out"];
    let said = bench.contend(&fixed).exits(2);
    assert!(said.err.contains("A did not end within the whole budget of 500ms"), "{}", said.err);
    bench.assert_nothing_left();

    // Out of its process group, and out of its session.
    let away = "(setsid sleep 1234567 &)";
    let args = ["gate", "--a", away, "--b", away, "--rounds", "3", "--pass-if-unsure", "--out", "away"];
    bench.contend(&args).exits(0);
    assert!(processes_with_argument("1234567").is_empty());

    let running = bench.start(&["gate", "--a", "touch begun; sleep 1000; true", "--b", "true", "--out", "stopped"]);
    wait_for("the command", || bench.path("begun").exists());
    let pid = Pid::from_raw(running.id() as i32).expect("a process");
    kill_process(pid, Signal::INT).expect("it runs");
    let said: crate::support::Said = running.wait_with_output().expect("it ends").into();
    said.exits(130);
    bench.assert_nothing_left();
}

/// A record of the fixture's first contender, a baseline, and its third. The third has `ratio` times the throughput in
/// each round, and so has each contender with one of the names in `more`.
fn given_record(bench: &Bench, name: &str, more: &[&str], ratio: impl Fn(u32) -> f64) {
    let fixture = given::fixture();
    let mut run = fixture.run.clone();
    let [base, other] = [0, 2].map(|at: usize| run.study.contenders[at].clone());
    let named = |name: &&str| Contender { name: (*name).to_string(), label: (*name).to_string(), ..other.clone() };
    run.study.baselines = vec![base.name.clone()];
    run.study.contenders = [base, other.clone()].into_iter().chain(more.iter().map(named)).collect();
    let conditions = run.study.conditions.clone();
    let run = given::planned(run, 6, conditions);
    given::write(&bench.path(name), &run, &fixture, |trial| {
        let factor = if trial.slot.contender == 0 { 1.0 } else { ratio(trial.slot.round) };
        1e6 / (factor * given::noise(trial.slot.round))
    });
}

#[test]
fn two_records_are_judged_against_their_common_baseline() {
    let bench = Bench::new();
    given_record(&bench, "before", &["only-before"], |_| 2.0);
    given_record(&bench, "after", &[], |_| 1.6);
    given_record(&bench, "before-again", &["only-before"], |_| 2.0);
    given_record(&bench, "after-again", &[], |_| 1.6);
    given_record(&bench, "rising", &[], |round| 2.0 + 0.2 * f64::from(round));
    given_record(&bench, "sinking", &[], |round| 1.8 - 0.1 * f64::from(round));
    for (a, b, code, parts) in [
        (
            "after",
            "after-again",
            0,
            ["no difference beyond 5.0 %: B has 1.00 times the throughput of A, each against its", ""],
        ),
        (
            "after",
            "before",
            0,
            ["faster: B has 1.25 times the throughput of A", "Only in B, and not judged: only-before"],
        ),
        ("before", "before-again", 0, ["B has 1.00 times the throughput of A", "only-before: no difference"]),
        (
            "before",
            "after",
            1,
            ["slower: B has 0.800 times the", "only-before: not comparable: B has no valid round with both"],
        ),
        ("after", "rising", 3, ["cannot tell: in B: drift: the ratio changes by +", ""]),
        ("before", "sinking", 1, ["slower: B has 0.7", "Note: in B: drift: the ratio changes by -"]),
    ] {
        let said = bench.contend(&["gate", a, b, "--out", &format!("files-{a}-{b}")]).exits(code);
        let one_line = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
        parts.iter().for_each(|part| assert!(one_line.contains(part), "{a}, {b}: {part}: {}", said.out));
    }
    // Rounds with a drift do not decide, so they pass if asked. That B is slower they show all the same.
    bench.contend(&["gate", "after", "rising", "--pass-if-unsure"]).exits(0);
    bench.contend(&["gate", "before", "sinking", "--pass-if-unsure"]).exits(1);
}

/// Whatever was measured, its ratio to itself is 1: a record is not compared with itself, nor with its copy.
#[test]
fn a_record_is_not_judged_against_itself() {
    let bench = Bench::new();
    bench.tiny_sound(&["--rounds", "2"]);
    let copied = Command::new("cp").arg("-r").args([bench.path("record"), bench.path("copy")]).status().expect("cp");
    assert!(copied.success());
    for verb in ["compare", "gate"] {
        for (other, words) in [
            ("record", "record and record are the same record; name two records"),
            ("./record/", "are the same record; name two records"),
            ("copy", "record and copy are the same record: one is a copy of the other; name records of two runs"),
        ] {
            let said = bench.contend(&[verb, "record", other]).exits(2);
            assert!(said.err.contains(words), "{verb} {other}: {}", said.err);
        }
    }
    let other = root().join("tests/fixtures/records/format-3").display().to_string();
    let said = bench.contend(&["gate", "record", &other]).exits(2);
    assert!(said.err.contains("in common") || said.err.contains("headlines differ"), "{}", said.err);
}

/// As `contend http A B` measures two builds of a service: one record, in the same rounds.
#[test]
fn the_contenders_of_one_record_are_judged_against_its_baseline() {
    let bench = Bench::new();
    bench.tiny_sound(&["--rounds", "2"]);
    let said = bench.contend(&["gate", "record", "--out", "files"]).exits(3);
    assert!(said.out.contains("cannot tell: B has") && said.out.contains("too few for an interval"), "{}", said.out);
    let junit = read(&bench.path("files/junit.xml"));
    assert!(junit.contains("skipped=\"1\"") && junit.contains("classname=\"contend.gate\""), "{junit}");
    assert!(read(&bench.path("files/gate.md")).contains("in the same rounds"));
    bench.contend(&["gate", "record", "--pass-if-unsure"]).exits(0);
    fs::rename(bench.path("record"), bench.path("both")).expect("renamed");
    bench.tiny_sound(&["--rounds", "1", "--only", "WAL/FULL"]);
    let said = bench.contend(&["gate", "record"]).exits(2);
    assert!(said.err.contains("no baseline with another contender"), "{}", said.err);
}

/// A record of two services at a fixed rate, of which A does everything.
fn given_services(bench: &Bench, name: &str, of_b: impl Fn(&mut Trial) -> Work) {
    let fixture = given::fixture();
    let mut run = fixture.run.clone();
    run.study.contenders = [0, 2].map(|at: usize| run.study.contenders[at].clone()).to_vec();
    run.study.baselines = vec![run.study.contenders[0].name.clone()];
    run.study.headline = "response_ns_p95".to_string();
    run.study.load.rate_per_s = Some(2000.0);
    let conditions = run.study.conditions.clone();
    let run = given::planned(run, 12, conditions);
    given::write(&bench.path(name), &run, &fixture, |trial| {
        trial.load_model = "open".to_string();
        trial.planned = [("place".to_string(), 4000)].into();
        if trial.slot.contender == 0 { Work::from(1e6) } else { of_b(trial) }
    });
}

#[test]
fn a_service_that_fails_or_falls_behind_never_passes() {
    let bench = Bench::new();
    let working = |failing: u32| Work { each_ns: 1e6, failing };
    given_services(&bench, "invalid", |trial| {
        trial.invalid = vec![Invalid::NothingDone.because("no operation was committed")];
        working(10)
    });
    given_services(&bench, "fast", |trial| {
        trial.invalid = vec![Invalid::GeneratorLimited.because("the clients were busy all the time")];
        working(0)
    });
    given_services(&bench, "broken", |_| working(9));
    given_services(&bench, "refusing", |_| working(2));
    given_services(&bench, "behind", |trial| Work::from(2e6 * given::noise(trial.slot.round)));
    given_services(&bench, "equal", |_| working(0));
    for (name, code, line, counts) in [
        ("invalid", 2, "failed: no trial of B is valid.", "failures=\"0\" errors=\"1\""),
        ("fast", 3, "not comparable: no round has a valid trial", "failures=\"0\" errors=\"1\""),
        ("broken", 2, "failed: B commits 10.0 % of its operations, A 100.0 %.", "failures=\"0\" errors=\"1\""),
        ("refusing", 3, "not comparable: not the same work: of place 80.0 % were", "failures=\"0\" errors=\"1\""),
        ("behind", 1, "slower: B has 0.499 times the throughput of A", "failures=\"1\" errors=\"0\""),
        ("equal", 0, "no difference beyond 5.0 %: B takes 1.00 times", "failures=\"0\" errors=\"0\""),
    ] {
        let files = format!("files-{name}");
        let said = bench.contend(&["gate", name, "--pass-if-unsure", "--out", &files]).exits(code);
        let one_line = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(one_line.contains(line), "{name}: {}", said.out);
        let junit = read(&bench.path(&files).join("junit.xml"));
        assert!(junit.contains(counts) && junit.contains("skipped=\"0\""), "{name}: {junit}");
    }
    given_services(&bench, "drifting", |trial| Work::from(1e6 * (0.4 + 0.03 * f64::from(trial.slot.round))));
    let said = bench.contend(&["gate", "drifting", "--out", "files-drifting"]).exits(3);
    assert!(said.out.contains("cannot tell: drift: the ratio changes by +"), "{}", said.out);
    assert!(read(&bench.path("files-drifting/junit.xml")).contains("skipped=\"1\""));
    bench.contend(&["gate", "drifting", "--pass-if-unsure"]).exits(0);
    // The same of two records.
    given_services(&bench, "equal-again", |_| working(0));
    bench.contend(&["gate", "equal", "equal-again", "--pass-if-unsure"]).exits(0);
    let said = bench.contend(&["gate", "equal", "behind", "--pass-if-unsure"]).exits(1);
    let one_line = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        one_line.contains("slower: B has 0.499 times the throughput of A, each against its baseline"),
        "{}",
        said.out
    );
    for name in ["invalid", "broken"] {
        let said = bench.contend(&["gate", "equal", name, "--pass-if-unsure"]).exits(2);
        assert!(said.out.contains(": failed: "), "{}", said.out);
    }
}

/// As with other tools that compare, a status other than 0 has to be asked for.
#[test]
fn slower_is_a_status_if_asked_for() {
    let bench = Bench::new();
    let lines: String = (1..=8).map(|pair| format!("old,{pair},1{pair} ms\nnew,{pair},2{pair} ms\n")).collect();
    fs::write(bench.path("times.csv"), format!("variant,pair,time\n{lines}")).expect("written");
    let args = ["compare", "--csv", "times.csv", "--variant", "variant", "--value", "time"];
    let said = bench.contend(&args).exits(0).out;
    assert!(said.contains("slower (detectable: "), "{said}");
    bench.contend(&[&args[..], &["--fail-if-slower"]].concat()).exits(1);
    bench.contend(&[&args[..], &["--fail-if-slower", "--baseline", "new"]].concat()).exits(0);
    let help = bench.contend(&["compare", "--help"]).exits(0).out;
    assert!(help.contains("Exit status: 0 compared") && help.contains("--fail-if-slower"), "{help}");
}

#[test]
fn work_that_a_command_leaves_to_others_is_no_win() {
    let bench = Bench::new();
    // Before the shell ends it has become that program.
    let until = "until grep -qx sleep /proc/$!/comm; do sleep 0.01; done";
    let ways = [format!("sleep 47.11 & {until}"), format!("setsid sleep 47.11 >/dev/null 2>&1 & {until}")];
    for (b, out) in ways.iter().map(String::as_str).zip(["group", "session"]) {
        let fixed = ["gate", "--a", "sleep 0.1", "--b", b, "--rounds", "12", "--out", out];
        let said = bench.contend(&fixed).exits(3);
        let flat = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
        let why = "not comparable: B left processes behind in 12 of 12 rounds (sleep), so its time may";
        assert!(flat.contains(why) && !flat.contains("> faster"), "{}", said.out);
        assert!(processes_with_argument("47.11").is_empty());
    }
    let allowed = ["gate", "--a", "sleep 0.5", "--b", &ways[0], "--may-leave", "sleep", "--out", "allowed"];
    assert!(bench.contend(&allowed).exits(0).out.contains("faster: B takes"));
    // What has ended by itself was not left, whether its parent waited for it or not.
    for (b, out) in [("(true &); sleep 0.01", "ended"), ("sleep 47.11 & kill -9 $!; sleep 0.01", "killed")] {
        let ended = ["gate", "--a", "sleep 0.1", "--b", b, "--out", out];
        assert!(bench.contend(&ended).exits(0).out.contains("faster: B takes"));
    }
    bench.assert_nothing_left();
}

/// The kernel adds the time of children that no process waits for to no other time.
#[test]
fn work_whose_time_the_kernel_does_not_report_is_no_win() {
    let bench = Bench::new();
    let ignores = "env --ignore-signal=CHLD setsid --fork --wait sleep 1 || true";
    let fixed = ["gate", "--a", "sleep 1", "--b", ignores, "--rounds", "2"];
    let said = bench.contend(&[&fixed[..], &["--by", "cpu", "--out", "cpu"]].concat()).exits(2);
    assert!(said.err.contains("B: setsid started processes and ignores SIGCHLD, in the warm-up."), "{}", said.err);
    assert!(read(&bench.path("cpu/junit.xml")).contains("errors=\"1\""));
    bench.contend(&[&fixed[..], &["--by", "wall", "--out", "wall"]].concat()).exits(3);
    bench.assert_nothing_left();
}

/// On a slow machine a process may still run 50 ms after its shell; then it is named.
#[test]
fn work_that_no_shell_waits_for_is_in_the_times_or_named() {
    let bench = Bench::new();
    let computes = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; times > used; touch done";
    let waits = format!("(({computes}) &); while ! test -e done; do sleep 0.01; done");
    let fixed = ["gate", "--a", "sleep 0.03 &", "--b", &waits, "--rounds", "1", "--warm-up", "0", "--out", "out"];
    bench.contend(&fixed).exits(3);
    let gate: toml::Table = read(&bench.path("out/gate.toml")).parse().expect("TOML");
    let round = &gate["rounds"][0];
    let ns = |side: &str, time: &str| round[side][time].as_integer().expect("a time");
    assert!(round.get("left_a").is_some() || ns("a", "wall_ns") >= 30_000_000, "{round}");
    let used = read(&bench.path("used"));
    let seconds = |time: &str| time.split(['m', 's']).nth(1).and_then(|s| s.parse::<f64>().ok()).expect("a time");
    let used_s: f64 = used.lines().next().expect("its own times").split(' ').map(seconds).sum();
    assert!(used_s > 0.0, "{used}");
    assert!(round.get("left_b").is_some() || ns("b", "cpu_ns") as f64 >= used_s * 1e9, "{used} {round}");
}

#[test]
fn a_preparation_that_leaves_a_server_ends_the_gate() {
    let bench = Bench::new();
    let fixed = ["gate", "--a", "true", "--b", "true", "--before", "setsid sleep 4711 &", "--out", "out"];
    let said = bench.contend(&fixed).exits(2);
    assert!(said.err.contains("--before of") && said.err.contains("left sleep running"), "{}", said.err);
    assert!(said.err.contains("start services before the gate"), "{}", said.err);
    let allowed = ["--may-leave", "sleep", "--rounds", "2", "--warm-up", "0", "--out", "allowed"];
    bench.contend(&[&fixed[..7], &allowed].concat()).exits(3);
    bench.assert_nothing_left();
}

/// A command that limits its parent, contend, would slow down all later ones.
#[test]
fn a_command_that_changes_processors_or_priority_of_contend_ends_the_gate() {
    let bench = Bench::new();
    let fixed = ["gate", "--a", "true", "--warm-up", "0", "--rounds", "2", "--b"];
    let nice = bench.contend(&[&fixed[..], &["renice -n 3 -p $PPID", "--out", "nice"]].concat()).exits(2);
    // Without the right to lower it again, contend ends with an error.
    let (restored, not) = ("while B ran, in round 1, contend itself had nice value", "may not change it back");
    assert!(nice.err.contains(restored) || nice.err.contains(not), "{}", nice.err);
    assert!(read(&bench.path("nice/gate.toml")).contains("ended = \"failed\""));
    if std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1) {
        let narrows = "taskset -cp $(taskset -cp $PPID | sed 's/.*: //; s/[-,].*//') $PPID";
        let said = bench.contend(&[&fixed[..], &[narrows, "--out", "narrow"]].concat()).exits(2);
        assert!(said.err.contains("while B ran, in round 1, contend itself had processors "), "{}", said.err);
        assert!(said.err.contains("set by another process") && said.err.contains("sh (process "), "{}", said.err);
    }
}
