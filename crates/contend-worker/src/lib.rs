//! The Rust worker of contend: carries out a plan through one driver and reports samples.
//!
//! A plan's way through the modules:
//!
//! | module | what it does |
//! |---|---|
//! | [`serve`] | speaks the handshake |
//! | [`run`] | opens the clients and watches over them |
//! | [`models`] | how threads and tasks wait for what is due and share connections |
//! | [`client`] | decides what comes next, and records |
//! | [`attempt`] | carries out one try of an operation on a [`session::Session`] |
//!
//! Sessions are `sqlite`, `null` and `connection`, which is for `postgres` and `mysql`; these two share `server`. [`http`]
//! carries out plans of requests with event loops instead of models and sessions, and [`serving`] answers such requests.
//! `script` loads and inspects a database outside any measurement.

#![warn(missing_docs)]

pub mod answer;
pub mod argument;
pub mod arguments;
pub mod attempt;
pub mod busy;
mod cli;
pub mod client;
pub mod clock;
#[cfg(feature = "rusqlite")]
pub mod connection;
pub mod control;
pub mod driver;
pub mod failure;
#[cfg(feature = "rusqlite")]
pub mod guest;
#[cfg(feature = "rusqlite")]
pub mod hello;
#[cfg(feature = "rusqlite")]
pub mod http;
pub mod kept;
pub mod kit;
pub mod later;
pub mod models;
#[cfg(feature = "rusqlite")]
pub mod mysql;
#[cfg(feature = "rusqlite")]
pub mod null;
pub mod options;
#[cfg(feature = "rusqlite")]
pub mod own;
#[cfg(feature = "rusqlite")]
pub mod postgres;
pub mod run;
#[cfg(feature = "rusqlite")]
pub mod script;
pub mod serve;
#[cfg(feature = "rusqlite")]
pub mod server;
pub mod serving;
pub mod session;
#[cfg(feature = "rusqlite")]
pub mod setup;
#[cfg(feature = "rusqlite")]
pub mod shim;
#[cfg(feature = "rusqlite")]
pub mod sqlite;
#[cfg(feature = "rusqlite")]
pub mod translate;

pub use cli::main_of;

/// Runs the worker with its own drivers.
#[cfg(feature = "rusqlite")]
pub fn main(args: &[String]) -> std::process::ExitCode {
    let is_guest = |word: &String| [guest::COMMITS, guest::LOOKS].contains(&word.as_str());
    if args.first().is_some_and(is_guest) {
        return match guest::run(args) {
            Ok(()) => std::process::ExitCode::SUCCESS,
            Err(e) => {
                println!("\n{} {e:#}", guest::FAILED);
                std::process::ExitCode::FAILURE
            }
        };
    }
    main_of(own::KIT, args)
}
