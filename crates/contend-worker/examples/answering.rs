//! The fastest service there is: one thread, one fixed answer to whatever arrives, as many connections as come. What is
//! measured against it is the client. Prints its address and serves until its input ends.

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 22\r\n\r\n{\"id\":12345,\"value\":7";
const END: &[u8] = b"}";

fn main() -> std::io::Result<()> {
    let answer = [ANSWER, END].concat();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    println!("{}", listener.local_addr()?);
    std::thread::spawn(|| {
        let mut rest = vec![];
        let _ = std::io::stdin().read_to_end(&mut rest);
        std::process::exit(0);
    });
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &listener, EventData::new_u64(0), EventFlags::IN)?;
    let mut connections: HashMap<u64, TcpStream> = HashMap::new();
    let mut events = Vec::with_capacity(256);
    let mut arrived = [0; 16 << 10];
    loop {
        events.clear();
        epoll::wait(&epoll, spare_capacity(&mut events), None)?;
        for event in &events {
            let number = event.data.u64();
            if number == 0 {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    let number = stream.as_raw_fd() as u64;
                    epoll::add(&epoll, &stream, EventData::new_u64(number), EventFlags::IN)?;
                    connections.insert(number, stream);
                }
                continue;
            }
            let Some(mut stream) = connections.get(&number) else { continue };
            // Requests of these clients come in one piece, one at a time.
            let goes_on = match stream.read(&mut arrived) {
                Ok(0) => false,
                Ok(_) => stream.write_all(&answer).is_ok(),
                Err(e) => e.kind() == std::io::ErrorKind::WouldBlock,
            };
            if !goes_on {
                connections.remove(&number);
            }
        }
    }
}
