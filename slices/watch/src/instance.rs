//! contend's own tracing instances in tracefs, their buffers, and their probes. All names contain this process's
//! number and start time: instances of other processes are never changed, and those of dead ones can be removed.

use crate::page::Format;
use anyhow::{Context, Result, bail};
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Usual mount points of tracefs.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// Inode of the initial PID namespace (`PROC_PID_INIT_INO`), whose process numbers the kernel's events use.
const PIDS_OF_EVENTS: u64 = 0xefff_fffc;
/// Prefix of all names.
const PREFIX: &str = "contend_watch";
/// Buffer for each processor, KiB.
const BUFFER_KIB: u32 = 8192;
/// Most pages read of one processor's buffer at once: a program may cause events faster than they are read.
const PAGES_MAX: usize = 2_048;
/// Largest page read. The kernel's pages have 4 KiB by default.
const PAGE_BYTES: usize = 1 << 16;

/// The directory of tracefs.
///
/// # Errors
/// It is not mounted, or this user may not use it. [`crate::watch::deepest`] returns the command that helps.
pub fn root() -> Result<PathBuf> {
    if !sees_all_processes() {
        bail!(
            "process numbers here (a container) differ from those in the kernel's events: run contend on the host, or \
             in a container with the host's processes (--pid=host)"
        );
    }
    let mounted = PLACES.iter().map(PathBuf::from).find(|place| place.join("instances").exists());
    if let Some(root) = &mounted
        && may_make(&root.join("instances"))
    {
        return Ok(root.clone());
    }
    let user = rustix::process::geteuid();
    match (mounted, user.is_root()) {
        (Some(root), _) => bail!("{} may not be used by user {}", root.display(), user.as_raw()),
        (None, true) => bail!("tracefs is not mounted; `mount -t tracefs nodev {}` mounts it", PLACES[0]),
        (None, false) => bail!("tracefs is not mounted, or closed to user {}", user.as_raw()),
    }
}

/// Whether /proc shows all processes of the machine. In another PID namespace (a container), it does not show processes
/// outside, nor their locks.
pub fn sees_all_processes() -> bool {
    !fs::metadata("/proc/self/ns/pid").is_ok_and(|space| space.ino() != PIDS_OF_EVENTS)
}

/// Whether this user may make an instance: some systems let a group read tracefs, and not write it.
fn may_make(instances: &Path) -> bool {
    use rustix::fs::{Access, access};
    access(instances, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// Whether functions of programs can be probed.
pub fn has_probes(root: &Path) -> bool {
    root.join("uprobe_events").exists()
}

/// Suffix of the second instance.
const CALLS: &str = "_calls";

/// A new process or thread. The event belongs to the instance for calls, because it concerns processes traced there.
pub const NEW_TASK_EVENT: &str = "task/task_newtask";

/// Two tracing instances with their own buffers: one for the kernel's events of all processes, one for the calls of
/// processes that use a database. Other programs use the same library, and their calls would fill the buffer.
/// Dropping it removes the instances and their probes.
pub struct Instance {
    root: PathBuf,
    dir: PathBuf,
    calls: PathBuf,
    /// Group of the probes.
    group: String,
    /// Open buffers: one per processor and instance.
    pipes: Vec<File>,
    page: Vec<u8>,
}

impl Instance {
    /// Creates instances whose timestamps are CLOCK_MONOTONIC. Removes those of dead processes first.
    ///
    /// # Errors
    /// The file of tracefs that could not be created or written.
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
            // What does not fit is counted either way; to overwrite takes longer.
            write(dir, "options/overwrite", "0")?;
        }
        // Threads and processes created by traced ones are traced too.
        write(&made.calls, "options/event-fork", "1")?;
        for processor in [processors(&made.dir)?, processors(&made.calls)?].concat() {
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

    /// Enables an event, such as `filelock/posix_lock_inode`, with a filter; returns its format.
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

    /// Changes the filter of an enabled event.
    ///
    /// # Errors
    /// The kernel refuses the filter.
    pub fn filter(&self, event: &str, filter: &str) -> Result<()> {
        write(self.of(event), &format!("events/{event}/filter"), filter)
    }

    /// Excludes these threads, and no others, from the kernel's events. An old kernel cannot; then they only cost more.
    pub fn exclude(&self, threads: &[u32]) {
        let threads: Vec<String> = threads.iter().map(u32::to_string).collect();
        let _ = fs::write(self.dir.join("set_event_notrace_pid"), threads.join(" "));
    }

    /// Adds the threads of a process to those whose calls are traced. A thread that has just ended is not an error.
    pub fn trace_calls_of(&self, pid: u32) {
        let mut added = HashSet::new();
        loop {
            let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            let new: Vec<_> = threads.map(|thread| thread.file_name()).filter(|name| !added.contains(name)).collect();
            if new.is_empty() {
                return;
            }
            // In one write, because each waits for all processors.
            let list = new.iter().map(|thread| thread.to_string_lossy()).collect::<Vec<_>>().join(" ");
            let _ = append(&self.calls.join("set_event_pid"), &list);
            // A thread that was not added yet may have created another one.
            added.extend(new);
        }
    }

    /// The directory of the instance that an event belongs to.
    fn of(&self, event: &str) -> &Path {
        let is_call = event.starts_with(&self.group) || event.starts_with("syscalls/") || event == NEW_TASK_EVENT;
        if is_call { &self.calls } else { &self.dir }
    }

    /// Registers a probe; `line` has the form of the kernel's `uprobetracer`.
    ///
    /// # Errors
    /// The kernel rejects it.
    pub fn register(&self, line: &str) -> Result<()> {
        append(&self.root.join("uprobe_events"), line)
    }

    /// Passes the pages that have arrived to `each`, oldest first for each processor. Returns whether a buffer was at least
    /// half full: events may have been lost then, and only then, because a full buffer stays full until it is read.
    ///
    /// # Errors
    /// A buffer cannot be read.
    pub fn read(&mut self, mut each: impl FnMut(&[u8])) -> Result<bool> {
        let mut may_have_lost = false;
        for pipe in &mut self.pipes {
            let mut read = 0;
            for _ in 0..PAGES_MAX {
                match pipe.read(&mut self.page) {
                    Ok(0) => break,
                    Ok(bytes) => {
                        read += bytes;
                        each(&self.page[..bytes]);
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error).context("cannot read the tracing buffer"),
                }
            }
            may_have_lost |= read >= BUFFER_KIB as usize * 1024 / 2;
        }
        Ok(may_have_lost)
    }

    /// Numbers of events lost because a buffer was full: of the kernel's events, and of calls.
    pub fn lost(&self) -> [u64; 2] {
        [&self.dir, &self.calls].map(|dir| {
            let stats = processors(dir).unwrap_or_default().into_iter().map(|dir| dir.join("stats"));
            let texts: Vec<String> = stats.filter_map(|path| fs::read_to_string(path).ok()).collect();
            let counts = texts.iter().flat_map(|text| text.lines());
            let lost = counts.filter_map(|line| line.strip_prefix("overrun:").or(line.strip_prefix("dropped events:")));
            lost.filter_map(|count| count.trim().parse::<u64>().ok()).sum()
        })
    }
}

/// The directories of an instance's buffers, one for each processor.
fn processors(instance: &Path) -> Result<Vec<PathBuf>> {
    let dir = instance.join("per_cpu");
    let entries = fs::read_dir(&dir).with_context(|| format!("cannot read {}", dir.display()))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
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

/// Removes the instances and probes of a process, alive or dead.
pub fn remove(root: &Path, group: &str) {
    let dirs = ["", CALLS].map(|end| root.join("instances").join(format!("{group}{end}")));
    let own: Vec<String> = probes(root).into_iter().filter(|probe| group_of(probe) == group).collect();
    // An enabled event keeps its probe in use. One after the other, because each waits for all processors, and other watches wait
    // for as long as one write takes. Missing files are not errors.
    let events = own.iter().map(|probe| dirs[1].join("events").join(probe));
    for events in events.chain(dirs.iter().map(|dir| dir.join("events"))) {
        let _ = fs::write(events.join("enable"), "0");
    }
    for probe in own {
        at_once_or_soon(|| {
            let removed = append(&root.join("uprobe_events"), &format!("-:{probe}"));
            // Another process may have removed it.
            let is_missing =
                |error: anyhow::Error| error.downcast_ref().map(io::Error::kind) == Some(ErrorKind::NotFound);
            removed.err().is_none_or(is_missing)
        });
    }
    for dir in &dirs {
        at_once_or_soon(|| fs::remove_dir(dir).is_ok() || !dir.exists());
    }
}

/// Repeats what the kernel refuses for a moment: a buffer that is being read, or a probe that is being executed, is busy.
fn at_once_or_soon(is_done: impl Fn() -> bool) {
    const TIMES: usize = 20;
    for _ in 0..TIMES {
        if is_done() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// Names of all probes of programs, such as `contend_watch_41_9/step_0`.
fn probes(root: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join("uprobe_events")).unwrap_or_default();
    text.lines().filter_map(|line| Some(line.split_whitespace().next()?.split_once(':')?.1.to_string())).collect()
}

fn group_of(probe: &str) -> &str {
    probe.split('/').next().unwrap_or_default()
}

/// Name of a process that has ended, as the kernel keeps it of those whose events it has reported last.
pub fn traced_name(pid: u32) -> Option<String> {
    let names = PLACES.iter().find_map(|place| fs::read_to_string(Path::new(place).join("saved_cmdlines")).ok())?;
    let name = names.lines().find_map(|line| line.strip_prefix(&format!("{pid} ")))?;
    (name != "<...>").then(|| name.to_string())
}

/// Removes the instances and probes of dead processes. A probe may have lost its instance.
pub fn remove_leftovers(root: &Path) {
    let entries = fs::read_dir(root.join("instances")).into_iter().flatten().flatten();
    let instances = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let instances = instances.map(|name| name.strip_suffix(CALLS).map_or(name.clone(), str::to_string));
    let groups: HashSet<String> =
        instances.chain(probes(root).iter().map(|probe| group_of(probe).to_string())).collect();
    groups.iter().filter(|group| is_of_dead(group)).for_each(|group| remove(root, group));
}

/// Whether a name is that of an instance of contend whose process has ended.
fn is_of_dead(group: &str) -> bool {
    let parts: Vec<&str> = group.strip_prefix(PREFIX).unwrap_or_default().split('_').collect();
    let ["", pid, _] = parts[..] else { return false };
    pid.parse().is_ok_and(|pid| name_of(pid).as_deref() != Some(group))
}

/// The name of a process's instance: its number, and its start time, because numbers are reused.
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
