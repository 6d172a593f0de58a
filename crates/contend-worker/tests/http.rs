//! Requests over real sockets, to a service that behaves as each test needs: well, badly, slowly, or not at all.
//! Nothing may hang, and everything must be told apart by its code.

mod common;
#[path = "service/plans.rs"]
mod plans;
mod service;

use common::{MS, option, wait_until};
use contend_wire::database::Database;
use contend_wire::literal::Value;
use contend_wire::plan::http::{Count, HttpStep, KeepAt, Request};
use contend_wire::plan::{ANY_ROWS, Client, Plan, Retry, Source, Step};
use contend_wire::sample::{CodeSpace, Sample, flag, worker_code};
use contend_wire::script::{LineResult, ScriptWriter, Target};
use contend_wire::statement::Statement;
use contend_worker::own::{KIT, prepare, run_plan};
use plans::{add, get, http, request};
use service::{Reply, Service, ok};
use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

fn client(p: &mut Plan, operations: Vec<(u64, u16, Vec<Value>)>) -> &mut Client {
    common::client(p, operations)
}

fn times(count: usize) -> Vec<(u64, u16, Vec<Value>)> {
    vec![(0, 0, vec![]); count]
}

/// Runs a plan as every plan arrives, as text; all samples of its clients.
#[track_caller]
fn run(p: &Plan) -> Vec<Vec<Sample>> {
    let begun = Instant::now();
    let result = run_plan(Plan::decode(&p.encode()).unwrap()).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "nothing may hang");
    result.samples
}

/// The only sample of a plan with one operation.
#[track_caller]
fn one(p: &mut Plan) -> Sample {
    client(p, times(1));
    run(p)[0][0]
}

#[track_caller]
fn is_code(sample: &Sample, space: CodeSpace, code: u32) {
    assert_eq!((sample.code_space, sample.code, sample.failed_step), (space, code, 0), "{sample:?}");
}

/// What a service that answers with `reply` comes to.
#[track_caller]
fn answer_is(reply: Reply, space: CodeSpace, code: u32) -> Sample {
    let service = Service::start(move |_| reply.clone());
    let mut p = get(&service.url, "/");
    // Only the timeout case has a short timeout; all others allow for a slow machine.
    let timeout_ms = if (space, code) == (CodeSpace::Os, 110) { "300" } else { "10000" };
    option(&mut p, "timeout_ms", timeout_ms);
    let sample = one(&mut p);
    is_code(&sample, space, code);
    sample
}

fn refused(p: &Plan) -> String {
    let (sender, _events) = channel();
    match prepare(Plan::decode(&p.encode()).unwrap(), &sender) {
        Ok(_) => panic!("it is ready"),
        Err(e) => format!("{e:#}"),
    }
}

#[test]
fn requests_are_sent_as_written_and_connections_kept() {
    let service = Service::start(|_| ok("hello"));
    let mut p = get(&service.url, "/");
    option(&mut p, "host", "shop.test");
    let args = vec![Source::Argument { first: 0, stride: 0 }, Source::Unique { first: 0, stride: 0 }];
    let headers = vec![("Content-Type".into(), "application/json".into())];
    let json = Request { headers, body: Some("{{\"u\":{}}}".into()), ..request("POST", "/a/{}") };
    let post = add(&mut p, json, args);
    let text = Value::Text("ü/".into());
    client(&mut p, vec![(0, 0, vec![]), (0, post, vec![text.clone()]), (0, post, vec![text])]);
    let samples = run(&p);
    assert!(samples[0].iter().all(|s| s.is_ok() && s.acquire_wait_ns == 0), "{samples:?}");
    let asked = service.asked();
    assert_eq!(service.connections(), 1);
    assert!(asked[0].starts_with("GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n"), "{}", asked[0]);
    assert!(
        asked[2].starts_with("POST /a/%C3%BC%2F HTTP/1.1\r\n") && asked[2].ends_with("\r\n\r\n{\"u\":2}"),
        "{}",
        asked[2]
    );
}

#[test]
fn many_clients_share_threads() {
    let service = Service::start(|_| ok("hello"));
    let mut p = get(&service.url, "/");
    option(&mut p, "threads", "3");
    for _ in 0..20 {
        client(&mut p, times(50));
    }
    let samples = run(&p);
    assert_eq!(samples.iter().map(Vec::len).collect::<Vec<_>>(), vec![50; 20]);
    assert!(samples.iter().flatten().all(Sample::is_ok));
    assert_eq!((service.connections(), service.asked().len()), (20, 1000));
    for (id, samples) in samples.iter().enumerate() {
        assert!(samples.iter().enumerate().all(|(n, s)| (s.client, s.operation) == (id as u32, n as u32)));
        assert!(samples.windows(2).all(|w| w[1].due_ns == w[0].finished_ns && w[1].started_ns >= w[1].due_ns));
    }
}

#[test]
fn connections_are_opened_anew_where_the_plan_or_the_service_says() {
    let service = Service::start(|_| ok("hello"));
    let mut p = get(&service.url, "/");
    option(&mut p, "connection", "close");
    client(&mut p, times(5));
    let samples = run(&p);
    assert!(samples[0].iter().all(Sample::is_ok));
    assert!(samples[0][1..].iter().all(|s| s.acquire_wait_ns > 0), "connecting is part of the attempt");
    assert_eq!(service.connections(), 5);
    assert!(service.asked()[0].contains("\r\nConnection: close\r\n"));
    for reply in
        ["HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na", "HTTP/1.1 200 OK\r\n\r\nuntil the end"]
    {
        let service = Service::start(move |_| Reply::raw(reply.as_bytes()).then_close());
        let mut p = get(&service.url, "/");
        client(&mut p, times(3));
        assert!(run(&p)[0].iter().all(Sample::is_ok), "{reply}");
        assert_eq!(service.connections(), 3);
    }
}

#[test]
fn answers_of_every_form_are_read_in_full() {
    for reply in [
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "HTTP/1.1 206 Partial\r\nContent-Length: 3\r\n\r\nabc",
    ] {
        let service = Service::start(move |_| Reply::raw(reply.as_bytes()));
        let mut p = get(&service.url, "/");
        http(&mut p, 0).status = vec![(200, 200), (204, 206)];
        client(&mut p, times(3));
        assert!(run(&p)[0].iter().all(Sample::is_ok), "{reply}");
        assert_eq!(service.connections(), 1, "{reply}");
    }
    let large = "x".repeat(3_000_000);
    let service = Service::start(move |_| ok(&large));
    let mut p = get(&service.url, "/");
    client(&mut p, times(3));
    assert!(run(&p)[0].iter().all(Sample::is_ok));
    let service = Service::start(|_| Reply::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"));
    let mut p = get(&service.url, "/");
    p.head.requests[0].method = "HEAD".into();
    client(&mut p, times(2));
    assert!(run(&p)[0].iter().all(Sample::is_ok));
}

#[test]
fn every_way_to_fail_has_its_code() {
    answer_is(Reply::raw(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"), CodeSpace::Http, 302);
    answer_is(Reply::raw(b"HTTP/1.1 500 No\r\nContent-Length: 4\r\n\r\noops"), CodeSpace::Http, 500);
    let busy = b"HTTP/1.1 500 No\r\ncontend-code: sqlite:5\r\nContent-Length: 2\r\n\r\n{}";
    answer_is(Reply::raw(busy), CodeSpace::Sqlite, 5);
    let nonsense: [&[u8]; 6] = [
        b"\x15\x03\x01\x00\x02\x02\x46",
        b"SSH-2.0-OpenSSH_9\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    ];
    for bytes in nonsense {
        answer_is(Reply::raw(bytes), CodeSpace::Worker, worker_code::ANSWER);
    }
    let huge = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "y".repeat(200_000));
    answer_is(Reply::raw(huge.as_bytes()), CodeSpace::Worker, worker_code::ANSWER);
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(1_000));
    answer_is(Reply::raw(many.as_bytes()), CodeSpace::Worker, worker_code::ANSWER);
    let half = Reply::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf").then_close();
    answer_is(half, CodeSpace::Worker, worker_code::ANSWER);
    answer_is(Reply::raw(b"").then_close(), CodeSpace::Os, 104);
    answer_is(Reply::raw(b"").then_reset(), CodeSpace::Os, 104);
}

#[test]
fn a_service_that_does_not_answer_is_given_up() {
    let silent = answer_is(Reply::raw(b""), CodeSpace::Os, 110);
    assert_eq!(silent.flags, flag::LOCK_TIMEOUT_SPENT);
    let took_ms = (silent.finished_ns - silent.started_ns) / MS;
    assert!((300..5_000).contains(&took_ms), "{took_ms} ms");
    answer_is(Reply::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf"), CodeSpace::Os, 110);
    let slow = Reply::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n").then_slowly(50, Duration::from_millis(50));
    answer_is(slow, CodeSpace::Os, 110);
    let service = Service::start(|_| {
        Reply::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n").then_slowly(9, Duration::from_millis(20))
    });
    let mut p = get(&service.url, "/");
    option(&mut p, "timeout_ms", "10000");
    assert!(one(&mut p).is_ok(), "slow is not silent");
}

#[test]
fn a_service_that_is_not_there_is_told_before_the_start_and_counted_after_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let mut p = get(&url, "/");
    client(&mut p, times(1));
    let said = refused(&p);
    assert!(said.contains("client 0") && said.contains(&url) && said.contains("refused"), "{said}");

    let service = Service::start(|_| ok("hello").then_close());
    let mut p = get(&service.url, "/");
    p.head.retry = Retry { tries: 3, backoff_ns: vec![], jitter_permille: vec![], codes: vec![(CodeSpace::Os, 111)] };
    client(&mut p, vec![(0, 0, vec![]), (1_500 * MS, 0, vec![])]);
    let (sender, events) = channel();
    let ready = prepare(Plan::decode(&p.encode()).unwrap(), &sender).unwrap();
    let gone = std::thread::spawn(move || {
        // It answers to the end what it was asked.
        wait_until(|| !service.asked().is_empty());
        drop(service);
    });
    let samples = ready.run(contend_worker::clock::monotonic_ns(), &events, |_| Ok(())).unwrap().samples.remove(0);
    gone.join().unwrap();
    assert!(samples[0].is_ok());
    assert_eq!(samples[1..].iter().map(|s| (s.code, s.attempt)).collect::<Vec<_>>(), [(111, 0), (111, 1), (111, 2)]);
    assert!(samples[2].finished_ns - samples[2].started_ns > 5 * MS, "it does not spin");
}

#[test]
fn values_are_counted_kept_and_sent_on() {
    let service = Service::start(|asked| match asked {
        asked if asked.starts_with("GET /list") => {
            ok("{\"data\": [{\"id\": 7, \"t\": \"a b\"}, {\"id\": 8, \"t\": \"c\"}]}")
        }
        _ => ok("{}"),
    });
    let mut p = get(&service.url, "/list");
    let list = http(&mut p, 0);
    list.count = Some(Count { pointer: "/data".into(), rows_min: 1, rows_max: 5 });
    list.keep = vec![
        KeepAt { slot: 0, rows: 1, pointer: "/data/1/id".into() },
        KeepAt { slot: 1, rows: 9, pointer: "/data/*/t".into() },
    ];
    let args = vec![Source::Kept { slot: 0, plus: 1 }, Source::KeptRow { slot: 1, row: 0 }];
    add(&mut p, request("GET", "/one/{}?t={v}"), args);
    let Step::Http(second) = p.head.transactions[1].steps.remove(0) else { panic!() };
    p.head.transactions.remove(1);
    p.head.transactions[0].steps.extend([Step::Pause { ns: 20 * MS }, Step::Http(second)]);
    let sample = one(&mut p);
    assert!(sample.is_ok() && sample.finished_ns - sample.started_ns >= 20 * MS, "{sample:?}");
    assert_eq!(sample.rows, 2);
    assert!(service.asked()[1].starts_with("GET /one/9?t=ta%20b HTTP"), "{}", service.asked()[1]);

    let bad = |change: &dyn Fn(&mut HttpStep), code: u32| {
        let mut p = get(&service.url, "/list");
        change(http(&mut p, 0));
        is_code(&one(&mut p), CodeSpace::Worker, code);
    };
    bad(
        &|step| step.count = Some(Count { pointer: "/data".into(), rows_min: 3, rows_max: ANY_ROWS }),
        worker_code::ROWS,
    );
    bad(&|step| step.keep = vec![KeepAt { slot: 0, rows: 1, pointer: "/none".into() }], worker_code::NOT_KEPT);
    let service = Service::start(|_| ok("<html>"));
    let mut p = get(&service.url, "/");
    http(&mut p, 0).count = Some(Count { pointer: String::new(), rows_min: 0, rows_max: 1 });
    is_code(&one(&mut p), CodeSpace::Worker, worker_code::ANSWER);
}

/// A service with a login, and a plan that needs what it gives.
fn with_login(password: &str) -> (Service, Plan) {
    let service = Service::start(|asked| {
        let reply = |status: &str, more: &str, body: &str| {
            let text = format!("HTTP/1.1 {status}\r\n{more}Content-Length: {}\r\n\r\n{body}", body.len());
            Reply::raw(text.as_bytes())
        };
        if asked.starts_with("POST /login") {
            return match asked.ends_with("usr=eve&pwd=right") {
                true => reply(
                    "200 OK",
                    "Set-Cookie: sid=s1; Path=/\r\nSet-Cookie: old=x; Max-Age=0\r\n",
                    "{\"token\": \"abc\"}",
                ),
                false => reply("401 No", "", "{\"message\": \"wrong password\"}"),
            };
        }
        let known = asked.contains("\r\nCookie: sid=s1\r\n") && asked.contains("\r\nX-Token: abc\r\n");
        if known { reply("200 OK", "", "{}") } else { reply("403 No", "", "{}") }
    });
    let mut p = get(&service.url, "/");
    p.head.requests[0].headers.push(("X-Token".into(), "{}".into()));
    http(&mut p, 0).args = vec![Source::Session { slot: 1 }];
    let headers = vec![("Content-Type".into(), "application/x-www-form-urlencoded".into())];
    let form = Request { headers, body: Some("usr={}&pwd={}".into()), ..request("POST", "/login") };
    let value = |text: &str| Source::Literal(Value::Text(text.into()));
    let login = add(&mut p, form, vec![value("eve"), value(password)]);
    http(&mut p, login).keep = vec![KeepAt { slot: 1, rows: 1, pointer: "/token".into() }];
    p.head.login = Some(login);
    for _ in 0..20 {
        client(&mut p, times(2));
    }
    (service, p)
}

#[test]
fn every_client_logs_in_before_it_is_ready() {
    let (service, p) = with_login("right");
    let samples = run(&p);
    assert!(samples.iter().flatten().all(Sample::is_ok), "{samples:?}");
    assert_eq!(service.asked().iter().filter(|asked| asked.starts_with("POST")).count(), 20);
    assert_eq!(service.connections(), 20);
}

#[test]
fn a_login_that_fails_says_why() {
    let (_service, p) = with_login("wrong");
    let said = refused(&p);
    // Whichever client is answered first.
    for part in ["client ", "the login failed", "POST /login", "status 401", "wrong password"] {
        assert!(said.contains(part), "{said}");
    }
    let (_service, mut p) = with_login("right");
    let login = p.head.login.unwrap();
    http(&mut p, login).keep[0].pointer = "/nothing".into();
    let said = refused(&p);
    assert!(said.contains("lacks a value"), "{said}");
    let (service, mut p) = with_login("right");
    option(&mut p, "cookies", "off");
    let samples = run(&p);
    is_code(&samples[0][0], CodeSpace::Http, 403);
    drop(service);
}

#[test]
fn a_silent_login_does_not_hang() {
    let service = Service::start(|_| Reply::raw(b""));
    let mut p = get(&service.url, "/");
    option(&mut p, "timeout_ms", "200");
    p.head.login = Some(0);
    client(&mut p, times(1));
    let said = refused(&p);
    assert!(said.contains("timed out"), "{said}");
}

#[test]
fn failed_requests_are_tried_again() {
    let service = Service::start(|_| Reply::raw(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"));
    let mut p = get(&service.url, "/");
    let codes = vec![(CodeSpace::Http, 503)];
    p.head.retry = Retry { tries: 3, backoff_ns: vec![10 * MS], jitter_permille: vec![1000, 2000], codes };
    client(&mut p, times(2));
    let samples = run(&p).remove(0);
    assert_eq!(
        samples.iter().map(|s| (s.operation, s.attempt)).collect::<Vec<_>>(),
        [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    );
    assert!(samples[2].started_ns - samples[1].finished_ns >= 20 * MS);
}

#[test]
fn plans_that_make_no_sense_are_refused() {
    let service = Service::start(|_| ok("hello"));
    let said = |change: &dyn Fn(&mut Plan)| {
        let mut p = get(&service.url, "/");
        client(&mut p, times(1));
        change(&mut p);
        refused(&p)
    };
    assert!(said(&|p| p.head.databases[0] = Database::Service("ftp://127.0.0.1".into())).contains("http"));
    assert!(said(&|p| p.head.model = "thread".into()).contains("has only events"));
    assert!(said(&|p| p.head.transactions[0].steps.push(Step::Hold { ns: 1 })).contains("holds a connection"));
    assert!(said(&|p| p.head.transactions[0].steps.insert(0, Step::Connect)).contains("connection = close"));
    assert!(said(&|p| p.head.transactions[0].steps.clear()).contains("sends no request"));
    assert!(said(&|p| p.head.session.push(Statement::plain("PRAGMA x"))).contains("SQL"));
    assert!(said(&|p| option(p, "busy_timeout_ms", "1")).contains("busy_timeout_ms"));
    let database = said(&|p| (p.head.driver, p.head.model) = ("rusqlite".into(), "thread".into()));
    assert!(database.contains("`t0` sends HTTP requests"), "{database}");
}

#[test]
fn a_script_asks_a_service_once() {
    let (service, mut p) = with_login("right");
    p.clients.truncate(1);
    p.clients[0].operations.clear();
    http(&mut p, 0).keep = vec![KeepAt { slot: 0, rows: 5, pointer: "/data/*".into() }];
    let target = Target {
        driver: "http".into(),
        database: Database::Service(service.url.clone()),
        options: vec![],
        session: vec![],
    };
    let ask = |p: &Plan| {
        let mut script = ScriptWriter::new(&target);
        script.sql(&Statement::plain(p.encode()));
        (KIT.script)(&script.finish()).unwrap()
    };
    let reply = ask(&p);
    let error = reply.error.unwrap();
    assert!(error.message.contains("`t0` failed") && error.message.contains("lacks a value"), "{}", error.message);
    let service = Service::start(|_| ok("{\"data\": [1, \"b\"]}"));
    p.head.databases[0] = Database::Service(service.url.clone());
    p.head.login = None;
    http(&mut p, 0).args.clear();
    p.head.requests[0].headers.clear();
    let rows = vec![vec![Value::Integer(1), Value::Null], vec![Value::Text("b".into()), Value::Null]];
    assert_eq!(ask(&p).answers, [LineResult::Rows(rows)]);
}
