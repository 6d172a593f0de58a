//! `contend watch`: arguments, the loop, and what is printed.

use crate::finding::Finding;
use crate::janitor::Janitor;
use crate::process::databases_of;
use crate::screen::{Choice, Shown, draw};
use crate::target::Database;
use crate::view::{DatabaseView, Rates, view};
use crate::watch::{Depth, KEPT_NS, POLL, Watch, now_ns};
use crate::words::{Words, words};
use crate::{lines, record};
use anyhow::{Context, Result, bail, ensure};
use clap::{ArgMatches, FromArgMatches, Parser, ValueHint};
use contend::cli::{OK, print, stop_on_signals};
use contend::report::text::Colour;
use contend::slice::Verb;
use contend::units::duration_ns;
use ratatui::crossterm::event::{Event, KeyEventKind, poll, read};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Show who holds a database's lock, since when, in which statement, and who waits
#[derive(Parser)]
#[command(after_help = "Examples:
  contend watch app.db                      a live screen; `q` ends it with a summary
  contend watch --pid 4711                  the databases that this process has open
  contend watch app.db --for 60s | tee log  a line each second, then findings
  contend watch app.db --for 60s --out DIR  keep what was seen, with a page to read

Nothing is attached to the watched programs, nothing is written to the database, and no lock is taken on it.
Depths: with-statements and exact need root (tracefs); sampled needs nothing, and misses what is shorter than 20 ms.
docs/watch.md explains every column and finding.

Exit status: 0 no finding, 1 a finding, 2 usage or environment.")]
struct WatchArgs {
    /// SQLite databases, or directories of them
    #[arg(value_name = "DATABASE", value_hint = ValueHint::AnyPath, required_unless_present = "pid")]
    databases: Vec<PathBuf>,
    /// The databases that this process has open
    #[arg(long, value_name = "PID", conflicts_with = "databases")]
    pid: Option<u32>,
    /// How much is seen: sampled, exact or with-statements [default: the most that is allowed]
    #[arg(long, value_name = "DEPTH")]
    depth: Option<String>,
    /// No statements: the same as --depth exact
    #[arg(long, conflicts_with = "depth")]
    no_sql: bool,
    /// End after this time, such as 60s
    #[arg(long = "for", value_name = "TIME")]
    duration: Option<String>,
    /// A line of JSON each second
    #[arg(long)]
    json_line: bool,
    /// Keep what was seen in this directory, with a report
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
}

pub const VERB: Verb = Verb {
    name: "watch",
    after: "compare",
    run: |matches: &ArgMatches| run(&WatchArgs::from_arg_matches(matches)?),
    example: "  contend watch app.db                 who holds the lock of a live SQLite database, and who waits",
    ..Verb::of::<WatchArgs>()
};

/// A second, the time between two lines.
const SECOND_NS: u64 = 1_000_000_000;
/// Columns of the strip, and how much time each is.
const STRIP: (usize, u64) = (78, 100_000_000);
/// Width of text that is not on a terminal.
const WIDTH: usize = 100;
/// Longest watch.
const DURATION_NS_MAX: u64 = 7 * 24 * 3600 * SECOND_NS;

fn run(args: &WatchArgs) -> Result<u8> {
    let databases = match args.pid {
        Some(pid) => of_process(pid)?,
        None => args.databases.clone(),
    };
    if let Some(address) = databases.iter().find_map(|path| path.to_str().filter(|text| text.contains("://"))) {
        bail!("`{}`: servers are not watched yet; name a SQLite database", without_password(address));
    }
    let databases = Database::open_all(&databases)?;
    let duration_ns = args.duration.as_deref().map(duration).transpose()?;
    // Before anything is made that must be removed again.
    let stop = stop_on_signals()?;
    if let Some(out) = &args.out {
        record::make(out)?;
    }
    let _janitor = Janitor::start()?;
    // A record has everything; a screen only what it shows.
    let kept_ns = if args.out.is_some() || duration_ns.is_some() { 0 } else { KEPT_NS };
    let watch = Watch::start(databases, depth(args)?, kept_ns)?;
    let on_screen = std::io::stdout().is_terminal() && std::io::stdin().is_terminal() && !args.json_line;
    let mut session =
        Session { watch, rates: Rates::default(), end_ns: duration_ns.map(|ns| now_ns() + ns), stop: &stop };
    if on_screen {
        session.on_screen()?
    } else {
        session.in_lines(args.json_line)?
    }
    session.watch.poll(true)?;
    session.rates.look(&session.watch.timeline);
    let shown = session.view();
    if !args.json_line {
        print(&lines::summary(&session.watch, &shown, WIDTH))?;
    }
    if let Some(out) = &args.out {
        for path in record::write(&session.watch, &shown, out)? {
            print(&format!("{}\n", path.display()))?;
        }
    }
    Ok(if session.watch.findings().is_empty() { OK } else { contend::cli::INVALID })
}

/// The databases of a process.
fn of_process(pid: u32) -> Result<Vec<PathBuf>> {
    let found = databases_of(pid);
    let found =
        found.with_context(|| format!("process {pid} is not there, or belongs to another user (then run as root)"))?;
    ensure!(!found.is_empty(), "process {pid} has no SQLite database open at this moment; name the file instead");
    Ok(found)
}

fn depth(args: &WatchArgs) -> Result<Option<Depth>> {
    let Some(asked) = &args.depth else { return Ok(args.no_sql.then_some(Depth::Exact)) };
    match Depth::WORDS.iter().find(|(word, _)| word == asked) {
        Some((_, depth)) => Ok(Some(*depth)),
        None => bail!("--depth `{asked}`: there are {}", Depth::WORDS.map(|(word, _)| word).join(", ")),
    }
}

fn duration(text: &str) -> Result<u64> {
    let ns = duration_ns(text).map_err(|why| anyhow::anyhow!("--for `{text}`: {why}"))?;
    ensure!(ns > 0 && ns <= DURATION_NS_MAX, "--for `{text}`: it must be above 0 and at most 7 days");
    Ok(ns)
}

/// An address for an error message.
fn without_password(address: &str) -> String {
    match (address.split_once("://"), address.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://...@{host}"),
        _ => address.to_string(),
    }
}

/// A watch that is shown.
struct Session<'s> {
    watch: Watch,
    rates: Rates,
    /// When it ends by itself.
    end_ns: Option<u64>,
    stop: &'s AtomicBool,
}

impl Session<'_> {
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.end_ns.is_some_and(|end_ns| now_ns() >= end_ns)
    }

    fn view(&self) -> Vec<DatabaseView> {
        view(&self.watch, &self.rates, STRIP.0, STRIP.1)
    }

    fn found(&self) -> (Vec<Finding>, Vec<Words>) {
        let findings = self.watch.findings();
        let words = findings.iter().map(|finding| words(finding, &|pid| self.watch.name(pid))).collect();
        (findings, words)
    }

    /// A line a second; a finding the first time that it is there.
    fn in_lines(&mut self, json: bool) -> Result<()> {
        let began_ns = now_ns();
        let mut next_ns = began_ns + SECOND_NS;
        let mut said: Vec<(u32, std::mem::Discriminant<crate::finding::Kind>)> = vec![];
        while !self.is_over() {
            std::thread::sleep(POLL);
            self.watch.poll(false)?;
            if now_ns() < next_ns {
                continue;
            }
            next_ns += SECOND_NS;
            self.rates.look(&self.watch.timeline);
            let (shown, (findings, words)) = (self.view(), self.found());
            if json {
                print(&(lines::json_line(&self.watch, &shown, &findings) + "\n"))?;
                continue;
            }
            let at = format!("{:>4} s", (now_ns() - began_ns) / SECOND_NS);
            for database in &shown {
                print(&(lines::line(&at, database) + "\n"))?;
            }
            for (finding, words) in findings.iter().zip(&words) {
                let key = (finding.pid, std::mem::discriminant(&finding.kind));
                if !said.contains(&key) {
                    said.push(key);
                    print(&lines::finding(words, WIDTH))?;
                }
            }
        }
        Ok(())
    }

    fn on_screen(&mut self) -> Result<()> {
        let mut terminal = ratatui::try_init().context("the terminal cannot be used")?;
        let result = self.draw_until_over(&mut terminal);
        ratatui::restore();
        result
    }

    fn draw_until_over(&mut self, terminal: &mut ratatui::DefaultTerminal) -> Result<()> {
        /// Time between two drawings.
        const DRAW_NS: u64 = 200_000_000;
        let began_ns = now_ns();
        let (mut choice, mut next_ns, mut held_still) = (Choice::default(), 0, None);
        while !self.is_over() && !choice.quit {
            self.watch.poll(false)?;
            while poll(Duration::ZERO)? {
                if let Event::Key(key) = read()?
                    && key.kind == KeyEventKind::Press
                {
                    choice.key(key.code, self.watch.databases().len());
                    next_ns = 0;
                }
            }
            if now_ns() >= next_ns {
                next_ns = now_ns() + DRAW_NS;
                self.rates.look(&self.watch.timeline);
                if !choice.paused || held_still.is_none() {
                    let seconds = (now_ns() - began_ns) / SECOND_NS;
                    held_still = Some((self.view(), self.found().1, self.watch.missing(), seconds));
                }
                if let Some((databases, findings, missing, seconds)) = &held_still {
                    let shown = Shown {
                        databases,
                        findings,
                        seconds: *seconds,
                        depth: self.watch.depth.word(),
                        missing,
                        colour: contend::cli::colour() == Colour::Ansi,
                    };
                    terminal.draw(|frame| draw(frame, &shown, &choice))?;
                }
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }
}
