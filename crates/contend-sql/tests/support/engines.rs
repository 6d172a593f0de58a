//! One statement on one engine: rows, names of columns, rows changed, or why not.

use super::value::{Row, Value};

/// The result of a statement.
#[derive(Debug, Clone, Default)]
pub struct Returned {
    pub names: Vec<String>,
    pub rows: Vec<Row>,
    /// Rows inserted, updated or deleted, for statements that do so and return no rows.
    pub changed: Option<u64>,
    /// SQLite's last_insert_rowid() afterwards.
    pub rowid: Option<i64>,
}

/// Why a statement failed, as far as engines are comparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Unique,
    NotNull,
    Check,
    ForeignKey,
    Other,
}

#[derive(Debug, Clone)]
pub struct Failed {
    pub class: Class,
    pub message: String,
}

pub trait Engine {
    /// Runs one statement with its parameters in the order of its placeholders.
    fn run(&mut self, sql: &str, params: &[Value]) -> Result<Returned, Failed>;
    /// Runs statements of the test itself, which must not fail.
    fn must(&mut self, sql: &str);
    /// Creates a schema of this name and makes it current. Old ones are removed with the server, which is faster.
    fn fresh(&mut self, name: &str);
    fn version(&mut self) -> String;
}

/// The first word of a statement after its comments, in upper case.
pub fn first_word(sql: &str) -> String {
    let mut rest = sql.trim_start();
    loop {
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, after)| after).trim_start();
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after).trim_start();
        } else {
            let word: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
            return word.to_ascii_uppercase();
        }
    }
}

/// Whether a statement changes rows and says how many.
pub fn counts_changes(sql: &str) -> bool {
    ["INSERT", "REPLACE", "UPDATE", "DELETE", "MERGE", "WITH"].contains(&first_word(sql).as_str())
}
