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
//! `session` and `content` make a capture. `workload` makes a study of it. `order`, `copies` and `outcome` are what the replays
//! share. `sql`, `trace`, `program` and `summary` are pure functions of its files.

mod alike;
mod allowed;
mod anonymise;
mod attach;
mod attempts;
mod balance;
mod bound;
mod config;
mod connection;
mod content;
mod copies;
mod copy_hash;
mod finding;
mod fresh;
mod gaps;
mod keys;
mod listening;
mod literal;
mod loops;
mod made_again;
mod manifest;
mod mysql_text;
mod of_server;
mod on_server;
mod order;
mod outcome;
mod own_dir;
mod pack;
mod parts;
mod postgres_text;
mod program;
mod proxy;
mod raw;
mod replay;
mod replay_verb;
mod segment;
mod session;
mod show;
mod sql;
mod stand_ins;
mod statement;
mod summary;
mod token;
mod trace;
mod turns;
mod value;
mod verb;
mod whole;
mod workload;

use contend::slice::Slice;

/// Adds `contend capture` and `contend replay`.
pub const SLICE: Slice = Slice { name: "capture", verbs: &[verb::VERB, replay_verb::VERB, fresh::VERB], ..Slice::NONE };
