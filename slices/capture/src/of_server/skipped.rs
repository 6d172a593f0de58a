//! What is not carried out again on a server.

use crate::attach::names_one_of;
use crate::sql::{Token, tokens};
use crate::statement::{statements, word};
use crate::trace::{Call, Value};
use std::collections::BTreeSet;

/// Beginnings of the texts that a capture has for those that it cannot store.
const STAND_INS: [&str; 6] = [
    "a_text_of_more_than",
    "a_text_in_another_encoding",
    "a_text_that_changes_sql_mode",
    "a_text_whose_version_decides",
    "a_statement_that_was_not_seen",
    "a_function_called_by_number",
];

const NOT_CAPTURED: &str = "without captured text or values";
const ROWS: &str = "with rows or files (COPY, LOAD DATA, INTO OUTFILE)";
const WHOLE_SERVER: &str = "about the whole server (databases, users, rights, global settings, other connections)";
const OTHER_DATABASE: &str = "with the name of another database of the server";
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
    if STAND_INS.iter().any(|text| sql.starts_with(text))
        || sql.contains(char::REPLACEMENT_CHARACTER)
        || all.iter().any(is_hidden)
    {
        return Some(NOT_CAPTURED);
    }
    let of_one = statements(&all).into_iter().find_map(|place| of_statement(&all[place], is_mariadb));
    of_one.or_else(|| (is_mariadb && names_one_of(sql, others)).then_some(OTHER_DATABASE))
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
        ] {
            assert_eq!(why_of(sql, is_mariadb, &others), why, "{sql}");
        }
    }
}
