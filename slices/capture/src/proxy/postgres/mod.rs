//! PostgreSQL's protocol 3.

mod asked;
mod begin;
mod conversation;
mod frame;
mod greeting;
mod value;

pub use begin::begin;
pub use greeting::offers_tls;
