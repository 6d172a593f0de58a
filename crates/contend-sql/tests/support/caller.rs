//! The state that a program keeps between statements: the catalogue, and the session's values.

use super::engines::Returned;
use super::value::Value;
use contend_sql::{
    Catalogue, Keys, Number, ParamType, SQLITE, SessionValue, Statement, Untagged, is_exact, number_in_text, real_text,
    untagged,
};

#[derive(Debug, Clone, Default)]
pub struct Caller {
    pub catalogue: Catalogue,
    pub session: Session,
}

/// last_insert_rowid(), which may be unknown for a reason, changes() and total_changes().
#[derive(Debug, Clone)]
pub struct Session {
    pub rowid: Result<i64, &'static str>,
    changes: i64,
    total: i64,
}

impl Default for Session {
    fn default() -> Session {
        Session { rowid: Ok(0), changes: 0, total: 0 }
    }
}

/// A value converted by the affinity of a type, as in SQLite.
fn converted(value: Value, ty: ParamType) -> Value {
    let number = |number: Number| match number {
        Number::Int(n) => Value::Integer(n),
        Number::Real(n) if ty == ParamType::Integer && n == n.trunc() && n.abs() < 9e15 => Value::Integer(n as i64),
        Number::Real(n) => Value::Real(n),
    };
    match (value, ty) {
        (Value::Integer(n), ParamType::Text) => Value::Text(n.to_string().into_bytes()),
        (Value::Real(n), ParamType::Text) => Value::Text(real_text(n, SQLITE).into_bytes()),
        (Value::Integer(n), ParamType::Real) if is_exact(n) => Value::Real(n as f64),
        (Value::Real(n), ParamType::Integer) => number(Number::Real(n)),
        (Value::Text(bytes), ParamType::Integer | ParamType::Real | ParamType::Number) => {
            let read = std::str::from_utf8(&bytes).ok().and_then(number_in_text);
            read.map_or(Value::Text(bytes), number)
        }
        (value, _) => value,
    }
}

/// The type that a caller declares for a bound value.
pub fn type_of(value: &Value) -> ParamType {
    match value {
        Value::Integer(_) => ParamType::Integer,
        Value::Real(_) => ParamType::Real,
        Value::Text(_) => ParamType::Text,
        Value::Blob(_) => ParamType::Blob,
        Value::Null => ParamType::Null,
        Value::Foreign(_) => ParamType::Unknown,
    }
}

/// The value that a tagged text is.
fn read(value: &Value) -> Value {
    let Value::Text(bytes) = value else { return value.clone() };
    match untagged(bytes) {
        Some(Untagged::Integer(n)) => Value::Integer(n),
        Some(Untagged::Real(r)) => Value::Real(r),
        Some(Untagged::Text(text)) => Value::Text(text.to_vec()),
        Some(Untagged::Blob(bytes)) => Value::Blob(bytes),
        None => Value::Foreign(format!("not tagged: {value}")),
    }
}

/// Whether a value may be bound although the translation assumes this type. The client must check, because the server
/// would convert the value, or return another type: `coalesce(real_column, ?)` is an integer only in SQLite.
fn fits(value: &Value, ty: ParamType) -> bool {
    match value {
        Value::Null => true,
        Value::Integer(_) => matches!(ty, ParamType::Integer | ParamType::Number | ParamType::Unknown),
        Value::Real(_) => matches!(ty, ParamType::Real | ParamType::Number | ParamType::Unknown),
        Value::Text(_) => matches!(ty, ParamType::Text | ParamType::Unknown),
        Value::Blob(_) => matches!(ty, ParamType::Blob | ParamType::Unknown),
        Value::Foreign(_) => false,
    }
}

impl Session {
    /// The values for a statement's placeholders, or why they cannot be bound.
    pub fn bind(&self, statement: &Statement, params: &[Value]) -> Result<Vec<Value>, String> {
        let mut values = vec![];
        for ((number, ty), by_affinity) in statement.params.iter().zip(&statement.types).zip(&statement.converted) {
            let given = || params.get(usize::from(*number) - 1).cloned().unwrap_or(Value::Null);
            let value = match SessionValue::of(*number) {
                Some(SessionValue::LastInsertRowid) => Value::Integer(self.rowid?),
                Some(SessionValue::Changes) => Value::Integer(self.changes),
                Some(SessionValue::TotalChanges) => Value::Integer(self.total),
                None if *by_affinity => converted(given(), *ty),
                None => given(),
            };
            if !fits(&value, *ty) {
                return Err(format!("parameter-type: {value} is bound where it takes {ty:?}"));
            }
            values.push(value);
        }
        Ok(values)
    }

    /// Notes that a statement failed.
    pub fn keep_failed(&mut self, statement: &Statement) {
        if statement.may_fail_late {
            self.rowid = Err("session-values: it is not known which rows of a failed statement were stored before");
        }
    }

    /// Notes the effects of a statement; returns its result as the application sees it.
    pub fn keep(&mut self, statement: &Statement, mut returned: Returned) -> Returned {
        let mut keys = vec![];
        for row in &mut returned.rows {
            statement.tagged.iter().map(|place| usize::from(*place)).for_each(|place| row[place] = read(&row[place]));
        }
        match statement.keys {
            Keys::Same => {}
            Keys::Unknown(reason) => self.rowid = Err(reason),
            Keys::Rows | Keys::NewRows | Keys::LastColumn => {
                keys = returned.rows.iter_mut().filter_map(Vec::pop).collect();
                returned.names.pop();
            }
        }
        if let Some(Value::Integer(key)) = keys.iter().rfind(|key| **key != Value::Null) {
            self.rowid = Ok(*key);
        }
        let is_new = |key: &&Value| statement.keys == Keys::Rows || **key != Value::Null;
        if matches!(statement.keys, Keys::Rows | Keys::NewRows) {
            returned.changed = Some(keys.iter().filter(is_new).count() as u64);
            returned.rows.clear();
        }
        if statement.counts {
            self.changes = returned.changed.unwrap_or(returned.rows.len() as u64) as i64;
            self.total += self.changes;
        }
        returned
    }
}
