//! `contend limit` against a service whose capacity is known, with real clients over real sockets.

use crate::support::{Bench, root};
use contend::study::SplitMix64;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Time of a request at the only counter, and the longest response that the bound allows.
const SERVICE_US: f64 = 1000.0;
const BOUND_US: f64 = 20_000.0;
/// Connections; few enough never to be the limit on a small machine, many enough for the queue that the bound allows.
const CONNECTIONS: &str = "64";

/// A request in so many takes this long instead.
#[derive(Debug, Clone, Copy)]
struct Stalls {
    every: u64,
    slow_us: f64,
}

/// The service, until the value is dropped.
struct Queueing(Child, String);

impl Queueing {
    fn start(stalls: Stalls) -> Self {
        let args = [1.0, SERVICE_US, stalls.slow_us, stalls.every as f64].map(|number| format!("{number:.0}"));
        let mut command = Command::new(program());
        let mut child =
            command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the service starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("an address");
        Self(child, format!("http://{}/", line.trim()))
    }
}

impl Drop for Queueing {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// The example `queueing` of the worker, built if it is missing.
fn program() -> PathBuf {
    let mut path = std::env::current_exe().expect("a test is a program");
    (0..2).for_each(|_| assert!(path.pop()));
    let path = path.join("examples/queueing");
    if !path.exists() {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(root()).args(["build", "-q", "-p", "contend-worker", "--example", "queueing"]);
        assert!(cargo.status().is_ok_and(|status| status.success()), "cargo builds the example");
    }
    path
}

fn draw(random: &mut SplitMix64) -> f64 {
    ((random.draw() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// The 99th percentile of the response at a rate, over ten minutes of Poisson arrivals.
fn p99_us(stalls: Stalls, rate_per_s: f64, random: &mut SplitMix64) -> f64 {
    let (mut now_us, mut free_us, mut responses) = (0.0, 0.0f64, vec![]);
    for number in 1..=(rate_per_s * 600.0) as u64 {
        now_us += -draw(random).ln() / rate_per_s * 1e6;
        let takes_us = if number % stalls.every == 0 { stalls.slow_us } else { SERVICE_US };
        free_us = free_us.max(now_us) + takes_us;
        responses.push(free_us - now_us);
    }
    responses.sort_by(f64::total_cmp);
    responses[responses.len() * 99 / 100]
}

/// The highest rate that meets the bound.
fn truth(stalls: Stalls) -> f64 {
    let mut random = SplitMix64(11);
    let (mut low, mut high) = (100.0f64, 1e6 / SERVICE_US);
    while high / low > 1.002 {
        let middle = (low + high) / 2.0;
        let over = p99_us(stalls, middle, &mut random) > BOUND_US;
        (low, high) = if over { (low, middle) } else { (middle, high) };
    }
    (low + high) / 2.0
}

fn found(stalls: Stalls, seed: usize) -> f64 {
    let (bench, service) = (Bench::new(), Queueing::start(stalls));
    let seed = seed.to_string();
    let args = ["limit", &service.1, "--rates-only", "--rounds", "6", "--window", "1s", "--clients", CONNECTIONS];
    let more = ["--bound", "response_ns_p99<=20ms", "--seed", &seed, "--quiet", "--out", "found"];
    bench.contend(&[&args[..], &more].concat()).exits(0);
    let json: serde_json::Value =
        serde_json::from_str(&bench.contend(&["report", "found", "--json"]).exits(0).out).expect("JSON");
    json["contenders"][0]["rate_per_s"].as_f64().expect("a rate")
}

/// In 38 of 40 runs within 5 %, steady and with stalls. CONTEND_CAPACITY_RUNS is another number of runs.
#[test]
#[ignore = "takes three hours on two quiet cores; make verify runs it"]
fn the_capacity_of_a_service_is_found_within_5_percent() {
    let runs = std::env::var("CONTEND_CAPACITY_RUNS").ok().map_or(40, |runs| runs.parse().expect("a number"));
    for stalls in [Stalls { every: 1_000_000, slow_us: SERVICE_US }, Stalls { every: 500, slow_us: 10_000.0 }] {
        let truth = truth(stalls);
        let found: Vec<f64> = (1..=runs).map(|seed| found(stalls, seed) / truth).collect();
        let near = found.iter().filter(|ratio| (0.95..1.05).contains(*ratio)).count();
        println!("{stalls:?}: truth {truth:.1}/s, {near} of {runs} within 5 %: {found:.3?}");
        assert!(near * 20 >= runs * 19, "{near} of {runs} within 5 % of {truth}: {found:?}");
    }
}

#[test]
fn the_truth_of_the_known_service_is_that_of_the_books() {
    // M/D/1 at 80 % of its capacity: the mean wait is rho / (2 (1 - rho)) service times.
    let (mut random, steady) = (SplitMix64(3), Stalls { every: 1_000_000, slow_us: SERVICE_US });
    let p99 = p99_us(steady, 800.0, &mut random);
    assert!((8_000.0..13_000.0).contains(&p99), "{p99}");
    let (without, with) = (truth(steady), truth(Stalls { every: 500, slow_us: 10_000.0 }));
    assert!(with < without && (800.0..1000.0).contains(&without), "{with} {without}");
}
