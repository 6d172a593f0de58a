//! Observes the machine and processes, and makes sure that processes end.

pub mod affinity;
mod asking;
pub mod backlog;
pub mod commits;
mod counters;
pub mod device;
pub mod group;
pub mod janitor;
pub mod killing;
pub mod machine;
pub mod mount;
pub mod orphans;
pub mod passing;
mod pauses;
mod quota;
pub mod sampler;
pub mod stops;
pub mod usage;
