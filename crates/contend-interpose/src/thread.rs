//! Data of one thread, at a fixed offset from the thread pointer, so that no call is needed to find it.

use crate::real::Real;
use crate::sys::P;
use core::ptr::null_mut;

#[repr(C)]
pub struct Thread {
    /// Return address of the last call of a function whose arguments use all registers.
    pub caller: usize,
    /// The segment; NULL without one.
    pub base: *mut u8,
    /// Offsets of the next record and of the segment's end.
    pub at: usize,
    pub end: usize,
    /// Generation of the process to which the segment belongs.
    pub generation: u32,
    /// Number of the segment in its process; 0 without one.
    pub serial: u32,
    /// Number of nested calls of SQLite in progress.
    pub depth: u32,
    /// Ticks asleep inside SQLite.
    pub waited: u64,
    /// The SQLite that is executing.
    pub inside: *const Real,
    /// The last statement that was looked up.
    pub last_key: usize,
    pub last: P,
    pub tid: u32,
    pub next_bytes: u32,
    /// Halves of the hashes of texts already written.
    pub seen: [u32; 64],
}

pub const BYTES: usize = 512;
const _: () = assert!(size_of::<Thread>() <= BYTES);

#[cfg(interpose)]
core::arch::global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".p2align 6",
    ".hidden contend_thread",
    ".globl contend_thread",
    ".type contend_thread, @object",
    ".size contend_thread, 512",
    "contend_thread:",
    ".zero 512",
    ".text",
);

/// The data of this thread. The library is loaded with the program, so the offset is the same for all threads.
#[cfg(interpose)]
#[inline(always)]
pub fn thread() -> *mut Thread {
    let place: *mut Thread;
    // SAFETY: reads the thread pointer and adds a constant.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr [rip + contend_thread@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]",
            out(reg) place,
            options(pure, nomem, nostack)
        );
    }
    place
}

/// Stores the return address in the first field of the thread's data. Registers that hold no argument are used.
#[cfg(interpose)]
macro_rules! keep_caller {
    () => {
        "mov r11, qword ptr [rip + contend_thread@GOTTPOFF]\nmov r10, qword ptr [rsp]\nmov qword ptr fs:[r11], r10"
    };
}

#[cfg(not(interpose))]
macro_rules! keep_caller {
    () => {
        "nop"
    };
}

/// After `keep_caller`: adds the number in `rax` to the address.
#[cfg(interpose)]
macro_rules! tag_caller {
    () => {
        "or qword ptr fs:[r11], rax"
    };
}

#[cfg(not(interpose))]
macro_rules! tag_caller {
    () => {
        "nop"
    };
}

pub(crate) use {keep_caller, tag_caller};

/// In contend itself nothing is captured.
#[cfg(not(interpose))]
pub fn thread() -> *mut Thread {
    null_mut()
}

/// Notes the beginning of a call of SQLite; returns the previous state.
///
/// # Safety
/// `t` belongs to this thread.
#[inline(always)]
pub unsafe fn enter(t: *mut Thread, real: *const Real) -> *const Real {
    (*t).depth += 1;
    core::mem::replace(&mut (*t).inside, real)
}

/// Notes the end of a call. A program may leave calls with `longjmp`, so depth and caller are stored separately.
///
/// # Safety
/// As for [`enter`].
#[inline(always)]
pub unsafe fn leave(t: *mut Thread, before: *const Real) {
    (*t).depth -= 1;
    (*t).inside = before;
}

/// Whether SQLite calls itself. Calls by a callback of the program have another caller.
///
/// # Safety
/// As for [`enter`].
#[inline(always)]
pub unsafe fn is_inner(t: *const Thread, caller: usize) -> bool {
    (*t).depth > 0 && (*(*t).inside).holds(caller)
}

/// The segment belongs to another process (after a fork): starts without one.
///
/// # Safety
/// As for [`enter`].
pub unsafe fn forget_segment(t: *mut Thread) {
    (*t).base = null_mut();
    (*t).at = 0;
    (*t).end = 0;
    (*t).serial = 0;
    (*t).next_bytes = 0;
}
