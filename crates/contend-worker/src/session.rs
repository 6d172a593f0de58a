//! What a client's loop needs from a driver: an open connection that carries out the parts of a transaction. Pacing,
//! retries and recording happen elsewhere.

use crate::arguments::Arguments;
use crate::failure::{Failure, INTERRUPT};
use crate::kept::Kept;
use contend_wire::plan::SqlStep;
use contend_wire::plan::http::HttpStep;
use contend_wire::sample::{NOT_MEASURED, worker_code};

/// Waits of an attempt, and facts that its code does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// Waits for locks; [`NOT_MEASURED`] if the driver does not measure them.
    pub lock_ns: u64,
    /// Whether a lock's timeout passed in full.
    pub timeout_spent: bool,
    /// Whether a wait for a lock was given up at the end of the drain.
    pub cut_short: bool,
    /// Wait for the connection, if clients share it.
    pub acquire_ns: u64,
    /// Whether a failed attempt may have changed something.
    pub may_have_acted: bool,
}

impl Waits {
    /// Waits of a driver that cannot measure them.
    pub const UNKNOWN: Waits =
        Waits { lock_ns: NOT_MEASURED, timeout_spent: false, cut_short: false, acquire_ns: 0, may_have_acted: false };
}

/// An open connection with its statements ready.
pub trait Session {
    /// Failure of the worker's own waits that are cut short, and of steps that may no longer begin.
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
    /// Sends a request. Only a null session can: others reject such plans in advance.
    ///
    /// # Errors
    /// Always, except in a null session.
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
