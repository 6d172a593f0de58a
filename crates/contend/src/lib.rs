//! .

pub mod compare;
pub mod stats;
