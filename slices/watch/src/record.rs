//! What a watch leaves in a directory: holds, waits, the log over time, findings, and a summary.

use crate::lines;
use crate::lock::Lock;
use crate::timeline::{End, Hold};
use crate::view::DatabaseView;
use crate::watch::Watch;
use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Most bytes of a list; what comes after is left out, and the summary says so.
const LIST_BYTES_MAX: usize = 50 << 20;

/// Makes the directory.
///
/// # Errors
/// It is there and not empty, or cannot be made.
pub fn make(out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let entries = fs::read_dir(out).with_context(|| format!("cannot read {}", out.display()))?.count();
    ensure!(entries == 0, "{} is not empty; name a directory that is not there yet", out.display());
    Ok(())
}

/// Writes everything; the files written.
///
/// # Errors
/// A file cannot be written.
pub fn write(watch: &Watch, databases: &[DatabaseView], out: &Path) -> Result<Vec<PathBuf>> {
    let (holds, holds_left_out) = holds(watch);
    let (waits, waits_left_out) = waits(watch);
    let mut summary = lines::summary(watch, databases, 100);
    for (name, count) in [("holds.csv", holds_left_out), ("waits.csv", waits_left_out)] {
        if count > 0 {
            writeln!(summary, "{count} further lines are not in {name}: it ends at {} MiB.", LIST_BYTES_MAX >> 20)?;
        }
    }
    let findings = lines::json_line(watch, databases, &watch.findings());
    let files = [
        ("summary.txt", summary),
        ("findings.json", findings + "\n"),
        ("holds.csv", holds),
        ("waits.csv", waits),
        ("log.csv", log(watch)),
    ];
    let mut written = vec![];
    for (name, text) in files {
        let path = out.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        written.push(path);
    }
    Ok(written)
}

/// Times in the lists are nanoseconds since the watch began.
fn holds(watch: &Watch) -> (String, usize) {
    let head = "from_ns,to_ns,database,pid,tid,lock,statement_ns,sync_ns,gap_ns,longest_statement\n";
    let began_ns = watch.timeline.from_ns;
    let all = watch.timeline.holds.iter().chain(watch.timeline.held().filter(|hold| hold.lock != Lock::Connected));
    let line = |hold: &Hold| {
        let to = hold.to_ns.map_or(String::new(), |to_ns| to_ns.saturating_sub(began_ns).to_string());
        let sql = hold.longest.as_ref().map_or(String::new(), |(_, sql)| in_csv(sql));
        format!(
            "{},{to},{},{},{},{},{},{},{},{sql}\n",
            hold.from_ns.saturating_sub(began_ns),
            hold.database,
            hold.who.pid,
            hold.who.tid,
            hold.lock,
            hold.statement_ns,
            hold.sync_ns,
            hold.gap.ns
        )
    };
    limited(head, all.map(line))
}

fn waits(watch: &Watch) -> (String, usize) {
    let head = "from_ns,to_ns,database,pid,tid,lock,tries,end,holder,statement\n";
    let began_ns = watch.timeline.from_ns;
    let all = watch.timeline.waits.iter().chain(watch.timeline.waiting());
    let lines = all.map(|wait| {
        let end = match wait.end {
            End::Open => "open",
            End::Granted => "granted",
            End::GaveUp => "gave-up",
        };
        format!(
            "{},{},{},{},{},{},{},{end},{},{}\n",
            wait.from_ns.saturating_sub(began_ns),
            wait.to_ns.saturating_sub(began_ns),
            wait.database,
            wait.who.pid,
            wait.who.tid,
            wait.lock,
            wait.tries,
            wait.holder.map_or(String::new(), |pid| pid.to_string()),
            wait.sql.as_deref().map_or(String::new(), in_csv)
        )
    });
    limited(head, lines)
}

fn log(watch: &Watch) -> String {
    let mut out = String::from("at_ns,database,database_bytes,log_bytes,frames,copied_frames\n");
    for (index, samples) in watch.samples.iter().enumerate() {
        for sample in samples {
            let state = &sample.state;
            let at_ns = sample.at_ns.saturating_sub(watch.timeline.from_ns);
            let (frames, copied) = state.log.as_ref().map_or((0, 0), |log| (log.frames, log.copied));
            out += &format!("{at_ns},{index},{},{},{frames},{copied}\n", state.database_bytes, state.log_bytes);
        }
    }
    out
}

/// Lines up to the limit, and how many are left out.
fn limited(head: &str, lines: impl Iterator<Item = String>) -> (String, usize) {
    let (mut out, mut left_out) = (head.to_string(), 0);
    for line in lines {
        if out.len() + line.len() > LIST_BYTES_MAX { left_out += 1 } else { out += &line }
    }
    (out, left_out)
}

/// A statement as a cell of a table.
fn in_csv(sql: &str) -> String {
    format!("\"{}\"", crate::words::one_line(sql, 1_000).replace('"', "\"\""))
}
