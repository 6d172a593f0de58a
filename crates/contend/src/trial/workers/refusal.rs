//! Why a worker could not begin, for the person who fixes it: which driver it is of, what it says, and what to do.

use crate::outcome::reason::Invalid;
use crate::record::model::Reason;

/// What a worker is there for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// Clients of a database, through this driver.
    Driver(String),
    /// Serves a database over HTTP, through this driver or as this app.
    Serving(String),
    /// Clients that ask a service over HTTP.
    Asking,
}

const MEND_DRIVER: &str = "Mend what that names, or leave the contender out with --only. A setting or model has to be one that \
    the driver has (`contend list drivers`), a database or server has to be there and let it in (`contend doctor`)";
const MEND_ASKING: &str = "See that the service answers at this address, and that it takes the login if there is one";
const MEND_START: &str = "See that the program is there and may be executed (`contend doctor` says what builds it)";

impl Whose {
    fn in_words(&self) -> String {
        match self {
            Whose::Driver(driver) => format!("driver {driver}"),
            Whose::Serving(driver) => format!("driver {driver}, which serves over HTTP,"),
            Whose::Asking => "the client over HTTP".to_string(),
        }
    }

    /// Worker `number` says why it cannot do what its plan asks; `log` is the end of its log, if that says anything.
    pub fn could_not_begin(&self, number: usize, says: &str, log: &str) -> Reason {
        let whose = self.in_words();
        // One of several is in the log of this number; where the first one fails, its number says nothing.
        let which = if number == 0 { String::new() } else { format!(" in worker {number}") };
        let mend = if *self == Whose::Asking { MEND_ASKING } else { MEND_DRIVER };
        let says = without_first_client(says).trim_end_matches('.');
        Invalid::NotStarted.because(format!("{whose} could not begin{which}: {says}{log}. {mend}"))
    }

    /// Its program does not run.
    pub fn cannot_be_started(&self, error: &anyhow::Error) -> Reason {
        Invalid::NotStarted.because(format!("{}: {error:#}. {MEND_START}", self.in_words()))
    }
}

/// An error about a worker's first client probably concerns all its clients.
fn without_first_client(says: &str) -> &str {
    let rest = says.strip_prefix("client 0").and_then(|rest| rest.strip_prefix([',', ':']));
    rest.map_or(says, str::trim_start)
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
        let begins = "driver postgres could not begin: database postgres://me@h/d: `connect`: password authentication failed; \
                      its log ends: no. Mend what that names";
        assert!(reason.detail.starts_with(begins), "{}", reason.detail);
        assert!(reason.detail.contains("`contend list drivers`") && !reason.detail.contains("client 0"));
        let later = driver.could_not_begin(3, "client 07: too many connections", "").detail;
        assert!(later.starts_with("driver postgres could not begin in worker 3: client 07: too many"), "{later}");
    }

    #[test]
    fn whoever_serves_or_asks_is_told_apart() {
        let serving = Whose::Serving("go-mattn".to_string()).could_not_begin(0, "client 0: no port", "").detail;
        assert!(
            serving.starts_with("driver go-mattn, which serves over HTTP, could not begin: no port. Mend"),
            "{serving}"
        );
        let asking = Whose::Asking.could_not_begin(0, "client 0, http://h: cannot connect", "").detail;
        assert!(
            asking.starts_with("the client over HTTP could not begin: http://h: cannot connect. See that the service")
        );
        let error = anyhow::anyhow!("Permission denied").context("cannot start /w");
        let absent = Whose::Driver("pgx".to_string()).cannot_be_started(&error).detail;
        assert!(absent.starts_with("driver pgx: cannot start /w: Permission denied. See that the program"), "{absent}");
    }
}
