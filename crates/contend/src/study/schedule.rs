//! The order of the trials, drawn in advance from the seed, so that a run can be resumed and repeated.
//!
//! An odd round draws an order of the conditions and, within each, of the contenders; the even round
//! after it runs the same slots in reverse. Over such a pair every contender has the same mean position,
//! so a machine that slowly gets warmer or fuller favours none of them.

use super::model::{Slot, Study};

/// The schedule: every contender once per round and condition, trials counted from 1.
pub fn schedule(study: &Study, seed: u64) -> Vec<Slot> {
    slots(study.rounds, study.conditions.len(), study.contenders.len(), seed)
}

/// Seed of a round: all contenders of a round do the same work, and other rounds do other work. It has
/// 63 bits, because the record keeps it in TOML, whose integers are signed.
pub fn seed_of_round(seed: u64, round: u32) -> u64 {
    SplitMix64(seed ^ (u64::from(round) << 32)).draw() >> 1
}

/// The slots of a schedule: trials counted from 1, each contender once per round and condition.
pub fn slots(rounds: u32, conditions: usize, contenders: usize, seed: u64) -> Vec<Slot> {
    // Orders must not follow from the seeds that the work of the rounds is drawn from.
    let mut random = SplitMix64(!seed);
    let mut order: Vec<(usize, usize)> = Vec::new();
    let mut slots = Vec::with_capacity(rounds as usize * conditions * contenders);
    for round in 1..=rounds {
        if round % 2 == 1 {
            order = draw_order(conditions, contenders, &mut random);
        } else {
            order.reverse();
        }
        for (condition, contender) in &order {
            slots.push(Slot { trial: slots.len() as u32 + 1, round, condition: *condition, contender: *contender });
        }
    }
    slots
}

fn draw_order(conditions: usize, contenders: usize, random: &mut SplitMix64) -> Vec<(usize, usize)> {
    let mut order = Vec::with_capacity(conditions * contenders);
    for condition in permutation(conditions, random) {
        order.extend(permutation(contenders, random).into_iter().map(|contender| (condition, contender)));
    }
    order
}

fn permutation(n: usize, random: &mut SplitMix64) -> Vec<usize> {
    let mut items: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        items.swap(last, random.below(last as u64 + 1) as usize);
    }
    items
}

/// Steele, Lea and Flood's generator. Written out because a schedule, or the moments of crashes, must stay the same when a library
/// of generators changes its algorithms.
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; the bias of the multiplication is below n / 2^64.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(n)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn order_of(slots: &[Slot], round: u32) -> Vec<(usize, usize)> {
        slots.iter().filter(|slot| slot.round == round).map(|slot| (slot.condition, slot.contender)).collect()
    }

    #[test]
    fn the_schedule_of_a_seed_is_fixed() {
        let drawn: Vec<_> = (1..=4).map(|round| order_of(&slots(4, 2, 3, 7), round)).collect();
        assert_eq!(
            drawn,
            [
                [(0, 2), (0, 0), (0, 1), (1, 2), (1, 0), (1, 1)],
                [(1, 1), (1, 0), (1, 2), (0, 1), (0, 0), (0, 2)],
                [(0, 2), (0, 1), (0, 0), (1, 0), (1, 2), (1, 1)],
                [(1, 1), (1, 2), (1, 0), (0, 0), (0, 1), (0, 2)],
            ]
        );
    }

    #[test]
    fn every_contender_runs_once_per_round_and_condition() {
        for (rounds, conditions, contenders) in [(1, 1, 1), (6, 1, 5), (5, 3, 2), (12, 2, 12)] {
            let slots = slots(rounds, conditions, contenders, 1);
            let distinct: BTreeSet<_> = slots.iter().map(|s| (s.round, s.condition, s.contender)).collect();
            assert_eq!(slots.len(), rounds as usize * conditions * contenders);
            assert_eq!(distinct.len(), slots.len());
            assert!(slots.iter().enumerate().all(|(i, slot)| slot.trial as usize == i + 1));
            assert!(slots.is_sorted_by_key(|slot| slot.round));
        }
    }

    #[test]
    fn even_rounds_run_in_reverse_which_is_abba_for_two() {
        let slots = slots(8, 1, 2, 3);
        for round in [1, 3, 5, 7] {
            let mut forth = order_of(&slots, round);
            forth.reverse();
            assert_eq!(order_of(&slots, round + 1), forth);
        }
    }

    #[test]
    fn every_order_is_drawn_about_equally_often() {
        let slots = slots(12_000, 1, 3, 11);
        let mut counts = std::collections::BTreeMap::new();
        for round in slots.chunks(3).step_by(2) {
            *counts.entry([round[0].contender, round[1].contender, round[2].contender]).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|n| (900..1_100).contains(n)), "{counts:?}");
    }

    #[test]
    fn rounds_have_seeds_of_their_own() {
        let seeds: BTreeSet<u64> = (0..50).flat_map(|seed| (1..=50).map(move |r| seed_of_round(seed, r))).collect();
        assert_eq!(seeds.len(), 2_500);
        assert!(seeds.iter().all(|seed| i64::try_from(*seed).is_ok()));
        assert_eq!(seed_of_round(1, 1), 1_162_430_989_527_206_583);
    }
}
