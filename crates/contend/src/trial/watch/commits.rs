//! Commits of the databases of a trial by their own counters. The tool reads them itself, independently of workers.

use crate::check::commits::Counted;
use crate::engine::Counts;
use crate::trial::clock::{MINUTE_NS, monotonic_ns};
use crate::trial::data::fresh::Fresh;
use crate::trial::stage::Stage;
use crate::trial::watch::asking::Asking;
use crate::trial::watch::counters::{Counters, Meanwhile, Places};
use crate::trial::workers::admin::script_target;
use anyhow::{Error, Result};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Source of the counters.
enum From {
    Files { counters: Arc<Counters>, meanwhile: Option<Meanwhile>, places: Places },
    Server(Asking),
}

/// The counters of a trial from right before its clients start.
pub struct Commits {
    /// `Err` if they could not be read at the start.
    from: Result<From>,
    began_ns: u64,
    counted: Counted,
}

impl Commits {
    /// `None` if the engine counts no commits, or if other programs are expected to write.
    ///
    /// On a file system that is not local, times of files are not compared with commits.
    pub fn begin(stage: &Stage<'_>, is_local: bool, fresh: &Fresh<'_>) -> Option<Self> {
        let engine = stage.engine;
        let (from, own, of) = match (engine.file_commits, engine.server, &fresh.server) {
            (Some(counts), ..) => {
                let compared = is_local && !stage.setup.only_read;
                let touched = (counts.touched_by_each)(&stage.contender.settings).filter(|_| compared);
                let used: BTreeSet<u32> =
                    stage.round.workers.iter().flat_map(|drawn| &drawn.clients).map(|client| client.database).collect();
                // The others have no connection, and so with WAL no file that counts.
                let databases = used.iter().filter_map(|database| fresh.databases.get(*database as usize));
                let opened = Counters::open(counts, databases, touched);
                let files =
                    |counters| From::Files { counters: Arc::new(counters), meanwhile: None, places: Places::default() };
                (opened.map(files), 0, Counts::Transactions)
            }
            (None, Some(server), Some(running)) => {
                let target = script_target(engine, &running.inside(server.first_database));
                let own = server.own_commits * fresh.databases.len() as u64;
                (Asking::begin(target, server.commits).map(From::Server), own, server.counts)
            }
            _ => return None,
        };
        Some(Self { from, began_ns: monotonic_ns(), counted: Counted { own, of, ..Counted::default() } })
    }

    pub fn are_readable(&self) -> bool {
        self.from.is_ok()
    }

    /// Starts to read the counters of files, once clients have been told to start. Those of servers are read already.
    pub fn work_begins(&mut self) -> Result<()> {
        if let Ok(From::Files { counters, meanwhile, .. }) = &mut self.from {
            *meanwhile = Some(Meanwhile::start(Arc::clone(counters))?);
        }
        Ok(())
    }

    /// Has a server's count read at the beginning of the window: what was committed before must not count as work in it.
    pub fn window_begins(&self) {
        if let Ok(From::Server(asking)) = &self.from {
            asking.now();
        }
    }

    /// Reads the counters at the end of the window, while clients may still be working.
    pub fn window_ends(&mut self) {
        match &mut self.from {
            Ok(From::Files { counters, meanwhile, places }) => {
                let seen = meanwhile.take().map(Meanwhile::end).unwrap_or_default();
                (self.counted.meanwhile, self.counted.untraced, *places) = (seen.readings, seen.untraced, seen.places);
                self.counted.at_window_end = counters.read(places);
            }
            Ok(From::Server(asking)) => asking.now(),
            Err(_) => {}
        }
    }

    /// Reads the counters after all clients have ended.
    pub fn end(self) -> Counted {
        let Self { from, began_ns, mut counted } = self;
        let lost = match from {
            Ok(From::Files { counters, mut places, .. }) => {
                counted.at_end = counters.read(&mut places);
                places.lost()
            }
            Ok(From::Server(asking)) => {
                let (mut readings, lost) = asking.end();
                counted.at_end = readings.pop().filter(|_| lost.is_none());
                counted.meanwhile = readings;
                lost
            }
            Err(e) => Some(e),
        };
        counted.lost = lost.map(|e: Error| format!("{e:#}"));
        // A server looks after each database about once a minute.
        counted.own *= 1 + monotonic_ns().saturating_sub(began_ns) / MINUTE_NS;
        counted
    }
}
