//! Calls of `sqlite3_db_config`, which a capture has as PRAGMAs.

use contend_interpose::format::config;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// Carries out a call that is recorded under a name of its own; `None` for any other statement.
pub fn carry_out(db: &Connection, sql: &str) -> Option<rusqlite::Result<()>> {
    let (name, value) = sql.strip_prefix("PRAGMA ")?.split_once(" = ")?;
    let (number, _) = config::ALL.iter().find(|(_, known)| *known == name)?;
    Some(db.set_db_config(option(*number)?, value != "0").map(|_| ()))
}

fn option(number: i32) -> Option<DbConfig> {
    use DbConfig::*;
    const ALL: [DbConfig; 12] = [
        SQLITE_DBCONFIG_ENABLE_FKEY,
        SQLITE_DBCONFIG_ENABLE_TRIGGER,
        SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER,
        SQLITE_DBCONFIG_RESET_DATABASE,
        SQLITE_DBCONFIG_DEFENSIVE,
        SQLITE_DBCONFIG_WRITABLE_SCHEMA,
        SQLITE_DBCONFIG_LEGACY_ALTER_TABLE,
        SQLITE_DBCONFIG_DQS_DML,
        SQLITE_DBCONFIG_DQS_DDL,
        SQLITE_DBCONFIG_ENABLE_VIEW,
        SQLITE_DBCONFIG_LEGACY_FILE_FORMAT,
        SQLITE_DBCONFIG_TRUSTED_SCHEMA,
    ];
    ALL.into_iter().find(|option| *option as i32 == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_recorded_option_is_set_or_a_pragma_of_sqlite() {
        let db = Connection::open_in_memory().expect("a database");
        for (number, name) in config::ALL {
            let sql = |value: u8| format!("PRAGMA {name} = {value}");
            let Some(option) = option(number) else {
                db.execute_batch(&sql(1)).expect("set");
                let is_on = db.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, bool>(0));
                assert_eq!((is_on, carry_out(&db, &sql(0)).is_none()), (Ok(true), true), "{name}");
                continue;
            };
            for value in [1, 0] {
                carry_out(&db, &sql(value)).expect("it is one").expect("set");
                assert_eq!(db.db_config(option).expect("read"), value == 1, "{name}");
            }
        }
        assert!(carry_out(&db, "PRAGMA foreign_keys = 1").is_none() && carry_out(&db, "SELECT 1").is_none());
    }
}
