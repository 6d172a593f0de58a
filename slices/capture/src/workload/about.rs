//! The database that a workload is about, of those of a capture.

use crate::content::open_copy;
use crate::manifest::{Content, Database, Manifest};
use crate::trace::{Call, Trace};
use anyhow::{Context, Result, bail};
use contend::stats::precision::{count as whole, counted};
use rusqlite::Connection;
use std::path::Path;

/// Calls on a database.
fn on<'t>(trace: &'t Trace, database: &Database) -> impl Iterator<Item = &'t Call> {
    trace.calls.iter().filter(|call| trace.is_on(call, &database.path))
}

/// Calls that another connection's lock ended.
fn errors<'t>(calls: impl Iterator<Item = &'t Call>) -> usize {
    calls.filter(|call| call.is_busy() && !call.is_locked()).count()
}

/// The wanted database; without one, that with the most lock errors, then with the longest waits, then with the most calls.
///
/// # Errors
/// There is none, or it is not in the capture.
pub fn database<'m>(manifest: &'m Manifest, trace: &Trace, wanted: Option<&Path>) -> Result<&'m Database> {
    const MS: u64 = 1_000_000;
    let rank = |database: &&Database| {
        let waited_ns: u64 = on(trace, database).map(|call| call.waited_ns + call.prepare.1).sum();
        (errors(on(trace, database)), waited_ns / MS, on(trace, database).count())
    };
    let Some(wanted) = wanted else {
        return manifest.databases.iter().max_by_key(rank).context("no call on a database file was captured");
    };
    // A name is enough if only one database has it.
    let is_wanted = |database: &&Database| database.path == wanted || database.path.ends_with(wanted);
    let found: Vec<&Database> = manifest.databases.iter().filter(is_wanted).collect();
    let [one] = found[..] else {
        let which = if found.is_empty() { "no database of the capture" } else { "more than one database" };
        bail!("--database: {} is {which}; it has {}", wanted.display(), paths(manifest.databases.iter()));
    };
    Ok(one)
}

fn paths<'m>(databases: impl Iterator<Item = &'m Database>) -> String {
    databases.map(|database| database.path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Which of several databases the workload is about, and its part of the lock errors.
pub fn sentence(manifest: &Manifest, trace: &Trace, database: &Database) -> Option<String> {
    let others = || manifest.databases.iter().filter(|other| other.path != database.path);
    others().next()?;
    let (of, all) = (errors(on(trace, database)), errors(trace.calls.iter()));
    let part = match all {
        0 => "no database has lock errors".to_string(),
        _ => format!("it has {} of {}", whole(of as u64), counted(all, "lock error")),
    };
    let calls = whole(on(trace, database).count() as u64);
    Some(format!(
        "The study is about {}: {part}, and {calls} of {}. `--database` of to-workload chooses another one: {}.",
        database.path.display(),
        counted(trace.calls.len(), "call"),
        paths(others())
    ))
}

/// What a study begins with, and its copy if there is one. For a database that the program created that is its content at the end.
pub fn content<'d>(dir: &Path, database: &'d Database) -> Result<(&'d Content, Option<Connection>)> {
    let content = database.content.as_ref().or(database.end.as_ref());
    let content = content.with_context(|| format!("the content of {} is unknown", database.path.display()))?;
    let copy = content.copied_in(dir)?.map(|copy| open_copy(&copy)).transpose()?;
    Ok((content, copy))
}

/// The paths of the others.
pub fn others<'m>(manifest: &'m Manifest, database: &Database) -> Vec<&'m Path> {
    let all = manifest.databases.iter().map(|other| other.path.as_path());
    all.filter(|path| *path != database.path).collect()
}

/// Sentences about them.
pub fn without(others: &[&Path]) -> impl Iterator<Item = String> {
    others.iter().map(|path| format!("{}: a workload has one database; this one is left out.", path.display()))
}
