//! PostgreSQL's protocol 3.

mod asked;
mod begin;
mod conversation;
mod frame;
mod greeting;
mod value;

pub use asked::{IS_ABORTED, Tag, is_commit};
pub use begin::begin;
pub use greeting::offers_tls;
