//! Drivers of the worker for Node (`workers/node`), one launcher for each.

use super::{Driver, Model, Worker};
use contend_wire::plan::Connections;

/// The clients of a process share one event loop, which a driver that blocks keeps to itself while it works.
pub const EVENT_LOOP: Model = Model {
    name: "event-loop",
    about: "the clients of a process share one thread with an event loop; a connection per client",
    connections: Connections::Client,
    opens: |_| 1,
};

const WORKER: Worker = Worker {
    language: "Node",
    models: &[EVENT_LOOP],
    build: "make workers-node",
    needs: "Node and npm, a C++ compiler, make and Python (apt-get install nodejs npm build-essential python3)",
    programs: &["node", "npm", "c++", "make", "python3"],
    facts: &[],
};

// What somebody who chooses among Node's drivers wants to know first.
const BLOCKING: Worker = WORKER.with(&[("calls", "block the event loop")]);
const ON_THREADS: Worker = WORKER.with(&[("calls", "on libuv's threads")]);
const BY_SOCKET: Worker = WORKER.with(&[("calls", "over a socket, without blocking")]);

pub const BETTER_SQLITE3: Driver =
    BLOCKING.driver("node-better-sqlite3", "contend-worker-node-better-sqlite3", "better-sqlite3, with SQLite bundled");
pub const SQLITE3: Driver = ON_THREADS.driver(
    "node-sqlite3",
    "contend-worker-node-sqlite3",
    "sqlite3 (node-sqlite3), with SQLite bundled; integers up to 2^53",
);
pub const LIBSQL: Driver =
    BLOCKING.driver("node-libsql", "contend-worker-node-libsql", "libsql, a fork of SQLite, on a local file");
pub const PG: Driver = BY_SOCKET.driver("node-pg", "contend-worker-node-pg", "pg (node-postgres)");
pub const MYSQL2: Driver = BY_SOCKET.driver("node-mysql2", "contend-worker-node-mysql2", "mysql2");
pub const NULL: Driver =
    WORKER.idle("node-null", "contend-worker-node-null", "does nothing: the Node worker's own cost");
