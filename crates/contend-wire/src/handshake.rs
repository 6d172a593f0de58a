//! The lines tool and worker exchange over the worker's standard input and output.
//!
//! Words and fields are separated by tabs; fields of the form `key=value` carry facts. A line that
//! announces bytes (`plan 123`) has a space instead, and exactly that many bytes follow it.
//!
//! | tool says | worker answers |
//! |---|---|
//! | (starts the worker) | `hello` with versions and capabilities |
//! | `script N` + bytes | `reply N` + bytes, or `failed` |
//! | `plan N` + bytes | one `session` line per connection, then `ready`; or `failed` |
//! | `clock` | `clock` with its reading |
//! | `start T` | `progress` lines, at last `done`, `samples N` + bytes (repeated), `end` |
//! | `stop` | ends the window early, then as after `start` |
//! | `quit`, or closes the pipe | leaves |
//!
//! A worker started to serve answers a plan with its `session` lines and `serving`, and `stop` with `done`.

use crate::FormatError;
use crate::literal::{escape, unescape};
use std::fmt::Write as _;

/// Version of these lines, reported in `hello` as `protocol`.
pub const PROTOCOL_VERSION: u32 = 1;

/// Facts as pairs, in the order given.
pub type Facts = Vec<(String, String)>;

/// What the tool says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolLine {
    /// A plan of this many bytes follows.
    Plan(usize),
    /// A script of this many bytes follows.
    Script(usize),
    /// Tell your clock.
    Clock,
    /// Start at this reading of your own clock, in nanoseconds.
    Start(u64),
    /// End the window now.
    Stop,
    /// Leave.
    Quit,
}

/// What a worker says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerLine {
    /// Versions and capabilities.
    Hello(Facts),
    /// Effective settings of one connection; has `client`.
    Session(Facts),
    /// Reading of the monotonic clock, nanoseconds.
    Clock(u64),
    /// The plan is parsed, connections are open, statements prepared.
    Ready,
    /// Requests are answered at this address, in place of [`WorkerLine::Ready`].
    Serving(String),
    /// Signs of life: `elapsed_ns`, `operations`, `failed`.
    Progress(Facts),
    /// The window is over; totals for cross-checking the samples.
    Done(Facts),
    /// This many bytes of samples follow.
    Samples(usize),
    /// No more samples follow.
    End,
    /// A script's reply of this many bytes follows.
    Reply(usize),
    /// The request could not be carried out, in words.
    Failed(String),
}

fn facts_into(out: &mut String, facts: &Facts) {
    for (key, value) in facts {
        debug_assert!(!key.contains('='), "a fact's name has no `=`: {key}");
        let _ = write!(out, "\t{}={}", escape(key), escape(value));
    }
}

fn read_facts(rest: &str) -> Result<Facts, String> {
    if rest.is_empty() {
        return Ok(vec![]);
    }
    rest.split('\t')
        .map(|field| {
            let (key, value) = field
                .split_once('=')
                .ok_or_else(|| format!("`{}` is not of the form key=value", crate::crop(field)))?;
            Ok((unescape(key)?, unescape(value)?))
        })
        .collect()
}

/// The value of a fact.
pub fn fact<'f>(facts: &'f Facts, key: &str) -> Option<&'f str> {
    facts.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
}

impl ToolLine {
    /// The line, with its line end.
    pub fn encode(&self) -> String {
        match self {
            ToolLine::Plan(n) => format!("plan {n}\n"),
            ToolLine::Script(n) => format!("script {n}\n"),
            ToolLine::Clock => "clock\n".to_string(),
            ToolLine::Start(ns) => format!("start\t{ns}\n"),
            ToolLine::Stop => "stop\n".to_string(),
            ToolLine::Quit => "quit\n".to_string(),
        }
    }

    /// Reads a line without its line end.
    ///
    /// # Errors
    /// What is not of the form.
    pub fn decode(line: &str) -> Result<Self, FormatError> {
        let bad = || FormatError::new("handshake", 0, format!("`{}` is not a line of the tool", crate::crop(line)));
        let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        match (word, rest.is_empty()) {
            ("plan", false) => rest.parse().map(ToolLine::Plan).map_err(|_| bad()),
            ("script", false) => rest.parse().map(ToolLine::Script).map_err(|_| bad()),
            ("start", false) => rest.parse().map(ToolLine::Start).map_err(|_| bad()),
            ("clock", true) => Ok(ToolLine::Clock),
            ("stop", true) => Ok(ToolLine::Stop),
            ("quit", true) => Ok(ToolLine::Quit),
            _ => Err(bad()),
        }
    }
}

impl WorkerLine {
    /// The line, with its line end.
    pub fn encode(&self) -> String {
        let mut out = String::new();
        let facts_line = |out: &mut String, word: &str, facts: &Facts| {
            out.push_str(word);
            facts_into(out, facts);
        };
        match self {
            WorkerLine::Hello(facts) => facts_line(&mut out, "hello", facts),
            WorkerLine::Session(facts) => facts_line(&mut out, "session", facts),
            WorkerLine::Progress(facts) => facts_line(&mut out, "progress", facts),
            WorkerLine::Done(facts) => facts_line(&mut out, "done", facts),
            WorkerLine::Clock(ns) => {
                let _ = write!(out, "clock\t{ns}");
            }
            WorkerLine::Ready => out.push_str("ready"),
            WorkerLine::Serving(address) => {
                let _ = write!(out, "serving\t{}", escape(address));
            }
            WorkerLine::End => out.push_str("end"),
            WorkerLine::Samples(n) => {
                let _ = write!(out, "samples {n}");
            }
            WorkerLine::Reply(n) => {
                let _ = write!(out, "reply {n}");
            }
            WorkerLine::Failed(message) => {
                let _ = write!(out, "failed\t{}", escape(message));
            }
        }
        out.push('\n');
        out
    }

    /// Reads a line without its line end.
    ///
    /// # Errors
    /// What is not of the form.
    pub fn decode(line: &str) -> Result<Self, FormatError> {
        let fail = |m: String| FormatError::new("handshake", 0, m);
        let bad = || fail(format!("`{}` is not a line of a worker", crate::crop(line)));
        let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        match word {
            "hello" => read_facts(rest).map(WorkerLine::Hello).map_err(fail),
            "session" => read_facts(rest).map(WorkerLine::Session).map_err(fail),
            "progress" => read_facts(rest).map(WorkerLine::Progress).map_err(fail),
            "done" => read_facts(rest).map(WorkerLine::Done).map_err(fail),
            "clock" => rest.parse().map(WorkerLine::Clock).map_err(|_| bad()),
            "ready" if rest.is_empty() => Ok(WorkerLine::Ready),
            "serving" if !rest.is_empty() => unescape(rest).map(WorkerLine::Serving).map_err(fail),
            "end" if rest.is_empty() => Ok(WorkerLine::End),
            "samples" => rest.parse().map(WorkerLine::Samples).map_err(|_| bad()),
            "reply" => rest.parse().map(WorkerLine::Reply).map_err(|_| bad()),
            "failed" => unescape(rest).map(WorkerLine::Failed).map_err(fail),
            _ => Err(bad()),
        }
    }
}
