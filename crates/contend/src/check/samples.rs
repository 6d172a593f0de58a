//! Compares a trial's samples with its plans: each operation is the planned one, was due at its time and attempted as often as
//! allowed, and none is missing.

use crate::outcome::reason::Invalid;
use crate::record::model::Reason;
use crate::stats::little::TURN_NS;
use contend_wire::plan::{ANY_ROWS, Client, Loop, Step, Transaction};
use contend_wire::sample::{NOT_MEASURED, Sample};
use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;

/// Findings after which the check stops: more add nothing.
const FINDINGS_MAX: usize = 3;

/// How late a free client may begin before the end of a window: longer than a collector of garbage or another program keeps a
/// worker, and shorter than a share of a window that changes a result.
const BEGINS_WITHIN_NS: u64 = 250_000_000;

/// The samples of one client so far.
struct Progress<'p> {
    client: &'p Client,
    /// The worker's start on its own clock.
    start_ns: u64,
    last: Option<Sample>,
    operations: u64,
    failed: u64,
}

/// Takes a trial's samples one by one.
pub struct PlanCheck<'p> {
    clients: HashMap<u32, Progress<'p>>,
    tries: u16,
    /// How late a client of an open loop may begin; `None` if its clients wait for each other.
    begins_within_ns: Option<u64>,
    rows: Vec<RangeInclusive<u64>>,
    findings: Vec<Reason>,
    attempts: u64,
    /// Whether every sample is in the counts of its client.
    counted: bool,
}

/// Counts of samples, to be compared with the workers' own totals: operations begun, attempts, and operations whose last attempt
/// failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    pub operations: u64,
    pub attempts: u64,
    pub failed: u64,
}

impl<'p> PlanCheck<'p> {
    /// For clients with the start of their worker; `tries` is the most attempts of an operation.
    pub fn new(clients: impl IntoIterator<Item = (&'p Client, u64)>, tries: u16) -> Self {
        let clients = clients
            .into_iter()
            .map(|(client, start_ns)| (client.id, Progress { client, start_ns, last: None, operations: 0, failed: 0 }))
            .collect();
        Self { clients, tries, begins_within_ns: None, rows: vec![], findings: vec![], attempts: 0, counted: true }
    }

    /// Also checks that clients of an open loop work until the end of the window. Each must be able to begin without another one:
    /// it may be late by what the machine takes to give a thread a processor.
    pub fn with_free_clients(mut self) -> Self {
        self.begins_within_ns = Some(BEGINS_WITHIN_NS + self.clients.len() as u64 * TURN_NS);
        self
    }

    /// Also compares the rows of each successful attempt with the bounds of its transaction's steps.
    pub fn with_rows_of(mut self, transactions: &[Transaction]) -> Self {
        self.rows = transactions.iter().map(rows_of).collect();
        self
    }

    /// Takes the next sample.
    pub fn push(&mut self, sample: &Sample) {
        self.attempts += 1;
        if self.findings.len() >= FINDINGS_MAX {
            self.counted = false;
            return;
        }
        let Some(progress) = self.clients.get_mut(&sample.client) else {
            self.counted = false;
            self.findings
                .push(Invalid::Accounts.because(format!("a sample of client {}, which is in no plan", sample.client)));
            return;
        };
        let possible = possible(sample, self.rows.get(usize::from(sample.transaction)));
        if let Err(found) = progress.advance(sample, self.tries).and(possible) {
            let at = format!("client {}, operation {}, attempt {}", sample.client, sample.operation, sample.attempt);
            self.findings.push(Invalid::Accounts.because(format!("{at}: {found}")));
        }
    }

    /// Clients with an operation due in the window, which begins `run_in_ns` after the start and ends `length_ns` after it. In a
    /// closed loop the next operation is due when the last one ends. An operation that began before the window and ends in it
    /// delays those that would have been due there; its client counts, too.
    pub fn with_something_due(&self, run_in_ns: u64, length_ns: u64) -> BTreeSet<u32> {
        let has = |progress: &&Progress<'_>| progress.had_something_due(run_in_ns, length_ns);
        self.clients.values().filter(has).map(|progress| progress.client.id).collect()
    }

    /// Until when each client pauses after its last operation: until the next one is due, or the window ends, `length_ns` after the
    /// start. A client that has done all of its plan does not pause.
    pub fn pauses_until(&self, length_ns: u64) -> impl Iterator<Item = (u32, u64)> {
        let until = move |p: &Progress<'_>| Some((p.client.id, p.next_due_ns()?.min(p.start_ns + length_ns)));
        self.clients.values().filter_map(until)
    }

    /// The findings, and the totals if every sample was counted. `length_ns` is the time from the start to the end of the window,
    /// if time decides when a client stops.
    pub fn finish(mut self, length_ns: Option<u64>) -> (Vec<Reason>, Option<Totals>) {
        let mut ids: Vec<u32> = self.clients.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let progress = &self.clients[&id];
            if let Some(found) = progress.ended_early(length_ns, self.begins_within_ns)
                && self.findings.len() < FINDINGS_MAX
            {
                self.findings.push(Invalid::Accounts.because(format!("client {id}: {found}")));
            }
        }
        let sum = |of: fn(&Progress<'_>) -> u64| self.clients.values().map(of).sum();
        let failed = sum(|p| p.failed + u64::from(p.last.is_some_and(|s| !s.is_ok())));
        let totals = Totals { operations: sum(|p| p.operations), attempts: self.attempts, failed };
        (self.findings, self.counted.then_some(totals))
    }
}

/// Bounds of the rows that the steps of a transaction together may return or change.
fn rows_of(transaction: &Transaction) -> RangeInclusive<u64> {
    let (mut least, mut most) = (0, 0_u64);
    for step in &transaction.steps {
        let Step::Sql(step) = step else { continue };
        let times = u64::from(step.repeat);
        least += times * u64::from(step.rows_min);
        let max = if step.rows_max == ANY_ROWS { u64::MAX } else { times * u64::from(step.rows_max) };
        most = most.saturating_add(max);
    }
    least..=most
}

/// A wait is no longer than its attempt, and the rows of a successful attempt lie within the bounds of its steps.
fn possible(sample: &Sample, rows: Option<&RangeInclusive<u64>>) -> Result<(), String> {
    let service_ns = sample.finished_ns.saturating_sub(sample.started_ns);
    for (wait, ns) in [("lock", sample.lock_wait_ns), ("connection", sample.acquire_wait_ns)] {
        if ns != NOT_MEASURED && ns > service_ns {
            return Err(format!("waited {ns} ns for a {wait} in an attempt of {service_ns} ns"));
        }
    }
    match rows.filter(|rows| sample.is_ok() && !rows.contains(&u64::from(sample.rows))) {
        Some(rows) => Err(format!("{} rows, where the steps allow {} to {}", sample.rows, rows.start(), rows.end())),
        None => Ok(()),
    }
}

impl Progress<'_> {
    fn advance(&mut self, sample: &Sample, tries: u16) -> Result<(), String> {
        let previous = self.last.replace(*sample);
        if sample.started_ns < sample.due_ns {
            return Err(format!("started {} ns before it was due", sample.due_ns - sample.started_ns));
        }
        match previous {
            Some(before) if before.operation == sample.operation => same_operation(&before, sample, tries),
            _ => self.next_operation(previous, sample),
        }
    }

    /// A client of an open loop begins what is due as soon as it is free; what is due when the window ends, it leaves.
    fn left_undone(&self, length_ns: u64, begins_within_ns: u64) -> Option<String> {
        let next = self.client.operations.get(self.operations as usize)?;
        let free_ns = (self.start_ns + next.offset_ns).max(self.last.map_or(0, |last| last.finished_ns));
        let idle_ns = (self.start_ns + length_ns).saturating_sub(free_ns);
        let number = self.operations;
        (idle_ns > begins_within_ns).then(|| {
            format!("was free for {idle_ns} ns up to the end of the window, and never began operation {number}, which was due")
        })
    }

    /// A closed-loop client works until its limit or the end of the window, whichever is first. (If its plan ends before, the
    /// worker reports that, and the trial is invalid as `exhausted`.)
    fn ended_early(&self, length_ns: Option<u64>, begins_within_ns: Option<u64>) -> Option<String> {
        let planned = self.client.operations.len();
        let limit = u64::from(self.client.limit);
        if planned == 0 || limit > 0 && self.operations >= limit {
            return None;
        }
        if self.client.load == Loop::Open {
            return self.left_undone(length_ns?, begins_within_ns?);
        }
        let done = self.operations;
        let Some(length_ns) = length_ns else {
            return Some(format!("did {done} of {limit} operations"));
        };
        let early_ns = (self.start_ns + length_ns).saturating_sub(self.next_due_ns()?);
        (early_ns > 0).then(|| format!("stopped after {done} operations, {early_ns} ns before the end of the window"))
    }

    /// When its next operation is due; `None` if it has done all.
    fn next_due_ns(&self) -> Option<u64> {
        let (operations, done) = (&self.client.operations, self.operations as usize);
        if self.client.limit > 0 && done >= self.client.limit as usize {
            return None;
        }
        let next = operations.get(if self.client.cyclic { done % operations.len().max(1) } else { done })?;
        let from_ns = match (self.client.load, self.last) {
            (Loop::Open, _) => self.start_ns,
            (Loop::Closed, Some(last)) => last.finished_ns,
            (Loop::Closed, None) => self.start_ns + self.client.start_ns,
        };
        Some(from_ns + next.offset_ns)
    }

    fn had_something_due(&self, run_in_ns: u64, length_ns: u64) -> bool {
        let (begin_ns, end_ns) = (self.start_ns + run_in_ns, self.start_ns + length_ns);
        let operations = &self.client.operations;
        if self.client.load == Loop::Open {
            return operations.iter().any(|op| (begin_ns..end_ns).contains(&(self.start_ns + op.offset_ns)));
        }
        let done = self.operations as usize;
        let over = self.client.limit > 0 && done >= self.client.limit as usize;
        let next = operations.get(if self.client.cyclic { done % operations.len().max(1) } else { done });
        let Some(pause_ns) = next.filter(|_| !over).map(|op| op.offset_ns) else {
            return self.last.is_some_and(|last| last.due_ns >= begin_ns);
        };
        match self.last {
            None => self.start_ns + self.client.start_ns + pause_ns < end_ns,
            Some(last) if last.finished_ns < begin_ns => last.finished_ns + pause_ns < end_ns,
            Some(last) => last.due_ns >= begin_ns || last.due_ns + pause_ns < end_ns,
        }
    }

    fn next_operation(&mut self, previous: Option<Sample>, sample: &Sample) -> Result<(), String> {
        self.operations += 1;
        self.failed += u64::from(previous.is_some_and(|before| !before.is_ok()));
        let expected = previous.map_or(0, |before| before.operation + 1);
        if sample.operation != expected || sample.attempt != 0 {
            return Err(format!("expected operation {expected}, attempt 0"));
        }
        let planned = self.client.operations.len();
        let index = sample.operation as usize;
        if planned == 0 || (index >= planned && !self.client.cyclic) {
            return Err(format!("the plan has only {planned} operations"));
        }
        let op = &self.client.operations[index % planned];
        if op.transaction != sample.transaction {
            return Err(format!("transaction {} where the plan has {}", sample.transaction, op.transaction));
        }
        if let Some(before) = previous.filter(|before| sample.started_ns < before.finished_ns) {
            let early_ns = before.finished_ns - sample.started_ns;
            return Err(format!("started {early_ns} ns before the client's previous operation had finished"));
        }
        let due_ns = match self.client.load {
            Loop::Open => self.start_ns + op.offset_ns,
            Loop::Closed => match previous {
                Some(before) => before.finished_ns + op.offset_ns,
                None => self.start_ns + self.client.start_ns + op.offset_ns,
            },
        };
        if sample.due_ns != due_ns {
            return Err(format!("due at {} where the plan has {due_ns}", sample.due_ns));
        }
        Ok(())
    }
}

fn same_operation(before: &Sample, sample: &Sample, tries: u16) -> Result<(), String> {
    if before.is_ok() {
        return Err("tried again after it had succeeded".to_string());
    }
    if sample.attempt != before.attempt + 1 || sample.attempt >= tries {
        return Err(format!("attempt after attempt {}, with {tries} tries at most", before.attempt));
    }
    if sample.due_ns != before.due_ns || sample.transaction != before.transaction {
        return Err("a due time or transaction other than that of the previous attempt".to_string());
    }
    if sample.started_ns < before.finished_ns {
        return Err("started before the previous attempt had finished".to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_wire::plan::SqlStep;
    use contend_wire::sample::{CodeSpace, STEP_BEGIN, STEP_NONE};

    fn client(load: Loop, cyclic: bool) -> Client {
        let mut client =
            Client { id: 7, database: 0, load, cyclic, limit: 0, start_ns: 5, operations: vec![], arguments: vec![] };
        client.push(10, 0, []);
        client.push(20, 1, []);
        client
    }

    fn sample(operation: u32, transaction: u16, attempt: u16, ok: bool, times: [u64; 3]) -> Sample {
        Sample {
            client: 7,
            operation,
            transaction,
            attempt,
            failed_step: if ok { STEP_NONE } else { STEP_BEGIN },
            code_space: if ok { CodeSpace::Ok } else { CodeSpace::Sqlite },
            code: if ok { 0 } else { 5 },
            due_ns: times[0],
            started_ns: times[1],
            finished_ns: times[2],
            lock_wait_ns: 0,
            ..Sample::default()
        }
    }

    fn check(client: &Client, samples: &[Sample]) -> (Vec<Reason>, Option<Totals>) {
        check_until(client, samples, Some(0))
    }

    fn check_until(client: &Client, samples: &[Sample], length_ns: Option<u64>) -> (Vec<Reason>, Option<Totals>) {
        let mut check = PlanCheck::new([(client, 1000)], 2);
        samples.iter().for_each(|s| check.push(s));
        check.finish(length_ns)
    }

    #[test]
    fn what_follows_the_plan_passes() {
        let closed = [
            sample(0, 0, 0, true, [1015, 1016, 1020]),
            sample(1, 1, 0, false, [1040, 1040, 1050]),
            sample(1, 1, 1, true, [1040, 1055, 1060]),
            sample(2, 0, 0, true, [1070, 1070, 1071]),
        ];
        let (findings, totals) = check(&client(Loop::Closed, true), &closed);
        assert_eq!(findings, []);
        let expected = Totals { operations: 3, attempts: 4, failed: 0 };
        assert_eq!(totals, Some(expected), "a retried operation has not failed");
        let open = [sample(0, 0, 0, true, [1010, 1016, 1090]), sample(1, 1, 0, true, [1020, 1090, 1095])];
        assert_eq!(check(&client(Loop::Open, false), &open).0, []);
        let overlap = [open[0], sample(1, 1, 0, true, [1020, 1089, 1095])];
        let found = &check(&client(Loop::Open, false), &overlap).0[0];
        assert!(found.detail.contains("started 1 ns before the client's previous operation had finished"), "{found}");
    }

    #[test]
    fn a_client_of_an_open_loop_that_was_free_and_began_nothing_is_found() {
        let open = client(Loop::Open, false);
        let first = [sample(0, 0, 0, true, [1010, 1016, 1090])];
        let found = |samples: &[Sample], length_ns| {
            let mut check = PlanCheck::new([(&open, 1000)], 2).with_free_clients();
            samples.iter().for_each(|s| check.push(s));
            check.finish(Some(length_ns)).0.first().map(|reason| reason.detail.clone()).unwrap_or_default()
        };
        let late_ns = BEGINS_WITHIN_NS + TURN_NS;
        assert_eq!(found(&first, 90 + late_ns), "", "free since 1090, and the window ends before it had to begin");
        assert!(found(&first, 91 + late_ns).contains("never began operation 1"), "{}", found(&first, 91 + late_ns));
        assert!(found(&[], 11 + late_ns).contains("never began operation 0"));
        let both = [first[0], sample(1, 1, 0, true, [1020, 1090, 1095])];
        assert_eq!(found(&both, 10 * late_ns), "", "it has done all that it had to");
        assert_eq!(check_until(&open, &first, Some(10 * late_ns)).0, [], "clients that share a thread wait for it");
    }

    #[test]
    fn every_departure_from_the_plan_is_found() {
        let good = sample(0, 0, 0, true, [1015, 1016, 1020]);
        let failed = sample(0, 0, 0, false, [1015, 1016, 1020]);
        let next = |due, started| sample(1, 1, 0, true, [due, started, started + 1]);
        let cases: &[(&str, &[Sample])] = &[
            ("another due time", &[sample(0, 0, 0, true, [1014, 1016, 1020])]),
            ("before it was due", &[sample(0, 0, 0, true, [1015, 1014, 1020])]),
            ("another transaction", &[sample(0, 1, 0, true, [1015, 1016, 1020])]),
            ("a missing operation", &[good, sample(2, 0, 0, true, [1030, 1030, 1031])]),
            ("clock inside the task", &[good, next(1041, 1041)]),
            ("a missing attempt", &[failed, sample(0, 0, 2, true, [1015, 1021, 1022])]),
            (
                "too many attempts",
                &[failed, { sample(0, 0, 1, false, [1015, 1021, 1022]) }, {
                    sample(0, 0, 2, true, [1015, 1023, 1024])
                }],
            ),
            ("again after success", &[good, sample(0, 0, 1, true, [1015, 1021, 1022])]),
            ("overlapping attempts", &[failed, sample(0, 0, 1, true, [1015, 1019, 1022])]),
            ("a stranger", &[Sample { client: 8, ..good }]),
        ];
        for (what, samples) in cases {
            let (findings, _) = check(&client(Loop::Closed, true), samples);
            assert!(!findings.is_empty(), "{what} must be found");
            assert!(findings.iter().all(|f| f.kind == Invalid::Accounts), "{what}");
        }
        let beyond = [good, next(1040, 1040), sample(2, 0, 0, true, [1051, 1051, 1052])];
        assert!(!check(&client(Loop::Closed, false), &beyond).0.is_empty(), "beyond a finite plan");
    }

    #[test]
    fn a_client_pauses_until_its_next_operation_or_the_end_of_the_window() {
        let until = |client: &Client, samples: &[Sample], length_ns| {
            let mut check = PlanCheck::new([(client, 1000)], 2);
            samples.iter().for_each(|s| check.push(s));
            check.pauses_until(length_ns).collect::<Vec<_>>()
        };
        let (closed, open) = (client(Loop::Closed, true), client(Loop::Open, false));
        let one = [sample(0, 0, 0, true, [1015, 1016, 1020])];
        assert_eq!(until(&closed, &one, 30), [(7, 1030)], "the next is due at 1040");
        assert_eq!(until(&closed, &one, 100), [(7, 1040)], "what was due and not begun is no pause");
        assert_eq!(until(&closed, &[], 100), [(7, 1015)]);
        assert_eq!(until(&open, &[sample(0, 0, 0, true, [1010, 1010, 1011])], 30), [(7, 1020)]);
        let limited = Client { limit: 1, ..closed };
        assert_eq!(until(&limited, &one, 30), [], "it has done all");
    }

    #[test]
    fn what_cannot_be_is_found() {
        let step = |rows_min, rows_max, repeat| {
            let step = SqlStep { statement: 0, rows_min, rows_max, repeat, keep: vec![], args: vec![] };
            Step::Sql(step)
        };
        let transaction =
            |steps| Transaction { name: "t".to_string(), writes: false, begin: None, uniques: 0, slots: 0, steps };
        let transactions =
            [transaction(vec![step(1, 3, 1), step(0, 2, 4)]), transaction(vec![step(1, ANY_ROWS, 1), step(1, 1, 1)])];
        let client = client(Loop::Closed, true);
        let found = |sample: Sample| {
            let mut check = PlanCheck::new([(&client, 1000)], 2).with_rows_of(&transactions);
            check.push(&sample);
            check.finish(Some(0)).0.first().map(|reason| reason.detail.clone()).unwrap_or_default()
        };
        let good = sample(0, 0, 0, true, [1015, 1016, 1026]);
        for (rows, words) in [(1, ""), (11, ""), (0, "0 rows, where the steps allow 1 to 11"), (12, "12 rows")] {
            let found = found(Sample { rows, ..good });
            assert!(found.contains(words) && found.is_empty() == words.is_empty(), "{rows}: {found}");
        }
        assert_eq!(rows_of(&transactions[1]), 2..=u64::MAX);
        let failed = Sample { rows: 99, ..sample(0, 0, 0, false, [1015, 1016, 1026]) };
        assert_eq!(found(failed), "", "it may have failed for that");
        assert_eq!(found(Sample { rows: 1, lock_wait_ns: 10, ..good }), "");
        let words = found(Sample { rows: 1, lock_wait_ns: 11, ..good });
        assert!(words.contains("waited 11 ns for a lock in an attempt of 10 ns"), "{words}");
        assert!(found(Sample { rows: 1, acquire_wait_ns: 100, ..good }).contains("for a connection"));
    }

    #[test]
    fn who_stops_before_the_window_or_the_limit_is_found() {
        let cyclic = client(Loop::Closed, true);
        let one = [sample(0, 0, 0, true, [1015, 1016, 1020])];
        assert_eq!(check_until(&cyclic, &one, Some(40)).0, [], "the next is due at the end");
        assert_eq!(check_until(&cyclic, &one, Some(41)).0.len(), 1, "the next was due inside");
        assert_eq!(check_until(&cyclic, &[], Some(20)).0.len(), 1, "the first was due inside");
        let limited = Client { limit: 1, ..client(Loop::Closed, false) };
        assert_eq!(check_until(&limited, &one, None).0, []);
        assert_eq!(check_until(&limited, &[], None).0.len(), 1);
        assert_eq!(check_until(&client(Loop::Open, false), &[], Some(1000)).0, [], "unsent work is an outcome");
        let failed = [sample(0, 0, 0, false, [1015, 1016, 1020])];
        assert_eq!(check(&cyclic, &failed).1.map(|totals| totals.failed), Some(1));
    }

    #[test]
    fn there_are_no_totals_of_samples_that_were_not_looked_at() {
        let cyclic = client(Loop::Closed, true);
        // No sample is due at its planned time, so the check stops before the end.
        let wrong: Vec<Sample> = (0..20).map(|i| sample(i, 0, 0, true, [i.into(), 2000, 2001])).collect();
        let (findings, totals) = check(&cyclic, &wrong);
        assert_eq!((findings.len(), totals), (FINDINGS_MAX, None));
        let stranger = Sample { client: 8, ..sample(0, 0, 0, true, [1015, 1016, 1020]) };
        assert_eq!(check(&cyclic, &[stranger]).1, None, "it is in no client's count");
        let (findings, totals) = check(&cyclic, &wrong[..2]);
        assert!(!findings.is_empty() && totals.is_some_and(|totals| totals.operations == 2), "{totals:?}");
    }

    #[test]
    fn something_is_due_in_the_window_by_the_plan_or_was_kept_from_it() {
        let due = |client: &Client, samples: &[Sample], run_in_ns, length_ns| {
            let mut check = PlanCheck::new([(client, 1000)], 2);
            samples.iter().for_each(|s| check.push(s));
            check.with_something_due(run_in_ns, length_ns).contains(&7)
        };
        let open = client(Loop::Open, false);
        assert!(due(&open, &[], 5, 15) && due(&open, &[], 15, 21), "due after 10 and after 20");
        assert!(!due(&open, &[], 11, 20) && !due(&open, &[], 21, 99), "nothing is due there");
        let closed = client(Loop::Closed, true);
        let first = |finished| [sample(0, 0, 0, true, [1015, 1016, finished])];
        assert!(due(&closed, &first(1100), 30, 90), "the first one lasts all through the window");
        assert!(!due(&closed, &first(1018), 19, 37), "the pause of 20 after the first one lasts longer");
        assert!(due(&closed, &first(1018), 10, 20), "due in it");
        assert!(!due(&Client { limit: 1, ..closed }, &first(1100), 30, 90), "it was the only one");
    }
}
