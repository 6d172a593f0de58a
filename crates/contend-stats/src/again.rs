//! Decides which measurements are repeated because something outside disturbed them.
//!
//! The decision depends on the marks of the machine alone (other programs used the processors, the disk was not quiet) and
//! never on what was measured: repeating what looks wrong would make false alarms.

/// Share of all measurements that may be repeated.
pub const SHARE: f64 = 0.2;
/// This many may be repeated even if that share is less.
pub const FIRST: usize = 3;

/// Counts repeated measurements.
#[derive(Debug, Clone, Copy, Default)]
pub struct Again {
    /// How many so far.
    pub count: usize,
    /// Whether the last measurement was to be repeated.
    was_due: bool,
}

/// Whether one more may be repeated, after `count` repetitions among `before` measurements.
pub fn is_left(count: usize, before: usize) -> bool {
    count < FIRST.max((before as f64 * SHARE) as usize)
}

impl Again {
    /// Whether the last measurement, after `before` others, is repeated. The repetition counts as it is.
    pub fn is_due(&mut self, disturbed: bool, before: usize) -> bool {
        self.was_due = disturbed && !self.was_due && is_left(self.count, before);
        self.count += usize::from(self.was_due);
        self.was_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{Direction, MARGIN, RoundPair, Verdict, compare_rounds};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Bernoulli, Distribution, Exp1, Normal};

    const COMPARISONS: usize = 2000;

    /// A machine on which other programs begin to work in some trials.
    #[derive(Clone, Copy)]
    struct Machine {
        /// Share of the trials in which they do. Such a trial takes 30 % longer in the mean, and nine of ten are marked.
        disturbed: f64,
        runs_again: bool,
        /// How much longer the candidate takes.
        effect: f64,
    }

    impl Machine {
        /// Time of a trial, and whether it is marked.
        fn trial(self, factor: f64, rng: &mut ChaCha8Rng) -> (f64, bool) {
            let chance = |p: f64, rng: &mut ChaCha8Rng| Bernoulli::new(p).unwrap().sample(rng);
            let noise: f64 = Normal::new(1.0, 0.04).unwrap().sample(rng);
            let lost: f64 = Exp1.sample(rng);
            let disturbed = chance(self.disturbed, rng);
            let marked = chance(if disturbed { 0.9 } else { 0.02 }, rng);
            (factor * noise * if disturbed { 1.0 + 0.3 * lost } else { 1.0 }, marked)
        }

        /// Rounds that count, and how many ran again.
        fn rounds(self, count: usize, rng: &mut ChaCha8Rng) -> (Vec<RoundPair>, usize) {
            let (mut rounds, mut again) = (vec![], Again::default());
            while rounds.len() < count {
                let ((baseline, a), (candidate, b)) = (self.trial(1.0, rng), self.trial(1.0 + self.effect, rng));
                if !(self.runs_again && again.is_due(a || b, rounds.len())) {
                    rounds.push(RoundPair { baseline, candidate });
                }
            }
            (rounds, again.count)
        }

        /// Share of comparisons that claim a difference, middle of their smallest effects that can be seen, and mean number of
        /// rounds that ran again.
        fn comparisons(self, rounds: usize) -> (f64, f64, f64) {
            let mut rng = ChaCha8Rng::seed_from_u64(rounds as u64);
            let (mut claims, mut widths, mut again) = (0, vec![], 0);
            for _ in 0..COMPARISONS {
                let (pairs, more) = self.rounds(rounds, &mut rng);
                let found = compare_rounds(&pairs, Direction::LowerIsBetter, MARGIN, None);
                claims += usize::from(Verdict::is_difference(&found.verdict));
                widths.extend(found.minimum_detectable_effect);
                again += more;
            }
            widths.sort_by(f64::total_cmp);
            let mean = |n: usize| n as f64 / COMPARISONS as f64;
            (mean(claims), widths[widths.len() / 2], mean(again))
        }
    }

    #[test]
    fn running_again_makes_no_differences_and_finds_more_of_them() {
        for rounds in [6, 12, 20] {
            let machine = Machine { disturbed: 0.1, runs_again: true, effect: 0.0 };
            let (claims, width, _) = machine.comparisons(rounds);
            let (_, without, _) = Machine { runs_again: false, ..machine }.comparisons(rounds);
            assert!(claims <= 0.05 && width < without, "{rounds} rounds: {claims}, {width} against {without}");
        }
        let planted = Machine { disturbed: 0.1, runs_again: true, effect: 0.10 };
        let (found, ..) = planted.comparisons(12);
        let (without, ..) = Machine { runs_again: false, ..planted }.comparisons(12);
        assert!(found > without && found > 0.90, "{found} against {without}");
    }

    #[test]
    #[ignore = "prints the table of docs/methodology.md"]
    fn print_the_table() {
        println!("| rounds | disturbed trials | ran again | claims on A/A | smallest effect seen | 10 % found |");
        println!("|---|---|---|---|---|---|");
        for (rounds, disturbed) in [(6, 0.1), (12, 0.1), (20, 0.1), (12, 0.3)] {
            let of = |runs_again| {
                let machine = Machine { disturbed, runs_again, effect: 0.0 };
                let ((claims, width, again), (found, ..)) =
                    (machine.comparisons(rounds), Machine { effect: 0.10, ..machine }.comparisons(rounds));
                ([100.0 * claims, 100.0 * width, 100.0 * found], again)
            };
            let ((with, again), (without, _)) = (of(true), of(false));
            let both = |at: usize| format!("{:.1} % ({:.1} %)", with[at], without[at]);
            let share = 100.0 * disturbed;
            println!("| {rounds} | {share:.0} % | {again:.1} | {} | {} | {} |", both(0), both(1), both(2));
        }
    }

    #[test]
    fn what_was_made_again_counts_as_it_is() {
        let mut again = Again::default();
        assert_eq!([true, true, true, false].map(|disturbed| again.is_due(disturbed, 0)), [true, false, true, false]);
        assert_eq!(again.count, 2);
    }

    #[test]
    fn a_machine_that_is_never_quiet_costs_a_fifth_more() {
        let mut again = Again::default();
        let made: Vec<bool> = (0..1000).map(|before| again.is_due(true, before)).collect();
        assert_eq!(made.iter().take(10).filter(|due| **due).count(), FIRST);
        assert_eq!(again.count, 199, "a fifth of the 999 before the last one");
    }
}
