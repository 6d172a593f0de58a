//! Whole runs through the command line: records, resuming, parts, roles, what is refused.

#[path = "../support/mod.rs"]
mod support;

mod again;
mod capacity;
mod cli;
mod containers;
mod edges;
mod explain;
mod full_disk;
mod gate;
mod given;
mod hostile;
mod limit;
mod limit_of;
mod limit_service;
mod parts;
mod places;
mod predict;
mod roles;
mod terminal;
mod until;
mod whole;
