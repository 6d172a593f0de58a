//! `contend limit`: the highest rate, or the most clients, with which a contender meets a bound.
//!
//! ```text
//! study ─► arms (contender x condition) ─► work: search ◄─► probe (a trial) ─► limit.toml ─► page
//! ```
//!
//! `relax` adds an arm for each suspect, and `limiter` decides which of them is the limit. `search`, `judge`,
//! `bound`, `capacity` and `limiter` are pure. `work` runs the rounds in order; the core's `trial::chosen` runs the
//! probes.

mod asked;
mod bound;
mod capacity;
mod draw;
mod json;
mod judge;
mod keys;
mod limiter;
mod of;
mod page;
mod probe;
mod relax;
mod saved;
mod search;
mod stops;
#[cfg(test)]
mod testing;
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
        assert_eq!((quick.contenders.len(), quick.rounds, quick.baselines.len()), (2, 6, 1));
        // One trial of each contender in each round; a search needs about five of them.
        let quick_ns: u64 = whole(Extent::Quick).studies.iter().map(estimate_ns).sum();
        assert!(quick_ns < 60_000_000_000, "{quick_ns}");
    }
}
