//! What a watch leaves in a directory. Lists grow while it is watched, so that memory does not; `watch.json` is the rest, written
//! again every ten seconds and at the end. docs/watch.md has the fields.

mod draw;
mod list;
mod page;
mod saved;
mod server;
mod write;

pub use page::{read, report, text};
pub use saved::FILE;
pub use server::ServerRecorder;
pub use write::Recorder;
