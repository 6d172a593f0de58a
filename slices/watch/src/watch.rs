//! A watch: polls a source, updates a timeline and samples of the log, and computes findings.

use crate::event::{Event, What};
use crate::finding::Finding;
use crate::findings::findings;
use crate::hold::Hold;
use crate::instance;
use crate::lost::{self, Loss};
use crate::missing;
use crate::moment::Worst;
use crate::process::{Processes, databases_of, descriptors, forked_with, is_alive, processor_ns};
use crate::repeated;
use crate::rights;
use crate::sampled::Sampled;
use crate::target::{Database, FileId, Sample};
use crate::timeline::{BUSY, Timeline};
use crate::trace::{SETTLED_NS, Trace};
use crate::words::{self, Words};
use anyhow::{Result, bail};
use contend::trial::watch::machine::now_utc;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

/// How much is visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// `/proc/locks` and the log's header every 20 ms. No privileges; short holds and all refusals are missed.
    Sampled,
    /// Every lock call and sync, traced by the kernel.
    Exact,
    /// As `Exact`, with statements and their results.
    WithStatements,
}

impl Depth {
    /// All depths, with their words in `--depth`.
    pub const WORDS: [(&'static str, Depth); 3] =
        [("sampled", Depth::Sampled), ("exact", Depth::Exact), ("with-statements", Depth::WithStatements)];

    /// Whether refusals and waits can be seen.
    pub fn sees_refusals(self) -> bool {
        self != Depth::Sampled
    }

    /// What a watch without findings says at this depth.
    pub fn no_finding(self) -> &'static str {
        if self.sees_refusals() { words::NO_FINDING } else { words::NO_FINDING_SAMPLED }
    }

    /// The word of `--depth`.
    pub fn word(self) -> &'static str {
        Depth::WORDS.iter().find(|(_, depth)| *depth == self).map_or("", |(word, _)| word)
    }
}

/// Why there is no greater depth.
#[derive(Debug, Clone)]
pub struct Limit {
    pub why: String,
    /// The command that has more, if more rights are what is missing.
    pub command: Option<String>,
}

/// The greatest depth available to this user on this machine, and why not a greater one.
pub fn deepest() -> (Depth, Option<Limit>) {
    let limit = |why, command| Some(Limit { why, command });
    match instance::root() {
        Ok(root) if instance::has_probes(&root) => (Depth::WithStatements, None),
        Ok(_) => (Depth::Exact, limit("the kernel has no uprobes (CONFIG_UPROBE_EVENTS)".to_string(), None)),
        Err(why) => {
            (Depth::Sampled, limit(format!("{why:#}"), rights::command().filter(|_| instance::sees_all_processes())))
        }
    }
}

/// The clock of the events.
pub use contend::trial::clock::monotonic_ns as now_ns;

/// Interval between polls of the sources.
pub const POLL: Duration = Duration::from_millis(20);
/// Interval between counts of the connections that processes have open.
const OPEN_NS: u64 = 1_000_000_000;
/// Interval between samples of sizes and log.
const SAMPLE_NS: u64 = 100_000_000;
/// Time for which a process is not looked at again for other databases.
const OTHERS_NS: u64 = 1_000_000_000;
/// Longest time from the moment in which a process is found until its first events are applied.
const FIRST_EVENTS_NS: u64 = 1_000_000_000;
/// Age at which ended holds and waits are removed; sums and tallies stay.
const KEPT_NS: u64 = 10_000_000_000;
/// Most samples of the log stored per database.
const SAMPLES_MAX: usize = 100;

enum Source {
    Trace(Box<Trace>),
    Sampled(Box<Sampled>),
}

/// A watch.
pub struct Watch {
    source: Source,
    pub timeline: Timeline,
    /// When it began, in UTC: what happened before is not in it.
    pub began: String,
    /// Samples of each database, oldest first.
    pub samples: Vec<Vec<Sample>>,
    /// Findings about moments that have passed.
    worst: Worst,
    pub depth: Depth,
    /// Why a greater depth is not available.
    pub no_deeper: Option<Limit>,
    lost_before: [u64; 2],
    /// Processes with locks that were found dead, and when.
    dead: HashMap<u32, u64>,
    /// When open connections were last counted.
    counted_open_ns: u64,
    /// Forked processes that had a database open at the end and were never seen to take a lock, each with its parent.
    silent: Vec<(u32, u32)>,
    /// Of databases with a rollback journal, the counter that each commit changes, when the watch began.
    counters: Vec<Option<Vec<u8>>>,
    /// Databases that changed until the end without a write lock that was seen.
    unlocked: Vec<usize>,
    /// When a process was last asked for databases that are not watched, within the last second.
    looked_for_others: HashMap<u32, u64>,
    /// Processor time of the threads of processes that held a write lock when the watch began, or their statements became
    /// visible.
    processor_before: HashMap<u32, BTreeMap<u32, u64>>,
}

impl Watch {
    /// Starts a watch at the requested depth, or at the greatest one available.
    ///
    /// # Errors
    /// The requested depth is not available.
    pub fn start(databases: Vec<Database>, asked: Option<Depth>) -> Result<Watch> {
        let (deepest, limit) = deepest();
        let depth = asked.unwrap_or(deepest);
        if let Some(Limit { why, command }) = limit.as_ref().filter(|_| depth > deepest) {
            let command = command.as_ref().map_or(String::new(), |command| format!("; as root: {command}"));
            bail!("depth `{}` is not available: {why}{command}", depth.word());
        }
        let no_deeper = limit.filter(|_| depth == deepest);
        let samples = vec![vec![]; databases.len()];
        let mut sampled = Sampled::new(databases.clone());
        let trace = match depth {
            Depth::Sampled => None,
            _ => Some(Trace::start(&instance::root()?, databases, depth == Depth::WithStatements)?),
        };
        // Locks already held, which the trace does not report. It was started before, so that no lock falls between
        // the two.
        let held = sampled.poll(now_ns())?;
        let source = trace.map_or_else(|| Source::Sampled(Box::new(sampled)), |trace| Source::Trace(Box::new(trace)));
        let mut timeline = Timeline::new(now_ns(), depth == Depth::WithStatements);
        timeline.sees_waits = depth.sees_refusals();
        let mut watch = Watch {
            source,
            timeline,
            began: String::new(),
            samples,
            worst: Worst::default(),
            depth,
            no_deeper,
            lost_before: [0; 2],
            dead: HashMap::new(),
            counted_open_ns: 0,
            silent: vec![],
            counters: vec![],
            unlocked: vec![],
            looked_for_others: HashMap::new(),
            processor_before: HashMap::new(),
        };
        lost::found_held(&mut watch.timeline, &held);
        // Events arrive while probes are placed. They set the initial state, and are not counted.
        watch.poll(false)?;
        let placed_ns = now_ns();
        std::thread::sleep(Duration::from_nanos(SETTLED_NS) + POLL);
        watch.poll(false)?;
        watch.timeline.begin(placed_ns.max(watch.timeline.now_ns));
        watch.began = now_utc();
        watch.worst = Worst::default();
        watch.counters = watch.counters_now();
        watch.note_holders();
        Ok(watch)
    }

    /// Notes the processor time of processes with a write lock: which statements they execute is unknown.
    fn note_holders(&mut self) {
        let holders = self.timeline.held().filter(|hold| hold.lock.is_writers()).map(|hold| hold.who.pid);
        self.processor_before.extend(holders.map(|pid| (pid, processor_ns(pid))));
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

    /// Adds the events since the last call, and returns them; with `all`, at the end of the watch, also the newest.
    ///
    /// # Errors
    /// The source cannot be read.
    pub fn poll(&mut self, all: bool) -> Result<Vec<Event>> {
        let (now_ns, followed_ns) = (now_ns(), self.timeline.now_ns);
        let mut events = self.read(now_ns, all)?;
        let are_lost = self.lost_of_each() != self.lost_before;
        if are_lost {
            // The buffer keeps the oldest events: all of them happened before the locks that are read next.
            events.extend(self.read(now_ns, true)?);
        }
        if let Source::Trace(trace) = &self.source
            && self.timeline.visible != *trace.visible()
        {
            let known = std::mem::replace(&mut self.timeline.visible, trace.visible().clone());
            let new = self.timeline.visible.iter().filter(|(pid, from_ns)| known.get(pid) != Some(from_ns));
            self.processor_before.extend(new.map(|(pid, _)| (*pid, processor_ns(*pid))));
        }
        self.look_for_others(&events, now_ns);
        events.iter().for_each(|event| self.timeline.apply(event));
        if are_lost {
            self.follow_again(followed_ns, now_ns)?;
        }
        // Time advances on databases without events too.
        self.timeline.advance(if all { now_ns } else { now_ns.saturating_sub(SETTLED_NS) });
        self.bury_dead(now_ns, all);
        if all {
            self.silent = self.silent_forks();
            self.unlocked = self.changed_without_lock();
        }
        if all || now_ns >= self.counted_open_ns + OPEN_NS {
            self.counted_open_ns = now_ns;
            self.count_open();
        }
        self.sample(now_ns);
        self.timeline.forget_before(now_ns.saturating_sub(KEPT_NS));
        Ok(events)
    }

    /// Events were lost after `from_ns`: reads again what can be read in this poll, which began at `poll_ns`.
    fn follow_again(&mut self, from_ns: u64, poll_ns: u64) -> Result<()> {
        let (loss, counts) = (Loss { from_ns, to_ns: now_ns() }, self.lost_of_each());
        let are_locks = std::mem::replace(&mut self.lost_before, counts)[0] < counts[0];
        if let Source::Trace(trace) = &mut self.source {
            trace.events_were_lost(are_locks);
        }
        lost::calls_were_lost(&mut self.timeline, loss);
        if are_locks {
            let held = Sampled::new(self.databases().to_vec()).poll(poll_ns)?;
            if let Source::Trace(trace) = &mut self.source {
                held.iter().for_each(|event| _ = trace.meet(event.who.pid, event.who.tid));
            }
            let now: Vec<_> = self.databases().iter().map(Database::state).collect();
            let lasts = |hold: &Hold| {
                let (before, now) = (self.samples[hold.database].last(), &now[hold.database]);
                before.is_some_and(|before| lost::lasts(hold, before, now))
            };
            lost::locks_were_lost(&mut self.timeline, loss, &held, lasts);
        }
        self.note_holders();
        Ok(())
    }

    /// The events of the source since the last call; with `all`, also those whose order is not certain.
    fn read(&mut self, now_ns: u64, all: bool) -> Result<Vec<Event>> {
        match &mut self.source {
            Source::Trace(trace) => trace.poll(now_ns, all),
            Source::Sampled(sampled) => sampled.poll(now_ns),
        }
    }

    /// Notes which processes with refused statements also have databases open that are not watched.
    fn look_for_others(&mut self, events: &[Event], now_ns: u64) {
        let is_busy = |event: &&Event| match event.what {
            What::StepEnds { code } | What::PrepareEnds { code } => code & 0xff == BUSY,
            _ => false,
        };
        let refused: HashSet<u32> = events.iter().filter(is_busy).map(|event| event.who.pid).collect();
        self.looked_for_others.retain(|_, last_ns| now_ns < *last_ns + OTHERS_NS);
        for pid in refused {
            if self.timeline.uses_others.contains(&pid) || self.looked_for_others.contains_key(&pid) {
                continue;
            }
            self.looked_for_others.insert(pid, now_ns);
            let is_watched = |id: FileId| self.databases().iter().any(|database| database.id == id);
            let paths = databases_of(pid).unwrap_or_default();
            if paths.iter().any(|path| FileId::at(path).is_some_and(|id| !is_watched(id))) {
                self.timeline.uses_others.insert(pid);
            }
        }
    }

    /// Number of events lost so far.
    pub fn lost(&self) -> u64 {
        self.lost_of_each().iter().sum()
    }

    /// Numbers of events lost so far: of the kernel's events, such as lock calls, and of calls.
    fn lost_of_each(&self) -> [u64; 2] {
        match &self.source {
            Source::Trace(trace) => trace.lost(),
            Source::Sampled(_) => [0; 2],
        }
    }

    /// Whether locks of all processes of the machine are visible.
    pub fn sees_all_processes(&self) -> bool {
        matches!(self.source, Source::Trace(_)) || instance::sees_all_processes()
    }

    /// What is not visible, each in one sentence.
    pub fn missing(&self) -> Vec<String> {
        let mut missing = match &self.source {
            Source::Trace(trace) => trace.missing(),
            Source::Sampled(_) => {
                vec![format!("holds shorter than {} ms, all refusals and waits, statements", POLL.as_millis())]
            }
        };
        if !self.sees_all_processes() {
            missing.push("processes in other containers or on the host, and whether a journal is hot".to_string());
        }
        if self.depth == Depth::Exact {
            let unseen = "statements, conflicts between connections of one process, outdated snapshots (SQLITE_BUSY_SNAPSHOT), \
                          and whether a call that follows a refused one is a retry or another request (so a wait may be \
                          several requests, and there may be more errors than `gave up`)";
            missing.push(unseen.to_string());
        }
        if let Some(Limit { why, .. }) = &self.no_deeper {
            missing.push(format!("everything that needs more rights or another kernel ({why})"));
        }
        let name = |pid| self.name(pid);
        missing.extend(missing::unexplained(&self.timeline.unexplained, &name, &|pid| {
            self.processes().may_be_forked(pid)
        }));
        missing.extend(missing::kept_open(&self.timeline.kept_open, &name));
        missing.extend(missing::without_text(&self.without_text(), &name));
        missing.extend(missing::wrote_unseen(&self.timeline.wrote_unseen, &name));
        missing.extend(missing::without_statement(&self.timeline.without_statement, &name));
        missing.extend(missing::silent(&self.silent, &name));
        missing.extend(self.unlocked.iter().map(|at| missing::changed_without_lock(&self.databases()[*at])));
        let lost = self.lost();
        if lost > 0 {
            missing.push(format!(
                "{lost} events: the kernel's buffer was full (statements and waits in that time, and locks that were taken \
                 and released in it)"
            ));
        }
        missing.extend(self.databases().iter().filter_map(Database::what_happened));
        missing
    }

    /// By process, transactions with a statement of which no text was seen.
    fn without_text(&self) -> BTreeMap<u32, u64> {
        let mut transactions = BTreeMap::new();
        for ((_, pid), tally) in self.timeline.tallies.iter().filter(|(_, tally)| tally.without_text > 0) {
            *transactions.entry(*pid).or_default() += tally.without_text;
        }
        transactions
    }

    /// Findings so far.
    pub fn findings(&self) -> Vec<Finding> {
        let found = self.worst.with_past(findings(&self.timeline, &self.samples), &self.samples);
        repeated::sort(repeated::fold(found, &|pid| self.program(pid)))
    }

    /// Name of a process's program, if known.
    pub fn program(&self, pid: u32) -> Option<String> {
        self.processes().name(pid)
    }

    /// A process for people: `python3 (4711)`.
    pub fn name(&self, pid: u32) -> String {
        self.program(pid).map_or_else(|| format!("process {pid}"), |program| format!("{program} ({pid})"))
    }

    /// A thread for people: `thread 4714`, with its name if it has one: `thread 4714 (worker-3)`.
    pub fn thread_name(&self, tid: u32) -> String {
        let name = self.processes().thread_name(tid);
        name.map_or_else(|| format!("thread {tid}"), |name| format!("thread {tid} ({name})"))
    }

    /// A finding as sentences.
    pub fn words(&self, finding: &Finding) -> Words {
        let is_visible = self.timeline.visible.contains_key(&finding.pid);
        let thread = |tid| words::thread_or_connection(finding, is_visible, self.thread_name(tid));
        words::words(finding, &|pid| self.name(pid), &thread)
    }

    /// Removes ended processes. The kernel reports the locks that a dying process releases, but calls of a killed one
    /// never return. Its last events may be too young to have been applied.
    fn bury_dead(&mut self, now_ns: u64, all: bool) {
        let at_work: HashSet<u32> = self.timeline.at_work().collect();
        let dead = at_work.into_iter().filter(|pid| !is_alive(*pid));
        self.dead = dead.map(|pid| (pid, self.dead.get(&pid).copied().unwrap_or(now_ns))).collect();
        for (pid, dead_ns) in &self.dead {
            if all || now_ns - dead_ns > SETTLED_NS {
                self.timeline.process_ended(*pid, *dead_ns);
            }
        }
    }

    /// Forked processes that have a database open and made no lock call, each with its parent. SQLite in a process that
    /// inherited a connection believes that its parent's locks are its own: it refuses and allows without a lock call.
    fn silent_forks(&self) -> Vec<(u32, u32)> {
        let files: Vec<_> = self.databases().iter().map(|database| database.id).collect();
        let has_locked = |pid: u32| {
            self.timeline.held().any(|hold| hold.who.pid == pid)
                || self.timeline.tallies.keys().any(|(_, of)| *of == pid)
                || self.timeline.sums.iter().any(|((_, of), sums)| *of == pid && sums.refusals > 0)
        };
        forked_with(&files).into_iter().filter(|(pid, _)| !has_locked(*pid)).collect()
    }

    fn counters_now(&self) -> Vec<Option<Vec<u8>>> {
        // The file that is at the path by now may be another one.
        let is_its = |database: &Database| !database.is_wal() && database.what_happened().is_none();
        self.databases().iter().map(|database| database.commit_mark().filter(|_| is_its(database))).collect()
    }

    /// Databases that commits have changed although no process took a write lock.
    fn changed_without_lock(&self) -> Vec<usize> {
        let has_writers = |at: usize| {
            self.timeline.held().any(|hold| hold.database == at && hold.lock.is_writers())
                || self.timeline.sums.iter().any(|((of, _), sums)| *of == at && sums.writes > 0)
        };
        let sees_all = matches!(self.source, Source::Trace(_)) && self.lost() == 0;
        let pairs = self.counters.iter().zip(self.counters_now()).enumerate();
        let changed = pairs
            .filter(|(at, (before, now))| before.is_some() && now.is_some() && *before != now && !has_writers(*at));
        changed.filter(|_| sees_all).map(|(at, _)| at).collect()
    }

    /// Counts the connections that processes have closed: where calls are seen, of those that were opened since.
    fn count_open(&mut self) {
        let files: Vec<FileId> = self.databases().iter().map(|database| database.id).collect();
        let opened = self.timeline.sums.iter_mut().filter(|(_, sums)| sums.opens > sums.closed);
        for ((database, pid), sums) in opened {
            let open = descriptors(*pid, &files[*database..=*database]).or_else(|| (!is_alive(*pid)).then_some(0));
            open.into_iter().for_each(|open| sums.has_open(open));
        }
    }

    fn sample(&mut self, now_ns: u64) {
        let last_ns = self.samples.first().and_then(|samples| samples.last()).map_or(0, |sample| sample.at_ns);
        if now_ns < last_ns + SAMPLE_NS {
            return;
        }
        let holders: HashSet<u32> =
            self.timeline.held().filter(|hold| hold.lock.is_writers()).map(|hold| hold.who.pid).collect();
        // The events of one that was just found are still to come.
        let is_new = |pid: u32| now_ns < self.timeline.visible_ns(pid) + FIRST_EVENTS_NS;
        self.processor_before.retain(|pid, _| holders.contains(pid) || is_new(*pid));
        let before = self.processor_before.iter().filter(|(pid, _)| holders.contains(pid));
        self.timeline.processor_ns = before.map(|(pid, before)| (*pid, since(*pid, before))).collect();
        let states: Vec<_> = self.databases().iter().map(Database::state).collect();
        for (samples, state) in self.samples.iter_mut().zip(states) {
            samples.push(Sample { at_ns: now_ns, state });
            let surplus = samples.len().saturating_sub(SAMPLES_MAX);
            samples.drain(..surplus);
        }
        self.worst.look(&self.timeline, &self.samples);
    }
}

/// Processor time of the threads of a process since then.
fn since(pid: u32, before: &BTreeMap<u32, u64>) -> BTreeMap<u32, u64> {
    let spent = |(tid, ns): (u32, u64)| (tid, ns.saturating_sub(before.get(&tid).copied().unwrap_or(0)));
    processor_ns(pid).into_iter().map(spent).collect()
}
