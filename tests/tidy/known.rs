//! Exceptions that still break a rule, by the part of the house they belong to. The lists may only get shorter: what is
//! mended must be removed here. An empty list is the goal.

use super::source::assert_none;
use std::collections::BTreeSet;

/// Names by the part of the house they belong to.
pub type Known = &'static [(&'static str, &'static [&'static str])];

/// What breaks a rule must be exactly what its list names: a new case fails, and so does one that is mended.
pub fn compare(found: &BTreeSet<String>, known: Known, rule: &str) {
    let listed: BTreeSet<String> = known.iter().flat_map(|(_, names)| names.iter().map(ToString::to_string)).collect();
    let new = found.difference(&listed).map(|name| format!("{name}: {rule}"));
    let mended = listed.difference(found).map(|name| format!("{name}: is mended; remove it from tests/tidy/known.rs"));
    assert_none(new.chain(mended).collect());
}

/// Files in a circle of files.
pub const CIRCLES: Known = &[
    (
        "report",
        &[
            "crates/contend/src/report/csv.rs",
            "crates/contend/src/report/export/gnuplot.rs",
            "crates/contend/src/report/export/mod.rs",
            "crates/contend/src/report/export/page.rs",
            "crates/contend/src/report/export/sheet.rs",
            "crates/contend/src/report/gnuplot.rs",
            "crates/contend/src/report/html/blocks.rs",
            "crates/contend/src/report/html/lines.rs",
            "crates/contend/src/report/html/mod.rs",
            "crates/contend/src/report/html/tracks.rs",
            "crates/contend/src/report/html/volume.rs",
            "crates/contend/src/report/mod.rs",
            "crates/contend/src/report/volume.rs",
        ],
    ),
    (
        "study",
        &[
            "crates/contend/src/study/arm.rs",
            "crates/contend/src/study/axis.rs",
            "crates/contend/src/study/load.rs",
            "crates/contend/src/study/powercut.rs",
        ],
    ),
];

/// Types with an `impl` in more than two files: `FILE: TYPE`.
pub const IMPLS: Known = &[];

/// Functions with more than five parameters: `FILE: FUNCTION`.
pub const PARAMETERS: Known = &[];

/// Rooms that know what they never may.
pub const NEVER: Known = &[];

/// Files of workers that read SQL text or addresses.
pub const WORKERS: Known = &[];

/// Decisions on wording: `FILE: TEXT`.
pub const WORDING: Known = &[];
