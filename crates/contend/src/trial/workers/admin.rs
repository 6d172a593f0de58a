//! The script worker, which works outside measurements: loads data, applies persistent settings, checks invariants,
//! measures footprints. A run has one; it keeps no connection open between scripts.
//!
//! The worker is replaced before the next script if it died, sent something unexpected, was late, or still owes an
//! answer: a late reply must never be taken for the reply to another script.

use crate::engine::Engine;
use crate::trial::stop::Cancelled;
use crate::trial::watch::janitor::Janitor;
use crate::trial::workers::process::{Event, Launch, Nothing, Worker, next};
use crate::workload::sql::asked;
use anyhow::{Context, Result, anyhow, bail};
use contend_wire::database::Database;
use contend_wire::handshake::{Facts, ToolLine, WorkerLine};
use contend_wire::literal::Value;
use contend_wire::script::{LineResult, Reply, ScriptWriter, Target};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Longest time for one script.
const SCRIPT_TIME: Duration = Duration::from_secs(600);

/// Longest time until `hello`.
const HELLO_TIME: Duration = Duration::from_secs(60);

/// The script worker.
pub struct Admin<'a> {
    launch: Launch,
    log: PathBuf,
    janitor: &'a Janitor,
    cancelled: &'a dyn Fn() -> bool,
    /// Whether it ignores cancellation.
    persists: bool,
    /// `None` after a failure, until the next script.
    running: Option<Running>,
    script_time: Duration,
    /// Facts of its `hello`.
    pub hello: Facts,
}

/// A worker and its open scripts.
struct Running {
    worker: Worker,
    events: Receiver<(u32, Event)>,
    /// Scripts sent and not yet answered.
    unanswered: usize,
}

impl<'a> Admin<'a> {
    pub fn start(launch: &Launch, log: &Path, janitor: &'a Janitor, cancelled: &'a dyn Fn() -> bool) -> Result<Self> {
        let mut admin = Self {
            launch: launch.clone(),
            log: log.to_path_buf(),
            janitor,
            cancelled,
            persists: false,
            running: None,
            script_time: SCRIPT_TIME,
            hello: vec![],
        };
        admin.ensure_running()?;
        Ok(admin)
    }

    /// Another script worker, for drivers that this one lacks.
    pub fn beside(&self, launch: &Launch) -> Result<Self> {
        Self::start(launch, &self.log.with_extension("driver.log"), self.janitor, self.cancelled)
    }

    /// Starts a worker unless one runs.
    fn ensure_running(&mut self) -> Result<()> {
        if self.running.is_some() {
            return Ok(());
        }
        let (sender, events) = channel();
        let worker = Worker::start(&self.launch, 0, &self.log, sender)?;
        self.janitor.group_lives(worker.pid());
        self.running = Some(Running { worker, events, unanswered: 0 });
        match self.next(HELLO_TIME)? {
            Event::Line(WorkerLine::Hello(facts), _) => self.hello = facts,
            other => return Err(self.give_up(&format!("sent {other:?} instead of `hello`"))),
        }
        Ok(())
    }

    /// Ends a worker that no longer keeps the protocol.
    fn give_up(&mut self, what: &str) -> anyhow::Error {
        let Some(mut running) = self.running.take() else { return anyhow!("the script worker {what}") };
        let pid = running.worker.pid();
        let ending = running.worker.ending();
        let words = running.worker.last_words();
        running.worker.kill();
        self.janitor.group_gone(pid);
        let log = if words.is_empty() { String::new() } else { format!("; its log ends: {words}") };
        anyhow!("the script worker {what} ({ending}){log}")
    }

    /// Ends a worker that still owes answers.
    fn abandon_debtor(&mut self) {
        if self.running.as_ref().is_some_and(|running| running.unanswered > 0) {
            self.abandon();
        }
    }

    fn abandon(&mut self) {
        if let Some(mut running) = self.running.take() {
            let pid = running.worker.pid();
            running.worker.kill();
            self.janitor.group_gone(pid);
        }
    }

    /// Whether the user has cancelled.
    pub fn is_cancelled(&self) -> bool {
        !self.persists && (self.cancelled)()
    }

    /// Does work that must be done even after cancellation, such as cleaning up.
    pub fn persisting<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.persists, true);
        let done = work(self);
        self.persists = before;
        done
    }

    /// Does work with another time limit for scripts.
    pub fn within<T>(&mut self, time: Duration, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.script_time, time);
        let done = work(self);
        self.script_time = before;
        done
    }

    /// Carries out a script and returns its answers.
    ///
    /// # Errors
    /// The engine's message for the statement that failed, or [`Cancelled`].
    pub fn run(&mut self, script: String) -> Result<Vec<LineResult>> {
        self.abandon_debtor();
        self.send(script)?;
        self.reply()
    }

    /// Carries out statements on one connection and returns the rows of each.
    pub fn sql<S: AsRef<str>>(
        &mut self,
        target: &Target,
        statements: impl IntoIterator<Item = S>,
    ) -> Result<Vec<Vec<Vec<Value>>>> {
        let mut script = ScriptWriter::new(target);
        for sql in statements {
            script.sql(&asked(sql.as_ref()));
        }
        let answers = self.run(script.finish())?;
        Ok(answers
            .into_iter()
            .map(|answer| match answer {
                LineResult::Rows(rows) => rows,
                LineResult::Loaded(_) => vec![],
            })
            .collect())
    }

    /// Sends a script without waiting for its answers, so that the next one can be made meanwhile.
    ///
    /// # Errors
    /// No worker can be started.
    pub fn send(&mut self, script: String) -> Result<()> {
        self.ensure_running()?;
        let bytes: Arc<[u8]> = Arc::from(script.into_bytes());
        if let Some(running) = &mut self.running {
            running.unanswered += 1;
            running.worker.send_frame(&ToolLine::Script(bytes.len()), &[bytes]);
        }
        Ok(())
    }

    /// Waits for the answers to the oldest script. After an error, later scripts get no answers.
    ///
    /// # Errors
    /// As [`Admin::run`].
    pub fn reply(&mut self) -> Result<Vec<LineResult>> {
        let answers = self.next_reply();
        if answers.is_err() {
            self.abandon_debtor();
        }
        answers
    }

    fn next_reply(&mut self) -> Result<Vec<LineResult>> {
        let event = self.next(self.script_time)?;
        if let Some(running) = &mut self.running {
            running.unanswered = running.unanswered.saturating_sub(1);
        }
        let text = match event {
            Event::Reply(text) => text,
            Event::Line(WorkerLine::Failed(message), _) => bail!("the script worker refused: {message}"),
            other => return Err(self.give_up(&format!("sent {other:?} instead of a reply"))),
        };
        let reply = match Reply::decode(&text) {
            Ok(reply) => reply,
            Err(e) => return Err(self.give_up(&format!("sent a reply that cannot be read: {e}"))),
        };
        match reply.error {
            None => Ok(reply.answers),
            Some(e) => {
                let code = format!("{} {}", e.space.word(), e.space.shown(e.code));
                // Line 0 is the connection.
                let place = if e.line == 0 { String::new() } else { format!(", line {} of the script", e.line) };
                Err(EngineSaid { message: e.message, place: Some(format!("{code}{place}")), line: e.line }.into())
            }
        }
    }

    fn next(&mut self, within: Duration) -> Result<Event> {
        let running = self.running.as_ref().context("the script worker ended without an answer")?;
        match next(&running.events, Instant::now() + within, &|| self.is_cancelled()) {
            Ok((_, Event::Broken(what))) => Err(self.give_up(&what)),
            Ok((_, event)) => Ok(event),
            Err(Nothing::Late) => {
                Err(Late(self.give_up(&format!("did not answer within {} s", within.as_secs())).to_string()).into())
            }
            Err(Nothing::Gone) => Err(self.give_up("is gone")),
            Err(Nothing::Cancelled) => {
                self.abandon();
                Err(Cancelled.into())
            }
        }
    }
}

impl Drop for Admin<'_> {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            let pid = running.worker.pid();
            running.worker.quit(Duration::from_secs(2));
            self.janitor.group_gone(pid);
        }
    }
}

/// An error that the engine itself reported, or how it ended. Other errors come from the tool, its workers or the
/// machine, and tell nothing about the engine.
#[derive(Debug, Clone)]
pub struct EngineSaid {
    pub message: String,
    /// Code and line of a script: `sqlite 1, line 3 of the script`; `None` if no script failed.
    pub place: Option<String>,
    /// Line of a script; 0 without one.
    pub line: usize,
}

impl std::fmt::Display for EngineSaid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{} ({place})", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for EngineSaid {}

/// No answer in time.
#[derive(Debug, Clone)]
pub struct Late(String);

impl std::fmt::Display for Late {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Late {}

/// The target of a script: driver, address, options and session statements.
pub fn script_target(engine: &Engine, database: &Database) -> Target {
    let (options, session) = match engine.server {
        None => (vec![("busy_timeout_ms".to_string(), "10000".to_string())], vec![]),
        Some(server) => {
            let statements = contend_sql::session(server.dialect).iter().chain(server.own_session);
            (vec![], statements.map(|sql| asked(sql)).collect())
        }
    };
    Target { driver: engine.loader.to_string(), database: database.clone(), options, session }
}
