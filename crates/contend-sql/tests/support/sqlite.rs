//! The reference: the SQLite that the workspace is built with.

use super::engines::{Class, Engine, Failed, Returned, counts_changes};
use super::functions;
use super::value::{Row, Value};
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Batch, Connection, Statement, ToSql, ffi};

pub struct Sqlite {
    db: Connection,
}

impl Sqlite {
    /// An empty database in memory, with SQLite's default of not enforcing foreign keys.
    pub fn new() -> Sqlite {
        let db = Connection::open_in_memory().expect("a database in memory");
        db.execute_batch("PRAGMA foreign_keys = OFF").expect("a setting");
        functions::add(&db);
        Sqlite { db }
    }

    /// The values of a list of literals, as SQLite reads it.
    pub fn literals(&mut self, list: &str) -> Vec<Value> {
        if list.trim().is_empty() {
            return vec![];
        }
        let returned = self.run(&format!("SELECT {list}"), &[]);
        returned.unwrap_or_else(|e| panic!("parameters {list}: {}", e.message)).rows.remove(0)
    }

    fn once(&self, statement: &mut Statement<'_>, sql: &str, params: &[Value]) -> rusqlite::Result<Returned> {
        for (i, value) in params.iter().enumerate().take(statement.parameter_count()) {
            statement.raw_bind_parameter(i + 1, Bound(value))?;
        }
        let names: Vec<String> = statement.column_names().into_iter().map(str::to_string).collect();
        let counts = names.is_empty() && counts_changes(sql);
        let mut found: Vec<Row> = vec![];
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            let cell = |i| {
                Ok(match row.get_ref(i)? {
                    ValueRef::Null => Value::Null,
                    ValueRef::Integer(i) => Value::Integer(i),
                    ValueRef::Real(r) => Value::Real(r),
                    ValueRef::Text(bytes) => Value::Text(bytes.to_vec()),
                    ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
                })
            };
            found.push((0..names.len()).map(cell).collect::<rusqlite::Result<Row>>()?);
        }
        drop(rows);
        Ok(Returned { names, rows: found, changed: counts.then(|| self.db.changes()), rowid: None })
    }

    /// Every ordinary table with its columns, including generated ones.
    pub fn tables(&mut self) -> Vec<(String, Vec<String>)> {
        let sql = "SELECT t.name, c.name FROM pragma_table_list t, pragma_table_xinfo(t.name, t.schema) c \
                   WHERE t.type = 'table' AND t.schema IN ('main', 'temp') AND t.name NOT LIKE 'sqlite~_%' ESCAPE '~' \
                   ORDER BY t.name, c.cid";
        let rows = self.run(sql, &[]).map(|returned| returned.rows).unwrap_or_default();
        let mut tables: Vec<(String, Vec<String>)> = vec![];
        for row in rows {
            let [Value::Text(table), Value::Text(column)] = &row[..] else { continue };
            let (table, column) = (String::from_utf8_lossy(table), String::from_utf8_lossy(column).into_owned());
            match tables.last_mut() {
                Some((name, columns)) if *name == table => columns.push(column),
                _ => tables.push((table.into_owned(), vec![column])),
            }
        }
        tables
    }
}

struct Bound<'v>(&'v Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null | Value::Foreign(_) => ValueRef::Null,
            Value::Integer(i) => ValueRef::Integer(*i),
            Value::Real(r) => ValueRef::Real(*r),
            Value::Text(bytes) => ValueRef::Text(bytes),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn failed(error: rusqlite::Error) -> Failed {
    let class = match error.sqlite_error().map(|e| e.extended_code) {
        Some(ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID) => {
            Class::Unique
        }
        Some(ffi::SQLITE_CONSTRAINT_NOTNULL) => Class::NotNull,
        Some(ffi::SQLITE_CONSTRAINT_CHECK) => Class::Check,
        Some(ffi::SQLITE_CONSTRAINT_FOREIGNKEY) => Class::ForeignKey,
        _ => Class::Other,
    };
    Failed { class, message: error.to_string() }
}

impl Engine for Sqlite {
    fn run(&mut self, sql: &str, params: &[Value]) -> Result<Returned, Failed> {
        let read = || -> rusqlite::Result<Returned> {
            let mut returned = Returned::default();
            let mut statements = Batch::new(&self.db, sql);
            while let Some(mut statement) = statements.next()? {
                returned = self.once(&mut statement, sql, params)?;
            }
            returned.rowid = Some(self.db.last_insert_rowid());
            Ok(returned)
        };
        read().map_err(failed)
    }

    fn must(&mut self, sql: &str) {
        self.db.execute_batch(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }

    fn fresh(&mut self, _name: &str) {
        *self = Sqlite::new();
    }

    fn version(&mut self) -> String {
        rusqlite::version().to_string()
    }
}
