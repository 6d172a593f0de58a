//! Combines events: who holds which lock since when, who waits, and which statements ran meanwhile. Pure: events in,
//! values out.

use crate::connection::is_thread;
use crate::event::{Event, What, Who};
use crate::hold::{End, Hold, Wait, mark_rebuild};
use crate::lock::{Change, Lock, Mode};
use crate::tally::{Sums, Tally};
use crate::thread::{Call, DONE, Thread};
use contend::engine::wal::Log;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

/// A refused thread that retries within this time is still waiting: SQLite's busy handler pauses at most 100 ms. If
/// statements are visible, the end of the statement ends the wait instead.
const TRIES_AGAIN_NS: u64 = 500_000_000;
/// Interval between looks for waits that have ended so.
const LOOKS_NS: u64 = 20_000_000;
/// Deepest nesting of calls that is tracked. SQLite calls its own functions two or three levels deep.
const DEPTH_MAX: usize = 16;

/// Ended holds from which on, twice as many, old reads are removed.
const HOLDS_MAX: usize = 100_000;

/// SQLite's primary code.
pub const BUSY: i32 = 5;

/// Everything that was seen.
#[derive(Debug, Default)]
pub struct Timeline {
    pub from_ns: u64,
    pub now_ns: u64,
    /// Locks held now, by database, process and lock.
    pub(crate) held: BTreeMap<(usize, u32, Lock), Hold>,
    /// Of these the release of the holder before is still to be reported.
    pub(crate) overtaken: BTreeSet<(usize, u32, Lock)>,
    pub(crate) waiting: BTreeMap<(usize, Who), Wait>,
    pub(crate) threads: HashMap<Who, Thread>,
    /// Ended holds of write, checkpoint and read locks; oldest first.
    pub holds: VecDeque<Hold>,
    pub waits: VecDeque<Wait>,
    pub sums: BTreeMap<(usize, u32), Sums>,
    pub tallies: BTreeMap<(usize, u32), Tally>,
    /// Numbers of holds and waits that have ended; the lists have the latest of them.
    pub ended: (u64, u64),
    /// Number of holds that had ended when old ones were last removed.
    ended_before: u64,
    /// When waits were last looked at.
    looked_ns: u64,
    /// Until when events were last lost.
    pub(crate) lost_ns: u64,
    /// Whether any statements are visible.
    pub sees_statements: bool,
    /// Whether waits and refusals are visible.
    pub sees_waits: bool,
    /// Processes whose statements are visible, and since when.
    pub visible: HashMap<u32, u64>,
    /// Processes of which a call of SQLite was seen.
    pub(crate) called: HashSet<u32>,
    /// Processes that also use databases that are not watched.
    pub uses_others: HashSet<u32>,
    /// Processes that took a write lock before their statements were visible.
    pub wrote_unseen: BTreeSet<u32>,
    /// By process, statements that returned SQLITE_BUSY without a refused lock call or a lock of the process.
    pub unexplained: BTreeMap<u32, u64>,
    /// By process, write locks that kept others out and under which it executed no visible statement.
    pub without_statement: BTreeMap<u32, u64>,
    /// By process, statements of a writer and commits that returned SQLITE_BUSY without a refused lock call.
    pub kept_open: BTreeMap<u32, u64>,
    /// Nanoseconds for which threads of possible earlier writers had a processor since their process's statements are visible.
    pub processor_ns: HashMap<u32, BTreeMap<u32, u64>>,
}

impl Timeline {
    /// An empty timeline that begins at this time.
    pub fn new(from_ns: u64, sees_statements: bool) -> Timeline {
        Timeline { from_ns, now_ns: from_ns, sees_statements, sees_waits: true, ..Timeline::default() }
    }

    /// Locks that are held now.
    pub fn held(&self) -> impl Iterator<Item = &Hold> {
        self.held.values()
    }

    /// Threads that wait at the moment.
    pub fn waiting(&self) -> impl Iterator<Item = &Wait> {
        self.waiting.values()
    }

    /// Processes that hold a lock, wait for one, or execute a statement.
    pub fn at_work(&self) -> impl Iterator<Item = u32> {
        let executing = self.threads.iter().filter(|(_, thread)| !thread.calls.is_empty()).map(|(who, _)| who.pid);
        self.held().map(|hold| hold.who.pid).chain(self.waiting().map(|wait| wait.who.pid)).chain(executing)
    }

    /// Threads (or connections) of a process that execute a statement at the moment, with the statement if known.
    pub fn executing(&self, pid: u32) -> impl Iterator<Item = (u32, Option<&str>)> {
        let threads = self.threads.iter().filter(move |(who, _)| who.pid == pid);
        threads.filter_map(|(who, thread)| Some((who.tid, thread.calls.first()?.sql.as_deref())))
    }

    /// The statement that a hold's connection executes, or else its last one. `None` if the connection is unknown: the
    /// lock was taken before the watch, and the process has several.
    pub fn last_statement(&self, hold: &Hold) -> Option<String> {
        let is_only = || self.threads.keys().filter(|who| who.pid == hold.who.pid).count() == 1;
        let thread = self.threads.get(&hold.who).filter(|_| hold.from_ns > self.from_ns || is_only())?;
        thread.calls.first().map_or_else(|| thread.last_sql.clone(), |call| call.sql.clone())
    }

    /// A hold with its part of the statement, of the checkpoint and of the wait for readers in which its connection is now.
    pub fn up_to_now(&self, hold: &Hold) -> Hold {
        let mut hold = hold.clone();
        hold.checkpoint_ns = self.checkpoint_ns(&hold, self.now_ns);
        hold.drain_ns += self.drain_ns(&hold, self.now_ns);
        hold.count_present(self.threads.get(&hold.who), self.now_ns);
        hold
    }

    /// Adds the holds that continue to the causes of a wait.
    pub fn add_causes(&self, wait: &mut Wait) {
        wait.count_own_reader(|who| self.threads.get(&who).map_or(0, |thread| thread.free_ns));
        for hold in self.held.values() {
            if wait.for_ns(hold, wait.to_ns) > 0 {
                let mut hold = self.up_to_now(hold);
                // The pause during which the wait ends is not over.
                if let Some(thread) = self.threads.get(&hold.who).filter(|thread| thread.calls.is_empty()) {
                    hold.count_gap(thread, None, self.now_ns, self.free_ns(hold.who));
                }
                wait.add(&hold, wait.to_ns);
            }
        }
    }

    /// Whether a read lock has belonged to one connection all the time. SQLite counts the readers of a process in memory:
    /// several in turn may hold one lock.
    pub fn is_one_reader(&self, hold: &Hold) -> bool {
        let was_free = || self.threads.get(&hold.who).is_none_or(|thread| thread.free_ns > hold.from_ns);
        let is_only = || self.threads.keys().filter(|who| who.pid == hold.who.pid).count() <= 1;
        let is_one = if hold.from_ns > self.from_ns.max(self.lost_ns) { !was_free() } else { is_only() };
        is_one && self.visible.contains_key(&hold.who.pid)
    }

    /// The reader with the oldest snapshot among these holds of a database, and how many frames it is behind.
    pub fn oldest_reader(&self, database: usize, log: &Log, is: impl Fn(&Hold) -> bool) -> Option<(u32, &Hold)> {
        // A checkpoint holds a mark alone while it copies: that is no snapshot.
        let shared = self.held().filter(|hold| hold.database == database && hold.mode == Mode::Shared && is(hold));
        let marked = shared.filter_map(|hold| match hold.lock {
            Lock::Read(mark) => Some((log.frame_of(mark)?, hold)),
            _ => None,
        });
        let (frame, hold) = marked.min_by_key(|(frame, hold)| (*frame, hold.from_ns))?;
        Some((log.frames.saturating_sub(frame), hold))
    }

    /// Time of a checkpoint of the same connection under the write lock. FULL, RESTART and TRUNCATE block writers while
    /// they copy, and release the write lock before their own.
    fn checkpoint_ns(&self, hold: &Hold, to_ns: u64) -> u64 {
        let checkpoint = self.held.get(&(hold.database, hold.who.pid, Lock::Checkpoint));
        let its = checkpoint.filter(|checkpoint| hold.lock == Lock::WalWrite && checkpoint.who == hold.who);
        its.map_or(0, |checkpoint| to_ns.saturating_sub(checkpoint.from_ns.max(hold.from_ns)))
    }

    /// Time of the wait for readers in which the connection of a write lock is at a time.
    fn drain_ns(&self, hold: &Hold, to_ns: u64) -> u64 {
        let its = self.waiting.get(&(hold.database, hold.who)).filter(|wait| wait.is_for_readers());
        match its.map(|wait| to_ns.saturating_sub(wait.from_ns)) {
            _ if !hold.lock.is_writers() => 0,
            its => its.unwrap_or_else(|| self.unseen_drain_ns(hold.database, hold.who.pid, to_ns)),
        }
    }

    /// End of the last statement of a hold's connection, and its text. `None` if it executes one now, or is not
    /// visible.
    pub fn idle_since(&self, hold: &Hold) -> Option<(u64, Option<String>)> {
        // Whose lock it is may be unknown: then it is of no connection that was refused.
        let visible_ns = self.visible_ns(hold.who.pid);
        let is_known = hold.from_ns > visible_ns && is_thread(hold.who.tid);
        let is_its = |(who, thread): &(&Who, &Thread)| {
            if is_known { **who == hold.who } else { who.pid == hold.who.pid && !thread.was_refused() }
        };
        let threads = || self.threads.iter().filter(is_its).map(|(_, thread)| thread);
        // Its call may have begun before its statements were visible: then only its waits and syncs show it.
        let is_at_work = |thread: &Thread| !thread.calls.is_empty() || thread.sync_from_ns.is_some();
        let is_same = |wait: &&Wait| wait.database == hold.database && wait.who.pid == hold.who.pid;
        let drains = self.waiting().filter(is_same).any(Wait::is_for_readers);
        if !self.visible.contains_key(&hold.who.pid) || drains || threads().any(is_at_work) {
            return None;
        }
        let last = threads().max_by_key(|thread| thread.last_end_ns);
        let end_ns = threads().map(|thread| thread.last_end_ns.max(thread.waited_ns)).max().unwrap_or(0);
        Some((end_ns.max(visible_ns), last.and_then(|thread| thread.last_sql.clone())))
    }

    /// Time from which the statements of a process are visible without a gap, if they are.
    pub fn visible_ns(&self, pid: u32) -> u64 {
        self.visible.get(&pid).copied().unwrap_or(0).max(self.from_ns).max(self.lost_ns)
    }

    /// Whether a process that has had a lock since before its statements were visible may execute one that began before,
    /// which no event shows: a thread that was in no other call has had a processor for a fifth of the time.
    pub fn may_work_unseen(&self, pid: u32) -> bool {
        let was_seen = |tid: u32| {
            let thread = self.threads.get(&Who { pid, tid });
            thread.is_some_and(|thread| thread.last_end_ns > 0 || !thread.calls.is_empty())
        };
        let watched_ns = self.now_ns.saturating_sub(self.visible_ns(pid));
        let of_threads = self.processor_ns.get(&pid).into_iter().flatten();
        of_threads.filter(|(tid, _)| !was_seen(**tid)).any(|(_, ns)| 5 * ns >= watched_ns)
    }

    /// Adds an event. Events arrive in the order of their times.
    pub fn apply(&mut self, event: &Event) {
        self.now_ns = self.now_ns.max(event.at_ns);
        if self.now_ns >= self.looked_ns + LOOKS_NS {
            self.advance(event.at_ns);
        }
        let (who, at_ns) = (event.who, event.at_ns);
        match &event.what {
            What::Lock { database, lock, change } => match change {
                Change::Taken(mode) => self.taken(*database, who, *lock, *mode, at_ns),
                Change::Held(mode) => {
                    self.hold(Hold { began_before: true, ..Hold::new(*database, who, (*lock, *mode), at_ns) })
                }
                Change::Refused(mode) => self.refused(*database, who, (*lock, *mode), at_ns),
                Change::Released if self.overtaken.remove(&(*database, who.pid, *lock)) => {}
                Change::Released => self.released(*database, who, *lock, at_ns),
            },
            What::SyncBegins { .. } => self.threads.entry(who).or_default().sync_from_ns = Some(at_ns),
            What::SyncEnds { database } => self.synced(*database, who, at_ns),
            What::PrepareBegins { sql } | What::StepBegins { sql, .. } => self.begins(who, sql.clone(), at_ns),
            What::PrepareEnds { code } => self.ends(who, *code, false, at_ns),
            What::StepEnds { code } => self.ends(who, *code, true, at_ns),
            What::Opens { database } => self.sums(*database, who.pid).opens += 1,
            What::EndUnseen => self.end_unseen(who),
            // Its calls never return, and its number may be reused. The kernel reports the locks that it releases.
            What::Replaced => {
                self.threads.retain(|other, _| other.pid != who.pid);
                self.waiting.retain(|(_, other), _| other.pid != who.pid);
                self.called.remove(&who.pid);
                self.uses_others.remove(&who.pid);
            }
        }
    }

    /// Resets the sums: earlier events only establish which locks are held at the beginning.
    pub fn begin(&mut self, from_ns: u64) {
        self.from_ns = from_ns;
        self.now_ns = self.now_ns.max(from_ns);
        (self.holds, self.waits, self.sums, self.tallies, self.wrote_unseen) = Default::default();
        self.waiting.clear();
    }

    /// Advances the time: a thread outside of statements that has not retried has given up.
    pub fn advance(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        self.looked_ns = self.now_ns;
        self.wait_for_own_readers(self.now_ns);
        let is_in_call = |who: &Who| self.threads.get(who).is_some_and(|thread| !thread.calls.is_empty());
        let late = |wait: &Wait| now_ns.saturating_sub(wait.to_ns) > TRIES_AGAIN_NS && !is_in_call(&wait.who);
        let ended: Vec<(usize, Who)> = self.waiting.iter().filter(|(_, w)| late(w)).map(|(key, _)| *key).collect();
        for key in ended {
            self.end_wait(key, End::GaveUp);
        }
    }

    /// A process has ended: releases its locks. What a visible call of it waited for was neither granted nor given up.
    pub fn process_ended(&mut self, pid: u32, at_ns: u64) {
        self.overtaken.retain(|(_, of, _)| *of != pid);
        self.called.remove(&pid);
        let is_in_call = |who: &Who| self.threads.get(who).is_some_and(|thread| !thread.calls.is_empty());
        let its = self.waiting.keys().filter(|(_, who)| who.pid == pid && !is_in_call(who));
        let ended: Vec<(usize, Who)> = its.copied().collect();
        for key in ended {
            self.end_wait(key, End::ProcessEnded);
        }
        self.waiting.retain(|(_, who), _| who.pid != pid);
        let keys: Vec<(usize, u32, Lock)> = self.held.keys().filter(|key| key.1 == pid).copied().collect();
        for (database, _, lock) in keys {
            self.released(database, Who { pid, tid: pid }, lock, at_ns);
        }
        self.threads.retain(|who, _| who.pid != pid);
    }

    /// Removes what ended before this time, to bound the memory of a long watch, and of very many reads all but the latest:
    /// there may be hundreds of thousands a second. Sums stay, and so does what ended since the last call.
    pub fn forget_before(&mut self, at_ns: u64) {
        while self.holds.front().is_some_and(|hold| hold.to_ns.is_some_and(|to_ns| to_ns < at_ns)) {
            self.holds.pop_front();
        }
        while self.waits.front().is_some_and(|wait| wait.to_ns < at_ns) {
            self.waits.pop_front();
        }
        let fresh = self.ended.0 - std::mem::replace(&mut self.ended_before, self.ended.0);
        let surplus = self.holds.len().saturating_sub(HOLDS_MAX.max(fresh as usize));
        if surplus > HOLDS_MAX {
            let mut nth = 0;
            self.holds.retain(|hold| {
                nth += 1;
                nth > surplus || !matches!(hold.lock, Lock::Read(_) | Lock::Shared) || hold.mode == Mode::Alone
            });
        }
    }

    /// The sums with the write locks that are held now, and the waits that continue.
    pub fn sums_now(&self) -> BTreeMap<(usize, u32), Sums> {
        let mut sums = self.sums.clone();
        for hold in self.held().filter(|hold| hold.lock.is_writers()) {
            let (sum, ns) = (sums.entry((hold.database, hold.who.pid)).or_default(), hold.ns(self.now_ns));
            (sum.write_ns, sum.write_ns_max) = (sum.write_ns + ns, sum.write_ns_max.max(ns));
        }
        for wait in self.waiting() {
            let sum = sums.entry((wait.database, wait.who.pid)).or_default();
            let ns = wait.to_ns.saturating_sub(wait.from_ns);
            (sum.wait_ns, sum.wait_ns_max) = (sum.wait_ns + ns, sum.wait_ns_max.max(ns));
        }
        sums
    }

    pub(crate) fn sums(&mut self, database: usize, pid: u32) -> &mut Sums {
        self.sums.entry((database, pid)).or_default()
    }

    fn taken(&mut self, database: usize, who: Who, lock: Lock, mode: Mode, at_ns: u64) {
        if let Some(wait) = self.waiting.get_mut(&(database, who))
            && wait.lock == lock
            // A writer that could not have the file alone gives up, and returns to a reader's lock.
            && (wait.mode, mode) != (Mode::Alone, Mode::Shared)
        {
            wait.to_ns = at_ns;
            self.end_wait((database, who), End::Granted);
        }
        self.taken_again(database, who, lock, at_ns);
        self.reads_alone(database, who.pid, lock, Some(mode));
        self.threads.entry(who).or_default().databases.entry(database).or_default();
        let key = (database, who.pid, lock);
        if lock == Lock::Shared && self.is_close(database, who.pid, mode) {
            self.sums(database, who.pid).last_closes += 1;
        }
        if let Some(held) = self.held.get_mut(&key) {
            let is_new = lock.is_writers() && (held.mode, mode) == (Mode::Alone, Mode::Alone);
            // A call that took it before it was found held is reported after that.
            if is_new && held.began_before && at_ns <= held.from_ns + LOOKS_NS {
                (held.who, held.from_ns, held.began_before) = (who, at_ns, false);
                return;
            }
            if !is_new || held.who == who {
                // A reader becomes a writer, or the reverse, without releasing the lock.
                held.mode = mode;
                return;
            }
            // The kernel reports a release after it has happened: that of the next holder may come first.
            let before = held.who;
            self.released(database, before, lock, at_ns);
            self.overtaken.insert(key);
        }
        let thread = self.threads.entry(who).or_default();
        if matches!(lock, Lock::Read(_) | Lock::Shared) {
            thread.has_read = false;
        }
        let has_committed = thread.calls.first().is_some_and(|call| thread.wrote_ns(database) >= call.from_ns);
        let after_commit = lock == Lock::Checkpoint && has_committed;
        self.hold(Hold { after_commit, ..Hold::new(database, who, (lock, mode), at_ns) });
        match lock {
            Lock::Connected => self.sums(database, who.pid).connects += 1,
            Lock::Recover if mode == Mode::Alone => self.sums(database, who.pid).recoveries += 1,
            _ => {}
        }
    }

    /// A lock is held from now on.
    fn hold(&mut self, hold: Hold) {
        let (database, pid, lock) = (hold.database, hold.who.pid, hold.lock);
        let is_unseen =
            lock.is_writers() && self.visible.get(&pid).is_some_and(|visible_ns| hold.from_ns < *visible_ns);
        self.wrote_unseen.extend(is_unseen.then_some(pid));
        self.held.insert((database, pid, lock), hold);
        mark_rebuild(&mut self.held, (database, pid, lock));
        let is_of_connection = matches!(lock, Lock::Shared | Lock::Connected);
        if is_of_connection && self.held.contains_key(&(database, pid, Lock::Connected)) {
            let shared = self.held.get_mut(&(database, pid, Lock::Shared));
            shared.into_iter().for_each(|shared| shared.is_connection = true);
        }
    }

    pub(crate) fn released(&mut self, database: usize, who: Who, lock: Lock, at_ns: u64) {
        self.given_up_commit((database, who.pid, lock));
        self.reads_alone(database, who.pid, lock, None);
        let Some(mut hold) = self.held.remove(&(database, who.pid, lock)) else { return };
        if at_ns <= self.from_ns {
            return;
        }
        hold.to_ns = Some(at_ns);
        let free_ns = self.free_ns(hold.who);
        match self.threads.get(&hold.who).map(|thread| (thread, thread.calls.first())) {
            // The current statement has run since its beginning, or since the lock was taken.
            Some((_, Some(call))) => {
                let part = at_ns.saturating_sub(call.from_ns.max(hold.from_ns));
                hold.count_statement(part, call.sql.as_deref());
            }
            // The program closed the connection, or ended.
            Some((thread, None)) => hold.count_gap(thread, None, at_ns, free_ns),
            None => {}
        }
        hold.checkpoint_ns = self.checkpoint_ns(&hold, at_ns);
        hold.drain_ns += self.drain_ns(&hold, at_ns);
        self.waiting.values_mut().for_each(|wait| wait.add(&hold, at_ns));
        if lock.is_writers() {
            if !hold.is_rebuild {
                self.threads.entry(hold.who).or_default().wrote(database, at_ns);
            }
            self.sums(database, who.pid).held_write_lock(hold.ns(at_ns), hold.is_rebuild);
            if self.called.contains(&who.pid) && hold.is_by_unseen_calls(self.visible_ns(who.pid)) {
                *self.without_statement.entry(who.pid).or_default() += 1;
            }
        }
        if lock != Lock::Connected {
            self.tallies.entry((database, hold.who.pid)).or_default().hold(&hold, at_ns);
            self.ended.0 += 1;
            self.holds.push_back(hold);
        }
    }

    fn synced(&mut self, database: usize, who: Who, at_ns: u64) {
        let free_ns = self.free_ns(who);
        let Some(thread) = self.threads.get_mut(&who) else { return };
        let Some(from_ns) = thread.sync_from_ns.take() else { return };
        if thread.calls.is_empty() && thread.last_end_ns > 0 {
            // A commit in a call that is not seen, such as sqlite3_reset: the program has paused up to then, and not since.
            for hold in self.held.values_mut().filter(|hold| hold.who == who) {
                hold.count_gap(thread, None, from_ns, free_ns);
            }
            thread.last_end_ns = at_ns;
        }
        let ns = at_ns.saturating_sub(from_ns);
        let sums = self.sums(database, who.pid);
        sums.syncs += 1;
        sums.sync_ns += ns;
        // Others wait for PENDING too while a rollback journal's writer syncs.
        for hold in self.held.values_mut().filter(|hold| hold.who == who && hold.mode == Mode::Alone) {
            hold.syncs += 1;
            hold.sync_ns += at_ns.saturating_sub(from_ns.max(hold.from_ns));
        }
    }

    fn begins(&mut self, who: Who, sql: Option<String>, at_ns: u64) {
        self.called.insert(who.pid);
        let free_ns = self.free_ns(who);
        let thread = self.threads.entry(who).or_default();
        if thread.calls.len() >= DEPTH_MAX {
            // The ends of these calls were lost.
            thread.calls.clear();
        }
        if thread.calls.is_empty() {
            for hold in self.held.values_mut().filter(|hold| hold.who == who) {
                hold.count_gap(thread, sql.as_deref(), at_ns, free_ns);
            }
        }
        thread.calls.push(Call { from_ns: at_ns, sql });
    }

    /// A call has returned; with `is_step`, one that executes a statement.
    fn ends(&mut self, who: Who, code: i32, is_step: bool, at_ns: u64) {
        let Some(thread) = self.threads.get_mut(&who) else { return };
        let Some(call) = thread.calls.pop() else { return self.ended_unseen(who, at_ns) };
        if !thread.calls.is_empty() {
            return;
        }
        let is_busy = code & 0xff == BUSY;
        thread.last_end_ns = at_ns;
        thread.is_refused = is_busy || thread.is_refused && !is_step;
        if is_step {
            thread.last_sql.clone_from(&call.sql);
        }
        let has_ended = is_step && !is_busy && thread.stepped(&call, code, at_ns);
        let is_autocommit = is_step && code == DONE && thread.transaction.is_none() && !thread.may_have_begun;
        for hold in self.held.values_mut().filter(|hold| hold.who == who) {
            hold.count_statement(at_ns.saturating_sub(call.from_ns.max(hold.from_ns)), call.sql.as_deref());
            let outlives = has_ended || is_autocommit && hold.from_ns >= call.from_ns;
            hold.is_kept |= hold.lock.is_writers() && outlives;
        }
        match is_busy {
            true => self.busy(who, call, code, at_ns),
            false => self.went_on(who, call.from_ns),
        }
    }

    /// The innermost call has returned without an event: whether it was refused is unknown.
    fn end_unseen(&mut self, who: Who) {
        let Some(thread) = self.threads.get_mut(&who) else { return };
        thread.calls.pop();
        if thread.calls.is_empty() {
            self.waiting.retain(|(_, other), _| *other != who);
        }
    }
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
