//! Running trials: the only room that starts processes and reads clocks.

pub mod aftermath;
pub mod data;
pub mod dialect;
pub mod equal;
mod floors;
mod header;
pub mod kind;
pub mod over_http;
pub mod overhead;
pub mod plans;
pub mod proofs;
mod recorded;
pub mod resume;
pub mod run;
pub mod secret;
pub mod server;
pub mod site;
pub mod stage;
mod steps;
pub mod stop;
#[expect(clippy::module_inception, reason = "the room is called after its main noun: one trial")]
pub mod trial;
pub mod watch;
pub mod workers;
