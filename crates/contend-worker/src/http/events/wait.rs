//! Waits of the event loop: due attempts, events, and deadlines.

use super::{Events, GIVEN_UP, Phase, TIMED_OUT, WAKER, Work};
use crate::clock::monotonic_ns;
use anyhow::{Context, Result};
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use std::cmp::Reverse;

impl Events<'_> {
    /// Handles due attempts and events, waiting for them at most `wait_ns`.
    pub(crate) fn round(&mut self, wait_ns: Option<u64>) -> Result<()> {
        let now_ns = monotonic_ns();
        self.timers_due(now_ns);
        if now_ns >= self.deadline_ns {
            self.deadlines_due(now_ns);
        }
        for i in std::mem::take(&mut self.asking) {
            self.next(i);
        }
        if !self.over.is_empty() {
            return Ok(());
        }
        self.wait(if self.asking.is_empty() { wait_ns } else { Some(0) })?;
        let found = std::mem::take(&mut self.found);
        for event in &found {
            match event.data.u64() {
                WAKER => self.woken(),
                data => self.happened((data & 0xffff_ffff) as usize, (data >> 32) as u32, event.flags),
            }
        }
        self.found = found;
        Ok(())
    }

    /// Waits for events. The kernel's wait has a resolution of milliseconds, so a client's due time has an exact wait
    /// first.
    pub(super) fn wait(&mut self, wait_ns: Option<u64>) -> Result<()> {
        let timer_ns = self.timers.peek().map_or(u64::MAX, |Reverse((ns, _))| *ns);
        let until_ns = timer_ns.min(self.deadline_ns);
        let mut timeout = match (wait_ns, until_ns) {
            (None, u64::MAX) => None,
            (wait_ns, _) => Some(until_ns.saturating_sub(monotonic_ns()).min(wait_ns.unwrap_or(u64::MAX))),
        };
        if let Some(ns @ 1..) = timeout
            && timer_ns <= self.deadline_ns
        {
            let mut one = [PollFd::new(&self.epoll, PollFlags::IN)];
            match poll(&mut one, Some(&timespec(ns))) {
                Ok(0) => return self.nothing_found(),
                Ok(_) => timeout = Some(0),
                Err(Errno::INTR) => return self.nothing_found(),
                Err(e) => return Err(e).context("cannot wait for events"),
            }
        }
        self.found.clear();
        let whole_ms = timeout.map(|ns| timespec(ns.div_ceil(1_000_000).saturating_mul(1_000_000).min(1 << 50)));
        match epoll::wait(&self.epoll, spare_capacity(&mut self.found), whole_ms.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(e) => Err(e).context("cannot wait for events"),
        }
    }

    pub(super) fn nothing_found(&mut self) -> Result<()> {
        self.found.clear();
        Ok(())
    }

    pub(super) fn timers_due(&mut self, now_ns: u64) {
        while let Some(Reverse((ns, i))) = self.timers.peek().copied() {
            if ns > now_ns {
                break;
            }
            self.timers.pop();
            let i = i as usize;
            if self.clients[i].wake_ns != ns {
                continue;
            }
            match self.clients[i].phase {
                Phase::Due => self.begin(i, monotonic_ns()),
                Phase::Held => self.connect(i, monotonic_ns()),
                Phase::Pausing => {
                    self.clients[i].step += 1;
                    self.step(i, monotonic_ns());
                }
                _ => {}
            }
        }
    }

    pub(super) fn set_timer(&mut self, i: usize, phase: Phase, wake_ns: u64) {
        (self.clients[i].phase, self.clients[i].wake_ns) = (phase, wake_ns);
        self.timers.push(Reverse((wake_ns, i as u32)));
    }

    /// Gives up requests that were not answered in time.
    #[cold]
    pub(super) fn deadlines_due(&mut self, now_ns: u64) {
        for i in 0..self.clients.len() {
            if self.clients[i].phase.is_in_flight() && self.clients[i].deadline_ns <= now_ns {
                self.clients[i].waits.timeout_spent = true;
                self.fail(i, TIMED_OUT);
            }
        }
        let in_flight = self.clients.iter().filter(|client| client.phase.is_in_flight());
        self.deadline_ns = in_flight.map(|client| client.deadline_ns).min().unwrap_or(u64::MAX);
    }

    /// The window's end has moved, or the drain is over.
    #[cold]
    pub(super) fn woken(&mut self) {
        let mut count = [0; 8];
        // The value does not matter; reading it resets the event.
        let _ = rustix::io::read(&self.waker, &mut count);
        let drain_over = self.control.drain_over();
        for i in 0..self.clients.len() {
            let client = &mut self.clients[i];
            match (client.phase, client.work, &client.pace) {
                (Phase::Due, Work::Turn(turn), Some(pace)) if pace.in_vain(&turn) => self.begin(i, monotonic_ns()),
                (phase, Work::Turn(_), _) if drain_over && (phase.is_in_flight() || phase == Phase::Pausing) => {
                    client.waits.cut_short = true;
                    self.fail(i, GIVEN_UP);
                }
                _ => {}
            }
        }
    }
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}
