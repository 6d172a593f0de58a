//! One trial: fresh data, plans, workers, the window, the checks, the record.

use crate::analysis::tally::{Counting, Tally, Tallying, per_second};
use crate::check::ever::{self, Ever};
use crate::check::samples::PlanCheck;
use crate::check::{guards, marks};
use crate::engine;
use crate::outcome;
use crate::outcome::mark::Mark;
use crate::outcome::reason::Invalid;
use crate::record::model::{Disk, Footprint, RECORD_VERSION, Reason, RoleClients, TransactionInfo, Trial, WorkerInfo};
use crate::record::store::{RecordWriter, SAMPLES_FILE, TrialWriter, read_samples};
use crate::study::model::{Contender, Study, Tier};
use crate::trial::aftermath;
use crate::trial::data::disk::{self, is_full};
use crate::trial::data::fresh::{self, Fresh};
use crate::trial::over_http::{Asking, timeout_ms};
use crate::trial::plans::Sql;
use crate::trial::run::Note;
use crate::trial::stage::Stage;
use crate::trial::stop::Cancelled;
use crate::trial::watch::janitor::Janitor;
use crate::trial::watch::machine;
use crate::trial::watch::sampler::{Observed, Sampler, Watched};
use crate::trial::workers::admin::Admin;
use crate::trial::workers::crew::{Crew, Failure, Member, Observer, Window};
use crate::trial::workers::process::{InsteadOf, Launch};
use crate::trial::workers::processes::{Deadlines, Supervision};
use crate::trial::workers::refusal::Whose;
use crate::trial::workers::serving::{Served, Serving};
use crate::workload::{Asked, DrawnRole, Workload};
use anyhow::{Context, Result};
use contend_wire::database::Database;
use contend_wire::handshake::Facts;
use contend_wire::plan::Client;
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Log of the server, in the trial's directory.
const SERVER_LOG: &str = "server.log";

/// Everything that holds for all trials of a run.
pub struct Bench<'a> {
    pub study: &'a Study,
    /// In the contender's dialect.
    pub workload: &'a Workload,
    pub writer: &'a RecordWriter,
    /// Where a trial's data lives; emptied after each.
    pub data_dir: PathBuf,
    pub instead: &'a InsteadOf,
    pub deadlines: Deadlines,
    pub janitor: &'a Janitor,
    pub disk: &'a Disk,
    pub generator_ns_per_operation: u64,
    pub transactions: &'a [TransactionInfo],
    /// What clients of an app send.
    pub asked: Option<&'a Asked>,
    pub cancelled: &'a dyn Fn() -> bool,
    pub progress: &'a dyn Fn(Note<'_>),
}

/// Who the clients are, and what they are told to do.
pub struct Orders {
    pub whose: Whose,
    pub launch: Launch,
    /// The plan of each worker, in pieces.
    pub plans: Vec<Vec<Arc<[u8]>>>,
}

/// What the tool shows of a finished trial.
#[derive(Debug, Clone)]
pub struct Done {
    pub throughput_per_s: f64,
    pub failed: u64,
    pub window_ns: u64,
    pub invalid: Vec<Reason>,
}

/// What the window left.
pub(super) struct Run {
    pub(super) members: Vec<Member>,
    pub(super) observed: Observed,
    /// Of a contender that is asked over HTTP.
    pub(super) served: Option<Served>,
    /// Syncs of the database server, if it tells.
    pub(super) syncs: Option<u64>,
    start_ns: u64,
    window_start_ns: u64,
    /// None when the number of operations decides.
    window_end_ns: Option<u64>,
}

/// The machine and the samples while the window is measured.
struct Watching<'w> {
    begins_ns: u64,
    /// Until the end of the window.
    sampler: Option<Sampler>,
    observed: Observed,
    writer: &'w mut TrialWriter,
    progress: &'w dyn Fn(Note<'_>),
}

impl Observer for Watching<'_> {
    fn window_begins(&mut self) {
        if let Some(sampler) = &mut self.sampler {
            sampler.window_begins();
        }
    }

    fn window_ends(&mut self) {
        if let Some(sampler) = self.sampler.take() {
            self.observed = sampler.window_ends(self.begins_ns);
        }
    }

    fn samples(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.samples(bytes)
    }

    fn operations(&mut self, so_far: u64) {
        (self.progress)(Note::Operations(so_far));
    }
}

impl Bench<'_> {
    /// The window on fresh data, with its checks.
    pub(super) fn run(
        &self,
        stage: &Stage<'_>,
        trial: &mut Trial,
        series: &mut String,
        writer: &mut TrialWriter,
        admin: &mut Admin<'_>,
    ) -> Result<Done, Failure> {
        let mut fresh = self.fresh_data(stage, &writer.partial_dir().join(SERVER_LOG), admin)?;
        let done = self.on_fresh_data(stage, &mut fresh, trial, series, writer, admin);
        if let Some(databases) = &mut fresh.attached {
            databases.drop_all(admin)?;
        }
        done
    }

    fn on_fresh_data(
        &self,
        stage: &Stage<'_>,
        fresh: &mut Fresh<'_>,
        trial: &mut Trial,
        series: &mut String,
        writer: &mut TrialWriter,
        admin: &mut Admin<'_>,
    ) -> Result<Done, Failure> {
        let fastest_before_ns = self.quiet_disk(stage, trial)?;
        let run = self.window(stage, fresh, writer, admin)?;
        let died = fresh.server.as_mut().and_then(|server| server.death());
        let died = died.or_else(|| run.served.as_ref()?.death.clone());
        trial.invalid.extend(died.map(|how| Invalid::ServerDied.because(how)));
        trial.server = self.server_info(stage, fresh, &run, admin)?;
        self.describe(trial, stage, &run);
        *series = run.observed.series.clone();
        writer.flush()?;
        let fastest_ns = disk::fastest_sync(&self.data_dir)?.min(fastest_before_ns).min(self.disk.sync_ns_min);
        let (tally, ever) = self.check(trial, stage, &run, &writer.partial_dir().join(SAMPLES_FILE), fastest_ns)?;
        self.count_commits(trial, &ever);
        self.check_data(trial, stage, &ever, fresh, &run.observed, admin)?;
        let counts = tally.counts(|_| true);
        Ok(Done {
            throughput_per_s: tally.throughput_per_s(),
            failed: counts.planned() - counts.outcome(outcome::Outcome::Committed),
            window_ns: tally.elapsed_ns(),
            invalid: trial.invalid.clone(),
        })
    }

    /// Waits until the disk is about as fast as before the run; the fastest sync seen. What a service does happens on a disk
    /// of its own, and so does the work of a server that somebody else runs.
    fn quiet_disk(&self, stage: &Stage<'_>, trial: &mut Trial) -> Result<u64, Failure> {
        if stage.setup.service.is_some() {
            return Ok(u64::MAX);
        }
        let moment = disk::wait_until_quiet(&self.data_dir, self.disk.fsync_ns_p50, self.cancelled)?;
        trial.fsync_ns_p50_before = moment.fsync_ns_p50;
        if !moment.quiet && stage.base.attached.is_none() {
            trial.marks.push(Mark::NoisyDisk { sync_ns: moment.fsync_ns_p50 });
        }
        Ok(moment.fastest_ns)
    }

    pub fn fresh_data(&self, stage: &Stage<'_>, log: &Path, admin: &mut Admin<'_>) -> Result<Fresh<'_>, Failure> {
        self.remove_data()?;
        let fits = stage.round.one_connection_each(stage.contender, &stage.setup);
        fits.map_err(|e| Failure::Invalid(Invalid::Prepare.because(e)))?;
        self.janitor.dir_exists(&self.data_dir);
        let made = stage.making(self.workload, &self.data_dir, log, |making| fresh::fresh(making, self.janitor, admin));
        made.map_err(|e| {
            if e.is::<Cancelled>() {
                Failure::Cancelled
            } else if (self.cancelled)() || is_full(&e) {
                Failure::Fatal(e)
            } else if disk::nearly_full(self.data_dir.parent().unwrap_or(&self.data_dir)) {
                // A server says it in its own words, and once its data is removed there is room again.
                Failure::Fatal(Error::new(ErrorKind::StorageFull, format!("{e:#}")).into())
            } else {
                Failure::Invalid(Invalid::Prepare.because(format!("{e:#}")))
            }
        })
    }

    /// Removes what a trial has worked on.
    pub fn remove_data(&self) -> Result<()> {
        if self.data_dir.exists() {
            std::fs::remove_dir_all(&self.data_dir)
                .with_context(|| format!("cannot remove {}", self.data_dir.display()))?;
        }
        self.janitor.dir_gone(&self.data_dir);
        Ok(())
    }

    /// Workers started, the window measured, samples collected.
    fn window(
        &self,
        stage: &Stage<'_>,
        fresh: &Fresh<'_>,
        writer: &mut TrialWriter,
        admin: &mut Admin<'_>,
    ) -> Result<Run, Failure> {
        let load = &stage.round.load;
        let serving = self.serving(stage, &fresh.databases, writer.partial_dir())?;
        let orders = self.orders(stage, &fresh.databases, serving.as_ref())?;
        let with = self.supervision();
        let mut crew = Crew::of_processes(orders.whose, &orders.launch, writer.partial_dir(), &with);
        crew.prepare(&orders.plans)?;
        crew.compare_clocks()?;
        let mut syncs = || fresh.server.as_ref().map_or(Ok(None), |server| server.syncs(stage.engine, admin));
        let before = syncs()?;
        let workers = crew.pids();
        let server = fresh.server.as_ref().map(|server| server.pid());
        let servers = server.into_iter().chain(serving.as_ref().map(Serving::pid)).collect();
        let dir = self.data_dir.clone();
        let sampler = Sampler::start(Watched { workers, servers, dir, part: stage.engine.part });
        let start_ns = crew.start();
        let begins_ns = start_ns + load.run_in_ns;
        let ends_ns = (load.window_ns > 0).then(|| begins_ns + load.window_ns);
        let window = Window { begins_ns, ends_ns, drain_ns: load.drain_ns };
        let mut watching = Watching {
            begins_ns,
            sampler: Some(sampler),
            observed: Observed::default(),
            writer,
            progress: self.progress,
        };
        crew.collect(&window, &mut watching)?;
        let observed = watching.observed;
        crew.dismiss();
        let syncs = syncs()?.zip(before).map(|(after, before)| after.saturating_sub(before));
        let served = serving.map(|serving| serving.end(load.drain_ns)).transpose()?;
        let members = std::mem::take(&mut crew.members);
        Ok(Run { members, observed, served, syncs, start_ns, window_start_ns: begins_ns, window_end_ns: ends_ns })
    }

    /// The worker that serves a contender which is asked over HTTP.
    pub fn serving(
        &self,
        stage: &Stage<'_>,
        databases: &[Database],
        logs: &Path,
    ) -> Result<Option<Serving<'_>>, Failure> {
        if !engine::is_over_http(stage.contender) {
            return Ok(None);
        }
        let launch = self.launch(stage.contender)?;
        let sql = Sql::of(self.workload, stage.engine, &stage.setup);
        let plan = stage.round.encode_server(stage.contender, &stage.setup, &sql, databases)?;
        let driver = &stage.contender.driver;
        Serving::start(driver, &launch, plan, logs, &self.supervision()).map(Some)
    }

    /// Who the clients are, and what they are told to do.
    pub fn orders(
        &self,
        stage: &Stage<'_>,
        databases: &[Database],
        serving: Option<&Serving<'_>>,
    ) -> Result<Orders, Failure> {
        let (contender, setup) = (stage.contender, &stage.setup);
        let sql = Sql::of(self.workload, stage.engine, setup);
        match serving {
            Some(serving) => {
                let hosts = engine::app::hosts(contender, databases.len());
                let asking =
                    Asking { url: &serving.url, asked: self.asked, hosts, timeout_ms: timeout_ms(stage.contender) };
                let launch = self.instead.client.clone().map_or_else(Launch::own, Ok)?;
                let plans = stage.round.encode_http(contender, setup, &sql, &asking)?;
                Ok(Orders { whose: Whose::Asking, launch, plans })
            }
            None => {
                let whose =
                    if setup.service.is_some() { Whose::Asking } else { Whose::Driver(contender.driver.clone()) };
                let plans = stage.round.encode(contender, setup, &sql, databases)?;
                Ok(Orders { whose, launch: self.launch(contender)?, plans })
            }
        }
    }

    /// The worker the user named, or the one that has the contender's driver.
    pub fn launch(&self, contender: &Contender) -> Result<Launch, Failure> {
        if let Some(launch) = &self.instead.worker {
            return Ok(launch.clone());
        }
        let driver = engine::driver(contender).context("a contender's driver must be known")?;
        Launch::of(driver).map_err(|e| Failure::Invalid(Invalid::NotStarted.because(format!("{e:#}"))))
    }

    /// What supervising workers takes.
    pub fn supervision(&self) -> Supervision<'_> {
        Supervision { janitor: self.janitor, deadlines: self.deadlines, cancelled: self.cancelled }
    }

    pub(super) fn blank(&self, stage: &Stage<'_>) -> Trial {
        let condition = &self.study.conditions[stage.slot.condition];
        Trial {
            format: RECORD_VERSION,
            slot: stage.slot,
            contender: stage.contender.name.clone(),
            condition: condition.label.clone(),
            tier: stage.contender.tier,
            invalid: vec![],
            marks: vec![],
            seed: stage.round.seed,
            base: stage.base.beside(self.writer.dir()),
            plan_sha256: stage.round.sha256.clone(),
            load_model: stage.round.load.model().to_string(),
            window_start_ns: 0,
            window_end_ns: 0,
            workers: vec![],
            server: None,
            settings: BTreeMap::new(),
            tier_reported: None,
            planned: stage.round.planned.clone(),
            foreign_cpu_permille: 0,
            server_unwatched: false,
            fsync_ns_p50_before: 0,
            invariants: vec![],
            footprint: Footprint::default(),
            clients: stage.round.clients().count() as u32,
            samples: None,
            samples_sha256: None,
            scale: self.workload.numbers(stage.round.load.scale),
            tables: BTreeMap::new(),
            powercut: None,
        }
    }

    fn describe(&self, trial: &mut Trial, stage: &Stage<'_>, run: &Run) {
        trial.window_start_ns = run.window_start_ns;
        trial.window_end_ns = run.window_end_ns.unwrap_or(run.window_start_ns);
        trial.footprint.size_bytes_wal = run.observed.wal_bytes_max;
        let usage = &run.observed.usage;
        trial.workers = stage
            .round
            .workers
            .iter()
            .zip(&run.members)
            .zip(usage)
            .enumerate()
            .map(|(number, ((drawn, member), used))| WorkerInfo {
                number: number as u32,
                roles: drawn.roles.iter().map(role_clients).collect(),
                hello: aftermath::who_worked(&member.hello, stage.contender, stage.engine, trial.server.as_ref()),
                clock_error_ns: member.clock_error_ns,
                cpu_ns: used.cpu_ns,
                rss_bytes: used.rss_bytes,
                written_bytes: used.written_bytes,
                voluntary_switches: used.voluntary_switches,
                involuntary_switches: used.involuntary_switches,
                told: aftermath::beside_accounts(&member.done, self.workload, self.asked),
            })
            .collect();
        let sessions: Vec<&Facts> = match &run.served {
            Some(served) => served.sessions.iter().collect(),
            None => run.members.iter().flat_map(|m| &m.sessions).collect(),
        };
        let expected = if stage.setup.only_told { &[][..] } else { &stage.setup.readbacks };
        let (settings, reasons) = guards::settings(expected, sessions.iter().copied());
        trial.tier_reported = Some(&settings)
            .filter(|settings| !settings.is_empty())
            .and_then(|settings| engine::tier_reported(&stage.contender.engine, settings));
        trial.settings = settings;
        trial.invalid.extend(reasons);
        let done = run.members.iter().map(|m| &m.done).chain(run.served.iter().map(|served| &served.done));
        trial.invalid.extend(guards::later_settings(done));
        let reported = sessions.len();
        let opened = stage.round.connections(stage.contender);
        // An app tells of as many as it likes.
        let enough = if engine::is_app(stage.contender) { reported > 0 } else { reported == opened };
        if !enough {
            let found = format!("{reported} connections report their settings, of {opened}");
            trial.invalid.push(Invalid::Settings.because(found));
        }
    }

    /// Holds samples against plans and totals; what is found goes into the trial.
    fn check(
        &self,
        trial: &mut Trial,
        stage: &Stage<'_>,
        run: &Run,
        samples: &Path,
        fastest_sync_ns: u64,
    ) -> Result<(Tally, ever::Counts), Failure> {
        if run.window_end_ns.is_none() {
            let mut last_ns = run.window_start_ns;
            read_samples(samples, |s| last_ns = last_ns.max(s.finished_ns)).map_err(broken)?;
            trial.window_end_ns = last_ns + 1;
        }
        let clients = stage.round.workers.iter().flat_map(|drawn| &drawn.clients);
        let clients: Vec<(&Client, u64)> = clients.map(|client| (client, run.start_ns)).collect();
        let retry = stage.engine.retry(&stage.contender.settings);
        let mut plan_check = PlanCheck::new(clients, retry.tries);
        let mut tallying = Tallying::new(trial, Counting::Corrected);
        let mut ever = Ever::new(stage.round.clients());
        read_samples(samples, |sample| {
            plan_check.push(&sample);
            ever.push(sample);
            tallying.push(sample);
        })
        .map_err(broken)?;
        let names: Vec<String> = self.transactions.iter().map(|t| t.name.clone()).collect();
        let tally = tallying.finish(&trial.planned, &names);
        trial.samples = Some(tally.samples);
        let load = &stage.round.load;
        let length_ns = (load.window_ns > 0).then_some(load.run_in_ns + load.window_ns);
        let due = plan_check.with_something_due(load.run_in_ns, length_ns.unwrap_or(u64::MAX / 2));
        let (findings, counted) = plan_check.finish(length_ns);
        trial.invalid.extend(findings);
        let reported: Vec<_> = run.members.iter().map(|m| m.done.clone()).collect();
        trial.invalid.extend(counted.and_then(|counted| guards::totals(&reported, counted)));
        trial.invalid.extend(guards::exhausted(&reported));
        if stage.round.load.rate_per_s.is_none() {
            let model = engine::model(stage.contender).context("a contender's model must be known")?;
            // Over HTTP each client has a connection, and only the asking worker can keep it waiting.
            let shared = run.served.is_none() && model.clients_share();
            let spins = retry.tries > 1 && retry.backoff_ns.is_empty();
            // Where nothing is executed all there is is what the worker takes for itself.
            let late_is_work = spins || shared || !engine::executes(stage.contender);
            let (busy_ns, observed_ns) = (run.observed.machine_busy_ns, run.observed.observed_ns);
            let crowded = guards::crowded(tally.clients.len(), machine::processors(), busy_ns, observed_ns);
            trial.invalid.extend(guards::littles_law(&tally.clients, guards::Waits { late_is_work, crowded }));
        }
        trial.invalid.extend(self.generator_limit(stage, run, &tally));
        self.check_rates(trial, stage, &tally, fastest_sync_ns);
        trial.marks.extend(marks::of_work(&tally, &due));
        let compiling_ns = reported.iter().map(marks::compiling_ns).sum();
        trial.marks.extend(marks::not_warm(compiling_ns, tally.elapsed_ns()));
        foreign_cpu(trial, stage, run);
        Ok((tally, ever.finish()))
    }

    fn check_rates(&self, trial: &mut Trial, stage: &Stage<'_>, tally: &Tally, fastest_sync_ns: u64) {
        if tally.counts(|_| true).committed_inside == 0 {
            trial.invalid.push(guards::nothing_done(tally, stage.setup.service.is_some()));
        }
        let writes = stage.contender.tier == Tier::Durable && engine::executes(stage.contender);
        if writes && !stage.engine.group_commit {
            // A sample may name a transaction that is not there: that is found by the accounts.
            let writes = |t: u16| self.transactions.get(usize::from(t)).is_some_and(|t| t.write);
            let writes = tally.counts(|g| writes(g.transaction)).committed_inside;
            let rate = per_second(writes, tally.elapsed_ns());
            trial.invalid.extend(guards::credible(rate, fastest_sync_ns, self.workload.databases as usize));
        }
    }
}

/// What others used of the processors. A server that contend does not watch is among them, and may be on another machine:
/// then a disturbance cannot be distinguished from the work itself.
fn foreign_cpu(trial: &mut Trial, stage: &Stage<'_>, run: &Run) {
    let ours_ns: u64 = run.observed.usage.iter().chain(&run.observed.server).map(|used| used.cpu_ns).sum();
    let (busy_ns, observed_ns) = (run.observed.machine_busy_ns, run.observed.observed_ns);
    trial.foreign_cpu_permille = marks::foreign_cpu_permille(busy_ns, ours_ns, observed_ns, machine::processors());
    trial.server_unwatched = stage.base.attached.is_some() || stage.setup.service.is_some();
    trial.marks.extend(marks::noisy_cpu(trial.foreign_cpu_permille).filter(|_| !trial.server_unwatched));
}

fn role_clients(drawn: &DrawnRole) -> RoleClients {
    RoleClients { role: drawn.name.clone(), first_client: drawn.first_client, clients: drawn.clients }
}

fn broken(error: anyhow::Error) -> Failure {
    Failure::Invalid(Invalid::Samples.because(format!("{error:#}")))
}
