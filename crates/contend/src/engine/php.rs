//! Drivers of the PHP worker (`workers/php`): one program for each, so that one runs where the others' extensions are
//! missing. PHP has no threads, so a client is a process.

use super::{Driver, Model, Program};
use contend_sql::Target;
use contend_wire::plan::Connections;

const PROCESS: Model = Model {
    name: "process",
    about: "one process and connection per client, as in a web server's pool of PHP processes",
    connections: Connections::Client,
    opens: |_| 1,
};

const fn driver(name: &'static str, program: &'static str, about: &'static str) -> Driver {
    Driver {
        name,
        language: "PHP",
        models: &[PROCESS],
        about,
        program: Some(Program { name: program, build: "make workers-php" }),
        facts: &[],
        executes_nothing: false,
    }
}

pub const PDO_SQLITE: Driver =
    driver("php-pdo-sqlite", "contend-worker-php-pdo-sqlite", "PDO on the system's SQLite (php-sqlite3)");
pub const PDO_MYSQL: Driver =
    driver("php-pdo-mysql", "contend-worker-php-pdo-mysql", "PDO on PHP's own client library (php-mysql)");
pub const PDO_PGSQL: Driver = driver("php-pdo-pgsql", "contend-worker-php-pdo-pgsql", "PDO on libpq (php-pgsql)");
pub const MYSQL_ON_SQLITE: Driver = driver(
    "mysql-on-sqlite",
    "contend-worker-php-mysql-on-sqlite",
    "WordPress's driver: MySQL's SQL, translated in PHP, on PDO and SQLite",
);
pub const NULL: Driver = Driver {
    executes_nothing: true,
    ..driver("php-null", "contend-worker-php-null", "does nothing: the PHP worker's own cost")
};

/// Drivers that speak another dialect than their engine, and load their data themselves.
pub const OWN_DIALECT: &[(&str, Target)] = &[(MYSQL_ON_SQLITE.name, Target::MariaDb)];
