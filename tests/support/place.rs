//! A place in which servers may run, and servers in it that contend did not start.

use super::{Bench, Said, root, sound, tool, wait_for};
use contend::record::store::Record;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A place to work in that servers may enter, and one for their sockets.
pub struct Place {
    pub bench: Bench,
    pub sockets: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let (bench, sockets) = (Bench::new(), TempDir::with_prefix_in("ct-", "/tmp").expect("a directory"));
        for dir in [bench.dir.path(), sockets.path()] {
            fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).expect("opened");
        }
        Self { bench, sockets }
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.bench.command(args);
        command.env("TMPDIR", self.sockets.path()).env("CONTEND_SERVERS", server_dirs());
        command
    }

    pub fn contend(&self, args: &[&str]) -> Said {
        self.command(args).output().expect("the tool starts").into()
    }

    /// The study of the fixtures, its record in `record`.
    pub fn run(&self, args: &[&str]) -> Said {
        let mut command = self.command(&["run", &study(), "--out", "record", "--quiet"]);
        command.args(args).output().expect("the tool starts").into()
    }

    /// The same, all trials of which must count.
    #[track_caller]
    pub fn run_sound(&self, args: &[&str]) -> Said {
        sound(&self.bench.path("record"), || self.run(args))
    }

    pub fn start(&self, args: &[&str]) -> Child {
        let mut command = self.command(&["run", &study(), "--out", "record", "--quiet"]);
        command.args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the tool starts")
    }

    /// Numbers of the processes whose command line begins with `program` and names this place.
    pub fn servers(&self, program: &str) -> Vec<u32> {
        let mine = self.bench.dir.path().display().to_string();
        let of = |entry: fs::DirEntry| {
            let pid = entry.file_name().to_string_lossy().parse().ok()?;
            let line = fs::read_to_string(entry.path().join("cmdline")).ok()?;
            (line.split('\0').next()?.ends_with(program) && line.contains(&mine)).then_some(pid)
        };
        fs::read_dir("/proc").expect("/proc").flatten().filter_map(of).collect()
    }

    pub fn assert_nothing_left(&self) {
        self.bench.assert_nothing_left();
        wait_for("the sockets to be removed", || fs::read_dir(self.sockets.path()).expect("readable").count() == 0);
        assert!(self.servers("postgres").is_empty() && self.servers("mariadbd").is_empty());
    }
}

pub fn study() -> String {
    root().join("tests/fixtures/servers.toml").display().to_string()
}

pub fn record(place: &Place) -> Record {
    Record::open(&place.bench.path("record")).expect("a record")
}

/// Every file below a directory.
pub fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// A server that contend did not start: over TCP, where `me` has the password `geheim`.
pub struct Own {
    child: Child,
    scheme: &'static str,
    pub port: u16,
}

/// A port of this machine on which nothing listens.
pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port()
}

/// Whether the tests run as root: servers then run as another user.
pub fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout == b"0\n")
}

/// The directory with PostgreSQL's programs; of several versions the one that `servers.sh` finds first.
pub fn postgres_bin() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL").flatten().map(|version| version.path());
    versions.min().expect("a version").join("bin")
}

/// A directory with the programs that make data directories, each a copy of one that is made once and kept: `servers.sh`.
static MAKERS: LazyLock<PathBuf> = LazyLock::new(|| {
    let target = Path::new(tool()).ancestors().nth(2).expect("the directory of the build");
    let (makers, kept) = (target.join("tests-servers/bin"), target.join("tests-servers/kept"));
    for dir in [&makers, &kept] {
        fs::create_dir_all(dir).expect("made");
    }
    if is_root() {
        assert!(Command::new("chown").arg("nobody:nogroup").arg(&kept).status().is_ok_and(|status| status.success()));
    }
    for name in ["initdb", "mariadb-install-db"] {
        // Another test program may be first.
        let _ = symlink(root().join("tests/support/servers.sh"), makers.join(name));
    }
    makers
});

/// Where contend finds the programs of servers.
fn server_dirs() -> std::ffi::OsString {
    let dirs = [MAKERS.clone(), postgres_bin(), "/usr/sbin".into(), "/usr/bin".into()];
    std::env::join_paths(dirs).expect("no colon in a path")
}

impl Own {
    /// Carries out a script as a user who may run servers; its last command is the server.
    fn start(place: &Place, scheme: &'static str, script: impl Fn(&Path, u16) -> String, ready: &str) -> Self {
        let dir = place.bench.path(&format!("own-{scheme}"));
        // Another program may take the port first: then the server ends at once.
        const PORTS: usize = 5;
        let started = (0..PORTS).find_map(|_| {
            let _ = fs::remove_dir_all(&dir);
            fs::create_dir(&dir).expect("created");
            if is_root() {
                Command::new("chown").arg("nobody").arg(&dir).status().expect("chown");
            }
            let (port, path) = (free_port(), dir.join("log"));
            let log = fs::File::create(&path).expect("created");
            let mut child = Self::as_who_may(&script(&dir, port)).stderr(log).spawn().expect("a shell");
            let is_ready = || fs::read_to_string(&path).is_ok_and(|text| text.contains(ready));
            let mut has_ended = || child.try_wait().expect("a child").is_some();
            wait_for("the server of somebody else", || is_ready() || has_ended());
            is_ready().then_some((child, port))
        });
        let (child, port) =
            started.unwrap_or_else(|| panic!("{}", fs::read_to_string(dir.join("log")).expect("a log")));
        Self { child, scheme, port }
    }

    /// A shell that carries out a script as a user who may run servers.
    fn as_who_may(script: &str) -> Command {
        let mut command = Command::new("sh");
        if is_root() {
            command = Command::new("setpriv");
            command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups", "sh"]);
        }
        command.args(["-c", script]).current_dir("/").stdout(Stdio::null());
        command
    }

    pub fn postgres(place: &Place) -> Self {
        Self::postgres_with(place, "")
    }

    /// With further options of the server's command line.
    pub fn postgres_with(place: &Place, options: &str) -> Self {
        let script = |dir: &Path, port| {
            let (bin, makers, dir) = (postgres_bin(), MAKERS.display(), dir.display());
            let bin = bin.display();
            format!(
                "echo geheim >{dir}/pw && \
                 {makers}/initdb --pgdata={dir}/data -U me --pwfile={dir}/pw --auth=scram-sha-256 -N >/dev/null && \
                 exec {bin}/postgres -D {dir}/data -c listen_addresses=127.0.0.1 -c port={port} \
                 -c unix_socket_directories={dir} {options}"
            )
        };
        Self::start(place, "postgres", script, "ready to accept connections")
    }

    /// Kills the server and starts it again on the same data; returns when it accepts connections.
    pub fn crash(&mut self, place: &Place) {
        self.child.kill().and_then(|()| self.child.wait()).expect("killed");
        let home = place.bench.path(&format!("own-{}", self.scheme));
        let (log, dir) = (home.join("log"), home.display());
        let (script, ready) = match self.scheme {
            "mysql" => (Self::mariadbd(&home, self.port), "ready for connections"),
            _ => {
                let (bin, port) = (postgres_bin(), self.port);
                let bin = bin.display();
                let options = format!("-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={dir}");
                (format!("exec {bin}/postgres -D {dir}/data {options}"), "ready to accept connections")
            }
        };
        let start = || {
            let file = fs::File::create(&log).expect("created");
            Self::as_who_may(&script).stderr(file).spawn().expect("a shell")
        };
        self.child = start();
        let deadline = Instant::now() + Duration::from_secs(120);
        while !fs::read_to_string(&log).is_ok_and(|text| text.contains(ready)) {
            assert!(Instant::now() < deadline, "the server does not start again");
            // Processes of the killed one may still hold its shared memory.
            if self.child.try_wait().expect("a child").is_some() {
                self.child = start();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The command that becomes MariaDB.
    fn mariadbd(dir: &Path, port: u16) -> String {
        let dir = dir.display();
        format!(
            "PATH=$PATH:/usr/sbin exec mariadbd --no-defaults --datadir={dir}/data --tmpdir={dir}/data --port={port} \
             --bind-address=127.0.0.1 --socket={dir}/s --pid-file={dir}/pid --init-file={dir}/init"
        )
    }

    pub fn mariadb(place: &Place) -> Self {
        Self::mariadb_with(place, "")
    }

    /// With further options of the server's command line.
    pub fn mariadb_with(place: &Place, options: &str) -> Self {
        let script = |dir: &Path, port| {
            let (server, makers, dir) = (Self::mariadbd(dir, port), MAKERS.display(), dir.display());
            format!(
                "{makers}/mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db \
                 --skip-name-resolve --datadir={dir}/data --tmpdir={dir}/data >/dev/null 2>&1 && \
                 echo \"GRANT ALL ON *.* TO me@'127.0.0.1' IDENTIFIED BY 'geheim';\" >{dir}/init && {server} {options}"
            )
        };
        Self::start(place, "mysql", script, "ready for connections")
    }

    /// Its address for `me` with this password.
    pub fn dsn(&self, password: &str) -> String {
        let database = if self.scheme == "mysql" { "mysql" } else { "postgres" };
        format!("{}://me:{password}@127.0.0.1:{}/{database}", self.scheme, self.port)
    }

    /// The same by its socket, whose directory stands in place of the host.
    pub fn dsn_of_directory(&self, place: &Place, password: &str) -> String {
        let dir = place.bench.path(&format!("own-{}", self.scheme)).display().to_string();
        format!("{}://me:{password}@{}:{}/", self.scheme, dir.replace('/', "%2F"), self.port)
    }

    /// What it answers, as its own client shows it.
    pub fn asked(&self, sql: &str) -> String {
        let port = self.port.to_string();
        let mut client = match self.scheme {
            "mysql" => {
                let mut client = Command::new("mariadb");
                client.args(["--no-defaults", "-h127.0.0.1", "-P", &port, "-ume", "-N"]).env("MYSQL_PWD", "geheim");
                client
            }
            _ => {
                let mut client = Command::new("psql");
                client.args([&format!("postgres://me@127.0.0.1:{port}/postgres"), "-At", "-v", "ON_ERROR_STOP=1"]);
                client.env("PGPASSWORD", "geheim");
                client
            }
        };
        client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut client = client.spawn().expect("its client");
        // One that stops at an error reads no further.
        let _ = client.stdin.take().expect("piped").write_all(sql.as_bytes());
        let said = client.wait_with_output().expect("its client");
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8_lossy(&said.stdout).trim().to_string()
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let signal = if self.scheme == "mysql" { "-TERM" } else { "-INT" };
        let _ = Command::new("kill").arg(signal).arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}
