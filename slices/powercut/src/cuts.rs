//! The moments of power cuts, drawn from the seed, so that a run can be repeated.

use crate::keys::Wanted;
use contend::study::SplitMix64;
use contend_powercut::log::{Entry, Log, Op};
use contend_powercut::replay::{Cut, Model, Namespace};
use std::collections::BTreeSet;
use std::ffi::OsString;

/// Range of log positions during the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub first: usize,
    /// Last position, inclusive.
    pub last: usize,
}

/// Draws `points` cuts at these positions, equally many for each model, in the order of the log.
pub fn draw(wanted: &Wanted, points: u32, moments: &Moments, seed: u64) -> Vec<Cut> {
    let kinds = kinds(wanted);
    let mut random = SplitMix64(seed);
    let mut cuts: Vec<Cut> = (0..points as usize)
        .map(|point| {
            let (model, namespace) = kinds[point % kinds.len()];
            let position = moments.at(random.below(moments.count()));
            // A record stores the seed as a TOML integer, which is signed.
            Cut { position, model, namespace, seed: random.draw() >> 1 }
        })
        .collect();
    cuts.sort_by_key(|cut| cut.position);
    cuts
}

/// Positions at which the power may be cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moments {
    All(Stretch),
    Some(Vec<usize>),
}

impl Moments {
    /// Positions in a stretch. With `aim`, only those at which the first page of a file with this ending is being
    /// written. Such pages are rarely torn, and some engines keep the file's identity there.
    pub fn of(log: &Log, stretch: Stretch, aim: Option<&str>) -> Self {
        let Some(ending) = aim else { return Moments::All(stretch) };
        let first_page = |offset| offset == 0;
        Moments::Some(pending(log, stretch, |name| name.ends_with(ending), first_page))
    }

    pub fn count(&self) -> u64 {
        match self {
            Moments::All(stretch) => (stretch.last - stretch.first + 1) as u64,
            Moments::Some(positions) => positions.len() as u64,
        }
    }

    fn at(&self, number: u64) -> usize {
        match self {
            Moments::All(stretch) => stretch.first + number as usize,
            Moments::Some(positions) => positions[number as usize],
        }
    }
}

/// Positions at which data of a matching file is being written.
pub fn while_written(log: &Log, stretch: Stretch, is_one: impl Fn(&str) -> bool) -> Vec<usize> {
    pending(log, stretch, is_one, |_| true)
}

fn pending(log: &Log, stretch: Stretch, is_one: impl Fn(&str) -> bool, counts: impl Fn(u64) -> bool) -> Vec<usize> {
    let known = log.known.iter().map(|known| (known.ino, &known.name));
    let created = log.entries.iter().filter_map(|entry| match &entry.op {
        Op::Create { ino, name, .. } => Some((*ino, name)),
        _ => None,
    });
    let is_one = |name: &OsString| is_one(&name.to_string_lossy());
    let files: BTreeSet<u64> = known.chain(created).filter(|(_, name)| is_one(name)).map(|(ino, _)| ino).collect();
    let (mut pending, mut positions) = (BTreeSet::new(), vec![]);
    for (at, entry) in log.entries.iter().enumerate().take(stretch.last) {
        match &entry.op {
            Op::Write { ino, offset, .. } if files.contains(ino) && counts(*offset) => drop(pending.insert(*ino)),
            Op::Sync { ino, .. } => drop(pending.remove(ino)),
            _ => {}
        }
        if !pending.is_empty() && at + 1 >= stretch.first {
            positions.push(at + 1);
        }
    }
    positions
}

/// Each model with each namespace model; for models without loss the namespace makes no difference.
fn kinds(wanted: &Wanted) -> Vec<(Model, Namespace)> {
    let mut kinds = vec![];
    for model in wanted.crashes.iter().filter_map(|word| word.parse::<Model>().ok()) {
        let namespaces = wanted.namespaces.iter().filter_map(|word| word.parse::<Namespace>().ok());
        match model {
            Model::Kill => kinds.push((model, Namespace::Journal)),
            _ => kinds.extend(namespaces.map(|namespace| (model, namespace))),
        }
    }
    kinds
}

/// Syncs of files in a stretch, including writes that are durable by themselves.
pub fn syncs(log: &Log, stretch: Stretch) -> u64 {
    let is_sync = |entry: &&Entry| matches!(entry.op, Op::Sync { .. } | Op::Write { sync: true, .. });
    log.entries.iter().take(stretch.last).skip(stretch.first).filter(is_sync).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{CRASHES, NAMESPACES};

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
    fn aimed_cuts_lie_where_a_first_page_is_on_its_way() {
        let create = |ino, name: &str| Op::Create {
            kind: contend_powercut::log::Kind::File,
            parent: 1,
            ino,
            attributes: contend_powercut::log::Attributes { mode: 0o600, uid: 0, gid: 0 },
            name: name.into(),
            target: OsString::new(),
        };
        let write = |ino, offset| Op::Write { ino, offset, data: vec![1].into(), sync: false };
        let sync = |ino| Op::Sync { ino, data_only: true };
        let ops = [create(2, "t.tab"), create(3, "log"), write(3, 0), write(2, 512), write(2, 0), write(3, 0), sync(2)];
        let entries = ops.into_iter().map(|op| Entry { at_ns: 0, op }).collect();
        let log = Log { entries, ..Log::default() };
        let stretch = Stretch { first: 0, last: 7 };
        assert_eq!(Moments::of(&log, stretch, Some(".tab")), Moments::Some(vec![5, 6]));
        assert_eq!(Moments::of(&log, stretch, Some(".none")).count(), 0);
        assert_eq!(while_written(&log, stretch, |name| name != "log"), [4, 5, 6], "any page of it");
        assert_eq!(Moments::of(&log, stretch, None).count(), 8);
        let cuts = draw(&Wanted::default(), 90, &Moments::of(&log, stretch, Some(".tab")), 1);
        assert!(cuts.iter().all(|cut| [5, 6].contains(&cut.position)));
    }

    #[test]
    fn cuts_lie_in_the_stretch_in_order_and_follow_from_the_seed() {
        let powercut = Wanted::default();
        let stretch = Stretch { first: 7, last: 1000 };
        let moments = Moments::All(stretch);
        let cuts = draw(&powercut, 900, &moments, 1);
        assert_eq!(cuts.len(), 900);
        assert!(cuts.iter().all(|cut| (7..=1000).contains(&cut.position)));
        assert!(cuts.windows(2).all(|pair| pair[0].position <= pair[1].position));
        assert_eq!(cuts, draw(&powercut, 900, &moments, 1));
        assert_ne!(cuts, draw(&powercut, 900, &moments, 2));
        // Nine combinations: kill, and four models with two namespaces each.
        assert_eq!(cuts.iter().filter(|cut| cut.model == Model::Kill).count(), 100);
        let posix = cuts.iter().filter(|cut| cut.model == Model::Torn && cut.namespace == Namespace::Posix);
        assert_eq!(posix.count(), 100);
    }
}
