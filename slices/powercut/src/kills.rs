//! Real crashes of the database's processes: SIGKILL during the load, on the ordinary file system.

use crate::crash::{Crash, decode, over_http, prepare};
use crate::judge::{self, Judge};
use crate::results::{PROCESS, Powercut};
use crate::survival::{Instant, Survival};
use anyhow::{Result, anyhow};
use contend::engine;
use contend::trial::clock::monotonic_ns;
use contend::trial::note::Note;
use contend::trial::server::private::Running;
use contend::trial::stage::Stage;
use contend::trial::workers::admin::Admin;
use contend::trial::workers::crew::{Crew, Failure, Observer, Window};
use contend::trial::workers::serving::Serving;
use contend_wire::sample::Sample;
use std::path::Path;

/// Window of each attempt as a multiple of the recorded window: the ordinary disk is slower and may be busy.
const LONGER: [u64; 3] = [2, 6, 20];

/// Kills a database's processes at the end of the window.
struct Strike<'s, 'j> {
    serving: Option<&'s mut Serving<'j>>,
    server: Option<&'s mut Running<'j>>,
    samples: Vec<Sample>,
    killed_ns: u64,
    killed: Result<()>,
}

impl Observer for Strike<'_, '_> {
    fn window_ends(&mut self) {
        if let Some(serving) = &mut self.serving {
            serving.kill();
        }
        if let Some(server) = &mut self.server {
            self.killed = server.kill();
        }
        self.killed_ns = monotonic_ns();
    }

    fn samples(&mut self, bytes: &[u8]) -> Result<()> {
        decode(bytes, &mut self.samples)
    }
}

/// The kills of a trial; `logs` is the trial's directory.
pub struct Kills<'k> {
    pub crash: Crash<'k>,
    pub logs: &'k Path,
}

impl Kills<'_> {
    /// Makes the kills that the study requires. An embedded database runs in a worker that serves over HTTP, so that
    /// the client survives with its acknowledgements.
    pub fn kill(&self, stage: &Stage<'_>, found: &mut Powercut, admin: &mut Admin<'_>) -> Result<(), Failure> {
        if let Some(why) = self.crash.no_crashes(stage) {
            found.not_killed = Some(why.to_string());
            return Ok(());
        }
        let embedded = stage.engine.server.is_none();
        let serving = over_http(stage.contender);
        let contender = if embedded { &serving } else { stage.contender };
        let setup = engine::setup_of(stage.engine, contender);
        let stage = Stage { contender, setup, ..*stage };
        for turn in 0..self.crash.wanted.kills {
            (self.crash.progress)(Note::Phase("killing the database's processes"));
            match self.kill_in_time(&stage, turn, admin) {
                Ok(verdict) => judge::count(&mut found.crashes, PROCESS, "", &verdict),
                Err(Failure::Invalid(reason)) => {
                    found.not_killed = Some(format!("{}: {}", reason.kind, reason.detail));
                    break;
                }
                Err(other) => return Err(other),
            }
        }
        self.crash.remove_data()?;
        Ok(())
    }

    /// Kills once. If nothing was committed yet, tries again in a longer window.
    fn kill_in_time(&self, stage: &Stage<'_>, turn: u32, admin: &mut Admin<'_>) -> Result<Survival, Failure> {
        let windows = LONGER.map(|times| self.crash.wanted.window_ns * times);
        for window_ns in windows {
            if let Some(verdict) = self.kill_once(stage, window_ns, turn, admin)? {
                return Ok(verdict);
            }
        }
        Err(prepare(anyhow!("nothing was committed before the kill, in {} attempts", windows.len())))
    }

    /// Kills once; `None` if nothing was committed before the kill.
    fn kill_once(
        &self,
        stage: &Stage<'_>,
        window_ns: u64,
        turn: u32,
        admin: &mut Admin<'_>,
    ) -> Result<Option<Survival>, Failure> {
        let server_log = self.logs.join("killed.log");
        let mut fresh = self.crash.fresh_data(stage, &server_log, admin)?;
        let round = stage.round.for_window(window_ns);
        let staged = Stage { round: &round, setup: stage.setup.clone(), ..*stage };
        let mut serving = self.crash.serving(&staged, &fresh.databases, self.logs)?;
        let orders = self.crash.orders(&staged, &fresh.databases, serving.as_ref())?;
        let mut crew = Crew::of_processes(orders.whose, &orders.launch, self.logs, &self.crash.supervision());
        crew.prepare(&orders.plans)?;
        crew.compare_clocks()?;
        // In the second half of the window: work is there to lose, and more is under way.
        let part = u64::from(turn * 61 % 97);
        let begins_ns = crew.start();
        let kill_ns = begins_ns + window_ns / 2 + window_ns * part / (97 * 3);
        let window = Window { begins_ns, ends_ns: Some(kill_ns), drain_ns: round.load.drain_ns };
        let (serving_too, server) = (serving.as_mut(), fresh.server.as_mut());
        let mut strike = Strike { serving: serving_too, server, samples: vec![], killed_ns: 0, killed: Ok(()) };
        crew.collect(&window, &mut strike)?;
        crew.dismiss();
        let Strike { samples, killed_ns, killed, .. } = strike;
        killed.map_err(prepare)?;
        drop(serving);
        drop(fresh.server.take());
        let ledger = self.crash.ledger(&round, samples);
        let judge = Judge::new(stage.engine, &stage.setup, self.crash.workload, round.load.scale, ledger);
        if judge.ledger.acknowledged().next().is_none() {
            return Ok(None);
        }
        // A killed process can have acknowledged only before the kill, so all acknowledgements count.
        let crash = Instant { after_ns: killed_ns, before_ns: u64::MAX };
        let mut verdict = || {
            let verdict = self.crash.reopened(stage, &self.crash.data_dir, &server_log, admin, |database, admin| {
                let answers = admin.run(judge.script(database));
                judge.verdict(crash, answers, database, admin)
            })?;
            judge::with_room(verdict, &self.crash.data_dir)
        };
        let first = verdict();
        judge::or_again(first, verdict).map(Some).map_err(prepare)
    }
}
