//! Tests whether workers start, for `contend doctor`.

use crate::engine::{Driver, app};
use crate::trial::workers::process::{Event, Launch, Worker};
use crate::trial::workers::serving;
use anyhow::{Result, bail};
use contend_wire::handshake::{Facts, WorkerLine};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Longest time until `hello`; allows for a virtual machine that starts on a slow machine.
const HELLO_TIME: Duration = Duration::from_secs(20);

/// Starts the workers of all drivers at once, waits for each `hello`, and ends them.
pub fn all(drivers: &[&'static Driver]) -> Vec<Result<Facts>> {
    std::thread::scope(|scope| {
        let started: Vec<_> = drivers.iter().map(|driver| scope.spawn(|| hello(driver))).collect();
        started.into_iter().map(|probe| probe.join().expect("a probe does not panic")).collect()
    })
}

fn hello(driver: &Driver) -> Result<Facts> {
    let log = tempfile::NamedTempFile::new()?;
    let (sender, events) = channel();
    let launch = Launch::of(driver)?;
    // An app only serves.
    let launch = if app::is_app(driver.name) { serving::serving(&launch) } else { launch };
    let mut worker = Worker::start(&launch, 0, log.path(), sender)?;
    match events.recv_timeout(HELLO_TIME) {
        Ok((_, Event::Line(WorkerLine::Hello(facts), _))) => Ok(facts),
        Err(_) => bail!("it sends nothing"),
        Ok((_, event)) => {
            let ending = worker.ending();
            let words = worker.last_words();
            match (words.is_empty(), event) {
                (false, _) => bail!("it does not start ({ending}): {words}"),
                (true, Event::Broken(what)) => bail!("it {what} ({ending})"),
                (true, other) => bail!("it sends {other:?} instead of `hello`"),
            }
        }
    }
}
