//! One attempt: the steps of one operation on one connection, from begin to commit or rollback.

use crate::arguments::{Arguments, Kept};
use crate::clock::{Wake, wait_until};
use crate::control::Control;
use crate::session::{Failure, Session};
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

/// Carries out transaction `transaction` once, adding what it returned or changed to `rows`. After a
/// failure nothing is left open.
///
/// # Errors
/// The step that failed, with its code.
#[inline(always)]
pub fn attempt<S: Session>(
    session: &mut S,
    transaction: u16,
    arguments: &Arguments<'_>,
    kept: &mut Kept,
    control: &Control,
    rows: &mut u32,
) -> Result<(), Failed> {
    let steps = 0..arguments.head.transactions[usize::from(transaction)].steps.len();
    part(session, transaction, steps, arguments, kept, control, rows)
}

/// As [`attempt`], for some steps in a row of a transaction that has no begin, or for all of one that has.
///
/// # Errors
/// The step that failed, with its code.
#[inline(always)]
pub fn part<S: Session>(
    session: &mut S,
    transaction: u16,
    steps: Range<usize>,
    arguments: &Arguments<'_>,
    kept: &mut Kept,
    control: &Control,
    rows: &mut u32,
) -> Result<(), Failed> {
    let done = carry_out(session, transaction, steps, arguments, kept, control, rows);
    if done.is_err() {
        session.rollback();
    }
    done
}

#[inline(always)]
fn carry_out<S: Session>(
    session: &mut S,
    index: u16,
    steps: Range<usize>,
    arguments: &Arguments<'_>,
    kept: &mut Kept,
    control: &Control,
    rows: &mut u32,
) -> Result<(), Failed> {
    let transaction = &arguments.head.transactions[usize::from(index)];
    let first = steps.start;
    if first == 0 {
        kept.clear();
    }
    if transaction.begin.is_some() {
        session.begin(index).map_err(|failure| Failed { step: STEP_BEGIN, failure })?;
    }
    for (i, step) in transaction.steps[steps].iter().enumerate() {
        let done = match step {
            Step::Sql(sql) => execute(session, sql, arguments, kept, control, rows),
            Step::Hold { ns } | Step::Pause { ns } => wait::<S>(*ns, control),
            // Done before the attempt reached its session.
            Step::Connect => Ok(()),
            Step::Http(http) => session.request(http, arguments, kept),
        };
        done.map_err(|failure| Failed { step: (first + i) as u16, failure })?;
    }
    if transaction.begin.is_some() {
        session.commit().map_err(|failure| Failed { step: STEP_COMMIT, failure })?;
    }
    Ok(())
}

#[inline(always)]
fn execute<S: Session>(
    session: &mut S,
    step: &SqlStep,
    arguments: &Arguments<'_>,
    kept: &mut Kept,
    control: &Control,
    rows: &mut u32,
) -> Result<(), Failure> {
    for repetition in 0..step.repeat {
        // An interrupt only reaches statements under way, so each one asks before it begins.
        if control.drain_over() {
            return Err(S::CUT_SHORT);
        }
        let found = session.execute(step, repetition, arguments, kept)?;
        *rows = rows.saturating_add(found);
        if !(step.rows_min..=step.rows_max).contains(&found) {
            return Err(Failure::worker(worker_code::ROWS));
        }
    }
    Ok(())
}

/// Waits on this thread, as a hold does everywhere, and a pause where the connection is kept meanwhile: it is
/// the client's own, or a transaction is open on it.
fn wait<S: Session>(ns: u64, control: &Control) -> Result<(), Failure> {
    let until_ns = crate::clock::monotonic_ns().saturating_add(ns);
    let now_ns = wait_until(until_ns, Wake::Exact, || control.drain_over());
    if now_ns < until_ns { Err(S::CUT_SHORT) } else { Ok(()) }
}
