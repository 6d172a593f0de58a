//! Tests of whole reports, from a record on disk to the files.

use super::testing::Story;
use super::*;

/// For looking at: `cargo test -p contend report::tests::demo -- --ignored`.
#[test]
#[ignore = "writes a report to look at"]
fn demo() {
    for (name, story) in [
        ("full", Story { clients: 16, window_ns: 1_500_000_000, ..Story::default() }),
        (
            "odd",
            Story {
                interrupted_after: Some(41),
                odd_label: "<script>alert(1)</script>",
                measures_lock_wait: false,
                ..Story::default()
            },
        ),
        ("published", Story { variant: crate::study::model::Variant::AsPublished, rounds: 1, ..Story::default() }),
    ] {
        let dir = std::env::temp_dir().join("contend-report-demo").join(name);
        let _ = std::fs::remove_dir_all(&dir);
        let written = write(&story.write(&dir), &dir).unwrap();
        println!("{}", terminal(&written, Colour::No));
    }
}
