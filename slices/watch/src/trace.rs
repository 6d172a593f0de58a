//! The exact source: lock calls, syncs and statements, traced by the kernel. The watched programs are not changed;
//! probes of functions are the kernel's (uprobes) and are removed with the instance.

use crate::connection::{Caller, Connections};
use crate::event::{Event, What, Who};
use crate::instance::{Instance, NEW_TASK_EVENT};
use crate::late::Late;
use crate::lock::{Change, File, Lock};
use crate::missing::Missing;
use crate::others::{Changed, Others};
use crate::page::{self, Format, LockFields};
use crate::probe::{self, BEGINNING_FIELDS, Kind, Probed, UTF16_FIELDS, has_probes};
use crate::process::{self, Mapped, Processes, has_open, is_alive, is_younger, mapped, named_file, that_have_open};
use crate::sampled::Sampled;
use crate::sync::{self, Synced, Syncs};
use crate::target::{Database, FileId, find, lock_filter};
use crate::text::{Beginning, Executed, Texts};
use crate::users::Users;
use anyhow::{Context, Result};
use contend::trial::clock::monotonic_ns;
use contend::workload::without_values;
use std::collections::{HashMap, HashSet};
use std::path::Path;

const LOCK_EVENT: &str = "filelock/posix_lock_inode";
/// A process executes another program (exec).
const EXEC_EVENT: &str = "sched/sched_process_exec";
/// Flag of a new task that is a thread of the process that creates it.
const CLONE_THREAD: i64 = 0x1_0000;
/// Interval between checks for ended processes, whose numbers may be reused.
const ENDED_NS: u64 = 1_000_000_000;
/// Age from which an event is in its buffer: its processor can be taken away after it got its time.
const READABLE_NS: u64 = 5_000_000;
/// Age from which events of all processors can be ordered.
pub const SETTLED_NS: u64 = 30_000_000;
/// Meaning of an event number.
enum Meaning {
    Lock(LockFields),
    Sync { begins: bool },
    Call { kind: Kind, object: usize },
    NewTask,
    Exec,
}

/// How syncs are seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SyncSource {
    Missing,
    Ext4,
    Calls,
}

/// The tracing source.
pub struct Trace {
    instance: Instance,
    formats: HashMap<u16, (Format, Meaning)>,
    databases: Vec<Database>,
    processes: Processes,
    others: Others,
    probed: Vec<Probed>,
    /// Number of functions with probes.
    functions: usize,
    /// Programs and libraries already examined.
    looked_at: HashSet<FileId>,
    texts: Texts,
    /// Events that are too young to be ordered, with the callers of SQLite's functions.
    young: Vec<(Event, Caller)>,
    connections: Connections,
    /// Events that happened while the buffers were read, and calls of threads of which no birth has been read.
    late: Late,
    with_statements: bool,
    syncs: Syncs,
    sync_source: SyncSource,
    users: Users,
    /// Processes whose statements are visible, and since when.
    visible: HashMap<u32, u64>,
    /// When tracing began, in the time of [`process::boot_ns`].
    began_boot_ns: u64,
    lost: [u64; 2],
    looked_for_ended_ns: u64,
    missing: Missing,
}

impl Trace {
    /// Starts tracing.
    ///
    /// # Errors
    /// The part of tracefs that cannot be used.
    pub fn start(root: &Path, databases: Vec<Database>, with_statements: bool) -> Result<Trace> {
        let instance = Instance::make(root)?;
        let mut trace = Trace {
            formats: HashMap::new(),
            processes: Processes::default(),
            others: Others::new(&databases),
            probed: vec![],
            functions: 0,
            looked_at: HashSet::new(),
            texts: Texts::default(),
            young: vec![],
            connections: Connections::default(),
            late: Late::default(),
            with_statements,
            syncs: Syncs::default(),
            sync_source: SyncSource::Missing,
            users: Users::default(),
            visible: HashMap::new(),
            began_boot_ns: process::boot_ns(),
            lost: [0; 2],
            looked_for_ended_ns: 0,
            missing: Missing::default(),
            instance,
            databases,
        };
        let format = trace.instance.enable(LOCK_EVENT, &lock_filter(&trace.databases))?;
        let fields = LockFields::of(&format).with_context(|| format!("the event {LOCK_EVENT} has other fields"))?;
        trace.formats.insert(format.id, (format, Meaning::Lock(fields)));
        let format = trace.instance.enable(EXEC_EVENT, "")?;
        trace.formats.insert(format.id, (format, Meaning::Exec));
        trace.watch_syncs();
        let ids: Vec<FileId> = trace.databases.iter().map(|database| database.id).collect();
        that_have_open(&ids).into_iter().for_each(|pid| _ = trace.meet(pid, pid));
        Ok(trace)
    }

    pub fn databases(&self) -> &[Database] {
        &self.databases
    }

    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// Processes whose statements are visible, and since when.
    pub fn visible(&self) -> &HashMap<u32, u64> {
        &self.visible
    }

    /// What could not be traced, as sentences.
    pub fn missing(&self) -> Vec<String> {
        self.missing.sentences()
    }

    /// Numbers of events lost so far because a buffer was full: of the kernel's events, such as lock calls, and of calls.
    pub fn lost(&self) -> [u64; 2] {
        self.lost
    }

    /// Events were lost before the latest that [`Trace::poll`] has returned; with `are_locks`, also lock calls.
    pub fn events_were_lost(&mut self, are_locks: bool) {
        self.connections.events_were_lost();
        if are_locks {
            self.syncs = Syncs::default();
        }
    }

    /// Events in order. `now_ns` is CLOCK_MONOTONIC; `all` includes events whose order is not yet certain.
    ///
    /// # Errors
    /// The buffer cannot be read.
    pub fn poll(&mut self, now_ns: u64, all: bool) -> Result<Vec<Event>> {
        self.follow_files(Database::look_again)?;
        self.users.keep_users();
        self.follow_others(now_ns)?;
        if now_ns >= self.looked_for_ended_ns + ENDED_NS {
            self.looked_for_ended_ns = now_ns;
            self.forget_ended(now_ns);
        }
        let mut late = std::mem::take(&mut self.late);
        let may_have_lost = self.instance.read(|page| {
            page::events(page).iter().for_each(|event| late.push(event.at_ns, event.data));
        })?;
        // A `-shm` file created since then may already have locks.
        self.follow_files(Database::look_once_more)?;
        let [until_ns, settled_ns] =
            [READABLE_NS, SETTLED_NS].map(|ns| if all { u64::MAX } else { now_ns.saturating_sub(ns) });
        self.late = late.understand(until_ns, |at_ns, data| {
            let (is_known, may_come) = (self.knows_process_of(data), at_ns > settled_ns);
            if is_known {
                self.understand(at_ns, data);
            } else if !may_come {
                self.missing.add_orphan();
            }
            is_known || !may_come
        });
        let lost = self.users.without_a_known_log(until_ns, |at| self.databases[at].is_wal());
        lost.into_iter().for_each(|(pid, at)| self.missing.add_writes(pid, &self.processes, Some(&self.databases[at])));
        if all || may_have_lost {
            self.lost = self.instance.lost();
        }
        self.young.sort_by_key(|(event, _)| event.at_ns);
        let count = self.young.partition_point(|(event, _)| event.at_ns <= settled_ns);
        Ok(self.young.drain(..count).flat_map(|(event, caller)| self.connections.attribute(event, caller)).collect())
    }

    /// Removes the state of ended processes, whose numbers may be reused. Sums stay.
    fn forget_ended(&mut self, now_ns: u64) {
        let ended: HashSet<u32> = self.processes.look_for_ended().into_iter().collect();
        for pid in ended.iter().copied() {
            self.texts.forget(pid);
            self.visible.remove(&pid);
            self.add(Event { at_ns: now_ns, who: Who { pid, tid: pid }, what: What::Replaced });
        }
        self.users.forget(&ended);
        self.others.forget(&ended);
    }

    /// Excludes processes that lock only other files. Of one that has opened a watched database since, the locks that it
    /// has by now are read.
    fn follow_others(&mut self, now_ns: u64) -> Result<()> {
        let changed = self.others.look(now_ns, &self.databases, |pid| self.processes.is_known(pid));
        let Some(Changed { threads, users }) = changed else { return Ok(()) };
        self.instance.exclude(&threads);
        if !users.is_empty() {
            users.iter().for_each(|pid| _ = self.meet(*pid, *pid));
            let held = Sampled::new(self.databases.clone()).poll(now_ns)?;
            held.into_iter().filter(|event| users.contains(&event.who.pid)).for_each(|event| self.add(event.found()));
        }
        Ok(())
    }

    /// Traces syncs: by the events of ext4, or by the system calls of the processes that use a database.
    fn watch_syncs(&mut self) {
        let on_ext4 = sync::is_on_ext4(&self.databases);
        let (events, filter) = if on_ext4 {
            (&sync::OF_EXT4[..], sync::filter(&self.databases))
        } else {
            (&sync::OF_CALLS[..], String::new())
        };
        if !on_ext4 {
            // An empty list of processes would stand for all.
            self.instance.trace_calls_of(std::process::id());
        }
        for event in events {
            match self.instance.enable(event, &filter) {
                Ok(format) => {
                    let begins = event.contains("enter");
                    self.formats.insert(format.id, (format, Meaning::Sync { begins }));
                }
                Err(error) => return self.missing.add("syncs".to_string(), None, format!("{error:#}")),
            }
        }
        self.sync_source = if on_ext4 { SyncSource::Ext4 } else { SyncSource::Calls };
    }

    /// Updates the filter when the `-shm` file is created or removed.
    fn follow_files(&mut self, look: fn(&mut Database) -> bool) -> Result<()> {
        let changed = self.databases.iter_mut().map(look).filter(|changed| *changed).count();
        if changed > 0 {
            self.instance.filter(LOCK_EVENT, &lock_filter(&self.databases))?;
            if self.sync_source == SyncSource::Ext4 {
                let filter = sync::filter(&self.databases);
                sync::OF_EXT4.iter().try_for_each(|event| self.instance.filter(event, &filter))?;
            }
        }
        Ok(())
    }

    /// Registers a process that uses a database: its name, and its programs and libraries. Returns whether it is new.
    pub fn meet(&mut self, pid: u32, tid: u32) -> bool {
        let is_new = self.processes.note(pid, tid);
        if is_new {
            self.look_into(pid);
        }
        is_new
    }

    fn look_into(&mut self, pid: u32) {
        if self.with_statements || self.sync_source == SyncSource::Calls {
            self.instance.trace_calls_of(pid);
        }
        if !self.with_statements {
            return;
        }
        self.watch_threads();
        let (mut ids, mut replaced) = (vec![], None);
        for mapped in mapped(pid) {
            let path = mapped.path.clone();
            let Some(id) = FileId::at(&mapped.reached) else {
                replaced = replaced.or(process::deleted(&path));
                continue;
            };
            ids.push(id);
            if self.looked_at.insert(id)
                && let Err(error) = self.probe(id, mapped)
            {
                if !is_alive(pid) {
                    // Its path led through the process: another one may show the file.
                    self.looked_at.remove(&id);
                    continue;
                }
                self.missing.add(format!("statements in {}", path.display()), None, format!("{error:#}"));
            }
        }
        if has_probes(&self.probed, &ids) {
            self.visible.insert(pid, monotonic_ns());
            return;
        }
        let why = match replaced {
            Some(path) if is_alive(pid) => format!(
                "{}, which it executes, was replaced or deleted after it had started; restart the program",
                path.display()
            ),
            // A zombie process has no mappings.
            _ if ids.is_empty() || !is_alive(pid) => "it had ended before its program could be read".to_string(),
            _ => "no function of SQLite has a name in its program".to_string(),
        };
        let name = self.processes.name(pid).unwrap_or_default();
        self.missing.add(format!("statements of {name}"), Some(pid), why);
    }

    /// Traces new threads of traced processes: a short-lived one may end before /proc is read.
    fn watch_threads(&mut self) {
        if self.formats.values().any(|(_, meaning)| matches!(meaning, Meaning::NewTask)) {
            return;
        }
        match self.instance.enable(NEW_TASK_EVENT, "") {
            Ok(format) => drop(self.formats.insert(format.id, (format, Meaning::NewTask))),
            Err(error) => {
                self.missing.add("statements of threads that end at once".to_string(), None, format!("{error:#}"))
            }
        }
    }

    fn probe(&mut self, id: FileId, mapped: Mapped) -> Result<()> {
        let probe::Found { functions, text_at } = probe::look_into(&mapped.reached)?;
        if functions.is_empty() {
            return Ok(());
        }
        let probes = probe::probes(&functions, self.functions);
        self.functions += functions.len();
        self.probed.push(Probed { id, mapped, probes, text_at });
        let object = self.probed.len() - 1;
        text_at.into_iter().for_each(|at| self.texts.place(object, at));
        for index in 0..self.probed[object].probes.len() {
            if let Err(error) = self.register(object, index) {
                self.missing.add("statements".to_string(), None, format!("{error:#}"));
            }
        }
        Ok(())
    }

    fn register(&mut self, object: usize, index: usize) -> Result<()> {
        let probed = &self.probed[object];
        let probe = &probed.probes[index];
        let full_name = self.instance.probe_name(&probe.name);
        let Some(line) = probe::line(probe, &full_name, probed) else {
            anyhow::bail!("the registers of this processor are not known");
        };
        self.instance.register(&line)?;
        let format = self.instance.enable(&full_name, "")?;
        self.formats.insert(format.id, (format, Meaning::Call { kind: probe.kind, object }));
        Ok(())
    }

    /// Whether an event needs no process, or its thread's is known: that of an ended thread only after its birth was read.
    fn knows_process_of(&mut self, data: &[u8]) -> bool {
        let Some((format, meaning)) = page::id(data).and_then(|id| self.formats.get(&id)) else { return true };
        let needs_process = match meaning {
            Meaning::Call { .. } => true,
            Meaning::NewTask => format.number(data, "clone_flags").unwrap_or(0) & CLONE_THREAD != 0,
            _ => false,
        };
        let tid = format.number(data, "common_pid").filter(|_| needs_process);
        tid.is_none_or(|tid| self.processes.of_thread(tid as u32).is_some())
    }

    fn understand(&mut self, at_ns: u64, data: &[u8]) {
        let Some((format, meaning)) = page::id(data).and_then(|id| self.formats.get(&id)) else { return };
        if let Meaning::Lock(fields) = *meaning {
            return self.understand_lock(at_ns, data, fields).unwrap_or_default();
        }
        let number = |name| format.number(data, name);
        let Some(tid) = number("common_pid").map(|tid| tid as u32) else { return };
        match *meaning {
            Meaning::Lock(_) => {}
            Meaning::Sync { begins } => {
                let synced = Synced::of(format, data);
                self.understand_sync(at_ns, tid, &synced, begins);
            }
            Meaning::NewTask => {
                let Some(new) = number("pid").map(|new| new as u32) else { return };
                let is_thread = number("clone_flags").unwrap_or(0) & CLONE_THREAD != 0;
                let pid = if is_thread { self.processes.of_thread(tid) } else { Some(new) };
                pid.into_iter().for_each(|pid| self.processes.belongs(new, pid));
            }
            Meaning::Exec => {
                let Some(pid) = number("pid").map(|pid| pid as u32).filter(|pid| self.processes.forget(*pid)) else {
                    return;
                };
                self.visible.remove(&pid);
                self.texts.forget(pid);
                self.add(Event { at_ns, who: Who { pid, tid }, what: What::Replaced });
            }
            Meaning::Call { kind, object } => {
                let sql = format.text(data, "sql").or_else(|| format.text_utf16(data, &UTF16_FIELDS));
                let statement = number("statement").unwrap_or(0) as u64;
                let code = number("code").unwrap_or(0) as i32;
                let [connection, goroutine, stack] =
                    ["connection", "goroutine", "stack"].map(|name| number(name).unwrap_or(0) as u64);
                if kind == Kind::Opens {
                    return self.understand_open(at_ns, tid, &sql.unwrap_or_default());
                }
                let what = kind.reports(statement, sql, code);
                let beginning = Beginning(BEGINNING_FIELDS.map(|name| number(name).unwrap_or(0) as u64));
                let executed = Executed { object, statement, beginning };
                self.understand_call(at_ns, tid, executed, (what, Caller { connection, goroutine, stack }));
            }
        }
    }

    /// `None` if it is not one of a watched database.
    fn understand_lock(&mut self, at_ns: u64, data: &[u8], fields: LockFields) -> Option<()> {
        let tid = fields.tid.number(data)? as u32;
        let [device, inode, first, last] = fields.range.map(|field| field.number(data));
        let [kind, ret] = fields.change.map(|field| field.number(data));
        let change = Change::of(kind? as u8, ret? as i32)?;
        // A lock of an open file description has no process.
        let pid = fields.pid.number(data).map(|pid| pid as i32).filter(|pid| *pid > 0).map(|pid| pid as u32);
        let pid = pid.or_else(|| self.processes.of_thread(tid))?;
        let id = FileId { device: device? as u32, inode: inode? as u64 };
        let Some((database, file)) = find(&self.databases, id) else {
            let takes = change != Change::Released && Lock::in_range(File::Shm, first?, last?).next().is_some();
            if takes && self.users.may_have_lost_its_log(pid, id, |database| self.databases[database].is_wal()) {
                self.missing.add_writes(pid, &self.processes, None);
            }
            return None;
        };
        // A removed `-shm` leaves its inode number to another file, perhaps to that of another database. A user of this one
        // has locked the database file before, or has it open since before the watch: it was met then, and can have ended since.
        let has_it_open =
            || has_open(pid, &[self.databases[database].id]).unwrap_or_else(|| self.processes.is_known(pid));
        if !self.users.uses(pid, database, file == File::Database, has_it_open) {
            return None;
        }
        self.users.has_locked(pid, (database, file), (at_ns, change));
        // The kernel reports a release for every process that closes a file with locks, including contend. A process
        // that only reads the file's bytes does not use the database.
        let who = Who { pid, tid };
        if change != Change::Released && self.meet(pid, tid) && is_younger(pid, self.began_boot_ns) {
            self.add(Event { at_ns, who, what: What::Opens { database } });
        }
        for lock in Lock::in_range(file, first?, last?) {
            if lock == Lock::Reserved {
                self.syncs.reserves(tid, database, matches!(change, Change::Taken(_)));
            }
            self.add(Event { at_ns, who, what: What::Lock { database, lock, change } });
        }
        Some(())
    }

    fn understand_sync(&mut self, at_ns: u64, tid: u32, synced: &Synced, begins: bool) {
        let Some(pid) = self.processes.of_thread(tid).filter(|pid| self.processes.is_known(*pid)) else { return };
        let Some(database) = self.syncs.database(&self.databases, pid, tid, synced) else { return };
        let what = if begins { What::SyncBegins { database } } else { What::SyncEnds { database } };
        self.add(Event { at_ns, who: Who { pid, tid }, what });
    }

    /// The path is as the program names it. A process that has ended counts nothing: which file it was is unknown.
    fn understand_open(&mut self, at_ns: u64, tid: u32, path: &str) {
        let Some(pid) = self.processes.of_thread(tid).filter(|pid| self.processes.is_known(*pid)) else { return };
        let Some(id) = named_file(pid, path) else { return };
        let Some(database) = self.databases.iter().position(|database| database.id == id) else { return };
        self.add(Event { at_ns, who: Who { pid, tid }, what: What::Opens { database } });
    }

    /// Adds an event of a thread; its connection is not known yet.
    fn add(&mut self, event: Event) {
        self.young.push((event, Caller::default()));
    }

    fn understand_call(&mut self, at_ns: u64, tid: u32, executed: Executed, (what, caller): (What, Caller)) {
        let Some(pid) = self.processes.of_thread(tid).filter(|pid| self.processes.is_known(*pid)) else { return };
        let who = Who { pid, tid };
        if let What::PrepareEnds { code } = what {
            self.texts.compiled(who, caller, code);
        }
        let what = match what {
            What::PrepareBegins { sql } => {
                self.texts.compiles(who, caller, sql.as_deref());
                What::PrepareBegins { sql: sql.map(|sql| without_values(&sql)) }
            }
            What::StepBegins { statement, sql: None } => {
                let sql = self.texts.of(who, caller, executed);
                What::StepBegins { statement, sql }
            }
            other => other,
        };
        self.young.push((Event { at_ns, who, what }, caller));
    }
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;
