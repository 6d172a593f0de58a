//! Makes a server write pages to its data files while it is recorded. A busy server does so every few minutes, but a
//! recording lasts less than a second; without this no image could show the effect of a torn page.

use anyhow::{Context, Result};
use contend::engine::server::Server;
use contend::trial::watch::janitor::Janitor;
use contend::trial::workers::admin::Admin;
use contend::trial::workers::process::Launch;
use contend_wire::script::Target;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Pause between two requests: several of them, with commits in between, fit into a recording.
const PAUSE: Duration = Duration::from_millis(40);

/// Sends the request repeatedly, until `done`.
///
/// # Errors
/// The server rejects the request.
pub fn keep_on(server: &Server, target: &Target, log: &Path, janitor: &Janitor, done: &AtomicBool) -> Result<()> {
    let go_on = || false;
    let mut admin = Admin::start(&Launch::own()?, log, janitor, &go_on)?;
    while !done.load(Ordering::Relaxed) {
        admin.sql(target, server.write_back).with_context(|| format!("{} does not write pages back", server.title))?;
        std::thread::sleep(PAUSE);
    }
    Ok(())
}
