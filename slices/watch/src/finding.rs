//! What is wrong, with its evidence and what to change. Pure: a timeline and samples of the log in, findings out. A finding is
//! given only where its evidence was seen; a healthy program gets none.

use crate::hold::{End, Gap, Hold, Wait};
use crate::lock::Lock;
use crate::tally::{GAP_NS_MIN, Sums, Tally, Times};
use crate::target::State;
use crate::timeline::Timeline;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// A transaction without a statement for this long is idle.
const IDLE_NS_MIN: u64 = SECOND;
/// Waits that are worth a word: one of this length, or this part of the time watched.
const WAIT_NS_MIN: u64 = 100 * MS;
/// A checkpoint that makes a commit longer by this is worth a word.
const CHECKPOINT_NS_MIN: u64 = 250 * MS;
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
    /// Checkpoints keep writers out while they copy.
    CheckpointBlocksWriters { times: u64, longest_ns: u64, longest_wait_ns: u64 },
    /// A commit also makes a checkpoint, and takes as much longer.
    CheckpointInCommit { times: u64, longest_ns: u64 },
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
                view.checkpoint_blocks_writers(pid),
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
    /// What is held and waited for now.
    held: Vec<&'t Hold>,
    waiting: Vec<&'t Wait>,
    sums: BTreeMap<u32, &'t Sums>,
    /// With what is held now, as far as it got.
    tallies: BTreeMap<u32, Tally>,
}

impl<'t> View<'t> {
    fn new(timeline: &'t Timeline, database: usize, samples: &'t [Sample]) -> Self {
        let held: Vec<&Hold> = timeline.held().filter(|hold| hold.database == database).collect();
        let waiting: Vec<&Wait> = timeline.waiting().filter(|wait| wait.database == database).collect();
        let sums = timeline.sums.iter().filter(|((d, _), _)| *d == database).map(|((_, pid), sums)| (*pid, sums));
        let of_database = timeline.tallies.iter().filter(|((d, _), _)| *d == database);
        let mut tallies: BTreeMap<u32, Tally> = of_database.map(|((_, pid), tally)| (*pid, tally.clone())).collect();
        for hold in &held {
            tallies.entry(hold.who.pid).or_default().hold(hold, timeline.now_ns);
        }
        for wait in &waiting {
            if let Some(tally) = wait.holder.and_then(|holder| tallies.get_mut(&holder)) {
                tally.waited_for_ns = tally.waited_for_ns.max(wait.to_ns.saturating_sub(wait.from_ns));
            }
        }
        View { timeline, database, samples, held, waiting, sums: sums.collect(), tallies }
    }

    fn pids(&self) -> BTreeSet<u32> {
        self.sums.keys().copied().chain(self.tallies.keys().copied()).collect()
    }

    /// Time that has been watched; at least a second, so that a rate means something.
    fn watched_ns(&self) -> u64 {
        self.timeline.now_ns.saturating_sub(self.timeline.from_ns).max(SECOND)
    }

    /// Write locks that a process holds now.
    fn open_writes(&self, pid: u32) -> impl Iterator<Item = &'t Hold> {
        self.held.iter().copied().filter(move |hold| hold.lock.is_writers() && hold.who.pid == pid)
    }

    /// Time in which a process had the write lock, and the longest of these times.
    fn write_ns(&self, pid: u32) -> (u64, u64) {
        let (total, max) = self.sums.get(&pid).map_or((0, 0), |sums| (sums.write_ns, sums.write_ns_max));
        let open = || self.open_writes(pid).map(|hold| hold.ns(self.timeline.now_ns));
        (total + open().sum::<u64>(), open().max().unwrap_or(0).max(max))
    }

    fn program_holds_lock(&self, pid: u32) -> Option<Kind> {
        let tally = self.tallies.get(&pid).filter(|tally| self.timeline.sees_statements && tally.outside.count > 0)?;
        // One that says its statements, if it is nearly as long: texts are not known from the first moment on.
        let longest = if 2 * tally.told_gap.ns >= tally.gap.ns { &tally.told_gap } else { &tally.gap };
        let Gap { ns: longest_gap_ns, before, after } = longest.clone();
        let (held_ns, _) = self.write_ns(pid);
        let (outside_ns, longest_wait_ns) = (tally.outside.total_ns, tally.waited_for_ns);
        let worth = longest_wait_ns >= GAP_NS_MIN && 2 * outside_ns >= held_ns;
        let holds = tally.outside.count;
        worth.then_some(Kind::ProgramHoldsLock {
            holds,
            outside_ns,
            held_ns,
            longest_gap_ns,
            before,
            after,
            longest_wait_ns,
        })
    }

    fn idle_in_transaction(&self, pid: u32) -> Option<Kind> {
        if !self.timeline.sees_statements {
            return None;
        }
        let now_ns = self.timeline.now_ns;
        let open = self.open_writes(pid).find(|hold| hold.ns(now_ns) >= IDLE_NS_MIN)?;
        let (since_ns, last) = self.timeline.idle_since(pid)?;
        let idle_ns = now_ns.saturating_sub(since_ns);
        (idle_ns >= IDLE_NS_MIN).then(|| Kind::IdleInTransaction { held_ns: open.ns(now_ns), idle_ns, last })
    }

    /// Refused without a second try: for which reason, as far as it can be known.
    fn refused(&self, pid: u32) -> Option<Kind> {
        let Tally { refused_after_read: after_read, refused_fresh: fresh, read_ns_max, .. } = self.tallies.get(&pid)?;
        let refused = after_read.count + fresh.count;
        if refused == 0 {
            return None;
        }
        Some(if !self.timeline.visible.contains(&pid) {
            Kind::RefusedAtOnce { refused }
        } else if after_read.count > 0 {
            Kind::ReadThenWrite { refused: after_read.count, longest_ns: *read_ns_max, sql: after_read.sql.clone() }
        } else {
            Kind::NoBusyTimeout { refused, sql: fresh.sql.clone() }
        })
    }

    fn timeout_too_short(&self, pid: u32) -> Option<Kind> {
        let tally = self.tallies.get(&pid).filter(|tally| tally.gave_up.count > 0)?;
        // Or another thread of its own.
        let is_holder = |other: &u32| *other != pid || tally.gave_up_holder == Some(pid);
        let others = self.pids().into_iter().filter(is_holder);
        Some(Kind::TimeoutTooShort {
            gave_up: tally.gave_up.count,
            longest_ns: tally.gave_up.max_ns,
            holder: tally.gave_up_holder,
            held_ns_max: others.map(|other| self.write_ns(other).1).max().unwrap_or(0),
        })
    }

    fn starvation(&self, pid: u32) -> Option<Kind> {
        let suffers = self.sums.get(&pid)?;
        let (&holder, most) =
            self.sums.iter().filter(|(other, _)| **other != pid).max_by_key(|(_, sums)| sums.write_ns)?;
        let open_ns: u64 = self
            .waiting
            .iter()
            .filter(|w| w.who.pid == pid && w.end == End::Open)
            .map(|w| self.timeline.now_ns - w.from_ns)
            .sum();
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
        let tally = self.tallies.get(&pid)?;
        let (syncs, sync_ns) = (tally.syncs.count, tally.syncs.total_ns);
        let sync_permille = 1000 * sync_ns / self.write_ns(pid).0.max(1);
        let waited = tally.waited_for_ns >= WAIT_NS_MIN;
        (sync_permille >= DISK_PERMILLE && syncs >= COUNT_MIN && waited).then(|| Kind::Disk {
            syncs,
            sync_permille,
            sync_ns_mean: sync_ns / syncs,
        })
    }

    fn readers_block_writer(&self, pid: u32) -> Option<Kind> {
        let drains = &self.tallies.get(&pid)?.drains;
        let Times { count: times, max_ns: longest_ns, .. } = drains.waits;
        let readers = drains.readers.iter().copied().collect();
        (times > 0).then_some(Kind::ReadersBlockWriter { times, longest_ns, readers })
    }

    fn reader_pins_log(&self, pid: u32) -> Option<Kind> {
        let state = &self.samples.last()?.state;
        let log = state.log.as_ref()?;
        let now_ns = self.timeline.now_ns;
        let open = self.held.iter().filter(|hold| hold.who.pid == pid && hold.ns(now_ns) >= PINNED_NS);
        let marks = open.filter_map(|hold| match hold.lock {
            Lock::Read(mark) => Some((log.frame_of(mark)?, hold.ns(now_ns))),
            _ => None,
        });
        let (frame, held_ns) = marks.min_by_key(|(frame, _)| *frame)?;
        let behind_frames = log.frames.saturating_sub(frame);
        let (reader, log_bytes) = (pid, state.log_bytes);
        (behind_frames >= PINNED_FRAMES).then_some(Kind::ReaderPinsLog { reader, behind_frames, held_ns, log_bytes })
    }

    fn checkpoint_blocks_writers(&self, pid: u32) -> Option<Kind> {
        let tally = self.tallies.get(&pid)?;
        let (Times { count: times, max_ns: longest_ns, .. }, longest_wait_ns) =
            (tally.checkpoints, tally.waited_for_ns);
        (longest_ns >= WAIT_NS_MIN && longest_wait_ns >= WAIT_NS_MIN).then_some(Kind::CheckpointBlocksWriters {
            times,
            longest_ns,
            longest_wait_ns,
        })
    }

    fn checkpoint_in_commit(&self, pid: u32) -> Option<Kind> {
        let Times { count: times, max_ns: longest_ns, .. } = self.tallies.get(&pid)?.own_checkpoints;
        (longest_ns >= CHECKPOINT_NS_MIN).then_some(Kind::CheckpointInCommit { times, longest_ns })
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
