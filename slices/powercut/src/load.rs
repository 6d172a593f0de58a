//! Repeats the load of a trial on a recorder.

use crate::crash::{Crash, decode, prepare};
use crate::place::{MOUNT, WorkDir, copy_same};
use crate::recorder::Recorder;
use crate::results::Powercut;
use crate::shim;
use crate::survival::Ledger;
use crate::write_back;
use anyhow::{Result, anyhow};
use contend::report::content::words;
use contend::trial::data::fresh::{self, Fresh};
use contend::trial::plans::{DrawnRound, Sql};
use contend::trial::stage::Stage;
use contend::trial::workers::admin::{Admin, script_target};
use contend::trial::workers::crew::{Crew, Failure, Window};
use contend::trial::workers::process::Launch;
use contend::trial::workers::refusal::Whose;
use contend_powercut::log::Log;
use contend_powercut::replay::Cut;
use contend_wire::sample::Sample;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Fewest commits of a useful recording. With fewer it is repeated in a longer window; without them it proves nothing.
const COMMITS_MIN: u64 = 60;

/// Length of each attempt as a multiple of the window.
const LONGER: [u64; 3] = [1, 4, 16];

/// Result of a recording: the log and the ledger.
pub struct Recording {
    pub log: Log,
    pub ledger: Ledger,
}

/// The load, and where and how it is recorded.
pub struct Load<'l> {
    pub crash: Crash<'l>,
    pub stage: &'l Stage<'l>,
    pub place: &'l WorkDir<'l>,
}

impl Load<'_> {
    /// Records the load; repeats it in a longer window if almost nothing was committed.
    pub fn record(
        &self,
        found: &mut Powercut,
        (base, log_file): (&Path, &Path),
        admin: &mut Admin<'_>,
    ) -> Result<Recording, Failure> {
        let laid_out = self.place.empty("base").map_err(prepare)?;
        let server_log = self.place.path("server.log");
        self.stage
            .making(self.crash.workload, &laid_out, &server_log, |making| fresh::lay_out(making, admin))
            .map_err(prepare)?;
        copy_same(&laid_out, base).map_err(prepare)?;
        for (attempt, times) in LONGER.iter().enumerate() {
            let least_ns = self.stage.engine.server.map_or(0, |server| server.write_back_ns);
            let window_ns = (self.crash.wanted.window_ns * times).max(least_ns);
            let recording = self.record_once(window_ns, found, log_file, admin)?;
            // A longer window adds nothing to a full log.
            if found.acknowledged >= COMMITS_MIN || found.log_full || attempt + 1 == LONGER.len() {
                return Ok(recording);
            }
            std::fs::remove_file(log_file).map_err(|e| prepare(e.into()))?;
        }
        Err(prepare(anyhow!("nothing was recorded")))
    }

    fn record_once(
        &self,
        window_ns: u64,
        found: &mut Powercut,
        log_file: &Path,
        admin: &mut Admin<'_>,
    ) -> Result<Recording, Failure> {
        let backing = self.place.empty("backing").map_err(prepare)?;
        let mountpoint = self.place.empty(MOUNT).map_err(prepare)?;
        copy_same(&self.place.path("base"), &backing).map_err(prepare)?;
        let bound = u64::from(self.crash.wanted.bound_mib) << 20;
        if found.by_vfs.is_some() {
            return self.record_by_shim(window_ns, found, &backing, log_file);
        }
        let recorder = Recorder::start(&backing, &mountpoint, log_file, bound, self.crash.janitor).map_err(prepare)?;
        let server_log = self.place.path("server.log");
        let fresh = self.stage.making(self.crash.workload, &mountpoint, &server_log, |making| {
            fresh::open(making, self.crash.janitor, admin)
        });
        let fresh = fresh.map_err(prepare)?;
        let round = self.stage.round.for_window(window_ns);
        let samples = self.load_and_write_back(&round, &fresh)?;
        drop(fresh);
        let recorded = recorder.end().map_err(prepare)?;
        (found.entries, found.log_bytes, found.log_full) = (recorded.entries, recorded.bytes, recorded.full);
        let log = read_log(log_file)?;
        Ok(self.recording(log, &round, samples, found))
    }

    /// Records without a mount: the clients of one process, which records itself.
    fn record_by_shim(
        &self,
        window_ns: u64,
        found: &mut Powercut,
        dir: &Path,
        log_file: &Path,
    ) -> Result<Recording, Failure> {
        let fresh = self.stage.making(self.crash.workload, dir, &self.place.path("server.log"), Fresh::embedded);
        let round = self.stage.round.for_window(window_ns).of_one_worker();
        let launch = shim::launch(dir, log_file, u64::from(self.crash.wanted.bound_mib) << 20).map_err(prepare)?;
        let samples = self.load_with(&launch, &round, &fresh)?;
        let log = read_log(log_file)?;
        let bytes = std::fs::metadata(log_file).map_or(0, |file| file.len());
        (found.entries, found.log_bytes, found.log_full) = (log.len() as u64, bytes, log.full);
        Ok(self.recording(log, &round, samples, found))
    }

    /// Joins the log with what was sent, and counts both in `found`.
    fn recording(&self, log: Log, round: &DrawnRound, samples: Vec<Sample>, found: &mut Powercut) -> Recording {
        let ledger = self.crash.ledger(round, samples);
        found.acknowledged = ledger.acknowledged().count() as u64;
        found.recorded_ns = ledger.span_ns().map_or(0, |(first, last)| last - first);
        Recording { log, ledger }
    }

    /// Runs the clients while the server writes its pages to the data files.
    fn load_and_write_back(&self, round: &DrawnRound, fresh: &Fresh<'_>) -> Result<Vec<Sample>, Failure> {
        let Some(server) = self.stage.engine.server else { return self.load(round, fresh) };
        let (done, janitor) = (AtomicBool::new(false), self.crash.janitor);
        let target = script_target(self.stage.engine, &fresh.inside[0]);
        let log = self.place.path("write-back.log");
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| write_back::keep_on(server, &target, &log, janitor, &done));
            let samples = self.load(round, fresh);
            done.store(true, Ordering::Relaxed);
            let written = writing.join().unwrap_or_else(|_| Err(anyhow!("the process that writes pages back failed")));
            // An error of the clients takes precedence.
            samples.and_then(|samples| written.map(|()| samples).map_err(prepare))
        })
    }

    /// Runs the clients on a database, in a window without a run-in.
    fn load(&self, round: &DrawnRound, fresh: &Fresh<'_>) -> Result<Vec<Sample>, Failure> {
        self.load_with(&self.crash.launch(self.stage.contender)?, round, fresh)
    }

    fn load_with(&self, launch: &Launch, round: &DrawnRound, fresh: &Fresh<'_>) -> Result<Vec<Sample>, Failure> {
        let sql = Sql::of(self.crash.workload, self.stage.engine, &self.stage.setup);
        let plans = round.encode(self.stage.contender, &self.stage.setup, &sql, &fresh.databases)?;
        let whose = Whose::Driver(self.stage.contender.driver.clone());
        let mut crew = Crew::of_processes(whose, launch, &self.place.path(""), &self.crash.supervision());
        crew.prepare(&plans)?;
        crew.compare_clocks()?;
        let begins_ns = crew.start();
        let ends_ns = Some(begins_ns + round.load.window_ns);
        let window = Window { begins_ns, ends_ns, drain_ns: round.load.drain_ns };
        let mut samples = vec![];
        crew.collect(&window, &mut |b: &[u8]| decode(b, &mut samples))?;
        crew.dismiss();
        Ok(samples)
    }
}

/// Rejects cuts before which almost nothing was acknowledged: they could show no loss.
pub fn enough(ledger: &Ledger, log: &Log, cuts: &[Cut]) -> Result<(), Failure> {
    let last_ns = cuts.iter().map(|cut| log.ends_ns(cut.position)).max().unwrap_or(0);
    let commits = ledger.acknowledged().filter(|sent| sent.finished_ns < last_ns).count() as u64;
    if commits < COMMITS_MIN {
        let commits = words::counted(commits as usize, "commit");
        return Err(prepare(anyhow!("only {commits} acknowledged before the last cut; {COMMITS_MIN} are needed")));
    }
    Ok(())
}

fn read_log(file: &Path) -> Result<Log, Failure> {
    Log::read(file).map_err(|e| prepare(anyhow!("{e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survival::{Fate, Sent};
    use contend_powercut::log::{Entry, Op};
    use contend_powercut::replay::{Model, Namespace};

    #[test]
    fn only_commits_before_the_last_cut_count() {
        // One commit between two entries; of the last entry's commits none is acknowledged before a cut.
        let op = Op::Sync { ino: 2, data_only: true };
        let entries = (0..200).map(|n| Entry { at_ns: n * 10, op: op.clone() }).collect();
        let (full, whole) = (Log { entries, full: true, ..Log::default() }, Log::default());
        let sent = |n: u32| Sent {
            client: 1,
            number: n,
            mark: i64::from(n),
            transaction: 0,
            started_ns: u64::from(n) * 10 + 1,
            finished_ns: u64::from(n) * 10 + 5,
            fate: Fate::Acknowledged,
        };
        let said = |commits: u32, log: &Log, position: usize| {
            let cut = Cut { position, model: Model::Drop, namespace: Namespace::Journal, seed: 0 };
            match enough(&Ledger::new((0..commits).map(sent).collect()), log, &[cut]) {
                Err(Failure::Invalid(reason)) => reason.detail,
                Err(_) => panic!("another failure"),
                Ok(()) => String::new(),
            }
        };
        assert_eq!(said(5000, &full, 60), "");
        assert_eq!(said(5000, &full, 59), "only 59 commits acknowledged before the last cut; 60 are needed");
        assert_eq!(said(60, &whole, 0), "", "everything is before a cut at the end of a whole log");
        assert_eq!(said(1, &whole, 0), "only 1 commit acknowledged before the last cut; 60 are needed");
    }
}
