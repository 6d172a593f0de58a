//! The driver `tokio-postgres`: the library of that name without a runtime. The client's thread writes a request
//! to a socket that blocks, waits for the answer, and reads it: two or three system calls for a round trip and one
//! wake-up, where a runtime adds those of its own.
//!
//! The library does all of the protocol. What is here is the little that a runtime would do: carrying a request
//! to the connection, and reading when an answer must come.

use super::{APPLICATION, Interrupt, Link, Sent, failed_to_connect, target};
use crate::connection::OpenError;
use crate::server::CONNECT_TIME;
use contend_wire::database::{Database, Endpoint};
use futures_core::Stream;
use rustix::event::{PollFd, PollFlags, poll};
use std::cell::Cell;
use std::future::Future;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Config, Connection, Error, NoTls, Row, RowStream, SimpleQueryMessage, Statement};

/// How often the socket may be read before it says that nothing is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reads {
    None,
    One,
    Any,
}

/// A socket of the system's.
enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    fn open(endpoint: &Endpoint) -> io::Result<Self> {
        let (host, port) = match endpoint {
            Endpoint::Socket(path) => return UnixStream::connect(path).map(Self::Unix),
            Endpoint::Tcp(host, port) => (host.as_str(), *port),
        };
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT_TIME) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Self::Tcp(stream));
                }
                Err(e) => last = e,
            }
        }
        Err(last)
    }

    /// A read that blocks in a Unix socket is woken twice: when the server takes the request out of it, and
    /// when the answer is there. A poll is woken for the answer only, and a call costs less than a wake-up.
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => {
                poll(&mut [PollFd::new(stream, PollFlags::IN)], None)?;
                stream.read(into)
            }
            Self::Tcp(stream) => stream.read(into),
        }
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }
}

/// A socket that blocks, in the shape the library wants. Beyond the reads that are allowed it says that nothing
/// is there, without asking.
struct Wire {
    socket: Socket,
    reads: Rc<Cell<Reads>>,
}

fn without_interruptions<T>(mut call: impl FnMut() -> io::Result<T>) -> Poll<io::Result<T>> {
    loop {
        match call() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            done => return Poll::Ready(done),
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match this.reads.get() {
            Reads::None => return Poll::Pending,
            Reads::One => this.reads.set(Reads::None),
            Reads::Any => {}
        }
        let into = buffer.initialize_unfilled();
        without_interruptions(|| this.socket.read(into)).map_ok(|count| buffer.advance(count))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        without_interruptions(|| this.socket.write(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(match &self.socket {
            Socket::Unix(stream) => stream.shutdown(Shutdown::Write),
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Write),
        })
    }
}

/// The library's half of a connection that reads and writes.
pub struct Line {
    /// None once it has ended: a thread that waits for an answer then learns that there is none.
    connection: Option<Connection<Wire, NoTlsStream>>,
    reads: Rc<Cell<Reads>>,
}

impl Line {
    /// Sends what is asked for, and takes in what one read brings.
    #[inline]
    fn turn(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        self.advance(context)?;
        self.reads.set(Reads::One);
        let done = self.advance(context);
        self.reads.set(Reads::None);
        done
    }

    /// As far as it gets without another read; notices are passed over.
    #[inline]
    fn advance(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        loop {
            match connection.poll_message(context) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(ended) => {
                    self.connection = None;
                    return ended.map_or(Ok(()), |message| message.map(drop));
                }
            }
        }
    }

    /// Carries out what the library's other half asks for.
    #[inline]
    fn carry<T>(&mut self, asked: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let mut asked = pin!(asked);
        let context = &mut Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(answer) = asked.as_mut().poll(context) {
                return answer;
            }
            self.turn(context)?;
        }
    }
}

impl Drop for Line {
    /// The client is gone: takes leave of the server.
    fn drop(&mut self) {
        let _ = self.advance(&mut Context::from_waker(Waker::noop()));
    }
}

/// A future that only ever waits in the socket, where waiting is blocking.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return done;
        }
    }
}

/// A connection. The client goes first when it is dropped.
pub struct Direct {
    client: Client,
    line: Line,
}

impl Link for Direct {
    fn open(database: &Database) -> Result<(Self, Interrupt), OpenError> {
        let target = target(database)?;
        if matches!(target.endpoint, Endpoint::Socket(_)) {
            target.socket()?;
        }
        let mut config = Config::new();
        config.user(&target.user).application_name(APPLICATION);
        if !target.database.is_empty() {
            config.dbname(&target.database);
        }
        if let Some(password) = &target.password {
            config.password(password);
        }
        let reads = Rc::new(Cell::new(Reads::Any));
        let socket = Socket::open(&target.endpoint).map_err(|e| target.unreachable(&e))?;
        let wire = Wire { socket, reads: Rc::clone(&reads) };
        let (client, connection) = at_once(config.connect_raw(wire, NoTls)).map_err(|e| failed_to_connect(&e))?;
        reads.set(Reads::None);
        let token = client.cancel_token();
        let endpoint = target.endpoint.clone();
        let interrupt = move || {
            if let Ok(socket) = Socket::open(&endpoint) {
                let wire = Wire { socket, reads: Rc::new(Cell::new(Reads::Any)) };
                let _ = at_once(token.cancel_query_raw(wire, NoTls));
            }
        };
        Ok((Self { client, line: Line { connection: Some(connection), reads } }, Box::new(interrupt)))
    }

    fn batch(&mut self, sql: &str) -> Result<(), Error> {
        self.line.carry(self.client.batch_execute(sql))
    }

    fn ask(&mut self, sql: &str) -> Result<Vec<SimpleQueryMessage>, Error> {
        self.line.carry(self.client.simple_query(sql))
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        self.line.carry(self.client.prepare(sql))
    }

    type Rows<'l> = (&'l mut Line, RowStream);

    #[inline]
    fn send(&mut self, sent: &Sent<'_>) -> Result<Self::Rows<'_>, Error> {
        let rows = match sent {
            Sent::Prepared(statement, values) => self.line.carry(self.client.query_raw(*statement, *values))?,
            Sent::Text(sql, values) => {
                let typed = values.iter().map(|value| (value, Type::UNKNOWN));
                self.line.carry(self.client.query_typed_raw(sql, typed))?
            }
        };
        Ok((&mut self.line, rows))
    }

    #[inline]
    fn each_row(rows: Self::Rows<'_>, mut row: impl FnMut(Row) -> Result<(), Error>) -> Result<u64, Error> {
        let (line, rows) = rows;
        let mut rows = pin!(rows);
        let context = &mut Context::from_waker(Waker::noop());
        loop {
            match rows.as_mut().poll_next(context) {
                Poll::Ready(Some(found)) => row(found?)?,
                Poll::Ready(None) => return Ok(rows.rows_affected().unwrap_or(0)),
                Poll::Pending => line.turn(context)?,
            }
        }
    }

    fn is_closed(&self) -> bool {
        self.client.is_closed()
    }
}
