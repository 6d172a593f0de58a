//! The servers' SQL for contend's own work: sessions, locks, and the relations of a database.

mod mariadb;
mod postgres;
mod shape;

pub use shape::{Dialect, guarded};

use contend_sql::Target;

/// The dialect of a server.
pub fn of(target: Target) -> &'static dyn Dialect {
    match target {
        Target::Postgres => &postgres::Postgres,
        Target::MariaDb => &mariadb::MariaDb,
    }
}
