//! Drivers of the worker for Node (`workers/node`), one launcher for each.

use super::{Driver, Model, Program};
use contend_wire::plan::Connections;

/// The clients of a process share one event loop, which a driver that blocks keeps to itself while it works.
pub const EVENT_LOOP: Model = Model {
    name: "event-loop",
    about: "the clients of a process share one thread with an event loop; a connection per client",
    connections: Connections::Client,
    opens: |_| 1,
};

/// What somebody who chooses among Node's drivers wants to know first.
const BLOCKS: &[(&str, &str)] = &[("calls", "block the event loop")];
const ON_THREADS: &[(&str, &str)] = &[("calls", "on libuv's threads")];
const BY_SOCKET: &[(&str, &str)] = &[("calls", "over a socket, without blocking")];

const fn driver(
    name: &'static str,
    program: &'static str,
    facts: &'static [(&'static str, &'static str)],
    about: &'static str,
) -> Driver {
    Driver {
        name,
        language: "Node",
        models: &[EVENT_LOOP],
        about,
        program: Some(Program { name: program, build: "make workers-node" }),
        facts,
        executes_nothing: false,
    }
}

pub const BETTER_SQLITE3: Driver =
    driver("node-better-sqlite3", "contend-worker-node-better-sqlite3", BLOCKS, "better-sqlite3, with SQLite bundled");
pub const SQLITE3: Driver = driver(
    "node-sqlite3",
    "contend-worker-node-sqlite3",
    ON_THREADS,
    "sqlite3 (node-sqlite3), with SQLite bundled; integers up to 2^53",
);
pub const LIBSQL: Driver =
    driver("node-libsql", "contend-worker-node-libsql", BLOCKS, "libsql, a fork of SQLite, on a local file");
pub const PG: Driver = driver("node-pg", "contend-worker-node-pg", BY_SOCKET, "pg (node-postgres)");
pub const MYSQL2: Driver = driver("node-mysql2", "contend-worker-node-mysql2", BY_SOCKET, "mysql2");
pub const NULL: Driver = Driver {
    executes_nothing: true,
    ..driver("node-null", "contend-worker-node-null", &[], "does nothing: the Node worker's own cost")
};
