//! Passes a signal on to a command that contend runs for the user.

use rustix::process::{Pid, Signal, kill_process};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Passes a signal that contend received on to the user's command. A terminal sends its signal to the command as well,
/// and a second one could cut its end short: it gets a second to end, and SIGTERM only then.
#[derive(Default)]
pub struct PassedOn {
    came: Option<Instant>,
    is_passed_on: bool,
}

impl PassedOn {
    /// Called again and again while the command runs.
    pub fn look(&mut self, stop: &AtomicBool, command: &Child) {
        if stop.load(Ordering::Relaxed)
            && self.is_due(Instant::now())
            && let Some(pid) = i32::try_from(command.id()).ok().and_then(Pid::from_raw)
        {
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// Whether to pass it on: once, a second after it came.
    fn is_due(&mut self, now: Instant) -> bool {
        const GRACE: Duration = Duration::from_secs(1);
        let came = *self.came.get_or_insert(now);
        let is_due = !self.is_passed_on && now.duration_since(came) >= GRACE;
        self.is_passed_on |= is_due;
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_passed_on_once_and_later() {
        let (mut signal, came) = (PassedOn::default(), Instant::now());
        let after = [0, 999, 1000, 5000].map(|ms| signal.is_due(came + Duration::from_millis(ms)));
        assert_eq!(after, [false, false, true, false]);
    }
}
