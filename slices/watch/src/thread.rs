//! State of a thread, or of a connection, between two events.

use std::collections::BTreeMap;

/// SQLite's codes of a statement that has a row, and of one that has ended.
const ROW: i32 = 100;
pub const DONE: i32 = 101;
/// Most nested savepoints that are stored.
const SAVEPOINTS_MAX: usize = 64;

/// A transaction that was begun by BEGIN or SAVEPOINT.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transaction {
    /// Whether it has executed a statement that may have read or written.
    pub has_statement: bool,
    /// Savepoints, outermost first, if one of them began the transaction: its release commits.
    savepoints: Vec<String>,
}

/// The first word of a statement, in capitals.
pub fn first_word(sql: &str) -> String {
    let word = sql.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    word.to_ascii_uppercase()
}

/// State of a connection's transaction after a statement: `None` in autocommit.
pub fn after(before: Option<Transaction>, sql: Option<&str>) -> Option<Transaction> {
    let Some(sql) = sql else { return before };
    let words = || sql.split_whitespace().map(|word| word.trim_end_matches(';').to_ascii_uppercase());
    match first_word(sql).as_str() {
        "BEGIN" => Some(Transaction::default()),
        "ROLLBACK" if words().any(|word| word == "TO") => before,
        "COMMIT" | "END" | "ROLLBACK" => None,
        "SAVEPOINT" => match before {
            Some(begun) if begun.savepoints.is_empty() => Some(begun),
            begun => {
                let mut begun = begun.unwrap_or_default();
                begun.savepoints.truncate(SAVEPOINTS_MAX);
                begun.savepoints.push(words().next_back().unwrap_or_default());
                Some(begun)
            }
        },
        "RELEASE" => {
            let mut begun = before?;
            let name = words().next_back().unwrap_or_default();
            let at = begun.savepoints.iter().rposition(|known| *known == name);
            begun.savepoints.truncate(at.unwrap_or(begun.savepoints.len()));
            (at != Some(0)).then_some(begun)
        }
        _ => before.map(|begun| Transaction { has_statement: true, ..begun }),
    }
}

/// Whether a statement ends a transaction, whatever began it.
fn ends(sql: Option<&str>) -> bool {
    after(Some(Transaction::default()), sql).is_none()
}

/// Whether a statement begins a transaction with the write lock: it never has a read lock before.
pub fn begins_with_lock(sql: Option<&str>) -> bool {
    let mut words = sql.unwrap_or_default().split_whitespace().map(str::to_ascii_uppercase);
    words.next().is_some_and(|word| word == "BEGIN")
        && words.next().is_some_and(|word| word.starts_with("IMMEDIATE") || word.starts_with("EXCLUSIVE"))
}

/// Current state of a thread.
#[derive(Debug, Clone, Default)]
pub struct Thread {
    pub calls: Vec<Call>,
    /// End of its last call, and text of its last statement.
    pub last_end_ns: u64,
    pub last_sql: Option<String>,
    /// Whether a statement has ended since the thread took the read lock.
    pub has_read: bool,
    /// Its transaction; `None` in autocommit, and if the beginning was not seen.
    pub transaction: Option<Transaction>,
    /// Whether a statement of unknown text may have begun one.
    pub may_have_begun: bool,
    pub sync_from_ns: Option<u64>,
    /// Databases of its lock calls, and when it last released the write lock of each (0: never).
    pub databases: BTreeMap<usize, u64>,
    /// End of its last wait for a lock.
    pub waited_ns: u64,
    /// Time of its last refused lock call that is no wait.
    pub gave_way_ns: u64,
    /// When it last had neither a transaction nor a statement with further rows.
    pub free_ns: u64,
    /// Since when it has had a transaction that has executed a statement, or a statement with further rows.
    pub reads_ns: Option<u64>,
    /// Whether its last statement returned SQLITE_BUSY.
    pub is_refused: bool,
}

impl Thread {
    /// Whether it does not have the lock: it was refused, or begins a transaction now.
    pub fn was_refused(&self) -> bool {
        let begins = |call: &Call| call.sql.as_deref().is_some_and(|sql| first_word(sql) == "BEGIN");
        self.is_refused || self.calls.first().is_some_and(begins)
    }

    /// When it last released the write lock of a database; 0 if never.
    pub fn wrote_ns(&self, database: usize) -> u64 {
        self.databases.get(&database).copied().unwrap_or(0)
    }

    /// It has released the write lock of a database: its transaction has ended.
    pub fn wrote(&mut self, database: usize, at_ns: u64) {
        self.databases.insert(database, at_ns);
        self.may_have_begun = false;
    }

    /// A statement has returned a code other than SQLITE_BUSY. Returns whether it has ended a transaction.
    pub fn stepped(&mut self, call: &Call, code: i32, at_ns: u64) -> bool {
        if code == ROW {
            // Statements that begin or end a transaction have no rows.
            self.has_read = true;
            self.reads_ns.get_or_insert(call.from_ns);
            self.transaction.iter_mut().for_each(|begun| begun.has_statement = true);
            return false;
        }
        let sql = call.sql.as_deref();
        let before = self.transaction.take();
        let had_one = before.is_some() || ends(sql);
        let fails = !matches!(code, 0 | DONE);
        self.transaction = if fails { before } else { after(before, sql) };
        self.may_have_begun = !fails && sql.is_none() || self.may_have_begun && !had_one;
        let is_begin = sql.is_some_and(|sql| first_word(sql) == "BEGIN");
        self.has_read = !(is_begin || had_one && self.transaction.is_none());
        match &self.transaction {
            None => (self.free_ns, self.reads_ns) = (at_ns, None),
            Some(begun) if begun.has_statement => _ = self.reads_ns.get_or_insert(call.from_ns),
            Some(_) => {}
        }
        had_one && self.transaction.is_none() && code == DONE
    }
}

#[derive(Debug, Clone)]
pub struct Call {
    pub from_ns: u64,
    pub sql: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a transaction is open after these statements, and has executed any.
    fn state(statements: &[&str]) -> Option<bool> {
        let end = statements.iter().fold(None, |before, sql| after(before, Some(sql)));
        end.map(|transaction| transaction.has_statement)
    }

    #[test]
    fn a_transaction_lasts_until_what_began_it_ends() {
        assert_eq!(state(&["BEGIN"]), Some(false));
        assert_eq!(state(&["begin immediate;", "INSERT INTO t"]), Some(true));
        assert_eq!(state(&["BEGIN", "SELECT 1", "END TRANSACTION"]), None);
        assert_eq!(state(&["BEGIN", "SELECT 1", "ROLLBACK"]), None);
        assert_eq!(state(&["BEGIN", "SELECT 1", "ROLLBACK TO s"]), Some(true));
        assert_eq!(state(&["BEGIN", "SELECT 1", "ROLLBACK TRANSACTION TO SAVEPOINT s;"]), Some(true));
        assert_eq!(state(&["BEGIN", "SAVEPOINT s", "RELEASE s"]), Some(false), "a savepoint reads nothing");
        assert_eq!(state(&["SAVEPOINT a", "UPDATE t", "SAVEPOINT b", "RELEASE SAVEPOINT b"]), Some(true));
        assert_eq!(state(&["SAVEPOINT a", "SAVEPOINT b", "RELEASE a"]), None, "the outermost commits");
        assert_eq!(state(&["SAVEPOINT a", "SAVEPOINT a", "RELEASE a"]), Some(false));
        assert_eq!(state(&["INSERT INTO t"]), None);
    }

    #[test]
    fn a_failed_commit_and_a_row_end_no_transaction() {
        let call = |sql: &str| Call { from_ns: 0, sql: Some(sql.to_string()) };
        let mut thread = Thread::default();
        assert!(!thread.stepped(&call("BEGIN"), DONE, 1));
        assert!(!thread.stepped(&call("COMMIT"), 19, 2) && thread.transaction.is_some());
        assert!(thread.stepped(&call("COMMIT"), DONE, 3) && thread.free_ns == 3);
        assert_eq!(thread.reads_ns, None);
        thread.stepped(&call("SELECT 1"), ROW, 4);
        assert_eq!((thread.free_ns, thread.reads_ns), (3, Some(0)), "it has further rows");
    }
}
