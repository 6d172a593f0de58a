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

/// What somebody who chooses among Go's drivers wants to know first.
const fn facts(cgo: bool, database_sql: bool) -> &'static [(&'static str, &'static str)] {
    match (cgo, database_sql) {
        (true, true) => &[("cgo", "needed"), ("database/sql", "yes")],
        (true, false) => &[("cgo", "needed"), ("database/sql", "no")],
        (false, true) => &[("cgo", "not needed"), ("database/sql", "yes")],
        (false, false) => &[("cgo", "not needed"), ("database/sql", "no")],
    }
}

const fn driver(
    name: &'static str,
    program: &'static str,
    facts: &'static [(&'static str, &'static str)],
    about: &'static str,
) -> Driver {
    Driver {
        name,
        language: "Go",
        models: &[THREAD, POOL],
        about,
        program: Some(Program { name: program, build: "make workers-go" }),
        facts,
        executes_nothing: false,
    }
}

pub const CRAWSHAW: Driver =
    driver("crawshaw", "contend-worker-go-crawshaw", facts(true, false), "crawshaw.io/sqlite, by cgo");
pub const MATTN: Driver = driver(
    "mattn",
    "contend-worker-go-mattn",
    facts(true, true),
    "github.com/mattn/go-sqlite3, by cgo, with database/sql",
);
pub const MODERNC: Driver = driver(
    "modernc",
    "contend-worker-go-modernc",
    facts(false, true),
    "modernc.org/sqlite, translated to Go, with database/sql",
);
pub const NCRUCES: Driver = driver(
    "ncruces",
    "contend-worker-go-ncruces",
    facts(false, true),
    "github.com/ncruces/go-sqlite3, as WebAssembly, with database/sql",
);
pub const TAILSCALE: Driver = driver(
    "tailscale",
    "contend-worker-go-tailscale",
    facts(true, true),
    "github.com/tailscale/sqlite, by cgo, with database/sql",
);
pub const ZOMBIEZEN: Driver = driver(
    "zombiezen",
    "contend-worker-go-zombiezen",
    facts(false, false),
    "zombiezen.com/go/sqlite, on modernc's translation",
);

/// The Go worker without a driver.
pub const NULL: Driver = Driver {
    models: &[THREAD],
    executes_nothing: true,
    ..driver("go-null", "contend-worker-go-null", &[], "does nothing: the cost of the Go worker itself")
};
