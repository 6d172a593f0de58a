//! What the samples and the workers of a window say of its trial: figures, settings, reasons and marks.

use crate::analysis::tally::{Counting, Tally, Tallying, per_second};
use crate::check::answers::{self, Answers, Kind};
use crate::check::commits::CommitCheck;
use crate::check::ever::{self, Ever};
use crate::check::heard::{self, Ends, Span};
use crate::check::samples::PlanCheck;
use crate::check::{guards, marks};
use crate::engine::{self, Engine};
use crate::outcome::reason::Invalid;
use crate::record::model::{Reason, RoleClients, ServerInfo, Trial, WorkerInfo};
use crate::record::store::read_samples;
use crate::study::model::{Contender, Tier};
use crate::trial::bench::Bench;
use crate::trial::over_http::THREADS;
use crate::trial::plans::Sql;
use crate::trial::secret::hidden;
use crate::trial::stage::Stage;
use crate::trial::watch::machine;
use crate::trial::window::Ran;
use crate::trial::workers::crew::Failure;
use crate::workload::{Asked, DrawnRole, Workload, fixed};
use anyhow::{Context, Result};
use contend_wire::handshake::{Facts, fact};
use contend_wire::plan::Client;
use contend_wire::sample::flag;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::PoisonError;

/// The fact of `done` with the longest pause of a garbage collector: meanwhile a worker cannot say anything.
const LONGEST_PAUSE: &str = "gc_pause_ns_max";

/// Longest until a worker has closed its connections, and for each byte of a log that is written back meanwhile.
const CLOSE_NS: u64 = 2_000_000_000;
const CLOSE_NS_PER_BYTE: u64 = 100;

/// What is judged, and with what.
pub struct Review<'v> {
    pub bench: &'v Bench<'v>,
    pub stage: &'v Stage<'v>,
    pub ran: &'v Ran,
}

impl Review<'_> {
    pub fn describe(&self, trial: &mut Trial) {
        trial.window_start_ns = self.ran.window_start_ns;
        trial.window_end_ns = self.ran.window_end_ns.unwrap_or(self.ran.window_start_ns);
        trial.footprint.size_bytes_wal = self.ran.observed.wal_bytes_max;
        let usage = &self.ran.observed.usage;
        trial.workers = self
            .stage
            .round
            .workers
            .iter()
            .zip(&self.ran.members)
            .zip(usage)
            .enumerate()
            .map(|(number, ((drawn, member), used))| WorkerInfo {
                number: number as u32,
                roles: drawn.roles.iter().map(role_clients).collect(),
                hello: who_worked(&member.hello, self.stage.contender, self.stage.engine, trial.server.as_ref()),
                clock_error_ns: member.clock_error_ns,
                cpu_ns: used.cpu_ns,
                rss_bytes: used.rss_bytes,
                written_bytes: used.written_bytes,
                voluntary_switches: used.voluntary_switches,
                involuntary_switches: used.involuntary_switches,
                told: beside_accounts(&member.done, self.bench.workload, self.bench.asked),
            })
            .collect();
        let sessions: Vec<&Facts> = match &self.ran.served {
            Some(served) => served.sessions.iter().collect(),
            None => self.ran.members.iter().flat_map(|m| &m.sessions).collect(),
        };
        let expected = if self.stage.setup.only_told { &[][..] } else { &self.stage.setup.readbacks };
        let (settings, reasons) = guards::settings(expected, sessions.iter().copied());
        trial.tier_reported = Some(&settings)
            .filter(|settings| !settings.is_empty())
            .and_then(|settings| engine::tier_reported(&self.stage.contender.engine, settings));
        trial.settings = settings;
        trial.invalid.extend(reasons);
        let done = self.ran.members.iter().map(|m| &m.done).chain(self.ran.served.iter().map(|served| &served.done));
        trial.invalid.extend(guards::later_settings(done));
        trial.invalid.extend(self.ran.changed.clone());
        let reported = sessions.len();
        let opened = self.stage.round.connections(self.stage.contender);
        // An app tells of as many as it likes.
        let enough = if engine::is_app(self.stage.contender) { reported > 0 } else { reported == opened };
        if !enough {
            let found = format!("{reported} connections report their settings, of {opened}");
            trial.invalid.push(Invalid::Settings.because(found));
        }
    }

    /// Holds samples against plans and totals; what is found goes into the trial.
    pub fn check(
        &self,
        trial: &mut Trial,
        samples: &Path,
        fastest_sync_ns: u64,
    ) -> Result<(Tally, ever::Acted), Failure> {
        if self.ran.window_end_ns.is_none() {
            trial.window_end_ns = self.end_of_samples(samples)?;
        }
        let clients = self.stage.round.workers.iter().flat_map(|drawn| &drawn.clients);
        let clients: Vec<(&Client, u64)> = clients.map(|client| (client, self.ran.start_ns)).collect();
        let retry = self.stage.engine.retry(&self.stage.contender.settings);
        let mut plan_check = PlanCheck::new(clients, retry.tries);
        let sql = Sql::of(self.bench.workload, self.stage.engine, &self.stage.setup);
        // A serving worker answers with rows only where it reads, and an app as it likes.
        if self.ran.served.is_none() && self.stage.setup.service.is_none() && engine::executes(self.stage.contender) {
            plan_check = plan_check.with_rows_of(&sql.transactions);
        }
        let mut commits = CommitCheck::new(&sql.transactions, &sql.statements, self.ran.commits);
        let of_workers =
            self.stage.round.workers.iter().map(|drawn| drawn.clients.iter().map(|client| client.id).collect());
        let executes = engine::executes(self.stage.contender) && !engine::is_app(self.stage.contender);
        let mut answers = Answers::new(if executes { self.kinds() } else { vec![] });
        let mut ends = Ends::of(&of_workers.collect::<Vec<_>>());
        let mut tallying = Tallying::new(trial, Counting::Corrected);
        let mut ever = Ever::new(self.stage.round.clients());
        // Where a connection was interrupted or may have been lost there may be none to read back.
        let (embedded, mut broken_off) = (self.stage.engine.server.is_none(), false);
        let drained_ns = self.ran.window_end_ns.map_or(u64::MAX, |end_ns| end_ns + self.stage.round.load.drain_ns);
        read_samples(samples, |sample| {
            let cut_short = sample.flags & flag::INTERRUPTED != 0 || sample.finished_ns >= drained_ns;
            broken_off |= cut_short || !(embedded || sample.is_ok());
            plan_check.push(&sample);
            commits.push(&sample);
            ends.push(&sample);
            answers.push(&sample);
            ever.push(sample);
            tallying.push(sample);
        })
        .map_err(broken)?;
        let names: Vec<String> = self.bench.transactions.iter().map(|t| t.name.clone()).collect();
        let tally = tallying.finish(&trial.planned, &names);
        trial.samples = Some(tally.samples);
        let load = &self.stage.round.load;
        let length_ns = (load.window_ns > 0).then_some(load.run_in_ns + load.window_ns);
        let due = plan_check.with_something_due(load.run_in_ns, length_ns.unwrap_or(u64::MAX / 2));
        let (findings, counted) = plan_check.finish(length_ns);
        trial.invalid.extend(findings);
        trial.invalid.extend(commits.finish());
        if executes {
            trial.invalid.extend(self.compare_answers(answers));
        }
        trial.invalid.extend(self.by_the_clock(ends));
        let reported: Vec<_> = self.ran.members.iter().map(|m| m.done.clone()).collect();
        trial.invalid.extend(counted.and_then(|counted| guards::totals(&reported, counted)));
        trial.invalid.extend(guards::exhausted(&reported));
        let directly = self.ran.served.is_none() && self.stage.setup.service.is_none();
        if directly && !broken_off && engine::executes(self.stage.contender) {
            trial.invalid.extend(guards::read_back_again(&reported));
        }
        trial.invalid.extend(self.by_littles_law(&tally)?);
        trial.invalid.extend(self.generator_limit(&tally));
        self.check_rates(trial, &tally, fastest_sync_ns);
        trial.marks.extend(marks::of_work(&tally, &due));
        let compiling_ns = reported.iter().map(marks::compiling_ns).sum();
        trial.marks.extend(marks::not_warm(compiling_ns, tally.elapsed_ns()));
        self.foreign_cpu(trial);
        Ok((tally, ever.finish()))
    }

    /// End of a window that has no length: right after the last sample.
    fn end_of_samples(&self, samples: &Path) -> Result<u64, Failure> {
        let mut last_ns = self.ran.window_start_ns;
        read_samples(samples, |s| last_ns = last_ns.max(s.finished_ns)).map_err(broken)?;
        Ok(last_ns + 1)
    }

    /// What clients of a closed loop did against the time that they had.
    fn by_littles_law(&self, tally: &Tally) -> Result<Option<Reason>, Failure> {
        if self.stage.round.load.rate_per_s.is_some() {
            return Ok(None);
        }
        let model = engine::model(self.stage.contender).context("a contender's model must be known")?;
        // Over HTTP each client has a connection, and only the asking worker can keep it waiting.
        let shared = self.ran.served.is_none() && model.clients_share();
        let retry = self.stage.engine.retry(&self.stage.contender.settings);
        let spins = retry.tries > 1 && retry.backoff_ns.is_empty();
        // Where nothing is executed all there is is what the worker takes for itself.
        let late_is_work = spins || shared || !engine::executes(self.stage.contender);
        let (busy_ns, observed_ns) = (self.ran.observed.machine_busy_ns, self.ran.observed.observed_ns);
        let crowded = guards::crowded(tally.clients.len(), machine::processors(), busy_ns, observed_ns);
        Ok(guards::littles_law(&tally.clients, guards::Waits { late_is_work, crowded }))
    }

    /// What decides the rows of each transaction.
    fn kinds(&self) -> Vec<Kind> {
        let kind = |(writes, fixed)| match (writes, fixed) {
            (true, _) => Kind::Write,
            (false, true) => Kind::Fixed,
            (false, false) => Kind::Read,
        };
        let workload = self.bench.workload;
        let writes = workload.transactions.iter().map(|transaction| transaction.writes);
        writes.zip(fixed::reads(workload)).map(kind).collect()
    }

    /// What reads returned, held against the earlier trials of the round. After an interrupted round is resumed, against those since.
    fn compare_answers(&self, mine: Answers) -> Option<Reason> {
        let mut earlier = self.stage.round.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let found = answers::contradicted(&mine, &earlier);
        earlier.push((self.stage.slot.trial, mine));
        let (trial, words, odd) = found?;
        let which = if odd { "the other contenders agree with that one" } else { "one of the two is wrong" };
        let reason =
            Invalid::Answers.because(format!("of the same data as trial {trial:04} of this round, {words}: {which}"));
        Some(Reason { against: (!odd).then_some(trial), ..reason })
    }

    /// What workers say of their time, held against the tool's own clock.
    fn by_the_clock(&self, ends: Ends) -> Vec<Reason> {
        let mut found = vec![];
        // The log is written back, at the rate of a slow disk. Data in memory is written as a whole.
        let in_memory = self.stage.setup.options.iter().any(|(name, value)| name == "storage" && value == "memory");
        let written_ns = self.ran.observed.wal_bytes_max.saturating_mul(CLOSE_NS_PER_BYTE);
        let close_ns = if in_memory { u64::MAX / 4 } else { CLOSE_NS + written_ns };
        for (number, (member, ended)) in self.ran.members.iter().zip(ends.finish()).enumerate() {
            let pause_ns = fact(&member.done, LONGEST_PAUSE).and_then(|ns| ns.parse().ok()).unwrap_or(0);
            let span = Span {
                start_ns: self.ran.start_ns,
                window_end_ns: self.ran.window_end_ns,
                clients: self.stage.round.workers[number].clients.len() as u64,
                pause_ns,
                close_ns,
            };
            found.extend(heard::contradictions(number, &member.heard, ended, span));
        }
        found
    }

    fn check_rates(&self, trial: &mut Trial, tally: &Tally, fastest_sync_ns: u64) {
        if tally.counts(|_| true).committed_inside == 0 {
            trial.invalid.push(guards::nothing_done(tally, self.stage.setup.service.is_some()));
        }
        let writes = self.stage.contender.tier == Tier::Durable && engine::executes(self.stage.contender);
        if writes && !self.stage.engine.group_commit {
            // A sample may name a transaction that is not there: that is found by the accounts.
            let writes = |t: u16| self.bench.transactions.get(usize::from(t)).is_some_and(|t| t.write);
            let writes = tally.counts(|g| writes(g.transaction)).committed_inside;
            let rate = per_second(writes, tally.elapsed_ns());
            trial.invalid.extend(guards::credible(rate, fastest_sync_ns, self.bench.workload.databases as usize));
        }
    }

    /// What an operation costs the worker itself; nothing where the null driver does as much as the driver, or more.
    fn own_ns_per_operation(&self, contender: &Contender) -> u64 {
        if engine::executes(contender) { self.bench.generator_ns_per_operation } else { 0 }
    }

    /// Puts the commits beside the syncs that a server tells of.
    pub fn count_commits(&self, trial: &mut Trial, ever: &ever::Acted) {
        let Some(syncs) = trial.server.as_mut().and_then(|server| server.syncs.as_mut()) else { return };
        let writes =
            (0..self.bench.transactions.len()).filter(|transaction| self.bench.transactions[*transaction].write);
        let databases = 0..self.bench.workload.databases as usize;
        syncs.commits = writes.flat_map(|t| databases.clone().map(move |d| ever.of(d, t).0)).sum();
    }

    /// Whether the clients were the limit. HTTP clients live in event loops: these hardly ever wait if they are the limit.
    /// For a service that contend did not start, the worker's own cost is checked as well.
    fn generator_limit(&self, tally: &Tally) -> Option<Reason> {
        let option = |name: &str| self.stage.setup.options.iter().find(|(known, _)| known == name)?.1.parse().ok();
        let loops = match (&self.ran.served, &self.stage.setup.service) {
            (Some(_), _) => Some(THREADS),
            (None, Some(_)) => Some(option("threads").unwrap_or(1)),
            (None, None) => None,
        };
        let busy_ns = self.ran.observed.usage.iter().take(self.ran.members.len()).map(|usage| usage.cpu_ns);
        // A worker has no more loops than clients.
        let clients =
            self.stage.round.workers.iter().map(|worker| u32::try_from(worker.clients.len()).unwrap_or(u32::MAX));
        let busy = loops.and_then(|loops| {
            let loops = clients.map(|clients| loops.min(clients.max(1)));
            guards::busy_clients(busy_ns.zip(loops), tally.elapsed_ns())
        });
        match self.ran.served {
            Some(_) => busy,
            None => busy.or_else(|| guards::head_room(self.own_ns_per_operation(self.stage.contender), tally)),
        }
    }

    /// CPU time of other programs. A server that contend does not watch counts as one, and may be on another machine: then a
    /// disturbance cannot be told from the work itself.
    fn foreign_cpu(&self, trial: &mut Trial) {
        let ours_ns: u64 =
            self.ran.observed.usage.iter().chain(&self.ran.observed.server).map(|used| used.cpu_ns).sum();
        let (busy_ns, observed_ns) = (self.ran.observed.machine_busy_ns, self.ran.observed.observed_ns);
        trial.foreign_cpu_permille = marks::foreign_cpu_permille(busy_ns, ours_ns, observed_ns, machine::processors());
        trial.server_unwatched = self.stage.base.attached.is_some() || self.stage.setup.service.is_some();
        trial.marks.extend(marks::noisy_cpu(trial.foreign_cpu_permille).filter(|_| !trial.server_unwatched));
    }
}

fn role_clients(drawn: &DrawnRole) -> RoleClients {
    RoleClients { role: drawn.name.clone(), first_client: drawn.first_client, clients: drawn.clients }
}

fn broken(error: anyhow::Error) -> Failure {
    Failure::Invalid(Invalid::Samples.because(format!("{error:#}")))
}

/// What a worker said of itself, as far as it is about this trial: a worker with several drivers cannot know which
/// one it will be, and an engine that is a server is not in it.
fn who_worked(
    said: &Facts,
    contender: &Contender,
    engine: &Engine,
    server: Option<&ServerInfo>,
) -> BTreeMap<String, String> {
    let mut hello: BTreeMap<String, String> = said.iter().cloned().collect();
    let versions = hello.remove("driver_versions").unwrap_or_default();
    let of_driver = |version: &&str| version.split(' ').next() == Some(contender.driver.as_str());
    if let Some(version) = versions.split(',').find(of_driver) {
        hello.insert("driver".to_string(), version.to_string());
    }
    if let (Some(server), Some(running)) = (engine.server, server) {
        hello.insert("engine".to_string(), format!("{} {}", server.title, running.version));
        hello.remove("compile_options");
    }
    hello
}

/// What a worker's `done` tells beside its accounts, which its samples show again.
fn beside_accounts(done: &Facts, workload: &Workload, asked: Option<&Asked>) -> BTreeMap<String, String> {
    const ACCOUNTS: [&str; 5] = ["operations", "attempts", "failed", "exhausted", "retries"];
    let beside = done.iter().filter(|(name, _)| !ACCOUNTS.contains(&name.as_str()));
    beside.map(|(name, text)| (name.clone(), hidden(text, workload, asked))).collect()
}
