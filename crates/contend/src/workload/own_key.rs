//! Keys that the engine chooses for rows that come without one.

use super::generator::Generator;
use super::model::{Table, Workload};
use super::sql::{Brackets, mentions, words_and_signs};

/// A column with keys that the engine chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnKey {
    /// Its index.
    pub column: usize,
    /// The engine chose only keys above this one: the others were loaded.
    pub above: i64,
}

/// The INTEGER PRIMARY KEY of a table, if the engine chooses some of its keys. `None` if every INSERT names the key, and
/// if the key is not part of the column's definition.
pub fn own_key(workload: &Workload, table: &Table, scale: f64) -> Option<OwnKey> {
    let is_key = |column: &String| {
        let words: Vec<String> = column.split_whitespace().map(str::to_ascii_uppercase).collect();
        words.windows(3).any(|words| words == ["INTEGER", "PRIMARY", "KEY"])
    };
    let column = table.definitions().iter().position(is_key)?;
    let key = table.column_names().into_iter().nth(column)?;
    let rows = table.rows.at(&workload.scale, scale);
    let generator = table.columns.position(&key).map(|at| &table.columns.0[at].generator);
    let above = match generator {
        Some(Generator::Serial { start, step }) => {
            let last = start.saturating_add(step.saturating_mul(i64::try_from(rows.max(1) - 1).unwrap_or(i64::MAX)));
            last.max(*start)
        }
        _ => i64::MIN,
    };
    let chose_loaded = rows > 0 && generator.is_none();
    let after_load = workload.after_load.iter().map(|after| &after.sql);
    let mut inserts = workload.statements.iter().chain(after_load);
    let chooses = chose_loaded || inserts.any(|sql| leaves_out(sql, &table.name, &key));
    chooses.then_some(OwnKey { column, above })
}

/// Whether a statement inserts rows into a table without this column.
fn leaves_out(sql: &str, table: &str, key: &str) -> bool {
    let tokens = words_and_signs(sql, Brackets::Quote);
    let is_into = |pair: &[&str]| pair[0].eq_ignore_ascii_case("into") && mentions(pair[1], table);
    let Some(into) = tokens.windows(2).position(is_into) else { return false };
    match tokens[into + 2..].split_first() {
        Some((&"(", rest)) => !rest.iter().take_while(|token| **token != ")").any(|token| mentions(token, key)),
        // A row with all columns can name NULL for the key.
        _ => ["null", "default"].iter().any(|word| mentions(sql, word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use crate::workload::parse;

    /// The key of `t` in a workload with these columns, loaded rows and INSERT.
    fn key(columns: &str, loaded: &str, insert: &str) -> Option<(usize, i64)> {
        let text = format!(
            "about = 'x'\n[table.t]\nddl = 'CREATE TABLE t ({columns})'\n{loaded}\n[transaction.w]\nkind = 'write'\n\
             args = {{ a = {{ range = [1, 5] }} }}\n[[transaction.w.step]]\nsql = 'INSERT INTO {insert}'\n"
        );
        let workload = parse(&Source::new("w.toml", text)).unwrap_or_else(|error| panic!("{error}"));
        own_key(&workload, &workload.tables[0], 1.0).map(|own| (own.column, own.above))
    }

    #[test]
    fn the_engine_chooses_a_key_that_an_insert_leaves_out() {
        let columns = "price DECIMAL(10,2), id INTEGER PRIMARY KEY, n INTEGER";
        assert_eq!(key(columns, "", "t (n) VALUES (:a)"), Some((1, i64::MIN)));
        assert_eq!(key(columns, "", "t VALUES (1, NULL, :a)"), Some((1, i64::MIN)));
        assert_eq!(key(columns, "", "t (n, \"id\") VALUES (1, :a)"), None);
        let loaded = "rows = 4\ncolumns = { id = { serial = 10, step = 2 } }";
        assert_eq!(key(columns, loaded, "t (n) VALUES (:a)"), Some((1, 16)), "loaded keys are the plan's");
        assert_eq!(key(columns, loaded, "t (id) VALUES (:a)"), None);
    }
}
