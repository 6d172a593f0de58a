//! Planted faults of the disk: the list, which settings depend on each, and where in a log to look for them.

use crate::cuts::{self, Moments, Stretch};
use crate::keys::{LIES, SERVER_LIES};
use contend::engine::{Engine, Settings};
use contend_powercut::lies::Lie;
use contend_powercut::log::{Log, Op};

/// Number of entries after a skipped sync in which its effect is visible: later syncs persist the same data.
const AFTER: usize = 20;

/// A planted fault and the expected result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planted {
    pub name: &'static str,
    pub lie: Lie,
    /// Number of recorded syncs from which the fault must be found; `None`: the setting does not depend on the
    /// skipped syncs.
    pub demanded_from: Option<u64>,
    /// Whether the fault is rare, so that images right after it are judged.
    pub rare: bool,
}

fn planted(name: &'static str, lie: Lie, demanded_from: Option<u64>) -> Planted {
    Planted { name, lie, demanded_from, rare: false }
}

/// For faults that concern every sync, or some entries: a few syncs are enough.
const FEW: Option<u64> = Some(10);

/// A disk that is this many log entries behind.
fn late(entries: usize) -> Planted {
    planted("a sync is acknowledged before it is done", Lie::LateSync { entries }, FEW)
}

/// A disk that skips every `every`th sync. Five skipped syncs are required, because a commit may consist of several
/// different ones.
fn ignoring(name: &'static str, every: u32) -> Planted {
    Planted { rare: every >= 50, ..planted(name, Lie::IgnoreSync { every }, Some(5 * u64::from(every))) }
}

/// Planted faults for an engine with these settings.
pub fn planted_for(engine: &Engine, settings: &Settings) -> Vec<Planted> {
    match engine.server {
        Some(_) => to_servers().to_vec(),
        None => {
            embedded((engine.durability.log_ending)(settings), (engine.durability.commits_by_name)(settings)).to_vec()
        }
    }
}

/// Faults for a server: few, because each image takes long, and none that a server hides by repeating a sync.
fn to_servers() -> [Planted; SERVER_LIES] {
    // A server's commit with a binary log is several entries, and the server may recover it from either log.
    [planted("no sync is done", Lie::IgnoreSync { every: 1 }, FEW), late(200)]
}

/// Faults for an embedded engine. `log`: the ending of its log's name. `commits_by_name`: a commit is the removal of
/// its journal.
fn embedded(log: &str, commits_by_name: bool) -> [Planted; LIES] {
    [
        planted("no sync is done", Lie::IgnoreSync { every: 1 }, FEW),
        ignoring("every 10th sync is not done", 10),
        ignoring("every 50th sync is not done", 50),
        ignoring("every 200th sync is not done", 200),
        late(20),
        planted("a sync takes another file", Lie::SyncOtherFile, FEW),
        // If names persist in order, a synced file has its name; only a commit by name is at risk.
        planted("no sync of directories is done", Lie::NoDirectorySync, FEW.filter(|_| commits_by_name)),
        planted("no sync of the log is done: data comes before it", Lie::IgnoreSyncOf { suffix: log.to_string() }, FEW),
    ]
}

impl Planted {
    /// Whether the fault must be found in a recording with this many syncs of files.
    pub fn must(&self, syncs: u64) -> bool {
        self.demanded_from.is_some_and(|least| syncs >= least)
    }

    /// Positions to judge.
    pub fn moments(&self, log: &Log, stretch: Stretch) -> Moments {
        let some = match &self.lie {
            Lie::IgnoreSync { every } if self.rare => after_each(log, stretch, *every),
            Lie::IgnoreSyncOf { suffix } => cuts::while_written(log, stretch, |name| !name.ends_with(suffix)),
            _ => vec![],
        };
        if some.is_empty() { Moments::All(stretch) } else { Moments::Some(some) }
    }
}

/// Positions right after every `every`th sync of a file or directory, counted as the replayer does.
fn after_each(log: &Log, stretch: Stretch, every: u32) -> Vec<usize> {
    let (mut syncs, mut until, mut positions) = (0u32, 0, vec![]);
    for (at, entry) in log.entries.iter().enumerate().take(stretch.last) {
        if matches!(entry.op, Op::Sync { .. } | Op::SyncDirectory { .. }) {
            syncs += 1;
            if syncs.is_multiple_of(every) {
                until = at + AFTER;
            }
        }
        if until > at && at + 1 >= stretch.first {
            positions.push(at + 1);
        }
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_powercut::log::Entry;

    #[test]
    fn what_a_setting_does_not_depend_on_is_not_demanded() {
        let names = |by_name| {
            let demanded = embedded("-log", by_name).into_iter().filter(|planted| planted.must(u64::MAX));
            demanded.map(|planted| planted.name).collect::<Vec<_>>()
        };
        assert_eq!((names(true).len(), names(false).len()), (LIES, LIES - 1));
        assert!(!names(false).contains(&"no sync of directories is done"));
        let after = |syncs| embedded("-log", true).iter().filter(|planted| planted.must(syncs)).count();
        assert_eq!([9, 10, 49, 50, 250, 1000].map(after), [0, 5, 5, 6, 7, 8], "few syncs show few faults");
    }

    #[test]
    fn rare_faults_are_looked_for_right_after_they_happen() {
        let op = |n: usize| match n % 3 {
            0 => Op::Write { ino: 2, offset: 0, data: vec![1].into(), sync: false },
            1 => Op::Sync { ino: 2, data_only: true },
            _ => Op::SyncDirectory { ino: 1 },
        };
        let entries = (0..900).map(|n| Entry { at_ns: 0, op: op(n) }).collect();
        let log = Log { entries, ..Log::default() };
        // The 50th sync is entry 74, the 100th is entry 149.
        let stretch = Stretch { first: 100, last: 200 };
        let every = ignoring("", 50).moments(&log, stretch);
        assert_eq!(every, Moments::Some((150..150 + AFTER).collect()));
        assert_eq!(ignoring("", 10).moments(&log, stretch), Moments::All(stretch), "often enough");
        assert_eq!(ignoring("", 200).moments(&log, stretch), Moments::All(stretch), "it did not happen");
    }
}
