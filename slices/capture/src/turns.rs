//! Loops over several statements, as sequences of numbers: `a b c b c b c d` is `a (b c) d`.

/// Most statements of a round.
const STEPS_MAX: usize = 16;

/// Steps that are carried out in turn, round after round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loop {
    /// Its first step.
    pub first: usize,
    pub steps: usize,
}

impl Loop {
    pub fn end(self) -> usize {
        self.first + self.steps
    }

    pub fn contains(self, step: usize) -> bool {
        (self.first..self.end()).contains(&step)
    }

    /// Whether both can be loops of the same sequence.
    pub fn goes_with(self, other: Loop) -> bool {
        self == other || self.end() <= other.first || other.end() <= self.first
    }
}

/// A sequence with one round of each loop, and the loops with their numbers of rounds.
#[derive(Debug, PartialEq, Eq)]
pub struct Folded {
    pub steps: Vec<usize>,
    pub loops: Vec<(Loop, u64)>,
}

/// Folds what repeats at least twice; of several loops from the same step on the one that covers most, and of these the shortest.
pub fn fold(all: &[usize]) -> Folded {
    let mut folded = Folded { steps: vec![], loops: vec![] };
    let mut rest = all;
    while !rest.is_empty() {
        let longest = (2..=STEPS_MAX.min(rest.len() / 2)).rev().map(|steps| (steps, rounds(rest, &rest[..steps])));
        let longest = longest.filter(|(_, rounds)| *rounds > 1).max_by_key(|(steps, rounds)| steps * rounds);
        let (steps, rounds) = longest.unwrap_or((1, 1));
        if rounds > 1 {
            folded.loops.push((Loop { first: folded.steps.len(), steps }, rounds as u64));
        }
        folded.steps.extend(&rest[..steps]);
        rest = &rest[steps * rounds..];
    }
    folded
}

/// How many times a sequence begins with a round.
fn rounds(all: &[usize], round: &[usize]) -> usize {
    all.chunks_exact(round.len()).take_while(|chunk| *chunk == round).count()
}

/// Step and round of each element of a sequence, or of its beginning. The last round of such a beginning can be cut short.
pub fn places(all: &[usize], steps: &[usize], loops: &[Loop]) -> Vec<(usize, u64)> {
    let mut places = vec![];
    let (mut step, mut rest) = (0, all);
    while step < steps.len() && !rest.is_empty() {
        let Some(of) = loops.iter().find(|of| of.first == step) else {
            places.push((step, 0));
            (step, rest) = (step + 1, &rest[1..]);
            continue;
        };
        let round = &steps[of.first..of.end()];
        let whole = rounds(rest, round);
        let is_cut = rest.len() - whole * of.steps < of.steps && round.starts_with(&rest[whole * of.steps..]);
        // A cut round, unless the steps after the loop are what it seems to be.
        let cut = match is_cut && !steps[of.end()..].starts_with(&rest[whole * of.steps..]) {
            true => rest.len() - whole * of.steps,
            false => 0,
        };
        let taken = whole * of.steps + cut;
        places.extend((0..taken).map(|at| (of.first + at % of.steps, (at / of.steps) as u64)));
        (step, rest) = (of.end(), &rest[taken..]);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(all: &str) -> Vec<usize> {
        all.bytes().map(usize::from).collect()
    }

    fn folded(all: &str) -> (String, Vec<(usize, usize, u64)>) {
        let Folded { steps, loops } = fold(&of(all));
        let steps = steps.into_iter().map(|step| char::from(step as u8)).collect();
        (steps, loops.into_iter().map(|(of, rounds)| (of.first, of.steps, rounds)).collect())
    }

    #[test]
    fn what_repeats_is_folded() {
        assert_eq!(folded(""), (String::new(), vec![]));
        assert_eq!(folded("abcd"), ("abcd".into(), vec![]), "one round is no loop");
        assert_eq!(folded("abcbcbcd"), ("abcd".into(), vec![(1, 2, 3)]));
        assert_eq!(folded("abcbcdefefef"), ("abcdef".into(), vec![(1, 2, 2), (4, 2, 3)]), "two loops");
        assert_eq!(folded("bcbcb"), ("bcb".into(), vec![(0, 2, 2)]), "a rest");
        assert_eq!(folded("abacabac"), ("abac".into(), vec![(0, 4, 2)]), "the longest part");
        assert_eq!(folded("abababab"), ("ab".into(), vec![(0, 2, 4)]), "the shortest round");
    }

    #[test]
    fn each_element_has_its_step_and_round() {
        let places = |all: &str, steps: &str, loops: &[(usize, usize)]| {
            let loops: Vec<Loop> = loops.iter().map(|&(first, steps)| Loop { first, steps }).collect();
            places(&of(all), &of(steps), &loops)
        };
        let loops = [(1, 2)];
        assert_eq!(places("abcbcd", "abcd", &loops), [(0, 0), (1, 0), (2, 0), (1, 1), (2, 1), (3, 0)]);
        assert_eq!(places("abcd", "abcd", &loops), [(0, 0), (1, 0), (2, 0), (3, 0)], "one round");
        assert_eq!(places("abcb", "abcd", &loops), [(0, 0), (1, 0), (2, 0), (1, 1)], "a round that was cut short");
        assert_eq!(places("ab", "abcd", &loops), [(0, 0), (1, 0)]);
        assert_eq!(
            places("bcbcb", "bcb", &[(0, 2)]),
            [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0)],
            "the step after the loop"
        );
        assert_eq!(places("ab", "ab", &[]), [(0, 0), (1, 0)]);
    }
}
