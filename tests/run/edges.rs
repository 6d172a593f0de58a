//! Failures around real servers: missing programs, ports and directories that cannot be used, servers that contend did
//! not start, and what the record says about who did the work.

use crate::support::place::{Own, Place, files, is_root, postgres_bin, record, study};
use crate::support::{
    Bench, Said, interrupt, processes_mentioning, root, status, tiny_study, tool, wait_for, wrong_in,
};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn the_doctor_says_how_to_install_a_missing_server() {
    let bench = Bench::new();
    let mut command = bench.command(&["doctor"]);
    let said: Said = command.env("CONTEND_SERVERS", bench.path("nowhere")).output().expect("the tool starts").into();
    for install in ["apt-get install postgresql", "apt-get install mariadb-server"] {
        assert!(said.out.contains(install), "{}", said.out);
    }
    assert_eq!(said.code, Some(0), "a server is no need: {}", said.out);
}

#[test]
fn the_doctor_says_how_to_build_what_is_not_built() {
    let bench = Bench::new();
    for dir in ["none", "bin"] {
        fs::create_dir(bench.path(dir)).expect("created");
    }
    for program in ["go", "npm", "unzip"] {
        fs::write(bench.path("bin").join(program), "").expect("written");
    }
    let mut command = bench.command(&["doctor"]);
    command.env("CONTEND_WORKERS", bench.path("none")).env("PATH", bench.path("bin"));
    let said = Said::from(command.output().expect("the tool starts")).exits(0);
    for (build, driver, packages, absent) in [
        ("make apps", "gameplan", "apt-get install python3-venv", "python3, php"),
        ("make worker-sqlx", "sqlx", "https://rustup.rs", "cargo"),
        ("make workers-go", "mattn", "apt-get install gcc", "gcc"),
        ("make workers-java", "java-postgres", "default-jdk-headless maven", "java, javac, mvn"),
        ("make workers-node", "node-pg", "nodejs npm build-essential python3", "node, c++, make, python3"),
        ("make workers-php", "mysql-on-sqlite", "php-cli php-sqlite3 php-mysql php-pgsql npm unzip", "php"),
        ("make workers-python", "psycopg", "python3 python3-venv", "python3"),
    ] {
        let line = said.out.lines().find(|line| line.contains(&format!("`{build}`")));
        let line = line.unwrap_or_else(|| panic!("nothing of `{build}`: {}", said.out));
        assert!(line.starts_with("note") && line.contains("built: none") && line.contains(driver), "{line}");
        assert!(line.contains(packages) && line.ends_with(&format!("not found in PATH: {absent}")), "{line}");
    }
    let mut command = bench.command(&["doctor"]);
    let said: Said = command.env("CONTEND_WORKERS", bench.path("none")).output().expect("the tool starts").into();
    let line = said.exits(0).out.lines().find(|line| line.contains("`make worker-sqlx`")).map(str::to_string);
    assert!(line.is_some_and(|line| !line.contains("not found in PATH")), "who builds this has cargo");
}

#[test]
fn the_doctor_says_where_drivers_are_looked_for() {
    let bench = Bench::new();
    let doctor = |dir: &Path| {
        let mut command = bench.command(&["doctor"]);
        Said::from(command.env("CONTEND_WORKERS", dir).output().expect("the tool starts")).exits(0).out
    };
    let line = |said: &str| said.lines().find(|line| line.contains("CONTEND_WORKERS")).map(str::to_string);
    let nowhere = bench.path("nowhere");
    let missing = line(&doctor(&nowhere)).expect("a line");
    assert!(missing.starts_with("note") && missing.contains("which is not a directory"), "{missing}");
    assert!(missing.contains(&nowhere.display().to_string()), "{missing}");
    fs::create_dir(&nowhere).expect("created");
    let there = line(&doctor(&nowhere)).expect("a line");
    assert!(there.starts_with("ok") && there.ends_with("as CONTEND_WORKERS says"), "{there}");
    for help in [&["--help"][..], &["doctor", "--help"]] {
        assert!(bench.contend(help).exits(0).out.contains("CONTEND_WORKERS"));
    }
}

#[test]
fn a_worker_explains_itself() {
    let said = Bench::new().contend(&["worker", "--help"]).exits(0);
    for part in ["--plan FILE", "--samples FILE", "tokio-postgres 0.", "Models: thread"] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
}

/// Programs of PostgreSQL whose server finds its port in use the first `times` times, and whose log begins with a word in
/// Latin-1.
fn with_ports_taken(place: &Place, times: u32) -> PathBuf {
    let (dir, real) = (place.bench.path("bin"), postgres_bin());
    let taken = dir.join("taken");
    fs::create_dir_all(&taken).expect("created");
    fs::set_permissions(&taken, fs::Permissions::from_mode(0o777)).expect("opened");
    std::os::unix::fs::symlink(real.join("initdb"), dir.join("initdb")).expect("linked");
    let script = format!(
        "#!/bin/sh\n\
         real={real}/postgres\n\
         printf 'd\\351marrage\\n' >&2\n\
         port=$(sed -n \"s/^port = '\\(.*\\)'/\\1/p\" \"$2/postgresql.conf\" 2>/dev/null)\n\
         if [ \"$1\" = -D ] && grep -q \"^listen_addresses = '127\" \"$2/postgresql.conf\" &&\n\
            [ \"$(ls {taken} | wc -l)\" -lt {times} ]; then\n\
             touch {taken}/$port\n\
             exec python3 -c 'import socket, subprocess, sys\n\
s = socket.socket()\n\
s.bind((\"127.0.0.1\", int(sys.argv[1])))\n\
s.listen(1)\n\
sys.exit(subprocess.call(sys.argv[2:]))' \"$port\" \"$real\" \"$@\"\n\
         fi\n\
         exec \"$real\" \"$@\"\n",
        real = real.display(),
        taken = taken.display(),
    );
    fs::write(dir.join("postgres"), script).expect("written");
    fs::set_permissions(dir.join("postgres"), fs::Permissions::from_mode(0o755)).expect("executable");
    dir
}

fn on_ports_taken(place: &Place, times: u32) -> Said {
    let bin = with_ports_taken(place, times);
    let study = study();
    let args =
        ["run", &study, "--out", "record", "--quiet", "--contender", "postgres:transport=tcp", "--only", "*tcp*"];
    let mut command = place.command(&[&args[..], &["--rounds", "2", "--window", "100ms"]].concat());
    command.env("CONTEND_SERVERS", bin).output().expect("the tool starts").into()
}

#[test]
fn a_port_that_was_taken_is_another_one_the_next_time() {
    let place = Place::new();
    let said = on_ports_taken(&place, 3);
    said.settled(&place.bench.path("record"));
    let ports = fs::read_dir(place.bench.path("bin/taken")).expect("readable").count();
    assert_eq!(ports, 3, "each time another port");
    for trial in record(&place).trials {
        assert!(trial.server.is_some_and(|server| server.lock_waits.is_some()), "read from the log");
    }
    place.assert_nothing_left();
}

#[test]
fn where_every_port_is_taken_the_trials_say_so() {
    let place = Place::new();
    let said = on_ports_taken(&place, u32::MAX);
    assert_eq!(said.code, Some(1), "{}", said.err);
    let record = record(&place);
    let details: Vec<&str> = record.trials.iter().flat_map(|t| &t.invalid).map(|r| r.detail.as_str()).collect();
    assert!(details.len() == 2 && details.iter().all(|d| d.contains("Address already in use")), "{details:?}");
    place.assert_nothing_left();
}

/// Root may do everything; the user that servers run as may not.
#[test]
fn a_directory_that_a_server_cannot_use_is_named() {
    let place = Place::new();
    let closed = place.bench.path("closed");
    fs::create_dir(&closed).expect("created");
    let (mode, words) = if is_root() { (0o700, "servers run as `nobody`") } else { (0o500, "cannot create") };
    fs::set_permissions(&closed, fs::Permissions::from_mode(mode)).expect("closed");
    let out = closed.join("record").display().to_string();
    for only in ["postgres durable", "mariadb durable"] {
        let said = place.contend(&["run", &study(), "--out", &out, "--quiet", "--only", only]);
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert!(said.err.contains(words) && said.err.contains("closed"), "{}", said.err);
        assert!(said.err.contains("--out"), "says what to do: {}", said.err);
        assert!(!closed.join("record").exists());
    }
    place.assert_nothing_left();
}

/// A run on that server is resumed there and nowhere else.
fn resume_on(place: &Place, own: &Own) {
    interrupt(&place.bench.path("record"), 6, |_| ());
    let resume = |args: &[&str]| place.contend(&[&["run", "--resume", "record", "--quiet"], args].concat());
    for args in [vec![], vec!["--dsn".to_string(), own.dsn("geheim").replace("me:", "you:")]] {
        let said = resume(&args.iter().map(String::as_str).collect::<Vec<_>>()).exits(2);
        assert!(said.err.contains("was begun with --dsn") && !said.err.contains("geheim"), "{}", said.err);
    }
    assert_eq!(record(place).trials.len(), 5);
    resume(&["--dsn", &own.dsn("geheim")]).settled(&place.bench.path("record"));
    let trials = record(place).trials;
    assert!(trials.len() == 6 && trials.iter().all(|trial| trial.base == "attached"));
}

/// Runs on a server that contend did not start, and looks at all processes meanwhile: only the typed command may show
/// the password. The record has the server's own description of itself.
fn work_on(place: &Place, own: &Own, only: &str, version: &str, databases: &str) {
    let before = own.asked(databases);
    let typed = own.dsn("geheim");
    let mut child = place.start(&["--dsn", &typed, "--rounds", "6", "--window", "100ms", "--only", only]);
    let mut seen = BTreeSet::new();
    while child.try_wait().expect("it can be asked").is_none() {
        for entry in fs::read_dir("/proc").expect("/proc").flatten() {
            if entry.file_name().to_string_lossy() == child.id().to_string() {
                continue;
            }
            let read = |name| fs::read(entry.path().join(name)).unwrap_or_default();
            let line = String::from_utf8_lossy(&read("cmdline")).into_owned();
            if line.contains("\0worker") {
                assert!(!line.contains("geheim") && !String::from_utf8_lossy(&read("environ")).contains("geheim"));
                seen.insert(entry.file_name());
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // A busy machine may make a trial of such short windows invalid.
    let directory = place.bench.path("record");
    assert_eq!(child.wait().expect("it ended").code(), Some(status(&directory)));
    assert_eq!(wrong_in(&directory), []);
    assert!(seen.len() > 2, "workers were looked at: {seen:?}");
    assert_eq!(own.asked(databases), before, "something is left");
    for file in files(&place.bench.path("record")) {
        let text = String::from_utf8_lossy(&fs::read(&file).expect("readable")).into_owned();
        assert!(!text.contains("geheim"), "the password is in {}", file.display());
    }
    for trial in &record(place).trials {
        let server = trial.server.as_ref().expect("a server");
        assert!(server.version == own.asked(version) && server.cpu_ns.is_none(), "{server:?}");
        assert_eq!(trial.base, "attached");
    }
    resume_on(place, own);
    assert_eq!(own.asked(databases), before, "something is left");
    let wrong = own.dsn("falsch");
    let wrong = place.contend(&["run", &study(), "--out", "second", "--dsn", &wrong, "--only", only]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.err);
    let refused = ["password authentication failed", "Access denied"];
    assert!(refused.iter().any(|words| wrong.err.contains(words)), "{}", wrong.err);
    assert!(!wrong.err.contains("falsch") && !place.bench.path("second").exists(), "{}", wrong.err);
}

#[test]
fn a_postgres_that_is_there_is_left_as_it_was() {
    let place = Place::new();
    let own = Own::postgres(&place);
    work_on(&place, &own, "postgres durable", "SHOW server_version", "SELECT datname FROM pg_database ORDER BY 1");
}

#[test]
fn a_mariadb_that_is_there_is_left_as_it_was() {
    let place = Place::new();
    let own = Own::mariadb(&place);
    let databases = "SELECT schema_name FROM information_schema.schemata UNION \
                     SELECT concat(database_name, '.', table_name) FROM mysql.innodb_table_stats UNION \
                     SELECT concat(db_name, '.', table_name) FROM mysql.table_stats UNION \
                     SELECT concat(user, '@', host) FROM mysql.user ORDER BY 1";
    work_on(&place, &own, "mariadb durable", "SELECT version()", databases);
}

/// A study of three databases on a server that contend did not start, stopped as soon as they exist.
fn stop_on(place: &Place, own: &Own, before: impl Fn(&str)) -> Said {
    let workload = root().join("tests/fixtures/many-workload.toml");
    let text = format!(
        "question = 'q'\nworkload = '{}'\nkind = 'load'\nheadline = 'throughput_ops_per_s'\nrounds = 6\n\
         axes = {{ databases = [3], readers = [1] }}\nload = {{ window = '60s', cycle = 64 }}\n\
         [[contender]]\nengine = 'postgres'\n",
        workload.display()
    );
    fs::write(place.bench.path("three.toml"), text).expect("written");
    let _ = fs::remove_dir_all(place.bench.path("record"));
    let dsn = own.dsn("geheim");
    let mut command = place.command(&["run", "three.toml", "--out", "record", "--quiet", "--dsn", &dsn]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the tool starts");
    wait_for("three databases", || ours(own).len() == 3);
    before(&ours(own)[1]);
    kill_process(Pid::from_child(&child), Signal::INT).expect("it is there");
    child.wait_with_output().expect("it ends").into()
}

/// Databases of contend's on a server.
fn ours(own: &Own) -> Vec<String> {
    let names = own.asked("SELECT datname FROM pg_database WHERE datname LIKE 'contend%' ORDER BY 1");
    names.lines().map(str::to_string).collect()
}

#[test]
fn who_is_stopped_drops_all_databases_or_names_them() {
    let place = Place::new();
    let own = Own::postgres(&place);
    let said = stop_on(&place, &own, |_| ()).exits(130);
    assert_eq!(ours(&own), [""; 0], "{}", said.err);
    // A template cannot be dropped.
    let said = stop_on(&place, &own, |name| drop(own.asked(&format!("ALTER DATABASE {name} IS_TEMPLATE true"))));
    let left = ours(&own);
    let told = left.len() == 1 && said.err.contains(&format!("cannot drop {} on the server", left[0]));
    assert!(told && said.code == Some(2), "{left:?}: {said:?}");
}

/// The process that makes a data directory ends with the tool, however that ends.
#[test]
fn what_makes_a_data_directory_ends_with_the_run() {
    for signal in [Signal::INT, Signal::KILL] {
        let place = Place::new();
        let dir = place.bench.path("bin");
        fs::create_dir(&dir).expect("created");
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).expect("opened");
        std::os::unix::fs::symlink(postgres_bin().join("postgres"), dir.join("postgres")).expect("linked");
        let script = format!("#!/bin/sh\ntouch {}/begun\nsleep 600 & wait\n", dir.display());
        fs::write(dir.join("initdb"), script).expect("written");
        fs::set_permissions(dir.join("initdb"), fs::Permissions::from_mode(0o755)).expect("executable");
        let study = study();
        let mut command = place.command(&["run", &study, "--out", "record", "--quiet", "--only", "postgres durable"]);
        command.env("CONTEND_SERVERS", &dir).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the tool starts");
        wait_for("a data directory to be made", || dir.join("begun").exists());
        kill_process(Pid::from_child(&child), signal).expect("it is there");
        let code = child.wait().expect("it ends").code();
        assert_eq!(code, (signal == Signal::INT).then_some(130));
        place.assert_nothing_left();
        wait_for("the directory to be removed", || files(&place.bench.path(".cache")).is_empty());
    }
}

#[test]
fn isolation_is_the_contenders_and_the_record_names_who_worked() {
    let place = Place::new();
    let contenders = ["postgres/tokio-postgres:isolation=serializable", "mariadb:isolation=serializable"];
    let args = ["--contender", contenders[0], "--contender", contenders[1], "--only", "*isolation=serializable*"];
    place.run_sound(&[&args[..], &["--rounds", "1"]].concat());
    let lock = fs::read_to_string(root().join("Cargo.lock")).expect("readable");
    for trial in &record(&place).trials {
        let (setting, driver, engine) = match trial.contender.starts_with("postgres") {
            true => ("default_transaction_isolation", "tokio-postgres ", "PostgreSQL "),
            false => ("isolation", "mysql ", "MariaDB "),
        };
        assert_eq!(trial.settings[setting].to_ascii_lowercase(), "serializable", "{:?}", trial.settings);
        let version = &trial.server.as_ref().expect("a server").version;
        for worker in &trial.workers {
            let (name, used) = worker.hello["driver"].split_once(' ').expect("name and version");
            assert_eq!(name, driver.trim());
            assert!(lock.contains(&format!("name = \"{name}\"\nversion = \"{used}\"")), "{name} {used}");
            assert_eq!(worker.hello["engine"], format!("{engine}{version}"));
        }
    }
    for (engine, default) in [("postgres", "'read committed'"), ("mariadb", "REPEATABLE READ")] {
        let plan = place.contend(&["plan", "show", "bank", "--cycle", "1", "--contender", engine]).exits(0).out;
        let set: Vec<&str> =
            plan.lines().filter(|l| l.starts_with("session") && l.to_lowercase().contains("isolation")).collect();
        assert!(set.len() == 1 && set[0].contains(default), "{set:?}");
    }
    place.assert_nothing_left();
    assert!(processes_mentioning(&study()).is_empty());
}

/// A build or an upgrade during a run replaces the program, or leaves a moment without one.
#[test]
fn a_run_goes_on_with_its_program_when_the_file_is_replaced() {
    let bench = Bench::new();
    let program = bench.path("contend");
    fs::hard_link(tool(), &program).expect("linked");
    let (study, record) = (tiny_study(), bench.path("record"));
    let typed = bench.command(&["run", &study, "--out", "record", "--quiet", "--rounds", "2"]);
    let mut command = Command::new(&program);
    command.args(typed.get_args()).current_dir(bench.path("")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the tool starts");
    wait_for("the first trial", || record.join("trials").exists());
    fs::remove_file(&program).expect("removed");
    fs::write(&program, "#!/bin/sh\nexit 9\n").expect("another program");
    Said::from(child.wait_with_output().expect("it ends")).settled(&record);
    bench.assert_nothing_left();
}

/// The contenders carry out their operations seconds apart, so a time of the run differs in every row.
#[test]
fn a_time_of_the_run_is_no_difference_for_verify() {
    let bench = Bench::new();
    let workload = "about = 'x'\n[table.t]\nrows = 3\ncolumns = { a = { serial = 1 } }\n\
                    ddl = 'CREATE TABLE t (a INTEGER, made TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)'\n\
                    [transaction.add]\nkind = 'write'\nargs = { a = { range = [1, 5] } }\n\
                    [[transaction.add.step]]\nsql = 'INSERT INTO t (a) VALUES (:a)'\n\
                    [[transaction.add.step]]\nhold = '700ms'\n\
                    [profile.mixed]\nmix = { add = 1 }\n";
    fs::write(bench.path("w.toml"), workload).expect("written");
    let args = ["verify", "w.toml", "--operations", "3", "--scale", "1", "--contender", "sqlite:journal_mode=wal"];
    let said = bench.contend(&args).exits(0);
    assert!(said.out.contains("The same everywhere"), "{}", said.out);
    assert!(said.out.contains("times of the run are not compared: made"), "{}", said.out);
}

/// Conditions keep a rate as `rate_per_s`.
#[test]
fn a_course_along_rates_is_in_the_report() {
    let bench = Bench::new();
    let text = fs::read_to_string(tiny_study()).expect("the study");
    let along = "[[along]]\nask = \"Up to which rate?\"\naxis = \"rate\"\nmetric = \"throughput_ops_per_s\"\n\
        tells = \"plateau\"\n";
    let text = text.replace("[axes]", &format!("{along}\n[axes]\nrate = [40, 80]"));
    fs::write(bench.path("rates.toml"), text).expect("written");
    let args = ["run", "rates.toml", "--rounds", "1", "--only", "WAL/FULL", "--out", "record", "--quiet"];
    bench.contend(&args).settled(&bench.path("record"));
    let report = fs::read_to_string(bench.path("record/report.txt")).expect("a report");
    let said = report.split_whitespace().collect::<Vec<_>>().join(" ");
    let answer = said.split("Up to which rate?").nth(1).unwrap_or_else(|| panic!("no answer: {said}"));
    assert!(answer.contains("with 40 and 80 operations/s asked for"), "{answer}");
}
