//! The loop of a client with its own connection, for every driver that calls the database on the client's thread.

use crate::attempt::{Attempt, Failed};
use crate::client::{ClientLoop, Turn};
use crate::clock::{Wake, monotonic_ns, wait_until};
use crate::control::Control;
use crate::failure::Failure;
use crate::kept::Kept;
use crate::session::{Session, Waits};
use contend_wire::plan::{Head, Step};
use contend_wire::sample::STEP_BEGIN;

/// Why a client's loop returned.
#[derive(Debug, Clone, Copy)]
pub enum Leave {
    /// No more operations begin.
    Finished,
    /// This attempt has begun and needs a new connection; call again with one.
    Reconnect(Turn),
}

/// A client and its window.
pub struct Loop<'c, 'p> {
    /// Its state.
    pub client: &'c mut ClientLoop<'p>,
    /// The plan's head.
    pub head: &'p Head,
    /// The window.
    pub control: &'c Control,
}

impl Loop<'_, '_> {
    /// The next attempt, once it may begin.
    #[inline(always)]
    fn next_turn(&mut self) -> Option<Turn> {
        while let Some(mut turn) = self.client.next_turn() {
            let now_ns = wait_until(turn.not_before_ns, Wake::Exact, || self.client.in_vain(&turn));
            if self.client.begin(&mut turn, now_ns) {
                return Some(turn);
            }
        }
        None
    }

    #[inline]
    fn begins_with_connect(&self, turn: &Turn) -> bool {
        let transaction = usize::from(self.client.transaction(turn));
        matches!(self.head.transactions[transaction].steps.first(), Some(Step::Connect))
    }

    /// Carries out operations on `session` until none are left or a new connection is needed. `turn` comes first: the
    /// attempt for which this connection was opened.
    ///
    /// An attempt reads the clock twice; between the readings lies nothing but the attempt. In a closed loop
    /// the first reading also decides whether the operation is due.
    pub fn run<S: Session>(&mut self, session: &mut S, kept: &mut Kept, mut turn: Option<Turn>) -> Leave {
        if let Some(turn) = turn.take() {
            self.attempt(session, kept, turn);
        }
        while let Some(turn) = self.next_turn() {
            session.reset_waits();
            if self.begins_with_connect(&turn) {
                return Leave::Reconnect(turn);
            }
            self.attempt(session, kept, turn);
        }
        Leave::Finished
    }

    #[inline(always)]
    fn attempt<S: Session>(&mut self, session: &mut S, kept: &mut Kept, turn: Turn) {
        let mut rows = 0;
        let (transaction, arguments) = (self.client.transaction(&turn), self.client.arguments(&turn));
        let outcome =
            Attempt { transaction, arguments, kept, control: self.control, rows: &mut rows }.carry_out(session);
        let finished_ns = monotonic_ns();
        self.client.end_attempt(turn, outcome, rows, session.waits(), finished_ns);
    }

    /// Records an attempt whose connection could not be opened. The next attempt needs one too.
    pub fn connect_failed(&mut self, turn: Turn, failure: Failure, waits: Waits) -> Leave {
        let transaction = &self.head.transactions[usize::from(self.client.transaction(&turn))];
        let begins = transaction.begin.is_some() && !self.begins_with_connect(&turn);
        let step = if begins { STEP_BEGIN } else { 0 };
        self.client.end_attempt(turn, Err(Failed { step, failure }), 0, waits, monotonic_ns());
        self.next_turn().map_or(Leave::Finished, Leave::Reconnect)
    }
}
