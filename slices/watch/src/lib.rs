//! `contend watch`: who holds a database's lock, since when, in which statement, and who waits for it.
//!
//! ```text
//! target ─► trace (exact) or sampled ─► events ─► timeline ─► findings ─► screen, lines, record, report
//! ```

pub mod event;
pub mod finding;
pub mod instance;
pub mod lines;
pub mod lock;
pub mod page;
pub mod probe;
pub mod process;
pub mod sampled;
pub mod screen;
pub mod target;
pub mod timeline;
pub mod trace;
pub mod view;
pub mod wal;
pub mod watch;
pub mod words;
