//! A client's session on a database server, for all drivers: it begins and ends transactions, reopens a lost
//! connection, and records whether a wait was cut short. A [`Connection`] is the part that differs between drivers.

use crate::arguments::Arguments;
use crate::failure::{CANCELLED, Failure};
use crate::kept::Kept;
use crate::session::{Session, Waits};
use crate::setup::Setup;
use anyhow::anyhow;
use contend_wire::handshake::Facts;
use contend_wire::plan::SqlStep;
use contend_wire::sample::CodeSpace;
use std::time::Duration;

/// Pause between attempts to reconnect to a lost server, so that failures do not fill the memory.
pub const RECONNECT_PAUSE: Duration = Duration::from_millis(10);

/// Why a connection could not be opened or set up.
#[derive(Debug)]
pub struct OpenError {
    /// The failed action: `connect`, or a statement.
    pub what: String,
    /// The code.
    pub failure: Failure,
    /// Message of the engine or driver.
    pub message: String,
}

impl OpenError {
    /// The message for users.
    pub fn in_words(self, setup: &Setup<'_>) -> anyhow::Error {
        let (client, database) = (setup.client, setup.database());
        anyhow!("client {client}, database {database}: `{}`: {}", self.what, self.message)
    }
}

/// When a connection is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// All statements are prepared, so that a mistake shows.
    BeforeTheRun,
    /// Within an attempt: a statement is prepared when it is first used, as an application does.
    InTheRun,
}

/// An open connection of a driver.
pub trait Connection: Sized {
    /// The driver's errors.
    type Error;

    /// The failure of operations without a connection.
    fn not_connected() -> Failure;

    /// Opens a connection, carries out the session statements and, before the run, prepares all statements.
    ///
    /// # Errors
    /// The server refuses one of them, or placeholders and arguments do not fit.
    fn open(setup: &Setup<'_>, when: When) -> Result<Self, OpenError>;

    /// The first value of a query's answer, as text; empty if it has none.
    ///
    /// # Errors
    /// The server refuses it.
    fn ask(&mut self, sql: &str) -> Result<String, OpenError>;

    /// Carries out a statement without arguments and rows.
    ///
    /// # Errors
    /// The driver's.
    fn simple(&mut self, sql: &str) -> Result<(), Self::Error>;

    /// As [`Session::execute`].
    ///
    /// # Errors
    /// The driver's, or the worker's if an argument is missing.
    fn execute(
        &mut self,
        setup: &Setup<'_>,
        step: &SqlStep,
        repetition: u32,
        arguments: &Arguments<'_>,
        kept: &mut Kept,
    ) -> Result<u32, Stopped<Self::Error>>;

    /// Interprets an error.
    fn judge(&self, error: &Self::Error) -> Judged;
}

/// Why a step failed.
#[derive(Debug)]
pub enum Stopped<E> {
    /// The worker could not carry it out.
    Worker(Failure),
    /// The driver reported an error.
    Driver(E),
}

/// The meaning of a driver's error.
#[derive(Debug, Clone, Copy)]
pub struct Judged {
    /// The server's code, or the worker's for an error of the driver itself.
    pub failure: Failure,
    /// Whether the connection is lost or in an unknown state.
    pub is_lost: bool,
    /// Whether the statement was interrupted from outside.
    pub is_interrupted: bool,
}

/// A client's session.
pub struct ServerSession<'p, C> {
    setup: Setup<'p>,
    /// `None` after it was lost.
    open: Option<C>,
    begun: bool,
    cut_short: bool,
}

impl<'p, C: Connection> ServerSession<'p, C> {
    /// Opens a connection.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn open(setup: &Setup<'p>, when: When) -> Result<Self, OpenError> {
        let open = Some(C::open(setup, when)?);
        Ok(Self { setup: *setup, open, begun: false, cut_short: false })
    }

    /// The settings of this connection, as read back.
    ///
    /// # Errors
    /// The server refuses a query.
    pub fn read_back(&mut self) -> Result<Facts, OpenError> {
        let Some(open) = &mut self.open else { return Ok(vec![]) };
        let readbacks = self.setup.head.readbacks.iter();
        readbacks.map(|readback| Ok((readback.name.clone(), open.ask(&readback.sql)?))).collect()
    }

    /// Reads the connection back after the measurement; `first` is what the first one reported before.
    pub fn look_again(&mut self, first: &Facts) {
        let control = self.setup.control;
        if self.open.is_some() && !control.drain_over() {
            let found = self.read_back().map_err(|e| e.in_words(&self.setup));
            control.hold_later(first, found.as_ref());
        }
    }

    /// The connection, reopened if it was lost.
    #[inline]
    fn connection(&mut self) -> Result<&mut C, Failure> {
        if self.open.is_none() {
            self.open = Some(self.reopen()?);
        }
        self.open.as_mut().ok_or_else(C::not_connected)
    }

    #[cold]
    fn reopen(&self) -> Result<C, Failure> {
        C::open(&self.setup, When::InTheRun).map_err(|e| {
            std::thread::sleep(RECONNECT_PAUSE);
            e.failure
        })
    }

    #[cold]
    fn failed(&mut self, error: &C::Error) -> Failure {
        let Some(open) = &self.open else { return C::not_connected() };
        let judged = open.judge(error);
        if judged.is_lost {
            self.open = None;
        }
        self.cut_short |= judged.is_interrupted && self.setup.control.drain_over();
        judged.failure
    }

    fn simple(&mut self, sql: &str) -> Result<(), Failure> {
        let done = self.connection()?.simple(sql);
        done.map_err(|e| self.failed(&e))
    }
}

impl<C: Connection> Session for ServerSession<'_, C> {
    const CUT_SHORT: Failure = CANCELLED;

    #[inline]
    fn reset_waits(&mut self) {
        self.cut_short = false;
    }

    #[inline]
    fn waits(&self) -> Waits {
        Waits { cut_short: self.cut_short, ..Waits::UNKNOWN }
    }

    #[inline]
    fn begin(&mut self, transaction: u16) -> Result<(), Failure> {
        let head = self.setup.head;
        if let Some(sql) = &head.transactions[usize::from(transaction)].begin {
            self.simple(sql)?;
            self.begun = true;
        }
        Ok(())
    }

    #[inline]
    fn execute(
        &mut self,
        step: &SqlStep,
        repetition: u32,
        arguments: &Arguments<'_>,
        kept: &mut Kept,
    ) -> Result<u32, Failure> {
        let setup = self.setup;
        let done = self.connection()?.execute(&setup, step, repetition, arguments, kept);
        done.map_err(|stopped| match stopped {
            Stopped::Worker(failure) => failure,
            Stopped::Driver(e) => self.failed(&e),
        })
    }

    #[inline]
    fn commit(&mut self) -> Result<(), Failure> {
        let done = self.simple("COMMIT");
        // PostgreSQL has ended a transaction whose COMMIT it rejects.
        if done.is_ok() || done.is_err_and(|failure| failure.space == CodeSpace::Sqlstate) {
            self.begun = false;
        }
        done
    }

    #[cold]
    fn rollback(&mut self) {
        if std::mem::take(&mut self.begun) && self.open.is_some() && self.simple("ROLLBACK").is_err() {
            // In an unknown state: the next operation gets a new one.
            self.open = None;
        }
    }
}
