//! Drivers of the Python worker (`workers/python`): one program for each, so that each loads its own library only.

use super::{Driver, Program, THREAD};

const fn driver(name: &'static str, program: &'static str, about: &'static str) -> Driver {
    Driver {
        name,
        language: "Python",
        models: &[THREAD],
        about,
        program: Some(Program { name: program, build: "make workers-python" }),
        facts: &[],
        executes_nothing: false,
    }
}

pub const SQLITE3: Driver = driver(
    "python-sqlite3",
    "contend-worker-python-sqlite3",
    "sqlite3 of Python's standard library; threads share the interpreter's lock",
);
pub const APSW: Driver = driver(
    "apsw",
    "contend-worker-python-apsw",
    "apsw, with an SQLite of its own; threads share the interpreter's lock",
);
pub const PSYCOPG: Driver =
    driver("psycopg", "contend-worker-python-psycopg", "psycopg 3; threads share the interpreter's lock");
pub const PYMYSQL: Driver = driver(
    "pymysql",
    "contend-worker-python-pymysql",
    "PyMySQL, all in Python, values written into the text; threads share the interpreter's lock",
);
pub const NULL: Driver = Driver {
    executes_nothing: true,
    ..driver("python-null", "contend-worker-python-null", "does nothing: the Python worker's own cost")
};
