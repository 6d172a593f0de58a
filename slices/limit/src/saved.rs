//! `limit.toml`: what a search found, next to the record of its probes. docs/formats.md has the fields.

use crate::growth::{Growth, Speeds};
use crate::judge::Thirds;
use crate::of::{Of, RATE};
use crate::search::ProbeResult;
use anyhow::{Context, Result, ensure};
use contend::record::model::{Disk, Machine, Mark};
use contend::record::seal;
use contend_stats::precision::Rate;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Rates within this factor of each other are near: probes at one are evidence for the other.
pub const NEAR: f64 = 1.15;
/// The file by which a record is known.
pub const FILE: &str = "limit.toml";
/// Directory of the probes' record.
pub const PROBES: &str = "probes";
/// Version of the format.
pub const VERSION: u32 = 1;

/// `limit.toml`: a search, and what it found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// Version of the format.
    pub format: u32,
    /// Version of contend.
    pub contend: String,
    /// Start, UTC.
    pub started: String,
    /// Command line as typed.
    pub command: Vec<String>,
    /// Name of the study.
    pub study: String,
    /// What is searched: `rate`, or the name of an axis.
    #[serde(default = "rate", skip_serializing_if = "is_rate")]
    pub of: String,
    /// Metrics and the largest values they may have, as typed.
    pub bounds: Vec<String>,
    /// Shortest window; longer ones hold enough operations for a quantile.
    pub window_ns: u64,
    /// Seed of every random choice.
    pub seed: u64,
    /// Rounds to run.
    pub rounds: u32,
    /// Fraction within which an estimate is called slight, and an interval no difference.
    pub margin: f64,
    /// Logical processors that contend could use.
    pub processors: u32,
    /// Machine of the probes; absent before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// Disk of the probes' data, measured before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<Disk>,
    /// Time that the search may take, and what it does not hold; absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Whether services at addresses were searched, which keep their state from probe to probe.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub service: bool,
    /// Whether the database server was not started by contend (`--dsn`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub attached: bool,
    /// Whether the file that was read has no seal.
    #[serde(skip)]
    pub not_sealed: bool,
    /// Whether the search ended by itself: its rounds were finished, or its time was used up. False if it was stopped.
    pub complete: bool,
    /// What is searched.
    pub arms: Vec<Arm>,
    /// Highest rate of each arm in each round.
    #[serde(default)]
    pub capacities: Vec<Capacity>,
    /// Probes in their order.
    #[serde(default)]
    pub probes: Vec<Probe>,
}

/// Time that a search may take.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// Time from the start of the search, without what was under way at its end.
    pub total_ns: u64,
    /// Time so far.
    pub spent_ns: u64,
    /// Rounds that it holds, decided after the first one; those of the study before.
    pub rounds: u32,
    /// Positions of arms with a relaxed suspect that it does not hold in as many rounds as a name takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<usize>,
    /// Why a lower quantile than the one asked for is bounded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lowered: String,
}

/// A contender under a condition, as it is or with one suspect relaxed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Label of the contender.
    pub label: String,
    /// Position of the contender in the study of the probes.
    pub contender: usize,
    /// Tier of the contender.
    pub tier: String,
    /// Label of the condition.
    pub condition: String,
    /// Position, in this list, of the arm that it is compared with in its tier; absent for that one itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<usize>,
    /// What is relaxed; absent for a contender as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relaxed: Option<Relaxed>,
}

/// A suspect that is relaxed in an arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Relaxed {
    /// Position of the arm without it.
    pub of: usize,
    /// The suspect, such as `syncs`.
    pub suspect: String,
    /// How it is relaxed, in words.
    pub how: String,
    /// Whether there is less of it in this arm and not more, as of processors.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fewer: bool,
}

/// Result of a search in one round.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// Position of the arm.
    pub arm: usize,
    /// Number of the round, from 1.
    pub round: u32,
    /// Highest rate that met the bounds; the lowest that missed one is at most 5 % higher. Absent if there is none, and in a search
    /// of something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// Greatest number on the searched axis that met the bounds; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Highest value that met the bounds when the search was stopped or its time used up; absent if none did, or if it was
    /// finished. For an arm with a relaxed suspect that was probed at one rate only: that rate, if it met the bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<f64>,
    /// Lowest value above it that missed a bound then. For an arm that was probed at one rate only: that rate, if it missed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<f64>,
}

/// One trial at one rate or number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Number of its trial in the record of the probes.
    pub trial: u32,
    /// Position of the arm.
    pub arm: usize,
    /// Number of the round.
    pub round: u32,
    /// Arrivals per second; absent in a closed loop, such as the one that the search for a rate begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// Number on the searched axis; absent in a search for a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// Length of its window.
    pub window_ns: u64,
    /// `meets`, `misses`, or `no-value`; absent for the closed loop before a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<ProbeResult>,
    /// The bound that it missed, or the reason why it has no value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// What failed, if that is more than its bound allows: codes with counts, and the beginning of the answers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failures: String,
    /// Whether most of that was a statement which found no row for those after it, as in an empty queue.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub found_none: bool,
    /// Whether a service's answers were not those of the lowest load.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub differs: bool,
    /// Whether a mark says that something outside disturbed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disturbed: bool,
    /// Whether it ran again for that reason, and so does not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Whether its work was wrong: a lost commit, say, or a setting that did not hold. Then no capacity is valid.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wrong: bool,
    /// Notes on its trial that do not mean it was disturbed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Commits per second in the window.
    pub committed_per_s: f64,
    /// Value of each bound's metric, in its unit (ns, share); `nan` where nothing was measured.
    #[serde(default)]
    pub values: Vec<f64>,
    /// Response times at the beginning and the end of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thirds: Option<Thirds>,
    /// Size of the log, if it grew over the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Growth>,
    /// Two speeds, if the window has a fast and a slow part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speeds: Option<Speeds>,
    /// Use of what may be the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Busy>,
    /// Processors that the processes of a service used, by number and name, such as `4711 (python3)`, without those that used less
    /// than a hundredth; none without `--pid`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub processes: BTreeMap<String, f64>,
}

/// How busy each suspect was in a probe.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Busy {
    /// Share of the window in which write transactions were under way, waits for locks not counted. Absent for a server, whose
    /// writers work at the same time, and if a driver does not measure waits for locks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writing: Option<f64>,
    /// Share of the time of the operations in which they waited for a lock of SQLite. Absent like `writing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<f64>,
    /// Share of the clients' time in which they had an operation under way.
    pub clients: f64,
    /// Processors that the clients' processes used.
    pub client_cpu: f64,
    /// Processors that the server used; absent without a server, or if it is not contend's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu: Option<f64>,
    /// Processors that everything else used.
    pub other_cpu: f64,
    /// Part of one processor that the worker's own loop takes at this rate, in each of the clients' processes.
    pub generator: f64,
    /// Median fsync right before the window, ns.
    pub sync_ns: u64,
    /// Syncs per second that the server reports; absent if it reports none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syncs_per_s: Option<f64>,
    /// Committed transactions that write, per second.
    pub writes_per_s: f64,
    /// Share of the window in syncs: their number, or that of the writes of a contender that waits for one at each, times
    /// the fsync right before. Above 1 if writes share syncs. Absent where commits wait for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syncing: Option<f64>,
    /// Waits for locks per second that the server reports; absent if it reports none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_waits_per_s: Option<f64>,
    /// Sessions that waited for a lock at the same time, on average, as the server reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_waiting: Option<f64>,
    /// Samples of SQLite's log, some 200 ms apart, between which a checkpoint copied frames; absent without such a log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoints: Option<u32>,
    /// Bytes that clients and server wrote to storage, per second; of a service at an address only its own. Absent if the system
    /// reports none, and for a service without `--pid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes_per_s: Option<f64>,
}

fn rate() -> String {
    RATE.to_string()
}

fn is_rate(of: &str) -> bool {
    of == RATE
}

impl Capacity {
    /// The value in a round: a rate, or a number.
    pub fn value(&self) -> Option<f64> {
        self.rate_per_s.or_else(|| self.number.map(f64::from))
    }
}

impl Probe {
    /// What it showed, for a line of progress.
    pub fn seen_in_words(&self) -> String {
        match self.seen {
            None => format!("closed loop: {}", Rate(self.committed_per_s)),
            Some(ProbeResult::Meets) => "meets the bounds".to_string(),
            Some(ProbeResult::Misses) => format!("misses: {}", self.reason()),
            Some(ProbeResult::NoValue) => format!("does not count: {}", self.reason()),
        }
    }

    /// Why it missed a bound or has no value, with what failed.
    pub fn reason(&self) -> String {
        let between = if self.why.is_empty() || self.failures.is_empty() { "" } else { ": " };
        let again = if self.again { "; ran again" } else { "" };
        format!("{}{between}{}{again}", self.why, self.failures)
    }

    /// The value that was tried. `None` for the closed loop before a search.
    pub fn at(&self) -> Option<f64> {
        self.number.map(f64::from).or(self.rate_per_s)
    }
}

impl Saved {
    /// The arm of which this one is a relaxed form; else the arm itself.
    pub fn contender(&self, arm: usize) -> usize {
        self.arms[arm].relaxed.as_ref().map_or(arm, |relaxed| relaxed.of)
    }

    pub fn of(&self) -> Of {
        Of::named(&self.of)
    }

    /// Reads `limit.toml` of a directory.
    ///
    /// # Errors
    /// It cannot be read, was changed, or is of a later version.
    pub fn read(dir: &Path) -> Result<Self> {
        let path = dir.join(FILE);
        let (text, is_sealed) = seal::read(seal::TOML, &path, "search again")?;
        let read: Self = toml::from_str(&text).with_context(|| format!("{} is damaged", path.display()))?;
        let saved = Self { not_sealed: !is_sealed, ..read };
        let version = saved.format;
        ensure!(version == VERSION, "{} has version {version}; this contend reads version {VERSION}", path.display());
        let arms = saved.arms.len();
        let known = |arm: usize| arm < arms;
        let all = saved.capacities.iter().map(|c| c.arm).chain(saved.probes.iter().map(|p| p.arm));
        let related =
            saved.arms.iter().flat_map(|arm| arm.against.into_iter().chain(arm.relaxed.as_ref().map(|r| r.of)));
        let left_out = saved.budget.iter().flat_map(|budget| budget.left_out.iter().copied());
        let mut all = all.chain(related).chain(left_out);
        ensure!(all.all(known), "{} is damaged: it names an arm that it does not have", path.display());
        let of_round = |c: &Capacity| [c.rate_per_s, c.met, c.missed];
        let is_value = |value: f64| value.is_finite() && value > 0.0;
        let mut values = saved.capacities.iter().flat_map(of_round).flatten();
        ensure!(values.all(is_value), "{} is damaged: a highest rate is no positive number", path.display());
        Ok(saved)
    }

    /// Writes `limit.toml` as a whole.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, dir: &Path) -> Result<()> {
        seal::write(seal::TOML, dir, FILE, &toml::to_string(self)?)
    }

    /// Whether contend did not start the server, so that its use of processors is unknown where it is not measured.
    pub fn is_server_foreign(&self) -> bool {
        self.service || self.attached
    }

    /// Probes of an arm with this result at rates near this one.
    pub fn near(&self, arm: usize, seen: ProbeResult, rate: f64) -> impl Iterator<Item = &Probe> {
        let is_near = move |at: f64| at <= rate * NEAR && at >= rate / NEAR;
        let of_arm = self.probes.iter().filter(move |probe| probe.arm == arm && probe.seen == Some(seen));
        of_arm.filter(move |probe| probe.at().is_some_and(is_near))
    }

    /// Values of an arm by round.
    pub fn values(&self, arm: usize) -> Vec<(u32, f64)> {
        let of_arm = self.capacities.iter().filter(|capacity| capacity.arm == arm);
        of_arm.filter_map(|capacity| Some((capacity.round, capacity.value()?))).collect()
    }
}

impl Arm {
    /// Contender and condition, and what is relaxed.
    pub fn name(&self) -> String {
        let relaxed = self.relaxed.as_ref().map_or(String::new(), |relaxed| format!(", {}", relaxed.how));
        let condition = if self.condition.is_empty() { String::new() } else { format!(" ({})", self.condition) };
        format!("{}{condition}{relaxed}", self.label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_docs_are_of_this_format() {
        let text = include_str!("../../../tests/fixtures/records/examples/limit.toml");
        let saved: Saved = toml::from_str(text).expect("docs/formats.md shows its values");
        assert_eq!(saved.format, VERSION);
    }
}
