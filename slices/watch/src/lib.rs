//! `contend watch`: who holds a database's lock, since when, in which statement, and who waits for it.
//!
//! ```text
//! target ─► trace (exact) or sampled ─► events ─► timeline ─► findings ─► screen, lines, record
//! ```
//!
//! `lock`, `wal` and `page` know the formats of SQLite and the kernel; `instance`, `probe` and `process` are what is asked of
//! the kernel; `timeline`, `finding` and `words` are pure. `server` does the same for PostgreSQL and MariaDB.

pub mod event;
pub mod finding;
pub mod hold;
mod instance;
mod janitor;
mod lines;
pub mod lock;
mod page;
mod probe;
mod process;
mod record;
mod sampled;
mod screen;
mod server;
mod session;
pub mod tally;
mod target;
pub mod timeline;
mod trace;
mod verb;
mod view;
mod wal;
mod watch;
mod words;

use contend::slice::{OwnRecord, Slice};

/// What contend gains: `contend watch`.
pub const SLICE: Slice =
    Slice { name: "watch", verbs: &[verb::VERB], processes: &[janitor::PROCESS], records: &[RECORD], ..Slice::NONE };

const RECORD: OwnRecord = OwnRecord { file: record::FILE, report: verb::report };
