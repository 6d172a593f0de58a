//! Migrations that are interrupted.

use anyhow::Result;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why a migration was interrupted.
#[derive(Debug, PartialEq, Eq)]
pub struct Stopped;

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("stopped")
    }
}

impl std::error::Error for Stopped {}

/// The same before the server was changed.
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
    if stop.load(Ordering::Relaxed) { Err(Stopped.into()) } else { Ok(()) }
}
