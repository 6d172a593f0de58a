//! Runs a captured command: loads the library into it, stores the content of databases on request, and notes what is
//! missing.

mod linked;

use crate::attach::{attached, number};
use crate::balance::unexplained;
use crate::content;
use crate::gaps::gaps;
use crate::manifest::{Clock, Database, FORMAT, Manifest, Values, halves, make_private, random_key, write_private};
use crate::segment::{SEGMENTS, pack_all};
use crate::trace::Trace;
use anyhow::{Context, Result, bail, ensure};
use contend::cli::say;
use contend::trial::watch::passing::PassedOn;
use contend_interpose::foreign::{
    Foreign, LIBRARY_FILE, Lookout, descendants, ended, has_other_rights, preload, program,
};
use contend_interpose::{LIBRARY, format, ticks};
use linked::Requests;
use rustix::time::{ClockId, clock_gettime};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};
use tempfile::TempDir;

/// Symbolic link through which the processes reach the segments. Removed when the capture ends: processes that still run
/// can then not add, truncate or request anything.
const LIVE: &str = "live";

/// A capture in progress.
pub struct Session<'s> {
    out: PathBuf,
    command: Vec<OsString>,
    /// File of the command.
    program: PathBuf,
    manifest: Manifest,
    began: SystemTime,
    /// Key of the hashes; in no file.
    key: [u8; 16],
    lookout: Lookout,
    requests: Requests,
    /// Index of each database by device and inode.
    kept: BTreeMap<String, usize>,
    /// Time at which the content of each database was stored.
    kept_ns: Vec<u64>,
    /// Holds the library if the capture's directory cannot; removed with this value.
    elsewhere: Option<TempDir>,
    /// Whether a process needs spare segments.
    needs_spares: bool,
    stop: &'s AtomicBool,
}

/// Longest time for a process to write the name of the database that it opens.
const QUESTION_AGE_MAX: Duration = Duration::from_secs(1);

/// A reading of both clocks.
fn clocks() -> (u64, u64) {
    let time = clock_gettime(ClockId::Monotonic);
    (ticks(), time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned())
}

/// Whether the kernel itself uses the processor's time-stamp counter.
fn has_ticks() -> bool {
    let source = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    cfg!(target_arch = "x86_64") && source.is_ok_and(|source| source.trim() == "tsc")
}

/// The clock of a capture that begins. Two readings give the rate of its ticks.
fn begun() -> Clock {
    const APART: Duration = Duration::from_millis(10);
    let (is_ticks, from) = (has_ticks(), clocks());
    if is_ticks {
        std::thread::sleep(APART);
    }
    Clock { is_ticks, from, to: clocks() }
}

impl<'s> Session<'s> {
    /// Creates the directory.
    ///
    /// # Errors
    /// The directory cannot be created, or the library does not support this machine's processor.
    pub fn new(out: &Path, command: &[OsString], values: Values, stop: &'s AtomicBool) -> Result<Session<'s>> {
        ensure!(!LIBRARY.is_empty(), "programs can be captured on Linux on x86_64 only");
        // A word that is mistyped leaves no directory.
        let file = program(&command[0]).with_context(|| format!("there is no command `{}`", command[0].display()))?;
        ensure!(
            !has_other_rights(&file),
            "{} runs with rights other than yours (setuid), so it cannot be captured",
            file.display()
        );
        make_private(out)?;
        let out = out.canonicalize().with_context(|| format!("cannot find {}", out.display()))?;
        make_private(&out.join(SEGMENTS))?;
        symlink(SEGMENTS, out.join(LIVE)).with_context(|| format!("cannot make a link in {}", out.display()))?;
        let (began, clock) = (SystemTime::now(), begun());
        let manifest = Manifest {
            format: FORMAT,
            command: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            began_unix_s: began.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs()),
            values,
            clock,
            status: None,
            databases: vec![],
            missing: vec![],
            segments: None,
            server: None,
            not_sealed: false,
        };
        Ok(Session {
            out,
            command: command.to_vec(),
            program: file,
            manifest,
            began,
            key: random_key()?,
            lookout: Lookout::default(),
            requests: Requests::default(),
            kept: BTreeMap::new(),
            kept_ns: vec![],
            elsewhere: None,
            needs_spares: false,
            stop,
        })
    }

    /// Runs the command to its end; returns its exit status.
    ///
    /// # Errors
    /// The command cannot be started, or the capture cannot be written.
    pub fn run(&mut self) -> Result<u8> {
        let program = self.lookout.look_at_file(&self.program);
        self.report(program, false);
        // Nothing of a capture that did not begin stays in the way of the next one.
        let library = self.place_library().inspect_err(|_| drop(fs::remove_dir_all(&self.out)))?;
        self.manifest.write(&self.out)?;
        // Orphaned descendants become children of this process, so that they can be observed.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).env(format::VARIABLE, self.variable()?);
        command.env("LD_PRELOAD", preload(&library));
        let child = command.spawn().with_context(|| format!("cannot start {}", self.manifest.command[0]));
        let child = child.inspect_err(|_| {
            let _ = fs::remove_dir_all(&self.out);
        })?;
        let status = self.attend(child)?;
        self.finish(status)?;
        Ok(u8::try_from(self.manifest.status.unwrap_or(0)).unwrap_or(u8::MAX))
    }

    /// The key of the hashes; `None` if values are kept.
    fn hash_key(&self) -> Option<[u64; 2]> {
        (self.manifest.values == Values::Hash).then(|| halves(self.key))
    }

    /// Settings for the library.
    fn variable(&self) -> Result<OsString> {
        let key: String = self.key.iter().map(|byte| format!("{byte:02x}")).collect();
        let values = if self.manifest.values == Values::Full { "full" } else { "hash" };
        let clock = if self.manifest.clock.is_ticks { "ticks" } else { "ns" };
        let mut text = OsString::from(format!("{values}:{clock}:{}:{key}:", std::process::id()));
        text.push(self.out.join(LIVE));
        Ok(text)
    }

    /// Puts the library where the loader accepts it: LD_PRELOAD supports no path with a space or a colon, and no file
    /// system mounted noexec.
    fn place_library(&mut self) -> Result<PathBuf> {
        let is_usable = |path: &Path| {
            let may_execute =
                rustix::fs::statvfs(path).is_ok_and(|fs| !fs.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC));
            may_execute && !path.as_os_str().as_bytes().iter().any(|byte| b" :;\t\n".contains(byte))
        };
        let mut place = self.out.clone();
        if !is_usable(&place) {
            // A new directory that only this user may enter.
            let made = tempfile::Builder::new().prefix("contend-").tempdir().context("cannot write the library")?;
            place = self.elsewhere.insert(made).path().to_path_buf();
        }
        if !is_usable(&place) {
            bail!(
                "cannot load the library: {} has a space or colon in its name or is mounted noexec; name another --out",
                self.out.display()
            );
        }
        let path = place.join(LIBRARY_FILE);
        write_private(&path, LIBRARY)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
        Ok(path)
    }

    /// Answers the library's requests and observes the processes until the command has ended.
    fn attend(&mut self, mut child: Child) -> Result<ExitStatus> {
        const POLL: Duration = Duration::from_millis(1);
        const LOOK: Duration = Duration::from_millis(100);
        // The directory's time does not change twice in one tick of the kernel, nor when a request gets its text.
        const UNCHANGED: Duration = Duration::from_millis(20);
        let segments = self.out.join(SEGMENTS);
        let (mut changed, mut looked) = (None, Instant::now());
        let mut read = looked;
        let mut signal = PassedOn::default();
        let mut pause = LOOK / 10;
        loop {
            let now = fs::metadata(&segments).and_then(|meta| meta.modified()).ok();
            if now != changed || read.elapsed() > UNCHANGED {
                (changed, read) = (now, Instant::now());
                self.keep_asked(&segments)?;
            }
            if self.needs_spares {
                keep_spares(&segments);
            }
            if let Some(status) = child.try_wait()? {
                self.keep_asked(&segments)?;
                let found = self.lookout.finish();
                self.report(found, true);
                return Ok(status);
            }
            if looked.elapsed() > pause {
                // Orphans have become children of this process.
                let found = self.lookout.look(std::process::id());
                self.report(found, false);
                reap(child.id());
                (looked, pause) = (Instant::now(), (pause * 2).min(LOOK * 5));
            }
            signal.look(self.stop, &child);
            std::thread::sleep(POLL);
        }
    }

    /// Reports files with SQLite in them whose calls are not captured.
    fn report(&mut self, found: impl IntoIterator<Item = Foreign>, is_end: bool) {
        let mut sentences: Vec<String> = found.into_iter().filter_map(|found| self.requests.report(found)).collect();
        sentences.extend(self.requests.overdue(is_end));
        sentences.into_iter().for_each(|sentence| self.is_missing(sentence));
    }

    fn is_missing(&mut self, sentence: String) {
        say(&sentence);
        self.manifest.missing.push(sentence);
    }

    /// Answers requests of processes: the content of databases that they wait to open, and plans.
    fn keep_asked(&mut self, segments: &Path) -> Result<()> {
        for entry in fs::read_dir(segments)?.flatten() {
            let name = entry.file_name();
            self.needs_spares |= name == format::WANTED;
            let Some(name) = name.to_str() else { continue };
            if let Some(which) = name.strip_prefix(format::PLAN_FAILED) {
                let report = self.requests.failed(which);
                report.into_iter().for_each(|sentence| self.is_missing(sentence));
            }
            let of_content = name.strip_prefix(format::CONTENT_ASKED);
            let Some(which) = of_content.or_else(|| name.strip_prefix(format::PLAN_ASKED)) else { continue };
            let done = segments.join(format!("{}{which}", format::CONTENT));
            let Ok(text) = fs::read(entry.path()) else { continue };
            if of_content.is_some() && done.exists() {
                continue;
            }
            // A line without its end is still being written, or its process has ended.
            let Some(path) = text.strip_suffix(b"\n") else {
                let age = entry.metadata().and_then(|file| file.modified()).ok().and_then(|time| time.elapsed().ok());
                if age.is_some_and(|age| age > QUESTION_AGE_MAX) {
                    self.is_missing("A request of a process is not answered: it was not written in full.".into());
                    let _ = fs::remove_file(entry.path());
                }
                continue;
            };
            let path = Path::new(OsStr::from_bytes(path));
            if of_content.is_none() {
                let report = self.requests.answer(&mut self.lookout, segments, which, path);
                report.into_iter().for_each(|sentence| self.is_missing(sentence));
                continue;
            }
            if !self.kept.contains_key(which) {
                self.keep(which, path);
            }
            if write_private(&done, &[]).is_err() {
                // Removing the request is also an answer: the process continues.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }

    /// Stores the content of a database before its first opening.
    fn keep(&mut self, which: &str, path: &Path) {
        let number = self.manifest.databases.len() + 1;
        let kept = content::keep(path, &self.out, &format!("content-{number}.db"), self.hash_key());
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let content = match kept {
            Ok(content) => Some(content),
            Err(why) => {
                self.is_missing(format!("The content of {} is unknown: {why:#}.", path.display()));
                None
            }
        };
        self.kept.insert(which.to_string(), self.manifest.databases.len());
        self.kept_ns.push(clocks().1);
        self.manifest.databases.push(Database { path, content, end: None, was_there: false });
    }

    /// A database that did not exist when it was first opened is captured from its creation: content found by a later
    /// opening is the program's work.
    fn forget_what_the_program_made(&mut self, trace: &Trace) {
        for (database, kept_ns) in self.manifest.databases.iter_mut().zip(&self.kept_ns) {
            let made = trace.connections.values().any(|connection| {
                connection.path == database.path && !connection.has_content() && connection.opened_ns < *kept_ns
            });
            let content = database.content.take_if(|_| made);
            if let Some(copy) = content.and_then(|content| content.copy) {
                let _ = fs::remove_file(self.out.join(copy));
            }
        }
    }

    /// Notes which files only ATTACH used, and were there before: what they had is unknown.
    fn note_what_was_there(&mut self, trace: &Trace) {
        for database in self.manifest.databases.iter_mut().filter(|database| database.content.is_none()) {
            let is_opened = trace.connections.values().any(|connection| connection.path == database.path);
            let made = fs::metadata(&database.path).and_then(|file| file.created());
            database.was_there = !is_opened && made.is_ok_and(|made| made < self.began);
        }
    }

    /// Closes the segments, and writes a manifest that protects them. What needs the whole trace in memory comes later.
    /// Returns whether processes of the command still run.
    fn close(&mut self) -> Result<bool> {
        self.manifest.clock.to = clocks();
        fs::remove_file(self.out.join(LIVE)).context("cannot end the capture")?;
        for entry in fs::read_dir(self.out.join(SEGMENTS))?.flatten() {
            let name = entry.file_name();
            if !name.to_string_lossy().ends_with(".seg") {
                let _ = fs::remove_file(entry.path());
            }
        }
        let left = descendants(std::process::id()).len() - 1;
        // The loader complains in each program that such a process starts if the library is gone.
        if left == 0 {
            let _ = fs::remove_file(self.out.join(LIBRARY_FILE));
        } else {
            if let Some(dir) = self.elsewhere.take() {
                let _ = dir.keep();
            }
            let processes = if left == 1 {
                "1 process that the command started still runs".into()
            } else {
                format!("{left} processes that the command started still run")
            };
            self.is_missing(format!("{processes}; nothing is captured from now on."));
        }
        self.manifest.segments = Some(pack_all(&self.out.join(SEGMENTS))?);
        self.manifest.write(&self.out)?;
        Ok(left > 0)
    }

    /// Stores the content at the end, and the rest of the manifest.
    fn finish(&mut self, status: ExitStatus) -> Result<()> {
        let runs_on = self.close()?;
        let trace = Trace::read(&self.out, &self.manifest)?;
        self.forget_what_the_program_made(&trace);
        let mut unknown = vec![];
        for connection in trace.connections.values().filter(|connection| connection.rc == 0) {
            let path = &connection.path;
            if !path.as_os_str().is_empty() && !self.manifest.databases.iter().any(|db| db.path == *path) {
                let on = trace.connections.values().filter(|other| other.rc == 0 && other.path == *path);
                if on.min_by_key(|other| other.opened_ns).is_some_and(|first| first.has_content()) {
                    unknown.push(path.display().to_string());
                }
                self.manifest.databases.push(Database {
                    path: path.clone(),
                    content: None,
                    end: None,
                    was_there: false,
                });
            }
        }
        for path in unknown {
            self.is_missing(format!(
                "The content of {path} at its first opening is unknown: a file that had been used before had the same inode, or \
                 another name of it was opened first."
            ));
        }
        // A file that ATTACH created was not there to be kept.
        for path in trace.calls.iter().filter(|call| !call.has_failed()).filter_map(|call| attached(call)?.path) {
            let path = path.canonicalize().unwrap_or(path);
            if path.is_absolute() && number(&self.manifest.databases, &path).is_none() {
                self.manifest.databases.push(Database { path, content: None, end: None, was_there: false });
            }
        }
        self.note_what_was_there(&trace);
        self.keep_ends();
        self.say_what_was_not_seen();
        self.manifest.missing.extend(gaps(&trace, &self.manifest.databases));
        if !runs_on {
            self.manifest.missing.extend(unexplained(&trace, &self.manifest.databases));
        }
        self.manifest.hash_copies(&self.out);
        self.manifest.status = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        self.manifest.write(&self.out)?;
        say_what_there_is(&self.manifest, &trace, &self.out);
        Ok(())
    }

    /// Stores the final content of all databases. A file that is gone has none.
    fn keep_ends(&mut self) {
        let (key, mut unknown) = (self.hash_key(), vec![]);
        for (i, database) in self.manifest.databases.iter_mut().enumerate() {
            if !database.path.is_file() {
                continue;
            }
            match content::keep(&database.path, &self.out, &format!("end-{}.db", i + 1), key) {
                Ok(end) => database.end = Some(end),
                Err(why) => {
                    unknown.push(format!("The final content of {} is unknown: {why:#}.", database.path.display()));
                }
            }
        }
        unknown.into_iter().for_each(|sentence| self.is_missing(sentence));
    }

    /// Notes processes that had a database open and are not captured, and databases that no captured call used.
    fn say_what_was_not_seen(&mut self) {
        let is_used = |path: &PathBuf| self.manifest.databases.iter().any(|database| database.path == *path);
        let mut unseen = BTreeSet::new();
        for open in self.lookout.open.iter().filter(|open| !open.path.starts_with(&self.out)) {
            let (path, program) = (open.path.display(), open.program.display());
            if !open.is_captured {
                unseen.insert(format!(
                    "{program} had {path} open. Its calls there are not captured, or only in part: it must keep \
                     LD_PRELOAD and {} in its environment, and its user.",
                    format::VARIABLE
                ));
            } else if !is_used(&open.path) {
                unseen.insert(format!(
                    "{path} was open in a process of the command, but no call to SQLite on it was seen."
                ));
            }
        }
        unseen.into_iter().for_each(|sentence| self.is_missing(sentence));
    }
}

/// Waits for orphans that have ended: nothing else does, and each keeps its number until then.
fn reap(command: u32) {
    for pid in ended(std::process::id()).into_iter().filter(|pid| *pid != command) {
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
        // The next look finds it again.
        let _ = rustix::process::waitpid(pid, rustix::process::WaitOptions::NOHANG);
    }
}

/// Makes the spare segments that are not there. Without space on the disk there are none, and processes say so themselves.
fn keep_spares(segments: &Path) {
    for number in 0..format::SPARES {
        let spare = segments.join(format!("{}{number}", format::SPARE));
        if !spare.exists() && write_private(&spare, &vec![0; format::SEGMENT_MAX]).is_err() {
            return;
        }
    }
}

/// Says what a finished capture has.
pub fn say_what_there_is(manifest: &Manifest, trace: &Trace, out: &Path) {
    let (statements, connections) = (trace.calls.len(), trace.connections.len());
    let is_server = manifest.server.is_some();
    let values = match manifest.values {
        Values::Hash => "values as keyed hashes (no copy of the data)",
        Values::Full if is_server => "ALL VALUES: keep it like the data itself",
        Values::Full => "ALL VALUES AND COPIES OF THE DATABASES: keep it like the data itself",
    };
    let programs = if is_server { "programs" } else { "processes" };
    say(&format!(
        "calls: {statements}, connections: {connections}, {programs}: {}, databases: {}; {values}. {}",
        trace.processes.len(),
        manifest.databases.len(),
        if manifest.missing.is_empty() { "Nothing is known to be missing." } else { "The capture has gaps:" }
    ));
    // The first messages about them may be far above, among what the program printed.
    manifest.missing.iter().for_each(|sentence| say(&format!("- {sentence}")));
    if statements == 0 && is_server {
        say("No statement was seen: no client has used the address above.");
    } else if statements == 0 {
        say("No call to SQLite was seen: the command uses none, or one that cannot be captured (docs/capture.md).");
    }
    say(&format!("What it does: contend capture show {}", shown(out)));
}

/// The path relative to the current directory, if that is shorter.
pub fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}
