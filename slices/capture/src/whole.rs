//! Whether a capture's segment files are those of its end.

use crate::manifest::Total;
use contend::stats::precision::{count, counted};
use std::collections::BTreeMap;

/// Totals of segment files by name.
pub type Totals = BTreeMap<String, Total>;

/// Most files that the sentence names for each kind of difference.
const NAMED: usize = 3;

/// What differs between the files at the end of a capture and those found now; `None` if nothing differs. Example: "12 of the
/// capture's 40 records are missing: 1 of 3 segment files is gone (a.seg); copy the capture again."
pub fn difference(recorded: &Totals, found: &Totals) -> Option<String> {
    let (mut gone, mut cut, mut other) = (vec![], vec![], vec![]);
    let mut lost = 0;
    for (name, was) in recorded {
        match found.get(name) {
            None => {
                lost += was.records;
                gone.push(name.as_str());
            }
            Some(is) if is.records < was.records => {
                lost += was.records - is.records;
                cut.push(name.as_str());
            }
            Some(is) if is != was => other.push(name.as_str()),
            Some(_) => {}
        }
    }
    let added: Vec<&str> = found.keys().filter(|name| !recorded.contains_key(*name)).map(String::as_str).collect();
    let files = counted(recorded.len(), "segment file");
    let [is_gone, is_cut, is_other] = [(&gone, "gone"), (&cut, "cut"), (&other, "changed")].map(|(names, what)| {
        let are = if names.len() == 1 { "is" } else { "are" };
        (!names.is_empty()).then(|| format!("{} of {files} {are} {what} ({})", count(names.len() as u64), named(names)))
    });
    let is_added = (!added.is_empty()).then(|| {
        let are = if added.len() == 1 { "is" } else { "are" };
        format!("{} that {are} not of the capture {are} left out ({})", counted(added.len(), "file"), named(&added))
    });
    let parts: Vec<String> = [is_gone, is_cut, is_other, is_added].into_iter().flatten().collect();
    if parts.is_empty() {
        return None;
    }
    let all: u64 = recorded.values().map(|total| total.records).sum();
    let head = match lost {
        0 => "The segment files are not those that the capture ended with".to_string(),
        lost => format!(
            "{} of the capture's {} {} missing",
            count(lost),
            counted(usize::try_from(all).unwrap_or(usize::MAX), "record"),
            if lost == 1 { "is" } else { "are" }
        ),
    };
    Some(format!("{head}: {}; copy the capture again.", parts.join(", ")))
}

fn named(names: &[&str]) -> String {
    let shown = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(all: &[(&str, u64, u64)]) -> Totals {
        all.iter().map(|(name, records, hash)| ((*name).into(), Total { records: *records, hash: *hash })).collect()
    }

    #[test]
    fn every_difference_is_counted_in_one_sentence() {
        let recorded = totals(&[("a", 1_000, 1), ("b", 20, 2), ("c", 5, 3)]);
        assert_eq!(difference(&recorded, &recorded), None);
        let said = |found: &[(&str, u64, u64)]| difference(&recorded, &totals(found)).expect("a difference");
        assert_eq!(
            said(&[("b", 12, 9), ("c", 5, 3)]),
            "1,008 of the capture's 1,025 records are missing: 1 of 3 segment files is gone (a), 1 of 3 segment files is cut \
             (b); copy the capture again."
        );
        assert_eq!(
            said(&[("a", 1_000, 1), ("b", 20, 7), ("c", 5, 3), ("d", 1, 1)]),
            "The segment files are not those that the capture ended with: 1 of 3 segment files is changed (b), 1 file that is \
             not of the capture is left out (d); copy the capture again."
        );
        let many = totals(&[("a", 1, 1), ("b", 1, 1), ("c", 1, 1), ("d", 1, 1), ("e", 1, 1)]);
        let none = difference(&many, &Totals::new()).expect("a difference");
        assert!(none.contains("5 of 5 segment files are gone (a, b, c and 2 more)"), "{none}");
    }
}
