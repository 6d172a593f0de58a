//! The monotonic clock of the machine.

use rustix::time::{ClockId, clock_gettime};

pub const MINUTE_NS: u64 = 60_000_000_000;

/// The monotonic clock, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
