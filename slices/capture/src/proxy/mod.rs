//! `contend capture --listen`: a proxy in front of a PostgreSQL server. It passes all bytes on, and reads the messages.
//!
//! ```text
//! client ─► relay (bytes) ─► server
//!             └─► conversation (frame, value) ─► writer ─► segments
//! ```
//!
//! Segments, texts and times are those of the library for SQLite ([`contend_interpose::format`]), so whatever reads a
//! capture reads both.

mod asked;
mod conversation;
mod frame;
mod greeting;
mod relay;
mod value;
mod writer;

pub use relay::{Relay, Said, Target};
pub use writer::{Keys, Writers, now_ns};
