//! Running trials: the only part of the tool that starts processes and reads clocks.

pub mod admin;
pub mod crew;
pub mod data;
pub mod disk;
pub mod janitor;
pub mod machine;
pub mod plans;
pub mod process;
pub mod run;
pub mod sampler;
pub mod session;
