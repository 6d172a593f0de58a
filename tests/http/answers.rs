//! Services that are compared must give the same answers.

use crate::service::{Reply, Service, ok};
use crate::support::{Bench, Said};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
