//! `contend watch`: who holds a database's lock, since when, in which statement, and who waits for it.
//!
//! ```text
//! target ─► trace (exact) or sampled ─► events ─► timeline ─► findings ─► screen, lines, record
//! ```
//!
//! `lock` and `page` define formats of SQLite and the kernel. `instance`, `probe` and `process` use the kernel's
//! interfaces. `timeline`, `finding` and `words` are pure. `server` does the same for PostgreSQL and MariaDB.

mod connection;
mod device;
mod doctor;
pub mod event;
pub mod finding;
pub mod findings;
mod fold;
mod function;
pub mod hold;
mod hot;
mod instance;
mod janitor;
mod journal;
mod late;
mod lines;
pub mod lock;
mod lost;
mod missing;
mod moment;
mod named;
mod others;
mod page;
mod panel;
mod pclntab;
mod probe;
mod process;
mod record;
mod refusals;
mod repeated;
mod rights;
mod sampled;
mod screen;
mod script;
mod server;
mod session;
mod short;
mod sync;
pub mod tally;
mod target;
mod text;
mod thread;
pub mod timeline;
mod trace;
mod users;
mod verb;
mod view;
mod watch;
mod words;

use contend::slice::{OwnRecord, Slice};

/// Adds `contend watch`.
pub const SLICE: Slice = Slice {
    name: "watch",
    verbs: &[verb::VERB],
    processes: &[janitor::PROCESS],
    findings: &[doctor::look],
    records: &[RECORD],
    ..Slice::NONE
};

const RECORD: OwnRecord = OwnRecord { file: record::FILE, report: verb::report };
