//! Settings that all servers have, and how their connections are set up and read back.

use super::pool::OF_POOL;
use super::product::Engine;
use super::server::session;
use super::setting::{Expected, HTTP, Setting, Settings, Setup, TRANSPORT, Values};

/// The level of isolation, which every server has under the same names.
pub const fn isolation(default: &'static str) -> Setting {
    Setting {
        name: ISOLATION,
        values: Values::Words(&["read-committed", "repeatable-read", "serializable"]),
        default,
        about: "isolation level of transactions",
    }
}

/// Whether statements are prepared; `about` explains the effect on a server.
pub const fn statements(about: &'static str) -> Setting {
    Setting { name: STATEMENTS, values: Values::Words(&["prepared", "each"]), default: "prepared", about }
}

/// How clients reach a server.
pub const REACHED_BY: Setting = Setting {
    name: TRANSPORT,
    values: Values::Words(&["socket", "tcp", HTTP]),
    default: "socket",
    about: "Unix socket, or TCP on the loopback interface with a random password; or HTTP to a worker, which uses the socket",
};

const ISOLATION: &str = "isolation";
const STATEMENTS: &str = "statements";
/// Whether each statement has its own savepoint.
pub const SAVEPOINTS: &str = "savepoints";
/// Longest wait for a lock; each server has its own values.
pub const LOCK_TIMEOUT: &str = "lock_timeout";

/// Settings of clients, not of the server.
const OF_CLIENTS: &[&str] = &[ISOLATION, LOCK_TIMEOUT, SAVEPOINTS, STATEMENTS, TRANSPORT];

/// Settings in the server's configuration.
pub fn own_settings(engine: &'static Engine) -> impl Iterator<Item = &'static str> {
    let names = engine.settings.iter().map(|setting| setting.name);
    names.filter(|name| !OF_CLIENTS.contains(name) && !OF_POOL.contains(name))
}

/// How settings are set on a server's connections and read back.
pub struct Sessions {
    /// Statements that set what a session can set.
    pub session: Vec<String>,
    /// The server's own settings, and others that it reports under another name.
    pub readbacks: Vec<Expected>,
    /// Query for how the client is connected: `socket` or `tcp`.
    pub transport: &'static str,
}

/// Settings as a plan carries them out, on any server.
pub fn setup(dialect: contend_sql::Target, engine: &Engine, settings: &Settings, sessions: Sessions) -> Setup {
    let Sessions { session: own, mut readbacks, transport } = sessions;
    // A serving worker uses the socket.
    let reached = engine.own_value(settings, TRANSPORT);
    readbacks.push(Expected::asked(TRANSPORT, transport, if reached == HTTP { "socket" } else { reached }));
    let mut setup = Setup {
        options: vec![(STATEMENTS.to_string(), engine.own_value(settings, STATEMENTS).to_string())],
        session: [session(dialect), own].concat(),
        readbacks,
        begin_write: Some("BEGIN".to_string()),
        ..Setup::default()
    };
    setup.pass_on(OF_POOL.iter().copied(), settings);
    setup
}

/// Shared code of engines' tests.
#[cfg(test)]
pub(super) mod testing {
    use super::super::product::{Engine, Part};
    use super::super::setting::Settings;
    use crate::contender::Tier;

    pub fn settings(pairs: &[(&str, &str)]) -> Settings {
        pairs.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect()
    }

    /// Asserts the tiers of settings, and that the settings of a tier have that tier.
    #[track_caller]
    pub fn assert_tiers(engine: &Engine, cases: &[(&[(&str, &str)], Tier)]) {
        for (pairs, expected) in cases {
            assert_eq!((engine.durability.tier)(&settings(pairs)), *expected, "{pairs:?}");
        }
        for wanted in Tier::ALL {
            assert_eq!((engine.durability.tier)(&settings((engine.durability.tier_settings)(wanted))), wanted);
        }
    }

    #[track_caller]
    pub fn assert_parts(engine: &Engine, cases: &[(&str, Part)]) {
        for (path, expected) in cases {
            assert_eq!((engine.part)(path), *expected, "{path}");
        }
    }
}
