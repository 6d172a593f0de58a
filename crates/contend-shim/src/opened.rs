//! The tables that a prepared statement opens, from its bytecode.

use crate::c::front::{Failed, Front};
use crate::value::Value;
use crate::word::from_first_word;

/// Whether the text may join by columns that both sides have: SQLite's authorizer does not report a table of which only
/// such columns are read.
pub fn may_join_by_names(sql: &str) -> bool {
    let text = sql.to_ascii_lowercase();
    ["using", "natural"].iter().any(|word| text.contains(word))
}

/// A table that a statement opens.
pub struct Opened {
    pub database: String,
    pub table: String,
    /// Whether to change it.
    pub writes: bool,
}

/// Tables that a statement opens.
///
/// # Errors
/// SQLite cannot prepare the statement, or read its own schema.
pub fn tables(front: &Front, sql: &str) -> Result<Vec<Opened>, Failed> {
    let roots = front.rows(
        "SELECT 0, rootpage, 'main', tbl_name FROM main.sqlite_master WHERE rootpage > 0 \
         UNION ALL SELECT 1, rootpage, 'temp', tbl_name FROM temp.sqlite_master WHERE rootpage > 0 \
         UNION ALL VALUES (0, 1, 'main', 'sqlite_master'), (1, 1, 'temp', 'sqlite_temp_master')",
    )?;
    // Others open what is not in a file, and their numbers mean other things.
    let opens = ["OpenRead", "OpenWrite", "ReopenIdx"].map(Value::text);
    let is_open = |step: &Vec<Value>| opens.contains(&step[1]);
    let steps = front.rows(&format!("EXPLAIN {}", from_first_word(sql)))?;
    // Of such a step, the second and third number are the root page and the database.
    let named = |step: &Vec<Value>| {
        let root = roots.iter().find(|root| root[0] == step[4] && root[1] == step[3])?;
        let [database, table] = [2, 3].map(|column| root[column].clone().into_words());
        Some(Opened { database, table, writes: step[1] == Value::text("OpenWrite") })
    };
    Ok(steps.iter().filter(|step| is_open(step)).filter_map(named).collect())
}
