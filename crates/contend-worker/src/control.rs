//! State shared by the supervising thread and the clients: the start, the end of the window, the end of the drain, and
//! each client's count of operations.

use crate::later::Later;
use anyhow::Error;
use contend_wire::handshake::Facts;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// State of the clients before they run.
#[derive(Debug, Clone, Copy)]
enum Gate {
    Closed,
    Open { start_ns: u64 },
    Abandoned,
}

/// The window for the clients. Times are readings of the monotonic clock.
#[derive(Debug)]
pub struct Control {
    window_end_ns: AtomicU64,
    drain_ns: u64,
    drain_over: AtomicBool,
    gate: Mutex<Gate>,
    gate_moved: Condvar,
    /// Wakes tasks when the gate, the window's end or the drain has moved.
    moved: Notify,
    /// Threads that wait parked inside attempts.
    threads: Mutex<Vec<Thread>>,
    /// Wakes threads that wait in other ways.
    others: Others,
    /// Facts for the end of the run, in addition to the accounts.
    reported: Mutex<Facts>,
    /// Connections opened after the start.
    later: Later,
}

/// Calls that wake a waiting thread or task.
#[derive(Default)]
struct Others(Mutex<Vec<Box<dyn Fn() + Send>>>);

impl fmt::Debug for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} others", lock(&self.0).len())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Control {
    /// A window that has not begun.
    pub fn new(drain_ns: u64) -> Self {
        Self {
            window_end_ns: AtomicU64::new(u64::MAX),
            drain_ns,
            drain_over: AtomicBool::new(false),
            gate: Mutex::new(Gate::Closed),
            gate_moved: Condvar::new(),
            moved: Notify::new(),
            threads: Mutex::new(vec![]),
            others: Others::default(),
            reported: Mutex::default(),
            later: Later::default(),
        }
    }

    /// Replaces the facts for the end of the run.
    pub fn report(&self, facts: Facts) {
        *lock(&self.reported) = facts;
    }

    /// The facts for the end of the run, and what connections opened after the start have read back.
    pub fn reported(&self) -> Facts {
        lock(&self.reported).iter().cloned().chain(self.later.facts()).collect()
    }

    /// Notes what a connection that was opened after the start has read back, as [`Later::hold`] does. Interrupted
    /// reads are ignored.
    pub fn hold_later(&self, first: &Facts, found: Result<&Facts, &Error>) {
        if found.is_ok() || !self.drain_over() {
            self.later.hold(first, found);
        }
    }

    fn move_gate(&self, gate: Gate) {
        *lock(&self.gate) = gate;
        self.gate_moved.notify_all();
        self.moved.notify_waiters();
    }

    /// Registers the calling thread, which will wait parked and is woken when the window's end or the drain moves.
    pub fn thread_begins(&self) {
        lock(&self.threads).push(thread::current());
    }

    /// Removes the calling thread.
    pub fn thread_ends(&self) {
        let me = thread::current().id();
        lock(&self.threads).retain(|thread| thread.id() != me);
    }

    /// Wakes all waiting threads, which check the clock, the window and the drain again.
    pub fn wake(&self) {
        lock(&self.threads).iter().for_each(Thread::unpark);
        lock(&self.others.0).iter().for_each(|wake| wake());
        self.moved.notify_waiters();
    }

    /// Registers a way to wake a thread that waits for something other than `unpark`.
    pub fn wake_with(&self, wake: impl Fn() + Send + 'static) {
        lock(&self.others.0).push(Box::new(wake));
    }

    /// A future that ends with the next [`Control::wake`] or movement of the gate after this call.
    pub fn moved(&self) -> Notified<'_> {
        self.moved.notified()
    }

    /// Lets the clients begin; `length_ns` after `start_ns` no further operation begins.
    pub fn start(&self, start_ns: u64, length_ns: u64) {
        self.window_end_ns.store(start_ns.saturating_add(length_ns), Relaxed);
        self.move_gate(Gate::Open { start_ns });
    }

    /// Ends the clients without a run.
    pub fn abandon(&self) {
        self.move_gate(Gate::Abandoned);
    }

    /// Waits for the start and returns its time; `None` if there is no run.
    pub fn wait_for_start(&self) -> Option<u64> {
        let mut gate = lock(&self.gate);
        loop {
            match *gate {
                Gate::Closed => gate = self.gate_moved.wait(gate).unwrap_or_else(PoisonError::into_inner),
                Gate::Open { start_ns } => return Some(start_ns),
                Gate::Abandoned => return None,
            }
        }
    }

    /// As [`Control::wait_for_start`], for a task.
    pub async fn started(&self) -> Option<u64> {
        loop {
            let moved = self.moved();
            match *lock(&self.gate) {
                Gate::Closed => {}
                Gate::Open { start_ns } => return Some(start_ns),
                Gate::Abandoned => return None,
            }
            moved.await;
        }
    }

    /// Ends the window now, unless it is over already.
    pub fn stop(&self, now_ns: u64) {
        self.window_end_ns.fetch_min(now_ns, Relaxed);
    }

    /// When no more operations begin.
    #[inline]
    pub fn window_end_ns(&self) -> u64 {
        self.window_end_ns.load(Relaxed)
    }

    /// When operations in flight are interrupted.
    pub fn drain_end_ns(&self) -> u64 {
        self.window_end_ns().saturating_add(self.drain_ns)
    }

    /// Ends the drain.
    pub fn end_drain(&self) {
        self.drain_over.store(true, Relaxed);
    }

    /// Whether operations in flight must end.
    #[inline]
    pub fn drain_over(&self) -> bool {
        self.drain_over.load(Relaxed)
    }
}

/// Interrupts a connection on behalf of the supervising thread.
#[derive(Default)]
pub struct Cancel(Mutex<Option<Box<dyn Fn() + Send>>>);

impl Cancel {
    /// Interrupts what the connection is doing, if there is one.
    pub fn call(&self) {
        if let Some(cancel) = &*lock(&self.0) {
            cancel();
        }
    }

    /// From now on `cancel` interrupts it.
    pub fn set(&self, cancel: impl Fn() + Send + 'static) {
        *lock(&self.0) = Some(Box::new(cancel));
    }
}

/// Progress of one client, on its own cache line because clients write it after every operation.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Pulse {
    operations: AtomicU64,
    failed: AtomicU64,
    loop_over: AtomicBool,
}

impl Pulse {
    /// Replaces the counts; only the client itself does.
    #[inline]
    pub fn set(&self, operations: u64, failed: u64) {
        self.operations.store(operations, Relaxed);
        self.failed.store(failed, Relaxed);
    }

    /// Operations ended and, of them, those whose last attempt failed.
    pub fn get(&self) -> (u64, u64) {
        (self.operations.load(Relaxed), self.failed.load(Relaxed))
    }

    /// Notes that the client begins nothing more. What remains is closing the connection, which may take long and must
    /// not be interrupted: it may write the WAL back.
    pub fn set_loop_over(&self) {
        self.loop_over.store(true, Relaxed);
    }

    /// Whether the client's loop is over.
    pub fn loop_over(&self) -> bool {
        self.loop_over.load(Relaxed)
    }
}
