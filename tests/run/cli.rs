//! The command line from outside: what it prints, what it refuses and how it leaves.

use crate::support::{Bench, root, sound, tiny_study};
use contend_wire::plan::Plan;
use std::fs;

/// The smallest study with one line replaced, run; what it complains about.
fn broken(bench: &Bench, from: &str, to: &str) -> String {
    let text = fs::read_to_string(tiny_study()).expect("the study");
    assert!(text.contains(from), "the fixture has no `{from}`");
    fs::write(bench.path("broken.toml"), text.replacen(from, to, 1)).expect("written");
    bench.contend(&["run", "broken.toml", "--out", "record", "--quiet"]).exits(2).err
}

#[test]
fn help_teaches_and_every_verb_has_it() {
    let bench = Bench::new();
    let help = bench.contend(&["--help"]).exits(0).out;
    for word in ["Examples:", "Exit status", "run", "report", "compare", "list", "doctor", "plan", "completions"] {
        assert!(help.contains(word), "{word} is missing:\n{help}");
    }
    for verb in ["run", "report", "compare", "list", "doctor", "plan", "completions"] {
        assert!(bench.contend(&[verb, "--help"]).exits(0).out.contains("Usage:"), "{verb}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(bench.contend(&["completions", shell]).exits(0).out.contains("contend"), "{shell}");
    }
}

#[test]
fn usage_errors_leave_with_2_and_nothing_behind() {
    let bench = Bench::new();
    let study = tiny_study();
    for (args, complaint) in [
        (vec!["frobnicate"], "frobnicate"),
        (vec!["run", "nonsense"], "there is no study `nonsense`"),
        (vec!["run", "missing.toml"], "missing.toml; name a file that is there, or one of "),
        (vec!["run", &study, "--set", "colour=red"], "colour"),
        (vec!["run", &study, "--only", "nothing-like-this"], "WAL/FULL"),
        (vec!["run", &study, "--contender", "sqlite:journal_mode=sideways"], "sideways"),
        (vec!["run", &study, "--contender", "oracle"], "sqlite"),
        (vec!["run", &study, "--rounds", "0"], "rounds"),
        (vec!["run", &study, "--window", "fast"], "--window"),
        (vec!["run", &study, "--scale=-1"], "scale"),
        (vec!["run", &study, "--set", "profile=absent"], "mixed"),
        (
            vec!["run", &study, "--clients", "1000000"],
            "condition `mixed, 1000000 clients`: 2000000 clients; the maximum is",
        ),
        (vec!["run", &study, "--scale", "1e12"], "rows would have to be loaded"),
        (vec!["run", &study, "--window", "5000000h"], "the longest is ten years"),
        (vec!["run", "plex", "--set", "part=contention", "--clients", "8"], "part contention, condition `"),
        (vec!["run", "plex", "--set", "part=contention", "--clients", "8"], "axis `clients` changes nothing"),
        (vec!["run", "plex", "--set", "part=contention", "--processes", "3"], "axis `processes` changes nothing"),
        (vec!["run", "durability", "--set", "points=4294967295"], "--set points: must be at most 1000000"),
        (vec!["verify", "bank", "--operations", "0"], "--operations"),
        (vec!["verify", "bank", "--scale", "1e12"], "rows would have to be loaded"),
        (vec!["http", "gameplan", "--seed", "9223372036854775808"], "--seed"),
        (vec!["plan", "show", "bank", "--worker", "9"], "there is no worker 9"),
        (vec!["plan", "show", "bank", "--profile", "absent"], "it has mixed, transfers"),
        (vec!["compare", "one"], "2"),
        (vec!["compare", "--csv", "missing.csv", "--variant", "a", "--value", "b"], "missing.csv"),
        (vec!["report", "nowhere"], "is not a record: it holds no run.toml. Name the directory that `--out` named"),
        (vec!["watch"], "For example: contend watch app.db\n"),
        (vec!["capture", "python3"], "For example: contend capture -- python3 app.py\n"),
        (vec!["replay"], "For example: contend replay"),
        (vec!["compare"], "For example: contend compare results/A results/B\n"),
        (vec!["http", "--clients", "2", "--cleints", "3"], "A scenario's variables are set with --set"),
        (vec!["http", "localhost:8080/items"], "such as http://localhost:8080/items"),
        (vec!["measure", "nowhere.db"], "cannot measure nowhere.db; name a SQLite database: No such file"),
        (vec!["run", "--resume", "nowhere"], "is not a record"),
    ] {
        let said = bench.contend(&args).exits(2);
        assert!(said.err.contains(complaint), "{args:?} must mention {complaint}:\n{}", said.err);
        assert_eq!(said.out, "", "{args:?}");
    }
    assert!(fs::read_dir(bench.dir.path()).expect("readable").next().is_none(), "something was left");
}

#[test]
fn a_contender_may_name_a_build_of_its_worker() {
    let bench = Bench::new();
    for build in ["one", "two"] {
        fs::create_dir(bench.path(build)).expect("a directory");
        fs::copy(env!("CARGO_BIN_EXE_contend"), bench.path(build).join("contend")).expect("a build");
    }
    let study = fs::read_to_string(tiny_study()).expect("the study");
    let settings = "settings = { journal_mode = \"truncate\"";
    let two = format!("worker = \"{}\"\n{settings}", bench.path("two").display());
    fs::write(bench.path("study.toml"), study.replacen(settings, &two, 1)).expect("written");
    let one = format!("sqlite@{}:journal_mode=wal", bench.path("one").display());
    let args = ["run", "study.toml", "--contender", &one, "--out", "record", "--quiet", "--rounds", "1"];
    let said = bench.command(&args).output().expect("the tool starts");
    let (code, err) = (said.status.code(), String::from_utf8_lossy(&said.stderr).into_owned());
    assert!(matches!(code, Some(0 | 1)), "{code:?}: {err}");
    let run = fs::read_to_string(bench.path("record/run.toml")).expect("a record");
    let record: toml::Table = toml::from_str(&run).expect("TOML");
    let programs = record["programs"].as_array().expect("programs");
    let builds: Vec<_> = programs.iter().map(|program| program.get("worker").and_then(|path| path.as_str())).collect();
    let path = |build| bench.path(build).display().to_string();
    assert_eq!(builds, [None, Some(path("two").as_str()), Some(path("one").as_str())], "{run}");
    let report = fs::read_to_string(bench.path("record/report.txt")).expect("a report");
    assert!(report.contains("@one"), "{report}");

    let nowhere = bench.contend(&["run", "study.toml", "--contender", "sqlite@nowhere", "--quiet"]).exits(2).err;
    assert!(nowhere.contains("nowhere; `worker` names a build of contend for driver rusqlite"), "{nowhere}");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(bench.path("two/contend"), mode).expect("set");
    let said = bench.contend(&["run", "study.toml", "--out", "none", "--quiet"]).exits(2).err;
    assert!(said.contains("two/contend is not executable: `chmod +x` it") && !bench.path("none").exists(), "{said}");
    bench.assert_nothing_left();
}

#[test]
#[ignore = "needs `make worker-system`; `make verify` runs it"]
fn the_systems_library_is_a_contender_beside_the_bundled_one() {
    let bench = Bench::new();
    let system = format!("sqlite@{}", root().join("target/workers/system").display());
    let args = ["run", &tiny_study(), "--contender", &system, "--out", "record", "--quiet"];
    let said = bench.command(&args).output().expect("the tool starts");
    assert!(matches!(said.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&said.stderr));
    let mut versions = std::collections::BTreeSet::new();
    for trial in fs::read_dir(bench.path("record/trials")).expect("trials").flatten() {
        let text = fs::read_to_string(trial.path().join("trial.toml")).expect("a trial");
        versions.extend(text.lines().filter(|line| line.starts_with("engine = \"SQLite ")).map(str::to_string));
    }
    assert_eq!(versions.len(), 2, "{versions:?}");
    bench.assert_nothing_left();
}

#[test]
fn mistakes_in_files_are_named_with_file_line_and_key() {
    let bench = Bench::new();
    for (from, to, complaint) in [
        ("headline = ", "headlin = ", "broken.toml:6"),
        ("rounds = 6", "rounds = 'six'", "broken.toml:7"),
        ("journal_mode = \"wal\"", "journal_mode = \"sideways\"", "broken.toml:16"),
        ("workload = \"bank\"", "workload = \"absent\"", "there is no workload `absent`"),
        ("profile = [\"mixed\"]", "profile = [\"absent\"]", "it has mixed, transfers"),
        ("window = \"300ms\"", "window = \"soon\"", "window"),
    ] {
        let said = broken(&bench, from, to);
        assert!(said.contains(complaint), "{to} must lead to {complaint}:\n{said}");
    }
}

#[test]
fn mistakes_in_sql_stop_the_trial_with_the_statement() {
    let bench = Bench::new();
    let workload = fs::read_to_string(root().join("workloads/bank.toml")).expect("the workload");
    let study = fs::read_to_string(tiny_study()).expect("the study");
    let from = "SELECT balance FROM account WHERE id = :account";
    for (to, complaint) in [
        ("SELECT saldo FROM account WHERE id = :account", "no such column: saldo"),
        ("SELEC balance FROM account WHERE id = :account", "syntax error"),
    ] {
        fs::write(bench.path("own.toml"), workload.replacen(from, to, 1)).expect("written");
        fs::write(bench.path("study.toml"), study.replacen("\"bank\"", "\"own.toml\"", 1)).expect("written");
        let record = format!("record-{}", complaint.len());
        let args = ["run", "study.toml", "--out", &record, "--rounds", "1", "--quiet"];
        let said = bench.command(&args).output().expect("the tool starts");
        let (code, err) = (said.status.code(), String::from_utf8_lossy(&said.stderr).into_owned());
        assert!(matches!(code, Some(1 | 2)) && err.contains(complaint), "{code:?}: {err}");
    }
    bench.assert_nothing_left();
}

#[test]
fn a_users_own_files_work_like_built_in_ones_and_a_broken_invariant_is_found() {
    let bench = Bench::new();
    let workload = fs::read_to_string(root().join("workloads/bank.toml")).expect("the workload");
    let study = fs::read_to_string(tiny_study()).expect("the study");
    fs::write(bench.path("study.toml"), study.replacen("\"bank\"", "\"own.toml\"", 1)).expect("written");

    fs::write(bench.path("own.toml"), &workload).expect("written");
    sound(&bench.path("good"), || bench.contend(&["run", "study.toml", "--out", "good", "--rounds", "1", "--quiet"]));

    // Money appears: the second half of a transfer adds one more than the first takes.
    let wrong = workload.replacen("balance = balance + :amount", "balance = balance + :amount + 1", 1);
    fs::write(bench.path("own.toml"), wrong).expect("written");
    let said = bench.contend(&["run", "study.toml", "--out", "bad", "--rounds", "1", "--quiet"]).exits(1);
    assert!(said.err.contains("no money appears or vanishes"), "{}", said.err);
    let report = fs::read_to_string(bench.path("bad/report.md")).expect("a report");
    assert!(report.contains("invariant"), "the report must say why nothing is ranked");
}

#[test]
fn the_walk_through_of_the_docs_can_be_walked() {
    let bench = Bench::new();
    let example = |name: &str| root().join("examples").join(name).display().to_string();
    let (workload, study) = (example("tickets.toml"), example("tickets-drivers.toml"));
    let shown = bench.contend(&["plan", "show", &workload, "--clients", "1", "--cycle", "3"]).exits(0).out;
    let plan = contend_wire::plan::Plan::decode(&shown).expect("what is shown is a plan");
    assert_eq!(plan.clients[0].operations.len(), 3);

    let args = ["verify", &workload, "--contender", "sqlite/rusqlite/pool", "--contender", "sqlite/rusqlite/fifo"];
    assert!(bench.contend(&args).exits(0).out.contains("The same everywhere"));

    // If the other driver's worker is not built, the run reports that and goes on without it.
    let args = ["run", &study, "--quick", "--out", "record", "--rounds", "1", "--window", "100ms", "--quiet"];
    let run = || bench.command(&args).env("CONTEND_WORKERS", bench.path("none")).output().expect("the tool starts");
    let said = sound(&bench.path("record"), || run().into());
    assert!(said.err.contains("mattn") && said.err.contains("make workers-go"), "{}", said.err);
    let report = fs::read_to_string(bench.path("record/report.txt")).expect("a report");
    assert!(report.contains("rusqlite"), "{report}");

    // The first question of most: the same tables on every engine. The servers have their own tests.
    let engines = example("tickets-engines.toml");
    let args = ["run", &engines, "--quick", "--only", "SQLite", "--rounds", "1", "--window", "100ms", "--quiet"];
    sound(&bench.path("engines"), || bench.contend(&[&args[..], &["--out", "engines"]].concat()));
    let report = fs::read_to_string(bench.path("engines/report.txt")).expect("a report");
    assert!(report.contains("SQLite or a server for our tickets?") && report.contains("8 processes"), "{report}");
}

#[test]
fn alone_it_asks_what_one_wants_to_know() {
    let bench = Bench::new();
    let said = bench.contend(&[]).exits(0).out;
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 10, "{said}");
    for line in &lines {
        let (question, command) = line.split_once("  ").expect("a question and its command");
        assert!(question.ends_with(['?', ':']) && command.trim().starts_with("contend "), "{line}");
        assert!(line.is_ascii() && line.len() <= 80, "{line}");
        // Its verb is one that there is.
        let verb = command.trim().split(' ').nth(1).expect("a verb");
        let help = if verb == "--help" { vec![verb] } else { vec![verb, "--help"] };
        bench.contend(&help).exits(0);
    }
}

#[test]
fn a_study_without_a_quick_form_is_not_called_quick() {
    let bench = Bench::new();
    let said = bench.tiny(&["--quick", "--rounds", "1"]).exits(2);
    assert!(said.err.contains("has no quick form: --quick would measure all of it"), "{}", said.err);
    assert!(!bench.path("record").exists());
}

#[test]
fn lists_plans_and_comparisons_are_also_for_programs() {
    let bench = Bench::new();
    for what in ["workloads", "studies", "scenarios", "engines", "drivers", "outcomes"] {
        let text = bench.contend(&["list", what]).exits(0).out;
        let json = bench.contend(&["list", what, "--json"]).exits(0).out;
        let rows: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let rows = rows.as_array().expect("an array");
        assert!(!rows.is_empty());
        for row in rows {
            assert!(text.contains(row["name"].as_str().expect("a name")), "{what}");
        }
    }
    let findings: serde_json::Value =
        serde_json::from_str(&bench.contend(&["doctor", "--json"]).exits(0).out).expect("JSON");
    assert!(findings.as_array().expect("an array").iter().any(|f| f["what"] == "sqlite" && f["state"] == "ok"));

    let shown = bench.contend(&["plan", "show", "bank", "--cycle", "5"]).exits(0).out;
    let plan = contend_wire::plan::Plan::decode(&shown).expect("what is shown is a plan");
    assert_eq!(plan.clients[0].operations.len(), 5);

    let csv = root().join("examples/ci-timings-wal-php.csv").display().to_string();
    let args = ["compare", "--csv", &csv, "--variant", "variant", "--value", "time", "--by", "php_sqlite"];
    let text = bench.contend(&args).exits(0).out;
    assert!(text.contains("cannot tell") && text.contains("medians alone"), "{text}");
    let json = bench.contend(&[&args[..], &["--json"]].concat()).exits(0).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["comparisons"].as_array().expect("an array").len(), 9);
}

#[test]
fn two_records_of_the_same_thing_are_compared() {
    let bench = Bench::new();
    let study = tiny_study();
    for name in ["a", "b"] {
        let args = ["run", &study, "--out", name, "--rounds", "2", "--quiet", "--json"];
        let json: serde_json::Value =
            serde_json::from_str(&sound(&bench.path(name), || bench.contend(&args)).out).expect("JSON");
        assert_eq!(json["complete"], true);
        assert!(json["estimates"].as_array().expect("an array").len() >= 2);
    }
    let text = bench.contend(&["compare", "a", "b"]).exits(0).out;
    assert!(text.contains("WAL/FULL"), "{text}");
    let json = bench.contend(&["compare", "a", "b", "--json"]).exits(0).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["differences"], serde_json::json!([]), "the same machine, study and data");
}

#[test]
fn a_plan_can_be_carried_out_by_hand() {
    let bench = Bench::new();
    bench.tiny_sound(&["--rounds", "1"]);
    let shown = bench.contend(&["plan", "show", "--record", "record", "--trial", "1", "--worker", "1"]).exits(0);
    fs::write(bench.path("plan.txt"), &shown.out).expect("written");
    let copy = shown.err.lines().find(|l| l.trim_start().starts_with("cp ")).expect("how to get the data");
    let status = std::process::Command::new("sh").arg("-c").arg(copy).current_dir(bench.dir.path()).status();
    assert!(status.expect("sh").success(), "{copy}");
    let said = bench.contend(&["worker", "--plan", "plan.txt"]).exits(0);
    assert!(said.out.contains("transfer") && said.out.contains("balance"), "{}", said.out);
}

/// With a worker that serves there are two plans, and no file that clients open.
#[test]
fn the_plan_of_clients_that_ask_over_http_is_shown_as_they_get_it() {
    let bench = Bench::new();
    bench.tiny(&["--rounds", "1", "--only", "WAL/FULL*", "--set", "transport=http", "--processes", "1"]).ran();
    let show = |more: &[&str]| bench.contend(&[&["plan", "show", "--record", "record", "--trial", "1"], more].concat());
    let clients = show(&[]).exits(0);
    let plan = Plan::decode(&clients.out).expect("a plan");
    assert_eq!((plan.head.driver.as_str(), plan.head.statements.len(), plan.clients.len()), ("http", 0, 2));
    assert!(!clients.err.contains("cp ") && clients.err.contains("--serving"), "{}", clients.err);
    let serving = Plan::decode(&show(&["--serving"]).exits(0).out).expect("a plan");
    assert_eq!((serving.head.driver.as_str(), serving.clients.len()), ("rusqlite", 0));
    assert!(!serving.head.statements.is_empty());
    let in_process = bench.contend(&["plan", "show", "bank", "--cycle", "2", "--serving"]).exits(2);
    assert!(in_process.err.contains("no worker serves it"), "{}", in_process.err);
}

#[test]
fn several_databases_and_held_connections_are_checked_like_one() {
    let bench = Bench::new();
    let workload = fs::read_to_string(root().join("workloads/bank.toml")).expect("the workload");
    let study = fs::read_to_string(tiny_study()).expect("the study");
    fs::write(bench.path("study.toml"), study.replacen("\"bank\"", "\"own.toml\"", 1)).expect("written");
    let two = workload.replacen("[scale]", "databases = 2\n\n[scale]", 1);
    let held = "[transaction.balance]\nkind = \"read\"\nargs = { account = { ref = \"account.id\", zipf = 1.0 } }\n";
    assert!(two.contains(held), "the workload has changed");
    let two = two.replacen(held, &format!("{held}\n[[transaction.balance.step]]\nhold = \"5ms\"\n"), 1);
    fs::write(bench.path("own.toml"), two).expect("written");
    sound(&bench.path("record"), || {
        bench.contend(&["run", "study.toml", "--out", "record", "--rounds", "1", "--quiet"])
    });
    let record = contend::record::store::Record::open(&bench.path("record")).expect("a record");
    assert_eq!(record.trials[0].invariants.len(), 10, "five of each database");
    assert!(record.run.overhead_ns_per_operation < 1_000_000, "a held connection is no cost of the worker");
}

#[test]
fn list_alone_names_everything() {
    let bench = Bench::new();
    let all = bench.contend(&["list"]).exits(0).out;
    for word in [
        "workloads\n",
        "studies\n",
        "scenarios\n",
        "  gameplan ",
        "engines\n",
        "drivers\n",
        "outcomes\n",
        "  wordpress ",
        "  sqlite/rusqlite ",
    ] {
        assert!(all.contains(word), "{word} is missing:\n{all}");
    }
    assert!(all.lines().all(|line| !line.starts_with("      ")), "{all}");
    assert!(bench.contend(&["list", "--json"]).exits(0).out.starts_with('{'));
}

/// A file of others is drawn and called theirs; one that is wrong leaves nothing.
#[test]
fn a_csv_in_a_study_s_columns_is_drawn() {
    let bench = Bench::new();
    let fixture = |name: &str| root().join("tests/fixtures").join(name).display().to_string();
    let (file, study) = (fixture("many-databases.csv"), fixture("many-databases.toml"));
    let drawn = bench.contend(&["report", "--import", &file, "--study", &study, "--out", "drawn"]).exits(0).out;
    assert!(drawn.contains("Nothing of this was measured or checked by contend."), "{drawn}");
    for name in ["report.html", "report.md", "report.txt", "benchmark.csv", "benchmark.gnuplot"] {
        assert!(bench.path("drawn").join(name).exists(), "{name}");
    }
    fs::write(bench.path("wrong.csv"), "a,b\n1,2\n").expect("written");
    let refused = bench.contend(&["report", "--import", "wrong.csv", "--study", &study]).exits(2).err;
    assert!(refused.contains("wrong.csv:1: these are not the columns"), "{refused}");
    assert!(!bench.path("wrong").exists());
    bench.contend(&["report"]).exits(2);
}

#[test]
fn who_translates_is_told_of_every_refusal_and_of_what_differs() {
    let bench = Bench::new();
    let long = "x".repeat(5_000);
    let sql = format!(
        "\u{feff}CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, b TEXT);\n\
         SELECT id FROM t; SELECT nope FROM t;\n/* {long} */ SELECT id FROM t WHERE b < n;"
    );
    std::fs::write(bench.path("bad.sql"), sql).expect("written");
    let said = bench.contend(&["translate", "--to", "mariadb", "bad.sql"]).exits(1);
    let errors = said.err;
    for part in
        ["bad.sql:2:26: no translation, by the rule `unknown-column`", "bad.sql:3:5031: ", "mixed-comparison", "...x"]
    {
        assert!(errors.contains(part), "{part} is not in {errors}");
    }
    assert!(errors.lines().all(|line| line.len() < 200), "{errors}");
    assert_eq!(said.out, "");
    let upsert = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);\n\
         INSERT INTO t VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET n = n + 1;\n";
    std::fs::write(bench.path("lossy.sql"), upsert).expect("written");
    let said = bench.contend(&["translate", "--to", "mariadb", "lossy.sql"]).exits(0);
    assert!(said.err.contains("NOT the same as on SQLite: upsert-count - "), "{}", said.err);
    assert!(said.err.contains(" conditions, which --explain names"), "{}", said.err);
    let explained = bench.contend(&["translate", "--to", "mariadb", "--explain", "lossy.sql"]).exits(0);
    assert!(
        explained.out.contains("-- NOT the same: upsert-count - ") && explained.err.is_empty(),
        "{}",
        explained.err
    );
}

#[test]
fn who_translates_is_told_what_connections_must_be_told() {
    let bench = Bench::new();
    for (to, part) in [("postgres", "SET standard_conforming_strings = on;\n"), ("mariadb", "'ANSI_QUOTES,")] {
        let said = bench.contend(&["translate", "--to", to, "--session"]).exits(0).out;
        assert!(said.contains(part) && said.lines().all(|line| line.ends_with(';')), "{said}");
    }
    bench.contend(&["translate", "--to", "mariadb", "--session", "--functions"]).exits(2);
    std::fs::write(bench.path("q.sql"), "SELECT 1").expect("written");
    let hint = |args: &[&str]| bench.contend(args).exits(0).err.contains("--session");
    assert!(hint(&["translate", "--to", "mariadb", "q.sql"]));
    assert!(!hint(&["translate", "--to", "mariadb", "--explain", "q.sql"]));
}

#[test]
fn mistyped_names_are_answered_with_the_nearest() {
    let bench = Bench::new();
    for (args, name) in [
        (&["run", "wordpres"][..], "wordpress"),
        (&["plan", "show", "bnk"], "bank"),
        (&["http", "wordpres"], "wordpress"),
    ] {
        let said = bench.contend(args).exits(2).err;
        assert!(said.contains(&format!("(did you mean `{name}`?): name one of ")), "{said}");
    }
    let said = bench.contend(&["run", "nothing-like-it"]).exits(2).err;
    assert!(!said.contains("did you mean"), "{said}");
}

#[test]
fn a_workload_cannot_change_what_the_report_says_of_a_contender() {
    let bench = Bench::new();
    let text = "about = \"x\"\n[table.t]\nddl = \"CREATE TABLE t (id INTEGER PRIMARY KEY)\"\n[transaction.w]\n\
                kind = \"write\"\nbegin = \"none\"\n[[transaction.w.step]]\nsql = \"PRAGMA synchronous=off\"\n\
                [[transaction.w.step]]\nsql = \"INSERT INTO t VALUES (NULL)\"\n";
    std::fs::write(bench.path("w.toml"), text).expect("written");
    let said = bench.contend(&["plan", "show", "w.toml"]).exits(2).err;
    assert!(said.contains("w.toml:8: ") && said.contains("settings belong to the contender"), "{said}");
    let many = text.replace("PRAGMA synchronous=off", "SELECT 1").replacen(
        "[table.t]",
        "databases = 1000000000\n[table.t]",
        1,
    );
    std::fs::write(bench.path("w.toml"), many).expect("written");
    let said = bench.contend(&["plan", "show", "w.toml"]).exits(2).err;
    assert!(said.contains("1000000000 databases; the maximum is 100000"), "{said}");
}

#[test]
fn who_translates_with_savepoints_is_told_what_to_run_when_a_statement_fails() {
    let bench = Bench::new();
    std::fs::write(bench.path("q.sql"), "CREATE TABLE t (id INTEGER PRIMARY KEY); DELETE FROM t").expect("written");
    let translated = |to| bench.contend(&["translate", "--to", to, "--savepoints", "q.sql"]).exits(0).out;
    let lines = translated("postgres");
    let end: Vec<&str> = lines.lines().rev().take(4).collect();
    assert_eq!(end[0], "-- when a statement fails: ROLLBACK TO SAVEPOINT contend_sql;");
    assert_eq!((end[1], end[3]), ("RELEASE SAVEPOINT contend_sql;", "SAVEPOINT contend_sql;"));
    assert!(!translated("mariadb").contains("SAVEPOINT"));
}

#[test]
fn who_translates_without_a_schema_is_told_of_it() {
    let bench = Bench::new();
    std::fs::write(bench.path("q.sql"), "SELECT 1\nWHERE 2 == == 2").expect("written");
    std::fs::write(bench.path("t.sql"), "SELECT a FROM t").expect("written");
    for (file, parts) in [
        ("t.sql", &["t.sql:1:15: no translation, by the rule `unknown-table`", "with --schema"][..]),
        ("SELECT 1", &["SQL comes from a file or standard input", "cannot read SELECT 1"]),
        ("q.sql", &["q.sql:2:12: ", "near \"==\": syntax error\n"]),
    ] {
        let said = bench.contend(&["translate", "--to", "postgres", file]);
        assert!(said.code > Some(0), "{file}: {}", said.out);
        parts.iter().for_each(|part| assert!(said.err.contains(part), "{file}: {part} is not in {}", said.err));
    }
}

#[test]
fn a_workload_in_place_of_a_study_is_told_what_takes_it() {
    let bench = Bench::new();
    let workload = root().join("workloads/backlog.toml").display().to_string();
    let said = bench.contend(&["run", &workload]).exits(2);
    assert!(said.err.contains("this is a workload; a study names it (`workload = ...`)"), "{said:?}");
    assert!(said.err.contains(&format!("`contend limit {workload}` takes the workload alone")), "{said:?}");
}
