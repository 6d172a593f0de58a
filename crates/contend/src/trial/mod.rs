//! Running trials: the only room that starts processes and reads clocks.

mod aftermath;
pub mod data;
pub mod dialect;
pub mod equal;
pub mod evidence;
mod floors;
mod header;
pub mod over_http;
pub mod overhead;
pub mod plans;
pub mod powercut;
mod recorded;
pub mod resume;
pub mod run;
pub mod secret;
pub mod server;
pub mod service;
pub mod site;
mod steps;
pub mod stop;
#[expect(clippy::module_inception, reason = "the room is called after its main noun: one trial")]
pub mod trial;
pub mod watch;
pub mod workers;
