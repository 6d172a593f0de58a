//! Pauses of random length between readings, so that no worker knows when the next one is.

use crate::trial::server::secrets::random_bytes;
use anyhow::Result;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::time::Duration;

/// Random pauses. The study's seed, which a worker may know, has no part in them.
pub struct Pauses(ChaCha8Rng);

impl Pauses {
    /// # Errors
    /// The kernel gives no random bytes.
    pub fn new() -> Result<Self> {
        Ok(Self(ChaCha8Rng::from_seed(random_bytes()?)))
    }

    /// The next pause: from half of the mean to one and a half times the mean.
    pub fn next(&mut self, mean: Duration) -> Duration {
        mean.mul_f64(self.0.random_range(0.5..1.5))
    }
}
