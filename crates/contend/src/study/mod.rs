//! Questions: which contenders, under which conditions, how often.

pub mod duration;
pub mod metric;
pub mod model;
pub mod schedule;
pub mod spec;
