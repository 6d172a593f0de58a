//! The meaning of PRAGMAs if the rows are on a server.

/// PRAGMAs about the schema: the front answers, after reading the current schema.
pub const SCHEMA: &[&str] =
    &["foreign_key_list", "index_info", "index_list", "index_xinfo", "table_info", "table_list", "table_xinfo"];

/// PRAGMAs about the connection or SQLite's storage, which does not exist: the front answers and stores the setting.
pub const LOCAL: &[&str] = &[
    "analysis_limit",
    "auto_vacuum",
    "automatic_index",
    "busy_timeout",
    "cache_size",
    "cache_spill",
    "cell_size_check",
    "checkpoint_fullfsync",
    "collation_list",
    "compile_options",
    "count_changes",
    "database_list",
    "default_cache_size",
    "empty_result_callbacks",
    "encoding",
    "full_column_names",
    "fullfsync",
    "function_list",
    "hard_heap_limit",
    "incremental_vacuum",
    "journal_size_limit",
    "legacy_alter_table",
    "legacy_file_format",
    "max_page_count",
    "mmap_size",
    "module_list",
    "optimize",
    "page_size",
    "pragma_list",
    // A change of rows is refused if it is on and the database has triggers.
    "recursive_triggers",
    "secure_delete",
    "short_column_names",
    "shrink_memory",
    "soft_heap_limit",
    "synchronous",
    "temp_store",
    "temp_store_directory",
    "threads",
    "trusted_schema",
    "wal_autocheckpoint",
    "wal_checkpoint",
];

/// Answered by the front as long as they are off.
const OFF: &[&str] = &[
    "case_sensitive_like",
    "defer_foreign_keys",
    "ignore_check_constraints",
    "query_only",
    "read_uncommitted",
    "reverse_unordered_selects",
    "writable_schema",
];

/// How a PRAGMA is executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pragma {
    Local,
    Schema,
    /// `user_version` or `application_id`.
    Number(String),
    /// `foreign_keys` with a value.
    ForeignKeys,
    /// `foreign_key_check`: the server checks all keys that are enforced.
    ForeignKeyCheck,
    /// `journal_mode` and `locking_mode`, with the answer.
    Echo(String, String),
    /// The library's own: `contend_cache`, and `contend_server` with a statement for the server.
    Library(String, String),
    Refused,
}

fn is_on(value: &str) -> bool {
    let value = value.trim_matches(['\'', '"']);
    let is_number = value.parse::<i64>().is_ok_and(|number| number != 0);
    is_number || ["on", "yes", "true"].iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// Decides how a PRAGMA is executed.
pub fn pragma(name: &str, value: Option<&str>) -> Pragma {
    let echo = |default: &str| {
        let word = value.map(|value| value.trim_matches(['\'', '"']).to_ascii_lowercase());
        Pragma::Echo(name.to_string(), word.unwrap_or_else(|| default.to_string()))
    };
    match (name, value) {
        ("foreign_keys", Some(_)) => Pragma::ForeignKeys,
        ("foreign_keys", None) => Pragma::Local,
        ("foreign_key_check", _) => Pragma::ForeignKeyCheck,
        ("user_version" | "application_id", _) => Pragma::Number(name.to_string()),
        ("journal_mode", _) => echo("delete"),
        ("locking_mode", _) => echo("normal"),
        ("contend_cache" | "contend_server", value) => {
            Pragma::Library(name.to_string(), value.unwrap_or_default().to_string())
        }
        _ if SCHEMA.contains(&name) => Pragma::Schema,
        _ if LOCAL.contains(&name) => Pragma::Local,
        _ if OFF.contains(&name) && !value.is_some_and(is_on) => Pragma::Local,
        _ => Pragma::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pragmas_are_answered_or_refused() {
        assert_eq!(pragma("table_info", Some("t")), Pragma::Schema);
        assert_eq!(pragma("journal_mode", Some("WAL")), Pragma::Echo("journal_mode".into(), "wal".into()));
        assert_eq!(pragma("foreign_keys", Some("ON")), Pragma::ForeignKeys);
        assert_eq!(pragma("case_sensitive_like", Some("off")), Pragma::Local);
        assert_eq!(pragma("case_sensitive_like", Some("on")), Pragma::Refused);
        assert_eq!(pragma("case_sensitive_like", Some("2")), Pragma::Refused);
        assert_eq!(pragma("query_only", Some("ON")), Pragma::Refused);
        assert_eq!(pragma("integrity_check", None), Pragma::Refused);
    }
}
