//! The begin of a client's connection to PostgreSQL.

use super::conversation::Conversation;
use super::greeting::{Start, Wish, greet, refusal};
use crate::proxy::door::{Door, Refused};
use crate::proxy::spoken::Begun;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// Reads up to the client's login; `None` if there is nothing to serve.
pub fn begin<'d>(door: &'d Door, client: &TcpStream) -> Option<Begun<'d>> {
    // An error is that of a client that has gone.
    match greet(client).ok()? {
        Wish::Nothing { wanted_tls: false } => {}
        Wish::Nothing { wanted_tls: true } => door.say(
            "A client insists on TLS, which a capture cannot read, and gave up: give it sslmode=disable (or prefer) \
             while you capture."
                .into(),
            true,
        ),
        Wish::Other => {
            door.say("A client does not speak PostgreSQL's protocol 3 without TLS, and was not served.".into(), true);
        }
        Wish::Cancel(message) => {
            if let Ok(server) = door.target.connect()
                && (&server).write_all(&message).is_ok()
            {
                // The server answers by closing, which the client waits for.
                let _ = (&server).read(&mut [0]);
            }
        }
        Wish::Start(start) => return login(door, client, start),
    }
    None
}

fn login<'d>(door: &'d Door, client: &TcpStream, start: Start) -> Option<Begun<'d>> {
    let (seat, server) = door.enter(client, |why, text| match why {
        Refused::TooMany => refusal("53300", text),
        Refused::NoServer => refusal("08001", text),
    })?;
    let Start { message: first, user, database, application, is_replication } = start;
    let program = if application.is_empty() { user } else { application };
    let conversation = Box::new(move |pen| Box::new(Conversation::new(pen, is_replication)) as Box<_>);
    Some(Begun { seat, server, first, program, database, conversation })
}
