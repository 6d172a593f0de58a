//! INSERTs that leave an INTEGER PRIMARY KEY to SQLite. The server's counter is set to the captured key before such a
//! statement: rolled back and refused rows use up keys of a server, but not of SQLite.

use crate::attach::unquoted;
use crate::content::quoted;
use crate::sql::{Token, tokens};
use crate::trace::Value;
use crate::workload::naming::places_of;
use contend_sql::{Catalogue, table_columns};

/// The counter of a table's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counter {
    pub table: String,
    pub column: String,
    /// The parameter that must be NULL.
    parameter: Option<u16>,
    /// Whether a row may be updated instead, which counts as a change, too.
    may_update: bool,
    /// Whether SQLite never gives a key of a deleted row again. Known for the tables of triggers.
    pub is_autoincrement: bool,
}

impl Counter {
    /// The first key that SQLite gave. `changes`: rows that the statement stored or updated; `rowid`: the last key after and before
    /// it. A server's counter gives no key of 0 or less.
    pub fn first(&self, values: &[(u16, Value)], changes: i64, rowid: [i64; 2]) -> Option<i64> {
        let [after, before] = rowid;
        let is_left = self
            .parameter
            .is_none_or(|number| values.iter().all(|(place, value)| *place != number || *value == Value::Null));
        let has_stored = changes > 0 && !(self.may_update && after == before);
        // Rows that were updated count as changes, too.
        let is_sure = |first: &i64| *first > 0 || after <= 0 || !self.may_update;
        Some(after - changes + 1).filter(|first| is_left && has_stored && is_sure(first))
    }
}

/// Places of the word INTO.
fn intos(all: &[Token]) -> Vec<usize> {
    let is_into = |at: &usize| matches!(all[*at], Token::Word(word) if word.eq_ignore_ascii_case("into"));
    (0..all.len()).filter(is_into).collect()
}

/// The counters that the statements of a trigger use.
pub fn counters_of_trigger(sql: &str, catalogue: &Catalogue) -> Vec<Counter> {
    let all = tokens(sql);
    intos(&all).into_iter().filter_map(|into| counter_at(&all, into, catalogue)).collect()
}

/// The counter that an INSERT uses; `None` if its rows have keys, or the table has no INTEGER PRIMARY KEY.
pub fn counter(sql: &str, catalogue: &Catalogue) -> Option<Counter> {
    let all = tokens(sql);
    counter_at(&all, *intos(&all).first()?, catalogue)
}

fn counter_at(all: &[Token], into: usize, catalogue: &Catalogue) -> Option<Counter> {
    let is = |at: usize, word: &str| matches!(all.get(at), Some(Token::Word(w)) if w.eq_ignore_ascii_case(word));
    let sign = |at: usize, sign: &str| all.get(at) == Some(&Token::Sign(sign));
    let name = |at: usize| match all.get(at) {
        Some(Token::Word(word)) => Some(unquoted(word)),
        _ => None,
    };
    let at = if sign(into + 2, ".") { into + 3 } else { into + 1 };
    let table = name(at)?;
    let columns = table_columns(catalogue, &table)?;
    let key = columns.iter().find(|column| column.is_rowid)?.name.clone();
    let is_key =
        |column: &str| [key.as_str(), "rowid", "_rowid_", "oid"].iter().any(|key| key.eq_ignore_ascii_case(column));
    let mut next = at + 1;
    let place = if sign(next, "(") {
        let end = (next..all.len()).find(|at| sign(*at, ")"))?;
        let place = (next + 1..end).step_by(2).position(|at| name(at).is_some_and(|name| is_key(&name)));
        next = end + 1;
        place
    } else if is(next, "default") {
        None
    } else {
        columns.iter().filter(|column| !column.is_generated).position(|column| column.is_rowid)
    };
    let parameter = match place {
        None => None,
        Some(place) => {
            let at = index(all, next, place)?;
            match all[at] {
                Token::Word(word) if word.eq_ignore_ascii_case("null") => None,
                Token::Parameter(_) => Some(*places_of(&all[..=at]).last()?),
                _ => return None,
            }
        }
    };
    let may_update = (next..all.len()).any(|at| is(at, "do") && is(at + 1, "update"));
    Some(Counter { table, column: key, parameter, may_update, is_autoincrement: false })
}

/// An INSERT of one row to the server, with this key; `None` for one of another form.
pub fn with_key(sql: &str, column: &str, key: i64) -> Option<String> {
    let all = tokens(sql);
    let sign = |at: usize, sign: &str| all.get(at) == Some(&Token::Sign(sign));
    let list = *intos(&all).first()? + 2;
    let end = (list..all.len()).find(|at| sign(*at, ")")).filter(|_| sign(list, "("))?;
    let is_key = |token: &Token| matches!(token, Token::Word(w) if unquoted(w).eq_ignore_ascii_case(column));
    let is_values = matches!(all.get(end + 1), Some(Token::Word(word)) if word.eq_ignore_ascii_case("values"));
    if end == list + 1 || all[list..end].iter().any(is_key) || !is_values || !sign(end + 2, "(") {
        return None;
    }
    let mut depth = 0;
    let last = (end + 2..all.len()).find(|at| {
        depth += i32::from(sign(*at, "(")) - i32::from(sign(*at, ")"));
        depth == 0
    })?;
    if sign(last + 1, ",") {
        return None;
    }
    let after = |at: usize| match all[at] {
        Token::Sign(text) => text.as_ptr() as usize - sql.as_ptr() as usize + text.len(),
        _ => 0,
    };
    let (names, row) = (after(list), after(end + 2));
    let column = quoted(column);
    Some(format!("{}{column}, {}{key}, {}", &sql[..names], &sql[names..row], &sql[row..]))
}

/// Index of the only token of a value in the first row after VALUES.
fn index(all: &[Token], values: usize, place: usize) -> Option<usize> {
    let is_values = matches!(all.get(values), Some(Token::Word(word)) if word.eq_ignore_ascii_case("values"));
    let (mut depth, mut passed) = (0, 0);
    for (at, token) in all.iter().enumerate().skip(values + 1).filter(|_| is_values) {
        match token {
            Token::Sign("(") => depth += 1,
            Token::Sign(")") => depth -= 1,
            Token::Sign(",") if depth == 1 => passed += 1,
            _ if depth == 1 && passed == place => {
                let is_alone = matches!(all.get(at + 1), Some(Token::Sign("," | ")")));
                return Some(at).filter(|_| is_alone);
            }
            _ => {}
        }
        if depth == 0 {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_left_to_sqlite_are_found() {
        let mut catalogue = Catalogue::default();
        let learned = catalogue.learn("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b); CREATE TABLE u (a PRIMARY KEY)");
        learned.expect("learned");
        let found = |sql: &str| counter(sql, &catalogue).map(|counter| (counter.parameter, counter.may_update));
        assert_eq!(found("INSERT INTO t (a, b) VALUES (?, ?)"), Some((None, false)));
        assert_eq!(found("INSERT INTO main.\"T\" SELECT NULL, a, b FROM t"), None);
        assert_eq!(found("INSERT INTO t VALUES (?, f(1, 2), 3), (5, 6, 7)"), Some((Some(1), false)));
        assert_eq!(found("INSERT INTO t (a, id) VALUES (:a, :b)"), Some((Some(2), false)));
        assert_eq!(found("INSERT INTO t (a, rowid) VALUES (?3, ?)"), Some((Some(4), false)));
        assert_eq!(found("INSERT INTO t (a, id) VALUES (f(1, 2), NULL)"), Some((None, false)));
        assert_eq!(found("INSERT INTO t (a, id) VALUES (1, 5)"), None);
        assert_eq!(found("INSERT INTO t (a, id) VALUES (1, NULL + ?)"), None);
        assert_eq!(found("INSERT INTO t DEFAULT VALUES"), Some((None, false)));
        assert_eq!(found("INSERT OR IGNORE INTO t (a) SELECT a FROM u"), Some((None, false)));
        assert_eq!(found("INSERT INTO t (a) VALUES (1) ON CONFLICT DO UPDATE SET a = 2"), Some((None, true)));
        let trigger = "CREATE TRIGGER r AFTER INSERT ON u BEGIN INSERT INTO t VALUES (new.id, 1, 2); \
                       INSERT INTO t (a) SELECT a FROM u; END";
        assert_eq!(counters_of_trigger(trigger, &catalogue).len(), 1);
        assert_eq!((found("INSERT INTO u VALUES (1)"), found("UPDATE t SET a = 1")), (None, None));
    }

    #[test]
    fn the_first_of_several_keys_follows_from_the_last() {
        let (table, column) = ("t".to_string(), "id".to_string());
        let sure = Counter { table, column, parameter: Some(1), may_update: false, is_autoincrement: false };
        assert_eq!(sure.first(&[(1, Value::Null)], 3, [9, 9]), Some(7));
        assert_eq!(sure.first(&[(1, Value::Integer(9))], 1, [9, 8]), None);
        assert_eq!(sure.first(&[], 0, [9, 8]), None);
        assert_eq!((sure.first(&[], 1, [0, -1]), sure.first(&[], 3, [1, -2])), (Some(0), Some(-1)));
        let unsure = Counter { may_update: true, ..sure };
        assert_eq!((unsure.first(&[], 1, [9, 9]), unsure.first(&[], 1, [9, 8])), (None, Some(9)));
        assert_eq!((unsure.first(&[], 3, [1, 0]), unsure.first(&[], 1, [-1, -2])), (None, Some(-1)));
    }

    #[test]
    fn a_key_is_put_into_an_insert_of_one_row() {
        let put = |sql: &str| with_key(sql, "id", -3);
        assert_eq!(
            put(r#"INSERT INTO "a (" ("b", "c") VALUES ($1, f('x)', 2)) RETURNING "id""#).as_deref(),
            Some(r#"INSERT INTO "a (" ("id", "b", "c") VALUES (-3, $1, f('x)', 2)) RETURNING "id""#)
        );
        for other in [
            r#"INSERT INTO "t" ("b") VALUES (1), (2)"#,
            r#"INSERT INTO "t" ("b") SELECT 1"#,
            r#"INSERT INTO "t" ("ID", "b") VALUES (DEFAULT, 1)"#,
            r#"INSERT INTO "t" DEFAULT VALUES"#,
            r#"INSERT INTO "t" () VALUES ()"#,
        ] {
            assert_eq!(put(other), None, "{other}");
        }
    }
}
