//! Running trials: the only part of the tool that starts processes and reads clocks.

pub mod admin;
mod aftermath;
pub mod attached;
pub mod cache;
pub mod crew;
pub mod data;
pub mod dialect;
pub mod disk;
pub mod equal;
pub mod generator;
pub mod identity;
pub mod janitor;
mod killing;
pub mod machine;
pub mod over_http;
pub mod plans;
pub mod powercut;
pub mod process;
mod recorded;
pub mod run;
pub mod sampler;
pub mod secret;
pub mod served;
pub mod server;
pub mod service;
pub mod session;
pub mod site;
