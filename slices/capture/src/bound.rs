//! When values were bound. The record of a bound value has no time, to keep it short: it is followed by a timed record of its
//! thread, mostly that of the execution. But a program may bind in one thread and execute in another, as Go's runtime lets a
//! goroutine do, and then the next record of the first thread may be of much later.

use crate::raw::{Raw, Who};
use contend_interpose::format::kind;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A statement of a process.
type Statement = (u64, u64);

/// Beginnings of executions, in order, with their threads.
type Begins = HashMap<Statement, Vec<(u64, Who)>>;

/// All records of all threads, each with its time, in the order of their threads.
pub fn with_times(threads: BTreeMap<Who, Vec<Raw>>) -> Vec<(u64, Raw)> {
    let begins = of_several_threads(&threads);
    let mut all = vec![];
    for (who, records) in threads {
        let (mut from, mut untimed) = (0, vec![]);
        for raw in records {
            if !raw.is_timed() {
                untimed.push(raw);
                continue;
            }
            let to = raw.t();
            place(&mut all, std::mem::take(&mut untimed), (from, to), (who, begins_one(&raw)), &begins);
            from = to;
            all.push((to, raw));
        }
        place(&mut all, untimed, (from, u64::MAX), (who, None), &begins);
    }
    all
}

fn is_bound(raw: &Raw) -> bool {
    matches!(raw.kind(), kind::BIND | kind::CLEAR)
}

/// The statement of which a record is the beginning of an execution.
fn begins_one(raw: &Raw) -> Option<Statement> {
    (raw.kind() == kind::STEP && raw.b() == 0).then(|| (raw.who.process, raw.id()))
}

/// Executions of the statements that were bound in one thread and executed in another one.
fn of_several_threads(threads: &BTreeMap<Who, Vec<Raw>>) -> Begins {
    let all = || threads.iter().flat_map(|(who, records)| records.iter().map(move |raw| (*who, raw)));
    let mut bound: HashMap<Statement, Who> = HashMap::new();
    let mut several: HashSet<Statement> = HashSet::new();
    for (who, raw) in all().filter(|(_, raw)| is_bound(raw) || begins_one(raw).is_some()) {
        let statement = (who.process, raw.id());
        if *bound.entry(statement).or_insert(who) != who {
            several.insert(statement);
        }
    }
    let mut begins = Begins::new();
    for (who, raw) in all() {
        if let Some(statement) = begins_one(raw).filter(|statement| several.contains(statement)) {
            begins.entry(statement).or_default().push((raw.t(), who));
        }
    }
    begins.values_mut().for_each(|begins| begins.sort_unstable());
    begins
}

/// Adds the records between two timed ones of a thread. The values of one execution come together: those of the last are for the
/// execution that follows in the thread, if it is of this statement, and the ones before for those of other threads meanwhile.
fn place(
    all: &mut Vec<(u64, Raw)>,
    untimed: Vec<Raw>,
    (from, to): (u64, u64),
    (who, next): (Who, Option<Statement>),
    begins: &Begins,
) {
    // Number of the execution of its statement, from 0, for which each was bound.
    let (mut runs, mut bound): (HashMap<Statement, usize>, HashSet<(Statement, u16)>) = Default::default();
    let number = |raw: &Raw| {
        let statement = (raw.who.process, raw.id());
        if !is_bound(raw) || !begins.contains_key(&statement) {
            return None;
        }
        let is_again = raw.kind() == kind::BIND && !bound.insert((statement, raw.b()));
        let run = runs.entry(statement).or_insert(0);
        if raw.kind() == kind::CLEAR || is_again {
            let had_any = bound.iter().any(|(of, _)| *of == statement);
            bound.retain(|(of, _)| *of != statement);
            *run += usize::from(had_any);
            bound.extend((raw.kind() == kind::BIND).then_some((statement, raw.b())));
        }
        Some((statement, *run))
    };
    let numbers: Vec<Option<(Statement, usize)>> = untimed.iter().map(number).collect();
    for (raw, number) in untimed.into_iter().zip(numbers) {
        let elsewhere = number.and_then(|(statement, run)| {
            let is_own = next == Some(statement) && run == runs[&statement];
            let meanwhile = begins[&statement].iter().filter(|(at, by)| *by != who && *at > from && *at < to);
            // Right before the execution.
            meanwhile.map(|(at, _)| at - 1).nth(run).filter(|_| !is_own)
        });
        all.push((elsewhere.unwrap_or(to), raw));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROCESS: u64 = 1;

    fn who(tid: u32) -> Who {
        Who { process: PROCESS, pid: 1, tid }
    }

    /// Records of a thread: `c` clears, `b` binds the first value, a number begins an execution then.
    fn records(tid: u32, words: &str) -> (Who, Vec<Raw>) {
        let raw = |word: &str| match word {
            "c" => Raw::made(who(tid), (kind::CLEAR, 0), 7, 0),
            "b" => Raw::made(who(tid), (kind::BIND, 1), 7, 0),
            at => Raw::made(who(tid), (kind::STEP, 0), 7, at.parse().expect("a time")),
        };
        (who(tid), words.split(' ').map(raw).collect())
    }

    fn times(threads: &[(Who, Vec<Raw>)]) -> Vec<u64> {
        threads.iter().flat_map(|(_, records)| records.iter().map(Raw::t)).collect()
    }

    fn placed(threads: [(Who, Vec<Raw>); 2]) -> Vec<u64> {
        assert!(!times(&threads).is_empty());
        with_times(threads.into_iter().collect()).into_iter().map(|(at, _)| at).collect()
    }

    #[test]
    fn values_belong_to_the_execution_that_follows_in_their_thread() {
        assert_eq!(
            placed([records(1, "c b 100 c b 250"), records(2, "c b 170")]),
            [100, 100, 100, 250, 250, 250, 170, 170, 170]
        );
    }

    #[test]
    fn values_bound_in_another_thread_belong_to_the_execution_there() {
        let moved = [records(1, "c b 50 c b c b 250"), records(2, "100")];
        assert_eq!(placed(moved), [50, 50, 50, 99, 99, 250, 250, 250, 100]);
        let last = [records(1, "c b 50 c b"), records(2, "100")];
        assert_eq!(placed(last), [50, 50, 50, 99, 99, 100], "nothing follows in their thread");
    }
}
