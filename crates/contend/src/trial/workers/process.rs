//! A worker process in its own process group, with deadlines for everything that it must send.
//!
//! One thread reads from the worker and one writes to it, so that a worker which does neither cannot block the tool.

use crate::engine::{self, Driver};
use crate::study::model::Contender;
use crate::trial::clock::monotonic_ns;
use crate::trial::itself;
use crate::trial::secret::keep_plain;
use crate::trial::watch::orphans;
use crate::trial::watch::stops::Stops;
use anyhow::{Context, Result, bail, ensure};
use contend_wire::handshake::{ToolLine, WorkerLine};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Longest frame that a worker may announce; a longer one means that the worker is broken.
const FRAME_BYTES_MAX: usize = 1 << 30;

/// What a worker did.
#[derive(Debug)]
pub enum Event {
    /// Sent a line, received at this time of the tool's monotonic clock.
    Line(WorkerLine, u64),
    /// Sent samples.
    Samples(Vec<u8>),
    /// Sent the reply to a script.
    Reply(String),
    /// Broke the protocol, or closed its output.
    Broken(String),
}

/// How to start a worker.
#[derive(Debug, Clone)]
pub struct Launch {
    pub program: PathBuf,
    pub args: Vec<String>,
}

/// Commands that replace contend's own workers.
#[derive(Debug, Clone, Default)]
pub struct InsteadOf {
    /// Replaces the worker with a contender's driver.
    pub worker: Option<Launch>,
    /// Replaces the HTTP client.
    pub client: Option<Launch>,
}

/// Name of contend's program, which is its own worker too.
const OWN: &str = "contend";

/// Verb with which contend is its own worker.
const OWN_VERB: &str = "worker";

/// Shell for commands that a user typed.
const SHELL: &str = "/bin/sh";

/// Makes the worker replace the shell, so that the process id is the worker's.
const IN_ITS_PLACE: &str = "exec ";

impl Launch {
    /// A command run by a shell, so that quotes and launchers such as `ssh HOST` or `env NAME=VALUE` work as typed.
    pub fn shell(command: &str) -> Self {
        Self { program: PathBuf::from(SHELL), args: vec!["-c".to_string(), format!("{IN_ITS_PLACE}{command}")] }
    }

    /// The command for the user's shell.
    pub fn typed(&self) -> String {
        match self.args.last().and_then(|line| line.strip_prefix(IN_ITS_PLACE)) {
            Some(command) if self.program == Path::new(SHELL) => command.to_string(),
            _ if self.args.is_empty() => self.program.display().to_string(),
            _ => format!("{} {}", self.program.display(), self.args.join(" ")),
        }
    }

    /// The command, without secrets and options of runtimes in its environment.
    pub fn command(&self) -> Command {
        let mut command = itself::command(&self.program);
        keep_plain(&mut command).args(&self.args);
        command
    }

    /// The tool's own binary as the Rust worker.
    pub fn own() -> Result<Self> {
        Ok(Self { program: itself::path()?, args: vec![OWN_VERB.to_string()] })
    }

    /// The worker of a contender: the build that it names, or the worker with its driver.
    ///
    /// # Errors
    /// The program does not exist: where it was looked for, and what to do.
    pub fn of_contender(contender: &Contender) -> Result<Self> {
        let driver = engine::driver(contender).context("a contender's driver must be known")?;
        match &contender.worker {
            Some(path) => Self::at(driver, Path::new(path)),
            None => Self::of(driver),
        }
    }

    /// A build of the worker with this driver; `path` is the program or its directory.
    fn at(driver: &Driver, path: &Path) -> Result<Self> {
        let (name, args) = driver.program.map_or((OWN, vec![OWN_VERB.to_string()]), |program| (program.name, vec![]));
        let program = if path.is_dir() { path.join(name) } else { path.to_path_buf() };
        ensure!(
            program.is_file(),
            "there is no {}; `worker` names a build of {name} for driver {}, or the directory that it is in",
            program.display(),
            driver.name
        );
        let mode =
            program.metadata().with_context(|| format!("cannot read {}", program.display()))?.permissions().mode();
        ensure!(mode & 0o111 != 0, "{} is not executable: `chmod +x` it, or name another build", program.display());
        Ok(Self { program, args })
    }

    /// The worker with this driver.
    ///
    /// # Errors
    /// It is a separate program that does not exist: where it was looked for, and the command that builds it.
    pub fn of(driver: &Driver) -> Result<Self> {
        let Some(worker) = &driver.program else { return Self::own() };
        let dirs = worker_dirs()?;
        if let Some(program) = dirs.iter().map(|dir| dir.join(worker.name)).find(|path| path.is_file()) {
            return Ok(Self { program, args: vec![] });
        }
        if let [program, args @ ..] = worker.run {
            return Ok(Self { program: PathBuf::from(program), args: args.iter().map(ToString::to_string).collect() });
        }
        let dirs: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
        let build = match worker.build {
            "" => "its worker.toml does not say how it is built".to_string(),
            build => format!("build it with `{build}` in the project's directory; that needs {}", worker.needs),
        };
        bail!("driver {} needs the worker {}, which is not in {}; {build}", driver.name, worker.name, dirs.join(" or "),)
    }
}

/// Environment variable with directories of worker programs and their manifests, separated by `:`.
pub const WORKERS: &str = "CONTEND_WORKERS";

/// The directories in `CONTEND_WORKERS`; `None` if it is not set.
pub fn named_dirs() -> Option<Vec<PathBuf>> {
    std::env::var_os(WORKERS).map(|dirs| std::env::split_paths(&dirs).collect())
}

/// Directories to search for worker programs: those in `CONTEND_WORKERS`, else next to this program or, where it was
/// built, next to its profile's directory.
///
/// # Errors
/// The path of this program is unknown.
pub fn worker_dirs() -> Result<Vec<PathBuf>> {
    if let Some(dirs) = named_dirs() {
        return Ok(dirs);
    }
    let program = itself::path()?;
    let beside = program.parent().unwrap_or(Path::new("."));
    Ok(vec![beside.join("workers"), beside.parent().unwrap_or(beside).join("workers")])
}

/// A running worker.
pub struct Worker {
    pub log: PathBuf,
    /// Signals that stopped it.
    pub stops: Stops,
    child: Child,
    /// Exit status once it was waited for.
    status: Option<ExitStatus>,
    to_worker: Option<Sender<Arc<[u8]>>>,
}

impl Worker {
    /// Starts a worker; its events arrive on `events` with its number.
    pub fn start(launch: &Launch, number: u32, log: &Path, events: Sender<(u32, Event)>) -> Result<Self> {
        let log_file = File::create(log).with_context(|| format!("cannot create {}", log.display()))?;
        let mut command = launch.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::from(log_file)).process_group(0);
        let mut child =
            orphans::spawn(&mut command).with_context(|| format!("cannot start {}", launch.program.display()))?;
        let (stdin, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let (to_worker, from_tool) = channel();
        std::thread::spawn(move || write_all(stdin, &from_tool));
        std::thread::spawn(move || read_all(stdout, number, &events));
        let stops = Stops::of(child.id());
        Ok(Self { log: log.to_path_buf(), stops, child, status: None, to_worker: Some(to_worker) })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends the worker a line; if the worker is gone, an event shows it.
    pub fn tell(&self, line: &ToolLine) {
        self.send(Arc::from(line.encode().into_bytes()));
    }

    /// Sends a line, then the bytes of its frame in pieces, which are shared, not copied.
    pub fn send_frame(&self, line: &ToolLine, pieces: &[Arc<[u8]>]) {
        self.tell(line);
        for piece in pieces {
            self.send(Arc::clone(piece));
        }
    }

    fn send(&self, bytes: Arc<[u8]>) {
        if let Some(channel) = &self.to_worker {
            let _ = channel.send(bytes);
        }
    }

    /// Sends `quit` and waits; kills the worker if it does not exit in time.
    pub fn quit(&mut self, within: Duration) {
        self.tell(&ToolLine::Quit);
        self.to_worker = None;
        let deadline = Instant::now() + within;
        while Instant::now() < deadline && !self.has_ended() {
            std::thread::sleep(Duration::from_micros(500));
        }
        self.kill();
    }

    /// Kills the worker and all that it started, and waits until it is gone.
    pub fn kill(&mut self) {
        self.to_worker = None;
        if self.status.is_none() {
            // Its children may outlive it. Its id cannot be reused until it is waited for.
            if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
                let _ = kill_process_group(pid, Signal::KILL);
                // It runs as another user: waiting for it could take for ever.
                if kill_process(pid, Signal::KILL) == Err(Errno::PERM) && !self.has_ended() {
                    return;
                }
            }
            self.status = self.child.wait().ok();
        }
    }

    /// Whether it has ended. It is not reaped, which would free its id.
    fn has_ended(&self) -> bool {
        let Some(pid) = Pid::from_raw(self.child.id() as i32) else { return true };
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.status.is_some() || !matches!(waitid(WaitId::Pid(pid), look), Ok(None))
    }

    /// How it ended; `None` if it runs.
    pub fn death(&mut self) -> Option<String> {
        self.has_ended().then(|| self.ending())
    }

    /// How a worker that closed its output ended; `None` if it still runs.
    pub fn death_after_output(&mut self) -> Option<String> {
        let ending = self.ending();
        self.status.is_some().then_some(ending)
    }

    /// How the worker ended, for messages.
    pub fn ending(&mut self) -> String {
        // The output closes slightly before the process can be waited for.
        for _ in 0..200 {
            if self.has_ended() {
                self.kill();
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.status.map_or("still running".to_string(), |status| status.to_string())
    }

    /// The last lines of its log, for messages.
    pub fn last_words(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = text.lines().rev().take(3).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join(" / ")
    }

    /// The last lines of its log, to append to a message; empty if the log is.
    pub fn end_of_log(&self) -> String {
        let words = self.last_words();
        if words.is_empty() { words } else { format!("; its log ends: {words}") }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

fn write_all(mut stdin: ChildStdin, from_tool: &Receiver<Arc<[u8]>>) {
    while let Ok(bytes) = from_tool.recv() {
        // A closed pipe means the worker is gone; the reading side reports that.
        if stdin.write_all(&bytes).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

fn read_all(stdout: ChildStdout, number: u32, events: &Sender<(u32, Event)>) {
    let mut reader = BufReader::with_capacity(1 << 16, stdout);
    loop {
        let event = next_event(&mut reader).unwrap_or_else(Event::Broken);
        let last = matches!(event, Event::Broken(_));
        if events.send((number, event)).is_err() || last {
            return;
        }
    }
}

fn next_event(reader: &mut BufReader<ChildStdout>) -> Result<Event, String> {
    const LINE_BYTES_MAX: u64 = 1 << 20;
    let mut line = String::new();
    let read = reader.by_ref().take(LINE_BYTES_MAX).read_line(&mut line).map_err(|e| format!("said: {e}"))?;
    let at = monotonic_ns();
    if read == 0 {
        return Err("closed its output".to_string());
    }
    let Some(line) = line.strip_suffix('\n') else {
        return Err("ended in the middle of a line".to_string());
    };
    let line = WorkerLine::decode(line).map_err(|e| format!("sent something unexpected: {}", e.message))?;
    match line {
        WorkerLine::Samples(n) => read_frame(reader, n).map(Event::Samples),
        WorkerLine::Reply(n) => String::from_utf8(read_frame(reader, n)?)
            .map(Event::Reply)
            .map_err(|_| "sent a reply that is not UTF-8".to_string()),
        line => Ok(Event::Line(line, at)),
    }
}

fn read_frame(reader: &mut BufReader<ChildStdout>, bytes: usize) -> Result<Vec<u8>, String> {
    if bytes > FRAME_BYTES_MAX {
        return Err(format!("announced a frame of {bytes} bytes; the maximum is {FRAME_BYTES_MAX}"));
    }
    let mut frame = vec![0; bytes];
    reader.read_exact(&mut frame).map_err(|_| format!("ended in the middle of a frame of {bytes} bytes"))?;
    Ok(frame)
}

/// Why nothing arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nothing {
    /// The deadline passed.
    Late,
    /// All senders are gone.
    Gone,
    /// The user wants to stop.
    Cancelled,
}

/// Waits for the next event until `deadline` or cancellation.
pub fn next(
    events: &Receiver<(u32, Event)>,
    deadline: Instant,
    cancelled: &dyn Fn() -> bool,
) -> Result<(u32, Event), Nothing> {
    const LOOK_EVERY: Duration = Duration::from_millis(100);
    loop {
        if cancelled() {
            return Err(Nothing::Cancelled);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        match events.recv_timeout(left.min(LOOK_EVERY)) {
            Ok(event) => return Ok(event),
            Err(RecvTimeoutError::Timeout) if left.is_zero() => return Err(Nothing::Late),
            Err(RecvTimeoutError::Timeout) => {}
            // Remaining events were received before.
            Err(RecvTimeoutError::Disconnected) => return Err(Nothing::Gone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_is_not_utf8_still_has_the_reason() {
        let log = tempfile::NamedTempFile::new().expect("a file");
        let args = ["-c", r"printf 'caf\351\nno driver\n' >&2"].map(str::to_string);
        let launch = Launch { program: SHELL.into(), args: args.to_vec() };
        let mut worker = Worker::start(&launch, 0, log.path(), channel().0).expect("a shell");
        worker.ending();
        assert_eq!(worker.end_of_log(), "; its log ends: caf\u{fffd} / no driver");
    }
}
