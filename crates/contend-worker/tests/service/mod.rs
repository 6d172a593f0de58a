//! A service on a real socket that answers as a test wants, byte by byte.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// What is sent in answer to a request.
#[derive(Clone)]
pub struct Reply {
    bytes: Vec<u8>,
    slowly: usize,
    every: Duration,
    end: End,
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Keep,
    Close,
    Reset,
}

impl Reply {
    pub fn raw(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), slowly: 0, every: Duration::ZERO, end: End::Keep }
    }

    /// Ends the connection after it.
    pub fn then_close(self) -> Self {
        Self { end: End::Close, ..self }
    }

    /// Resets the connection after it.
    pub fn then_reset(self) -> Self {
        Self { end: End::Reset, ..self }
    }

    /// Sends this many more bytes, one after the other.
    pub fn then_slowly(self, slowly: usize, every: Duration) -> Self {
        Self { slowly, every, ..self }
    }
}

/// An answer that succeeds.
pub fn ok(body: &str) -> Reply {
    Reply::raw(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
}

/// A service with a thread for each connection, until it is dropped.
pub struct Service {
    pub url: String,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

struct Shared {
    over: AtomicBool,
    connections: AtomicUsize,
    asked: Mutex<Vec<String>>,
}

impl Service {
    pub fn start(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", socket.local_addr().unwrap());
        let shared = Arc::new(Shared {
            over: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            asked: Mutex::default(),
        });
        let (of_thread, answer) = (Arc::clone(&shared), Arc::new(answer));
        let listener = std::thread::spawn(move || {
            let mut threads = vec![];
            for stream in socket.incoming() {
                if of_thread.over.load(Ordering::Relaxed) {
                    break;
                }
                of_thread.connections.fetch_add(1, Ordering::Relaxed);
                let (shared, answer, stream) = (Arc::clone(&of_thread), Arc::clone(&answer), stream.unwrap());
                threads.push(std::thread::spawn(move || serve(stream, &shared, answer.as_ref())));
            }
            drop(socket);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        Self { url, shared, listener: Some(listener) }
    }

    /// Connections so far.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Requests so far, as they came.
    pub fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().unwrap().clone()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // Wakes the listener.
        drop(TcpStream::connect(self.url.trim_start_matches("http://")));
        if let Some(listener) = self.listener.take() {
            listener.join().unwrap();
        }
    }
}

fn serve(mut stream: TcpStream, shared: &Shared, answer: &dyn Fn(&str) -> Reply) {
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut arrived = vec![];
    while let Some(request) = next_request(&mut stream, &mut arrived, shared) {
        let reply = answer(&request);
        shared.asked.lock().unwrap().push(request);
        if stream.write_all(&reply.bytes).is_err() {
            return;
        }
        for _ in 0..reply.slowly {
            std::thread::sleep(reply.every);
            if stream.write_all(b"x").is_err() {
                return;
            }
        }
        match reply.end {
            End::Keep => {}
            End::Close => return,
            End::Reset => {
                // Unread data makes the kernel reset instead of close.
                let socket = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
                socket.unwrap();
                return;
            }
        }
    }
}

/// The next request with its body; none at the end of the connection or of the service.
fn next_request(stream: &mut TcpStream, arrived: &mut Vec<u8>, shared: &Shared) -> Option<String> {
    loop {
        let text = String::from_utf8_lossy(arrived).into_owned();
        if let Some(end) = text.find("\r\n\r\n") {
            let length = text[..end].lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok());
            let whole = end + 4 + length.unwrap_or(0);
            if arrived.len() >= whole {
                let request = arrived.drain(..whole).collect::<Vec<u8>>();
                return Some(String::from_utf8_lossy(&request).into_owned());
            }
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece) {
            Ok(0) => return None,
            Ok(n) => arrived.extend_from_slice(&piece[..n]),
            Err(e) if matches!(e.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                if shared.over.load(Ordering::Relaxed) {
                    return None;
                }
            }
            Err(_) => return None,
        }
    }
}
