//! An event loop and its clients. A request costs one write, one read and its share of one wait. The clock is read
//! right before the first write of an attempt and right after the read that completes its last answer. An attempt of
//! several requests also includes the work between them: finding values in an answer and writing the next request.
//! Nothing allocates once buffers have grown.
//!
//! A client goes from phase to phase: its attempt is due at some time, perhaps a connection is opened, the request is
//! sent, the answer read, a pause kept, and so on through the steps of the transaction.

mod client;
mod connection;
mod exchange;
mod failures;

pub use client::Client;

use crate::attempt::Failed;
use crate::client::{ClientLoop, EngineRuns, room_for_samples};
use crate::clock::monotonic_ns;
use crate::control::Control;
use crate::failure::Failure;
use crate::http::options::Options;
use crate::http::responses::Responses;
use crate::http::said::Said;
use crate::http::shared::Shared;
use crate::kept::Kept;
use anyhow::{Context, Result};
use client::{Phase, Work};
use contend_wire::handshake::Facts;
use contend_wire::plan::{Plan, Source, Step};
use contend_wire::sample::{Sample, worker_code};
use failures::{GIVEN_UP, TIMED_OUT};
use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};
use rustix::io::Errno;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Events taken at once.
const EVENTS_AT_ONCE: usize = 256;
/// Data of the event that only wakes the loop.
const WAKER: u64 = u64::MAX;
/// An event loop with its clients.
pub struct Events<'p> {
    plan: &'p Plan,
    options: &'p Options,
    control: &'p Control,
    /// Its clients.
    pub clients: Vec<Client<'p>>,
    epoll: OwnedFd,
    waker: Arc<OwnedFd>,
    found: Vec<epoll::Event>,
    timers: BinaryHeap<Reverse<(u64, u32)>>,
    /// Clients to handle in the next round.
    asking: Vec<usize>,
    /// Earliest deadline of a request in flight.
    deadline_ns: u64,
    scratch: Vec<u8>,
    over: Vec<usize>,
    /// Begin and end of the window.
    window_ns: (u64, u64),
    /// Answers to failed requests of the window.
    pub said: Said,
    /// Answers to successful requests of the window.
    pub responses: Responses,
}

impl<'p> Events<'p> {
    /// A loop for the clients with these positions in the plan, before anything is connected.
    ///
    /// # Errors
    /// The system has no event loop for it.
    pub fn open(shared: &'p Shared, clients: &[usize]) -> Result<Self> {
        let Shared { plan, options, control, members, services, .. } = shared;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).context("cannot make an event loop")?;
        let waker = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).context("cannot make an event loop")?;
        epoll::add(&epoll, &waker, epoll::EventData::new_u64(WAKER), epoll::EventFlags::IN)?;
        let waker = Arc::new(waker);
        let from_outside = Arc::clone(&waker);
        // It is full only if it was written to before, which also wakes the loop.
        control.wake_with(move || {
            let _ = rustix::io::write(&from_outside, &1u64.to_ne_bytes());
        });
        let client = |index: &usize| {
            let of = &plan.clients[*index];
            let pulse = &members[*index].link.pulse;
            let pace = ClientLoop::new(plan, *index, control, pulse, room_for_samples(plan, of, EngineRuns::Elsewhere));
            Client::new(*index, Kept::new(&plan.head), Kept::new(&plan.head), pace, &services[of.database as usize])
        };
        Ok(Self {
            plan,
            options,
            control,
            clients: clients.iter().map(client).collect(),
            epoll,
            waker,
            found: Vec::with_capacity(EVENTS_AT_ONCE),
            timers: BinaryHeap::new(),
            asking: vec![],
            deadline_ns: u64::MAX,
            scratch: vec![],
            over: vec![],
            window_ns: (0, 0),
            said: Said::default(),
            responses: Responses::default(),
        })
    }

    pub(super) fn plan(&self) -> &'p Plan {
        self.plan
    }

    /// Facts of each connection.
    pub fn facts(&self) -> Vec<(usize, Facts)> {
        let facts = |client: &Client<'_>| {
            let id = self.plan.clients[client.index].id.to_string();
            vec![("client".to_string(), id), ("address".to_string(), client.service.address.to_string())]
        };
        self.clients.iter().map(|client| (client.index, facts(client))).collect()
    }

    /// Carries out the plan from `start_ns` on. `ended` gets each client's samples.
    ///
    /// # Errors
    /// The system refuses to wait for events.
    pub fn run(&mut self, start_ns: u64, ended: &mut impl FnMut(usize, Vec<Sample>, bool)) -> Result<()> {
        // Services may have closed connections meanwhile; attempts must not fail for that.
        loop {
            self.round(Some(0))?;
            if self.found.len() < EVENTS_AT_ONCE {
                break;
            }
        }
        let window = self.plan.head.window;
        let end_ns = if window.length_ns == 0 { u64::MAX } else { start_ns.saturating_add(window.end_ns()) };
        self.window_ns = (start_ns.saturating_add(window.run_in_ns), end_ns);
        for i in 0..self.clients.len() {
            if let Some(pace) = &mut self.clients[i].pace {
                pace.start(start_ns);
            }
            self.next(i);
        }
        let mut running = self.clients.len();
        loop {
            for i in std::mem::take(&mut self.over) {
                running -= 1;
                let client = &mut self.clients[i];
                client.connection = None;
                if let Some(pace) = client.pace.take() {
                    pace.set_loop_over();
                    let (samples, exhausted) = pace.into_result();
                    ended(client.index, samples, exhausted);
                }
            }
            if running == 0 {
                return Ok(());
            }
            self.round(None)?;
        }
    }

    /// Connects one client and carries out a transaction, if there is one, outside of any window.
    pub(crate) fn start_once(&mut self, i: usize, transaction: Option<u16>) {
        let client = &mut self.clients[i];
        client.work = Work::Once(transaction);
        client.begin_attempt(transaction.unwrap_or(0));
        let now_ns = monotonic_ns();
        match transaction {
            Some(_) => {
                self.render(i);
                self.step(i, now_ns);
            }
            None => {
                client.deadline_ns = now_ns.saturating_add(self.options.timeout_ns);
                self.deadline_ns = self.deadline_ns.min(client.deadline_ns);
                self.connect(i, now_ns);
            }
        }
    }

    /// Result of the work before the start, once it has ended.
    pub(crate) fn take_once(&mut self, i: usize) -> Option<Result<(), Failed>> {
        self.clients[i].once.take()
    }

    /// Prepares the client's next attempt as far as possible before its time.
    fn next(&mut self, i: usize) {
        let client = &mut self.clients[i];
        let Some(pace) = &mut client.pace else { return };
        let Some(turn) = pace.next_turn() else {
            client.phase = Phase::Over;
            client.work = Work::None;
            self.over.push(i);
            return;
        };
        let transaction = pace.transaction(&turn);
        client.work = Work::Turn(turn);
        client.begin_attempt(transaction);
        self.render(i);
        let now_ns = monotonic_ns();
        if now_ns < turn.not_before_ns {
            self.set_timer(i, Phase::Due, turn.not_before_ns);
        } else {
            self.begin(i, now_ns);
        }
    }

    #[inline]
    fn begin(&mut self, i: usize, now_ns: u64) {
        let client = &mut self.clients[i];
        let (Work::Turn(turn), Some(pace)) = (&mut client.work, &mut client.pace) else { return };
        if pace.begin(turn, now_ns) {
            self.step(i, now_ns);
        } else {
            self.ask(i);
        }
    }

    fn ask(&mut self, i: usize) {
        self.clients[i].phase = Phase::Idle;
        self.asking.push(i);
    }

    /// Writes the next request of the attempt, unless it contains the time and must be written when it is sent.
    fn render(&mut self, i: usize) {
        let client = &mut self.clients[i];
        let steps = &self.plan.head.transactions[usize::from(client.transaction)].steps;
        let next = steps[client.step..].iter().find_map(|step| match step {
            Step::Http(http) => Some(http),
            _ => None,
        });
        if let Some(step) = next
            && !step.args.iter().any(|source| matches!(source, Source::Now { .. }))
        {
            client.write_request(step, self.plan, &mut self.scratch);
        }
    }

    /// The next step of the attempt, or its end.
    fn step(&mut self, i: usize, now_ns: u64) {
        let plan = self.plan;
        let client = &mut self.clients[i];
        match plan.head.transactions[usize::from(client.transaction)].steps.get(client.step) {
            None => self.done(i, Ok(()), now_ns),
            Some(Step::Http(step)) => self.send(i, step, now_ns),
            Some(Step::Pause { ns }) => self.set_timer(i, Phase::Pausing, now_ns.saturating_add(*ns)),
            // Refused with the plan.
            Some(Step::Sql(_) | Step::Hold { .. } | Step::Connect) => {
                self.fail(i, Failure::worker(worker_code::DRIVER))
            }
        }
    }

    /// Ends an attempt that has failed, and closes its connection.
    #[cold]
    fn fail(&mut self, i: usize, failure: Failure) {
        let client = &mut self.clients[i];
        client.connection = None;
        let step = client.step as u16;
        self.done(i, Err(Failed { step, failure }), monotonic_ns());
    }

    fn done(&mut self, i: usize, outcome: Result<(), Failed>, now_ns: u64) {
        let client = &mut self.clients[i];
        if outcome.is_err() {
            client.waits.may_have_acted = client.may_have_acted(self.plan);
        }
        match (client.work, &mut client.pace) {
            (Work::Turn(turn), Some(pace)) => {
                pace.end_attempt(turn, outcome, client.rows, client.waits, now_ns);
                // After a failure other clients come first, because the failure may have taken no time.
                if outcome.is_ok() { self.next(i) } else { self.ask(i) }
            }
            (Work::Once(_), _) => {
                (client.once, client.work, client.phase) = (Some(outcome), Work::None, Phase::Idle);
            }
            _ => {}
        }
    }

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
    fn wait(&mut self, wait_ns: Option<u64>) -> Result<()> {
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

    fn nothing_found(&mut self) -> Result<()> {
        self.found.clear();
        Ok(())
    }

    fn timers_due(&mut self, now_ns: u64) {
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

    fn set_timer(&mut self, i: usize, phase: Phase, wake_ns: u64) {
        (self.clients[i].phase, self.clients[i].wake_ns) = (phase, wake_ns);
        self.timers.push(Reverse((wake_ns, i as u32)));
    }

    /// Gives up requests that were not answered in time.
    #[cold]
    fn deadlines_due(&mut self, now_ns: u64) {
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
    fn woken(&mut self) {
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
