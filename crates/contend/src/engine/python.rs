//! Drivers of the Python worker (`workers/python`): one program for each, so that each loads its own library only.

use super::{Driver, THREAD, Worker};

const WORKER: Worker = Worker {
    language: "Python",
    models: &[THREAD],
    build: "make workers-python",
    needs: "Python 3.11 or newer with venv (apt-get install python3 python3-venv)",
    programs: &["python3"],
    facts: &[("threads", "share the interpreter's lock")],
};

pub const SQLITE3: Driver =
    WORKER.driver("python-sqlite3", "contend-worker-python-sqlite3", "sqlite3 of Python's standard library");
pub const APSW: Driver = WORKER.driver("apsw", "contend-worker-python-apsw", "apsw, with an SQLite of its own");
pub const PSYCOPG: Driver = WORKER.driver("psycopg", "contend-worker-python-psycopg", "psycopg 3");
pub const PYMYSQL: Driver =
    WORKER.driver("pymysql", "contend-worker-python-pymysql", "PyMySQL, all in Python, values written into the text");
pub const NULL: Driver =
    WORKER.idle("python-null", "contend-worker-python-null", "does nothing: the Python worker's own cost");
