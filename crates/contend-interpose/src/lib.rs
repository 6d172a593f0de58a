//! Intercepts a program's calls to SQLite and records each of them: databases, statements, values, results and times.
//!
//! ```text
//! program ─► hooks ─► real (the SQLite that the program would have called)
//!              └────► segment (a file of the thread, in memory) ─► contend
//! ```
//!
//! The crate is built twice: as an ordinary library, for the format and this text, and by `build.rs` as the shared
//! library ([`LIBRARY`]) that is loaded into programs with `LD_PRELOAD`. Rules for the code that runs in the program:
//! executing a statement involves no system call, no lock and no allocation. `errno` and SQLite's error state do not
//! change. The database's files are never opened or closed, because closing them would drop the program's locks.
#![cfg_attr(interpose, no_std)]
// contend itself uses only the format; the rest is compiled there so that it is checked.
#![cfg_attr(not(interpose), allow(dead_code))]

#[cfg(all(not(interpose), target_os = "linux", target_arch = "x86_64"))]
mod examine;
#[cfg(not(interpose))]
pub mod foreign;
pub mod format;
pub mod hash;
pub mod plan;
pub mod position;
pub mod text;
pub mod token;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod ask;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod bind;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod call;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod hooks;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod linked_in;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod loader;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod real;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod segment;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod stand_in;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod statement;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod sys;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod table;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod thread;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use sys::{P, pthread_atfork};

/// The shared library. Empty on unsupported platforms.
#[cfg(all(not(interpose), target_os = "linux", target_arch = "x86_64"))]
pub const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libcontend_interpose.so"));
#[cfg(all(not(interpose), not(all(target_os = "linux", target_arch = "x86_64"))))]
pub const LIBRARY: &[u8] = &[];

/// The processor's time-stamp counter, which the library reads if the kernel trusts it.
#[cfg(target_arch = "x86_64")]
pub fn ticks() -> u64 {
    // SAFETY: every x86_64 has this instruction.
    unsafe { core::arch::x86_64::_rdtsc() }
}
#[cfg(not(target_arch = "x86_64"))]
pub fn ticks() -> u64 {
    0
}

/// `contend watch` knows the library by this name, and puts no probes into it.
#[cfg(interpose)]
#[unsafe(no_mangle)]
pub static CONTEND_INTERPOSE: u8 = 0;

#[cfg(interpose)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: ends the process.
    unsafe { sys::abort() }
}
