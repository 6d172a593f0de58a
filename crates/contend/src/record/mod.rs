//! The directory of a run: its types, writing it safely, reading it back.

pub mod evidence;
mod frozen;
pub mod kind;
pub mod model;
pub mod parts;
pub mod recorded;
pub mod seal;
pub mod server;
pub mod store;
mod toml_file;
mod upgrade;
