//! The interface of a server's connection, and what its implementations share.

use crate::rows::Form;
use anyhow::Result;
use contend_sql::{ParamType, Target};
use contend_wire::literal::Value;
use contend_worker::argument::Argument;

/// What to do about a server that cannot be reached.
pub const UNREACHED: &str = "check that the server runs, and the host, port, user and password of the address";

/// Callback for the rows of a query.
pub type EachRow<'r> = &'r mut dyn FnMut(&[Argument<'_>]) -> Result<()>;

/// Rows to load into a table.
#[derive(Debug, Clone, Copy)]
pub struct Load<'l> {
    /// Quoted name of the table.
    pub table: &'l str,
    /// Quoted names of the columns, separated by commas.
    pub columns: &'l str,
    pub rows: u64,
    pub text: &'l [u8],
    /// A statement for the ledger, in the same transaction.
    pub account: &'l str,
}

/// A connection to one product. Errors have the server's message without values of rows: those of `load` contain only
/// codes and names, those of `make` no quoted parts if they concern data.
pub trait Product {
    fn target(&self) -> Target;

    /// Text format of `load`.
    fn form(&self) -> Form;

    /// Carries out a statement.
    fn run(&mut self, sql: &str) -> Result<()>;

    /// Runs statements that create one object, and the statement for the ledger. `again`: an interrupted run may have
    /// created it.
    fn make(&mut self, sql: &[String], account: &str, again: bool) -> Result<()>;

    /// Loads rows, in one transaction.
    fn load(&mut self, load: &Load<'_>) -> Result<()>;

    /// Passes every row of a query to `each`.
    fn read(&mut self, sql: &str, each: EachRow<'_>) -> Result<()>;

    /// Name and version of the product, for people.
    fn version(&mut self) -> Result<String>;

    /// Largest size of a value in bytes.
    fn value_bytes(&mut self) -> Result<usize>;

    /// Waits some seconds for the lock of this database, which excludes other migrations.
    fn lock(&mut self) -> Result<()>;

    /// Works in this schema from now on, which may be missing.
    fn enter(&mut self, schema: &str) -> Result<()>;

    fn has_schema(&mut self, schema: &str) -> Result<bool>;

    /// Names of the tables and views of the database.
    fn tables(&mut self) -> Result<Vec<String>>;

    /// Names that no new table or view can have. On PostgreSQL, indexes and sequences share them.
    fn taken(&mut self) -> Result<Vec<String>> {
        self.tables()
    }

    /// Names and types of a table's columns, in their order.
    fn columns(&mut self, table: &str) -> Result<Vec<(String, Option<ParamType>)>>;

    /// Largest key that a table's counter has assigned.
    fn counter(&mut self, table: &str, column: &str) -> Result<i64>;

    /// Begins a transaction with a snapshot of the database; closing the connection ends it.
    fn snapshot(&mut self) -> Result<()>;
}

pub fn rows(product: &mut dyn Product, sql: &str) -> Result<Vec<Vec<Value>>> {
    let mut all = vec![];
    product.read(sql, &mut |row| {
        all.push(row.iter().map(owned).collect());
        Ok(())
    })?;
    Ok(all)
}

fn owned(value: &Argument<'_>) -> Value {
    match value {
        Argument::Null => Value::Null,
        Argument::Integer(i) => Value::Integer(*i),
        Argument::Real(r) => Value::Real(*r),
        Argument::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        Argument::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

/// The texts in the first column of a query.
pub fn texts(product: &mut dyn Product, sql: &str) -> Result<Vec<String>> {
    Ok(rows(product, sql)?.into_iter().filter_map(|row| row.into_iter().next().and_then(text)).collect())
}

/// The number that a query returns.
pub fn number(product: &mut dyn Product, sql: &str) -> Result<Option<i64>> {
    Ok(match rows(product, sql)?.first().and_then(|row| row.first()) {
        Some(Value::Integer(number)) => Some(*number),
        _ => None,
    })
}

/// A server's message without everything from the first quote to the last, which may be a value that contains quotes.
pub fn masked(message: &str) -> String {
    match (message.find(['\'', '"']), message.rfind(['\'', '"'])) {
        (Some(first), Some(last)) => format!("{}?{}", &message[..first], &message[last + 1..]),
        _ => message.to_string(),
    }
}

/// Whether an error concerns values: SQLSTATE's classes for data and constraints.
pub fn is_about_data(state: &str) -> bool {
    state.starts_with("22") || state.starts_with("23")
}

/// The value as text, if it is one.
pub fn text(value: Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text),
        // MariaDB's own tables return some texts as bytes.
        Value::Blob(bytes) => String::from_utf8(bytes).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::masked;

    #[test]
    fn no_value_stays_in_a_message() {
        assert_eq!(masked("Duplicate entry 'a secret' for key 'k'"), "Duplicate entry ?");
        assert_eq!(masked("invalid text \"it's one\" here"), "invalid text ? here");
    }
}
