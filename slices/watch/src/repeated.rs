//! Findings that many processes of a program have: a script that starts a program again and again makes thousands of
//! them, and a server has many workers. The worst stands for all.

use crate::finding::{Finding, Further, Kind};
use crate::process::UNREAD;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

/// Processes of a program that have a finding of the same kind each.
const SINGLE_MAX: usize = 3;

/// Findings, in their order. Where more than [`SINGLE_MAX`] processes of a program have one of the same kind, only the worst
/// stays: the longest, or the first. `program`: the name of a process's program, if known.
pub fn fold(mut found: Vec<Finding>, program: &dyn Fn(u32) -> Option<String>) -> Vec<Finding> {
    // A finding that lasts is not hidden behind past ones.
    type Key = (usize, bool, Option<String>, Discriminant<Kind>);
    let mut of_program: HashMap<Key, Vec<usize>> = HashMap::new();
    for (place, finding) in found.iter().enumerate() {
        let key = (finding.database, finding.seen_ns.is_some(), program(finding.pid), discriminant(&finding.case.kind));
        of_program.entry(key).or_default().push(place);
    }
    let mut is_shown = vec![true; found.len()];
    for places in of_program.into_values().filter(|places| places.len() > SINGLE_MAX) {
        let times_in_all = places.iter().map(|place| found[*place].case.kind.times()).sum();
        let longest = places.iter().copied().min_by_key(|place| Reverse(found[*place].case.kind.longest_ns()));
        places.iter().for_each(|place| is_shown[*place] = Some(*place) == longest);
        let same_program = program(found[places[0]].pid).is_some_and(|name| name != UNREAD);
        let further = Further { processes: places.len() as u64 - 1, times_in_all, same_program };
        longest.into_iter().for_each(|place| found[place].further = Some(further));
    }
    found.into_iter().zip(is_shown).filter_map(|(finding, is_shown)| is_shown.then_some(finding)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Case;

    fn gave_up(pid: u32, longest_ns: u64) -> Finding {
        let kind =
            Kind::TimeoutTooShort { gave_up: 2, longest_ns, holder: None, holder_sql: None, held_ns_max: longest_ns };
        Finding { database: 0, pid, case: Case::of_process(kind), seen_ns: None, further: None }
    }

    #[test]
    fn the_worst_of_many_equal_findings_stands_for_all() {
        let program = |pid: u32| {
            Some(
                if pid < 10 {
                    "app"
                } else if pid < 1_000 {
                    "sqlite3"
                } else {
                    UNREAD
                }
                .to_string(),
            )
        };
        let mut found: Vec<Finding> = (1..=3).map(|pid| gave_up(pid, 5)).collect();
        found.extend((10..110).map(|pid| gave_up(pid, if pid == 50 { 9 } else { 5 })));
        found.extend((1_000..1_004).map(|pid| gave_up(pid, 5)));
        let mut other_kind = gave_up(51, 5);
        other_kind.case.kind = Kind::RefusedAtOnce { refused: 1, holder: None };
        found.push(other_kind.clone());
        let folded = fold(found.clone(), &program);
        let pids: Vec<u32> = folded.iter().map(|finding| finding.pid).collect();
        assert_eq!(pids, [1, 2, 3, 50, 1_000, 51], "three of a program are shown one by one");
        assert_eq!(folded[3].further, Some(Further { processes: 99, times_in_all: Some(200), same_program: true }));
        assert_eq!(folded[4].further, Some(Further { processes: 3, times_in_all: Some(8), same_program: false }));
        assert_eq!((&folded[0], &folded[5]), (&found[0], &other_kind));
        let mut past: Vec<Finding> = (10..14).map(|pid| Finding { seen_ns: Some(1), ..gave_up(pid, 9) }).collect();
        past.push(gave_up(14, 5));
        let pids: Vec<u32> = fold(past, &program).iter().map(|finding| finding.pid).collect();
        assert_eq!(pids, [10, 14], "a finding that lasts and past ones");
    }
}
