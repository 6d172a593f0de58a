//! PostgreSQL's protocol, as far as a replay speaks it: statements are sent as they were captured, simple or extended,
//! with the declared types and the form of each value.

use crate::of_server::link::{Answer, Link};
use crate::proxy::{IS_ABORTED, Stream, Tag, Target, is_commit};
use crate::trace::{Call, How, ROW, Value};
use anyhow::{Context as _, Result, anyhow, bail};
use bytes::BytesMut;
use contend_wire::database::{Address, Database};
use contend_worker::server::address;
use postgres::fallible_iterator::FallibleIterator as _;
use postgres_protocol::IsNull;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{ErrorResponseBody, Message};
use postgres_protocol::message::frontend;
use std::error::Error;
use std::io::{Read as _, Write as _};

/// First number of types that a database defines itself: another database has other numbers for them.
const OWN_TYPES: u32 = 16_384;

pub struct Postgres {
    stream: Stream,
    received: BytesMut,
    version: String,
    /// The server's status: `I` outside of a transaction, `T` in one, `E` in one that has failed.
    status: u8,
}

impl Postgres {
    /// # Errors
    /// The server cannot be reached or refuses.
    pub fn open(database: &Database) -> Result<Postgres> {
        let (to, password) = address(database).map_err(|e| anyhow!("{}: {}", e.what, e.message))?;
        let target = Target { scheme: "postgres", endpoint: to.endpoint.clone(), name: to.to_string() };
        let stream = target.connect().context("cannot connect")?;
        let mut link = Postgres { stream, received: BytesMut::new(), version: String::new(), status: b'I' };
        let parameters = [
            ("user", to.user.as_str()),
            ("database", &to.database),
            ("client_encoding", "UTF8"),
            ("application_name", "contend"),
        ];
        let mut out = BytesMut::new();
        frontend::startup_message(parameters, &mut out)?;
        link.send(&out)?;
        link.log_in(to, password.as_deref())?;
        Ok(link)
    }

    fn log_in(&mut self, to: &Address, password: Option<&str>) -> Result<()> {
        let mut scram = None;
        let needed = || password.context("the server requires a password").map(str::as_bytes);
        loop {
            let mut out = BytesMut::new();
            match self.message()? {
                Message::AuthenticationCleartextPassword => frontend::password_message(needed()?, &mut out)?,
                Message::AuthenticationMd5Password(body) => {
                    let hash = md5_hash(to.user.as_bytes(), needed()?, body.salt());
                    frontend::password_message(hash.as_bytes(), &mut out)?;
                }
                Message::AuthenticationSasl(_) => {
                    let first = ScramSha256::new(needed()?, ChannelBinding::unsupported());
                    frontend::sasl_initial_response(SCRAM_SHA_256, first.message(), &mut out)?;
                    scram = Some(first);
                }
                Message::AuthenticationSaslContinue(body) => {
                    let scram = scram.as_mut().context("an answer without a question")?;
                    scram.update(body.data())?;
                    frontend::sasl_response(scram.message(), &mut out)?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    scram.as_mut().context("an answer without a question")?.finish(body.data())?;
                }
                Message::ParameterStatus(body) if body.name()? == "server_version" => {
                    self.version = format!("PostgreSQL {}", body.value()?);
                }
                Message::ErrorResponse(body) => bail!("{}", field(&body, b'M')?),
                Message::ReadyForQuery(_) => return Ok(()),
                Message::AuthenticationGss | Message::AuthenticationSspi => bail!("the server requires GSS or SSPI"),
                _ => {}
            }
            self.send(&out)?;
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        (&self.stream).write_all(bytes).context("the connection to the server is lost")
    }

    fn message(&mut self) -> Result<Message> {
        loop {
            if let Some(message) = Message::parse(&mut self.received)? {
                return Ok(message);
            }
            let mut chunk = [0; 16 << 10];
            let length = (&self.stream).read(&mut chunk).context("the connection to the server is lost")?;
            if length == 0 {
                bail!("the server has closed the connection");
            }
            self.received.extend_from_slice(&chunk[..length]);
        }
    }

    /// Reads the answer to statements that were sent: up to the end of the first one, or until the server is ready.
    fn answer(&mut self, sql: &str, mut until_ready: bool) -> Result<Answer> {
        let (mut answer, mut changes) = (Answer::default(), 0);
        loop {
            let is_end = match self.message()? {
                Message::DataRow(_) => {
                    answer.rows += 1;
                    false
                }
                Message::CommandComplete(body) => {
                    let tag = Tag::of(body.tag()?.as_bytes());
                    changes += tag.changes();
                    if tag.word == "ROLLBACK" && is_commit(sql.as_bytes()) {
                        answer.code = Some(String::from_utf8_lossy(IS_ABORTED).into_owned());
                    }
                    true
                }
                Message::EmptyQueryResponse | Message::PortalSuspended => true,
                Message::ErrorResponse(body) => {
                    answer.code = Some(field(&body, b'C')?);
                    if !until_ready {
                        let mut out = BytesMut::new();
                        frontend::sync(&mut out);
                        self.send(&out)?;
                        until_ready = true;
                    }
                    false
                }
                Message::CopyInResponse(_) => {
                    let mut out = BytesMut::new();
                    frontend::copy_fail("the rows are not captured", &mut out)?;
                    self.send(&out)?;
                    false
                }
                Message::ReadyForQuery(body) => {
                    self.status = body.status();
                    break;
                }
                _ => false,
            };
            if is_end && !until_ready {
                break;
            }
        }
        answer.changes = Some(changes);
        Ok(answer)
    }
}

/// A field of an error.
fn field(body: &ErrorResponseBody, kind: u8) -> Result<String> {
    let found = body.fields().find(|field| Ok(field.type_() == kind))?;
    Ok(found.map_or_else(String::new, |field| String::from_utf8_lossy(field.value_bytes()).into_owned()))
}

/// Captured in binary form, which is that of `bytea` too.
fn is_binary(value: &Value) -> bool {
    matches!(value, Value::Blob(_))
}

fn put(value: &Value, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
    match value {
        Value::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Real(number) if number.is_infinite() => {
            out.extend_from_slice(if *number > 0.0 { b"Infinity" } else { b"-Infinity" });
        }
        Value::Real(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Text(bytes) | Value::Blob(bytes) => out.extend_from_slice(bytes),
        Value::Null | Value::Zeros(_) | Value::Opaque | Value::Hash(..) => return Ok(IsNull::Yes),
    }
    Ok(IsNull::No)
}

impl Link for Postgres {
    fn call(&mut self, call: &Call, has_more: bool) -> Result<Answer> {
        if call.how == How::Exec {
            return self.text(&call.sql);
        }
        let mut out = BytesMut::new();
        let types = call.types.iter().map(|number| if *number < OWN_TYPES { *number } else { 0 });
        frontend::parse("", &call.sql, types, &mut out)?;
        if call.how == How::Statement {
            let values = || call.values.iter().map(|(_, value)| value);
            let forms = values().map(|value| i16::from(is_binary(value)));
            let bound = frontend::bind("", "", forms, values(), put, [], &mut out);
            bound.map_err(|_| anyhow!("values that cannot be sent"))?;
            // The client may have read fewer rows than there are.
            let most = if call.rc == ROW { i32::try_from(call.rows)? } else { 0 };
            frontend::execute("", most, &mut out)?;
        }
        let has_more = has_more && call.how == How::Statement;
        if has_more {
            frontend::flush(&mut out);
        } else {
            frontend::sync(&mut out);
        }
        self.send(&out)?;
        self.answer(&call.sql, !has_more)
    }

    fn text(&mut self, sql: &str) -> Result<Answer> {
        let mut out = BytesMut::new();
        frontend::query(sql, &mut out)?;
        self.send(&out)?;
        self.answer(sql, true)
    }

    fn is_inside(&self) -> Option<bool> {
        Some(self.status != b'I')
    }

    fn version(&mut self) -> Result<String> {
        Ok(self.version.clone())
    }
}
