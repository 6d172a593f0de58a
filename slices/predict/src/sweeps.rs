//! Sweeps of a record: each contender's values along an axis of clients, processes or arrivals.

use contend::analysis::Findings;
use contend::analysis::axis::{Row, rows};
use contend::analysis::cell::Cell;
use contend::analysis::compare::lost_rounds;
use contend::analysis::trial::{Measure, Scope, TrialRow};
use contend::load::PROCESSORS;
use contend::outcome::Outcome;
use contend::study::model::{Contender, Tier};
use contend_laws::choose::{Point, Sweep};
use contend_laws::mechanism::Measured;
use contend_stats::interval::median;
use serde::Serialize;

/// Quantity on the axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Clients in a closed loop; the value is the throughput.
    Clients,
    /// Processors that a trial may use, in a closed loop; the value is the throughput.
    Processors,
    /// Arrivals per second in an open loop; the value is the mean response time in seconds.
    Rate,
}

/// The same contender with one setting changed so that it waits for fewer syncs.
pub struct Relaxed {
    pub label: String,
    /// Largest number of clients that both have.
    pub clients: f64,
    pub throughput_per_s: f64,
}

/// A number that was measured and has no value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Excluded {
    pub at: f64,
    pub why: &'static str,
}

/// One contender along one axis.
pub struct Subject {
    pub study: String,
    pub contender: String,
    /// Position of the contender in the study, and of the condition of the last point.
    pub contender_at: usize,
    pub largest: usize,
    /// Part of the condition that all points share; may be empty.
    pub common: String,
    pub kind: Kind,
    pub sweep: Sweep,
    pub points: Vec<Point>,
    /// Numbers that were measured and have no value, in ascending order.
    pub excluded: Vec<Excluded>,
    pub measured: Measured,
    pub relaxed: Vec<Relaxed>,
    pub seed: u64,
}

/// All sweeps of a record or part.
pub fn subjects(findings: &Findings<'_>) -> Vec<Subject> {
    let rows = rows(&findings.study.conditions);
    let contenders = 0..findings.study.contenders.len();
    let of_row = |row: &Row| {
        let kind = match row.axis.as_str() {
            "clients" | "processes" => Kind::Clients,
            "rate_per_s" => Kind::Rate,
            PROCESSORS => Kind::Processors,
            _ => return vec![],
        };
        contenders.clone().filter_map(|contender| subject(findings, row, contender, kind)).collect::<Vec<_>>()
    };
    rows.iter().flat_map(of_row).collect()
}

fn subject(findings: &Findings<'_>, row: &Row, contender: usize, kind: Kind) -> Option<Subject> {
    let study = findings.study;
    let (points, conditions): (Vec<Point>, Vec<usize>) = points(findings, row, contender, kind).into_iter().unzip();
    if points.len() < 2 {
        return None;
    }
    let largest = *conditions.last()?;
    let fixed = study.conditions[largest].axes.get(PROCESSORS).and_then(|number| number.parse().ok());
    let sweep = match kind {
        Kind::Clients => Sweep::Closed { processors: fixed.unwrap_or(findings.circumstances.cores as u32) },
        Kind::Processors => Sweep::Processors { clients: clients(findings, row, contender)? },
        Kind::Rate => Sweep::Open,
    };
    let name = study.part.as_ref().map_or(study.name.clone(), |part| format!("{}, part {part}", study.name));
    Some(Subject {
        study: name,
        contender: study.contenders[contender].label.clone(),
        contender_at: contender,
        largest,
        common: row.common.clone(),
        kind,
        sweep,
        measured: measured(findings, row, contender),
        excluded: excluded(findings, row, contender, kind),
        relaxed: if kind == Kind::Clients { relaxed(findings, row, contender, &points) } else { vec![] },
        points,
        seed: study.load.seed,
    })
}

/// Points in ascending order, each with the position of its condition; only those with valid trials.
fn points(findings: &Findings<'_>, row: &Row, contender: usize, kind: Kind) -> Vec<(Point, usize)> {
    let point = |(x, condition): &(f64, usize)| {
        let cell = findings.cell(*condition, contender).filter(|cell| !is_choice(findings, cell))?;
        Some((point(findings, *x, cell, kind)?, *condition))
    };
    let mut points: Vec<(Point, usize)> = row.conditions.iter().filter_map(point).collect();
    points.sort_by(|(a, _), (b, _)| a.x.total_cmp(&b.x));
    points
}

/// Numbers whose trials were all invalid, and rates at which operations never began or were cut off: the mean of the others is
/// too small.
fn excluded(findings: &Findings<'_>, row: &Row, contender: usize, kind: Kind) -> Vec<Excluded> {
    let of = |(x, condition): &(f64, usize)| {
        let cell = findings.cell(*condition, contender)?;
        let Some(first) = valid(findings, cell).next() else {
            let first = &findings.rows[*cell.invalid.first()?];
            let at = if kind == Kind::Clients { f64::from(first.clients()) } else { *x };
            return Some(Excluded { at, why: "no valid trial" });
        };
        if is_choice(findings, cell) {
            return Some(Excluded { at: *x, why: "rounds that do not count because of their speed" });
        }
        let is_behind = kind == Kind::Rate && first.load_model() == "open" && !has_mean(cell);
        is_behind.then_some(Excluded { at: *x, why: "did not keep up" })
    };
    let mut excluded: Vec<Excluded> = row.conditions.iter().filter_map(of).collect();
    excluded.sort_by(|a, b| a.at.total_cmp(&b.at));
    excluded
}

/// Whether the valid rounds of a cell are a biased choice.
fn is_choice(findings: &Findings<'_>, cell: &Cell) -> bool {
    lost_rounds(&findings.estimator(), cell, "").is_some()
}

fn has_mean(cell: &Cell) -> bool {
    cell.has_mean(Measure::Response, Scope::All)
}

/// Clients of a sweep over something else.
fn clients(findings: &Findings<'_>, row: &Row, contender: usize) -> Option<u32> {
    let cells = row.conditions.iter().filter_map(|(_, condition)| findings.cell(*condition, contender));
    cells.flat_map(|cell| valid(findings, cell)).map(TrialRow::clients).next()
}

/// The median of a contender under the first condition of a record.
pub fn measured_at(findings: &Findings<'_>, contender: usize, kind: Kind) -> Option<f64> {
    point(findings, 0.0, findings.cell(0, contender)?, kind)?.median()
}

fn valid<'f>(findings: &'f Findings<'_>, cell: &'f Cell) -> impl Iterator<Item = &'f TrialRow<'f>> {
    cell.valid.iter().map(|at| &findings.rows[*at])
}

fn values(findings: &Findings<'_>, cell: &Cell, metric: &str) -> Vec<(u32, f64)> {
    findings.metric(metric).map(|metric| findings.estimator().rounds(cell, &metric)).unwrap_or_default()
}

fn middle(values: &[(u32, f64)]) -> Option<f64> {
    median(&values.iter().map(|(_, value)| *value).collect::<Vec<_>>())
}

fn point(findings: &Findings<'_>, x: f64, cell: &Cell, kind: Kind) -> Option<Point> {
    let first = valid(findings, cell).next()?;
    let cpu_s = values(findings, cell, "cpu_ns_per_operation").into_iter().map(|(round, ns)| (round, ns / 1e9));
    let cpu_s = cpu_s.filter(|(_, cpu_s)| *cpu_s > 0.0).collect();
    let (x, rounds) = match (kind, first.load_model()) {
        (Kind::Clients, "closed") => (f64::from(first.clients()), values(findings, cell, "throughput_ops_per_s")),
        (Kind::Processors, "closed") => (x, values(findings, cell, "throughput_ops_per_s")),
        (Kind::Rate, "open") if has_mean(cell) => {
            let rounds = values(findings, cell, "response_ns_mean");
            (x, rounds.into_iter().map(|(round, ns)| (round, ns / 1e9)).collect())
        }
        _ => return None,
    };
    let rounds: Vec<(u32, f64)> = rounds.into_iter().filter(|(_, value)| *value > 0.0).collect();
    (!rounds.is_empty()).then_some(Point { x, rounds, cpu_s })
}

/// Measurements to compare the parameters of a law with. Uncontended times are those with one client.
fn measured(findings: &Findings<'_>, row: &Row, contender: usize) -> Measured {
    let cells = || row.conditions.iter().filter_map(|(_, condition)| findings.cell(*condition, contender));
    let rows = || cells().flat_map(|cell| valid(findings, cell));
    let syncs: Vec<f64> = rows().map(|row| row.fsync_ns_before() as f64 / 1e9).filter(|s| *s > 0.0).collect();
    let alone = cells().find(|cell| valid(findings, cell).next().is_some_and(|row| row.clients() == 1));
    let of_alone = |metric: &str| alone.and_then(|cell| middle(&values(findings, cell, metric))).map(|ns| ns / 1e9);
    let writes = writes(rows());
    // In a weaker tier commits do not wait for the disk.
    let waits = findings.study.contenders[contender].tier == Tier::Durable;
    // The time for which a lock is held is known only if the driver measures waits for locks.
    let held_s = of_alone("service_ns_mean.write").zip(of_alone("lock_wait_ns_mean.write"));
    Measured {
        sync_s: median(&syncs).filter(|_| waits),
        writes,
        cpu_alone_s: of_alone("cpu_ns_per_operation"),
        held_s: held_s.map(|(service_s, waited_s)| (service_s - waited_s) * writes),
    }
}

/// Share of writes among the committed operations.
fn writes<'f>(rows: impl Iterator<Item = &'f TrialRow<'f>>) -> f64 {
    let (mut writing, mut all) = (0, 0);
    for measured in rows.filter_map(|row| row.measured.as_ref()) {
        writing += measured.counts_of(|group| group.write).outcome(Outcome::Committed);
        all += measured.counts.outcome(Outcome::Committed);
    }
    if all == 0 { 0.0 } else { writing as f64 / all as f64 }
}

fn relaxed(findings: &Findings<'_>, row: &Row, contender: usize, points: &[Point]) -> Vec<Relaxed> {
    let contenders = &findings.study.contenders;
    let waits_less = |other: &usize| only_waits_less(&contenders[contender], &contenders[*other]);
    let of = |other: usize| {
        let theirs = self::points(findings, row, other, Kind::Clients);
        let (last, _) = theirs.iter().rev().find(|(theirs, _)| points.iter().any(|ours| ours.x == theirs.x))?;
        Some(Relaxed { label: contenders[other].label.clone(), clients: last.x, throughput_per_s: last.median()? })
    };
    (0..contenders.len()).filter(waits_less).filter_map(of).collect()
}

/// Whether the second contender differs from the first, a durable one, in one setting that makes it promise less.
fn only_waits_less(durable: &Contender, other: &Contender) -> bool {
    let same_client =
        (&durable.engine, &durable.driver, &durable.model) == (&other.engine, &other.driver, &other.model);
    let (ours, theirs) = (&durable.resolved.settings, &other.resolved.settings);
    let differing = ours.iter().filter(|(key, value)| theirs.get(*key) != Some(value)).count();
    let promises_less = durable.tier == Tier::Durable && matches!(other.tier, Tier::Bounded | Tier::Unsafe);
    same_client && promises_less && differing == 1 && ours.len() == theirs.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend::outcome::reason::{Invalid, Reason};
    use contend::record::store::Record;
    use std::path::Path;

    /// Two contenders, durable and bounded, with 2 clients in the first round, 4 in the second, and 8 that were never measured.
    fn record() -> Record {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/records/format-3");
        let mut record = Record::open(&dir).expect("a fixture");
        let first = record.run.study.conditions[0].clone();
        let of = |clients: u32| {
            let mut condition = first.clone();
            condition.label = format!("{clients} clients, 1 processor");
            condition.axes.extend([("clients", clients), (PROCESSORS, 1)].map(|(a, n)| (a.to_string(), n.to_string())));
            condition
        };
        record.run.study.conditions = [2, 4, 8].map(of).to_vec();
        for trial in record.trials.iter_mut().filter(|trial| trial.slot.round == 2) {
            (trial.slot.condition, trial.clients) = (1, 4);
        }
        record
    }

    #[test]
    fn a_subject_has_the_condition_of_its_last_point_and_the_processors_of_its_conditions() {
        let record = record();
        let subjects = subjects(&Findings::new(&record));
        let durable = subjects.iter().find(|subject| subject.contender_at == 0).expect("a sweep");
        assert_eq!(durable.points.iter().map(|point| point.x).collect::<Vec<_>>(), [2.0, 4.0]);
        assert_eq!((durable.largest, durable.sweep), (1, Sweep::Closed { processors: 1 }));
    }

    #[test]
    fn a_number_without_a_valid_trial_is_kept_and_nothing_is_predicted_from_there() {
        let mut record = record();
        let third = record.trials.iter().filter(|trial| trial.slot.round == 2).cloned().collect::<Vec<_>>();
        for mut trial in third {
            (trial.slot.round, trial.slot.condition, trial.clients) = (3, 2, 8);
            trial.invalid = vec![Reason { kind: Invalid::ServerDied, detail: String::new(), against: None }];
            record.trials.push(trial);
        }
        let subjects = subjects(&Findings::new(&record));
        let durable = subjects.iter().find(|subject| subject.contender_at == 0).expect("a sweep");
        assert_eq!(durable.excluded, [Excluded { at: 8.0, why: "no valid trial" }]);
        let ask = crate::prediction::Ask { at: &[6.0, 8.0, 16.0], bound_s: None };
        let prediction = crate::prediction::of_sweep(durable, &ask);
        let why = |at: usize| prediction.predictions[at].why.clone();
        assert!(!why(0).contains("no valid trial") && why(1).contains("no valid trial at 8"), "{}", why(1));
        assert_eq!(why(1), why(2));
        assert!(crate::text::text(&[prediction]).contains("8: no valid trial"));
    }

    #[test]
    fn only_a_durable_contender_waits_for_syncs() {
        let record = record();
        let subjects = subjects(&Findings::new(&record));
        let sync_s = |at: usize| subjects.iter().find(|of| of.contender_at == at).expect("a sweep").measured.sync_s;
        assert!(sync_s(0).is_some_and(|sync_s| sync_s > 0.0) && sync_s(1).is_none());
    }
}
