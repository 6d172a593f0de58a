//! One trial: faults that make it invalid, models of clients, equal work on all contenders.

#[path = "../support/mod.rs"]
mod support;

mod beyond;
mod drivers;
mod equal;
mod faults;
mod honest;
mod lies;
mod models;
mod paused;
mod stops;
