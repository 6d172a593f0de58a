//! Replacements for functions of the C library: `dlopen`, so that objects do not bind to their own symbols first (PHP
//! requests that), and SQLite that is linked into them is found; `dlsym`, for programs that look up SQLite by name; and
//! sleeps, with which SQLite waits for a lock.

use crate::hooks;
use crate::linked_in;
use crate::loader::{
    self, REAL_CLOCK_NANOSLEEP, REAL_DLOPEN, REAL_DLSYM, REAL_NANOSLEEP, REAL_USLEEP, Scope, dlsym, is_ours, resolve,
};
use crate::segment::{self, ticks};
use crate::sys::{self, P};
use crate::thread::thread;
use core::arch::naked_asm;
use core::ffi::{CStr, c_char, c_int};

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
            linked_in::begin();
            crate::table::begin();
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

/// `dlopen` without RTLD_DEEPBIND. Afterwards objects with SQLite linked into them are looked for. The real function
/// finds the true caller's object by its return address (`$ORIGIN`, RUNPATH): that of a `ret` there, which returns to
/// the rest of this function.
///
/// # Safety
/// As for the C library's.
#[cfg_attr(interpose, unsafe(export_name = "dlopen"))]
#[unsafe(naked)]
pub unsafe extern "C" fn stand_in_dlopen() {
    naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "mov rdi, qword ptr [rsp + 24]",
        "call {before}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "and rsi, qword ptr [rip + {mask}]",
        "test rax, rax",
        "jz 2f",
        "lea r10, [rip + 3f]",
        "push r10",
        "push rax",
        "2:",
        "jmp qword ptr [rip + {real}]",
        "3:",
        "push rax",
        "call {after}",
        "pop rax",
        "ret",
        real = sym REAL_DLOPEN,
        before = sym before_dlopen,
        after = sym linked_in::look,
        mask = sym DLOPEN_MASK,
    )
}

/// The address of a `ret` in the object of `dlopen`'s caller; 0 if `dlopen` is only passed on.
unsafe extern "C" fn before_dlopen(caller: usize) -> usize {
    const RET: u8 = 0xc3;
    if REAL_DLOPEN.is_null() {
        resolve();
    }
    let shadow_stack: usize;
    // `rdsspq rax`: without a shadow stack, which would not accept that return, it does nothing.
    core::arch::asm!(".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8", inout("rax") 0usize => shadow_stack);
    if !segment::is_on() || shadow_stack != 0 {
        return 0;
    }
    let end = loader::code_end(caller).unwrap_or(caller);
    (caller..end).find(|&at| *(at as *const u8) == RET).unwrap_or(0)
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
    // Objects that were loaded in another way than with `dlopen` above.
    linked_in::look();
    let found = dlsym(handle, name);
    if found.is_null() || !segment::is_on() || name.is_null() {
        return found;
    }
    if is_ours(found as usize) {
        // In the scope of the whole program. Without this library it could have no such function.
        let next = loader::find(&Scope::Next, CStr::from_ptr(name));
        return if next.is_null() { next } else { found };
    }
    let name = sys::bytes(name);
    if !name.starts_with(b"sqlite3_") || crate::real::is_linked_in(found as usize) {
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
