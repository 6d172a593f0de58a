//! The messages before a connection's first real one: encryption is refused, a cancellation has no more than that.

use super::frame::Fields;
use std::io::{Read, Result, Write};
use std::net::TcpStream;

const PROTOCOL_3: u32 = 3;
const CANCEL: u32 = 80_877_102;
const TLS: u32 = 80_877_103;
const GSS: u32 = 80_877_104;
/// As the server itself.
const LENGTH_MAX: usize = 10_000;

/// The first request of a client.
pub enum Wish {
    /// To log in; with the message itself.
    Start(Start),
    /// To cancel a statement of another connection.
    Cancel(Vec<u8>),
    /// Nothing: it has closed the connection, after this answer about TLS.
    Nothing { wanted_tls: bool },
    /// Bytes of another protocol.
    Other,
}

/// The message with which a client logs in.
pub struct Start {
    pub message: Vec<u8>,
    pub user: String,
    pub database: String,
    pub application: String,
    pub is_replication: bool,
}

/// Reads up to the first message that the server has to answer.
///
/// # Errors
/// The connection ended in the middle of a message.
pub fn greet(mut client: impl Read + Write) -> Result<Wish> {
    let mut wanted_tls = false;
    loop {
        let mut message = vec![0; 8];
        if client.read(&mut message[..1])? == 0 {
            return Ok(Wish::Nothing { wanted_tls });
        }
        client.read_exact(&mut message[1..])?;
        let mut fields = Fields(&message);
        let (Some(length), Some(code)) = (fields.u32(), fields.u32()) else { return Ok(Wish::Other) };
        let length = length as usize;
        if !(8..=LENGTH_MAX).contains(&length) {
            return Ok(Wish::Other);
        }
        message.resize(length, 0);
        client.read_exact(&mut message[8..])?;
        match code {
            TLS | GSS => {
                wanted_tls = true;
                client.write_all(b"N")?;
            }
            CANCEL => return Ok(Wish::Cancel(message)),
            _ if code >> 16 == PROTOCOL_3 => return Ok(start(message).map_or(Wish::Other, Wish::Start)),
            _ => return Ok(Wish::Other),
        }
    }
}

fn start(message: Vec<u8>) -> Option<Start> {
    let mut fields = Fields(&message[8..]);
    let (mut user, mut database, mut application, mut is_replication) = (String::new(), None, String::new(), false);
    loop {
        let name = fields.text()?;
        if name.is_empty() {
            break;
        }
        let value = String::from_utf8_lossy(fields.text()?).into_owned();
        match name {
            b"user" => user = value,
            b"database" => database = Some(value),
            b"application_name" => application = value,
            b"replication" => is_replication = !matches!(value.as_str(), "false" | "off" | "no" | "0"),
            _ => {}
        }
    }
    let database = database.filter(|name| !name.is_empty()).unwrap_or_else(|| user.clone());
    Some(Start { message, user, database, application, is_replication })
}

/// Whether a server encrypts connections.
///
/// # Errors
/// The connection fails.
pub fn offers_tls(mut server: &TcpStream) -> Result<bool> {
    const REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
    server.write_all(&REQUEST)?;
    let mut answer = [0];
    server.read_exact(&mut answer)?;
    Ok(answer == *b"S")
}

/// The server's form of an error that ends the connection, with its code (SQLSTATE).
pub fn refusal(sqlstate: &str, text: &str) -> Vec<u8> {
    let body = format!("SFATAL\0VFATAL\0C{sqlstate}\0M{text}\0\0");
    let length = u32::try_from(body.len() + 4).unwrap_or(u32::MAX).to_be_bytes();
    [b"E", &length[..], body.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// A client that has sent this; what it gets follows in the same bytes.
    fn wish(sent: &[u8]) -> Wish {
        struct Client<'b>(Cursor<&'b [u8]>);
        impl Read for Client<'_> {
            fn read(&mut self, to: &mut [u8]) -> Result<usize> {
                self.0.read(to)
            }
        }
        impl Write for Client<'_> {
            fn write(&mut self, bytes: &[u8]) -> Result<usize> {
                assert_eq!(bytes, b"N");
                Ok(bytes.len())
            }
            fn flush(&mut self) -> Result<()> {
                Ok(())
            }
        }
        greet(Client(Cursor::new(sent))).unwrap_or(Wish::Other)
    }

    #[test]
    fn a_client_may_ask_for_encryption_first() {
        let tls = [0, 0, 0, 8, 4, 210, 22, 47];
        assert!(matches!(wish(&tls), Wish::Nothing { wanted_tls: true }));
        assert!(matches!(wish(&[]), Wish::Nothing { wanted_tls: false }));
        let body = b"\0\x03\0\0user\0me\0application_name\0shop\0options\0-c x=1\0\0";
        let start = [&(body.len() as u32 + 4).to_be_bytes()[..], body].concat();
        let Wish::Start(found) = wish(&[&tls[..], &start].concat()) else { panic!("no login") };
        assert_eq!((found.user.as_str(), found.database.as_str(), found.application.as_str()), ("me", "me", "shop"));
        assert_eq!((found.message, found.is_replication), (start, false));
    }

    #[test]
    fn other_protocols_are_no_login() {
        for sent in [
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            &[22, 3, 1, 2, 0, 1, 0, 1],
            &[0, 0, 0, 9, 0, 3, 0, 0],
            &[0, 0, 0, 8, 0, 2, 0, 0],
        ] {
            assert!(matches!(wish(sent), Wish::Other), "{sent:?}");
        }
        assert!(matches!(wish(&[0, 0, 0, 12, 4, 210, 22, 46, 1, 2, 3, 4]), Wish::Cancel(_)));
    }
}
