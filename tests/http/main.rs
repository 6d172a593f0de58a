//! Contenders over HTTP, and `contend http` against services.

#[path = "../../crates/contend-worker/tests/service/mod.rs"]
#[allow(dead_code)] // the worker's tests use the rest
mod service;
#[path = "../support/mod.rs"]
mod support;

mod answers;
mod load;
mod serving;
mod tls;
mod writes;
