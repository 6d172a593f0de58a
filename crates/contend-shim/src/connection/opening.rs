//! Opens a database.

use super::{Connection, State};
use crate::c::CANTOPEN;
use crate::c::front::{Counts, Failed, Front};
use crate::c::interrupt::Interrupts;
use crate::config::Settings;
use crate::journal;
use crate::link::Link;
use contend_sql::Catalogue;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

/// Longest time for which opening waits while another process creates the schema.
const OPENING_MS: i32 = 10_000;

impl Connection {
    /// Connects, and creates the schema if it is missing and `creates` permits it.
    ///
    /// # Errors
    /// The server cannot be reached; the schema is missing or cannot be read.
    pub fn open(front: Front, settings: &'static Settings, path: &Path, creates: bool) -> Result<Connection, Failed> {
        let Some(carriers) = Front::private(front.real) else { return Err(Failed::new(CANTOPEN, "out of memory")) };
        let counts = Arc::new(Counts::default());
        front.define(&counts);
        let name = settings.dialect.name_of(path);
        let early = if settings.dialect.enters_early() { name.as_str() } else { "" };
        let mut link = Link::new(settings, &name, settings.dialect.session_of(early));
        link.set_timeout(OPENING_MS);
        let state = State {
            library: settings,
            link,
            tally: journal::Counts::default(),
            name,
            version: None,
            objects: vec![],
            held: vec![],
            settings: HashMap::new(),
            catalogue: Catalogue::default(),
            keys: None,
            plans: HashMap::new(),
            epoch: 0,
            savepoints: vec![],
            began_by_savepoint: false,
            has_defined: false,
            has_copies: false,
            changing_steps: 0,
            counts: Arc::clone(&counts),
            unknown_rowid: None,
        };
        let connection = Connection {
            front,
            carriers,
            counts,
            own: Mutex::default(),
            authorizer: Mutex::default(),
            is_readonly: AtomicBool::new(false),
            echoes: Mutex::default(),
            has_raised: AtomicBool::new(false),
            interrupts: Interrupts::default(),
            canceller: Arc::clone(&state.link.canceller),
            fork: journal::FORKS.load(Relaxed),
            state: Mutex::new(state),
        };
        connection.state().attach(&front, path, creates)?;
        journal::opened();
        Ok(connection)
    }
}
