//! Passes the bytes of clients to the server and back.

use super::door::{Door, Said, Stream, Target};
use super::spoken::{Begun, Conversation, Pen};
use super::writer::{Writers, free_max, now_ns};
use super::{mysql, postgres};
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
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
    let possible = usize::try_from(files.saturating_sub(OTHER_FILES + free_max() as u64) / FILES);
    possible.unwrap_or(usize::MAX).min(CONNECTIONS_MAX)
}

/// A client, its server, and what they say.
struct Link {
    client: Stream,
    server: Stream,
    conversation: Mutex<Option<Box<dyn Conversation>>>,
}

/// Passes bytes to a conversation.
type Heard = fn(&mut dyn Conversation, u64, &[u8]);

impl Link {
    fn conversation(&self) -> MutexGuard<'_, Option<Box<dyn Conversation>>> {
        self.conversation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cut(&self) {
        self.client.shutdown(Shutdown::Both);
        self.server.shutdown(Shutdown::Both);
    }

    /// Passes bytes on until one side ends. They are read before, so that no answer is read before its question.
    fn pass(&self, mut from: &Stream, mut to: &Stream, heard: Heard) {
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
                heard(conversation.as_mut(), now_ns(), bytes);
            }
            if to.write_all(bytes).is_err() {
                return self.cut();
            }
        }
    }
}

/// Listens for clients.
pub struct Relay {
    listener: TcpListener,
    shared: Arc<Shared>,
}

struct Shared {
    door: Door,
    live: Mutex<HashMap<u64, Arc<Link>>>,
    numbers: AtomicU64,
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
}

impl Relay {
    pub fn new(listener: TcpListener, target: Target, writers: Writers) -> Relay {
        let (said, clients, most) = (Mutex::default(), AtomicUsize::new(0), connections_max());
        let door = Door { target, writers: Arc::new(writers), most, clients, said };
        Relay { listener, shared: Arc::new(Shared { door, live: Mutex::default(), numbers: AtomicU64::new(0) }) }
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
            std::mem::take(&mut *shared.door.said.lock().unwrap_or_else(PoisonError::into_inner))
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
                Ok((client, _)) => {
                    if let Err(why) = self.shared.take(client) {
                        self.shared.door.say(format!("A client was not served: {why:#}."), true);
                    }
                }
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                // The client has gone again, or too many files are open.
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
            said(&self.shared);
            if flushed.elapsed() > Duration::from_millis(100) {
                let links: Vec<_> = self.shared.live().values().map(Arc::clone).collect();
                links
                    .iter()
                    .for_each(|link| link.conversation().iter_mut().for_each(|conversation| conversation.flush()));
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
    // An error is that of a client that has gone.
    if ready.is_err() {
        return;
    }
    let begun = match shared.door.target.scheme {
        "mysql" => mysql::begin(&shared.door, &client),
        _ => postgres::begin(&shared.door, &client),
    };
    if let Some(begun) = begun {
        serve(shared, client, begun);
    }
}

fn serve(shared: &Arc<Shared>, client: TcpStream, begun: Begun) {
    let Begun { seat: _seat, server, first, program, database, conversation } = begun;
    let door = &shared.door;
    let writer = match door.writers.take(&program) {
        Ok(writer) => Some(writer),
        Err(why) => {
            door.say(format!("A connection is not captured: {why:#}."), true);
            None
        }
    };
    let conversation = writer.map(|writer| {
        let (writers, server) = (Arc::clone(&door.writers), door.target.name.clone());
        conversation(Pen { writer, writers, server, database, opened_ns: now_ns() })
    });
    if client.set_read_timeout(None).is_err() || (&server).write_all(&first).is_err() {
        return;
    }
    let link = Arc::new(Link { client: Stream::Tcp(client), server, conversation: Mutex::new(conversation) });
    let number = shared.numbers.fetch_add(1, Ordering::Relaxed);
    shared.live().insert(number, Arc::clone(&link));
    let other = Arc::clone(&link);
    let answers = thread::Builder::new()
        .spawn(move || other.pass(&other.server, &other.client, |said, now_ns, bytes| said.server(now_ns, bytes)));
    match answers {
        Ok(answers) => {
            link.pass(&link.client, &link.server, |said, now_ns, bytes| said.client(now_ns, bytes));
            let _ = answers.join();
        }
        Err(_) => link.cut(),
    }
    let conversation = link.conversation().take();
    conversation.into_iter().for_each(|conversation| conversation.finish(now_ns()));
    shared.live().remove(&number);
}
