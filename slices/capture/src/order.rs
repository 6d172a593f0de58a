//! The order of a replay: transactions one after the other, as they held the write lock.
//!
//! A transaction that could commit read nothing that another one changed meanwhile, so this order gives the same tables.

use crate::program::{Began, End, Shapes, Transaction, transactions};
use crate::trace::{Call, How, Trace};
use contend::outcome::code_name;
use contend::stats::precision::counted;
use contend_wire::sample::CodeSpace;
use std::collections::{BTreeMap, BTreeSet};
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
            End::Unfinished if trace.calls[last_of(transaction)].is_pending() => {
                left_out.insert(
                    "A transaction that had not ended was left out; its last statement may have committed.".into(),
                );
            }
            End::Unfinished if !trace.is_of_server => {
                left_out.insert("A transaction that had not ended was left out.".into());
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
    if !trace.is_of_server {
        left_out.extend(refused(trace, shapes));
    }
    units.sort_by_key(|unit| unit.at_ns);
    units
}

/// Whether a call had no effect, for a reason that a replay does not have. Of a script, its first statements can have had one.
pub fn had_no_effect(call: &Call, shapes: &Shapes) -> bool {
    let is_one = call.how != How::Exec || shapes.get(call).parts.len() <= 1;
    call.is_busy() || call.was_refused() && is_one
}

/// The sentences about refused calls, other than those for a lock: the statements that are left out, and the scripts that are not.
fn refused(trace: &Trace, shapes: &Shapes) -> Vec<String> {
    let mut counts: BTreeMap<(bool, i32), usize> = BTreeMap::new();
    for call in trace.calls.iter().filter(|call| call.was_refused() && !call.is_busy()) {
        *counts.entry((had_no_effect(call, shapes), call.rc)).or_default() += 1;
    }
    let sentence = |((is_left_out, rc), count): (&(bool, i32), &usize)| {
        let error = code_name(CodeSpace::Sqlite, rc.cast_unsigned());
        match (is_left_out, *count) {
            (true, 1) => format!("1 statement that failed with {error} was left out: it had no effect."),
            (true, _) => {
                format!("{} that failed with {error} were left out: they had no effect.", counted(*count, "statement"))
            }
            (false, _) => format!(
                "{} failed with {error}: how much of the text had an effect is not captured, and the replay executes all of it.",
                counted(*count, "script")
            ),
        }
    };
    counts.iter().map(sentence).collect()
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
