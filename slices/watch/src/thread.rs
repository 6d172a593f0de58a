//! State of a thread, or of a connection, between two events.

/// State of a thread's transaction after a statement, as in [`Thread::transaction`].
pub fn after(before: Option<bool>, sql: Option<&str>) -> Option<bool> {
    let Some(sql) = sql else { return before };
    let word = sql.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    match word.to_ascii_uppercase().as_str() {
        "BEGIN" => Some(false),
        "COMMIT" | "END" | "ROLLBACK" => None,
        _ => before.map(|_| true),
    }
}

/// Current state of a thread.
#[derive(Debug, Clone, Default)]
pub struct Thread {
    pub calls: Vec<Call>,
    /// End and text of its last statement.
    pub last_end_ns: u64,
    pub last_sql: Option<String>,
    /// Whether a statement has ended since the thread took the read lock.
    pub has_read: bool,
    /// Whether a statement has ended since its last BEGIN; `None` outside of a transaction.
    pub transaction: Option<bool>,
    pub sync_from_ns: Option<u64>,
    /// Time when it last released the write lock.
    pub wrote_ns: u64,
    /// End of its last wait for a lock.
    pub waited_ns: u64,
    /// Whether its last statement returned SQLITE_BUSY.
    pub is_refused: bool,
}

impl Thread {
    /// Whether it does not have the lock: it was refused, or begins a transaction now.
    pub fn was_refused(&self) -> bool {
        let begins = |call: &Call| call.sql.as_deref().is_some_and(|sql| after(None, Some(sql)).is_some());
        self.is_refused || self.calls.first().is_some_and(begins)
    }
}

#[derive(Debug, Clone)]
pub struct Call {
    pub from_ns: u64,
    pub sql: Option<String>,
}
