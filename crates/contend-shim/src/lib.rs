//! Intercepts a program's calls to SQLite and answers them from PostgreSQL. `contend shim` loads the library with
//! `LD_PRELOAD`.
//!
//! ```text
//! program ─► c (functions of SQLite's names) ─► statement ─► connection ─► server ─► PostgreSQL
//!                                                  │             │
//!                                                  └── front ◄───┘   SQLite itself: the schema, no rows
//! ```
//!
//! Every database file that the program opens has a *front*: a database in memory of the program's own SQLite, with
//! the schema and without rows. The program's handles are those of the front. So SQLite itself parses statements,
//! checks names, counts parameters, names and types columns, tracks transactions and savepoints, answers PRAGMAs
//! about the schema, and executes statements that use no table of the database (temporary tables too). All other
//! statements are translated by `contend-sql` and executed by the server.
//!
//! A program gets SQLite's rows or an error: a statement that cannot be translated is an error.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
// Used by the functions with SQLite's names, which tests do not define.
#![cfg_attr(test, allow(dead_code))]

mod again;
#[allow(unsafe_code)]
mod c;
mod config;
mod connection;
mod copied;
mod dialect;
mod does;
mod fault;
mod journal;
mod keys;
mod link;
mod note;
mod opened;
mod own;
mod path;
mod plan;
mod pragma;
mod registry;
mod schema;
mod server;
mod statement;
mod transaction;
mod value;
mod word;
