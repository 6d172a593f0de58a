//! Decides which pending changes reach the disk. Every random choice is a function of the cut's seed and of its
//! subject (file, page, entry), so an image does not depend on where and in which order images are made.

use std::collections::{HashMap, HashSet};

use super::object::{At, Object};
use super::{Cut, Model};
use crate::log::Ino;

pub const PAGE: u64 = 4096;
pub const SECTOR: u64 = 512;

/// The decision for one image.
pub struct Fate {
    pub data: Data,
    pub metadata: Metadata,
}

pub enum Data {
    All,
    /// Changes before this entry are on disk.
    Before(At),
    /// Chosen at random for each page.
    Random(Chance),
    /// Units of this size; those that are named lose every change from the given entry on.
    Lost {
        unit: u64,
        limits: HashMap<(Ino, u64), At>,
    },
}

pub enum Metadata {
    All,
    Before(At),
    /// Everything but these entries is on disk.
    Lost(HashSet<At>),
}

#[derive(Clone, Copy)]
pub struct Chance {
    seed: u64,
    /// Probability, in 256ths, that a page is on disk in its newest version.
    newest: u64,
    torn: bool,
}

/// The decision for one file.
pub enum Limits {
    All,
    Before(At),
    /// Sorted by unit: only changes before the entry reach the disk. Units not named are complete.
    Units(u64, Vec<(u64, At)>),
}

impl Limits {
    /// Size of the pieces that are decided separately, if any.
    pub fn unit(&self) -> Option<u64> {
        match self {
            Limits::Units(unit, limits) if !limits.is_empty() => Some(*unit),
            _ => None,
        }
    }

    pub fn keeps(&self, unit: u64, at: At) -> bool {
        match self {
            Limits::All => true,
            Limits::Before(limit) => at < *limit,
            Limits::Units(_, limits) => match limits.binary_search_by_key(&unit, |(unit, _)| *unit) {
                Ok(i) => at < limits[i].1,
                Err(_) => true,
            },
        }
    }
}

impl Fate {
    /// Nothing is lost.
    pub fn all() -> Fate {
        Fate { data: Data::All, metadata: Metadata::All }
    }

    pub fn keeps_metadata(&self, at: At) -> bool {
        match &self.metadata {
            Metadata::All => true,
            Metadata::Before(limit) => at < *limit,
            Metadata::Lost(lost) => !lost.contains(&at),
        }
    }

    /// The decision for one file.
    pub fn limits(&self, object: &Object) -> Limits {
        match &self.data {
            Data::All => Limits::All,
            Data::Before(limit) => Limits::Before(*limit),
            Data::Random(chance) => chance.limits(object),
            Data::Lost { unit, limits } => {
                let mut own: Vec<_> =
                    limits.iter().filter(|((ino, _), _)| *ino == object.ino).map(|((_, u), at)| (*u, *at)).collect();
                own.sort_unstable();
                Limits::Units(*unit, own)
            }
        }
    }
}

impl Chance {
    pub fn new(cut: &Cut) -> Chance {
        // Disks that have written almost nothing, half, or almost everything reveal different faults.
        let newest = [24, 128, 232][(mix(cut.seed, 1, 0) % 3) as usize];
        Chance { seed: cut.seed, newest, torn: cut.model == Model::Torn }
    }

    /// Whether a change of metadata is lost, if each is decided separately.
    pub fn loses(&self, at: At) -> bool {
        mix(self.seed, 2, u64::from(at)) % 256 >= self.newest
    }

    /// One of `n + 1` points; the last one with probability `newest`.
    pub fn point(&self, n: usize) -> usize {
        self.version(mix(self.seed, 3, n as u64), n)
    }

    /// How many of `n` changes are on disk.
    fn version(&self, random: u64, n: usize) -> usize {
        if n == 0 || random % 256 < self.newest { n } else { ((random >> 8) % n as u64) as usize }
    }

    fn limits(&self, object: &Object) -> Limits {
        // The entries that touch each page.
        let mut touches: Vec<(u64, At)> = vec![];
        for event in &object.pending {
            if let Some((start, end)) = event.change.range()
                && start < end
            {
                touches.extend((start / PAGE..=(end - 1) / PAGE).map(|page| (page, event.at)));
            }
        }
        touches.sort_unstable();
        let unit = if self.torn { SECTOR } else { PAGE };
        let mut limits = vec![];
        for versions in touches.chunk_by(|a, b| a.0 == b.0) {
            self.limit_page(object.ino, versions, &mut limits);
        }
        Limits::Units(unit, limits)
    }

    fn limit_page(&self, ino: Ino, versions: &[(u64, At)], limits: &mut Vec<(u64, At)>) {
        let page = versions[0].0;
        let random = mix(self.seed ^ mix(ino, 4, 0), 5, page);
        let mut limit = |unit: u64, random: u64| {
            if let Some((_, at)) = versions.get(self.version(random, versions.len())) {
                limits.push((unit, *at));
            }
        };
        if !self.torn {
            return limit(page, random);
        }
        // Half of the pages are whole; in the others each sector is decided separately.
        let whole = random >> 63 == 0;
        for i in 0..PAGE / SECTOR {
            limit(page * (PAGE / SECTOR) + i, if whole { random } else { mix(random, 6, i) });
        }
    }
}

/// Sixty-four random bits, a function of three numbers (splitmix64).
pub fn mix(seed: u64, kind: u64, number: u64) -> u64 {
    let mut z = seed
        .wrapping_add(kind.wrapping_mul(0xD1B5_4A32_D192_ED03))
        .wrapping_add(number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
