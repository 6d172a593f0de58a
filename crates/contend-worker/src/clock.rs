//! Reading clocks and waiting for a point in time.
//!
//! A wait parks the thread; the thread that ends the window or the drain wakes it with `unpark`. Nothing spins: a
//! spinning client would take the processor from other clients.

use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::cell::Cell;
use std::num::NonZeroU64;
use std::thread;
use std::time::Duration;

fn as_ns(t: Timespec) -> u64 {
    (t.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(t.tv_nsec as u64)
}

/// The monotonic clock, in nanoseconds. The same for every process of this host.
#[inline]
pub fn monotonic_ns() -> u64 {
    as_ns(clock_gettime(ClockId::Monotonic))
}

/// Nanoseconds since 1970.
pub fn wall_ns() -> u64 {
    as_ns(clock_gettime(ClockId::Realtime))
}

/// How exactly the kernel wakes a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// Like any program: up to 50 us late. For waits that belong to the database's behaviour.
    Usual,
    /// As exactly as the timer allows. For due times, from which the response time counts.
    Exact,
}

thread_local! {
    static WAKE: Cell<Wake> = const { Cell::new(Wake::Usual) };
}

fn set_wake(wake: Wake) {
    if WAKE.replace(wake) == wake {
        return;
    }
    let slack_ns = match wake {
        Wake::Usual => None,
        Wake::Exact => NonZeroU64::new(1),
    };
    // A sandbox may refuse this; the wait is then less exact, and the samples show it.
    let _ = set_current_timer_slack(slack_ns);
}

/// From now on the kernel wakes this thread as exactly as the timer allows, whatever it waits for.
pub fn wake_exactly() {
    set_wake(Wake::Exact);
}

/// Waits until the clock reads `until_ns` or `stop` holds, and returns the reading.
#[inline]
pub fn wait_until(until_ns: u64, wake: Wake, stop: impl Fn() -> bool) -> u64 {
    let mut now_ns = monotonic_ns();
    while now_ns < until_ns && !stop() {
        set_wake(wake);
        thread::park_timeout(Duration::from_nanos(until_ns - now_ns));
        now_ns = monotonic_ns();
    }
    now_ns
}
