//! One client's state: which operation is next and when, what happens after a failed attempt, and the sample of every
//! attempt. It does not wait and does not depend on any driver: a thread's loop or a task asks what is next, waits,
//! carries it out, and reports the result.

use crate::arguments::Arguments;
use crate::attempt::Failed;
use crate::control::{Control, Pulse};
use crate::failure::{CANCELLED, Failure, INTERRUPT};
use crate::kept::Kept;
use crate::session::Waits;
use contend_wire::plan::{Client, Head, Loop, Plan, UNIQUE_STRIDE};
use contend_wire::sample::{CodeSpace, STEP_NONE, Sample, flag};

/// The next attempt, or the one in flight.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    /// Index into the client's operations.
    pub index: usize,
    /// Number of the attempt, from 0.
    pub attempt: u16,
    /// When the operation was due.
    pub due_ns: u64,
    /// Earliest start: the due time, or the end of the back-off.
    pub not_before_ns: u64,
    /// When it began; set by [`ClientLoop::begin`].
    pub started_ns: u64,
    /// The first of the operation's unique numbers.
    pub first_unique: i64,
}

/// A client and its progress.
#[derive(Debug)]
pub struct ClientLoop<'p> {
    head: &'p Head,
    client: &'p Client,
    control: &'p Control,
    pulse: &'p Pulse,
    samples: Vec<Sample>,
    start_ns: u64,
    /// Closed loop: when the previous operation ended.
    previous_end_ns: u64,
    /// Operations begun so far; never reset.
    operation: u32,
    /// Index of the next operation in the plan; reset by a cycle.
    next_index: usize,
    next_unique: i64,
    jitter_turn: usize,
    failed: u64,
    /// The next attempt of the same operation.
    again: Option<Turn>,
    /// No further operation begins.
    over: bool,
    exhausted: bool,
}

/// Samples for which all clients of a worker together have room from the start (128 MiB); more are allocated as needed.
const SAMPLES_IN_ADVANCE: usize = 2 << 20;

/// Where the database engine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineRuns {
    /// In this process.
    Here,
    /// In a server's process.
    Elsewhere,
}

/// Room for a client's samples, made before `ready`. If the engine is in this process, its pages are touched now
/// instead of in the window. For a server they are not: a round trip costs far more than a new page, and the client
/// need not hold memory for all possible samples.
pub fn room_for_samples(plan: &Plan, client: &Client, engine: EngineRuns) -> Vec<Sample> {
    let fastest_operation_ns = if engine == EngineRuns::Here { 2_000 } else { 10_000 };
    let by_limit = if client.limit == 0 { usize::MAX } else { client.limit as usize };
    let by_load = match (client.load, plan.head.window.length_ns) {
        (Loop::Open, _) => client.operations.len(),
        (Loop::Closed, 0) => usize::MAX,
        (Loop::Closed, _) => (plan.head.window.end_ns() / fastest_operation_ns) as usize,
    };
    let count = by_limit.min(by_load).min(SAMPLES_IN_ADVANCE / plan.clients.len().max(1));
    if engine == EngineRuns::Elsewhere {
        return Vec::with_capacity(count);
    }
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
    // The system provides zeroed pages only when they are written to, so another value is written.
    samples.iter_mut().step_by(32).for_each(|sample| sample.client = 1);
    std::hint::black_box(&mut samples);
    samples.clear();
    samples
}

impl<'p> ClientLoop<'p> {
    /// Client number `index` of the plan; `samples` is its [`room_for_samples`].
    pub fn new(plan: &'p Plan, index: usize, control: &'p Control, pulse: &'p Pulse, samples: Vec<Sample>) -> Self {
        let client = &plan.clients[index];
        Self {
            head: &plan.head,
            client,
            control,
            pulse,
            samples,
            start_ns: 0,
            previous_end_ns: 0,
            operation: 0,
            next_index: 0,
            next_unique: i64::from(client.id).wrapping_mul(UNIQUE_STRIDE),
            jitter_turn: 0,
            failed: 0,
            again: None,
            over: false,
            exhausted: false,
        }
    }

    /// Sets the start, from which all times count.
    pub fn start(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.previous_end_ns = start_ns.saturating_add(self.client.start_ns);
    }

    /// The client's samples, in order, and whether it ran out of operations.
    pub fn into_result(self) -> (Vec<Sample>, bool) {
        (self.samples, self.exhausted)
    }

    /// Room for the values an attempt keeps.
    pub fn kept(&self) -> Kept {
        Kept::new(self.head)
    }

    /// The transaction of an attempt.
    #[inline]
    pub fn transaction(&self, turn: &Turn) -> u16 {
        self.client.operations[turn.index].transaction
    }

    /// Number of the operation under way.
    #[inline]
    pub fn operation(&self) -> u32 {
        self.operation
    }

    /// What remains is closing the connection, see [`Pulse::set_loop_over`].
    pub fn set_loop_over(&self) {
        self.pulse.set_loop_over();
    }

    /// The arguments of an attempt.
    #[inline(always)]
    pub fn arguments(&self, turn: &Turn) -> Arguments<'p> {
        let operation = &self.client.operations[turn.index];
        Arguments {
            head: self.head,
            drawn: self.client.arguments_of(operation),
            first_unique: turn.first_unique,
            operation: self.operation,
        }
    }

    /// The next attempt, of the same operation or of the next one; `None` if nothing further begins. Wait until
    /// [`Turn::not_before_ns`], or until [`ClientLoop::in_vain`], then [`ClientLoop::begin`] it.
    #[inline(always)]
    pub fn next_turn(&mut self) -> Option<Turn> {
        if let Some(turn) = self.again.take() {
            return Some(turn);
        }
        if self.over || (self.client.limit != 0 && self.operation >= self.client.limit) {
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
        Some(Turn {
            index: self.next_index,
            attempt: 0,
            due_ns,
            not_before_ns: due_ns,
            started_ns: 0,
            first_unique: self.next_unique,
        })
    }

    /// Whether waiting is pointless, because the attempt will not be made.
    #[inline]
    pub fn in_vain(&self, turn: &Turn) -> bool {
        if turn.attempt == 0 {
            return turn.due_ns >= self.control.window_end_ns();
        }
        self.control.drain_over() || turn.not_before_ns >= self.control.drain_end_ns()
    }

    /// Begins the attempt after the wait, at `now_ns`; false if it is not made. Then ask for the next.
    #[inline(always)]
    pub fn begin(&mut self, turn: &mut Turn, now_ns: u64) -> bool {
        turn.started_ns = now_ns;
        let too_early = now_ns < turn.not_before_ns;
        let too_late = turn.attempt == 0 && self.client.load == Loop::Open && now_ns >= self.control.window_end_ns();
        if too_early || too_late || self.is_late_retry(turn, now_ns) {
            self.give_up(turn);
            return false;
        }
        true
    }

    /// On a busy machine a retry may come up after the drain, when nothing may begin.
    #[inline(always)]
    fn is_late_retry(&self, turn: &Turn, now_ns: u64) -> bool {
        turn.attempt > 0 && (self.control.drain_over() || now_ns >= self.control.drain_end_ns())
    }

    /// Gives up an attempt: an operation that has not begun never does, and one in its back-off has failed.
    #[cold]
    fn give_up(&mut self, turn: &Turn) {
        if turn.attempt == 0 {
            self.over = true;
        } else {
            self.failed += 1;
            self.end_operation(turn);
        }
    }

    /// Records the attempt that has ended, and decides what comes next.
    #[inline(always)]
    pub fn end_attempt(&mut self, turn: Turn, outcome: Result<(), Failed>, rows: u32, waits: Waits, finished_ns: u64) {
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
            acquire_wait_ns: waits.acquire_ns,
        };
        // If a retry is given up during its back-off, the next operation is still due from the end of the last attempt.
        self.previous_end_ns = finished_ns;
        if let Err(failed) = outcome {
            self.note_failure(&mut sample, failed, waits);
            self.samples.push(sample);
            // An attempt that may have acted is not retried: it could be done twice.
            self.again = if waits.may_have_acted { None } else { self.retry(turn, failed.failure, finished_ns) };
            if self.again.is_some() {
                return;
            }
            self.failed += 1;
        } else {
            self.samples.push(sample);
        }
        self.end_operation(&turn);
    }

    #[cold]
    fn note_failure(&self, sample: &mut Sample, failed: Failed, waits: Waits) {
        sample.failed_step = failed.step;
        sample.code_space = failed.failure.space;
        sample.code = failed.failure.code;
        let ours = failed.failure == INTERRUPT || failed.failure == CANCELLED;
        if self.control.drain_over() && (ours || waits.cut_short) {
            sample.flags |= flag::INTERRUPTED;
        }
        if waits.may_have_acted {
            sample.flags |= flag::MAY_HAVE_ACTED;
        }
    }

    #[inline(always)]
    fn end_operation(&mut self, turn: &Turn) {
        let transaction = self.client.operations[turn.index].transaction;
        let uniques = self.head.transactions[usize::from(transaction)].uniques;
        self.next_unique = self.next_unique.wrapping_add(i64::from(uniques));
        self.operation += 1;
        self.next_index += 1;
        if self.client.cyclic && self.next_index == self.client.operations.len() {
            self.next_index = 0;
        }
        self.pulse.set(u64::from(self.operation), self.failed);
    }

    /// The next attempt of the same operation, due after its back-off; `None` if the operation has failed.
    #[cold]
    fn retry(&mut self, turn: Turn, failure: Failure, finished_ns: u64) -> Option<Turn> {
        let retry = &self.head.retry;
        let tries_left = turn.attempt + 1 < retry.tries;
        if !tries_left || !retry.codes.contains(&(failure.space, failure.code)) {
            return None;
        }
        let not_before_ns = finished_ns.saturating_add(self.backoff_ns(turn.attempt));
        let again = Turn { attempt: turn.attempt + 1, not_before_ns, ..turn };
        (!self.in_vain(&again)).then_some(again)
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

#[cfg(test)]
mod tests {
    use super::*;
    use contend_wire::digest::sealed;
    use contend_wire::plan::Plan;

    const PLAN: &str = "contend-plan 3\nworker\t0\ndriver\tnull\tthread\nconnections\tclient\nwindow\t0\t1000\t500\nnow\tclock\n\
        database\tfile\tx\ntransaction\t0\tt\tread\t-\t0\t0\t1\nstep\tpause\t0\nretry\t9\t100\t-\tsqlite:5\nclients\t1\n\
        client\t0\t0\tclosed\tcyclic\t0\t0\t1\nop\t0\t0\nend\n";

    /// Resident memory of this process, in bytes.
    fn resident() -> u64 {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap() * 4096
    }

    #[test]
    fn memory_for_samples_is_touched_only_where_the_engine_is_in_this_process() {
        let mut plan = Plan::decode(&sealed(PLAN)).unwrap();
        plan.clients[0].limit = 1 << 20;
        plan.head.window.length_ns = 0;
        let bytes = (1 << 20) * 64;
        for (engine, touched) in [(EngineRuns::Elsewhere, false), (EngineRuns::Here, true)] {
            let before = resident();
            let room = room_for_samples(&plan, &plan.clients[0], engine);
            assert!(room.is_empty() && room.capacity() >= 1 << 20);
            assert_eq!(resident() - before.min(resident()) > bytes / 2, touched, "{engine:?}");
        }
    }

    #[test]
    fn no_retry_begins_after_the_drain() {
        let plan = Plan::decode(&sealed(PLAN)).unwrap();
        for (now_ns, drain_over, begins) in [(1_499, false, true), (1_500, false, false), (1_499, true, false)] {
            let (control, pulse) = (Control::new(plan.head.window.drain_ns), Pulse::default());
            control.start(0, 1_000);
            let mut client = ClientLoop::new(&plan, 0, &control, &pulse, vec![]);
            client.start(0);
            let mut turn = client.next_turn().unwrap();
            assert!(client.begin(&mut turn, 900));
            let failure = Failure { space: CodeSpace::Sqlite, code: 5 };
            client.end_attempt(turn, Err(Failed { step: 0, failure }), 0, Waits::UNKNOWN, 1_390);
            let mut again = client.next_turn().unwrap();
            assert_eq!((again.attempt, again.not_before_ns), (1, 1_490));
            if drain_over {
                control.end_drain();
            }
            // A busy machine comes to it late.
            assert_eq!(client.begin(&mut again, now_ns), begins, "at {now_ns}");
        }
    }
}
