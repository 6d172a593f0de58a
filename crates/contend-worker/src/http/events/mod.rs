//! An event loop and its clients. A request costs one write, one read and its share of one wait. The clock is read
//! right before the first write of an attempt and right after the read that completes its last answer. An attempt of
//! several requests also includes the work between them: finding values in an answer and writing the next request.
//! Nothing allocates once buffers have grown.
//!
//! A client goes from phase to phase: its attempt is due at some time, perhaps a connection is opened, the request is
//! sent, the answer read, a pause kept, and so on through the steps of the transaction.

mod exchange;
mod wait;

use crate::arguments::Arguments;
use crate::attempt::Failed;
use crate::client::{ClientLoop, Engine, Turn, room_for_samples};
use crate::clock::monotonic_ns;
use crate::control::Control;
use crate::failure::Failure;
use crate::http::answer::Reader;
use crate::http::cookies::Jar;
use crate::http::options::Options;
use crate::http::said::Said;
use crate::http::shared::{Service, Shared};
use crate::http::tls::Session;
use crate::kept::Kept;
use crate::session::Waits;
use anyhow::{Context, Result};
use contend_wire::handshake::Facts;
use contend_wire::plan::http::HttpStep;
use contend_wire::plan::{Plan, Source, Step};
use contend_wire::sample::{CodeSpace, NOT_MEASURED, Sample, worker_code};
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::Errno;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Events taken at once.
const EVENTS_AT_ONCE: usize = 256;
/// Data of the event that only wakes the loop.
const WAKER: u64 = u64::MAX;
/// Any status, for answers that are shown to people.
const ANY_STATUS: &[(u16, u16)] = &[(100, 999)];

const NONSENSE: Failure = Failure::worker(worker_code::ANSWER);
const TIMED_OUT: Failure = os(Errno::TIMEDOUT);
const GIVEN_UP: Failure = os(Errno::CANCELED);
/// The connection ended before a byte of the answer had come.
const LOST: Failure = os(Errno::CONNRESET);

const fn os(errno: Errno) -> Failure {
    Failure { space: CodeSpace::Os, code: errno.raw_os_error() as u32 }
}

fn os_error(e: &std::io::Error) -> Failure {
    Failure { space: CodeSpace::Os, code: e.raw_os_error().unwrap_or(Errno::IO.raw_os_error()) as u32 }
}

/// What a client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// For the time when its attempt is due.
    Due,
    /// For the pause before it reconnects to a service that refused.
    Held,
    Connecting,
    /// The handshake of TLS.
    Securing,
    Sending,
    Reading,
    Pausing,
    /// For nothing: the loop handles it in its next round.
    Idle,
    Over,
}

impl Phase {
    fn is_in_flight(self) -> bool {
        matches!(self, Phase::Held | Phase::Connecting | Phase::Securing | Phase::Sending | Phase::Reading)
    }
}

/// What a client does.
#[derive(Debug, Clone, Copy)]
enum Work {
    None,
    Turn(Turn),
    /// Before the start: a connection, and then a transaction, if there is one.
    Once(Option<u16>),
}

struct Connection {
    stream: TcpStream,
    /// Of a service that is spoken to through TLS.
    tls: Option<Session>,
    /// The request is encrypted, and not all of it has left.
    encrypted: bool,
    /// Whether the loop gets an event when the connection is writable.
    wants_out: bool,
    /// Whether it has served a request before.
    used: bool,
    /// Time since which nothing was expected.
    quiet_since_ns: u64,
}

/// A client of the plan.
pub struct Client<'p> {
    /// Position in the plan.
    pub index: usize,
    /// Values that the login kept.
    pub session: Kept,
    /// Values that the attempt kept.
    pub kept: Kept,
    pace: Option<ClientLoop<'p>>,
    service: &'p Service,
    connection: Option<Connection>,
    /// Tells events of this connection from those of an earlier one.
    generation: u32,
    phase: Phase,
    work: Work,
    transaction: u16,
    step: usize,
    rows: u32,
    waits: Waits,
    /// Whether the service reported that it did not carry out the last request.
    refused: bool,
    jar: Jar,
    /// Bytes of the next request.
    out: Vec<u8>,
    rendered: Option<Result<(), Failure>>,
    sent: usize,
    /// Whether the connection was lost before anything was sent, and reopened.
    reopened: bool,
    reader: Reader,
    /// Time by which the request in flight must be answered.
    deadline_ns: u64,
    /// Time since which it has been connecting.
    connecting_ns: u64,
    not_connect_before_ns: u64,
    /// Time of its valid timer; other timers are ignored.
    wake_ns: u64,
    /// Result of the work before the start.
    once: Option<Result<(), Failed>>,
    /// Why the last handshake failed, in words.
    pub(crate) insecure: Option<String>,
}

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
}

impl<'p> Events<'p> {
    /// A loop for the clients with these positions in the plan, connected and logged in.
    ///
    /// # Errors
    /// Which client could not be made ready, and why.
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
            let pace = ClientLoop::new(plan, *index, control, pulse, room_for_samples(plan, of, Engine::Elsewhere));
            Client::new(*index, Kept::new(&plan.head), Kept::new(&plan.head), pace, &services[of.database as usize])
        };
        let mut events = Self {
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
        };
        events.log_in()?;
        Ok(events)
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
}

/// Whether HTTP defines this method as safe.
fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE")
}

impl<'p> Client<'p> {
    fn new(index: usize, session: Kept, kept: Kept, pace: ClientLoop<'p>, service: &'p Service) -> Self {
        Self {
            index,
            session,
            kept,
            pace: Some(pace),
            service,
            connection: None,
            generation: 0,
            phase: Phase::Idle,
            work: Work::None,
            transaction: 0,
            step: 0,
            rows: 0,
            waits: Waits { lock_ns: NOT_MEASURED, ..Waits::UNKNOWN },
            refused: false,
            jar: Jar::default(),
            out: vec![],
            rendered: None,
            sent: 0,
            reopened: false,
            reader: Reader::default(),
            deadline_ns: u64::MAX,
            connecting_ns: 0,
            not_connect_before_ns: 0,
            wake_ns: 0,
            once: None,
            insecure: None,
        }
    }

    /// The answer to the last request, as far as it has arrived.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The service of the client.
    pub fn service(&self) -> &'p Service {
        self.service
    }

    fn begin_attempt(&mut self, transaction: u16) {
        (self.transaction, self.step, self.rows, self.rendered) = (transaction, 0, 0, None);
        self.waits = Waits::UNKNOWN;
        (self.refused, self.sent) = (false, 0);
        self.kept.clear();
    }

    /// Whether a failed attempt may have changed something: it writes, and a request that may write was answered or
    /// sent, unless the service reported that it did nothing.
    #[cold]
    fn may_have_acted(&self, plan: &Plan) -> bool {
        let transaction = &plan.head.transactions[usize::from(self.transaction)];
        let is_safe = |step: &Step| match step {
            Step::Http(http) => is_safe(&plan.head.requests[http.request as usize].method),
            _ => true,
        };
        // If all requests of a writing transaction have safe methods, the methods do not show which one writes.
        let all_safe = transaction.steps.iter().all(is_safe);
        let may_write = |step: &Step| matches!(step, Step::Http(_)) && (all_safe || !is_safe(step));
        let (before, rest) = transaction.steps.split_at(self.step.min(transaction.steps.len()));
        let left = self.sent > 0 && !self.refused;
        transaction.writes && (before.iter().any(may_write) || left && rest.first().is_some_and(may_write))
    }

    fn http_step(&self, plan: &'p Plan) -> Option<&'p HttpStep> {
        match plan.head.transactions[usize::from(self.transaction)].steps.get(self.step) {
            Some(Step::Http(step)) => Some(step),
            _ => None,
        }
    }

    fn write_request(&mut self, step: &'p HttpStep, plan: &'p Plan, scratch: &mut Vec<u8>) {
        let arguments = match (self.work, &self.pace) {
            (Work::Turn(turn), Some(pace)) => pace.arguments(&turn),
            _ => Arguments { head: &plan.head, drawn: &[], first_unique: 0, operation: 0 },
        };
        let Self { out, kept, session, jar, .. } = self;
        out.clear();
        let template = &self.service.templates[step.request as usize];
        let (session, kept) = (&*session, &*kept);
        let written = template.write(out, scratch, jar.line(), &step.args, |source| match source {
            Source::Session { slot } => session.get(*slot, 0).ok_or(Failure::worker(worker_code::NOT_KEPT)),
            other => arguments.resolve(other, 0, kept),
        });
        self.rendered = Some(written);
    }
}
