//! One attempt: the steps of one operation on one connection, from begin to commit or rollback.

use crate::arguments::Arguments;
use crate::clock::{Wake, wait_until};
use crate::control::Control;
use crate::failure::Failure;
use crate::kept::Kept;
use crate::session::Session;
use contend_wire::plan::{SqlStep, Step};
use contend_wire::sample::{STEP_BEGIN, STEP_COMMIT, worker_code};
use std::ops::Range;

/// Where and why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed {
    /// The step, or [`STEP_BEGIN`] or [`STEP_COMMIT`].
    pub step: u16,
    /// The code.
    pub failure: Failure,
}

/// One try of an operation, with everything that it needs in addition to its session.
pub struct Attempt<'a> {
    /// The transaction, by its number in the plan.
    pub transaction: u16,
    /// The operation's arguments.
    pub arguments: Arguments<'a>,
    /// Room for kept values.
    pub kept: &'a mut Kept,
    /// The window.
    pub control: &'a Control,
    /// Rows returned or changed so far.
    pub rows: &'a mut u32,
}

impl Attempt<'_> {
    /// Carries out the transaction once. After a failure nothing is left open.
    ///
    /// # Errors
    /// The step that failed, with its code.
    #[inline(always)]
    pub fn carry_out<S: Session>(&mut self, session: &mut S) -> Result<(), Failed> {
        let steps = 0..self.arguments.head.transactions[usize::from(self.transaction)].steps.len();
        self.part(session, steps)
    }

    /// As [`Attempt::carry_out`], for consecutive steps of a transaction without a begin, or for all steps of one with
    /// it.
    ///
    /// # Errors
    /// The step that failed, with its code.
    #[inline(always)]
    pub fn part<S: Session>(&mut self, session: &mut S, steps: Range<usize>) -> Result<(), Failed> {
        let done = self.steps(session, steps);
        if done.is_err() {
            session.rollback();
        }
        done
    }

    #[inline(always)]
    fn steps<S: Session>(&mut self, session: &mut S, steps: Range<usize>) -> Result<(), Failed> {
        let transaction = &self.arguments.head.transactions[usize::from(self.transaction)];
        let first = steps.start;
        if first == 0 {
            self.kept.clear();
        }
        if transaction.begin.is_some() {
            session.begin(self.transaction).map_err(|failure| Failed { step: STEP_BEGIN, failure })?;
        }
        for (i, step) in transaction.steps[steps].iter().enumerate() {
            let done = match step {
                Step::Sql(sql) => self.execute(session, sql),
                Step::Hold { ns } | Step::Pause { ns } => wait::<S>(*ns, self.control),
                // The connection was opened before the attempt reached its session.
                Step::Connect => Ok(()),
                Step::Http(http) => session.request(http, &self.arguments, self.kept),
            };
            done.map_err(|failure| Failed { step: (first + i) as u16, failure })?;
        }
        if transaction.begin.is_some() {
            session.commit().map_err(|failure| Failed { step: STEP_COMMIT, failure })?;
        }
        Ok(())
    }

    #[inline(always)]
    fn execute<S: Session>(&mut self, session: &mut S, step: &SqlStep) -> Result<(), Failure> {
        for repetition in 0..step.repeat {
            // An interrupt reaches only a statement that is running, so the end of the drain is checked before each.
            if self.control.drain_over() {
                return Err(S::CUT_SHORT);
            }
            let found = session.execute(step, repetition, &self.arguments, self.kept)?;
            *self.rows = self.rows.saturating_add(found);
            if !(step.rows_min..=step.rows_max).contains(&found) {
                return Err(Failure::worker(worker_code::ROWS));
            }
        }
        Ok(())
    }
}

/// Waits on this thread. A hold always does; a pause does if the connection is kept during it, because it is the
/// client's own or a transaction is open on it.
fn wait<S: Session>(ns: u64, control: &Control) -> Result<(), Failure> {
    let until_ns = crate::clock::monotonic_ns().saturating_add(ns);
    let now_ns = wait_until(until_ns, Wake::Exact, || control.drain_over());
    if now_ns < until_ns { Err(S::CUT_SHORT) } else { Ok(()) }
}
