//! The begin of a client's connection to MariaDB: the greeting, reduced, and the client's answer.

use super::conversation::Conversation;
use super::greeting::{Answer, Login, answer, reduce, refusal};
use super::packet::{HEAD, length_of};
use crate::proxy::door::{Door, Refused};
use crate::proxy::spoken::Begun;
use std::io::{Read, Result, Write as _};
use std::net::TcpStream;

/// Reads up to the client's login; `None` if there is nothing to serve.
pub fn begin<'d>(door: &'d Door, mut client: &TcpStream) -> Option<Begun<'d>> {
    let (seat, server) = door.enter(client, |why, text| match why {
        Refused::TooMany => refusal(1040, text),
        Refused::NoServer => refusal(2003, text),
    })?;
    // An error is that of a side that has gone.
    let mut greeting = packet(&server).ok()?;
    let found = reduce(&mut greeting[HEAD..]);
    client.write_all(&greeting).ok()?;
    let Some(found) = found else {
        let name = &door.target.name;
        door.say(format!("A client was not served: {name} answered with an error instead of a greeting."), false);
        return None;
    };
    let Ok(mut first) = packet(client) else {
        door.say(
            "A client gave up at the server's greeting. If it insists on TLS, which a capture cannot read: give it \
             --skip-ssl (ssl-mode=PREFERRED or DISABLED) while you capture."
                .into(),
            true,
        );
        return None;
    };
    match answer(&mut first[HEAD..]) {
        Answer::Login(login) => {
            let Login { user, database, program, collation, deprecates_eof, flags } = login;
            let program = if program.is_empty() { user } else { program };
            let conversation = Box::new(move |pen| {
                let deprecates_eof = deprecates_eof && found.deprecates_eof;
                Box::new(Conversation::new(pen, &found.version, (collation, deprecates_eof, flags))) as Box<_>
            });
            return Some(Begun { seat, server, first, program, database, conversation });
        }
        Answer::Tls => door.say(
            "A client insists on TLS, which a capture cannot read, and was not served: give it --skip-ssl \
             (ssl-mode=PREFERRED or DISABLED) while you capture."
                .into(),
            true,
        ),
        Answer::Other => door.say("A client does not speak MariaDB's protocol, and was not served.".into(), true),
    }
    None
}

/// A packet with its head.
fn packet(mut from: impl Read) -> Result<Vec<u8>> {
    let mut head = [0; HEAD];
    from.read_exact(&mut head)?;
    let mut packet = head.to_vec();
    packet.resize(HEAD + length_of(&head), 0);
    from.read_exact(&mut packet[HEAD..])?;
    Ok(packet)
}

/// Whether a server encrypts connections.
///
/// # Errors
/// The connection fails.
pub fn offers_tls(server: &TcpStream) -> Result<bool> {
    let mut greeting = packet(server)?;
    Ok(reduce(&mut greeting[HEAD..]).is_some_and(|found| found.offers_tls))
}
