//! The exact source: lock calls, syncs and statements as the kernel traces them. Nothing of the watched programs is changed;
//! probes of functions are the kernel's own (uprobes) and are removed with the instance.

use crate::event::{Event, What, Who};
use crate::instance::{Instance, NEW_TASK_EVENT};
use crate::lock::{Change, Lock};
use crate::page::{self, Format};
use crate::probe::{self, Kind, Probe};
use crate::process::{Mapped, Processes, mapped, memory, that_have_open};
use crate::target::{Database, FileId};
use anyhow::Result;
use contend::workload::without_values;
use std::collections::{HashMap, HashSet};
use std::path::Path;

const LOCK_EVENT: &str = "filelock/posix_lock_inode";
/// Entry and exit of a sync, of the file systems that report both with the inode.
const SYNC_EVENTS: [&str; 2] = ["ext4/ext4_sync_file_enter", "ext4/ext4_sync_file_exit"];
/// Events of all processors are put in order once they are this old.
pub const SETTLED_NS: u64 = 30_000_000;
/// Bytes of a statement in which the pointer to its text is looked for.
const STATEMENT_BYTES: usize = 512;
/// Texts that are kept to recognise one in memory, by process.
const TEXTS_MAX: usize = 64;
/// Longest text that is read from memory.
const TEXT_BYTES_MAX: usize = 1_000;
/// Statements whose text is kept, by process.
const STATEMENTS_MAX: usize = 4_096;
/// Shortest text by which the place is found: a shorter one could be there by chance.
const TEXT_BYTES_MIN: usize = 8;
/// Statements that must agree on the place where none of their texts is known.
const WITNESSES: usize = 3;
/// What statements begin with.
const KEYWORDS: [&str; 16] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "BEGIN",
    "COMMIT",
    "END",
    "ROLLBACK",
    "REPLACE",
    "WITH",
    "PRAGMA",
    "CREATE",
    "DROP",
    "ALTER",
    "SAVEPOINT",
    "RELEASE",
];

/// What an event number means.
enum Meaning {
    Lock,
    Sync { begins: bool },
    Call { kind: Kind, object: usize },
    NewTask,
}

/// A program or library with probes.
struct Probed {
    mapped: Mapped,
    probes: Vec<Probe>,
    /// Where in a statement the pointer to its text is, once it has been found.
    text_at: Option<u64>,
    /// Statements that point to something like SQL there, by place.
    witnesses: HashMap<usize, HashSet<u64>>,
}

/// What is known of a process's statements.
#[derive(Default)]
struct Statements {
    /// Texts compiled lately, oldest first.
    compiled: Vec<String>,
    /// By address, with the number of compilations at the time: an address may be used again after one.
    texts: HashMap<u64, (u64, Option<String>)>,
    compilations: u64,
    /// Text that a thread has compiled and not executed yet.
    fresh: HashMap<u32, String>,
}

/// The source.
pub struct Trace {
    instance: Instance,
    formats: HashMap<u16, (Format, Meaning)>,
    databases: Vec<Database>,
    processes: Processes,
    probed: Vec<Probed>,
    /// Programs and libraries that have been looked at.
    looked_at: HashSet<FileId>,
    statements: HashMap<u32, Statements>,
    /// Events that are not old enough to be put in order.
    young: Vec<Event>,
    /// Whether statements are watched.
    with_statements: bool,
    sees_syncs: bool,
    /// Processes whose statements are seen.
    visible: HashSet<u32>,
    lost: u64,
    /// What could not be watched, each once, in words.
    pub missing: Vec<String>,
}

impl Trace {
    /// Begins to watch.
    ///
    /// # Errors
    /// What of tracefs cannot be used.
    pub fn start(root: &Path, databases: Vec<Database>, with_statements: bool) -> Result<Trace> {
        let instance = Instance::make(root)?;
        let mut trace = Trace {
            formats: HashMap::new(),
            processes: Processes::default(),
            probed: vec![],
            looked_at: HashSet::new(),
            statements: HashMap::new(),
            young: vec![],
            with_statements,
            sees_syncs: false,
            visible: HashSet::new(),
            lost: 0,
            missing: vec![],
            instance,
            databases,
        };
        let format = trace.instance.enable(LOCK_EVENT, &lock_filter(&trace.databases))?;
        trace.formats.insert(format.id, (format, Meaning::Lock));
        trace.watch_syncs();
        let ids: Vec<FileId> = trace.databases.iter().map(|database| database.id).collect();
        for pid in that_have_open(&ids) {
            trace.meet(pid, pid);
        }
        Ok(trace)
    }

    pub fn databases(&self) -> &[Database] {
        &self.databases
    }

    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// Processes whose statements are seen.
    pub fn visible(&self) -> &HashSet<u32> {
        &self.visible
    }

    /// Events that were lost because a buffer was full, so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// What has happened, in order. `now_ns` is CLOCK_MONOTONIC; `all` also gives what is too young to be sure of its order.
    ///
    /// # Errors
    /// The buffer cannot be read.
    pub fn poll(&mut self, now_ns: u64, all: bool) -> Result<Vec<Event>> {
        self.follow_files()?;
        let mut raw = vec![];
        self.instance.read(|page| {
            let (events, _) = page::events(page);
            raw.extend(events.into_iter().map(|event| (event.at_ns, event.data.to_vec())));
        })?;
        self.lost = self.instance.lost();
        raw.sort_by_key(|(at_ns, _)| *at_ns);
        for (at_ns, data) in raw {
            self.understand(at_ns, &data);
        }
        self.young.sort_by_key(|event| event.at_ns);
        let settled = now_ns.saturating_sub(SETTLED_NS);
        let count = if all { self.young.len() } else { self.young.partition_point(|event| event.at_ns <= settled) };
        Ok(self.young.drain(..count).collect())
    }

    /// Where the file system has no such event, syncs are not seen.
    fn watch_syncs(&mut self) {
        let filter = sync_filter(&self.databases);
        for (event, begins) in SYNC_EVENTS.into_iter().zip([true, false]) {
            match self.instance.enable(event, &filter) {
                Ok(format) => {
                    self.formats.insert(format.id, (format, Meaning::Sync { begins }));
                    self.sees_syncs = true;
                }
                Err(_) => {
                    self.sees_syncs = false;
                    self.missing.push("syncs: the kernel reports them with their file on ext4 only".to_string());
                    return;
                }
            }
        }
    }

    /// The `-shm` file comes and goes: the filter follows it.
    fn follow_files(&mut self) -> Result<()> {
        let changed = self.databases.iter_mut().map(Database::look_again).filter(|changed| *changed).count();
        if changed > 0 {
            self.instance.filter(LOCK_EVENT, &lock_filter(&self.databases))?;
            if self.sees_syncs {
                let filter = sync_filter(&self.databases);
                SYNC_EVENTS.iter().try_for_each(|event| self.instance.filter(event, &filter))?;
            }
        }
        Ok(())
    }

    /// A process that uses a database: its name, and the programs and libraries that it executes.
    fn meet(&mut self, pid: u32, tid: u32) {
        if !self.processes.note(pid, tid) || !self.with_statements {
            return;
        }
        self.instance.trace_calls_of(pid);
        self.watch_threads();
        let mut why = "no function of SQLite has a name in its program".to_string();
        for mapped in mapped(pid) {
            let Some(id) = FileId::at(&mapped.reached) else { continue };
            if self.looked_at.insert(id)
                && let Err(error) = self.probe(mapped)
            {
                why = format!("{error:#}");
            }
        }
        if self.executes_probed(pid) {
            self.visible.insert(pid);
            return;
        }
        let name = self.processes.all().find(|(known, _)| *known == pid).map(|(_, named)| named.program.clone());
        let name = name.unwrap_or_default();
        self.missing.push(format!("statements of {name} ({pid}): {why}"));
    }

    /// New threads of the processes whose calls are traced: one that serves a request may have ended before /proc is read.
    fn watch_threads(&mut self) {
        if self.formats.values().any(|(_, meaning)| matches!(meaning, Meaning::NewTask)) {
            return;
        }
        match self.instance.enable(NEW_TASK_EVENT, "") {
            Ok(format) => drop(self.formats.insert(format.id, (format, Meaning::NewTask))),
            Err(error) => self.missing.push(format!("statements of threads that end at once: {error:#}")),
        }
    }

    /// Whether a process executes a file that has probes.
    fn executes_probed(&self, pid: u32) -> bool {
        let have: HashSet<FileId> =
            self.probed.iter().filter_map(|probed| FileId::at(&probed.mapped.reached)).collect();
        mapped(pid).iter().any(|mapped| FileId::at(&mapped.reached).is_some_and(|id| have.contains(&id)))
    }

    fn probe(&mut self, mapped: Mapped) -> Result<()> {
        let functions = probe::functions(&mapped.reached)?;
        if functions.is_empty() {
            return Ok(());
        }
        let first = self.probed.iter().map(|probed| probed.probes.len() / 2).sum();
        let probes = probe::probes(&functions, first);
        self.probed.push(Probed { mapped, probes, text_at: None, witnesses: HashMap::new() });
        let object = self.probed.len() - 1;
        for index in 0..self.probed[object].probes.len() {
            if let Err(error) = self.register(object, index) {
                self.missing.push(format!("statements: {error:#}"));
            }
        }
        Ok(())
    }

    fn register(&mut self, object: usize, index: usize) -> Result<()> {
        let probed = &self.probed[object];
        let probe = &probed.probes[index];
        let full_name = self.instance.probe_name(&probe.name);
        let Some(line) = probe::line(probe, &full_name, &probed.mapped) else {
            anyhow::bail!("the registers of this processor are not known");
        };
        self.instance.register(&line)?;
        let format = self.instance.enable(&full_name, "")?;
        self.formats.insert(format.id, (format, Meaning::Call { kind: probe.kind, object }));
        Ok(())
    }

    fn understand(&mut self, at_ns: u64, data: &[u8]) {
        let Some((format, meaning)) = page::id(data).and_then(|id| self.formats.get(&id)) else { return };
        let number = |name| format.number(data, name);
        let Some(tid) = number("common_pid").map(|tid| tid as u32) else { return };
        match *meaning {
            Meaning::Lock => {
                let ranges = [number("s_dev"), number("i_ino"), number("fl_start"), number("fl_end")];
                let [Some(device), Some(inode), Some(first), Some(last)] = ranges else { return };
                let change = Change::of(number("type").unwrap_or(-1) as u8, number("ret").unwrap_or(-1) as i32);
                // A lock that belongs to an open file, not to a process, has no process in it.
                let pid = number("pid").map(|pid| pid as i32).filter(|pid| *pid > 0).map(|pid| pid as u32);
                let id = FileId { device: device as u32, inode: inode as u64 };
                if let Some(change) = change {
                    self.understand_lock(at_ns, (pid, tid), id, (first, last), change);
                }
            }
            Meaning::Sync { begins } => {
                let (device, inode) = (number("dev").unwrap_or(0), number("ino").unwrap_or(0));
                let id = FileId { device: device as u32, inode: inode as u64 };
                self.understand_sync(at_ns, tid, id, begins);
            }
            Meaning::NewTask => {
                const CLONE_THREAD: i64 = 0x1_0000;
                let Some(new) = number("pid").map(|new| new as u32) else { return };
                let is_thread = number("clone_flags").unwrap_or(0) & CLONE_THREAD != 0;
                let pid = if is_thread { self.processes.of_thread(tid) } else { Some(new) };
                pid.into_iter().for_each(|pid| self.processes.belongs(new, pid));
            }
            Meaning::Call { kind, object } => {
                let (sql, statement) = (format.text(data, "sql"), number("statement").unwrap_or(0) as u64);
                let code = number("code").unwrap_or(0) as i32;
                self.understand_call(at_ns, tid, object, call(kind, statement, sql.unwrap_or_default(), code));
            }
        }
    }

    fn understand_lock(
        &mut self,
        at_ns: u64,
        (pid, tid): (Option<u32>, u32),
        id: FileId,
        (first, last): (i64, i64),
        change: Change,
    ) {
        let Some(pid) = pid.or_else(|| self.processes.of_thread(tid)) else { return };
        let found = self.databases.iter().enumerate().find_map(|(at, database)| Some((at, database.file(id)?)));
        let Some((database, file)) = found else { return };
        // SQLite of this process, which only reads files, takes no locks.
        self.meet(pid, tid);
        let who = Who { pid, tid };
        let event = |lock| Event { at_ns, who, what: What::Lock { database, lock, change } };
        self.young.extend(Lock::in_range(file, first, last).map(event));
    }

    fn understand_sync(&mut self, at_ns: u64, tid: u32, id: FileId, begins: bool) {
        let Some(pid) = self.processes.of_thread(tid) else { return };
        if !self.processes.is_known(pid) {
            return;
        }
        // The log and the journal have other inodes; a process that uses several databases is rare, and then the first is meant.
        let database = self.databases.iter().position(|database| database.id == id).unwrap_or(0);
        let what = if begins { What::SyncBegins { database } } else { What::SyncEnds { database } };
        self.young.push(Event { at_ns, who: Who { pid, tid }, what });
    }

    fn understand_call(&mut self, at_ns: u64, tid: u32, object: usize, what: What) {
        let Some(pid) = self.processes.of_thread(tid).filter(|pid| self.processes.is_known(*pid)) else { return };
        let what = match what {
            What::PrepareBegins { sql } => {
                self.statements.entry(pid).or_default().compile(tid, &sql);
                What::PrepareBegins { sql: without_values(&sql) }
            }
            What::StepBegins { statement, .. } => {
                let sql = self.text(pid, tid, object, statement);
                What::StepBegins { statement, sql }
            }
            other => other,
        };
        self.young.push(Event { at_ns, who: Who { pid, tid }, what });
    }

    /// The text of a statement, without the values written into it. It is read from the process's memory a moment later. What
    /// is found there counts if the process has compiled it, or if nothing was compiled since the watch began.
    fn text(&mut self, pid: u32, tid: u32, object: usize, statement: u64) -> Option<String> {
        let known = self.statements.entry(pid).or_default();
        let fresh = known.fresh.remove(&tid);
        if let Some((at, text)) = known.texts.get(&statement)
            && *at == known.compilations
        {
            return text.clone();
        }
        if self.probed[object].text_at.is_none() {
            self.look_for_text(pid, object, statement);
        }
        let read = self.probed[object].text_at.and_then(|at| text_at(pid, statement + at));
        let known = self.statements.entry(pid).or_default();
        let is_sure = |text: &String| fresh.is_none() || known.compiled.contains(text);
        let text = read.filter(is_sure).or(fresh).map(|sql| without_values(&sql));
        if known.texts.len() >= STATEMENTS_MAX {
            known.texts.clear();
        }
        if text.is_some() {
            known.texts.insert(statement, (known.compilations, text.clone()));
        }
        text
    }

    /// Finds where in a statement the pointer to its text is: the place that points to a text which was just compiled, or at
    /// which several statements point to something that begins like SQL. Each build of SQLite has its own. Statements that
    /// were compiled before the watch began have a text from then on.
    fn look_for_text(&mut self, pid: u32, object: usize, statement: u64) {
        let Some(bytes) = memory(pid, statement, STATEMENT_BYTES) else { return };
        let pointers = bytes.chunks_exact(8).map(|chunk| u64::from_ne_bytes(chunk.try_into().unwrap_or_default()));
        let texts = pointers.enumerate().filter(|(_, pointer)| *pointer > 0xffff);
        let texts = texts.filter_map(|(place, pointer)| Some((place, text_of(pid, pointer)?)));
        let compiled = self.statements.get(&pid).map(|known| known.compiled.as_slice()).unwrap_or_default();
        let probed = &mut self.probed[object];
        for (place, text) in texts {
            let witnesses = probed.witnesses.entry(place).or_default();
            witnesses.insert(statement);
            let is_compiled = text.len() >= TEXT_BYTES_MIN && compiled.contains(&text);
            if is_compiled || witnesses.len() >= WITNESSES {
                probed.text_at = Some(8 * place as u64);
                return;
            }
        }
    }
}

impl Statements {
    fn compile(&mut self, tid: u32, sql: &str) {
        self.compilations += 1;
        self.fresh.insert(tid, sql.to_string());
        if !self.compiled.iter().any(|text| text == sql) {
            self.compiled.push(sql.to_string());
            let surplus = self.compiled.len().saturating_sub(TEXTS_MAX);
            self.compiled.drain(..surplus);
        }
    }
}

/// The text that a pointer at an address points to.
fn text_at(pid: u32, address: u64) -> Option<String> {
    let pointer = memory(pid, address, 8)?;
    text_of(pid, u64::from_ne_bytes(pointer.try_into().ok()?))
}

/// The statement at an address, if there is one: text up to its end mark that begins like SQL.
fn text_of(pid: u32, address: u64) -> Option<String> {
    /// The end of a page may be the end of the memory.
    const PAGE: u64 = 4096;
    let whole = memory(pid, address, TEXT_BYTES_MAX);
    let bytes = whole.or_else(|| memory(pid, address, (PAGE - address % PAGE).min(TEXT_BYTES_MAX as u64) as usize))?;
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    is_sql(&bytes[..end]).then(|| String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// Whether bytes begin like a statement.
fn is_sql(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let word: String = text.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(&word))
}

fn call(kind: Kind, statement: u64, sql: String, code: i32) -> What {
    match kind {
        Kind::PrepareBegins => What::PrepareBegins { sql },
        Kind::PrepareEnds => What::PrepareEnds { code },
        Kind::StepBegins => What::StepBegins { statement, sql: None },
        Kind::StepEnds => What::StepEnds { code },
    }
}

/// Lock calls on the database files and their `-shm`. Where there is no `-shm` yet, those on its bytes of any file.
fn lock_filter(databases: &[Database]) -> String {
    let terms = databases.iter().map(|database| {
        let (device, inode) = (database.id.device, database.id.inode);
        let shm = match database.shm {
            Some(shm) => format!("i_ino == {}", shm.inode),
            None => "fl_start >= 120 && fl_start <= 128".to_string(),
        };
        format!("(s_dev == {device} && (i_ino == {inode} || ({shm})))")
    });
    terms.collect::<Vec<_>>().join(" || ")
}

/// Syncs on the devices of the databases.
fn sync_filter(databases: &[Database]) -> String {
    let mut devices: Vec<u32> = databases.iter().map(|database| database.id.device).collect();
    devices.sort_unstable();
    devices.dedup();
    devices.iter().map(|device| format!("dev == {device}")).collect::<Vec<_>>().join(" || ")
}
