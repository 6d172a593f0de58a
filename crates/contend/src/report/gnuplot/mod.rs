//! gnuplot scripts that draw from the CSVs next to them: `trials.csv`, and exports. `gnuplot NAME.gnuplot` in their directory.

mod script;
pub mod sheet;
pub mod trials;
