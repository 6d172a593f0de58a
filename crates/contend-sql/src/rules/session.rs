//! Transactions, PRAGMA and maintenance, and the settings of a session.

use crate::emit::{Tr, plain};
use crate::names::push_text;
use crate::parse::tree::{Expr, Literal, Name, PragmaBody, QualifiedName};
use crate::refuse::{R, no};
use crate::rules::literals::literal_number;
use crate::rules::{Id, from};
use crate::translation::{SessionValue, Target};
use crate::types::{Number, Val};

/// Statements that every session runs first. Translations are correct only under these settings.
///
/// PostgreSQL databases must use UTF-8. MariaDB clients must request the number of rows found instead of rows changed
/// (`CLIENT_FOUND_ROWS`), so that an UPDATE counts as in SQLite.
pub fn session(target: Target) -> &'static [&'static str] {
    match target {
        Target::Postgres => &[
            "SET standard_conforming_strings = on",
            "SET TIME ZONE 'UTC'",
            "SET DateStyle = 'ISO, YMD'",
            "SET bytea_output = 'hex'",
            "SET extra_float_digits = 1",
            "SET default_transaction_isolation = 'serializable'",
            "SET transform_null_equals = off",
            // Definitions are compared as the server writes them.
            "SET quote_all_identifiers = off",
            // Otherwise triggers and foreign keys would not count. Only a superuser may set it.
            "DO $$BEGIN IF current_setting('session_replication_role') <> 'origin' THEN \
             SET session_replication_role = 'origin'; END IF; END$$",
        ],
        Target::MariaDb => &[
            "SET SESSION sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,NO_AUTO_VALUE_ON_ZERO,\
             SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
            "SET NAMES utf8mb4 COLLATE utf8mb4_nopad_bin",
            "SET SESSION time_zone = '+00:00'",
            "SET SESSION sql_select_limit = 18446744073709551615",
            "SET SESSION sql_auto_is_null = 0",
            "SET SESSION group_concat_max_len = 1073741824",
            // Beyond it a recursive query ends with a warning and without the rest of its rows.
            "SET SESSION max_recursive_iterations = 4294967295",
            // Texts are sorted by their first bytes. With more, eight texts in one ORDER BY would exceed the sort buffer.
            "SET SESSION max_sort_length = 8192",
            "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        ],
    }
}

/// Settings of SQLite's own storage and connection, which have no counterpart.
const IGNORED_PRAGMAS: &[&str] = &[
    "auto_vacuum",
    "automatic_index",
    "cache_size",
    "checkpoint_fullfsync",
    "encoding",
    "fullfsync",
    "page_size",
    "synchronous",
    "temp_store",
];

/// Settings of the same kind that return their new value.
const ECHOED_PRAGMAS: &[&str] =
    &["busy_timeout", "journal_mode", "journal_size_limit", "locking_mode", "wal_autocheckpoint"];

/// The value to which a PRAGMA sets this switch, if it does.
pub(crate) fn switched(switch: &str, name: &QualifiedName, body: Option<&PragmaBody>) -> Option<bool> {
    let setting = match body? {
        PragmaBody::Equals(value) | PragmaBody::Call(value) => value,
    };
    let text = match setting {
        Expr::Name(name) => plain(name.0),
        Expr::Id(id) => plain(id.0),
        Expr::Literal(Literal::Numeric(text) | Literal::Keyword(text)) => plain(text),
        _ => return None,
    };
    let among = |words: [&str; 4]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match plain(name.name.0).eq_ignore_ascii_case(switch) {
        true if among(["on", "1", "yes", "true"]) => Some(true),
        true if among(["off", "0", "no", "false"]) => Some(false),
        _ => None,
    }
}

/// The answer of a setting that returns its new value.
fn echo(tr: &mut Tr, pragma: &QualifiedName, setting: &Expr) -> R<()> {
    tr.put("SELECT ");
    match setting {
        Expr::Name(name) => push_text(&mut tr.out.sql, &plain(name.0).to_ascii_lowercase()),
        Expr::Literal(Literal::Keyword(word)) => push_text(&mut tr.out.sql, &word.to_ascii_lowercase()),
        Expr::Literal(Literal::Numeric(digits)) if digits.bytes().all(|b| b.is_ascii_digit()) => {
            tr.put(digits);
            tr.either("::bigint", "");
        }
        _ => return no(Id::Pragma, pragma.name.0, "a setting of a form that is not understood"),
    }
    Ok(())
}

/// The two numbers that an application keeps in its database: each is the comment of a relation that is made for it,
/// so that it belongs to the schema and, on PostgreSQL, to the transaction.
fn version(tr: &mut Tr, name: &QualifiedName, word: &str, setting: Option<&Expr>) -> R<()> {
    if let Some(schema) = &name.db_name {
        from::main_only(tr, schema.0)?;
    }
    let Some(setting) = setting else {
        let sql = if tr.postgres {
            format!(
                "SELECT COALESCE(obj_description(to_regclass(quote_ident(current_schema()) || '._contend_{word}'), \
                 'pg_class')::bigint, 0) AS \"{word}\""
            )
        } else {
            format!(
                "SELECT COALESCE((SELECT CAST(table_comment AS SIGNED) FROM information_schema.tables WHERE \
                 table_schema = DATABASE() AND table_name = '_contend_{word}'), 0) AS \"{word}\""
            )
        };
        tr.put(&sql);
        return Ok(());
    };
    let number = match literal_number(setting) {
        Some(Number::Int(number)) if i32::try_from(number).is_ok() => number,
        _ => return no(Id::Pragma, name.name.0, "a setting that is not a number of 32 bits"),
    };
    if tr.postgres {
        tr.out.before.push(format!("CREATE OR REPLACE VIEW \"_contend_{word}\" AS SELECT 1 AS \"kept\""));
        tr.put(&format!("COMMENT ON VIEW \"_contend_{word}\" IS '{number}'"));
    } else {
        tr.put(&format!("CREATE OR REPLACE TABLE \"_contend_{word}\" (\"kept\" INTEGER) COMMENT = '{number}'"));
    }
    Ok(())
}

/// last_insert_rowid(), changes() and total_changes().
pub(crate) fn value(tr: &mut Tr, name: &str, token: &str) -> R<Val> {
    let value = match name {
        "last_insert_rowid" => SessionValue::LastInsertRowid,
        "changes" => SessionValue::Changes,
        _ => SessionValue::TotalChanges,
    };
    if value == SessionValue::TotalChanges && tr.input.catalogue.changes_further_rows() {
        return no(
            Id::SessionValues,
            token,
            "it counts what triggers and foreign keys change, which no server reports",
        );
    }
    tr.session_value(token, value)
}

pub(crate) fn begin(tr: &mut Tr) {
    tr.fire(Id::Transactions);
    tr.either("BEGIN", "START TRANSACTION");
}

pub(crate) fn savepoint(tr: &mut Tr, word: &str, name: &Name) -> R<()> {
    tr.fire(Id::Savepoints);
    tr.put(word);
    tr.name(&plain(name.0).to_ascii_lowercase())
}

pub(crate) fn pragma(tr: &mut Tr, name: &QualifiedName, body: Option<&PragmaBody>) -> R<()> {
    tr.fire(Id::Pragma);
    let word = plain(name.name.0).to_ascii_lowercase();
    let setting = match body {
        None => None,
        Some(PragmaBody::Equals(value) | PragmaBody::Call(value)) => Some(value),
    };
    if IGNORED_PRAGMAS.contains(&word.as_str()) && setting.is_some() {
        return Ok(());
    }
    if ECHOED_PRAGMAS.contains(&word.as_str())
        && let Some(setting) = setting
    {
        return echo(tr, name, setting);
    }
    if word == "foreign_keys" && setting.is_none() {
        tr.put(if tr.input.catalogue.foreign_keys { "SELECT 1" } else { "SELECT 0" });
        tr.either("::bigint AS \"foreign_keys\"", " AS \"foreign_keys\"");
        return Ok(());
    }
    if let Some(on) = switched("case_sensitive_like", name, body) {
        let catalogue = tr.input.catalogue;
        if on != catalogue.case_sensitive_like && catalogue.keeps_expressions() {
            return no(
                Id::Pragma,
                name.name.0,
                "a view, CHECK, trigger or index keeps the LIKE of its time on the server",
            );
        }
        return Ok(());
    }
    if ["user_version", "application_id"].contains(&word.as_str()) {
        return version(tr, name, &word, setting);
    }
    if let Some(on) = switched("foreign_keys", name, body) {
        tr.fire(Id::ForeignKeys);
        if on != tr.input.catalogue.foreign_keys && tr.input.catalogue.tables.iter().any(|t| !t.references.is_empty()) {
            return no(
                Id::ForeignKeys,
                name.name.0,
                "foreign keys are turned on or off after a table with some was made",
            );
        }
        return Ok(());
    }
    let off = |text: &str| ["off", "0", "no", "false"].iter().any(|o| plain(text).eq_ignore_ascii_case(o));
    let is_off = match setting {
        Some(Expr::Name(name)) => off(name.0),
        Some(Expr::Literal(Literal::Numeric(text) | Literal::Keyword(text))) => off(text),
        _ => false,
    };
    let off_here = ["legacy_alter_table", "recursive_triggers", "read_uncommitted"];
    if off_here.contains(&word.as_str()) && is_off {
        return Ok(());
    }
    no(Id::Pragma, name.name.0, "what this PRAGMA does or returns has no translation")
}

pub(crate) fn vacuum(tr: &mut Tr, into: bool) -> R<()> {
    tr.fire(Id::Maintenance);
    if into {
        return no(Id::Maintenance, "INTO", "VACUUM INTO");
    }
    tr.either("VACUUM", "");
    Ok(())
}

pub(crate) fn analyze(tr: &mut Tr, name: Option<&QualifiedName>) -> R<()> {
    tr.fire(Id::Maintenance);
    match name {
        Some(name) => {
            let table = tr.known_table(&plain(name.name.0))?;
            tr.either("ANALYZE ", "ANALYZE TABLE ");
            tr.name(&table.name)
        }
        None if tr.postgres => {
            tr.put("ANALYZE");
            Ok(())
        }
        None => {
            let tables = tr.input.catalogue.tables.iter().filter(|t| t.kind == crate::catalogue::Kind::Table);
            let names: Vec<&str> = tables.map(|t| t.name.as_str()).collect();
            if !names.is_empty() {
                tr.put("ANALYZE TABLE ");
                tr.list(names, |tr, name| tr.name(name))?;
            }
            Ok(())
        }
    }
}
