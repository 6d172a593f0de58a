//! Marks of trials that count: what a reader should know of them. Records keep values; only this module makes text of them.

use crate::stats::precision::Ns;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Fact in a worker's `done`: time of its language's compiler after the run-in, ns.
pub const COMPILING_FACT: &str = "jit_in_window_ns";

/// One mark of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Mark {
    /// The disk was not quiet before the window: the median fsync took so long.
    NoisyDisk { sync_ns: u64 },
    /// Other programs used the processors in the window: thousandths of their capacity.
    NoisyCpu { permille: u32 },
    /// A container's limit held processes back in the window: for how long, added over processors, and the length of the window.
    Throttled { throttled_ns: u64, window_ns: u64 },
    /// The compilers of the workers' language still worked in the window: their time, and the length of the window.
    NotWarm { compiled_ns: u64, window_ns: u64 },
    /// Somebody set the machine's wall clock while the clients worked, by so much; below zero if back.
    ClockSet { by_ms: i64 },
    /// Clients with an operation due in the window that began none, of all clients.
    Starved { clients: u64, of: u64 },
    /// The throughput changed from the first third of the window to the last: by millionths of the first; absent if the first
    /// third has no throughput.
    NoSteadyState {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change_ppm: Option<i64>,
    },
    /// No power was cut, although the study requires it.
    NotVerified { why: String },
    /// A mark of an older record that no other kind covers, as its text.
    Other { text: String },
}

impl Mark {
    /// Whether something outside of the trial disturbed it, so that repeating it may help. A limit stays, and all other marks
    /// are about the work itself.
    pub fn is_disturbance(&self) -> bool {
        matches!(self, Mark::NoisyDisk { .. } | Mark::NoisyCpu { .. })
    }
}

/// Whether one of a trial's marks is a disturbance.
pub fn is_disturbed(marks: &[Mark]) -> bool {
    marks.iter().any(Mark::is_disturbance)
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mark::NoisyDisk { sync_ns } => write!(f, "noisy disk: a sync took {} right before", Ns(*sync_ns)),
            Mark::NoisyCpu { permille } => {
                write!(f, "noisy: others used {:.1} % of the CPU", f64::from(*permille) / 10.0)
            }
            Mark::Throttled { throttled_ns, window_ns } => write!(
                f,
                "throttled: the CPU limit of the container held processes back for {} in a window of {}",
                Ns(*throttled_ns),
                Ns(*window_ns)
            ),
            Mark::NotWarm { compiled_ns, window_ns } => {
                write!(f, "not warm: compiled for {} in a window of {}", Ns(*compiled_ns), Ns(*window_ns))
            }
            Mark::ClockSet { by_ms } => {
                let way = if *by_ms > 0 { "ahead" } else { "back" };
                write!(
                    f,
                    "clock set: the machine's wall clock jumped {way} by {} s, so times that the work wrote jump, too",
                    by_ms.unsigned_abs() as f64 / 1000.0
                )
            }
            Mark::Starved { clients, of } => {
                write!(f, "starved: {clients} of {of} clients began nothing in the window")
            }
            Mark::NoSteadyState { change_ppm: None } => {
                f.write_str("no steady state: nothing was committed in the first third of the window")
            }
            Mark::NoSteadyState { change_ppm: Some(ppm) } => {
                let how = if *ppm > 0 { "climbs" } else { "falls" };
                let percent = ppm.unsigned_abs() as f64 / 10_000.0;
                write!(
                    f,
                    "no steady state: the throughput {how} by {percent:.0} % from the first third of the window to the last"
                )
            }
            Mark::NotVerified { why } => write!(f, "not verified: {why}"),
            Mark::Other { text } => f.write_str(text),
        }
    }
}
