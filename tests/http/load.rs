//! HTTP from outside, used as a load generator: an address alone, lists of clients and rates, numbers of requests,
//! silent services, and a report about requests.

use crate::service::{Reply, Service, ok};
use crate::support::{Bench, Said, wait_for};
use contend::record::store::Record;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn reply(status: &str, body: &str) -> Reply {
    Reply::raw(format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
}

fn write(bench: &Bench, text: &str) -> &'static str {
    fs::write(bench.path("scenario.toml"), text).expect("written");
    "scenario.toml"
}

const GET: &str =
    "about = 'One request'\n[transaction.get]\nkind = 'read'\n[[transaction.get.step]]\nrequest = 'GET /x'\n";

fn lines(said: &Said) -> Vec<Value> {
    said.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {said:?}"))).collect()
}

fn number(line: &Value, field: &str) -> u64 {
    line[field].as_u64().unwrap_or_else(|| panic!("{field} in {line}"))
}

#[test]
fn an_address_is_enough() {
    let (bench, service) = (Bench::new(), Service::start(|_| ok("{}")));
    let address = format!("{}/items?q=%7B1%7D&page={{2}}#top", service.url);
    let said = bench.contend(&["http", &address, "--requests", "12", "--out", "record", "--json-line"]);
    assert!(!said.err.contains("if it is secret"), "{said:?}");
    let line = lines(&said).remove(0);
    assert_eq!((number(&line, "total"), number(&line, "ok")), (16, 16), "12 of 8 clients are 2 each: {said:?}");
    let asked: BTreeSet<String> =
        service.asked().iter().map(|r| r.lines().next().unwrap_or_default().to_string()).collect();
    assert_eq!(asked, BTreeSet::from(["GET /items?q=%7B1%7D&page=%7B2%7D HTTP/1.1".to_string()]));
    let keyed = format!("{}/items?api_key=x", service.url);
    let said = bench.contend(&["http", &keyed, "--requests", "8", "--out", "keyed", "--json-line"]);
    assert!(said.err.contains("with the value of `api_key`; if it is secret"), "{said:?}");
    // Only the host: its root.
    bench.contend(&["http", &service.url, "--requests", "8", "--out", "second", "--json-line"]);
    assert!(service.asked().iter().any(|request| request.starts_with("GET / ")), "the root");
    let said = bench.contend(&["http", "ftp://127.0.0.1:1/x", "--out", "third"]).exits(2);
    assert!(said.err.contains("https://HOST:PORT") && !bench.path("third").exists(), "{}", said.err);
    bench.assert_nothing_left();
}

/// Python's server writes the head and the body of an answer by themselves.
#[test]
fn a_service_that_waits_for_delayed_acknowledgements_is_told_so() {
    let bench = Bench::new();
    let script = "import http.server\n\
        class H(http.server.BaseHTTPRequestHandler):\n\
        \x20   protocol_version = 'HTTP/1.1'\n\
        \x20   def do_GET(self):\n\
        \x20       self.send_response(200); self.send_header('Content-Length', '2'); self.end_headers(); self.wfile.write(b'{}')\n\
        \x20   def setup(self): self.disable_nagle_algorithm = self.server.server_name == 'quick'; super().setup()\n\
        \x20   def log_message(self, *a): pass\n\
        s = [http.server.ThreadingHTTPServer(('127.0.0.1', 0), H) for _ in range(2)]\n\
        s[1].server_name = 'quick'; print(s[0].server_port, s[1].server_port, flush=True)\n\
        import threading\n\
        threading.Thread(target=s[0].serve_forever, daemon=True).start(); s[1].serve_forever()\n";
    let mut services = Command::new("python3");
    let mut services = services.args(["-c", script]).stdout(Stdio::piped()).spawn().expect("python3");
    let mut line = String::new();
    BufReader::new(services.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    let told = |port: &str| {
        let address = format!("http://127.0.0.1:{port}/");
        let load = ["--requests", "60", "--clients", "2", "--rounds", "1", "--out", port, "--json-line"];
        let said = bench.contend(&[&["http", &address], &load[..]].concat());
        let page = bench.contend(&["report", port]).out;
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        (
            words.contains("as a delayed acknowledgement of TCP does"),
            lines(&said)[0]["p50_ms"].as_f64().expect("a median"),
        )
    };
    let times: Vec<(bool, f64)> = line.split_whitespace().map(told).collect();
    services.kill().and_then(|()| services.wait()).expect("it ends");
    // A busy machine can add so much to the delay that it is not known as one.
    assert!(times[0].1 >= 39.5 && times[0].0 == (times[0].1 < 46.0), "{times:?}");
    assert!(!times[1].0, "{times:?}");
    bench.assert_nothing_left();
}

#[test]
fn several_services_take_turns_and_are_judged() {
    let (bench, quick) = (Bench::new(), Service::start(|_| ok("{}")));
    let slow = Service::start(|_| {
        std::thread::sleep(Duration::from_millis(20));
        ok("{}")
    });
    let addresses = [format!("{}/x", slow.url), format!("{}/x", quick.url)];
    let load = ["--requests", "40", "--clients", "2", "--quiet", "--out", "record"];
    let said = bench.contend(&[&["http", &addresses[0], &addresses[1]], &load[..]].concat());
    assert_eq!((slow.asked().len(), quick.asked().len()), (240, 240), "six rounds of the same work: {said:?}");
    let record = Record::open(&bench.path("record")).expect("a record");
    if record.trials.iter().all(|trial| trial.invalid.is_empty()) {
        let place = quick.url.trim_start_matches("http://");
        let said = said.exits(0);
        assert!(said.out.contains(place) && said.out.contains("faster"), "{}", said.out);
        assert!(said.out.contains("All 240 requests were answered as expected"), "{}", said.out);
    }
    // Both begin as often.
    let first = record.trials.iter().filter(|trial| trial.slot.trial % 2 == 1 && trial.slot.contender == 0).count();
    assert_eq!(first, 3);

    let json = ["--requests", "8", "--json-line", "--rounds", "1", "--label", "old", "--label", "new", "--out", "json"];
    let found = lines(&bench.contend(&[&["http", &addresses[0], &addresses[1]], &json[..]].concat()));
    let told: Vec<(&str, u64)> =
        found.iter().map(|line| (line["label"].as_str().unwrap_or_default(), number(line, "total"))).collect();
    assert_eq!(told, [("old", 8), ("new", 8)]);
    let other = format!("{}/y", quick.url);
    for (args, why) in [
        (vec!["http", &addresses[0], &addresses[0]], "an address is given twice"),
        (vec!["http", &addresses[0], &other], "different paths (/x, /y)"),
        (vec!["http", &addresses[0], &addresses[1], "--label", "old"], "--label has 1 value for 2 services"),
        (
            vec!["http", &addresses[0], &addresses[1], "--label", "old", "--label", "old\u{200b}"],
            "--label: `old?` has a character that is not visible: U+200B",
        ),
        (vec!["http", "gameplan", "wordpress"], "there can be only one scenario"),
    ] {
        let said = bench.contend(&[&args[..], &["--out", "none"]].concat()).exits(2);
        assert!(said.err.contains(why) && !bench.path("none").exists(), "{}", said.err);
    }
    bench.assert_nothing_left();
}

#[test]
fn the_use_of_a_service_on_this_machine_is_measured() {
    let bench = Bench::new();
    let mut service = Command::new("python3");
    service.args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]).current_dir(bench.dir.path());
    let mut service = service.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("python3");
    let mut line = String::new();
    BufReader::new(service.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    let port = line.split("port ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a port");
    let address = format!("http://127.0.0.1:{port}/");
    let pid = service.id().to_string();
    let args = ["http", &address, "--requests", "200", "--clients", "2", "--pid", &pid, "--out", "record", "--quiet"];
    let said = bench.contend(&args);
    service.kill().and_then(|()| service.wait()).expect("it ends");
    let record = Record::open(&bench.path("record")).expect("a record");
    let server = record.trials[0].server.as_ref().unwrap_or_else(|| panic!("{said:?}"));
    assert!(
        server.cpu_ns.is_some_and(|ns| ns > 0) && server.rss_bytes.is_some_and(|bytes| bytes > 1 << 20),
        "{server:?}"
    );
    assert!(server.version.starts_with(&format!("process {pid} python3")), "{server:?}");
    assert!(!record.trials[0].server_unwatched, "its time is no disturbance");
    let page = fs::read_to_string(bench.path("record/report.txt")).expect("a report");
    assert!(page.contains("What the service took") && page.contains(&server.version), "{page}");
    // It has ended, and two services need two.
    for (args, why) in [
        (vec!["http", &address, "--pid", &pid], "there is no such process"),
        (vec!["http", &address, "--pid", "1,1"], "--pid has 2 values for 1 service"),
    ] {
        let said = bench.contend(&[&args[..], &["--out", "none"]].concat()).exits(2);
        assert!(said.err.contains(why) && !bench.path("none").exists(), "{}", said.err);
    }
    bench.assert_nothing_left();
}

#[test]
fn services_with_other_data_are_not_compared() {
    let bench = Bench::new();
    let [one, other] = ["[1,2]", "[1,3]"].map(|ids| Service::start(move |_| ok(ids)));
    let text = "about = 'One of a list'\n[setup.ids]\nrequest = 'GET /ids'\nat = '/*'\n[transaction.get]\nkind = \
                'read'\nargs = { id = { list = 'ids' } }\n[[transaction.get.step]]\nrequest = 'GET /{id}'\n";
    let scenario = write(&bench, text);
    let args = ["http", scenario, "--url", &one.url, "--url", &other.url, "--requests", "8", "--out", "record"];
    let said = bench.contend(&args).exits(2);
    assert!(said.err.contains("setup.ids") && said.err.contains("the same data"), "{}", said.err);
}

#[test]
fn requests_are_of_all_clients_there_are() {
    let (bench, service) = (Bench::new(), Service::start(|_| ok("{}")));
    let total = |text: &str, args: &[&str]| {
        let scenario = write(&bench, text);
        let _ = fs::remove_dir_all(bench.path("record"));
        let all = ["http", scenario, "--url", &service.url, "--out", "record", "--json-line", "--requests", "80"];
        let before = service.asked().len();
        let said = bench.contend(&[&all[..], args].concat());
        let line = lines(&said).remove(0);
        let clients = Record::open(&bench.path("record")).expect("a record").trials[0].clients;
        (number(&line, "total"), clients, service.asked().len() - before)
    };
    let two = format!("{GET}[role.a]\nclients = 2\n[role.b]\nclients = 2\n");
    assert_eq!(total(&two, &["--warm", "8"]), (80, 4, 88), "two roles of two");
    let processes = format!("{GET}[role.a]\nprocesses = 2\n");
    assert_eq!(total(&processes, &[]), (80, 16, 80), "two processes of the usual eight");
    let own = format!("{GET}[role.a]\nclients = 5\n");
    assert_eq!(total(&own, &[]), (80, 5, 80), "what the scenario says is not replaced by a value that was not typed");
    assert_eq!(total(&own, &["--clients", "10"]), (80, 10, 80), "what is typed is");
    write(&bench, &two);
    let said =
        bench.contend(&["http", "scenario.toml", "--url", &service.url, "--clients", "9", "--out", "none"]).exits(2);
    assert!(said.err.contains("--clients changes nothing"), "{}", said.err);
    let said =
        bench.contend(&["http", "scenario.toml", "--url", &service.url, "--warm", "9", "--out", "none"]).exits(2);
    assert!(said.err.contains("--requests") && !bench.path("none").exists(), "{}", said.err);
    bench.assert_nothing_left();
}

#[test]
fn each_of_several_numbers_is_measured() {
    let (bench, service) = (Bench::new(), Service::start(|_| ok("{}")));
    let scenario = write(&bench, GET);
    let all = ["http", scenario, "--url", &service.url, "--json-line"];
    let said = bench.contend(&[&all[..], &["--clients", "1,4", "--requests", "40", "--out", "record"]].concat());
    let found = lines(&said);
    let told: Vec<(&str, u64)> =
        found.iter().map(|line| (line["condition"].as_str().unwrap_or_default(), number(line, "total"))).collect();
    assert_eq!(told, [("1 client", 40), ("4 clients", 40)], "{said:?}");
    let clients: BTreeSet<u32> =
        Record::open(&bench.path("record")).expect("a record").trials.iter().map(|trial| trial.clients).collect();
    assert_eq!((clients, service.asked().len()), (BTreeSet::from([1, 4]), 80));
    bench.contend(&["report", "record"]);
    let page = fs::read_to_string(bench.path("record/report.md")).expect("a report");
    assert!(page.contains("1 client: 1 client; each client sends its next request"), "{page}");
    let times = ["--rate", "20,60", "--duration", "1s", "--run-in", "0ms", "--arrivals", "constant", "--out", "second"];
    let said = bench.contend(&[&all[..], &times].concat());
    let found = lines(&said);
    assert_eq!(found.len(), 2, "{said:?}");
    assert_eq!((number(&found[0], "total"), number(&found[1], "total")), (20, 60), "{said:?}");
    assert_eq!(found[1]["condition"], "60/s");
    bench.assert_nothing_left();
}

#[test]
fn a_service_that_accepts_and_never_answers_has_failed_every_request() {
    let (bench, service) = (Bench::new(), Service::start(|_| Reply::raw(b"")));
    let scenario = write(&bench, GET);
    let args = ["http", scenario, "--url", &service.url, "--clients", "3", "--out", "record"];
    let times = ["--duration", "300ms", "--run-in", "200ms", "--drain", "100ms"];
    let said = bench.contend(&[&args[..], &times, &["--json-line"]].concat()).exits(1);
    let line = lines(&said).remove(0);
    assert_eq!((number(&line, "total"), number(&line, "ok"), number(&line, "failed")), (3, 0, 3), "{line}");
    let why =
        serde_json::json!([{ "message": "given up at the end of the drain", "code": "ECANCELED (125)", "count": 3 }]);
    assert_eq!(line["err_sample"], why);
    assert!(said.err.contains("every client still waits for an answer"), "{}", said.err);
    bench.contend(&["report", "record"]);
    let page = fs::read_to_string(bench.path("record/report.md")).expect("a report");
    assert!(
        page.contains("0 of 3 requests were answered") && page.contains("given up at the end of the drain"),
        "{page}"
    );
    bench.assert_nothing_left();
}

#[test]
fn what_the_service_says_of_its_failures_is_told() {
    let (bench, turn) = (Bench::new(), AtomicUsize::new(0));
    let service = Service::start(move |_| match turn.fetch_add(1, Ordering::Relaxed) % 10 {
        0..=3 => reply("500 Oh", "{\"message\": \"database is\nlocked\"}"),
        4..=5 => reply("500 Oh", &format!("deadlock {}", "x".repeat(1000))),
        6 => reply("404 Where", ""),
        _ => ok("{}"),
    });
    let scenario = write(&bench, GET);
    let args = ["http", scenario, "--url", &service.url, "--out", "record", "--json-line", "--requests", "40"];
    let said = bench.contend(&[&args[..], &["--clients", "1"]].concat());
    let line = lines(&said).remove(0);
    assert_eq!((number(&line, "ok"), number(&line, "failed")), (12, 28), "{said:?}");
    let sample = line["err_sample"].as_array().expect("a list");
    let told: Vec<(&str, u64)> =
        sample.iter().map(|m| (m["message"].as_str().unwrap_or_default(), number(m, "count"))).collect();
    assert_eq!(told[0], ("{\"message\": \"database is locked\"}", 16));
    assert!(told[1].0.starts_with("deadlock xxx") && told[1].0.ends_with("x...") && told[1].0.len() == 203, "{told:?}");
    assert_eq!((told[1].1, told[2]), (8, ("the path does not exist", 4)));
    assert_eq!(sample[0]["code"], "HTTP 500 Internal Server Error");
    bench.contend(&["report", "record"]);
    let page = fs::read_to_string(bench.path("record/report.md")).expect("a report");
    assert!(page.contains("database is locked"), "{page}");
    bench.assert_nothing_left();
}

/// No form of the report mentions a database.
#[test]
fn the_report_of_a_service_speaks_of_requests() {
    let (bench, turn) = (Bench::new(), AtomicUsize::new(0));
    let service = Service::start(move |_| match turn.fetch_add(1, Ordering::Relaxed) % 5 {
        0 => reply("503 Busy", "later"),
        _ => ok("{}"),
    });
    let writes = "[transaction.put]\nkind = 'write'\n[[transaction.put.step]]\nrequest = 'POST /y'\n";
    let scenario = write(&bench, &format!("{GET}{writes}"));
    let args = ["http", scenario, "--url", &service.url, "--out", "record", "--quiet", "--rounds", "2"];
    let times = ["--duration", "1200ms", "--run-in", "100ms", "--clients", "1,2"];
    let said = bench.contend(&[&args[..], &times].concat());
    for name in ["report.md", "report.txt", "report.html"] {
        let text = fs::read_to_string(bench.path("record").join(name)).expect("a report").to_lowercase();
        // Styles and scripts of a page are not text.
        let text = text.split("<script").next().unwrap_or_default().split("</style>").last().unwrap_or_default();
        for word in [
            "commit",
            "durab",
            "fsync",
            "sync ",
            "power cut",
            "crash",
            "tier",
            "baseline",
            "verdict",
            "rows loaded",
            "fresh data",
            "database",
            "journal",
            "contender",
            "lock wait",
            "a against a",
            "read back",
            "disk",
            "unknown",
        ] {
            let at = text.find(word).map(|at| text[..at].chars().rev().take(60).collect::<String>());
            let before = at.map(|text| text.chars().rev().collect::<String>());
            assert!(before.is_none(), "{name} speaks of `{word}` after: {}", before.unwrap_or_default());
        }
        assert!(text.contains("requests were answered as expected") && text.contains("http 503"), "{name}: {text}");
    }
    assert!(said.out.contains("requests were answered") && !said.out.contains("tier"), "{}", said.out);
    bench.assert_nothing_left();
}

#[test]
fn a_run_that_is_stopped_says_how_to_go_on() {
    let (bench, service) = (Bench::new(), Service::start(|_| ok("{}")));
    let scenario = write(&bench, GET);
    let args =
        ["http", scenario, "--url", &service.url, "--out", "record", "--quiet", "--rounds", "3", "--clients", "1"];
    let times = ["--duration", "700ms", "--run-in", "0ms", "--drain", "200ms"];
    let mut command = bench.command(&[&args[..], &times].concat());
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the tool starts");
    wait_for("a finished trial", || bench.path("record/trials/0001").exists());
    kill_process(Pid::from_child(&child), Signal::INT).expect("it is there");
    let said = Said::from(child.wait_with_output().expect("it ends"));
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(said.err.contains("Finished trials are kept; continue with: contend run --resume record"), "{}", said.err);
    bench.assert_nothing_left();
}
