//! Findings that several processes of a program have: a server has equal workers, and a script that starts a program again
//! and again makes thousands of them. The worst stands for all.

use crate::finding::{Finding, Further, Kind};
use crate::process::UNREAD;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

/// Processes of unknown programs that have a finding of the same kind each.
const UNKNOWN_MAX: usize = 3;

/// Findings, in their order. Where several processes of a program have one of the same kind, only the worst stays: the longest,
/// or the first. `program`: the name of a process's program, if known.
pub fn fold(mut found: Vec<Finding>, program: &dyn Fn(u32) -> Option<String>) -> Vec<Finding> {
    // A finding that lasts is not hidden behind past ones.
    type Key = (usize, bool, Option<String>, Discriminant<Kind>);
    let mut of_program: HashMap<Key, Vec<usize>> = HashMap::new();
    for (place, finding) in found.iter().enumerate() {
        let key = (finding.database, finding.seen_ns.is_some(), program(finding.pid), discriminant(&finding.case.kind));
        of_program.entry(key).or_default().push(place);
    }
    let mut is_shown = vec![true; found.len()];
    for places in of_program.into_values() {
        let same_program = program(found[places[0]].pid).is_some_and(|name| name != UNREAD);
        if places.len() <= if same_program { 1 } else { UNKNOWN_MAX } {
            continue;
        }
        let kinds = || places.iter().map(|place| &found[*place].case.kind);
        let costs = || places.iter().map(|place| found[*place].cost_ns);
        // A commit waits for several readers at the same time, and each has the whole wait.
        let is_shared = kinds().any(|kind| matches!(kind, Kind::ReadersBlockWriter { .. }));
        let times_in_all = kinds().map(|kind| kind.times().filter(|_| !is_shared)).sum();
        let ns_in_all = kinds().map(|kind| kind.total_ns().filter(|_| !is_shared)).sum();
        let cost_ns = if is_shared { costs().max().unwrap_or(0) } else { costs().sum() };
        let longest = places.iter().copied().min_by_key(|place| Reverse(found[*place].case.kind.longest_ns()));
        places.iter().for_each(|place| is_shown[*place] = Some(*place) == longest);
        let further = Further { processes: places.len() as u64 - 1, times_in_all, ns_in_all, same_program };
        longest.into_iter().for_each(|place| (found[place].further, found[place].cost_ns) = (Some(further), cost_ns));
    }
    found.into_iter().zip(is_shown).filter_map(|(finding, is_shown)| is_shown.then_some(finding)).collect()
}

/// Findings with the costliest first: of what keeps others out, then of who was refused, then of what costs a process its own
/// time.
pub fn sort(mut found: Vec<Finding>) -> Vec<Finding> {
    found.sort_by_key(|finding| {
        let kind = &finding.case.kind;
        (kind.rank(), Reverse(finding.cost_ns), Reverse(kind.longest_ns()))
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Case;

    fn gave_up(pid: u32, longest_ns: u64) -> Finding {
        let kind = Kind::TimeoutTooShort {
            gave_up: 2,
            longest_ns,
            holder: None,
            holder_sql: None,
            holder_times: 1,
            held_ns_max: longest_ns,
        };
        Finding { database: 0, pid, case: Case::of_process(kind), cost_ns: longest_ns, seen_ns: None, further: None }
    }

    #[test]
    fn what_costs_others_most_comes_first() {
        let pids = |found: Vec<Finding>| sort(found).iter().map(|finding| finding.pid).collect::<Vec<_>>();
        let blocks = |pid: u32, cost_ns: u64, longest_ns: u64| {
            let kind = Kind::LongTransaction { holds: 1, longest_ns, began_before: false, longest_wait_ns: None };
            Finding { database: 0, pid, case: Case::of_process(kind), cost_ns, seen_ns: None, further: None }
        };
        assert_eq!(pids(vec![gave_up(1, 90), blocks(2, 5, 60), blocks(3, 50, 20)]), [3, 2, 1], "causes, then effects");
        assert_eq!(pids(vec![blocks(4, 0, 10), blocks(5, 0, 20)]), [5, 4], "of equal costs the longest");
        // Two of a program cost more together.
        let program = |pid: u32| Some(if pid == 6 { "one" } else { "two" }.to_string());
        assert_eq!(pids(fold(vec![blocks(6, 50, 9), blocks(7, 30, 9), blocks(8, 30, 9)], &program)), [7, 6]);
    }

    #[test]
    fn a_commit_that_waits_for_two_readers_counts_once() {
        let reader = |pid: u32, waited_ns: u64| {
            let (longest_ns, read_ns) = (waited_ns, waited_ns);
            let kind =
                Kind::ReadersBlockWriter { times: 1, waited_ns, longest_ns, gave_up: 0, writers: vec![9], read_ns };
            Finding { case: Case::of_process(kind), cost_ns: waited_ns, ..gave_up(pid, 0) }
        };
        let folded = fold(vec![reader(1, 1_900), reader(2, 2_000)], &|_| Some("app".to_string()));
        let further = Some(Further { processes: 1, times_in_all: None, ns_in_all: None, same_program: true });
        assert_eq!(folded.iter().map(|of| (of.pid, of.cost_ns, of.further)).collect::<Vec<_>>(), [(2, 2_000, further)]);
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
        let mut found: Vec<Finding> = (1..=3).map(|pid| gave_up(pid, 4 + u64::from(pid))).collect();
        found.extend((10..110).map(|pid| gave_up(pid, if pid == 50 { 9 } else { 5 })));
        found.extend((1_000..1_004).map(|pid| gave_up(pid, 5)));
        let mut other_kind = gave_up(51, 5);
        other_kind.case.kind = Kind::RefusedAtOnce { refused: 1, holder: None };
        found.push(other_kind.clone());
        let folded = fold(found.clone(), &program);
        let pids: Vec<u32> = folded.iter().map(|finding| finding.pid).collect();
        assert_eq!(pids, [3, 50, 1_000, 51]);
        let further = |processes, times_in_all: u64, same_program| {
            Some(Further { processes, times_in_all: Some(times_in_all), ns_in_all: None, same_program })
        };
        assert_eq!(folded[0].further, further(2, 6, true));
        assert_eq!((folded[0].cost_ns, folded[0].case.kind.longest_ns()), (18, 7), "the sum, and the longest");
        assert_eq!(folded[1].further, further(99, 200, true));
        assert_eq!(folded[2].further, further(3, 8, false));
        assert_eq!(folded[3], other_kind);
        let two = fold(found[..2].to_vec(), &program);
        assert_eq!((two.len(), two[0].pid, two[0].further), (1, 2, further(1, 4, true)), "two are one finding, too");
        assert_eq!(fold(found[..1].to_vec(), &program), found[..1]);
        let unread: Vec<Finding> = (1_000..1_003).map(|pid| gave_up(pid, 5)).collect();
        assert_eq!(fold(unread.clone(), &program), unread, "they may run different programs");
        let mut past: Vec<Finding> = (10..14).map(|pid| Finding { seen_ns: Some(1), ..gave_up(pid, 9) }).collect();
        past.push(gave_up(14, 5));
        let pids: Vec<u32> = fold(past, &program).iter().map(|finding| finding.pid).collect();
        assert_eq!(pids, [10, 14], "a finding that lasts and past ones");
    }
}
