//! Settings of models whose clients share a pool of connections. Every engine has them.

use super::setting::{Setting, Values};

/// How many connections a pool has.
pub const SIZE: &str = "pool_size";

/// Default number of connections in a pool.
const DEFAULT_SIZE: &str = "4";

pub const SETTING_SIZE: Setting = Setting {
    name: SIZE,
    values: Values::Integer(1, 10_000),
    default: DEFAULT_SIZE,
    about: "model pool: connections per database",
};

pub const SETTING_IDLE: Setting = Setting {
    name: "pool_idle",
    values: Values::Integer(0, 10_000),
    default: DEFAULT_SIZE,
    about: "model pool: connections kept while they are idle; as many as pool_size unless named",
};

pub const SETTING_OPEN: Setting = Setting {
    name: "pool_open",
    values: Values::Words(&["advance", "lazy"]),
    default: "advance",
    about: "model pool: open all connections before the run, or each when it is first needed",
};

/// Names of these settings.
pub const OF_POOL: &[&str] = &[SIZE, SETTING_IDLE.name, SETTING_OPEN.name];
