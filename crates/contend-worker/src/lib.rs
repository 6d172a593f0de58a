//! The Rust worker of contend: carries out a plan through one driver and reports samples.
//!
//! A plan's way through the modules: [`serve`] speaks the handshake, [`run`] opens one thread and
//! connection per client and watches over them, [`client`] paces, retries and records, [`attempt`] carries
//! out one try of an operation on a [`session::Session`], of which [`sqlite`] and [`null`] are the two
//! kinds. [`script`] loads and inspects a database outside any measurement.

#![warn(missing_docs)]

pub mod arguments;
pub mod attempt;
pub mod busy;
mod cli;
pub mod client;
pub mod clock;
pub mod control;
pub mod hello;
pub mod null;
pub mod options;
pub mod run;
pub mod script;
pub mod serve;
pub mod session;
pub mod sqlite;

pub use cli::main;
