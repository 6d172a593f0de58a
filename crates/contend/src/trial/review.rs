//! Judges a trial from its samples and the reports of its workers: figures, settings, reasons and marks.

use crate::analysis::tally::{Counting, Tally, Tallying, per_second};
use crate::check::answers::{self, Answers, Kind, TrialAnswers};
use crate::check::commits::{self, CommitCheck, Counted};
use crate::check::ever::{Acted, Ever};
use crate::check::growth::Growth;
use crate::check::heard::{self, Ends, Span};
use crate::check::journal;
use crate::check::kernel::{KernelCheck, Visible};
use crate::check::own_counts::{Compared, OwnCountsCheck};
use crate::check::samples::{PlanCheck, Totals};
use crate::check::{guards, marks};
use crate::engine::server::OwnCounts;
use crate::engine::{self, Engine, Settings};
use crate::outcome::may_have_lost_connection;
use crate::outcome::reason::Invalid;
use crate::record::model::{Reason, RoleClients, ServerInfo, Trial, WorkerInfo};
use crate::record::store::read_samples;
use crate::study::model::{Contender, Tier};
use crate::trial::bench::Bench;
use crate::trial::clock::{MINUTE_NS, monotonic_ns};
use crate::trial::data::disk::SyncProbe;
use crate::trial::over_http::THREADS;
use crate::trial::plans::Sql;
use crate::trial::secret::hidden;
use crate::trial::stage::Stage;
use crate::trial::standing;
use crate::trial::watch::machine;
use crate::trial::window::Ran;
use crate::trial::workers::crew::Failure;
use crate::workload::{Asked, DrawnRole, Workload, fixed, growing, touching};
use anyhow::{Context, Result};
use contend_wire::handshake::Facts;
use contend_wire::plan::Client;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::PoisonError;

/// Longest time for closing connections: a fixed part, and one per byte of a log that is written back.
const CLOSE_NS: u64 = 2_000_000_000;
const CLOSE_NS_PER_BYTE: u64 = 100;

/// A trial's window, and what it is judged by.
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
                done: beside_accounts(&member.done, self.bench.workload, self.bench.asked),
            })
            .collect();
        let sessions: Vec<&Facts> = match &self.ran.served {
            Some(served) => served.sessions.iter().collect(),
            None => self.ran.members.iter().flat_map(|m| &m.sessions).collect(),
        };
        let expected = if self.stage.setup.only_read { &[][..] } else { &self.stage.setup.readbacks };
        let (settings, reasons) = guards::settings(expected, sessions.iter().copied());
        trial.tier_reported = Some(&settings)
            .filter(|settings| !settings.is_empty())
            .and_then(|settings| engine::tier_reported(&self.stage.contender.engine, settings));
        trial.settings = settings;
        trial.invalid.extend(reasons);
        let done = self.ran.members.iter().map(|m| &m.done).chain(self.ran.served.iter().map(|served| &served.done));
        trial.invalid.extend(guards::later_settings(done));
        trial.invalid.extend(self.ran.changed.clone());
        trial.invalid.extend(journal::untraced(self.ran.commits.untraced));
        let reported = sessions.len();
        let opened = self.stage.round.connections(self.stage.contender);
        // An app may report any number of connections.
        let enough = if engine::is_app(self.stage.contender) { reported > 0 } else { reported == opened };
        if !enough {
            let found = format!("{reported} connections report their settings, of {opened}");
            trial.invalid.push(Invalid::Settings.because(found));
        }
    }

    /// Compares samples with plans and totals; reasons and marks go into the trial.
    pub fn check(&self, trial: &mut Trial, samples: &Path, probe: SyncProbe) -> Result<(Tally, Acted<'_>), Failure> {
        if self.ran.window_end_ns.is_none() {
            trial.window_end_ns = self.end_of_samples(samples)?;
        }
        let sql = Sql::of(self.bench.workload, self.stage.engine, &self.stage.setup);
        let mut plan_check = self.plan_check(&sql)?;
        let mut growth = self.growth();
        let mut commits = CommitCheck::new(&sql.transactions, &sql.statements, self.counted());
        let mut kernel = self.kernel_check(&sql, &trial.settings, probe);
        let mut own_counts = self.own_counts(&sql, probe);
        let executes = engine::executes(self.stage.contender) && !engine::is_app(self.stage.contender);
        let mut answers = Answers::new(if executes { self.kinds() } else { vec![] });
        let mut ends = Ends::of(&self.of_workers(|client| client.id));
        let mut tallying = Tallying::new(trial, Counting::Corrected);
        // An app writes in its own words.
        let last = if executes { self.bench.workload.last_writes.as_slice() } else { &[] };
        let mut ever = Ever::new(self.clients(), last, self.stage.round.texts());
        // A connection that was interrupted or lost may not be there to be read back. SQLite's is, whatever went wrong.
        let (embedded, mut broken_off) = (self.stage.engine.server.is_none(), false);
        let drained_ns = self.ran.window_end_ns.map(|end_ns| end_ns + self.stage.round.load.drain_ns);
        let mut interrupts = guards::Interrupts::new(drained_ns);
        read_samples(samples, |sample| {
            broken_off |= interrupts.push(&sample) || !embedded && may_have_lost_connection(&sample);
            plan_check.push(&sample);
            commits.push(&sample);
            kernel.push(&sample);
            own_counts.push(&sample);
            ends.push(&sample);
            answers.push(&sample);
            growth.push(&sample);
            ever.push(sample);
            tallying.push(sample);
        })
        .map_err(broken)?;
        let names: Vec<String> = self.bench.transactions.iter().map(|t| t.name.clone()).collect();
        let tally = tallying.finish(&trial.planned, &names);
        trial.samples = Some(tally.samples);
        let (load, length_ns) = (&self.stage.round.load, self.length_ns());
        let due = plan_check.with_something_due(load.run_in_ns, length_ns.unwrap_or(u64::MAX / 2));
        let pauses: Vec<_> = length_ns.iter().flat_map(|ns| plan_check.pauses_until(*ns)).collect();
        let (findings, counted) = plan_check.finish(length_ns);
        trial.invalid.extend(findings);
        trial.invalid.extend(interrupts.finish());
        trial.invalid.extend(commits.finish());
        trial.invalid.extend(growth.finish());
        trial.invalid.extend(kernel.finish());
        self.by_own_counts(trial, own_counts);
        if executes {
            trial.invalid.extend(self.compare_answers(answers));
        }
        trial.invalid.extend(self.by_the_clock(ends));
        let reported: Vec<Facts> = self.ran.members.iter().map(|m| m.done.clone()).collect();
        trial.invalid.extend(self.by_reports(&reported, counted, broken_off));
        trial.invalid.extend(self.by_littles_law(&tally, &pauses)?);
        trial.invalid.extend(self.generator_limit(&tally).into_iter().chain(self.by_processors()));
        self.check_rates(trial, &tally, &commits::change(&sql.transactions, &sql.statements), probe.fastest_ns);
        trial.marks.extend(marks::of_work(&tally, &due));
        let compiling_ns = reported.iter().map(marks::compiling_ns).sum();
        trial.marks.extend(marks::not_warm(compiling_ns, tally.elapsed_ns()));
        self.disturbances(trial);
        Ok((tally, ever.finish()))
    }

    /// From the start to the end of the window, if time ends it.
    fn length_ns(&self) -> Option<u64> {
        let load = &self.stage.round.load;
        (load.window_ns > 0).then_some(load.run_in_ns + load.window_ns)
    }

    /// Something of each client, by worker.
    fn of_workers<T>(&self, of: impl Fn(&Client) -> T) -> Vec<Vec<T>> {
        self.stage.round.workers.iter().map(|drawn| drawn.clients.iter().map(&of).collect()).collect()
    }

    /// Compares the totals that workers report with those of their samples, and checks that they read back their connections.
    fn by_reports(&self, reported: &[Facts], counted: Option<Totals>, broken_off: bool) -> Vec<Reason> {
        let directly = self.ran.served.is_none() && self.stage.setup.service.is_none();
        let reads_back = directly && !broken_off && engine::executes(self.stage.contender);
        let totals = counted.and_then(|counted| guards::totals(reported, counted));
        let read_back = if reads_back { guards::read_back_again(reported) } else { None };
        [totals, guards::exhausted(reported), read_back].into_iter().flatten().collect()
    }

    /// End of a window without a length: right after the last sample.
    fn end_of_samples(&self, samples: &Path) -> Result<u64, Failure> {
        let mut last_ns = self.ran.window_start_ns;
        read_samples(samples, |s| last_ns = last_ns.max(s.finished_ns)).map_err(broken)?;
        Ok(last_ns + 1)
    }

    /// Whether clients wait for each other outside of the database. Over HTTP each client has its own connection, so only its
    /// worker can delay it.
    fn clients_share(&self) -> Result<bool, Failure> {
        let model = engine::model(self.stage.contender).context("a contender's model must be known")?;
        Ok(self.ran.served.is_none() && model.clients_share())
    }

    /// Checks that clients account for their time. `pauses_until`: until when each pauses after its last operation.
    fn by_littles_law(&self, tally: &Tally, pauses_until: &[(u32, u64)]) -> Result<Option<Reason>, Failure> {
        let retry = self.stage.engine.retry(&self.stage.contender.settings);
        let spins = retry.tries > 1 && retry.backoff_ns.is_empty();
        let (busy_ns, observed_ns) = (self.ran.observed.machine_busy_ns, self.ran.observed.observed_ns);
        let crowded = guards::crowded(tally.clients.len(), machine::processors(), busy_ns, observed_ns);
        // A null driver does no work: all time is the worker's own.
        let late_is_work = spins && crowded || self.clients_share()? || !engine::executes(self.stage.contender);
        let mut clients = tally.clients.clone();
        for (id, until_ns) in pauses_until {
            clients.entry(*id).and_modify(|client| client.pause_until(*until_ns));
        }
        let workers = self.stage.round.workers.iter().zip(&self.ran.observed.kernel.queued_ns);
        for (worker, queued_ns) in workers {
            let ids: Vec<u32> = worker.clients.iter().map(|client| client.id).collect();
            guards::excuse(&mut clients, &ids, queued_ns.unwrap_or(0));
        }
        let open = self.stage.round.load.rate_per_s.is_some();
        let own_ns = self.own_ns_per_operation(self.stage.contender);
        let counts_requests = self.stage.setup.service.is_some() && self.stage.round.load.operations.is_some();
        let beginning_ns = if counts_requests { guards::BEGINNING_NS } else { 0 };
        let excuses = guards::Excuses { late_is_work, crowded, open, own_ns, beginning_ns };
        Ok(guards::littles_law(&clients, excuses))
    }

    /// How the number of rows of each transaction is determined.
    fn kinds(&self) -> Vec<Kind> {
        let kind = |((writes, fixed), raced)| match (writes, fixed, raced) {
            (true, ..) => Kind::Write,
            (false, true, _) => Kind::Fixed,
            (false, false, true) => Kind::Raced,
            (false, false, false) => Kind::Read,
        };
        let workload = self.bench.workload;
        let writes = workload.transactions.iter().map(|transaction| transaction.writes);
        writes.zip(fixed::reads(workload)).zip(fixed::raced(workload)).map(kind).collect()
    }

    /// Whether samples say how many rows were returned. A serving worker returns rows only for reads, and an app may
    /// return any.
    fn tells_rows(&self) -> bool {
        self.ran.served.is_none() && self.stage.setup.service.is_none() && engine::executes(self.stage.contender)
    }

    fn clients(&self) -> impl Iterator<Item = &Client> + Clone {
        self.stage.round.workers.iter().flat_map(|drawn| &drawn.clients)
    }

    fn plan_check(&self, sql: &Sql<'_>) -> Result<PlanCheck<'_>, Failure> {
        let retry = self.stage.engine.retry(&self.stage.contender.settings);
        let check = PlanCheck::new(self.clients().map(|client| (client, self.ran.start_ns)), retry.tries);
        let check = if self.clients_share()? { check } else { check.with_free_clients() };
        Ok(if self.tells_rows() { check.with_rows_of(&sql.transactions) } else { check })
    }

    /// Reads whose rows follow from what was committed.
    fn growth(&self) -> Growth<'_> {
        let reads = match self.tells_rows() {
            true => growing::reads(self.bench.workload, self.stage.round.load.scale),
            false => vec![],
        };
        Growth::new(reads, self.clients())
    }

    fn kernel_check(&self, sql: &Sql<'_>, settings: &Settings, probe: SyncProbe) -> KernelCheck {
        let clients = self.of_workers(|client| (client.id, client.database));
        KernelCheck::new(self.ran.observed.kernel.clone(), &clients, self.kernel_sees(sql, settings, probe))
    }

    /// What the kernel sees of each transaction for sure, under these settings of its connections.
    fn kernel_sees(&self, sql: &Sql<'_>, settings: &Settings, probe: SyncProbe) -> Visible {
        let counts = self.stage.engine.file_commits.filter(|_| engine::commits_as_planned(self.stage.contender));
        let Some(counts) = counts.filter(|_| self.tells_rows()) else { return Visible::default() };
        let looks = (counts.looked_at_by_each)(settings);
        // If nothing is set on connections, each can have other settings.
        let waits = probe.flush && !self.stage.setup.only_read;
        Visible {
            reads: if looks { touching::data(self.bench.workload) } else { vec![] },
            commits: commits::surely(&sql.transactions, &sql.statements),
            sleeps: self.syncs_each_commit() && probe.sleep,
            flushes: if waits { (counts.syncs_of_each)(&self.stage.contender.settings) } else { 0 },
        }
    }

    /// Compares the rows that reads returned with those of the earlier trials of the round; in a resumed round, with
    /// those since.
    fn compare_answers(&self, mine: Answers) -> Option<Reason> {
        let mut earlier = self.stage.round.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let Contender { engine, driver, .. } = self.stage.contender;
        let mine = TrialAnswers { trial: self.stage.slot.trial, driver: format!("{engine}/{driver}"), answers: mine };
        let found = answers::contradicted(&mine, &earlier);
        earlier.push(mine);
        let (trial, words, odd) = found?;
        let which = if odd { "the other contenders agree with that one" } else { "one of the two is wrong" };
        let reason =
            Invalid::Answers.because(format!("of the same data as trial {trial:04} of this round, {words}: {which}"));
        Some(Reason { against: (!odd).then_some(trial), ..reason })
    }

    /// Compares the times that workers report with the tool's clock.
    fn by_the_clock(&self, ends: Ends) -> Vec<Reason> {
        let mut found = vec![];
        // Closing may write the log back at the speed of a slow disk; data in memory is written back completely.
        let in_memory = self.stage.setup.options.iter().any(|(name, value)| name == "storage" && value == "memory");
        let written_ns = self.ran.observed.wal_bytes_max_from_start.saturating_mul(CLOSE_NS_PER_BYTE);
        let close_ns = if in_memory { u64::MAX / 4 } else { CLOSE_NS + written_ns };
        let has_collector = engine::has_collector(self.stage.contender) && self.stage.setup.service.is_none();
        for (number, (member, ended)) in self.ran.members.iter().zip(ends.finish()).enumerate() {
            let span = Span {
                start_ns: self.ran.start_ns,
                window_end_ns: self.ran.window_end_ns,
                clients: self.stage.round.workers[number].clients.len() as u64,
                pause_ns: heard::believed_pause_ns(has_collector, &member.done),
                close_ns,
            };
            found.extend(heard::contradictions(number, &member.heard, ended, span));
        }
        found
    }

    fn counted(&self) -> Counted {
        Counted { is_served: self.ran.served.is_some(), ..self.ran.commits.clone() }
    }

    /// `change`: whether each transaction changes rows. One that changes nothing needs no sync.
    fn check_rates(&self, trial: &mut Trial, tally: &Tally, change: &[bool], fastest_sync_ns: u64) {
        if tally.counts(|_| true).committed_inside == 0 {
            let by = match (&self.stage.setup.service, self.stage.round.load.rate_per_s) {
                (None, _) => guards::By::Database,
                (Some(_), None) => guards::By::Service,
                (Some(_), Some(_)) => guards::By::ServiceInOpenLoop,
            };
            guards::add_nothing_done(&mut trial.invalid, tally, by);
        }
        if self.syncs_each_commit() {
            // A sample may name an unknown transaction; the comparison with the plan reports it.
            let writes = |t: u16| change.get(usize::from(t)).is_some_and(|change| *change);
            let writes = tally.counts(|g| writes(g.transaction)).committed_inside;
            let rate = per_second(writes, tally.elapsed_ns());
            trial.invalid.extend(guards::credible(rate, fastest_sync_ns, self.bench.workload.databases as usize));
        }
    }

    /// Whether each commit waits for a sync of its own.
    fn syncs_each_commit(&self) -> bool {
        let writes = self.stage.contender.tier == Tier::Durable && engine::executes(self.stage.contender);
        writes && !self.stage.engine.group_commit
    }

    /// Overhead of the worker per operation; 0 for a contender that is itself a null driver.
    fn own_ns_per_operation(&self, contender: &Contender) -> u64 {
        if engine::executes(contender) { self.bench.overhead_ns_per_operation } else { 0 }
    }

    /// Adds the number of commits to the syncs that a server reports.
    pub fn count_commits(&self, trial: &mut Trial, ever: &Acted<'_>) {
        let Some(syncs) = trial.server.as_mut().and_then(|server| server.syncs.as_mut()) else { return };
        let writes =
            (0..self.bench.transactions.len()).filter(|transaction| self.bench.transactions[*transaction].write);
        let databases = 0..self.bench.workload.databases as usize;
        syncs.commits = writes.flat_map(|t| databases.clone().map(move |d| ever.of(d, t).0)).sum();
    }

    /// A check of what the server counts of itself; where the work is not the plan's, of its syncs alone.
    fn own_counts(&self, sql: &Sql<'_>, probe: SyncProbe) -> OwnCountsCheck {
        let as_planned = engine::commits_as_planned(self.stage.contender);
        let OwnCounts { rolled_back, .. } = self.ran.own_counts;
        let counts = OwnCounts { rolled_back: rolled_back.filter(|_| as_planned), ..self.ran.own_counts };
        let surely = commits::surely(&sql.transactions, &sql.statements);
        let with = Compared {
            clients: self.clients().count() as u64,
            minutes: monotonic_ns().saturating_sub(self.ran.start_ns) / MINUTE_NS,
            surely: if as_planned { surely } else { vec![] },
            durable: self.stage.contender.tier == Tier::Durable,
            flushes: probe.flush,
            syncs_at_once: self.stage.engine.server.map_or(1, |server| server.syncs_at_once),
        };
        OwnCountsCheck::new(counts, with)
    }

    /// Adds what contradicts the server's counts of itself, and the flushes that they were compared with.
    fn by_own_counts(&self, trial: &mut Trial, check: OwnCountsCheck) {
        if let Some(syncs) = trial.server.as_mut().and_then(|server| server.syncs.as_mut()) {
            syncs.flushes = check.flushes();
        }
        trial.invalid.extend(check.finish());
    }

    /// Whether the clients limited the throughput. HTTP clients run in event loops, which hardly ever wait if they are
    /// the limit. For a service, the worker's overhead is checked as well.
    fn generator_limit(&self, tally: &Tally) -> Option<Reason> {
        let option = |name: &str| self.stage.setup.options.iter().find(|(known, _)| known == name)?.1.parse().ok();
        let loops = match (&self.ran.served, &self.stage.setup.service) {
            (Some(_), _) => Some(THREADS),
            (None, Some(_)) => Some(option("threads").unwrap_or(1)),
            (None, None) => None,
        };
        let busy_ns = self.ran.observed.usage.iter().take(self.ran.members.len()).map(|usage| usage.cpu_ns);
        // A worker has at most one loop per client.
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

    /// Programs that contend started and that used other processors than it gave them.
    fn by_processors(&self) -> Option<Reason> {
        let observed = &self.ran.observed;
        if let Some(found) = &observed.elsewhere {
            return Some(Invalid::Processors.because(found.clone()));
        }
        let given = standing::processors().ok()?.count() as usize;
        if given >= machine::processors() as usize {
            return None;
        }
        let server = observed.server.iter().filter(|_| self.stage.setup.service.is_none());
        let programs = observed.usage.iter().take(self.ran.members.len()).chain(server);
        // A client may have a process of its own, and a process of the server; a server has some for itself.
        let processes = 2 * self.clients().count() + 10;
        let cpu_ns = programs.map(|used| used.cpu_ns).sum();
        guards::beyond_processors(cpu_ns, given, observed.longest_ns, processes)
    }

    /// A clock that was set, and CPU time of other programs. A server that contend does not watch counts as one; its
    /// work cannot be distinguished from a disturbance, so there is no mark.
    fn disturbances(&self, trial: &mut Trial) {
        trial.marks.extend(self.ran.clock_set.clone());
        let ours_ns: u64 =
            self.ran.observed.usage.iter().chain(&self.ran.observed.server).map(|used| used.cpu_ns).sum();
        let (busy_ns, observed_ns) = (self.ran.observed.machine_busy_ns, self.ran.observed.observed_ns);
        trial.foreign_cpu_permille = marks::foreign_cpu_permille(busy_ns, ours_ns, observed_ns, machine::processors());
        let setup = &self.stage.setup;
        trial.server_unwatched =
            self.stage.base.attached.is_some() || (setup.service.is_some() && setup.service_pid.is_none());
        trial.marks.extend(marks::noisy_cpu(trial.foreign_cpu_permille).filter(|_| !trial.server_unwatched));
        trial.marks.extend(marks::throttled(self.ran.observed.throttled_ns, observed_ns));
    }
}

fn role_clients(drawn: &DrawnRole) -> RoleClients {
    RoleClients { role: drawn.name.clone(), first_client: drawn.first_client, clients: drawn.clients }
}

fn broken(error: anyhow::Error) -> Failure {
    Failure::Invalid(Invalid::Samples.because(format!("{error:#}")))
}

/// Facts of a worker's `hello` for this trial: of several driver versions the contender's, and the server's version as
/// the engine.
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

/// Facts of a worker's `done` without its accounts, which the samples show.
fn beside_accounts(done: &Facts, workload: &Workload, asked: Option<&Asked>) -> BTreeMap<String, String> {
    const ACCOUNTS: [&str; 5] = ["operations", "attempts", "failed", "exhausted", "retries"];
    let beside = done.iter().filter(|(name, _)| !ACCOUNTS.contains(&name.as_str()));
    beside.map(|(name, text)| (name.clone(), hidden(text, workload, asked))).collect()
}
