//! The fixed-size record of one attempt, 64 bytes, little-endian.
//!
//! | bytes | field | meaning |
//! |---|---|---|
//! | 0..4 | client | number of the client, unique in the trial |
//! | 4..8 | operation | counts the client's operations from 0; never reset by a cycle |
//! | 8..10 | transaction | index into the plan's transactions |
//! | 10..12 | attempt | 0 for the first try |
//! | 12..14 | failed_step | step that failed; 65535 none, 65534 begin, 65533 commit |
//! | 14 | code_space | whose code it is, see [`CodeSpace`] |
//! | 15 | flags | see [`flag`] |
//! | 16..20 | code | the engine's own code; a SQLSTATE in base 36 |
//! | 20..24 | rows | rows returned or changed by all steps |
//! | 24..32 | due_ns | when the operation was due |
//! | 32..40 | started_ns | when this attempt started |
//! | 40..48 | finished_ns | when it ended |
//! | 48..56 | lock_wait_ns | time inside it spent waiting for locks |
//! | 56..64 | acquire_wait_ns | time spent waiting for a connection |
//!
//! Times are readings of the worker's monotonic clock. A wait of all ones was not measured.

/// Bytes of one sample.
pub const SAMPLE_BYTES: usize = 64;
/// A wait the worker cannot measure.
pub const NOT_MEASURED: u64 = u64::MAX;
/// `failed_step` of an attempt that did not fail.
pub const STEP_NONE: u16 = 65535;
/// `failed_step` when the transaction could not begin.
pub const STEP_BEGIN: u16 = 65534;
/// `failed_step` when the commit failed.
pub const STEP_COMMIT: u16 = 65533;

/// Facts about an attempt that its code alone does not show.
pub mod flag {
    /// The engine waited for a lock until the configured timeout had passed.
    pub const LOCK_TIMEOUT_SPENT: u8 = 1;
    /// The worker interrupted the connection at the end of the drain.
    pub const INTERRUPTED: u8 = 2;
    /// The attempt failed, whatever its code says, after something of it may have been done.
    pub const MAY_HAVE_ACTED: u8 = 4;
}

/// Codes of [`CodeSpace::Worker`]: what the worker itself found.
pub mod worker_code {
    /// A step returned or changed fewer or more rows than the plan allows.
    pub const ROWS: u32 = 1;
    /// A step needs a value that an earlier step did not yield.
    pub const NOT_KEPT: u32 = 2;
    /// The driver gave back a value it cannot represent.
    pub const VALUE: u32 = 3;
    /// An error of the driver itself, without a code of the engine.
    pub const DRIVER: u32 = 4;
    /// An answer that is not what the protocol says: not HTTP, not the JSON that is needed, or cut short.
    pub const ANSWER: u32 = 5;
}

/// Whose code a sample carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum CodeSpace {
    /// Success; the code is 0.
    Ok = 0,
    /// SQLite's extended result codes.
    Sqlite = 1,
    /// SQLSTATE, five characters in base 36.
    Sqlstate = 2,
    /// Error numbers of MySQL and MariaDB.
    Mysql = 3,
    /// HTTP status.
    Http = 4,
    /// errno.
    Os = 5,
    /// See [`worker_code`].
    Worker = 6,
}

impl CodeSpace {
    /// All spaces, in the order of their numbers.
    pub const ALL: [CodeSpace; 7] = [
        CodeSpace::Ok,
        CodeSpace::Sqlite,
        CodeSpace::Sqlstate,
        CodeSpace::Mysql,
        CodeSpace::Http,
        CodeSpace::Os,
        CodeSpace::Worker,
    ];

    /// The space with this number.
    pub fn from_number(n: u8) -> Option<Self> {
        Self::ALL.get(usize::from(n)).copied()
    }

    /// The word used in plans and tables.
    pub fn word(self) -> &'static str {
        match self {
            CodeSpace::Ok => "ok",
            CodeSpace::Sqlite => "sqlite",
            CodeSpace::Sqlstate => "sqlstate",
            CodeSpace::Mysql => "mysql",
            CodeSpace::Http => "http",
            CodeSpace::Os => "os",
            CodeSpace::Worker => "worker",
        }
    }

    /// A code of this space as people write it.
    pub fn shown(self, code: u32) -> String {
        match self {
            CodeSpace::Sqlstate => code_to_sqlstate(code),
            _ => code.to_string(),
        }
    }

    /// The space with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|space| space.word() == word)
    }
}

/// One attempt. Field meanings and units: see the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Sample {
    pub client: u32,
    pub operation: u32,
    pub transaction: u16,
    pub attempt: u16,
    pub failed_step: u16,
    pub code_space: CodeSpace,
    pub flags: u8,
    pub code: u32,
    pub rows: u32,
    pub due_ns: u64,
    pub started_ns: u64,
    pub finished_ns: u64,
    pub lock_wait_ns: u64,
    pub acquire_wait_ns: u64,
}

/// An acknowledged attempt at time 0, of which nothing was measured.
impl Default for Sample {
    fn default() -> Self {
        Self {
            client: 0,
            operation: 0,
            transaction: 0,
            attempt: 0,
            failed_step: STEP_NONE,
            code_space: CodeSpace::Ok,
            flags: 0,
            code: 0,
            rows: 0,
            due_ns: 0,
            started_ns: 0,
            finished_ns: 0,
            lock_wait_ns: NOT_MEASURED,
            acquire_wait_ns: NOT_MEASURED,
        }
    }
}

impl Sample {
    /// The 64 bytes of this sample.
    pub fn encode(&self) -> [u8; SAMPLE_BYTES] {
        let mut b = [0; SAMPLE_BYTES];
        b[0..4].copy_from_slice(&self.client.to_le_bytes());
        b[4..8].copy_from_slice(&self.operation.to_le_bytes());
        b[8..10].copy_from_slice(&self.transaction.to_le_bytes());
        b[10..12].copy_from_slice(&self.attempt.to_le_bytes());
        b[12..14].copy_from_slice(&self.failed_step.to_le_bytes());
        b[14] = self.code_space as u8;
        b[15] = self.flags;
        b[16..20].copy_from_slice(&self.code.to_le_bytes());
        b[20..24].copy_from_slice(&self.rows.to_le_bytes());
        b[24..32].copy_from_slice(&self.due_ns.to_le_bytes());
        b[32..40].copy_from_slice(&self.started_ns.to_le_bytes());
        b[40..48].copy_from_slice(&self.finished_ns.to_le_bytes());
        b[48..56].copy_from_slice(&self.lock_wait_ns.to_le_bytes());
        b[56..64].copy_from_slice(&self.acquire_wait_ns.to_le_bytes());
        b
    }

    /// Reads one sample.
    ///
    /// # Errors
    /// A code space that is not one of the seven, or times that run backwards: the file is damaged.
    pub fn decode(b: &[u8; SAMPLE_BYTES]) -> Result<Self, String> {
        let u16_at = |i: usize| u16::from_le_bytes([b[i], b[i + 1]]);
        let u32_at = |i: usize| u32::from_le_bytes([b[i], b[i + 1], b[i + 2], b[i + 3]]);
        let u64_at = |i: usize| u64::from(u32_at(i)) | u64::from(u32_at(i + 4)) << 32;
        let sample = Sample {
            client: u32_at(0),
            operation: u32_at(4),
            transaction: u16_at(8),
            attempt: u16_at(10),
            failed_step: u16_at(12),
            code_space: CodeSpace::from_number(b[14]).ok_or_else(|| format!("code space {} is unknown", b[14]))?,
            flags: b[15],
            code: u32_at(16),
            rows: u32_at(20),
            due_ns: u64_at(24),
            started_ns: u64_at(32),
            finished_ns: u64_at(40),
            lock_wait_ns: u64_at(48),
            acquire_wait_ns: u64_at(56),
        };
        if sample.finished_ns < sample.started_ns {
            return Err(format!(
                "an attempt that finished ({}) before it started ({})",
                sample.finished_ns, sample.started_ns
            ));
        }
        if (sample.code_space == CodeSpace::Ok) != (sample.failed_step == STEP_NONE) {
            return Err(format!("code space {} with failed step {}", sample.code_space.word(), sample.failed_step));
        }
        Ok(sample)
    }

    /// Whether the attempt succeeded.
    pub fn is_ok(&self) -> bool {
        self.code_space == CodeSpace::Ok
    }
}

/// A SQLSTATE as a number: its five characters as digits in base 36.
pub fn sqlstate_to_code(state: &str) -> Option<u32> {
    if state.len() != 5 || !state.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()) {
        return None;
    }
    u32::from_str_radix(state, 36).ok()
}

/// The five characters of a SQLSTATE number.
pub fn code_to_sqlstate(mut code: u32) -> String {
    let mut digits = [b'0'; 5];
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(code % 36) as usize];
        code /= 36;
    }
    digits.iter().map(|&b| b as char).collect()
}
