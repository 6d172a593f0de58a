//! Which moments are looked at: drawn from the seed, so that a run can be done again.

use crate::study::SplitMix64;
use crate::study::model::Powercut;
use crate::study::powercut::LIES;
use contend_powercut::lies::Lie;
use contend_powercut::log::{Entry, Log, Op};
use contend_powercut::replay::{Cut, Model, Namespace};

/// Where in a log the load was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub first: usize,
    /// The last position, inclusive.
    pub last: usize,
}

/// So many cuts in the stretch, all models alike, in the order of the log.
pub fn draw(powercut: &Powercut, points: u32, stretch: Stretch, seed: u64) -> Vec<Cut> {
    let kinds = kinds(powercut);
    let mut random = SplitMix64(seed);
    let mut cuts: Vec<Cut> = (0..points as usize)
        .map(|point| {
            let (model, namespace) = kinds[point % kinds.len()];
            let position = stretch.first + random.below((stretch.last - stretch.first + 1) as u64) as usize;
            // A record keeps it as a TOML integer.
            Cut { position, model, namespace, seed: random.draw() >> 1 }
        })
        .collect();
    cuts.sort_by_key(|cut| cut.position);
    cuts
}

/// Each model with each way of keeping names; without a loss of anything there is only one.
fn kinds(powercut: &Powercut) -> Vec<(Model, Namespace)> {
    let mut kinds = vec![];
    for model in powercut.crashes.iter().filter_map(|word| word.parse::<Model>().ok()) {
        let namespaces = powercut.namespaces.iter().filter_map(|word| word.parse::<Namespace>().ok());
        match model {
            Model::Kill => kinds.push((model, Namespace::Journal)),
            _ => kinds.extend(namespaces.map(|namespace| (model, namespace))),
        }
    }
    kinds
}

/// Faults planted in the disk, and from how many syncs on no setting survives them: whoever waits for a sync that is not
/// done, or is done later, loses what it acknowledged. None: what depends on the setting.
pub fn lies() -> [(&'static str, Lie, Option<u64>); LIES] {
    [
        ("no sync is done", Lie::IgnoreSync { every: 1 }, Some(10)),
        // Five of those that are not done, of different kinds where a commit takes several.
        ("every 10th sync is not done", Lie::IgnoreSync { every: 10 }, Some(50)),
        ("every 50th sync is not done", Lie::IgnoreSync { every: 50 }, None),
        ("every 200th sync is not done", Lie::IgnoreSync { every: 200 }, None),
        ("a sync is acknowledged before it is done", Lie::LateSync { entries: 20 }, Some(10)),
        ("a sync takes another file", Lie::SyncOtherFile, None),
        ("no sync of directories is done", Lie::NoDirectorySync, None),
        ("a sync does not take names and sizes", Lie::NoMetadata, None),
    ]
}

/// Syncs of files in a stretch, and writes that are synced themselves.
pub fn syncs(log: &Log, stretch: Stretch) -> u64 {
    let is_sync = |entry: &&Entry| matches!(entry.op, Op::Sync { .. } | Op::Write { sync: true, .. });
    log.entries.iter().take(stretch.last).skip(stretch.first).filter(is_sync).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::powercut::{CRASHES, NAMESPACES};

    #[test]
    fn every_word_of_a_study_is_a_model() {
        assert_eq!(CRASHES.to_vec(), Model::ALL.map(Model::name).to_vec());
        assert_eq!(NAMESPACES.to_vec(), Namespace::ALL.map(Namespace::name).to_vec());
    }

    #[test]
    fn syncs_are_counted_in_the_stretch_alone() {
        let sync = Op::Sync { ino: 2, data_only: true };
        let write = |sync| Op::Write { ino: 2, offset: 0, data: vec![1].into(), sync };
        let ops = [sync.clone(), write(false), write(true), Op::SyncDirectory { ino: 1 }, sync.clone(), sync];
        let entries = ops.map(|op| Entry { at_ns: 0, op }).to_vec();
        let log = Log { entries, ..Log::default() };
        assert_eq!(syncs(&log, Stretch { first: 1, last: 5 }), 2);
        assert_eq!(syncs(&log, Stretch { first: 0, last: 6 }), 4);
    }

    #[test]
    fn cuts_lie_in_the_stretch_in_order_and_follow_from_the_seed() {
        let powercut = Powercut::default();
        let stretch = Stretch { first: 7, last: 1000 };
        let cuts = draw(&powercut, 900, stretch, 1);
        assert_eq!(cuts.len(), 900);
        assert!(cuts.iter().all(|cut| (7..=1000).contains(&cut.position)));
        assert!(cuts.windows(2).all(|pair| pair[0].position <= pair[1].position));
        assert_eq!(cuts, draw(&powercut, 900, stretch, 1));
        assert_ne!(cuts, draw(&powercut, 900, stretch, 2));
        // Nine kinds: kill, and four models with two namespaces each.
        assert_eq!(cuts.iter().filter(|cut| cut.model == Model::Kill).count(), 100);
        let posix = cuts.iter().filter(|cut| cut.model == Model::Torn && cut.namespace == Namespace::Posix);
        assert_eq!(posix.count(), 100);
    }
}
