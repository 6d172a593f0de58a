//! Judges what survived a crash: which acknowledged operations are visible, and whether the data is sound. Pure:
//! times, marks and complaints in, a `Survival` out.

use contend::operation::{Operation, Operations};
use contend::outcome::Outcome;
use contend_wire::sample::Sample;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Most complaints kept for one image.
const COMPLAINTS_MAX: usize = 5;

/// An operation that leaves a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    pub client: u32,
    /// Number of the operation.
    pub number: u32,
    pub mark: i64,
    pub transaction: u16,
    pub started_ns: u64,
    pub finished_ns: u64,
    pub fate: Fate,
}

/// The answer that its client received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Acknowledged,
    /// It failed and left nothing behind.
    Refused,
    /// No answer, or an answer that leaves the result open.
    Unknown,
}

/// Time of a crash: after one entry reached the disk and before the next one did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instant {
    pub after_ns: u64,
    pub before_ns: u64,
}

/// Content of the database after the crash.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    pub marks: Vec<i64>,
    /// Broken invariants, and results of the engine's own check.
    pub complaints: Vec<String>,
}

/// The verdict, from best to worst.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Survival {
    /// Every acknowledged operation is visible, and the data is sound.
    Clean,
    /// Sound, but the last acknowledged operations are lost.
    Lossy(Loss),
    /// A state that no order of whole transactions could have left.
    Corrupt(Vec<String>),
    /// The engine does not open it.
    Unopenable(String),
}

/// What a crash lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    pub commits: u64,
    /// Time from the earliest lost acknowledgement to the crash.
    pub work_ns: u64,
}

/// All operations sent to one database, in the order of clients and operations.
#[derive(Debug, Default)]
pub struct Ledger {
    sent: Vec<Sent>,
    by_mark: HashMap<i64, usize>,
}

impl Ledger {
    pub fn new(mut sent: Vec<Sent>) -> Self {
        sent.sort_by_key(|s| (s.client, s.number));
        let by_mark = sent.iter().enumerate().map(|(at, s)| (s.mark, at)).collect();
        Self { sent, by_mark }
    }

    /// From samples; `mark` returns the mark of a client's operation, if it leaves one.
    pub fn from_samples(samples: impl IntoIterator<Item = Sample>, mark: impl Fn(u32, u32) -> Option<i64>) -> Self {
        let mut sent = vec![];
        let mut note = |op: Operation<'_>| {
            let Some(mark) = mark(op.client(), op.number()) else { return };
            sent.push(Sent {
                client: op.client(),
                number: op.number(),
                mark,
                transaction: op.transaction(),
                started_ns: op.started_ns(),
                finished_ns: op.finished_ns(),
                fate: fate(&op),
            });
        };
        let mut operations = Operations::new();
        for sample in samples {
            operations.push(sample, &mut note);
        }
        operations.finish(&mut note);
        Self::new(sent)
    }

    pub fn acknowledged(&self) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(|s| s.fate == Fate::Acknowledged)
    }

    /// Start of the first operation and end of the last.
    pub fn span_ns(&self) -> Option<(u64, u64)> {
        let first = self.sent.iter().map(|s| s.started_ns).min()?;
        Some((first, self.sent.iter().map(|s| s.finished_ns).max()?))
    }

    /// Number of visible operations of each transaction.
    pub fn visible(&self, marks: &[i64]) -> BTreeMap<u16, u64> {
        let mut counts = BTreeMap::new();
        let known: HashSet<i64> = marks.iter().copied().collect();
        for sent in known.iter().filter_map(|mark| self.by_mark.get(mark)).map(|at| &self.sent[*at]) {
            *counts.entry(sent.transaction).or_default() += 1;
        }
        counts
    }

    /// Judges what a crash at this time left.
    pub fn judge(&self, crash: Instant, found: &Recovered) -> Survival {
        let mut complaints = self.impossible(crash, found);
        complaints.extend(found.complaints.iter().cloned());
        if !complaints.is_empty() {
            complaints.truncate(COMPLAINTS_MAX);
            return Survival::Corrupt(complaints);
        }
        let marks: HashSet<i64> = found.marks.iter().copied().collect();
        let due = |s: &&Sent| s.finished_ns < crash.before_ns;
        let lost = self.acknowledged().filter(due).filter(|s| !marks.contains(&s.mark));
        let (commits, earliest) = lost.fold((0, u64::MAX), |(n, at), s| (n + 1, at.min(s.finished_ns)));
        match commits {
            0 => Survival::Clean,
            commits => Survival::Lossy(Loss { commits, work_ns: self.crash_ns(crash).saturating_sub(earliest) }),
        }
    }

    /// Latest time that is certainly before the crash.
    fn crash_ns(&self, crash: Instant) -> u64 {
        let told = self.acknowledged().map(|s| s.finished_ns).filter(|ns| *ns < crash.before_ns);
        told.max().unwrap_or(0).max(crash.after_ns)
    }

    /// Marks that no crash explains: of no operation, of failed or later operations, repeated, or after a gap.
    fn impossible(&self, crash: Instant, found: &Recovered) -> Vec<String> {
        let (mut complaints, mut seen) = (vec![], HashSet::new());
        for mark in &found.marks {
            if !seen.insert(*mark) {
                complaints.push(format!("the mark {mark} is there twice"));
                continue;
            }
            let Some(sent) = self.by_mark.get(mark).map(|at| &self.sent[*at]) else {
                complaints.push(format!("the mark {mark} is there, which no operation leaves"));
                continue;
            };
            let who = format!("operation {} of client {}", sent.number, sent.client);
            if sent.fate == Fate::Refused {
                complaints.push(format!("{who} is there, which had failed"));
            }
            if sent.started_ns > crash.after_ns {
                complaints.push(format!("{who} is there, which was sent after the crash"));
            }
        }
        for of_client in self.sent.chunk_by(|a, b| a.client == b.client) {
            let there = |s: &&Sent| seen.contains(&s.mark);
            let missing = of_client.iter().filter(|s| s.fate == Fate::Acknowledged).find(|s| !there(s));
            let Some(missing) = missing else { continue };
            if let Some(later) = of_client.iter().find(|s| s.number > missing.number && there(s)) {
                complaints.push(format!(
                    "operation {} of client {} is gone, and its later operation {} is there",
                    missing.number, missing.client, later.number
                ));
            }
        }
        complaints.extend(self.overtaken(&seen));
        complaints
    }

    /// A visible operation that was sent after another client's lost operation was acknowledged. Each engine here has
    /// one log for the database, in the order of the commits, so no crash loses the earlier of the two alone.
    fn overtaken(&self, seen: &HashSet<i64>) -> Option<String> {
        let there = |s: &&Sent| seen.contains(&s.mark);
        let lost = self.acknowledged().filter(|s| !there(s)).min_by_key(|s| s.finished_ns)?;
        let after = |s: &&Sent| s.client != lost.client && s.started_ns > lost.finished_ns;
        let later = self.sent.iter().filter(after).find(there)?;
        Some(format!(
            "operation {} of client {} is gone; operation {} of client {}, sent after its acknowledgement, is there",
            lost.number, lost.client, later.number, later.client
        ))
    }
}

fn fate(op: &Operation<'_>) -> Fate {
    // An earlier attempt without an answer may have committed.
    let unclear = op.attempts().iter().any(contend::outcome::may_have_acted);
    match op.outcome() {
        Outcome::Committed => Fate::Acknowledged,
        _ if unclear => Fate::Unknown,
        _ => Fate::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(client: u32, number: u32, times: [u64; 2], fate: Fate) -> Sent {
        let mark = i64::from(client) * 100 + i64::from(number);
        Sent { client, number, mark, transaction: 0, started_ns: times[0], finished_ns: times[1], fate }
    }

    /// Client 1: three acknowledged. Client 2: one acknowledged, one failed, one unknown.
    fn ledger() -> Ledger {
        use Fate::{Acknowledged, Refused, Unknown};
        Ledger::new(vec![
            sent(1, 0, [10, 20], Acknowledged),
            sent(2, 0, [12, 25], Acknowledged),
            sent(1, 1, [21, 30], Acknowledged),
            sent(2, 1, [26, 35], Refused),
            sent(1, 2, [31, 40], Acknowledged),
            sent(2, 2, [36, 50], Unknown),
        ])
    }

    fn verdict(after_ns: u64, before_ns: u64, marks: &[i64]) -> Survival {
        let found = Recovered { marks: marks.to_vec(), complaints: vec![] };
        ledger().judge(Instant { after_ns, before_ns }, &found)
    }

    fn lossy(commits: u64, work_ns: u64) -> Survival {
        Survival::Lossy(Loss { commits, work_ns })
    }

    #[test]
    fn what_was_acknowledged_before_the_crash_must_be_there() {
        let table: [(u64, u64, &[i64], Survival); 11] = [
            (5, 10, &[], Survival::Clean),
            // The acknowledgement may coincide with the crash.
            (15, 20, &[], Survival::Clean),
            (15, 21, &[], lossy(1, 0)),
            (22, 24, &[100], Survival::Clean),
            (22, 24, &[], lossy(1, 2)),
            // Committed on disk and not yet acknowledged.
            (22, 24, &[100, 200], Survival::Clean),
            (32, 33, &[100, 101, 200], Survival::Clean),
            (32, 33, &[100, 200], lossy(1, 2)),
            (32, 33, &[], lossy(3, 12)),
            // Unknown operations may be visible or not.
            (60, u64::MAX, &[100, 101, 102, 200], Survival::Clean),
            (60, u64::MAX, &[100, 101, 102, 200, 202], Survival::Clean),
        ];
        for (after, before, marks, expected) in table {
            assert_eq!(verdict(after, before, marks), expected, "{after}..{before} {marks:?}");
        }
    }

    #[test]
    fn what_no_order_of_whole_transactions_leaves_is_corrupt() {
        let table: [(u64, u64, &[i64], &str); 6] = [
            (32, 33, &[101, 200], "operation 0 of client 1 is gone, and its later operation 1 is there"),
            (
                60,
                70,
                &[100, 101, 102],
                "operation 0 of client 2 is gone; operation 2 of client 1, sent after its acknowledgement, is there",
            ),
            (60, 70, &[100, 101, 102, 200, 201], "operation 1 of client 2 is there, which had failed"),
            (22, 24, &[100, 101, 102], "operation 2 of client 1 is there, which was sent after the crash"),
            (22, 24, &[100, 100], "the mark 100 is there twice"),
            (22, 24, &[100, 777], "the mark 777 is there, which no operation leaves"),
        ];
        for (after, before, marks, expected) in table {
            let Survival::Corrupt(said) = verdict(after, before, marks) else { panic!("{marks:?} is not corrupt") };
            assert!(said.iter().any(|s| s == expected), "{said:?}");
        }
    }

    #[test]
    fn unsound_data_is_corrupt_even_if_nothing_is_lost() {
        let found = Recovered { marks: vec![100], complaints: vec!["integrity: row 3 missing".to_string()] };
        let verdict = ledger().judge(Instant { after_ns: 22, before_ns: 24 }, &found);
        assert_eq!(verdict, Survival::Corrupt(found.complaints));
    }

    #[test]
    fn marks_are_counted_by_transaction() {
        assert_eq!(ledger().visible(&[100, 200, 200, 999]), BTreeMap::from([(0, 2)]));
        assert_eq!(ledger().span_ns(), Some((10, 50)));
    }
}
