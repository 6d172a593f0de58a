//! A private database server: makes and configures its data directory, starts it as an unprivileged user, waits until
//! it answers, watches and stops it, and removes everything that it leaves.

use crate::engine::server::{Layout, LockWaits, OwnCounts, Server, Signal};
use crate::engine::{Engine, Settings};
use crate::record::model::ServerLockWaits;
use crate::trial::server::ending::while_starting;
use crate::trial::server::identity::{Identity, command};
use crate::trial::server::secrets::{free_port, random_text, write_secret};
use crate::trial::server::shared_memory::SharedMemory;
use crate::trial::server::socket_dir::SocketDir;
use crate::trial::stop::Cancelled;
use crate::trial::watch::device;
use crate::trial::watch::group::Group;
use crate::trial::watch::janitor::Janitor;
use crate::trial::watch::killing::{kill_all, number};
use crate::trial::watch::orphans;
use crate::trial::workers::admin::{Admin, script_target};
use anyhow::{Context, Result, bail};
use contend_wire::database::{Address, Database};
use contend_wire::literal::Value;
use contend_wire::script::Target;
use rustix::process::{Pid, kill_process};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Longest time until a server answers, with recovery and on a slow disk.
const READY_TIME: Duration = Duration::from_secs(120);
/// Time between two attempts to connect.
const ASK_EVERY: Duration = Duration::from_millis(20);
/// Longest time for an orderly stop, with everything written back.
const STOP_TIME: Duration = Duration::from_secs(120);
/// Longest time for an immediate stop.
const ABORT_TIME: Duration = Duration::from_secs(5);
/// Longest time for sessions to end when their clients have.
const SESSIONS_END: Duration = Duration::from_secs(2);
/// Directories of servers' programs, separated by colons, instead of PATH and the usual directories: for versions that
/// are not installed as packages.
const DIRS_VARIABLE: &str = "CONTEND_SERVERS";

/// Paths of a server's programs on this machine.
#[derive(Debug, Clone)]
pub struct Programs(BTreeMap<&'static str, PathBuf>);

impl Programs {
    /// Looks for the programs in PATH and where packages install them.
    ///
    /// # Errors
    /// The program that is missing, and how to install it.
    pub fn find(server: &Server) -> Result<Self> {
        let (dirs, places): (Vec<PathBuf>, _) = match std::env::var_os(DIRS_VARIABLE) {
            Some(dirs) => {
                let places = format!("not in {DIRS_VARIABLE}, which is {}", dirs.display());
                (std::env::split_paths(&dirs).collect(), places)
            }
            None => {
                let path = std::env::var_os("PATH").unwrap_or_default();
                let places = server.places.iter().flat_map(|place| expanded(place));
                let all = std::env::split_paths(&path).chain(places).collect();
                (all, format!("neither in PATH nor in {}", server.places.join(", ")))
            }
        };
        let mut found = BTreeMap::new();
        for name in server.programs {
            let Some(program) = dirs.iter().map(|dir| dir.join(name)).find(|path| path.is_file()) else {
                bail!(
                    "{} is not installed: `{name}` is {places}; install it with `{}`, or name the directories of its \
                     programs in {DIRS_VARIABLE}",
                    server.title,
                    server.install
                );
            };
            found.insert(*name, program);
        }
        Ok(Self(found))
    }

    /// The version that the server's program prints.
    ///
    /// # Errors
    /// It cannot be run.
    pub fn version(&self, server: &Server) -> Result<String> {
        let program = self.path(server.programs[0])?;
        let output = command(program, &["--version".to_string()], None).output();
        let output = output.with_context(|| format!("cannot run {}", program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // The text may contain the path, which is not part of the version.
        Ok(text.trim().replace(&program.display().to_string(), server.programs[0]))
    }

    fn path(&self, name: &str) -> Result<&Path> {
        self.0.get(name).map(PathBuf::as_path).with_context(|| format!("`{name}` is not among the programs"))
    }

    /// A command line of the engine's table with its program found.
    fn command(&self, line: &[String], identity: &Identity) -> Result<std::process::Command> {
        let (program, args) = line.split_first().context("an empty command")?;
        Ok(command(self.path(program)?, args, Some(identity)))
    }
}

/// Directories that match a pattern, the highest version first.
fn expanded(place: &str) -> Vec<PathBuf> {
    let Some((before, after)) = place.split_once('*') else { return vec![PathBuf::from(place)] };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let version = |path: &PathBuf| {
        let text = path.display().to_string();
        let digits = text[before.len().min(text.len())..].split(|c: char| !c.is_ascii_digit());
        digits.filter_map(|d| d.parse::<u64>().ok()).collect::<Vec<_>>()
    };
    let entries = std::fs::read_dir(format!("{parent}/")).into_iter().flatten().flatten();
    let fitting = entries.filter(|e| e.file_name().to_string_lossy().starts_with(prefix));
    let mut found: Vec<PathBuf> = fitting.map(|e| PathBuf::from(format!("{}{after}", e.path().display()))).collect();
    found.sort_by_key(version);
    found.reverse();
    found
}

/// Arguments for starting a server.
pub struct Start<'s> {
    pub engine: &'static Engine,
    pub server: &'static Server,
    pub programs: &'s Programs,
    pub settings: &'s Settings,
    /// Its data directory, made by [`initialise`].
    pub data: PathBuf,
    pub log: PathBuf,
    /// Connections that clients will open.
    pub connections: u32,
    /// Whether it also listens on the loopback interface.
    pub tcp: bool,
}

/// A running server.
pub struct Running<'j> {
    child: Child,
    server: &'static Server,
    layout: Layout,
    log: PathBuf,
    /// Directory of socket and password; removed with the server.
    private: SocketDir,
    /// Address for clients, without the database.
    address: Address,
    /// Version that it reports.
    pub version: String,
    /// Flushes of the disk of its data right before its start.
    flushes_before: Option<u64>,
    janitor: &'j Janitor,
    /// Its named shared memory.
    shared_memory: SharedMemory,
    /// Whether shared memory is left after a crash for the next server on this data, which cleans up.
    rest_is_kept: bool,
}

/// Makes an empty data directory; the output goes into a log next to it, whose path is returned.
///
/// # Errors
/// The command that failed, with the last lines of its output; [`Cancelled`].
pub fn initialise(
    server: &Server,
    programs: &Programs,
    data: &Path,
    janitor: &Janitor,
    cancelled: &dyn Fn() -> bool,
) -> Result<PathBuf> {
    let (identity, log) = (Identity::for_servers(data)?, data.with_extension("log"));
    std::fs::create_dir_all(data).with_context(|| format!("cannot create {}", data.display()))?;
    identity.own(data)?;
    let layout = Layout {
        data: data.to_path_buf(),
        socket_dir: "/tmp".into(),
        socket: String::new(),
        port: None,
        connections: 1,
        only: Identity::only(),
    };
    for line in (server.initialise)(&layout) {
        let file = File::create(&log).with_context(|| format!("cannot create {}", log.display()))?;
        let mut command = programs.command(&line, &identity)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).env("TMPDIR", data);
        let mut program = Group::start(&mut command, janitor).with_context(|| format!("cannot run {}", line[0]))?;
        let status = program.wait(None, cancelled)?.context("it was waited for without a deadline")?.status;
        if !status.success() {
            let said = last_lines(&log_text(&log).unwrap_or_default());
            bail!("{} could not make a data directory in {} ({status}): {said}", line[0], data.display());
        }
    }
    Ok(log)
}

impl<'j> Running<'j> {
    /// Starts a server and waits until it answers.
    ///
    /// # Errors
    /// It does not start or answer in time, with the last lines of its log; [`Cancelled`].
    pub fn start(start: &Start<'_>, janitor: &'j Janitor, admin: &mut Admin<'_>) -> Result<Self> {
        const PORTS_TRIED: u32 = 5;
        let mut tries = PORTS_TRIED;
        loop {
            match Self::start_once(start, janitor, admin) {
                // Another program may have taken the port in between.
                Err(_) if start.tcp && tries > 1 && port_was_taken(&start.log) => tries -= 1,
                other => return other,
            }
        }
    }

    fn start_once(start: &Start<'_>, janitor: &'j Janitor, admin: &mut Admin<'_>) -> Result<Self> {
        let (server, identity) = (start.server, Identity::for_servers(&start.data)?);
        let private = SocketDir::make(server, &identity)?;
        janitor.dir_exists(private.path());
        let port = if start.tcp { Some(free_port()?) } else { None };
        let layout = Layout {
            data: start.data.clone(),
            socket_dir: private.path().to_path_buf(),
            socket: (server.socket)(port),
            port,
            connections: start.connections,
            only: Identity::only(),
        };
        let configuration = (server.configuration)(start.settings, &layout);
        for (name, text) in std::iter::once(configuration).chain((server.access)(&layout)) {
            identity.write(&start.data.join(name), &text)?;
        }
        let log = File::create(&start.log).with_context(|| format!("cannot create {}", start.log.display()))?;
        let flushes_before = device::flushes(&start.data);
        let mut command = start.programs.command(&(server.start)(&layout), &identity)?;
        command.stdin(Stdio::null()).stdout(Stdio::from(log.try_clone()?)).stderr(Stdio::from(log));
        let child = orphans::spawn(command.current_dir("/").process_group(0))
            .with_context(|| format!("cannot start {}", server.title))?;
        janitor.server_lives(child.id(), server.abort);
        let address = server.by_socket(&layout, "");
        let log = start.log.clone();
        let mut running = Self {
            child,
            server,
            layout,
            log,
            private,
            address,
            version: String::new(),
            flushes_before,
            janitor,
            shared_memory: SharedMemory::default(),
            rest_is_kept: false,
        };
        running.wait_until_ready(start.engine, admin)?;
        running.shared_memory = SharedMemory::of(running.pid());
        running.shared_memory.tell(janitor);
        if let Some(port) = running.layout.port {
            running.let_in(start.engine, port, admin)?;
        }
        Ok(running)
    }

    fn wait_until_ready(&mut self, engine: &Engine, admin: &mut Admin<'_>) -> Result<()> {
        // No settings are sent, so any error means that the server does not answer yet.
        let target = script_target(engine, &self.inside(self.server.first_database));
        let target = Target { session: vec![], ..target };
        let deadline = Instant::now() + READY_TIME;
        loop {
            if let Some(status) = self.child.try_wait().context("cannot ask for the server's state")? {
                return Err(while_starting(self.server.title, status, &self.last_words()));
            }
            match admin.sql(&target, [self.server.version]) {
                Ok(rows) => {
                    if let Some(Value::Text(version)) = rows.first().and_then(|r| r.first()).and_then(|r| r.first()) {
                        self.version.clone_from(version);
                    }
                    return Ok(());
                }
                Err(e) if e.is::<Cancelled>() => return Err(e),
                Err(e) if Instant::now() >= deadline => {
                    let (title, seconds) = (self.server.title, READY_TIME.as_secs());
                    bail!("{title} did not answer within {seconds} s: {e:#}; its log ends: {}", self.last_words());
                }
                Err(_) => std::thread::sleep(ASK_EVERY),
            }
        }
    }

    /// Gives contend's user a random password, for TCP.
    fn let_in(&mut self, engine: &Engine, port: u16, admin: &mut Admin<'_>) -> Result<()> {
        let password = random_text()?;
        let file = self.private.path().join("password");
        write_secret(&file, &password)?;
        let target = script_target(engine, &self.inside(self.server.first_database));
        admin.sql(&target, (self.server.let_in)(&password)).context("cannot set the password of contend's user")?;
        self.address = self.server.by_tcp(port, &file, "");
        Ok(())
    }

    /// The address clients use for a database.
    pub fn address(&self, database: &str) -> Database {
        Database::Server(self.address.with_database(database))
    }

    /// The address contend itself uses: over the socket.
    pub fn inside(&self, database: &str) -> Database {
        Database::Server(self.server.by_socket(&self.layout, database))
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How the server ended, with the last lines of its log; `None` if it runs.
    pub fn death(&mut self) -> Option<String> {
        let ending = self.child.try_wait().ok().flatten()?;
        Some(format!("{} ended ({ending}); its log ends: {}", self.server.title, self.last_words()))
    }

    /// As [`Self::death`], waiting up to this time for it to end.
    pub fn death_within(&mut self, time: Duration) -> Option<String> {
        self.wait(time);
        self.death()
    }

    /// The first row of an answer in its first database; `None` if it refuses or is dead.
    fn row(&self, query: &str, engine: &Engine, admin: &mut Admin<'_>) -> Result<Option<Vec<Value>>> {
        let target = script_target(engine, &self.inside(self.server.first_database));
        match admin.sql(&target, [query]) {
            Ok(answers) => Ok(answers.into_iter().next().and_then(|rows| rows.into_iter().next())),
            Err(e) if e.is::<Cancelled>() => Err(e),
            Err(_) => Ok(None),
        }
    }

    /// Its counts of itself; none if it does not keep them or is dead.
    ///
    /// # Errors
    /// [`Cancelled`].
    pub fn own_counts(&self, engine: &Engine, admin: &mut Admin<'_>) -> Result<OwnCounts> {
        let row = self.row(self.server.own_counts, engine, admin)?.unwrap_or_default();
        let number = |at: usize| match row.get(at)? {
            Value::Integer(n) => u64::try_from(*n).ok(),
            _ => None,
        };
        let [syncs, sessions, logged, rolled_back, reset_us] = [0, 1, 2, 3, 4].map(number);
        // Read last: all that the server has counted was flushed before.
        let now = device::flushes(&self.layout.data);
        let flushes = now.zip(self.flushes_before).map(|(now, before)| now.saturating_sub(before));
        Ok(OwnCounts { syncs, sessions, logged, rolled_back, reset_us, flushes, is_reset: false })
    }

    /// The same once other sessions have ended, or after a time in which they do not.
    ///
    /// # Errors
    /// [`Cancelled`].
    pub fn own_counts_in_the_end(&self, engine: &Engine, admin: &mut Admin<'_>) -> Result<OwnCounts> {
        let deadline = Instant::now() + SESSIONS_END;
        loop {
            let counts = self.own_counts(engine, admin)?;
            if counts.sessions.is_none_or(|n| n == 0) || Instant::now() >= deadline {
                return Ok(counts);
            }
            std::thread::sleep(ASK_EVERY);
        }
    }

    /// Waits for locks since its start, as it reports; `None` if it is dead.
    ///
    /// # Errors
    /// [`Cancelled`].
    pub fn lock_waits(&self, engine: &Engine, admin: &mut Admin<'_>) -> Result<Option<ServerLockWaits>> {
        match self.server.lock_waits {
            LockWaits::Log(wait_ns) => {
                let Ok(log) = log_text(&self.log) else { return Ok(None) };
                let mut waits = ServerLockWaits::default();
                for ns in log.lines().filter_map(wait_ns) {
                    waits.count += 1;
                    waits.total_ns = waits.total_ns.saturating_add(ns);
                    waits.max_ns = waits.max_ns.max(ns);
                }
                Ok(Some(waits))
            }
            LockWaits::Counters(query) => {
                let number = |value: &Value| match value {
                    Value::Integer(n) => u64::try_from(*n).ok(),
                    Value::Real(x) => Some(x.round() as u64),
                    Value::Text(text) => text.parse::<f64>().ok().map(|x| x.round() as u64),
                    _ => None,
                };
                let row = self.row(query, engine, admin)?;
                let row: Option<Vec<u64>> = row.map(|row| row.iter().filter_map(number).collect());
                Ok(row.filter(|row| row.len() == 3).map(|row| ServerLockWaits {
                    count: row[0],
                    total_ns: row[1].saturating_mul(1_000_000),
                    max_ns: row[2].saturating_mul(1_000_000),
                }))
            }
        }
    }

    fn last_words(&self) -> String {
        last_lines(&log_text(&self.log).unwrap_or_default())
    }

    /// Stops it in an orderly way, so that its data directory can be copied.
    ///
    /// # Errors
    /// It does not end in time, or ends with an error.
    pub fn stop(mut self) -> Result<()> {
        self.signal(self.server.stop);
        if !self.wait(STOP_TIME) {
            bail!("{} did not stop within {} s: {}", self.server.title, STOP_TIME.as_secs(), self.last_words());
        }
        match self.child.try_wait()? {
            Some(status) if status.success() => Ok(()),
            status => bail!("{} did not stop cleanly ({status:?}): {}", self.server.title, self.last_words()),
        }
    }

    /// Kills all its processes at once, as a crash would, and waits until they are gone.
    ///
    /// # Errors
    /// A process is still alive.
    pub fn kill(&mut self) -> Result<()> {
        self.rest_is_kept = true;
        kill_all(&mut self.child).with_context(|| format!("{} cannot be killed", self.server.title))
    }

    /// Removes what it leaves outside its data directory. Failures are ignored: nothing depends on it, and a restart of
    /// the machine removes it.
    fn remove_rest(&self) {
        self.shared_memory.remove(self.server.lists_memory);
        if let Some(line) = (self.server.leftover)(&|name| std::fs::read_to_string(self.layout.data.join(name)).ok()) {
            let _ = command(Path::new(&line[0]), &line[1..], None).stderr(Stdio::null()).status();
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            // It may be gone already.
            let _ = kill_process(pid, number(signal));
        }
    }

    fn wait(&mut self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        loop {
            match self.child.try_wait() {
                Ok(Some(_)) | Err(_) => return true,
                Ok(None) if Instant::now() >= deadline => return false,
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

impl Drop for Running<'_> {
    /// The data of a trial is thrown away, so the server is killed instead of stopped.
    fn drop(&mut self) {
        let pid = self.child.id();
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal(self.server.abort);
            if !self.wait(ABORT_TIME) {
                // With its children: a surviving one could hold locks that the next server on these files needs.
                let _ = kill_all(&mut self.child);
            }
        }
        if !self.rest_is_kept {
            self.remove_rest();
        }
        self.shared_memory.forget(self.janitor);
        self.janitor.server_gone(pid);
        let _ = std::fs::remove_dir_all(self.private.path());
        self.janitor.dir_gone(self.private.path());
    }
}

/// Whether a server's log has the system's message that the port is in use.
fn port_was_taken(log: &Path) -> bool {
    log_text(log).is_ok_and(|text| text.contains("Address already in use"))
}

/// The text of a server's log, which is written in the encoding of its locale or database.
fn log_text(log: &Path) -> std::io::Result<String> {
    Ok(String::from_utf8_lossy(&std::fs::read(log)?).into_owned())
}

fn last_lines(text: &str) -> String {
    // PostgreSQL writes the reason five lines before its last line.
    const LINES: usize = 6;
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).rev().take(LINES).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" / ")
}
