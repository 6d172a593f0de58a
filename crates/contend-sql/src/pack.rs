//! Functions that can be installed on a server, in a schema or database of their own, `contend_sql`.

use crate::Target;

/// SQL that installs the function pack, several statements in one text. It may be run again.
pub fn function_pack(target: Target) -> &'static str {
    match target {
        Target::Postgres => include_str!("pack/postgres.sql"),
        Target::MariaDb => include_str!("pack/mariadb.sql"),
    }
}
