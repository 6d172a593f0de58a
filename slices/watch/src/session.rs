//! Runs a watch: a live screen, or a line per second. The same for files and servers.

use crate::finding::{Finding, Kind};
use crate::lines;
use crate::process::UNREAD;
use crate::record::{Recorder, ServerRecorder};
use crate::screen::{Choice, Shown, ShownServer, draw, draw_server};
use crate::server::{self, Server};
use crate::view::{DatabaseView, Rates, view};
use crate::watch::{POLL, Watch, now_ns};
use crate::words::Words;
use anyhow::{Context, Result};
use contend::cli::print_on;
use ratatui::Frame;
use ratatui::crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers, poll, read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A second, the time between two lines.
const SECOND_NS: u64 = 1_000_000_000;
/// Columns of the strip, and the time of each.
const STRIP: (usize, u64) = (78, 100_000_000);
/// Widest line of text: that of the terminal, if there is one.
fn width() -> usize {
    contend::cli::style().width
}

/// Draws the state of one moment.
type Drawing = Box<dyn Fn(&mut Frame<'_>, &Choice)>;

/// A target that is watched and shown.
pub trait Live {
    /// Adds the events since the last call; with `all`, also the newest ones, at the end.
    ///
    /// # Errors
    /// The source cannot be read.
    fn poll(&mut self, all: bool) -> Result<()>;
    /// Whether there will be no more events.
    fn is_over(&self) -> bool;
    /// Number of databases to choose from.
    fn databases(&self) -> usize;
    /// The current state as lines of text that begin with its time.
    fn lines(&self, at: &str) -> Vec<String>;
    /// The current state as a line of JSON.
    fn json(&self) -> String;
    /// Findings so far, each with a constant key.
    fn found(&self) -> Vec<(String, Words)>;
    /// The summary at the end.
    fn summary(&self) -> String;
    /// Writes the end of the record, if there is one; returns its files.
    ///
    /// # Errors
    /// The disk is full.
    fn end_record(&mut self) -> Result<Vec<PathBuf>>;
    /// A function that draws the current state.
    fn drawing(&self, seconds: u64) -> Drawing;
}

/// Findings without their keys.
fn words_of(found: Vec<(String, Words)>) -> Vec<Words> {
    found.into_iter().map(|(_, words)| words).collect()
}

/// Watched SQLite databases.
pub struct Files {
    pub watch: Watch,
    rates: Rates,
    record: Option<Recorder>,
}

impl Files {
    pub fn new(watch: Watch, record: Option<Recorder>) -> Files {
        Files { watch, rates: Rates::default(), record }
    }

    /// The current state.
    pub fn view(&self) -> Vec<DatabaseView> {
        view(&self.watch, &self.rates, STRIP.0, STRIP.1)
    }
}

impl Live for Files {
    fn poll(&mut self, all: bool) -> Result<()> {
        self.watch.poll(all)?;
        self.rates.look(&self.watch.timeline);
        let Files { watch, rates, record, .. } = self;
        record.as_mut().map_or(Ok(()), |record| record.follow(watch, || view(watch, rates, STRIP.0, STRIP.1)))
    }

    fn end_record(&mut self) -> Result<Vec<PathBuf>> {
        let view = self.view();
        self.record.take().map_or(Ok(vec![]), |record| record.end(&self.watch, &view))
    }

    fn is_over(&self) -> bool {
        false
    }

    fn databases(&self) -> usize {
        self.watch.databases().len()
    }

    fn lines(&self, at: &str) -> Vec<String> {
        self.view().iter().map(|database| lines::line(at, database, self.watch.depth.sees_refusals())).collect()
    }

    fn json(&self) -> String {
        lines::json_line(&self.watch, &self.view(), &self.watch.findings())
    }

    fn found(&self) -> Vec<(String, Words)> {
        let findings = self.watch.findings();
        let key = |finding: &Finding| {
            // The worst of several processes may be another one from second to second.
            let who = match &finding.case.kind {
                Kind::OpenCloseChurn { .. } | Kind::LogNeverRestarts { .. } => None,
                // One that lasts is not hidden behind a past one of the same program.
                Kind::IdleInTransaction { .. } | Kind::ReaderPinsLog { .. } if finding.further.is_none() => {
                    Some(finding.pid.to_string())
                }
                _ => {
                    let program = self.watch.program(finding.pid);
                    let is_one = finding.further.is_some() || program.as_deref() != Some(UNREAD);
                    program.filter(|_| is_one).or_else(|| Some(finding.pid.to_string()))
                }
            };
            let who = who.unwrap_or_default();
            format!("{} {who} {:?}", finding.database, std::mem::discriminant(&finding.case.kind))
        };
        findings.iter().map(|finding| (key(finding), self.watch.words(finding))).collect()
    }

    fn summary(&self) -> String {
        lines::summary(&self.watch, &self.view(), width())
    }

    fn drawing(&self, seconds: u64) -> Drawing {
        let (databases, missing, depth) = (self.view(), self.watch.missing(), self.watch.depth);
        let command = self.watch.no_deeper.as_ref().and_then(|limit| limit.command.clone());
        let findings = words_of(self.found());
        Box::new(move |frame, choice| {
            let colour = contend::cli::style().is_coloured;
            let (databases, findings, missing) = (&databases[..], &findings[..], &missing[..]);
            let command = command.as_deref();
            draw(frame, &Shown { databases, findings, seconds, depth, missing, command, colour }, choice);
        })
    }
}

/// A watched server, and its record.
pub struct Served {
    pub server: Server,
    record: Option<ServerRecorder>,
}

impl Served {
    pub fn new(server: Server, record: Option<ServerRecorder>) -> Served {
        Served { server, record }
    }
}

impl Live for Served {
    fn poll(&mut self, _: bool) -> Result<()> {
        self.server.poll();
        self.record.as_mut().map_or(Ok(()), |record| record.follow(&self.server))
    }

    fn end_record(&mut self) -> Result<Vec<PathBuf>> {
        self.record.take().map_or(Ok(vec![]), |record| record.end(&self.server))
    }

    fn is_over(&self) -> bool {
        self.server.gone.is_some()
    }

    fn databases(&self) -> usize {
        1
    }

    fn lines(&self, at: &str) -> Vec<String> {
        vec![server::line(at, &self.server)]
    }

    fn json(&self) -> String {
        server::json_line(&self.server)
    }

    fn found(&self) -> Vec<(String, Words)> {
        server::found(&self.server)
    }

    fn summary(&self) -> String {
        server::summary(&self.server, width())
    }

    fn drawing(&self, seconds: u64) -> Drawing {
        let shown = ShownServer {
            facts: server::line("", &self.server).trim_start().to_string(),
            tree: server::tree(&self.server, 200),
            findings: words_of(self.found()),
            missing: self.server.missing(),
            seconds,
        };
        Box::new(move |frame, choice| draw_server(frame, &shown, choice))
    }
}

/// Conditions that end a watch.
pub struct Until<'s> {
    /// Time of the end, if one is set.
    pub end_ns: Option<u64>,
    /// Set when the user stops the watch.
    pub stop: &'s AtomicBool,
}

impl Until<'_> {
    fn is_over(&self, live: &dyn Live) -> bool {
        live.is_over() || self.stop.load(Ordering::Relaxed) || self.end_ns.is_some_and(|end_ns| now_ns() >= end_ns)
    }
}

/// Prints a line per second, with JSON also one at the end, and each finding when it first appears.
///
/// # Errors
/// The source cannot be read, or the output cannot be written.
pub fn in_lines(live: &mut dyn Live, json: bool, until: &Until<'_>) -> Result<()> {
    let began_ns = now_ns();
    let mut next_ns = began_ns + SECOND_NS;
    let mut said: Vec<String> = vec![];
    while !until.is_over(live) {
        std::thread::sleep(POLL);
        live.poll(false)?;
        if now_ns() < next_ns {
            continue;
        }
        next_ns += SECOND_NS;
        if json {
            print_on(&(live.json() + "\n"))?;
            continue;
        }
        for line in live.lines(&format!("{:>4} s", (now_ns() - began_ns) / SECOND_NS)) {
            print_on(&(line + "\n"))?;
        }
        for (key, words) in live.found() {
            if !said.contains(&key) {
                print_on(&lines::finding(&words, width()))?;
                said.push(key);
            }
        }
    }
    live.poll(true)?;
    if json { print_on(&(live.json() + "\n")) } else { Ok(()) }
}

/// Shows a live screen.
///
/// # Errors
/// The source cannot be read, or the terminal cannot be used.
pub fn on_screen(live: &mut dyn Live, until: &Until<'_>) -> Result<()> {
    let mut terminal = ratatui::try_init().context("the terminal cannot be used")?;
    let result = draw_until_over(live, &mut terminal, until);
    ratatui::restore();
    result?;
    live.poll(true)
}

fn draw_until_over(live: &mut dyn Live, terminal: &mut ratatui::DefaultTerminal, until: &Until<'_>) -> Result<()> {
    /// Interval between two frames.
    const DRAW_NS: u64 = 200_000_000;
    let began_ns = now_ns();
    let (mut choice, mut next_ns, mut held_still) = (Choice::default(), 0, None);
    while !until.is_over(live) && !choice.quit {
        live.poll(false)?;
        while poll(Duration::ZERO)? {
            if let Event::Key(key) = read()?
                && key.kind == KeyEventKind::Press
            {
                match key.code {
                    // The terminal does not make a signal of it while the screen is shown.
                    KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => choice.quit = true,
                    _ if key.modifiers.contains(KeyModifiers::CONTROL) => {}
                    code => choice.key(code, live.databases()),
                }
                next_ns = 0;
            }
        }
        if now_ns() >= next_ns {
            next_ns = now_ns() + DRAW_NS;
            if !choice.paused || held_still.is_none() {
                held_still = Some(live.drawing((now_ns() - began_ns) / SECOND_NS));
            }
            if let Some(drawing) = &held_still {
                terminal.draw(|frame| drawing(frame, &choice))?;
            }
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}
