//! Conditions along an axis of numbers: clients, databases, arrivals.

use crate::study::model::Condition;
use std::collections::BTreeSet;

/// An axis that follows another: each client's share of a fixed number of operations.
const FOLLOWS: &str = "operations_each";

/// Conditions that differ only in one axis of numbers, as (value, index).
pub struct Row {
    pub axis: String,
    /// What the conditions have in common, in words; may be empty.
    pub common: String,
    pub conditions: Vec<(f64, usize)>,
}

/// Every axis of numbers with the conditions along it.
pub fn rows(conditions: &[Condition]) -> Vec<Row> {
    let axes: BTreeSet<&String> = conditions.iter().flat_map(|condition| condition.axes.keys()).collect();
    let axes = axes.into_iter().filter(|axis| *axis != FOLLOWS);
    let mut found: Vec<Row> = vec![];
    for axis in axes {
        let number = |condition: &Condition| condition.axes.get(axis)?.parse::<f64>().ok().filter(|x| x.is_finite());
        let mut seen: Vec<(Condition, Row)> = vec![];
        for (index, condition) in conditions.iter().enumerate() {
            let Some(x) = number(condition) else { continue };
            let mut rest = condition.clone();
            rest.label.clear();
            rest.axes.remove(axis);
            rest.axes.remove(FOLLOWS);
            match seen.iter_mut().find(|(other, _)| *other == rest) {
                Some((_, row)) => row.conditions.push((x, index)),
                None => {
                    let common = in_common(&rest, conditions);
                    seen.push((rest, Row { axis: axis.clone(), common, conditions: vec![(x, index)] }));
                }
            }
        }
        found.extend(seen.into_iter().map(|(_, row)| row).filter(|row| row.conditions.len() > 1));
    }
    for row in &mut found {
        row.conditions.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    found
}

/// Profile and axes that differ elsewhere in the study.
fn in_common(rest: &Condition, all: &[Condition]) -> String {
    let profile = rest.profile.iter().filter(|_| all.iter().any(|other| other.profile != rest.profile)).cloned();
    let varies = |name: &str, value: &String| all.iter().any(|other| other.axes.get(name) != Some(value));
    let axes = rest.axes.iter().filter(|(name, value)| varies(name, value));
    profile.chain(axes.map(|(name, value)| format!("{name}={value}"))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn condition(profile: &str, axes: &[(&str, &str)]) -> Condition {
        let axes: BTreeMap<String, String> = axes.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        Condition { label: format!("{profile} {axes:?}"), profile: Some(profile.to_string()), axes }
    }

    #[test]
    fn conditions_that_differ_in_one_number_make_a_row() {
        let all = [
            condition("a", &[("clients", "8"), ("posts", "10")]),
            condition("a", &[("clients", "1"), ("posts", "10")]),
            condition("b", &[("clients", "1"), ("posts", "10")]),
            condition("b", &[("clients", "8"), ("posts", "10")]),
        ];
        let found = rows(&all);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].axis.as_str(), found[0].common.as_str()), ("clients", "a"));
        assert_eq!(found[0].conditions, [(1.0, 1), (8.0, 0)]);
        assert_eq!((found[1].common.as_str(), &found[1].conditions), ("b", &vec![(1.0, 2), (8.0, 3)]));
        assert!(rows(&all[..1]).is_empty());
        assert!(rows(&[condition("a", &[("kind", "x")]), condition("a", &[("kind", "y")])]).is_empty());
    }

    #[test]
    fn two_conditions_of_one_axis_have_nothing_in_common_to_tell() {
        let found = rows(&[condition("a", &[("clients", "1")]), condition("a", &[("clients", "9")])]);
        assert_eq!((found.len(), found[0].common.as_str()), (1, ""));
    }
}
