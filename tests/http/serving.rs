//! HTTP from outside: scenarios against a service on a real socket, bad input, secrets, and workloads and a study
//! asked for over HTTP.

use crate::service::{Reply, Service, ok};
use crate::support::place::files;
use crate::support::{Bench, Said, processes_mentioning, reasons, root, sound, status, tiny_study, wait_for};
use contend::record::store::Record;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// As awkward as a password after `--set` can be: commas divide there.
const PASSWORD: &str = "ge heim&\"+%{x}";
const VARIABLE: &str = "CONTEND_SECRET_PASSWORD";

fn reply(status: &str, body: &str) -> Reply {
    Reply::raw(format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
}

/// A scenario of one request, with what else it needs.
fn one_request(bench: &Bench, step: &str) -> String {
    let text = format!(
        "about = 'One request'\n[transaction.get]\nkind = 'read'\n[[transaction.get.step]]\nrequest = 'GET /x'\n{step}\n"
    );
    fs::write(bench.path("one.toml"), text).expect("written");
    "one.toml".to_string()
}

/// `contend http` with few requests; its one line of JSON, if it got so far.
fn ask(bench: &Bench, scenario: &str, url: &str, args: &[&str]) -> (Said, Option<Value>) {
    let _ = fs::remove_dir_all(bench.path("record"));
    let all = ["http", scenario, "--url", url, "--out", "record", "--json-line"];
    let clients: &[&str] = if args.contains(&"--clients") { &[] } else { &["--clients", "2"] };
    let requests: &[&str] = if args.contains(&"--requests") { &[] } else { &["--requests", "20"] };
    let said = bench.contend(&[&all[..], clients, requests, args].concat());
    let line = serde_json::from_str(&said.out).ok();
    (said, line)
}

/// The line of JSON of correct requests. They take 20 ms, in which a client on a busy machine may not have begun: then
/// the trial does not count, but its answers are reported.
fn answered(bench: &Bench, scenario: &str, url: &str, args: &[&str]) -> Value {
    let (said, line) = ask(bench, scenario, url, args);
    said.settled(&bench.path("record"));
    line.expect("a line of JSON")
}

#[test]
fn answers_that_are_not_expected_are_failures_with_their_codes() {
    let bench = Bench::new();
    let location = "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 2\r\n\r\nno";
    for (answer, step, code) in [
        (Reply::raw(location.as_bytes()), "", "HTTP 302"),
        (reply("500 Oh", "{\"error\": \"a body\"}"), "", "HTTP 500"),
        (ok("{\"id\": 1}"), "keep = { id = '/other' }", "NOT_KEPT"),
        (ok("{\"rows\": []}"), "count = '/rows'\nrows = '1..'", "ROWS"),
        (ok("this is no JSON"), "count = '/rows'", "ANSWER"),
        (Reply::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").then_close(), "", "ANSWER"),
        (Reply::raw(b"SSH-2.0-OpenSSH\r\n").then_close(), "", "ANSWER"),
        (Reply::raw(b"").then_reset(), "", "ECONNRESET"),
    ] {
        let service = Service::start(move |_| answer.clone());
        let (said, line) = ask(&bench, &one_request(&bench, step), &service.url, &[]);
        // Nothing succeeded, so the trial has no result; what happened is in the line all the same.
        assert_eq!(said.code, Some(1), "{code}: {said:?}");
        let line = line.unwrap_or_else(|| panic!("{code}: {said:?}"));
        assert_eq!(
            (line["total"].as_u64(), line["ok"].as_u64(), line["failed"].as_u64()),
            (Some(20), Some(0), Some(20))
        );
        let first = &line["err_sample"][0];
        assert!(first["code"].as_str().is_some_and(|told| told.starts_with(code)), "{code}: {line}");
        assert_eq!(
            (first["count"].as_u64(), line["err_sample"].as_array().map(Vec::len)),
            (Some(20), Some(1)),
            "{line}"
        );
        assert!(service.asked().iter().all(|request| request.starts_with("GET /x ")), "a redirect is not followed");
        let kinds = reasons(&bench.path("record")).remove(0).1;
        assert!(kinds.iter().any(|kind| kind == "nothing-done"), "{code}: {kinds:?}");
        bench.assert_nothing_left();
    }
}

#[test]
fn some_failures_do_not_spoil_the_rest() {
    let bench = Bench::new();
    let turn = std::sync::atomic::AtomicUsize::new(0);
    let service = Service::start(move |_| match turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 4 {
        0 => reply("500 Oh", "a body"),
        _ => ok("{}"),
    });
    let line = answered(&bench, &one_request(&bench, ""), &service.url, &["--label", "mine"]);
    assert_eq!(
        (line["ok"].as_u64(), line["failed"].as_u64(), line["label"].as_str()),
        (Some(15), Some(5), Some("mine"))
    );
    bench.contend(&["report", "record"]).exits(status(&bench.path("record")));
    let report = fs::read_to_string(bench.path("record/report.md")).expect("a report");
    assert!(report.contains("15 of 20 requests were answered as expected"), "{report}");
}

#[test]
fn what_cannot_begin_says_why() {
    let bench = Bench::new();
    let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
    let one = one_request(&bench, "");
    let (said, _) = ask(&bench, &one, &format!("http://{free}"), &[]);
    assert!(said.code == Some(2) && !bench.path("record").exists(), "{said:?}");
    assert!(said.err.contains(&format!("client 0, http://{free}: cannot connect: Connection refused")), "{said:?}");
    assert!(said.err.contains("Check that the service answers at this address"), "{said:?}");
    let weights = format!("{}[profile.none]\nmix = {{ get = 0 }}\n", fs::read_to_string(bench.path(&one)).expect("it"));
    fs::write(bench.path("weights.toml"), weights).expect("written");
    let status = fs::read_to_string(bench.path(&one)).expect("it") + "status = '200,600'\n";
    fs::write(bench.path("status.toml"), status).expect("written");
    let service = Service::start(|_| reply("403 Forbidden", "{\"why\": \"wrong password\"}"));
    let example = root().join("examples/notes.toml").display().to_string();
    for (scenario, url, args, complaint) in [
        (example.as_str(), service.url.as_str(), vec![], "403"),
        ("weights.toml", service.url.as_str(), vec![], "weights.toml:8"),
        ("status.toml", service.url.as_str(), vec![], "from 100 to 599"),
        ("missing.toml", &service.url, vec![], "missing.toml"),
        ("nonsense", &service.url, vec![], "gameplan"),
        ("one.toml", &service.url, vec!["--url", "http://127.0.0.1:1"], "http://127.0.0.1:1: cannot connect"),
        ("one.toml", "ftp://127.0.0.1:1", vec![], "http://"),
        ("one.toml", &service.url, vec!["--set", "user=eve"], "no variable `user`"),
        ("one.toml", &service.url, vec!["--set", PASSWORD], "NAME=VALUE"),
        (
            "one.toml",
            &service.url,
            vec!["--user", "eve"],
            "no [variable] `user`; it has none at all; those are set with --set",
        ),
        ("one.toml", &service.url, vec!["--mode", "write"], "has no profile `write`"),
        ("one.toml", &service.url, vec!["--speed", "9"], "--set NAME=VALUE"),
        ("one.toml", &service.url, vec!["--password", PASSWORD], "no [secret] `password`"),
        (&example, &service.url, vec!["--user", "eve", "--set", "user=eve"], "set the same variable"),
        ("one.toml", "http://127.0.0.1:99999", vec![], "from 1 to 65535"),
        ("one.toml", &service.url, vec!["--seed", "9223372036854775808"], "--seed"),
        ("one.toml", &service.url, vec!["--rounds", "4294967295"], "--rounds"),
        ("one.toml", &service.url, vec!["--clients", "4,4"], "twice"),
        (&example, &service.url, vec!["--drain", "soon"], "--drain"),
        (&example, &service.url, vec!["--requests", "9000000"], "the maximum is"),
    ] {
        let (said, _) = ask(&bench, scenario, url, &args);
        assert!(said.code == Some(2) && said.err.contains(complaint), "{scenario} {args:?}: {said:?}");
        assert!(!said.err.contains(PASSWORD) && !bench.path("record").exists(), "{said:?}");
    }
    let asked = service.asked();
    assert_eq!(
        asked.len(),
        1,
        "only the example got so far, and only where nothing was wrong with the command: {asked:?}"
    );
    assert!(asked[0].starts_with("POST /login "));
    bench.assert_nothing_left();
}

#[test]
fn a_warm_up_leaves_nothing_and_takes_nothing_away() {
    let (bench, service) = (Bench::new(), Service::start(|_| ok("{}")));
    let one = one_request(&bench, "");
    let all = ["http", &one, "--url", &service.url, "--json-line", "--clients", "2", "--requests", "20"];
    let warm = |out: &str| bench.contend(&[&all[..], &["--warm", "6", "--out", out]].concat());
    // The slash at the end is not part of a directory's name.
    warm("record/").settled(&bench.path("record"));
    assert_eq!((reasons(&bench.path("record")).len(), service.asked().len()), (1, 26));
    assert!(!bench.path("record.warm").exists() && !bench.path("record/.cache").exists());
    // Whatever was there before belongs to another run, even a record.
    fs::rename(bench.path("record"), bench.path("second.warm")).expect("renamed");
    let said = warm("second").exits(2);
    assert!(said.err.contains("second.warm exists"), "{}", said.err);
    assert_eq!((reasons(&bench.path("second.warm")).len(), service.asked().len()), (1, 26));
    assert!(!bench.path("second").exists());
    bench.assert_nothing_left();
}

#[test]
fn a_silent_service_holds_nobody_up() {
    let bench = Bench::new();
    let service = Service::start(|_| Reply::raw(b""));
    let begun = Instant::now();
    let (said, line) = ask(&bench, &one_request(&bench, ""), &service.url, &["--requests", "2", "--timeout", "1"]);
    let line = line.unwrap_or_else(|| panic!("{said:?}"));
    let why = json!([{ "message": "no answer in time", "code": "ETIMEDOUT (110)", "count": 2 }]);
    assert_eq!((line["failed"].as_u64(), &line["err_sample"]), (Some(2), &why));
    // Where no request times out, the end of the drain ends it.
    let window = ["http", "one.toml", "--url", &service.url, "--out", "second", "--json-line", "--clients", "2"];
    let times = ["--duration", "300ms", "--run-in", "0ms", "--drain", "200ms"];
    let said = bench.contend(&[&window[..], &times].concat());
    assert!(said.code == Some(1) && said.out.contains("ECANCELED"), "{said:?}");
    assert!(begun.elapsed() < Duration::from_secs(60), "it took {:?}", begun.elapsed());
    bench.assert_nothing_left();
}

/// Notes behind a login; a failed login is answered with what was sent. Mallory can log in once.
fn notes() -> Service {
    let mallory = AtomicBool::new(false);
    Service::start(move |request| {
        let mut words = request.split([' ', '\r']);
        match (words.next(), words.next()) {
            (Some("POST"), Some("/login"))
                if request.contains("usr=mallory") && !mallory.swap(true, Ordering::Relaxed) =>
            {
                ok("{\"token\": \"t7\"}")
            }
            (Some("POST"), Some("/login")) if request.ends_with("usr=eve&pwd=ge%20heim%26%22%2B%25%7Bx%7D") => {
                ok("{\"token\": \"t7\"}")
            }
            (Some("POST"), Some("/login")) => {
                reply("403 Forbidden", request.split("\r\n\r\n").nth(1).unwrap_or_default())
            }
            (Some("GET"), Some("/notes")) => ok("{\"notes\": [{\"id\": 3}, {\"id\": 4}]}"),
            _ if request.contains("X-Token: t7") => ok("{}"),
            _ => reply("401 Unauthorized", ""),
        }
    })
}

/// A scenario for it; `setup` asks for what there is before the run.
fn scenario(bench: &Bench, setup: bool, password: &str) -> String {
    let (list, note) = match setup {
        true => ("[setup.notes]\nrequest = 'GET /notes'\nat = '/notes/*/id'\n", "{ list = 'notes' }"),
        false => ("", "{ range = [3, 4] }"),
    };
    let text = format!(
        "about = 'Notes'\nlogin = 'login'\n[variable]\nuser = 'eve'\n[secret]\npassword = '{password}'\n{list}\
         [transaction.login]\nkind = 'write'\nargs = {{ user = '${{user}}' }}\n[[transaction.login.step]]\n\
         request = 'POST /login'\nheaders = {{ Content-Type = 'application/x-www-form-urlencoded' }}\n\
         body = 'usr={{user}}&pwd={{secret.password}}'\nkeep = {{ token = '/token' }}\n\
         [transaction.note]\nkind = 'write'\nargs = {{ note = {note} }}\n[[transaction.note.step]]\n\
         request = 'POST /notes/{{note}}'\nheaders = {{ X-Token = '{{session.token}}' }}\nbody = 'x'\n\
         [profile.all]\nmix = {{ note = 1 }}\n"
    );
    fs::write(bench.path("notes.toml"), text).expect("written");
    "notes.toml".to_string()
}

/// Fails if the password, in any spelling, is in a file below the test's directory.
fn assert_hidden(bench: &Bench) {
    for path in files(bench.dir.path()) {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
        assert!(!spelled(&text), "{} has the password", path.display());
    }
}

fn spelled(text: &str) -> bool {
    [PASSWORD, "heim%26", "heim&"].iter().any(|spelling| text.contains(spelling))
}

/// Fails if a process that the tool has started names the password, or if one is left.
fn assert_hidden_in_processes(bench: &Bench, tool: &Child) {
    let mine = bench.dir.path().to_string_lossy().into_owned();
    let seen = std::cell::RefCell::new(BTreeSet::new());
    wait_for("workers at work", || {
        for process in processes_mentioning(&mine) {
            let (pid, line) = process.split_once(' ').expect("a number and a command line");
            // Or a copy of it that is about to become another program.
            if pid.parse() == Ok(tool.id())
                || fs::read_to_string(format!("/proc/{}/cmdline", tool.id())).is_ok_and(|own| own == line)
            {
                continue;
            }
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            assert!(!spelled(line) && !spelled(&String::from_utf8_lossy(&environment)), "{line} knows the password");
            seen.borrow_mut().extend(line.split('\0').nth(1).map(str::to_string));
        }
        seen.borrow().contains("worker") && bench.path("record/trials").exists()
    });
}

#[test]
fn a_password_is_sent_and_nowhere_else() {
    let (bench, service) = (Bench::new(), notes());
    let file = scenario(&bench, true, "of the file");
    let url = service.url.as_str();
    // With the values of the file: this service refuses, and repeats what it received.
    let (said, _) = ask(&bench, &file, url, &[]);
    assert!(said.code == Some(2) && said.err.contains("403"), "{said:?}");
    assert!(said.err.contains("pwd=(secret)") && !said.err.contains("of the file"), "{said:?}");
    let typed = format!("password={PASSWORD}");
    for password in [["--set", &typed], ["--password", PASSWORD]] {
        assert_eq!(answered(&bench, &file, url, &password)["ok"], 20);
        assert_hidden(&bench);
    }
    let report = bench.contend(&["report", "record", "--json"]).exits(status(&bench.path("record")));
    assert!(report.out.contains("throughput") && !spelled(&report.out), "{}", report.out);
    let plan = bench.contend(&["plan", "show", "--record", "record", "--trial", "1"]).exits(0).out;
    assert!(plan.contains("t{secret.password}") && !spelled(&plan), "{plan}");
    // A login that fails within a trial, and one before the first.
    let file = scenario(&bench, false, "");
    let (said, _) = ask(&bench, &file, url, &["--set", &typed, "--set", "user=mallory"]);
    assert!(said.code == Some(1) && said.err.contains("403"), "{said:?}");
    assert!(!spelled(&said.err), "{said:?}");
    assert_hidden(&bench);
    let (said, _) = ask(&bench, &file, url, &["--set", &typed, "--set", "user=mallory"]);
    assert!(said.code == Some(2) && said.err.contains("the login failed: POST /login: status 403"), "{said:?}");
    assert!(!spelled(&said.err) && !bench.path("record").exists(), "{said:?}");
    let (said, _) = ask(&bench, &file, url, &[]);
    assert!(said.code == Some(2) && said.err.contains(VARIABLE), "{said:?}");
    bench.assert_nothing_left();
}

#[test]
fn a_run_is_resumed_with_the_password_of_the_environment() {
    let (bench, service) = (Bench::new(), notes());
    let file = scenario(&bench, true, "of the file");
    let args = ["http", &file, "--url", &service.url, "--out", "record", "--quiet", "--rounds", "3", "--clients", "2"];
    let times = ["--duration", "700ms", "--run-in", "0ms", "--drain", "200ms"];
    let mut command = bench.command(&[&args[..], &times].concat());
    let command = command.env(VARIABLE, PASSWORD).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the tool starts");
    assert_hidden_in_processes(&bench, &child);
    wait_for("a finished trial", || bench.path("record/trials/0001").exists());
    kill_process(Pid::from_child(&child), Signal::INT).expect("it is there");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let said = bench.contend(&["run", "--resume", "record", "--quiet"]).exits(2);
    assert!(said.err.contains(VARIABLE), "{}", said.err);
    let mut resume = bench.command(&["run", "--resume", "record", "--quiet"]);
    // It cannot be made again: a busy machine may have disturbed one of its trials, and nothing else.
    Said::from(resume.env(VARIABLE, PASSWORD).output().expect("the tool starts")).settled(&bench.path("record"));
    let record = Record::open(&bench.path("record")).expect("a record");
    assert_eq!(record.trials.len(), 3);
    assert_hidden(&bench);
    bench.assert_nothing_left();
}

#[test]
fn a_workload_is_asked_for_over_http() {
    let bench = Bench::new();
    let (study, record) = (tiny_study(), bench.path("record"));
    let args = ["run", &study, "--out", "record", "--quiet", "--rounds", "1", "--processes", "1"];
    let over_http = ["--set", "transport=http", "--set", "begin=immediate"];
    let said = sound(&record, || bench.contend(&[&args[..], &over_http].concat()));
    let trials = Record::open(&record).expect("a record").trials;
    assert_eq!(trials.len(), 2, "{said:?}");
    for trial in trials {
        let served = trial.server.expect("a worker that served");
        assert!(served.version.contains("over HTTP") && served.cpu_ns.is_some(), "{served:?}");
        assert!(trial.samples.is_some_and(|samples| samples > 0));
        assert!(trial.invariants.iter().all(|invariant| invariant.holds) && !trial.invariants.is_empty());
    }
    let mut verify = vec!["verify", "bank", "--operations", "300"];
    for model in ["thread", "pool"] {
        verify.extend([
            "--contender",
            if model == "pool" { "sqlite/rusqlite/pool:transport=http" } else { "sqlite:transport=http" },
        ]);
    }
    let said = bench.contend(&verify).exits(0);
    assert!(said.out.contains("transfer committed") && said.out.contains("The same everywhere"), "{}", said.out);
    let said = bench.contend(&["verify", &many(), "--contender", "sqlite:transport=http"]).exits(2);
    assert!(said.err.contains("serves one database"), "{}", said.err);
    bench.assert_nothing_left();
}

fn many() -> String {
    root().join("tests/fixtures/many-workload.toml").display().to_string()
}

/// Every driver whose worker is built, over HTTP and in its process.
#[test]
fn the_study_of_drivers_goes_through() {
    let bench = Bench::new();
    let study = root().join("studies/go-drivers.toml").display().to_string();
    let args = [
        "run",
        &study,
        "--quick",
        "--rounds",
        "1",
        "--clients",
        "4",
        "--window",
        "100ms",
        "--quiet",
        "--out",
        "record",
    ];
    let said = bench.contend(&[&args[..], &["--scale", "0.05", "--set", "part=go", "--set", "pool_size=2"]].concat());
    if said.is_without_workers() {
        // Without Go there is its other part.
        bench.contend(&[&args[..], &["--set", "part=rust"]].concat()).exits(0);
        return;
    }
    // Of thirteen windows of 100 ms a busy machine nearly always disturbs one; nothing else may.
    let said = said.settled(&bench.path("record"));
    let trials = Record::open(&bench.path("record/go")).expect("a part").trials;
    assert_eq!(trials.len(), 13 - said.contenders_left_out(), "{said:?}");
    let over_http = trials.iter().filter(|trial| trial.server.is_some());
    assert!(over_http.count() >= 1 && trials.iter().all(|trial| trial.samples.is_some_and(|n| n > 0)));
    assert!(said.out.contains("Which driver, which pool size, and how much does it matter"), "{}", said.out);
    bench.assert_nothing_left();
}
