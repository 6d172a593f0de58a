//! Private servers, as their users see them: whole trials, wrong input, nothing left behind.

use crate::support::place::{Own, Place, files, is_root, record, study};
use crate::support::workers::needed;
use crate::support::{Bench, Said, processes_mentioning, reasons, tool, wait_for};
use contend::outcome::reason::Invalid;
use contend::outcome::{Outcome, classify};
use contend::trial::stop::Cancelled;
use contend::trial::watch::janitor::Janitor;
use contend::trial::workers::admin::script_target;
use contend::trial::workers::admin::{Admin, EngineSaid};
use contend::trial::workers::process::Launch;
use contend::workload::sql::asked;
use contend_wire::database::Database;
use contend_wire::literal::Value;
use contend_wire::script::ScriptWriter;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn trials_on_servers_are_whole() {
    let place = Place::new();
    place.run_sound(&["--rounds", "6", "--only", "*s durable"]);
    let record = record(&place);
    for trial in &record.trials {
        let server = trial.server.as_ref().expect("a server");
        assert!(server.version.starts_with("1"), "{}", server.version);
        assert!(server.cpu_ns > Some(0) && server.rss_bytes > Some(1 << 20), "{server:?}");
        assert!(trial.footprint.size_bytes_db > 0 && trial.footprint.size_bytes_wal > 0, "{:?}", trial.footprint);
        assert!(trial.settings.contains_key("fsync"), "{:?}", trial.settings);
        assert!(record.trial_dir(trial.slot.trial).join("server.log").exists());
    }
    let csv = fs::read_to_string(place.bench.path("record/trials.csv")).expect("written");
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().expect("a head");
    let from_end = head.len() - head.iter().position(|name| *name == "cpu_ns_server").expect("a column");
    assert!(lines.all(|cells| cells[cells.len() - from_end].parse::<u64>().is_ok_and(|ns| ns > 0)));
    place.assert_nothing_left();
}

#[test]
fn workers_that_serve_leave_the_same_data_on_every_server() {
    let place = Place::new();
    let mut contenders = vec!["postgres:transport=http", "mariadb:transport=http"];
    for (worker, contender) in [
        ("contend-worker-go-pgx", "postgres/pgx/pool:transport=http"),
        ("contend-worker-go-mysql", "mariadb/go-sql-driver/pool:transport=http"),
    ] {
        contenders.extend(needed(worker).map(|_| contender));
    }
    let args: Vec<&str> = contenders.iter().flat_map(|contender| ["--contender", contender]).collect();
    let said = place.contend(&[&["verify", "bank", "--operations", "300"], &args[..]].concat()).exits(0);
    for words in ["transfer committed", "The same everywhere"] {
        assert!(said.out.contains(words), "{words}: {said:?}");
    }
    place.assert_nothing_left();
}

/// Overdrafts are rejected after their first statement, which the request that failed does not say.
#[test]
fn transactions_over_http_that_fail_in_their_middle_make_no_trial_invalid() {
    let place = Place::new();
    let study = "question = 'q'\nworkload = 'bank'\nkind = 'load'\nheadline = 'throughput_ops_per_s'\nrounds = 6\n\
        axes = { profile = ['mixed'] }\nload = { clients = 4, window = '500ms' }\n\
        [[contender]]\nengine = 'mariadb'\nsettings = { transport = 'http' }\n\
        [[contender]]\nengine = 'postgres'\nsettings = { transport = 'http' }\n";
    fs::write(place.bench.path("bank.toml"), study).expect("written");
    place.contend(&["run", "bank.toml", "--rounds", "1", "--out", "record"]);
    let record = record(&place);
    assert_eq!(record.trials.len(), 2);
    for trial in &record.trials {
        let commits = trial.invalid.iter().find(|reason| reason.kind == Invalid::Commits);
        assert!(commits.is_none(), "{commits:?}");
    }
    place.assert_nothing_left();
}

#[test]
fn savepoints_around_every_statement_change_no_data() {
    let place = Place::new();
    let each = "postgres:savepoints=each";
    let contenders = ["--contender", "postgres", "--contender", each];
    let said = place.contend(&[&["verify", "library", "--operations", "200"], &contenders[..]].concat()).exits(0);
    assert!(said.out.contains("The same everywhere"), "{said:?}");
    let shown = place.contend(&["plan", "show", "library", "--contender", each]).exits(0).out;
    assert!(shown.contains("SAVEPOINT contend_sql") && shown.contains("RELEASE SAVEPOINT contend_sql"), "{shown}");
    place.assert_nothing_left();
}

#[test]
fn where_every_write_is_a_sync_no_count_of_syncs_is_told() {
    let place = Place::new();
    let written_through =
        ["postgres:tier=durable,wal_sync_method=open_datasync", "mariadb:tier=durable,innodb_flush_method=o_dsync"];
    let further: Vec<&str> = written_through.iter().flat_map(|contender| ["--contender", contender]).collect();
    place.run(&[&further[..], &["--rounds", "1"]].concat()).ran();
    let record = record(&place);
    let mut told = vec![];
    for trial in &record.trials {
        let contender = &record.run.study.contenders[trial.slot.contender];
        let Some(server) = &trial.server else { continue };
        let through = contender.settings.values().any(|value| ["open_datasync", "o_dsync"].contains(&value.as_str()));
        assert_eq!(server.syncs.map(|syncs| syncs.count > 0), (!through).then_some(true), "{}", contender.name);
        told.push(through);
    }
    told.sort_unstable();
    assert_eq!(told, [false, false, true, true], "{:?}", reasons(&place.bench.path("record")));
    place.assert_nothing_left();
}

#[test]
fn over_tcp_the_password_is_nowhere() {
    let place = Place::new();
    let tcp = ["--contender", "mariadb:transport=tcp", "--contender", "postgres:transport=tcp", "--only", "*tcp*"];
    let mut child = place.start(&[&tcp[..], &["--rounds", "6"]].concat());
    let mut passwords = std::collections::BTreeSet::new();
    let mut seen = String::new();
    while child.try_wait().expect("it can be asked").is_none() {
        let found = files(place.sockets.path()).into_iter().filter(|path| path.ends_with("password"));
        let read = found.filter_map(|path| Some(fs::read_to_string(path).ok()?.trim().to_string()));
        // The file is empty until it is written.
        passwords.extend(read.filter(|password| !password.is_empty()));
        for entry in fs::read_dir("/proc").expect("/proc").flatten() {
            seen.push_str(&fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default());
        }
        if seen.len() > 1 << 20 {
            assert!(passwords.iter().all(|password| !seen.contains(password)), "in a list of processes");
            seen.clear();
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(matches!(child.wait().expect("it ended").code(), Some(0 | 1)));
    assert!(passwords.len() >= 4, "each server has its own: {}", passwords.len());
    assert!(passwords.iter().all(|password| password.len() == 32 && !seen.contains(password)));
    for file in files(&place.bench.path("record")) {
        let bytes = fs::read(&file).expect("readable");
        let text = String::from_utf8_lossy(&bytes);
        assert!(passwords.iter().all(|password| !text.contains(password)), "a password in {}", file.display());
    }
    assert!(record(&place).trials.iter().all(|trial| trial.settings["transport"] == "tcp"));
    place.assert_nothing_left();
}

/// The user that must not get in, the command, and how it is refused.
type Login = (&'static str, Vec<String>, &'static str);

/// A command that another user of the machine gives; where the test is not root, the same user.
fn as_another_user(place: &Place, user: &str, args: &[String]) -> Said {
    let mut command = Command::new(if is_root() { "setpriv" } else { "env" });
    if is_root() {
        command.args([&format!("--reuid={user}"), "--regid=nogroup", "--clear-groups"]);
    }
    command.args(args).current_dir("/").env("HOME", place.sockets.path());
    command.output().expect("the client starts").into()
}

/// Tries `logins` (without a password, for a port and a socket's directory; first those over TCP, then those by the socket) on the
/// server of a trial over TCP, until each has been refused in its way three times; none may get in. Without root all
/// are of the user of contend, who may enter by the socket: then those by the socket are left out.
fn refuses_other_users(engine: &str, configuration: &str, logins: &dyn Fn(&str, &str) -> [Vec<Login>; 2]) {
    let place = Place::new();
    let contender = format!("{engine}:transport=tcp");
    let mut child = place.start(&["--contender", &contender, "--only", "*tcp*", "--rounds", "1", "--window", "4s"]);
    let mut refused = 0;
    while child.try_wait().expect("it can be asked").is_none() && refused < 3 {
        let written = files(&place.bench.path("record")).into_iter().find(|path| path.ends_with(configuration));
        let text = written.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        let port = text.lines().find_map(|line| line.strip_prefix("port = "));
        let Some(port) = port.map(|port| port.trim_matches('\'')) else { continue };
        let socket = fs::read_dir(place.sockets.path()).expect("readable").flatten().next();
        let socket = socket.map(|entry| entry.path().display().to_string()).unwrap_or_default();
        let [mut logins, by_socket] = logins(port, &socket);
        if is_root() {
            logins.extend(by_socket);
        } else {
            println!("NOT VERIFIED: {engine} keeps other users out of its socket; this needs root");
        }
        let said: Vec<Said> = logins.iter().map(|(user, login, _)| as_another_user(&place, user, login)).collect();
        assert!(said.iter().all(|said| said.code != Some(0)), "somebody else got in: {said:?}");
        refused += i32::from(logins.iter().zip(&said).all(|((.., words), said)| said.err.contains(words)));
    }
    child.wait().expect("it ends");
    assert_eq!(refused, 3, "the server must have been reached, and have refused");
    place.assert_nothing_left();
}

#[test]
fn no_other_user_of_the_machine_gets_into_a_postgres() {
    refuses_other_users("postgres", "postgresql.conf", &|port, socket| {
        let psql = |host: &str, port: &str, user: &str, database: &str| {
            let words = ["psql", "-w", "-h", host, "-p", port, "-U", user, "-d", database, "-c", "SELECT 1"];
            words.map(str::to_string).to_vec()
        };
        let superuser = psql("127.0.0.1", port, "contend", "postgres");
        let replication = psql("127.0.0.1", port, "contend", "dbname=postgres replication=database");
        let by_socket = psql(socket, port, "contend", "postgres");
        let no_password = "no password supplied";
        // Servers of root belong to `nobody`, who may enter the directory.
        let closed =
            [("games", by_socket.clone(), "Permission denied"), ("nobody", by_socket, "Peer authentication failed")];
        [vec![("games", superuser, no_password), ("games", replication, no_password)], closed.to_vec()]
    });
}

#[test]
fn no_other_user_of_the_machine_gets_into_a_mariadb() {
    refuses_other_users("mariadb", "contend.cnf", &|port, socket| {
        let login = |args: &[&str]| {
            let words = ["mariadb", "--no-defaults", "--connect-timeout=5", "-u", "root", "-e", "SELECT 1"];
            words.iter().chain(args).map(ToString::to_string).collect::<Vec<_>>()
        };
        let by_socket = login(&["-S", &format!("{socket}/mariadb.sock")]);
        let by_tcp = login(&["--protocol=tcp", "-h", "127.0.0.1", "-P", port]);
        let closed = [("games", by_socket.clone(), "(13"), ("nobody", by_socket, "Access denied")];
        [vec![("games", by_tcp, "Access denied")], closed.to_vec()]
    });
}

/// Kills the server once its clients are at work.
fn kill_in_mid_run(engine: &str, driver: &str, program: &str) {
    let place = Place::new();
    let only = format!("{engine} durable");
    let mut child = place.start(&["--rounds", "6", "--window", "8s", "--driver", driver, "--only", &only]);
    let at_work = || {
        let ticks = |entry: fs::DirEntry| {
            let line = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let parent = stat.rsplit(')').next().unwrap_or_default().split_whitespace().nth(1).map(str::to_string);
            let its = parent == Some(child.id().to_string()) && line.contains("\0worker");
            let times = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
            its.then(|| times.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>())
        };
        // Getting ready takes less: a plan this small is read in a few milliseconds.
        fs::read_dir("/proc").expect("/proc").flatten().filter_map(ticks).filter(|cpu| *cpu >= 6).count() >= 2
            && place.bench.path("record/run.toml").exists()
    };
    wait_for("clients at work", at_work);
    let servers = place.servers(program);
    assert!(!servers.is_empty(), "no {program} runs");
    let shared = shared_memory(&servers);
    assert!(program != "postgres" || !shared.is_empty(), "PostgreSQL has shared memory under a name");
    for pid in servers {
        Command::new("kill").arg("-9").arg(pid.to_string()).status().expect("kill");
    }
    wait_for("the trial to be in the record", || {
        fs::read_dir(place.bench.path("record/trials")).is_ok_and(|mut dirs| {
            dirs.any(|dir| dir.is_ok_and(|dir| dir.path().join("trial.toml").exists() && !hidden(&dir.path())))
        })
    });
    Command::new("kill").arg("-INT").arg(child.id().to_string()).status().expect("kill");
    child.wait().expect("it ends");
    let reasons = reasons(&place.bench.path("record"));
    let (trial, _) = reasons.iter().find(|(_, kinds)| kinds.iter().any(|k| k == "server-died")).unwrap_or_else(|| {
        panic!("no trial says that its server died: {reasons:?}");
    });
    let mut unknown = 0;
    record(&place).samples(*trial, |s| unknown += u64::from(classify(&s) == Outcome::Unknown)).expect("samples");
    assert!(unknown > 0, "operations in flight are unknown");
    let left: Vec<_> = shared.iter().filter(|path| Path::new(path).exists()).collect();
    assert!(left.is_empty(), "shared memory of the killed server is left: {left:?}");
    place.assert_nothing_left();
}

/// Files in memory that these processes and their children have mapped.
fn shared_memory(pids: &[u32]) -> std::collections::BTreeSet<String> {
    let children = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children: Vec<String> =
        pids.iter().flat_map(|p| children(p).split_whitespace().map(str::to_string).collect::<Vec<_>>()).collect();
    let all = pids.iter().map(u32::to_string).chain(children);
    let maps = all.map(|pid| fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default());
    let paths = maps.flat_map(|text| {
        text.lines().filter_map(|l| l.split_whitespace().nth(5).map(str::to_string)).collect::<Vec<_>>()
    });
    paths.filter(|path| path.starts_with("/dev/shm/")).collect()
}

fn hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

#[test]
fn a_killed_postgres_makes_its_trial_invalid() {
    kill_in_mid_run("postgres", "postgres", "postgres");
}

#[test]
fn a_killed_postgres_makes_its_trial_invalid_without_a_runtime_too() {
    kill_in_mid_run("postgres", "tokio-postgres", "postgres");
}

#[test]
fn a_killed_mariadb_makes_its_trial_invalid() {
    kill_in_mid_run("mariadb", "mysql", "mariadbd");
}

#[test]
fn nothing_is_left_after_ctrl_c_or_a_kill() {
    for signal in ["-INT", "-KILL"] {
        for (engine, program) in [("postgres", "postgres"), ("mariadb", "mariadbd")] {
            let place = Place::new();
            let mut child = place.start(&["--rounds", "6", "--only", &format!("{engine} durable")]);
            wait_for("a server", || !place.servers(program).is_empty());
            Command::new("kill").arg(signal).arg(child.id().to_string()).status().expect("kill");
            child.wait().expect("it ends");
            wait_for("the server to end", || place.servers(program).is_empty());
            place.assert_nothing_left();
        }
    }
}

/// Tool and janitor are killed at the same time: no process is left that could stop the server. In the background of a
/// script, SIGQUIT is ignored.
fn ends_with_its_tool_and_janitor(contender: &str, program: &str) {
    let place = Place::new();
    let args = ["run", &study(), "--out", "record", "--quiet", "--rounds", "2", "--only", contender];
    let run = place.command(&args);
    let mut child = Command::new("sh");
    child.args(["-c", "trap '' HUP INT QUIT && exec \"$@\"", "sh", tool()]).args(run.get_args());
    child.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(place.bench.dir.path());
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the tool starts");
    wait_for("a first trial", || place.bench.path("record/trials/0001").exists());
    wait_for("a server", || !place.servers(program).is_empty());
    let kill = |signal: &str, pid: &str| Command::new("kill").args([signal, pid]).status().expect("kill");
    let tool = child.id().to_string();
    kill("-STOP", &tool);
    let children = fs::read_dir(format!("/proc/{tool}/task")).expect("threads").flatten();
    let children = children.map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    let children: Vec<String> =
        children.flat_map(|list| list.split_whitespace().map(str::to_string).collect::<Vec<_>>()).collect();
    let command = |pid: &String| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let janitor = children.iter().find(|pid| command(pid).contains("\0janitor")).expect("a janitor");
    kill("-KILL", janitor);
    kill("-KILL", &tool);
    child.wait().expect("it ends");
    wait_for("the server to end", || place.servers(program).is_empty());
    assert_eq!(fs::read_dir(place.sockets.path()).expect("readable").count(), 1, "its socket's directory is left");
    place.contend(&["run", "--resume", "record", "--quiet"]).ran();
    assert_eq!(record(&place).trials.len(), 2);
    place.assert_nothing_left();
}

#[test]
fn a_server_ends_with_a_tool_that_dies_together_with_its_janitor() {
    ends_with_its_tool_and_janitor("postgres durable", "postgres");
    ends_with_its_tool_and_janitor("mariadb durable", "mariadbd");
}

#[test]
fn a_missing_server_is_said_or_left_out() {
    let place = Place::new();
    let nowhere = place.bench.path("nowhere");
    let mut command = place.command(&["run", &study(), "--out", "record", "--quiet", "--rounds", "6"]);
    let said: Said = command.env("CONTEND_SERVERS", &nowhere).output().expect("the tool starts").into();
    // A busy machine may make a trial of such short windows invalid.
    assert!(matches!(said.code, Some(0 | 1)), "{}", said.err);
    assert!(said.err.contains("Left out: postgres durable. PostgreSQL is not installed"), "{}", said.err);
    assert!(said.err.contains("apt-get install mariadb-server"), "{}", said.err);
    assert!(fs::read_to_string(place.bench.path("record/report.md")).expect("a report").contains("was left out"));
    let mut command = place.command(&["run", &study(), "--out", "second", "--contender", "postgres", "--quiet"]);
    let said: Said = command.env("CONTEND_SERVERS", &nowhere).output().expect("the tool starts").into();
    assert!(said.code == Some(2) && said.err.contains("PostgreSQL is not installed"), "{}", said.err);
}

#[test]
fn a_directory_in_place_of_a_host_is_that_of_a_socket() {
    let place = Place::new();
    let own = Own::postgres(&place);
    place.run_sound(&["--dsn", &own.dsn_of_directory(&place, "geheim"), "--rounds", "1", "--only", "postgres durable"]);
    let command = record(&place).run.command.join(" ");
    assert!(command.contains("?socket=") && !command.contains("geheim"), "{command}");
    assert_eq!(own.asked("SELECT count(*) FROM pg_database WHERE datname LIKE 'contend%'"), "0");
}

#[test]
fn what_translate_prints_is_for_the_servers_own_clients() {
    let place = Place::new();
    let app = "CREATE TABLE t (id INTEGER PRIMARY KEY, b TEXT);\n\
               INSERT INTO t (b) VALUES ('a\\' || 'b');\nSELECT b, round(2.5, 0) FROM t;\n";
    fs::write(place.bench.path("app.sql"), app).expect("written");
    for (to, own, first) in
        [("postgres", Own::postgres(&place), ""), ("mariadb", Own::mariadb(&place), "CREATE DATABASE app; USE app;\n")]
    {
        let printed = |args: &[&str]| place.contend(&[&["translate", "--to", to], args].concat()).exits(0).out;
        // It may be installed again.
        for _ in 0..2 {
            own.asked(&printed(&["--functions"]));
        }
        let said = own.asked(&format!("{first}{}{}", printed(&["--session"]), printed(&["--pack", "app.sql"])));
        let row = said.lines().last().unwrap_or_default().replace('\t', "|");
        // MariaDB's client writes a backslash twice.
        assert_eq!(row.replace("\\\\", "\\").split('|').next(), Some("a\\b"), "{to}: {said}");
    }
}

#[test]
fn a_wrong_address_is_said_without_its_password() {
    let place = Place::new();
    for (dsn, only, part) in [
        ("oracle://me:geheim@h/d", "postgres durable", "`oracle` is not a scheme"),
        ("postgres://me:x?geheim@h/d", "postgres durable", "a `?` in a password is written %3F"),
        ("mysql://me:geheim@127.0.0.1:1/d", "postgres durable", "no contender runs on a server of mysql://"),
        ("postgres://me:geheim@127.0.0.1:1/d", "postgres durable", "(sqlstate 08001)"),
        ("mysql://me:geheim@127.0.0.1:1/d", "mariadb durable", "Connection refused"),
    ] {
        let said = place.run(&["--dsn", dsn, "--rounds", "6", "--only", only]);
        let told = format!("{}{}", said.out, said.err);
        assert!(!told.contains("geheim"), "{told}");
        assert!(!place.bench.path("record").exists());
        assert!(said.code == Some(2) && told.contains(part), "{dsn}: {told}");
    }
    place.assert_nothing_left();
}

fn file(path: &Path) -> Database {
    Database::File(path.display().to_string())
}

#[test]
fn a_script_worker_that_dies_is_replaced() {
    let bench = Bench::new();
    let launch = Launch { program: tool().into(), args: vec!["worker".to_string()] };
    let (janitor, never) = (Janitor::of(tool().into()).expect("a process"), || false);
    let mut admin = Admin::start(&launch, &bench.path("admin.log"), &janitor, &never).expect("a worker");
    let engine = contend::engine::find("sqlite").expect("an engine");
    let target = script_target(engine, &file(&bench.path("a.db")));
    let log = bench.path("admin.log").display().to_string();
    for line in processes_mentioning(&log) {
        let pid = line.split(' ').next().expect("a number");
        Command::new("kill").args(["-9", pid]).status().expect("kill");
    }
    let error = admin.sql(&target, ["SELECT 1"]).expect_err("it is dead");
    assert!(error.to_string().contains("signal: 9"), "{error}");
    assert!(!error.is::<EngineSaid>(), "no engine said that");
    let rows = admin.sql(&target, ["SELECT 2"]).expect("another answers");
    assert_eq!(rows, vec![vec![vec![Value::Integer(2)]]]);
    fs::write(bench.path("b.db"), "no database, and longer than its header would be").expect("written");
    let broken = script_target(engine, &file(&bench.path("b.db")));
    let error = admin.sql(&broken, ["SELECT * FROM t"]).expect_err("it cannot be read");
    assert!(error.is::<EngineSaid>() && error.to_string().contains("not a database"), "{error:#}");
}

#[test]
fn an_answer_that_nobody_waits_for_is_never_taken_for_another() {
    let bench = Bench::new();
    let launch = Launch { program: tool().into(), args: vec!["worker".to_string()] };
    let stop = std::cell::Cell::new(false);
    let (janitor, cancelled) = (Janitor::of(tool().into()).expect("a process"), || stop.get());
    let mut admin = Admin::start(&launch, &bench.path("admin.log"), &janitor, &cancelled).expect("a worker");
    let engine = contend::engine::find("sqlite").expect("an engine");
    let target = script_target(engine, &file(&bench.path("a.db")));
    let script = |sql: &str| {
        let mut script = ScriptWriter::new(&target);
        script.sql(&asked(sql));
        script.finish()
    };
    let two = vec![vec![vec![Value::Integer(2)]]];
    // As when data is loaded: others are on their way when one fails.
    for sql in ["SELECT nothing", "SELECT 1", "SELECT 1"] {
        admin.send(script(sql)).expect("sent");
    }
    assert!(admin.reply().expect_err("it is no column").is::<EngineSaid>());
    assert_eq!(admin.sql(&target, ["SELECT 2"]).expect("an answer"), two);
    // This answer was not requested yet.
    admin.send(script("SELECT 1")).expect("sent");
    assert_eq!(admin.sql(&target, ["SELECT 2"]).expect("an answer"), two);
    // As when the user stops the run; everything is cleaned up.
    stop.set(true);
    for _ in 0..2 {
        assert!(admin.sql(&target, ["SELECT 1"]).expect_err("stopped").is::<Cancelled>());
    }
    assert_eq!(admin.persisting(|admin| admin.sql(&target, ["SELECT 2"])).expect("an answer"), two);
    assert!(admin.sql(&target, ["SELECT 1"]).expect_err("stopped").is::<Cancelled>());
}

#[test]
fn what_cannot_be_translated_is_refused_before_anything_runs() {
    let place = Place::new();
    let workload = "about = \"x\"\n[table.t]\nddl = \"CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)\"\nrows = 3\n\
                    [table.t.columns]\na = { serial = 1 }\nb = \"x\"\n[transaction.r]\nkind = \"read\"\n\
                    [[transaction.r.step]]\nsql = \"SELECT load_extension('x') FROM t\"\n";
    fs::write(place.bench.path("w.toml"), workload).expect("written");
    let text = fs::read_to_string(study()).expect("readable");
    let text = text.replace("workload = \"bank\"", "workload = \"w.toml\"").replace("profile = [\"mixed\"]", "");
    fs::write(place.bench.path("s.toml"), text).expect("written");
    let said = place.contend(&["run", "s.toml", "--out", "record", "--quiet"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("cannot run on PostgreSQL: line 1, column 8"), "{}", said.err);
    assert!(!place.bench.path("record").exists() && processes_mentioning(&study()).is_empty());
}
