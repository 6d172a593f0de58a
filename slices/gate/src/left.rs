//! Processes that a command left running when it ended: their work is not in its time. Pure.

use crate::saved::{Gate, Round, Side};
use contend_stats::precision::counted;
use contend_stats::verdict::Verdict;
use std::collections::{BTreeMap, BTreeSet};

/// A command leaves processes if it did so in one round of this many. Fewer rounds do not move the median far. Their process
/// may also have been about to end.
const OF_ROUNDS: usize = 4;

/// A process's name as the kernel keeps it: its first 15 bytes.
fn cut(name: &str) -> &str {
    const BYTES: usize = 15;
    name.get(..BYTES).unwrap_or(name)
}

/// Whether a process with this name, as the kernel keeps it, is one of the allowed ones.
pub fn may_be_left(allowed: &[String], name: &str) -> bool {
    allowed.iter().any(|allowed| cut(allowed) == name)
}

/// What one command left.
struct Left<'g> {
    /// Rounds that count.
    rounds: usize,
    /// Rounds in which it left a process whose name is not allowed.
    with: usize,
    /// Names of these processes, and in how many rounds they were there.
    names: BTreeMap<&'g str, usize>,
}

impl<'g> Left<'g> {
    fn of(gate: &'g Gate, side: Side) -> Self {
        let names = |round: &'g Round| -> BTreeSet<&'g str> {
            let all = round.left(side).iter().map(String::as_str);
            all.filter(|name| !may_be_left(&gate.may_leave, name)).collect()
        };
        let mut left = Left { rounds: 0, with: 0, names: BTreeMap::new() };
        for names in gate.counting().map(names) {
            left.rounds += 1;
            left.with += usize::from(!names.is_empty());
            names.into_iter().for_each(|name| *left.names.entry(name).or_default() += 1);
        }
        left
    }

    fn leaves(&self) -> bool {
        self.with > 0 && self.with * OF_ROUNDS >= self.rounds
    }

    /// Names that it left often.
    fn usual(&self) -> BTreeSet<&'g str> {
        let often = self.names.iter().filter(|(_, rounds)| **rounds * OF_ROUNDS >= self.rounds);
        often.map(|(name, _)| *name).collect()
    }

    fn in_words(&self, side: Side) -> String {
        let names: Vec<&str> = self.names.keys().copied().take(4).collect();
        let more = self.names.len() - names.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let (side, with) = (side.name(), self.with);
        format!(
            "{side} left processes behind in {with} of {} ({}{more})",
            counted(self.rounds, "round"),
            names.join(", ")
        )
    }
}

/// Why the verdict on the two commands does not hold: one leaves processes that the other does not leave, and what its times
/// lack could change the verdict.
pub fn why_not(gate: &Gate, verdict: &Verdict) -> Option<String> {
    let [a, b] = [Side::A, Side::B].map(|side| (side, Left::of(gate, side)));
    let usual = a.1.usual();
    let is_excused = match (a.1.leaves(), b.1.leaves()) {
        (true, true) => !usual.is_empty() && usual == b.1.usual(),
        (true, false) => matches!(verdict, Verdict::Faster | Verdict::SlightlyFaster),
        (false, true) => matches!(verdict, Verdict::Slower | Verdict::SlightlySlower),
        (false, false) => true,
    };
    if is_excused {
        return None;
    }
    let said: Vec<String> =
        [&a, &b].into_iter().filter(|(_, left)| left.leaves()).map(|(side, left)| left.in_words(*side)).collect();
    let (what, whose) = if said.len() > 1 { ("commands", "their times") } else { ("command", "its time") };
    Some(format!(
        "{}, so {whose} may lack this work; let the {what} wait for them, or name them with --may-leave if they do none of it",
        said.join(", and ")
    ))
}

/// Processes that were left and do not prevent the verdict, as a warning.
pub fn warning(gate: &Gate) -> Option<String> {
    let left = [Side::A, Side::B].map(|side| (side, Left::of(gate, side)));
    let said: Vec<String> =
        left.iter().filter(|(_, left)| left.with > 0).map(|(side, left)| left.in_words(*side)).collect();
    (!said.is_empty()).then(|| {
        format!(
            "{}. contend killed them when the command had ended; no measured time contains their later work.",
            said.join(", and ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::saved::Took;
    use crate::simulation::gate;

    /// A gate of 12 rounds in which the commands left these processes.
    fn of(left: impl Fn(usize) -> [Vec<&'static str>; 2]) -> Gate {
        let took = Took { wall_ns: 1, cpu_ns: 1 };
        let round = |at: usize| {
            let [left_a, left_b] = left(at).map(|names| names.into_iter().map(str::to_string).collect());
            Round { first: Side::A, a: took, b: took, left_a, left_b, marks: vec![], again: false }
        };
        Gate { rounds: (0..12).map(round).collect(), ..gate() }
    }

    fn why_no_word(gate: &Gate) -> Option<String> {
        why_not(gate, &Verdict::NoDifference)
    }

    #[test]
    fn what_is_slower_without_the_work_that_it_leaves_is_slower() {
        let of_b = of(|_| [vec![], vec!["python3"]]);
        assert!(why_not(&of_b, &Verdict::Slower).is_none() && why_not(&of_b, &Verdict::Faster).is_some());
        let of_a = of(|_| [vec!["python3"], vec![]]);
        assert!(why_not(&of_a, &Verdict::Slower).is_some() && why_not(&of_a, &Verdict::Faster).is_none());
    }

    #[test]
    fn work_that_only_one_command_leaves_allows_no_word() {
        let why = why_no_word(&of(|_| [vec![], vec!["python3"]])).expect("a reason");
        assert!(why.starts_with("B left processes behind in 12 of 12 rounds (python3), so its time"), "{why}");
        assert!(why_no_word(&of(|_| [vec!["ssh-agent"], vec!["ssh-agent", "python3"]])).is_some());
        // Other names in each round are never the same on both sides.
        let names = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11"];
        assert!(why_no_word(&of(|at| [vec![names[at]], vec![names[11 - at]]])).is_some());
    }

    #[test]
    fn what_both_leave_or_may_leave_is_only_said() {
        let both = of(|_| [vec!["sccache"], vec!["sccache"]]);
        assert_eq!(why_no_word(&both), None);
        assert!(warning(&both).is_some_and(|text| text.contains("A left") && text.contains("B left")));
        let once = of(|at| [vec![], if at == 3 { vec!["tee"] } else { vec![] }]);
        assert_eq!(why_no_word(&once), None);
        assert!(
            warning(&once).is_some_and(|text| text.starts_with("B left processes behind in 1 of 12 rounds (tee)."))
        );
        let may_leave = ["sccache", "my-compile-server"].map(str::to_string).to_vec();
        let allowed = Gate { may_leave, ..of(|_| [vec![], vec!["sccache", "my-compile-serv"]]) };
        assert_eq!((why_no_word(&allowed), warning(&allowed)), (None, None));
        assert_eq!((why_no_word(&of(|_| [vec![], vec![]])), warning(&of(|_| [vec![], vec![]]))), (None, None));
    }
}
