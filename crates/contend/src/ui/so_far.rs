//! What a run has found so far, in one line: the throughput of each contender, as the median of its rounds.

use crate::stats::interval::median;
use crate::stats::precision::{Rate, counted};
use crate::study::model::{Slot, Study};
use std::collections::BTreeMap;

/// Throughputs of the valid trials by condition and contender.
#[derive(Debug, Default)]
pub struct SoFar(BTreeMap<(usize, usize), Vec<f64>>);

impl SoFar {
    pub fn add(&mut self, slot: Slot, per_s: f64) {
        self.0.entry((slot.condition, slot.contender)).or_default().push(per_s);
    }

    /// `so far, 2 rounds: WAL/FULL 893/s, DELETE/FULL 559/s`, of a condition; as many contenders as the width has room for.
    pub fn line(&self, study: &Study, condition: usize, width: usize) -> String {
        const REST: &str = ", ...";
        let of = || self.0.iter().filter(|((its, _), _)| *its == condition);
        let Some(rounds) = of().map(|(_, values)| values.len()).max() else { return String::new() };
        let mut line = format!("so far, {}:", counted(rounds, "round"));
        for (at, ((_, contender), values)) in of().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let rate = median(values).map_or(String::new(), |rate| Rate(rate).to_string());
            let next = format!("{comma} {} {rate}", study.contenders[*contender].label);
            if line.chars().count() + next.chars().count() + REST.len() > width {
                return line + REST;
            }
            line += &next;
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use crate::study::model::{Extent, Variant};
    use crate::study::{Choices, resolve};

    #[test]
    fn contenders_stand_with_the_median_of_their_rounds_as_far_as_there_is_room() {
        let text = "question = 'q'\nworkload = 'bank'\nkind = 'load'\nheadline = 'throughput_ops_per_s'\nrounds = 6\n\
                    [load]\nwindow = '1s'\n[[contender]]\nlabel = 'A'\nengine = 'sqlite'\n[[contender]]\nlabel = 'B'\n\
                    engine = 'sqlite'\nsettings = { synchronous = 'off' }\n";
        let study = resolve(&Source::new("s", text), &Choices::new(Variant::Corrected, Extent::Full)).expect("a study");
        let mut so_far = SoFar::default();
        assert_eq!(so_far.line(&study, 0, 80), "");
        for (round, contender, per_s) in [(1, 0, 100.0), (1, 1, 50.0), (2, 0, 300.0)] {
            so_far.add(Slot { trial: 1, round, condition: 0, contender }, per_s);
        }
        so_far.add(Slot { trial: 9, round: 1, condition: 1, contender: 0 }, 7.0);
        assert_eq!(so_far.line(&study, 0, 80), "so far, 2 rounds: A 200/s, B 50.0/s");
        assert_eq!(so_far.line(&study, 0, 34), "so far, 2 rounds: A 200/s, ...");
        assert_eq!(so_far.line(&study, 1, 80), "so far, 1 round: A 7.00/s");
    }
}
