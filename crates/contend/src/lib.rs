//! contend shows what a database does when many clients want it at once, and says which one to use.
//!
//! The modules read as the data flows: a [`study`] asks a question of a workload and of contenders
//! on some [`engine`]; a trial starts workers that carry out drawn plans; their samples become
//! [`operation`]s with an [`outcome`], are checked ([`check`]) and kept in a [`record`], from which
//! [`stats`] and reports are made. `docs/architecture.md` says which module may know which.

pub mod analysis;
pub mod check;
pub mod cli;
pub mod contender;
pub mod engine;
pub mod growing;
pub mod load;
pub mod operation;
pub mod outcome;
pub mod record;
pub mod registry;
pub mod report;
pub mod slice;
pub mod source;
pub mod study;
pub mod trial;
pub mod ui;
pub mod units;
pub mod workload;

pub use contend_stats as stats;
