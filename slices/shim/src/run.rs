//! Starts the command with the library loaded, waits for it, and prints the summary.

use crate::told;
use anyhow::{Context, Result, anyhow, bail, ensure};
use contend::cli::say;
use contend::engine::dsn::Typed;
use contend::trial::watch::janitor::Janitor;
use contend::trial::watch::passing::PassedOn;
use contend_interpose::foreign::{Foreign, Lookout, Open, SHIM_FILE, has_other_rights, preload, program};
use contend_worker::{server, shim};
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Environment variable with the path of the library's settings.
const VARIABLE: &str = "CONTEND_SHIM";

/// The user's options.
pub struct Asked<'a> {
    pub to: &'a str,
    pub locks: bool,
    /// Whether CREATE, ALTER and DROP may commit a transaction that has used rows.
    pub commits_definitions: bool,
    /// The library's word for what it keeps.
    pub cache: &'static str,
    pub log: Option<&'a Path>,
    pub command: &'a [String],
}

fn sentence(foreign: &Foreign) -> String {
    format!("{}: its databases stay in files. To move them, {}.", foreign.what, foreign.change)
}

/// Runs the command to its end; returns its exit status.
///
/// # Errors
/// The address is wrong, the command cannot be started, or the library could intercept none of its calls.
pub fn run(asked: &Asked<'_>, stop: &AtomicBool) -> Result<u8> {
    ensure!(
        cfg!(all(target_os = "linux", target_arch = "x86_64")),
        "programs can be redirected on Linux on x86_64 only"
    );
    let name = &asked.command[0];
    let file = program(name).with_context(|| format!("there is no command `{name}`"))?;
    ensure!(
        !has_other_rights(&file),
        "{} runs with rights other than yours (setuid), so it cannot be redirected",
        file.display()
    );
    let mut lookout = Lookout::default();
    if let Some(foreign) = lookout.look_at_file(&file) {
        bail!(sentence(&foreign));
    }
    let library = library()?;
    if let Some(path) = asked.log {
        write_list(path, "").with_context(|| format!("cannot write {}", path.display()))?;
    }
    // Only this user may enter the directory.
    let dir = tempfile::Builder::new().prefix("contend-shim-").tempdir().context("cannot write the settings")?;
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700))?;
    // If contend is killed, the janitor removes the file with the password.
    let janitor = Janitor::start()?;
    janitor.dir_exists(dir.path());
    write_private(&dir.path().join("settings"), &settings(asked)?)?;
    let journal = dir.path().join("journal");
    write_private(&journal, "")?;
    let mut command = of_this_life(name);
    command.args(&asked.command[1..]).env(VARIABLE, dir.path()).env("LD_PRELOAD", preload(&library));
    let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    let status = attend(child, &mut lookout, stop)?;
    // What a process that was killed wrote last may end inside a character.
    end(&String::from_utf8_lossy(&fs::read(&journal).unwrap_or_default()), asked.log);
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(0);
    Ok(u8::try_from(code).unwrap_or(u8::MAX))
}

/// A command that receives SIGTERM when contend dies, if `setpriv` is available; the command then replaces `setpriv`.
fn of_this_life(name: &str) -> Command {
    const SETPRIV: &str = "/usr/bin/setpriv";
    if !Path::new(SETPRIV).is_file() {
        return Command::new(name);
    }
    let mut command = Command::new(SETPRIV);
    command.args(["--pdeathsig=TERM", "--", name]);
    command
}

/// The path of the library: in cargo's output directory, next to contend, or in its library directory.
fn library() -> Result<PathBuf> {
    let exe = std::env::current_exe().context("the path of contend is unknown")?;
    let dir = exe.parent().context("contend is in no directory")?;
    let places = [dir.join("deps"), dir.to_path_buf(), dir.join("../lib"), dir.join("../lib/contend")];
    let found = places.iter().map(|place| place.join(SHIM_FILE)).find(|path| path.is_file());
    let path = found.ok_or_else(|| {
        anyhow!("{SHIM_FILE} is neither next to {} nor in ../lib: copy it there (`make build` makes it)", exe.display())
    })?;
    let path = path.canonicalize()?;
    let is_odd = path.to_string_lossy().contains([' ', ':', ';', '\t', '\n']);
    ensure!(!is_odd, "the loader cannot load a library from {}: its path has a space or a colon", path.display());
    Ok(path)
}

/// The library's settings: lines of `KEY=VALUE`.
fn settings(asked: &Asked<'_>) -> Result<String> {
    let typed = Typed::parse(asked.to).map_err(|e| anyhow!("--to: {e}"))?;
    let is_mariadb = typed.dsn.scheme == "mysql";
    ensure!(
        is_mariadb || typed.dsn.scheme == "postgres",
        "--to: programs can be redirected to PostgreSQL and MariaDB only"
    );
    let address = typed.dsn.address;
    let password = match typed.password {
        Some(password) => Some(password),
        None => server::password(&address).context("--to")?,
    };
    let mut lines = shim::settings(&address, password.as_deref(), is_mariadb).context("--to")?;
    lines.push(format!("immediate={}", if asked.locks { "lock" } else { "plain" }));
    lines.push(format!("cache={}", asked.cache));
    if asked.commits_definitions {
        ensure!(is_mariadb, "--ddl is for MariaDB: PostgreSQL can undo CREATE, ALTER and DROP");
        lines.push("ddl=commit".to_string());
    }
    Ok(lines.join("\n") + "\n")
}

fn write_private(path: &Path, text: &str) -> Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(())
}

/// Writes the list readable by its owner only, because statements may be confidential.
fn write_list(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    if file.metadata()?.is_file() {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    file.write_all(text.as_bytes())
}

/// Reports processes that have a database open without the library, each database once.
fn say_unreached(lookout: &Lookout, said: &mut BTreeSet<Open>) {
    for open in lookout.open.iter().filter(|open| !open.is_captured) {
        if said.insert(open.clone()) {
            let (program, path) = (open.program.display(), open.path.display());
            say(&format!(
                "{program} has {path} open without contend's library: its rows stay in the file. The process must be \
                 linked dynamically, and keep LD_PRELOAD and {VARIABLE} in its environment."
            ));
        }
    }
}

/// Waits for the command. Reports processes whose SQLite cannot be redirected.
fn attend(mut child: Child, lookout: &mut Lookout, stop: &AtomicBool) -> Result<ExitStatus> {
    const POLL: Duration = Duration::from_millis(2);
    const LOOK: Duration = Duration::from_millis(500);
    let (mut looked, mut signal, mut said) = (Instant::now(), PassedOn::default(), BTreeSet::new());
    loop {
        if let Some(status) = child.try_wait()? {
            lookout.finish().iter().for_each(|foreign| say(&sentence(foreign)));
            return Ok(status);
        }
        if looked.elapsed() > LOOK {
            lookout.look(child.id()).iter().for_each(|foreign| say(&sentence(foreign)));
            say_unreached(lookout, &mut said);
            looked = Instant::now();
        }
        signal.look(stop, &child);
        std::thread::sleep(POLL);
    }
}

/// Says what there is to say, all of it even if the list cannot be written.
fn end(journal: &str, log: Option<&Path>) {
    let told = told::read(journal);
    let unwritten = log.and_then(|path| Some((path, write_list(path, &told.list()).err()?)));
    if let Some((path, why)) = &unwritten {
        say(&format!("cannot write {}: {why}", path.display()));
    }
    if log.is_none() || unwritten.is_some() {
        contend::ui::tell(&told.list());
    }
    let width = contend::cli::style().width;
    contend::ui::tell(&told.slowest(width));
    contend::ui::tell(&told.errors(width));
    if told.opened == 0 && told.connections == 0 && told.unopened.is_empty() {
        say("No database was opened through SQLite's C interface: nothing was redirected (docs/shim.md).");
    } else {
        say(&told.sentence());
    }
}
