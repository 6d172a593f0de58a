//! Results as values: what an engine's code means, why a trial does not count, what is marked on one that does.

mod code;
pub mod explain;
mod extended;
pub mod mark;
pub mod pasted;
pub mod reason;
mod words;

pub use code::*;
