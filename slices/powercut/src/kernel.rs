//! Power cuts of a real kernel, independent of the models: boots User-Mode Linux with its own disk, lets a client
//! commit in it, kills the whole kernel, boots again and checks the data.

use crate::crash::prepare;
use crate::keys::Wanted;
use crate::place::WorkDir;
use crate::results::{KernelCuts, Powercut};
use anyhow::{Context, Result, bail};
use contend::cli::quoted;
use contend::engine;
use contend::study::SplitMix64;
use contend::trial::bench::Bench;
use contend::trial::note::Note;
use contend::trial::secret::keep_from;
use contend::trial::stage::Stage;
use contend::trial::stop::Cancelled;
use contend::trial::watch::janitor::Janitor;
use contend::trial::watch::orphans;
use contend::trial::workers::crew::Failure;
use contend::trial::workers::process::Launch;
use contend_worker::guest::{ACKNOWLEDGED, COMMITS, FAILED, FOUND, LOOKS};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const KERNEL: &str = "linux.uml";

/// A file system that the kernel supports, the program that creates it, and a disk size that is large enough.
struct FileSystem {
    name: &'static str,
    program: &'static str,
    force: &'static str,
    bytes: u64,
}

/// File systems for cuts. The first is required; cuts alternate between all that are available.
const FILE_SYSTEMS: [FileSystem; 3] = [
    FileSystem { name: "ext4", program: "mkfs.ext4", force: "-F", bytes: 32 << 20 },
    FileSystem { name: "xfs", program: "mkfs.xfs", force: "-f", bytes: 320 << 20 },
    FileSystem { name: "btrfs", program: "mkfs.btrfs", force: "-f", bytes: 128 << 20 },
];

const INSTALL: &str = "apt-get install user-mode-linux e2fsprogs";

/// Directories of administration programs, which a user's PATH often lacks.
const ALSO: [&str; 2] = ["/usr/sbin", "/sbin"];

const MEMORY: &str = "mem=128M";
/// Free space that a cut needs.
const ROOM_BYTES: u64 = 64 << 20;
const DISK: &str = "disk";

/// Longest life of a kernel.
const LIFE: Duration = Duration::from_secs(60);

/// Interval at which cancellation is checked.
const LOOK: Duration = Duration::from_millis(100);

/// Fewest commits before the kill; up to `COMMITS_MORE` are added.
const COMMITS_MIN: u64 = 60;
const COMMITS_MORE: u64 = 140;

/// The kernel and its file systems, or why there is none and how to install one.
pub fn available() -> Result<String, String> {
    let needed = [KERNEL, FILE_SYSTEMS[0].program];
    let missing: Vec<&str> = needed.into_iter().filter(|name| find(name).is_none()).collect();
    if !missing.is_empty() {
        let are = if missing.len() == 1 { "is" } else { "are" };
        return Err(format!("{} {are} not installed: {INSTALL}", missing.join(" and ")));
    }
    Ok(system(&file_systems()))
}

/// A description of the kernel and these file systems.
fn system(kinds: &[&FileSystem]) -> String {
    let version = find(KERNEL).and_then(|path| Command::new(path).arg("--version").output().ok());
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string()).unwrap_or_default();
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
    format!("User-Mode Linux {version} with {}", names.join(", "))
}

fn file_systems() -> Vec<&'static FileSystem> {
    FILE_SYSTEMS.iter().filter(|made| find(made.program).is_some()).collect()
}

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(ALSO.map(PathBuf::from));
    dirs.map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// Makes the power cuts of the study, if the contender can commit inside the kernel.
pub fn cut(bench: &Bench<'_>, stage: &Stage<'_>, wanted: &Wanted, found: &mut Powercut) -> Result<(), Failure> {
    let own = bench.instead.worker.is_none() && stage.base.attached.is_none();
    if wanted.kernel_cuts == 0 || !own || !engine::can_boot(stage.contender) {
        return Ok(());
    }
    if let Err(why) = available() {
        found.no_kernel = Some(why);
        return Ok(());
    }
    (bench.progress)(Note::Phase("cutting the power of a real kernel"));
    let fallback = bench.data_dir.parent().unwrap_or(&bench.data_dir);
    let place = WorkDir::make(ROOM_BYTES, 0, fallback, bench.janitor).map_err(prepare)?;
    let statements = stage.setup.prepare.iter().chain(&stage.setup.session).cloned().collect();
    // The kernel mounts its own /dev over the directory in memory, so the first program is stored elsewhere.
    let init = tempfile::Builder::new().prefix(".begin-").tempfile_in(fallback);
    let init = init.map_err(|e| prepare(e.into()))?.into_temp_path();
    let machine =
        Machine { place: &place, init: &init, statements, janitor: bench.janitor, cancelled: bench.cancelled };
    let mut random = SplitMix64(stage.round.seed);
    let kinds = file_systems();
    let mut cuts = KernelCuts::default();
    for number in 0..wanted.kernel_cuts as usize {
        let after = COMMITS_MIN + random.below(COMMITS_MORE);
        match machine.cut(kinds[number % kinds.len()], after, &mut cuts) {
            Ok(()) => {}
            Err(e) if e.is::<Cancelled>() => return Err(Failure::Cancelled),
            // The failure is not caused by the database.
            Err(e) => {
                found.no_kernel = Some(format!("{e:#}"));
                break;
            }
        }
    }
    cuts.system = system(&kinds[..kinds.len().min(cuts.lost.len())]);
    found.kernel = Some(cuts).filter(|cuts| !cuts.lost.is_empty());
    Ok(())
}

/// A disk, and the client that commits on it.
struct Machine<'m> {
    place: &'m WorkDir<'m>,
    /// The first program of the kernel.
    init: &'m Path,
    statements: Vec<String>,
    janitor: &'m Janitor,
    cancelled: &'m dyn Fn() -> bool,
}

impl Machine<'_> {
    /// Makes one cut after this many commits.
    fn cut(&self, kind: &FileSystem, after: u64, cuts: &mut KernelCuts) -> Result<()> {
        let disk = self.place.path(DISK);
        let _ = std::fs::remove_file(&disk);
        File::create(&disk).and_then(|file| file.set_len(kind.bytes)).context("cannot make its disk")?;
        let program = find(kind.program).with_context(|| format!("{} is gone", kind.program))?;
        let made =
            Command::new(program).args(["-q", kind.force]).arg(&disk).output().context("cannot make a file system")?;
        if !made.status.success() {
            bail!("{}: {}", kind.program, String::from_utf8_lossy(&made.stderr).trim());
        }
        let mut acknowledged = 0;
        let mut first_words = String::new();
        let mut kernel = self.boot(kind, COMMITS)?;
        while let Some(line) = kernel.line(self.cancelled)? {
            match split(&line).as_slice() {
                [word, n] if *word == ACKNOWLEDGED => {
                    acknowledged = n.parse().unwrap_or(acknowledged).max(acknowledged)
                }
                [word, ..] if *word == FAILED => first_words.clone_from(&line),
                _ => {}
            }
            // Every commit printed before the kill was acknowledged, so the output is read to its end.
            if acknowledged >= after {
                kernel.kill();
            }
        }
        drop(kernel);
        if acknowledged < after {
            let said = if first_words.is_empty() { String::new() } else { format!(": {first_words}") };
            bail!("the kernel, with {}, ended, or hung, after {acknowledged} of {after} commits{said}", kind.name);
        }
        let mut said = None;
        let mut kernel = self.boot(kind, LOOKS)?;
        while let Some(line) = kernel.line(self.cancelled)? {
            if split(&line).first().is_some_and(|word| [FOUND, FAILED].contains(word)) {
                said = Some(line);
            }
        }
        let said = said.with_context(|| format!("the kernel, with {}, did not come back after the cut", kind.name))?;
        let (lost, wrong) = judged(acknowledged, &said);
        cuts.acknowledged.push(acknowledged);
        cuts.lost.push(lost);
        cuts.wrong.extend(wrong);
        Ok(())
    }

    fn boot(&self, kind: &FileSystem, verb: &str) -> Result<Kernel<'_>> {
        let own = Launch::own()?;
        let mut worker = quoted(&own.program.display().to_string());
        let more = [verb, "/mnt/db"].into_iter().chain(self.statements.iter().map(String::as_str));
        for arg in own.args.iter().map(String::as_str).chain(more) {
            let _ = write!(worker, " {}", quoted(arg));
        }
        let script = format!(
            "#!/bin/sh\nmount -t proc none /proc\nmount -t devtmpfs none /dev\nmount -t {} /dev/ubda /mnt || echo\n\
             {worker}\numount /mnt\necho o > /proc/sysrq-trigger\nsleep 60\n",
            kind.name
        );
        std::fs::write(self.init, script).context("cannot write what it begins with")?;
        std::fs::set_permissions(self.init, std::fs::Permissions::from_mode(0o755))?;
        Kernel::boot(&self.place.path(DISK), self.init, self.janitor)
    }
}

/// A running kernel. Dropping it kills all its processes.
struct Kernel<'j> {
    child: Child,
    lines: Receiver<String>,
    until: Instant,
    janitor: &'j Janitor,
}

impl<'j> Kernel<'j> {
    fn boot(disk: &Path, init: &Path, janitor: &'j Janitor) -> Result<Self> {
        let program = find(KERNEL).with_context(|| format!("{KERNEL} is not installed"))?;
        // Its root is the host's root, read-only.
        let root = ["rootfstype=hostfs", "rootflags=/", "ro", "root=/dev/root", "con=null", "con0=null,fd:1", "quiet"];
        let mut command = Command::new(program);
        keep_from(&mut command)
            .args([format!("ubd0={}", disk.display()), format!("init={}", init.display())])
            .arg(MEMORY)
            .args(root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        let mut child = orphans::spawn(&mut command).with_context(|| format!("cannot start {KERNEL}"))?;
        janitor.group_lives(child.id());
        let output = child.stdout.take().context("its output is piped")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let (mut output, mut line) = (BufReader::new(output), vec![]);
            // An incomplete last line was cut off by the kill.
            while output.read_until(b'\n', &mut line).is_ok() && line.ends_with(b"\n") {
                if sender.send(String::from_utf8_lossy(&line).trim().to_string()).is_err() {
                    break;
                }
                line.clear();
            }
        });
        Ok(Self { child, lines, until: Instant::now() + LIFE, janitor })
    }

    /// The next line; `None` at the end. Past its deadline the kernel is killed.
    fn line(&mut self, cancelled: &dyn Fn() -> bool) -> Result<Option<String>> {
        loop {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => return Ok(Some(line)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) if cancelled() => return Err(Cancelled.into()),
                Err(RecvTimeoutError::Timeout) if Instant::now() > self.until => self.kill(),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Kills all processes at once, as a power cut does.
    fn kill(&self) {
        // The id is not reused before the child is waited for.
        if let Some(group) = Pid::from_raw(self.child.id() as i32) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Kernel<'_> {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
        self.janitor.group_gone(self.child.id());
    }
}

/// Number of lost commits, and another fault if there is one.
fn judged(acknowledged: u64, said: &str) -> (u64, Option<String>) {
    let numbers = |words: &[&str]| Some((words.first()?.parse::<u64>().ok()?, words.get(1)?.parse::<u64>().ok()?));
    let found = match split(said).as_slice() {
        [word, rest @ ..] if *word == FOUND => {
            numbers(rest).map(|(rows, highest)| (rows, highest, rest[2..].join(" ")))
        }
        _ => None,
    };
    let Some((rows, highest, sound)) = found else { return (acknowledged, Some(said.to_string())) };
    let wrong = match () {
        () if rows != highest => Some(format!("{rows} rows, and the last is number {highest}")),
        () if sound != "ok" => Some(sound),
        () => None,
    };
    (acknowledged.saturating_sub(highest), wrong)
}

/// The words of a line of the client. Lines of the kernel itself have other prefixes.
fn split(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_held_against_what_was_acknowledged() {
        assert_eq!(judged(90, "found 90 90 ok"), (0, None));
        assert_eq!(judged(90, "found 91 91 ok"), (0, None), "one more was on its way");
        assert_eq!(judged(90, "found 89 89 ok"), (1, None));
        assert_eq!(judged(90, "found 88 89 ok"), (1, Some("88 rows, and the last is number 89".to_string())));
        assert_eq!(judged(90, "found 90 90 row 3 missing").1.as_deref(), Some("row 3 missing"));
        for broken in ["failed cannot open /mnt/db: file is not a database", "found x"] {
            assert_eq!(judged(90, broken), (90, Some(broken.to_string())));
        }
    }
}
