//! Drivers of the Go worker (`workers/go`): one program for each, as two libraries that bring their own SQLite
//! cannot be linked into one. And the settings of its model `pool`, which every engine has.

use super::{Driver, Expected, Model, Setting, Settings, Setup, THREAD, Values, Worker};
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

pub const SETTING_SIZE: Setting = Setting {
    name: "pool_size",
    values: Values::Integer(1, 10_000),
    default: POOL_SIZE,
    about: "Go's model pool: connections per database",
};

pub const SETTING_IDLE: Setting = Setting {
    name: "pool_idle",
    values: Values::Integer(0, 10_000),
    default: POOL_SIZE,
    about: "Go's model pool: connections kept while nobody uses them; as many as pool_size unless named",
};

pub const SETTING_OPEN: Setting = Setting {
    name: "pool_open",
    values: Values::Words(&["advance", "lazy"]),
    default: "advance",
    about: "Go's model pool: open all connections before the run, or each when it is first needed",
};

/// Adds those of these settings that a contender names: a worker refuses those its model has no use for.
pub fn pass_on(names: &[&str], settings: &Settings, setup: &mut Setup) {
    for name in names {
        if let Some(value) = settings.get(*name) {
            setup.options.push(((*name).to_string(), value.clone()));
            // The worker reports it by itself.
            setup.readbacks.push(Expected::reported(name, value));
        }
    }
}

/// Names of the settings of the model `pool`.
pub const OF_POOL: &[&str] = &["pool_size", "pool_idle", "pool_open"];

const WORKER: Worker = Worker {
    language: "Go",
    models: &[THREAD, POOL],
    build: "make workers-go",
    needs: "Go 1.26 or newer and a C compiler (https://go.dev/dl, apt-get install gcc)",
    programs: &["go", "gcc"],
    facts: &[],
};

// What somebody who chooses among Go's drivers wants to know first.
const CGO_AND_SQL: Worker = WORKER.with(&[("cgo", "needed"), ("database/sql", "yes")]);
const CGO: Worker = WORKER.with(&[("cgo", "needed"), ("database/sql", "no")]);
const SQL: Worker = WORKER.with(&[("cgo", "not needed"), ("database/sql", "yes")]);
const NEITHER: Worker = WORKER.with(&[("cgo", "not needed"), ("database/sql", "no")]);

pub const CRAWSHAW: Driver = CGO.driver("crawshaw", "contend-worker-go-crawshaw", "crawshaw.io/sqlite, by cgo");
pub const MATTN: Driver =
    CGO_AND_SQL.driver("mattn", "contend-worker-go-mattn", "github.com/mattn/go-sqlite3, by cgo, with database/sql");
pub const MODERNC: Driver =
    SQL.driver("modernc", "contend-worker-go-modernc", "modernc.org/sqlite, translated to Go, with database/sql");
pub const NCRUCES: Driver = SQL.driver(
    "ncruces",
    "contend-worker-go-ncruces",
    "github.com/ncruces/go-sqlite3, as WebAssembly, with database/sql",
);
pub const TAILSCALE: Driver = CGO_AND_SQL.driver(
    "tailscale",
    "contend-worker-go-tailscale",
    "github.com/tailscale/sqlite, by cgo, with database/sql",
);
pub const ZOMBIEZEN: Driver =
    NEITHER.driver("zombiezen", "contend-worker-go-zombiezen", "zombiezen.com/go/sqlite, on modernc's translation");

pub const PGX: Driver =
    NEITHER.driver("pgx", "contend-worker-go-pgx", "github.com/jackc/pgx, native, with its own pool");
pub const GO_SQL_DRIVER: Driver =
    SQL.driver("go-sql-driver", "contend-worker-go-mysql", "github.com/go-sql-driver/mysql, with database/sql");
pub const NULL: Driver = WORKER.idle(
    "go-null",
    "contend-worker-go-null",
    "does nothing: the Go worker's own cost, in its process or over HTTP",
);
