//! A busy handler that waits like SQLite's own and measures the waits.
//!
//! SQLite calls it whenever a lock is held by another connection, and tries again for as long as it returns
//! true. The schedule is that of `sqliteDefaultBusyCallback` in SQLite's `main.c`, so that measuring changes
//! nothing. rusqlite takes a plain function, so the account belongs to the thread that calls SQLite: for the
//! client's whole life if it has its own thread, for one attempt if clients share connections.

use crate::clock::{Wake, monotonic_ns, wait_until};
use crate::control::Control;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

const DELAYS_MS: [u32; 12] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100];
const TOTALS_MS: [u32; 12] = [0, 1, 3, 8, 18, 33, 53, 78, 103, 128, 178, 228];

/// Waits of an attempt for locks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// Time slept in the handler.
    pub waited_ns: u64,
    /// Whether the handler gave up because the timeout had passed.
    pub timeout_spent: bool,
    /// Whether the handler gave up because the drain was over.
    pub cut_short: bool,
}

thread_local! {
    static ACCOUNT: Cell<Account> = const {
        Cell::new(Account { waited_ns: 0, timeout_spent: false, cut_short: false })
    };
    static TIMEOUT_MS: Cell<u32> = const { Cell::new(0) };
    static BEGAN_NS: Cell<u64> = const { Cell::new(0) };
    static CONTROL: RefCell<Option<Arc<Control>>> = const { RefCell::new(None) };
}

/// Sets up this thread's account for a connection with this timeout, and begins a new attempt.
pub fn open_account(timeout_ms: u32, control: &Arc<Control>) {
    TIMEOUT_MS.set(timeout_ms);
    CONTROL.with_borrow_mut(|known| {
        if !known.as_ref().is_some_and(|known| Arc::ptr_eq(known, control)) {
            *known = Some(Arc::clone(control));
        }
    });
    reset();
}

/// Begins a new attempt.
#[inline]
pub fn reset() {
    ACCOUNT.set(Account::default());
}

/// Waits of this attempt so far.
#[inline]
pub fn account() -> Account {
    ACCOUNT.get()
}

/// How long SQLite's own handler sleeps on call number `count`; `None` if it gives up.
fn delay_ms(count: i32, timeout_ms: u32) -> Option<u32> {
    let count = u32::try_from(count).ok()?;
    let last = DELAYS_MS.len() - 1;
    let (delay, prior) = match DELAYS_MS.get(count as usize) {
        Some(&delay) => (delay, TOTALS_MS[count as usize]),
        None => (DELAYS_MS[last], TOTALS_MS[last].saturating_add(DELAYS_MS[last].saturating_mul(count - last as u32))),
    };
    let left = timeout_ms.saturating_sub(prior);
    (left > 0).then(|| delay.min(left))
}

/// The handler; `count` is the number of earlier calls for the same lock.
pub fn handler(count: i32) -> bool {
    pause(delay_ms(count, TIMEOUT_MS.get()))
}

/// The same with a try each millisecond until the timeout has passed, as the handler of Ruby's sqlite3 makes them.
pub fn each_ms(count: i32) -> bool {
    if count == 0 {
        BEGAN_NS.set(monotonic_ns());
    }
    let has_time = monotonic_ns() - BEGAN_NS.get() < u64::from(TIMEOUT_MS.get()) * 1_000_000;
    pause(has_time.then_some(1))
}

/// Sleeps for this time; without one the timeout is spent. Returns whether to try again.
fn pause(ms: Option<u32>) -> bool {
    let mut account = ACCOUNT.get();
    let retry = CONTROL.with_borrow(|control| {
        let over = || control.as_ref().is_some_and(|c| c.drain_over());
        match ms {
            None => account.timeout_spent = true,
            Some(_) if over() => account.cut_short = true,
            Some(ms) => {
                let from_ns = monotonic_ns();
                let to_ns = wait_until(from_ns + u64::from(ms) * 1_000_000, Wake::Usual, over);
                account.waited_ns += to_ns - from_ns;
                account.cut_short = over();
                return !account.cut_short;
            }
        }
        false
    });
    ACCOUNT.set(account);
    retry
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sqliteDefaultBusyCallback`, word for word, as the yardstick.
    fn sqlite_delay_ms(count: i32, timeout: i32) -> Option<i32> {
        let delays = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100];
        let totals = [0, 1, 3, 8, 18, 33, 53, 78, 103, 128, 178, 228];
        let n = delays.len() as i32;
        let (mut delay, prior) = if count < n {
            (delays[count as usize], totals[count as usize])
        } else {
            let delay = delays[n as usize - 1];
            (delay, totals[n as usize - 1] + delay * (count - (n - 1)))
        };
        if prior + delay > timeout {
            delay = timeout - prior;
            if delay <= 0 {
                return None;
            }
        }
        Some(delay)
    }

    #[test]
    fn a_handler_of_each_millisecond_tries_until_the_timeout_has_passed_and_begins_again() {
        let from_ns = monotonic_ns();
        open_account(400, &Arc::new(Control::new(0)));
        for lock in 1..=2 {
            let tries = (0..).take_while(|count| each_ms(*count)).count();
            // SQLite's own schedule has 13 tries in that time.
            assert!(tries > 13, "{tries}");
            assert!(account().timeout_spent && !account().cut_short, "{:?}", account());
            assert!(monotonic_ns() - from_ns >= lock * 400_000_000, "each lock has the whole timeout");
        }
        assert!(account().waited_ns <= monotonic_ns() - from_ns, "{:?}", account());
        open_account(0, &Arc::new(Control::new(0)));
        assert!(!each_ms(0) && account() == Account { timeout_spent: true, ..Account::default() });
    }

    #[test]
    fn the_schedule_is_sqlites_own() {
        for timeout in [0, 1, 2, 7, 100, 228, 229, 327, 328, 329, 1000, 5000] {
            for count in 0..200 {
                let ours = delay_ms(count, timeout as u32).map(|ms| ms as i32);
                assert_eq!(ours, sqlite_delay_ms(count, timeout), "call {count}, timeout {timeout}");
            }
        }
    }
}
