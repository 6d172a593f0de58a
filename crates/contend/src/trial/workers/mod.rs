//! Workers: processes, protocol, deadlines, and messages when they fail.

pub mod admin;
pub mod crew;
pub mod probe;
pub mod process;
pub mod processes;
pub mod refusal;
pub mod serving;

#[cfg(test)]
mod crew_tests;
#[cfg(test)]
mod testing;
