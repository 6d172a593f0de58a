//! A tracing instance of our own in tracefs, its buffer, and the probes that belong to it. Everything carries a name made
//! of this process's number and start time, so that nobody else's is ever touched and what a dead one left can be removed.

use crate::page::Format;
use anyhow::{Context, Result, bail};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Where tracefs is mounted, on systems that mount it by themselves.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// First part of all names.
const PREFIX: &str = "contend_watch";
/// Buffer for each processor, KiB.
const BUFFER_KIB: u32 = 8192;
/// Most pages that are read of a processor at once: a program may make events faster than they are read.
const PAGES_MAX: usize = 2_048;
/// Longest page that is read. The kernel's are 4 KiB unless told otherwise.
const PAGE_BYTES: usize = 1 << 16;

/// The directory of tracefs.
///
/// # Errors
/// It is not mounted, or this user may not use it; with the command that helps.
pub fn root() -> Result<PathBuf> {
    let mounted = PLACES.iter().map(PathBuf::from).find(|place| place.join("instances").exists());
    if let Some(root) = &mounted
        && fs::read_dir(root.join("instances")).is_ok()
    {
        return Ok(root.clone());
    }
    let user = rustix::process::geteuid();
    match (mounted, user.is_root()) {
        (Some(root), _) => bail!("{} may not be used by user {}: run as root", root.display(), user.as_raw()),
        (None, true) => bail!("tracefs is not mounted; `mount -t tracefs nodev {}` mounts it", PLACES[0]),
        (None, false) => bail!("tracefs is not mounted, or closed to user {}: run as root", user.as_raw()),
    }
}

/// Whether functions of programs can be probed.
pub fn has_probes(root: &Path) -> bool {
    root.join("uprobe_events").exists()
}

/// What the name of the second instance ends in.
const CALLS: &str = "_calls";

/// A new process or thread. Of those whose calls are traced, so it belongs to their instance.
pub const NEW_TASK_EVENT: &str = "task/task_newtask";

/// Two tracing instances, with their own buffers: one for events of the kernel, of all processes, and one for the calls of
/// those that use a database. A library with probes is also that of other programs, which would fill the buffer. Removed with
/// the probes when dropped.
pub struct Instance {
    root: PathBuf,
    dir: PathBuf,
    calls: PathBuf,
    /// Group of its probes.
    group: String,
    /// One open buffer for each processor of each instance.
    pipes: Vec<File>,
    page: Vec<u8>,
}

impl Instance {
    /// Makes an instance whose times are those of CLOCK_MONOTONIC, after removing what dead processes left.
    ///
    /// # Errors
    /// Which file of tracefs could not be made or written.
    pub fn make(root: &Path) -> Result<Instance> {
        remove_leftovers(root);
        let group = name_of(std::process::id()).context("cannot read /proc/self/stat")?;
        let [dir, calls] = ["", CALLS].map(|end| root.join("instances").join(format!("{group}{end}")));
        let page = vec![0; PAGE_BYTES];
        let mut made = Instance { root: root.to_path_buf(), dir, calls, group, pipes: vec![], page };
        for dir in [&made.dir, &made.calls] {
            fs::create_dir(dir).with_context(|| format!("cannot make {}", dir.display()))?;
            write(dir, "trace_clock", "mono")?;
            write(dir, "buffer_size_kb", &BUFFER_KIB.to_string())?;
        }
        // A thread or process that one of those makes is one of them.
        write(&made.calls, "options/event-fork", "1")?;
        for processor in made.processors()? {
            let path = processor.join("trace_pipe_raw");
            let pipe = OpenOptions::new().read(true).custom_flags(nonblocking()).open(&path);
            made.pipes.push(pipe.with_context(|| format!("cannot open {}", path.display()))?);
        }
        Ok(made)
    }

    /// Group and name of a probe of this instance, such as `contend_watch_41_9/step_0`.
    pub fn probe_name(&self, name: &str) -> String {
        format!("{}/{name}", self.group)
    }

    /// Turns an event on, such as `filelock/posix_lock_inode`, for what the filter lets through; its format.
    ///
    /// # Errors
    /// The kernel does not have the event, or refuses the filter.
    pub fn enable(&self, event: &str, filter: &str) -> Result<Format> {
        let (instance, dir) = (self.of(event), format!("events/{event}"));
        let path = instance.join(&dir).join("format");
        let text = fs::read_to_string(&path).with_context(|| format!("the kernel has no event {event}"))?;
        let format = Format::read(&text).with_context(|| format!("{} is not understood", path.display()))?;
        if !filter.is_empty() {
            write(instance, &format!("{dir}/filter"), filter)?;
        }
        write(instance, &format!("{dir}/enable"), "1")?;
        Ok(format)
    }

    /// Changes an event's filter while it is on.
    ///
    /// # Errors
    /// The kernel refuses the filter.
    pub fn filter(&self, event: &str, filter: &str) -> Result<()> {
        write(self.of(event), &format!("events/{event}/filter"), filter)
    }

    /// Adds the threads of a process to those whose calls are traced. One that has just ended is no failure.
    pub fn trace_calls_of(&self, pid: u32) {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for thread in threads {
            let _ = append(&self.calls.join("set_event_pid"), &thread.file_name().to_string_lossy());
        }
    }

    /// The instance of an event.
    fn of(&self, event: &str) -> &Path {
        if event.starts_with(&self.group) || event == NEW_TASK_EVENT { &self.calls } else { &self.dir }
    }

    /// Registers a probe of a program; `line` is in the form of the kernel's `uprobetracer`.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn register(&self, line: &str) -> Result<()> {
        append(&self.root.join("uprobe_events"), line)
    }

    /// Hands the pages that have come to `each`, oldest first for each processor.
    ///
    /// # Errors
    /// A buffer cannot be read.
    pub fn read(&mut self, mut each: impl FnMut(&[u8])) -> Result<()> {
        for pipe in &mut self.pipes {
            for _ in 0..PAGES_MAX {
                match pipe.read(&mut self.page) {
                    Ok(0) => break,
                    Ok(bytes) => each(&self.page[..bytes]),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error).context("cannot read the tracing buffer"),
                }
            }
        }
        Ok(())
    }

    /// Events that were lost because the buffer was full.
    pub fn lost(&self) -> u64 {
        let stats = self.processors().unwrap_or_default().into_iter().map(|dir| dir.join("stats"));
        let texts: Vec<String> = stats.filter_map(|path| fs::read_to_string(path).ok()).collect();
        let counts = texts.iter().flat_map(|text| text.lines());
        let lost = counts.filter_map(|line| line.strip_prefix("overrun:").or(line.strip_prefix("dropped events:")));
        lost.filter_map(|count| count.trim().parse::<u64>().ok()).sum()
    }

    fn processors(&self) -> Result<Vec<PathBuf>> {
        let mut found = vec![];
        for dir in [&self.dir, &self.calls].map(|dir| dir.join("per_cpu")) {
            let entries = fs::read_dir(&dir).with_context(|| format!("cannot read {}", dir.display()))?;
            found.extend(entries.flatten().map(|entry| entry.path()));
        }
        Ok(found)
    }
}

fn write(dir: &Path, file: &str, text: &str) -> Result<()> {
    let path = dir.join(file);
    fs::write(&path, text).with_context(|| format!("cannot write `{text}` to {}", path.display()))
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.pipes.clear();
        remove(&self.root, &self.group);
    }
}

/// Removes the instance and the probes of a process, also of one that is dead.
pub fn remove(root: &Path, group: &str) {
    let dirs = ["", CALLS].map(|end| root.join("instances").join(format!("{group}{end}")));
    // An event that is on keeps its probe; what is gone already is no failure.
    for dir in &dirs {
        let _ = fs::write(dir.join("events/enable"), "0");
    }
    let probes = fs::read_to_string(root.join("uprobe_events")).unwrap_or_default();
    let names = probes.lines().filter_map(|line| line.split_whitespace().next()?.split_once(':'));
    let own: Vec<&str> = names.map(|(_, name)| name).filter(|name| name.split('/').next() == Some(group)).collect();
    for name in own {
        let _ = append(&root.join("uprobe_events"), &format!("-:{name}"));
    }
    for dir in &dirs {
        let _ = fs::remove_dir(dir);
    }
}

/// Removes what processes that are dead have left, and nothing of those that live.
pub fn remove_leftovers(root: &Path) {
    for entry in fs::read_dir(root.join("instances")).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let name = name.strip_suffix(CALLS).unwrap_or(&name);
        let parts: Vec<&str> = name.strip_prefix(PREFIX).unwrap_or_default().split('_').collect();
        if let ["", pid, _] = parts[..]
            && let Ok(pid) = pid.parse()
            && name_of(pid).as_deref() != Some(name)
        {
            remove(root, name);
        }
    }
}

/// The name of a process's instance: its number, and its start time as another process may get the number later.
pub fn name_of(pid: u32) -> Option<String> {
    let stat = procfs::process::Process::new(pid as i32).ok()?.stat().ok()?;
    Some(format!("{PREFIX}_{pid}_{}", stat.starttime))
}

fn append(path: &Path, line: &str) -> Result<()> {
    let written = OpenOptions::new().append(true).open(path).and_then(|mut file| file.write_all(line.as_bytes()));
    written.with_context(|| format!("cannot write `{line}` to {}", path.display()))
}

fn nonblocking() -> i32 {
    rustix::fs::OFlags::NONBLOCK.bits() as i32
}
