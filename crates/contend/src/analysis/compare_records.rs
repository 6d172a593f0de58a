//! Comparison of two records: the same contender under the same condition, before and after.
//!
//! Rounds of two runs are not pairs: the ratio is the Hodges-Lehmann shift of the rounds' values with its exact
//! interval (`stats::shift`). It includes what else was different at the time of each run. There is no verdict where
//! machine, workload, data, load or tier differ.

use crate::analysis::cell::Cell;
use crate::analysis::estimate::Estimate;
use crate::analysis::metric::Metric;
use crate::analysis::responses::{self, Responses};
use crate::analysis::{Findings, compare, reported};
use crate::load::Arrivals;
use crate::record::model::{Disk, Mount, Program, Run};
use crate::stats::interval::MIN_ROUNDS;
use crate::stats::precision::{Ns, counted};
use crate::stats::shift;
use crate::stats::verdict::{self, Comparison, LnRatio, Verdict};
use crate::study::model::{Condition, Contender, Study, Variant};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Explanation of the method for readers.
pub const METHOD: &str = "Rounds of two runs are not pairs: the ratio is the median over all pairs of a round of B and a \
                      round of A, with the exact interval of that shift. A change of the machine between the runs \
                      would be part of it. Detectable is the smallest difference that would have been distinguished from none.";

/// Two records side by side; A is the baseline.
#[derive(Debug, Clone, Serialize)]
pub struct RecordComparison {
    pub a: RecordName,
    pub b: RecordName,
    pub method: &'static str,
    /// Name of the study's headline, which [`RecordComparison::fails_if_slower`] is about.
    pub headline: String,
    /// Why there are no verdicts; empty if the records are comparable.
    pub differences: Vec<String>,
    /// Programs with another version in B, settings for which connections reported another value, and other times of a
    /// sync if a record does not have its mount. They may be the question, so they do not prevent verdicts.
    pub changes: Vec<String>,
    pub rows: Vec<ComparedRow>,
    /// Files of A without a seal, by their paths in it; `not_sealed_in_b` those of B.
    pub not_sealed_in_a: Vec<String>,
    pub not_sealed_in_b: Vec<String>,
    /// The same in sentences.
    #[serde(skip)]
    pub said_not_sealed: Vec<String>,
    /// Missing, invalid and disturbed trials of either record.
    pub disturbances: Vec<String>,
    /// Cells that only A has; `only_in_b` those of B.
    pub only_in_a: Vec<String>,
    pub only_in_b: Vec<String>,
    /// Why nothing is compared; `None` if something is.
    pub hint: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct RecordName {
    pub study: String,
    pub variant: &'static str,
    pub started: String,
    pub contend: String,
}

/// One metric of one contender under one condition.
#[derive(Debug, Clone, Serialize)]
pub struct ComparedRow {
    pub condition: String,
    pub contender: String,
    pub label: String,
    pub tier: &'static str,
    #[serde(rename = "figure")]
    pub metric: String,
    /// Value over the whole run; `None` if not measured or not printable.
    pub value_a: Option<f64>,
    pub value_b: Option<f64>,
    pub rounds_a: usize,
    pub rounds_b: usize,
    /// B over A.
    pub comparison: Comparison,
    /// The metric, with the estimates of A and B.
    #[serde(skip)]
    pub of: Metric,
    #[serde(skip)]
    pub estimates: [Estimate; 2],
}

impl RecordComparison {
    /// Whether a check that nothing is slower fails: the headline of a contender is slower in B, or cannot be compared.
    pub fn fails_if_slower(&self) -> bool {
        self.rows.iter().any(|row| row.metric == self.headline && row.comparison.verdict.fails_if_slower())
    }
}

/// Compares B with A.
pub fn compare(a: &Findings<'_>, b: &Findings<'_>) -> RecordComparison {
    let differences = differences(a.run, b.run);
    let mut rows = vec![];
    let mut only_in_a = vec![];
    for cell in &a.cells {
        match partner(a, cell, b) {
            Some(other) => rows.extend(compare_cells((a, cell), (b, other), &differences)),
            None => only_in_a.push(name(a, cell)),
        }
    }
    let only_in_b = b.cells.iter().filter(|cell| partner(b, cell, a).is_none()).map(|cell| name(b, cell)).collect();
    let hint = if rows.is_empty() { drivers_differ(a, b).or_else(|| Some(nothing_in_common(a, b))) } else { None };
    RecordComparison {
        hint,
        a: record_name(a),
        b: record_name(b),
        method: METHOD,
        headline: a.study.headline.clone(),
        differences,
        changes: changes(a, b),
        not_sealed_in_a: reported::not_sealed(a),
        not_sealed_in_b: reported::not_sealed(b),
        said_not_sealed: [("A", a), ("B", b)].into_iter().flat_map(|(which, of)| not_sealed_of(which, of)).collect(),
        disturbances: [("A", a), ("B", b)].into_iter().flat_map(|(which, of)| trials_of(which, of)).collect(),
        rows,
        only_in_a,
        only_in_b,
    }
}

/// Files of a record without a seal, in sentences.
pub fn not_sealed_of(which: &str, findings: &Findings<'_>) -> Vec<String> {
    reported::said_not_sealed(findings).into_iter().map(|said| format!("{which}: {said}")).collect()
}

/// Trials of a record that are missing, invalid or disturbed, in words.
pub fn trials_of(which: &str, findings: &Findings<'_>) -> Vec<String> {
    let (there, due) = (findings.trials.len(), findings.run.schedule.len());
    let lost = findings.rows.iter().filter(|row| !row.is_valid()).count();
    let disturbed = reported::marked(findings).disturbed;
    let were = |n: usize| if n == 1 { "was" } else { "were" };
    let mut said = vec![];
    if there < due {
        said.push(format!("{which} has {there} of {}", counted(due, "trial")));
    }
    if lost > 0 {
        let count = if lost == 1 { "does" } else { "do" };
        said.push(format!("{lost} of {} of {which} {count} not count", counted(there, "trial")));
    }
    if disturbed > 0 {
        said.push(format!("{disturbed} of {} of {which} {} disturbed", counted(there, "trial"), were(disturbed)));
    }
    said
}

/// Facts that identify a contender's programs.
const VERSIONS: [&str; 3] = ["engine", "driver", "language"];

/// Label for the worker's program, shown as the beginning of its digest.
const WORKER: &str = "worker program (SHA-256)";

/// Medians of an fsync that differ by more than this factor may be those of two disks.
const OTHER_SYNCS: u64 = 2;

/// Values of these facts, and of settings that connections reported, by contender.
fn facts<'r>(record: &Findings<'r>) -> BTreeMap<(&'r str, &'r str), BTreeSet<&'r str>> {
    let mut found: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for trial in record.trials {
        let Some(contender) = record.study.contenders.get(trial.slot.contender) else { continue };
        let of_workers = trial.workers.iter().flat_map(|worker| &worker.hello).filter_map(|(name, value)| {
            let fact = VERSIONS.into_iter().find(|fact| fact == name)?;
            Some((fact, value.as_str()))
        });
        let of_server = trial.server.iter().map(|server| ("server", server.version.as_str()));
        let its = |program: &&Program| program.driver == contender.driver && program.worker == contender.worker;
        let digests = record.run.programs.iter().filter(its);
        let of_programs = digests.map(|program| (WORKER, program.sha256.get(..12).unwrap_or(&program.sha256)));
        let settings = trial.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (fact, value) in of_workers.chain(of_server).chain(of_programs).chain(settings) {
            found.entry((contender.name.as_str(), fact)).or_default().insert(value);
        }
    }
    found
}

/// Each change of a version or setting once, with its contenders, and other times of a sync.
fn changes(a: &Findings<'_>, b: &Findings<'_>) -> Vec<String> {
    let (of_a, of_b) = (facts(a), facts(b));
    let said = |values: &BTreeSet<&str>| values.iter().copied().collect::<Vec<_>>().join(" and ");
    let mut changes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for ((contender, fact), values) in &of_a {
        let Some(others) = of_b.get(&(*contender, *fact)).filter(|others| *others != values) else { continue };
        let change = format!("{fact}: {} in A, {} in B", said(values), said(others));
        changes.entry(change).or_default().push(contender);
    }
    let changes = changes.into_iter().map(|(change, of)| format!("{change} ({})", of.join("; ")));
    changes.chain(other_syncs(&a.run.disk, &b.run.disk)).collect()
}

fn record_name(findings: &Findings<'_>) -> RecordName {
    let run = findings.run;
    RecordName {
        study: run.study.name.clone(),
        variant: run.study.variant.word(),
        started: run.started.clone(),
        contend: run.contend.clone(),
    }
}

fn name(findings: &Findings<'_>, cell: &Cell) -> String {
    let study = &findings.study;
    let (contender, condition) = (&study.contenders[cell.contender].name, &study.conditions[cell.condition].label);
    if condition.is_empty() { contender.clone() } else { format!("{contender} ({condition})") }
}

/// The cell of the other record with the same contender, by its full name, and the same condition.
fn partner<'s>(mine: &Findings<'_>, cell: &Cell, other: &'s Findings<'_>) -> Option<&'s Cell> {
    let (study, theirs) = (&mine.study, &other.study);
    let contender = theirs.contenders.iter().position(|c| c.name == study.contenders[cell.contender].name)?;
    let condition = theirs.conditions.iter().position(|c| c.label == study.conditions[cell.condition].label)?;
    other.cell(condition, contender)
}

/// Why two runs as a whole are not comparable.
fn differences(a: &Run, b: &Run) -> Vec<String> {
    let mut found = vec![];
    let mut differ = |what: &str, a: String, b: String| {
        if a != b {
            found.push(format!("{what} differs: {a} in A, {b} in B"));
        }
    };
    differ("the processor", a.machine.cpu.clone(), b.machine.cpu.clone());
    differ("the number of cores", a.machine.cores.to_string(), b.machine.cores.to_string());
    differ("the memory", a.machine.memory_bytes.to_string(), b.machine.memory_bytes.to_string());
    differ("the kernel", a.machine.kernel.clone(), b.machine.kernel.clone());
    differ("the operating system", a.machine.os.clone(), b.machine.os.clone());
    differ("being virtual", a.machine.virtual_machine.to_string(), b.machine.virtual_machine.to_string());
    differ("the file system", a.disk.file_system.clone(), b.disk.file_system.clone());
    if let (Some(ma), Some(mb)) = (&a.disk.mount, &b.disk.mount) {
        // The name of a device can change with a restart, its model does not.
        if let (Some(ma), Some(mb)) = (&ma.model, &mb.model) {
            differ("the disk", ma.clone(), mb.clone());
        }
        differ("the mount", options(ma), options(mb));
        let in_kind = |mount: &Mount| if mount.no_sync.is_some() { "none" } else { "data is kept" }.to_string();
        differ("the effect of a sync", in_kind(ma), in_kind(mb));
    }
    differ("the workload (SHA-256)", short(&a.workload.sha256), short(&b.workload.sha256));
    differ("the data (SHA-256)", short(&a.workload.data_sha256), short(&b.workload.data_sha256));
    let rest = |run: &Run| run.workload.data.iter().skip(1).map(|data| short(&data.sha256)).collect::<Vec<_>>();
    differ("the data of further conditions (SHA-256)", rest(a).join(", "), rest(b).join(", "));
    let server = |run: &Run| run.instead.server.clone().unwrap_or_else(|| "contend's own".to_string());
    differ("the server", server(a), server(b));
    differ("the variant", a.study.variant.word().to_string(), b.study.variant.word().to_string());
    // Everything except the seed: a second run may draw the same load with another seed.
    let (la, lb) = (&a.study.load, &b.study.load);
    differ("the number of processes", or_own(la.processes), or_own(lb.processes));
    differ("the number of clients", or_own(la.clients), or_own(lb.clients));
    differ("the operations of a client", or_own(la.operations), or_own(lb.operations));
    differ("the window", time(la.window_ns), time(lb.window_ns));
    differ("the run-in", time(la.run_in_ns), time(lb.run_in_ns));
    differ("the drain", time(la.drain_ns), time(lb.drain_ns));
    differ("the rate", rate(la.rate_per_s), rate(lb.rate_per_s));
    differ("the spacing of arrivals", spacing(la.arrivals), spacing(lb.arrivals));
    differ("the operations drawn", la.cycle.to_string(), lb.cycle.to_string());
    differ("the scale", la.scale.to_string(), lb.scale.to_string());
    found
}

fn options(mount: &Mount) -> String {
    if mount.options.is_empty() { "defaults".to_string() } else { mount.options.join(",") }
}

/// Times of a sync that differ by more than their noise, if the disk or its mount may be another: older records do not
/// have the mount.
fn other_syncs(a: &Disk, b: &Disk) -> Option<String> {
    let (ns_a, ns_b) = (a.fsync_ns_p50, b.fsync_ns_p50);
    let is_unknown = a
        .mount
        .as_ref()
        .zip(b.mount.as_ref())
        .is_none_or(|(a, b)| (a.model.is_none() || b.model.is_none()) && a.source != b.source);
    (is_unknown && ns_a.max(ns_b) > OTHER_SYNCS * ns_a.min(ns_b)).then(|| {
        format!("fsync before the run, in median: {} in A, {} in B (perhaps another disk or mount)", Ns(ns_a), Ns(ns_b))
    })
}

fn or_own(count: Option<u32>) -> String {
    count.map_or("the workload's own".to_string(), |n| n.to_string())
}

fn rate(per_s: Option<f64>) -> String {
    per_s.map_or("as fast as possible".to_string(), |rate| format!("{rate}/s"))
}

fn spacing(arrivals: Arrivals) -> String {
    format!("{arrivals:?}").to_lowercase()
}

fn time(ns: u64) -> String {
    format!("{:?}", std::time::Duration::from_nanos(ns))
}

fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

fn compare_cells(a: (&Findings<'_>, &Cell), b: (&Findings<'_>, &Cell), differences: &[String]) -> Vec<ComparedRow> {
    let metrics = a.0.compared_metrics();
    metrics.iter().map(|metric| compare_metric(a, b, metric, differences)).collect()
}

/// Why two records are not compared of which one went on until its headline was known.
fn until(studies: [&Study; 2]) -> Option<String> {
    studies.iter().any(|study| study.until.is_some()).then(|| {
        "the rounds went on until the headline was known (--until), which the interval for two records does not allow for; run \
         again with --rounds"
            .to_string()
    })
}

fn compare_metric(
    (a, cell_a): (&Findings<'_>, &Cell),
    (b, cell_b): (&Findings<'_>, &Cell),
    metric: &Metric,
    differences: &[String],
) -> ComparedRow {
    let study = &a.run.study;
    let contender = &study.contenders[cell_a.contender];
    let tier_b = b.run.study.contenders[cell_b.contender].tier;
    let mut reasons = differences.to_vec();
    if contender.tier != tier_b {
        reasons.push(format!("tiers differ: {} in A, {tier_b} in B", contender.tier));
    }
    let condition_b = &b.run.study.conditions[cell_b.condition];
    reasons.extend(other_condition(&study.conditions[cell_a.condition], condition_b));
    reasons.extend(other_settings(contender, &b.run.study.contenders[cell_b.contender]));
    reasons.extend(until([&a.run.study, &b.run.study]));
    reasons.extend(compare::no_interval(&a.run.study, metric).or_else(|| compare::no_interval(&b.run.study, metric)));
    reasons.extend(nothing_whole((a, cell_a), metric, "A").or_else(|| nothing_whole((b, cell_b), metric, "B")));
    let arms = [(cell_a, "A"), (cell_b, "B")];
    reasons.extend(compare::not_the_same_work(&a.estimator(), arms, metric).filter(|_| !a.as_published()));
    let answers = [(Responses::of(&a.rows, cell_a), "A"), (Responses::of(&b.rows, cell_b), "B")];
    reasons.extend(responses::difference(answers, &a.estimator()).filter(|_| metric.is_of_work() && !a.as_published()));
    let values = [values(a, cell_a, metric), values(b, cell_b, metric)];
    let estimates = [a.estimator().estimate(cell_a, metric), b.estimator().estimate(cell_b, metric)];
    let mut comparison = judge(&values, study.variant, study.margin, metric, reasons);
    let asked = [(a, cell_a), (b, cell_b)].map(|(of, cell)| cell.kept_up_at(&of.rows));
    let is_published = study.variant == Variant::AsPublished;
    if metric.is_throughput() && !is_published && asked[0].is_some() && asked[0] == asked[1] {
        compare::as_asked(&mut comparison);
    }
    ComparedRow {
        condition: study.conditions[cell_a.condition].label.clone(),
        contender: contender.name.clone(),
        label: contender.label.clone(),
        tier: contender.tier.word(),
        metric: metric.name.clone(),
        value_a: estimates[0].value,
        value_b: estimates[1].value,
        rounds_a: cell_a.valid.len(),
        rounds_b: cell_b.valid.len(),
        comparison,
        of: metric.clone(),
        estimates,
    }
}

/// Difference of two conditions with the same label. A label leaves out the study's defaults, which may have changed.
fn other_condition(a: &Condition, b: &Condition) -> Option<String> {
    if (&a.profile, &a.axes) == (&b.profile, &b.axes) {
        return None;
    }
    let said = |condition: &Condition| {
        let profile = condition.profile.iter().map(|profile| format!("profile={profile}"));
        let axes = condition.axes.iter().map(|(axis, value)| format!("{axis}={value}"));
        let all: Vec<String> = profile.chain(axes).collect();
        if all.is_empty() { "nothing set".to_string() } else { all.join(", ") }
    };
    Some(format!("the condition differs: {} in A, {} in B", said(a), said(b)))
}

fn values(findings: &Findings<'_>, cell: &Cell, metric: &Metric) -> Vec<f64> {
    findings.estimator().rounds(cell, metric).into_iter().map(|(_, value)| value).collect()
}

/// Settings that are not in the names of the contenders: defaults that have changed.
fn other_settings(a: &Contender, b: &Contender) -> Option<String> {
    let (of_a, of_b) = (&a.resolved.settings, &b.resolved.settings);
    let changed = of_a.iter().filter_map(|(name, value)| {
        let other = of_b.get(name).filter(|other| *other != value)?;
        Some(format!("{name} is {value} in A, {other} in B"))
    });
    let changed: Vec<String> = changed.collect();
    (!changed.is_empty()).then(|| format!("settings differ: {}", changed.join(", ")))
}

/// Why a cell has no value to compare: its valid rounds are a biased choice, its quantile may not be printed, operations
/// were cut off, or a round has no value.
fn nothing_whole((findings, cell): (&Findings<'_>, &Cell), metric: &Metric, which: &str) -> Option<String> {
    let estimator = findings.estimator();
    let unprintable = || metric.quantile().and_then(|of| compare::unprintable(cell, of, which));
    let no_mean = || compare::no_mean(cell, metric, which);
    let lacks = || {
        let lacking = cell.valid.len() - estimator.rounds(cell, metric).len();
        let of = counted(cell.valid.len(), "round");
        (lacking > 0).then(|| format!("{lacking} of {of} of {which} have no value of {}", metric.label()))
    };
    compare::lost_rounds(&estimator, cell, which).or_else(unprintable).or_else(no_mean).or_else(lacks)
}

fn judge(
    [a, b]: &[Vec<f64>; 2],
    variant: Variant,
    margin: f64,
    metric: &Metric,
    mut reasons: Vec<String>,
) -> Comparison {
    let positive = a.iter().chain(b).all(|v| v.is_finite() && *v > 0.0) && !a.is_empty() && !b.is_empty();
    if !positive {
        reasons.push("a round has no value above zero".to_string());
    }
    let why_not = (!reasons.is_empty()).then(|| reasons.join("; "));
    let (center, interval) =
        if positive { (shift::log_shift(a, b), shift::log_shift_interval(a, b)) } else { (None, None) };
    let rounds = a.len().min(b.len());
    let ratio = LnRatio { center, interval, rounds };
    let mut comparison = verdict::judge(ratio, metric.direction, margin, why_not.as_deref());
    if why_not.is_none() && (rounds < MIN_ROUNDS || variant == Variant::AsPublished) {
        comparison.verdict = Verdict::NoWords;
    }
    comparison
}

/// The hint that no contender and condition of A is in B.
fn nothing_in_common(a: &Findings<'_>, b: &Findings<'_>) -> String {
    let names = |record: &Findings<'_>| -> BTreeSet<String> {
        record.study.contenders.iter().map(|contender| contender.name.clone()).collect()
    };
    let what = if names(a).is_disjoint(&names(b)) { "contender" } else { "contender under the same condition" };
    format!(
        "Nothing is compared: the two records have no {what} in common. Settings and the address of a service or server are part \
         of a contender."
    )
}

/// The hint if only the drivers differ: how to compare them.
fn drivers_differ(a: &Findings<'_>, b: &Findings<'_>) -> Option<String> {
    let of = |record: &Findings<'_>| -> BTreeMap<String, String> {
        record.study.contenders.iter().map(|c| (c.label.clone(), c.driver.clone())).collect()
    };
    let (of_a, of_b) = (of(a), of(b));
    let differ = |(label, driver): (&String, &String)| {
        let other = of_b.get(label).filter(|other| *other != driver)?;
        Some((driver.clone(), other.clone()))
    };
    let (first, second) = of_a.iter().find_map(differ)?;
    Some(format!(
        "The labels agree and the drivers differ ({first} in A, {second} in B), so no contender of A is one of B. One \
         run compares the two: contend run with --set driver={first},{second}."
    ))
}
