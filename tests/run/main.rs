//! Whole runs through the command line: records, resuming, parts, roles, what is refused.

#[path = "../support/mod.rs"]
mod places;
mod support;

mod cli;
mod edges;
mod hostile;
mod parts;
mod roles;
mod whole;
