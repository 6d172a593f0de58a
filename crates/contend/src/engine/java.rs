//! Drivers of the worker in Java (`workers/java`), one launcher for each, and the setting of its pool.

use super::{Driver, Model, Setting, THREAD, Values, Worker};
use contend_wire::plan::Connections;

const POOL: Model = Model {
    name: "pool",
    about: "the clients of a database share a HikariCP pool of a fixed size",
    connections: Connections::Database,
    opens: |settings| settings.get("pool_size").and_then(|size| size.parse().ok()).unwrap_or(4),
};

/// How the pool's connections come to the session's statements.
pub const INIT: &str = "pool_init";

pub const SETTING_INIT: Setting = Setting {
    name: INIT,
    values: Values::Words(&["statements", "string"]),
    default: "statements",
    about: "Java's model pool: run the session's statements one by one, or give them to the pool as its init string",
};

const WORKER: Worker = Worker {
    language: "Java",
    models: &[THREAD, POOL],
    build: "make workers-java",
    needs: "a JDK of Java 17 or newer, and Maven (apt-get install default-jdk-headless maven)",
    programs: &["java", "javac", "mvn"],
    facts: &[("interface", "JDBC")],
};

pub const SQLITE: Driver =
    WORKER.driver("java-sqlite", "contend-worker-java-sqlite", "org.xerial:sqlite-jdbc, with SQLite bundled");
pub const POSTGRES: Driver =
    WORKER.driver("java-postgres", "contend-worker-java-postgres", "org.postgresql:postgresql");
pub const MARIADB: Driver =
    WORKER.driver("java-mariadb", "contend-worker-java-mariadb", "org.mariadb.jdbc:mariadb-java-client (Connector/J)");
pub const NULL: Driver = Driver {
    models: &[THREAD],
    ..WORKER.idle("java-null", "contend-worker-java-null", "does nothing: the Java worker's own cost")
};
