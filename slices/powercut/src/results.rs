//! Results of a trial's crashes in its record: counts by model, controls, and the data that rebuilds an image that failed.

use crate::keys::NAME;
use contend::contender::Tier;
use contend::record::model::Trial;
use serde::{Deserialize, Serialize};

/// Recorded writes in a trial's directory, if an image can be rebuilt from them.
pub const LOG_FILE: &str = "recording.log";

/// Copy of the data at the start of the recording.
pub const BASE_DIR: &str = "base";

/// Model of a crash of the database's processes alone, made by killing them.
pub const PROCESS: &str = "process";

/// Results of the crashes of one contender.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Powercut {
    /// Why no power was cut; absent if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_verified: Option<String>,
    /// Why no process was killed, although the study requires it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_killed: Option<String>,
    /// Why SQLite's VFS recorded one process; absent if a mounted file system recorded all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_vfs: Option<String>,
    /// Power cuts of a real kernel, without models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelCuts>,
    /// Why power cuts of a real kernel are missing, although the study requires them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_kernel: Option<String>,
    /// Version of the models.
    #[serde(default)]
    pub models_version: u32,
    /// Writes, syncs and changes of names in the log.
    #[serde(default)]
    pub entries: u64,
    /// Length of the log.
    #[serde(default)]
    pub log_bytes: u64,
    /// Whether the log was full before the load ended.
    #[serde(default)]
    pub log_full: bool,
    /// Syncs of files during the load.
    #[serde(default)]
    pub syncs: u64,
    /// Commits acknowledged during the recording.
    #[serde(default)]
    pub acknowledged: u64,
    /// Length of the recording. The recorder is slow, so this gives no rate.
    #[serde(default)]
    pub recorded_ns: u64,
    /// Images that were judged, lies included.
    #[serde(default)]
    pub images: u64,
    /// Time of the judging.
    #[serde(default)]
    pub judging_ns: u64,
    /// Counts of crashes by model and order of names.
    #[serde(default)]
    pub crashes: Vec<Crashes>,
    /// Planted faults of the disk, which contend should find.
    #[serde(default)]
    pub lies: Vec<Lie>,
    /// Facts known in advance, each compared with the crashes.
    #[serde(default)]
    pub controls: Vec<Control>,
    /// Images that failed and can be rebuilt.
    #[serde(default)]
    pub failing: Vec<Failing>,
}

/// All crashes of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crashes {
    /// Model of the crash: of docs/powercut.md, or `process` for a killed process.
    pub model: String,
    /// How names and sizes of files persist, `journal` or `posix`; absent where it makes no difference.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Crashes in all.
    pub count: u64,
    /// Crashes that lost acknowledged commits.
    pub lossy: u64,
    /// Crashes that left corrupt data.
    pub corrupt: u64,
    /// Crashes after which the database does not open.
    pub unopenable: u64,
    /// Most acknowledged commits that one crash lost.
    pub lost_commits_max: u64,
    /// Longest work that one crash lost.
    pub lost_work_ns_max: u64,
    /// Acknowledged commits lost over all crashes.
    pub lost_commits: u64,
}

/// Power cuts of a real kernel with one client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCuts {
    /// Kernel and file system.
    pub system: String,
    /// Acknowledged commits, by cut.
    pub acknowledged: Vec<u64>,
    /// Lost commits, by cut.
    pub lost: Vec<u64>,
    /// Faults in the data other than lost commits.
    #[serde(default)]
    pub wrong: Vec<String>,
}

/// A planted fault of the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lie {
    /// Name of the fault.
    pub name: String,
    /// Images until the first that failed, or in all.
    pub images: u64,
    /// Whether an image failed.
    pub caught: bool,
    /// Whether no setting can survive the fault.
    pub must: bool,
}

/// A fact known in advance, compared with the crashes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    /// The fact, in words.
    pub name: String,
    /// Result of the crashes, in words.
    pub found: String,
    /// Whether the crashes agree with the fact.
    pub holds: bool,
}

/// An image that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// Number of the image, from 1.
    pub number: u32,
    /// Model of the crash.
    pub model: String,
    /// How names and sizes of files persist.
    pub namespace: String,
    /// Entries of the log before the crash.
    pub position: u64,
    /// Seed of the model's choices.
    pub seed: i64,
    /// `lossy`, `corrupt` or `unopenable`.
    pub verdict: String,
    /// What was found, in words.
    pub detail: String,
    /// Fewest lost pieces with which the image still fails, if contend searched for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub minimal: Vec<String>,
}

impl Crashes {
    pub fn clean(&self) -> u64 {
        self.count - self.bad()
    }

    /// Number of crashes that lost or damaged data.
    pub fn bad(&self) -> u64 {
        self.lossy + self.corrupt + self.unopenable
    }

    /// Whether it is a power cut, not only the death of processes.
    pub fn is_power(&self) -> bool {
        self.model != "kill" && self.model != PROCESS
    }

    /// The sum of several.
    pub fn sum<'c>(all: impl IntoIterator<Item = &'c Crashes>) -> Crashes {
        let mut sum = Crashes::default();
        for one in all {
            sum.count += one.count;
            sum.lossy += one.lossy;
            sum.corrupt += one.corrupt;
            sum.unopenable += one.unopenable;
            sum.lost_commits += one.lost_commits;
            sum.lost_commits_max = sum.lost_commits_max.max(one.lost_commits_max);
            sum.lost_work_ns_max = sum.lost_work_ns_max.max(one.lost_work_ns_max);
        }
        sum
    }
}

impl Powercut {
    /// The results of a trial whose contender was crashed; `None` for other trials.
    pub fn of(trial: &Trial) -> Option<Self> {
        trial.kinds.read(NAME)
    }

    /// Crashes of processes alone, simulated and real.
    pub fn process(&self) -> Crashes {
        Crashes::sum(self.crashes.iter().filter(|c| !c.is_power()))
    }

    /// Power cuts on a file system that persists names in order: those of the answer.
    pub fn power(&self) -> Crashes {
        Crashes::sum(self.crashes.iter().filter(|c| c.is_power() && c.namespace == "journal"))
    }

    /// Power cuts on a file system where every change of a directory needs a sync.
    pub fn posix(&self) -> Crashes {
        Crashes::sum(self.crashes.iter().filter(|c| c.is_power() && c.namespace == "posix"))
    }

    /// Tier that the crashes show; `None` if no power was cut.
    pub fn reached(&self) -> Option<Tier> {
        let (power, process) = (self.power(), self.process());
        if self.not_verified.is_some() || power.count == 0 {
            return None;
        }
        let (bad, lossy) = (power.corrupt + power.unopenable + process.corrupt + process.unopenable, power.lossy);
        Some(match (bad, lossy + process.lossy) {
            (0, 0) => Tier::Durable,
            (0, _) => Tier::Bounded,
            _ => Tier::Unsafe,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crashes(model: &str, namespace: &str, lossy: u64, corrupt: u64) -> Crashes {
        let (model, namespace) = (model.to_string(), namespace.to_string());
        Crashes { model, namespace, count: 100, lossy, corrupt, ..Crashes::default() }
    }

    #[test]
    fn the_tier_reached_follows_from_what_ordered_file_systems_and_processes_left() {
        let table = [
            (vec![crashes("kill", "", 0, 0), crashes("drop", "journal", 0, 0)], Some(Tier::Durable)),
            (vec![crashes("kill", "", 0, 0), crashes("drop", "journal", 3, 0)], Some(Tier::Bounded)),
            (vec![crashes("kill", "", 2, 0), crashes("drop", "journal", 0, 0)], Some(Tier::Bounded)),
            (vec![crashes("kill", "", 0, 0), crashes("torn", "journal", 9, 1)], Some(Tier::Unsafe)),
            (vec![crashes(PROCESS, "", 0, 1), crashes("drop", "journal", 0, 0)], Some(Tier::Unsafe)),
            // Results that depend on the file system are distinguished.
            (vec![crashes("drop", "journal", 0, 0), crashes("drop", "posix", 0, 5)], Some(Tier::Durable)),
            (vec![crashes("kill", "", 0, 0)], None),
        ];
        for (crashes, expected) in table {
            let found = Powercut { crashes: crashes.clone(), ..Powercut::default() };
            assert_eq!(found.reached(), expected, "{crashes:?}");
            let unverified = Powercut { not_verified: Some("no FUSE".to_string()), ..found };
            assert_eq!(unverified.reached(), None);
        }
    }

    #[test]
    fn sums_keep_the_worst() {
        let worst = Crashes { lost_commits_max: 7, ..crashes("drop", "journal", 2, 1) };
        let sum = Crashes::sum([&worst, &crashes("torn", "journal", 1, 0)]);
        assert_eq!((sum.count, sum.bad(), sum.clean(), sum.lost_commits_max), (200, 4, 196, 7));
    }
}
