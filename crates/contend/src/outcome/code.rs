//! Outcomes: the table that maps an engine's code to the outcome of an attempt.
//!
//! Workers write codes and classify nothing; every code is classified here. `contend list outcomes` prints the table.

use super::extended::sqlite_extended;
use contend_wire::sample::{CodeSpace, Sample, code_to_sqlstate, flag, worker_code};
use serde::{Deserialize, Serialize};

/// The outcome of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Acknowledged.
    Committed,
    /// Rejected because of its content: a constraint, an unexpected number of rows, a failing statement.
    Rejected,
    /// Rejected because of another client: a lock, a deadlock, a serialisation failure.
    Conflict,
    /// Gave up waiting.
    Timeout,
    /// It may or may not have happened.
    Unknown,
    /// Was due in the window and never begun.
    Unsent,
}

impl Outcome {
    pub const ALL: [Outcome; 6] =
        [Outcome::Committed, Outcome::Rejected, Outcome::Conflict, Outcome::Timeout, Outcome::Unknown, Outcome::Unsent];

    pub fn word(self) -> &'static str {
        match self {
            Outcome::Committed => "committed",
            Outcome::Rejected => "rejected",
            Outcome::Conflict => "conflict",
            Outcome::Timeout => "timeout",
            Outcome::Unknown => "unknown",
            Outcome::Unsent => "unsent",
        }
    }

    /// As reports write it: `unsent` is the name of a column, and says little.
    pub fn shown(self) -> &'static str {
        if self == Outcome::Unsent { "never begun" } else { self.word() }
    }
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Code {
    pub space: CodeSpace,
    pub code: u32,
    pub name: &'static str,
    pub outcome: Outcome,
    /// Whether the attempt certainly left nothing behind.
    pub definite: bool,
    /// Whether trying the same operation again can help.
    pub again: bool,
    pub meaning: &'static str,
}

/// Whether an attempt with a code may have left something, and whether another one can help.
#[derive(Clone, Copy)]
struct Left {
    definite: bool,
    again: bool,
}

/// Certainly nothing, and another attempt can help.
const AGAIN: Left = Left { definite: true, again: true };
/// Certainly nothing.
const NOTHING: Left = Left { definite: true, again: false };
/// Perhaps everything.
const PERHAPS: Left = Left { definite: false, again: false };

const fn sqlite(
    code: u32,
    name: &'static str,
    outcome: Outcome,
    Left { definite, again }: Left,
    meaning: &'static str,
) -> Code {
    Code { space: CodeSpace::Sqlite, code, name, outcome, definite, again, meaning }
}

const fn worker(code: u32, name: &'static str, meaning: &'static str) -> Code {
    Code { space: CodeSpace::Worker, code, name, outcome: Outcome::Rejected, definite: true, again: false, meaning }
}

/// Certainly not done.
const fn refused(space: CodeSpace, code: u32, name: &'static str, meaning: &'static str) -> Code {
    Code { space, code, name, outcome: Outcome::Rejected, definite: true, again: false, meaning }
}

/// Perhaps done.
const fn unclear(space: CodeSpace, code: u32, name: &'static str, meaning: &'static str) -> Code {
    Code { space, code, name, outcome: Outcome::Unknown, definite: false, again: false, meaning }
}

/// A SQLSTATE as workers write it: its five characters as digits in base 36.
const fn sqlstate(
    state: &'static str,
    name: &'static str,
    outcome: Outcome,
    Left { definite, again }: Left,
    meaning: &'static str,
) -> Code {
    Code { space: CodeSpace::Sqlstate, code: base_36(state), name, outcome, definite, again, meaning }
}

const fn base_36(state: &str) -> u32 {
    let (bytes, mut code, mut i) = (state.as_bytes(), 0, 0);
    while i < bytes.len() {
        let digit = if bytes[i].is_ascii_digit() { bytes[i] - b'0' } else { bytes[i] - b'A' + 10 };
        code = code * 36 + digit as u32;
        i += 1;
    }
    code
}

const fn mysql(
    code: u32,
    name: &'static str,
    outcome: Outcome,
    Left { definite, again }: Left,
    meaning: &'static str,
) -> Code {
    Code { space: CodeSpace::Mysql, code, name, outcome, definite, again, meaning }
}

/// SQLite's codes: <https://www.sqlite.org/rescode.html>. A code that is not listed is looked up by its
/// primary code (the lowest 8 bits). PostgreSQL's SQLSTATE: <https://www.postgresql.org/docs/current/errcodes-appendix.html>;
/// one that is not listed is looked up by its class, the first two characters and `000`. MariaDB's and MySQL's
/// numbers: <https://mariadb.com/kb/en/mariadb-error-code-reference/>; those from 2000 on are of their client
/// library. A code without any row is `unknown`.
pub const TABLE: &[Code] = &[
    sqlite(1, "SQLITE_ERROR", Outcome::Rejected, NOTHING, "the statement itself is wrong"),
    sqlite(2, "SQLITE_INTERNAL", Outcome::Unknown, PERHAPS, "SQLite found an error of its own"),
    sqlite(3, "SQLITE_PERM", Outcome::Rejected, NOTHING, "the file has not the permissions that are needed"),
    sqlite(
        4,
        "SQLITE_ABORT",
        Outcome::Rejected,
        NOTHING,
        "a ROLLBACK or a callback of the program ended the statement",
    ),
    sqlite(5, "SQLITE_BUSY", Outcome::Conflict, AGAIN, "database is locked by another connection"),
    sqlite(6, "SQLITE_LOCKED", Outcome::Conflict, AGAIN, "a table is locked by the same process"),
    sqlite(7, "SQLITE_NOMEM", Outcome::Unknown, PERHAPS, "no memory is left"),
    sqlite(8, "SQLITE_READONLY", Outcome::Rejected, NOTHING, "the database cannot be written"),
    sqlite(9, "SQLITE_INTERRUPT", Outcome::Unknown, PERHAPS, "interrupted at the end of the drain"),
    sqlite(10, "SQLITE_IOERR", Outcome::Unknown, PERHAPS, "the operating system reported an error"),
    sqlite(11, "SQLITE_CORRUPT", Outcome::Unknown, PERHAPS, "the database file is damaged"),
    sqlite(
        12,
        "SQLITE_NOTFOUND",
        Outcome::Rejected,
        NOTHING,
        "SQLite does not know the operation that the program asked for",
    ),
    sqlite(13, "SQLITE_FULL", Outcome::Rejected, NOTHING, "the disk is full"),
    sqlite(14, "SQLITE_CANTOPEN", Outcome::Rejected, NOTHING, "the file cannot be opened"),
    sqlite(15, "SQLITE_PROTOCOL", Outcome::Conflict, AGAIN, "the locking protocol of WAL gave up"),
    sqlite(16, "SQLITE_EMPTY", Outcome::Rejected, NOTHING, "not used by SQLite today"),
    sqlite(
        17,
        "SQLITE_SCHEMA",
        Outcome::Rejected,
        NOTHING,
        "the tables were changed too often while the statement was prepared",
    ),
    sqlite(18, "SQLITE_TOOBIG", Outcome::Rejected, NOTHING, "a value is too large"),
    sqlite(19, "SQLITE_CONSTRAINT", Outcome::Rejected, NOTHING, "a constraint does not hold"),
    sqlite(20, "SQLITE_MISMATCH", Outcome::Rejected, NOTHING, "a value of the wrong type"),
    sqlite(
        21,
        "SQLITE_MISUSE",
        Outcome::Rejected,
        NOTHING,
        "the program calls the library in a way that is not allowed",
    ),
    sqlite(22, "SQLITE_NOLFS", Outcome::Rejected, NOTHING, "the file is larger than the operating system allows"),
    sqlite(23, "SQLITE_AUTH", Outcome::Rejected, NOTHING, "the program's authorizer refuses the statement"),
    sqlite(24, "SQLITE_FORMAT", Outcome::Rejected, NOTHING, "not used by SQLite today"),
    sqlite(25, "SQLITE_RANGE", Outcome::Rejected, NOTHING, "a parameter that the statement does not have"),
    sqlite(26, "SQLITE_NOTADB", Outcome::Unknown, PERHAPS, "the file is not a database"),
    sqlite(261, "SQLITE_BUSY_RECOVERY", Outcome::Conflict, AGAIN, "another process recovers the WAL"),
    sqlite(
        517,
        "SQLITE_BUSY_SNAPSHOT",
        Outcome::Conflict,
        AGAIN,
        "a transaction that began by reading cannot write: another has written since",
    ),
    sqlite(773, "SQLITE_BUSY_TIMEOUT", Outcome::Timeout, AGAIN, "a blocking lock was not granted in time"),
    sqlstate("08000", "connection_exception", Outcome::Unknown, PERHAPS, "the connection broke"),
    sqlstate("08001", "unable_to_connect", Outcome::Rejected, NOTHING, "no connection could be opened"),
    sqlstate("08004", "connection_rejected", Outcome::Rejected, NOTHING, "the server refuses the connection"),
    sqlstate("08006", "connection_failure", Outcome::Unknown, PERHAPS, "the connection was lost"),
    sqlstate("08007", "transaction_resolution_unknown", Outcome::Unknown, PERHAPS, "lost while committing"),
    sqlstate("0A000", "feature_not_supported", Outcome::Rejected, NOTHING, "the server cannot do that"),
    sqlstate("21000", "cardinality_violation", Outcome::Rejected, NOTHING, "more than one row"),
    sqlstate("22000", "data_exception", Outcome::Rejected, NOTHING, "a value that does not fit"),
    sqlstate("23000", "integrity_constraint_violation", Outcome::Rejected, NOTHING, "a constraint does not hold"),
    sqlstate("23505", "unique_violation", Outcome::Rejected, NOTHING, "the key exists already"),
    sqlstate(
        "25000",
        "invalid_transaction_state",
        Outcome::Rejected,
        NOTHING,
        "not possible in this state of the transaction",
    ),
    sqlstate("25P03", "idle_in_transaction_timeout", Outcome::Rejected, NOTHING, "idle for too long"),
    sqlstate("26000", "invalid_sql_statement_name", Outcome::Rejected, NOTHING, "there is no such prepared statement"),
    sqlstate("28000", "invalid_authorization", Outcome::Rejected, NOTHING, "the login is refused"),
    sqlstate("3D000", "invalid_catalog_name", Outcome::Rejected, NOTHING, "there is no such database"),
    sqlstate("40001", "serialization_failure", Outcome::Conflict, AGAIN, "another transaction committed first"),
    sqlstate(
        "40002",
        "transaction_integrity_constraint_violation",
        Outcome::Rejected,
        NOTHING,
        "a constraint does not hold at the commit",
    ),
    sqlstate("40P01", "deadlock_detected", Outcome::Conflict, AGAIN, "two transactions waited for each other"),
    sqlstate("40003", "statement_completion_unknown", Outcome::Unknown, PERHAPS, "it may or may not have happened"),
    sqlstate("42000", "syntax_error_or_access_violation", Outcome::Rejected, NOTHING, "the statement is wrong"),
    sqlstate("53000", "insufficient_resources", Outcome::Rejected, NOTHING, "disk or memory is full"),
    sqlstate("53300", "too_many_connections", Outcome::Rejected, NOTHING, "no connection is left"),
    sqlstate("54000", "program_limit_exceeded", Outcome::Rejected, NOTHING, "a value is too large"),
    sqlstate(
        "55000",
        "object_not_in_prerequisite_state",
        Outcome::Rejected,
        NOTHING,
        "an object is not in the state that the statement needs",
    ),
    sqlstate("55006", "object_in_use", Outcome::Rejected, NOTHING, "another connection uses it"),
    sqlstate("55P03", "lock_not_available", Outcome::Timeout, AGAIN, "a lock was not granted in time"),
    sqlstate("57014", "query_canceled", Outcome::Unknown, PERHAPS, "interrupted at the end of the drain"),
    sqlstate("57P01", "admin_shutdown", Outcome::Unknown, PERHAPS, "the server was told to stop"),
    sqlstate("57P02", "crash_shutdown", Outcome::Unknown, PERHAPS, "a process of the server crashed"),
    sqlstate("57P03", "cannot_connect_now", Outcome::Rejected, NOTHING, "the server starts or stops"),
    sqlstate("57P04", "database_dropped", Outcome::Unknown, PERHAPS, "somebody dropped the database"),
    sqlstate(
        "57P05",
        "idle_session_timeout",
        Outcome::Unknown,
        PERHAPS,
        "idle for too long, so the connection was ended",
    ),
    sqlstate("58000", "system_error", Outcome::Unknown, PERHAPS, "the operating system reported an error"),
    sqlstate("P0001", "raise_exception", Outcome::Rejected, NOTHING, "a function or trigger raised it"),
    sqlstate("XX000", "internal_error", Outcome::Unknown, PERHAPS, "the server reports an internal error"),
    mysql(1020, "ER_CHECKREAD", Outcome::Conflict, AGAIN, "the row has changed since the snapshot"),
    mysql(1021, "ER_DISK_FULL", Outcome::Rejected, NOTHING, "the disk is full"),
    mysql(1040, "ER_CON_COUNT_ERROR", Outcome::Rejected, NOTHING, "no connection is left"),
    mysql(1044, "ER_DBACCESS_DENIED_ERROR", Outcome::Rejected, NOTHING, "the login is refused"),
    mysql(1045, "ER_ACCESS_DENIED_ERROR", Outcome::Rejected, NOTHING, "the login is refused"),
    mysql(1048, "ER_BAD_NULL_ERROR", Outcome::Rejected, NOTHING, "NULL where it is not allowed"),
    mysql(1049, "ER_BAD_DB_ERROR", Outcome::Rejected, NOTHING, "there is no such database"),
    mysql(1053, "ER_SERVER_SHUTDOWN", Outcome::Unknown, PERHAPS, "the server was told to stop"),
    mysql(1054, "ER_BAD_FIELD_ERROR", Outcome::Rejected, NOTHING, "there is no such column"),
    mysql(1062, "ER_DUP_ENTRY", Outcome::Rejected, NOTHING, "the key exists already"),
    mysql(1064, "ER_PARSE_ERROR", Outcome::Rejected, NOTHING, "the statement is wrong"),
    mysql(1114, "ER_RECORD_FILE_FULL", Outcome::Rejected, NOTHING, "the table is full"),
    mysql(1146, "ER_NO_SUCH_TABLE", Outcome::Rejected, NOTHING, "there is no such table"),
    mysql(1158, "ER_NET_READ_ERROR", Outcome::Unknown, PERHAPS, "the connection broke while the server read"),
    mysql(1159, "ER_NET_READ_INTERRUPTED", Outcome::Unknown, PERHAPS, "the client sent nothing for too long"),
    mysql(1160, "ER_NET_ERROR_ON_WRITE", Outcome::Unknown, PERHAPS, "the connection broke while the server wrote"),
    mysql(1161, "ER_NET_WRITE_INTERRUPTED", Outcome::Unknown, PERHAPS, "the client did not read for too long"),
    mysql(1203, "ER_TOO_MANY_USER_CONNECTIONS", Outcome::Rejected, NOTHING, "no connection is left for this user"),
    mysql(1205, "ER_LOCK_WAIT_TIMEOUT", Outcome::Timeout, AGAIN, "a lock was not granted in time"),
    mysql(1213, "ER_LOCK_DEADLOCK", Outcome::Conflict, AGAIN, "two transactions waited for each other"),
    mysql(1226, "ER_USER_LIMIT_REACHED", Outcome::Rejected, NOTHING, "a limit of this user is reached"),
    mysql(1264, "ER_WARN_DATA_OUT_OF_RANGE", Outcome::Rejected, NOTHING, "a value that does not fit"),
    mysql(
        1290,
        "ER_OPTION_PREVENTS_STATEMENT",
        Outcome::Rejected,
        NOTHING,
        "an option of the server forbids it, such as read_only",
    ),
    mysql(1292, "ER_TRUNCATED_WRONG_VALUE", Outcome::Rejected, NOTHING, "a value that is not one of its type"),
    mysql(1317, "ER_QUERY_INTERRUPTED", Outcome::Unknown, PERHAPS, "interrupted at the end of the drain"),
    mysql(
        1364,
        "ER_NO_DEFAULT_FOR_FIELD",
        Outcome::Rejected,
        NOTHING,
        "a column without a value and without a default",
    ),
    mysql(1366, "ER_TRUNCATED_WRONG_VALUE_FOR_FIELD", Outcome::Rejected, NOTHING, "a value that does not fit"),
    mysql(1406, "ER_DATA_TOO_LONG", Outcome::Rejected, NOTHING, "a value is too large"),
    mysql(1451, "ER_ROW_IS_REFERENCED_2", Outcome::Rejected, NOTHING, "a foreign key does not hold"),
    mysql(1452, "ER_NO_REFERENCED_ROW_2", Outcome::Rejected, NOTHING, "a foreign key does not hold"),
    mysql(1614, "ER_XA_RBDEADLOCK", Outcome::Conflict, AGAIN, "two transactions waited for each other"),
    mysql(1615, "ER_NEED_REPREPARE", Outcome::Rejected, AGAIN, "a table has changed since the statement was prepared"),
    mysql(1690, "ER_DATA_OUT_OF_RANGE", Outcome::Rejected, NOTHING, "a value that does not fit"),
    mysql(1927, "ER_CONNECTION_KILLED", Outcome::Unknown, PERHAPS, "the connection was ended"),
    mysql(1969, "ER_STATEMENT_TIMEOUT", Outcome::Timeout, PERHAPS, "max_statement_time was over"),
    mysql(2002, "CR_CONNECTION_ERROR", Outcome::Rejected, NOTHING, "no connection could be opened"),
    mysql(2003, "CR_CONN_HOST_ERROR", Outcome::Rejected, NOTHING, "no connection could be opened"),
    mysql(2006, "CR_SERVER_GONE_ERROR", Outcome::Unknown, PERHAPS, "the connection was lost"),
    mysql(2013, "CR_SERVER_LOST", Outcome::Unknown, PERHAPS, "the connection was lost"),
    mysql(4025, "ER_CONSTRAINT_FAILED", Outcome::Rejected, NOTHING, "a constraint does not hold"),
    worker(worker_code::ROWS, "ROWS", "a step returned or changed fewer or more rows than the workload says"),
    worker(worker_code::NOT_KEPT, "NOT_KEPT", "an earlier step yielded no row or value for it, as from an empty queue"),
    worker(worker_code::VALUE, "VALUE", "the driver gave back a value it cannot represent"),
    worker(worker_code::DRIVER, "DRIVER", "an error of the driver without a code of the engine"),
    unclear(CodeSpace::Worker, worker_code::ANSWER, "ANSWER", "an answer that is not HTTP, not JSON, or cut short"),
    refused(CodeSpace::Http, 300, "Redirection", "the answer is at another address"),
    refused(CodeSpace::Http, 400, "Bad Request", "the request is wrong"),
    refused(CodeSpace::Http, 401, "Unauthorized", "a login is needed"),
    refused(CodeSpace::Http, 403, "Forbidden", "the login is not allowed to do that"),
    refused(CodeSpace::Http, 404, "Not Found", "the path does not exist"),
    Code {
        outcome: Outcome::Timeout,
        again: true,
        ..refused(CodeSpace::Http, 408, "Request Timeout", "the service did not get the whole request in time")
    },
    Code {
        outcome: Outcome::Conflict,
        again: true,
        ..refused(CodeSpace::Http, 409, "Conflict", "it conflicts with another request")
    },
    Code { again: true, ..refused(CodeSpace::Http, 429, "Too Many Requests", "the service limits its clients") },
    unclear(CodeSpace::Http, 500, "Internal Server Error", "the service failed"),
    unclear(CodeSpace::Http, 502, "Bad Gateway", "a server behind the service failed"),
    Code { again: true, ..refused(CodeSpace::Http, 503, "Service Unavailable", "the service takes no more requests") },
    Code {
        outcome: Outcome::Timeout,
        ..unclear(CodeSpace::Http, 504, "Gateway Timeout", "a server behind the service was too slow")
    },
    unclear(CodeSpace::Os, 104, "ECONNRESET", "the connection was lost"),
    unclear(CodeSpace::Os, 32, "EPIPE", "the connection was lost"),
    Code { outcome: Outcome::Timeout, ..unclear(CodeSpace::Os, 110, "ETIMEDOUT", "no answer in time") },
    refused(CodeSpace::Os, 24, "EMFILE", "the process has too many open files"),
    refused(CodeSpace::Os, 71, "EPROTO", "TLS could not be set up, or the certificate is not trusted"),
    refused(CodeSpace::Os, 111, "ECONNREFUSED", "no connection could be opened"),
    refused(CodeSpace::Os, 113, "EHOSTUNREACH", "no route to the host"),
    unclear(CodeSpace::Os, 125, "ECANCELED", "given up at the end of the drain"),
];

/// The row for a code.
pub fn lookup(space: CodeSpace, code: u32) -> Option<&'static Code> {
    let find = |code| TABLE.iter().find(|row| row.space == space && row.code == code);
    find(code).or_else(|| match space {
        CodeSpace::Sqlite => find(code & 0xff),
        // A class is two characters; the three after it are zeros.
        CodeSpace::Sqlstate => find(code - code % 36u32.pow(3)),
        // 3xx is an answer from elsewhere; 4xx is the request's fault, and 5xx the service's.
        CodeSpace::Http => find(match code {
            300..400 => 300,
            ..500 => 400,
            _ => 500,
        }),
        _ => None,
    })
}

/// The name of a code for tables: `SQLITE_BUSY_SNAPSHOT (517)`.
pub fn code_name(space: CodeSpace, code: u32) -> String {
    match (lookup(space, code), space) {
        (_, CodeSpace::Ok) => "ok".to_string(),
        (Some(row), CodeSpace::Worker) => row.name.to_string(),
        (Some(row), CodeSpace::Sqlstate) if row.code == code => format!("{} ({})", row.name, code_to_sqlstate(code)),
        (Some(row), CodeSpace::Sqlstate) => format!("{} (SQLSTATE {})", row.name, code_to_sqlstate(code)),
        (Some(row), CodeSpace::Http) if row.code != code => format!("HTTP {code} (as {})", row.code),
        (Some(row), CodeSpace::Http) => format!("HTTP {code} {}", row.name),
        (Some(row), _) if row.code == code => format!("{} ({code})", row.name),
        (Some(row), _) => {
            sqlite_extended(code).map_or(format!("{} (extended {code})", row.name), |name| format!("{name} ({code})"))
        }
        (None, CodeSpace::Sqlstate) => format!("SQLSTATE {}", code_to_sqlstate(code)),
        (None, _) => format!("{} {code}", space.word()),
    }
}

/// The outcome of one attempt.
///
/// A wait for a lock that lasted until the configured timeout is a timeout; an earlier refusal is a conflict, although
/// SQLite returns the same code for both.
pub fn classify(sample: &Sample) -> Outcome {
    if sample.is_ok() {
        return Outcome::Committed;
    }
    if sample.flags & flag::INTERRUPTED != 0 {
        return Outcome::Unknown;
    }
    match lookup(sample.code_space, sample.code).map_or(Outcome::Unknown, |row| row.outcome) {
        Outcome::Rejected | Outcome::Conflict if sample.flags & flag::MAY_HAVE_ACTED != 0 => Outcome::Unknown,
        Outcome::Conflict if sample.flags & flag::LOCK_TIMEOUT_SPENT != 0 => Outcome::Timeout,
        outcome => outcome,
    }
}

/// Whether an unacknowledged attempt may have been carried out nevertheless, in whole or in part.
pub fn may_have_acted(sample: &Sample) -> bool {
    let unclear = sample.flags & (flag::INTERRUPTED | flag::MAY_HAVE_ACTED) != 0;
    !sample.is_ok() && (unclear || lookup(sample.code_space, sample.code).is_none_or(|row| !row.definite))
}

/// Whether a server's connection may be gone after an attempt: its outcome is unknown, or only the driver knows what went wrong.
pub fn may_have_lost_connection(sample: &Sample) -> bool {
    let is_drivers = sample.code_space == CodeSpace::Worker && sample.code == worker_code::DRIVER;
    !sample.is_ok() && (is_drivers || classify(sample) == Outcome::Unknown)
}

/// The codes worth trying again, for a plan's retry policy.
pub fn codes_worth_retrying(space: CodeSpace) -> Vec<(CodeSpace, u32)> {
    TABLE.iter().filter(|row| row.space == space && row.again).map(|row| (row.space, row.code)).collect()
}
