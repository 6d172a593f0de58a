//! Metrics that contenders are compared by: those of the table, and a study's own, which are formulas.
//!
//! A name may end in `.read` or `.write`: the metric of these transactions only.

pub mod name;
pub mod table;

use crate::analysis::formula::Formula;
use crate::analysis::metric::name::Name;
use crate::analysis::metric::table::{Of, Part, Row, Stat, Work};
use crate::analysis::trial::{Measure, Scope, TrialRow};
pub use crate::stats::precision::plain;
use crate::stats::quantile::Quantile;
use crate::stats::unit::{Unit, show_per};
use crate::stats::verdict::Direction;
use crate::study::model::{OwnMetric, Study};

#[derive(Debug, Clone)]
pub enum What {
    Listed(&'static Row, Scope),
    Own(Formula),
}

/// A metric of the table, or of the study.
#[derive(Debug, Clone)]
pub struct Metric {
    pub name: String,
    pub what: What,
    pub unit: Unit,
    /// Divisor in words, such as `operation`; empty without one.
    pub per: String,
    pub direction: Direction,
}

/// The metric of this name; `None` if neither the table nor the study has it.
pub fn find(study: &Study, name: &str) -> Option<Metric> {
    if let Some(own) = study.metrics.iter().find(|own| own.name == name) {
        let formula = Formula::parse(&own.value).ok()?;
        let unit = if own.unit == Unit::Plain && counts(&formula, &own.value) { Unit::Count } else { own.unit };
        let direction = if own.higher_is_better { Direction::HigherIsBetter } else { Direction::LowerIsBetter };
        return Some(Metric {
            name: name.to_string(),
            what: What::Own(formula),
            unit,
            per: own.per.clone(),
            direction,
        });
    }
    listed(name)
}

/// Whether a formula only adds up operations, or rounds to whole numbers.
fn counts(formula: &Formula, text: &str) -> bool {
    if formula.is_whole() && !formula.names().is_empty() {
        return true;
    }
    let operations = |name: &str| matches!(Name::read(name), Ok(Name::Listed(row, _)) if row.counts_operations());
    !text.contains(['*', '/', '-']) && !formula.names().is_empty() && formula.names().into_iter().all(operations)
}

/// A metric that every study has.
pub fn listed(name: &str) -> Option<Metric> {
    let Ok(Name::Listed(row, Part::Kind(scope))) = Name::read(name) else { return None };
    let what = What::Listed(row, scope);
    Some(Metric { name: name.to_string(), what, unit: row.unit, per: String::new(), direction: row.better? })
}

/// Whether there is a metric of this name to compare contenders by.
pub fn exists(own: &[OwnMetric], name: &str) -> bool {
    own.iter().any(|metric| metric.name == name) || listed(name).is_some()
}

impl Metric {
    /// As a heading: `throughput`, `p99 response time of writes`.
    pub fn label(&self) -> String {
        match &self.what {
            What::Listed(row, scope) => format!("{}{}", row.label, scope.of()),
            What::Own(_) => self.name.replace('_', " "),
        }
    }

    /// The quantile it is, if it is one.
    pub fn quantile(&self) -> Option<(Measure, Quantile, Scope)> {
        match self.what {
            What::Listed(Row { of: Of::Time(measure, Stat::Quantile(quantile)), .. }, scope) => {
                Some((*measure, *quantile, scope))
            }
            _ => None,
        }
    }

    /// Times of which it, or its formula, uses a mean. For a mean of one transaction the scope is all of them.
    pub fn means(&self) -> Vec<(Measure, Scope)> {
        let of_name = |name: &str| match Name::read(name).ok()? {
            Name::Listed(Row { of: Of::Time(measure, Stat::Mean), .. }, Part::Kind(scope)) => Some((*measure, scope)),
            Name::Listed(Row { of: Of::Time(measure, Stat::Mean), .. }, _) => Some((*measure, Scope::All)),
            _ => None,
        };
        match &self.what {
            What::Own(formula) => formula.names().into_iter().filter_map(of_name).collect(),
            What::Listed(Row { of: Of::Time(measure, Stat::Mean), .. }, scope) => vec![(*measure, *scope)],
            What::Listed(..) => vec![],
        }
    }

    /// Whether it is the number of operations per second, of all or of one kind.
    pub fn is_throughput(&self) -> bool {
        matches!(&self.what, What::Listed(row, _) if matches!(row.of, Of::Throughput))
    }

    /// Whether it is a rate or a time of finished work. A study's own metric that also counts failures is not: failures
    /// are then its subject.
    pub fn is_of_work(&self) -> bool {
        match &self.what {
            What::Listed(row, _) => row.work == Work::Done,
            What::Own(formula) => {
                let names = formula.names().into_iter().filter_map(|name| Name::read(name).ok());
                let work: Vec<Work> = names.map(|name| name.work()).collect();
                work.contains(&Work::Done) && !work.contains(&Work::NotDone)
            }
        }
    }

    /// The value as in tables. A study's own metric has its unit in its heading.
    pub fn show(&self, value: f64) -> String {
        match self.what {
            What::Own(_) if self.unit != Unit::Count => plain(value),
            _ => self.unit.show(value),
        }
    }

    pub fn show_with_unit(&self, value: f64) -> String {
        match self.what {
            What::Own(_) => show_per(self.unit, &self.per, value),
            What::Listed(..) => self.unit.show(value),
        }
    }

    /// The metric in one trial; `None` if it was not measured there.
    pub fn of_trial(&self, row: &TrialRow<'_>, transactions: &[String]) -> Option<f64> {
        row.measured.as_ref()?;
        match &self.what {
            What::Listed(listed, scope) => listed.of_trial(Part::Kind(*scope), row, transactions),
            What::Own(formula) => formula.value(&|name| Name::read(name).ok()?.of_trial(name, row, transactions)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_that_are_only_added_up_are_shown_one_by_one() {
        let is_count = |text: &str| counts(&Formula::parse(text).unwrap(), text);
        assert!(is_count("conflict + timeout") && is_count("planned.read"));
        assert!(is_count("17 - min(17, floor(17 * conflict / planned + 0.999))"));
        for text in [
            "100 * conflict",
            "conflict / planned",
            "elapsed_s",
            "1",
            "longest_stall_ns",
            "planned - committed",
            "0.5 * floor(planned)",
        ] {
            assert!(!is_count(text), "{text}");
        }
    }

    #[test]
    fn metrics_to_compare_by_have_a_direction_and_some_have_kinds() {
        for row in table::TABLE.iter() {
            assert_eq!(listed(&row.name).is_some(), row.better.is_some(), "{}", row.name);
            let limited = row.better.is_some() && row.dot != table::Dot::Nothing;
            assert_eq!(listed(&format!("{}.write", row.name)).is_some(), limited, "{}", row.name);
        }
        for name in ["response_ns", "response_ns_p42", "response_ns_p99.reads", "throughput", "", ".read"] {
            assert!(listed(name).is_none(), "{name}");
        }
    }
}
