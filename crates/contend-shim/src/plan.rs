//! A statement for the server: translated once, with values bound for each execution.

use crate::dialect::guarded;
use crate::server::{Message, Reply};
use crate::value::{Value, oldest};
use contend_sql::{
    Catalogue, Keys, Number, Options, ParamType, Refusal, SessionValue, Statement, Target, Untagged, is_decimal,
    is_exact, number_in_text, real_text, translate, untagged,
};
use contend_wire::kept::sentinel;

/// The translation of one statement.
pub struct Plan {
    statements: Vec<Statement>,
    /// Whether texts bound for text values in columns of a numeric type must not be numbers.
    wants_words: bool,
    /// Whether MariaDB takes no negative number, or no NULL, for a parameter.
    has_limit: bool,
    skips_nulls: bool,
    /// Whether columns of NUMERIC affinity round reals.
    rounds: bool,
}

/// Values that only the connection has.
pub struct Session {
    /// The last rowid, or why it is unknown.
    pub rowid: Result<i64, &'static str>,
    pub changes: i64,
    pub total: i64,
}

/// The effects of a statement.
pub struct Done {
    pub rows: Vec<Vec<Value>>,
    /// Number of rows that it changed, if it changes rows.
    pub changed: Option<i64>,
    pub rowid: Option<Result<i64, &'static str>>,
}

/// Options of the translation.
pub fn options(target: Target) -> Options {
    Options { pack: true, session: true, tagged: true, early_keys: true, sqlite: oldest(), ..Options::to(target) }
}

/// # Errors
/// The statement cannot be translated.
pub fn plan(sql: &str, catalogue: &Catalogue, version: u64, target: Target) -> Result<Plan, Refusal> {
    let mut translation = translate(sql, catalogue, &options(target))?;
    let mut is_guarded = target == Target::Postgres;
    for statement in &mut translation.statements {
        if let Some(sql) = guarded(&statement.sql, version, target) {
            (statement.sql, is_guarded) = (sql, true);
        }
    }
    if !is_guarded {
        let sql = format!("SELECT 1 FROM \"{}\"", sentinel(version));
        translation.statements.insert(0, Statement { main: false, ..Statement::of_server(sql, vec![]) });
    }
    let has_fired = |rule: &str| translation.rules.iter().any(|fired| fired.rule == rule);
    let wants_words = has_fired("texts-in-numeric-columns");
    let on_mariadb = |rule: &str| target == Target::MariaDb && has_fired(rule);
    let (has_limit, skips_nulls) = (on_mariadb("limit-parameter"), on_mariadb("or-ignore"));
    let rounds = target == Target::MariaDb;
    Ok(Plan { statements: translation.statements, wants_words, has_limit, skips_nulls, rounds })
}

impl Plan {
    /// The messages with these values. `None` if the translation does not support the type of a value.
    ///
    /// # Errors
    /// An unknown value of the session is needed.
    pub fn messages(&self, values: &[Value], session: &Session) -> Result<Option<Vec<Message>>, &'static str> {
        let mut messages = vec![];
        for statement in &self.statements {
            let Some(values) = self.bound(statement, values, session)? else { return Ok(None) };
            messages.push(Message::Query { sql: statement.sql.clone(), values });
        }
        Ok(Some(messages))
    }

    /// The messages of a statement without values.
    pub fn messages_without_values(&self) -> Vec<Message> {
        let message = |statement: &Statement| Message::query(statement.sql.clone());
        self.statements.iter().map(message).collect()
    }

    fn bound(
        &self,
        statement: &Statement,
        given: &[Value],
        session: &Session,
    ) -> Result<Option<Vec<Value>>, &'static str> {
        let mut values = vec![];
        let places = statement.params.iter().zip(&statement.types).zip(&statement.converted);
        for ((number, ty), is_converted) in places {
            let value = match SessionValue::of(*number) {
                Some(SessionValue::LastInsertRowid) => Value::Integer(session.rowid?),
                Some(SessionValue::Changes) => Value::Integer(session.changes),
                Some(SessionValue::TotalChanges) => Value::Integer(session.total),
                None => {
                    let value = given.get(usize::from(*number) - 1).cloned().unwrap_or(Value::Null);
                    if *is_converted { converted(value, *ty) } else { value }
                }
            };
            // A value converted to a text is for a text column, where numbers are allowed.
            let must_be_word = self.wants_words && !*is_converted;
            let is_refused = match value {
                Value::Integer(..0) => self.has_limit,
                Value::Null => self.skips_nulls,
                // MariaDB would round it.
                Value::Real(real) if self.rounds && *ty == ParamType::Number => !is_decimal(real),
                _ => false,
            };
            if !fits(&value, *ty) || must_be_word && is_numeric(&value) || is_refused {
                return Ok(None);
            }
            values.push(value);
        }
        Ok(Some(values))
    }

    /// The meaning of the answers.
    ///
    /// # Errors
    /// A column without a type holds a value that was not stored through the shim.
    pub fn done(&self, answers: Vec<Reply>) -> Result<Done, &'static str> {
        let mut done = Done { rows: vec![], changed: None, rowid: None };
        for (statement, answer) in self.statements.iter().zip(answers).filter(|(statement, _)| statement.main) {
            let mut rows = answer.rows;
            rows.iter_mut().try_for_each(|row| read_tagged(row, &statement.tagged))?;
            let mut keys = vec![];
            match statement.keys {
                Keys::Same => {}
                Keys::Unknown(reason) => done.rowid = Some(Err(reason)),
                Keys::Rows | Keys::NewRows | Keys::LastColumn => keys = rows.iter_mut().filter_map(Vec::pop).collect(),
            }
            if let Some(Value::Integer(key)) = keys.iter().rfind(|key| **key != Value::Null) {
                done.rowid = Some(Ok(*key));
            }
            let count = match statement.keys {
                Keys::Rows => keys.len() as u64,
                Keys::NewRows => keys.iter().filter(|key| **key != Value::Null).count() as u64,
                Keys::Same | Keys::LastColumn | Keys::Unknown(_) => answer.count,
            };
            if matches!(statement.keys, Keys::Rows | Keys::NewRows) {
                rows.clear();
            }
            done.changed = statement.counts.then(|| i64::try_from(count).unwrap_or(i64::MAX));
            done.rows = rows;
        }
        Ok(done)
    }

    /// Whether last_insert_rowid() is unknown after a failure.
    pub fn may_fail_late(&self) -> bool {
        self.statements.iter().any(|statement| statement.may_fail_late)
    }
}

/// Reads the tagged values of a row.
fn read_tagged(row: &mut [Value], places: &[u16]) -> Result<(), &'static str> {
    for place in places {
        let Some(value) = row.get_mut(usize::from(*place)) else { continue };
        let Value::Text(text) = value else { continue };
        *value = match untagged(text) {
            Some(Untagged::Integer(n)) => Value::Integer(n),
            Some(Untagged::Real(r)) => Value::Real(r),
            Some(Untagged::Text(text)) => Value::Text(text.to_vec()),
            Some(Untagged::Blob(bytes)) => Value::Blob(bytes),
            None => return Err("a column without a type holds a value without a tag of its type"),
        };
    }
    Ok(())
}

fn is_numeric(value: &Value) -> bool {
    let Value::Text(bytes) = value else { return false };
    std::str::from_utf8(bytes).is_ok_and(|text| number_in_text(text).is_some())
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
        (Value::Real(n), ParamType::Text) => Value::Text(real_text(n, oldest()).into_bytes()),
        // SQLite compares another one with reals exactly, and the server would make a real of it.
        (Value::Integer(n), ParamType::Real) if is_exact(n) => Value::Real(n as f64),
        (Value::Real(n), ParamType::Integer) => number(Number::Real(n)),
        (Value::Text(bytes), ParamType::Integer | ParamType::Real | ParamType::Number) => {
            let read = std::str::from_utf8(&bytes).ok().and_then(number_in_text);
            read.map_or(Value::Text(bytes), number)
        }
        (value, _) => value,
    }
}

/// Whether a value may be bound although the translation assumes this type.
fn fits(value: &Value, ty: ParamType) -> bool {
    match value {
        Value::Null => true,
        Value::Integer(_) => matches!(ty, ParamType::Integer | ParamType::Number | ParamType::Unknown),
        Value::Real(_) => matches!(ty, ParamType::Real | ParamType::Number | ParamType::Unknown),
        Value::Text(_) => matches!(ty, ParamType::Text | ParamType::Unknown),
        Value::Blob(_) => matches!(ty, ParamType::Blob | ParamType::Unknown),
    }
}
