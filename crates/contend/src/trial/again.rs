//! Rounds that run again because something outside disturbed them. What is compared runs again together: all trials of one round
//! under one condition, under new numbers. The marks of the trials alone decide, and never how fast they were. A round in which
//! the work of a trial was wrong does not run again: what was found there must count.

use crate::outcome::mark::is_disturbed;
use crate::record::model::{Mark, Reason, Run, Slot};
use crate::stats::again::is_left;
use std::collections::BTreeSet;

/// Trials that are compared: round and condition.
type Together = (u32, usize);

fn together(slot: &Slot) -> Together {
    (slot.round, slot.condition)
}

/// The trials that ended with the last one before `at`, if no other of them is left. What a kind of study continues after the
/// last round has not ended.
pub fn ended(run: &Run, at: usize) -> impl Iterator<Item = &Slot> {
    let last = at.checked_sub(1).map(|last| together(&run.schedule[last]));
    let last = last.filter(|(round, _)| run.study.of_kind().is_none() || *round != run.study.rounds);
    let last = last.filter(|last| run.schedule.get(at).is_none_or(|next| together(next) != *last));
    run.schedule.iter().filter(move |slot| Some(together(slot)) == last)
}

/// Whether trials that ended together run again, by the marks and reasons of each. The second time they count as they are.
pub fn is_due(run: &Run, ended: &[Slot], trials: &[(Vec<Mark>, Vec<Reason>)]) -> bool {
    let Some(this) = ended.first().map(together) else { return false };
    let before: BTreeSet<Together> = run.schedule.iter().map(together).take_while(|other| *other != this).collect();
    let again: BTreeSet<Together> = run.again.iter().map(together).collect();
    let may = match run.study.again {
        Some(most) => again.len() < most as usize,
        None => is_left(again.len(), before.len()),
    };
    let is_wrong = trials.iter().flat_map(|(_, reasons)| reasons).any(|reason| reason.kind.is_of_work());
    may && !again.contains(&this) && !is_wrong && trials.iter().any(|(marks, _)| is_disturbed(marks))
}

/// Replaces trials in the schedule by trials with new numbers.
pub fn replace(run: &mut Run, ended: &[Slot]) {
    let last = run.schedule.iter().chain(&run.again).map(|slot| slot.trial).max().unwrap_or(0);
    let here = run.schedule.iter_mut().filter(|slot| ended.contains(slot));
    (last + 1..).zip(here).for_each(|(number, slot)| slot.trial = number);
    run.again.extend(ended);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::reason::Invalid;
    use crate::report::testing::Story;
    use std::collections::BTreeMap;

    const NOISY: Mark = Mark::NoisyCpu { permille: 400 };

    /// Carries out a schedule on which `is_noisy` falls, and returns the trials that count.
    fn carried_out(run: &mut Run, mut is_noisy: impl FnMut(&Slot) -> bool) -> Vec<Slot> {
        let (mut marks, mut done) = (BTreeMap::<u32, Vec<Mark>>::new(), 0);
        loop {
            let of_last: Vec<Slot> = ended(run, done).copied().collect();
            let found: Vec<_> = of_last.iter().map(|slot| (marks[&slot.trial].clone(), vec![])).collect();
            if is_due(run, &of_last, &found) {
                replace(run, &of_last);
                done -= of_last.len();
            }
            let Some(slot) = run.schedule.get(done) else { return run.schedule.clone() };
            marks.insert(slot.trial, if is_noisy(slot) { vec![NOISY] } else { vec![] });
            done += 1;
        }
    }

    fn run(rounds: u32, conditions: usize, contenders: usize) -> Run {
        let mut run = Story { rounds, ..Story::default() }.run();
        run.study.conditions = vec![run.study.conditions[0].clone(); conditions];
        run.schedule = crate::study::slots(rounds, conditions, contenders, 1);
        run
    }

    #[test]
    fn what_is_compared_runs_again_together_and_once() {
        let mut run = run(4, 2, 3);
        let disturbed = run.schedule[7];
        let counting = carried_out(&mut run, |slot| together(slot) == together(&disturbed) && slot.trial % 3 == 2);
        assert_eq!(run.again.iter().map(|slot| slot.trial).collect::<Vec<_>>(), [7, 8, 9]);
        assert_eq!(counting.iter().map(|slot| slot.trial).collect::<Vec<_>>()[5..10], [6, 25, 26, 27, 10]);
        let places = |slots: &[Slot]| slots.iter().map(|s| (s.round, s.condition, s.contender)).collect::<Vec<_>>();
        assert_eq!(places(&counting), places(&crate::study::slots(4, 2, 3, 1)), "the same order as before");
        assert_eq!([6, 25, 8, 28].map(|trial| run.slot(trial).is_some()), [true, true, true, false]);
    }

    #[test]
    fn a_machine_that_is_never_quiet_costs_three_rounds_or_a_fifth() {
        for (rounds, most, expected) in
            [(6, None, 3), (40, None, 7), (40, Some(1), 1), (6, Some(5), 5), (6, Some(0), 0)]
        {
            let mut run = run(rounds, 1, 2);
            run.study.again = most;
            assert_eq!(carried_out(&mut run, |_| true).len(), 2 * rounds as usize);
            assert_eq!(run.again.len(), 2 * expected, "{rounds} rounds, at most {most:?}");
        }
    }

    #[test]
    fn wrong_work_counts_in_a_disturbed_round_too() {
        let run = run(2, 1, 2);
        let due = |kind: Invalid| {
            let wrong = (vec![], vec![kind.because("found")]);
            is_due(&run, &run.schedule[2..], &[(vec![NOISY], vec![]), wrong])
        };
        let repeated: Vec<Invalid> = Invalid::ALL.into_iter().filter(|kind| due(*kind)).collect();
        for kind in [Invalid::Invariant, Invalid::Commits, Invalid::Answers, Invalid::Settings, Invalid::Accounts] {
            assert!(!repeated.contains(&kind), "{kind:?}");
        }
        for kind in [Invalid::Stalled, Invalid::LittlesLaw, Invalid::NotReady, Invalid::Clock] {
            assert!(repeated.contains(&kind), "a busy machine explains {kind:?}");
        }
    }

    #[test]
    fn marks_of_the_work_and_what_a_kind_continues_do_not_run_again() {
        let mut run = run(2, 1, 2);
        let due = |mark: Mark| is_due(&run, &run.schedule[2..], &[(vec![], vec![]), (vec![mark], vec![])]);
        assert!(due(NOISY) && due(Mark::NoisyDisk { sync_ns: 1 }));
        assert!(!due(Mark::Starved { clients: 1, of: 2 }));
        let counts = |run: &Run| [1, 2, 3, 4].map(|at| ended(run, at).count());
        assert_eq!(counts(&run), [0, 2, 0, 2]);
        run.study.kind = "idle".to_string();
        run.study.kinds.put("idle", &BTreeMap::<u32, u32>::new()).expect("a table");
        assert_eq!(counts(&run), [0, 2, 0, 0], "its last round goes on");
    }
}
