//! What the differential test, the do-no-harm gate and the fuzzer share.
#![allow(dead_code, reason = "each of the tests uses a part of it")]

pub mod cases;
pub mod engines;
pub mod generate;
pub mod judge;
pub mod mariadb;
pub mod pair;
pub mod postgresql;
pub mod random;
pub mod servers;
pub mod sqlite;
pub mod value;
pub mod values;
