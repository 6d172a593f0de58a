//! The protocol of MariaDB and MySQL.

mod asked;
mod begin;
mod conversation;
mod greeting;
mod packet;
mod value;

pub use begin::{begin, offers_tls};
pub use conversation::product;
