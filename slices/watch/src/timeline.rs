//! Events put together: who holds which lock since when, who waits, what ran meanwhile. Pure: events in, values out.

use crate::event::{Event, What, Who};
use crate::hold::{End, Gap, Hold, Wait};
use crate::lock::{Change, Lock, Mode};
use crate::tally::{GAP_NS_MIN, Sums, Tally};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// A refused thread that tries again within this time is still waiting: SQLite's busy handler pauses at most 100 ms. Where
/// statements are seen, their end ends the wait instead.
const TRIES_AGAIN_NS: u64 = 500_000_000;
/// A statement that ends with SQLITE_BUSY within this time was not tried again: SQLite's busy handler pauses for 1 ms and more.
const AT_ONCE_NS: u64 = 5_000_000;
/// Deepest nesting of calls that is followed. SQLite calls its own functions two or three deep.
const DEPTH_MAX: usize = 16;

/// SQLite's primary code.
const BUSY: i32 = 5;

/// Where a thread's transaction is after a statement, as of [`Thread::transaction`].
fn after(before: Option<bool>, sql: Option<&str>) -> Option<bool> {
    let Some(sql) = sql else { return before };
    let word = sql.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    match word.to_ascii_uppercase().as_str() {
        "BEGIN" => Some(false),
        "COMMIT" | "END" | "ROLLBACK" => None,
        _ => before.map(|_| true),
    }
}

/// What a thread does at the moment.
#[derive(Debug, Clone, Default)]
struct Thread {
    calls: Vec<Call>,
    /// End and text of the last statement.
    last_end_ns: u64,
    last_sql: Option<String>,
    /// Whether a statement has ended since the read lock was taken.
    has_read: bool,
    /// Whether a statement has ended since its last BEGIN; `None` outside of a transaction.
    transaction: Option<bool>,
    sync_from_ns: Option<u64>,
    /// When it released the write lock last.
    wrote_ns: u64,
}

#[derive(Debug, Clone)]
struct Call {
    from_ns: u64,
    sql: Option<String>,
}

/// Everything that has been seen.
#[derive(Debug, Default)]
pub struct Timeline {
    pub from_ns: u64,
    pub now_ns: u64,
    /// Locks that are held now, by database, process and lock.
    held: BTreeMap<(usize, u32, Lock), Hold>,
    waiting: BTreeMap<(usize, Who), Wait>,
    threads: HashMap<Who, Thread>,
    /// Ended holds of the writer's and the checkpoint's lock, and of read locks; oldest first.
    pub holds: VecDeque<Hold>,
    pub waits: VecDeque<Wait>,
    pub sums: BTreeMap<(usize, u32), Sums>,
    pub tallies: BTreeMap<(usize, u32), Tally>,
    /// How many holds and waits have ended: the lists have the last of them.
    pub ended: (u64, u64),
    /// Whether statements are seen at all.
    pub sees_statements: bool,
    /// Processes whose statements are seen.
    pub visible: HashSet<u32>,
}

impl Timeline {
    /// A timeline that begins at a moment.
    pub fn new(from_ns: u64, sees_statements: bool) -> Timeline {
        Timeline { from_ns, now_ns: from_ns, sees_statements, ..Timeline::default() }
    }

    /// Locks that are held now.
    pub fn held(&self) -> impl Iterator<Item = &Hold> {
        self.held.values()
    }

    /// Threads that wait now.
    pub fn waiting(&self) -> impl Iterator<Item = &Wait> {
        self.waiting.values()
    }

    /// The statement that a process executes now.
    pub fn statement(&self, pid: u32) -> Option<&str> {
        let threads = self.threads.iter().filter(|(who, _)| who.pid == pid);
        threads.filter_map(|(_, thread)| thread.calls.first()?.sql.as_deref()).next()
    }

    /// Since when a process executes no statement, and its last one. `None` if it executes one now, or cannot be seen.
    pub fn idle_since(&self, pid: u32) -> Option<(u64, Option<String>)> {
        let threads = || self.threads.iter().filter(|(who, _)| who.pid == pid).map(|(_, thread)| thread);
        if !self.visible.contains(&pid) || threads().any(|thread| !thread.calls.is_empty()) {
            return None;
        }
        let last = threads().max_by_key(|thread| thread.last_end_ns);
        let end_ns = last.map_or(0, |thread| thread.last_end_ns);
        Some((end_ns.max(self.from_ns), last.and_then(|thread| thread.last_sql.clone())))
    }

    /// Takes an event in. Events come in the order of their times.
    pub fn apply(&mut self, event: &Event) {
        self.advance(event.at_ns);
        let (who, at_ns) = (event.who, event.at_ns);
        match &event.what {
            What::Lock { database, lock, change } => match change {
                Change::Taken(mode) => self.taken(*database, who, *lock, *mode, at_ns),
                Change::Refused(_) => self.refused(*database, who, *lock, at_ns),
                Change::Released => self.released(*database, who, *lock, at_ns),
            },
            What::SyncBegins { .. } => self.threads.entry(who).or_default().sync_from_ns = Some(at_ns),
            What::SyncEnds { database } => self.synced(*database, who, at_ns),
            What::PrepareBegins { sql } => self.begins(who, Some(sql.clone()), at_ns),
            What::StepBegins { sql, .. } => self.begins(who, sql.clone(), at_ns),
            What::PrepareEnds { code } | What::StepEnds { code } => self.ends(who, *code, at_ns),
        }
    }

    /// Counts from now on: what has happened so far only says what is held at the beginning.
    pub fn begin(&mut self, from_ns: u64) {
        self.from_ns = from_ns;
        self.now_ns = self.now_ns.max(from_ns);
        (self.holds, self.waits, self.sums, self.tallies) = Default::default();
        self.waiting.clear();
    }

    /// Time passes: a thread that is in no statement and has not tried again has given up.
    pub fn advance(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        let is_in_call = |who: &Who| self.threads.get(who).is_some_and(|thread| !thread.calls.is_empty());
        let late = |wait: &Wait| now_ns.saturating_sub(wait.to_ns) > TRIES_AGAIN_NS && !is_in_call(&wait.who);
        let ended: Vec<(usize, Who)> = self.waiting.iter().filter(|(_, w)| late(w)).map(|(key, _)| *key).collect();
        for key in ended {
            self.end_wait(key, End::GaveUp);
        }
    }

    /// A process has ended: what it held is gone.
    pub fn process_ended(&mut self, pid: u32, at_ns: u64) {
        let keys: Vec<(usize, u32, Lock)> = self.held.keys().filter(|key| key.1 == pid).copied().collect();
        for (database, _, lock) in keys {
            self.released(database, Who { pid, tid: pid }, lock, at_ns);
        }
        self.threads.retain(|who, _| who.pid != pid);
    }

    /// Events were lost: what threads are doing is not known any more.
    pub fn events_were_lost(&mut self) {
        self.threads.clear();
    }

    /// Forgets what ended before a moment, so that a long watch stays small. Sums are kept.
    pub fn forget_before(&mut self, at_ns: u64) {
        while self.holds.front().is_some_and(|hold| hold.to_ns.is_some_and(|to_ns| to_ns < at_ns)) {
            self.holds.pop_front();
        }
        while self.waits.front().is_some_and(|wait| wait.to_ns < at_ns) {
            self.waits.pop_front();
        }
    }

    fn sums(&mut self, database: usize, pid: u32) -> &mut Sums {
        self.sums.entry((database, pid)).or_default()
    }

    fn taken(&mut self, database: usize, who: Who, lock: Lock, mode: Mode, at_ns: u64) {
        if let Some(wait) = self.waiting.get_mut(&(database, who))
            && wait.lock == lock
        {
            wait.to_ns = at_ns;
            self.end_wait((database, who), End::Granted);
        }
        let key = (database, who.pid, lock);
        // A writer of a rollback journal has RESERVED; in WAL only the last to close wants the file alone.
        let is_close = lock == Lock::Shared && mode == Mode::Alone;
        if is_close && !self.held.contains_key(&(database, who.pid, Lock::Reserved)) {
            self.sums(database, who.pid).last_closes += 1;
        }
        if let Some(held) = self.held.get_mut(&key) {
            // A reader becomes a writer, or back, without letting go.
            held.mode = mode;
            return;
        }
        let thread = self.threads.entry(who).or_default();
        if matches!(lock, Lock::Read(_) | Lock::Shared) {
            thread.has_read = false;
        }
        let after_read = lock.is_writers() && thread.has_read;
        let has_committed = thread.calls.first().is_some_and(|call| thread.wrote_ns >= call.from_ns);
        let after_commit = lock == Lock::Checkpoint && has_committed;
        let gap = Gap::default();
        let hold = Hold {
            database,
            who,
            lock,
            mode,
            from_ns: at_ns,
            to_ns: None,
            statement_ns: 0,
            sync_ns: 0,
            syncs: 0,
            gap,
            parts: vec![],
            after_read,
            after_commit,
            checkpoint_ns: 0,
        };
        self.held.insert(key, hold);
        if lock == Lock::Connected {
            self.sums(database, who.pid).connects += 1;
        }
    }

    fn refused(&mut self, database: usize, who: Who, lock: Lock, at_ns: u64) {
        // Marks of readers are tried one after the other, and a checkpoint gives way: neither is a wait.
        if matches!(lock, Lock::Read(_) | Lock::Connected | Lock::Checkpoint) {
            return;
        }
        self.sums(database, who.pid).refusals += 1;
        let holder = self.held.keys().find(|(d, pid, l)| *d == database && *l == lock && *pid != who.pid);
        let holder = holder.map(|(_, pid, _)| *pid);
        let thread = self.threads.entry(who).or_default();
        let (after_read, call) = (thread.has_read, thread.calls.first().cloned());
        let call_from_ns = call.as_ref().map(|call| call.from_ns);
        if self.waiting.get(&(database, who)).is_some_and(|wait| wait.call_from_ns != call_from_ns) {
            // Another statement: the one before has failed.
            self.end_wait((database, who), End::GaveUp);
        }
        let wait = self.waiting.entry((database, who)).or_insert(Wait {
            database,
            who,
            lock,
            from_ns: at_ns,
            to_ns: at_ns,
            tries: 0,
            end: End::Open,
            holder,
            after_read,
            sql: call.and_then(|call| call.sql),
            call_from_ns,
        });
        wait.tries += 1;
        wait.to_ns = at_ns;
    }

    fn released(&mut self, database: usize, who: Who, lock: Lock, at_ns: u64) {
        let Some(mut hold) = self.held.remove(&(database, who.pid, lock)) else { return };
        if at_ns <= self.from_ns {
            return;
        }
        hold.to_ns = Some(at_ns);
        let ns = hold.ns(at_ns);
        // What runs at this moment has run since its beginning, or since the lock was taken.
        if let Some(call) = self.threads.get(&hold.who).and_then(|thread| thread.calls.first()) {
            let part = at_ns.saturating_sub(call.from_ns.max(hold.from_ns));
            hold.count_statement(part, call.sql.as_deref());
        }
        if lock.is_writers() {
            self.threads.entry(hold.who).or_default().wrote_ns = at_ns;
            let sums = self.sums(database, who.pid);
            sums.writes += 1;
            sums.write_ns += ns;
            sums.write_ns_max = sums.write_ns_max.max(ns);
        }
        // FULL, RESTART and TRUNCATE keep writers out while they copy; they let them in again before their own lock ends.
        if lock == Lock::WalWrite
            && let Some(checkpoint) = self.held.get(&(database, hold.who.pid, Lock::Checkpoint))
        {
            hold.checkpoint_ns = at_ns.saturating_sub(checkpoint.from_ns.max(hold.from_ns));
        }
        if lock != Lock::Connected {
            self.tallies.entry((database, hold.who.pid)).or_default().hold(&hold, at_ns);
            if lock == Lock::Pending && hold.mode == Mode::Alone && ns >= GAP_NS_MIN {
                self.drained(&hold, at_ns);
            }
            self.ended.0 += 1;
            self.holds.push_back(hold);
        }
    }

    /// PENDING is held until the commit ends; only where EXCLUSIVE was refused meanwhile did readers keep it waiting.
    fn drained(&mut self, pending: &Hold, at_ns: u64) {
        let (database, who) = (pending.database, pending.who);
        let is_its = |wait: &&Wait| {
            wait.database == database
                && wait.who.pid == who.pid
                && wait.lock == Lock::Shared
                && wait.to_ns >= pending.from_ns
        };
        if !self.waits.iter().rev().chain(self.waiting.values()).any(|wait| is_its(&wait)) {
            return;
        }
        let is_reader = |hold: &&Hold| {
            hold.database == database
                && hold.lock == Lock::Shared
                && hold.who.pid != who.pid
                && hold.to_ns.is_none_or(|to_ns| to_ns > pending.from_ns)
        };
        let readers = self.holds.iter().chain(self.held.values()).filter(is_reader).map(|hold| hold.who.pid);
        let readers: Vec<u32> = readers.collect();
        let drains = &mut self.tallies.entry((database, who.pid)).or_default().drains;
        drains.waits.add(pending.ns(at_ns));
        drains.readers.extend(readers);
    }

    fn synced(&mut self, database: usize, who: Who, at_ns: u64) {
        let Some(from_ns) = self.threads.get_mut(&who).and_then(|thread| thread.sync_from_ns.take()) else { return };
        let ns = at_ns.saturating_sub(from_ns);
        let sums = self.sums(database, who.pid);
        sums.syncs += 1;
        sums.sync_ns += ns;
        for hold in self.held.values_mut().filter(|hold| hold.who == who && hold.lock.is_writers()) {
            hold.syncs += 1;
            hold.sync_ns += at_ns.saturating_sub(from_ns.max(hold.from_ns));
        }
    }

    fn begins(&mut self, who: Who, sql: Option<String>, at_ns: u64) {
        let thread = self.threads.entry(who).or_default();
        if thread.calls.len() >= DEPTH_MAX {
            // Ends were lost.
            thread.calls.clear();
        }
        let outermost = thread.calls.is_empty();
        let before = thread.last_sql.clone();
        let last_end_ns = thread.last_end_ns;
        thread.calls.push(Call { from_ns: at_ns, sql: sql.clone() });
        if !outermost {
            return;
        }
        for hold in self.held.values_mut().filter(|hold| hold.who == who) {
            let ns = at_ns.saturating_sub(last_end_ns.max(hold.from_ns).max(self.from_ns));
            if ns > hold.gap.ns {
                hold.gap = Gap { ns, before: before.clone(), after: sql.clone() };
            }
        }
    }

    fn ends(&mut self, who: Who, code: i32, at_ns: u64) {
        let Some(thread) = self.threads.get_mut(&who) else { return };
        let Some(call) = thread.calls.pop() else { return };
        if !thread.calls.is_empty() {
            return;
        }
        let is_busy = code & 0xff == BUSY;
        let after_read = thread.transaction == Some(true);
        thread.has_read = true;
        if !is_busy {
            thread.transaction = after(thread.transaction, call.sql.as_deref());
        }
        thread.last_end_ns = at_ns;
        thread.last_sql.clone_from(&call.sql);
        for hold in self.held.values_mut().filter(|hold| hold.who == who) {
            hold.count_statement(at_ns.saturating_sub(call.from_ns.max(hold.from_ns)), call.sql.as_deref());
        }
        if is_busy {
            self.busy(who, call, after_read, at_ns);
        }
    }

    /// A statement has ended with SQLITE_BUSY.
    fn busy(&mut self, who: Who, call: Call, after_read: bool, at_ns: u64) {
        let waits: Vec<(usize, Who)> = self.waiting.keys().filter(|(_, w)| *w == who).copied().collect();
        if let Some((database, _)) = waits.first() {
            self.sums(*database, who.pid).busy += 1;
            for key in waits {
                self.end_wait(key, End::GaveUp);
            }
            return;
        }
        // No lock call was refused. Connections of one process settle conflicts in memory: another thread has the lock. Or a
        // snapshot is too old to write.
        let of_process = || self.held.values().filter(|hold| hold.who.pid == who.pid);
        let holder = of_process().find(|hold| hold.who.tid != who.tid && hold.lock.is_writers());
        let seen = || self.sums.keys().find(|(_, pid)| *pid == who.pid).map(|(database, _)| *database);
        let database = holder.or(of_process().next()).map(|hold| hold.database).or_else(seen);
        let (Some(database), holder) = (database, holder.map(|hold| (hold.lock, hold.who.pid))) else { return };
        let sums = self.sums(database, who.pid);
        sums.busy += 1;
        if holder.is_none() && !after_read {
            return;
        }
        sums.refusals += 1;
        let wait = Wait {
            database,
            who,
            lock: holder.map_or(Lock::Reserved, |(lock, _)| lock),
            from_ns: call.from_ns,
            to_ns: at_ns,
            tries: if at_ns - call.from_ns < AT_ONCE_NS { 1 } else { 2 },
            end: End::Open,
            holder: holder.map(|(_, pid)| pid),
            after_read,
            sql: call.sql,
            call_from_ns: Some(call.from_ns),
        };
        self.waiting.insert((database, who), wait);
        self.end_wait((database, who), End::GaveUp);
    }

    fn end_wait(&mut self, key: (usize, Who), end: End) {
        let Some(mut wait) = self.waiting.remove(&key) else { return };
        wait.end = end;
        let ns = wait.to_ns.saturating_sub(wait.from_ns);
        let sums = self.sums(wait.database, wait.who.pid);
        sums.waits += 1;
        sums.wait_ns += ns;
        sums.wait_ns_max = sums.wait_ns_max.max(ns);
        sums.gave_up += u64::from(end == End::GaveUp);
        let is_visible = self.visible.contains(&wait.who.pid);
        self.tallies.entry((wait.database, wait.who.pid)).or_default().wait(&wait, is_visible);
        if let Some(holder) = wait.holder {
            let tally = self.tallies.entry((wait.database, holder)).or_default();
            tally.waited_for_ns = tally.waited_for_ns.max(ns);
        }
        self.ended.1 += 1;
        self.waits.push_back(wait);
    }
}
