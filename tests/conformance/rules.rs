//! What holds for the samples of every plan, whatever its transactions do: numbering, due times, waits,
//! back-offs, the window, and the worker's own totals.

use super::worker::Ran;
use contend_wire::handshake::fact;
use contend_wire::plan::{Client, Connections, Loop, Plan, Step};
use contend_wire::sample::{NOT_MEASURED, Sample, flag};
use std::time::Duration;

/// How much later than requested a retry may begin before the machine counts as too busy to judge.
const BACKOFF_LATE_NS: u64 = 1_500_000_000;
/// After the drain, clients may take this long to return.
const STUCK_NS: u64 = 5_000_000_000;
/// Most time without a sign of life; the worker should need 200 ms.
const SILENT: Duration = Duration::from_secs(2);

/// Why a run is not what it has to be.
#[derive(Debug)]
pub enum Problem {
    /// The worker is wrong.
    Wrong(String),
}

pub type Checked = Result<(), Problem>;

macro_rules! hold {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err(Problem::Wrong(format!($($words)+)));
        }
    };
}
pub(crate) use hold;

/// The samples of one client, in the order they came.
pub fn of_client(samples: &[Sample], id: u32) -> Vec<Sample> {
    samples.iter().filter(|s| s.client == id).copied().collect()
}

/// Checks a run against its plan. `lock_waits`: the worker says that it measures them.
pub fn check(plan: &Plan, ran: &Ran, lock_waits: bool, stopped: bool) -> Checked {
    let known = |s: &&Sample| plan.clients.iter().all(|c| c.id != s.client);
    hold!(!ran.samples.iter().any(|s| known(&s)), "samples of a client that is not in the plan");
    for client in &plan.clients {
        let samples = of_client(&ran.samples, client.id);
        let view = View { plan, client, start_ns: ran.start_ns, samples: &samples };
        view.numbering()?;
        view.due_times()?;
        view.attempts()?;
        for sample in &samples {
            waits(plan, sample, lock_waits)?;
            view.window(sample, stopped)?;
        }
    }
    totals(ran)?;
    let needed = (ran.elapsed.as_nanos() / SILENT.as_nanos()) as usize;
    hold!(ran.progress >= needed, "{} lines of progress in {:?}", ran.progress, ran.elapsed);
    Ok(())
}

struct View<'a> {
    plan: &'a Plan,
    client: &'a Client,
    start_ns: u64,
    samples: &'a [Sample],
}

impl View<'_> {
    /// Operations count up from 0, attempts of each too, and each is the one the plan has.
    fn numbering(&self) -> Checked {
        let mut next = (0, 0);
        for s in self.samples {
            let at = (s.operation, s.attempt);
            let moved_on = s.attempt == 0 && s.operation == next.0 && at != (0, 1);
            let again = next.1 > 0 && at == (next.0.wrapping_sub(1), next.1);
            hold!(moved_on || again, "client {}: {at:?} follows, {next:?} was next", s.client);
            next = if again { (next.0, next.1 + 1) } else { (s.operation + 1, 1) };
            let index = s.operation as usize;
            let index = if self.client.cyclic { index % self.client.operations.len() } else { index };
            let planned = self.client.operations.get(index).map(|op| op.transaction);
            hold!(planned == Some(s.transaction), "{s:?}: the plan has transaction {planned:?}");
            let limit = self.client.limit;
            hold!(limit == 0 || s.operation < limit, "{s:?} is beyond the limit of {limit}");
        }
        Ok(())
    }

    fn due_times(&self) -> Checked {
        let mut previous_end = self.start_ns + self.client.start_ns;
        for (i, s) in self.samples.iter().enumerate() {
            let count = self.client.operations.len();
            let offset_ns = self.client.operations[s.operation as usize % count].offset_ns;
            let due_ns = match self.client.load {
                Loop::Open => self.start_ns + offset_ns,
                Loop::Closed if s.attempt > 0 => self.samples[i - 1].due_ns,
                Loop::Closed => previous_end + offset_ns,
            };
            hold!(s.due_ns == due_ns, "{s:?}: due at {due_ns}");
            hold!(s.started_ns >= s.due_ns, "{s:?}: started before it was due");
            hold!(s.finished_ns >= s.started_ns, "{s:?}: finished before it started");
            hold!(s.started_ns >= previous_end, "{s:?}: started before the previous one ended");
            previous_end = s.finished_ns;
            let waited: u64 = self.plan.head.transactions[usize::from(s.transaction)].steps.iter().map(length).sum();
            let took = s.finished_ns - s.started_ns;
            hold!(!s.is_ok() || took >= waited, "{s:?}: took {took} ns, holds and pauses alone take {waited}");
        }
        Ok(())
    }

    /// Attempts are retried exactly where the plan has it, after the wait in the plan.
    fn attempts(&self) -> Checked {
        let retry = &self.plan.head.retry;
        let mut turn = 0;
        for (i, s) in self.samples.iter().enumerate() {
            let listed = !s.is_ok() && retry.codes.contains(&(s.code_space, s.code));
            let may = listed && s.attempt + 1 < retry.tries;
            let next = self.samples.get(i + 1).filter(|n| n.operation == s.operation);
            hold!(next.is_none() || may, "{s:?}: tried again");
            if !may {
                continue;
            }
            let entry = retry.backoff_ns.get(usize::from(s.attempt)).or(retry.backoff_ns.last());
            let permille = match retry.jitter_permille.len() {
                0 => 1000,
                count => u64::from(retry.jitter_permille[turn % count]),
            };
            turn += 1;
            let wait_ns = entry.copied().unwrap_or(0) * permille / 1000;
            match next {
                Some(n) => {
                    let waited_ns = n.started_ns - s.finished_ns;
                    hold!(waited_ns >= wait_ns, "{n:?}: began {waited_ns} ns after the one before, not {wait_ns}");
                    if waited_ns > wait_ns + BACKOFF_LATE_NS {
                        return Err(Problem::Wrong(format!("a back-off of {wait_ns} ns took {waited_ns}")));
                    }
                }
                // An attempt due right before the end of the drain may begin too late.
                None => {
                    let early = s.finished_ns + wait_ns + BACKOFF_LATE_NS < self.drain_end_ns();
                    hold!(!early, "{s:?}: not tried again");
                }
            }
        }
        Ok(())
    }

    fn drain_end_ns(&self) -> u64 {
        let window = &self.plan.head.window;
        self.start_ns.saturating_add(window.end_ns()).saturating_add(window.drain_ns)
    }

    fn window(&self, s: &Sample, stopped: bool) -> Checked {
        let end_ns = self.start_ns.saturating_add(self.plan.head.window.end_ns());
        hold!(s.due_ns < end_ns, "{s:?}: due after the window's end, {end_ns}");
        let late = s.attempt > 0 && !stopped && s.started_ns >= self.drain_end_ns();
        hold!(!late, "{s:?}: tried again after the drain");
        let interrupted = s.flags & flag::INTERRUPTED != 0;
        let early = !stopped && s.finished_ns < self.drain_end_ns();
        hold!(!interrupted || !s.is_ok() && !early, "{s:?}: interrupted before the drain was over, or succeeded");
        let latest_ns = self.drain_end_ns().saturating_add(STUCK_NS);
        hold!(s.finished_ns <= latest_ns, "{s:?}: not interrupted at the end of the drain");
        Ok(())
    }
}

fn length(step: &Step) -> u64 {
    match step {
        Step::Hold { ns } | Step::Pause { ns } => *ns,
        Step::Sql(_) | Step::Http(_) | Step::Connect => 0,
    }
}

/// Waits are measured or all ones, and part of the attempt.
fn waits(plan: &Plan, s: &Sample, lock_waits: bool) -> Checked {
    let took = s.finished_ns - s.started_ns;
    let off = plan.head.options.iter().any(|(name, value)| name == "lock_wait" && value == "off");
    if !lock_waits || off {
        hold!(s.lock_wait_ns == NOT_MEASURED, "{s:?}: lock waits that are not measured");
    } else {
        hold!(s.lock_wait_ns <= took, "{s:?}: waited longer for locks than it took");
    }
    let acquire = s.acquire_wait_ns;
    let own = plan.head.connections == Connections::Client;
    hold!(acquire == NOT_MEASURED || acquire <= took, "{s:?}: waited longer for a connection than it took");
    hold!(!own || matches!(acquire, 0 | NOT_MEASURED), "{s:?}: waited for a connection of its own");
    Ok(())
}

/// The worker's own totals are those of its samples.
fn totals(ran: &Ran) -> Checked {
    let samples = &ran.samples;
    let last = |i: usize, s: &Sample| {
        let mut later = samples[i + 1..].iter();
        !later.any(|n| (n.client, n.operation) == (s.client, s.operation))
    };
    let failed = samples.iter().enumerate().filter(|(_, s)| !s.is_ok()).filter(|(i, s)| last(*i, s)).count();
    let operations = samples.iter().filter(|s| s.attempt == 0).count();
    for (name, found) in [("operations", operations), ("attempts", samples.len()), ("failed", failed)] {
        let said = fact(&ran.done, name);
        hold!(said == Some(&found.to_string()), "`done` says {name}={said:?}, the samples {found}");
    }
    Ok(())
}
