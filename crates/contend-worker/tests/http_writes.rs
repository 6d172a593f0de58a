//! Requests that write, over real sockets: what a service may have done although it did not say so, what is never asked for
//! twice, and connections that end while they are not in use.

mod common;
#[path = "service/plans.rs"]
mod plans;
#[allow(dead_code)] // another test uses the rest
mod service;

use common::{MS, client, option};
use contend_wire::plan::http::{Count, KeepAt};
use contend_wire::plan::{Plan, Retry, Step};
use contend_wire::sample::{CodeSpace, Sample, flag, worker_code};
use contend_worker::own::{prepare, run_plan};
use plans::{get, http, step};
use service::{Reply, Service, ok};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::time::Duration;

fn status(line: &str) -> Reply {
    Reply::raw(format!("HTTP/1.1 {line}\r\nContent-Length: 0\r\n\r\n").as_bytes())
}

/// A plan of one transaction that writes and asks `answer`.
fn writing(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> (Service, Plan) {
    let service = Service::start(answer);
    let mut p = get(&service.url, "/pay");
    p.head.requests[0].method = "POST".into();
    p.head.transactions[0].writes = true;
    (service, p)
}

fn times(count: u64, every_ns: u64) -> Vec<(u64, u16, Vec<contend_wire::literal::Value>)> {
    (0..count).map(|n| (if n == 0 { 0 } else { every_ns }, 0, vec![])).collect()
}

#[track_caller]
fn run(p: &Plan) -> Vec<Vec<Sample>> {
    run_plan(Plan::decode(&p.encode()).unwrap()).unwrap().samples
}

/// Space, code, and whether something may have been done, of the only sample.
#[track_caller]
fn one(p: &mut Plan) -> (CodeSpace, u32, bool) {
    client(p, times(1, 0));
    let sample = run(p)[0][0];
    (sample.code_space, sample.code, sample.flags & flag::MAY_HAVE_ACTED != 0)
}

/// What comes of a write that is answered so, or not at all.
#[track_caller]
fn answered(reply: Reply) -> (CodeSpace, u32, bool) {
    let (_service, mut p) = writing(move |_| reply.clone());
    option(&mut p, "timeout_ms", "1000");
    http(&mut p, 0).refused = vec![(402, 402), (420, 429)];
    one(&mut p)
}

#[test]
fn an_answer_that_nobody_expects_says_nothing_about_what_was_done() {
    for (line, code) in [("302 Found", 302), ("400 Bad", 400), ("409 No", 409), ("500 Oh", 500), ("204 Other", 204)] {
        assert_eq!(answered(status(line)), (CodeSpace::Http, code, true), "{line}");
    }
    for (line, code) in [("402 No money", 402), ("420 First", 420), ("429 Last", 429)] {
        assert_eq!(
            answered(status(line)),
            (CodeSpace::Http, code, false),
            "{line}: the service says that it did nothing"
        );
    }
    let told = Reply::raw(b"HTTP/1.1 500 No\r\ncontend-code: sqlite:5\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(answered(told), (CodeSpace::Sqlite, 5, false), "the database's own word");
    assert_eq!(answered(Reply::raw(b"")), (CodeSpace::Os, 110, true));
    assert_eq!(answered(Reply::raw(b"").then_reset()), (CodeSpace::Os, 104, true));
    let half = Reply::raw(b"HTTP/1.1 402 No\r\nContent-Length: 9\r\n\r\nhalf").then_close();
    assert_eq!(answered(half), (CodeSpace::Worker, worker_code::ANSWER, true));
}

#[test]
fn an_answer_that_lacks_something_comes_after_the_work() {
    let (_service, mut p) = writing(|_| ok("{\"rows\": []}"));
    http(&mut p, 0).count = Some(Count { pointer: "/rows".into(), rows_min: 1, rows_max: 9 });
    assert_eq!(one(&mut p), (CodeSpace::Worker, worker_code::ROWS, true));
    let (_service, mut p) = writing(|_| ok("{}"));
    http(&mut p, 0).keep = vec![KeepAt { slot: 0, rows: 1, pointer: "/id".into() }];
    assert_eq!(one(&mut p), (CodeSpace::Worker, worker_code::NOT_KEPT, true));
}

#[test]
fn what_only_reads_or_never_left_has_done_nothing() {
    let (_service, mut p) = writing(|_| status("400 Bad"));
    p.head.transactions[0].writes = false;
    assert_eq!(one(&mut p), (CodeSpace::Http, 400, false));
    // A value that no header can hold is found before anything is sent.
    let (service, mut p) = writing(|_| ok(""));
    p.head.requests[0].headers.push(("X-Note".into(), "{}".into()));
    let line = contend_wire::literal::Value::Text("two\nlines".into());
    http(&mut p, 0).args = vec![contend_wire::plan::Source::Literal(line)];
    assert_eq!(one(&mut p), (CodeSpace::Worker, worker_code::VALUE, false));
    assert!(service.asked().is_empty());
}

/// What comes of a transaction that asks `/pay` with one method and `/ship`, which is refused or not there, with another.
fn two_steps(first: &str, second: &str, answer: &'static str) -> (CodeSpace, u32, bool) {
    let (service, mut p) = writing(move |asked| if asked.contains("/pay") { ok("") } else { status(answer) });
    p.head.requests[0].method = first.into();
    p.head.requests.push(contend_wire::plan::http::Request {
        method: second.into(),
        target: "/ship".into(),
        body: None,
        headers: vec![],
    });
    let mut last = step(1, vec![]);
    last.refused = vec![(402, 402)];
    p.head.transactions[0].steps.push(Step::Http(last));
    let came = one(&mut p);
    assert_eq!(service.asked().len(), 2);
    came
}

#[test]
fn a_refusal_does_not_undo_an_earlier_step() {
    assert_eq!(two_steps("POST", "POST", "402 No"), (CodeSpace::Http, 402, true));
    assert_eq!(two_steps("POST", "GET", "404 No"), (CodeSpace::Http, 404, true));
    assert_eq!(two_steps("GET", "POST", "402 No"), (CodeSpace::Http, 402, false), "the first one only looked");
    assert_eq!(two_steps("GET", "POST", "404 No"), (CodeSpace::Http, 404, true));
    // A scenario that calls a transaction of these requests a write has a service that writes on them.
    assert_eq!(two_steps("GET", "GET", "402 No"), (CodeSpace::Http, 402, true));
}

#[test]
fn a_look_before_the_write_has_done_nothing() {
    let (_service, mut p) = writing(|_| status("404 No"));
    p.head.requests[0].method = "GET".into();
    assert_eq!(one(&mut p), (CodeSpace::Http, 404, true), "alone it is what writes");
    let (_service, mut p) = writing(|_| status("404 No"));
    p.head.requests.push(p.head.requests[0].clone());
    p.head.requests[0].method = "GET".into();
    p.head.transactions[0].steps.push(Step::Http(step(1, vec![])));
    assert_eq!(one(&mut p), (CodeSpace::Http, 404, false));
}

#[test]
fn what_may_have_been_done_is_not_asked_for_again() {
    for (line, refused, attempts) in [("503 Busy", vec![], 1), ("503 Busy", vec![(503, 503)], 3)] {
        let (service, mut p) = writing(move |_| status(line));
        http(&mut p, 0).refused = refused;
        let codes = vec![(CodeSpace::Http, 503)];
        p.head.retry = Retry { tries: 3, backoff_ns: vec![], jitter_permille: vec![], codes };
        client(&mut p, times(1, 0));
        assert_eq!((run(&p)[0].len(), service.asked().len()), (attempts, attempts));
    }
}

#[test]
fn a_connection_that_ended_while_it_was_quiet_is_opened_again() {
    let (service, mut p) = writing(|_| ok("hello").then_close());
    // Long enough that a slow machine has ended it.
    client(&mut p, times(5, 300 * MS));
    let samples = run(&p).remove(0);
    assert!(samples.iter().all(Sample::is_ok), "{samples:?}");
    assert!(samples[1..].iter().all(|s| s.acquire_wait_ns > 0), "connecting is part of the attempt");
    assert_eq!(service.connections(), 5);
}

#[test]
fn any_number_of_connections_may_end_before_the_start() {
    const CLIENTS: usize = 400;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut p = get(&format!("http://{}", listener.local_addr().unwrap()), "/");
    for _ in 0..CLIENTS {
        client(&mut p, times(1, 0));
    }
    let (ended, all_ended) = channel();
    // The first connection of each client is ended at once, each later one is answered.
    let service = std::thread::spawn(move || {
        let mut answering = vec![];
        for number in 0..2 * CLIENTS {
            let (mut stream, _) = listener.accept().unwrap();
            if number < CLIENTS {
                drop(stream);
                ended.send(()).unwrap();
                continue;
            }
            answering.push(std::thread::spawn(move || {
                let mut asked = [0; 4096];
                assert!(stream.read(&mut asked).unwrap() > 0);
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
            }));
        }
        answering.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let (sender, events) = channel();
    let ready = prepare(Plan::decode(&p.encode()).unwrap(), &sender).unwrap();
    (0..CLIENTS).for_each(|_| all_ended.recv().unwrap());
    std::thread::sleep(Duration::from_millis(10));
    let samples = ready.run(contend_worker::clock::monotonic_ns(), &events, |_| Ok(())).unwrap().samples;
    let failed: Vec<&Sample> = samples.iter().flatten().filter(|s| !s.is_ok()).collect();
    assert!(failed.is_empty(), "{} failed, such as {:?}", failed.len(), failed.first());
    service.join().unwrap();
}
