//! The error of a server that ended while starting.

use crate::trial::workers::admin::EngineSaid;
use anyhow::anyhow;
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// PostgreSQL's message about one of its processes; the server then ends by itself.
const CHILD_KILLED: &str = "terminated by signal 9";

/// The engine's error, unless one of its processes was killed: no server does that to itself.
pub fn while_starting(title: &str, status: ExitStatus, last_words: &str) -> anyhow::Error {
    let killed = status.signal() == Some(Signal::KILL.as_raw()) || last_words.contains(CHILD_KILLED);
    let verb = if killed { "was killed" } else { "ended" };
    let message = format!("{title} {verb} while starting ({status}); its log ends: {last_words}");
    if killed { anyhow!(message) } else { EngineSaid { message, place: None, line: 0 }.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_end_of_its_own_is_the_engines_error() {
        let exit = |code: i32| ExitStatus::from_raw(code << 8);
        for (status, log, is_engines) in [
            (exit(1), "PANIC: could not locate a valid checkpoint record", true),
            (ExitStatus::from_raw(6), "signal 6", true),
            (ExitStatus::from_raw(9), "recovering", false),
            (exit(1), "startup process (PID 7) was terminated by signal 9: Killed / aborting startup", false),
        ] {
            let error = while_starting("S", status, log);
            assert_eq!(error.is::<EngineSaid>(), is_engines, "{error}");
            assert!(error.to_string().contains(log), "{error}");
        }
    }
}
