//! Crashes: what each setting keeps of the commits that it acknowledged. The load of a trial is repeated on a
//! recording file system, and the disk is rebuilt as power cuts at many moments could have left it. Each such image
//! is opened with the contender's configuration and judged. The database's processes are also really killed.
//! `docs/study-durability.md` explains the judgement and its evidence.

mod answer;
mod checks;
#[cfg(test)]
mod claims_tests;
mod controls;
mod crash;
mod csv;
mod cuts;
mod doctor;
mod evidence;
mod findings;
mod images;
mod judge;
mod kernel;
pub mod keys;
mod kills;
mod lies;
mod load;
mod place;
mod recorder;
mod recording;
mod replay;
pub mod results;
mod section;
mod sequel;
mod shim;
mod survival;
mod verb;
mod write_back;

use clap::FromArgMatches;
use contend::record::kind::Reader;
use contend::slice::{Kind, Process, Slice, Verb};
use contend::trial::kind::Sequel;
use contend::trial::proofs::Proofs;
use keys::{NAME, Wanted};
use results::Powercut;
use verb::DurabilityVerb;

/// Adds studies of kind `powercut`, proofs of tiers, and `contend durability`.
pub const SLICE: Slice = Slice {
    name: "powercut",
    verbs: &[Verb {
        name: "durability",
        after: "translate",
        run: |matches| verb::durability(&DurabilityVerb::from_arg_matches(matches)?),
        questions: &[("What does a power cut take?", "contend run durability --quick")],
        ..Verb::of::<DurabilityVerb>()
    }],
    processes: &[
        Process { verb: recorder::VERB, serve: recorder::serve },
        Process { verb: shim::VERB, serve: shim::serve },
    ],
    findings: &[doctor::recorder_finding, doctor::kernel_finding],
    kinds: &[Kind {
        study: keys::KIND,
        sequel: Sequel { kind: NAME, run: sequel::crash },
        reader: Reader::of::<Wanted, Powercut>(NAME),
        metrics: findings::metrics,
        analysis: findings::ANALYSIS,
        report: answer::REPORT,
    }],
    studies: &[("durability", include_str!("../../../studies/durability.toml"))],
    proofs: &[Proofs { readable: evidence::readable, keep: evidence::keep, known: evidence::known }],
    unmount: &[|mountpoint| drop(contend_powercut::record::unmount(mountpoint))],
    ..Slice::NONE
};
