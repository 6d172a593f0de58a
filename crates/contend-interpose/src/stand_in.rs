//! Replacements for functions of the C library: `dlopen`, so that objects do not bind to their own symbols first (PHP
//! requests that); `dlsym`, for programs that look up SQLite by name; and sleeps, with which SQLite waits for a lock.

use crate::hooks;
use crate::loader::{
    REAL_CLOCK_NANOSLEEP, REAL_DLOPEN, REAL_DLSYM, REAL_NANOSLEEP, REAL_USLEEP, dlsym, is_ours, resolve,
};
use crate::segment::{self, ticks};
use crate::sys::{self, P};
use crate::thread::thread;
use core::arch::naked_asm;
use core::ffi::{c_char, c_int};

/// Mask for a caller's flags: all, or all but RTLD_DEEPBIND.
static mut DLOPEN_MASK: u64 = !0;

#[cfg(interpose)]
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

/// Initialises the library when it is loaded.
#[cfg(interpose)]
extern "C" fn begin() {
    // SAFETY: once, before the program's own code; a second call has no effect.
    unsafe {
        resolve();
        segment::begin();
        if segment::is_on() {
            bind_to_program();
        } else {
            hooks::bypass();
        }
    }
}

/// Makes objects that are opened from now on look for symbols in the program first.
pub extern "C" fn bind_to_program() {
    resolve();
    // SAFETY: before the program's own code, in its first thread.
    unsafe { DLOPEN_MASK = !8 };
}

/// `dlopen` without RTLD_DEEPBIND. It jumps to the real function, which then sees the true caller (`$ORIGIN`,
/// RUNPATH).
///
/// # Safety
/// As for the C library's.
#[cfg_attr(interpose, unsafe(export_name = "dlopen"))]
#[unsafe(naked)]
pub unsafe extern "C" fn stand_in_dlopen() {
    naked_asm!(
        "mov rax, qword ptr [rip + {real}]",
        "test rax, rax",
        "jnz 2f",
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {resolve}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "mov rax, qword ptr [rip + {real}]",
        "2:",
        "and rsi, qword ptr [rip + {mask}]",
        "jmp rax",
        real = sym REAL_DLOPEN,
        resolve = sym resolve,
        mask = sym DLOPEN_MASK,
    )
}

/// `dlsym`. If the result depends on the caller (RTLD_DEFAULT, RTLD_NEXT), it jumps to the real function.
///
/// # Safety
/// As for the C library's.
#[cfg_attr(interpose, unsafe(export_name = "dlsym"))]
#[unsafe(naked)]
pub unsafe extern "C" fn stand_in_dlsym() {
    naked_asm!(
        "lea rax, [rdi + 1]",
        "cmp rax, 1",
        "ja {by_handle}",
        "mov rax, qword ptr [rip + {real}]",
        "test rax, rax",
        "jnz 2f",
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {resolve}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "mov rax, qword ptr [rip + {real}]",
        "2:",
        "jmp rax",
        by_handle = sym by_handle,
        real = sym REAL_DLSYM,
        resolve = sym resolve,
    )
}

unsafe extern "C" fn by_handle(handle: P, name: *const c_char) -> P {
    let found = dlsym(handle, name);
    if found.is_null() || !segment::is_on() || name.is_null() {
        return found;
    }
    let name = sys::bytes(name);
    if !name.starts_with(b"sqlite3_") || is_ours(found as usize) {
        return found;
    }
    match hooks::by_name(name) {
        Some(hook) => {
            crate::real::looked_up(found as usize);
            hook as P
        }
        None => found,
    }
}

/// Counts a sleep inside SQLite, which is how SQLite waits for a lock.
unsafe fn asleep(sleep: impl FnOnce() -> c_int) -> c_int {
    let t = thread();
    if (*t).depth == 0 {
        return sleep();
    }
    let before = ticks();
    let result = sleep();
    (*t).waited += ticks() - before;
    result
}

/// # Safety
/// As for the C library's.
#[cfg_attr(interpose, unsafe(export_name = "usleep"))]
pub unsafe extern "C" fn stand_in_usleep(us: u32) -> c_int {
    if REAL_USLEEP.is_null() {
        resolve();
    }
    asleep(|| core::mem::transmute::<P, unsafe extern "C" fn(u32) -> c_int>(REAL_USLEEP)(us))
}

/// # Safety
/// As for the C library's.
#[cfg_attr(interpose, unsafe(export_name = "nanosleep"))]
pub unsafe extern "C" fn stand_in_nanosleep(time: P, left: P) -> c_int {
    if REAL_NANOSLEEP.is_null() {
        resolve();
    }
    asleep(|| core::mem::transmute::<P, unsafe extern "C" fn(P, P) -> c_int>(REAL_NANOSLEEP)(time, left))
}

/// # Safety
/// As for the C library's.
#[cfg_attr(interpose, unsafe(export_name = "clock_nanosleep"))]
pub unsafe extern "C" fn stand_in_clock_nanosleep(clock: c_int, flags: c_int, time: P, left: P) -> c_int {
    type Real = unsafe extern "C" fn(c_int, c_int, P, P) -> c_int;
    if REAL_CLOCK_NANOSLEEP.is_null() {
        resolve();
    }
    asleep(|| core::mem::transmute::<P, Real>(REAL_CLOCK_NANOSLEEP)(clock, flags, time, left))
}
