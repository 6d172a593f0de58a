//! A worker whose memory is at its end says `failed`, or is gone: it never stays silent, and never tells of a run as if nothing had
//! happened.

use crate::support::{self, workers::needed};
use crate::worker::Worker;

/// Far more samples than what the worker is given can hold.
const OPERATIONS: u32 = 20_000_000;

/// Drivers that do nothing, in a model, and what gives them little memory: limits of the runtime, or of the system in KiB.
const STARVED: [(&str, &str, &str); 3] = [
    ("go-null", "thread", "ulimit -v 800000; exec"),
    ("java-null", "thread", "export JAVA_TOOL_OPTIONS=-Xmx48m; exec"),
    ("node-null", "event-loop", "ulimit -v 1800000; exec"),
];

fn plan(model: &str) -> String {
    format!(
        "contend-plan 2\nworker\t0\ndriver\tnull\t{model}\nconnections\tclient\nwindow\t0\t0\t10000000000\nnow\tclock\ndatabase\tx\n\
         statement\t0\tSELECT 1\ntransaction\t0\tread\tread\t-\t0\t0\t1\nstep\tsql\t0\t1..1\t1\t-\nretry\t1\t-\t-\t-\n\
         clients\t1\nclient\t0\t0\tclosed\tcyclic\t{OPERATIONS}\t0\t1\nop\t0\t0\nend\n"
    )
}

#[test]
fn a_worker_without_memory_fails_or_dies() {
    let bench = support::Bench::new();
    for (driver, model, limits) in STARVED {
        let Some(program) = needed(&format!("contend-worker-{driver}")) else { continue };
        let command = ["sh", "-c", &format!("{limits} {}", program.display())].map(str::to_string);
        let mut worker = Worker::start(&command, &bench.path("log")).expect("enough memory to start");
        // Its memory may be too little for the plan already.
        let ready = worker.plan(&plan(model)).and_then(|answer| answer.map_err(|reason| format!("failed: {reason}")));
        match ready.and_then(|_| worker.run(None)) {
            Ok(ran) => panic!("{driver}: {:?}, {} samples", ran.done, ran.samples.len()),
            Err(words) => {
                let told =
                    ["failed", "gone", "closed its output", "does not listen"].iter().any(|how| words.contains(how));
                assert!(told && !words.contains("silent"), "{driver}: {words}");
            }
        }
    }
}
