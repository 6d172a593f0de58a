//! The C boundary, with all `unsafe` code of this crate. It is needed for four reasons:
//!
//! - programs pass pointers as SQLite's documentation permits, and a C function cannot check them;
//! - SQLite's own functions are called at addresses that the dynamic loader returns;
//! - callbacks of the program (authorizer, exec) are called as SQLite would call them;
//! - replacements pass on the address of their caller, which takes a few instructions of assembly.
//!
//! Data behind pointers is converted to Rust values here; the rest of the crate has no pointers.

// The preconditions are those in SQLite's documentation of each function.
#![allow(clippy::missing_safety_doc)]

pub mod authorizer;
pub mod bind;
pub mod column;
pub mod exec;
pub mod front;
pub mod hook;
pub mod interrupt;
pub mod open;
pub mod prepare;
pub mod real;
pub mod refused;

pub const OK: i32 = 0;
pub const ERROR: i32 = 1;
pub const ABORT: i32 = 4;
pub const BUSY: i32 = 5;
pub const LOCKED: i32 = 6;
pub const NOMEM: i32 = 7;
pub const READONLY: i32 = 8;
pub const INTERRUPT: i32 = 9;
pub const IOERR: i32 = 10;
pub const CANTOPEN: i32 = 14;
pub const SCHEMA: i32 = 17;
pub const TOOBIG: i32 = 18;
pub const CONSTRAINT: i32 = 19;
pub const MISUSE: i32 = 21;
pub const ROW: i32 = 100;
pub const DONE: i32 = 101;
