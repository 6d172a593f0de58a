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
    if text.is_null() { String::new() } else { String::from_utf16_lossy(&units(text.cast(), None)) }
}

/// Units of a text in UTF-16, whose address may be odd. Without a count: those before a unit of 0.
///
/// # Safety
/// `start` has `count` units, or ends with a unit of 0.
pub unsafe fn units(start: *const u16, count: Option<usize>) -> Vec<u16> {
    let read = |i: usize| start.add(i).read_unaligned();
    let count = count.unwrap_or_else(|| (0..).take_while(|i| read(*i) != 0).count());
    (0..count).map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_utf_16_may_have_an_odd_address() {
        let bytes: Vec<u8> = "länge\0".encode_utf16().flat_map(u16::to_ne_bytes).collect();
        for place in [0, 1] {
            let moved = [vec![1; place], bytes.clone()].concat();
            // SAFETY: the text ends with a unit of 0.
            assert_eq!(unsafe { text16(moved[place..].as_ptr().cast()) }, "länge");
        }
    }
}
