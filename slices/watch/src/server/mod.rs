//! Watching a database server: who blocks whom, transactions that were left open, old snapshots, deadlocks.
//!
//! ```text
//! source (thread: postgres or mariadb) ─► look ─► history ─► finding ─► view (lines, JSON, screen, summary)
//! ```
//!
//! The server reports its own locks over a read-only connection. `mask` removes the values from statements; `holders`,
//! `waits`, `history` and `finding` are pure.

mod finding;
mod history;
mod holders;
mod look;
mod mariadb;
mod mask;
mod postgres;
mod source;
mod view;
mod waits;

pub use source::Server;
pub use view::{figures, found, json_line, line, summary, tree};
