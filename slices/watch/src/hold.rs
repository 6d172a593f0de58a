//! Holds of locks and waits for them, from which a timeline is made.

use crate::event::Who;
use crate::lock::{Lock, Mode};
use crate::thread::Thread;
use serde::Serialize;
use std::collections::BTreeMap;

/// Shortest gap between statements under the write lock that is reported, if another process waited, and shortest wait that is
/// mentioned. A busy machine makes shorter ones in every program.
pub const GAP_NS_MIN: u64 = 10_000_000;
/// Least time, in all, of such gaps in which calls of others were refused.
pub const PAUSES_NS_MIN: u64 = 100_000_000;
/// Shortest hold of the write lock that is long by itself.
pub const LONG_NS_MIN: u64 = 1_000_000_000;
/// Most different statements stored for a hold.
const PARTS_MAX: usize = 12;

/// A hold of a lock.
#[derive(Debug, Clone, PartialEq)]
pub struct Hold {
    pub database: usize,
    pub who: Who,
    pub lock: Lock,
    pub mode: Mode,
    pub from_ns: u64,
    /// Whether it began before that: the lock was already held when the watch began, or events were lost.
    pub began_before: bool,
    /// `None` while the lock is held.
    pub to_ns: Option<u64>,
    /// Time for which this thread executed statements.
    pub statement_ns: u64,
    /// Time in which this thread may have executed a statement that had begun before its calls were visible, or while events
    /// were lost.
    pub unseen_ns: u64,
    /// Length, without that time, when events were last lost.
    pub seen_ns: u64,
    /// Time for which this thread synced files.
    pub sync_ns: u64,
    pub syncs: u32,
    /// Longest time between two statements, and the texts before and after it.
    pub gap: Gap,
    /// Statements in the order of their first execution, with the time that each took; at most [`PARTS_MAX`]. Those of which no
    /// text was seen are one.
    pub parts: Vec<(Option<String>, u64)>,
    /// Whether this is a checkpoint after a commit in the same call.
    pub after_commit: bool,
    /// Time of a checkpoint of the same connection during the hold.
    pub checkpoint_ns: u64,
    /// Time for which it waited for readers to leave the file, to commit (rollback journal).
    pub drain_ns: u64,
    /// Whether its connection rebuilt the log's index under this write lock: that is no write.
    pub is_rebuild: bool,
    /// Whether this is SHARED in WAL mode, which a connection holds as long as it is open.
    pub is_connection: bool,
    /// Whether it has outlived its transaction (PRAGMA locking_mode = EXCLUSIVE): then its length is no fault.
    pub is_kept: bool,
    /// Number of refused calls of others.
    pub refused: u64,
    /// What its pauses of at least [`GAP_NS_MIN`] that have ended kept out.
    pub kept_out: KeptOut,
    /// The same since its last statement.
    pub in_gap: KeptOut,
}

/// Refused calls and waits of others while the holder executed no statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeptOut {
    /// Number of refused calls.
    pub refused: u64,
    /// Time of the pauses in which they were refused, and the longest.
    pub pauses_ns: u64,
    pub longest_pause_ns: u64,
    /// Number of waits that ended without the lock.
    pub gave_up: u64,
    /// The longest wait that has ended.
    pub longest: Option<Waiter>,
}

/// A process that waited for a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Waiter {
    pub pid: u32,
    pub ns: u64,
    pub gave_up: bool,
}

impl KeptOut {
    /// Adds what another hold kept out.
    pub fn add(&mut self, other: &KeptOut) {
        (self.refused, self.gave_up) = (self.refused + other.refused, self.gave_up + other.gave_up);
        self.pauses_ns += other.pauses_ns;
        self.longest_pause_ns = self.longest_pause_ns.max(other.longest_pause_ns);
        if let Some(waiter) = other.longest {
            self.keep_longer(waiter);
        }
    }

    fn keep_longer(&mut self, waiter: Waiter) {
        if self.longest.is_none_or(|longest| waiter.ns > longest.ns) {
            self.longest = Some(waiter);
        }
    }
}

/// Marks the write lock of a process as one of a rebuild of the log's index if the process also holds WAL_RECOVER_LOCK alone:
/// SQLite holds both for that, and WAL_RECOVER_LOCK alone for nothing else.
pub fn mark_rebuild(held: &mut BTreeMap<(usize, u32, Lock), Hold>, (database, pid, taken): (usize, u32, Lock)) {
    if !matches!(taken, Lock::WalWrite | Lock::Recover) {
        return;
    }
    let recover = held.get(&(database, pid, Lock::Recover)).filter(|hold| hold.mode == Mode::Alone);
    let is_rebuilt = recover.is_some();
    let write = held.get_mut(&(database, pid, Lock::WalWrite));
    write.into_iter().for_each(|write| write.is_rebuild |= is_rebuilt);
}

/// Time between two statements.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gap {
    pub ns: u64,
    /// Its thread or connection.
    pub tid: u32,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl Hold {
    /// A lock that has just been taken.
    pub fn new(database: usize, who: Who, (lock, mode): (Lock, Mode), from_ns: u64) -> Hold {
        Hold {
            database,
            who,
            lock,
            mode,
            from_ns,
            began_before: false,
            to_ns: None,
            statement_ns: 0,
            unseen_ns: 0,
            seen_ns: 0,
            sync_ns: 0,
            syncs: 0,
            gap: Gap::default(),
            parts: vec![],
            after_commit: false,
            checkpoint_ns: 0,
            drain_ns: 0,
            is_rebuild: false,
            is_connection: false,
            is_kept: false,
            refused: 0,
            kept_out: KeptOut::default(),
            in_gap: KeptOut::default(),
        }
    }

    /// The text of the statement that took longest, if it was seen.
    pub fn longest(&self) -> Option<&String> {
        self.parts.iter().max_by_key(|(_, ns)| *ns)?.0.as_ref()
    }

    /// Counts the time since the last call of its thread as a gap, up to a call or to the end of the hold. `free_ns`: since when
    /// the thread is known to execute no statement.
    pub fn count_gap(&mut self, thread: &Thread, after: Option<&str>, at_ns: u64, free_ns: Option<u64>) {
        let since_ns = free_ns.unwrap_or(at_ns).max(self.from_ns);
        if thread.last_end_ns == 0 {
            self.is_unseen_until(since_ns);
        }
        let ns = at_ns.saturating_sub(since_ns);
        let mut in_gap = std::mem::take(&mut self.in_gap);
        if ns >= GAP_NS_MIN {
            let pause_ns = if in_gap.refused > 0 { ns } else { 0 };
            (in_gap.pauses_ns, in_gap.longest_pause_ns) = (pause_ns, pause_ns);
            self.kept_out.add(&in_gap);
        }
        if ns > self.gap.ns {
            let (before, after) = (thread.last_sql.clone(), after.map(str::to_string));
            self.gap = Gap { ns, tid: self.who.tid, before, after };
        }
    }

    /// What its thread has executed up to now is unknown: since it began, or since events were lost.
    pub fn is_unseen_until(&mut self, at_ns: u64) {
        self.unseen_ns = at_ns.saturating_sub(self.from_ns).saturating_sub(self.seen_ns);
    }

    /// Counts what its thread does at this time: a statement, or something unknown.
    pub fn count_present(&mut self, thread: Option<&Thread>, at_ns: u64) {
        if let Some(call) = thread.and_then(|thread| thread.calls.first()) {
            let part = at_ns.saturating_sub(call.from_ns.max(self.from_ns));
            self.count_statement(part, call.sql.as_deref());
        } else if thread.is_none_or(|thread| thread.last_end_ns == 0) {
            self.is_unseen_until(at_ns);
        }
    }

    /// Events were lost from this time on. A pause that had not ended then may have.
    pub fn is_lost_at(&mut self, at_ns: u64) {
        self.in_gap = KeptOut::default();
        self.seen_ns = at_ns.saturating_sub(self.from_ns).saturating_sub(self.unseen_ns);
    }

    /// Adds the time of a statement during the hold.
    pub fn count_statement(&mut self, ns: u64, sql: Option<&str>) {
        self.statement_ns += ns;
        if let Some((_, sum)) = self.parts.iter_mut().find(|(known, _)| known.as_deref() == sql) {
            *sum += ns;
        } else if self.parts.len() < PARTS_MAX {
            self.parts.push((sql.map(str::to_string), ns));
        }
    }

    /// Time outside of statements. A hold without any visible statement belongs to a program whose statements are not
    /// visible, or to a backup.
    pub fn outside_ns(&self, now_ns: u64) -> u64 {
        let has_statements = self.statement_ns > 0 && !self.is_kept;
        let inside_ns = self.statement_ns + self.unseen_ns;
        if has_statements { self.ns(now_ns).saturating_sub(inside_ns) } else { 0 }
    }

    /// Whether the program has paused between two statements for at least [`GAP_NS_MIN`].
    pub fn pauses(&self) -> bool {
        self.statement_ns > 0 && self.gap.ns >= GAP_NS_MIN && !self.is_kept
    }

    /// Whether it kept others out while calls other than those of statements held it: those of a backup into the database.
    /// `visible_ns`: since when its process's statements are visible.
    pub fn is_by_unseen_calls(&self, visible_ns: u64) -> bool {
        let is_without_statement = self.statement_ns == 0 && self.unseen_ns == 0 && self.from_ns > visible_ns;
        let is_long = self.refused > 0 && self.ns(self.from_ns) >= GAP_NS_MIN;
        is_without_statement && is_long && !self.is_rebuild && !self.is_kept
    }

    /// Whether it is long by its work. What the disk, a checkpoint or readers take, or the program between statements, are
    /// other findings.
    pub fn works(&self, now_ns: u64) -> bool {
        let (ns, outside_ns) = (self.ns(now_ns), self.outside_ns(now_ns));
        let is_work = 2 * (self.sync_ns + self.checkpoint_ns + self.drain_ns) < ns && 2 * outside_ns < ns;
        ns >= LONG_NS_MIN && is_work && !self.is_kept
    }

    /// Adds a wait for it that has ended while its holder executed no statement.
    pub fn was_waited_for(&mut self, wait: &Wait) {
        let (ns, gave_up) = (wait.for_ns(self, wait.to_ns), wait.end.is_without_lock());
        if ns > 0 {
            self.in_gap.gave_up += u64::from(gave_up);
            self.in_gap.keep_longer(Waiter { pid: wait.who.pid, ns, gave_up });
        }
    }

    /// What it has kept out so far, its current pause included.
    pub fn kept_out_so_far(&self) -> KeptOut {
        let mut kept_out = self.kept_out;
        kept_out.add(&self.in_gap);
        kept_out
    }

    /// Length of the hold, up to now if it continues.
    pub fn ns(&self, now_ns: u64) -> u64 {
        self.to_ns.unwrap_or(now_ns).saturating_sub(self.from_ns)
    }
}

/// End of a wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The wait continues.
    Open,
    /// The thread got the lock, or its statement went on without it.
    Granted,
    /// The thread stopped retrying.
    GaveUp,
    /// Its process ended without the lock, outside of visible calls: it gave up, or was killed.
    ProcessEnded,
}

impl End {
    /// Whether the wait has ended without the lock.
    pub fn is_without_lock(self) -> bool {
        matches!(self, End::GaveUp | End::ProcessEnded)
    }
}

/// A wait: a thread was refused a lock.
#[derive(Debug, Clone, PartialEq)]
pub struct Wait {
    pub database: usize,
    pub who: Who,
    pub lock: Lock,
    /// How the thread wanted it.
    pub mode: Mode,
    pub from_ns: u64,
    /// Time of the last attempt.
    pub to_ns: u64,
    pub tries: u32,
    pub end: End,
    /// Process that held the lock at the first refusal, and the statement that it executed, or had executed last.
    pub holder: Option<u32>,
    pub holder_sql: Option<String>,
    /// Whether the thread's transaction had already executed a statement under a read lock.
    pub after_read: bool,
    /// Whether that is unknown, because a statement without a text may have begun a transaction.
    pub may_have_read: bool,
    /// The refused statement, if known, and when it began.
    pub sql: Option<String>,
    pub call_from_ns: Option<u64>,
    /// Whether the lock was free, and the snapshot too old to write (SQLITE_BUSY_SNAPSHOT).
    pub is_outdated: bool,
    /// Processes that kept the lock meanwhile.
    pub causes: Vec<Cause>,
}

/// The part of a wait for which a process kept the lock.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cause {
    pub pid: u32,
    pub ns: u64,
    /// Its longest hold: its length, its thread or connection, and the statement that took longest in it.
    pub held_ns: u64,
    pub tid: u32,
    pub sql: Option<String>,
    /// Time for which it synced files in these holds.
    pub sync_ns: u64,
    /// Parts for which holds with a pause, checkpoints, and holds with long work kept the lock.
    pub pause_ns: u64,
    pub checkpoint_ns: u64,
    pub work_ns: u64,
}

impl Wait {
    /// An open wait for a lock alone, without its attempts.
    pub fn new(database: usize, who: Who, lock: Lock, (from_ns, to_ns): (u64, u64)) -> Wait {
        Wait {
            database,
            who,
            lock,
            mode: Mode::Alone,
            from_ns,
            to_ns,
            tries: 0,
            end: End::Open,
            holder: None,
            holder_sql: None,
            after_read: false,
            may_have_read: false,
            sql: None,
            call_from_ns: None,
            is_outdated: false,
            causes: vec![],
        }
    }

    /// Counts the whole wait, up to its last attempt, for the reader of its own process that was met at its beginning, and
    /// of the read the part until its end, as `free_ns` returns it (0: never). The writer tries again later.
    pub fn count_own_reader(&mut self, free_ns: impl Fn(Who) -> u64) {
        let (is_own, pid, from_ns, to_ns) = (self.is_for_own_readers(), self.who.pid, self.from_ns, self.to_ns);
        for cause in self.causes.iter_mut().filter(|cause| is_own && cause.pid == pid) {
            let end_ns =
                Some(free_ns(Who { pid, tid: cause.tid })).filter(|ns| *ns > from_ns).unwrap_or(to_ns).min(to_ns);
            cause.ns = to_ns.saturating_sub(from_ns);
            cause.held_ns += end_ns.saturating_sub(from_ns);
        }
    }

    /// Adds a hold that has ended, or the part so far of one that continues.
    pub fn add(&mut self, hold: &Hold, now_ns: u64) {
        let ns = self.for_ns(hold, now_ns);
        if ns == 0 {
            return;
        }
        let known = self.causes.iter().position(|cause| cause.pid == hold.who.pid).unwrap_or_else(|| {
            self.causes.push(Cause { pid: hold.who.pid, ..Cause::default() });
            self.causes.len() - 1
        });
        let part = |is: bool| if is { ns } else { 0 };
        let cause = &mut self.causes[known];
        cause.ns += ns;
        cause.sync_ns += hold.sync_ns;
        // While readers delay its commit, it does not pause.
        cause.pause_ns += part(hold.pauses()).saturating_sub(hold.drain_ns);
        cause.checkpoint_ns += ns.min(hold.checkpoint_ns);
        cause.work_ns += part(hold.works(now_ns));
        if hold.ns(now_ns) >= cause.held_ns {
            (cause.held_ns, cause.tid) = (hold.ns(now_ns), hold.who.tid);
            cause.sql = hold.longest().cloned();
        }
    }

    /// The part of the wait, up to its last attempt or to `now_ns`, for which this hold kept the lock.
    pub fn for_ns(&self, hold: &Hold, now_ns: u64) -> u64 {
        // Connections of one process wait for each other in memory. Its readers share one lock, and are added when they are met.
        let is_met = || self.holder == Some(hold.who.pid) && self.who != hold.who && !self.is_for_readers();
        let is_other = self.who.pid != hold.who.pid || is_met();
        let is_for = self.database == hold.database && self.lock == hold.lock && is_other;
        // A statement that is still executed waits until the lock is free; others may have given up.
        let to_ns = if self.has_statement() { now_ns } else { self.to_ns };
        if is_for { to_ns.saturating_sub(self.from_ns.max(hold.from_ns)) } else { 0 }
    }

    /// Whether a writer waits for readers to leave the file (rollback journal). It is in a call of SQLite, seen or not.
    pub fn is_for_readers(&self) -> bool {
        self.lock == Lock::Shared && self.mode == Mode::Alone
    }

    /// Whether the readers are of its own process: SQLite refuses the commit in memory, without a lock call.
    pub fn is_for_own_readers(&self) -> bool {
        self.is_for_readers() && self.holder == Some(self.who.pid)
    }

    /// Whether the waiting statement was seen.
    pub fn has_statement(&self) -> bool {
        self.call_from_ns.is_some()
    }
}
