//! Tables of statements and connections by address. Entries are taken and released with one atomic write. An address
//! is in at most one entry: it is removed or marked before SQLite can reuse it, and threads that add the same one take turns.

use crate::real::Real;
use crate::segment::is_on;
use crate::sys::{self, P};
use crate::thread::Thread;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Number of slots that an address may use.
const TRIES: usize = 16;
const STATEMENTS: usize = 1 << 16;
const CONNECTIONS: usize = 1 << 12;

/// A prepared statement.
#[repr(C, align(64))]
pub struct Statement {
    key: AtomicUsize,
    pub id: u64,
    pub real: *const Real,
    pub db: P,
    /// The record of the current execution, and its segment.
    pub record: *mut u8,
    pub serial: u32,
    pub is_running: bool,
    pub is_readonly: bool,
    pub is_attach: bool,
}

/// A connection.
#[repr(C)]
pub struct Connection {
    key: AtomicUsize,
    pub id: u64,
    pub real: *const Real,
    /// Notes that are written already, as bits.
    pub noted: u32,
}

static mut OF_STATEMENTS: [Statement; STATEMENTS] = [const {
    Statement {
        key: AtomicUsize::new(0),
        id: 0,
        real: core::ptr::null(),
        db: core::ptr::null_mut(),
        record: core::ptr::null_mut(),
        serial: 0,
        is_running: false,
        is_readonly: false,
        is_attach: false,
    }
}; STATEMENTS];

static mut OF_CONNECTIONS: [Connection; CONNECTIONS] =
    [const { Connection { key: AtomicUsize::new(0), id: 0, real: core::ptr::null(), noted: 0 } }; CONNECTIONS];

#[inline(always)]
fn place(address: usize, places: usize, try_: usize) -> usize {
    ((address >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).wrapping_add(try_) & (places - 1)
}

/// Access to the keys of a table.
trait Keyed {
    fn key(&self) -> &AtomicUsize;
}

impl Keyed for Statement {
    #[inline(always)]
    fn key(&self) -> &AtomicUsize {
        &self.key
    }
}

impl Keyed for Connection {
    #[inline(always)]
    fn key(&self) -> &AtomicUsize {
        &self.key
    }
}

#[inline(always)]
unsafe fn find<T: Keyed>(table: *mut T, places: usize, address: usize) -> *mut T {
    for try_ in 0..TRIES {
        let entry = table.add(place(address, places, try_));
        if (*entry).key().load(Ordering::Acquire) == address {
            return entry;
        }
    }
    core::ptr::null_mut()
}

/// A free entry; NULL if all slots for the address are taken: callers count what they cannot capture then. Other threads
/// find the entry only when its key is stored.
unsafe fn take<T: Keyed>(table: *mut T, places: usize, address: usize) -> *mut T {
    const TAKEN: usize = 1;
    for try_ in 0..TRIES {
        let entry = table.add(place(address, places, try_));
        if (*entry).key().compare_exchange(0, TAKEN, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            return entry;
        }
    }
    core::ptr::null_mut()
}

/// The statement with this address; NULL if it is unknown.
///
/// # Safety
/// `t` belongs to this thread.
#[inline(always)]
pub unsafe fn statement(t: *mut Thread, address: P) -> *mut Statement {
    let key = address as usize;
    let last: *mut Statement = (*t).last.cast();
    if (*t).last_key == key && !last.is_null() && (*last).key.load(Ordering::Acquire) == key {
        return last;
    }
    if key == 0 || !is_on() {
        return core::ptr::null_mut();
    }
    let found: *mut Statement = find((&raw mut OF_STATEMENTS).cast(), STATEMENTS, key);
    ((*t).last_key, (*t).last) = (key, found.cast());
    found
}

/// Adds a statement; false if there is no space.
///
/// # Safety
/// SQLite has just returned this address.
pub unsafe fn add_statement(address: P, fill: impl FnOnce(&mut Statement)) -> bool {
    let entry: *mut Statement = take((&raw mut OF_STATEMENTS).cast(), STATEMENTS, address as usize);
    if !entry.is_null() {
        ((*entry).is_running, (*entry).is_attach, (*entry).serial) = (false, false, 0);
        fill(&mut *entry);
        (*entry).key.store(address as usize, Ordering::Release);
    }
    !entry.is_null()
}

/// # Safety
/// The entry is in the table, and its address still belongs to the caller.
pub unsafe fn remove_statement(entry: *mut Statement) {
    (*entry).key.store(0, Ordering::Release);
}

/// The connection with this address; NULL if it is unknown.
#[inline(always)]
pub fn connection(address: P) -> *mut Connection {
    if address.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: the table is never freed; keys are atomic.
    unsafe { find((&raw mut OF_CONNECTIONS).cast(), CONNECTIONS, address as usize) }
}

/// Set in the address of a connection that is being closed: SQLite may give it to another one as soon as it is free.
const CLOSING: usize = 1;

static ADDING: AtomicBool = AtomicBool::new(false);

/// Prepares the table for forks: in the child the thread that was adding does not exist.
///
/// # Safety
/// Once, before the program's own code.
pub unsafe fn begin() {
    sys::pthread_atfork(core::ptr::null_mut(), core::ptr::null_mut(), unlock);
}

extern "C" fn unlock() {
    ADDING.store(false, Ordering::Release);
}

/// Adds a connection; NULL if there is no space.
///
/// # Safety
/// SQLite has returned this address, and it is not in the table.
pub unsafe fn add_connection(address: P, id: u64, real: *const Real) -> *mut Connection {
    let entry: *mut Connection = take((&raw mut OF_CONNECTIONS).cast(), CONNECTIONS, address as usize);
    if !entry.is_null() {
        ((*entry).id, (*entry).real, (*entry).noted) = (id, real, 0);
        (*entry).key.store(address as usize, Ordering::Release);
    }
    entry
}

/// The entry of an open connection, and whether it was added now: several threads can use a connection whose opening was not
/// seen, or that one of them fails to close.
///
/// # Safety
/// The connection is open.
pub unsafe fn known_or_added(address: P, id: u64, real: *const Real) -> (*mut Connection, bool) {
    while ADDING.swap(true, Ordering::Acquire) {
        core::hint::spin_loop();
    }
    let closing = || find((&raw mut OF_CONNECTIONS).cast(), CONNECTIONS, address as usize | CLOSING);
    let known = [connection(address), closing()].into_iter().find(|known| !known.is_null());
    let entry = known.unwrap_or_else(|| add_connection(address, id, real));
    unlock();
    (entry, known.is_none())
}

/// The program begins to close a connection.
///
/// # Safety
/// The entry is in the table, and its address still belongs to the caller.
pub unsafe fn closes(entry: *mut Connection) {
    (*entry).key.fetch_or(CLOSING, Ordering::AcqRel);
}

/// Removes the entry of a connection that is closed, or keeps it for one that could not be closed.
///
/// # Safety
/// After [`closes`], by the same thread.
pub unsafe fn closed(entry: *mut Connection, is_closed: bool) {
    let key = if is_closed { 0 } else { (*entry).key.load(Ordering::Relaxed) & !CLOSING };
    (*entry).key.store(key, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::Barrier;

    /// Addresses of entries for this connection.
    fn entries(address: usize) -> usize {
        let all: *const Connection = (&raw const OF_CONNECTIONS).cast();
        // SAFETY: the table is never freed; keys are atomic.
        let key = |at| unsafe { (*all.add(at)).key.load(Ordering::Acquire) };
        (0..CONNECTIONS).filter(|&at| key(at) & !CLOSING == address).count()
    }

    #[test]
    fn threads_that_use_a_connection_for_the_first_time_add_it_once() {
        const THREADS: usize = 4;
        let barrier = Barrier::new(THREADS);
        for round in 1..=2_000 {
            let address = 0x1000_0000 + round * 64;
            let each = |thread| {
                barrier.wait();
                // SAFETY: the address is only a number here.
                let (entry, is_new) = unsafe { known_or_added(address as P, thread, core::ptr::null()) };
                (entry as usize, is_new)
            };
            let of: Vec<(usize, bool)> = std::thread::scope(|scope| {
                let all: Vec<_> = (0..THREADS as u64).map(|thread| scope.spawn(move || each(thread))).collect();
                all.into_iter().map(|one| one.join().expect("a result")).collect()
            });
            let all: BTreeSet<usize> = of.iter().map(|(entry, _)| *entry).collect();
            assert_eq!((all.len(), of.iter().filter(|(_, is_new)| *is_new).count(), entries(address)), (1, 1, 1));
            // SAFETY: no other thread uses it.
            unsafe {
                closes(connection(address as P));
                closed(*all.first().expect("one") as *mut Connection, true);
            }
            assert_eq!(entries(address), 0);
        }
    }

    #[test]
    fn a_connection_that_could_not_be_closed_keeps_its_entry() {
        let address = 0x2000_0000 as P;
        // SAFETY: the address is only a number here.
        unsafe {
            let entry = add_connection(address, 7, core::ptr::null());
            closes(entry);
            assert!(connection(address).is_null(), "SQLite may give the address to another connection");
            assert_eq!(known_or_added(address, 8, core::ptr::null()), (entry, false), "another thread uses it");
            closed(entry, false);
            assert_eq!((connection(address), (*entry).id, entries(address as usize)), (entry, 7, 1));
            // While the first is being closed, SQLite gives its address to another one.
            closes(entry);
            let next = add_connection(address, 9, core::ptr::null());
            closed(entry, true);
            assert_eq!((connection(address), entries(address as usize)), (next, 1));
        }
    }
}
