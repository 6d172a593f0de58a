//! Watching a database server: who blocks whom, transactions that were left open, old snapshots, deadlocks.
//!
//! ```text
//! source (thread: postgres or mariadb) ─► look ─► history ─► finding ─► view (lines, JSON, screen, summary)
//! ```
//!
//! A server is asked for what it knows of its own locks, over a connection that can only read. `mask` takes the values out of
//! statements; `history` and `finding` are pure.

mod finding;
mod history;
mod look;
mod mariadb;
mod mask;
mod postgres;
mod source;
mod view;

pub use source::Server;
pub use view::{figures, found, json_line, line, summary, tree};
