//! The format of a thread's segment: a header, then records. Numbers are in native byte order.
//!
//! Every record begins with `length u32, kind u8, a u8, b u16, id u64, t u64` and ends at a multiple of 8. `length`
//! includes the whole record. Ids are unique in a capture; `t` is in ticks of the capture's clock.

/// First eight bytes of a segment.
pub const MAGIC: u64 = u64::from_ne_bytes(*b"cntndcap");
pub const VERSION: u32 = 1;

/// Length of the longest segment; one record may need a longer one.
pub const SEGMENT_MAX: usize = 1 << 21;

/// Spare segments: files of zeros with this length that contend makes in the directory, once a process has asked for them
/// with the empty file [`WANTED`]. A process takes one by renaming it. So contend's processor time, not the program's, is
/// used for new pages.
pub const SPARES: u32 = 4;
pub const SPARE: &str = "spare-";
pub const WANTED: &str = "want-spares";

/// Begins of the names of files with which a process asks contend for something about a file (device and inode follow),
/// and of the answers: the content of a database; a plan ([`crate::plan`]), which is empty if there is none. A plan that
/// the process could not carry out has a third file.
pub const CONTENT_ASKED: &str = "keep-";
pub const CONTENT: &str = "kept-";
pub const PLAN_ASKED: &str = "plan-";
pub const PLAN: &str = "planned-";
pub const PLAN_FAILED: &str = "unplanned-";

/// Offsets in the header.
pub mod header {
    pub const VERSION: usize = 8;
    pub const PID: usize = 12;
    pub const TID: usize = 16;
    /// 1 if values are stored, 0 if they are hashed.
    pub const FULL: usize = 20;
    /// Number of bytes that are completely written, including the header.
    pub const COMMITTED: usize = 24;
    /// Identifies the process; process numbers may be reused.
    pub const PROCESS: usize = 32;
    /// Number of records that could not be written.
    pub const LOST: usize = 40;
    /// Number of calls on statements and connections for which the library had no entry left.
    pub const UNTRACKED: usize = 48;
    pub const BYTES: usize = 64;
}

/// Offsets in a record, by kind.
pub mod record {
    pub const KIND: usize = 4;
    pub const A: usize = 5;
    pub const B: usize = 6;
    pub const ID: usize = 8;
    pub const T: usize = 16;
    pub const HEAD: usize = 24;

    /// For a statement or an `sqlite3_exec`: from the beginning of the first step to the end of the last.
    pub const DURATION: usize = 24;
    /// Ticks inside SQLite.
    pub const INSIDE: usize = 32;
    /// Ticks asleep inside SQLite while waiting for a lock.
    pub const WAITED: usize = 40;
    pub const ROWS: usize = 48;
    pub const CHANGES: usize = 56;
    pub const ROWID: usize = 64;
    pub const RC: usize = 72;
    pub const STEP_BYTES: usize = 80;
    pub const EXEC_SQL: usize = 80;
    pub const EXEC_BYTES: usize = 88;

    pub const PREPARE_WAITED: usize = 32;
    pub const PREPARE_CONNECTION: usize = 40;
    pub const PREPARE_SQL: usize = 48;
    pub const PREPARE_RC: usize = 56;
    pub const PREPARE_FLAGS: usize = 60;
    pub const PREPARE_BYTES: usize = 64;

    pub const OPEN_RC: usize = 32;
    pub const OPEN_FLAGS: usize = 36;
    pub const OPEN_DEVICE: usize = 40;
    pub const OPEN_INODE: usize = 48;
    pub const OPEN_LIBRARY: usize = 56;
    pub const OPEN_BYTES: usize = 64;

    /// Ticks in the reset or finalize, and of these asleep; the result is in `NUMBER`. Absent in captures of older versions.
    pub const RESET_INSIDE: usize = 32;
    pub const RESET_WAITED: usize = 40;
    /// Rows that the statement had changed, and the last rowid. Absent, too.
    pub const RESET_CHANGES: usize = 48;
    pub const RESET_ROWID: usize = 56;
    pub const RESET_BYTES: usize = 64;

    /// For kinds with one number after the head.
    pub const NUMBER: usize = 24;
    pub const NUMBER_BYTES: usize = 32;
}

/// Kinds of record.
pub mod kind {
    /// The text of a statement: `id` is its hash, `t` its length.
    pub const TEXT: u8 = 1;
    /// The program: `t` is the length of its text (program, NUL, first argument that is a file), `b` is unused,
    /// `NUMBER` the number of the parent process.
    pub const PROCESS: u8 = 2;
    /// A SQLite library: `id` is its number in the process, `t` the length of its text (version, NUL, object).
    pub const LIBRARY: u8 = 3;
    /// A connection was opened. Followed by the file's name; if it could not be opened, by the name that was given.
    pub const OPEN: u8 = 4;
    pub const CLOSE: u8 = 5;
    pub const PREPARE: u8 = 6;
    /// A bound value: `a` its type, `b` its index, `t` the number, its bits, or the hash. For texts and blobs
    /// `NUMBER` is the length; the bytes follow if values are stored.
    pub const BIND: u8 = 7;
    pub const CLEAR: u8 = 8;
    pub const STEP: u8 = 9;
    /// A statement was reset or finalized before its last row. `NUMBER` is its result.
    pub const RESET: u8 = 10;
    /// `sqlite3_exec`. With 1 in `b` it replaces the one that is pending on the connection.
    pub const EXEC: u8 = 11;
    /// `sqlite3_busy_timeout`: `NUMBER` in milliseconds.
    pub const TIMEOUT: u8 = 12;
    /// A feature that is not captured in full, given in `b`. Of a FUNCTION `NUMBER` is the length of its name, which follows.
    pub const NOTE: u8 = 13;
    /// `sqlite3_transfer_bindings`: the values of the statement `NUMBER` became those of `id`.
    pub const TRANSFER: u8 = 14;
}

/// Types of a value (`a` of a BIND).
pub mod value {
    pub const NULL: u8 = 0;
    pub const INTEGER: u8 = 1;
    pub const REAL: u8 = 2;
    pub const TEXT: u8 = 3;
    pub const BLOB: u8 = 4;
    pub const ZEROS: u8 = 5;
    /// A pointer, or another value that cannot be stored.
    pub const OPAQUE: u8 = 6;
}

/// Bits of `a` of STEP, EXEC and RESET.
pub mod state {
    pub const AUTOCOMMIT_BEFORE: u8 = 1;
    pub const AUTOCOMMIT_AFTER: u8 = 2;
}

/// Bits of the flags of a PREPARE.
pub mod prepared {
    pub const READONLY: u32 = 1;
}

/// Options of `sqlite3_db_config` that can change results. A call is recorded as the PRAGMA with this name: one of SQLite with the
/// same effect, or one that SQLite does not have and ignores. In a transaction SQLite ignores its own for foreign keys.
pub mod config {
    pub const ENABLE_FKEY: i32 = 1002;
    pub const FOREIGN_KEYS: &str = "foreign_keys";
    pub const ALL: [(i32, &str); 13] = [
        (ENABLE_FKEY, "dbconfig_enable_fkey"),
        (1003, "dbconfig_enable_trigger"),
        (1004, "dbconfig_enable_fts3_tokenizer"),
        (1009, "dbconfig_reset_database"),
        (1010, "dbconfig_defensive"),
        (1011, "dbconfig_writable_schema"),
        (1012, "dbconfig_legacy_alter_table"),
        (1013, "dbconfig_dqs_dml"),
        (1014, "dbconfig_dqs_ddl"),
        (1015, "dbconfig_enable_view"),
        (1016, "dbconfig_legacy_file_format"),
        (1017, "dbconfig_trusted_schema"),
        (1019, "reverse_unordered_selects"),
    ];
    /// Options without an effect on results: memory, checkpoints at the end, loading of extensions (which is noted itself),
    /// plans, output of EXPLAIN, statistics.
    pub const OTHERS: [i32; 6] = [1001, 1005, 1006, 1007, 1008, 1018];
}

/// Features noted in `b` of a NOTE.
pub mod note {
    pub const BUSY_HANDLER: u16 = 1;
    pub const BLOB: u16 = 2;
    pub const BACKUP: u16 = 3;
    pub const DESERIALIZE: u16 = 4;
    pub const EXTENSION: u16 = 5;
    /// A function, collation or virtual table that the program defines.
    pub const FUNCTION: u16 = 6;
    /// Of servers: rows of COPY, a function called by number, replication, a message that was not understood, a text
    /// in an encoding that cannot be read safely.
    pub const COPY: u16 = 7;
    pub const CALL: u16 = 8;
    pub const REPLICATION: u16 = 9;
    pub const LOST: u16 = 10;
    pub const ENCODING: u16 = 11;
    /// An option of `sqlite3_db_config` that is in neither list of [`super::config`].
    pub const CONFIG: u16 = 12;
    /// A bound text in UTF-16 with half of a surrogate pair, which UTF-8 cannot hold.
    pub const SURROGATE: u16 = 13;
    pub const AUTHORIZER: u16 = 14;
    /// `sqlite3_set_last_insert_rowid`.
    pub const ROWID: u16 = 15;
    /// `sqlite3_limit` with a new value.
    pub const LIMIT: u16 = 16;
}

/// Flag of an OPEN for a connection that was not opened through a captured call.
pub const OPENED_UNSEEN: u32 = 1 << 31;

/// Result of a statement during which its process ended.
pub const PENDING: i32 = -1;

/// Environment variable: `hash|full : ticks|ns : contend's process : key as 32 hexadecimal digits : directory`.
pub const VARIABLE: &str = "CONTEND_CAPTURE";
