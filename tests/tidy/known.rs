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
        &["crates/contend/src/study/arm.rs", "crates/contend/src/study/axis.rs", "crates/contend/src/study/load.rs"],
    ),
];

/// Types with an `impl` in more than two files: `FILE: TYPE`.
pub const IMPLS: Known = &[];

/// Functions with more than five parameters: `FILE: FUNCTION`.
pub const PARAMETERS: Known = &[];

/// Rooms that know what they never may.
pub const NEVER: Known = &[];

/// Types of a record that findings still carry.
pub const HANDED: Known =
    &[("analysis", &["DataInfo", "Floor", "Found", "Known", "Place", "Run", "StudyFile", "WorkloadInfo"])];

/// Files of workers that read SQL text or addresses.
pub const WORKERS: Known = &[];

/// Decisions on wording: `FILE: TEXT`.
pub const WORDING: Known = &[];

/// Tables of figures that no script has written from a record, from the time before `scripts/update-results.sh`: `FILE: HEAD`.
pub const FIGURES: Known = &[
    (
        "async",
        &[
            "docs/study-async.md: | databases | by the clock inside the task: direct / spawn-blocking / dedicated | published | from when the read was due |",
            "docs/study-async.md: | databases | model | writes done | reads/s | mean read, response | mean read, service |",
            "docs/study-async.md: | databases | writes done here, direct / spawn-blocking / dedicated | published | reads/s here | published |",
            "docs/study-async.md: | databases | writes done, direct / spawn-blocking / dedicated | reads/s | p99 of reads, ms |",
        ],
    ),
    ("durability", &["docs/study-durability.md: | setting | power cut | process crash |"]),
    ("gameplan", &["docs/study-gameplan.md: | | SQLite | MariaDB | PostgreSQL |"]),
    (
        "go-drivers",
        &[
            "docs/study-go-drivers.md: | driver | pool 1 | 4 | 8 | 50 | 100 |",
            "docs/study-go-drivers.md: | driver | pool 1 | 4 | 8 | 50 | 100 | server, µs of processor time for a request (pool 4, 50) |",
            "docs/study-go-drivers.md: | driver | pool 4 | pool 50 | server, µs for a request (pool 4) | without HTTP (pool 4) |",
            "docs/study-go-drivers.md: | what | failed |",
            "docs/study-go-drivers.md: | | mattn 1.14.52 | modernc 1.61.1 | modernc 1.14.5 |",
        ],
    ),
    (
        "languages",
        &[
            "docs/study-languages.md: | SQLite built | lock waits (voluntary switches) per operation | operations in 0.7 s |",
            "docs/study-languages.md: | driver | one client | eight threads of one process | eight processes with one client each |",
            "docs/study-languages.md: | | point read, 1 client | durable insert, 8 clients | WordPress's public mix, 8 clients |",
        ],
    ),
    (
        "plex",
        &[
            "docs/study-plex.md: | design | ns |",
            "docs/study-plex.md: | tier | pauses | SQLite, may wait 5 s | PostgreSQL | MariaDB | SQLite, no wait, spinning |",
            "docs/study-plex.md: | | SQLite | PostgreSQL, socket | PostgreSQL, TCP | published (M4): SQLite, PostgreSQL |",
            "docs/study-plex.md: | | rows written | errors | reads |",
            "docs/study-plex.md: | | work | rows/s | refused attempts per minute | \"failed\", as the original counted | slowest report of a stream |",
        ],
    ),
    ("wordpress-http", &["docs/study-wordpress-http.md: | | operations per second | half of them take at most |"]),
    (
        "wordpress",
        &[
            "docs/study-wordpress.md: | profile | settings | operations/s | p50 ms | p95 ms | p99 ms | errors |",
            "docs/study-wordpress.md: | profile | settings | ops/s published | here | gain published | here | CPU busy here |",
            "docs/study-wordpress.md: | | DELETE/FULL, 16 processes | WAL/NORMAL, 16 processes | gain | one operation, alone |",
        ],
    ),
];
