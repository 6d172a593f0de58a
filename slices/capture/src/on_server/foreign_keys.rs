//! Whether the program has foreign keys enforced. A server enforces those of all connections.

use crate::attach::unquoted;
use crate::on_server::pieces::{Role, pieces};
use crate::sql::{Token, tokens};
use crate::trace::Trace;
use contend::stats::precision::counted;
use std::collections::{BTreeSet, HashMap};

/// Whether a connection turns foreign keys on; `left_out` gets sentences.
pub fn foreign_keys(trace: &Trace, left_out: &mut BTreeSet<String>) -> bool {
    let (mut on, mut off, mut known) = (BTreeSet::new(), BTreeSet::new(), HashMap::new());
    // SQLite ignores the PRAGMA in a transaction.
    for call in trace.calls.iter().filter(|call| call.before && !call.has_failed()) {
        for &is_on in known.entry(call.sql.as_ptr()).or_insert_with(|| switches(&call.sql)).iter() {
            if is_on {
                on.insert(call.connection);
            } else if on.contains(&call.connection) {
                off.insert(call.connection);
            }
        }
    }
    let (count, all) = (on.len(), trace.connections.len());
    if count > 0 && count < all {
        left_out
            .insert(format!("{count} of {all} connections turn foreign keys on; the server enforces them for all."));
    }
    if !off.is_empty() {
        let turn = if off.len() == 1 { "turns" } else { "turn" };
        left_out.insert(format!(
            "{} {turn} foreign keys off again; the server enforces them all the time.",
            counted(off.len(), "connection")
        ));
    }
    count > 0
}

/// The values that the statements of a text give to `PRAGMA foreign_keys`.
fn switches(sql: &str) -> Vec<bool> {
    let settings = pieces(sql).into_iter().filter(|piece| piece.role == Role::Setting);
    settings.filter_map(|piece| switched(&tokens(piece.text))).collect()
}

/// The value that a statement gives to `PRAGMA foreign_keys`, as SQLite reads it; `None` for another statement.
fn switched(all: &[Token]) -> Option<bool> {
    let is = |token: &Token, name: &str| matches!(token, Token::Word(w) if unquoted(w).eq_ignore_ascii_case(name));
    let name = all.iter().position(|token| is(token, "foreign_keys")).filter(|_| is(&all[0], "pragma"))?;
    let [Token::Sign("=" | "("), given @ ..] = &all[name + 1..] else { return None };
    let ([Token::Sign("+"), Token::Literal(value), ..] | [Token::Word(value) | Token::Literal(value), ..]) = given
    else {
        return Some(false);
    };
    let value = unquoted(value);
    let digits: String = value.chars().take_while(char::is_ascii_digit).collect();
    Some(match digits.as_str() {
        "" => ["on", "yes", "true"].iter().any(|on| value.eq_ignore_ascii_case(on)),
        // SQLite takes the lowest byte.
        number => number.parse::<i32>().is_ok_and(|number| number % 256 != 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pragma_is_read_as_sqlite_reads_it() {
        let db = rusqlite::Connection::open_in_memory().expect("a database");
        let is_on = || db.query_row("PRAGMA foreign_keys", [], |row| row.get::<_, bool>(0)).expect("read");
        for value in
            ["on", "'on'", "\"ON\"", "Yes", "'true'", "1", "+2", "'2'", "7", "256", "0", "-1", "off", "'x'", "full"]
        {
            db.pragma_update(None, "foreign_keys", "off").expect("off");
            for sql in [format!("pragma main.foreign_keys = {value}"), format!("PRAGMA foreign_keys({value});")] {
                db.execute_batch(&sql).expect("set");
                assert_eq!(switches(&sql), [is_on()], "{sql}");
            }
        }
        assert_eq!(switches("PRAGMA foreign_keys; PRAGMA cache_size = 1; SELECT 1"), [] as [bool; 0]);
        assert_eq!(switches("PRAGMA foreign_keys = 1; CREATE TABLE t (a); PRAGMA foreign_keys = 'no'"), [true, false]);
    }
}
