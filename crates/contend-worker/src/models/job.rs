//! An attempt, or the part between two pauses, that is sent to a shared connection and back. It owns all its data,
//! because it may move to another thread.

use crate::answer::JsonRows;
use crate::arguments::{Arguments, Asked};
use crate::attempt::{Attempt, Failed};
use crate::client::{ClientLoop, Turn};
use crate::clock::monotonic_ns;
use crate::control::Control;
use crate::failure::INTERRUPT;
use crate::kept::Kept;
use crate::session::Waits;
use contend_wire::literal::Value;
use contend_wire::plan::{Plan, Step, Transaction};
use contend_wire::sample::{NOT_MEASURED, STEP_BEGIN};
use std::ops::Range;
use std::sync::Arc;

/// What a task does for one part of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Carries out these steps while it has the connection.
    Call(Range<usize>),
    /// Number of the step, and the nanoseconds to wait without the connection.
    Pause(u16, u64),
}

/// Splits an attempt into parts. Each call holds the connection from its first to its last step. A transaction with a
/// begin is always one call: no other client may come between its statements, and a lock of the standard library cannot
/// be held across an `await`.
pub fn parts(transaction: &Transaction) -> Vec<Part> {
    let count = transaction.steps.len();
    if transaction.begin.is_some() {
        return vec![Part::Call(0..count)];
    }
    let mut parts = vec![];
    let mut from = 0;
    for (i, step) in transaction.steps.iter().enumerate() {
        if let Step::Pause { ns } = step {
            if from < i {
                parts.push(Part::Call(from..i));
            }
            parts.push(Part::Pause(i as u16, *ns));
            from = i + 1;
        }
    }
    if from < count {
        parts.push(Part::Call(from..count));
    }
    parts
}

/// Whose operation it is.
enum Work {
    /// Of a client of the plan; both by index.
    Planned { client: usize, operation: usize },
    /// Of a request, with its own arguments.
    Asked { transaction: u16, drawn: Vec<Value> },
}

/// A client's attempt; each client reuses one.
pub struct Job {
    plan: Arc<Plan>,
    control: Arc<Control>,
    work: Work,
    /// Number of the operation.
    number: u32,
    first_unique: i64,
    kept: Kept,
    /// When the connection was requested.
    pub asked_ns: u64,
    /// Steps to carry out.
    pub steps: Range<usize>,
    /// Returned or changed so far.
    pub rows: u32,
    /// So far.
    pub waits: Waits,
    /// How it went.
    pub outcome: Result<(), Failed>,
}

impl Job {
    /// For client number `client` of the plan.
    pub fn new(plan: &Arc<Plan>, control: &Arc<Control>, client: usize) -> Box<Self> {
        Self::of(plan, control, Work::Planned { client, operation: 0 }, Kept::new(&plan.head))
    }

    /// A job for a requested operation, whose rows are returned.
    pub fn asked(plan: &Arc<Plan>, control: &Arc<Control>, asked: Asked) -> Box<Self> {
        let Asked { transaction, drawn, first_unique, number } = asked;
        let mut kept = Kept::new(&plan.head);
        kept.answer = Some(JsonRows::default());
        let mut job = Self::of(plan, control, Work::Asked { transaction, drawn }, kept);
        (job.number, job.first_unique, job.asked_ns) = (number, first_unique, monotonic_ns());
        job
    }

    fn of(plan: &Arc<Plan>, control: &Arc<Control>, work: Work, kept: Kept) -> Box<Self> {
        Box::new(Self {
            plan: Arc::clone(plan),
            control: Arc::clone(control),
            work,
            number: 0,
            first_unique: 0,
            kept,
            asked_ns: 0,
            steps: 0..0,
            rows: 0,
            waits: Waits::NONE,
            outcome: Ok(()),
        })
    }

    /// Begins with an attempt.
    pub fn attempt(&mut self, turn: &Turn, client: &ClientLoop<'_>) {
        if let Work::Planned { operation, .. } = &mut self.work {
            *operation = turn.index;
        }
        (self.number, self.first_unique) = (client.operation(), turn.first_unique);
        self.asked_ns = turn.started_ns;
        (self.rows, self.waits, self.outcome) = (0, Waits::NONE, Ok(()));
        self.kept.clear();
    }

    /// Whether it only reads, so that any reader can serve it.
    pub fn reads(&self) -> bool {
        !self.plan.head.transactions[usize::from(self.transaction())].writes
    }

    /// The transaction, by its number in the plan.
    pub fn transaction(&self) -> u16 {
        match &self.work {
            Work::Planned { client, operation } => self.plan.clients[*client].operations[*operation].transaction,
            Work::Asked { transaction, .. } => *transaction,
        }
    }

    /// Whether it begins with a new connection.
    pub fn connects(&self) -> bool {
        let steps = &self.plan.head.transactions[usize::from(self.transaction())].steps;
        self.steps.start == 0 && matches!(steps.first(), Some(Step::Connect))
    }

    /// The attempt, ready to be carried out.
    pub fn ready(&mut self) -> Attempt<'_> {
        let transaction = self.transaction();
        let drawn = match &self.work {
            Work::Planned { client, operation } => {
                let client = &self.plan.clients[*client];
                client.arguments_of(&client.operations[*operation])
            }
            Work::Asked { drawn, .. } => drawn,
        };
        let arguments =
            Arguments { head: &self.plan.head, drawn, first_unique: self.first_unique, operation: self.number };
        Attempt { transaction, arguments, kept: &mut self.kept, control: &self.control, rows: &mut self.rows }
    }

    /// The rows it was asked for.
    pub fn take_answer(&mut self) -> JsonRows {
        self.kept.answer.take().unwrap_or_default()
    }

    /// Carries out the job by `work` once it has a connection; `work` also returns the waits for locks.
    pub fn held(&mut self, work: impl FnOnce(&mut Self) -> (Result<(), Failed>, Waits)) {
        let acquired = self.acquired();
        self.outcome = match acquired {
            Ok(()) => {
                let (outcome, waits) = work(self);
                self.waits.add(waits);
                outcome
            }
            Err(failed) => Err(failed),
        };
    }

    /// Notes that the job has its connection.
    ///
    /// # Errors
    /// The wait lasted until the end of the drain.
    pub fn acquired(&mut self) -> Result<(), Failed> {
        self.waits.acquire_ns += monotonic_ns().saturating_sub(self.asked_ns);
        if self.control.drain_over() {
            return Err(Failed { step: self.first_step(), failure: INTERRUPT });
        }
        Ok(())
    }

    /// The step at which it fails if it cannot begin.
    pub fn first_step(&self) -> u16 {
        let transaction = &self.plan.head.transactions[usize::from(self.transaction())];
        match self.steps.start {
            0 if transaction.begin.is_some() && !self.connects() => STEP_BEGIN,
            // After a pause: earlier steps are done.
            first => first as u16,
        }
    }
}

impl Waits {
    /// Nothing so far.
    pub const NONE: Waits = Waits { lock_ns: 0, ..Waits::UNKNOWN };

    /// Adds those of another part of the same attempt.
    pub fn add(&mut self, other: Waits) {
        self.lock_ns = match other.lock_ns {
            NOT_MEASURED => NOT_MEASURED,
            ns => self.lock_ns.saturating_add(ns),
        };
        self.timeout_spent |= other.timeout_spent;
        self.cut_short |= other.cut_short;
        self.acquire_ns += other.acquire_ns;
    }
}
