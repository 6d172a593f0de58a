//! The order of a replay: transactions one after the other, as they held the write lock.
//!
//! A transaction that could commit read nothing that another one changed meanwhile, so this order gives the same tables.

use crate::program::{Began, End, Shapes, Transaction, transactions};
use crate::trace::Trace;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Interval of the checks in a pause of the program whether the replay was stopped.
const STOPS_WITHIN: Duration = Duration::from_millis(100);

/// A unit of the replay: a transaction, or a call outside of one.
pub struct Unit {
    /// Position in the order.
    pub at_ns: u64,
    pub calls: Vec<usize>,
    pub is_transaction: bool,
}

/// The units of a trace in order; `left_out` gets sentences.
pub fn units(trace: &Trace, shapes: &Shapes, left_out: &mut BTreeSet<String>) -> Vec<Unit> {
    let all = transactions(trace, shapes);
    let mut inside = vec![false; trace.calls.len()];
    let mut units = vec![];
    for transaction in &all {
        transaction.calls.iter().for_each(|&call| inside[call] = true);
        match transaction.end {
            // A server rolls back when the connection ends, if it has answered the last statement.
            End::Unfinished if !trace.is_of_server || trace.calls[last_of(transaction)].is_pending() => {
                left_out.insert(
                    "A transaction that had not ended was left out; its last statement may have committed.".into(),
                );
            }
            // A statement refused because of a lock has no effect.
            End::Failed if transaction.is_busy => {}
            _ => units.push(Unit {
                at_ns: moment(transaction, trace),
                calls: transaction.calls.clone(),
                is_transaction: true,
            }),
        }
    }
    for (i, call) in trace.calls.iter().enumerate().filter(|(i, _)| !inside[*i]) {
        units.push(Unit { at_ns: call.at_ns, calls: vec![i], is_transaction: false });
    }
    units.sort_by_key(|unit| unit.at_ns);
    units
}

fn last_of(transaction: &Transaction) -> usize {
    *transaction.calls.last().expect("a transaction has a call")
}

/// A time at which the transaction held the write lock; for a read-only one, its first statement.
fn moment(transaction: &Transaction, trace: &Trace) -> u64 {
    let place = if transaction.writes { last_of(transaction) } else { transaction.calls[0] };
    let call = &trace.calls[place];
    // A single statement holds the lock after its wait, which a server does not show; a COMMIT from the beginning.
    let waited_ns = if trace.is_of_server { call.duration_ns } else { call.waited_ns };
    // With autocommit off, a server begins a transaction of several statements by itself.
    let is_single = transaction.began == Began::Alone && transaction.calls.len() == 1;
    call.at_ns + if is_single { waited_ns } else { 0 }
}

/// The captured pauses, made shorter by a factor or left out.
pub struct Pace<'p> {
    pub speed: Option<f64>,
    pub begin: Instant,
    pub stop: &'p AtomicBool,
}

impl Pace<'_> {
    /// Waits until a unit is due. Returns whether the replay was not stopped.
    pub fn wait(&self, unit: &Unit, trace: &Trace) -> bool {
        let after = |speed| Duration::from_nanos(((unit.at_ns - trace.from_ns) as f64 / speed) as u64);
        let due = self.speed.map(after);
        while due.is_some_and(|due| due > self.begin.elapsed()) && !self.is_stopped() {
            std::thread::sleep(due.unwrap_or_default().saturating_sub(self.begin.elapsed()).min(STOPS_WITHIN));
        }
        !self.is_stopped()
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }
}
