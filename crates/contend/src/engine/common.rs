//! What every contender may be told, whatever its engine: how it tries again, how long it waits over HTTP, and whether
//! anything is set on a connection at all.

use super::{Engine, Expected, Setting, Settings, Setup, Values, find, server};
use crate::contender::{Contender, Tier};
use crate::outcome::codes_worth_retrying;
use contend_wire::plan::Retry;

/// The setting that says who sets what a connection has, and its value for nobody: what is found then is the driver's own.
pub(super) const OPENED: &str = "connection";
pub(super) const AS_IT_COMES: &str = "as-it-comes";

/// How long clients wait for the answer of a worker that serves.
pub const REQUEST_TIMEOUT: &str = "request_timeout_ms";

/// Settings that belong to the harness and not to an engine: every contender may name them.
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
                held against anything",
    },
];

/// Waits of `retry = "backoff"`, in milliseconds; the last one repeats.
const BACKOFF_MS: [u64; 6] = [1, 2, 5, 10, 20, 50];

/// Whether nothing is set on a contender's connections: its settings say nothing of what it has.
pub fn as_it_comes(contender: &Contender) -> bool {
    find(&contender.engine).is_some_and(|engine| engine.is_as_it_comes(&contender.settings))
}

impl Engine {
    /// What the settings say about trying again.
    pub fn retry(&self, settings: &Settings) -> Retry {
        let tries = self.value(settings, "retry_tries").parse().unwrap_or(1);
        let codes = || codes_worth_retrying(self.code_space);
        match self.value(settings, "retry") {
            "spin" => Retry { tries, codes: codes(), ..Retry::never() },
            "backoff" => Retry {
                tries,
                backoff_ns: BACKOFF_MS.map(|ms| ms * 1_000_000).to_vec(),
                // Half to one and a half times the wait, in an order that does not repeat soon.
                jitter_permille: (0..97_u32).map(|i| 500 + ((i * 61 % 97) * 1000 / 97) as u16).collect(),
                codes: codes(),
            },
            _ => Retry::never(),
        }
    }

    /// The tier that settings reach. Where nothing is set they reach none: what a connection has is its driver's affair, and
    /// only told.
    pub fn tier_of(&self, settings: &Settings) -> Tier {
        if self.is_as_it_comes(settings) { Tier::Unknown } else { (self.tier)(settings) }
    }

    fn is_as_it_comes(&self, settings: &Settings) -> bool {
        self.value(settings, OPENED) == AS_IT_COMES
    }

    /// How settings are applied and read back, or left alone.
    pub fn setup_with(&self, settings: &Settings) -> Setup {
        let setup = (self.setup)(settings);
        if self.is_as_it_comes(settings) { self.as_it_comes(setup) } else { setup }
    }

    /// What is left of a setup when nothing is set: the same is asked, and a few things more.
    fn as_it_comes(&self, setup: Setup) -> Setup {
        let further = self.further.iter().map(|(name, sql)| Expected::asked(name, *sql, ""));
        let again = |read: &Expected| self.further.iter().any(|(name, _)| *name == read.name);
        let asked = setup.readbacks.into_iter().filter(|read| !read.sql.is_empty() && !again(read));
        Setup {
            readbacks: asked.chain(further).collect(),
            // Without it a server would not understand the workload.
            session: self.server.map(|server| server::session(server.dialect)).unwrap_or_default(),
            begin_write: setup.begin_write,
            only_told: true,
            ..Setup::default()
        }
    }
}
