//! A watch: a source that is polled, a timeline that grows, samples of the log, and the findings of it all.

use crate::event::Event;
use crate::finding::{Finding, Sample, findings};
use crate::instance;
use crate::process::{Processes, is_alive};
use crate::sampled::Sampled;
use crate::target::Database;
use crate::timeline::Timeline;
use crate::trace::{SETTLED_NS, Trace};
use anyhow::{Result, bail};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// How much is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// `/proc/locks` and the log's header, every 20 ms: no privileges; short holds and all refusals are missed.
    Sampled,
    /// Every lock call and sync, as the kernel traces them.
    Exact,
    /// Statements and their results as well.
    WithStatements,
}

impl Depth {
    /// All depths with the words of `--depth`.
    pub const WORDS: [(&'static str, Depth); 3] =
        [("sampled", Depth::Sampled), ("exact", Depth::Exact), ("with-statements", Depth::WithStatements)];

    /// The word of `--depth`.
    pub fn word(self) -> &'static str {
        Depth::WORDS.iter().find(|(_, depth)| *depth == self).map_or("", |(word, _)| word)
    }
}

/// The deepest depth that this machine and user allow, and why not a deeper one.
pub fn deepest() -> (Depth, Option<String>) {
    match instance::root() {
        Ok(root) if instance::has_probes(&root) => (Depth::WithStatements, None),
        Ok(_) => (Depth::Exact, Some("the kernel has no uprobes (CONFIG_UPROBE_EVENTS)".to_string())),
        Err(why) => (Depth::Sampled, Some(format!("{why:#}"))),
    }
}

/// How often the sources are asked.
pub const POLL: Duration = Duration::from_millis(20);
/// How often sizes and the log are looked at.
const SAMPLE_NS: u64 = 100_000_000;
/// Holds and waits that ended longer ago are forgotten; sums and tallies have what matters of them.
const KEPT_NS: u64 = 10_000_000_000;
/// Samples of the log that are kept for each database.
const SAMPLES_MAX: usize = 100;

enum Source {
    Trace(Box<Trace>),
    Sampled(Sampled),
}

/// A watch.
pub struct Watch {
    source: Source,
    pub timeline: Timeline,
    /// Samples of each database, oldest first.
    pub samples: Vec<Vec<Sample>>,
    pub depth: Depth,
    lost_before: u64,
    /// Processes with locks that were found dead, and when.
    dead: HashMap<u32, u64>,
}

impl Watch {
    /// Begins to watch, as deep as asked, or as deep as this machine and user allow.
    ///
    /// # Errors
    /// The requested depth is not available, and why.
    pub fn start(databases: Vec<Database>, asked: Option<Depth>) -> Result<Watch> {
        let (deepest, why) = deepest();
        let depth = asked.unwrap_or(deepest);
        if depth > deepest {
            bail!("depth `{}` is not available: {}", depth.word(), why.unwrap_or_default());
        }
        let samples = vec![vec![]; databases.len()];
        let mut sampled = Sampled::new(databases.clone());
        let trace = match depth {
            Depth::Sampled => None,
            _ => Some(Trace::start(&instance::root()?, databases, depth == Depth::WithStatements)?),
        };
        // What is held already: the trace, which reports changes, does not say it. It has begun before, so that no lock is taken
        // between the two.
        let held = sampled.poll(now_ns())?;
        let source = trace.map_or(Source::Sampled(sampled), |trace| Source::Trace(Box::new(trace)));
        let timeline = Timeline::new(now_ns(), depth == Depth::WithStatements);
        let mut watch = Watch { source, timeline, samples, depth, lost_before: 0, dead: HashMap::new() };
        held.iter().for_each(|event| watch.timeline.apply(event));
        // Placing probes takes a moment, in which events come already.
        watch.poll(false)?;
        watch.timeline.begin(now_ns());
        Ok(watch)
    }

    pub fn databases(&self) -> &[Database] {
        match &self.source {
            Source::Trace(trace) => trace.databases(),
            Source::Sampled(sampled) => sampled.databases(),
        }
    }

    pub fn processes(&self) -> &Processes {
        match &self.source {
            Source::Trace(trace) => trace.processes(),
            Source::Sampled(sampled) => sampled.processes(),
        }
    }

    /// Takes in what has happened since the last call; the events. `all` at the end of the watch.
    ///
    /// # Errors
    /// The source cannot be read.
    pub fn poll(&mut self, all: bool) -> Result<Vec<Event>> {
        let now_ns = now_ns();
        let events = match &mut self.source {
            Source::Trace(trace) => trace.poll(now_ns, all)?,
            Source::Sampled(sampled) => sampled.poll(now_ns)?,
        };
        if let Source::Trace(trace) = &self.source {
            self.timeline.visible.clone_from(trace.visible());
        }
        let lost = self.lost();
        if lost > self.lost_before {
            self.lost_before = lost;
            self.timeline.events_were_lost();
        }
        events.iter().for_each(|event| self.timeline.apply(event));
        let seen_ns = events.last().map_or(self.timeline.now_ns, |event| event.at_ns);
        self.timeline.advance(if all { now_ns } else { seen_ns });
        self.bury_dead(now_ns, all);
        self.sample(now_ns);
        self.timeline.forget_before(now_ns.saturating_sub(KEPT_NS));
        Ok(events)
    }

    /// Events that were lost, so far.
    pub fn lost(&self) -> u64 {
        match &self.source {
            Source::Trace(trace) => trace.lost(),
            Source::Sampled(_) => 0,
        }
    }

    /// What is not seen, each in one sentence.
    pub fn missing(&self) -> Vec<String> {
        let mut missing = match &self.source {
            Source::Trace(trace) => trace.missing.clone(),
            Source::Sampled(_) => {
                vec![format!("holds shorter than {} ms, all refusals and waits, statements", POLL.as_millis())]
            }
        };
        if self.depth == Depth::Exact {
            missing.push("statements, and conflicts between connections of one process".to_string());
        }
        let lost = self.lost();
        if lost > 0 {
            missing.push(format!("{lost} events: the kernel's buffer was full"));
        }
        let replaced = self.databases().iter().filter(|database| database.was_replaced());
        missing
            .extend(replaced.map(|d| format!("{} was deleted or replaced: the old file is watched", d.path.display())));
        missing
    }

    /// What is wrong.
    pub fn findings(&self) -> Vec<Finding> {
        findings(&self.timeline, &self.samples)
    }

    /// A process for people: `python3 (4711)`.
    pub fn name(&self, pid: u32) -> String {
        let named = self.processes().all().find(|(known, _)| *known == pid);
        named.map_or_else(|| format!("process {pid}"), |(_, named)| format!("{} ({pid})", named.program))
    }

    /// The kernel reports the locks that a dying process drops; a killed one's calls never return. What a process did just
    /// before it ended may still be too young to have been applied.
    fn bury_dead(&mut self, now_ns: u64, all: bool) {
        let holders: HashSet<u32> = self.timeline.held().map(|hold| hold.who.pid).collect();
        let dead = holders.into_iter().filter(|pid| !is_alive(*pid));
        self.dead = dead.map(|pid| (pid, self.dead.get(&pid).copied().unwrap_or(now_ns))).collect();
        for (pid, dead_ns) in &self.dead {
            if all || now_ns - dead_ns > SETTLED_NS {
                self.timeline.process_ended(*pid, *dead_ns);
            }
        }
    }

    fn sample(&mut self, now_ns: u64) {
        let last_ns = self.samples.first().and_then(|samples| samples.last()).map_or(0, |sample| sample.at_ns);
        if now_ns < last_ns + SAMPLE_NS {
            return;
        }
        let states: Vec<_> = self.databases().iter().map(Database::state).collect();
        for (samples, state) in self.samples.iter_mut().zip(states) {
            samples.push(Sample { at_ns: now_ns, state });
            let surplus = samples.len().saturating_sub(SAMPLES_MAX);
            samples.drain(..surplus);
        }
    }
}

/// CLOCK_MONOTONIC, nanoseconds: the clock of the events.
pub fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
