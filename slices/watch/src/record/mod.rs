//! The record of a watch. Lists grow on disk during the watch, so that memory use does not; `watch.json` has the
//! rest, and is rewritten every ten seconds and at the end. docs/watch.md has the fields.

mod directory;
mod draw;
mod lanes;
mod list;
mod page;
mod saved;
mod server;
mod write;

pub use page::{read, report, text};
pub use saved::FILE;
pub use server::ServerRecorder;
pub use write::Recorder;
