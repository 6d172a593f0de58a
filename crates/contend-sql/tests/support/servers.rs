//! Private servers from the installed packages: own data directory below a temporary directory, an unprivileged user
//! when started as root, a socket and nothing else, gone when dropped and when the test dies.

use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};
use tempfile::TempDir;

const START_TIME: Duration = Duration::from_secs(60);
const STOP_TIME: Duration = Duration::from_secs(10);
/// `nobody` and `nogroup` of Debian and most others.
const NOBODY: u32 = 65534;
const INSTALL: &str = "run scripts/install-test-deps.sh, which installs it";

/// A server that runs until it is dropped.
pub struct Server {
    child: Child,
    stop: Signal,
    directory: TempDir,
    pub socket: PathBuf,
}

/// Where Debian keeps the programs of the newest PostgreSQL, then everything on the path.
fn program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut directories: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    let number = |path: &PathBuf| path.iter().rev().nth(1).and_then(|v| v.to_string_lossy().parse::<u32>().ok());
    directories.sort_by_key(|path| std::cmp::Reverse(number(path)));
    directories.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    directories.extend(["/usr/sbin", "/usr/libexec"].map(PathBuf::from));
    let found = directories.into_iter().map(|directory| directory.join(name)).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("`{name}` is not installed: {INSTALL}"))
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A command that runs as nobody if this is root. With `dies`, it ends with the thread that started it.
fn unprivileged(name: &str, dies: Option<&str>) -> Command {
    let program = program(name);
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]);
    }
    if let Some(signal) = dies {
        command.args(["--pdeathsig", signal]);
    }
    command.arg(program).env_clear().env("PATH", "/usr/bin:/bin:/usr/sbin").env("LC_ALL", "C").current_dir("/");
    command
}

fn directory() -> TempDir {
    let directory = tempfile::Builder::new().prefix("contend-sql-").tempdir_in("/tmp").expect("a temporary directory");
    if is_root() {
        chown(directory.path(), Some(NOBODY), Some(NOBODY)).expect("the directory given to nobody");
    }
    directory
}

fn prepare(mut command: Command) {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{command:?} failed:\n{text}");
}

/// A data directory that has not been used yet.
pub struct Prepared(TempDir);

pub fn prepare_postgres() -> Prepared {
    let home = directory();
    let mut initdb = unprivileged("initdb", None);
    initdb.args(["--no-sync", "--auth=trust", "--locale=C", "--encoding=UTF8", "--username=contend", "-D"]);
    initdb.arg(home.path().join("data"));
    prepare(initdb);
    Prepared(home)
}

pub fn prepare_mariadb() -> Prepared {
    let home = directory();
    let mut install = unprivileged("mariadb-install-db", None);
    install.args(["--no-defaults", "--skip-test-db", "--auth-root-authentication-method=normal"]);
    install.arg("--innodb-flush-method=nosync").arg(format!("--datadir={}", home.path().join("data").display()));
    // Names of temporary tables are made of the process's id, which another container with the same /tmp may have.
    install.arg(format!("--tmpdir={}", home.path().display()));
    prepare(install);
    Prepared(home)
}

pub fn start_postgres(prepared: Prepared) -> Server {
    let home = prepared.0.path();
    let mut command = unprivileged("postgres", Some("INT"));
    command.arg("-D").arg(home.join("data")).arg("-k").arg(home);
    for setting in [
        "listen_addresses=",
        "fsync=off",
        "full_page_writes=off",
        "synchronous_commit=off",
        "autovacuum=off",
        "shared_buffers=32MB",
        "max_connections=20",
        "timezone=UTC",
    ] {
        command.args(["-c", setting]);
    }
    start(command, Signal::INT, prepared.0, ".s.PGSQL.5432")
}

pub fn start_mariadb(prepared: Prepared) -> Server {
    let home = prepared.0.path();
    let mut command = unprivileged("mariadbd", Some("KILL"));
    command.arg("--no-defaults");
    for (setting, name) in [("datadir", "data"), ("socket", "socket"), ("pid-file", "pid"), ("tmpdir", "")] {
        command.arg(format!("--{setting}={}", home.join(name).display()));
    }
    command.args([
        "--skip-networking",
        "--skip-log-bin",
        "--innodb-flush-method=nosync",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-doublewrite=0",
        "--innodb-file-per-table=0",
        "--innodb-buffer-pool-size=64M",
        "--innodb-log-file-size=16M",
        "--performance-schema=off",
        "--default-time-zone=+00:00",
    ]);
    start(command, Signal::KILL, prepared.0, "socket")
}

fn start(mut command: Command, stop: Signal, directory: TempDir, socket: &str) -> Server {
    let log = directory.path().join("log");
    let file = fs::File::create(&log).expect("the server's log");
    let out = file.try_clone().expect("a second handle");
    let child = command.stdin(Stdio::null()).stdout(out).stderr(file).spawn();
    let child = child.unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let socket = directory.path().join(socket);
    let mut server = Server { child, stop, directory, socket };
    let begun = Instant::now();
    while !server.ready() {
        let ended = server.child.try_wait().ok().flatten();
        if ended.is_some() || begun.elapsed() > START_TIME {
            let text = fs::read_to_string(&log).unwrap_or_default();
            let last = text.lines().rev().take(15).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n");
            panic!("{command:?} does not answer ({ended:?}); its last words:\n{last}");
        }
        thread::sleep(Duration::from_millis(50));
    }
    server
}

impl Server {
    /// Waits until it accepts connections: its socket exists, and its log says so.
    fn ready(&self) -> bool {
        let log = fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        self.socket.exists() && log.contains("ready ") && std::os::unix::net::UnixStream::connect(&self.socket).is_ok()
    }

    /// The directory of PostgreSQL's socket.
    pub fn home(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            let _ = kill_process(pid, self.stop);
        }
        let begun = Instant::now();
        while self.child.try_wait().ok().flatten().is_none() {
            if begun.elapsed() > STOP_TIME {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Both servers, started by the calling thread.
pub fn both() -> (Server, Server) {
    let (postgres, mariadb) = thread::scope(|scope| {
        let postgres = scope.spawn(prepare_postgres);
        let mariadb = prepare_mariadb();
        (postgres.join(), mariadb)
    });
    let postgres = postgres.unwrap_or_else(|e| std::panic::resume_unwind(e));
    (start_postgres(postgres), start_mariadb(mariadb))
}
