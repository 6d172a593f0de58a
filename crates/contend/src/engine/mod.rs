//! Database products that contend can measure, and the drivers of workers. An engine is one [`Engine`] value in its own
//! file: its settings, and how they become a durability tier and the statements of a connection. Drivers are data:
//! `workers/*/worker.toml` and `apps/*/app.toml`.

pub mod app;
mod catalogue;
#[cfg(test)]
pub mod changed;
mod common;
mod declared;
mod driver;
pub mod dsn;
mod lookup;
mod manifest;
pub mod mariadb;
mod pool;
pub mod postgres;
mod product;
mod resolved;
pub mod server;
mod sessions;
mod setting;
pub mod sqlite;
pub mod translator;
pub mod wal;
pub mod workers;

pub use catalogue::{ENGINES, SERVICES, advice, find, is_service};
pub use common::{COMMON_SETTINGS, REQUEST_TIMEOUT};
pub use driver::{Driver, Facts, Fails, Model, Program, Variant};
pub use lookup::{
    as_it_comes, can_boot, commits_as_planned, driver, executes, has_collector, has_savepoints, is_app, is_over_http,
    model, null_driver_of, own_dialect, sends_as_written, setup_of, with_drivers_own,
};
pub use product::{Durability, Engine, FileCommits, Part};
pub use resolved::{resolved, tier_reported};
pub use server::Counts;
pub use setting::{CheckAddress, Expected, HTTP, Setting, Settings, Setup, TRANSPORT, Values};

#[cfg(test)]
mod tests;
