//! A small process that removes the probes of a watch that was killed. It waits until its input closes, which the end of the
//! watch brings about however it ends.

use crate::instance;
use anyhow::{Context, Result};
use contend::slice::Process;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};

/// First argument of the process.
const VERB: &str = "watch-janitor";

pub const PROCESS: Process = Process { verb: VERB, serve };

/// The process, as the watch knows it.
pub struct Janitor(Child);

impl Janitor {
    /// Starts it, for the instance that this process will make.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start() -> Result<Janitor> {
        let name = instance::name_of(std::process::id()).context("cannot read /proc/self/stat")?;
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command.args([VERB, &name]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // In its own group: Ctrl-C of the terminal is for the watch.
        let child =
            command.current_dir("/").process_group(0).spawn().context("cannot start the janitor of the watch")?;
        Ok(Janitor(child))
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // It ends by itself as its input is closed.
        let _ = self.0.wait();
    }
}

fn serve(arguments: &[String]) -> ExitCode {
    let mut input = vec![];
    // An error is an end of the input as well.
    let _ = std::io::stdin().read_to_end(&mut input);
    if let (Some(name), Ok(root)) = (arguments.first(), instance::root()) {
        instance::remove(&root, name);
    }
    ExitCode::SUCCESS
}
