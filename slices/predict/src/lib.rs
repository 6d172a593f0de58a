//! Predictions from a record: its sweeps over clients, processes or arrivals, and what the laws of `contend-laws` say of
//! them.
//!
//! `sweeps` finds in the findings of a record what was varied, `told` asks the laws and checks their parameters against
//! what was measured, `text` writes it for a terminal, `verb` is `contend predict`.

mod sweeps;
mod text;
mod told;
mod verb;

use clap::FromArgMatches;
use contend::slice::{Slice, Verb};
use verb::PredictArgs;

/// What contend gains: `contend predict`.
pub const SLICE: Slice = Slice {
    name: "predict",
    verbs: &[Verb {
        name: "predict",
        after: "compare",
        run: |matches| verb::predict(&PredictArgs::from_arg_matches(matches)?),
        ..Verb::of::<PredictArgs>()
    }],
    ..Slice::NONE
};
