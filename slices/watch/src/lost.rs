//! What a timeline keeps after events were lost. What was complete before stays; what `/proc/locks` and the log show is taken
//! from there; the rest is unknown. Pure.

use crate::event::{Event, What, Who};
use crate::hold::{End, Hold, Wait};
use crate::lock::{Change, Lock, Mode};
use crate::target::{Sample, State};
use crate::thread::Thread;
use crate::timeline::Timeline;

/// The time in which events may have been lost.
#[derive(Debug, Clone, Copy)]
pub struct Loss {
    /// Until when all of them are known.
    pub from_ns: u64,
    pub to_ns: u64,
}

/// Calls were lost: what is executed now is unknown, and which statement waits.
pub fn calls_were_lost(timeline: &mut Timeline, loss: Loss) {
    let is_own = |wait: &&Wait| wait.is_for_own_readers();
    let by_calls: Vec<(usize, Who)> = timeline.waiting().filter(is_own).map(|wait| (wait.database, wait.who)).collect();
    by_calls.into_iter().for_each(|key| timeline.end_wait(key, End::Open));
    for hold in timeline.held.values_mut() {
        hold.count_present(timeline.threads.get(&hold.who), loss.from_ns);
        hold.is_lost_at(loss.from_ns);
    }
    for thread in timeline.threads.values_mut() {
        let databases = std::mem::take(&mut thread.databases);
        *thread = Thread { databases, may_have_begun: true, ..Thread::default() };
    }
    timeline.waiting.values_mut().for_each(|wait| wait.call_from_ns = None);
    timeline.lost_ns = loss.to_ns;
}

/// Lock calls were lost, after which these locks are held, as read from `/proc/locks`. `lasts` says of one that was held before
/// whether it was held all the time. The others have ended at an unknown time, and all waits.
pub fn locks_were_lost(timeline: &mut Timeline, loss: Loss, found: &[Event], lasts: impl Fn(&Hold) -> bool) {
    let waiting: Vec<(usize, Who)> = timeline.waiting.keys().copied().collect();
    waiting.into_iter().for_each(|key| timeline.end_wait(key, End::Open));
    let is_found =
        |hold: &Hold| found.iter().any(|event| key(event) == Some((hold.database, hold.who.pid, hold.lock, hold.mode)));
    let ended: Vec<Hold> = timeline.held().filter(|hold| !is_found(hold) || !lasts(hold)).cloned().collect();
    for Hold { database, who, lock, from_ns, .. } in ended {
        timeline.released(database, who, lock, loss.from_ns.max(from_ns));
    }
    timeline.overtaken.clear();
    for event in found {
        if key(event).is_some_and(|(database, pid, lock, _)| !timeline.held.contains_key(&(database, pid, lock))) {
            timeline.apply(&event.clone().found());
        }
    }
}

/// A watch begins while these locks are held.
pub fn found_held(timeline: &mut Timeline, found: &[Event]) {
    let loss = Loss { from_ns: timeline.now_ns, to_ns: timeline.now_ns };
    locks_were_lost(timeline, loss, found, |_| false);
}

/// The lock that was found.
fn key(event: &Event) -> Option<(usize, u32, Lock, Mode)> {
    let What::Lock { database, lock, change: Change::Taken(mode) } = event.what else { return None };
    Some((database, event.who.pid, lock, mode))
}

/// Whether a lock that is held before and after a loss has been held all the time: in WAL mode a writer that commits a change
/// changes the log, and a reader that begins again after it has another mark. A rollback journal of an open transaction stays.
/// Transactions that change nothing look like one.
pub fn lasts(hold: &Hold, before: &Sample, now: &State) -> bool {
    let logs = before.state.log.as_ref().zip(now.log.as_ref());
    let is_same = match hold.lock {
        Lock::WalWrite => logs.is_some_and(|(before, now)| before.commits == now.commits),
        Lock::Read(mark) => logs.is_some_and(|(before, now)| {
            before.frame_of(mark).is_some() && before.frame_of(mark) == now.frame_of(mark)
        }),
        Lock::Connected => true,
        Lock::Shared => hold.is_connection,
        Lock::Reserved => now.journal_content.is_some() && before.state.journal_content == now.journal_content,
        Lock::Pending | Lock::Checkpoint | Lock::Recover => false,
    };
    is_same && hold.from_ns <= before.at_ns
}
