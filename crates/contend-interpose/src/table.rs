//! Tables of statements and connections by address. Entries are taken and released with one atomic write. An address
//! is in at most one entry, because it is removed before SQLite can reuse it.

use crate::real::Real;
use crate::segment::is_on;
use crate::sys::P;
use crate::thread::Thread;
use core::sync::atomic::{AtomicUsize, Ordering};

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

/// # Safety
/// As for [`remove_statement`].
pub unsafe fn remove_connection(entry: *mut Connection) {
    (*entry).key.store(0, Ordering::Release);
}
