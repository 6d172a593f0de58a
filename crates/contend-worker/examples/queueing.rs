//! A service that is slower than any client: a few counters serve one request each at a time, for a time that is
//! given, first come, first served. So it is the service that says how many requests there are in a second, for every client.
//! Every so often one takes longer, so that the 99th percentile is another one than the median. Prints its address and
//! serves until its input ends.
//!
//!     queueing COUNTERS MICROSECONDS SLOW_MICROSECONDS SLOW_EVERY

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 22\r\n\r\n{\"id\":12345,\"value\":7}";

/// Who serves, and until when each counter is taken.
struct Counters {
    taken_until: BinaryHeap<Reverse<Instant>>,
    takes: Duration,
    slow_takes: Duration,
    slow_every: u64,
    served: u64,
}

impl Counters {
    /// When a request that arrives now is served. A counter that is late goes on at its own time, so that a machine that is
    /// busy does not change the rate.
    fn done_at(&mut self, now: Instant) -> Instant {
        self.served += 1;
        let takes = if self.served.is_multiple_of(self.slow_every) { self.slow_takes } else { self.takes };
        let Reverse(free) = self.taken_until.pop().expect("there is a counter");
        let done = free.max(now) + takes;
        self.taken_until.push(Reverse(done));
        done
    }
}

fn main() -> std::io::Result<()> {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let [at_once @ 1..=1000, takes, slow_takes, slow_every @ 1..=1_000_000] = numbers[..] else {
        eprintln!("usage: queueing COUNTERS MICROSECONDS SLOW_MICROSECONDS SLOW_EVERY");
        std::process::exit(2);
    };
    let counters = Counters {
        taken_until: (0..at_once).map(|_| Reverse(Instant::now())).collect(),
        takes: Duration::from_micros(takes),
        slow_takes: Duration::from_micros(slow_takes),
        slow_every,
        served: 0,
    };
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    println!("{}", listener.local_addr()?);
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut vec![]);
        std::process::exit(0);
    });
    serve(&listener, counters)
}

fn serve(listener: &TcpListener, mut counters: Counters) -> std::io::Result<()> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, listener, EventData::new_u64(0), EventFlags::IN)?;
    let mut connections: HashMap<u64, TcpStream> = HashMap::new();
    let mut due: BinaryHeap<Reverse<(Instant, u64)>> = BinaryHeap::new();
    let (mut newest, mut events, mut arrived) = (0, Vec::with_capacity(256), [0; 16 << 10]);
    loop {
        let wait = due.peek().map(|Reverse((at, _))| at.saturating_duration_since(Instant::now()));
        let wait = wait.map(|wait| Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() });
        poll(&mut [PollFd::new(&epoll, PollFlags::IN)], wait.as_ref())?;
        events.clear();
        epoll::wait(&epoll, spare_capacity(&mut events), Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
        for event in &events {
            let number = event.data.u64();
            if number == 0 {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    newest += 1;
                    epoll::add(&epoll, &stream, EventData::new_u64(newest), EventFlags::IN)?;
                    connections.insert(newest, stream);
                }
                continue;
            }
            let Some(stream) = connections.get_mut(&number) else { continue };
            // Requests of these clients come in one piece, one at a time.
            match stream.read(&mut arrived) {
                Ok(1..) => due.push(Reverse((counters.done_at(Instant::now()), number))),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                _ => drop(connections.remove(&number)),
            }
        }
        let now = Instant::now();
        while due.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            let Some(Reverse((_, number))) = due.pop() else { break };
            let answered = connections.get_mut(&number).is_none_or(|stream| stream.write_all(ANSWER).is_ok());
            if !answered {
                connections.remove(&number);
            }
        }
    }
}
