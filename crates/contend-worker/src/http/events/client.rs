//! A client of an event loop: the phase that it is in, its attempt, and its request.

use super::connection::Connection;
use crate::arguments::Arguments;
use crate::attempt::Failed;
use crate::client::{ClientLoop, Turn};
use crate::failure::Failure;
use crate::http::answer::Reader;
use crate::http::cookies::Jar;
use crate::http::shared::Service;
use crate::kept::Kept;
use crate::session::Waits;
use contend_wire::plan::http::HttpStep;
use contend_wire::plan::{Plan, Source, Step};
use contend_wire::sample::{NOT_MEASURED, worker_code};

/// State of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Waits until its attempt is due.
    Due,
    /// Waits before it reconnects to a service that refused the connection.
    Held,
    Connecting,
    /// The handshake of TLS.
    Securing,
    Sending,
    Reading,
    Pausing,
    /// Waits for nothing: the loop handles it in its next round.
    Idle,
    Over,
}

impl Phase {
    pub fn is_in_flight(self) -> bool {
        matches!(self, Phase::Held | Phase::Connecting | Phase::Securing | Phase::Sending | Phase::Reading)
    }
}

/// What a client does.
#[derive(Debug, Clone, Copy)]
pub enum Work {
    None,
    Turn(Turn),
    /// Before the start: a connection, and then a transaction, if there is one.
    Once(Option<u16>),
}

/// A client of the plan.
pub struct Client<'p> {
    /// Position in the plan.
    pub index: usize,
    /// Values that the login kept.
    pub session: Kept,
    /// Values that the attempt kept.
    pub kept: Kept,
    pub(super) pace: Option<ClientLoop<'p>>,
    pub(super) service: &'p Service,
    pub(super) connection: Option<Connection>,
    /// Number of its connection, so that events of an earlier one are ignored.
    pub(super) generation: u32,
    pub(super) phase: Phase,
    pub(super) work: Work,
    pub(super) transaction: u16,
    pub(super) step: usize,
    pub(super) rows: u32,
    pub(super) waits: Waits,
    /// Whether the service reported that it did not carry out the last request.
    pub(super) refused: bool,
    pub(super) jar: Jar,
    /// Bytes of the next request.
    pub(super) out: Vec<u8>,
    pub(super) rendered: Option<Result<(), Failure>>,
    pub(super) sent: usize,
    /// Whether the connection was lost before anything was sent, and reopened.
    pub(super) reopened: bool,
    /// Whether the service has sent bytes since the last answer that no request asked for. The next request fails.
    pub(super) unrequested: bool,
    pub(super) reader: Reader,
    /// Time by which the request in flight must be answered.
    pub(super) deadline_ns: u64,
    /// Time since which it has been connecting.
    pub(super) connecting_ns: u64,
    pub(super) not_connect_before_ns: u64,
    /// Time of its valid timer; other timers are ignored.
    pub(super) wake_ns: u64,
    /// Result of the work before the start.
    pub(super) once: Option<Result<(), Failed>>,
    /// Why the last handshake failed, in words.
    pub insecure: Option<String>,
}

/// Whether HTTP defines this method as safe.
fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE")
}

impl<'p> Client<'p> {
    pub(super) fn new(index: usize, session: Kept, kept: Kept, pace: ClientLoop<'p>, service: &'p Service) -> Self {
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
            unrequested: false,
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

    pub(super) fn begin_attempt(&mut self, transaction: u16) {
        (self.transaction, self.step, self.rows, self.rendered) = (transaction, 0, 0, None);
        self.waits = Waits::UNKNOWN;
        (self.refused, self.sent) = (false, 0);
        self.kept.clear();
    }

    /// Whether a failed attempt may have changed something: it writes, and a request that may write was answered or
    /// sent, unless the service reported that it did nothing.
    #[cold]
    pub(super) fn may_have_acted(&self, plan: &Plan) -> bool {
        // A plan that only connects has no transaction.
        let Some(transaction) = plan.head.transactions.get(usize::from(self.transaction)) else { return false };
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

    pub(super) fn http_step(&self, plan: &'p Plan) -> Option<&'p HttpStep> {
        match plan.head.transactions[usize::from(self.transaction)].steps.get(self.step) {
            Some(Step::Http(step)) => Some(step),
            _ => None,
        }
    }

    pub(super) fn write_request(&mut self, step: &'p HttpStep, plan: &'p Plan, scratch: &mut Vec<u8>) {
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
