//! The function pack: functions to install on a server, in their own schema or database `contend_sql`.

use crate::Target;

/// SQL that installs the function pack: several statements in one text. It may be run repeatedly.
pub fn function_pack(target: Target) -> &'static str {
    match target {
        Target::Postgres => concat!(
            include_str!("pack/postgres.sql"),
            "\n",
            include_str!("pack/postgres-django.sql"),
            "\n",
            include_str!("pack/postgres-wordpress.sql")
        ),
        Target::MariaDb => concat!(
            include_str!("pack/mariadb.sql"),
            "\n",
            include_str!("pack/mariadb-django.sql"),
            "\n",
            include_str!("pack/mariadb-wordpress.sql")
        ),
    }
}
