//! Drivers of the PHP worker (`workers/php`): one program for each, so that one runs where the others' extensions are
//! missing. PHP has no threads, so a client is a process.

use super::{Driver, Model, Worker};
use contend_sql::Target;
use contend_wire::plan::Connections;

const PROCESS: Model = Model {
    name: "process",
    about: "one process and connection per client, as in a web server's pool of PHP processes",
    connections: Connections::Client,
    opens: |_| 1,
};

const WORKER: Worker = Worker {
    language: "PHP",
    models: &[PROCESS],
    build: "make workers-php",
    needs: "PHP with its extensions, npm and unzip (apt-get install php-cli php-sqlite3 php-mysql php-pgsql npm unzip)",
    programs: &["php", "npm", "unzip"],
    facts: &[],
};

pub const PDO_SQLITE: Driver =
    WORKER.driver("php-pdo-sqlite", "contend-worker-php-pdo-sqlite", "PDO on the system's SQLite (php-sqlite3)");
pub const PDO_MYSQL: Driver =
    WORKER.driver("php-pdo-mysql", "contend-worker-php-pdo-mysql", "PDO on PHP's own client library (php-mysql)");
pub const PDO_PGSQL: Driver =
    WORKER.driver("php-pdo-pgsql", "contend-worker-php-pdo-pgsql", "PDO on libpq (php-pgsql)");
pub const MYSQL_ON_SQLITE: Driver = WORKER.driver(
    "mysql-on-sqlite",
    "contend-worker-php-mysql-on-sqlite",
    "WordPress's driver: MySQL's SQL, translated in PHP, on PDO and SQLite",
);
pub const NULL: Driver = WORKER.idle("php-null", "contend-worker-php-null", "does nothing: the PHP worker's own cost");

/// Drivers that speak another dialect than their engine, and load their data themselves.
pub const OWN_DIALECT: &[(&str, Target)] = &[(MYSQL_ON_SQLITE.name, Target::MariaDb)];
