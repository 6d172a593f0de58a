//! What is wrong, with its evidence and what to change. Pure: a timeline and samples of the log in, findings out. A finding is
//! given only where its evidence was seen; a healthy program gets none.

use crate::lock::{Lock, Mode};
use crate::target::State;
use crate::timeline::{End, Hold, Sums, Timeline, Wait};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// A gap between statements under the writer's lock that is worth a word, if somebody waited.
const GAP_NS_MIN: u64 = 10 * MS;
/// A transaction without a statement for this long is idle.
const IDLE_NS_MIN: u64 = SECOND;
/// Waits that are worth a word: one of this length, or this part of the time watched.
const WAIT_NS_MIN: u64 = 100 * MS;
/// Share of the time in which the lock is held, in thousandths, from which one holder can starve others.
const STARVED_PERMILLE: u64 = 800;
/// A process waits this many times as long as it holds the lock when it is starved.
const STARVED_TIMES: u64 = 4;
/// Share of the time of a lock in which a sync ran, in thousandths, from which the disk is what is waited for.
const DISK_PERMILLE: u64 = 500;
/// Share of the watched time that one process spends in syncs of small commits, in thousandths.
const COMMITS_PERMILLE: u64 = 300;
/// Commits a second, each with a sync, that are many.
const COMMITS_PER_S: u64 = 50;
/// Frames behind a reader from which the log is pinned. SQLite checkpoints every 1,000.
const PINNED_FRAMES: u32 = 2_000;
/// A reader that has held its mark for this long pins the log.
const PINNED_NS: u64 = SECOND;
/// Connections a second that are churn.
const CONNECTS_PER_S: u64 = 5;
/// Least number of events of a kind for a rate to mean something.
const COUNT_MIN: u64 = 5;

/// A kind of finding, with the data of its evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// The write lock is held while the program does something else between two statements.
    ProgramHoldsLock {
        holds: u64,
        outside_ns: u64,
        held_ns: u64,
        longest_gap_ns: u64,
        before: Option<String>,
        after: Option<String>,
        longest_wait_ns: u64,
    },
    /// A transaction is open, holds the write lock, and its program executes nothing.
    IdleInTransaction { held_ns: u64, idle_ns: u64, last: Option<String> },
    /// A transaction read first and wrote later: it is refused at once, no timeout helps.
    ReadThenWrite { refused: u64, longest_ns: u64, sql: Option<String> },
    /// A call was refused and never tried again: no busy timeout is set.
    NoBusyTimeout { refused: u64, sql: Option<String> },
    /// Refused once without another try; whether it had read before cannot be told without statements.
    RefusedAtOnce { refused: u64 },
    /// The busy timeout ended before the lock was free.
    TimeoutTooShort { gave_up: u64, longest_ns: u64, holder: Option<u32>, held_ns_max: u64 },
    /// One process gets the lock again and again while another polls.
    Starvation { holder: u32, held_permille: u64, waited_ns: u64, had_ns: u64, gave_up: u64 },
    /// The lock is held while the disk syncs.
    Disk { syncs: u64, sync_permille: u64, sync_ns_mean: u64 },
    /// Readers keep a writer from changing the file (rollback journal).
    ReadersBlockWriter { times: u64, longest_ns: u64, readers: Vec<u32> },
    /// A reader's snapshot keeps checkpoints from getting on; the log grows.
    ReaderPinsLog { reader: u32, behind_frames: u32, held_ns: u64, log_bytes: u64 },
    /// A checkpoint runs while a commit holds the write lock.
    CheckpointInCommit { times: u64, longest_ns: u64, share_permille: u64 },
    /// Many commits, each with its own sync.
    SmallCommits { commits_per_s: u64, sync_permille: u64 },
    /// The database is opened and closed again and again.
    OpenCloseChurn { per_s: u64, processes: usize },
}

/// Something that is wrong, with a process.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    pub database: usize,
    /// The process that causes it, or that suffers where no single one causes it.
    pub pid: u32,
    #[serde(flatten)]
    pub kind: Kind,
}

/// A look at the sizes of a database's files, at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub at_ns: u64,
    pub state: State,
}

/// All findings of a timeline. `samples` are of each database by index, oldest first; `sees_syncs` says whether syncs are reported.
pub fn findings(timeline: &Timeline, samples: &[Vec<Sample>]) -> Vec<Finding> {
    let mut found = vec![];
    for database in 0..samples.len() {
        let view = View::new(timeline, database, samples.get(database).map_or(&[], Vec::as_slice));
        for pid in view.pids() {
            let kinds = [
                view.program_holds_lock(pid),
                view.idle_in_transaction(pid),
                view.refused(pid),
                view.timeout_too_short(pid),
                view.starvation(pid),
                view.readers_block_writer(pid),
                view.reader_pins_log(pid),
                view.checkpoint_in_commit(pid),
                view.small_commits(pid).or_else(|| view.disk(pid)),
            ];
            found.extend(kinds.into_iter().flatten().map(|kind| Finding { database, pid, kind }));
        }
        found.extend(view.churn());
    }
    found
}

/// What findings look at: one database.
struct View<'t> {
    timeline: &'t Timeline,
    database: usize,
    samples: &'t [Sample],
    /// Ended and open holds.
    holds: Vec<&'t Hold>,
    waits: Vec<&'t Wait>,
    sums: BTreeMap<u32, &'t Sums>,
}

impl<'t> View<'t> {
    fn new(timeline: &'t Timeline, database: usize, samples: &'t [Sample]) -> Self {
        let holds = timeline.holds.iter().chain(timeline.held()).filter(|hold| hold.database == database).collect();
        let waits = timeline.waits.iter().chain(timeline.waiting()).filter(|wait| wait.database == database).collect();
        let sums = timeline.sums.iter().filter(|((d, _), _)| *d == database).map(|((_, pid), sums)| (*pid, sums));
        View { timeline, database, samples, holds, waits, sums: sums.collect() }
    }

    fn pids(&self) -> BTreeSet<u32> {
        self.sums.keys().copied().chain(self.holds.iter().map(|hold| hold.who.pid)).collect()
    }

    /// Time that has been watched; at least a second, so that a rate means something.
    fn watched_ns(&self) -> u64 {
        self.timeline.now_ns.saturating_sub(self.timeline.from_ns).max(SECOND)
    }

    fn writes(&self, pid: u32) -> impl Iterator<Item = &'t Hold> {
        self.holds.iter().copied().filter(move |hold| hold.lock.is_writers() && hold.who.pid == pid)
    }

    fn waits_of(&self, pid: u32) -> impl Iterator<Item = &'t Wait> {
        self.waits.iter().copied().filter(move |wait| wait.who.pid == pid)
    }

    /// Longest wait of another process that ran into a hold of this one.
    fn longest_wait_for(&self, pid: u32) -> u64 {
        let waits = self.waits.iter().filter(|wait| wait.who.pid != pid && wait.holder == Some(pid));
        waits.map(|wait| wait.to_ns.saturating_sub(wait.from_ns)).max().unwrap_or(0)
    }

    fn program_holds_lock(&self, pid: u32) -> Option<Kind> {
        if !self.timeline.sees_statements {
            return None;
        }
        let now_ns = self.timeline.now_ns;
        // A hold in which no statement was seen is of a program whose statements cannot be seen.
        let holds: Vec<&Hold> =
            self.writes(pid).filter(|hold| hold.statement_ns > 0 && hold.gap.ns >= GAP_NS_MIN).collect();
        let longest = holds.iter().max_by_key(|hold| hold.gap.ns)?;
        // One that says its statements, if it is nearly as long: texts are not known from the first moment on.
        let is_told = |hold: &&&Hold| hold.gap.before.is_some() && hold.gap.after.is_some();
        let told = holds.iter().filter(is_told).filter(|hold| 2 * hold.gap.ns >= longest.gap.ns);
        let longest = told.max_by_key(|hold| hold.gap.ns).unwrap_or(longest);
        let longest_wait_ns = self.longest_wait_for(pid);
        let held_ns: u64 = self.writes(pid).map(|hold| hold.ns(now_ns)).sum();
        let outside_ns: u64 = holds.iter().map(|hold| hold.ns(now_ns).saturating_sub(hold.statement_ns)).sum();
        let worth = longest_wait_ns >= GAP_NS_MIN && 2 * outside_ns >= held_ns;
        worth.then(|| Kind::ProgramHoldsLock {
            holds: holds.len() as u64,
            outside_ns,
            held_ns,
            longest_gap_ns: longest.gap.ns,
            before: longest.gap.before.clone(),
            after: longest.gap.after.clone(),
            longest_wait_ns,
        })
    }

    fn idle_in_transaction(&self, pid: u32) -> Option<Kind> {
        if !self.timeline.sees_statements {
            return None;
        }
        let now_ns = self.timeline.now_ns;
        let open = self.writes(pid).find(|hold| hold.to_ns.is_none() && hold.ns(now_ns) >= IDLE_NS_MIN)?;
        let (since_ns, last) = self.timeline.idle_since(pid)?;
        let idle_ns = now_ns.saturating_sub(since_ns);
        (idle_ns >= IDLE_NS_MIN).then(|| Kind::IdleInTransaction { held_ns: open.ns(now_ns), idle_ns, last })
    }

    /// Refused without a second try: for which reason, as far as it can be known.
    fn refused(&self, pid: u32) -> Option<Kind> {
        let once: Vec<&Wait> = self
            .waits_of(pid)
            .filter(|wait| wait.end == End::GaveUp && wait.tries == 1 && wait.lock.is_writers())
            .collect();
        if once.is_empty() {
            return None;
        }
        let count = |of: &[&&Wait]| of.len() as u64;
        if !self.timeline.sees_statements {
            return Some(Kind::RefusedAtOnce { refused: once.len() as u64 });
        }
        let (after_read, fresh): (Vec<&&Wait>, Vec<&&Wait>) = once.iter().partition(|wait| wait.after_read);
        if let Some(first) = after_read.first() {
            let readers = self
                .holds
                .iter()
                .filter(|hold| hold.who.pid == pid && matches!(hold.lock, Lock::Read(_) | Lock::Shared));
            let longest_ns = readers.map(|hold| hold.ns(self.timeline.now_ns)).max().unwrap_or(0);
            return Some(Kind::ReadThenWrite { refused: count(&after_read), longest_ns, sql: first.sql.clone() });
        }
        Some(Kind::NoBusyTimeout { refused: count(&fresh), sql: fresh.first()?.sql.clone() })
    }

    fn timeout_too_short(&self, pid: u32) -> Option<Kind> {
        // Where statements are seen, the end of a wait is known only if its statement was seen from its beginning.
        let is_whole = |wait: &&Wait| wait.has_statement() || !self.timeline.sees_statements;
        let gave_up: Vec<&Wait> =
            self.waits_of(pid).filter(|wait| wait.end == End::GaveUp && wait.tries > 1).filter(is_whole).collect();
        let longest = gave_up.iter().max_by_key(|wait| wait.to_ns - wait.from_ns)?;
        let longest_ns = longest.to_ns - longest.from_ns;
        let others = self.holds.iter().filter(|hold| hold.lock.is_writers() && hold.who.pid != pid);
        let held_ns_max = others.map(|hold| hold.ns(self.timeline.now_ns)).max().unwrap_or(0);
        Some(Kind::TimeoutTooShort { gave_up: gave_up.len() as u64, longest_ns, holder: longest.holder, held_ns_max })
    }

    fn starvation(&self, pid: u32) -> Option<Kind> {
        let suffers = self.sums.get(&pid)?;
        let (&holder, most) =
            self.sums.iter().filter(|(other, _)| **other != pid).max_by_key(|(_, sums)| sums.write_ns)?;
        let open_ns: u64 =
            self.waits_of(pid).filter(|w| w.end == End::Open).map(|w| self.timeline.now_ns - w.from_ns).sum();
        let waited_ns = suffers.wait_ns + open_ns;
        let held_permille = 1000 * most.write_ns / self.watched_ns();
        let starved = held_permille >= STARVED_PERMILLE
            && most.writes >= COUNT_MIN
            && waited_ns >= STARVED_TIMES * suffers.write_ns.max(WAIT_NS_MIN)
            && most.write_ns >= STARVED_TIMES * suffers.write_ns;
        let (had_ns, gave_up) = (suffers.write_ns, suffers.gave_up);
        starved.then_some(Kind::Starvation { holder, held_permille, waited_ns, had_ns, gave_up })
    }

    fn disk(&self, pid: u32) -> Option<Kind> {
        let now_ns = self.timeline.now_ns;
        let (mut held_ns, mut sync_ns, mut syncs) = (0, 0, 0);
        for hold in self.writes(pid) {
            held_ns += hold.ns(now_ns);
            sync_ns += hold.sync_ns;
            syncs += u64::from(hold.syncs);
        }
        let share = 1000 * sync_ns / held_ns.max(1);
        let waited = self.longest_wait_for(pid) >= WAIT_NS_MIN;
        (share >= DISK_PERMILLE && syncs >= COUNT_MIN && waited).then(|| Kind::Disk {
            syncs,
            sync_permille: share,
            sync_ns_mean: sync_ns / syncs,
        })
    }

    fn readers_block_writer(&self, pid: u32) -> Option<Kind> {
        let drains: Vec<&&Hold> = self
            .holds
            .iter()
            .filter(|hold| hold.who.pid == pid && hold.lock == Lock::Pending && hold.mode == Mode::Alone)
            .collect();
        let blocked = drains.iter().filter(|hold| hold.ns(self.timeline.now_ns) >= GAP_NS_MIN);
        // PENDING is held until the commit ends; only where EXCLUSIVE was refused meanwhile did readers keep it waiting.
        let refused = |hold: &&&&Hold| {
            let end = hold.to_ns.unwrap_or(u64::MAX);
            self.waits_of(pid).any(|w| w.lock == Lock::Shared && w.from_ns <= end && w.to_ns >= hold.from_ns)
        };
        let blocked: Vec<&&&Hold> = blocked.filter(refused).collect();
        let longest_ns = blocked.iter().map(|hold| hold.ns(self.timeline.now_ns)).max()?;
        let overlaps = |reader: &Hold| {
            blocked
                .iter()
                .any(|w| reader.from_ns < w.to_ns.unwrap_or(u64::MAX) && reader.to_ns.unwrap_or(u64::MAX) > w.from_ns)
        };
        let readers =
            self.holds.iter().filter(|hold| hold.lock == Lock::Shared && hold.who.pid != pid && overlaps(hold));
        let mut readers: Vec<u32> = readers.map(|hold| hold.who.pid).collect();
        readers.sort_unstable();
        readers.dedup();
        Some(Kind::ReadersBlockWriter { times: blocked.len() as u64, longest_ns, readers })
    }

    fn reader_pins_log(&self, pid: u32) -> Option<Kind> {
        let state = &self.samples.last()?.state;
        let log = state.log.as_ref()?;
        let now_ns = self.timeline.now_ns;
        let open = self
            .holds
            .iter()
            .filter(|hold| hold.who.pid == pid && hold.to_ns.is_none() && hold.ns(now_ns) >= PINNED_NS);
        let marks = open.filter_map(|hold| match hold.lock {
            // Mark 0 reads the database alone, and does not hold back the log's end.
            Lock::Read(mark) if mark > 0 => Some((log.read_marks[mark as usize]?, hold.ns(now_ns))),
            _ => None,
        });
        let (frame, held_ns) = marks.min_by_key(|(frame, _)| *frame)?;
        let behind_frames = log.frames.saturating_sub(frame);
        let (reader, log_bytes) = (pid, state.log_bytes);
        (behind_frames >= PINNED_FRAMES).then_some(Kind::ReaderPinsLog { reader, behind_frames, held_ns, log_bytes })
    }

    fn checkpoint_in_commit(&self, pid: u32) -> Option<Kind> {
        let now_ns = self.timeline.now_ns;
        let with: Vec<&Hold> = self.writes(pid).filter(|hold| hold.checkpoint_ns > 0).collect();
        let longest_ns = with.iter().map(|hold| hold.checkpoint_ns).max()?;
        let (inside, held): (u64, u64) =
            (with.iter().map(|hold| hold.checkpoint_ns).sum(), self.writes(pid).map(|hold| hold.ns(now_ns)).sum());
        let share_permille = 1000 * inside / held.max(1);
        let worth = longest_ns >= WAIT_NS_MIN && self.longest_wait_for(pid) >= WAIT_NS_MIN;
        worth.then_some(Kind::CheckpointInCommit { times: with.len() as u64, longest_ns, share_permille })
    }

    fn small_commits(&self, pid: u32) -> Option<Kind> {
        let sums = self.sums.get(&pid)?;
        let commits_per_s = sums.writes * SECOND / self.watched_ns();
        let sync_permille = 1000 * sums.sync_ns / self.watched_ns();
        let each_synced = sums.syncs >= sums.writes;
        (commits_per_s >= COMMITS_PER_S && each_synced && sync_permille >= COMMITS_PERMILLE)
            .then_some(Kind::SmallCommits { commits_per_s, sync_permille })
    }

    fn churn(&self) -> Option<Finding> {
        // The `-shm` of a database that is closed by the last is another file at the next opening: either count can miss some.
        let of = |sums: &Sums| sums.connects.max(sums.last_closes);
        let connects: u64 = self.sums.values().map(|sums| of(sums)).sum();
        let per_s = connects * SECOND / self.watched_ns();
        let (&pid, _) = self.sums.iter().max_by_key(|(_, sums)| of(sums))?;
        let processes = self.sums.values().filter(|sums| of(sums) > 0).count();
        let kind = Kind::OpenCloseChurn { per_s, processes };
        (per_s >= CONNECTS_PER_S && connects >= COUNT_MIN).then_some(Finding { database: self.database, pid, kind })
    }
}
