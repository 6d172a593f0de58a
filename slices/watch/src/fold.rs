//! Folds processes of the same program in tables: a script that starts a program again and again makes thousands of them.

use crate::view::Totals;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Processes of a program with a line each.
const SINGLE_MAX: usize = 5;

/// A process in a table.
pub struct Process<'a> {
    pub pid: u32,
    pub program: &'a str,
    pub totals: Totals,
}

/// A line of a table.
pub struct Line {
    pub who: String,
    /// Place of the process in the list; `None` for several processes.
    pub place: Option<usize>,
    pub totals: Totals,
}

/// The lines of processes, ordered by the time for which they held the write lock. Of a program, those that held it or waited
/// longest have a line each, and the others one line together.
pub fn lines(processes: &[Process<'_>]) -> Vec<Line> {
    let mut of_programs: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, process) in processes.iter().enumerate() {
        of_programs.entry(process.program).or_default().push(place);
    }
    let mut out = vec![];
    for (program, mut places) in of_programs {
        places.sort_by_key(|place| Reverse(processes[*place].totals.held_or_waited_ns()));
        // A line for one further process would save none.
        let single = if places.len() > SINGLE_MAX + 1 { SINGLE_MAX } else { places.len() };
        let (shown, further) = places.split_at(single);
        out.extend(shown.iter().map(|&place| {
            let Process { pid, totals, .. } = &processes[place];
            Line { who: format!("{program} ({pid})"), place: Some(place), totals: totals.clone() }
        }));
        let totals = further.iter().map(|&place| processes[place].totals.clone()).reduce(Totals::and);
        let who = format!("{program} ({} further processes)", further.len());
        out.extend(totals.map(|totals| Line { who, place: None, totals }));
    }
    out.sort_by_key(|line| (Reverse(line.totals.write_ns), line.place.unwrap_or(usize::MAX)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Waits;

    fn process(pid: u32, program: &str, [write_ns, wait_ns]: [u64; 2]) -> Process<'_> {
        let waits = Some(Waits { wait_ns, wait_ns_max: wait_ns, refusals: 2, gave_up: 1 });
        Process { pid, program, totals: Totals { writes: 3, write_ns, write_ns_max: write_ns, waits } }
    }

    #[test]
    fn of_a_program_with_many_processes_the_longest_and_the_sum_of_the_others_are_shown() {
        let mut processes = vec![process(1, "app", [900, 0])];
        processes.extend((10..1_010).map(|pid| process(pid, "sqlite3", [1, 0])));
        processes.push(process(2_000, "sqlite3", [0, 70]));
        let lines = lines(&processes);
        let who: Vec<&str> = lines.iter().map(|line| line.who.as_str()).collect();
        let single = ["sqlite3 (10)", "sqlite3 (11)", "sqlite3 (12)", "sqlite3 (13)"];
        let expected = [&["sqlite3 (996 further processes)", "app (1)"][..], &single, &["sqlite3 (2000)"]].concat();
        assert_eq!(who, expected, "who only waited is shown");
        let Totals { writes, write_ns, write_ns_max, waits } = &lines[0].totals;
        assert_eq!((*writes, *write_ns, *write_ns_max, lines[0].place), (3 * 996, 996, 1, None));
        assert_eq!(*waits, Some(Waits { wait_ns: 0, wait_ns_max: 0, refusals: 2 * 996, gave_up: 996 }));
        assert_eq!(lines.iter().filter_map(|line| line.place).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 1_001]);
    }

    #[test]
    fn no_line_stands_for_one_process() {
        let six: Vec<Process<'_>> = (1..=6).map(|pid| process(pid, "app", [10, 0])).collect();
        assert!(lines(&six).iter().all(|line| line.place.is_some()));
        let seven: Vec<Process<'_>> = (1..=7).map(|pid| process(pid, "app", [10, 0])).collect();
        assert_eq!(lines(&seven)[0].who, "app (2 further processes)");
        assert!(lines(&[]).is_empty());
    }
}
