//! .

pub mod stats;
