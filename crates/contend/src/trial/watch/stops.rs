//! Stops of a child process by a signal, such as SIGSTOP. The kernel reports each one to the parent, so none is too short to be seen.

use crate::check::heard::Stopped;
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The stops of one child.
#[derive(Debug, Clone, Default)]
pub struct Stops(Arc<Mutex<Course>>);

#[derive(Debug, Default)]
struct Course {
    so_far: Stopped,
    /// Since when it has been stopped; `None` if it runs.
    since: Option<Instant>,
}

impl Stops {
    /// Counts the stops of a child from now on. A thread waits for them until the child ends, and reaps nothing.
    pub fn of(child: u32) -> Self {
        let stops = Self::default();
        if let Some(pid) = i32::try_from(child).ok().and_then(Pid::from_raw) {
            let seen = stops.clone();
            std::thread::spawn(move || seen.follow(pid));
        }
        stops
    }

    /// How often it was stopped, and for how long together.
    pub fn so_far(&self) -> Stopped {
        let course = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Stopped { ns: course.so_far.ns + ns_since(course.since), ..course.so_far }
    }

    fn follow(&self, pid: Pid) {
        let changes = WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED;
        loop {
            match waitid(WaitId::Pid(pid), changes | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
                Ok(Some(status)) if status.stopped() || status.continued() => {
                    // Takes only stops and what continues them: the end of the child is for others.
                    if let Ok(Some(status)) = waitid(WaitId::Pid(pid), changes | WaitIdOptions::NOHANG) {
                        self.change(status.stopped());
                    }
                }
                Err(Errno::INTR) => {}
                _ => return,
            }
        }
    }

    /// A stop that ended before it was seen still counts.
    fn change(&self, stopped: bool) {
        let mut course = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        course.so_far.ns += ns_since(course.since);
        course.so_far.times += u32::from(stopped || course.since.is_none());
        course.since = stopped.then(Instant::now);
    }
}

fn ns_since(since: Option<Instant>) -> u64 {
    since.map_or(0, |since| u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX))
}
