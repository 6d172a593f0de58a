//! Workers: starting them, speaking with them, and what they say when they fail.

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
