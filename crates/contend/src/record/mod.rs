//! The directory a run leaves behind: writing it safely, reading it back, counting what is in it.

pub mod evidence;
pub mod kind;
pub mod model;
pub mod parts;
pub mod recorded;
mod seal;
pub mod store;
mod upgrade;
