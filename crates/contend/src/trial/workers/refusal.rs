//! Messages for workers that could not begin: the driver, the worker's message, and what to do.

use crate::outcome::reason::Invalid;
use crate::record::model::Reason;

/// The task of a worker, with the driver for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// Clients of a database, through this driver.
    Driver(String),
    /// Serves a database over HTTP, through this driver or as this app.
    Serving(String),
    /// Clients that send requests to a service.
    Asking,
}

const FIX_DRIVER: &str = "Fix what the message names, or leave the contender out with --only. The driver must have \
                           the setting and the model (`contend list drivers`); the database or server must exist and \
                           accept the login (`contend doctor`)";
/// What to do if a service cannot be connected to or logged in at.
pub const FIX_SERVICE: &str = "Check that the service answers at this address and accepts the login, if there is one";
const FIX_START: &str = "Check that the program exists and is executable (`contend doctor` says what builds it)";

impl Whose {
    fn in_words(&self) -> String {
        match self {
            Whose::Driver(driver) => format!("driver {driver}"),
            Whose::Serving(driver) => format!("driver {driver}, which serves over HTTP,"),
            Whose::Asking => "the client over HTTP".to_string(),
        }
    }

    /// The reason when worker `number` rejects its plan with the message `says`; `log` is the end of its log.
    pub fn could_not_begin(&self, number: usize, says: &str, log: &str) -> Reason {
        let whose = self.in_words();
        // The number names the log of one of several workers. If the first one fails, the number is of no use.
        let which = if number == 0 { String::new() } else { format!(" in worker {number}") };
        let mend = if *self == Whose::Asking { FIX_SERVICE } else { FIX_DRIVER };
        let says = says.trim_end_matches('.');
        Invalid::NotStarted.because(format!("{whose} could not begin{which}: {says}{log}. {mend}"))
    }

    /// The reason when its program does not start.
    pub fn cannot_be_started(&self, error: &anyhow::Error) -> Reason {
        Invalid::NotStarted.because(format!("{}: {error:#}. {FIX_START}", self.in_words()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_what_it_says_and_what_to_do_are_in_the_reason() {
        let driver = Whose::Driver("postgres".to_string());
        let says = "client 0, database postgres://me@h/d: `connect`: password authentication failed.";
        let reason = driver.could_not_begin(0, says, "; its log ends: no");
        assert_eq!(reason.kind, Invalid::NotStarted);
        let begins = "driver postgres could not begin: client 0, database postgres://me@h/d: `connect`: password \
                      authentication failed; its log ends: no. Fix what the message names";
        assert!(reason.detail.starts_with(begins), "{}", reason.detail);
        assert!(reason.detail.contains("`contend list drivers`"));
        let later = driver.could_not_begin(3, "client 07: too many connections", "").detail;
        assert!(later.starts_with("driver postgres could not begin in worker 3: client 07: too many"), "{later}");
    }

    #[test]
    fn serving_workers_and_clients_over_http_have_their_own_words() {
        let serving = Whose::Serving("go-mattn".to_string()).could_not_begin(0, "client 0: no port", "").detail;
        assert!(
            serving.starts_with("driver go-mattn, which serves over HTTP, could not begin: client 0: no port. Fix"),
            "{serving}"
        );
        let asking = Whose::Asking.could_not_begin(0, "client 0, http://h: cannot connect", "").detail;
        assert!(asking.starts_with(
            "the client over HTTP could not begin: client 0, http://h: cannot connect. Check that the service"
        ));
        let error = anyhow::anyhow!("Permission denied").context("cannot start /w");
        let absent = Whose::Driver("pgx".to_string()).cannot_be_started(&error).detail;
        assert!(
            absent.starts_with("driver pgx: cannot start /w: Permission denied. Check that the program"),
            "{absent}"
        );
    }
}
