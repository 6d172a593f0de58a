//! Power cuts and kills through the command line.

#[path = "../support/mod.rs"]
mod support;

mod durability;
mod proofs;
