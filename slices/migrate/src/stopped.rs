//! Migrations that are interrupted.

use anyhow::Result;
use contend::trial::stop::Cancelled;
use std::sync::atomic::{AtomicBool, Ordering};

/// The user has stopped the migration before the server was changed.
#[derive(Debug, PartialEq, Eq)]
pub struct Unbegun;

impl std::fmt::Display for Unbegun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("stopped before anything was written")
    }
}

impl std::error::Error for Unbegun {}

/// # Errors
/// A signal arrived.
pub fn go_on(stop: &AtomicBool) -> Result<()> {
    if stop.load(Ordering::Relaxed) { Err(Cancelled.into()) } else { Ok(()) }
}
