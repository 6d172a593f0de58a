//! Data of one thread, at a fixed place from the thread's pointer: found without a call.

use crate::real::Real;
use crate::sys::P;
use core::ptr::null_mut;

#[repr(C)]
pub struct Thread {
    /// The segment; NULL if there is none.
    pub base: *mut u8,
    /// Where the next record goes, and where the segment ends.
    pub at: usize,
    pub end: usize,
    /// Which fork of the program the segment belongs to.
    pub generation: u32,
    /// Number of the segment in its process; 0 if there is none.
    pub serial: u32,
    /// Calls of SQLite that are going on.
    pub depth: u32,
    /// Sleeps inside of SQLite, and ticks in them.
    pub sleeps: u32,
    pub waited: u64,
    /// Whose call is going on.
    pub inside: *const Real,
    /// The statement that was looked up last.
    pub last_key: usize,
    pub last: P,
    pub tid: u32,
    pub next_bytes: u32,
    /// Halves of hashes of texts that are written down.
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

/// This thread's own. The library is there when the program begins, so the place is the same for all threads.
#[cfg(interpose)]
#[inline(always)]
pub fn thread() -> *mut Thread {
    let place: *mut Thread;
    // SAFETY: reads the thread's pointer and adds a constant.
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

/// Inside of contend itself nothing is captured.
#[cfg(not(interpose))]
pub fn thread() -> *mut Thread {
    null_mut()
}

/// Notes that a call of SQLite begins; what was before.
///
/// # Safety
/// `t` is this thread's own.
#[inline(always)]
pub unsafe fn enter(t: *mut Thread, real: *const Real) -> *const Real {
    (*t).depth += 1;
    core::mem::replace(&mut (*t).inside, real)
}

/// Notes that it has ended. A program may leave calls with `longjmp`, so the depth is one thing and who calls another.
///
/// # Safety
/// As for [`enter`].
#[inline(always)]
pub unsafe fn leave(t: *mut Thread, before: *const Real) {
    (*t).depth -= 1;
    (*t).inside = before;
}

/// Whether SQLite calls itself. What a program calls out of a callback comes from elsewhere.
///
/// # Safety
/// As for [`enter`].
#[inline(always)]
pub unsafe fn is_inner(t: *const Thread, caller: usize) -> bool {
    (*t).depth > 0 && (*(*t).inside).holds(caller)
}

/// The segment belongs to another process: the thread starts again.
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
