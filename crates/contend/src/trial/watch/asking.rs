//! Reads a server's count of commits while clients work, at random moments and over one connection.

use crate::check::commits::Reading;
use crate::trial::clock::monotonic_ns;
use crate::trial::watch::machine::wall_ahead_ns;
use crate::trial::watch::pauses::Pauses;
use anyhow::{Context, Result, bail};
use contend_wire::literal::Value;
use contend_wire::script::Target;
use contend_worker::script::Connection;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Mean pause between two readings. With a quarter of it readings took 3 to 6 % of a server's throughput.
const EVERY: Duration = Duration::from_millis(100);

/// How many times as long as a reading takes the mean pause is at least: readings are at work for about 1/400 of the time at most.
const PART: u32 = 400;

/// Longest time for the first answer, and for the last one.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Two comparisons of the wall clock with the monotonic clock that differ by more than this show that the wall clock was set
/// between them.
const CLOCKS_APART_NS: i64 = 100_000;

/// A thread that reads a server's count. It ends when this is dropped, once the server has answered.
pub struct Asking {
    at_once: Sender<()>,
    readings: Receiver<Result<Reading>>,
}

impl Asking {
    /// Begins to read.
    ///
    /// # Errors
    /// The server refuses, or does not answer.
    pub fn begin(target: Target, query: &'static str) -> Result<Self> {
        let ((at_once, asked), (sender, readings)) = (channel(), channel());
        std::thread::spawn(move || {
            if let Err(e) = ask(&target, query, &asked, &sender) {
                // Without a receiver the trial is over.
                let _ = sender.send(Err(e));
            }
        });
        readings.recv_timeout(ANSWER_TIME).context("no answer")??;
        Ok(Self { at_once, readings })
    }

    /// Requests a reading now, and does not wait for it.
    pub fn now(&self) {
        // A thread that has ended has sent its error.
        let _ = self.at_once.send(());
    }

    /// All readings so far, of which the last one begins now; with the error that ended them early.
    pub fn end(self) -> (Vec<Reading>, Option<anyhow::Error>) {
        let (now_ns, deadline) = (monotonic_ns(), Instant::now() + ANSWER_TIME);
        self.now();
        let mut readings: Vec<Reading> = vec![];
        while readings.last().is_none_or(|last| last.between_ns.0 < now_ns) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.readings.recv_timeout(left).context("no answer") {
                Ok(Ok(reading)) => readings.push(reading),
                Ok(Err(e)) | Err(e) => return (readings, Some(e)),
            }
        }
        (readings, None)
    }
}

fn ask(target: &Target, query: &str, asked: &Receiver<()>, sender: &Sender<Result<Reading>>) -> Result<()> {
    let (mut connection, mut pauses) = (Connection::open(target)?, Pauses::new()?);
    let (first, _) = read(&mut connection, query)?;
    let mut fastest = ANSWER_TIME;
    loop {
        let begun = Instant::now();
        let (count, between_ns) = read(&mut connection, query)?;
        fastest = fastest.min(begun.elapsed());
        let commits = count.checked_sub(first).context("the count went back")?;
        if sender.send(Ok(Reading { commits, between_ns })).is_err() {
            return Ok(());
        }
        match asked.recv_timeout(pauses.next(EVERY.max(fastest * PART))) {
            Ok(()) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// The count, and the time before and after it was taken.
fn read(connection: &mut Connection, query: &str) -> Result<(u64, (u64, u64))> {
    let (ahead, before_ns) = (wall_ahead_ns(), monotonic_ns());
    let rows = connection.rows(query)?;
    let (after_ns, ahead_then) = (monotonic_ns(), wall_ahead_ns());
    let ahead_ns = (ahead.0.min(ahead_then.0), ahead.1.max(ahead_then.1));
    let between_ns = match rows.first().map(Vec::as_slice) {
        Some([_, Value::Integer(from_us), Value::Integer(to_us)]) => {
            narrowed((before_ns, after_ns), (from_us * 1_000, (to_us + 1) * 1_000), ahead_ns)
        }
        _ => (before_ns, after_ns),
    };
    match rows.first().and_then(|row| row.first()) {
        Some(Value::Integer(count)) => Ok((u64::try_from(*count)?, between_ns)),
        other => bail!("{other:?} is no count"),
    }
}

/// The part of a time in which the server says, on the wall clock that it shares with the tool, that it took the count; all of
/// it if that clock was set meanwhile or does not fit.
fn narrowed(between_ns: (u64, u64), server_ns: (i64, i64), ahead_ns: (i64, i64)) -> (u64, u64) {
    let on_monotonic = |wall_ns: i64, ahead_ns: i64| u64::try_from(wall_ns.saturating_sub(ahead_ns)).unwrap_or(0);
    let (from, to) = (on_monotonic(server_ns.0, ahead_ns.1), on_monotonic(server_ns.1, ahead_ns.0));
    let fits = ahead_ns.1 - ahead_ns.0 < CLOCKS_APART_NS && from < between_ns.1 && between_ns.0 < to && from <= to;
    if fits { (from.max(between_ns.0), to.min(between_ns.1)) } else { between_ns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::find;
    use crate::trial::workers::admin::script_target;
    use contend_wire::database::Database;

    fn database() -> (tempfile::TempDir, Target) {
        let dir = tempfile::tempdir().expect("a directory");
        let file = Database::File(dir.path().join("a.db").display().to_string());
        (dir, script_target(find("sqlite").expect("SQLite"), &file))
    }

    #[test]
    fn a_count_is_read_at_random_moments_and_in_the_end() {
        let (_dir, target) = database();
        let asking = Asking::begin(target, "SELECT 7").expect("an answer");
        std::thread::sleep(10 * EVERY);
        let now_ns = monotonic_ns();
        let (readings, error) = asking.end();
        assert!(error.is_none() && readings.len() > 4, "{readings:?} {error:?}");
        assert!(readings.last().is_some_and(|last| last.between_ns.0 >= now_ns), "{readings:?}");
        assert!(readings.iter().all(|reading| reading.commits == 0), "since the start");
        let begun: Vec<u64> = readings.iter().map(|reading| reading.between_ns.0).collect();
        let pauses: Vec<u64> = begun.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(pauses.windows(2).any(|two| two[0].abs_diff(two[1]) > 1_000_000), "{pauses:?}");
    }

    #[test]
    fn the_time_of_a_reading_is_narrowed_by_the_servers_clock() {
        let ahead = 1_000_000_000_000;
        let narrowed = |server: (i64, i64), ahead| narrowed((1_000_000, 2_000_000), server, ahead);
        let server = (ahead + 1_400_000, ahead + 1_500_000);
        assert_eq!(narrowed(server, (ahead, ahead)), (1_400_000, 1_500_000));
        assert_eq!(narrowed(server, (ahead - 10, ahead + 20)), (1_399_980, 1_500_010), "as far as it is known");
        assert_eq!(narrowed((ahead, ahead + 9_000_000), (ahead, ahead)), (1_000_000, 2_000_000));
        for (server, ahead) in [
            ((ahead + 2_400_000, ahead + 2_500_000), (ahead, ahead)),
            ((ahead + 100_000, ahead + 200_000), (ahead, ahead)),
            (server, (ahead, ahead + 5_000_000)),
            ((0, 0), (ahead, ahead)),
        ] {
            assert_eq!(narrowed(server, ahead), (1_000_000, 2_000_000), "{server:?} {ahead:?}");
        }
    }

    #[test]
    fn a_count_that_can_no_longer_be_read_is_an_error() {
        let (dir, target) = database();
        let database = rusqlite::Connection::open(dir.path().join("a.db")).expect("SQLite");
        database.execute_batch("CREATE TABLE t (n); INSERT INTO t VALUES (3)").expect("a table");
        let asking = Asking::begin(target.clone(), "SELECT n FROM t").expect("an answer");
        database.execute_batch("DROP TABLE t").expect("gone");
        assert!(asking.end().1.is_some_and(|e| e.to_string().contains("no such table")));
        assert!(Asking::begin(target, "SELECT n FROM t").is_err(), "nor at the start");
    }
}
