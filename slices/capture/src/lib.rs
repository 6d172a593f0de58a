//! `contend capture` records the calls of an unmodified program to SQLite, or the statements of the clients of a
//! PostgreSQL or MariaDB server, and shows them; `contend replay` repeats them, on copies of the databases or on a
//! server.
//!
//! ```text
//! program + library (contend-interpose) ─► segments ─► trace ─► program (transactions) ─► summary ─► show
//! session: databases' content, what is missing ─► manifest ─┘
//! clients ─► proxy ─► a server's segments, likewise
//! ```
//!
//! `session` and `content` make a capture. `order`, `copies` and `outcome` are what the replays
//! share. `sql`, `trace`, `program` and `summary` are pure functions of its files.

mod anonymise;
mod answers;
mod arguments;
mod attach;
mod balance;
mod carried;
mod contenders;
mod content;
mod copies;
mod finding;
mod fresh;
mod gaps;
mod generator;
mod kinds;
mod listening;
mod lists;
mod literal;
mod manifest;
mod mysql_text;
mod naming;
mod on_server;
mod order;
mod ordered;
mod outcome;
mod own_dir;
mod pack;
mod postgres_text;
mod program;
mod proxy;
mod replay;
mod replay_verb;
mod roles;
mod rows;
mod segment;
mod servers;
mod session;
mod share;
mod show;
mod skew;
mod sql;
mod study;
mod summary;
mod tables;
mod token;
mod trace;
mod tried;
mod verb;
mod whole;
mod workload;

use contend::slice::Slice;

/// Adds `contend capture` and `contend replay`.
pub const SLICE: Slice = Slice { name: "capture", verbs: &[verb::VERB, replay_verb::VERB, fresh::VERB], ..Slice::NONE };
