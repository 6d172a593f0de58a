//! Pages that go to a server's data files while it is recorded. A busy server writes them every few minutes and a recording
//! lasts less than a second, so it is told to; otherwise no image could show what a torn page does.

use anyhow::{Context, Result};
use contend::engine::server::Server;
use contend::trial::watch::janitor::Janitor;
use contend::trial::workers::admin::Admin;
use contend::trial::workers::process::Launch;
use contend_wire::script::Target;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// From one time to the next: several in a recording, with commits in between.
const PAUSE: Duration = Duration::from_millis(40);

/// Tells the server again and again, until `done`.
///
/// # Errors
/// What it says to that.
pub fn keep_on(server: &Server, target: &Target, log: &Path, janitor: &Janitor, done: &AtomicBool) -> Result<()> {
    let go_on = || false;
    let mut admin = Admin::start(&Launch::own()?, log, janitor, &go_on)?;
    while !done.load(Ordering::Relaxed) {
        admin.sql(target, server.write_back).with_context(|| format!("{} does not write pages back", server.title))?;
        std::thread::sleep(PAUSE);
    }
    Ok(())
}
