//! What a client's loop needs of a driver: one open connection that can carry out the parts of a
//! transaction. Pacing, retries and recording are not its business.

use crate::arguments::Arguments;
use crate::failure::{Failure, INTERRUPT};
use crate::kept::Kept;
use contend_wire::plan::SqlStep;
use contend_wire::plan::http::HttpStep;
use contend_wire::sample::{NOT_MEASURED, worker_code};

/// What an attempt spent waiting, and what else its code does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// For locks; [`NOT_MEASURED`] if the driver cannot tell.
    pub lock_ns: u64,
    /// A lock's timeout passed in full.
    pub timeout_spent: bool,
    /// A wait for a lock was given up at the end of the drain.
    pub cut_short: bool,
    /// For the connection itself, where clients share it.
    pub acquire_ns: u64,
    /// If the attempt failed: something of it may have been done all the same.
    pub may_have_acted: bool,
}

impl Waits {
    /// Waits of a driver that cannot measure them.
    pub const UNKNOWN: Waits =
        Waits { lock_ns: NOT_MEASURED, timeout_spent: false, cut_short: false, acquire_ns: 0, may_have_acted: false };
}

/// An open connection with its statements ready.
pub trait Session {
    /// What a wait of the worker's own fails with when it is cut short, or a step that may not begin any more.
    const CUT_SHORT: Failure = INTERRUPT;

    /// Forgets the waits of the previous attempt.
    fn reset_waits(&mut self);
    /// Waits since then.
    fn waits(&self) -> Waits;
    /// Begins the transaction with this index in the plan, which has a begin.
    ///
    /// # Errors
    /// The engine's code.
    fn begin(&mut self, transaction: u16) -> Result<(), Failure>;
    /// Executes a step once and returns the rows it returned or changed.
    ///
    /// # Errors
    /// The engine's code, or the worker's if an argument is missing.
    fn execute(
        &mut self,
        step: &SqlStep,
        repetition: u32,
        arguments: &Arguments<'_>,
        kept: &mut Kept,
    ) -> Result<u32, Failure>;
    /// Sends a request. Only a session that does nothing can: others refuse such plans beforehand.
    ///
    /// # Errors
    /// Always, but where it does nothing.
    fn request(&mut self, _step: &HttpStep, _arguments: &Arguments<'_>, _kept: &mut Kept) -> Result<(), Failure> {
        Err(Failure::worker(worker_code::DRIVER))
    }
    /// Commits.
    ///
    /// # Errors
    /// The engine's code; the transaction may still be open.
    fn commit(&mut self) -> Result<(), Failure>;
    /// Rolls back whatever is open after a failure.
    fn rollback(&mut self);
}
