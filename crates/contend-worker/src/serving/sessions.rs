//! The database connection of one HTTP connection, for each driver: opened when it is needed, and reopened after a
//! failure.

use super::desk::Desk;
use crate::arguments::Asked;
use crate::attempt::Attempt;
use crate::busy;
use crate::connection::{Connection, OpenError, ServerSession, When};
use crate::control::Control;
use crate::failure::Failure;
use crate::kept::Kept;
use crate::null::NullSession;
use crate::session::Session;
use crate::setup::Setup;
use crate::sqlite::session::CachedSession;
use crate::sqlite::{check_arguments, open_and_read_back, open_first};
use anyhow::{Result, anyhow};
use contend_wire::handshake::Facts;
use contend_wire::plan::Head;
use contend_wire::sample::worker_code;

/// A driver that carries out operations one after the other.
pub trait Caller {
    /// Opens a connection and closes it again; returns its settings.
    ///
    /// # Errors
    /// The error, with database and statement.
    fn try_out(&mut self) -> Result<Facts>;

    /// Carries out an operation once.
    ///
    /// # Errors
    /// The engine's code.
    fn call(&mut self, asked: &Asked, kept: &mut Kept) -> Result<(), Failure>;
}

/// One attempt on an open connection.
fn once<S: Session>(
    session: &mut S,
    head: &Head,
    control: &Control,
    asked: &Asked,
    kept: &mut Kept,
) -> Result<(), Failure> {
    let (transaction, arguments) = (asked.transaction, asked.arguments(head));
    let done = Attempt { transaction, arguments, kept, control, rows: &mut 0 }.carry_out(session);
    done.map_err(|failed| failed.failure)
}

/// Checks that a connection opened later has the settings of the first one; a difference is also reported at the end.
fn hold_settings(control: &Control, expected: &Facts, found: &Facts) -> Result<(), Failure> {
    let differs = expected.iter().find(|fact| !found.contains(fact));
    match differs {
        Some((name, value)) => {
            control.hold_later(expected, Ok(found));
            eprintln!("contend worker: a new connection does not read back {name} = {value}, as the first one did");
            Err(Failure::worker(worker_code::DRIVER))
        }
        None => Ok(()),
    }
}

/// The null driver.
pub struct Nothing<'d> {
    head: &'d Head,
    control: &'d Control,
}

impl<'d> Nothing<'d> {
    /// The null driver for the transactions of this plan.
    pub fn new(head: &'d Head, control: &'d Control) -> Self {
        Self { head, control }
    }
}

impl Caller for Nothing<'_> {
    fn try_out(&mut self) -> Result<Facts> {
        Ok(vec![("client".to_string(), "0".to_string())])
    }

    fn call(&mut self, asked: &Asked, kept: &mut Kept) -> Result<(), Failure> {
        once(&mut NullSession, self.head, self.control, asked, kept)
    }
}

/// A connection to SQLite, with statements in rusqlite's cache.
pub struct Sqlite<'d> {
    setup: Setup<'d>,
    desk: &'d Desk,
    settings: &'d Facts,
    timeout_ms: u32,
    open: Option<rusqlite::Connection>,
}

impl<'d> Sqlite<'d> {
    /// A connection that is not open yet.
    pub fn new(setup: Setup<'d>, desk: &'d Desk, settings: &'d Facts) -> Self {
        let timeout = settings.iter().find(|(name, _)| name == "busy_timeout");
        let timeout_ms = timeout.and_then(|(_, ms)| ms.parse().ok()).unwrap_or(0);
        Self { setup, desk, settings, timeout_ms, open: None }
    }

    fn connect(&self) -> Result<rusqlite::Connection, Failure> {
        let Setup { head, options, .. } = self.setup;
        let (connection, found) = open_and_read_back(&self.setup, self.timeout_ms)?;
        self.desk.note_opened();
        CachedSession::new(&connection, head, options).make_room();
        hold_settings(self.setup.control, self.settings, &found)?;
        Ok(connection)
    }
}

impl Caller for Sqlite<'_> {
    fn try_out(&mut self) -> Result<Facts> {
        let opened = open_first(&self.setup)?;
        let session = CachedSession::new(&opened.connection, self.setup.head, self.setup.options);
        session.fill().map_err(|e| e.in_words(&self.setup))?;
        check_arguments(&opened.connection, &self.setup)?;
        Ok(opened.facts)
    }

    fn call(&mut self, asked: &Asked, kept: &mut Kept) -> Result<(), Failure> {
        let Setup { head, options, control, .. } = self.setup;
        busy::open_account(self.timeout_ms, control);
        if self.desk.connects(asked.transaction) {
            self.open = None;
        }
        let connection = match self.open.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        let connection = self.open.insert(connection);
        once(&mut CachedSession::new(connection, head, options), head, control, asked, kept)
    }
}

/// A connection to a database server.
pub struct OnServer<'d, C> {
    setup: Setup<'d>,
    desk: &'d Desk,
    settings: &'d Facts,
    open: Option<ServerSession<'d, C>>,
}

impl<'d, C: Connection> OnServer<'d, C> {
    /// A connection that is not open yet.
    pub fn new(setup: Setup<'d>, desk: &'d Desk, settings: &'d Facts) -> Self {
        Self { setup, desk, settings, open: None }
    }

    fn connect(&self, when: When) -> Result<(ServerSession<'d, C>, Facts), OpenError> {
        let mut session = ServerSession::open(&self.setup, when)?;
        let mut facts = vec![("client".to_string(), self.setup.client.to_string())];
        facts.extend(session.read_back()?);
        Ok((session, facts))
    }
}

impl<'d, C: Connection> Caller for OnServer<'d, C> {
    fn try_out(&mut self) -> Result<Facts> {
        let words = |e: OpenError| anyhow!("database {}: `{}`: {}", self.setup.database(), e.what, e.message);
        Ok(self.connect(When::BeforeTheRun).map_err(words)?.1)
    }

    fn call(&mut self, asked: &Asked, kept: &mut Kept) -> Result<(), Failure> {
        if self.desk.connects(asked.transaction) {
            self.open = None;
        }
        let mut session = match self.open.take() {
            Some(session) => session,
            None => {
                let (session, found) = self.connect(When::InTheRun).map_err(|e| e.failure)?;
                self.desk.note_opened();
                hold_settings(self.setup.control, self.settings, &found)?;
                session
            }
        };
        session.reset_waits();
        let done = once(&mut session, self.setup.head, self.setup.control, asked, kept);
        self.open = Some(session);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Cancel;
    use crate::options::Options;
    use contend_wire::digest::sealed;
    use contend_wire::plan::Plan;

    fn plan(lines: &str) -> Plan {
        let (options, session) = lines.split_once("--\n").unwrap_or((lines, ""));
        let text = format!(
            "contend-plan 3\nworker\t0\ndriver\trusqlite\tthread\nconnections\tclient\nwindow\t0\t0\t0\nnow\tclock\n\
             {options}database\tfile\t:memory:\n{session}statement\t0\trows\t-\tSELECT 1\n\
             transaction\t0\tone\tread\t-\t0\t0\t1\nstep\tsql\t0\t1..1\t1\t-\nretry\t1\t-\t-\t-\nclients\t0\nend\n"
        );
        Plan::decode(&sealed(&text)).unwrap()
    }

    /// Opens a connection for a request where the first one has read back these timeouts.
    fn opens(lines: &str, timeouts_ms: [&str; 2]) -> [bool; 2] {
        let desk = Desk::new(plan(lines), None).unwrap();
        let options = Options::parse(&desk.plan.head.options).unwrap();
        let (head, control, cancel) = (&desk.plan.head, &desk.control, Cancel::default());
        let setup = Setup { head, client: 0, database: 0, options: &options, control, cancel: &cancel };
        timeouts_ms.map(|ms| {
            let mut settings = vec![("client".to_string(), "0".to_string())];
            settings.push(("busy_timeout".to_string(), ms.to_string()));
            Sqlite::new(setup, &desk, &settings).connect().is_ok()
        })
    }

    #[test]
    fn the_timeout_of_a_later_connection_is_its_own() {
        let cases = [
            ("option\tbusy_timeout_ms\t50\n", "50"),
            ("option\tbusy_timeout_ms\t50\noption\tlock_wait\toff\n", "50"),
            ("option\tbusy_timeout_ms\t50\n--\nreadback\tbusy_timeout\tPRAGMA busy_timeout\n", "50"),
            ("option\tbusy_timeout_ms\t50\n--\nsession\trows\tPRAGMA busy_timeout = 77\n", "77"),
            ("option\tbusy_timeout_ms\t50\n--\nsession\trows\tPRAGMA busy_timeout = 0\n", "0"),
            ("option\tbusy_timeout_ms\t0\n", "0"),
        ];
        for (lines, found) in cases {
            assert_eq!(opens(lines, [found, "1234"]), [true, false], "{lines}");
        }
    }
}
