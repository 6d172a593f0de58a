//! Predictions from a record: applies the laws of `contend-laws` to its sweeps over clients, processes or arrivals.
//!
//! `sweeps` finds the sweeps in the findings of a record, `prediction` fits the laws and compares their parameters with
//! measurements, `carry_out` measures what was predicted, `text` prints the result, `verb` is `contend predict`.

mod carry_out;
mod prediction;
mod sweeps;
mod text;
mod verb;

use clap::FromArgMatches;
use contend::slice::{Slice, Verb};
use verb::PredictArgs;

/// Adds `contend predict`.
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
