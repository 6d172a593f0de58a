//! The worker that serves a contender's transactions over HTTP: starts it with the plan's head, watches it, stops it,
//! and collects its report.

use crate::outcome::reason::Invalid;
use crate::trial::watch::janitor::Janitor;
use crate::trial::workers::crew::{Failure, hello_problem, not_started};
use crate::trial::workers::process::{Event, Launch, Nothing, Worker, next};
use crate::trial::workers::processes::Supervision;
use crate::trial::workers::refusal::Whose;
use contend_wire::handshake::{Facts, ToolLine, WorkerLine};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The argument with which a worker program serves.
const VERB: &str = "serve";
/// Its log, in the trial's directory.
const LOG: &str = "serving.log";
/// Longest time from the end of the drain until its `done`.
const STOP_TIME: Duration = Duration::from_secs(10);
/// Longest time for closing its connections: it may write a log back.
const CLOSE_TIME: Duration = Duration::from_secs(30);

/// How to start a worker program that serves.
pub fn serving(launch: &Launch) -> Launch {
    let args = launch.args.iter().cloned().chain([VERB.to_string()]).collect();
    Launch { program: launch.program.clone(), args }
}

/// A running serving worker.
pub struct Serving<'a> {
    worker: Worker,
    events: Receiver<(u32, Event)>,
    janitor: &'a Janitor,
    cancelled: &'a dyn Fn() -> bool,
    pub url: String,
    /// The secret that every request must carry.
    pub secret: Option<String>,
    served: Served,
}

/// Report of a serving worker.
#[derive(Debug, Clone, Default)]
pub struct Served {
    pub hello: Facts,
    /// Settings of its connections.
    pub sessions: Vec<Facts>,
    /// Facts of its `done`; empty if it had died.
    pub done: Facts,
    /// How it ended, if it ended early.
    pub death: Option<String>,
}

impl<'a> Serving<'a> {
    /// Starts a worker and waits until it serves the plan.
    pub fn start(
        driver: &str,
        launch: &Launch,
        plan: String,
        logs: &Path,
        with: &Supervision<'a>,
    ) -> Result<Self, Failure> {
        let Supervision { janitor, deadlines, cancelled } = *with;
        let (sender, events) = channel();
        let whose = Whose::Serving(driver.to_string());
        let worker = Worker::start(&serving(launch), 0, &logs.join(LOG), sender).map_err(|e| not_started(&whose, e))?;
        janitor.group_lives(worker.pid());
        let served = Served::default();
        let mut serving = Self { worker, events, janitor, cancelled, url: String::new(), secret: None, served };
        serving.worker.send_frame(&ToolLine::Plan(plan.len()), &[Arc::from(plan.into_bytes())]);
        let deadline = Instant::now() + deadlines.ready;
        while serving.url.is_empty() {
            match serving.next(deadline, Invalid::NotReady, "did not send `serving` in time")? {
                WorkerLine::Hello(facts) => {
                    if let Some(what) = hello_problem(&facts) {
                        return Err(serving.invalid(Invalid::Protocol, &what));
                    }
                    serving.served.hello = facts;
                }
                WorkerLine::Session(facts) => serving.served.sessions.push(facts),
                WorkerLine::Serving(url) => serving.url = url,
                WorkerLine::Failed(why) => {
                    return Err(Failure::Invalid(whose.could_not_begin(0, &why, &serving.worker.end_of_log())));
                }
                line => return Err(serving.unexpected(&line)),
            }
        }
        Ok(serving)
    }

    pub fn pid(&self) -> u32 {
        self.worker.pid()
    }

    /// Kills it as a crash would.
    pub fn kill(&mut self) {
        self.worker.kill();
    }

    /// How it ended; `None` if it runs.
    pub fn death(&mut self) -> Option<String> {
        let ending = self.worker.death()?;
        Some(format!("the worker that served ended ({ending}){}", self.worker.end_of_log()))
    }

    /// Lets it answer open requests, report, and close its connections.
    pub fn end(mut self, drain_ns: u64) -> Result<Served, Failure> {
        self.served.death = self.death();
        if self.served.death.is_none() {
            self.worker.tell(&ToolLine::Stop);
            let deadline = Instant::now() + Duration::from_nanos(drain_ns) + STOP_TIME;
            match self.next(deadline, Invalid::Stalled, "did not stop in time")? {
                WorkerLine::Done(facts) => self.served.done = facts,
                line => return Err(self.unexpected(&line)),
            }
            self.worker.quit(CLOSE_TIME);
        }
        Ok(std::mem::take(&mut self.served))
    }

    fn next(&mut self, deadline: Instant, late: Invalid, what: &str) -> Result<WorkerLine, Failure> {
        match next(&self.events, deadline, self.cancelled) {
            Ok((_, Event::Line(line, _))) => Ok(line),
            Ok((_, Event::Broken(what))) => {
                let ending = self.worker.ending();
                let died = ending != "still running";
                let kind = if died { Invalid::ServerDied } else { Invalid::Protocol };
                Err(self.invalid(kind, &format!("{what} ({ending})")))
            }
            Ok((_, Event::Samples(_) | Event::Reply(_))) => {
                Err(self.invalid(Invalid::Protocol, "sent a frame that was not requested"))
            }
            Err(Nothing::Cancelled) => Err(Failure::Cancelled),
            Err(Nothing::Late | Nothing::Gone) => Err(self.invalid(late, what)),
        }
    }

    fn unexpected(&self, line: &WorkerLine) -> Failure {
        self.invalid(Invalid::Protocol, &format!("sent `{}` out of turn", line.encode().trim_end()))
    }

    fn invalid(&self, kind: Invalid, what: &str) -> Failure {
        Failure::Invalid(kind.because(format!("the worker that serves {what}{}", self.worker.end_of_log())))
    }
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        let pid = self.worker.pid();
        self.worker.kill();
        self.janitor.group_gone(pid);
    }
}
