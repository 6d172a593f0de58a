//! The recorder: a separate process that mounts a recording file system over a directory. It unmounts and ends on
//! request, or when the tool has ended.

use anyhow::{Context, Result, bail};
use contend::trial::itself;
use contend::trial::secret::keep_from;
use contend::trial::watch::janitor::Janitor;
use contend::trial::watch::orphans;
use contend_powercut::record;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, ExitCode, Stdio};

/// The hidden verb that starts it.
pub const VERB: &str = "recorder";

/// Requests handled at the same time.
const THREADS: usize = 4;

const MOUNTED: &str = "mounted";
const RECORDED: &str = "recorded";
const FAILED: &str = "failed";

/// A running recorder.
pub struct Recorder<'j> {
    child: Child,
    output: BufReader<ChildStdout>,
    mountpoint: PathBuf,
    janitor: &'j Janitor,
}

/// Summary of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    pub entries: u64,
    pub bytes: u64,
    /// Whether changes after the log was full are missing.
    pub full: bool,
}

impl<'j> Recorder<'j> {
    /// Mounts the recorder over `backing`. Changes below `mountpoint` are recorded in `log` from then on.
    ///
    /// # Errors
    /// The reason why recording is not possible, as a sentence.
    pub fn start(backing: &Path, mountpoint: &Path, log: &Path, bound: u64, janitor: &'j Janitor) -> Result<Self> {
        janitor.mounted(mountpoint);
        let mut command = itself::command(&itself::path()?);
        keep_from(&mut command).arg(VERB).args([backing, mountpoint, log]).arg(bound.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = orphans::spawn(&mut command).context("cannot start the recorder")?;
        let output = BufReader::new(child.stdout.take().context("its output is piped")?);
        let mut recorder = Self { child, output, mountpoint: mountpoint.to_path_buf(), janitor };
        match recorder.line()?.split_once(' ') {
            Some((FAILED, why)) => bail!("{why}"),
            Some(other) => bail!("the recorder sent {other:?}"),
            None => Ok(recorder),
        }
    }

    /// Unmounts and ends the recorder.
    ///
    /// # Errors
    /// The mount is still in use, or the recorder died and its log is not whole.
    pub fn end(mut self) -> Result<Recorded> {
        drop(self.child.stdin.take());
        let line = self.line()?;
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            [FAILED, why @ ..] => bail!("{}", why.join(" ")),
            [RECORDED, entries, bytes, full] => {
                Ok(Recorded { entries: entries.parse()?, bytes: bytes.parse()?, full: *full == "true" })
            }
            _ => bail!("the recorder did not end cleanly: {line}"),
        }
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line).context("cannot read from the recorder")?;
        if line.is_empty() {
            bail!("the recorder died ({:?})", self.child.wait());
        }
        let line = line.trim_end().to_string();
        Ok(line)
    }
}

impl Drop for Recorder<'_> {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
        let _ = record::unmount(&self.mountpoint);
        self.janitor.unmounted(&self.mountpoint);
    }
}

/// Main function of the recorder's process: mounts, reports that, and waits until its standard input is closed.
pub fn serve(args: &[String]) -> ExitCode {
    match options(args).and_then(|options| record::mount(&options).map_err(|e| anyhow::anyhow!("{e}"))) {
        Ok(mount) => {
            println!("{MOUNTED}");
            let _ = std::io::stdin().lock().read_to_end(&mut vec![]);
            match mount.unmount() {
                Ok(found) => println!("{RECORDED} {} {} {}", found.entries, found.bytes, found.full),
                Err(e) => {
                    println!("{FAILED} {}", one_line(&e.to_string()));
                    let _ = record::unmount(Path::new(&args[1]));
                }
            }
            ExitCode::SUCCESS
        }
        Err(e) => {
            println!("{FAILED} {}", one_line(&format!("{e:#}")));
            ExitCode::FAILURE
        }
    }
}

fn options(args: &[String]) -> Result<record::Options> {
    let [backing, mountpoint, log, bound] = args else { bail!("`contend {VERB}` is for contend itself") };
    Ok(record::Options {
        backing: PathBuf::from(backing),
        mountpoint: PathBuf::from(mountpoint),
        log: PathBuf::from(log),
        bound_bytes: bound.parse().context("not a number of bytes")?,
        threads: THREADS,
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
