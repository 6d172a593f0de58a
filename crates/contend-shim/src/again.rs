//! How often something is begun again because another connection changed the schema.

use std::time::{Duration, Instant};

/// Least number of tries: where many programs change the schema at once, each of their changes can cost one.
const TRIES_MIN: u32 = 20;

pub struct Again {
    tries: u32,
    until: Instant,
}

impl Again {
    /// For as long as a connection waits for a lock, ms.
    pub fn within(ms: i32) -> Again {
        Again { tries: 0, until: Instant::now() + Duration::from_millis(ms.max(0).unsigned_abs().into()) }
    }

    /// Whether there is a further try.
    pub fn tries(&mut self) -> bool {
        self.tries += 1;
        self.tries <= TRIES_MIN || Instant::now() < self.until
    }
}
