//! A client's connection to its service.

use crate::http::tls::Session;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, connect, ipproto, recv, socket_with, sockopt};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;

/// A connection that was quiet for this long is checked before use.
const QUIET_NS: u64 = 1_000_000;

/// Beginning of an answer without a request, with which a service announces that it closes an idle connection.
const TIMED_OUT: [&[u8; 12]; 2] = [b"HTTP/1.1 408", b"HTTP/1.0 408"];

/// What a service sent without a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    Nothing,
    /// The connection has ended.
    End,
    /// Bytes that no request asked for, such as the answer to a later request.
    Unrequested,
}

pub struct Connection {
    pub(super) stream: TcpStream,
    /// Present if the service uses TLS.
    pub(super) tls: Option<Session>,
    /// Whether an encrypted request is not yet sent completely.
    pub(super) encrypted: bool,
    /// Whether the loop gets an event when the connection is writable.
    pub(super) wants_out: bool,
    /// Whether it has served a request before.
    pub(super) used: bool,
    /// Time of its last complete answer, or of its beginning.
    pub(super) quiet_since_ns: u64,
}

impl Connection {
    /// Whether it was quiet for so long that it is checked before use. This is not checked right after an answer: it would
    /// cost every request a system call, and the service can still close the connection a moment later.
    #[inline]
    pub(super) fn is_stale(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.quiet_since_ns) > QUIET_NS
    }

    /// What the service has sent on a connection without a request.
    pub(super) fn heard(&mut self) -> Heard {
        let mut bytes = [0; 12];
        let n = match &mut self.tls {
            // Tickets for later sessions are read too.
            Some(session) => match session.read(&self.stream, &mut bytes) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Heard::Nothing,
                read => read.unwrap_or(0),
            },
            None => match recv(&self.stream, &mut bytes, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
                Err(Errno::WOULDBLOCK) => return Heard::Nothing,
                read => read.map_or(0, |(n, _)| n),
            },
        };
        // Some servers send an empty line after an answer.
        let is_empty_line = bytes[..n].iter().all(|byte| b"\r\n".contains(byte));
        if is_empty_line || TIMED_OUT.contains(&&bytes) { Heard::End } else { Heard::Unrequested }
    }

    /// Continues to send a request after its first `sent` bytes; returns how many more were sent. With TLS it counts as
    /// sent only as a whole.
    #[inline]
    pub(super) fn write(&mut self, request: &[u8], sent: usize) -> std::io::Result<usize> {
        let Some(session) = &mut self.tls else { return (&self.stream).write(&request[sent..]) };
        if !self.encrypted {
            session.put(request)?;
            self.encrypted = true;
        }
        let left = if session.flush(&self.stream)? { request.len() } else { request.len() - 1 };
        self.encrypted = left < request.len();
        // A request that is sent in part lacks its last byte.
        if left > sent { Ok(left - sent) } else { Err(ErrorKind::WouldBlock.into()) }
    }

    #[inline]
    pub(super) fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        match &mut self.tls {
            Some(session) => session.read(&self.stream, room),
            None => (&self.stream).read(room),
        }
    }
}

/// A connection that is being opened.
pub fn open(address: SocketAddr, epoll: &OwnedFd, data: epoll::EventData) -> Result<TcpStream, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(errno) => return Err(errno),
    }
    epoll::add(epoll, &socket, data, epoll::EventFlags::IN | epoll::EventFlags::OUT)?;
    Ok(TcpStream::from(socket))
}
