//! Private database servers and one that is already running.

#[path = "../support/mod.rs"]
mod support;

mod changed;
mod counted;
mod private;
mod sizes;
