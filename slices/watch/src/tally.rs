//! Totals of a process on a database since the beginning of the watch. Their size does not depend on the length of
//! the watch.

use crate::event::WITHOUT_TEXT;
use crate::hold::{Cause, End, GAP_NS_MIN, Gap, Hold, KeptOut, Wait};
use crate::lock::{Lock, Mode};
use std::collections::{BTreeMap, BTreeSet};

/// Most statements, and most shapes of transactions, that are stored.
const TEXTS_MAX: usize = 500;

/// Sums of a process on a database.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sums {
    /// Number of times it held the write lock, without rebuilds of the log's index.
    pub writes: u64,
    /// Time for which it held the write lock, also for rebuilds.
    pub write_ns: u64,
    pub write_ns_max: u64,
    /// Number of waits for any lock, and their total time.
    pub waits: u64,
    pub wait_ns: u64,
    pub wait_ns_max: u64,
    /// Number of refused lock calls.
    pub refusals: u64,
    /// Number of waits that ended without the lock.
    pub gave_up: u64,
    /// Number of statements that returned SQLITE_BUSY or an extended code of it.
    pub busy: u64,
    pub syncs: u64,
    pub sync_ns: u64,
    /// Number of connections to the log's index (opening the database in WAL mode).
    pub connects: u64,
    /// Number of times it closed the last connection, which copies and deletes the log.
    pub last_closes: u64,
    /// Number of times it rebuilt the log's index: the first to open does, and the first after a crash.
    pub recoveries: u64,
    /// Number of calls that opened a connection, as far as calls are visible; a new process is one.
    pub opens: u64,
    /// How many of these have been closed, at least.
    pub closed: u64,
    /// Descriptors of the file when they were last counted.
    pub descriptors: u64,
    /// Whether it had connections from before the watch: they hide as many that are closed.
    pub open_before: bool,
}

impl Sums {
    /// Adds a hold of the write lock that has ended.
    pub fn held_write_lock(&mut self, ns: u64, is_rebuild: bool) {
        self.writes += u64::from(!is_rebuild);
        self.write_ns += ns;
        self.write_ns_max = self.write_ns_max.max(ns);
    }

    /// Counts connections that have been closed: the process has the file open by no more than these descriptors, and each
    /// connection needs one. It may have more, of connections from before the watch.
    pub fn has_open(&mut self, descriptors: usize) {
        self.descriptors = descriptors as u64;
        self.open_before |= self.descriptors > self.opens;
        self.closed = self.closed.max(self.opens.saturating_sub(self.descriptors));
    }

    /// Whether the calls explain each connection that the locks show, and none is hidden by one from before.
    pub fn is_counted(&self, is_open: bool) -> bool {
        !self.open_before && self.opens.saturating_sub(self.descriptors) >= self.by_locks(is_open)
    }

    /// Number of connections that did not stay open, at least. `is_open`: whether one is connected to the log now.
    pub fn did_not_stay(&self, is_open: bool) -> u64 {
        self.closed.max(self.by_locks(is_open))
    }

    /// The same by locks alone. Connections of a process share them, and the last close removes the `-shm`, of which the next
    /// opening creates another file: each count may miss some.
    pub fn by_locks(&self, is_open: bool) -> u64 {
        self.connects.saturating_sub(u64::from(is_open)).max(self.last_closes).max(self.recoveries)
    }
}

/// Number, total and maximum of durations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    pub count: u64,
    pub total_ns: u64,
    pub max_ns: u64,
    /// Thread (or connection) of the longest.
    pub max_tid: u32,
}

impl Times {
    /// Adds a duration. Returns whether it is the longest so far.
    pub fn add(&mut self, ns: u64, tid: u32) -> bool {
        self.count += 1;
        self.total_ns += ns;
        let is_longest = ns >= self.max_ns;
        if is_longest {
            (self.max_ns, self.max_tid) = (ns, tid);
        }
        is_longest
    }
}

/// Durations with the statement of the longest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Longest {
    pub times: Times,
    pub sql: Option<String>,
    /// Whether the start of the longest was not seen.
    pub began_before: bool,
}

impl Longest {
    pub fn add(&mut self, ns: u64, hold: &Hold) {
        if self.times.add(ns, hold.who.tid) {
            self.sql = hold.longest().cloned();
            self.began_before = hold.began_before;
        }
    }
}

/// Transactions with the same sequence of statements.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shape {
    /// Times for which they held the write lock.
    pub held: Times,
    /// Time in them without a statement.
    pub outside_ns: u64,
    /// The longest such pause.
    pub gap: Gap,
}

/// Refusals without a retry.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Refused {
    pub count: u64,
    /// Number of them whose snapshot was too old to write.
    pub outdated: u64,
    /// Number of them of which it is unknown whether their transaction had read.
    pub unknown: u64,
    /// The first one, or the first whose holder is known.
    pub example: Option<Wait>,
}

/// Commits of others that waited for this process to stop reading (rollback journal).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Blocked {
    pub waits: Times,
    /// Number of them that ended without the lock.
    pub gave_up: u64,
    pub writers: BTreeSet<u32>,
    /// Its longest read lock among these, its thread or connection, and the statement.
    pub read_ns: u64,
    pub tid: u32,
    pub sql: Option<String>,
}

/// Waits of other connections or processes for this one, by what kept the lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaitedFor {
    /// Holds that were mostly syncs.
    pub syncs: Times,
    /// Holds with a pause between statements; see [`Hold::pauses`].
    pub pauses: Times,
    pub checkpoints: Times,
    /// Long holds; see [`Hold::works`].
    pub work: Times,
}

/// Waits that have ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ended {
    pub times: Times,
    /// Number of them that ended without the lock.
    pub gave_up: u64,
}

impl Ended {
    fn add(&mut self, wait: &Wait) {
        self.times.add(wait.to_ns.saturating_sub(wait.from_ns), wait.who.tid);
        self.gave_up += u64::from(wait.end.is_without_lock());
    }
}

/// All totals of a process on a database.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Holds of the write lock with a pause (see [`Hold::pauses`]): time outside of statements, and their whole time.
    pub outside: Times,
    pub outside_held_ns: u64,
    /// What they kept out in their pauses.
    pub outside_kept_out: KeptOut,
    /// Number of calls of others that its write locks refused, in pauses or not, also in transactions without a pause.
    pub refused_others: u64,
    pub gap: Gap,
    /// Longest gap for which both statements are known.
    pub known_gap: Gap,
    /// Long holds of the write lock that are mostly statements, or whose statements are unknown.
    pub long: Longest,
    pub waited_for: WaitedFor,
    pub read_ns_max: u64,
    pub refused_after_read: Refused,
    pub refused_fresh: Refused,
    /// Whether statements of the process were visible at such a refusal.
    pub sees_refused: bool,
    /// Waits that ended without the lock after several attempts; by their holder, the number and the longest.
    pub gave_up: Times,
    pub gave_up_by: BTreeMap<Option<u32>, (u64, Wait)>,
    /// Those for the writer's lock.
    pub write_waits: Ended,
    /// Syncs while it held the write lock.
    pub syncs: Times,
    /// Checkpoints under the write lock, and those that a statement made after its commit.
    pub checkpoints: Longest,
    pub own_checkpoints: Longest,
    pub blocked: Blocked,
    /// Waits by holder of the lock.
    pub waited: BTreeMap<u32, Ended>,
    /// Number of holds of the write lock with a statement of which no text was seen.
    pub without_text: u64,
    /// Times of statements under the write lock, by text if it was seen.
    pub statements: BTreeMap<Option<String>, Times>,
    pub shapes: BTreeMap<String, Shape>,
}

impl Tally {
    /// Adds a hold that has ended, or the part so far of one that continues.
    pub fn hold(&mut self, hold: &Hold, now_ns: u64) {
        let ns = hold.ns(now_ns);
        if matches!(hold.lock, Lock::Read(_) | Lock::Shared) && hold.mode == Mode::Shared && !hold.is_connection {
            self.read_ns_max = self.read_ns_max.max(ns);
        }
        if hold.after_commit {
            self.own_checkpoints.add(ns, hold);
        }
        if !hold.lock.is_writers() {
            return;
        }
        let outside_ns = hold.outside_ns(now_ns);
        self.refused_others += hold.refused;
        if hold.pauses() {
            self.outside.add(outside_ns, hold.who.tid);
            self.outside_held_ns += ns;
            self.outside_kept_out.add(&hold.kept_out);
            keep_longer(&mut self.gap, &hold.gap);
            if hold.gap.before.is_some() && hold.gap.after.is_some() {
                keep_longer(&mut self.known_gap, &hold.gap);
            }
        }
        if hold.syncs > 0 {
            self.syncs.count += u64::from(hold.syncs);
            self.syncs.total_ns += hold.sync_ns;
        }
        if hold.checkpoint_ns > 0 {
            self.checkpoints.add(hold.checkpoint_ns, hold);
        }
        if hold.works(now_ns) {
            self.long.add(ns, hold);
        }
        self.without_text += u64::from(hold.parts.iter().any(|(sql, _)| sql.is_none()));
        for (sql, ns) in &hold.parts {
            if let Some(times) = entry(&mut self.statements, sql) {
                times.add(*ns, hold.who.tid);
            }
        }
        if hold.is_rebuild {
            // The statement that opened the database is no transaction that wrote.
            return;
        }
        let texts: Vec<&str> = hold.parts.iter().map(|(sql, _)| sql.as_deref().unwrap_or(WITHOUT_TEXT)).collect();
        if let Some(shape) = entry(&mut self.shapes, &texts.join("; ")).filter(|_| !texts.is_empty()) {
            shape.held.add(ns, hold.who.tid);
            shape.outside_ns += outside_ns;
            if !hold.is_kept {
                keep_longer(&mut shape.gap, &hold.gap);
            }
        }
    }

    /// Adds a wait of others for this process.
    pub fn waited_for(&mut self, wait: &Wait, cause: &Cause) {
        if wait.is_for_readers() {
            return self.blocked.add(wait, cause);
        }
        let WaitedFor { syncs, pauses, checkpoints, work } = &mut self.waited_for;
        let sync_ns = if 2 * cause.sync_ns >= cause.ns { cause.ns } else { 0 };
        let parts =
            [(syncs, sync_ns), (pauses, cause.pause_ns), (checkpoints, cause.checkpoint_ns), (work, cause.work_ns)];
        for (times, ns) in parts.into_iter().filter(|(_, ns)| *ns > 0) {
            times.add(ns, wait.who.tid);
        }
    }

    /// Adds a wait of this process that has ended. With visible statements, the end of a wait is known only if its
    /// statement was seen from the beginning. A process that ended after several tries may have been killed.
    pub fn wait(&mut self, wait: &Wait, is_visible: bool) {
        let ns = wait.to_ns.saturating_sub(wait.from_ns);
        if let Some(holder) = wait.holder {
            self.waited.entry(holder).or_default().add(wait);
        }
        if wait.lock.is_writers() {
            self.write_waits.add(wait);
        }
        // A call of a visible program that is no statement, such as a backup's, may be tried again at any time.
        let has_given_up = wait.end == End::GaveUp || wait.end == End::ProcessEnded && wait.tries == 1;
        if !has_given_up || !wait.has_statement() && is_visible {
            return;
        }
        if wait.tries == 1 && wait.lock != Lock::Recover {
            let after_read = wait.after_read && wait.lock.is_writers();
            let refused = if after_read { &mut self.refused_after_read } else { &mut self.refused_fresh };
            refused.count += 1;
            self.sees_refused |= is_visible;
            refused.outdated += u64::from(wait.is_outdated);
            refused.unknown += u64::from(wait.may_have_read);
            if refused.example.as_ref().is_none_or(|known| known.holder.is_none() && wait.holder.is_some()) {
                refused.example = Some(wait.clone());
            }
        } else if wait.tries > 1 {
            self.gave_up.add(ns, wait.who.tid);
            let has_room = self.gave_up_by.len() < TEXTS_MAX || self.gave_up_by.contains_key(&wait.holder);
            let holder = wait.holder.filter(|_| has_room);
            let (times, longest) = self.gave_up_by.entry(holder).or_insert_with(|| (0, wait.clone()));
            *times += 1;
            if ns > longest.to_ns.saturating_sub(longest.from_ns) {
                longest.clone_from(wait);
            }
        }
    }

    /// The holder during most of the waits that ended without the lock: their number, and the longest.
    pub fn mostly_gave_up(&self) -> Option<&(u64, Wait)> {
        let order = |(holder, (times, longest)): &(&Option<u32>, &(u64, Wait))| {
            (holder.is_some(), *times, longest.to_ns.saturating_sub(longest.from_ns))
        };
        self.gave_up_by.iter().max_by_key(order).map(|(_, most)| most)
    }
}

impl Blocked {
    fn add(&mut self, wait: &Wait, cause: &Cause) {
        if cause.ns < GAP_NS_MIN {
            return;
        }
        self.waits.add(cause.ns, wait.who.tid);
        self.gave_up += u64::from(wait.end.is_without_lock());
        self.writers.insert(wait.who.pid);
        if cause.held_ns >= self.read_ns {
            (self.read_ns, self.tid) = (cause.held_ns, cause.tid);
            self.sql.clone_from(&cause.sql);
        }
    }
}

fn keep_longer(longest: &mut Gap, gap: &Gap) {
    if gap.ns > longest.ns {
        longest.clone_from(gap);
    }
}

/// The entry of a text; `None` if there are already too many.
fn entry<'m, K: Ord + Clone, T: Default>(map: &'m mut BTreeMap<K, T>, text: &K) -> Option<&'m mut T> {
    if !map.contains_key(text) {
        if map.len() >= TEXTS_MAX {
            return None;
        }
        map.insert(text.clone(), T::default());
    }
    map.get_mut(text)
}
