//! Which codes real messages of databases, drivers and clients name.

use super::*;
use crate::outcome::code_name;

fn names(text: &str) -> Vec<String> {
    find(text).into_iter().map(name).collect()
}

fn name(subject: Subject) -> String {
    match subject {
        Subject::Code(space, code) => code_name(space, code),
        Subject::Outcome(outcome) => outcome.word().to_string(),
    }
}

#[test]
fn a_number_with_several_meanings_has_all_of_them_and_an_unlisted_one_has_none() {
    for (text, expected) in [
        ("516", &["SQLITE_ABORT_ROLLBACK (516)"][..]),
        ("518", &["SQLITE_LOCKED_VTAB (518)"]),
        ("520", &["SQLITE_READONLY_CANTLOCK (520)", "HTTP 520 (as 500)"]),
        ("522", &["SQLITE_IOERR_SHORT_READ (522)", "HTTP 522 (as 500)"]),
        ("526", &["SQLITE_CANTOPEN_ISDIR (526)", "HTTP 526 (as 500)"]),
        ("HTTP 522", &["HTTP 522 (as 500)"]),
        ("sqlite 522", &["SQLITE_IOERR_SHORT_READ (522)"]),
        ("1290", &["SQLITE_IOERR_DIR_FSYNC (1290)", "ER_OPTION_PREVENTS_STATEMENT (1290)"]),
        ("MariaDB 1290", &["ER_OPTION_PREVENTS_STATEMENT (1290)"]),
        ("5", &["SQLITE_BUSY (5)"]),
        ("ERROR 1213 (40001)", &["ER_LOCK_DEADLOCK (1213)"]),
        (
            "ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction",
            &["ER_LOCK_DEADLOCK (1213)"],
        ),
        ("40001", &["serialization_failure (40001)", "ER_LOCK_DEADLOCK (1213)"]),
        ("SQLSTATE[40001]: could not serialize access", &["serialization_failure (40001)"]),
        ("1030", &[]),
        ("1050", &[]),
        ("mysql 1050", &[]),
        ("512", &[]),
        ("999", &[]),
    ] {
        assert_eq!(names(text), expected, "{text}");
    }
}

#[test]
fn a_message_as_drivers_print_it_finds_its_code() {
    for (text, expected) in [
        ("database is locked", "SQLITE_BUSY (5)"),
        ("database table is locked", "SQLITE_LOCKED (6)"),
        ("sqlite3.OperationalError: database table is locked: t", "SQLITE_LOCKED (6)"),
        ("sqlite3.OperationalError: database is locked", "SQLITE_BUSY (5)"),
        ("SQLSTATE[HY000]: General error: 5 database is locked", "SQLITE_BUSY (5)"),
        ("database is locked (517)", "SQLITE_BUSY_SNAPSHOT (517)"),
        ("SqliteError: SQLITE_BUSY_SNAPSHOT: database is locked", "SQLITE_BUSY_SNAPSHOT (517)"),
        ("517", "SQLITE_BUSY_SNAPSHOT (517)"),
        ("2067", "SQLITE_CONSTRAINT_UNIQUE (2067)"),
        ("SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_UNIQUE (2067)"),
        ("ERROR: canceling statement due to statement timeout", "query_canceled (57014)"),
        ("HTTP/1.1 503 Service Unavailable", "HTTP 503 Service Unavailable"),
        ("ERROR: prepared statement \"s1\" does not exist", "invalid_sql_statement_name (26000)"),
        ("FATAL: database \"app\" does not exist", "invalid_catalog_name (3D000)"),
        ("ERROR: relation \"t\" does not exist", "syntax_error_or_access_violation (SQLSTATE 42P01)"),
        ("HTTP 599", "HTTP 599 (as 500)"),
        ("301", "HTTP 301 (as 300)"),
        ("408", "HTTP 408 Request Timeout"),
        ("SQLSTATE 26000", "invalid_sql_statement_name (26000)"),
        (
            "ERROR 1969 (70100): Query execution was interrupted (max_statement_time exceeded)",
            "ER_STATEMENT_TIMEOUT (1969)",
        ),
        ("ERROR: deadlock detected", "deadlock_detected (40P01)"),
        ("40p01", "deadlock_detected (40P01)"),
        ("23514", "integrity_constraint_violation (SQLSTATE 23514)"),
        ("ERROR 1205 (HY000): Lock wait timeout exceeded; try restarting transaction", "ER_LOCK_WAIT_TIMEOUT (1205)"),
        ("Error 1213 (40001): Deadlock found when trying to get lock", "ER_LOCK_DEADLOCK (1213)"),
        ("HTTP 503", "HTTP 503 Service Unavailable"),
        ("418", "HTTP 418 (as 400)"),
        ("connect ECONNREFUSED 127.0.0.1:5432", "ECONNREFUSED (111)"),
        ("unsent", "unsent"),
    ] {
        assert_eq!(names(text).first().map(String::as_str), Some(expected), "{text}");
    }
    assert_eq!(names("what is this"), Vec::<String>::new());
    assert_eq!(names(""), Vec::<String>::new());
}

#[test]
fn a_product_restricts_a_number_to_its_own_codes() {
    for (text, expected) in [
        ("MariaDB 1205", "ER_LOCK_WAIT_TIMEOUT (1205)"),
        ("mysql error 1213", "ER_LOCK_DEADLOCK (1213)"),
        ("MySQL error code: 1290", "ER_OPTION_PREVENTS_STATEMENT (1290)"),
        ("SQLite 1290", "SQLITE_IOERR_DIR_FSYNC (1290)"),
        ("sqlite error code 517", "SQLITE_BUSY_SNAPSHOT (517)"),
        ("MariaDB 40001", "ER_LOCK_DEADLOCK (1213)"),
        ("mysql SQLSTATE 40001", "ER_LOCK_DEADLOCK (1213)"),
        ("MariaDB: SQLSTATE[40001]", "ER_LOCK_DEADLOCK (1213)"),
        ("SQLSTATE 40001", "serialization_failure (40001)"),
        ("PostgreSQL 40001", "serialization_failure (40001)"),
        ("PostgreSQL: SQLSTATE 40001", "serialization_failure (40001)"),
        ("SQLSTATE 23505", "unique_violation (23505)"),
        ("PostgreSQL 40P01", "deadlock_detected (40P01)"),
        ("postgres error 23505", "unique_violation (23505)"),
        ("errno 111", "ECONNREFUSED (111)"),
        ("HTTP 522", "HTTP 522 (as 500)"),
    ] {
        assert_eq!(names(text), [expected], "{text}");
    }
    for (text, space, number, others) in [
        ("MariaDB 5", CodeSpace::Mysql, "5", &["SQLITE_BUSY (5)"][..]),
        ("SQLite 1205", CodeSpace::Sqlite, "1205", &["ER_LOCK_WAIT_TIMEOUT (1205)"]),
        ("PostgreSQL 1213", CodeSpace::Sqlstate, "1213", &["ER_LOCK_DEADLOCK (1213)"]),
        ("mysql error 23505", CodeSpace::Mysql, "23505", &["unique_violation (23505)"]),
        ("mysql 1050", CodeSpace::Mysql, "1050", &[]),
        ("ERROR 1050 (42S01): Table 't' already exists", CodeSpace::Mysql, "1050", &[]),
        ("SQLSTATE[42S01]: Base table already exists: 1050 Table 't' already exists", CodeSpace::Mysql, "1050", &[]),
    ] {
        let found = missing(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((names(text), found.space, found.number.as_str()), (vec![], space, number), "{text}");
        assert_eq!(found.others.into_iter().map(name).collect::<Vec<_>>(), others, "{text}");
    }
    assert_eq!(missing("1050"), None, "no product");
    let of_system = missing("BlockingIOError: [Errno 11] Resource temporarily unavailable").expect("a number");
    assert!(of_system.space == CodeSpace::Os && of_system.others.is_empty(), "{of_system:?}");
}

#[test]
fn only_whole_numbers_that_are_presented_as_codes_are_codes() {
    for text in [
        "-1",
        "+5",
        "5.0",
        "-5",
        "1e5",
        "5,0",
        "error -1",
        "SQLite 3.40.1",
        "MySQL 8.0.35",
        "line 19: foo",
        "app.py:19: foo",
        "after 5 s",
        "took 1213 ms",
        "port 5432",
        "listening on 127.0.0.1:1205",
        "2026-11-05",
        "12:05:19",
        "SQLite 5 s",
        "exit status 1",
        "process exited with code 5",
        "PostgreSQL: 19 rows",
        "5 % of 19",
        "GET /items/404 was slow",
        "row 19 of 26 is empty",
        "http://localhost:1040/5",
        "deadbeef 08af3 failed",
        "The current statement uses 1, and there are 2 supplied.",
        "INSERT INTO t VALUES (?) ON CONFLICT DO NOTHING",
    ] {
        assert_eq!(names(text), Vec::<String>::new(), "{text}");
    }
    assert_eq!(names("5 5"), ["SQLITE_BUSY (5)"]);
    assert_eq!(names("1290 1290").len(), 2);
}

/// Messages of drivers and programs, each with all that it means.
#[test]
fn real_messages_mean_one_thing_each() {
    let wrong = |(text, expected): &&(&str, &str)| names(text) != [*expected];
    let wrong: Vec<_> = MESSAGES.iter().filter(wrong).map(|(text, expected)| (text, expected, names(text))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

const MESSAGES: &[(&str, &str)] = &[
    // Python's sqlite3, alone and under SQLAlchemy
    ("sqlite3.OperationalError: database is locked", "SQLITE_BUSY (5)"),
    ("sqlite3.IntegrityError: UNIQUE constraint failed: users.email", "SQLITE_CONSTRAINT (19)"),
    ("sqlite3.IntegrityError: FOREIGN KEY constraint failed", "SQLITE_CONSTRAINT_FOREIGNKEY (787)"),
    ("sqlite3.OperationalError: near \"FROM\": syntax error", "SQLITE_ERROR (1)"),
    ("sqlite3.DatabaseError: database disk image is malformed", "SQLITE_CORRUPT (11)"),
    ("  File \"app.py\", line 19, in save\nsqlite3.OperationalError: no such table: users", "SQLITE_ERROR (1)"),
    (
        "(sqlite3.OperationalError) database is locked\n[SQL: INSERT INTO t (n) VALUES (?)]\n[parameters: (517,)]\n\
      (Background on this error at: https://sqlalche.me/e/20/e3q8)",
        "SQLITE_BUSY (5)",
    ),
    ("(sqlite3.OperationalError) database is locked [SQL: INSERT INTO t VALUES (517)]", "SQLITE_BUSY (5)"),
    // node: better-sqlite3 and sqlite3
    (
        "SqliteError: UNIQUE constraint failed: t.id\n    at Object.run (/app/db.js:19:5) { code: 'SQLITE_CONSTRAINT_PRIMARYKEY' }",
        "SQLITE_CONSTRAINT_PRIMARYKEY (1555)",
    ),
    ("SqliteError: database is locked { code: 'SQLITE_BUSY_SNAPSHOT' }", "SQLITE_BUSY_SNAPSHOT (517)"),
    ("[Error: SQLITE_BUSY: database is locked] { errno: 5, code: 'SQLITE_BUSY' }", "SQLITE_BUSY (5)"),
    // Go: mattn and modernc
    ("attempt to write a readonly database", "SQLITE_READONLY (8)"),
    ("unable to open database file: no such file or directory", "SQLITE_CANTOPEN (14)"),
    ("database is locked (5) (SQLITE_BUSY)", "SQLITE_BUSY (5)"),
    ("database is locked (517)", "SQLITE_BUSY_SNAPSHOT (517)"),
    ("constraint failed: UNIQUE constraint failed: t.id (1555)", "SQLITE_CONSTRAINT_PRIMARYKEY (1555)"),
    ("unable to open database file: out of memory (14)", "SQLITE_CANTOPEN (14)"),
    ("2026/11/26 02:39:17 main.go:26: database is locked after 517 ms", "SQLITE_BUSY (5)"),
    // The shell
    ("Runtime error near line 19: database is locked (5)", "SQLITE_BUSY (5)"),
    ("Error: stepping, UNIQUE constraint failed: t.id (19)", "SQLITE_CONSTRAINT (19)"),
    ("SQLite 3 database is locked", "SQLITE_BUSY (5)"),
    // JDBC
    ("org.sqlite.SQLiteException: [SQLITE_BUSY] The database file is locked (database is locked)", "SQLITE_BUSY (5)"),
    ("SQL Error [1]: [SQLITE_ERROR] SQL error or missing database (no such table: t)", "SQLITE_ERROR (1)"),
    (
        "org.postgresql.util.PSQLException: ERROR: deadlock detected\n  Detail: Process 1213 waits for ShareLock on transaction 1205; \
      blocked by process 517.",
        "deadlock_detected (40P01)",
    ),
    ("SQL Error [40P01]: ERROR: deadlock detected", "deadlock_detected (40P01)"),
    ("SQL Error: 0, SQLState: 40001", "serialization_failure (40001)"),
    ("SQL Error: 1205, SQLState: 41000", "ER_LOCK_WAIT_TIMEOUT (1205)"),
    (
        "java.sql.SQLTransactionRollbackException: (conn=19) Deadlock found when trying to get lock; try restarting transaction",
        "ER_LOCK_DEADLOCK (1213)",
    ),
    (
        "com.mysql.cj.jdbc.exceptions.CommunicationsException: Communications link failure\n\nThe last packet sent successfully to \
      the server was 0 milliseconds ago.",
        "CR_SERVER_LOST (2013)",
    ),
    // PHP's PDO
    ("SQLSTATE[HY000]: General error: 5 database is locked", "SQLITE_BUSY (5)"),
    (
        "SQLSTATE[23000]: Integrity constraint violation: 19 UNIQUE constraint failed: users.email",
        "SQLITE_CONSTRAINT (19)",
    ),
    ("SQLSTATE[HY000]: General error: 1 no such table: users", "SQLITE_ERROR (1)"),
    ("SQLSTATE[40001]: Serialization failure: 1213 Deadlock found when trying to get lock", "ER_LOCK_DEADLOCK (1213)"),
    (
        "SQLSTATE[23000]: Integrity constraint violation: 1062 Duplicate entry '1205' for key 'PRIMARY'",
        "ER_DUP_ENTRY (1062)",
    ),
    ("SQLSTATE[HY000] [2002] Connection refused", "CR_CONNECTION_ERROR (2002)"),
    ("SQLSTATE[HY000]: General error: 2006 MySQL server has gone away", "CR_SERVER_GONE_ERROR (2006)"),
    (
        "SQLSTATE[23505]: Unique violation: 7 ERROR:  duplicate key value violates unique constraint \"users_pkey\"\n\
      DETAIL:  Key (id)=(19) already exists.",
        "unique_violation (23505)",
    ),
    ("SQLSTATE[HY000]: General error: 7 no connection to the server", "connection_failure (08006)"),
    (
        "SQLSTATE[08006] [7] connection to server at \"db\" (10.0.0.5), port 5432 failed: Connection refused",
        "ECONNREFUSED (111)",
    ),
    // psycopg, psql, pgx, Npgsql
    (
        "psycopg2.errors.UniqueViolation: duplicate key value violates unique constraint \"t_pkey\"\nDETAIL:  Key (id)=(19) \
      already exists.",
        "unique_violation (23505)",
    ),
    (
        "psycopg.errors.SerializationFailure: could not serialize access due to concurrent update",
        "serialization_failure (40001)",
    ),
    (
        "psycopg2.OperationalError: connection to server at \"localhost\" (127.0.0.1), port 5432 failed: FATAL:  sorry, too many \
      clients already",
        "too_many_connections (53300)",
    ),
    ("ERROR:  40P01: deadlock detected", "deadlock_detected (40P01)"),
    (
        "ERROR:  relation \"users\" does not exist\nLINE 1: SELECT * FROM users;",
        "syntax_error_or_access_violation (SQLSTATE 42P01)",
    ),
    (
        "ERROR: insert or update on table \"a\" violates foreign key constraint \"a_b_fkey\" (SQLSTATE 23503)",
        "integrity_constraint_violation (SQLSTATE 23503)",
    ),
    (
        "failed to connect to `host=localhost user=app database=app`: dial error (dial tcp 127.0.0.1:5432: connect: connection \
      refused)",
        "ECONNREFUSED (111)",
    ),
    (
        "Npgsql.PostgresException (0x80004005): 55P03: canceling statement due to lock timeout",
        "lock_not_available (55P03)",
    ),
    ("PG::UnableToSend: server closed the connection unexpectedly", "connection_failure (08006)"),
    // MariaDB's and MySQL's clients
    (
        "ERROR 1045 (28000): Access denied for user 'root'@'localhost' (using password: YES)",
        "ER_ACCESS_DENIED_ERROR (1045)",
    ),
    (
        "ERROR 2002 (HY000): Can't connect to local MySQL server through socket '/run/mysqld/mysqld.sock' (2)",
        "CR_CONNECTION_ERROR (2002)",
    ),
    (
        "ERROR 1205 (HY000) at line 19: Lock wait timeout exceeded; try restarting transaction",
        "ER_LOCK_WAIT_TIMEOUT (1205)",
    ),
    (
        "pymysql.err.OperationalError: (1205, 'Lock wait timeout exceeded; try restarting transaction')",
        "ER_LOCK_WAIT_TIMEOUT (1205)",
    ),
    ("mysql.connector.errors.DatabaseError: 1205 (HY000): Lock wait timeout exceeded", "ER_LOCK_WAIT_TIMEOUT (1205)"),
    (
        "Error: Deadlock found when trying to get lock { code: 'ER_LOCK_DEADLOCK', errno: 1213, sqlState: '40001' }",
        "ER_LOCK_DEADLOCK (1213)",
    ),
    ("#1213 - Deadlock found when trying to get lock; try restarting transaction", "ER_LOCK_DEADLOCK (1213)"),
    (
        "ERROR 3024 (HY000): Query execution was interrupted, maximum statement execution time exceeded",
        "ER_QUERY_INTERRUPTED (1317)",
    ),
    // HTTP
    ("curl: (22) The requested URL returned error: 503", "HTTP 503 Service Unavailable"),
    ("curl: (7) Failed to connect to localhost port 8001 after 5 ms: Couldn't connect to server", "ECONNREFUSED (111)"),
    ("curl: (28) Operation timed out after 5001 milliseconds with 0 bytes received", "ETIMEDOUT (110)"),
    ("HTTP/1.1 503 Service Unavailable", "HTTP 503 Service Unavailable"),
    ("HTTP/2 429", "HTTP 429 Too Many Requests"),
    (
        "127.0.0.1 - - [26/Nov/2026:02:39:17 +0000] \"GET / HTTP/1.1\" 502 197 \"-\" \"curl/7.88.1\"",
        "HTTP 502 Bad Gateway",
    ),
    (
        "requests.exceptions.HTTPError: 500 Server Error: Internal Server Error for url: http://127.0.0.1:8001/5",
        "HTTP 500 Internal Server Error",
    ),
    ("AxiosError: Request failed with status code 404", "HTTP 404 Not Found"),
    (
        "Error: connect ECONNREFUSED 127.0.0.1:3306 { errno: -111, code: 'ECONNREFUSED', port: 3306 }",
        "ECONNREFUSED (111)",
    ),
    ("Os { code: 104, kind: ConnectionReset, message: \"Connection reset by peer\" }", "ECONNRESET (104)"),
    // Other programs and drivers
    ("SQLite Error 19: 'UNIQUE constraint failed: t.id'.", "SQLITE_CONSTRAINT (19)"),
    (
        "android.database.sqlite.SQLiteDatabaseLockedException: database is locked (code 5 SQLITE_BUSY)",
        "SQLITE_BUSY (5)",
    ),
    ("error returned from database: (code: 2067) UNIQUE constraint failed: t.a", "SQLITE_CONSTRAINT_UNIQUE (2067)"),
    (
        r#"SqliteFailure(Error { code: DatabaseBusy, extended_code: 517 }, Some("database is locked"))"#,
        "SQLITE_BUSY_SNAPSHOT (517)",
    ),
    ("sqlite3_step returned 5", "SQLITE_BUSY (5)"),
    ("rc=517", "SQLITE_BUSY_SNAPSHOT (517)"),
    ("ActiveRecord::StatementInvalid: SQLite3::BusyException: database is locked", "SQLITE_BUSY (5)"),
    ("database schema is locked: main", "SQLITE_LOCKED (6)"),
    ("SQLSTATE[HY000] [14] unable to open database file", "SQLITE_CANTOPEN (14)"),
    ("SQLSTATE[42S02]: Base table or view not found: 1146 Table 'app.t' doesn't exist", "ER_NO_SUCH_TABLE (1146)"),
    (
        r#"SQLSTATE[42P01]: Undefined table: 7 ERROR:  relation "t" does not exist"#,
        "syntax_error_or_access_violation (SQLSTATE 42P01)",
    ),
    ("django.db.utils.OperationalError: (2006, 'MySQL server has gone away')", "CR_SERVER_GONE_ERROR (2006)"),
    ("ERROR 2003 (HY000): Can't connect to MySQL server on 'db:3306' (111)", "CR_CONN_HOST_ERROR (2003)"),
    ("error returned from database: 1213 (40001): Deadlock found when trying to get lock", "ER_LOCK_DEADLOCK (1213)"),
    ("Error Code: 1205. Lock wait timeout exceeded; try restarting transaction", "ER_LOCK_WAIT_TIMEOUT (1205)"),
    (
        "ERROR:  current transaction is aborted, commands ignored until end of transaction block",
        "invalid_transaction_state (SQLSTATE 25P02)",
    ),
    ("ERROR:  value too long for type character varying(19)", "data_exception (SQLSTATE 22001)"),
    ("upstream timed out (110: Connection timed out) while reading response header from upstream", "ETIMEDOUT (110)"),
    ("urllib.error.HTTPError: HTTP Error 503: Service Unavailable", "HTTP 503 Service Unavailable"),
    ("ConnectionRefusedError: [Errno 111] Connection refused", "ECONNREFUSED (111)"),
    ("MySQL 8: Deadlock found when trying to get lock", "ER_LOCK_DEADLOCK (1213)"),
];

/// Each code as `contend list outcomes` prints it, with and without its name.
#[test]
fn codes_as_they_are_listed_are_found() {
    for row in TABLE {
        let listed = format!("{} {}", row.space.word(), row.space.shown(row.code));
        for text in [listed.clone(), format!("{listed} {}", row.name)] {
            assert_eq!(find(&text), [code(row)], "{text}");
        }
    }
    for text in ["worker 1 NOT_KEPT", "worker 99", "worker 1 of 4 stopped"] {
        assert_eq!(names(text), [] as [&str; 0], "{text}");
    }
}

/// Messages of servers in wide use that are no conflicts.
#[test]
fn messages_of_limits_and_lost_connections_are_found() {
    for (text, expected) in [
        (
            "(1292, \"Incorrect datetime value: 'x' for column `t`.`c`.`d` at row 1\")",
            "ER_TRUNCATED_WRONG_VALUE (1292)",
        ),
        ("ERROR 1292 (22007): Truncated incorrect INTEGER value: 'a'", "ER_TRUNCATED_WRONG_VALUE (1292)"),
        (
            "ERROR 1203 (42000): User app already has more than 'max_user_connections' active connections",
            "ER_TOO_MANY_USER_CONNECTIONS (1203)",
        ),
        (
            "User 'app' has exceeded the 'max_queries_per_hour' resource (current value: 100)",
            "ER_USER_LIMIT_REACHED (1226)",
        ),
        ("Got timeout reading communication packets", "ER_NET_READ_INTERRUPTED (1159)"),
        ("Got timeout writing communication packets", "ER_NET_WRITE_INTERRUPTED (1161)"),
        (
            "Aborted connection 6 to db: 'app' user: 'app' host: 'localhost' (Got an error reading communication packets)",
            "ER_NET_READ_ERROR (1158)",
        ),
        ("mariadbd: Got an error writing communication packets", "ER_NET_ERROR_ON_WRITE (1160)"),
        (
            "ERROR 1226 (42000): User 'app' has exceeded the 'max_user_connections' resource",
            "ER_USER_LIMIT_REACHED (1226)",
        ),
        ("ERROR 1615 (HY000): Prepared statement needs to be re-prepared", "ER_NEED_REPREPARE (1615)"),
        ("55000", "object_not_in_prerequisite_state (55000)"),
        (
            "ERROR:  currval of sequence \"s\" is not yet defined in this session",
            "object_not_in_prerequisite_state (55000)",
        ),
        ("OSError: [Errno 24] Too many open files: 'app.db'", "EMFILE (24)"),
        ("accept4: too many open files", "EMFILE (24)"),
        ("psycopg2.OperationalError: SSL SYSCALL error: EOF detected", "connection_failure (08006)"),
    ] {
        assert_eq!(names(text), [expected], "{text}");
    }
}
