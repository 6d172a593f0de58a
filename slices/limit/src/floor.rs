//! Bounds below what an operation takes by itself, at any rate: by the pauses in its transaction, which are known before the
//! search, or by the fastest operation of a probe.

use crate::bound::Bound;
use crate::of::Of;
use crate::relax::ArmSetup;
use anyhow::{Result, bail};
use contend::analysis::tally::Tally;
use contend::analysis::trial::{Measure, Scope, is_write, observations};
use contend::trial::order::Order;
use contend::workload::{self, DrawRequest, TransactionSpec, Workload};
use contend_stats::precision::{Ns, Percent};
use contend_wire::plan::Step;

/// A quantile is certainly missed if this many times the share beyond it takes too long: arrivals are random.
const CLEARLY: f64 = 1.5;

/// One kind of transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    pub name: String,
    /// Its part of the operations, in any unit.
    pub weight: f64,
    /// Least time that one of its operations takes.
    pub least_ns: f64,
}

/// The kind of transaction because of which no rate meets a bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Floor {
    /// Index of the bound.
    pub bound: usize,
    pub name: String,
    pub least_ns: f64,
    /// Share of the bounded operations that are of such kinds.
    pub share: f64,
}

impl Floor {
    /// The end of a sentence about the kind.
    pub fn share_in_words(&self) -> String {
        format!("{} of the operations take longer than the bound", Percent(self.share))
    }
}

/// The first bound that no operation of too many can meet. `kinds` are those that a bound of this measure and scope counts.
pub fn floor(bounds: &[Bound], kinds: impl Fn(Measure, Scope) -> Vec<Kind>) -> Option<Floor> {
    bounds.iter().enumerate().find_map(|(at, bound)| {
        let (measure, quantile, scope) = bound.metric.quantile()?;
        let kinds = kinds(measure, scope);
        let all: f64 = kinds.iter().map(|kind| kind.weight).sum();
        let slow = || kinds.iter().filter(|kind| kind.weight > 0.0 && kind.least_ns > bound.most);
        let share = slow().map(|kind| kind.weight).sum::<f64>() / all;
        let most = slow().max_by(|a, b| a.weight.total_cmp(&b.weight))?;
        let is_missed = share > CLEARLY * (1.0 - quantile.fraction());
        is_missed.then(|| Floor { bound: at, name: most.name.clone(), least_ns: most.least_ns, share })
    })
}

/// By the fastest operations of a probe.
pub fn measured(bounds: &[Bound], tally: &Tally, (names, writes): (&[String], &[bool])) -> Option<Floor> {
    let kind = |measure, scope: Scope, number: usize| {
        let is_it = |of: u16| usize::from(of) == number && scope.holds(is_write(writes, of));
        let ended = observations(&tally.latencies(|group| is_it(group.transaction)), measure).ended;
        let (least_ns, _) = ended.iter().next()?;
        Some(Kind { name: names[number].clone(), weight: ended.len() as f64, least_ns: least_ns as f64 })
    };
    floor(bounds, |measure, scope| {
        let is_of_work = matches!(measure, Measure::Response | Measure::Service);
        (0..names.len()).filter(|_| is_of_work).filter_map(|number| kind(measure, scope, number)).collect()
    })
}

/// Rejects a search whose bound is below the pauses in its transactions.
///
/// # Errors
/// Such a bound, with the transaction and what to change, or a mistake in the workload.
pub fn check(order: &Order, places: &[ArmSetup], bounds: &[Bound], of: &Of) -> Result<()> {
    let [study] = order.whole.studies.as_slice() else { return Ok(()) };
    let parsed = workload::parse(&order.workloads[0])?;
    for ArmSetup { condition, .. } in places {
        let workload = workload::with_axes(&parsed, &condition.axes)?;
        // In a closed loop each role goes at its own pace.
        if !of.is_rate() && workload.roles.len() > 1 {
            continue;
        }
        let request = DrawRequest {
            seed: study.load.seed,
            scale: study.load.scale,
            profile: condition.profile.as_deref(),
            load: &study.load,
            axes: &condition.axes,
        };
        if let Some(floor) = planned(bounds, &workload, &workload.shares_of_arrivals(&request)?) {
            let under = if study.conditions.len() > 1 { format!(", under {}", condition.label) } else { String::new() };
            let least = Ns(floor.least_ns as u64);
            bail!(
                "study {}: no rate meets {}{under}: transaction `{}` waits for {least} in its own steps (hold, pause, every), and \
                 {}; bound more than {least}, or shorten these waits{}",
                study.name,
                bounds[floor.bound].text,
                floor.name,
                floor.share_in_words(),
                if is_shorter(&parsed, &floor) { " (--set load=short)" } else { "" }
            );
        }
    }
    Ok(())
}

/// Whether the workload of a capture has a load in which the transaction waits less.
fn is_shorter(workload: &Workload, floor: &Floor) -> bool {
    let load = "load".to_string();
    let short = || workload::with_axes(workload, &[(load.clone(), "short".to_string())].into()).ok();
    let waits = |of: &Workload| of.transactions.iter().find(|of| of.name == floor.name).map(waits_ns);
    workload.presets.contains(&load) && short().and_then(|of| waits(&of)).is_some_and(|ns| (ns as f64) < floor.least_ns)
}

/// By the pauses in the transactions.
fn planned(bounds: &[Bound], workload: &Workload, shares: &[f64]) -> Option<Floor> {
    let all = workload.transactions.iter().zip(shares);
    floor(bounds, |measure, scope| {
        let counts = matches!(measure, Measure::Response | Measure::Service);
        let counted = all.clone().filter(|(transaction, _)| counts && scope.holds(transaction.writes));
        let kind = |(transaction, share): (&TransactionSpec, &f64)| Kind {
            name: transaction.name.clone(),
            weight: *share,
            least_ns: waits_ns(transaction) as f64,
        };
        counted.map(kind).collect()
    })
}

fn waits_ns(transaction: &TransactionSpec) -> u64 {
    let of_step = |step: &Step| match step {
        Step::Hold { ns } | Step::Pause { ns } => *ns,
        Step::Sql(_) | Step::Http(_) | Step::Connect => 0,
    };
    transaction.steps.iter().map(of_step).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::bounds;

    fn found(bound: &str, kinds: &[(&str, f64, f64)]) -> Option<Floor> {
        let kind = |&(name, weight, least_ns): &(&str, f64, f64)| Kind { name: name.to_string(), weight, least_ns };
        floor(&bounds(&[bound.to_string()]).unwrap(), |_, _| kinds.iter().map(kind).collect())
    }

    #[test]
    fn a_bound_is_too_low_if_too_many_operations_take_longer_by_themselves() {
        let kinds = |share: f64| [("read", 1.0 - share, 0.0), ("write", share, 9e6)];
        let floor = Floor { bound: 0, name: "write".to_string(), least_ns: 9e6, share: 0.25 };
        assert_eq!(found("response_ns_p99<=1ms", &kinds(0.25)), Some(floor));
        assert_eq!(found("response_ns_p99<=10ms", &kinds(0.25)), None);
        assert_eq!(found("response_ns_p99<=9ms", &kinds(0.25)), None, "it can just be met");
        assert_eq!(found("response_ns_p50<=1ms", &kinds(0.25)), None, "half of the operations are fast");
        assert_eq!(found("response_ns_p99<=1ms", &kinds(0.014)), None, "chance decides");
        assert_eq!(found("response_ns_p99<=1ms", &kinds(0.0)), None, "there is none");
        assert_eq!(found("failed<=1%", &kinds(1.0)), None);
        assert_eq!(found("response_ns_p99<=1ms", &[]), None);
    }
}
