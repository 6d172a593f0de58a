//! Files with SQLite linked into them: plans for the processes that loaded them, and reports about those that cannot
//! carry one out.

use crate::manifest::write_private;
use contend_interpose::foreign::{Examined, Foreign, Linked, Lookout, examine};
use contend_interpose::format::{PLAN, PLAN_ASKED};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A process requests a plan when it loads a file. A request is expected within this time after contend has seen the file.
const REQUESTED_WITHIN: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct Requests {
    /// Files with a plan, by device and inode.
    planned: BTreeMap<String, PathBuf>,
    /// Device and inode of files for which no process could carry out the plan, and that were reported.
    failed: BTreeSet<String>,
    /// Files with a plan that no process has requested yet.
    waiting: Vec<(String, Foreign, Instant)>,
}

impl Requests {
    /// Answers a process that has loaded a file, `which` is its device and inode. Returns what is not captured.
    pub fn answer(&mut self, lookout: &mut Lookout, segments: &Path, which: &str, path: &Path) -> Option<String> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let (plan, report) = match examine(&path) {
            Ok(Examined::Nothing) => (vec![], None),
            Ok(Examined::Plan(plan)) => {
                self.planned.insert(which.into(), path);
                (plan, None)
            }
            Ok(Examined::OutOfReach(found)) => (vec![], lookout.is_new(&found).then(|| sentence(&found))),
            Err(why) => (vec![], Some(unread(&path, &why.to_string()))),
        };
        let written = write_private(&segments.join(format!("{PLAN}{which}")), &plan);
        // Removing the request is an answer, too: the process continues.
        let _ = fs::remove_file(segments.join(format!("{PLAN_ASKED}{which}")));
        report.or_else(|| written.err().map(|why| unread(Path::new(which), &format!("{why:#}"))))
    }

    /// A process could not carry out the plan for a file.
    pub fn failed(&mut self, which: &str) -> Option<String> {
        let path = self.planned.get(which).filter(|_| self.failed.insert(which.into()))?;
        Some(format!(
            "{} has SQLite linked into it, which is not captured in each process: one could not change its code in \
             memory. `contend watch` sees its locks.",
            path.display()
        ))
    }

    /// A file that a process executes: what is not captured, if that is known already.
    pub fn report(&mut self, found: Foreign) -> Option<String> {
        let Linked::Planned(device, inode) = found.linked else { return Some(sentence(&found)) };
        self.waiting.push((format!("{device}-{inode}"), found, Instant::now()));
        None
    }

    /// Files with a plan that no process has requested in time, at the end of all.
    pub fn overdue(&mut self, is_end: bool) -> Vec<String> {
        let planned = &self.planned;
        self.waiting.retain(|(which, ..)| !planned.contains_key(which));
        let late = self.waiting.extract_if(.., |(_, _, seen)| is_end || seen.elapsed() > REQUESTED_WITHIN);
        late.map(|(_, found, _)| sentence(&found)).collect()
    }
}

fn unread(file: &Path, why: &str) -> String {
    format!("{} was not examined: {why}. If it has SQLite linked into it, that is not captured.", file.display())
}

/// A sentence about a SQLite whose calls are not captured.
fn sentence(found: &Foreign) -> String {
    let why = match &found.linked {
        Linked::OutOfReach(why) => format!(": {why}"),
        Linked::Planned(..) => {
            ": a process did not load contend's library, or loaded this file in a way that the library does not see"
                .into()
        }
        Linked::Elsewhere => String::new(),
    };
    format!(
        "{}, which is not captured{why}. `contend watch` sees its locks. To capture it, {}.",
        found.what, found.change
    )
}
