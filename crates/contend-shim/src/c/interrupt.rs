//! Interrupts by the program: `sqlite3_interrupt` and its progress handler. They stop a statement over a copy of rows. They must
//! not stop what the library does in the front before and after it.

use super::INTERRUPT;
use super::front::{Failed, Front};
use super::real::Progress;
use contend_interpose::P;
use std::ffi::c_int;
use std::ptr::from_ref;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// SQLite gets interrupts.
const OPEN: u8 = 0;
/// They are kept for later.
const HELD: u8 = 1;
/// They stop the statement over a copy.
const ADMITTED: u8 = 2;
/// Instructions of SQLite between two looks, if the program has no progress handler.
const INSTRUCTIONS: c_int = 1_000;

/// A progress handler: its instructions, address, and argument.
#[derive(Clone, Copy, Default)]
pub struct Handler {
    pub instructions: c_int,
    pub call: Progress,
    pub argument: usize,
}

#[derive(Default)]
pub struct Interrupts {
    phase: AtomicU8,
    /// Calls of [`Interrupts::interrupt`] that have begun and not ended. No lock: a program may call it in a signal handler.
    calls: AtomicUsize,
    /// Number of calls so far.
    count: AtomicUsize,
    /// Whether there was one that SQLite did not get.
    is_kept: AtomicBool,
    /// The program's.
    handler: Mutex<Handler>,
}

impl Interrupts {
    fn handler(&self) -> MutexGuard<'_, Handler> {
        self.handler.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, phase: u8) {
        self.phase.store(phase, SeqCst);
        // A call that saw the earlier phase acts by it.
        while self.calls.load(SeqCst) > 0 {
            std::thread::yield_now();
        }
    }

    /// From now on they are kept.
    pub fn hold(&self, front: &Front) {
        install(front, Handler::default());
        self.enter(HELD);
    }

    /// From now on they stop SQLite's statements.
    pub fn admit(&self, front: &Front) {
        let Handler { instructions, call, .. } = *self.handler();
        let instructions = if call.is_some() { instructions } else { INSTRUCTIONS };
        let argument = from_ref(self) as usize;
        install(front, Handler { instructions, call: Some(stops), argument });
        self.enter(ADMITTED);
    }

    /// From now on SQLite gets them, first the one that was kept.
    pub fn release(&self, front: &Front) {
        install(front, *self.handler());
        self.enter(OPEN);
        if self.is_kept.swap(false, SeqCst) {
            // Other statements of the front may be active.
            // SAFETY: the connection is open.
            unsafe { (front.real.interrupt)(front.db as P) };
        }
    }

    /// # Errors
    /// One was kept.
    pub fn check(&self) -> Result<(), Failed> {
        if self.is_kept.load(SeqCst) { Err(Failed::new(INTERRUPT, "interrupted")) } else { Ok(()) }
    }

    /// Interrupts the front. Returns whether the server's statement must be cancelled, too.
    pub fn interrupt(&self, front: &Front) -> bool {
        self.calls.fetch_add(1, SeqCst);
        self.count.fetch_add(1, SeqCst);
        let phase = self.phase.load(SeqCst);
        if phase == OPEN {
            // SAFETY: the connection is open.
            unsafe { (front.real.interrupt)(front.db as P) };
        } else {
            self.is_kept.store(true, SeqCst);
        }
        self.calls.fetch_sub(1, SeqCst);
        phase != HELD
    }

    /// Number of interrupts so far.
    pub fn count(&self) -> usize {
        self.count.load(SeqCst)
    }

    /// Stores the program's progress handler.
    pub fn set_handler(&self, front: &Front, handler: Handler) {
        *self.handler() = handler;
        if self.phase.load(SeqCst) == OPEN {
            install(front, handler);
        }
    }
}

fn install(front: &Front, handler: Handler) {
    // SAFETY: the connection is open; handlers of this library live as long as it.
    unsafe {
        (front.real.progress_handler)(front.db as P, handler.instructions, handler.call, handler.argument as P);
    }
}

/// The progress handler of a statement over a copy. The argument is its [`Interrupts`].
unsafe extern "C" fn stops(interrupts: P) -> c_int {
    let interrupts = &*interrupts.cast::<Interrupts>();
    let Handler { call, argument, .. } = *interrupts.handler();
    let is_stopped = call.is_some_and(|call| call(argument as P) != 0);
    c_int::from(is_stopped || interrupts.check().is_err())
}
