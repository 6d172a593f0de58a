//! The workers that have to pass, one line for each driver and model. A worker that is a program of its own
//! takes part where it is built.

use crate::known::{self, Known};
use crate::support::workers::program as program_of;
use contend_wire::plan::Connections;

/// A driver in a model.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Folder of `conformance/` with its cases.
    pub engine: &'static str,
    pub driver: &'static str,
    pub model: &'static str,
    pub connections: Connections,
    /// None: the tool itself.
    pub program: Option<&'static str>,
    /// Behind the model's name, where the same model is tested twice.
    pub variant: &'static str,
    /// Options of every plan, name and value.
    pub options: &'static [(&'static str, &'static str)],
    /// Connections opened for each database, if clients share them.
    pub opens: usize,
    /// What it cannot do, of the words that cases need.
    pub lacks: &'static [&'static str],
    /// What the cases say in words that its dialect does not have, and what they say to it instead.
    pub words: &'static [(&'static str, &'static str)],
    /// Cases it fails. One that passes after all fails the test, and so does one that fails otherwise.
    pub known: &'static [Known],
}

const OWN: Entry = Entry {
    engine: "sqlite",
    driver: "rusqlite",
    model: "thread",
    connections: Connections::Client,
    program: None,
    variant: "",
    options: &[],
    opens: 1,
    lacks: &[],
    words: &[],
    known: &[],
};

/// Everything that is to pass. Another model of a driver is another line.
pub const ENTRIES: &[Entry] = &[
    OWN,
    tasks("direct"),
    tasks("spawn-blocking"),
    tasks("dedicated"),
    tasks("fifo"),
    Entry { opens: 5, ..tasks("pool") },
    SQLX,
    Entry { known: known::TYPES, ..own("mattn", "contend-worker-go-mattn") },
    Entry { known: known::TYPES, ..pool("mattn", "contend-worker-go-mattn") },
    Entry { known: known::TYPES, ..own("modernc", "contend-worker-go-modernc") },
    Entry { known: known::TYPES, ..pool("modernc", "contend-worker-go-modernc") },
    Entry { known: known::TYPES, ..lazy("modernc", "contend-worker-go-modernc") },
    Entry { known: known::TYPES, ..own("ncruces", "contend-worker-go-ncruces") },
    Entry { known: known::TYPES, ..pool("ncruces", "contend-worker-go-ncruces") },
    Entry { known: known::TIMES, ..own("tailscale", "contend-worker-go-tailscale") },
    Entry { known: known::TIMES, ..pool("tailscale", "contend-worker-go-tailscale") },
    Entry { known: known::CRAWSHAW, ..own("crawshaw", "contend-worker-go-crawshaw") },
    Entry { known: known::CRAWSHAW, ..pool("crawshaw", "contend-worker-go-crawshaw") },
    own("zombiezen", "contend-worker-go-zombiezen"),
    pool("zombiezen", "contend-worker-go-zombiezen"),
    python("python-sqlite3", "contend-worker-python-sqlite3"),
    python("apsw", "contend-worker-python-apsw"),
    Entry { known: known::REALS, ..php("php-pdo-sqlite", "contend-worker-php-pdo-sqlite") },
    Entry { words: MYSQL, known: known::ON_SQLITE, ..php("mysql-on-sqlite", "contend-worker-php-mysql-on-sqlite") },
    Entry {
        engine: "mysql-on-sqlite",
        variant: "-own",
        ..php("mysql-on-sqlite", "contend-worker-php-mysql-on-sqlite")
    },
    node_blocking("node-better-sqlite3", "contend-worker-node-better-sqlite3"),
    Entry { known: known::LIBSQL, ..node_blocking("node-libsql", "contend-worker-node-libsql") },
    Entry { engine: "node-libsql", variant: "-own", ..node_blocking("node-libsql", "contend-worker-node-libsql") },
    java("java-sqlite", "contend-worker-java-sqlite"),
    java_pool("java-sqlite", "contend-worker-java-sqlite"),
    Entry { known: known::NODE_SQLITE3, ..node("node-sqlite3", "contend-worker-node-sqlite3") },
    Entry { engine: "node-sqlite3", variant: "-own", ..node("node-sqlite3", "contend-worker-node-sqlite3") },
];

/// The Rust worker says that it measures waits for locks, which holds for its drivers of SQLite.
const UNMEASURED: &[(&str, &str)] = &[("lock_wait", "off")];

/// Those of engines that are servers.
pub const SERVER_ENTRIES: &[Entry] = &[
    Entry { engine: "postgres", driver: "postgres", options: UNMEASURED, ..OWN },
    Entry { engine: "postgres", driver: "tokio-postgres", options: UNMEASURED, ..OWN },
    Entry { engine: "postgres", ..own("pgx", "contend-worker-go-pgx") },
    Entry { engine: "postgres", ..pool("pgx", "contend-worker-go-pgx") },
    Entry {
        engine: "postgres",
        options: &[("pool_size", "4"), ("pool_open", "lazy")],
        ..lazy("pgx", "contend-worker-go-pgx")
    },
    Entry { engine: "mariadb", driver: "mysql", options: UNMEASURED, ..OWN },
    Entry { engine: "mariadb", ..own("go-sql-driver", "contend-worker-go-mysql") },
    Entry { engine: "mariadb", ..pool("go-sql-driver", "contend-worker-go-mysql") },
    Entry { engine: "mariadb", ..lazy("go-sql-driver", "contend-worker-go-mysql") },
    Entry { engine: "postgres", ..python("psycopg", "contend-worker-python-psycopg") },
    Entry { engine: "mariadb", ..python("pymysql", "contend-worker-python-pymysql") },
    Entry { engine: "postgres", lacks: PDO, ..php("php-pdo-pgsql", "contend-worker-php-pdo-pgsql") },
    Entry { engine: "mariadb", lacks: PDO, ..php("php-pdo-mysql", "contend-worker-php-pdo-mysql") },
    Entry { engine: "postgres", ..node("node-pg", "contend-worker-node-pg") },
    Entry { engine: "postgres", ..java("java-postgres", "contend-worker-java-postgres") },
    Entry { engine: "postgres", ..java_pool("java-postgres", "contend-worker-java-postgres") },
    Entry { engine: "mariadb", ..java("java-mariadb", "contend-worker-java-mariadb") },
    Entry { engine: "mariadb", ..java_pool("java-mariadb", "contend-worker-java-mariadb") },
    Entry { engine: "mariadb", ..node("node-mysql2", "contend-worker-node-mysql2") },
];

/// Clients of the Rust worker as tasks that share connections: one that writes, so none can keep another out.
const fn tasks(model: &'static str) -> Entry {
    Entry { model, connections: Connections::Database, lacks: &["own-connections"], ..OWN }
}

/// A worker that only carries out plans: the witness carries out the scripts of its cases.
const SQLX: Entry = Entry {
    driver: "sqlx",
    program: Some("contend-worker-sqlx"),
    opens: 5,
    lacks: &["own-connections", "scripts", "serve"],
    known: known::SQLX,
    ..tasks("pool")
};

/// A program of its own, with a connection for each client.
const fn own(driver: &'static str, program: &'static str) -> Entry {
    Entry { driver, program: Some(program), ..OWN }
}

/// A worker in Python: a thread for each client, no serve mode.
const fn python(driver: &'static str, program: &'static str) -> Entry {
    Entry { lacks: &["serve"], ..own(driver, program) }
}

/// What a server sends as text or as bytes, PDO gives alike, so a reply could not tell them apart.
const PDO: &[&str] = &["serve", "scripts"];

/// A worker in PHP: a process for each client, no serve mode.
const fn php(driver: &'static str, program: &'static str) -> Entry {
    Entry { model: "process", lacks: &["serve"], ..own(driver, program) }
}

/// It makes BEGIN IMMEDIATE of every BEGIN by itself.
const MYSQL: &[(&str, &str)] = &[
    ("BEGIN IMMEDIATE", "BEGIN"),
    ("BEGIN DEFERRED", "BEGIN"),
    ("BEGIN EXCLUSIVE", "BEGIN"),
    ("sql\tPRAGMA journal_mode = WAL\n", ""),
];

/// Clients on one event loop, each with a connection of its own.
const fn node(driver: &'static str, program: &'static str) -> Entry {
    Entry { model: "event-loop", lacks: &["serve"], ..own(driver, program) }
}

/// The same with a driver that blocks the loop: nobody comes between the statements of a transaction.
const fn node_blocking(driver: &'static str, program: &'static str) -> Entry {
    Entry { lacks: &["serve", "own-connections"], ..node(driver, program) }
}

/// A thread for each client, with a connection of its own, through JDBC.
const fn java(driver: &'static str, program: &'static str) -> Entry {
    Entry { lacks: &["serve"], ..own(driver, program) }
}

/// The same with HikariCP.
const fn java_pool(driver: &'static str, program: &'static str) -> Entry {
    Entry { lacks: &["serve", "connect"], ..pool(driver, program) }
}

/// The same with a pool, from which clients that hold a lock take a connection each.
const fn pool(driver: &'static str, program: &'static str) -> Entry {
    Entry {
        model: "pool",
        connections: Connections::Database,
        options: &[("pool_size", "4")],
        opens: 4,
        lacks: &["connect"],
        ..own(driver, program)
    }
}

/// Connections are opened when they are needed, and closed again when more than one has nothing to do.
const fn lazy(driver: &'static str, program: &'static str) -> Entry {
    Entry {
        variant: "-lazy",
        options: &[("pool_size", "4"), ("pool_idle", "1"), ("pool_open", "lazy")],
        opens: 1,
        ..pool(driver, program)
    }
}

impl Entry {
    pub fn name(&self) -> String {
        format!("{}/{}{}", self.driver, self.model, self.variant)
    }

    /// The driver of the witness, which is the Rust worker.
    pub fn witness(&self) -> &'static str {
        match self.engine {
            "postgres" => "postgres",
            "mariadb" => "mysql",
            _ => "rusqlite",
        }
    }

    /// The text of a case in the words of its dialect.
    pub fn in_its_words(&self, text: &str) -> String {
        self.words.iter().fold(text.to_string(), |text, (ours, its)| text.replace(ours, its))
    }

    /// Whether it carries out scripts.
    pub fn has_scripts(&self) -> bool {
        !self.lacks.contains(&"scripts")
    }

    /// How to start it; none where it is not built.
    pub fn command(&self, tool: &str) -> Option<Vec<String>> {
        let Some(program) = self.program else { return Some(vec![tool.to_string(), "worker".to_string()]) };
        program_of(program).map(|path| vec![path.display().to_string()])
    }
}
