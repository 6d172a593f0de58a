//! Drivers of the Go worker (`workers/go`): one program for each, as two libraries that bring their own SQLite
//! cannot be linked into one.

use super::{Driver, Model, Program, THREAD};
use contend_wire::plan::Connections;

/// Connections in a pool that a contender does not give a size.
pub const POOL_SIZE: &str = "4";

const POOL: Model = Model {
    name: "pool",
    about: "the clients of a database share a pool, as in a Go program",
    connections: Connections::Database,
    opens: |settings| {
        let lazy = settings.get("pool_open").is_some_and(|open| open == "lazy");
        let size = settings.get("pool_size").map_or(POOL_SIZE, String::as_str);
        if lazy { 1 } else { size.parse().unwrap_or(1) }
    },
};

const fn driver(name: &'static str, program: &'static str, about: &'static str) -> Driver {
    Driver {
        name,
        language: "Go",
        models: &[THREAD, POOL],
        about,
        program: Some(Program { name: program, build: "make workers-go" }),
    }
}

pub const CRAWSHAW: Driver = driver("crawshaw", "contend-worker-go-crawshaw", "crawshaw.io/sqlite, by cgo");
pub const MATTN: Driver =
    driver("mattn", "contend-worker-go-mattn", "github.com/mattn/go-sqlite3, by cgo, with database/sql");
pub const MODERNC: Driver =
    driver("modernc", "contend-worker-go-modernc", "modernc.org/sqlite, translated to Go, with database/sql");
pub const NCRUCES: Driver =
    driver("ncruces", "contend-worker-go-ncruces", "github.com/ncruces/go-sqlite3, as WebAssembly, with database/sql");
pub const TAILSCALE: Driver =
    driver("tailscale", "contend-worker-go-tailscale", "github.com/tailscale/sqlite, by cgo, with database/sql");
pub const ZOMBIEZEN: Driver =
    driver("zombiezen", "contend-worker-go-zombiezen", "zombiezen.com/go/sqlite, on modernc's translation");
pub const NULL: Driver =
    driver("go-null", "contend-worker-go-null", "does nothing: the Go worker's own cost, in its process or over HTTP");
