//! `contend limit` on services at addresses: small real servers that queue, shed load, or write.

use crate::limit::study;
use crate::support::{Bench, Said};
use contend::record::store::Record;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A service that needs 5 ms for a request, one at a time.
struct Service(Child, u16);

impl Service {
    fn start() -> Self {
        Self::answering("with lock: time.sleep(0.005)\n    body = b''")
    }

    /// `get` sets `body`, and `status` if it is not 200.
    fn answering(get: &str) -> Self {
        Self::prepared("", get)
    }

    /// `before` is carried out once; it sees the lock.
    fn prepared(before: &str, get: &str) -> Self {
        let text = "import http.server, subprocess, threading, time\nlock = threading.Lock()\n\
                    BEFORE\nclass H(http.server.BaseHTTPRequestHandler):\n  protocol_version = 'HTTP/1.1'\n  disable_nagle_algorithm = True\n  \
                    def do_POST(self):\n    self.sent = self.rfile.read(int(self.headers['Content-Length']))\n    self.do_GET()\n  \
                    def do_GET(self):\n    status = 200\n    ANSWER\n    self.send_response(status)\n    \
                    self.send_header('Content-Length', str(len(body)))\n    self.end_headers()\n    self.wfile.write(body)\n  \
                    def log_message(self, *a): pass\n\
                    http.server.ThreadingHTTPServer.request_queue_size = 128\n\
                    s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)\n\
                    print(s.server_port, flush=True)\ns.serve_forever()\n".replace("BEFORE", before).replace("ANSWER", get);
        let mut child = Command::new("python3").args(["-c", &text]).stdout(Stdio::piped()).spawn().expect("python3");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
        Self(child, line.trim().parse().expect("a port"))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

#[test]
fn a_service_at_an_address_is_searched() {
    let (bench, service) = (Bench::new(), Service::start());
    let url = format!("http://127.0.0.1:{}/", service.1);
    let args = ["limit", &url, "--rounds", "1", "--rates-only", "--window", "500ms", "--out", "found"];
    let said = bench.contend(&[&args[..], &["--bound", "response_ns_p50<=60ms"]].concat()).exits(0);
    let json = fs::read_to_string(bench.path("found/report.json")).expect("a report");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let found = json["contenders"][0]["rate_per_s"].as_f64().expect("a rate");
    // 200/s at most; a short window sees a part of the queue, and a busy machine is slower.
    assert!((40.0..230.0).contains(&found), "{found}\n{}", said.out);
    assert!(said.out.contains("keeps its state from probe to probe"), "{}", said.out);
    assert!(
        said.err.contains("the search takes ") && said.err.contains("--budget TIME ends it earlier"),
        "{}",
        said.err
    );
    assert!(
        !said.err.contains("loading data") && !said.err.contains("measuring what a sync"),
        "a service has no data here: {}",
        said.err
    );
    let said = bench.contend(&["limit", &url, "--scale", "2", "--out", "none"]).exits(2);
    assert!(said.err.contains("--scale changes nothing for a service"), "{}", said.err);
    bench.assert_nothing_left();
}

#[test]
fn a_service_that_sheds_load_with_status_200_carries_what_it_does() {
    let service = Service::answering(
        "body = b'Too many requests, try again later'\n    if lock.acquire(timeout=0.02):\n      time.sleep(0.005)\n      \
         lock.release()\n      body = b'[' + b'{\"id\": 1}, ' * 100 + b'0]'",
    );
    let (bench, url) = (Bench::new(), format!("http://127.0.0.1:{}/", service.1));
    let args = ["limit", &url, "--rounds", "1", "--rates-only", "--window", "1s", "--out", "found"];
    bench.contend(&[&args[..], &["--bound", "response_ns_p50<=60ms"]].concat()).ran();
    let saved = fs::read_to_string(bench.path("found/limit.toml")).expect("a file");
    assert!(saved.contains("answers differ from those at the lowest load: "), "{saved}");
    let json = fs::read_to_string(bench.path("found/report.json")).expect("a report");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let found = json["contenders"][0]["rate_per_s"].as_f64();
    // 200/s at most; with few requests an eighth of the answers may differ, and a burst adds some.
    assert!(found.is_none_or(|found| found < 250.0), "{found:?}: {saved}");
}

#[test]
fn a_scenario_is_searched_with_the_services_processors_as_evidence() {
    let (bench, service) = (Bench::new(), Service::start());
    let scenario = "about = \"posts\"\n\n[transaction.post]\nkind = \"write\"\n\n[[transaction.post.step]]\n\
                    request = \"POST /items\"\nbody = '{\"n\": 1}'\n";
    fs::write(bench.path("posts.toml"), scenario).expect("written");
    let (url, pid) = (format!("http://127.0.0.1:{}/", service.1), service.0.id().to_string());
    let args =
        ["limit", &url, "--scenario", "posts.toml", "--pid", &pid, "--rounds", "1", "--rates-only", "--out", "found"];
    let more = ["--window", "500ms", "--bound", "response_ns_p50<=60ms"];
    let said = bench.contend(&[&args[..], &more].concat()).exits(0);
    let carries = format!("127.0.0.1:{} carries ", service.1);
    assert!(said.out.contains(&carries), "a service is named by its address: {}", said.out);
    let record = Record::open(&bench.path("found/probes")).expect("a record");
    assert!(record.run.workload.text.contains("POST /items"), "{}", record.run.workload.text);
    let saved = fs::read_to_string(bench.path("found/limit.toml")).expect("a file");
    assert!(saved.contains("server_cpu = "), "{saved}");
    for (args, part) in [
        (&["limit", &study(), "--pid", "1"][..], "--pid is for services at addresses"),
        (&["limit", &format!("{url}items"), "--scenario", "posts.toml"], "leave out /items"),
        (&["limit", &url, "--ca", "nowhere.pem"], "--ca"),
    ] {
        let said = bench.contend(&[args, &["--out", "none"]].concat()).exits(2);
        assert!(said.err.contains(part), "{}", said.err);
    }
}

#[test]
fn a_service_that_is_not_there_is_an_error_before_any_probe() {
    let bench = Bench::new();
    let said = bench.contend(&["limit", "http://127.0.0.1:1/", "--budget", "30s", "--out", "none"]).exits(2);
    assert!(said.err.contains("Connection refused") && !said.err.contains("round 1"), "{}", said.err);
    assert!(!bench.path("none").exists());
    bench.assert_nothing_left();
}

/// A service that books a value once and refuses it the second time, as a table with a unique key does. After `bookings` it
/// refuses every value.
fn booking(bookings: u32) -> Service {
    Service::prepared(
        &format!("seen, most = set(), {bookings}"),
        "time.sleep(0.01)\n    with lock:\n      is_new = self.sent not in seen and len(seen) < most\n      \
         if is_new: seen.add(self.sent)\n    status, body = (201, b'{\"id\": 1}') if is_new else (409, b'{\"why\": \"it is taken\"}')",
    )
}

/// Searches it with a scenario that posts `body` with a value of these arguments; the result is in `found`.
fn booked(bench: &Bench, service: &Service, (args, body): (&str, &str), more: &[&str]) -> Said {
    let scenario = format!(
        "about = \"bookings\"\n\n[transaction.book]\nkind = \"write\"\nargs = {{ at = {args} }}\n\n[[transaction.book.step]]\n\
         request = \"POST /\"\nheaders = {{ Content-Type = \"application/json\" }}\nbody = '{body}'\nstatus = \"201,409\"\n"
    );
    fs::write(bench.path("book.toml"), scenario).expect("written");
    let url = format!("http://127.0.0.1:{}/", service.1);
    let fixed = ["limit", &url, "--scenario", "book.toml", "--rates-only", "--window", "500ms", "--out", "found"];
    let bounds = ["--clients", "2", "--bound", "response_ns_p50<=20ms"];
    bench.contend(&[&fixed[..], &bounds, more].concat())
}

fn probes(bench: &Bench) -> Vec<toml::Value> {
    let saved: toml::Table = fs::read_to_string(bench.path("found/limit.toml")).expect("a file").parse().expect("TOML");
    saved["probes"].as_array().expect("probes").clone()
}

#[test]
fn each_probe_of_a_service_draws_values_that_no_other_has() {
    for (args, body) in
        [("{ range = [1, 1000000000000] }", "{\"at\": {at}}"), ("{ unique = true }", "{\"at\": \"{now_ms}-{at}\"}")]
    {
        let (bench, service) = (Bench::new(), booking(u32::MAX));
        let said = booked(&bench, &service, (args, body), &["--rounds", "1"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        for trial in &Record::open(&bench.path("found/probes")).expect("a record").trials {
            let answers: Vec<&String> = trial.workers.iter().flat_map(|worker| worker.done.values()).collect();
            assert!(answers.iter().any(|of| of.contains(" 201 ")), "{answers:?}");
            assert!(!answers.iter().any(|of| of.contains(" 409 ")), "{body}: a value was sent twice: {answers:?}");
        }
        let differ = probes(&bench).iter().filter(|probe| probe.get("differs").is_some()).count();
        assert_eq!(differ, 0, "{body}: {}", said.out);
        assert!(probes(&bench).iter().all(|probe| probe["round"].as_integer() == Some(1)), "{said:?}");
    }
}

#[test]
fn a_service_that_answers_otherwise_at_lower_rates_than_before_has_no_highest_rate() {
    let (bench, service) = (Bench::new(), booking(600));
    let said = booked(&bench, &service, ("{ unique = true }", "{\"at\": \"{now_ms}-{at}\"}"), &["--rounds", "1"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let one_line = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains("the service's answers changed during the search."), "{one_line}");
    assert!(one_line.contains("met the bounds before; now, at") && one_line.contains("409 JSON"), "{one_line}");
    assert!(!one_line.contains("misses a bound"), "{one_line}");
}

/// Bytes that the writing service writes for each request, in a process that it starts.
const WRITTEN_BYTES: f64 = 4096.0;

#[test]
fn bytes_that_a_service_writes_are_evidence_with_its_process() {
    let bench = Bench::new();
    let before = format!(
        "child = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=open({:?}, 'wb'))",
        bench.path("written").display().to_string()
    );
    let get = format!("with lock: child.stdin.write(b'x' * {WRITTEN_BYTES}); child.stdin.flush()\n    body = b'{{}}'");
    let service = Service::prepared(&before, &get);
    let (url, pid) = (format!("http://127.0.0.1:{}/", service.1), service.0.id().to_string());
    let args = ["limit", &url, "--rounds", "1", "--window", "1s", "--clients", "8", "--bound", "response_ns_p50<=20ms"];
    bench.contend(&[&args[..], &["--pid", &pid, "--out", "found"]].concat()).exits(0);
    let saved: toml::Table = fs::read_to_string(bench.path("found/limit.toml")).expect("a file").parse().expect("TOML");
    let probes = saved["probes"].as_array().expect("probes").iter();
    let mut ratios: Vec<f64> = probes
        .filter_map(|probe| {
            let per_s = probe.get("used")?.get("written_bytes_per_s")?.as_float()?;
            Some(per_s / (probe["committed_per_s"].as_float()? * WRITTEN_BYTES))
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    assert!(ratios.len() > 3 && (0.9..1.1).contains(&ratios[ratios.len() / 2]), "{ratios:?}");
    let page = fs::read_to_string(bench.path("found/report.txt")).expect("a report");
    let one_line = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains("the service writes"), "{page}");
}

/// Right answers per second of the service that sheds load; a few more in a burst.
const RIGHT_PER_S: f64 = 100.0;

/// Answers right up to a fixed rate, and with `wrong` above it. Each answer takes so long that a late client is no large part.
fn shedding(wrong: &str) -> Service {
    Service::prepared(
        &format!(
            "left, at = [5.0], [time.monotonic()]\nright = b'{{\"items\": [' + b'7, ' * 99 + b'7]}}'\nrate = {RIGHT_PER_S}"
        ),
        &format!(
            "with lock:\n      now = time.monotonic()\n      left[0] = min(5.0, left[0] + (now - at[0]) * rate)\n      \
             at[0] = now\n      is_right = left[0] >= 1\n      left[0] -= is_right\n    time.sleep(0.02)\n    body = right\n    if not is_right: {wrong}"
        ),
    )
}

/// Searches it; returns the found rate and, of each probe with a rate, that rate, that of right answers, and what it showed.
fn searched(bench: &Bench, service: &Service, args: &[&str]) -> (f64, Vec<(f64, f64, String)>, String) {
    let url = format!("http://127.0.0.1:{}/", service.1);
    let fixed = ["limit", &url, "--rounds", "1", "--rates-only", "--window", "2s", "--out", "found"];
    let bounds = ["--clients", "8", "--bound", "response_ns_p50<=60ms", "--bound", "failed<=2%"];
    let said = bench.contend(&[&fixed[..], &bounds, args].concat()).exits(0);
    let saved: toml::Table = fs::read_to_string(bench.path("found/limit.toml")).expect("a file").parse().expect("TOML");
    let found = saved["capacities"][0]["rate_per_s"].as_float().expect("a rate");
    let probes = saved["probes"].as_array().expect("probes").iter().filter_map(|probe| {
        let committed = probe.get("committed_per_s")?.as_float()?;
        Some((probe.get("rate_per_s")?.as_float()?, committed, probe.get("seen")?.as_str()?.to_string()))
    });
    (found, probes.collect(), said.out.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// No found rate may be above the threshold, and no probe above it has more right answers.
fn assert_wrong_answers_are_counted(found: f64, probes: &[(f64, f64, String)], said: &str) {
    assert!((RIGHT_PER_S / 10.0..RIGHT_PER_S * 1.1).contains(&found), "{found}: {probes:?}");
    let above: Vec<_> = probes.iter().filter(|(rate, ..)| *rate > RIGHT_PER_S * 1.2).collect();
    for (rate, right, seen) in &above {
        // Each window of 2 s begins with a burst.
        assert!(seen == "misses" && *right <= RIGHT_PER_S * 1.1 + 5.0 / 2.0, "{rate}: {right} right answers a second");
    }
    assert!(said.contains("of the operations fail: "), "{said}");
}

#[test]
fn a_service_that_refuses_above_a_rate_carries_what_it_answers() {
    let (bench, service) = (Bench::new(), shedding("status, body = 503, b'busy'"));
    let (found, probes, said) = searched(&bench, &service, &[]);
    assert_wrong_answers_are_counted(found, &probes, &said);
    assert!(said.contains("of the operations fail: HTTP 503 Service Unavailable ("), "{said}");
    assert!(said.contains("times): busy."), "{said}");
}

#[test]
fn shorter_lists_with_status_200_fail_where_the_scenario_says_how_many_rows() {
    let (bench, service) = (Bench::new(), shedding("body = b'{\"items\": [' + b'7, ' * 89 + b'7]}'"));
    let scenario = "about = \"items\"\n\n[transaction.list]\nkind = \"read\"\n\n[[transaction.list.step]]\n\
                    request = \"GET /\"\ncount = \"/items\"\nrows = 100\n";
    fs::write(bench.path("items.toml"), scenario).expect("written");
    let (found, probes, said) = searched(&bench, &service, &["--scenario", "items.toml"]);
    assert_wrong_answers_are_counted(found, &probes, &said);
}

#[test]
fn error_pages_with_status_200_are_named_at_the_first_rate_that_has_them() {
    let (bench, service) = (Bench::new(), shedding("body = b'<html>busy</html>'"));
    let (found, probes, said) = searched(&bench, &service, &[]);
    assert!((RIGHT_PER_S / 10.0..RIGHT_PER_S * 1.3).contains(&found), "{found}: {probes:?}");
    // Its answers are no failures, and no right ones.
    let misses = |(rate, committed, seen): &(f64, f64, String)| *rate > found && *committed > found && seen == "misses";
    assert!(probes.iter().any(misses), "{probes:?}");
    assert!(
        said.contains("answers differ from those at the lowest load") && said.contains("200 HTML or XML"),
        "{said}"
    );
}

/// The answer of a search that finds no rate, on one line.
fn without_rate(service: &Service, args: &[&str]) -> String {
    let (bench, url) = (Bench::new(), format!("http://127.0.0.1:{}/", service.1));
    let fixed =
        ["limit", &url, "--rounds", "1", "--rates-only", "--window", "500ms", "--clients", "8", "--out", "found"];
    let said = bench.contend(&[&fixed[..], args].concat()).exits(1);
    assert!(!said.out.contains('\u{1b}'), "{said:?}");
    said.out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn answers_that_fail_at_every_rate_are_named_with_their_beginning_and_what_to_do() {
    let text = "status, body = 503, b'no \\x1b[31mroom ' + b'x' * 300";
    let all = without_rate(&Service::answering(text), &[]);
    assert!(all.contains("HTTP 503 Service Unavailable (") && all.contains("times): no"), "{all}");
    assert!(all.contains("[31mroom xxx") && !all.contains(&"x".repeat(80)), "{all}");
    assert!(all.contains("send one such request by hand and read the service's log"), "{all}");

    let some = "body = b'{}'\n    with lock: count[0] += 1; fails = count[0] % 5 == 0\n    if fails: status, body = 429, b'slow down'";
    let some = without_rate(&Service::prepared("count = [0]", some), &["--bound", "response_ns_p50<=60ms"]);
    assert!(some.contains("operations fail at the lowest value"), "{some}");
    assert!(some.contains("HTTP 429 Too Many Requests (") && some.contains("times): slow down; send one"), "{some}");
}

#[test]
fn a_service_that_is_gone_during_a_search_is_named_with_refused_connections() {
    let get = "body = b'{}'\n    with lock: count[0] += 1\n    if count[0] > 300: os._exit(0)";
    let service = Service::prepared("import os\ncount = [0]", get);
    let said = without_rate(&service, &["--bound", "response_ns_p50<=60ms"]);
    assert!(said.contains("Connection refused") && said.contains("Check that the service answers"), "{said}");
}

/// Each request computes for 5 ms, one after the other, and another process does nothing. Other tests may use the other
/// processors, so the tests of `processes.rs` cover the judgement.
#[test]
fn processors_are_read_for_each_process_and_a_suspect_is_said_where_it_is_saved() {
    let idle = "subprocess.Popen(['sleep', '60'])";
    let get = "with lock:\n      end = time.thread_time() + 0.005\n      while time.thread_time() < end: pass\n    body = b'{}'";
    let (bench, service) = (Bench::new(), Service::prepared(idle, get));
    let (url, pid) = (format!("http://127.0.0.1:{}/", service.1), service.0.id().to_string());
    let args = ["limit", &url, "--pid", &pid, "--rounds", "1", "--rates-only", "--window", "1s", "--clients", "8"];
    let said = bench.contend(&[&args[..], &["--bound", "response_ns_p50<=60ms", "--out", "found"]].concat()).exits(0);
    let one_line = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!one_line.contains("It is stopped by"), "{one_line}");
    let name = format!("{pid} (python3)");
    let saved: toml::Table = fs::read_to_string(bench.path("found/limit.toml")).expect("a file").parse().expect("TOML");
    let mut read = 0;
    for probe in saved["probes"].as_array().expect("probes") {
        let Some(processes) = probe.get("processes") else { continue };
        let (used, rate) = (processes[&name].as_float(), probe["committed_per_s"].as_float());
        let (used, rate) = (used.expect("a number"), rate.expect("a number"));
        // Requests take more than what they compute. Readings may leave out half of the window, in which more can arrive by chance.
        assert!(used > rate * 0.005 * 0.4 && used < 1.3, "{used} at {rate}/s: {probe}");
        assert_eq!(processes.as_table().expect("a table").len(), 1, "the other process uses nothing: {processes}");
        read += 1;
    }
    assert!(read > 0, "{saved}");
    let json = fs::read_to_string(bench.path("found/report.json")).expect("a report");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let suspect = &json["contenders"][0]["one_processor"];
    let sentence = format!("the process {name} uses one whole processor (");
    assert_eq!(suspect.is_object(), one_line.contains(&sentence), "{suspect}: {one_line}");
    if let Some(used) = suspect["processors"].as_f64() {
        assert!((0.9..=1.1).contains(&used) && suspect["process"] == name, "{suspect}");
    }
}

/// Stops a search with a signal as soon as a line of its progress has this part; returns what it said.
fn stopped_at(part: &str, signal: Signal) -> Said {
    let (bench, service) = (Bench::new(), Service::start());
    let url = format!("http://127.0.0.1:{}/", service.1);
    let mut child = bench.start(&["limit", &url, "--rounds", "1", "--rates-only", "--window", "1s", "--out", "found"]);
    let mut err = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    while !line.contains(part) {
        line.clear();
        assert!(err.read_line(&mut line).expect("a line") > 0, "{part} is never said");
    }
    kill_process(Pid::from_child(&child), signal).expect("it runs");
    let rest = std::io::read_to_string(err).expect("text");
    let said = Said { err: rest, ..Said::from(child.wait_with_output().expect("it ends")) };
    let report = bench.contend(&["report", "found"]).out;
    assert!(said.out.contains(&report), "the same as contend report: {}", said.out);
    bench.assert_nothing_left();
    said.exits(130)
}

#[test]
fn a_search_that_is_stopped_prints_what_is_known() {
    for (part, signal) in [("measuring the worker's own cost", Signal::TERM), ("closed loop:", Signal::INT)] {
        let said = stopped_at(part, signal);
        let one_line = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(one_line.contains("The search was stopped: rounds are missing."), "{part}: {one_line}");
        assert!(one_line.contains("No rate was found for"), "{part}: {one_line}");
        assert_eq!(one_line.contains("In a closed loop it carried"), part == "closed loop:", "{one_line}");
        assert!(said.err.contains("a search cannot be resumed"), "{}", said.err);
    }
}
