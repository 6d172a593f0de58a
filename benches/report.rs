//! How long a report of many samples takes, and that its memory does not grow with them: a record of one
//! million samples and one of ten million, made here, reported by the built tool.

use contend::record::model::Run;
use contend::record::store::{Record, RecordWriter};
use contend_wire::sample::Sample;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MILLION: u64 = 1_000_000;

fn main() {
    // `cargo test --benches` only wants to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let build = Path::new(env!("CARGO_BIN_EXE_contend")).parent().expect("a directory");
    let dir = tempfile::TempDir::with_prefix_in("contend-bench-", build).expect("a directory");
    let model = small_record(dir.path());
    println!("report from a record");
    println!("{:>12} {:>10} {:>14} {:>16}", "samples", "seconds", "peak memory", "samples/s");
    for millions in [1, 10] {
        let record = dir.path().join(format!("{millions}m"));
        write(&model, &record, millions * MILLION);
        let (time, peak_kib) = report(&record);
        let rate = (millions * MILLION) as f64 / time.as_secs_f64();
        println!("{:>12} {:>10.2} {:>10} KiB {:>16.0}", millions * MILLION, time.as_secs_f64(), peak_kib, rate);
    }
}

/// A real run, as the model for one with more samples.
fn small_record(dir: &Path) -> Record {
    let out = dir.join("model");
    let status = Command::new(env!("CARGO_BIN_EXE_contend"))
        .args(["run", "--quick", "--rounds", "1", "--window", "100ms", "--quiet", "--out"])
        .arg(&out)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("the tool starts");
    assert!(matches!(status.code(), Some(0 | 1)), "a small run: {status}");
    Record::open(&out).expect("a record")
}

/// The same trials with `samples` samples in all, latencies spread over four orders of magnitude.
fn write(model: &Record, out: &Path, samples: u64) {
    let run: Run = model.run.clone();
    let writer = RecordWriter::create(out, &run).expect("a record");
    let each = samples / model.trials.len() as u64;
    for trial in &model.trials {
        let mut written = writer.trial(trial.slot.trial).expect("a trial");
        let length_ns = trial.window_end_ns - trial.window_start_ns;
        let mut bytes = Vec::with_capacity(1 << 20);
        for i in 0..each {
            let due_ns = trial.window_start_ns + (u128::from(length_ns) * u128::from(i) / u128::from(each)) as u64;
            let service_ns = 1_000 * (1 + i.wrapping_mul(2_654_435_761) % 10_000);
            let sample = Sample {
                client: (i % u64::from(trial.clients)) as u32,
                operation: (i / u64::from(trial.clients)) as u32,
                transaction: (i % run.workload.transactions.len() as u64) as u16,
                rows: 1,
                due_ns,
                started_ns: due_ns,
                finished_ns: due_ns + service_ns,
                lock_wait_ns: service_ns / 2,
                ..Sample::default()
            };
            bytes.extend_from_slice(&sample.encode());
            if bytes.len() >= 1 << 20 {
                written.samples(&bytes).expect("written");
                bytes.clear();
            }
        }
        written.samples(&bytes).expect("written");
        written.commit(trial, "").expect("committed");
    }
    writer.write_run(&run).expect("run.toml");
}

/// Wall time and peak resident memory of `contend report`.
fn report(record: &Path) -> (Duration, u64) {
    let begun = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_contend"))
        .arg("report")
        .arg(record)
        .stdout(Stdio::null())
        .spawn()
        .expect("the tool starts");
    let mut peak_kib = 0;
    let status = loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let high_water = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let kib = high_water.and_then(|v| v.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0);
        peak_kib = peak_kib.max(kib);
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(status.success(), "the report failed: {status}");
    (begun.elapsed(), peak_kib)
}
