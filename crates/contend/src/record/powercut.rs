//! What a record keeps of crashes: counts by model, the controls, and what rebuilds an image that failed.

use crate::study::model::Tier;
use serde::{Deserialize, Serialize};

/// The recorded writes, in a trial's directory, if there is an image to be rebuilt from them.
pub const LOG_FILE: &str = "recording.log";

/// The data as it was when recording began.
pub const BASE_DIR: &str = "base";

/// A crash of the database's processes alone, really made.
pub const PROCESS: &str = "process";

/// Everything that crashes have shown of one contender.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Powercut {
    /// Why no power was cut; none: it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_verified: Option<String>,
    /// Why no process was killed though the study asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_killed: Option<String>,
    /// Why SQLite's VFS wrote the log, of one process, and not a mounted file system; none: that did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_vfs: Option<String>,
    /// Power cuts of a real kernel, which knows nothing of the models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelCuts>,
    /// Why there are none, or not all, though the study asks for them of this contender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_kernel: Option<String>,
    /// Version of the models.
    #[serde(default)]
    pub models_version: u32,
    /// Writes, syncs and changes of names that were recorded, and whether more happened than is kept.
    #[serde(default)]
    pub entries: u64,
    #[serde(default)]
    pub log_bytes: u64,
    #[serde(default)]
    pub log_full: bool,
    /// Syncs of files while the load went on.
    #[serde(default)]
    pub syncs: u64,
    /// Commits acknowledged while it was recorded, and how long that took. No rate follows from it: the recorder is slow.
    #[serde(default)]
    pub acknowledged: u64,
    #[serde(default)]
    pub recorded_ns: u64,
    /// Images that were judged, lies included, and what that took.
    #[serde(default)]
    pub images: u64,
    #[serde(default)]
    pub judging_ns: u64,
    #[serde(default)]
    pub crashes: Vec<Crashes>,
    /// On a disk that lies, to see whether contend finds out.
    #[serde(default)]
    pub lies: Vec<Lie>,
    #[serde(default)]
    pub controls: Vec<Control>,
    #[serde(default)]
    pub failing: Vec<Failing>,
}

/// All crashes of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crashes {
    /// A model of `contend-powercut`, or [`PROCESS`].
    pub model: String,
    /// Empty where it makes no difference.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    pub count: u64,
    pub lossy: u64,
    pub corrupt: u64,
    pub unopenable: u64,
    /// Most acknowledged commits that one crash took, and the longest work.
    pub lost_commits_max: u64,
    pub lost_work_ns_max: u64,
    /// Over all crashes.
    pub lost_commits: u64,
}

/// Cuts of the power of a real kernel on which one client committed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCuts {
    /// The kernel and its file system.
    pub system: String,
    /// Commits that were acknowledged, and how many of them were gone, cut by cut.
    pub acknowledged: Vec<u64>,
    pub lost: Vec<u64>,
    /// What was wrong with what was left, other than commits that were gone.
    #[serde(default)]
    pub wrong: Vec<String>,
}

/// A planted fault of the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lie {
    pub name: String,
    /// Images tried until one failed, or in all.
    pub images: u64,
    pub caught: bool,
    /// Whether no setting can survive it.
    pub must: bool,
}

/// Something known beforehand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    pub name: String,
    pub found: String,
    pub holds: bool,
}

/// An image that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// Counted from 1.
    pub number: u32,
    pub model: String,
    pub namespace: String,
    /// Entries of the log that had happened.
    pub position: u64,
    pub seed: i64,
    /// `lossy`, `corrupt` or `unopenable`.
    pub verdict: String,
    pub detail: String,
    /// The fewest lost pieces with which it still fails, if they were looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub minimal: Vec<String>,
}

impl Crashes {
    pub fn clean(&self) -> u64 {
        self.count - self.bad()
    }

    /// Those that left something else than what was promised to be there.
    pub fn bad(&self) -> u64 {
        self.lossy + self.corrupt + self.unopenable
    }

    /// Whether it is a cut of the power, and not only the end of processes.
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
    /// Crashes of processes alone, simulated and real.
    pub fn process(&self) -> Crashes {
        Crashes::sum(self.crashes.iter().filter(|c| !c.is_power()))
    }

    /// Power cuts on a file system whose names persist in order, which is what the headline is about.
    pub fn power(&self) -> Crashes {
        Crashes::sum(self.crashes.iter().filter(|c| c.is_power() && c.namespace == "journal"))
    }

    /// Power cuts on one where every change of a directory needs a sync of its own.
    pub fn posix(&self) -> Crashes {
        Crashes::sum(self.crashes.iter().filter(|c| c.is_power() && c.namespace == "posix"))
    }

    /// The tier that was reached; none if no power was cut.
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
            // What depends on the file system is told apart.
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
