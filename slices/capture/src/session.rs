//! A capture while it is made: the command with the library in it, the databases that are asked for, what is missing.

use crate::content;
use crate::foreign::{Lookout, descendants};
use crate::manifest::{Clock, Database, FORMAT, Manifest, Values, make_private, write_private};
use crate::segment::SEGMENTS;
use crate::trace::Trace;
use anyhow::{Context, Result, bail, ensure};
use contend_interpose::{LIBRARY, format, ticks};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use tempfile::TempDir;

const LIBRARY_FILE: &str = "libcontend_interpose.so";

/// A command that is captured.
pub struct Session<'s> {
    out: PathBuf,
    manifest: Manifest,
    lookout: Lookout,
    /// Databases by device and inode.
    kept: BTreeMap<String, usize>,
    /// When the content of each was kept.
    kept_ns: Vec<u64>,
    /// Holds the library where the capture's own directory cannot; removed with this.
    elsewhere: Option<TempDir>,
    stop: &'s AtomicBool,
}

/// How long a process may take to write which database it opens.
const QUESTION_AGE_MAX: Duration = Duration::from_secs(1);

/// A reading of both clocks.
fn clocks() -> (u64, u64) {
    let time = clock_gettime(ClockId::Monotonic);
    (ticks(), time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned())
}

/// Whether the kernel itself trusts the processor's counter.
fn has_ticks() -> bool {
    let source = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    cfg!(target_arch = "x86_64") && source.is_ok_and(|source| source.trim() == "tsc")
}

fn say(text: &str) {
    eprintln!("contend: {text}");
}

impl<'s> Session<'s> {
    /// Makes the directory.
    ///
    /// # Errors
    /// The directory cannot be made, or this machine's processor is not known to the library.
    pub fn new(out: &Path, command: &[String], values: Values, stop: &'s AtomicBool) -> Result<Session<'s>> {
        ensure!(!LIBRARY.is_empty(), "programs can be captured on Linux on x86_64 only");
        make_private(out)?;
        let out = out.canonicalize().with_context(|| format!("cannot find {}", out.display()))?;
        make_private(&out.join(SEGMENTS))?;
        let now = clocks();
        let manifest = Manifest {
            format: FORMAT,
            command: command.to_vec(),
            began_unix_s: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs()),
            values,
            clock: Clock { is_ticks: has_ticks(), from: now, to: now },
            status: None,
            databases: vec![],
            missing: vec![],
        };
        Ok(Session {
            out,
            manifest,
            lookout: Lookout::default(),
            kept: BTreeMap::new(),
            kept_ns: vec![],
            elsewhere: None,
            stop,
        })
    }

    /// Runs the command to its end; its exit status.
    ///
    /// # Errors
    /// It cannot be started, or the capture cannot be written.
    pub fn run(&mut self) -> Result<u8> {
        let file = program(&self.manifest.command[0])?;
        if let Some(sentence) = self.lookout.look_at_file(&file) {
            self.is_missing(sentence);
        }
        refuse_secure(&file)?;
        let library = self.place_library()?;
        self.manifest.write(&self.out)?;
        // Processes that lose their parent become children of this one, and stay in sight.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let mut command = Command::new(&self.manifest.command[0]);
        command.args(&self.manifest.command[1..]).env(format::VARIABLE, self.variable()?);
        let before = std::env::var_os("LD_PRELOAD").filter(|before| !before.is_empty());
        let mut preload = library.into_os_string();
        if let Some(before) = before {
            preload.push(":");
            preload.push(before);
        }
        command.env("LD_PRELOAD", preload);
        let child = command.spawn().with_context(|| format!("cannot start {}", self.manifest.command[0]))?;
        let status = self.attend(child)?;
        self.manifest.status = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        self.finish()?;
        Ok(u8::try_from(self.manifest.status.unwrap_or(0)).unwrap_or(u8::MAX))
    }

    /// What the library gets to know.
    fn variable(&self) -> Result<OsString> {
        let mut key = [0u8; 16];
        fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut key)).context("no random numbers")?;
        let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        let values = if self.manifest.values == Values::Full { "full" } else { "hash" };
        let clock = if self.manifest.clock.is_ticks { "ticks" } else { "ns" };
        let mut text = OsString::from(format!("{values}:{clock}:{}:{key}:", std::process::id()));
        text.push(self.out.join(SEGMENTS));
        Ok(text)
    }

    /// Puts the library where the loader can take it from: LD_PRELOAD knows no path with a space or a colon, and no file
    /// system without programs.
    fn place_library(&mut self) -> Result<PathBuf> {
        let is_usable = |path: &Path| {
            let may_execute =
                rustix::fs::statvfs(path).is_ok_and(|fs| !fs.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC));
            may_execute && !path.as_os_str().as_bytes().iter().any(|byte| b" :;\t\n".contains(byte))
        };
        let mut place = self.out.clone();
        if !is_usable(&place) {
            // A new directory that only this user may enter.
            let made = tempfile::Builder::new().prefix("contend-").tempdir().context("no place for the library")?;
            place = self.elsewhere.insert(made).path().to_path_buf();
        }
        if !is_usable(&place) {
            bail!(
                "no place for the library: {} has a space or colon in its name or is mounted noexec; name another --out",
                self.out.display()
            );
        }
        let path = place.join(LIBRARY_FILE);
        write_private(&path, LIBRARY)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
        Ok(path)
    }

    /// Answers what the library asks, and looks at the processes, until the command has ended.
    fn attend(&mut self, mut child: Child) -> Result<ExitStatus> {
        const POLL: Duration = Duration::from_millis(1);
        const LOOK: Duration = Duration::from_millis(100);
        let segments = self.out.join(SEGMENTS);
        let (mut changed, mut looked, mut passed_on) = (None, Instant::now(), false);
        let mut pause = LOOK / 10;
        loop {
            let now = fs::metadata(&segments).and_then(|meta| meta.modified()).ok();
            if now != changed {
                changed = now;
                self.keep_asked(&segments)?;
            }
            if let Some(status) = child.try_wait()? {
                self.keep_asked(&segments)?;
                return Ok(status);
            }
            if looked.elapsed() > pause {
                for sentence in self.lookout.look(child.id()) {
                    self.is_missing(sentence);
                }
                (looked, pause) = (Instant::now(), (pause * 2).min(LOOK * 5));
            }
            if self.stop.load(Ordering::Relaxed) && !passed_on {
                passed_on = true;
                if let Some(pid) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
                }
            }
            std::thread::sleep(POLL);
        }
    }

    fn is_missing(&mut self, sentence: String) {
        say(&sentence);
        self.manifest.missing.push(sentence);
    }

    /// Databases that a process waits to open.
    fn keep_asked(&mut self, segments: &Path) -> Result<()> {
        for entry in fs::read_dir(segments)?.flatten() {
            let name = entry.file_name();
            let Some(which) = name.to_str().and_then(|name| name.strip_prefix("keep-")) else { continue };
            let done = segments.join(format!("kept-{which}"));
            let Ok(text) = fs::read(entry.path()) else { continue };
            if done.exists() {
                continue;
            }
            // The line is complete with its end; the process is still writing otherwise, or was ended meanwhile.
            let Some(path) = text.strip_suffix(b"\n") else {
                let age = entry.metadata().and_then(|file| file.modified()).ok().and_then(|time| time.elapsed().ok());
                if age.is_some_and(|age| age > QUESTION_AGE_MAX) {
                    self.is_missing("The content of a database is not known: its name was not written in full.".into());
                    let _ = fs::remove_file(entry.path());
                }
                continue;
            };
            if !self.kept.contains_key(which) {
                self.keep(which, Path::new(OsStr::from_bytes(path)));
            }
            if write_private(&done, &[]).is_err() {
                // The other answer that processes wait for: they go on without a question.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }

    /// The content of a database before its first opening.
    fn keep(&mut self, which: &str, path: &Path) {
        let number = self.manifest.databases.len() + 1;
        let kept = content::keep(path, &self.out, &format!("content-{number}.db"), self.manifest.values);
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let content = match kept {
            Ok(content) => Some(content),
            Err(why) => {
                self.is_missing(format!("The content of {} is not known: {why:#}.", path.display()));
                None
            }
        };
        self.kept.insert(which.to_string(), self.manifest.databases.len());
        self.kept_ns.push(clocks().1);
        self.manifest.databases.push(Database { path, content, end: None });
    }

    /// A database that was not there when it was first opened is captured from its creation: what a later opening found in
    /// it is the program's work.
    fn forget_what_the_program_made(&mut self, trace: &Trace) {
        for (database, kept_ns) in self.manifest.databases.iter_mut().zip(&self.kept_ns) {
            let made = trace.connections.values().any(|connection| {
                connection.path == database.path && !connection.has_content && connection.opened_ns < *kept_ns
            });
            let content = database.content.take_if(|_| made);
            if let Some(copy) = content.and_then(|content| content.copy) {
                let _ = fs::remove_file(self.out.join(copy));
            }
        }
    }

    /// The content at the end, and the rest of the manifest.
    fn finish(&mut self) -> Result<()> {
        self.manifest.clock.to = clocks();
        for entry in fs::read_dir(self.out.join(SEGMENTS))?.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with("keep") || name.ends_with(".so") {
                let _ = fs::remove_file(entry.path());
            }
        }
        let _ = fs::remove_file(self.out.join(LIBRARY_FILE));
        let left = descendants(std::process::id()).len() - 1;
        if left > 0 {
            self.is_missing(format!(
                "{left} processes that the command started still run; what they do from now on is not captured."
            ));
        }
        let trace = Trace::read(&self.out, &self.manifest)?;
        self.forget_what_the_program_made(&trace);
        for connection in trace.connections.values().filter(|connection| connection.rc == 0) {
            let path = &connection.path;
            if !path.as_os_str().is_empty() && !self.manifest.databases.iter().any(|db| db.path == *path) {
                self.manifest.databases.push(Database { path: path.clone(), content: None, end: None });
            }
        }
        for (i, database) in self.manifest.databases.iter_mut().enumerate() {
            let name = format!("end-{}.db", i + 1);
            if database.path.is_file() {
                database.end = content::keep(&database.path, &self.out, &name, self.manifest.values).ok();
            }
        }
        self.say_what_was_not_seen();
        if trace.lost > 0 {
            self.is_missing(format!(
                "{} calls could not be written down: no more segments could be made (disk full?).",
                trace.lost
            ));
        }
        self.manifest.write(&self.out)?;
        self.say_what_there_is(&trace);
        Ok(())
    }

    /// Databases that were open, and that no captured call was on.
    fn say_what_was_not_seen(&mut self) {
        let used: Vec<&PathBuf> = self.manifest.databases.iter().map(|database| &database.path).collect();
        let unseen: Vec<String> = self
            .lookout
            .open
            .iter()
            .filter(|path| !used.contains(path) && !path.starts_with(&self.out))
            .map(|path| {
                format!(
                    "{} was open in a process of the command, but no call to SQLite on it was seen.",
                    path.display()
                )
            })
            .collect();
        unseen.into_iter().for_each(|sentence| self.is_missing(sentence));
    }

    fn say_what_there_is(&self, trace: &Trace) {
        let (statements, connections) = (trace.calls.len(), trace.connections.len());
        let values = match self.manifest.values {
            Values::Hash => "values as keyed hashes (no copy of the data)",
            Values::Full => "ALL VALUES AND COPIES OF THE DATABASES: keep it like the data itself",
        };
        say(&format!(
            "calls: {statements}, connections: {connections}, processes: {}, databases: {}; {values}. {}",
            trace.processes.len(),
            self.manifest.databases.len(),
            if self.manifest.missing.is_empty() {
                "Nothing is known to be missing."
            } else {
                "See above for what is missing."
            }
        ));
        if statements == 0 {
            say("No call to SQLite was seen: the command uses none, or one that cannot be captured (docs/capture.md).");
        }
        say(&format!("`contend capture show {}` shows it.", shown(&self.out)));
    }
}

/// A path as short as it can be typed here.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}

/// The file of a command.
fn program(name: &str) -> Result<PathBuf> {
    if name.contains('/') {
        return Ok(PathBuf::from(name));
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).map(|dir| dir.join(name)).find(|path| path.is_file());
    found.with_context(|| format!("there is no command `{name}`"))
}

/// The loader takes no library of ours into a program that has more rights than its user.
fn refuse_secure(file: &Path) -> Result<()> {
    const SET_ID: u32 = 0o6000;
    let mode = fs::metadata(file).map_or(0, |meta| meta.permissions().mode());
    ensure!(
        mode & SET_ID == 0,
        "{} runs with other rights than yours (setuid), so it cannot be captured",
        file.display()
    );
    Ok(())
}
