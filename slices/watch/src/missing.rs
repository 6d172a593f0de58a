//! What could not be seen. Equal reasons are one sentence: a program may be started thousands of times.

use crate::process::Processes;
use crate::target::Database;
use crate::words::{counted, one_line};
use std::collections::{BTreeMap, BTreeSet};

/// Most sentences.
const REASONS_MAX: usize = 100;
/// Longest path in a sentence.
const PATH_CHARS: usize = 200;

/// Reasons, in the order in which they were found.
#[derive(Default)]
pub struct Missing {
    reasons: Vec<Reason>,
    /// Number of reasons beyond the limit.
    left_out: u64,
    /// Number of events of which the process is unknown.
    orphans: u64,
}

struct Reason {
    /// What is missing, and the process if there is one.
    what: String,
    pid: Option<u32>,
    why: String,
    /// Number of other processes with the same reason.
    more: u64,
}

impl Missing {
    /// Adds a reason, such as `statements of sh`, process 4711, `no function of SQLite has a name in its program`.
    pub fn add(&mut self, what: String, pid: Option<u32>, why: String) {
        if let Some(known) = self.reasons.iter_mut().find(|known| known.what == what && known.why == why) {
            known.more += u64::from(pid.is_some());
        } else if self.reasons.len() < REASONS_MAX {
            self.reasons.push(Reason { what, pid, why, more: 0 });
        } else {
            self.left_out += 1;
        }
    }

    /// Adds that the log of a process was not seen; of which database, if no lock of its `-shm` file was seen at all.
    pub fn add_writes(&mut self, pid: u32, processes: &Processes, database: Option<&Database>) {
        let gone =
            "it locked a file that was gone at the next look, perhaps a `-shm` file made and removed between two looks";
        let why = database.map_or(gone.to_string(), |database| {
            format!(
                "it has locked {} and no known `-shm` file: with PRAGMA locking_mode = EXCLUSIVE there is none, or a new one \
                 was not known yet",
                one_line(&database.path.display().to_string(), PATH_CHARS)
            )
        });
        self.add(format!("perhaps some writes of {}", processes.name(pid).unwrap_or_default()), Some(pid), why);
    }

    /// Adds an event of a thread that ended before its process was known.
    pub fn add_orphan(&mut self) {
        self.orphans += 1;
    }

    /// A sentence for each reason.
    pub fn sentences(&self) -> Vec<String> {
        let left_out = (self.left_out > 0).then(|| format!("{} further parts", self.left_out));
        let orphans = (self.orphans > 0).then(|| {
            let events = counted(self.orphans, "event");
            format!("{events} of threads that had ended before their process was known")
        });
        self.reasons.iter().map(Reason::sentence).chain(left_out).chain(orphans).collect()
    }
}

impl Reason {
    fn sentence(&self) -> String {
        let Reason { what, why, .. } = self;
        let pid = self.pid.map_or(String::new(), |pid| format!(" ({pid})"));
        let more = if self.more == 0 { String::new() } else { format!(" and {} more", self.more) };
        format!("{what}{pid}{more}: {why}")
    }
}

/// Statements that were refused without a lock call, counted by process, as sentences with the possible causes: one for
/// processes that may have been forked with an open connection, and one for the others. `name` returns the name of a process.
pub fn unexplained(
    statements: &BTreeMap<u32, u64>,
    name: &dyn Fn(u32) -> String,
    may_be_forked: &dyn Fn(u32) -> bool,
) -> Vec<String> {
    let of = |is_forked: bool| {
        let its: Vec<_> = statements.iter().filter(|(pid, _)| may_be_forked(**pid) == is_forked).collect();
        let (first, more) = (name(*its.first()?.0), others(" and of", its.len()));
        let count = counted(its.iter().map(|(_, count)| **count).sum(), "statement");
        let inherited = if is_forked {
            ", or it was forked with an open connection and believes that its parent's locks are its own"
        } else {
            ""
        };
        Some(format!(
            "why {count} of {first}{more} returned \"database is locked\" although no refused lock call was seen: perhaps \
             another connection of the process had the lock in SQLite's memory, or the call was for a `-shm` file that was \
             not known yet{inherited}"
        ))
    };
    [false, true].into_iter().filter_map(of).collect()
}

/// Commits that were refused without a lock call, counted by process, as a sentence.
pub fn kept_open(commits: &BTreeMap<u32, u64>, name: &dyn Fn(u32) -> String) -> Option<String> {
    let (first, more) = (name(*commits.first_key_value()?.0), others(" and of", commits.len()));
    let count = counted(commits.values().sum(), "commit");
    Some(format!(
        "why {count} of {first}{more} returned \"database is locked\" although no refused lock call was seen: perhaps \
         another connection of the process was reading, or the connection itself had a statement with further rows; both \
         are settled in SQLite's memory. Read all rows, or close the cursor, before others write; or, with a rollback journal, use WAL"
    ))
}

/// Transactions with a statement without a text, counted by process, as a sentence.
pub fn without_text(transactions: &BTreeMap<u32, u64>, name: &dyn Fn(u32) -> String) -> Option<String> {
    let (first, more) = (name(*transactions.first_key_value()?.0), others(" and of", transactions.len()));
    let count = counted(transactions.values().sum(), "transaction");
    Some(format!(
        "texts of statements in {count} of {first}{more}: they were not reported, or had been freed before they could be read"
    ))
}

/// Processes that took the write lock before their statements could be seen, as a sentence.
pub fn wrote_unseen(pids: &BTreeSet<u32>, name: &dyn Fn(u32) -> String) -> Option<String> {
    let (first, more) = (name(*pids.first()?), others(" and of", pids.len()));
    Some(format!(
        "the first statements of {first}{more}: the process took the write lock before its calls could be traced"
    ))
}

/// Write locks that kept others out without a visible statement, counted by process, as a sentence.
pub fn without_statement(holds: &BTreeMap<u32, u64>, name: &dyn Fn(u32) -> String) -> Option<String> {
    let (first, more) = (name(*holds.first_key_value()?.0), others(" and of", holds.len()));
    let count = counted(holds.values().sum(), "write lock");
    Some(format!(
        "why {count} of {first}{more} kept others out: the program executed no statement meanwhile. A backup into \
         the database keeps the lock by calls that are not traced"
    ))
}

/// Forked processes without a lock call, each with its parent, as a sentence.
pub fn silent(forks: &[(u32, u32)], name: &dyn Fn(u32) -> String) -> Option<String> {
    let (pid, parent) = forks.first()?;
    Some(format!(
        "refusals in process {pid}, which was forked from {} with the database open and made no lock call{}: SQLite \
         may refuse it in its own memory",
        name(*parent),
        others(", and in", forks.len())
    ))
}

/// A database that changed although no process was seen to lock it for that, as a sentence.
pub fn changed_without_lock(database: &Database) -> String {
    format!(
        "who changed {}: no process took its write lock. A program may lock it in another way (the VFS unix-dotfile), or not at \
         all (nolock=1), or work on another machine",
        one_line(&database.path.display().to_string(), PATH_CHARS)
    )
}

/// The number of processes after the first, after `and`.
fn others(and: &str, count: usize) -> String {
    if count < 2 { String::new() } else { format!("{and} {} more", count - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    fn forked_processes_are_counted_in_one_sentence() {
        let name = |pid: u32| format!("python3 ({pid})");
        let of = |pids: std::ops::Range<u32>| unexplained(&pids.map(|pid| (pid, 2)).collect(), &name, &|_| true);
        assert!(of(0..0).is_empty());
        let said = of(7..9).join("|");
        assert!(said.starts_with("why 4 statements of python3 (7) and of 1 more returned \"database"), "{said}");
        let said = silent(&[(7, 1), (8, 1), (9, 2)], &name).expect("a sentence");
        assert!(said.starts_with("refusals in process 7, which was forked from python3 (1) with the"), "{said}");
        assert!(said.contains("made no lock call, and in 2 more: SQLite"), "{said}");
        assert_eq!((of(7..8)[0].contains("more"), silent(&[], &name)), (false, None));
    }

    #[test]
    fn commits_that_were_kept_open_are_counted_in_one_sentence() {
        let said = kept_open(&BTreeMap::from([(7, 1), (8, 2)]), &|pid| format!("python3 ({pid})")).expect("a sentence");
        assert!(said.starts_with("why 3 commits of python3 (7) and of 1 more returned \"database"), "{said}");
        assert_eq!(kept_open(&BTreeMap::new(), &|_| String::new()), None);
    }

    #[test]
    fn transactions_without_a_text_are_counted_in_one_sentence() {
        let said =
            without_text(&BTreeMap::from([(7, 1), (8, 2)]), &|pid| format!("python3 ({pid})")).expect("a sentence");
        assert!(said.starts_with("texts of statements in 3 transactions of python3 (7) and of 1 more: they"), "{said}");
        assert_eq!(without_text(&BTreeMap::new(), &|_| String::new()), None);
    }

    #[test]
    fn only_a_process_that_may_be_forked_may_have_inherited_a_connection() {
        let statements = BTreeMap::from([(7, 1), (8, 2), (9, 3)]);
        let said = unexplained(&statements, &|pid| format!("python3 ({pid})"), &|pid| pid == 8);
        let [executed, forked] = &said[..] else { panic!("{said:?}") };
        assert!(executed.starts_with("why 4 statements of python3 (7) and of 1 more returned"), "{executed}");
        assert!(forked.starts_with("why 2 statements of python3 (8) returned"), "{forked}");
        assert!(!executed.contains("parent") && forked.contains("or it was forked"), "{said:?}");
        assert!(said.iter().all(|said| said.contains(": perhaps another connection")), "no cause is certain: {said:?}");
    }

    #[test]
    fn a_process_that_has_executed_a_program_is_not_forked_with_a_connection() {
        let script = "exec 3<&0; (read x <&3) & echo $!; wait";
        let mut shell = Command::new("sh");
        let mut shell = shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("sh");
        let mut line = String::new();
        BufReader::new(shell.stdout.take().expect("piped")).read_line(&mut line).expect("a number");
        let (executed, forked, unknown) = (shell.id(), line.trim().parse().expect("a number"), 1 << 30);
        let mut processes = Processes::default();
        [executed, forked].into_iter().for_each(|pid| _ = processes.note(pid, pid));
        let may_be = [executed, forked, unknown].map(|pid| processes.may_be_forked(pid));
        drop(shell.stdin.take());
        shell.wait().expect("it ends");
        assert_eq!(may_be, [false, true, true]);
    }

    #[test]
    fn writes_that_may_not_have_been_seen_are_not_all_writes() {
        let mut missing = Missing::default();
        missing.add_writes(7, &Processes::default(), None);
        let said = missing.sentences().join("|");
        assert!(said.starts_with("perhaps some writes of ") && said.contains("perhaps a `-shm` file"), "{said}");
    }

    #[test]
    fn processes_that_wrote_before_they_could_be_traced_are_counted_in_one_sentence() {
        let of = |pids: &[u32]| wrote_unseen(&pids.iter().copied().collect(), &|pid| format!("python3 ({pid})"));
        let said = of(&[7, 8, 9]).expect("a sentence");
        assert!(said.starts_with("the first statements of python3 (7) and of 2 more: the process took"), "{said}");
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn equal_reasons_are_counted_in_one_sentence() {
        let mut missing = Missing::default();
        for pid in 1..=313 {
            missing.add("statements of sh".to_string(), Some(pid), "it had ended".to_string());
        }
        missing.add("syncs".to_string(), None, "no event".to_string());
        assert_eq!(missing.sentences(), ["statements of sh (1) and 312 more: it had ended", "syncs: no event"]);
        for n in 0..200 {
            missing.add(format!("statements of {n}"), Some(n), String::new());
        }
        let sentences = missing.sentences();
        assert_eq!((sentences.len(), sentences[100].as_str()), (101, "102 further parts"));
    }
}
