//! When the operations of a trial's clients are due.

use super::model::Role;
use crate::load::{Arrivals, Load};
use anyhow::{Result, ensure};
use contend_wire::plan::{Client, Loop};

/// Most operations drawn for one trial, and most bytes of them.
const OPERATIONS_MAX: u32 = 4_000_000;
const BYTES_MAX: f64 = (2_u64 << 30) as f64;

fn too_many(operations: u64, most: u64) -> String {
    format!(
        "{operations} operations would have to be drawn, the maximum is {most} with these arguments: fewer clients or \
         operations, fewer or shorter arguments, a lower rate, or a shorter window"
    )
}

/// How many operations a client gets and when they are due.
pub enum Pace {
    /// `limit` operations, or `cycle` again and again.
    Closed { limit: Option<u32>, cycle: u32 },
    /// Between two operations of one client `gap_ns` pass on average.
    Open { gap_ns: f64, clients: u32, arrivals: Arrivals, limit: Option<u32>, window_ns: (u64, u64) },
}

impl Pace {
    /// # Errors
    /// The load has no end, its rate is no number, or there are too many operations.
    pub fn new(load: &Load, rate: Option<f64>, clients: u32, operation_bytes: f64) -> Result<Self> {
        let most = f64::from(OPERATIONS_MAX).min(BYTES_MAX / operation_bytes) as u32;
        let endless = load.window_ns == 0 && load.operations.is_none();
        ensure!(!endless, "the load has neither a window nor a number of operations");
        let Some(rate) = rate else {
            ensure!(load.cycle > 0 || load.operations.is_some(), "the cycle of a closed loop has no operations");
            let share = most / clients.max(1);
            let each = load.operations.unwrap_or(1);
            ensure!(each <= share, too_many(u64::from(clients) * u64::from(each), most.into()));
            // With very many clients or arguments the cycle is shorter, so that the plans fit into memory.
            return Ok(Pace::Closed { limit: load.operations, cycle: load.cycle.min(share) });
        };
        ensure!(rate.is_finite() && rate > 0.0, "the rate must be greater than 0, found {rate}");
        let end_ns = if load.window_ns == 0 { u64::MAX } else { load.run_in_ns.saturating_add(load.window_ns) };
        let drawn = match load.operations {
            Some(each) => f64::from(clients) * f64::from(each),
            None => rate * end_ns as f64 / 1e9,
        };
        ensure!(drawn <= f64::from(most), too_many(drawn as u64, most.into()));
        Ok(Pace::Open {
            gap_ns: f64::from(clients) * 1e9 / rate,
            clients,
            arrivals: load.arrivals,
            limit: load.operations,
            window_ns: (load.run_in_ns, end_ns),
        })
    }

    pub fn model(&self) -> Loop {
        match self {
            Pace::Closed { .. } => Loop::Closed,
            Pace::Open { .. } => Loop::Open,
        }
    }

    /// A client without operations yet.
    pub fn client(&self, id: u32, database: u32, role: &Role) -> Client {
        let start_ns = if self.model() == Loop::Closed { role.start_ns } else { 0 };
        Client {
            id,
            database,
            load: self.model(),
            cyclic: self.cyclic(),
            limit: self.limit(),
            start_ns,
            operations: vec![],
            arguments: vec![],
        }
    }

    fn cyclic(&self) -> bool {
        matches!(self, Pace::Closed { limit: None, .. })
    }

    fn limit(&self) -> u32 {
        match self {
            Pace::Closed { limit, .. } | Pace::Open { limit, .. } => limit.unwrap_or(0),
        }
    }
}
