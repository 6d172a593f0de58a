//! Stands between a program and SQLite, and notes every call: what is opened, prepared, bound and executed, what came of
//! it and how long it took.
//!
//! ```text
//! program ─► hooks ─► real (the SQLite that the program would have called)
//!              └────► segment (a file of the thread, in memory) ─► contend
//! ```
//!
//! The crate is built twice: as an ordinary library, for the format and this text, and by `build.rs` as the shared library
//! ([`LIBRARY`]) that is loaded into programs with `LD_PRELOAD`. Rules for all that runs in the program: on the way of a
//! statement no system call, no lock, no allocation; `errno` and what SQLite says of its last call stay as they are; the
//! database's files are never opened or closed (its locks would be lost).
#![cfg_attr(interpose, no_std)]
// contend itself uses the format alone; the rest is compiled there so that the compiler looks at it.
#![cfg_attr(not(interpose), allow(dead_code))]

pub mod format;
pub mod hash;
pub mod text;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod ask;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod bind;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod call;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod hooks;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod loader;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod real;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod segment;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod stand_in;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod statement;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod sys;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod table;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod thread;

/// The shared library. Empty on machines that it is not written for.
#[cfg(all(not(interpose), target_os = "linux", target_arch = "x86_64"))]
pub const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libcontend_interpose.so"));
#[cfg(all(not(interpose), not(all(target_os = "linux", target_arch = "x86_64"))))]
pub const LIBRARY: &[u8] = &[];

/// The processor's counter of ticks, which the library reads where the kernel trusts it.
#[cfg(target_arch = "x86_64")]
pub fn ticks() -> u64 {
    // SAFETY: the instruction is there on every x86_64.
    unsafe { core::arch::x86_64::_rdtsc() }
}
#[cfg(not(target_arch = "x86_64"))]
pub fn ticks() -> u64 {
    0
}

#[cfg(interpose)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: ends the process.
    unsafe { sys::abort() }
}
