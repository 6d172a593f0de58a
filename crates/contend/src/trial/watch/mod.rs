//! What is observed of the machine and of processes, and what ends them for sure.

pub mod commits;
pub mod group;
pub mod janitor;
pub mod killing;
pub mod machine;
pub mod sampler;
