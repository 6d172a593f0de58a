//! What programs inherit from contend: processors, nice value, scheduling policy, timer slack. Any process of the same user can
//! change these of contend. They are compared with what contend gave itself, and restored, before each start of a program.

use anyhow::{Context, Result, bail};
use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What contend gave itself, on the thread that starts programs.
static GIVEN: Mutex<Option<Given>> = Mutex::new(None);

/// Most programs that a change names, the last ones.
const STARTED_MOST: usize = 8;

struct Given {
    thread: i32,
    standing: Standing,
    /// The last programs that were started since [`changes`].
    started: Vec<String>,
    changes: Vec<String>,
}

/// Processors and priority of the calling thread.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Standing {
    processors: CpuSet,
    nice: i32,
    /// Number of the scheduling policy, and the priority in it: `0 0` is the usual one.
    policy: String,
    /// `None` if the kernel does not report it.
    timer_slack_ns: Option<String>,
}

/// Slack of the timers of the main thread.
const TIMER_SLACK: &str = "/proc/self/timerslack_ns";

impl Standing {
    fn now() -> Result<Self> {
        Ok(Self {
            processors: sched_getaffinity(None).context("cannot read which processors may be used")?,
            nice: getpriority_process(None).context("cannot read the nice value")?,
            policy: policy(&fs::read_to_string("/proc/thread-self/stat").unwrap_or_default()),
            timer_slack_ns: fs::read_to_string(TIMER_SLACK).ok(),
        })
    }

    /// Gives the calling thread this standing again; in words, what another process had changed.
    fn restore(&self) -> Result<Option<String>> {
        let now = Self::now()?;
        let found = self.difference(&now);
        if found.is_some() {
            let _ = sched_setaffinity(None, &self.processors);
            let _ = setpriority_process(None, self.nice);
            if let Some(slack) = self.timer_slack_ns.as_ref().filter(|_| self.timer_slack_ns != now.timer_slack_ns) {
                let _ = fs::write(TIMER_SLACK, slack);
            }
        }
        Ok(found)
    }

    fn difference(&self, now: &Self) -> Option<String> {
        let mut found = vec![];
        let mut compare = |what: &str, now: &str, before: &str| {
            if now != before {
                found.push(format!("{what} {} instead of {}", now.trim(), before.trim()));
            }
        };
        compare("processors", &listed(&now.processors), &listed(&self.processors));
        compare("nice value", &now.nice.to_string(), &self.nice.to_string());
        compare("scheduling policy and priority", &now.policy, &self.policy);
        let slack = |of: &Self| of.timer_slack_ns.clone().unwrap_or_default();
        compare("timer slack", &format!("{} ns", slack(now).trim()), &format!("{} ns", slack(self).trim()));
        (!found.is_empty()).then(|| found.join(", "))
    }
}

/// Policy and priority in `/proc/PID/stat`. The name before the other fields may contain anything.
fn policy(stat: &str) -> String {
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let field = |number: usize| fields.get(number - 3).copied().unwrap_or_default();
    format!("{} {}", field(41), field(40))
}

/// Processors as the kernel lists them: `0-2,5`.
pub fn listed(processors: &CpuSet) -> String {
    let mut ranges: Vec<(usize, usize)> = vec![];
    for cpu in (0..CpuSet::MAX_CPU).filter(|cpu| processors.is_set(*cpu)) {
        match ranges.last_mut().filter(|(_, last)| last + 1 == cpu) {
            Some((_, last)) => *last = cpu,
            None => ranges.push((cpu, cpu)),
        }
    }
    let words =
        |(first, last): &(usize, usize)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(words).collect::<Vec<_>>().join(",")
}

fn given() -> MutexGuard<'static, Option<Given>> {
    GIVEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records the standing of the calling thread, which starts the programs. Later calls change nothing.
///
/// # Errors
/// The system does not report it.
pub fn begin() -> Result<()> {
    let mut given = given();
    if given.is_none() {
        let (thread, standing) = (gettid().as_raw_pid(), Standing::now()?);
        *given = Some(Given { thread, standing, started: vec![], changes: vec![] });
    }
    Ok(())
}

/// Processors that contend gives the programs that it starts.
///
/// # Errors
/// The system does not report them.
pub fn processors() -> Result<CpuSet> {
    match &*given() {
        Some(given) => Ok(given.standing.processors),
        None => Ok(Standing::now()?.processors),
    }
}

/// Limits the calling thread, and the programs that it starts, to processors.
///
/// # Errors
/// The system refuses.
pub fn limit_to(processors: &CpuSet) -> Result<()> {
    restore();
    sched_setaffinity(None, processors).context("cannot choose processors")?;
    if let Some(given) = own(&mut given()) {
        given.standing.processors = Standing::now()?.processors;
    }
    Ok(())
}

/// Restores the standing before a program starts, and notes for [`changes`] what had been changed.
pub fn restore() {
    if let Some(given) = own(&mut given()) {
        let found = given.standing.restore().ok().flatten();
        given.changes.extend(found.map(|found| given.said(&found)));
    }
}

/// Notes that a program was started.
pub fn started(program: &str, pid: u32) {
    if let Some(given) = own(&mut given()) {
        given.started.push(format!("{program} (process {pid})"));
        let surplus = given.started.len().saturating_sub(STARTED_MOST);
        given.started.drain(..surplus);
    }
}

/// What other processes changed since the last call, in words. All of it has been restored.
///
/// # Errors
/// It cannot be restored, so later measurements would not be comparable.
pub fn changes() -> Result<Vec<String>> {
    restore();
    let mut given = given();
    let Some(given) = own(&mut given) else { return Ok(vec![]) };
    given.started.clear();
    if let Some(left) = given.standing.difference(&Standing::now()?) {
        bail!(
            "contend itself has {left}, and may not change it back, so it cannot measure further. Another process has set it, \
             or the limits of a container or the processors of the machine have changed. Start it again (a run: with \
             --resume), and let only contend set processors and priorities"
        );
    }
    Ok(std::mem::take(&mut given.changes))
}

impl Given {
    fn said(&self, found: &str) -> String {
        let since = if self.started.is_empty() { "no program".to_string() } else { self.started.join(", ") };
        format!(
            "contend itself had {found}, set by another process; programs that it starts inherit that. contend restored it. \
             Since the last look it had started {since}. To limit a run, start contend with taskset or nice, or set \
             `processors`"
        )
    }
}

/// On other threads than the one that starts programs, nothing is known.
fn own(given: &mut Option<Given>) -> Option<&mut Given> {
    given.as_mut().filter(|given| given.thread == gettid().as_raw_pid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_listed_as_the_kernel_does() {
        let mut set = CpuSet::new();
        assert_eq!(listed(&set), "");
        [0, 1, 2, 5, 8, 9].iter().for_each(|cpu| set.set(*cpu));
        assert_eq!(listed(&set), "0-2,5,8-9");
        let status = fs::read_to_string("/proc/thread-self/status").expect("the kernel's list");
        let kernel = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list").trim();
        assert_eq!(listed(&sched_getaffinity(None).expect("processors")), kernel);
    }

    #[test]
    fn policy_and_priority_are_read_behind_any_name() {
        let rest: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        assert_eq!(policy(&format!("7 (a) b (c) {}", rest.join(" "))), "41 40");
    }

    /// Each test has its own thread, so only this one is changed.
    #[test]
    fn what_was_changed_is_named_and_restored() {
        let before = Standing::now().expect("a standing");
        assert_eq!(before.restore().expect("readable"), None);
        let mut one = CpuSet::new();
        one.set((0..CpuSet::MAX_CPU).find(|cpu| before.processors.is_set(*cpu)).expect("a processor"));
        sched_setaffinity(None, &one).expect("a part of it");
        setpriority_process(None, before.nice + 1).expect("less");
        let found = before.restore().expect("readable").expect("a difference");
        assert!(found.contains(&format!("nice value {} instead of {}", before.nice + 1, before.nice)), "{found}");
        if before.processors.count() > 1 {
            let words = format!("processors {} instead of {}", listed(&one), listed(&before.processors));
            assert!(found.starts_with(&words), "{found}");
        }
        let after = Standing::now().expect("a standing");
        assert_eq!(after.processors, before.processors);
        // Only root may lower a nice value.
        assert!(after.nice == before.nice || before.difference(&after).is_some());
    }
}
