//! Compares timings that someone else measured and wrote into a CSV file.
//!
//! Uses the same statistics and words as contend's own rounds, as far as the table allows: pairs if a column pairs
//! the lines, else unpaired runs, else medians alone, which cannot show a difference.
//!
//! `verb` is the command line, `model` has question and answer, `csv` reads lines, `value` reads cells, `judge` compares, `render` prints.

pub mod csv;
mod judge;
mod model;
mod render;
pub mod value;
mod verb;

pub use csv::CsvError;
pub use judge::compare_csv;
pub use model::{Arm, CsvComparison, CsvOptions, GroupComparison, Method, Pairing, UnusedLine};
pub use render::render_text;
pub use value::Measured;

use contend::slice::Slice;

/// Adds `contend compare --csv`.
pub const SLICE: Slice = Slice { name: "timings", forms: &[verb::FORM], ..Slice::NONE };

#[cfg(test)]
mod tests;
