//! A worker that carries out scripts outside any measurement: loads data, applies persistent settings,
//! checks invariants, measures footprints. One for a whole run; it keeps no connection open in between.

use crate::trial::janitor::Janitor;
use crate::trial::process::{Event, Launch, Nothing, Worker, next};
use anyhow::{Context, Result, anyhow, bail};
use contend_wire::handshake::{Facts, ToolLine, WorkerLine};
use contend_wire::literal::Value;
use contend_wire::script::{Answer, Reply, ScriptWriter, Target};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Longest a single script may take.
const SCRIPT_TIME: Duration = Duration::from_secs(600);

/// The script worker.
pub struct Admin<'a> {
    worker: Worker,
    events: Receiver<(u32, Event)>,
    janitor: &'a Janitor,
    cancelled: &'a dyn Fn() -> bool,
    /// What it said of itself.
    pub hello: Facts,
}

impl<'a> Admin<'a> {
    pub fn start(launch: &Launch, log: &Path, janitor: &'a Janitor, cancelled: &'a dyn Fn() -> bool) -> Result<Self> {
        let (sender, events) = channel();
        let worker = Worker::start(launch, 0, log, sender)?;
        janitor.group_lives(worker.pid());
        let mut admin = Self { worker, events, janitor, cancelled, hello: vec![] };
        match admin.next(Duration::from_secs(15))? {
            Event::Line(WorkerLine::Hello(facts), _) => admin.hello = facts,
            other => bail!("the script worker said {other:?} instead of `hello`"),
        }
        Ok(admin)
    }

    /// Carries out a finished script; its answers.
    ///
    /// # Errors
    /// The engine's own words for the statement that failed, or [`Cancelled`].
    pub fn run(&mut self, script: String) -> Result<Vec<Answer>> {
        self.send(script);
        self.reply()
    }

    /// Carries out statements on one connection; the rows of each.
    pub fn sql<S: AsRef<str>>(
        &mut self,
        target: &Target,
        statements: impl IntoIterator<Item = S>,
    ) -> Result<Vec<Vec<Vec<Value>>>> {
        let mut script = ScriptWriter::new(target);
        for sql in statements {
            script.sql(sql.as_ref());
        }
        let answers = self.run(script.finish())?;
        Ok(answers
            .into_iter()
            .map(|answer| match answer {
                Answer::Rows(rows) => rows,
                Answer::Loaded(_) => vec![],
            })
            .collect())
    }

    /// Sends a script without waiting, so that the next one can be made meanwhile.
    pub fn send(&self, script: String) {
        let bytes: Arc<[u8]> = Arc::from(script.into_bytes());
        self.worker.send_frame(&ToolLine::Script(bytes.len()), &[bytes]);
    }

    /// Waits for the answers to the oldest script sent.
    pub fn reply(&mut self) -> Result<Vec<Answer>> {
        let text = match self.next(SCRIPT_TIME)? {
            Event::Reply(text) => text,
            Event::Line(WorkerLine::Failed(message), _) => bail!("{message}"),
            Event::Broken(what) => {
                bail!("the script worker {what} ({}); its log ends: {}", self.worker.ending(), self.worker.last_words())
            }
            other => bail!("the script worker said {other:?} instead of a reply"),
        };
        let reply = Reply::decode(&text).context("the reply of the script worker")?;
        match reply.error {
            None => Ok(reply.answers),
            Some(e) => Err(anyhow!("{} ({} {}, line {} of the script)", e.message, e.space.word(), e.code, e.line)),
        }
    }

    fn next(&mut self, within: Duration) -> Result<Event> {
        match next(&self.events, Instant::now() + within, self.cancelled) {
            Ok((_, event)) => Ok(event),
            Err(Nothing::Late) => bail!("the script worker gave no answer within {} s", within.as_secs()),
            Err(Nothing::Cancelled) => Err(Cancelled.into()),
        }
    }
}

impl Drop for Admin<'_> {
    fn drop(&mut self) {
        let pid = self.worker.pid();
        self.worker.quit(Duration::from_secs(2));
        self.janitor.group_gone(pid);
    }
}

/// The user wants to stop.
#[derive(Debug, Clone, Copy)]
pub struct Cancelled;

impl std::fmt::Display for Cancelled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("stopped")
    }
}

impl std::error::Error for Cancelled {}
