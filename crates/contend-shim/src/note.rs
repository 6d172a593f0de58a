//! Notes which tables and functions a statement uses, from the actions of SQLite's authorizer.

use crate::c::front::{Failed, Front};
use crate::opened;
use crate::value::Value;
use crate::word::first_word;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::mem::ManuallyDrop;

/// Actions of one statement.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Note {
    /// Tables that are read or changed, with their databases. SQLite gives no database if no column is read; `locate` adds it.
    pub tables: BTreeSet<(String, String)>,
    /// Tables whose rowid is read and is not a column.
    pub rowids: BTreeSet<String>,
    /// Those from which rows are deleted.
    pub deleted: BTreeSet<String>,
    /// Whether some of them are changed.
    pub writes: bool,
    /// Whether one of SQLite's schema tables is changed; before `locate`, it may also be that SQLite has declared a table-valued
    /// function, at its first use.
    pub changes_schema: bool,
    /// Lower case.
    pub functions: BTreeSet<String>,
    pub pragma: Option<(String, Option<String>)>,
    /// BEGIN, RELEASE or ROLLBACK, and the name.
    pub savepoint: Option<(String, String)>,
    /// CREATE, ALTER or DROP in this database.
    pub defines: Option<String>,
    /// A feature that cannot be translated.
    pub odd: Option<&'static str>,
    /// Whether there was an action: while SQLite only executes a statement, there is none.
    pub is_prepared: bool,
    /// Whether the text of a view or trigger is a part of it.
    pub is_nested: bool,
}

impl Note {
    /// Corrects what SQLite reports of table-valued functions. Adds what it does not report: tables of which only columns of
    /// USING or NATURAL are read, and the databases of tables of which no column is read, as by `SELECT count(*)`. A name that
    /// is in no database is that of a query in WITH, if it is not a virtual table.
    ///
    /// # Errors
    /// SQLite cannot read its own schema, or prepare the statement again.
    pub fn locate(&mut self, front: &Front, sql: &str) -> Result<(), Failed> {
        let may_lack = self.is_prepared && (self.is_nested || opened::may_join_by_names(sql));
        let may_have_declared = self.changes_schema && self.defines.is_none();
        if (may_lack || may_have_declared) && first_word(sql) != "EXPLAIN" {
            let opened = opened::tables(front, sql)?;
            if may_have_declared {
                self.changes_schema = opened.iter().any(|opened| opened.writes && is_schema_table(&opened.table));
                self.tables.retain(|(_, table)| !is_schema_table(table));
            }
            self.tables.extend(opened.into_iter().map(|opened| (opened.database, opened.table)));
        }
        let is_lost = |(database, table): &(String, String)| database.is_empty() && !is_schema_table(table);
        let (lost, found) = std::mem::take(&mut self.tables).into_iter().partition::<BTreeSet<_>, _>(is_lost);
        self.tables = found;
        if lost.is_empty() {
            return Ok(());
        }
        let words = |rows: Vec<Vec<Value>>| -> Vec<Vec<String>> {
            rows.into_iter().map(|row| row.into_iter().map(Value::into_words).collect()).collect()
        };
        // In the order in which SQLite searches them. Texts are compared here, because a program may replace collations.
        let sql = "SELECT 'temp', type, name FROM temp.sqlite_master \
                   UNION ALL SELECT 'main', type, name FROM main.sqlite_master";
        let mut objects = words(front.rows(sql)?);
        objects.retain(|row| ["table", "view"].contains(&row[1].as_str()));
        for (_, table) in lost {
            let is_named = |row: &Vec<String>| row.last().is_some_and(|name| name.eq_ignore_ascii_case(&table));
            // An old SQLite has no list of them.
            let is_module = || {
                !front.rows("SELECT name FROM pragma_module_list").is_ok_and(|rows| !words(rows).iter().any(is_named))
            };
            let database = objects.iter().find(|row| is_named(row)).map(|row| row[0].clone());
            if let Some(database) = database.or_else(|| is_module().then(String::new)) {
                self.tables.insert((database, table));
            }
        }
        Ok(())
    }
}

thread_local! {
    /// Never dropped: a program may execute statements in destructors that run after those of this thread's variables.
    static NOTE: ManuallyDrop<RefCell<Option<Note>>> = const { ManuallyDrop::new(RefCell::new(None)) };
}

/// Starts taking notes in this thread.
pub fn begin() {
    NOTE.with(|note| *note.borrow_mut() = Some(Note::default()));
}

/// Stops, and returns the notes.
pub fn end() -> Note {
    NOTE.with(|note| note.borrow_mut().take()).unwrap_or_default()
}

/// Whether notes are taken; otherwise SQLite prepares a statement of this library.
pub fn is_taken() -> bool {
    NOTE.with(|note| note.borrow().is_some())
}

/// SQLite reads the text of a view or trigger.
pub fn nested() {
    with(|note| note.is_nested = true);
}

/// The program's authorizer replaces a column by NULL.
pub fn hidden() {
    with(|note| note.odd = Some("the application's authorizer hides a column"));
}

fn with(change: impl FnOnce(&mut Note)) {
    NOTE.with(|note| {
        if let Some(note) = &mut *note.borrow_mut() {
            change(note);
        }
    });
}

/// Adds an action of SQLite's authorizer: code, two arguments, database.
pub fn action(code: i32, one: &str, two: &str, database: &str) {
    with(|note| note.is_prepared = true);
    with(|note| match code {
        1 | 2 | 7 | 8 | 10 | 11 | 16 | 17 => note.defines = Some(database.to_string()),
        5 => {
            note.defines = Some("temp".to_string());
            // A temporary trigger is in the front, where the rows that fire it never arrive.
            note.odd = Some("a temporary trigger");
        }
        3 | 4 | 6 | 12..=15 => note.defines = Some("temp".to_string()),
        9 | 18 | 23 if is_schema_table(one) => note.changes_schema = true,
        9 | 18 | 23 => {
            note.writes = true;
            note.tables.insert((database.to_string(), one.to_string()));
            if code == 9 {
                note.deleted.insert(one.to_string());
            }
        }
        19 => note.pragma = Some((one.to_ascii_lowercase(), Some(two.to_string()).filter(|two| !two.is_empty()))),
        // If no column is read, the database is spelled as in the statement.
        20 => {
            note.tables.insert((database.to_ascii_lowercase(), one.to_string()));
            if two == "ROWID" {
                note.rowids.insert(one.to_string());
            }
        }
        24 => note.odd = Some("ATTACH"),
        26 => note.defines = Some(one.to_string()),
        29 | 30 => note.odd = Some("virtual tables"),
        31 => drop(note.functions.insert(two.to_ascii_lowercase())),
        32 => note.savepoint = Some((one.to_string(), two.to_string())),
        _ => {}
    });
}

/// Whether a name is one of SQLite's schema tables.
pub fn is_schema_table(name: &str) -> bool {
    ["sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether a table-valued function needs no row of the database.
pub fn is_local_function(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_setting = name.strip_prefix("pragma_").is_some_and(|name| crate::pragma::LOCAL.contains(&name));
    is_setting || matches!(name.as_str(), "json_each" | "json_tree" | "generate_series")
}

/// Whether a name is `pragma_table_info` or a similar function.
pub fn is_schema_function(name: &str) -> bool {
    name.strip_prefix("pragma_").is_some_and(|name| crate::pragma::SCHEMA.contains(&name))
}
