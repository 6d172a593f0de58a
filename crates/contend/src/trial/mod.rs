//! Running trials: the only room that starts processes and reads clocks.

pub mod aftermath;
mod again;
pub mod bench;
pub mod chosen;
pub mod contents;
pub mod data;
pub mod dialect;
pub mod equal;
pub mod header;
pub mod itself;
pub mod kind;
pub mod note;
pub mod order;
pub mod over_http;
pub mod overhead;
pub mod plans;
pub mod processors;
mod programs;
pub mod proofs;
mod recorded;
pub mod resume;
mod review;
pub mod run;
mod schema;
pub mod secret;
pub mod server;
mod session;
pub mod site;
pub mod stage;
mod statements;
pub mod stop;
#[expect(clippy::module_inception, reason = "the room is called after its main noun: one trial")]
pub mod trial;
pub mod watch;
mod window;
pub mod workers;
