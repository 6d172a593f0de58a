//! Refusals and waits of a timeline: of lock calls, and those that only the result of a statement shows.

use crate::event::{CHECKPOINT_CALL, Who};
use crate::hold::{Cause, End, GAP_NS_MIN, Hold, Wait};
use crate::lock::{Lock, Mode};
use crate::thread::{Call, Thread, begins_with_lock, first_word};
use crate::timeline::Timeline;
use std::collections::BTreeSet;

/// A statement that returns SQLITE_BUSY within this time was not retried: SQLite's busy handler pauses for at least 1
/// ms.
const AT_ONCE_NS: u64 = 5_000_000;
/// A statement that lasted this long before its only refused lock call has waited otherwise: for another lock, or in SQLite's
/// memory for its own process. The timeout was used up.
const LONG_CALL_NS: u64 = 100_000_000;
/// SQLite's extended code of a snapshot that is too old to write.
const BUSY_SNAPSHOT: i32 = 517;

impl Timeline {
    pub(crate) fn refused(&mut self, database: usize, who: Who, (lock, mode): (Lock, Mode), at_ns: u64) {
        // Read marks are tried in turn, a checkpoint gives way at once, and each close in WAL mode tries to be the last
        // one: they are no waits. A writer that wants the file alone holds RESERVED.
        let is_close = matches!(lock, Lock::Pending | Lock::Shared) && self.is_close(database, who.pid, mode);
        let free_ns = self.free_ns(who);
        let thread = self.threads.entry(who).or_default();
        thread.databases.entry(database).or_default();
        if is_close || matches!(lock, Lock::Read(_) | Lock::Connected | Lock::Checkpoint) {
            thread.gave_way_ns = at_ns;
            return;
        }
        let is_unseen_commit = lock == Lock::Shared && mode == Mode::Alone && thread.calls.is_empty();
        if is_unseen_commit && !self.waiting.contains_key(&(database, who)) {
            // The program pauses no longer.
            for hold in self.held.values_mut().filter(|hold| hold.who == who) {
                hold.count_gap(thread, None, at_ns, free_ns);
            }
        }
        let (has_read, is_begun) = (thread.has_read, thread.transaction.is_some());
        let call = thread.calls.first().cloned();
        let (wrote_ns, waited_ns) = (thread.wrote_ns(database), thread.waited_ns);
        self.sums(database, who.pid).refusals += 1;
        let is_its = |hold: &&Hold| hold.database == database && hold.lock == lock && hold.who.pid != who.pid;
        self.count_refused(|hold| is_its(&hold));
        let holder = self.held.values().find(is_its);
        let (holder_sql, holder) = (holder.and_then(|hold| self.last_statement(hold)), holder.map(|hold| hold.who.pid));
        // The process may be so new that what it read with was not seen, but its lock was. After a BEGIN that was seen, the lock
        // is another connection's.
        let may_hold = call.as_ref().filter(|_| !is_begun);
        let has_read = has_read || may_hold.is_some_and(|call| self.reads_since_before(database, who, call.from_ns));
        let after_read = has_read && !begins_with_lock(call.as_ref().and_then(|call| call.sql.as_deref()));
        // It has waited since it gave the lock back in the same call, because its snapshot was too old.
        let gave_back = call.as_ref().filter(|call| lock == Lock::WalWrite && wrote_ns >= call.from_ns);
        let from_ns = gave_back.map_or(at_ns, |_| wrote_ns.max(waited_ns));
        let call_from_ns = call.as_ref().map(|call| call.from_ns);
        if self.waiting.get(&(database, who)).is_some_and(|wait| wait.call_from_ns != call_from_ns) {
            // Another statement: the previous one has failed.
            self.end_wait((database, who), End::GaveUp);
        }
        let threads = &self.threads;
        let own = self.waiting.get_mut(&(database, who)).filter(|wait| wait.is_for_own_readers());
        if let Some(wait) = own.filter(|_| holder.is_some()) {
            // Its own reader has ended, and now another process's is in its way.
            wait.to_ns = at_ns;
            wait.count_own_reader(|who| threads.get(&who).map_or(0, |thread| thread.free_ns));
            (wait.holder, wait.holder_sql) = (holder, holder_sql.clone());
        }
        let wait = self.waiting.entry((database, who)).or_insert(Wait {
            mode,
            holder,
            holder_sql,
            after_read,
            sql: call.and_then(|call| call.sql),
            call_from_ns,
            ..Wait::new(database, who, lock, (from_ns, at_ns))
        });
        wait.tries += 1;
        wait.to_ns = at_ns;
    }

    /// Counts a refused call for these holds.
    fn count_refused(&mut self, is_its: impl Fn(&Hold) -> bool) {
        for hold in self.held.values_mut().filter(|hold| is_its(hold)) {
            let drains = self.waiting.get(&(hold.database, hold.who)).is_some_and(Wait::is_for_readers);
            hold.refused += 1;
            hold.in_gap.refused += u64::from(!drains && is_outside(self.threads.get(&hold.who)));
        }
    }

    /// The same call takes the write lock once more: before, its snapshot was too old, and it has paused since. No lock call
    /// was refused meanwhile.
    pub(crate) fn taken_again(&mut self, database: usize, who: Who, lock: Lock, at_ns: u64) {
        let Some(thread) = self.threads.get(&who).filter(|_| lock == Lock::WalWrite) else { return };
        let (wrote_ns, waited_ns) = (thread.wrote_ns(database), thread.waited_ns);
        let Some(call) = thread.calls.first().filter(|call| wrote_ns >= call.from_ns).cloned() else { return };
        // Part of it may have been a wait that was seen.
        let from_ns = wrote_ns.max(waited_ns);
        if from_ns >= at_ns {
            return;
        }
        let wait = Wait {
            tries: 1,
            sql: call.sql,
            call_from_ns: Some(call.from_ns),
            is_outdated: true,
            ..Wait::new(database, who, lock, (from_ns, at_ns))
        };
        self.waiting.insert((database, who), wait);
        self.end_wait((database, who), End::Granted);
    }

    /// Whether a lock of the file is that of a close in WAL mode, in which only the last connection locks it alone. A writer
    /// with a rollback journal that does so holds RESERVED.
    pub(crate) fn is_close(&self, database: usize, pid: u32, mode: Mode) -> bool {
        mode == Mode::Alone && !self.held.contains_key(&(database, pid, Lock::Reserved))
    }

    /// A commit with a rollback journal has PENDING for itself and not the file, although no lock call was refused since:
    /// SQLite counts the readers of a process in memory, and refuses the commit there while another connection reads. If
    /// that connection was seen, the commit waits for it.
    pub(crate) fn waits_for_own_reader(&mut self, database: usize, who: Who, call: &Call, at_ns: u64) {
        let since = |hold: &&Hold| hold.to_ns >= Some(call.from_ns);
        let its = |lock| {
            let all = self.held.values().chain(self.holds.iter().rev().take_while(since));
            all.into_iter().find(|hold| (hold.database, hold.who, hold.lock) == (database, who, lock))
        };
        // PENDING without RESERVED is that of a close, of another journal mode, or of what a crash has left.
        let (Some(_), Some(pending)) = (its(Lock::Reserved), its(Lock::Pending)) else { return };
        // After a refused commit PENDING stays, and only another commit asks for the file again.
        let commits = |sql: &str| matches!(first_word(sql).as_str(), "COMMIT" | "END" | "RELEASE");
        let asks = pending.from_ns >= call.from_ns || call.sql.as_deref().is_none_or(commits);
        let is_alone = self.held.get(&(database, who.pid, Lock::Shared)).is_some_and(|hold| hold.mode == Mode::Alone);
        if !asks || is_alone || self.waiting.contains_key(&(database, who)) {
            return;
        }
        let from_ns = pending.from_ns.max(call.from_ns);
        let Some((reader, reads_ns, sql)) = self.own_reader(database, who, pending.from_ns) else { return };
        let wait = Wait {
            tries: if at_ns.saturating_sub(from_ns) < AT_ONCE_NS { 1 } else { 2 },
            holder: Some(who.pid),
            holder_sql: sql.clone(),
            sql: call.sql.clone(),
            call_from_ns: Some(call.from_ns),
            causes: vec![Cause { pid: who.pid, tid: reader.tid, held_ns: from_ns - reads_ns, sql, ..Cause::default() }],
            ..Wait::new(database, who, Lock::Shared, (from_ns, at_ns))
        };
        self.waiting.insert((database, who), wait);
    }

    /// How long a commit has waited for readers that had PENDING when the watch began: no call of it was seen.
    pub(crate) fn unseen_drain_ns(&self, database: usize, pid: u32, to_ns: u64) -> u64 {
        let of = |lock| self.held.get(&(database, pid, lock));
        let pending = of(Lock::Pending).filter(|pending| pending.began_before);
        let is_alone = of(Lock::Shared).is_some_and(|hold| hold.mode == Mode::Alone);
        pending.filter(|_| !is_alone).map_or(0, |pending| to_ns.saturating_sub(pending.from_ns))
    }

    /// The process has released SHARED, or has it alone, so that no other connection of it reads: its statements may not have shown
    /// the end of a read, such as one that was reset before its last row.
    pub(crate) fn reads_alone(&mut self, database: usize, pid: u32, lock: Lock, mode: Option<Mode>) {
        if lock != Lock::Shared || mode == Some(Mode::Shared) {
            return;
        }
        // A commit that waited since before the watch has the file at last.
        let drain_ns = self.unseen_drain_ns(database, pid, self.now_ns);
        let writes = self.held.get_mut(&(database, pid, Lock::Reserved)).filter(|hold| hold.drain_ns == 0);
        writes.into_iter().for_each(|hold| hold.drain_ns = drain_ns);
        let is_its = |thread: &Thread| thread.databases.keys().all(|of| *of == database);
        let its = self.threads.iter_mut().filter(|(who, thread)| who.pid == pid && is_its(thread));
        its.for_each(|(_, thread)| thread.reads_ns = None);
    }

    /// The other connection of a process that has read from a database for the longest time, and has begun before this time:
    /// since when, and its statement.
    fn own_reader(&self, database: usize, who: Who, at_ns: u64) -> Option<(Who, u64, Option<String>)> {
        let of_process = self.threads.iter().filter(|(other, _)| other.pid == who.pid && **other != who);
        let reading = of_process.filter_map(|(other, thread)| {
            let call = thread.calls.first();
            let selects = call.filter(|call| call.sql.as_deref().is_some_and(is_select));
            let reads_ns = thread.reads_ns.or(selects.map(|call| call.from_ns)).filter(|from_ns| *from_ns <= at_ns)?;
            let is_of_database = self.databases_of(*other).is_some_and(|databases| databases.contains(&database));
            let sql = || call.map_or(thread.last_sql.clone(), |call| call.sql.clone());
            is_of_database.then(|| (*other, reads_ns, sql()))
        });
        reading.min_by_key(|(other, reads_ns, _)| (*reads_ns, other.tid))
    }

    /// Commits that are in calls and have waited for readers of their process for some time, up to now.
    pub(crate) fn wait_for_own_readers(&mut self, now_ns: u64) {
        let is_late = |hold: &&Hold| hold.lock == Lock::Pending && hold.ns(now_ns) >= GAP_NS_MIN;
        let late: Vec<(usize, Who)> = self.held().filter(is_late).map(|hold| (hold.database, hold.who)).collect();
        for (database, who) in late {
            let Some(call) = self.threads.get(&who).and_then(|thread| thread.calls.first()).cloned() else { continue };
            if now_ns.saturating_sub(call.from_ns) >= GAP_NS_MIN {
                self.waits_for_own_reader(database, who, &call, now_ns);
            }
        }
        let call_from_ns = |who: &Who| Some(self.threads.get(who)?.calls.first()?.from_ns);
        for wait in self.waiting.values_mut().filter(|wait| wait.is_for_own_readers()) {
            wait.to_ns = if call_from_ns(&wait.who) == wait.call_from_ns { now_ns } else { wait.to_ns };
        }
    }

    /// Ends the waits of a statement that has returned SQLITE_BUSY. False if no lock call of it was refused.
    fn busy_after_refusals(&mut self, who: Who, call: &Call, at_ns: u64) -> bool {
        let waits: Vec<(usize, Who)> = self.waiting.keys().filter(|(_, w)| *w == who).copied().collect();
        if let Some((database, _)) = waits.first() {
            self.sums(*database, who.pid).busy += 1;
            for key in waits.iter().copied() {
                if let Some(own) = self.waiting.get_mut(&key).filter(|wait| wait.is_for_own_readers()) {
                    own.to_ns = at_ns;
                    self.sums(key.0, who.pid).refusals += 1;
                }
                self.tried_in_memory(key, at_ns);
                let once = self.waiting.get_mut(&key).filter(|wait| wait.tries == 1);
                if let Some(wait) = once.filter(|wait| wait.from_ns.saturating_sub(call.from_ns) >= LONG_CALL_NS) {
                    (wait.tries, wait.from_ns) = (2, call.from_ns);
                }
                self.end_wait(key, End::GaveUp);
            }
        }
        !waits.is_empty()
    }

    /// A statement has returned SQLITE_BUSY.
    pub(crate) fn busy(&mut self, who: Who, call: Call, code: i32, at_ns: u64) {
        for database in self.databases_of(who).unwrap_or_default() {
            self.waits_for_own_reader(database, who, &call, at_ns);
        }
        if self.busy_after_refusals(who, &call, at_ns) {
            return;
        }
        // No lock call was refused. Connections of one process settle conflicts in memory, so another thread holds
        // the lock; or a snapshot is too old to write.
        let Some(databases) = self.databases_of(who) else { return };
        let of_process =
            || self.held.values().filter(|hold| hold.who.pid == who.pid && databases.contains(&hold.database));
        let sql = call.sql.as_deref();
        // In WAL mode only the end of its transaction is refused to a writer. Otherwise the lock is another goroutine's, which had
        // changed its thread.
        let may_end = sql.is_none_or(ends_or_nests);
        let is_its = |hold: &Hold| hold.who == who && (may_end || hold.lock != Lock::WalWrite);
        let holder = of_process().find(|hold| hold.lock.is_writers() && !is_its(hold));
        let has_lock = of_process().any(|hold| hold.lock.is_writers() && is_its(hold));
        let thread = self.threads.get(&who);
        // It had the lock of this one in the same call, and gave it back.
        let gave_back = |at: &usize| thread.is_some_and(|thread| thread.wrote_ns(*at) >= call.from_ns);
        let is_met = holder.map(|hold| hold.database).or_else(|| databases.iter().copied().find(gave_back));
        let any = || of_process().next().map(|hold| hold.database).or(databases.first().copied());
        let database = is_met.or_else(any);
        let holder_sql = holder.filter(|hold| hold.who != who).and_then(|hold| self.last_statement(hold));
        if holder.is_none() && sql != Some(CHECKPOINT_CALL) && !self.met_locks(who, &databases, &call) {
            *self.unexplained.entry(who.pid).or_default() += 1;
        }
        let (Some(database), holder) = (database, holder.map(|hold| (hold.lock, hold.who.pid))) else { return };
        // Only a connection that has read has a snapshot.
        let begun = thread.and_then(|thread| thread.transaction.as_ref());
        let may_have_read = begun.is_none() && thread.is_some_and(|thread| thread.may_have_begun);
        // Most connections report the primary code alone. It had the lock then, and gave it back in the same call. A
        // checkpoint does so, too, where readers are in its way.
        let had_lock = holder.is_none() && thread.is_some_and(|thread| thread.wrote_ns(database) >= call.from_ns);
        let is_outdated = code == BUSY_SNAPSHOT || had_lock && sql != Some(CHECKPOINT_CALL);
        let has_read = || code == BUSY_SNAPSHOT || is_outdated && self.reads_since_before(database, who, call.from_ns);
        let after_read = begun.map_or_else(has_read, |begun| begun.has_statement);
        // SQLite refuses to end a transaction while statements of the same connection write, and in a rollback journal while
        // another connection of the process reads, and no statement of that one was seen.
        if has_lock || sql.is_some_and(|sql| matches!(first_word(sql).as_str(), "COMMIT" | "END")) {
            *self.kept_open.entry(who.pid).or_default() += 1;
        }
        let sums = self.sums(database, who.pid);
        sums.busy += 1;
        if has_lock || sql.is_some_and(ends_or_nests) || holder.is_none() && !after_read && !is_outdated {
            return;
        }
        sums.refusals += 1;
        if let Some((lock, pid)) = holder {
            self.count_refused(|hold| (hold.database, hold.who.pid, hold.lock) == (database, pid, lock));
        }
        let lock = holder.map_or(Lock::Reserved, |(lock, _)| lock);
        // SQLite does not wait in a transaction that has read. The program may have had no processor.
        let at_once_ns = if after_read { LONG_CALL_NS } else { AT_ONCE_NS };
        let wait = Wait {
            tries: if after_read && is_outdated || at_ns - call.from_ns < at_once_ns { 1 } else { 2 },
            holder: holder.map(|(_, pid)| pid),
            holder_sql,
            after_read,
            may_have_read,
            sql: call.sql,
            call_from_ns: Some(call.from_ns),
            is_outdated,
            ..Wait::new(database, who, lock, (call.from_ns, at_ns))
        };
        self.waiting.insert((database, who), wait);
        self.end_wait((database, who), End::GaveUp);
    }

    /// Whether a thread has had a reader's lock on a database since before this time: its connection is in a transaction, or
    /// has a statement with further rows, and SQLite does not wait for a writer then.
    fn reads_since_before(&self, database: usize, who: Who, from_ns: u64) -> bool {
        let is_its = |hold: &Hold| hold.database == database && hold.who == who && hold.from_ns < from_ns;
        self.held.values().any(|hold| matches!(hold.lock, Lock::Read(_)) && is_its(hold))
    }

    /// Whether the process had a lock during a call, or the connection gave way to one. A connection in WAL mode that waits for
    /// nothing has its file open, and the lock for that. What was in its way may have ended before the call returned.
    fn met_locks(&self, who: Who, databases: &BTreeSet<usize>, call: &Call) -> bool {
        let since = |hold: &&Hold| hold.to_ns >= Some(call.from_ns);
        let now = self.held.values().filter(|hold| databases.contains(&hold.database));
        let mut its = now.chain(self.holds.iter().rev().take_while(since)).filter(|hold| hold.who.pid == who.pid);
        its.any(|hold| !hold.is_connection && hold.lock != Lock::Connected)
            || self.threads.get(&who).is_some_and(|thread| thread.gave_way_ns >= call.from_ns)
    }

    /// A call has ended that began before its process's statements were visible, or while events were lost.
    pub(crate) fn ended_unseen(&mut self, who: Who, at_ns: u64) {
        let before_ns = std::mem::replace(&mut self.threads.entry(who).or_default().last_end_ns, at_ns);
        let is_its = |hold: &&mut Hold| hold.who == who && (before_ns == 0 || hold.statement_ns == 0);
        self.held.values_mut().filter(is_its).for_each(|hold| hold.is_unseen_until(at_ns));
    }

    /// Since when a connection that executes no visible statement is known to execute none. `None` if it may execute one that
    /// began before its process's statements were visible: of a process that was there before the watch it may be a long one.
    pub(crate) fn free_ns(&self, who: Who) -> Option<u64> {
        let (end_ns, waited_ns) =
            self.threads.get(&who).map_or((0, 0), |thread| (thread.last_end_ns, thread.waited_ns));
        if end_ns > 0 {
            return Some(end_ns.max(self.from_ns));
        }
        let is_new = self.visible.get(&who.pid).is_some_and(|visible_ns| *visible_ns > self.from_ns.max(self.lost_ns));
        let is_idle = is_new && self.processor_ns.contains_key(&who.pid) && !self.may_work_unseen(who.pid);
        is_idle.then(|| self.visible_ns(who.pid).max(waited_ns))
    }

    /// The databases to which a statement may belong: those of its connection's lock calls, or else the only one of its
    /// process. `None` if it may be any, or one that is not watched.
    fn databases_of(&self, who: Who) -> Option<BTreeSet<usize>> {
        let known = self.threads.get(&who).map(|thread| thread.databases.keys().copied().collect::<BTreeSet<_>>());
        if let Some(known) = known.filter(|known| !known.is_empty()) {
            return Some(known);
        }
        let held = self.held.keys().filter(|(_, pid, _)| *pid == who.pid).map(|(database, ..)| *database);
        let used = self.sums.keys().filter(|(_, pid)| *pid == who.pid).map(|(database, _)| *database);
        let all: BTreeSet<usize> = held.chain(used).collect();
        (all.len() < 2 && !self.uses_others.contains(&who.pid)).then_some(all)
    }

    /// A call has returned another code than SQLITE_BUSY: it needed no lock that it was refused, such as that of an index
    /// of the log which another process has rebuilt meanwhile.
    pub(crate) fn went_on(&mut self, who: Who, call_from_ns: u64) {
        let is_its = |wait: &&Wait| wait.who == who && wait.call_from_ns == Some(call_from_ns);
        let keys: Vec<(usize, Who)> = self.waiting.values().filter(is_its).map(|wait| (wait.database, who)).collect();
        keys.into_iter().for_each(|key| self.end_wait(key, End::Granted));
    }

    /// A writer that waits for readers gives RESERVED back: it has given up, although no call shows it.
    pub(crate) fn given_up_commit(&mut self, released: (usize, u32, Lock)) {
        let Some(hold) = self.held.get(&released).filter(|hold| hold.lock == Lock::Reserved) else { return };
        let key = (hold.database, hold.who);
        if self.waiting.get(&key).is_some_and(|wait| wait.is_for_readers() && !wait.has_statement()) {
            self.end_wait(key, End::GaveUp);
        }
    }

    /// Whether calls of a process would be seen. A program may contain two SQLites and execute only the one without names:
    /// then it writes, and no call was ever seen. A program that only makes backups has no visible calls either; it hardly
    /// writes into a watched database, so refusals of such a process count from its first write on.
    fn sees_calls(&self, database: usize, pid: u32) -> bool {
        let writes = || self.sums.get(&(database, pid)).is_some_and(|sums| sums.writes > 0);
        self.visible.contains_key(&pid) && (self.called.contains(&pid) || !writes())
    }

    /// After a refusal another connection of the process has taken the lock: the further tries have met it in memory, without
    /// a lock call.
    fn tried_in_memory(&mut self, key @ (database, who): (usize, Who), at_ns: u64) {
        let Some(wait) = self.waiting.get(&key) else { return };
        let is_own = |hold: &&Hold| {
            hold.database == database
                && hold.lock.is_writers()
                && hold.who.pid == who.pid
                && hold.who != who
                && hold.from_ns > wait.from_ns
        };
        let since = |hold: &&Hold| hold.to_ns.is_none_or(|to_ns| to_ns > wait.from_ns);
        let is_met = self.held.values().chain(self.holds.iter().rev().take_while(since)).any(|hold| is_own(&hold));
        if let Some(wait) = self.waiting.get_mut(&key).filter(|wait| is_met && wait.tries == 1) {
            (wait.tries, wait.to_ns) = (2, at_ns);
        }
    }

    pub(crate) fn end_wait(&mut self, key: (usize, Who), end: End) {
        let Some(mut wait) = self.waiting.remove(&key) else { return };
        wait.end = end;
        let thread = self.threads.entry(wait.who).or_default();
        thread.waited_ns = wait.to_ns;
        let is_unseen_commit = wait.is_for_readers() && !wait.has_statement();
        if is_unseen_commit && thread.last_end_ns > 0 {
            thread.last_end_ns = thread.last_end_ns.max(wait.to_ns);
        }
        let ns = wait.to_ns.saturating_sub(wait.from_ns);
        let sums = self.sums(wait.database, wait.who.pid);
        sums.waits += 1;
        sums.wait_ns += ns;
        sums.wait_ns_max = sums.wait_ns_max.max(ns);
        sums.gave_up += u64::from(end.is_without_lock());
        // A program may end before its calls are visible.
        let is_too_early = end == End::ProcessEnded && wait.to_ns < self.visible_ns(wait.who.pid);
        let is_visible = self.sees_calls(wait.database, wait.who.pid) && !is_too_early;
        self.tallies.entry((wait.database, wait.who.pid)).or_default().wait(&wait, is_visible);
        // Other holds that it waited for have ended before.
        self.add_causes(&mut wait);
        for hold in self.held.values_mut() {
            let drains = self.waiting.get(&(hold.database, hold.who)).is_some_and(Wait::is_for_readers);
            if !drains && wait.for_ns(hold, wait.to_ns) > 0 && is_outside(self.threads.get(&hold.who)) {
                hold.was_waited_for(&wait);
            }
            if wait.is_for_readers() && hold.lock.is_writers() && (hold.database, hold.who) == key {
                hold.drain_ns += ns;
                hold.statement_ns += if is_unseen_commit && hold.statement_ns > 0 { ns } else { 0 };
            }
        }
        for cause in &wait.causes {
            self.tallies.entry((wait.database, cause.pid)).or_default().waited_for(&wait, cause);
        }
        self.ended.1 += 1;
        self.waits.push_back(wait);
    }
}

/// Whether a thread is in no call.
fn is_outside(thread: Option<&Thread>) -> bool {
    thread.is_none_or(|thread| thread.calls.is_empty())
}

/// Whether a statement reads.
fn is_select(sql: &str) -> bool {
    matches!(first_word(sql).as_str(), "SELECT" | "WITH" | "VALUES")
}

/// Whether a statement takes no lock and ends or nests a transaction.
fn ends_or_nests(sql: &str) -> bool {
    matches!(first_word(sql).as_str(), "COMMIT" | "END" | "SAVEPOINT" | "RELEASE")
}
