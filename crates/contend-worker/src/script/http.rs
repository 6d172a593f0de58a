//! Scripts on a service: each `sql` is a plan of the driver `http` with one client, whose first transaction is
//! carried out once, after the login. Its answer is what the slots hold then, one column per slot. The tool asks in
//! this way for what later arguments are drawn from.

use super::database::{Database, Rows};
use super::error::{LineError, LoadError, value_error};
use crate::argument::Argument;
use crate::http::once;
use crate::kept::Kept;
use contend_wire::literal::Value;
use contend_wire::plan::Plan;
use contend_wire::script::Load;

/// The service that each plan names.
pub(super) struct Service;

impl Database for Service {
    fn query(&mut self, text: &str) -> Result<Vec<Vec<Value>>, LineError> {
        let plan = Plan::decode(text).map_err(|e| value_error(e.to_string()))?;
        let slots = plan.head.transactions.first().map_or(0, |t| t.slots);
        let kept = once(plan).map_err(|e| value_error(format!("{e:#}")))?;
        Ok(rows(&kept, slots))
    }

    fn load(&mut self, _: &Load, _: &mut Rows<'_, '_>) -> Result<u64, LoadError> {
        Err(value_error("no data is loaded into a service").into())
    }
}

/// Rows from slots: as many as the fullest slot has.
fn rows(kept: &Kept, slots: u16) -> Vec<Vec<Value>> {
    let count = (0..slots).map(|slot| kept.rows(slot)).max().unwrap_or(0);
    let value = |slot: u16, row: usize| match kept.get(slot, row) {
        None | Some(Argument::Null) => Value::Null,
        Some(Argument::Integer(i)) => Value::Integer(i),
        Some(Argument::Real(r)) => Value::Real(r),
        Some(Argument::Text(text)) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        Some(Argument::Blob(bytes)) => Value::Blob(bytes.to_vec()),
    };
    (0..count).map(|row| (0..slots).map(|slot| value(slot, row)).collect()).collect()
}
