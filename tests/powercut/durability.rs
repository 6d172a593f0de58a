//! The study of crashes, from outside: short runs on the real recorder, its controls, and what it leaves behind.

use crate::proofs;
use crate::support::possible::{can_record, not_verified};
use crate::support::{Bench, root, tool, wait_for};
use contend::contender::Contender;
use contend::outcome::reason::Invalid;
use contend::record::model::Trial;
use contend::record::store::Record;
use powercut::results::{PROCESS, Powercut};
use rustix::process::{Pid, Signal, kill_process};
use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

fn study() -> String {
    root().join("tests/fixtures/durability.toml").display().to_string()
}

fn trial<'r>(record: &'r Record, label: &str) -> &'r Trial {
    let at = record.run.study.contenders.iter().position(|c| c.label == label).expect("a contender");
    record.trials.iter().find(|t| t.slot.contender == at && Powercut::of(t).is_some()).expect("its trial with crashes")
}

fn found(record: &Record, label: &str) -> Powercut {
    let found = Powercut::of(trial(record, label)).expect("crashes");
    assert_eq!(found.not_verified, None, "{label}");
    found
}

/// Recorders of a run: their process and their mount.
fn recorders(bench: &Bench) -> Vec<(i32, String)> {
    let mine = bench.dir.path().display().to_string();
    let mut all = vec![];
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let line = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        let words: Vec<&str> = line.split('\0').collect();
        let there = fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&mine));
        if words.len() > 4 && words[1] == "recorder" && there {
            all.push((pid, words[3].to_string()));
        }
    }
    all
}

fn is_mounted(at: &str) -> bool {
    fs::read_to_string("/proc/self/mountinfo").expect("mounts").contains(at)
}

#[test]
fn settings_keep_what_is_documented_and_failing_images_can_be_rebuilt() {
    if !can_record() {
        return;
    }
    let bench = Bench::new();
    let said = bench.contend(&["run", &study(), "--out", "record", "--quiet"]);
    let record = Record::open(&bench.path("record")).expect("a record");
    assert_eq!(record.trials.len(), 2 * 6, "{}", said.err);
    rates_come_first(&record);
    for label in ["WAL/FULL", "WAL/NORMAL", "WAL/OFF", "DELETE/FULL", "DELETE/EXTRA", "MEMORY/FULL"] {
        let found = found(&record, label);
        let images: u64 = found.crashes.iter().filter(|c| c.model != PROCESS).map(|c| c.count).sum();
        assert_eq!(images, 200, "{label}");
        assert_eq!(found.not_killed, None, "{label}");
        let killed = found.crashes.iter().find(|c| c.model == PROCESS).expect("a real kill");
        assert_eq!(killed.count, 1, "{label}");
        let controls = trial(&record, label).invalid.iter().filter(|r| r.kind == Invalid::Control).collect::<Vec<_>>();
        assert!(controls.is_empty(), "{label}: {controls:?}");
    }
    for label in ["WAL/FULL", "DELETE/EXTRA"] {
        let found = found(&record, label);
        assert_eq!((found.power().bad(), found.posix().bad(), found.process().bad()), (0, 0, 0), "{label}");
        // 60 commits are asked for, of a sync each at least; a machine too busy for them says so in the record.
        let demanded = found.lies.iter().filter(|lie| lie.must).count();
        let by_rate = [50, 250, 1_000].iter().filter(|least| found.syncs >= **least).count();
        let by_name = usize::from(label == "DELETE/EXTRA");
        assert_eq!(demanded, 4 + by_rate + by_name, "{label}: {} syncs", found.syncs);
        assert!(found.lies.iter().filter(|lie| lie.must).all(|lie| lie.caught), "{label}: {:?}", found.lies);
        assert!(found.failing.is_empty());
    }
    let default = found(&record, "DELETE/FULL").power();
    assert!(default.lossy > 0 && default.corrupt == 0 && default.lost_commits_max == 1, "{default:?}");
    let usual = found(&record, "WAL/NORMAL").power();
    assert!(usual.lossy > 0 && usual.corrupt == 0, "{usual:?}");
    assert!(found(&record, "WAL/OFF").power().bad() > 0);
    assert!(found(&record, "MEMORY/FULL").process().corrupt > 0);

    let text = fs::read_to_string(bench.path("record/report.md")).expect("a report");
    for words in
        ["What does the default keep?", "never corrupt", "Speed against promise", "Images that failed", "What was done"]
    {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    let csv = fs::read_to_string(bench.path("record/crashes.csv")).expect("numbers");
    assert!(csv.lines().count() > 6 * 9, "{csv}");
    replays(&bench, trial(&record, "DELETE/FULL"));
    replays_of_a_part(&bench);
    proofs::tells_other_studies(&bench);
    bench.assert_nothing_left();
}

/// Every window of every round is over before the first crash is made, and crashes are made once.
fn rates_come_first(record: &Record) {
    let modified = |trial: &Trial, file: &str| {
        fs::metadata(record.trial_dir(trial.slot.trial).join(file)).and_then(|file| file.modified()).ok()
    };
    let last_rate = record.trials.iter().filter_map(|trial| modified(trial, "samples.bin")).max().expect("samples");
    let logs: Vec<_> = record.trials.iter().filter_map(|trial| modified(trial, "recording.log")).collect();
    assert!(logs.len() >= 3 && logs.iter().all(|log| *log > last_rate), "{logs:?} {last_rate:?}");
    let with_crashes: Vec<u32> =
        record.trials.iter().filter(|trial| Powercut::of(trial).is_some()).map(|trial| trial.slot.round).collect();
    assert_eq!(with_crashes, [2; 6]);
}

#[test]
fn servers_keep_what_is_documented_and_a_lying_disk_is_found_out() {
    if !can_record() {
        return;
    }
    let bench = Bench::new();
    let study = root().join("tests/fixtures/durability-servers.toml").display().to_string();
    let said = bench.contend(&["run", &study, "--out", "record", "--quiet"]);
    let record = Record::open(&bench.path("record")).expect("a record");
    assert_eq!(record.trials.len(), 4, "{}", said.err);
    for label in ["PostgreSQL", "MariaDB"] {
        let found = found(&record, label);
        assert_eq!((found.power().count, found.power().bad()), (10, 0), "{label}: {:?}", found.failing);
        let demanded: Vec<_> = found.lies.iter().filter(|lie| lie.must).collect();
        assert!(!demanded.is_empty() && demanded.iter().all(|lie| lie.caught), "{label}: {:?}", found.lies);
    }
    for label in ["PostgreSQL, synchronous_commit=off", "MariaDB, flush=2"] {
        let late = found(&record, label).power();
        assert!(late.lossy > 0 && late.corrupt + late.unopenable == 0, "{label}: {late:?}");
    }
    let few = fs::read_to_string(bench.path("record/report.md")).expect("a report");
    assert!(!few.contains("proved here"), "ten images prove nothing: {few}");
    assert!(!bench.path(".evidence").exists());
    bench.assert_nothing_left();
}

/// The images that failed, as a report names them.
fn images_of(report: &Path) -> Vec<String> {
    let text = fs::read_to_string(report).expect("a report");
    let table = text.split("Images that failed").nth(1).unwrap_or_else(|| panic!("no image in {text}"));
    let rows = table.lines().skip_while(|line| !line.starts_with("| --- |")).skip(1);
    let cells = rows.map_while(|row| row.strip_prefix("| ")?.split(" |").next());
    cells.map(str::to_string).collect()
}

/// In all reports of a study with parts, an image's name, appended to the directory of the run, rebuilds it.
fn replays_of_a_part(bench: &Bench) {
    let text = fs::read_to_string(study()).expect("a study");
    fs::write(bench.path("parts.toml"), text + "\n[part.cuts]\nabout = \"What does one keep?\"\n").expect("written");
    let run = ["run", "parts.toml", "--out", "parts", "--quiet", "--rounds", "1", "--only", "DELETE/FULL"];
    bench.contend(&[&run[..], &["--set", "kills=0", "--set", "part=cuts"]].concat()).ran();
    let names = images_of(&bench.path("parts/report.md"));
    assert!(!names.is_empty());
    assert_eq!(names, images_of(&bench.path("parts/cuts/report.md")));
    let id = format!("parts/{}", names[0]);
    let said = bench.contend(&["durability", "replay", &id, "--to", "of-a-part"]).exits(0);
    assert!(
        said.out.contains("is the disk of DELETE/FULL") && bench.path("of-a-part/app-0.db").exists(),
        "{}",
        said.out
    );
}

fn replays(bench: &Bench, trial: &Trial) {
    let found = Powercut::of(trial).expect("crashes");
    let failing = &found.failing[0];
    let name = format!("{:04}-{}", trial.slot.trial, failing.number);
    assert!(images_of(&bench.path("record/report.md")).contains(&name), "{name}");
    let id = format!("record/{name}");
    for to in ["one", "two"] {
        let said = bench.contend(&["durability", "replay", &id, "--to", to]).exits(0);
        assert!(said.out.contains(&failing.detail) && said.out.contains("sqlite3"), "{}", said.out);
    }
    let files = |dir: &str| {
        let entries = fs::read_dir(bench.path(dir)).expect("an image").flatten();
        let mut all: Vec<_> = entries.map(|e| (e.file_name(), fs::read(e.path()).expect("a file"))).collect();
        all.sort();
        all
    };
    assert!(files("one").len() > 1, "the database and its journal");
    assert!(files("one") == files("two"), "an image is rebuilt bit for bit");
    // SQLite rolls the journal back, and finds nothing wrong: the commit is gone without a trace.
    let database = rusqlite::Connection::open(bench.path("one/app-0.db")).expect("opens");
    let sound: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("an answer");
    assert_eq!(sound, "ok");
    let said = bench.contend(&["durability", "replay", &id, "--to", "one"]).exits(2);
    assert!(said.err.contains("not empty"), "{}", said.err);
    let said = bench.contend(&["durability", "replay", "record/0001-99"]).exits(2);
    assert!(said.err.contains("keeps no image 99") || said.err.contains("trial"), "{}", said.err);
}

#[test]
fn without_a_mount_the_vfs_of_sqlite_gives_the_same_verdicts() {
    let bench = Bench::new();
    let set = ["--set", "kills=0"];
    let study = study();
    let args = [&["run", &study, "--out", "record", "--quiet"], &set[..]].concat();
    bench.command(&args).env("CONTEND_RECORDER", "vfs").output().expect("the tool");
    let record = Record::open(&bench.path("record")).expect("a record");
    for label in ["WAL/FULL", "DELETE/EXTRA"] {
        let found = found(&record, label);
        assert_eq!(found.by_vfs.as_deref(), Some("CONTEND_RECORDER=vfs"));
        assert_eq!((found.power().count, found.power().bad(), found.process().bad()), (89, 0, 0), "{label}");
        assert!(found.lies.iter().filter(|lie| lie.must).all(|lie| lie.caught), "{label}: {:?}", found.lies);
    }
    let default = found(&record, "DELETE/FULL").power();
    assert!(default.lossy > 0 && default.corrupt == 0 && default.lost_commits_max == 1, "{default:?}");
    let usual = found(&record, "WAL/NORMAL").power();
    assert!(usual.lossy > 0 && usual.corrupt == 0, "{usual:?}");
    assert!(found(&record, "WAL/OFF").power().bad() > 0);
    let text = fs::read_to_string(bench.path("record/report.md")).expect("a report");
    assert!(text.contains("by a VFS of SQLite"), "{text}");
    // Where not even that is possible, nothing is called durable.
    let args = ["run", &study, "--out", "none", "--quiet", "--only", "WAL/FULL", "--set", "kills=0"];
    bench.command(&args).env("CONTEND_RECORDER", "none").output().expect("the tool");
    let record = Record::open(&bench.path("none")).expect("a record");
    let found = Powercut::of(trial(&record, "WAL/FULL")).expect("what was tried");
    assert_eq!((found.reached(), found.images), (None, 0));
    assert!(found.not_verified.as_deref().is_some_and(|why| why.contains("CONTEND_RECORDER=none")));
    bench.assert_nothing_left();
}

#[test]
fn a_real_kernel_agrees_with_the_models_or_the_report_says_that_there_is_none() {
    if !can_record() {
        return;
    }
    let bench = Bench::new();
    let run = |out: &str, only: &str| {
        let study = study();
        let set = ["--set", "kernel_cuts=2", "--set", "kills=0", "--rounds", "1", "--only", only];
        bench.command(&[&["run", &study, "--out", out, "--quiet"], &set[..]].concat())
    };
    run("record", "DELETE/*").output().expect("the tool");
    let record = Record::open(&bench.path("record")).expect("a record");
    match &found(&record, "DELETE/EXTRA").no_kernel {
        Some(why) => {
            assert!(why.contains("apt-get install user-mode-linux"), "{why}");
            not_verified(why);
        }
        None => {
            for label in ["DELETE/EXTRA", "DELETE/FULL"] {
                let kernel = found(&record, label).kernel.expect("cuts of a kernel");
                assert_eq!((kernel.lost.len(), kernel.wrong.as_slice()), (2, &[][..]), "{label}");
                assert!(kernel.acknowledged.iter().all(|n| *n >= 60), "{kernel:?}");
                let controls = &found(&record, label).controls;
                let control = controls.iter().find(|c| c.name.starts_with("a real kernel")).expect("a control");
                assert!(control.holds, "{control:?}");
            }
            let text = fs::read_to_string(bench.path("record/report.md")).expect("a report");
            assert!(text.contains("User-Mode Linux") && text.contains("was killed 4 times"), "{text}");
        }
    }
    // As on a machine that has none.
    run("none", "WAL/FULL").env("PATH", "/nowhere").output().expect("the tool");
    let record = Record::open(&bench.path("none")).expect("a record");
    assert!(found(&record, "WAL/FULL").no_kernel.as_deref().is_some_and(|why| why.contains("linux.uml")));
    let text = fs::read_to_string(bench.path("none/report.md")).expect("a report");
    assert!(text.contains("NOT VERIFIED") && text.contains("apt-get install user-mode-linux"), "{text}");
    bench.assert_nothing_left();
}

#[test]
fn a_worker_that_does_not_sync_is_found_out_by_the_controls() {
    if !can_record() {
        return;
    }
    let bench = Bench::new();
    let fake = root().join("workers/fake/fake.py");
    let command = format!("python3 '{}' --real '{} worker' --fault unsynced --worker all", fake.display(), tool());
    let set = ["--set", "kills=0", "--only", "WAL/FULL", "--worker-command", &command];
    bench.contend(&[&["run", &study(), "--out", "record", "--quiet"], &set[..]].concat()).exits(1);
    let record = Record::open(&bench.path("record")).expect("a record");
    let reasons = &trial(&record, "WAL/FULL").invalid;
    let control = reasons.iter().find(|r| r.kind == Invalid::Control).unwrap_or_else(|| panic!("{reasons:?}"));
    assert!(control.detail.contains("documented as durable"), "{}", control.detail);
    let text = fs::read_to_string(bench.path("record/report.md")).expect("a report");
    assert!(text.contains("control failed"), "{text}");
}

#[test]
fn a_tool_that_is_killed_leaves_no_mount_and_no_data() {
    if !can_record() {
        return;
    }
    let bench = Bench::new();
    // Long enough to be found and stopped, however busy the machine is.
    let text = fs::read_to_string(study()).expect("a study");
    let longer = text.replace("window = \"200ms\"", "window = \"10s\"");
    assert_ne!(longer, text);
    fs::write(bench.path("long.toml"), longer).expect("written");
    let args = ["run", "long.toml", "--out", "record", "--quiet", "--only", "WAL/FULL", "--set", "kills=0"];
    // Ctrl-C first, then a signal that cannot be caught.
    for signal in [Signal::INT, Signal::KILL] {
        let _ = fs::remove_dir_all(bench.path("record"));
        let mut child = bench.start(&args);
        let found = RefCell::new(None);
        wait_for("the recorder to mount", || {
            *found.borrow_mut() = recorders(&bench).into_iter().map(|(_, at)| at).find(|at| is_mounted(at));
            found.borrow().is_some()
        });
        let at = found.into_inner().expect("a mount point");
        kill_process(Pid::from_child(&child), signal).expect("the tool lives");
        let status = child.wait().expect("it ends");
        if signal == Signal::INT {
            assert_eq!(status.code(), Some(130));
        }
        wait_for("the mount to go", || !is_mounted(&at));
        let place = Path::new(&at).parent().expect("a directory").to_path_buf();
        wait_for("its place to go", || !place.exists());
        bench.assert_nothing_left();
    }
}

#[test]
fn without_permission_the_vfs_records_and_what_it_cannot_is_not_called_durable() {
    let closed = fs::metadata("/dev/fuse").is_ok_and(|device| device.permissions().mode() & 0o006 != 0o006);
    if !rustix::process::geteuid().is_root() || !closed {
        return not_verified("needs root and a /dev/fuse that others may not use");
    }
    const NOBODY: u32 = 65_534;
    // Its database is in a worker that serves, which only the mount records.
    const OVER_HTTP: &str = "\n[[contender]]\nlabel = \"WAL/FULL over HTTP\"\nengine = \"sqlite\"\n\
        settings = { journal_mode = \"wal\", synchronous = \"full\", transport = \"http\" }\n";
    // The checkout may lie where that user may not enter; this directory is on a disk on most machines.
    let place = tempfile::TempDir::with_prefix_in("contend-test-", "/var/tmp").expect("a directory");
    let (program, copy) = (place.path().join("contend"), place.path().join("study.toml"));
    fs::copy(tool(), &program).expect("a copy");
    fs::write(&copy, fs::read_to_string(study()).expect("a study") + OVER_HTTP).expect("a copy");
    for path in [place.path(), &program, &copy] {
        chown(path, Some(NOBODY), Some(NOBODY)).expect("given away");
    }
    let said = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&program)
        .args(["run", "study.toml", "--out", "record", "--quiet", "--only", "WAL/FULL*"])
        .current_dir(place.path())
        .env("NO_COLOR", "1")
        .env_remove("TMPDIR")
        .output()
        .expect("setpriv");
    let record = Record::open(&place.path().join("record")).unwrap_or_else(|e| panic!("{e:#}: {said:?}"));
    let tried = |label: &str| Powercut::of(trial(&record, label)).expect("what was tried");
    let closed = |why: &str| why.contains("/dev/fuse") || why.contains("fusermount3");
    let by_vfs = tried("WAL/FULL");
    assert!(by_vfs.by_vfs.as_deref().is_some_and(closed) && by_vfs.not_verified.is_none(), "{by_vfs:?}");
    assert!(by_vfs.power().count > 0 && by_vfs.power().bad() == 0);
    let none = tried("WAL/FULL over HTTP");
    let why = none.not_verified.as_deref().expect("a reason");
    assert!(closed(why) && why.contains("own worker"), "{why}");
    assert_eq!((none.reached(), none.images, none.process().bad()), (None, 0, 0));
    assert_eq!(none.crashes.iter().map(|c| (c.model.as_str(), c.count)).collect::<Vec<_>>(), [(PROCESS, 1)]);
    let text = fs::read_to_string(place.path().join("record/report.md")).expect("a report");
    assert!(text.contains("not verified"), "{text}");
}

#[test]
fn a_log_that_reaches_its_bound_is_told_and_judged_as_far_as_it_goes() {
    if !can_record() {
        return;
    }
    let bench = Bench::new();
    let text = fs::read_to_string(study()).expect("a study");
    let run = |out: &str, mib: u32| {
        let bound = text.replace("window = \"200ms\"", &format!("window = \"5s\"\nbound_mib = {mib}"));
        assert_ne!(bound, text);
        fs::write(bench.path("bound.toml"), bound).expect("written");
        let only = ["--rounds", "1", "--only", "WAL/FULL", "--set", "kills=0"];
        bench.contend(&[&["run", "bound.toml", "--out", out, "--quiet"], &only[..]].concat());
        Record::open(&bench.path(out)).expect("a record")
    };
    let few = Powercut::of(trial(&run("few", 1), "WAL/FULL")).expect("what was tried");
    assert!(few.log_full && few.acknowledged > 60, "{few:?}");
    let why = few.not_verified.as_deref().expect("a reason");
    assert!(why.contains("commits acknowledged before the last cut; 60 are needed"), "{why}");
    let record = run("record", 2);
    let found = found(&record, "WAL/FULL");
    assert!(found.log_full && found.log_bytes <= (2 << 20) + 4096, "{found:?}");
    assert_eq!((found.power().count, found.power().bad()), (89, 0), "what was recorded is judged");
    let text = fs::read_to_string(bench.path("record/report.md")).expect("a report");
    assert!(text.contains("log full"), "{text}");
    bench.assert_nothing_left();
}

/// Cuts the power while the first page of a table's file is on its way: how many images there were, and how many were
/// bad.
fn torn_first_pages(args: &[&str]) -> Vec<(String, u64, u64)> {
    let bench = Bench::new();
    let study = root().join("tests/fixtures/torn-first-pages.toml").display().to_string();
    bench.contend(&[&["run", &study, "--out", "record", "--quiet"][..], args].concat());
    let record = Record::open(&bench.path("record")).expect("a record");
    bench.assert_nothing_left();
    let of = |contender: &Contender| {
        let power = found(&record, &contender.label).power();
        (contender.label.clone(), power.count, power.bad())
    };
    record.run.study.contenders.iter().map(of).collect()
}

#[test]
fn torn_pages_are_repaired_from_their_other_copy_or_not_at_all() {
    if can_record() {
        let found = torn_first_pages(&[]);
        assert_eq!(found[0], ("MariaDB".to_string(), 10, 0));
        // Only because pages are written back while it is recorded.
        let (label, cuts, bad) = &found[1];
        assert!(label.ends_with("doublewrite=off") && *cuts == 10 && *bad > 0, "{found:?}");
    }
}

/// Looks for a candidate defect of an earlier prototype. What it finds is described in docs/study-durability.md.
#[test]
#[ignore = "500 starts of a server: four minutes on two quiet cores, half an hour on busy ones"]
fn torn_first_pages_of_tables_are_repaired() {
    if can_record() {
        let found = torn_first_pages(&["--only", "MariaDB", "--set", "server_points=500"]);
        assert_eq!(found, [("MariaDB".to_string(), 500, 0)]);
    }
}

#[test]
fn images_that_are_not_there_are_named() {
    let bench = Bench::new();
    let said = bench.contend(&["durability", "replay", "nonsense"]).exits(2);
    assert!(said.err.contains("RECORD/TRIAL-IMAGE"), "{}", said.err);
    let said = bench.contend(&["durability", "replay", "nowhere/0001-1"]).exits(2);
    assert!(said.err.contains("is not a record"), "{}", said.err);
}
