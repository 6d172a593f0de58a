//! What is not carried out again on a server.

use crate::attach::names_one_of;
use crate::sql::{Token, tokens};
use crate::stand_ins::is_stand_in;
use crate::statement::{statements, without_quotes, word};
use crate::trace::{Call, Value};
use std::collections::{BTreeMap, BTreeSet};

const NOT_CAPTURED: &str = "without captured text or values";
const ROWS: &str = "with rows or files (COPY, LOAD DATA, INTO OUTFILE)";
const WHOLE_SERVER: &str = "about the whole server (databases, users, rights, global settings, other connections)";
const OTHER_DATABASE: &str = "with the name of another database of the server";
const COMPUTED: &str = "with a statement in a variable or an expression (PREPARE, EXECUTE IMMEDIATE)";
const NOT_PREPARED: &str = "with EXECUTE or DEALLOCATE of a PREPARE that was left out";
/// Client libraries of PostgreSQL prepare statements by a message, and end them by a text.
const BY_MESSAGE: &str = "with DEALLOCATE or EXECUTE of a statement that no text had prepared";
const FORM: &str = "about the form of strings, which are stored in the standard form";

/// Why a call is left out, as it follows "1 statement". `others`: databases of MariaDB that a statement must not name.
pub fn why(call: &Call, is_mariadb: bool, others: &BTreeSet<String>) -> Option<&'static str> {
    if call.values.iter().any(|(_, value)| matches!(value, Value::Opaque | Value::Hash(..))) {
        return Some(NOT_CAPTURED);
    }
    why_of(&call.sql, is_mariadb, others)
}

fn why_of(sql: &str, is_mariadb: bool, others: &BTreeSet<String>) -> Option<&'static str> {
    let all = tokens(sql);
    if is_stand_in(sql) || sql.contains(char::REPLACEMENT_CHARACTER) || all.iter().any(is_hidden) {
        return Some(NOT_CAPTURED);
    }
    let of_one = statements(&all).into_iter().find_map(|place| {
        let statement = &all[place];
        of_statement(statement, is_mariadb).or_else(|| match inner(statement).filter(|_| is_mariadb)? {
            Inner::Text(sql) => why_of(&sql, is_mariadb, others),
            Inner::Computed => Some(COMPUTED),
        })
    });
    of_one.or_else(|| (is_mariadb && names_one_of(sql, others)).then_some(OTHER_DATABASE))
}

/// The statement in a statement of MariaDB.
enum Inner {
    Text(String),
    Computed,
}

/// The statement in a `PREPARE name FROM` or an `EXECUTE IMMEDIATE`.
fn inner(statement: &[Token]) -> Option<Inner> {
    let from = match (word(statement, 0).as_str(), word(statement, 1).as_str()) {
        ("prepare", _) => 1 + statement.iter().position(|token| token.is_word("from"))?,
        ("execute", "immediate") => 2,
        _ => return None,
    };
    let (Token::Literal(text) | Token::Word(text), rest) = statement.get(from..)?.split_first()? else {
        return Some(Inner::Computed);
    };
    let quote = text.chars().next().filter(|quote| ['\'', '"'].contains(quote));
    let inside = quote.and_then(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    let is_all = rest.first().is_none_or(|next| next.is_word("using"));
    let Some((quote, inside)) = quote.zip(inside).filter(|_| is_all) else { return Some(Inner::Computed) };
    // A captured text has its own kind of quotes doubled.
    Some(Inner::Text(inside.replace(&format!("{quote}{quote}"), &quote.to_string())))
}

/// Statements that a text has prepared.
#[derive(Default)]
pub struct Prepared {
    /// By connection and name, whether the replay has prepared them, too.
    all: BTreeMap<(u64, String), bool>,
    /// Here a statement without a name in `all` may be one of a procedure: only texts prepare statements with names.
    is_mariadb: bool,
}

impl Prepared {
    pub fn new(is_mariadb: bool) -> Prepared {
        Prepared { is_mariadb, ..Prepared::default() }
    }

    /// The reason to leave out a call: `why`, or that the replay has not prepared a statement that the call names.
    pub fn why(
        &mut self,
        connection: u64,
        (sql, has_failed): (&str, bool),
        why: Option<&'static str>,
    ) -> Option<&'static str> {
        let all = tokens(sql);
        let named: Vec<_> = statements(&all).into_iter().filter_map(|place| prepared(&all[place])).collect();
        let key = |name: &String| (connection, name.clone());
        // A statement that the call itself prepares is not the one that was left out.
        let lacks = |(at, (name, is_made)): (usize, &(String, bool))| {
            let is_own = named[..at].iter().any(|(own, is_made)| *is_made && own == name);
            let of_replay = self.all.get(&key(name));
            match (*is_made || is_own, of_replay) {
                (true, _) | (false, Some(true)) => None,
                (false, Some(false)) => Some(NOT_PREPARED),
                (false, None) => (!has_failed && !self.is_mariadb).then_some(BY_MESSAGE),
            }
        };
        let why = why.or_else(|| named.iter().enumerate().find_map(lacks));
        for (name, _) in named.iter().filter(|(_, is_made)| *is_made) {
            self.all.insert(key(name), why.is_none());
        }
        if !has_failed {
            let ended = statements(&all).into_iter().map(|place| &all[place]).filter(|statement| ends(statement));
            for name in ended.map(prepared) {
                self.all.retain(|of, _| of.0 != connection || name.as_ref().is_some_and(|(name, _)| *name != of.1));
            }
        }
        why
    }
}

/// The name in `PREPARE name`, or in `EXECUTE name` and `DEALLOCATE name`; whether it is the first.
fn prepared(statement: &[Token]) -> Option<(String, bool)> {
    let at = match (word(statement, 0).as_str(), word(statement, 1).as_str()) {
        ("execute", "immediate") | ("deallocate", "all") => return None,
        ("deallocate" | "drop", "prepare") => 2,
        ("prepare" | "execute" | "deallocate", _) => 1,
        _ => return None,
    };
    match statement.get(at)? {
        Token::Word(name) if name.eq_ignore_ascii_case("all") => None,
        Token::Word(name) => Some((without_quotes(name).to_lowercase(), statement[0].is_word("prepare"))),
        _ => None,
    }
}

/// Whether a statement ends prepared ones: that of its name, or all of the connection.
fn ends(statement: &[Token]) -> bool {
    let words = (word(statement, 0), word(statement, 1));
    matches!((words.0.as_str(), words.1.as_str()), ("deallocate", _) | ("drop", "prepare") | ("discard", "all"))
}

/// Whether a literal is a stand-in, as for passwords.
fn is_hidden(token: &Token) -> bool {
    let inner = match token {
        Token::Literal(text) => text.strip_prefix("'#").and_then(|text| text.strip_suffix('\'')),
        _ => None,
    };
    inner.is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn of_statement(statement: &[Token], is_mariadb: bool) -> Option<&'static str> {
    const FILES: [&str; 2] = ["outfile", "dumpfile"];
    const CONNECTIONS: [&str; 2] = ["pg_terminate_backend", "pg_cancel_backend"];
    const OBJECTS: [&str; 8] = ["database", "user", "role", "group", "server", "subscription", "system", "tablespace"];
    const GLOBAL: [&str; 3] = ["global", "persist", "persist_only"];
    const ALONE: [&str; 8] = ["kill", "shutdown", "flush", "grant", "revoke", "install", "uninstall", "purge"];
    let words: Vec<String> = (0..6).map(|at| word(statement, at)).collect();
    let has = |list: &[&str]| statement.iter().any(|token| list.iter().any(|word| token.is_word(word)));
    let second = if words[1] == "or" { &words[3] } else { &words[1] };
    let is_schema = is_mariadb && second == "schema";
    match words[0].as_str() {
        "copy" | "load" => Some(ROWS),
        _ if has(&FILES) => Some(ROWS),
        "create" | "alter" | "drop" | "rename" if OBJECTS.contains(&second.as_str()) || is_schema => Some(WHOLE_SERVER),
        "set" if second == "password" || second == "default" || is_mariadb && has(&GLOBAL) => Some(WHOLE_SERVER),
        "start" | "stop" | "reset" | "change" if ["slave", "replica", "master", "all"].contains(&second.as_str()) => {
            // PostgreSQL has RESET ALL, for settings of the session.
            is_mariadb.then_some(WHOLE_SERVER)
        }
        first if ALONE.contains(&first) || has(&CONNECTIONS) || has(&["@@global"]) => Some(WHOLE_SERVER),
        "use" if is_mariadb => Some(OTHER_DATABASE),
        "set" if has(&["standard_conforming_strings"]) => Some(FORM),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reaches_beyond_the_database_is_left_out() {
        let others = BTreeSet::from(["logs".to_string()]);
        for (sql, is_mariadb, why) in [
            ("INSERT INTO t VALUES ('KILL 5', 'logs.x')", true, None),
            ("BEGIN; COPY t FROM STDIN", false, Some(ROWS)),
            ("SELECT a INTO OUTFILE 'x' FROM t", true, Some(ROWS)),
            ("KILL 5", true, Some(WHOLE_SERVER)),
            ("CREATE OR REPLACE USER u", true, Some(WHOLE_SERVER)),
            ("CREATE SCHEMA s", false, None),
            ("CREATE SCHEMA s", true, Some(WHOLE_SERVER)),
            ("SET @@global.x = 1", true, Some(WHOLE_SERVER)),
            ("SET GLOBAL x = 1", true, Some(WHOLE_SERVER)),
            ("SET SESSION sql_mode = '', GLOBAL x = 1", true, Some(WHOLE_SERVER)),
            ("SET PERSIST x = 1", true, Some(WHOLE_SERVER)),
            ("RESET ALL", false, None),
            ("START TRANSACTION", true, None),
            ("INSERT INTO `logs`.t SELECT 1", true, Some(OTHER_DATABASE)),
            ("SELECT 1; USE shop", true, Some(OTHER_DATABASE)),
            ("INSERT INTO logs.t SELECT 1", false, None),
            ("SELECT pg_terminate_backend(7)", false, Some(WHOLE_SERVER)),
            ("CREATE TABLE t (password text DEFAULT '#0123456789abcdef')", false, Some(NOT_CAPTURED)),
            ("a_text_of_more_than_1_MiB", true, Some(NOT_CAPTURED)),
            ("SET standard_conforming_strings = off", false, Some(FORM)),
            ("PREPARE s FROM 'SELECT ''KILL 5'''", true, None),
            ("PREPARE s FROM 'SET GLOBAL x = 1'", true, Some(WHOLE_SERVER)),
            ("EXECUTE IMMEDIATE 'INSERT INTO logs.t VALUES (''a'')'", true, Some(OTHER_DATABASE)),
            ("EXECUTE IMMEDIATE \"KILL 5\"", true, Some(WHOLE_SERVER)),
            ("EXECUTE IMMEDIATE 'INSERT INTO t SELECT \"\" FROM logs.t'", true, Some(OTHER_DATABASE)),
            ("EXECUTE IMMEDIATE \"SELECT '' FROM logs.t\"", true, Some(OTHER_DATABASE)),
            ("EXECUTE IMMEDIATE 'INSERT INTO t VALUES (?)' USING 5", true, None),
            ("PREPARE s FROM @text", true, Some(COMPUTED)),
            ("EXECUTE IMMEDIATE CONCAT('SET ', 'GLOBAL x = 1')", true, Some(COMPUTED)),
            ("EXECUTE IMMEDIATE 'SET ' 'GLOBAL x = 1'", true, Some(COMPUTED)),
            ("PREPARE s AS SELECT 1 FROM t", false, None),
        ] {
            assert_eq!(why_of(sql, is_mariadb, &others), why, "{sql}");
        }
    }

    #[test]
    fn prepared_statements_are_known_by_their_names() {
        for (sql, name) in [
            ("PREPARE Kills FROM 'KILL 5'", Some(("kills", true))),
            ("EXECUTE `kills` USING @a", Some(("kills", false))),
            ("DEALLOCATE PREPARE kills", Some(("kills", false))),
            ("DROP PREPARE kills", Some(("kills", false))),
            ("DEALLOCATE kills", Some(("kills", false))),
            ("DEALLOCATE PREPARE ALL", None),
            ("EXECUTE IMMEDIATE 'KILL 5'", None),
            ("DROP TABLE kills", None),
        ] {
            assert_eq!(prepared(&tokens(sql)), name.map(|(name, is_made)| (name.to_string(), is_made)), "{sql}");
        }
    }
    #[test]
    fn what_executes_a_statement_that_was_left_out_is_left_out_too() {
        let mut statements = Prepared::default();
        for (sql, why, then) in [
            ("SET @q = 'KILL 5'; PREPARE s FROM @q", Some(COMPUTED), Some(COMPUTED)),
            ("EXECUTE s", None, Some(NOT_PREPARED)),
            ("SELECT 1; EXECUTE s", None, Some(NOT_PREPARED)),
            ("DEALLOCATE pdo_stmt_00000001", None, Some(BY_MESSAGE)),
            ("PREPARE a AS SELECT 1", None, None),
            ("DEALLOCATE a", None, None),
            ("DEALLOCATE a", None, Some(BY_MESSAGE)),
            ("PREPARE a AS SELECT 1", None, None),
            ("DEALLOCATE ALL", None, None),
            ("EXECUTE a", None, Some(BY_MESSAGE)),
            ("PREPARE s FROM 'SELECT 1'; EXECUTE s", None, None),
            ("EXECUTE s", None, None),
        ] {
            assert_eq!(statements.why(1, (sql, false), why), then, "{sql}");
        }
        // A procedure may have prepared it.
        assert_eq!(Prepared::new(true).why(1, ("EXECUTE s", false), None), None);
        for sql in ["PREPARE s FROM 'SELECT 1'", "DEALLOCATE PREPARE s"] {
            assert_eq!(Prepared::new(true).why(1, (sql, false), None), None, "{sql}");
        }
    }
}
