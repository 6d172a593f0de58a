//! Attempts at the same work: which transaction that a lock refused was tried again, and which was lost.

use crate::program::{End, Shapes, Transaction, transactions};
use crate::raw::Who;
use crate::sql::Does;
use crate::trace::{Call, How, Trace};
use std::collections::HashMap;
use std::path::Path;

/// Times that a thread does the same again after a success, from which on that is its habit.
const HABIT_MIN: u64 = 3;

/// The transactions of a trace, ordered by start, with attempts at the same work joined.
pub fn attempts(trace: &Trace, shapes: &Shapes) -> Vec<Transaction> {
    let mut found = transactions(trace, shapes);
    join(&mut found, trace, shapes);
    found
}

/// Joins attempts: a thread that fails at a lock, and does the same next, tries again. What it repeats after a success, too, are
/// requests of their own. An attempt that failed at its BEGIN does not show its work.
fn join(found: &mut [Transaction], trace: &Trace, shapes: &Shapes) {
    let mut last: HashMap<Who, usize> = HashMap::new();
    let mut refused = vec![];
    // By the number of the first statement: how often the same came after a success, and how often something did.
    let mut habits: HashMap<usize, (u64, u64)> = HashMap::new();
    for (at, transaction) in found.iter().enumerate() {
        let Some(before) = last.insert(transaction.who, at) else { continue };
        let (one, other) = (&found[before], transaction);
        let (done, next) = (statements(one, trace, shapes), statements(other, trace, shapes));
        let Some(first) = done.first().map(|call| shapes.number(call)) else { continue };
        let is_same = path(one, trace) == path(other, trace)
            && (done.len() <= next.len() || !other.has_succeeded())
            && are_same(&done, &next, shapes);
        if one.has_succeeded() {
            let habit = habits.entry(first).or_default();
            *habit = (habit.0 + u64::from(is_same), habit.1 + 1);
        } else if one.end == End::Failed && one.is_busy && is_same {
            refused.push((first, before, at));
        }
    }
    let is_habit = |first: &usize| habits.get(first).is_some_and(|(same, all)| *same >= HABIT_MIN && 2 * same >= *all);
    for (_, before, at) in refused.into_iter().filter(|(first, ..)| !is_habit(first)) {
        found[before].next = Some(at);
        found[at].earlier = found[before].earlier + 1;
    }
}

fn path<'t>(transaction: &Transaction, trace: &'t Trace) -> Option<&'t Path> {
    trace.connections.get(&transaction.connection).map(|connection| connection.path.as_path())
}

/// The statements of a transaction other than those that begin and end it; one that is repeated after a lock counts once.
fn statements<'t>(transaction: &Transaction, trace: &'t Trace, shapes: &Shapes) -> Vec<&'t Call> {
    let mut all: Vec<&Call> = vec![];
    let calls = transaction.calls.iter().map(|&i| &trace.calls[i]);
    for call in calls.filter(|call| !matches!(shapes.get(call).does, Does::Begin(_) | Does::Rollback | Does::Commit)) {
        match all.last_mut().filter(|last| last.is_busy() && last.sql == call.sql) {
            Some(last) => *last = call,
            None => all.push(call),
        }
    }
    all
}

/// Whether one transaction does what the other does, as far as both go: the same statements, with the same values in the first
/// one that has any. Later values can depend on what was read meanwhile.
fn are_same(one: &[&Call], other: &[&Call], shapes: &Shapes) -> bool {
    let mut has_values = false;
    let is_same = |(one, other): (&&Call, &&Call)| {
        if has_values {
            return shapes.number(one) == shapes.number(other);
        }
        has_values = !one.values.is_empty() || shapes.varies[shapes.number(one)];
        one.sql == other.sql && (one.how == How::Prepare || one.values == other.values)
    };
    !other.is_empty() && one.iter().zip(other).all(is_same)
}
