//! `contend capture --listen`: a proxy in front of a server. It passes all bytes on, and reads the messages.
//!
//! ```text
//! client ─► relay (bytes) ─► server
//!             └─► conversation of postgres or mysql ─► writer ─► segments
//! ```
//!
//! Segments, texts and times are those of the library for SQLite ([`contend_interpose::format`]), so whatever reads a
//! capture reads both.

mod door;
mod given;
mod mysql;
mod postgres;
mod relay;
mod spoken;
mod writer;

pub use door::{Said, Stream, Target};
pub use mysql::{offers_tls as mysql_offers_tls, product};
pub use postgres::{IS_ABORTED, Tag, is_commit, offers_tls as postgres_offers_tls};
pub use relay::Relay;
pub use writer::{Keys, Writers, now_ns};
