//! Everything counted from the samples of one trial, in one pass and in memory that does not grow with
//! their number.
//!
//! The accounts, for operations due in the window:
//!
//! ```text
//! planned  = committed + rejected + conflict + timeout + unknown + unsent
//! attempts = operations + retries
//! ```
//!
//! A closed loop plans an operation when it begins it, so nothing is unsent there. Throughput counts the
//! commits that finish inside the window, over its real length.

use crate::operation::{Operation, Operations};
use crate::outcome::Outcome;
use crate::record::model::{RoleClients, Trial};
use crate::stats::drift::{self, TRIAL_BINS, Trend};
use crate::stats::histogram::Histogram;
use crate::stats::little;
use contend_wire::sample::{CodeSpace, Sample};
use std::collections::BTreeMap;

/// Bins of the time series of a trial.
pub const BINS: usize = 60;

/// Most clients that are counted separately: a record from elsewhere may hold any number.
const CLIENTS_MAX: u32 = 1_000_000;

/// Counts of one transaction in one role.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Operations due in the window, by outcome in the order of [`Outcome::ALL`].
    outcomes: [u64; Outcome::ALL.len()],
    pub attempts: u64,
    pub retries: u64,
    /// Commits that finished inside the window.
    pub committed_inside: u64,
    /// Committed operations that were due in the window and began in it.
    pub committed_begun: u64,
    /// Rows returned or changed by committed operations.
    pub rows: u64,
    /// Longest time in which a client had such an operation due and completed none: the longest response, or more if
    /// several failed before one succeeded.
    pub longest_stall_ns: u64,
    /// Failed attempts by their code.
    pub codes: BTreeMap<(CodeSpace, u32), u64>,
}

impl Counts {
    pub fn outcome(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize]
    }

    pub fn add_unsent(&mut self, operations: u64) {
        self.add(Outcome::Unsent, operations);
    }

    pub fn add(&mut self, outcome: Outcome, operations: u64) {
        self.outcomes[outcome as usize] += operations;
    }

    /// All operations due in the window.
    pub fn planned(&self) -> u64 {
        self.outcomes.iter().sum()
    }

    pub fn merge(&mut self, other: &Counts) {
        for (mine, theirs) in self.outcomes.iter_mut().zip(other.outcomes) {
            *mine += theirs;
        }
        self.attempts += other.attempts;
        self.retries += other.retries;
        self.committed_inside += other.committed_inside;
        self.committed_begun += other.committed_begun;
        self.rows += other.rows;
        self.longest_stall_ns = self.longest_stall_ns.max(other.longest_stall_ns);
        for (code, n) in &other.codes {
            *self.codes.entry(*code).or_default() += n;
        }
    }
}

/// Latencies of one transaction in one role.
#[derive(Debug, Clone, Default)]
pub struct Latencies {
    /// Response times by outcome, in the order of [`Outcome::ALL`]; unsent operations have none.
    responses: [Histogram; Outcome::ALL.len() - 1],
    /// Time of the successful attempt of committed operations.
    pub service: Histogram,
    /// Attempts that timed out or were cut off: lower bounds.
    pub service_censored: Histogram,
    /// Time waiting for locks over all attempts of committed operations; empty if not measured.
    pub lock_wait: Histogram,
    /// Time waiting for a pooled connection over all attempts of committed operations; empty if not measured.
    pub acquire_wait: Histogram,
    /// Sums for shares.
    pub busy_ns: u64,
    pub lock_wait_ns: u64,
    /// Whether the wait of every attempt was measured.
    pub lock_wait_measured: bool,
    pub acquire_wait_measured: bool,
}

impl Latencies {
    /// Empty latencies, to merge others into.
    pub fn none() -> Self {
        Self { lock_wait_measured: true, acquire_wait_measured: true, ..Self::default() }
    }

    /// Response times of operations with this outcome; `None` for unsent ones.
    pub fn response(&self, outcome: Outcome) -> Option<&Histogram> {
        self.responses.get(outcome as usize)
    }

    /// Response times of committed operations.
    pub fn committed(&self) -> &Histogram {
        &self.responses[Outcome::Committed as usize]
    }

    /// Times of timeouts and unknown operations: lower bounds.
    pub fn censored(&self) -> Histogram {
        let mut both = self.responses[Outcome::Timeout as usize].clone();
        both.merge(&self.responses[Outcome::Unknown as usize]);
        both
    }

    fn count_service(&mut self, outcome: Outcome, ns: u64) {
        match outcome {
            Outcome::Committed => self.service.record(ns),
            Outcome::Timeout | Outcome::Unknown => self.service_censored.record(ns),
            _ => {}
        }
    }

    pub fn merge(&mut self, other: &Latencies) {
        for (mine, theirs) in self.responses.iter_mut().zip(&other.responses) {
            mine.merge(theirs);
        }
        self.service.merge(&other.service);
        self.service_censored.merge(&other.service_censored);
        self.lock_wait.merge(&other.lock_wait);
        self.acquire_wait.merge(&other.acquire_wait);
        self.busy_ns += other.busy_ns;
        self.lock_wait_ns += other.lock_wait_ns;
        self.lock_wait_measured &= other.lock_wait_measured;
        self.acquire_wait_measured &= other.acquire_wait_measured;
    }
}

/// Counts and times of one client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientTally {
    /// Commits that finished inside the window, as throughput counts them.
    pub committed: u64,
    /// Longest response of a committed operation.
    pub response_ns_max: u64,
    /// Operations due in the window: time in attempts, between attempts, and between operations.
    pub busy_ns: u64,
    pub backoff_ns: u64,
    pub pause_ns: u64,
    /// Of the same operations, time from when they were due and the client free to the start of the first attempt.
    pub late_ns: u64,
    /// The part of it that a client may wait for a processor after a pause: up to [`little::TURN_NS`] each time.
    pub woken_ns: u64,
    /// The part of it that waking takes on any machine: up to [`little::WAKE_NS`] each time.
    pub waking_ns: u64,
    /// The part of it that the kernel explains, see [`crate::check::guards::excuse`].
    pub queued_ns: u64,
    /// When the client was free for the first one, at or after the start of the window; the span to `last_finished_ns` is the
    /// client's window.
    pub first_free_ns: Option<u64>,
    pub last_finished_ns: u64,
}

impl ClientTally {
    /// Adds the pause after its last operation in the window.
    pub fn pause_until(&mut self, ns: u64) {
        if self.first_free_ns.is_some() {
            self.pause_ns += ns.saturating_sub(self.last_finished_ns);
            self.last_finished_ns = self.last_finished_ns.max(ns);
        }
    }
}

/// Operations that finished in one stretch of the window.
#[derive(Debug, Clone, Default)]
pub struct Bin {
    pub committed: u64,
    pub failed: u64,
    pub response: Histogram,
}

/// Whether commits rise or fall over the window.
pub fn trend(bins: &[Bin]) -> Option<Trend> {
    let per_bin = bins.len().div_ceil(TRIAL_BINS).max(1);
    let commits: Vec<f64> = bins.chunks(per_bin).map(|c| c.iter().map(|b| b.committed as f64).sum()).collect();
    drift::trend(&commits)
}

/// One transaction in one role.
#[derive(Debug, Clone)]
pub struct Group {
    pub role: String,
    pub transaction: u16,
    pub counts: Counts,
    pub latencies: Latencies,
}

/// Everything counted from one trial's samples.
#[derive(Debug, Clone)]
pub struct Tally {
    pub window_start_ns: u64,
    pub window_end_ns: u64,
    pub counting: Counting,
    pub samples: u64,
    /// End of the last attempt, in the drain or before.
    pub last_finished_ns: u64,
    pub groups: Vec<Group>,
    pub clients: BTreeMap<u32, ClientTally>,
    pub bins: Vec<Bin>,
    /// Commits of each client, by role.
    pub commits_by_role: BTreeMap<String, Vec<u64>>,
    /// Since when a client has waited for a commit, by client and transaction.
    stalled_since_ns: BTreeMap<(u32, u16), u64>,
    /// End of the last operation of each client, due in the window or not.
    ended_ns: BTreeMap<u32, u64>,
}

/// The clients `first .. end` of one role in one worker.
struct RoleRange {
    first: u32,
    end: u32,
    role: String,
}

/// Counts samples in the order of their arrival.
pub struct Tallying {
    operations: Operations,
    tally: Tally,
    roles: Vec<RoleRange>,
}

/// How service times are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// All operations due in the window. An operation begins when it has its connection: waiting in a pool's queue
    /// counts like waiting for a thread.
    Corrected,
    /// As an original whose clients read the clock before each operation: an operation begins when its client begins
    /// it, and only those that began in the window have a service time.
    Original,
}

impl Tallying {
    /// For the samples of this trial.
    pub fn new(trial: &Trial, counting: Counting) -> Self {
        let range = |r: &RoleClients| {
            let end = r.first_client.saturating_add(r.clients);
            RoleRange { first: r.first_client, end, role: r.role.clone() }
        };
        let roles = trial.workers.iter().flat_map(|w| &w.roles).map(range).collect();
        let tally = Tally {
            window_start_ns: trial.window_start_ns,
            window_end_ns: trial.window_end_ns,
            counting,
            samples: 0,
            last_finished_ns: 0,
            groups: vec![],
            // All clients, because fairness must include those that complete nothing.
            clients: (0..trial.clients.min(CLIENTS_MAX)).map(|client| (client, ClientTally::default())).collect(),
            bins: vec![Bin::default(); BINS],
            commits_by_role: BTreeMap::new(),
            stalled_since_ns: BTreeMap::new(),
            ended_ns: BTreeMap::new(),
        };
        Self { operations: Operations::new(), tally, roles }
    }

    /// Takes the next sample.
    pub fn push(&mut self, sample: Sample) {
        let role = role_of(&self.roles, sample.client);
        self.tally.samples += 1;
        self.tally.last_finished_ns = self.tally.last_finished_ns.max(sample.finished_ns);
        // The pending operation belongs to the same client, so to the same role.
        self.operations.push(sample, &mut |op| self.tally.count(role, op));
    }

    /// Returns the tally, with the unsent operations of an open loop added.
    pub fn finish(self, planned: &BTreeMap<String, u64>, names: &[String]) -> Tally {
        let Self { operations, mut tally, roles } = self;
        operations.finish(&mut |op| tally.count(role_of(&roles, op.client()), op));
        for (name, planned) in planned {
            tally.fill_unsent(name, *planned, names, &roles);
        }
        for (client, counted) in &tally.clients {
            let role = role_of(&roles, *client).to_string();
            tally.commits_by_role.entry(role).or_default().push(counted.committed);
        }
        tally.end_stalls(&roles);
        tally
    }
}

/// The role of a client.
fn role_of(roles: &[RoleRange], client: u32) -> &str {
    let found = roles.iter().find(|range| (range.first..range.end).contains(&client));
    found.map_or("", |range| range.role.as_str())
}

impl Tally {
    /// Length of the window.
    pub fn elapsed_ns(&self) -> u64 {
        self.window_end_ns.saturating_sub(self.window_start_ns)
    }

    /// Counts over all groups that `wanted` chooses.
    pub fn counts(&self, wanted: impl Fn(&Group) -> bool) -> Counts {
        let mut sum = Counts::default();
        self.groups.iter().filter(|g| wanted(g)).for_each(|g| sum.merge(&g.counts));
        sum
    }

    /// Latencies over all groups that `wanted` chooses.
    pub fn latencies(&self, wanted: impl Fn(&Group) -> bool) -> Latencies {
        let mut sum = Latencies::none();
        self.groups.iter().filter(|g| wanted(g)).for_each(|g| sum.merge(&g.latencies));
        sum
    }

    /// Commits inside the window per second of it.
    pub fn throughput_per_s(&self) -> f64 {
        per_second(self.counts(|_| true).committed_inside, self.elapsed_ns())
    }

    fn group(&mut self, role: &str, transaction: u16) -> &mut Group {
        let found = self.groups.iter().position(|g| g.transaction == transaction && g.role == role);
        let index = found.unwrap_or_else(|| {
            let latencies = Latencies::none();
            self.groups.push(Group { role: role.to_string(), transaction, counts: Counts::default(), latencies });
            self.groups.len() - 1
        });
        &mut self.groups[index]
    }

    fn in_window(&self, ns: u64) -> bool {
        (self.window_start_ns..self.window_end_ns).contains(&ns)
    }

    fn count(&mut self, role: &str, op: Operation<'_>) {
        let outcome = op.outcome();
        let (due_inside, finished_inside) = (self.in_window(op.due_ns()), self.in_window(op.finished_ns()));
        let waited_ns = if self.counting == Counting::Corrected { op.acquire_wait_ns().unwrap_or(0) } else { 0 };
        let begun_inside = self.in_window(op.started_ns().saturating_add(waited_ns));
        let of_service = begun_inside || self.counting == Counting::Corrected;
        let group = self.group(role, op.transaction());
        if outcome == Outcome::Committed && finished_inside {
            group.counts.committed_inside += 1;
            self.clients.entry(op.client()).or_default().committed += 1;
        }
        let group = self.group(role, op.transaction());
        if outcome == Outcome::Committed && due_inside && begun_inside {
            group.counts.committed_begun += 1;
        }
        if due_inside {
            group.count_planned(outcome, op);
            if of_service {
                group.latencies.count_service(outcome, op.service_ns());
            }
            self.count_client(outcome, op);
        }
        self.ended_ns.insert(op.client(), op.finished_ns());
        if finished_inside {
            self.count_bin(outcome, op);
        }
        // A client that has waited since before the window counts as stalled, but is in no latency.
        if op.finished_ns() >= self.window_start_ns && op.due_ns() < self.window_end_ns {
            self.count_stall(role, outcome, op);
        }
    }

    /// A stall begins when an operation is due and ends with the next commit of its transaction.
    fn count_stall(&mut self, role: &str, outcome: Outcome, op: Operation<'_>) {
        let key = (op.client(), op.transaction());
        let since_ns = self.stalled_since_ns.get(&key).copied().unwrap_or(op.due_ns());
        if outcome == Outcome::Committed {
            self.stalled_since_ns.remove(&key);
            self.group(role, op.transaction()).count_stall(op.finished_ns().saturating_sub(since_ns));
        } else {
            self.stalled_since_ns.insert(key, since_ns);
        }
    }

    /// Ends the stalls of clients that still wait at the end of the window there.
    fn end_stalls(&mut self, roles: &[RoleRange]) {
        for ((client, transaction), since_ns) in std::mem::take(&mut self.stalled_since_ns) {
            let stall_ns = self.window_end_ns.saturating_sub(since_ns);
            self.group(role_of(roles, client), transaction).count_stall(stall_ns);
        }
    }

    /// Adds an operation that was due in the window to its client.
    fn count_client(&mut self, outcome: Outcome, op: Operation<'_>) {
        let client = self.clients.entry(op.client()).or_default();
        if outcome == Outcome::Committed {
            client.response_ns_max = client.response_ns_max.max(op.response_ns());
        }
        client.busy_ns += op.busy_ns();
        client.backoff_ns += op.backoff_ns();
        // In an open loop it may be due before the one before it has ended.
        let ended_ns = self.ended_ns.get(&op.client()).copied().unwrap_or(0);
        let late_ns = op.started_ns().saturating_sub(op.due_ns().max(ended_ns));
        client.late_ns += late_ns;
        // A pause that began before the window counts with its part in it.
        let since_ns =
            if client.first_free_ns.is_some() { client.last_finished_ns } else { ended_ns.max(self.window_start_ns) };
        let pause_ns = op.due_ns().saturating_sub(since_ns);
        client.pause_ns += pause_ns;
        if pause_ns > 0 {
            client.woken_ns += late_ns.min(little::TURN_NS);
            client.waking_ns += late_ns.min(little::WAKE_NS);
        }
        client.first_free_ns.get_or_insert(since_ns);
        client.last_finished_ns = client.last_finished_ns.max(op.finished_ns());
    }

    fn count_bin(&mut self, outcome: Outcome, op: Operation<'_>) {
        let offset = u128::from(op.finished_ns() - self.window_start_ns);
        let index = (offset * BINS as u128 / u128::from(self.elapsed_ns().max(1))) as usize;
        let bin = &mut self.bins[index.min(BINS - 1)];
        if outcome == Outcome::Committed {
            bin.committed += 1;
            bin.response.record(op.response_ns());
        } else {
            bin.failed += 1;
        }
    }

    /// Adds operations that were due and have no sample as unsent. The plan counts by transaction, not by role: if
    /// several roles have the transaction, or none of several, they are counted under an empty role.
    fn fill_unsent(&mut self, name: &str, planned: u64, names: &[String], roles: &[RoleRange]) {
        let Some(transaction) = names.iter().position(|n| n == name) else { return };
        let transaction = transaction as u16;
        let sent: u64 = self.groups.iter().filter(|g| g.transaction == transaction).map(|g| g.counts.planned()).sum();
        if planned > sent {
            let mut having = self.groups.iter().filter(|g| g.transaction == transaction).map(|g| g.role.clone());
            let role = match (having.next(), having.next()) {
                (Some(only), None) => only,
                (None, _) if roles.windows(2).all(|pair| pair[0].role == pair[1].role) => {
                    roles.first().map_or(String::new(), |only| only.role.clone())
                }
                _ => String::new(),
            };
            self.group(&role, transaction).counts.add_unsent(planned - sent);
        }
    }
}

impl Group {
    fn count_stall(&mut self, ns: u64) {
        self.counts.longest_stall_ns = self.counts.longest_stall_ns.max(ns);
    }

    fn count_planned(&mut self, outcome: Outcome, op: Operation<'_>) {
        let attempts = op.attempts();
        self.counts.outcomes[outcome as usize] += 1;
        self.counts.attempts += attempts.len() as u64;
        self.counts.retries += attempts.len() as u64 - 1;
        for failed in attempts.iter().filter(|s| !s.is_ok()) {
            *self.counts.codes.entry((failed.code_space, failed.code)).or_default() += 1;
        }
        self.latencies.busy_ns += op.busy_ns();
        match op.lock_wait_ns() {
            Some(ns) => self.latencies.lock_wait_ns += ns,
            None => self.latencies.lock_wait_measured = false,
        }
        self.latencies.acquire_wait_measured &= op.acquire_wait_ns().is_some();
        if let Some(responses) = self.latencies.responses.get_mut(outcome as usize) {
            responses.record(op.response_ns());
        }
        if outcome == Outcome::Committed {
            self.counts.rows += u64::from(op.last().rows);
            if let Some(ns) = op.lock_wait_ns() {
                self.latencies.lock_wait.record(ns);
            }
            if let Some(ns) = op.acquire_wait_ns() {
                self.latencies.acquire_wait.record(ns);
            }
        }
    }
}

/// A count per second.
pub fn per_second(count: u64, elapsed_ns: u64) -> f64 {
    if elapsed_ns == 0 { 0.0 } else { count as f64 * 1e9 / elapsed_ns as f64 }
}
