//! Cases that a worker fails, each with what the failure says and why it must. Another failure of the same case is not a known one.

/// A failure of one case.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub case: &'static str,
    /// What the failure must say, all of it.
    pub says: &'static [&'static str],
    /// Why the worker fails the case, and is compared with the others nevertheless.
    pub reason: &'static str,
}

pub const fn known(case: &'static str, says: &'static [&'static str], reason: &'static str) -> Known {
    Known { case, says, reason }
}

pub const SQLX: &[Known] = &[
    known(
        "settings",
        &["the plan is refused", "error occurred while decoding column 0: invalid utf-8 sequence"],
        "sqlx gives only text for what is read back; bytes that are no text are an error",
    ),
    known(
        "refused-plans",
        &["(code: 1) incomplete input` does not say `PRAGMA nonsense(`"],
        "an error of a session statement does not name the statement",
    ),
];

pub const TYPES: &[Known] = &[known(
    "declared-types",
    &["\nerror\t10\tworker\t3\tthe driver gave a time.Time, which is no value of SQL"],
    "columns declared as a time or BOOLEAN come as Go's time.Time or bool",
)];

/// The same columns with a library that makes times of them by itself.
pub const TIMES: &[Known] = &[known(
    "declared-types",
    &["\nerror\t10\tworker\t4\tcannot parse time from column 2: parsing time \"2026-11-21\""],
    "it parses what is in columns declared as a time, and knows no date without a time of day",
)];

const BYTES: &str = "it binds bytes as text, so the worker refuses them";
pub const CRAWSHAW: &[Known] = &[
    known("values", &["\nerror\t17\tworker\t3\ta value that this driver cannot represent"], BYTES),
    known("keep", &[r"\nerror\t7\tworker\t3\ta value that this driver cannot represent"], BYTES),
    known("large", &[r"\nerror\t6\tworker\t3\ta value that this driver cannot represent"], BYTES),
    known("returning", &["syntax error"], "SQLite before 3.35 has no RETURNING"),
];

/// PDO has no type for reals, so they are bound as text; a column declared as a real makes one of it again.
const AS_TEXT: &str = "reals are bound as text";
pub const REALS: &[Known] = &[
    known("values", &["\nrow\ti4\tttext\tt-0\nrow\ti5\tttext\tt1.0E-307\n"], AS_TEXT),
    known("keep", &["SELECT * FROM seen ORDER BY rowid: ", ", found 11:6228d7220106c97d413800471ec50833:"], AS_TEXT),
];

/// What these show is in cases of its own, as far as it can mean the same.
const UNTYPED: &str = "columns without a type are not in its grammar";
const UNPARSED: &str = r"\tmysql\t1105\tFailed to parse the MySQL query.";
const BEGINS: &str = "it begins every transaction with BEGIN IMMEDIATE";
pub const ON_SQLITE: &[Known] = &[
    known("codes", &[r#"Ok("result\t0\nresult\t0\nerror\t6"#, UNPARSED], UNTYPED),
    known(
        "connect",
        &["expected `0 0 0 ok 2`, found `0 0 0 0:mysql:1146 0`"],
        "it keeps tables in mind, and does not know what a session statement makes",
    ),
    known(
        "declared-types",
        &["\nerror\t9\tmysql\t1105\tIncorrect timestamp value: '1700000000'"],
        "it refuses what a column of MySQL's type does not hold",
    ),
    known("keep", &[r#"Ok("error\t4"#, UNPARSED], UNTYPED),
    known("lock-busy", &["expected `1 2 0 0:sqlite:5 0`, found `1 2 0 begin:sqlite:5 0`"], BEGINS),
    known("lock-rollback-journal", &["expected `1 0 0 0:sqlite:5 0`, found `1 0 0 ok 2`"], BEGINS),
    known(
        "refused-plans",
        &["must be refused as ``SELECT id FROM t`\ncolumn`"],
        "it tells the columns of a statement only with its rows",
    ),
    known("refused-scripts", &["must be refused as `6\nq5`", r#"Ok("error\t4"#, UNPARSED], UNTYPED),
    known("repeat", &[r#"Ok("error\t4"#, UNPARSED], UNTYPED),
    known("returning", &["RETURNING"], "RETURNING is not MySQL's"),
    known("rows", &[r#"Ok("result\t0\nresult\t0\nerror\t6"#, UNPARSED], UNTYPED),
    known("script-large", &[r#"Ok("result\t0\nerror\t5"#, UNPARSED], UNTYPED),
    known("script", &["`Failed to parse the MySQL query.` does not say `no such column: missing`"], UNTYPED),
    // The reader waits for the writer, so it never reads while that writes, which the case begins with.
    known("snapshot", &["1:0 ", " was not within 0:0 "], BEGINS),
    known("values", &["found\nerror\t4\tmysql\t1105\tFailed to parse the MySQL query."], UNTYPED),
];

pub const LIBSQL: &[Known] = &[known(
    "values",
    &["\nerror\t14\tworker\t3\ta text with a NUL, which this driver would cut there"],
    "it ends a text at its first NUL when it reads it, so the worker refuses to bind one",
)];

const NUMBERS: &str =
    "integers and reals are both a Number, so beyond 2^53 the worker refuses them and 3.0 is read as 3";
pub const NODE_SQLITE3: &[Known] = &[
    known("values", &["\nerror\t7\tworker\t3\tan integer beyond 2^53, which this driver would change"], NUMBERS),
    known("keep", &[r"\nerror\t10\tworker\t3\tan integer beyond 2^53, which this driver would change"], NUMBERS),
    known("unique", &["expected `1048575 0 0 ok 1`, found `1048575 0 0 0:worker:3 0`"], NUMBERS),
    known("codes", &["expected `0 12 0 0:sqlite:1 0`, found `0 12 0 0:worker:3 0`"], NUMBERS),
    known("now-fixed", &["expected `0 0 0 ok 1`, found `0 0 0 0:worker:3 0`"], NUMBERS),
    known("script-large", &["the worker reads\nrow\ti1\ti1\tr0.5\ttrow 1\nrow\ti2\ti4\ti1\ttrow 2\n"], NUMBERS),
];
