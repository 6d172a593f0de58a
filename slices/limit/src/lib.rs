//! `contend limit`: the highest rate, or the most clients, with which a contender meets a bound.
//!
//! ```text
//! study ─► arms (contender x condition) ─► work: search ◄─► probe (a trial) ─► limit.toml ─► page
//! ```
//!
//! `relax` adds an arm for each suspect, and `limiter` decides which of them is the limit. `search`, `judge`,
//! `bound`, `budget`, `growth`, `capacity` and `limiter` are pure. `work` runs the rounds in order, within a budget of time
//! if there is one; the core's `trial::chosen` runs the probes.

mod asked;
mod beyond;
mod bound;
mod budget;
mod capacity;
mod draw;
mod failures;
mod floor;
mod growth;
mod json;
mod judge;
mod keys;
mod limiter;
mod of;
mod page;
mod probe;
mod processes;
mod relax;
mod saved;
mod search;
mod stops;
#[cfg(test)]
mod testing;
mod unsteady;
mod verb;
mod work;

use contend::slice::{OwnRecord, Slice};
use contend::study::Embedded;

/// Adds `contend limit`, and a study for it.
pub const SLICE: Slice = Slice {
    name: "limit",
    verbs: &[verb::VERB],
    searches: &[keys::KIND],
    records: &[RECORD],
    studies: &[STUDY],
    ..Slice::NONE
};

const RECORD: OwnRecord = OwnRecord { file: saved::FILE, report: verb::report };

const STUDY: Embedded = ("limits", include_str!("../../../studies/limits.toml"));

#[cfg(test)]
mod tests {
    use super::*;
    use contend::source::Source;
    use contend::study::model::{Extent, Variant};
    use contend::study::{Choices, estimate_ns, resolve_parts};

    #[test]
    fn the_study_has_two_workloads_of_which_its_quick_form_has_one() {
        contend::slice::register(&[SLICE]);
        let whole = |extent| {
            let source = Source::new(STUDY.0, STUDY.1);
            resolve_parts(&source, &Choices::new(Variant::Corrected, extent)).unwrap_or_else(|error| panic!("{error}"))
        };
        let parts = |extent| whole(extent).studies.into_iter().filter_map(|study| study.part).collect::<Vec<_>>();
        assert_eq!(parts(Extent::Full), ["wordpress", "gameplan"]);
        assert_eq!(parts(Extent::Quick), ["wordpress"]);
        let quick = &whole(Extent::Quick).studies[0];
        let labels: Vec<&str> = quick.contenders.iter().map(|contender| contender.label.as_str()).collect();
        assert_eq!(labels, ["SQLite, durable", "PostgreSQL, durable", "SQLite, bounded", "MariaDB, durable"]);
        assert_eq!((quick.rounds, quick.baselines.len()), (6, 2));
        // One trial of each contender in each round; the first round of a search needs about ten of them.
        let round_ns = estimate_ns(quick) / u64::from(quick.rounds);
        assert!(round_ns * 10 < crate::budget::QUICK_NS, "{round_ns}");
    }
}
