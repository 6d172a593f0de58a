//! Serve mode: a plan's transactions are carried out for clients over HTTP, on loopback alone.
//!
//! [`desk`] reads requests and writes answers. [`threads`] and [`tasks`] are the two ways to connect requests with
//! database connections: an OS thread with its own connection for each HTTP connection, or tasks that share the
//! connections of their model. hyper implements HTTP.

pub mod desk;
pub mod served;
#[cfg(feature = "rusqlite")]
pub mod sessions;
pub mod tasks;
#[cfg(feature = "rusqlite")]
pub mod threads;

use crate::clock::monotonic_ns;
use crate::kit::Kit;
use crate::run::{Event, Request};
use crate::serve::{facts, into_text, read_requests};
use anyhow::{Context, Result, bail};
use contend_wire::handshake::{Facts, WorkerLine};
use contend_wire::plan::Plan;
use desk::Desk;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::HttpService;
use hyper_util::rt::TokioIo;
use served::{Served, Server};
use std::error::Error;
use std::future::poll_fn;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long requests may take to end once their connections were interrupted.
const STUCK: Duration = Duration::from_secs(5);
/// Pause after a connection that could not be accepted, usually because no file descriptors are left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Speaks the protocol of a serving worker until the tool sends `quit` or closes the pipe.
///
/// # Errors
/// Writing to the tool fails, or a request could not be ended.
pub fn serve(kit: Kit) -> Result<()> {
    let Some(prepare) = kit.serve else { bail!("this worker does not serve") };
    let (sender, events) = channel();
    thread::Builder::new().name("requests".into()).spawn(move || read_requests(&sender))?;
    let mut out = io::stdout().lock();
    say(&mut out, &WorkerLine::Hello((kit.hello)()?))?;
    let mut running: Option<Running> = None;
    while let Some(request) = next_request(&events) {
        let answer = match request {
            Request::Quit => break,
            Request::Clock => vec![WorkerLine::Clock(monotonic_ns())],
            Request::Plan(_) if running.is_some() => vec![failed("a plan is served already; start another server")],
            Request::Plan(bytes) => match begin(prepare, bytes) {
                Ok((lines, server)) => {
                    running = Some(server);
                    lines
                }
                Err(e) => vec![failed(&format!("{e:#}"))],
            },
            Request::Stop => match running.as_mut() {
                Some(server) => vec![WorkerLine::Done(server.stop()?)],
                None => vec![failed("`stop` without a plan that is served")],
            },
            Request::Start(_) => vec![failed("`start` sent to a serving worker: it only answers requests")],
            Request::Script(_) => {
                vec![failed("a script sent to a serving worker; start the worker without `serve` for it")]
            }
            Request::Unreadable(what) => vec![failed(&what)],
        };
        answer.iter().try_for_each(|line| say(&mut out, line))?;
    }
    match running {
        Some(mut server) => {
            server.stop()?;
            server.server.close()
        }
        None => Ok(()),
    }
}

fn next_request(events: &Receiver<Event>) -> Option<Request> {
    loop {
        match events.recv() {
            Ok(Event::Tool(request)) => return Some(request),
            Ok(Event::Ended(..)) => {}
            Err(_) => return None,
        }
    }
}

fn failed(words: &str) -> WorkerLine {
    WorkerLine::Failed(words.to_string())
}

fn say(out: &mut impl Write, line: &WorkerLine) -> Result<()> {
    out.write_all(line.encode().as_bytes())?;
    Ok(out.flush()?)
}

fn begin(prepare: fn(Plan) -> Result<Served>, bytes: Vec<u8>) -> Result<(Vec<WorkerLine>, Running)> {
    let plan = Plan::decode(&into_text(bytes)?)?;
    let Served { sessions, server, desk } = prepare(plan)?;
    let listening = server.runtime().block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    let listener = listening.context("cannot listen on 127.0.0.1")?;
    let address = format!("http://{}", listener.local_addr()?);
    let (end, ending) = watch::channel(false);
    let accepting = server.runtime().spawn(accept(listener, server.welcome(ending)));
    let mut lines: Vec<_> = sessions.into_iter().map(WorkerLine::Session).collect();
    lines.push(WorkerLine::Serving(address));
    Ok((lines, Running { server, desk, open: Some(Open { accepting, end }) }))
}

async fn accept(listener: TcpListener, mut welcome: Box<dyn FnMut(TcpStream) + Send>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // An answer is written in one piece and must not wait for more data.
                let _ = stream.set_nodelay(true);
                welcome(stream);
            }
            Err(e) => {
                eprintln!("contend worker: cannot accept a connection: {e}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Serves one HTTP connection until its client closes it, or until `ending` and the request in flight is answered.
///
/// # Errors
/// Why the connection broke, usually because of its client.
pub async fn serve_connection<S>(stream: TcpStream, service: S, mut ending: watch::Receiver<bool>) -> hyper::Result<()>
where
    S: HttpService<Incoming, Error: Into<Box<dyn Error + Send + Sync>>>,
    S::ResBody: Body<Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
{
    let mut connection = pin!(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    let mut ended = pin!(async move { ending.wait_for(|end| *end).await.map(drop) });
    let mut heard = false;
    poll_fn(|context| {
        if !heard && ended.as_mut().poll(context).is_ready() {
            heard = true;
            connection.as_mut().graceful_shutdown();
        }
        connection.as_mut().poll(context)
    })
    .await
}

/// State of a server that accepts connections.
struct Open {
    accepting: JoinHandle<()>,
    /// Each connection has a receiver.
    end: watch::Sender<bool>,
}

/// A running server.
struct Running {
    server: Box<dyn Server>,
    desk: Arc<Desk>,
    /// `None` once it was stopped.
    open: Option<Open>,
}

impl Running {
    /// Stops accepting connections, lets requests in flight end (and interrupts them after the plan's drain), and
    /// returns the counts.
    fn stop(&mut self) -> Result<Facts> {
        let Some(Open { accepting, end }) = self.open.take() else { return Ok(self.done()) };
        accepting.abort();
        end.send_replace(true);
        let drain = Duration::from_nanos(self.desk.plan.head.window.drain_ns);
        let (server, control) = (&self.server, &self.desk.control);
        server.runtime().block_on(async {
            // Only then is the socket closed; that it was aborted is no error.
            let _ = accepting.await;
            let mut ended = pin!(end.closed());
            if timeout(drain, &mut ended).await.is_ok() {
                return Ok(());
            }
            control.end_drain();
            control.wake();
            server.interrupt();
            match timeout(STUCK, &mut ended).await {
                Ok(()) => Ok(()),
                Err(_) => bail!("a request did not come to its end 5 s after it was interrupted"),
            }
        })?;
        self.server.look_again();
        Ok(self.done())
    }

    fn done(&self) -> Facts {
        let (requests, failed, opened) = self.desk.counts();
        let accounts = facts([("requests", requests), ("failed", failed), ("connections_opened", opened)]);
        accounts.into_iter().chain(self.desk.control.reported()).collect()
    }
}
