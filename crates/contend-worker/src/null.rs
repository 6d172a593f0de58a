//! The null driver, which executes nothing. It measures the worker's overhead per operation: arguments are still looked
//! up, rows counted, samples recorded.

use crate::arguments::Arguments;
use crate::client::ClientLoop;
use crate::control::Control;
use crate::failure::Failure;
use crate::kept::{Kept, KeptValue};
use crate::models::alone::{Leave, Loop};
use crate::session::{Session, Waits};
use anyhow::Result;
use contend_wire::handshake::Facts;
use contend_wire::plan::http::HttpStep;
use contend_wire::plan::{Head, Source, SqlStep};
use std::hint::black_box;

/// Name and version, for `hello`: it is part of this worker.
pub const VERSION: &str = concat!("null contend-worker ", env!("CARGO_PKG_VERSION"));

/// Runs a client on nothing. It reports no settings except its client's number.
///
/// # Errors
/// None.
pub fn drive<'p>(
    client: &mut ClientLoop<'p>,
    head: &'p Head,
    control: &Control,
    id: u32,
    ready: impl FnOnce(Facts) -> Option<u64>,
) -> Result<()> {
    if let Some(start_ns) = ready(vec![("client".to_string(), id.to_string())]) {
        client.start(start_ns);
        let mut kept = client.kept();
        let mut client = Loop { client, head, control };
        let mut leave = client.run(&mut NullSession, &mut kept, None);
        while let Leave::Reconnect(turn) = leave {
            leave = client.run(&mut NullSession, &mut kept, Some(turn));
        }
    }
    Ok(())
}

/// A session that does nothing.
#[derive(Debug, Default)]
pub struct NullSession;

impl Session for NullSession {
    fn reset_waits(&mut self) {}

    fn waits(&self) -> Waits {
        Waits::UNKNOWN
    }

    fn begin(&mut self, _transaction: u16) -> Result<(), Failure> {
        Ok(())
    }

    fn execute(
        &mut self,
        step: &SqlStep,
        repetition: u32,
        arguments: &Arguments<'_>,
        kept: &mut Kept,
    ) -> Result<u32, Failure> {
        for source in &step.args {
            black_box(arguments.resolve(source, repetition, kept)?);
        }
        for keep in &step.keep {
            kept.clear_slot(keep.slot);
            kept.push(keep.slot, KeptValue::Integer(1));
        }
        Ok(step.rows_min)
    }

    fn request(&mut self, step: &HttpStep, arguments: &Arguments<'_>, kept: &mut Kept) -> Result<(), Failure> {
        let drawn = |source: &&Source| !matches!(source, Source::Session { .. });
        for source in step.args.iter().filter(drawn) {
            black_box(arguments.resolve(source, 0, kept)?);
        }
        for keep in &step.keep {
            kept.clear_slot(keep.slot);
            kept.push(keep.slot, KeptValue::Integer(1));
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn rollback(&mut self) {}
}
