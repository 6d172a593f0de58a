//! Crashes of the database's processes alone, really made: SIGKILL in mid-load, on the ordinary file system.

use super::judge::{self, Judge};
use super::{decode, over_http, prepare};
use crate::check::survival::{Instant, Verdict};
use crate::engine;
use crate::record::powercut::{PROCESS, Powercut};
use crate::study::model::Powercut as Wanted;
use crate::trial::data::fresh;
use crate::trial::run::Note;
use crate::trial::trial::{Bench, Stage};
use crate::trial::workers::admin::Admin;
use crate::trial::workers::crew::{Crew, Failure};
use crate::trial::workers::process::monotonic_ns;
use anyhow::{Result, anyhow};
use contend_wire::database::Database;
use std::path::Path;

/// How many times as long as the recorded window, attempt by attempt: the ordinary disk is slower, and may be busy.
const LONGER: [u64; 3] = [2, 6, 20];

impl Bench<'_> {
    /// Kills as often as the study asks for. Where the database is in the process of its client, the client would die
    /// with it and what it was told with the client: there a worker that serves over HTTP has the database.
    pub(super) fn kill(
        &self,
        stage: &Stage<'_>,
        wanted: &Wanted,
        found: &mut Powercut,
        logs: &Path,
        admin: &mut Admin<'_>,
    ) -> Result<(), Failure> {
        if let Some(why) = self.no_crashes(stage) {
            found.not_killed = Some(why.to_string());
            return Ok(());
        }
        let embedded = stage.engine.server.is_none();
        let serving = over_http(stage.contender);
        let contender = if embedded { &serving } else { stage.contender };
        let setup = engine::setup_of(stage.engine, contender);
        let stage = Stage { contender, setup, ..*stage };
        for turn in 0..wanted.kills {
            (self.progress)(Note::Phase("killing the database's processes"));
            match self.kill_in_time(&stage, wanted, turn, logs, admin) {
                Ok(verdict) => judge::count(&mut found.crashes, PROCESS, "", &verdict),
                Err(Failure::Invalid(reason)) => {
                    found.not_killed = Some(format!("{}: {}", reason.kind, reason.detail));
                    break;
                }
                Err(other) => return Err(other),
            }
        }
        self.remove_data()?;
        Ok(())
    }

    /// Kills once; where nothing was committed yet, once more in a longer window.
    fn kill_in_time(
        &self,
        stage: &Stage<'_>,
        wanted: &Wanted,
        turn: u32,
        logs: &Path,
        admin: &mut Admin<'_>,
    ) -> Result<Verdict, Failure> {
        let windows = LONGER.map(|times| wanted.window_ns * times);
        for window_ns in windows {
            if let Some(verdict) = self.kill_once(stage, window_ns, turn, logs, admin)? {
                return Ok(verdict);
            }
        }
        Err(prepare(anyhow!("nothing was committed before the kill, in {} attempts", windows.len())))
    }

    /// None if nothing was committed before the kill: then there was nothing to lose.
    fn kill_once(
        &self,
        stage: &Stage<'_>,
        window_ns: u64,
        turn: u32,
        logs: &Path,
        admin: &mut Admin<'_>,
    ) -> Result<Option<Verdict>, Failure> {
        let server_log = logs.join("killed.log");
        let mut fresh = self.fresh_data(stage, &server_log, admin)?;
        let round = stage.round.for_window(window_ns);
        let staged = Stage { round: &round, setup: stage.setup.clone(), ..*stage };
        let mut serving = self.serving(&staged, &fresh.databases, logs)?;
        let orders = self.orders(&staged, &fresh.databases, serving.as_ref())?;
        let mut crew = Crew::new(orders.whose, self.janitor, self.deadlines, self.cancelled);
        crew.prepare(&orders.launch, &orders.plans, logs)?;
        crew.compare_clocks()?;
        // Somewhere in the second half of the window: there is something to lose, and work still goes on.
        let part = u64::from(turn * 61 % 97);
        let kill_ns = crew.start() + window_ns / 2 + window_ns * part / (97 * 3);
        let (mut samples, mut killed_ns, mut killed) = (vec![], 0, Ok(()));
        let strike = || {
            if let Some(serving) = &mut serving {
                serving.kill();
            }
            if let Some(server) = &mut fresh.server {
                killed = server.kill();
            }
            killed_ns = monotonic_ns();
        };
        crew.collect(Some(kill_ns), round.load.drain_ns, &mut |b| decode(b, &mut samples), strike, &mut |_| ())?;
        crew.dismiss();
        killed.map_err(prepare)?;
        drop(serving);
        drop(fresh.server.take());
        let ledger = self.ledger(&round, samples);
        let judge = Judge::new(stage.engine, &stage.setup, self.workload, round.load.scale, ledger);
        if judge.ledger.acknowledged().next().is_none() {
            return Ok(None);
        }
        // Everything that was acknowledged, whenever, was acknowledged by a process that lived.
        let crash = Instant { after_ns: killed_ns, before_ns: u64::MAX };
        let mut verdict = || {
            let verdict = self.reopened(stage, &self.data_dir, &server_log, admin, |database, admin| {
                let answers = admin.run(judge.script(database));
                judge.verdict(crash, answers, database, admin)
            })?;
            judge::with_room(verdict, &self.data_dir)
        };
        let first = verdict();
        judge::or_again(first, verdict).map(Some).map_err(prepare)
    }

    /// Opens what a crash left in a directory, and asks; what the engine does not open has its verdict.
    pub(super) fn reopened(
        &self,
        stage: &Stage<'_>,
        dir: &Path,
        server_log: &Path,
        admin: &mut Admin<'_>,
        ask: impl FnOnce(&Database, &mut Admin<'_>) -> Result<Verdict>,
    ) -> Result<Verdict> {
        match self.making(stage, dir, server_log, |m| fresh::open(m, self.janitor, admin)) {
            Ok(fresh) => ask(&fresh.inside[0], admin),
            Err(e) => judge::refused(e),
        }
    }
}
