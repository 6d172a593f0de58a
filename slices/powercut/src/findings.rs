//! Findings about crashes: for each condition and contender, the results of all rounds.

use crate::keys::{NAME, Wanted};
use crate::results::{Crashes, Powercut};
use contend::analysis::Findings;
use contend::analysis::kind::Analysis;
use contend::analysis::metric::table::Row;
use contend::contender::Tier;
use contend::outcome::reason::crashes_count;
use contend::record::model::Trial;
use contend::record::recorded::Recorded;
use contend::stats::unit::Unit;
use std::any::Any;

/// The findings of this kind.
pub const ANALYSIS: Analysis = Analysis { kind: NAME, findings };

/// The metrics of this kind.
pub fn metrics() -> Vec<Row> {
    let label = "syncs per commit, as the recorder of a power cut counts them";
    vec![Row::of_trial_only("recorded_syncs_per_commit", Unit::Plain, label, |row| {
        let found = row.of_kind::<Powercut>(NAME).filter(|found| found.acknowledged > 0)?;
        Some(found.syncs as f64 / found.acknowledged as f64)
    })]
}

/// Findings of all crashes of a run.
pub struct Survived {
    /// Real kills that the study requires.
    pub kills: u32,
    /// In the order of conditions and contenders, without contenders that no trial crashed.
    pub shown: Vec<Shown>,
}

/// Findings of a contender's crashes under a condition, over all rounds.
pub struct Shown {
    pub condition: usize,
    pub contender: usize,
    /// Trials with their results; empty if the crashes of none of its trials count.
    pub found: Vec<(u32, Powercut)>,
    /// Whether a control did not hold.
    pub contradicted: bool,
}

impl Survived {
    pub fn of<'f>(findings: &'f Findings<'_>) -> Option<&'f Self> {
        findings.of_kind()
    }

    pub fn under(&self, condition: usize) -> impl Iterator<Item = &Shown> {
        self.shown.iter().filter(move |one| one.condition == condition)
    }
}

impl Shown {
    pub fn sum(&self, of: impl Fn(&Powercut) -> Crashes) -> Crashes {
        let each: Vec<Crashes> = self.found.iter().map(|(_, found)| of(found)).collect();
        Crashes::sum(&each)
    }

    pub fn not_verified(&self) -> Option<&str> {
        self.found.iter().find_map(|(_, found)| found.not_verified.as_deref())
    }

    /// The worst tier of all rounds; `None` if no power was cut.
    pub fn reached(&self) -> Option<Tier> {
        let reached: Option<Vec<Tier>> = self.found.iter().map(|(_, found)| found.reached()).collect();
        Tier::ALL.into_iter().rev().find(|tier| reached.as_ref().is_some_and(|all| all.contains(tier)))
    }
}

fn findings(record: &dyn Recorded) -> Box<dyn Any> {
    let study = &record.run().study;
    let kills = Wanted::of(study).map_or(0, |wanted| wanted.kills);
    let places =
        (0..study.conditions.len()).flat_map(|condition| (0..study.contenders.len()).map(move |at| (condition, at)));
    let of = |(condition, contender): (usize, usize)| {
        let here = |trial: &&Trial| trial.slot.contender == contender && trial.slot.condition == condition;
        let mine = || record.trials().iter().filter(here).filter(|trial| trial.has_sequel(study));
        let counting = mine().filter(|trial| crashes_count(&trial.invalid));
        let found: Vec<_> = counting.filter_map(|t| Some((t.slot.trial, Powercut::of(t)?))).collect();
        let left_out = mine().any(|trial| !crashes_count(&trial.invalid));
        let contradicted = found.iter().any(|(_, found)| found.controls.iter().any(|control| !control.holds));
        (!found.is_empty() || left_out).then_some(Shown { condition, contender, found, contradicted })
    };
    Box::new(Survived { kills, shown: places.filter_map(of).collect() })
}
