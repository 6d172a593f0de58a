//! Passes the bytes of clients to the server and back.

use super::conversation::{Client, Conversation};
use super::greeting::{Start, Wish, greet, refusal};
use super::writer::{Writers, now_ns};
use anyhow::{Context, Result};
use contend_wire::database::Endpoint;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Most connections at the same time, each with two threads and three open files: client, server and segment.
const CONNECTIONS_MAX: usize = 1_000;

/// Raises this process's limit of open files as far as it may; returns how many connections are possible.
fn connections_max() -> usize {
    const OTHER_FILES: u64 = 64;
    const FILES: u64 = 3;
    let limit = getrlimit(Resource::Nofile);
    // If it cannot be raised, the lower one counts.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let possible = usize::try_from(files.saturating_sub(OTHER_FILES) / FILES);
    possible.unwrap_or(usize::MAX).min(CONNECTIONS_MAX)
}

/// A place among the connections. Free again when dropped.
struct Seat<'s>(&'s AtomicUsize);

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

/// The server, and its name without user and database.
#[derive(Clone)]
pub struct Target {
    pub endpoint: Endpoint,
    pub name: String,
}

impl Target {
    fn connect(&self) -> io::Result<Stream> {
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

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn shutdown(&self, how: Shutdown) {
        // The other side may have closed it.
        let _ = match self {
            Stream::Tcp(stream) => stream.shutdown(how),
            Stream::Unix(stream) => stream.shutdown(how),
        };
    }

    fn read(&self, to: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&*stream).read(to),
            Stream::Unix(stream) => (&*stream).read(to),
        }
    }

    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => (&*stream).write_all(bytes),
            Stream::Unix(stream) => (&*stream).write_all(bytes),
        }
    }
}

/// A client, its server, and what they say.
struct Link {
    client: Stream,
    server: Stream,
    conversation: Mutex<Option<Conversation>>,
}

impl Link {
    fn conversation(&self) -> MutexGuard<'_, Option<Conversation>> {
        self.conversation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cut(&self) {
        self.client.shutdown(Shutdown::Both);
        self.server.shutdown(Shutdown::Both);
    }

    /// Passes bytes on until one side ends. They are read before, so that no answer is read before its question.
    fn pass(&self, from: &Stream, to: &Stream, heard: fn(&mut Conversation, u64, &[u8])) {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let length = match from.read(&mut buffer) {
                Ok(length) => length,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return self.cut(),
            };
            if length == 0 {
                return to.shutdown(Shutdown::Write);
            }
            let bytes = &buffer[..length];
            if let Some(conversation) = self.conversation().as_mut() {
                heard(conversation, now_ns(), bytes);
            }
            if to.write_all(bytes).is_err() {
                return self.cut();
            }
        }
    }
}

/// A sentence for the user, and whether it is about a gap of the capture.
pub struct Said {
    pub text: String,
    pub is_gap: bool,
}

/// Listens for clients.
pub struct Relay {
    listener: TcpListener,
    shared: Arc<Shared>,
}

struct Shared {
    target: Target,
    writers: Arc<Writers>,
    live: Mutex<HashMap<u64, Arc<Link>>>,
    numbers: AtomicU64,
    /// Most connections at the same time.
    most: usize,
    /// Connections that are served.
    clients: AtomicUsize,
    said: Mutex<Vec<Said>>,
}

impl Shared {
    fn live(&self) -> MutexGuard<'_, HashMap<u64, Arc<Link>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Attends a client in its own thread.
    fn take(self: &Arc<Self>, client: TcpStream) -> Result<()> {
        let shared = Arc::clone(self);
        thread::Builder::new().spawn(move || attend(&shared, client)).context("cannot start a thread")?;
        Ok(())
    }

    fn say(&self, text: String, is_gap: bool) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).push(Said { text, is_gap });
    }
}

impl Relay {
    pub fn new(listener: TcpListener, target: Target, writers: Writers) -> Relay {
        let (live, said) = (Mutex::default(), Mutex::default());
        let (numbers, clients) = (AtomicU64::new(0), AtomicUsize::new(0));
        let (writers, most) = (Arc::new(writers), connections_max());
        Relay { listener, shared: Arc::new(Shared { target, writers, live, numbers, most, clients, said }) }
    }

    /// Attends clients until `stop`; `say` gets each sentence at once. Returns the number of connections that were
    /// still open.
    ///
    /// # Errors
    /// The listening socket fails.
    pub fn run(self, stop: &AtomicBool, mut say: impl FnMut(Said)) -> Result<usize> {
        const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        self.listener.set_nonblocking(true)?;
        let mut said = |shared: &Shared| {
            std::mem::take(&mut *shared.said.lock().unwrap_or_else(PoisonError::into_inner))
                .into_iter()
                .for_each(&mut say);
        };
        let mut flushed = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            let mut fds = [PollFd::new(&self.listener, PollFlags::IN)];
            match poll(&mut fds, Some(&LOOK)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(why) => return Err(why).context("cannot listen"),
            }
            match self.listener.accept() {
                Ok((client, _)) => self.shared.take(client)?,
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                // The client has gone again, or too many files are open.
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
            said(&self.shared);
            if flushed.elapsed() > Duration::from_millis(100) {
                let links: Vec<_> = self.shared.live().values().map(Arc::clone).collect();
                links.iter().for_each(|link| link.conversation().iter_mut().for_each(Conversation::flush));
                flushed = Instant::now();
            }
        }
        let open = self.end();
        said(&self.shared);
        Ok(open)
    }

    /// Ends all connections; returns how many there were.
    fn end(&self) -> usize {
        const PATIENCE: Duration = Duration::from_secs(2);
        let links: Vec<_> = self.shared.live().values().map(Arc::clone).collect();
        links.iter().for_each(|link| link.cut());
        let begin = Instant::now();
        while !self.shared.live().is_empty() && begin.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
        for link in &links {
            // A thread may still be in a system call.
            let conversation = link.conversation().take();
            conversation.into_iter().for_each(|conversation| conversation.finish(now_ns()));
        }
        links.len()
    }
}

/// A client from its first byte to its last.
fn attend(shared: &Arc<Shared>, client: TcpStream) {
    const GREETING: Duration = Duration::from_secs(60);
    let ready = client
        .set_nonblocking(false)
        .and_then(|()| client.set_nodelay(true))
        .and_then(|()| client.set_read_timeout(Some(GREETING)));
    let wish = ready.and_then(|()| greet(&client));
    // An error is that of a client that has gone.
    let Ok(wish) = wish else { return };
    match wish {
        Wish::Nothing { wanted_tls: false } => {}
        Wish::Nothing { wanted_tls: true } => shared.say(
            "A client insists on TLS, which a capture cannot read, and gave up: give it sslmode=disable (or prefer) \
             while you capture."
                .into(),
            true,
        ),
        Wish::Other => {
            shared.say("A client does not speak PostgreSQL's protocol 3 without TLS, and was not served.".into(), true);
        }
        Wish::Cancel(message) => {
            if let Ok(server) = shared.target.connect()
                && server.write_all(&message).is_ok()
            {
                // The server answers by closing, which the client waits for.
                let _ = server.read(&mut [0]);
            }
        }
        Wish::Start(start) => serve(shared, client, &start),
    }
}

fn serve(shared: &Arc<Shared>, mut client: TcpStream, start: &Start) {
    let (name, most) = (&shared.target.name, shared.most);
    let Some(_seat) = Seat::take(&shared.clients, most) else {
        // The client may have gone.
        let _ = client.write_all(&refusal("53300", &format!("contend capture has {most} connections already")));
        return shared.say(format!("A client was not served: more than {most} connections at the same time."), true);
    };
    let server = match shared.target.connect() {
        Ok(server) => server,
        Err(why) => {
            let text = format!("contend capture cannot reach {name}: {why}");
            let _ = client.write_all(&refusal("08001", &text));
            return shared.say(format!("A client was not served: {name} cannot be reached: {why}."), false);
        }
    };
    let program = if start.application.is_empty() { &start.user } else { &start.application };
    let writer = match shared.writers.take(program) {
        Ok(writer) => Some(writer),
        Err(why) => {
            shared.say(format!("A connection is not captured: {why:#}."), true);
            None
        }
    };
    let place = Client { place: format!("{name}/{}", start.database), is_replication: start.is_replication };
    let conversation = writer.map(|writer| Conversation::new(writer, Arc::clone(&shared.writers), place, now_ns()));
    if client.set_read_timeout(None).is_err() || server.write_all(&start.message).is_err() {
        return;
    }
    let link = Arc::new(Link { client: Stream::Tcp(client), server, conversation: Mutex::new(conversation) });
    let number = shared.numbers.fetch_add(1, Ordering::Relaxed);
    shared.live().insert(number, Arc::clone(&link));
    let other = Arc::clone(&link);
    let answers = thread::Builder::new().spawn(move || other.pass(&other.server, &other.client, Conversation::server));
    match answers {
        Ok(answers) => {
            link.pass(&link.client, &link.server, Conversation::client);
            let _ = answers.join();
        }
        Err(_) => link.cut(),
    }
    let conversation = link.conversation().take();
    conversation.into_iter().for_each(|conversation| conversation.finish(now_ns()));
    shared.live().remove(&number);
}
