//! Runs commands on this machine: each in its own process group, timed from before its start to its end.

use crate::left::may_be_left;
use crate::rounds::Ground;
use crate::saved::{By, Side, Took};
use crate::unreported::Unreported;
use anyhow::{Context, Result, bail, ensure};
use contend::check::marks::{foreign_cpu_permille, noisy_cpu};
use contend::outcome::mark::Mark;
use contend::trial::clock::monotonic_ns;
use contend::trial::data::disk;
use contend::trial::standing;
use contend::trial::watch::group::Group;
use contend::trial::watch::janitor::Janitor;
use contend::trial::watch::machine::processors;
use contend::trial::watch::orphans;
use contend::trial::watch::usage::machine_time;
use contend::units::duration_text;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Shorter rounds get no marks: the kernel's ticks are too coarse to attribute CPU time, and probing the disk would
/// take a large part of the time.
const MARKED_FROM_NS: u64 = 400_000_000;

/// Time for processes that end with their parent, such as helpers whose pipe is closed.
const ENDS_WITHIN: Duration = Duration::from_millis(50);

/// What an error shows of a failed command's output: its last lines, from these bytes at its end, cropped to this length.
const LINES: usize = 5;
const END_BYTES: u64 = 64 << 10;
const LINE_CHARS: usize = 200;
/// Bytes of an output that are kept on the disk, about.
const OUTPUT_MAX: u64 = 16 << 20;
/// Replaces what is not kept.
const DROPPED: &[u8] = b"[contend: the output was too long, and what came before this line was not kept]\n";

/// State for running the commands of a gate.
pub struct Machine<'m> {
    pub a: String,
    pub b: String,
    pub before: Option<String>,
    /// Directory of the outputs.
    pub dir: PathBuf,
    /// Longest time of one run.
    pub budget_ns: u64,
    pub fsync_ns: u64,
    /// The time that decides.
    pub by: By,
    pub janitor: &'m Janitor,
    pub cancelled: &'m dyn Fn() -> bool,
    pub round: Disturbances,
    /// Names of processes that a command may leave running.
    pub may_leave: Vec<String>,
    /// Names of the processes that the last command left running.
    pub left: Vec<String>,
    /// Name of a process of the last command that had children and ignored SIGCHLD; found only if the CPU time decides.
    pub unreported: Option<String>,
}

/// Disturbances of the current round so far.
#[derive(Debug, Default)]
pub struct Disturbances {
    busy_ns: u64,
    ours_ns: u64,
    observed_ns: u64,
    marks: Vec<Mark>,
}

impl Machine<'_> {
    /// The file with the output of a command's last run.
    fn output(&self, side: Side) -> PathBuf {
        self.dir.join(format!("output-{}.txt", side.name().to_lowercase()))
    }

    /// Removes the outputs of runs that succeeded.
    pub fn forget_outputs(&self) {
        for side in [Side::A, Side::B] {
            let _ = fs::remove_file(self.output(side));
        }
    }

    fn carry_out(&mut self, command: &str, (name, place): (&str, &str), output: &Path) -> Result<Took> {
        let file = output_file(output).with_context(|| format!("cannot write {}", output.display()))?;
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file.try_clone()?);
        let (machine, deadline) = (machine_time(), Instant::now() + Duration::from_nanos(self.budget_ns));
        let unreported = (self.by == By::Cpu).then(|| Unreported::new(orphans::children("self")));
        let begun_ns = monotonic_ns();
        let mut group = Group::start(&mut shell, self.janitor).context("cannot start sh")?;
        let at_ns = group.wait_for_end(Some(deadline), &|| {
            bound(&file, output);
            unreported.as_ref().inspect(|unreported| unreported.look());
            (self.cancelled)()
        });
        let running = orphans::running(ENDS_WITHIN);
        // What ends just after the shell is part of the work.
        let at_ns = at_ns.map(|at_ns| at_ns.map(|at_ns| at_ns.max(running.last_end_ns.unwrap_or(0))));
        let ended = at_ns.and_then(|at_ns| at_ns.map(|at_ns| group.kill(at_ns)).transpose());
        drop(group);
        let left = orphans::end(&running.left)?;
        self.left = left.processes.into_iter().map(|(name, _)| name).collect();
        self.unreported = unreported.and_then(Unreported::found);
        let Some(ended) = ended? else {
            bail!(
                "{name} did not end within the whole budget of {}, in {place}; choose a longer --budget or a command that \
                 does less. Its output is in {}",
                duration_text(self.budget_ns),
                output.display()
            );
        };
        let after = machine_time();
        self.round.busy_ns += after.busy_ns.saturating_sub(machine.busy_ns);
        self.round.observed_ns += after.at_ns - machine.at_ns;
        let cpu_ns = ended.cpu_ns + left.cpu_ns;
        self.round.ours_ns += cpu_ns;
        if !ended.status.success() {
            bail!("{name} failed in {place} ({}). {}", ended.status, said(output));
        }
        refuse_changes(&standing::changes()?, (name, place))?;
        Ok(Took { wall_ns: ended.at_ns.saturating_sub(begun_ns), cpu_ns })
    }
}

/// The measured command would run without a process that its preparation started and contend killed.
fn refuse_left(left: &[String], may_leave: &[String], (name, place): (&str, &str)) -> Result<()> {
    let left: Vec<&str> = left.iter().map(String::as_str).filter(|name| !may_be_left(may_leave, name)).collect();
    ensure!(
        left.is_empty(),
        "{name} left {} running, in {place}. What it starts is killed at its end, before the measured command runs; start \
         services before the gate, or in --a and --b",
        left.join(", ")
    );
    Ok(())
}

/// Later commands would run under other circumstances than this one.
fn refuse_changes(changes: &[String], (name, place): (&str, &str)) -> Result<()> {
    ensure!(changes.is_empty(), "while {name} ran, in {place}, {}", changes.join("; "));
    Ok(())
}

/// An empty file for the output of a command. All writes are at its end, also after [`bound`].
fn output_file(path: &Path) -> std::io::Result<File> {
    File::create(path)?;
    OpenOptions::new().append(true).open(path)
}

/// Leaves only the end of an output that is too long. What is written meanwhile can be lost.
fn bound(mut output: &File, path: &Path) {
    if output.metadata().is_ok_and(|of| of.len() > OUTPUT_MAX) {
        let end = end_of(path).unwrap_or_default();
        if output.set_len(0).is_ok() {
            let _ = output.write_all(&[DROPPED, &end].concat());
        }
    }
}

/// The end of an output, and the path of the rest.
fn said(output: &Path) -> String {
    let text = String::from_utf8_lossy(&end_of(output).unwrap_or_default()).into_owned();
    // Progress bars write over a line.
    let lines: Vec<&str> = text.split(['\n', '\r']).filter(|line| !line.is_empty()).collect();
    let last: Vec<String> = lines[lines.len().saturating_sub(LINES)..].iter().map(|line| cropped(line)).collect();
    match last.is_empty() {
        true => "It wrote nothing.".to_string(),
        false => format!("Its output is in {} and ends with:\n  {}", output.display(), last.join("\n  ")),
    }
}

fn end_of(output: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(output)?;
    let end = file.metadata()?.len();
    file.seek(SeekFrom::Start(end.saturating_sub(END_BYTES)))?;
    let mut bytes = vec![];
    file.take(END_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn cropped(line: &str) -> String {
    let mut chars = line.chars();
    let start: String = chars.by_ref().take(LINE_CHARS).collect();
    if chars.next().is_some() { start + " ..." } else { start }
}

impl Ground for Machine<'_> {
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }

    fn settle(&mut self, round_ns: Option<u64>) -> Result<()> {
        self.round = Disturbances::default();
        if round_ns.is_some_and(|ns| ns >= MARKED_FROM_NS) {
            let moment = disk::wait_until_quiet(&self.dir, self.fsync_ns, self.cancelled)?;
            let noisy = (!moment.quiet).then_some(Mark::NoisyDisk { sync_ns: moment.fsync_ns_p50 });
            self.round.marks.extend(noisy);
        }
        Ok(())
    }

    fn run(&mut self, side: Side, place: &str) -> Result<Took> {
        if let Some(before) = self.before.clone() {
            let output = self.dir.join("output-before.txt");
            let seen = std::mem::take(&mut self.round);
            let name = format!("--before of {}", side.name());
            self.carry_out(&before, (&name, place), &output)?;
            refuse_left(&self.left(), &self.may_leave, (&name, place))?;
            // The preparation is not measured, so what disturbs it does not count.
            self.round = seen;
            let _ = fs::remove_file(output);
        }
        let command = match side {
            Side::A => self.a.clone(),
            Side::B => self.b.clone(),
        };
        let took = self.carry_out(&command, (side.name(), place), &self.output(side))?;
        if let Some(process) = &self.unreported {
            bail!(
                "{}: {process} started processes and ignores SIGCHLD, in {place}. The kernel then adds their CPU time to \
                 no other time, so --by cpu cannot compare the commands; use --by wall, or change {process} so that it does not \
                 ignore SIGCHLD, and waits for them",
                side.name()
            );
        }
        Ok(took)
    }

    fn left(&mut self) -> Vec<String> {
        std::mem::take(&mut self.left)
    }

    fn marks(&mut self) -> Vec<Mark> {
        let seen = std::mem::take(&mut self.round);
        let mut marks = seen.marks;
        if seen.observed_ns >= MARKED_FROM_NS {
            marks.extend(noisy_cpu(foreign_cpu_permille(seen.busy_ns, seen.ours_ns, seen.observed_ns, processors())));
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preparation_that_leaves_a_process_is_refused_by_its_name() {
        let left = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            refuse_left(&names, &["ssh-agent".to_string()], ("--before of A", "round 1"))
        };
        assert!(left(&[]).is_ok() && left(&["ssh-agent"]).is_ok());
        let said = left(&["ssh-agent", "redis-server"]).expect_err("it would be killed").to_string();
        assert!(said.starts_with("--before of A left redis-server running, in round 1."), "{said}");
    }
}
