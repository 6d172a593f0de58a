//! A worker without memory reports `failed`, or ends: it never stays silent, and never reports the run as if nothing
//! had happened.

use crate::short::complete;
use crate::support::{self, workers::needed};
use crate::worker::{Ran, Worker};
use contend::workload::sql::Brackets;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::time::Duration;

/// Far more samples than the worker's memory can hold.
const OPERATIONS: u32 = 20_000_000;
/// Few enough for any worker's memory.
const FEW: u32 = 1_000;
/// How long a worker may take to end after it closed its output.
const LEAVES_WITHIN: Duration = Duration::from_secs(60);

/// Drivers that do nothing, in a model, and what gives them little memory: limits of the runtime, or of the system in
/// KiB.
const STARVED: [(&str, &str, &str); 3] = [
    ("go-null", "thread", "ulimit -v 800000; exec"),
    ("java-null", "thread", "export JAVA_TOOL_OPTIONS=-Xmx48m; exec"),
    ("node-null", "event-loop", "ulimit -v 1800000; exec"),
];

fn plan(model: &str, operations: u32) -> String {
    let text = format!(
        "contend-plan 3\nworker\t0\ndriver\tnull\t{model}\nconnections\tclient\nwindow\t0\t0\t10000000000\nnow\tclock\ndatabase\tx\n\
         statement\t0\tSELECT 1\ntransaction\t0\tread\tread\t-\t0\t0\t1\nstep\tsql\t0\t1..1\t1\t-\nretry\t1\t-\t-\t-\n\
         clients\t1\nclient\t0\t0\tclosed\tcyclic\t{operations}\t0\t1\nop\t0\t0\nend\n"
    );
    complete(&text, Brackets::Quote)
}

/// What a worker made of a plan, and the worker if it could begin. Its memory may be too little for the plan, or for its
/// runtime.
fn run(command: &[String], plan: &str, log: &Path) -> (Option<Worker>, Result<Ran, String>) {
    let mut worker = match Worker::start(command, log) {
        Ok(worker) => worker,
        Err(words) => return (None, Err(words)),
    };
    let ready = worker.plan(plan).and_then(|answer| answer.map_err(|reason| format!("failed: {reason}")));
    let ran = ready.and_then(|_| worker.run(None));
    (Some(worker), ran)
}

#[test]
fn a_worker_without_memory_fails_or_dies() {
    let bench = support::Bench::new();
    for (driver, model, limits) in STARVED {
        let Some(program) = needed(&format!("contend-worker-{driver}")) else { continue };
        // Otherwise any fault of the plan would look like a lack of memory.
        let (_, ran) = run(&[program.display().to_string()], &plan(model, FEW), &bench.path("log"));
        assert_eq!(ran.map(|ran| ran.samples.len()), Ok(FEW as usize), "{driver}");
        let command = ["sh", "-c", &format!("{limits} {}", program.display())].map(str::to_string);
        match run(&command, &plan(model, OPERATIONS), &bench.path("log")) {
            (_, Ok(ran)) => panic!("{driver}: {:?}, {} samples", ran.done, ran.samples.len()),
            (worker, Err(words)) => {
                assert!(!words.contains("silent"), "{driver}: {words}");
                let told = words.to_lowercase().contains("memory");
                let ended = || worker.and_then(|mut worker| worker.leaves(LEAVES_WITHIN));
                assert!(
                    told || ended().is_some_and(|status| status.signal().is_some()),
                    "{driver} says nothing of memory: {words}"
                );
            }
        }
    }
}
