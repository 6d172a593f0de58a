//! Shared by the differential test, the test of plain SQL and the fuzzer.
#![allow(dead_code, reason = "each of the tests uses a part of it")]

pub mod caller;
pub mod cases;
pub mod engines;
pub mod functions;
pub mod generate;
pub mod judge;
pub mod kinds;
pub mod mariadb;
pub mod pair;
pub mod postgresql;
pub mod random;
pub mod servers;
pub mod sqlite;
pub mod tables;
pub mod value;
pub mod values;
