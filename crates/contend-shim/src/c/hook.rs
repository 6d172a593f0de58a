//! The macro for functions that replace SQLite's.

/// Defines a function with SQLite's name that passes its return address to `run` as one more argument, in the next
/// free register or on the stack. With `none` there is no free place, and `run` gets no address.
macro_rules! hook {
    ($place:tt; $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?, $caller:ident $body:block) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn run($($argument: $type,)* $caller: usize) $(-> $result)? $body
            crate::c::hook::pass!($place, run)
        }
    };
}

macro_rules! pass {
    (stack, $run:ident) => {
        std::arch::naked_asm!("push qword ptr [rsp]", "call {run}", "add rsp, 8", "ret", run = sym $run)
    };
    (none, $run:ident) => {
        std::arch::naked_asm!("jmp {run}", run = sym $run)
    };
    ($register:ident, $run:ident) => {
        std::arch::naked_asm!(concat!("mov ", stringify!($register), ", qword ptr [rsp]"), "jmp {run}", run = sym $run)
    };
}

pub(crate) use {hook, pass};

use std::ffi::{CStr, c_char, c_void};

/// Whether a text of the program is in UTF-8. SQLite keeps other bytes as they are, and a server would get replacements.
///
/// # Safety
/// `text` is NULL or ends with NUL.
pub unsafe fn is_utf8(text: *const c_char) -> bool {
    text.is_null() || CStr::from_ptr(text).to_str().is_ok()
}

/// A text of the program; empty for NULL.
///
/// # Safety
/// `text` is NULL or ends with NUL.
pub unsafe fn text(text: *const c_char) -> String {
    if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
}

/// The same of a text in UTF-16.
///
/// # Safety
/// `text` is NULL or ends with a unit of 0.
pub unsafe fn text16(text: *const c_void) -> String {
    let units = text.cast::<u16>();
    let length = if text.is_null() { 0 } else { (0..).take_while(|i| *units.add(*i) != 0).count() };
    let units = if length == 0 { &[] } else { std::slice::from_raw_parts(units, length) };
    String::from_utf16_lossy(units)
}
