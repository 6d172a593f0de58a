//! The workers that have to pass, one line for each driver and model. A worker that is a program of its own
//! takes part where it is built.

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
    /// Cases it fails, each with the reason. One that passes after all fails the test.
    pub known: &'static [(&'static str, &'static str)],
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
    Entry { known: TYPES, ..own("mattn", "contend-worker-go-mattn") },
    Entry { known: TYPES, ..pool("mattn", "contend-worker-go-mattn") },
    Entry { known: TYPES, ..own("modernc", "contend-worker-go-modernc") },
    Entry { known: TYPES, ..pool("modernc", "contend-worker-go-modernc") },
    Entry { known: TYPES, ..lazy("modernc", "contend-worker-go-modernc") },
    Entry { known: TYPES, ..own("ncruces", "contend-worker-go-ncruces") },
    Entry { known: TYPES, ..pool("ncruces", "contend-worker-go-ncruces") },
    Entry { known: TYPES, ..own("tailscale", "contend-worker-go-tailscale") },
    Entry { known: TYPES, ..pool("tailscale", "contend-worker-go-tailscale") },
    Entry { known: CRAWSHAW, ..own("crawshaw", "contend-worker-go-crawshaw") },
    Entry { known: CRAWSHAW, ..pool("crawshaw", "contend-worker-go-crawshaw") },
    own("zombiezen", "contend-worker-go-zombiezen"),
    pool("zombiezen", "contend-worker-go-zombiezen"),
    python("python-sqlite3", "contend-worker-python-sqlite3"),
    python("apsw", "contend-worker-python-apsw"),
    Entry { known: REALS, ..php("php-pdo-sqlite", "contend-worker-php-pdo-sqlite") },
    Entry { words: MYSQL, known: ON_SQLITE, ..php("mysql-on-sqlite", "contend-worker-php-mysql-on-sqlite") },
    Entry {
        engine: "mysql-on-sqlite",
        variant: "-own",
        ..php("mysql-on-sqlite", "contend-worker-php-mysql-on-sqlite")
    },
    node_blocking("node-better-sqlite3", "contend-worker-node-better-sqlite3"),
    Entry { known: LIBSQL, ..node_blocking("node-libsql", "contend-worker-node-libsql") },
    Entry { engine: "node-libsql", variant: "-own", ..node_blocking("node-libsql", "contend-worker-node-libsql") },
    java("java-sqlite", "contend-worker-java-sqlite"),
    java_pool("java-sqlite", "contend-worker-java-sqlite"),
    Entry { known: NODE_SQLITE3, ..node("node-sqlite3", "contend-worker-node-sqlite3") },
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
    known: &[
        ("settings", "sqlx gives only text for what is read back; bytes that are no text are an error"),
        ("refused-plans", "an error of a session statement does not name the statement"),
    ],
    ..tasks("pool")
};

const TYPES: &[(&str, &str)] =
    &[("declared-types", "columns declared as a time or BOOLEAN come as Go's time.Time or bool")];

const BYTES: &str = "it binds bytes as text, so the worker refuses them";
const CRAWSHAW: &[(&str, &str)] =
    &[("values", BYTES), ("keep", BYTES), ("large", BYTES), ("returning", "SQLite before 3.35 has no RETURNING")];

/// A program of its own, with a connection for each client.
const fn own(driver: &'static str, program: &'static str) -> Entry {
    Entry { driver, program: Some(program), ..OWN }
}

/// A worker in Python: a thread for each client, no serve mode.
const fn python(driver: &'static str, program: &'static str) -> Entry {
    Entry { lacks: &["serve"], ..own(driver, program) }
}

/// PDO has no type for reals, so they are bound as text; a column declared as a real makes one of it again.
const REALS: &[(&str, &str)] = &[("values", "reals are bound as text"), ("keep", "reals are bound as text")];

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

/// What these show is in cases of its own, as far as it can mean the same.
const UNTYPED: &str = "columns without a type are not in its grammar";
const BEGINS: &str = "it begins every transaction with BEGIN IMMEDIATE";
const ON_SQLITE: &[(&str, &str)] = &[
    ("codes", UNTYPED),
    ("connect", "it keeps tables in mind, and does not know what a session statement makes"),
    ("declared-types", "it refuses what a column of MySQL's type does not hold"),
    ("keep", UNTYPED),
    ("lock-busy", BEGINS),
    ("lock-rollback-journal", BEGINS),
    ("refused-plans", "it tells the columns of a statement only with its rows"),
    ("refused-scripts", UNTYPED),
    ("repeat", UNTYPED),
    ("returning", "RETURNING is not MySQL's"),
    ("rows", UNTYPED),
    ("script-large", UNTYPED),
    ("script", UNTYPED),
    ("snapshot", BEGINS),
    ("values", UNTYPED),
];

const LIBSQL: &[(&str, &str)] =
    &[("values", "it ends a text at its first NUL when it reads it, so the worker refuses to bind one")];

const NUMBERS: &str =
    "integers and reals are both a Number, so beyond 2^53 the worker refuses them and 3.0 is read as 3";
const NODE_SQLITE3: &[(&str, &str)] = &[
    ("values", NUMBERS),
    ("keep", NUMBERS),
    ("unique", NUMBERS),
    ("codes", NUMBERS),
    ("now-fixed", NUMBERS),
    ("script-large", NUMBERS),
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
