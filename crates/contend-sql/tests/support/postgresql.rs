//! A connection to the private PostgreSQL. Values are sent and read as in contend's worker.

use super::engines::{Class, Engine, Failed, Returned, counts_changes};
use super::value::{Row, Value};
use bytes::{BufMut, BytesMut};
use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{Format, FromSql, IsNull, ToSql, Type};
use postgres::{Client, Config, NoTls};
use std::error::Error;
use std::path::Path;

type BoxedError = Box<dyn Error + Sync + Send>;

pub struct Postgres {
    client: Client,
}

/// Everything but bytes is sent as text, which the server reads as the type it requires.
#[derive(Debug)]
struct Sent<'v>(&'v Value);

impl Sent<'_> {
    fn is_bytes(&self, ty: &Type) -> bool {
        matches!(self.0, Value::Blob(_)) && *ty == Type::BYTEA
    }
}

impl ToSql for Sent<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, BoxedError> {
        let whole = matches!(*ty, Type::INT8 | Type::INT4 | Type::INT2);
        match self.0 {
            Value::Null | Value::Foreign(_) => return Ok(IsNull::Yes),
            Value::Integer(i) => out.put_slice(i.to_string().as_bytes()),
            Value::Real(r) if whole && r.fract() == 0.0 && r.abs() < 9e15 => {
                out.put_slice((*r as i64).to_string().as_bytes());
            }
            Value::Real(r) => out.put_slice(format!("{r:?}").as_bytes()),
            Value::Text(bytes) => out.put_slice(bytes),
            Value::Blob(bytes) if self.is_bytes(ty) => out.put_slice(bytes),
            Value::Blob(bytes) => {
                out.put_slice(b"\\x");
                bytes.iter().for_each(|byte| out.put_slice(format!("{byte:02x}").as_bytes()));
            }
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, ty: &Type) -> Format {
        if self.is_bytes(ty) { Format::Binary } else { Format::Text }
    }

    fn to_sql_checked(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, BoxedError> {
        self.to_sql(ty, out)
    }
}

fn fixed<const N: usize>(raw: &[u8]) -> Result<[u8; N], BoxedError> {
    raw.try_into().map_err(|_| format!("{} bytes where {N} were expected", raw.len()).into())
}

/// A decimal number in words of 16 bits: count of digits, weight of the first, sign, digits after the point, then
/// the digits, each from 0 to 9999 (PostgreSQL, `numeric_send`).
fn numeric(raw: &[u8]) -> Result<Value, BoxedError> {
    let word = |i: usize| Ok::<_, BoxedError>(u16::from_be_bytes(fixed(raw.get(2 * i..2 * i + 2).ok_or("cut off")?)?));
    let (digits, weight, sign, scale) = (word(0)? as i16, word(1)? as i16, word(2)?, word(3)? as i16);
    let group = |at: i16| if (0..digits).contains(&at) { word(4 + at as usize) } else { Ok(0) };
    let mut text = match sign {
        0 => "0".to_string(),
        0x4000 => "-0".to_string(),
        _ => return Ok(Value::Foreign("a numeric that is not finite".to_string())),
    };
    for at in 0..=weight {
        text += &format!("{:04}", group(at)?);
    }
    if scale > 0 {
        text.push('.');
        for at in 0..=scale / 4 {
            text += &format!("{:04}", group(weight + 1 + at)?);
        }
    }
    Ok(Value::decimal(&text))
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, BoxedError> {
        Ok(match *ty {
            Type::INT8 => Value::Integer(i64::from_be_bytes(fixed(raw)?)),
            Type::INT4 => Value::Integer(i32::from_be_bytes(fixed(raw)?).into()),
            Type::INT2 => Value::Integer(i16::from_be_bytes(fixed(raw)?).into()),
            Type::BOOL => Value::Integer(u8::from_be_bytes(fixed(raw)?).into()),
            Type::FLOAT8 => Value::Real(f64::from_be_bytes(fixed(raw)?)),
            Type::FLOAT4 => Value::Real(f32::from_be_bytes(fixed(raw)?).into()),
            Type::NUMERIC => numeric(raw)?,
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN | Type::JSON => {
                Value::Text(raw.to_vec())
            }
            Type::BYTEA => Value::Blob(raw.to_vec()),
            Type::VOID => Value::Null,
            _ => Value::Foreign(ty.name().to_string()),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, BoxedError> {
        Ok(Value::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn failed(error: &postgres::Error) -> Failed {
    let class = match error.code() {
        Some(&SqlState::UNIQUE_VIOLATION) => Class::Unique,
        Some(&SqlState::NOT_NULL_VIOLATION) => Class::NotNull,
        Some(&SqlState::CHECK_VIOLATION) => Class::Check,
        Some(&SqlState::FOREIGN_KEY_VIOLATION) => Class::ForeignKey,
        _ => Class::Other,
    };
    let message = match (error.as_db_error(), error.source()) {
        (Some(db), _) => format!("{} ({})", db.message(), db.code().code()),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    };
    Failed { class, message }
}

impl Postgres {
    pub fn connect(socket_directory: &Path, session: &[&str]) -> Postgres {
        let mut config = Config::new();
        config.host_path(socket_directory).port(5432).user("contend").dbname("postgres");
        let client = config.connect(NoTls).expect("a connection to the private PostgreSQL");
        let mut connection = Postgres { client };
        session.iter().for_each(|sql| connection.must(sql));
        connection.must("SET client_min_messages = error");
        connection
    }
}

impl Engine for Postgres {
    fn run(&mut self, sql: &str, params: &[Value]) -> Result<Returned, Failed> {
        let mut read = || -> Result<Returned, postgres::Error> {
            let statement = self.client.prepare(sql)?;
            let names: Vec<String> = statement.columns().iter().map(|c| c.name().to_string()).collect();
            let sent: Vec<Sent<'_>> = params.iter().map(Sent).collect();
            let mut found: Vec<Row> = vec![];
            let mut rows = self.client.query_raw(&statement, &sent)?;
            while let Some(row) = rows.next()? {
                found.push((0..names.len()).map(|i| row.try_get(i)).collect::<Result<Row, _>>()?);
            }
            let counts = names.is_empty() && counts_changes(sql);
            let changed = if counts { rows.rows_affected() } else { None };
            Ok(Returned { names, rows: found, changed, rowid: None })
        };
        read().map_err(|e| failed(&e))
    }

    fn must(&mut self, sql: &str) {
        self.client.batch_execute(sql).unwrap_or_else(|e| panic!("{sql}: {}", failed(&e).message));
    }

    fn fresh(&mut self, name: &str) {
        self.must("ROLLBACK; DISCARD TEMP");
        self.must(&format!("CREATE SCHEMA \"{name}\"; SET search_path = \"{name}\""));
    }

    fn version(&mut self) -> String {
        let row = self.client.query_one("SHOW server_version", &[]).expect("the version");
        row.get::<_, String>(0).split_whitespace().next().unwrap_or_default().to_string()
    }
}
