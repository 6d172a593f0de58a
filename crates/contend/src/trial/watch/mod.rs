//! Observes the machine and processes, and makes sure that processes end.

pub mod backlog;
pub mod commits;
pub mod group;
pub mod janitor;
pub mod killing;
pub mod machine;
pub mod passing;
mod quota;
pub mod sampler;
pub mod usage;
pub mod stops;
