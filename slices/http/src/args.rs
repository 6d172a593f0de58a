//! Arguments of `contend http`.

use clap::{Parser, ValueEnum, ValueHint};
use contend::study::ROUNDS_MAX;
use std::path::PathBuf;

/// The address of a service without --url.
pub const URL: &str = "http://127.0.0.1:8000";

/// Carry out a scenario against a service over HTTP and write its report
#[derive(Parser, Clone)]
#[command(after_help = "Examples:
  contend http 'http://127.0.0.1:8080/items?page=1' --clients 50 --duration 10s
  contend http http://a:8001/ http://b:8001/     which of two is faster
  contend http examples/notes.toml --url http://127.0.0.1:8080 --rate 100,200
  contend http gameplan --site gp-sqlite.test --clients 8 --requests 600
  CONTEND_SECRET_PASSWORD=... contend http gameplan --mode write --clients 1,8

A scenario file is described in docs/http.md.")]
pub struct HttpArgs {
    /// A scenario file, the name of a built-in scenario (gameplan, wordpress), or an address http://HOST:PORT/PATH for
    /// every request; several addresses are compared, with the first as baseline
    #[arg(required = true, value_name = "SCENARIO|URL...", value_hint = ValueHint::AnyPath)]
    pub scenario: Vec<String>,
    /// Address of the service: http://HOST:PORT or https://HOST:PORT; if repeated, the services are compared, with the first as baseline
    #[arg(long, value_hint = ValueHint::Url, default_value = URL)]
    pub url: Vec<String>,
    /// Instead of --url: the service is on this port of this machine
    #[arg(long, conflicts_with = "url", value_name = "PORT,...", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Vec<u16>,
    /// The scenario's variable `mode`, or its profile if it has no such variable
    #[arg(long)]
    pub mode: Option<String>,
    /// The scenario's variable `user`
    #[arg(long)]
    pub user: Option<String>,
    /// The scenario's secret `password`. Other users can read a command line while it runs, but not the environment
    /// variable CONTEND_SECRET_PASSWORD
    #[arg(long)]
    pub password: Option<String>,
    /// The Host header, instead of the address; of several services one for all, or one for each
    #[arg(long, visible_alias = "site", value_delimiter = ',')]
    pub host: Vec<String>,
    /// Closed loop: number of clients, each with a connection, that wait for their answers [default: the scenario's, or
    /// 8]; with --rate the number of connections, to which arrivals are dealt beforehand. Several numbers are measured one by one
    #[arg(long, visible_alias = "conc", value_name = "N,...", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub clients: Vec<u32>,
    /// Open loop: arrivals per second over all clients. Several numbers are measured one by one
    #[arg(long, value_name = "PER_SECOND,...", value_delimiter = ',')]
    pub rate: Vec<f64>,
    /// How arrivals are spaced in an open loop
    #[arg(long, value_enum, default_value_t = Spacing::Poisson)]
    pub arrivals: Spacing,
    /// Length of the measured window [default: the scenario's number of requests, or 10s]
    #[arg(long, visible_alias = "window", value_name = "TIME", conflicts_with = "requests")]
    pub duration: Option<String>,
    /// Instead of a window: number of operations in all, shared by the clients
    #[arg(long, value_name = "N", conflicts_with = "rate", value_parser = clap::value_parser!(u32).range(1..))]
    pub requests: Option<u32>,
    /// With a number of requests: number of operations before them, not counted [default: the scenario's]
    #[arg(long, value_name = "N", conflicts_with_all = ["rate", "duration"])]
    pub warm: Option<u32>,
    /// Time before the window, not counted
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    pub run_in: String,
    /// Time after the window for requests in flight
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub drain: String,
    /// Number of rounds; in each round everything is measured once [default: 1, for several services 6]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(ROUNDS_MAX)))]
    pub rounds: Option<u32>,
    /// Variables of the scenario, and secrets (better given in the environment, see docs/http.md)
    #[arg(long, value_name = "NAME=V,...")]
    pub set: Vec<String>,
    /// Longest time for a request, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
    /// Event loops of the client
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub threads: u64,
    /// First process of the service on this machine: its processor time, memory and writes are measured, with all its child
    /// processes. Of several services one for each
    #[arg(long, value_name = "PID,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Vec<u32>,
    /// File of certificates (PEM) that https:// trusts, in place of the system's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ca: Option<PathBuf>,
    /// A new TCP connection for each request
    #[arg(long)]
    pub close: bool,
    /// Seed of every random choice
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: u64,
    /// Name in the report and in the JSON line [default: the scenario's; of several services their addresses]. One for
    /// each service if repeated
    #[arg(long)]
    pub label: Vec<String>,
    /// Directory of the record [default: results/DATE-http-SCENARIO]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Print one line of JSON instead of the report: label, total, ok, failed, wall_s, req_per_s (what succeeded inside the
    /// window), p50_ms, p95_ms, p99_ms, max_ms (response times of successful requests; null, like the rate, without a valid
    /// trial), err_sample (a list of message, code and count). With several rates or numbers of clients a line for each
    #[arg(long)]
    pub json_line: bool,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Spacing {
    Poisson,
    Constant,
}
