//! What a protocol gives the relay.

use super::door::{Seat, Stream};
use super::writer::{Writer, Writers};
use std::sync::Arc;

/// Reads both directions of a connection and writes down what happened.
pub trait Conversation: Send {
    /// Reads bytes of the client, which have not been passed on yet.
    fn client(&mut self, now_ns: u64, bytes: &[u8]);

    /// Reads bytes of the server.
    fn server(&mut self, now_ns: u64, bytes: &[u8]);

    fn flush(&mut self);

    /// The end of the connection. What is still unanswered may or may not have been done.
    fn finish(self: Box<Self>, now_ns: u64);
}

/// Where a conversation is written down.
pub struct Pen {
    pub writer: Writer,
    pub writers: Arc<Writers>,
    /// The server, and with `/` the database.
    pub server: String,
    pub database: String,
    pub opened_ns: u64,
}

type Begin = Box<dyn FnOnce(Pen) -> Box<dyn Conversation>>;

/// A connection whose client may log in.
pub struct Begun<'d> {
    pub seat: Seat<'d>,
    pub server: Stream,
    /// Bytes of the client that the server has not received.
    pub first: Vec<u8>,
    pub program: String,
    pub database: String,
    pub conversation: Begin,
}
