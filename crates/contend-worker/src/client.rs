//! One client's loop: which operation is next and when, what happens after a failed attempt, and the
//! sample of every attempt. It knows nothing of any driver.
//!
//! An attempt reads the clock twice; between the readings lies nothing but the attempt. In a closed loop
//! the first reading also decides whether the operation is due.

use crate::arguments::{Arguments, Kept};
use crate::attempt::{Failed, attempt};
use crate::clock::{Wake, monotonic_ns, wait_until};
use crate::control::{Control, Pulse};
use crate::session::{Failure, INTERRUPT, Session, Waits};
use contend_wire::plan::{Client, Head, Loop, Plan, Step, UNIQUE_STRIDE};
use contend_wire::sample::{CodeSpace, STEP_BEGIN, STEP_NONE, Sample, flag};

/// Why the loop returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// No more operations begin.
    Finished,
    /// The next attempt needs a new connection; come back with one.
    Reconnect,
}

/// An attempt about to be made, or in flight.
#[derive(Debug, Clone, Copy)]
struct Turn {
    /// Index into the client's operations.
    index: usize,
    attempt: u16,
    due_ns: u64,
    started_ns: u64,
    first_unique: i64,
    /// The connection was opened for this attempt.
    connected: bool,
}

/// A client and how far it has come.
#[derive(Debug)]
pub struct ClientLoop<'p> {
    head: &'p Head,
    client: &'p Client,
    control: &'p Control,
    pulse: &'p Pulse,
    samples: Vec<Sample>,
    kept: Kept,
    start_ns: u64,
    /// Closed loop: when the previous operation ended.
    previous_end_ns: u64,
    /// Operations begun so far; never reset.
    operation: u32,
    /// Where the next operation stands in the plan; reset by a cycle.
    next_index: usize,
    next_unique: i64,
    jitter_turn: usize,
    failed: u64,
    turn: Option<Turn>,
    connected: bool,
    exhausted: bool,
}

/// Samples all clients of a worker have room for from the start (128 MiB); more are allocated as needed.
const SAMPLES_IN_ADVANCE: usize = 2 << 20;

/// Room for a client's samples, touched page by page so that the window need not.
fn room_for_samples(plan: &Plan, client: &Client) -> Vec<Sample> {
    const FASTEST_OPERATION_NS: u64 = 2_000;
    let by_limit = if client.limit == 0 { usize::MAX } else { client.limit as usize };
    let by_load = match (client.load, plan.head.window.length_ns) {
        (Loop::Open, _) => client.operations.len(),
        (Loop::Closed, 0) => usize::MAX,
        (Loop::Closed, _) => (plan.head.window.end_ns() / FASTEST_OPERATION_NS) as usize,
    };
    let count = by_limit.min(by_load).min(SAMPLES_IN_ADVANCE / plan.clients.len().max(1));
    let zero = Sample {
        client: 0,
        operation: 0,
        transaction: 0,
        attempt: 0,
        failed_step: 0,
        code_space: CodeSpace::Ok,
        flags: 0,
        code: 0,
        rows: 0,
        due_ns: 0,
        started_ns: 0,
        finished_ns: 0,
        lock_wait_ns: 0,
        acquire_wait_ns: 0,
    };
    let mut samples = vec![zero; count];
    // Zeroed pages are only promised until somebody writes; a different value makes them real.
    samples.iter_mut().step_by(32).for_each(|sample| sample.client = 1);
    std::hint::black_box(&mut samples);
    samples.clear();
    samples
}

impl<'p> ClientLoop<'p> {
    /// Client number `index` of the plan, with all the memory it is likely to need.
    pub fn new(plan: &'p Plan, index: usize, control: &'p Control, pulse: &'p Pulse) -> Self {
        let client = &plan.clients[index];
        Self {
            head: &plan.head,
            client,
            control,
            pulse,
            samples: room_for_samples(plan, client),
            kept: Kept::new(&plan.head),
            start_ns: 0,
            previous_end_ns: 0,
            operation: 0,
            next_index: 0,
            next_unique: i64::from(client.id).wrapping_mul(UNIQUE_STRIDE),
            jitter_turn: 0,
            failed: 0,
            turn: None,
            connected: true,
            exhausted: false,
        }
    }

    /// Sets the time everything is counted from.
    pub fn start(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.previous_end_ns = start_ns.saturating_add(self.client.start_ns);
    }

    /// The client's samples, in order, and whether it ran out of operations.
    pub fn into_result(self) -> (Vec<Sample>, bool) {
        (self.samples, self.exhausted)
    }

    /// Carries out operations on `session` until none are left or a new connection is needed.
    pub fn run<S: Session>(&mut self, session: &mut S) -> Leave {
        while let Some(turn) = self.next_turn() {
            if !turn.connected {
                session.reset_waits();
                if self.needs_connection(&turn) {
                    self.turn = Some(turn);
                    return Leave::Reconnect;
                }
            }
            let operation = &self.client.operations[turn.index];
            let arguments = Arguments {
                head: self.head,
                drawn: self.client.arguments_of(operation),
                first_unique: turn.first_unique,
                operation: self.operation,
            };
            let mut rows = 0;
            let outcome = attempt(session, operation.transaction, &arguments, &mut self.kept, self.control, &mut rows);
            let finished_ns = monotonic_ns();
            self.end_attempt(turn, outcome, rows, session.waits(), finished_ns);
        }
        self.pulse.set_loop_over();
        Leave::Finished
    }

    /// The connection asked for by [`Leave::Reconnect`] is open; [`ClientLoop::run`] uses it.
    pub fn reconnected(&mut self) {
        self.connected = true;
        if let Some(turn) = &mut self.turn {
            turn.connected = true;
        }
    }

    /// The connection asked for could not be opened. The attempt has failed; the next one asks again.
    pub fn connect_failed(&mut self, failure: Failure, waits: Waits) -> Leave {
        self.connected = false;
        if let Some(turn) = self.turn.take() {
            let step = if self.begins_with_connect(&turn) { 0 } else { STEP_BEGIN };
            self.end_attempt(turn, Err(Failed { step, failure }), 0, waits, monotonic_ns());
        }
        self.turn = self.next_turn();
        if self.turn.is_some() {
            return Leave::Reconnect;
        }
        self.pulse.set_loop_over();
        Leave::Finished
    }

    fn begins_with_connect(&self, turn: &Turn) -> bool {
        let transaction = self.client.operations[turn.index].transaction;
        matches!(self.head.transactions[usize::from(transaction)].steps.first(), Some(Step::Connect))
    }

    #[inline]
    fn needs_connection(&self, turn: &Turn) -> bool {
        !self.connected || self.begins_with_connect(turn)
    }

    /// The attempt waiting to be made, or the first one of the next operation, once it is due.
    #[inline(always)]
    fn next_turn(&mut self) -> Option<Turn> {
        if let Some(turn) = self.turn.take() {
            return Some(turn);
        }
        if self.client.limit != 0 && self.operation >= self.client.limit {
            return None;
        }
        let Some(operation) = self.client.operations.get(self.next_index) else {
            let window_goes_on = self.previous_end_ns < self.control.window_end_ns();
            self.exhausted = self.client.load == Loop::Closed && window_goes_on;
            return None;
        };
        let base_ns = match self.client.load {
            Loop::Closed => self.previous_end_ns,
            Loop::Open => self.start_ns,
        };
        let due_ns = base_ns.saturating_add(operation.offset_ns);
        if due_ns >= self.control.window_end_ns() {
            return None;
        }
        let now_ns = wait_until(due_ns, Wake::Exact, || due_ns >= self.control.window_end_ns());
        let too_late = self.client.load == Loop::Open && now_ns >= self.control.window_end_ns();
        if now_ns < due_ns || too_late {
            return None;
        }
        Some(Turn {
            index: self.next_index,
            attempt: 0,
            due_ns,
            started_ns: now_ns,
            first_unique: self.next_unique,
            connected: false,
        })
    }

    #[inline(always)]
    fn end_attempt(&mut self, turn: Turn, outcome: Result<(), Failed>, rows: u32, waits: Waits, finished_ns: u64) {
        let mut sample = Sample {
            client: self.client.id,
            operation: self.operation,
            transaction: self.client.operations[turn.index].transaction,
            attempt: turn.attempt,
            failed_step: STEP_NONE,
            code_space: CodeSpace::Ok,
            flags: if waits.timeout_spent { flag::LOCK_TIMEOUT_SPENT } else { 0 },
            code: 0,
            rows,
            due_ns: turn.due_ns,
            started_ns: turn.started_ns,
            finished_ns,
            lock_wait_ns: waits.lock_ns,
            // A connection of one's own is never waited for.
            acquire_wait_ns: 0,
        };
        if let Err(failed) = outcome {
            self.note_failure(&mut sample, failed, waits);
            self.samples.push(sample);
            self.turn = self.retry(turn, failed.failure, finished_ns);
            if self.turn.is_some() {
                return;
            }
            self.failed += 1;
        } else {
            self.samples.push(sample);
        }
        self.end_operation(turn, finished_ns);
    }

    #[cold]
    fn note_failure(&self, sample: &mut Sample, failed: Failed, waits: Waits) {
        sample.failed_step = failed.step;
        sample.code_space = failed.failure.space;
        sample.code = failed.failure.code;
        if self.control.drain_over() && (failed.failure == INTERRUPT || waits.cut_short) {
            sample.flags |= flag::INTERRUPTED;
        }
    }

    #[inline(always)]
    fn end_operation(&mut self, turn: Turn, finished_ns: u64) {
        let transaction = self.client.operations[turn.index].transaction;
        let uniques = self.head.transactions[usize::from(transaction)].uniques;
        self.next_unique = self.next_unique.wrapping_add(i64::from(uniques));
        self.operation += 1;
        self.next_index += 1;
        if self.client.cyclic && self.next_index == self.client.operations.len() {
            self.next_index = 0;
        }
        // A retry given up while backing off ends the operation later than its last attempt did; the next
        // one is due from the attempt, as nothing happened since.
        self.previous_end_ns = finished_ns;
        self.pulse.set(u64::from(self.operation), self.failed);
    }

    /// The next attempt of the same operation, after its back-off; none if it has failed for good.
    #[cold]
    fn retry(&mut self, turn: Turn, failure: Failure, finished_ns: u64) -> Option<Turn> {
        let retry = &self.head.retry;
        let tries_left = turn.attempt + 1 < retry.tries;
        if !tries_left || !retry.codes.contains(&(failure.space, failure.code)) {
            return None;
        }
        let until_ns = finished_ns.saturating_add(self.backoff_ns(turn.attempt));
        let over = || self.control.drain_over() || until_ns >= self.control.drain_end_ns();
        if over() {
            return None;
        }
        let started_ns = wait_until(until_ns, Wake::Exact, over);
        (started_ns >= until_ns).then_some(Turn { attempt: turn.attempt + 1, started_ns, connected: false, ..turn })
    }

    fn backoff_ns(&mut self, attempt: u16) -> u64 {
        let retry = &self.head.retry;
        let entry = retry.backoff_ns.get(usize::from(attempt)).or(retry.backoff_ns.last());
        let permille = match retry.jitter_permille.len() {
            0 => 1000,
            count => retry.jitter_permille[self.jitter_turn % count],
        };
        self.jitter_turn += 1;
        let jittered = u128::from(entry.copied().unwrap_or(0)) * u128::from(permille) / 1000;
        u64::try_from(jittered).unwrap_or(u64::MAX)
    }
}
