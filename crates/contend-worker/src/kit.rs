//! The parts of a worker that depend on its drivers. Two crates with their own SQLite cannot be in one program, so
//! there are several workers; handshake, pacing and supervision are shared.

use crate::run::{Event, Ready};
use crate::serving::served::Served;
use anyhow::Result;
use contend_wire::handshake::Facts;
use contend_wire::plan::Plan;
use contend_wire::script::Reply;
use std::sync::mpsc::Sender;

/// The compiler that built the worker.
pub const LANGUAGE: &str = env!("CONTEND_RUSTC_VERSION");

/// The part of a worker that knows its drivers.
#[derive(Clone, Copy)]
pub struct Kit {
    /// Versions and capabilities.
    pub hello: fn() -> Result<Facts>,
    /// Opens the connections of a plan; its clients wait for the start.
    pub prepare: fn(Plan, &Sender<Event>) -> Result<Ready>,
    /// Opens the connections of a plan to answer requests with them; `None` if this worker does not serve.
    pub serve: Option<fn(Plan) -> Result<Served>>,
    /// Carries out a script.
    pub script: fn(&str) -> Result<Reply>,
}
