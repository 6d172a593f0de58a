//! When requests are sent and when a run ends: due times, stalls of the service, the drain, a stop.

mod common;
#[path = "service/plans.rs"]
#[allow(dead_code)] // another test uses the rest
mod plans;
#[allow(dead_code)] // another test uses the rest
mod service;

use common::{MS, client, ready, run, wait_until};
use contend_wire::plan::{Loop, Plan, Step, Window};
use contend_wire::sample::{CodeSpace, STEP_NONE, Sample, flag};
use contend_worker::clock::monotonic_ns;
use contend_worker::run::{Event, Request};
use plans::{add, get, request, step, transaction};
use service::{Reply, Service, ok};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Due times from the start, whatever happens to the requests. The run is over with the last of them, and the window so long
/// that a slow machine begins them all.
fn open_loop(p: &mut Plan, count: u64, every_ns: u64) {
    let client = client(p, vec![]);
    (client.load, client.limit) = (Loop::Open, 0);
    (0..count).for_each(|n| client.push(n * every_ns, 0, []));
    p.head.window = Window { run_in_ns: 0, length_ns: 60_000 * MS, drain_ns: 2_000 * MS };
}

#[test]
fn an_open_loop_keeps_its_due_times() {
    let service = Service::start(|_| ok("hello"));
    let mut p = get(&service.url, "/");
    open_loop(&mut p, 100, 20 * MS);
    let samples = run(&p).samples.remove(0);
    assert_eq!(samples.len(), 100);
    assert!(samples.windows(2).all(|w| w[1].due_ns - w[0].due_ns == 20 * MS));
    // A busy machine makes most of them late. The one that is least late, of those long after the start, is as late as
    // the worker itself makes it.
    let least = samples[50..].iter().map(|s| s.started_ns - s.due_ns).min().unwrap();
    assert!(least < 10 * MS, "every operation began {} us late or later", least / 1000);
}

#[test]
fn a_stall_shows_in_response_time_and_not_in_service_time() {
    let turn = AtomicUsize::new(0);
    let service = Service::start(move |_| {
        // The service stands still for a second.
        if turn.fetch_add(1, Relaxed) == 150 {
            std::thread::sleep(Duration::from_secs(1));
        }
        ok("hello")
    });
    let mut p = get(&service.url, "/");
    open_loop(&mut p, 1_000, 2 * MS);
    let samples = run(&p).samples.remove(0);
    assert_eq!(samples.len(), 1_000, "nothing that was due is left out, in the stall or after it");
    assert!(samples.iter().zip(0..).all(|(s, n)| s.operation == n && s.is_ok()));
    let slow = |times: &dyn Fn(&Sample) -> u64| samples.iter().filter(|s| times(s) > 200 * MS).count();
    let (response, service_time) = (slow(&|s| s.finished_ns - s.due_ns), slow(&|s| s.finished_ns - s.started_ns));
    // One request met the stall; a busy machine may make a few others slow.
    assert!(service_time >= 1, "no request met the stall");
    assert!(response >= 300, "{response} operations were due in the stall and waited for it");
    assert!(service_time * 10 < response, "{service_time} of {response} show it without the wait");
}

#[test]
fn what_is_in_flight_after_the_drain_is_interrupted() {
    let service = Service::start(|_| Reply::raw(b""));
    let mut p = get(&service.url, "/");
    p.head.window = Window { run_in_ns: 0, length_ns: 400 * MS, drain_ns: 100 * MS };
    (0..3).for_each(|_| client(&mut p, vec![(0, 0, vec![])]).limit = 0);
    transaction(&mut p, vec![Step::Pause { ns: 60_000 * MS }, Step::Http(step(0, vec![]))]);
    client(&mut p, vec![(0, 1, vec![])]).limit = 0;
    client(&mut p, vec![(60_000 * MS, 0, vec![])]).limit = 0;
    let samples = run(&p).samples;
    for samples in &samples[..4] {
        let sample = &samples[0];
        assert_eq!((sample.code_space, sample.code, sample.failed_step), (CodeSpace::Os, 125, 0), "{sample:?}");
        assert_eq!((sample.flags, samples.len()), (flag::INTERRUPTED, 1));
    }
    assert!(samples[4].is_empty());
}

#[test]
fn a_run_can_be_stopped() {
    let service = Service::start(|_| ok("hello"));
    let mut p = get(&service.url, "/");
    p.head.window = Window { run_in_ns: 0, length_ns: 60_000 * MS, drain_ns: 10_000 * MS };
    client(&mut p, vec![(0, 0, vec![])]).limit = 0;
    p.clients[0].cyclic = true;
    let rare = add(&mut p, request("GET", "/rare"), vec![]);
    client(&mut p, vec![(0, rare, vec![]), (50_000 * MS, rare, vec![])]).limit = 0;
    let (ready, sender, events) = ready(&p);
    let stops = std::thread::spawn(move || {
        // Once both were at work.
        wait_until(|| ["GET / ", "GET /rare "].iter().all(|get| service.asked().iter().any(|a| a.starts_with(get))));
        sender.send(Event::Tool(Request::Stop)).unwrap();
        service
    });
    let begun = Instant::now();
    let result = ready.run(monotonic_ns(), &events, |_| Ok(())).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(40), "far from the end of the window");
    stops.join().unwrap();
    assert!(!result.samples[0].is_empty() && result.samples[1].len() == 1);
    assert!(result.samples[0].iter().all(|s| s.failed_step == STEP_NONE));
}
