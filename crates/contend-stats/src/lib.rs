//! Statistics: distributions, intervals, the words of a comparison, checks of a trial's sanity.
//!
//! Everything here is pure: data in, data out. No process, socket, clock or file; the one use of chance, the
//! bootstrap, takes its seed as an argument. The unit of every comparison is the round, never the sample.
//! `docs/methodology.md` says in plain words what is computed, and where each formula comes from.

#[cfg(test)]
mod aa;
pub mod again;
pub mod bootstrap;
pub mod drift;
pub mod effect;
pub mod fairness;
pub mod harmless;
pub mod histogram;
pub mod interval;
pub mod little;
pub mod normal;
pub mod precision;
pub mod quantile;
pub mod shift;
pub mod unit;
pub mod verdict;
