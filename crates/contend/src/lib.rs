//! contend shows what a database does when many clients want it at once, and says which one to use.
//!
//! The modules read as the data flows: a [`study`] asks a question of a [`workload`] and of contenders
//! on some [`engine`]; a trial starts workers that carry out drawn plans; their samples become
//! [`outcome`]s, are checked and kept in a [`record`], from which statistics and reports are made.
//! `docs/architecture.md` says which module may know which.

pub mod engine;
pub mod outcome;
pub mod record {
    //! The directory a run leaves behind.
    pub mod model;
}
pub mod source;
pub mod study;
