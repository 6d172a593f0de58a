//! The way from a client to the server: how many connections there may be, and what is said about them.

use super::writer::Writers;
use contend_wire::database::Endpoint;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The server: its protocol (`postgres` or `mysql`), and its name without user and database.
#[derive(Clone)]
pub struct Target {
    pub scheme: &'static str,
    pub endpoint: Endpoint,
    pub name: String,
}

impl Target {
    pub fn connect(&self) -> io::Result<Stream> {
        match &self.endpoint {
            Endpoint::Socket(path) => UnixStream::connect(path).map(Stream::Unix),
            Endpoint::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port))?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
        }
    }
}

pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub fn shutdown(&self, how: Shutdown) {
        // The other side may have closed it.
        let _ = match self {
            Stream::Tcp(stream) => stream.shutdown(how),
            Stream::Unix(stream) => stream.shutdown(how),
        };
    }
}

impl Read for &Stream {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&mut &*stream).read(to),
            Stream::Unix(stream) => (&mut &*stream).read(to),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&mut &*stream).write(bytes),
            Stream::Unix(stream) => (&mut &*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A place among the connections. Free again when dropped.
pub struct Seat<'s>(&'s AtomicUsize);

impl Seat<'_> {
    fn take(taken: &AtomicUsize, most: usize) -> Option<Seat<'_>> {
        let more = |number| (number < most).then_some(number + 1);
        taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Seat(taken))
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A sentence for the user, and whether it is about a gap of the capture.
pub struct Said {
    pub text: String,
    pub is_gap: bool,
}

/// Why a client is not served.
pub enum Refused {
    TooMany,
    NoServer,
}

pub struct Door {
    pub target: Target,
    pub writers: Arc<Writers>,
    /// Most connections at the same time.
    pub most: usize,
    /// Connections that are served.
    pub clients: AtomicUsize,
    pub said: Mutex<Vec<Said>>,
}

impl Door {
    pub fn say(&self, text: String, is_gap: bool) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).push(Said { text, is_gap });
    }

    /// A place and a connection to the server; else the client gets the protocol's form of an error.
    pub fn enter(&self, mut client: impl Write, refusal: fn(Refused, &str) -> Vec<u8>) -> Option<(Seat<'_>, Stream)> {
        let (name, most) = (&self.target.name, self.most);
        // The client may have gone.
        let mut refuse = |why, text: &str| drop(client.write_all(&refusal(why, text)));
        let Some(seat) = Seat::take(&self.clients, most) else {
            refuse(Refused::TooMany, &format!("contend capture has {most} connections already"));
            self.say(format!("A client was not served: more than {most} connections at the same time."), true);
            return None;
        };
        match self.target.connect() {
            Ok(server) => Some((seat, server)),
            Err(why) => {
                refuse(Refused::NoServer, &format!("contend capture cannot reach {name}: {why}"));
                self.say(format!("A client was not served: {name} cannot be reached: {why}."), false);
                None
            }
        }
    }
}
