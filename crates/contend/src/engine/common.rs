//! Settings that contenders of every engine have: retries, timeout over HTTP, and whether contend sets anything on a
//! connection.

use super::setting::{Setting, Values};

/// Setting for whether contend sets anything on a connection, and its value for leaving the driver's defaults.
pub(super) const OPENED: &str = "connection";
pub(super) const AS_IT_COMES: &str = "as-it-comes";

/// How long clients wait for an answer of a serving worker.
pub const REQUEST_TIMEOUT: &str = "request_timeout_ms";

/// Settings of contend, not of an engine: every contender may have them.
pub const COMMON_SETTINGS: &[Setting] = &[
    Setting {
        name: "retry",
        values: Values::Words(&["none", "spin", "backoff"]),
        default: "none",
        about: "after a conflict or lock timeout: give up, try again at once, or wait 1, 2, 5, 10, 20, 50 ms (with jitter) first",
    },
    Setting {
        name: "retry_tries",
        values: Values::Integer(1, 65_535),
        default: "10",
        about: "attempts of one operation at most, when retry is spin or backoff",
    },
    Setting {
        name: REQUEST_TIMEOUT,
        values: Values::Integer(0, 86_400_000),
        default: "0",
        about: "over HTTP: longest wait for an answer; 0: until the end of the drain, and 30000 where a trial has no window",
    },
    Setting {
        name: OPENED,
        values: Values::Words(&["as-set", AS_IT_COMES]),
        default: "as-set",
        about: "as-it-comes: nothing is set on a connection, whatever the other settings say; what it has is read back and not \
                compared with anything",
    },
];

/// Waits of `retry = "backoff"`, in milliseconds; the last one repeats.
pub(super) const BACKOFF_MS: [u64; 6] = [1, 2, 5, 10, 20, 50];
