//! Database servers: private ones that contend starts, and one that is already running.

pub mod attached;
mod ending;
pub mod identity;
pub mod private;
pub mod secrets;
pub mod settings;
mod shared_memory;
mod socket_dir;
