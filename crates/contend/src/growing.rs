//! Rows that follow from commits: those of reads in the window, and those that the last writes leave. Plain data: `workload`
//! recognises or reads it and `check` judges the rows, without depending on each other.

/// A read that returns one row for each row whose column equals its argument, from a table to which clients only add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Growing {
    /// The transaction that reads.
    pub transaction: u16,
    /// Index among its operation's arguments.
    pub argument: u16,
    /// Most such rows that it returns: the statement's LIMIT.
    pub most: u64,
    /// Fewest and most rows that the transaction's other steps return.
    pub others: (u64, u64),
    /// Transactions that add one such row each, and the index of the argument with the value.
    pub added_by: Vec<(u16, u16)>,
}

/// An invariant with `last`: a query that returns a row for each key, with what the last operation on that key wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastWrite {
    pub name: String,
    pub sql: String,
    /// The transaction that writes.
    pub transaction: u16,
    /// Index of the key among its operation's arguments; the first column has it.
    pub key: u16,
    /// Indexes of what it writes; the other columns have it.
    pub values: Vec<u16>,
}
