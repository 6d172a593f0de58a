//! Turns the record of a trial into a probe.

use crate::bound::{Bound, time_ns};
use crate::failures;
use crate::floor::{self, Floor};
use crate::growth::{self, Speeds, speeds};
use crate::judge::{Backlog, Measured, Thirds, Verdict, judge};
use crate::of::Of;
use crate::processes::OfTrial;
use crate::saved::{Busy, Probe};
use crate::search::ProbeResult;
use anyhow::{Context, Result};
use contend::analysis::findings::tally;
use contend::analysis::responses::{self, Responses};
use contend::analysis::tally::{Bin, Counting, Tally};
use contend::analysis::trial::{Measure, Scope, TrialRow, is_write, observations};
use contend::outcome::Outcome;
use contend::outcome::mark::is_disturbed;
use contend::record::model::{Run, Syncs, Trial};
use contend::record::store::Record;
use contend::study::model::Tier;
use contend::trial::watch::machine::processors;
use contend_stats::histogram::Histogram;
use contend_stats::precision::counted;
use contend_stats::quantile::{Quantile, QuantileValue};
use contend_stats::unit::Unit;
use std::collections::BTreeMap;

/// A probe, and what its search needs in addition.
pub struct Looked {
    pub probe: Probe,
    pub verdict: Option<Verdict>,
    /// For the bound with too few observations: their number, and the number required.
    pub lacking: Option<(u64, u64)>,
    pub floor: Option<Floor>,
}

/// What a search looks for, and the answers of a service to compare with.
pub struct Sought<'s> {
    pub bounds: &'s [Bound],
    pub of: &'s Of,
    pub reference: &'s mut Reference,
    /// Processors that the processes of a trial's service used.
    pub processes: &'s OfTrial<'s>,
}

/// Rate and longest window of the probe whose answers are compared with: up to 200 answers, at a rate that a slow service carries,
/// too. With 200 a difference is seen from an eighth of the answers on. Outside of a search only this probe has a rate.
pub const REFERENCE_PER_S: f64 = 10.0;
const REFERENCE_NS: u64 = 20_000_000_000;
/// Most windows of that probe: with short windows a search does not wait for 200 answers.
const REFERENCE_WINDOWS: u64 = 8;
/// Most such probes, if one does not count.
const REFERENCES_MAX: u32 = 3;

/// The answers of a contender's service at the lowest value so far, for its relaxed arms, too: those that come with more load
/// may be short error texts.
#[derive(Default, Clone)]
pub struct Reference {
    tries: u32,
    lowest: Option<(f64, Responses)>,
}

pub fn reference_ns(window_ns: u64) -> u64 {
    REFERENCE_NS.min(REFERENCE_WINDOWS * window_ns)
}

/// A backlog of this part of the window is one, whatever time the bounds allow.
const WINDOW_PARTS: f64 = 4.0;

/// Reads the only trial of a record as a probe of an arm.
///
/// # Errors
/// There is no trial, or its samples cannot be read.
pub fn look(record: &Record, arm: usize, Sought { bounds, of, reference, processes }: Sought<'_>) -> Result<Looked> {
    let trial = record.trials.first().context("a probe has a trial")?;
    let names: Vec<String> = record.run.workload.transactions.iter().map(|t| t.name.clone()).collect();
    let writes: Vec<bool> = record.run.workload.transactions.iter().map(|t| t.write).collect();
    let tally = tally(record, trial, Counting::Corrected, &names);
    let row = TrialRow::new(trial, tally.as_ref().map_err(Clone::clone), &record.run, &writes);
    let load = &row.load;
    let mut probe = of_trial(record, trial, (arm, of), &row);
    probe.processes = processes(trial);
    let too_many = |tally: &Tally| bounds.iter().any(|of| of.is_of_failures() && failed(tally) > Some(of.most));
    if tally.as_ref().is_ok_and(too_many) {
        probe.failures = failures::of_trial(record)?;
        probe.found_none = tally.as_ref().is_ok_and(|tally| failures::found_none(&tally.counts(|_| true)));
    }
    let tally = match tally {
        Ok(tally) if row.is_valid() => tally,
        _ => {
            let reasons = row.reasons.iter().map(|reason| format!("{}: {}", reason.kind, reason.detail));
            probe.why = reasons.collect::<Vec<_>>().join("; ");
            probe.seen = Some(ProbeResult::NoValue);
            return Ok(Looked { probe, verdict: None, lacking: None, floor: None });
        }
    };
    let measured: Vec<Measured> = bounds.iter().map(|bound| of_bound(bound, &row, &tally, (&names, &writes))).collect();
    probe.committed_per_s = tally.throughput_per_s();
    probe.values = measured.iter().map(|of| of.value.unwrap_or(f64::NAN)).collect();
    probe.thirds = thirds(&tally.bins);
    let log = growth::log(&record.series(trial.slot.trial)?, tally.elapsed_ns());
    probe.log = log.growth;
    probe.speeds = of_parts(&tally.bins);
    probe.used = Some(Busy { checkpoints: log.checkpoints, ..used(&record.run, trial, &tally, &writes) });
    let counts = tally.counts(|_| true);
    let beyond = bounds.iter().filter_map(|bound| bound.metric.quantile()).map(|(_, of, _)| 1.0 - of.fraction());
    // The longest of all leaves out none, and would allow no operation that was due in the last moment.
    let beyond = beyond.filter(|part| *part > 0.0).fold(1.0, f64::min);
    let backlog = Backlog {
        // A closed loop has no backlog: its operations are due when their clients are free.
        thirds: probe.thirds.filter(|_| load.rate_per_s.is_some()),
        unsent: counts.outcome(Outcome::Unsent),
        room: f64::from(trial.clients).min(beyond * counts.planned() as f64),
        rate_per_s: load.rate_per_s.unwrap_or(0.0),
    };
    // A bound longer than the window would allow any backlog in it.
    let most_ns = time_ns(bounds).map(|ns| ns.min(tally.elapsed_ns() as f64 / WINDOW_PARTS));
    let mut verdict = judge(&measured, backlog, most_ns);
    if let Some(at) = probe.at() {
        let changed = reference.changed((record, trial), at, &names).filter(|_| verdict.seen() != ProbeResult::Misses);
        verdict = changed.as_ref().map_or(verdict, |_| Verdict::Differs);
        probe.seen = Some(verdict.seen());
        probe.differs = changed.is_some();
        probe.why = changed.unwrap_or_else(|| words(verdict, bounds, &measured, probe.thirds));
    }
    let lacking = if let Verdict::TooFew(at) = verdict { Some((measured[at].n, measured[at].needed)) } else { None };
    let floor = floor::measured(bounds, &tally, (&names, &writes));
    Ok(Looked { probe, verdict: Some(verdict), lacking, floor })
}

/// The probe before anything of its samples is known.
fn of_trial(record: &Record, trial: &Trial, (arm, of): (usize, &Of), row: &TrialRow) -> Probe {
    let axes = &record.run.study.conditions[trial.slot.condition].axes;
    Probe {
        trial: trial.slot.trial,
        arm,
        round: trial.slot.round,
        rate_per_s: row.load.rate_per_s,
        number: if of.is_rate() { None } else { axes.get(of.key()).and_then(|number| number.parse().ok()) },
        window_ns: row.load.window_ns,
        seen: None,
        why: String::new(),
        failures: String::new(),
        found_none: false,
        differs: false,
        disturbed: is_disturbed(&trial.marks),
        again: false,
        wrong: row.reasons.iter().any(|reason| reason.kind.is_of_work()),
        marks: trial.marks.iter().filter(|mark| !mark.is_disturbance()).cloned().collect(),
        committed_per_s: 0.0,
        values: vec![],
        thirds: None,
        log: None,
        speeds: None,
        used: None,
        processes: BTreeMap::new(),
    }
}

impl Reference {
    /// Whether it must be probed now: the answers of a closed loop may be such texts, too.
    pub fn is_due(&mut self) -> bool {
        let is_due = self.lowest.is_none() && self.tries < REFERENCES_MAX;
        self.tries += u32::from(is_due);
        is_due
    }

    /// How the answers of a service at a value differ from the reference, which they become if their value is lower.
    fn changed(&mut self, (record, trial): (&Record, &Trial), at: f64, names: &[String]) -> Option<String> {
        if !record.run.study.is_of_service() {
            return None;
        }
        let here = Responses::of_trials([trial]);
        match &self.lowest {
            Some((of, answers)) if *of <= at => responses::change([answers, &here], record.run.study.margin, names)
                .map(|how| format!("answers differ from those at the lowest load: {how}")),
            _ => {
                self.lowest = Some((at, here));
                None
            }
        }
    }
}

fn of_bound(bound: &Bound, row: &TrialRow<'_>, tally: &Tally, (names, writes): (&[String], &[bool])) -> Measured {
    let most = bound.most;
    let Some((measure, quantile, scope)) = bound.metric.quantile() else {
        let value = if bound.is_of_failures() { failed(tally) } else { bound.metric.of_trial(row, names) };
        return Measured { value, at_least: false, n: 1, needed: 1, most };
    };
    let (value, at_least, n) = of_quantile(tally, (measure, quantile, scope), writes);
    Measured { value, at_least, n, needed: quantile.needed(), most }
}

/// Share of started operations that failed. Operations that did not start are the backlog.
fn failed(tally: &Tally) -> Option<f64> {
    let counts = tally.counts(|_| true);
    let began = counts.planned() - counts.outcome(Outcome::Unsent);
    (began > 0).then(|| (began - counts.outcome(Outcome::Committed)) as f64 / began as f64)
}

fn of_quantile(
    tally: &Tally,
    (measure, quantile, scope): (Measure, Quantile, Scope),
    writes: &[bool],
) -> (Option<f64>, bool, u64) {
    let all = observations(&tally.latencies(|group| scope.holds(is_write(writes, group.transaction))), measure);
    match all.unchecked_quantile(quantile) {
        QuantileValue::Exact(ns) => (Some(ns as f64), false, all.len()),
        QuantileValue::AtLeast(ns) => (Some(ns as f64), true, all.len()),
        QuantileValue::TooFew { n, .. } => (None, false, n),
    }
}

/// `None` if a third has no operation.
fn thirds(bins: &[Bin]) -> Option<Thirds> {
    let third = bins.len() / 3;
    let median = |bins: &[Bin]| {
        let mut all = Histogram::new();
        bins.iter().for_each(|bin| all.merge(&bin.response));
        all.quantile(0.5)
    };
    Some(Thirds { first_ns: median(&bins[..third])?, last_ns: median(&bins[bins.len() - third..])? })
}

/// Fewest operations in a part of a window for its median to count.
const PART_OPERATIONS_MIN: u64 = 3;

/// The two speeds of a window with a fast and a slow part, if most of its parts have enough operations.
fn of_parts(bins: &[Bin]) -> Option<Speeds> {
    let counted = bins.iter().filter(|bin| bin.response.len() >= PART_OPERATIONS_MIN);
    let medians: Vec<f64> = counted.filter_map(|bin| bin.response.quantile(0.5)).map(|ns| ns as f64).collect();
    speeds(&medians).filter(|_| medians.len() * 2 > bins.len())
}

fn used(run: &Run, trial: &Trial, tally: &Tally, writes: &[bool]) -> Busy {
    let window_ns = tally.elapsed_ns().max(1) as f64;
    let window_s = window_ns / 1e9;
    let all = tally.latencies(|_| true);
    let writing = tally.latencies(|group| is_write(writes, group.transaction));
    let counts = tally.counts(|_| true);
    let of_writes = tally.counts(|group| is_write(writes, group.transaction));
    let server = trial.server.as_ref();
    let processes = trial.workers.len().max(1) as f64;
    let writes_per_s = of_writes.outcome(Outcome::Committed) as f64 / window_s;
    // Syncs are counted from the start of the clients to their end; those of the window are estimated from its commits.
    let per_commit = |syncs: &Syncs| syncs.count as f64 / syncs.commits.max(1) as f64;
    let syncs_per_s = server.and_then(|server| server.syncs).map(|syncs| per_commit(&syncs) * writes_per_s);
    let waits_for_each = (trial.tier == Tier::Durable && server.is_none()).then_some(writes_per_s);
    let waits = server.and_then(|server| server.lock_waits);
    let clients_ns = (run.study.load.run_in_ns + tally.last_finished_ns.saturating_sub(tally.window_start_ns)).max(1);
    Busy {
        // Transactions of a server run at the same time: only its waits for locks show that writers exclude one another.
        writing: (writing.lock_wait_measured && server.is_none())
            .then(|| writing.busy_ns.saturating_sub(writing.lock_wait_ns) as f64 / window_ns),
        waiting: (all.lock_wait_measured && server.is_none())
            .then(|| all.lock_wait_ns as f64 / all.busy_ns.max(1) as f64),
        clients: all.busy_ns as f64 / (window_ns * f64::from(trial.clients.max(1))),
        client_cpu: trial.workers.iter().map(|worker| worker.cpu_ns as f64).sum::<f64>() / window_ns,
        server_cpu: server.and_then(|server| server.cpu_ns).map(|ns| ns as f64 / window_ns),
        other_cpu: f64::from(trial.foreign_cpu_permille) / 1000.0 * f64::from(processors()),
        generator: own_ns(run, trial) as f64 * counts.planned() as f64 / (window_ns * processes),
        sync_ns: trial.fsync_ns_p50_before,
        syncs_per_s,
        writes_per_s,
        syncing: syncs_per_s.or(waits_for_each).map(|per_s| per_s * trial.fsync_ns_p50_before as f64 / 1e9),
        server_waits_per_s: waits.map(|waits| waits.count as f64 * 1e9 / clients_ns as f64),
        server_waiting: waits.map(|waits| waits.total_ns as f64 / clients_ns as f64),
        checkpoints: None,
        written_bytes_per_s: written_bytes(run, trial).map(|bytes| bytes as f64 / window_s),
    }
}

/// Bytes that clients and server wrote to storage in the window; of a service at an address only its own, because its clients
/// are no part of it.
fn written_bytes(run: &Run, trial: &Trial) -> Option<u64> {
    let of_server = trial.server.as_ref().and_then(|server| server.written_bytes);
    if run.study.is_of_service() {
        return of_server;
    }
    let of_clients: Option<u64> = trial.workers.iter().map(|worker| worker.written_bytes).sum();
    of_clients.map(|bytes| bytes + of_server.unwrap_or(0)).or(of_server)
}

/// Cost of an operation in the loop of the contender's worker, ns; the Rust worker's if this one was not measured.
fn own_ns(run: &Run, trial: &Trial) -> u64 {
    let condition = trial.slot.condition;
    let null = run.study.contenders[trial.slot.contender].resolved.overhead.as_ref();
    let measured = null.and_then(|null| run.overhead(condition, &null.driver));
    measured.map_or(run.overhead_ns_under(condition), |overhead| overhead.ns_per_operation)
}

fn words(verdict: Verdict, bounds: &[Bound], measured: &[Measured], thirds: Option<Thirds>) -> String {
    match verdict {
        Verdict::Meets | Verdict::Differs => String::new(),
        Verdict::Misses(at) => {
            let metric = &bounds[at].metric;
            let least = if measured[at].at_least { "at least " } else { "" };
            format!("{} {least}{}", metric.label(), metric.show_with_unit(measured[at].value.unwrap_or(f64::NAN)))
        }
        Verdict::Waiting(unsent) => {
            format!("backlog: {} had not begun at the end", counted(unsent as usize, "operation"))
        }
        Verdict::Grows => {
            let Thirds { first_ns, last_ns } = thirds.unwrap_or(Thirds { first_ns: 0, last_ns: 0 });
            let shown = |ns: u64| Unit::Ns.show(ns as f64);
            format!("the backlog grows: median response {} at first, {} at the end", shown(first_ns), shown(last_ns))
        }
        Verdict::NotMeasured(at) => format!("{} is not measured here; bound another metric", bounds[at].metric.label()),
        Verdict::TooFew(at) => {
            let (n, needed) = (measured[at].n, measured[at].needed);
            format!("{}: {n} operations, and it takes {needed}; use a longer --window", bounds[at].metric.label())
        }
    }
}
