//! A connection that clients share: how it is opened, reopened inside an attempt, and interrupted.

use crate::attempt::Failed;
use crate::busy;
use crate::control::{Cancel, Control};
use crate::failure::Failure;
use crate::models::job::Job;
use crate::options::Options;
use crate::setup::Setup;
use crate::sqlite::session::CachedSession;
use crate::sqlite::{check_arguments, memory, open_again, open_first, read_back_later, waits, when_free};
use anyhow::{Context, Result};
use contend_wire::handshake::Facts;
use contend_wire::plan::{Plan, Step};
use rusqlite::Connection;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Facts and helpers of a shared connection, for its current holder.
pub struct Place {
    plan: Arc<Plan>,
    options: Options,
    control: Arc<Control>,
    /// Number of the first client that uses it.
    client: u32,
    database: u32,
    cancel: Cancel,
    timeout_ms: u32,
    /// The settings of the first connection.
    first: Facts,
    /// Whether the connection is to the database; false if it could not be reopened.
    connected: AtomicBool,
    /// Replaces the connection while it is closed and reopened, because its owner must get one back. It is opened in
    /// advance, so that attempts do not include this.
    stand_in: Mutex<Option<Connection>>,
}

/// A connection just opened.
pub struct Opened {
    /// The connection.
    pub connection: Connection,
    /// Its facts and helpers.
    pub place: Arc<Place>,
    /// Its settings, as read back.
    pub facts: Facts,
}

impl Place {
    /// Opens a connection to a database, for clients of which `client` is the first one's number.
    ///
    /// # Errors
    /// What went wrong, naming client, database and statement.
    pub fn open(
        plan: &Arc<Plan>,
        (client, database): (u32, u32),
        options: Options,
        control: &Arc<Control>,
    ) -> Result<Opened> {
        let mut place = Place {
            plan: Arc::clone(plan),
            options,
            control: Arc::clone(control),
            client,
            database,
            cancel: Cancel::default(),
            timeout_ms: 0,
            first: vec![],
            connected: AtomicBool::new(true),
            stand_in: Mutex::new(None),
        };
        let setup = place.setup();
        let opened = open_first(&setup)?;
        let session = CachedSession::new(&opened.connection, &plan.head, &place.options);
        session.fill().map_err(|e| e.in_words(&setup))?;
        check_arguments(&opened.connection, &setup)?;
        if plan.head.transactions.iter().any(|t| matches!(t.steps.first(), Some(Step::Connect))) {
            place.stand_in = Mutex::new(Some(Connection::open_in_memory()?));
        }
        (place.timeout_ms, place.first) = (opened.timeout_ms, opened.facts.clone());
        Ok(Opened { connection: opened.connection, place: Arc::new(place), facts: opened.facts })
    }

    fn setup(&self) -> Setup<'_> {
        Setup {
            head: &self.plan.head,
            client: self.client,
            database: self.database,
            options: &self.options,
            control: &self.control,
            cancel: &self.cancel,
        }
    }

    /// Carries out a job on the connection, which the caller holds.
    pub fn run(&self, connection: &mut Connection, job: &mut Job) {
        job.held(|job| {
            // The account of waits belongs to the calling thread, and starts again.
            busy::open_account(self.timeout_ms, &self.control);
            (self.carry_out(connection, job), waits(&self.options))
        });
    }

    fn carry_out(&self, connection: &mut Connection, job: &mut Job) -> Result<(), Failed> {
        if job.connects() || !self.connected.load(Relaxed) {
            let step = job.first_step();
            self.reconnect(connection).map_err(|failure| Failed { step, failure })?;
        }
        let steps = job.steps.clone();
        let mut session = CachedSession::new(connection, &self.plan.head, &self.options);
        job.ready().part(&mut session, steps)
    }

    /// Closes the connection and opens a new one; if that fails, the stand-in stays.
    fn reconnect(&self, connection: &mut Connection) -> Result<(), Failure> {
        if self.connected.load(Relaxed)
            && let Some(stand_in) = self.stand_in().take()
        {
            self.connected.store(false, Relaxed);
            drop(std::mem::replace(connection, stand_in));
        }
        let opened = open_again(&self.setup(), self.timeout_ms)?;
        CachedSession::new(&opened, &self.plan.head, &self.options).make_room();
        *self.stand_in() = Some(std::mem::replace(connection, opened));
        self.connected.store(true, Relaxed);
        Ok(())
    }

    fn stand_in(&self) -> std::sync::MutexGuard<'_, Option<Connection>> {
        self.stand_in.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Interrupts what the connection is doing.
    pub fn interrupt(&self) {
        self.cancel.call();
    }

    /// Reads the connection back after the measurement.
    pub fn look_again(&self, connection: &Connection) {
        if !self.connected.load(Relaxed) || self.control.drain_over() {
            return;
        }
        busy::open_account(self.timeout_ms, &self.control);
        let setup = self.setup();
        let found = when_free(&self.control, || read_back_later(connection, &setup, self.timeout_ms));
        let found = found.map_err(|e| e.in_words(&setup));
        self.control.hold_later(&self.first, found.as_ref());
    }

    /// Finishes the connection after a run, before it is closed.
    ///
    /// # Errors
    /// The data in memory could not be written back.
    pub fn finish(&self, connection: &Connection) -> Result<()> {
        if self.options.in_memory {
            let setup = self.setup();
            return memory::store(connection, setup.path())
                .with_context(|| format!("client {}: cannot write {} back", self.client, setup.database()));
        }
        Ok(())
    }
}
