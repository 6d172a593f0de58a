//! A small process that removes the probes of a killed watch. It waits until its standard input closes, which happens
//! however the watch ends.

use crate::instance;
use anyhow::{Context, Result};
use contend::slice::Process;
use contend::trial::itself;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitCode, Stdio};

/// First argument of the process.
const VERB: &str = "watch-janitor";

pub const PROCESS: Process = Process { verb: VERB, serve };

/// Handle of the process.
pub struct Janitor(Child);

impl Janitor {
    /// Starts the process for the instance that this process will create.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start() -> Result<Janitor> {
        let name = instance::name_of(std::process::id()).context("cannot read /proc/self/stat")?;
        let mut command = itself::command(&itself::path()?);
        command.args([VERB, &name]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // In its own process group: Ctrl-C on the terminal is for the watch.
        let child =
            command.current_dir("/").process_group(0).spawn().context("cannot start the janitor of the watch")?;
        Ok(Janitor(child))
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // The process ends because its input is closed.
        let _ = self.0.wait();
    }
}

fn serve(arguments: &[String]) -> ExitCode {
    let mut input = vec![];
    // A read error counts as the end of input.
    let _ = std::io::stdin().read_to_end(&mut input);
    if let (Some(name), Ok(root)) = (arguments.first(), instance::root()) {
        instance::remove(&root, name);
    }
    ExitCode::SUCCESS
}
