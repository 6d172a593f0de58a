//! Services that are compared must give the same answers.

use crate::service::{Reply, Service, ok};
use crate::support::{Bench, Said};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

fn reply(head: &str, body: &str) -> Reply {
    Reply::raw(format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
}

/// A service that takes this long. One that takes no time leaves the clients at their limit.
fn takes(ms: u64, reply: impl Fn() -> Reply + Send + Sync + 'static) -> Service {
    Service::start(move |_| {
        sleep(Duration::from_millis(ms));
        reply()
    })
}

/// An honest service with a list of this many elements.
fn honest(elements: usize) -> Service {
    takes(12, move || ok(&format!("[{}]", vec!["{\"id\": 1}"; elements].join(", "))))
}

fn compared(bench: &Bench, out: &str, [base, other]: [&Service; 2]) -> Said {
    let addresses = [format!("{}/x", base.url), format!("{}/x", other.url)];
    let load = ["--requests", "40", "--clients", "2", "--label", "old", "--label", "new", "--quiet", "--out", out];
    bench.contend(&[&["http", &addresses[0], &addresses[1]], &load[..]].concat())
}

#[test]
fn a_service_that_answers_with_less_wins_nothing() {
    let (bench, honest) = (Bench::new(), honest(100));
    let empty = takes(3, || ok(""));
    let nothing = takes(3, || Reply::raw(b"HTTP/1.1 204 No Content\r\n\r\n"));
    let page = takes(3, || reply("200 OK\r\nContent-Type: text/html", &"<p>Something went wrong</p>".repeat(40)));
    let error = takes(3, || ok("{\"error\": \"no such list\"}"));
    for (n, service, why) in [
        (1, &empty, "100 % have no body with new, 0 % with old"),
        (2, &nothing, "100 % have no body with new, 0 % with old"),
        (3, &page, "100 % are HTML or XML in place of JSON with new, 0 % with old"),
        (4, &error, "25 B is the median of the bodies with new, 1.07 KiB with old"),
    ] {
        let said = compared(&bench, &format!("record{n}"), [&honest, service]);
        let first = said.out.split("What this does not show").next().unwrap_or_default();
        let flat = first.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            flat.contains(&format!("new: not comparable (not the same answers: to get, step 1: GET: {why}")),
            "{said:?}"
        );
        assert!(!flat.contains("new: faster"), "{said:?}");
    }
    bench.assert_nothing_left();
}

#[test]
fn the_lines_of_json_say_what_is_not_comparable() {
    let (bench, honest, empty) = (Bench::new(), honest(100), takes(3, || ok("")));
    let addresses = [&honest, &empty].map(|service| format!("{}/x", service.url));
    let load = ["--requests", "40", "--clients", "2", "--rounds", "2", "--json-line", "--out", "record"];
    let said = bench.contend(&[&["http", &addresses[0], &addresses[1]], &load[..]].concat());
    let lines: Vec<serde_json::Value> =
        said.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{said:?}"))).collect();
    let why = lines[1]["not_comparable"].as_str().unwrap_or_default();
    assert!(why.starts_with("not the same answers: to get, step 1: GET: 100 % have no body"), "{said:?}");
    assert!(lines[0]["not_comparable"].is_null() && lines[1]["answers_changed"].is_null(), "{said:?}");
    assert!(lines.iter().all(|line| line["disturbed"].as_u64().is_some_and(|trials| trials <= 2)), "{said:?}");
}

/// Compares with a scenario.
fn compared_by(bench: &Bench, scenario: &str, [base, other]: [&Service; 2]) -> String {
    std::fs::write(bench.path("scenario.toml"), scenario).expect("written");
    let _ = std::fs::remove_dir_all(bench.path("record"));
    let services =
        ["http", "scenario.toml", "--url", &base.url, "--url", &other.url, "--label", "old", "--label", "new"];
    let load = ["--requests", "80", "--clients", "2", "--quiet", "--out", "record"];
    let said = bench.contend(&[&services[..], &load].concat());
    let first = said.out.split("What this does not show").next().unwrap_or_default();
    first.split_whitespace().collect::<Vec<_>>().join(" ")
}

const GET: &str = "about = 'x'\n[transaction.get]\nkind = 'read'\n[[transaction.get.step]]\nrequest = 'GET /x'\n";

#[test]
fn a_short_error_wins_nothing_where_the_real_answer_is_compressed() {
    let (bench, asking) = (Bench::new(), format!("{GET}headers = {{ Accept-Encoding = 'gzip' }}\n"));
    let sends = |ms, encoding: &'static str, bytes: usize| {
        let head = format!("200 OK\r\nContent-Encoding: {encoding}");
        takes(ms, move || reply(&head, &"x".repeat(bytes)))
    };
    let compressed = sends(12, "gzip", 1010);
    for encoding in ["identity", "utf-8"] {
        let shown = compared_by(&bench, &asking, [&compressed, &sends(3, encoding, 17)]);
        assert!(
            shown.contains("GET: 17 B is the median of the bodies with new, 1010 B with old")
                && !shown.contains("new: faster"),
            "{encoding}: {shown}"
        );
    }
    let plain = sends(3, "identity", 7000);
    let shown = compared_by(&bench, &asking, [&compressed, &plain]);
    assert!(!shown.contains("not the same answers"), "compression explains it: {shown}");
    let shown = compared_by(&bench, GET, [&plain, &compressed]);
    let why = "100 % are compressed without Accept-Encoding in the request with new, 0 % with old";
    assert!(shown.contains(why), "{shown}");
}

#[test]
fn a_short_error_wins_nothing_where_other_requests_write() {
    let bench = Bench::new();
    let writes = "[transaction.log]\nkind = 'write'\n[[transaction.log.step]]\nrequest = 'POST /log'\n";
    let mix = "[profile.all]\nmix = { get = 4, log = 1 }\n";
    let (honest, error) = (honest(3000), takes(3, || ok("{\"error\":1}")));
    let shown = compared_by(&bench, &format!("{GET}{writes}{mix}"), [&honest, &error]);
    assert!(
        shown.contains("GET: 11 B is the median of the bodies with new") && !shown.contains("new: faster"),
        "{shown}"
    );
}

#[test]
fn a_service_that_drops_connections_gets_no_advice_for_databases() {
    let (bench, turn) = (Bench::new(), AtomicUsize::new(0));
    let drops = takes(3, move || match turn.fetch_add(1, Ordering::Relaxed) % 2 {
        0 => ok("{}"),
        _ => Reply::raw(b"").then_close(),
    });
    let shown = compared_by(&bench, GET, [&takes(3, || ok("{}")), &drops]);
    assert!(
        shown.contains("let both answer them as the scenario expects") && !shown.contains("busy_timeout"),
        "{shown}"
    );
}

#[test]
fn a_service_that_answers_with_less_than_before_wins_nothing() {
    let (bench, is_new) = (Bench::new(), Arc::new(AtomicBool::new(false)));
    let new = Arc::clone(&is_new);
    let service = takes(3, move || ok(if new.load(Ordering::Relaxed) { "" } else { "{\"id\": 1}" }));
    let address = format!("{}/x", service.url);
    for out in ["old", "new"] {
        bench.contend(&[
            "http",
            &address,
            "--requests",
            "40",
            "--clients",
            "2",
            "--rounds",
            "6",
            "--quiet",
            "--out",
            out,
        ]);
        is_new.store(true, Ordering::Relaxed);
    }
    let said = bench.contend(&["compare", "old", "new"]);
    assert!(said.out.contains("100 % have no body with B, 0 % with A"), "{said:?}");
}

#[test]
fn answers_that_differ_in_identifiers_chunks_and_spaces_are_compared() {
    let (bench, honest) = (Bench::new(), honest(20));
    let other = takes(3, || {
        let body = format!("[{}]", vec!["{\n  \"id\": 4711\n}"; 20].join(",\n"));
        let text =
            format!("HTTP/1.1 203 Same\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        Reply::raw(text.as_bytes())
    });
    let said = compared(&bench, "record", [&honest, &other]);
    assert!(said.out.contains("its throughput is") && !said.out.contains("not the same answers"), "{said:?}");
    for shown in ["200 JSON", "203 JSON", "360 B"] {
        assert!(said.out.contains(shown), "{shown}: {said:?}");
    }
}

/// A service that sends more bytes 5 ms after each answer, and then closes the connection.
fn sends_later(more: &'static [u8]) -> String {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/x", socket.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in socket.incoming().flatten() {
            std::thread::spawn(move || {
                if stream.read(&mut [0; 4096]).is_ok_and(|n| n > 0) {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
                    sleep(Duration::from_millis(5));
                    let _ = stream.write_all(more);
                }
            });
        }
    });
    url
}

/// An answer to the next request, sent before it is asked for, would take no time.
#[test]
fn answers_that_no_request_asked_for_are_failures_of_the_next_one() {
    let bench = Bench::new();
    // Requests that are due while the machine stops would follow one another at once.
    let slow = "about = 'Requests with pauses'\n[transaction.get]\nkind = 'read'\n[[transaction.get.step]]\nrequest = 'GET /x'\n\
                [role.client]\nclients = 1\npause = '100ms'\n";
    std::fs::write(bench.path("slow.toml"), slow).expect("written");
    for (more, fails) in [
        (&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"[..], true),
        (b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", false),
        (b"", false),
        (b"\r\n", false),
    ] {
        let _ = std::fs::remove_dir_all(bench.path("record"));
        let url = sends_later(more);
        let load = ["--url", url.trim_end_matches("/x"), "--requests", "20", "--json-line"];
        let said = bench.contend(&[&["http", "slow.toml", "--out", "record"], &load[..]].concat());
        let line: serde_json::Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"));
        let [total, failed] = ["total", "failed"].map(|name| line[name].as_u64().unwrap_or_default());
        // Each answer costs the next request, for which the client then opens a connection. A request that is sent late can
        // meet the end of its connection.
        let (due, slack) = if fails { (total / 2, total / 6) } else { (0, total / 10) };
        assert!(total > 10 && failed.abs_diff(due) <= slack, "{due} failures are due: {said:?}");
    }
}

#[test]
fn an_error_text_that_comes_with_more_load_is_reported_first() {
    let (bench, at_work, turn) = (Bench::new(), Mutex::new(()), AtomicUsize::new(0));
    let list = format!("[{}]", vec!["{\"id\": 1}"; 100].join(", "));
    let sheds = Service::start(move |_| match at_work.try_lock() {
        Ok(_working) => {
            sleep(Duration::from_millis(5));
            ok(&list)
        }
        Err(_) => ok("Too many requests, try again later"),
    });
    let varies = takes(1, move || ok(&format!("[{}1]", "1, ".repeat(turn.fetch_add(1, Ordering::Relaxed) % 40))));
    for (service, differ) in [(&sheds, true), (&varies, false)] {
        let _ = std::fs::remove_dir_all(bench.path("record"));
        let load = ["--rate", "40,600", "--rounds", "1", "--clients", "16", "--duration", "2s", "--quiet"];
        let said = bench.contend(&[&["http", &format!("{}/x", service.url), "--out", "record"], &load[..]].concat());
        let first = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
        let changed = "600/s: ! The answers differ from those at the lowest load: to get, step 1: GET: ";
        assert!(first.contains("600/s") && first.contains(changed) == differ, "{said:?}");
    }
}

#[test]
fn records_of_two_addresses_compare_nothing_and_say_why() {
    let bench = Bench::new();
    let services = [honest(3), honest(3)];
    for (service, out) in services.iter().zip(["old", "new"]) {
        let address = format!("{}/x", service.url);
        let args = ["http", &address, "--requests", "40", "--clients", "2", "--rounds", "1", "--quiet", "--out", out];
        bench.contend(&args).ran();
    }
    let said = bench.contend(&["compare", "old", "new"]).exits(1);
    let flat = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("Nothing is compared") && flat.contains("the address of a service"), "{said:?}");
}
