//! Functions and collations of the program. The server has SQLite's own, and functions for Django's.

use crate::c::front::Front;
use crate::note::Note;
use crate::schema::Object;
use contend_sql::{is_in_pack, needs_django};
use contend_wire::kept::mentions;
use std::collections::{BTreeMap, BTreeSet};

/// What a program registered on a connection. Names are in lower case.
#[derive(Clone, Default)]
pub struct Own {
    /// How often it registered each function.
    functions: BTreeMap<String, usize>,
    collations: BTreeSet<String>,
    /// Number of registrations.
    pub count: u64,
}

/// Why the server cannot execute a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    /// It uses a function that the program added to SQLite's.
    Added(String),
    /// It may use one that the program replaced, or such a collation. Indexes may have been made with SQLite's own.
    Replaced(String),
}

impl Objection {
    pub fn into_reason(self) -> String {
        match self {
            Objection::Added(reason) | Objection::Replaced(reason) => reason,
        }
    }
}

/// SQLite's own collations, which a program may replace. Others have no translation.
const COLLATIONS: [&str; 3] = ["binary", "nocase", "rtrim"];

/// Functions that are also operators.
const OPERATORS: [&str; 2] = ["like", "glob"];

impl Own {
    pub fn add_function(&mut self, name: &str) {
        *self.functions.entry(name.to_ascii_lowercase()).or_default() += 1;
        self.count += 1;
    }

    pub fn add_collation(&mut self, name: &str) {
        self.collations.insert(name.to_ascii_lowercase());
        self.count += 1;
    }

    /// Whether the program registered this function, and the server has none that is the same.
    fn lacks(&self, name: &str) -> bool {
        let Some(times) = self.functions.get(name) else { return false };
        // One that was registered twice need not be Django's.
        let is_django = self.functions.contains_key("django_format_dtdelta");
        *times > 1 || !is_in_pack(name) || needs_django(name) && !is_django
    }

    /// Why the server cannot execute a statement. SQLite reports its functions, but not collations, nor functions in
    /// CHECK, indexes and generated columns: they are searched in the text and in the statements of its tables.
    pub fn objection(&self, front: &Front, sql: &str, note: &Note, objects: &[Object]) -> Option<Objection> {
        let function = |name: &str| format!("{name}() is a function of the application, which the server lacks");
        let added = note.functions.iter().find(|name| self.lacks(name));
        if let Some(name) = note.functions.iter().find(|name| self.lacks(name) && is_built_in(front, name)) {
            return Some(Objection::Replaced(function(name)));
        }
        let collations: Vec<&str> = COLLATIONS.into_iter().filter(|name| self.collations.contains(*name)).collect();
        let functions: Vec<&String> = self.functions.keys().filter(|name| self.lacks(name)).collect();
        if collations.is_empty() && functions.is_empty() {
            return None;
        }
        let is_used = |table: &str| note.tables.iter().any(|(_, used)| used.eq_ignore_ascii_case(table));
        let of_tables = objects.iter().filter(|[_, _, table, _]| is_used(table) || mentions(sql, table));
        let texts: Vec<&str> = of_tables.map(|[.., text]| text.as_str()).chain([sql]).collect();
        // Columns without COLLATE are compared by BINARY.
        let is_named = |name: &&str| *name == "binary" || texts.iter().any(|text| mentions(text, name));
        if let Some(name) = collations.into_iter().find(is_named) {
            let reason = format!("{name} is a collation of the application, which the server lacks");
            return Some(Objection::Replaced(reason));
        }
        let is_called = |name: &str| texts.iter().any(|text| calls(text, name));
        match functions.into_iter().find(|name| is_called(name) && is_built_in(front, name)) {
            Some(name) => Some(Objection::Replaced(function(name))),
            None => added.map(|name| Objection::Added(function(name))),
        }
    }
}

/// Whether a text may call a function.
fn calls(sql: &str, name: &str) -> bool {
    let sql = sql.to_ascii_lowercase();
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let is_call = |before: &str, rest: &str| {
        let is_operator = OPERATORS.contains(&name) && !rest.starts_with(is_part);
        let is_called = rest.trim_start_matches(['"', '`', ']', ' ', '\n', '\t']).starts_with('(');
        !before.ends_with(is_part) && (is_operator || is_called)
    };
    sql.match_indices(name).any(|(at, _)| is_call(&sql[..at], &sql[at + name.len()..]))
}

/// Whether SQLite has a function of this name. Others are in no table of the server.
fn is_built_in(front: &Front, name: &str) -> bool {
    let name = contend_wire::kept::literal(name);
    let rows = front.rows(&format!("SELECT 1 FROM pragma_function_list WHERE builtin AND name = {name}"));
    !rows.is_ok_and(|rows| rows.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_more_than_a_name() {
        for (sql, is_call) in [
            ("CREATE TABLE t (x CHECK (Length (x) < 5))", true),
            ("CREATE TABLE t (x CHECK (\"length\"(x) < 5))", true),
            ("CREATE TABLE t (length INTEGER)", false),
            ("CREATE TABLE t (x CHECK (octet_length(x) < 5), length TEXT)", false),
        ] {
            assert_eq!(calls(sql, "length"), is_call, "{sql}");
        }
        assert!(calls("CREATE TABLE t (x CHECK (x LIKE 'a%'))", "like"));
    }

    #[test]
    fn functions_of_django_have_counterparts() {
        let mut own = Own::default();
        own.add_function("LPAD");
        assert!(own.lacks("lpad"), "another program's");
        own.add_function("django_format_dtdelta");
        assert!(!own.lacks("lpad") && !own.lacks("upper"));
        own.add_function("lpad");
        own.add_function("upper");
        assert!(own.lacks("lpad") && own.lacks("upper"));
    }
}
