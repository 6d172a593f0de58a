//! Drivers are data: one more is a source file and a table of a manifest, and the scripts read what the tool reads.

use crate::support::workers::needed;
use crate::support::{Bench, Said, root};
use contend::engine::workers;
use contend::record::parts::StudyRecord;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The workers of a language with a driver of `examples/driver`, a source file and a table, in a directory that
/// `CONTEND_WORKERS` may name.
fn with_one_driver_more(home: &Path, language: &str, (source, place): (&str, &str), table: &str) {
    let to = home.join(language);
    fs::create_dir(home).expect("a directory");
    let from = root().join("workers").join(language);
    assert!(Command::new("cp").arg("-r").args([&from, &to]).status().expect("cp starts").success());
    let example = |name: &str| root().join("examples/driver").join(name);
    let module = to.join(place);
    fs::create_dir_all(module.parent().expect("a folder")).expect("a directory");
    fs::copy(example(source), module).expect("copied");
    let manifest = to.join("worker.toml");
    let table = fs::read_to_string(example(table)).expect("readable");
    fs::write(&manifest, fs::read_to_string(&manifest).expect("readable") + &table).expect("written");
}

fn with(bench: &Bench, home: &Path, args: &[&str]) -> Said {
    bench.command(args).env("CONTEND_WORKERS", home).output().expect("the tool starts").into()
}

#[test]
fn a_driver_is_one_source_file_and_one_table() {
    if needed("contend-worker-python-sqlite3").is_none() {
        return;
    }
    let bench = Bench::new();
    let home = bench.path("mine");
    let source = ("uncached_sqlite3.py", "contend_worker/drivers/uncached_sqlite3.py");
    with_one_driver_more(&home, "python", source, "table.toml");
    let listed = with(&bench, &home, &["list", "drivers"]).exits(0).out;
    let of_new = listed.split("sqlite/uncached-sqlite3").nth(1).unwrap_or_else(|| panic!("{listed}"));
    let here = format!("{}/python/contend_worker uncached-sqlite3", home.display());
    assert!(of_new.lines().any(|line| line.contains("worker") && line.ends_with(&here)), "{of_new}");

    let args = ["run", "languages", "--quick", "--set", "part=insert", "--rounds", "1", "--window", "100ms"];
    let new = ["--contender", "sqlite/uncached-sqlite3:journal_mode=wal", "--only", "*uncached*", "--out", "record"];
    let said = with(&bench, &home, &[&args[..], &new].concat()).settled(&bench.path("record"));
    let Ok(found) = StudyRecord::open(&bench.path("record")) else { panic!("no record: {}", said.err) };
    let record = &found.parts[0].1;
    let contender = &record.run.study.contenders[0];
    assert_eq!((contender.driver.as_str(), contender.model.as_str()), ("uncached-sqlite3", "thread"));
    assert_eq!(contender.resolved.language, "Python");
    let trial = &record.trials[0];
    assert!(trial.samples.is_some_and(|samples| samples > 0), "{trial:?}");
    assert_eq!(trial.settings.get("journal_mode").map(String::as_str), Some("wal"));
    assert_eq!(
        record.run.overheads.iter().map(|overhead| overhead.driver.as_str()).collect::<Vec<_>>(),
        ["python-null"]
    );
    // The record says what the manifest said.
    bench.contend(&["report", "record"]).settled(&bench.path("record"));
    bench.assert_nothing_left();
}

/// A driver for `database/sql` needs ten lines of its own.
#[test]
fn a_driver_of_database_sql_is_one_source_file_and_one_table() {
    if needed("contend-worker-go-mattn").is_none() || needed("contend-worker-go-null").is_none() {
        return;
    }
    let bench = Bench::new();
    let home = bench.path("mine");
    with_one_driver_more(&home, "go", ("main.go", "cmd/contend-worker-go-mine/main.go"), "table-go.toml");
    let mut go = Command::new("go");
    go.args(["build", "-o", "..", "./cmd/contend-worker-go-mine"]).current_dir(home.join("go"));
    let built = match go.output() {
        Err(_) => return println!("NOT VERIFIED: Go is not installed"),
        Ok(built) => built,
    };
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));

    let args =
        ["run", "go-drivers", "--quick", "--set", "part=go", "--rounds", "1", "--window", "2s", "--clients", "2"];
    let new = ["--contender", "sqlite/mine/pool:pool_size=2", "--only", "sqlite/mine*", "--out", "record", "--quiet"];
    let workers = format!("{}:{}", home.display(), root().join("target/workers").display());
    let mut command = bench.command(&[&args[..], &new].concat());
    let said = Said::from(command.env("CONTEND_WORKERS", workers).output().expect("the tool starts"));
    let said = said.settled(&bench.path("record/go"));
    let Ok(found) = StudyRecord::open(&bench.path("record")) else { panic!("no record: {}", said.err) };
    let record = &found.parts[0].1;
    let contender = &record.run.study.contenders[0];
    assert_eq!((contender.driver.as_str(), contender.resolved.language.as_str()), ("mine", "Go"));
    assert!(record.trials[0].samples.is_some_and(|samples| samples > 0), "{:?}", record.trials[0]);
    bench.assert_nothing_left();
}

#[test]
fn the_page_of_workers_shows_the_example_as_it_is() {
    let page = fs::read_to_string(root().join("docs/workers.md")).expect("the page");
    for name in ["uncached_sqlite3.py", "table.toml", "main.go", "table-go.toml"] {
        let text = fs::read_to_string(root().join("examples/driver").join(name)).expect("readable");
        assert!(page.contains(text.trim()), "{name}");
    }
}

#[test]
fn a_manifest_that_is_wrong_is_an_error_with_its_line() {
    let bench = Bench::new();
    fs::create_dir(bench.path("mine")).expect("a directory");
    let text = "language = 'Elvish'\nrun = ['elf']\n[model.thread]\nabout = 'a'\n\
        [driver.elf]\nabout = 'b'\nengines = ['sqlte']\n";
    fs::write(bench.path("mine/worker.toml"), text).expect("written");
    let said = with(&bench, &bench.path("mine"), &["list", "drivers"]).exits(2);
    let file = bench.path("mine/worker.toml");
    let expected = "there is no engine `sqlte` (did you mean `sqlite`?)";
    assert_eq!(said.err.trim(), format!("contend: {}:7: driver.elf.engines: {expected}", file.display()));
}

#[test]
fn what_is_missing_for_a_users_driver_is_said() {
    let bench = Bench::new();
    fs::create_dir(bench.path("mine")).expect("a directory");
    let text = "language = 'Elvish'\n[model.thread]\nabout = 'a'\n\
        [driver.elf]\nabout = 'b'\nengines = ['sqlite']\nprogram = 'elf-worker'\n";
    fs::write(bench.path("mine/worker.toml"), text).expect("written");
    let args = ["run", "wordpress", "--quick", "--contender", "sqlite/elf", "--only", "*elf*", "--out", "record"];
    let said = with(&bench, &bench.path("mine"), &args).exits(2);
    assert!(said.err.contains("driver elf needs the worker elf-worker, which is not in"), "{}", said.err);
    assert!(said.err.contains("its worker.toml does not say how it is built"), "{}", said.err);
    let doctor = with(&bench, &bench.path("mine"), &["doctor"]).out;
    assert!(doctor.contains("built: none; not built (needed only for their own contenders): elf\n"), "{doctor}");
}

/// What `scripts/drivers.sh` reads of a manifest.
fn shell(words: &str) -> Vec<String> {
    let script = format!(". scripts/drivers.sh; {words}");
    let said = Command::new("sh").args(["-euc", &script]).current_dir(root()).output().expect("sh starts");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).expect("text").lines().map(str::to_string).collect()
}

#[test]
fn scripts_read_the_drivers_that_the_tool_reads() {
    let mut tested = 0;
    for language in ["rust", "go", "python", "php", "node", "java"] {
        let words =
            format!("for d in $(drivers_of {language}); do echo \"$d:$(driver_says {language} $d program)\"; done");
        let read = shell(&words);
        assert!(!read.is_empty(), "{language}");
        for line in &read {
            let (name, program) = line.split_once(':').expect("two words");
            let driver =
                workers::all().find(|driver| driver.name == name).unwrap_or_else(|| panic!("no driver {name}"));
            assert_eq!(driver.program.as_ref().map_or("", |program| program.name), program, "{name}");
        }
        let (manifest, home) =
            (shell(&format!("cat workers/{language}/worker.toml")), root().join("workers").join(language));
        let pinned = manifest.iter().filter_map(|line| line.strip_prefix("pinned = \"")?.strip_suffix('"'));
        pinned.for_each(|versions| assert!(home.join(versions).is_file(), "{language}: {versions}"));
        tested += read.len();
    }
    assert_eq!(tested, workers::all().count());
    assert_eq!(shell("driver_says node node-sqlite3 env; driver_says node node-pg env"), ["UV_THREADPOOL_SIZE=64"]);
    assert_eq!(shell("run_words python apsw"), [r#""-I" "-B" "$home/contend_worker" "apsw""#]);
}
