//! What the data itself says when the window is over: invariants, the engine's own check, how much room it
//! takes; and what the server says of itself.

use crate::analysis::tally::Tally;
use crate::check::{ever, guards};
use crate::engine::{self, Engine};
use crate::outcome::reason::Invalid;
use crate::record::model::{Footprint, InvariantResult, Reason, ServerInfo, Syncs, TableBytes, Trial};
use crate::study::model::Contender;
use crate::trial::data::fresh::Fresh;
use crate::trial::over_http::THREADS;
use crate::trial::secret::hidden;
use crate::trial::server::attached;
use crate::trial::stage::Stage;
use crate::trial::stop::Cancelled;
use crate::trial::trial::{Bench, Run};
use crate::trial::watch::sampler::{self, Observed};
use crate::trial::workers::admin::script_target;
use crate::trial::workers::admin::{Admin, Late};
use crate::trial::workers::crew::Failure;
use crate::workload::invariant::Judged;
use crate::workload::{Asked, Workload};
use anyhow::Result;
use contend_wire::handshake::{Facts, fact};
use contend_wire::literal::Value;
use std::collections::BTreeMap;

impl Bench<'_> {
    /// What is known of the server; of one that somebody else runs, only what it says itself.
    pub(super) fn server_info(
        &self,
        stage: &Stage<'_>,
        fresh: &Fresh<'_>,
        run: &Run,
        admin: &mut Admin<'_>,
    ) -> Result<Option<ServerInfo>> {
        let observed = &run.observed;
        let version = match (&fresh.server, &stage.base.attached, &run.served) {
            (Some(server), ..) => server.version.clone(),
            (None, Some(address), _) => attached::version(stage.engine, address, admin)?,
            (None, None, Some(served)) => {
                let of = |name| fact(&served.hello, name).unwrap_or("unknown");
                format!("{}, {}, over HTTP", of("driver"), of("engine"))
            }
            (None, None, None) => return Ok(None),
        };
        let served = run.served.clone().unwrap_or_default();
        let lock_waits = match &fresh.server {
            Some(server) => server.lock_waits(stage.engine, admin)?,
            None => None,
        };
        let (used, translated) = (observed.server, self.workload.translated.as_ref());
        Ok(Some(ServerInfo {
            version,
            cpu_ns: used.map(|used| used.cpu_ns),
            rss_bytes: used.map(|used| used.rss_bytes),
            pss_bytes: observed.server_pss_bytes,
            written_bytes: used.and_then(|used| used.written_bytes),
            translation: translated.map(|translated| translated.conditions.clone()).unwrap_or_default(),
            hello: served.hello.into_iter().collect(),
            done: served.done.into_iter().collect(),
            lock_waits,
            daemon: fresh.server.as_ref().filter(|_| run.served.is_some()).and(observed.each_server.first().copied()),
            serving: run.served.as_ref().and(observed.each_server.last().copied()),
            syncs: run.syncs.map(|count| Syncs { count, commits: 0 }),
        }))
    }

    /// What an operation costs the worker itself; nothing where the null driver does as much as the driver, or more.
    fn own_ns_per_operation(&self, contender: &Contender) -> u64 {
        if engine::executes(contender) { self.generator_ns_per_operation } else { 0 }
    }

    /// Puts the commits beside the syncs that a server tells of.
    pub(super) fn count_commits(&self, trial: &mut Trial, ever: &ever::Counts) {
        let Some(syncs) = trial.server.as_mut().and_then(|server| server.syncs.as_mut()) else { return };
        let writes = (0..self.transactions.len()).filter(|transaction| self.transactions[*transaction].write);
        let databases = 0..self.workload.databases as usize;
        syncs.commits = writes.flat_map(|t| databases.clone().map(move |d| ever.of(d, t).0)).sum();
    }

    /// Whether the clients were the limit. Clients of HTTP live in event loops, which show by hardly ever waiting;
    /// those of a service of somebody else's are held against the worker's own cost as well.
    pub(super) fn generator_limit(&self, stage: &Stage<'_>, run: &Run, tally: &Tally) -> Option<Reason> {
        let option = |name: &str| stage.setup.options.iter().find(|(known, _)| known == name)?.1.parse().ok();
        let loops = match (&run.served, &stage.setup.service) {
            (Some(_), _) => Some(THREADS),
            (None, Some(_)) => Some(option("threads").unwrap_or(1)),
            (None, None) => None,
        };
        let busy_ns = run.observed.usage.iter().take(run.members.len()).map(|usage| usage.cpu_ns);
        // A worker has no more loops than clients.
        let clients = stage.round.workers.iter().map(|worker| u32::try_from(worker.clients.len()).unwrap_or(u32::MAX));
        let busy = loops.and_then(|loops| {
            let loops = clients.map(|clients| loops.min(clients.max(1)));
            guards::busy_clients(busy_ns.zip(loops), tally.elapsed_ns())
        });
        match run.served {
            Some(_) => busy,
            None => busy.or_else(|| guards::head_room(self.own_ns_per_operation(stage.contender), tally)),
        }
    }

    /// Invariants and footprint, from the database itself.
    pub(super) fn check_data(
        &self,
        trial: &mut Trial,
        stage: &Stage<'_>,
        ever: &ever::Counts,
        fresh: &Fresh<'_>,
        observed: &Observed,
        admin: &mut Admin<'_>,
    ) -> Result<(), Failure> {
        if trial.invalid.iter().any(|reason| reason.kind == Invalid::ServerDied) {
            return Ok(());
        }
        let engine = stage.engine;
        let (db_bytes, _) = sampler::sizes(&self.data_dir, engine.part);
        let tables = self.workload.table_names();
        let check = (engine.integrity)(&tables);
        let rows = self.workload.rows(stage.round.load.scale);
        let invariants = if engine::executes(stage.contender) { self.workload.invariants.as_slice() } else { &[] };
        for (database, address) in fresh.inside.iter().enumerate() {
            let target = script_target(engine, address);
            let statements = invariants.iter().map(|i| i.sql.as_str());
            let statements = statements.chain([check.as_str()]);
            let answers = match admin.within(self.deadlines.check, |admin| admin.sql(&target, statements)) {
                Ok(answers) => answers,
                Err(e) if e.is::<Cancelled>() => return Err(Failure::Cancelled),
                Err(e) if e.is::<Late>() => {
                    let raise = "if the check needs that long, raise --deadline";
                    trial.invalid.push(Invalid::Invariant.because(format!("cannot be checked: {e:#}; {raise}")));
                    return Ok(());
                }
                Err(e) => {
                    trial.invalid.push(Invalid::Invariant.because(format!("cannot be checked: {e:#}")));
                    return Ok(());
                }
            };
            for (invariant, answer) in invariants.iter().zip(&answers) {
                let judged = invariant.judge(answer, &rows, |transaction| ever.of(database, transaction));
                trial.invariants.push(result(&invariant.name, &invariant.sql, judged));
            }
            trial.invariants.push(integrity(&check, answers.last().map_or(&[], Vec::as_slice)));
        }
        trial.invalid.extend(guards::broken_invariants(&trial.invariants));
        trial.footprint =
            Footprint { size_bytes_db: db_bytes, size_bytes_wal: observed.wal_bytes_max, size_bytes_compact: None };
        // Compacting takes a server longer than many a window, and differs little between rounds.
        if self.study.compact && trial.slot.round == 1 {
            self.compact(trial, engine, fresh, &tables, admin)
        } else {
            Ok(())
        }
    }

    /// What the data takes without anything that it could do without.
    fn compact(
        &self,
        trial: &mut Trial,
        engine: &Engine,
        fresh: &Fresh<'_>,
        tables: &[String],
        admin: &mut Admin<'_>,
    ) -> Result<(), Failure> {
        let compact = (engine.compact)(tables);
        let mut compacted = fresh.inside.iter().map(|a| admin.sql(&script_target(engine, a), &compact).map(drop));
        if let Err(e) = compacted.try_for_each(|done| done) {
            if e.is::<Cancelled>() {
                return Err(Failure::Cancelled);
            }
            trial.invalid.push(Invalid::Invariant.because(format!("the data cannot be compacted: {e:#}")));
        }
        trial.tables = table_bytes(engine, fresh, admin)?;
        let (bytes, _) = sampler::sizes(&self.data_dir, engine.part);
        trial.footprint.size_bytes_compact = (bytes > 0).then_some(bytes);
        Ok(())
    }
}

/// What a worker said of itself, as far as it is about this trial: a worker with several drivers cannot know which
/// one it will be, and an engine that is a server is not in it.
pub(super) fn who_worked(
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
pub(super) fn beside_accounts(done: &Facts, workload: &Workload, asked: Option<&Asked>) -> BTreeMap<String, String> {
    const ACCOUNTS: [&str; 5] = ["operations", "attempts", "failed", "exhausted", "retries"];
    let beside = done.iter().filter(|(name, _)| !ACCOUNTS.contains(&name.as_str()));
    beside.map(|(name, text)| (name.clone(), hidden(text, workload, asked))).collect()
}

/// What each table takes; nothing of an engine that cannot be asked.
fn table_bytes(
    engine: &Engine,
    fresh: &Fresh<'_>,
    admin: &mut Admin<'_>,
) -> Result<BTreeMap<String, TableBytes>, Failure> {
    let mut tables: BTreeMap<String, TableBytes> = BTreeMap::new();
    for address in fresh.inside.iter().filter(|_| !engine.table_bytes.is_empty()) {
        let answers = match admin.sql(&script_target(engine, address), [engine.table_bytes]) {
            Ok(answers) => answers,
            Err(e) if e.is::<Cancelled>() => return Err(Failure::Cancelled),
            // A server that somebody else runs may not tell: then the report has no such figure.
            Err(_) => return Ok(BTreeMap::new()),
        };
        for row in answers.first().into_iter().flatten() {
            let [Value::Text(name), Value::Integer(rows), Value::Integer(indexes)] = row.as_slice() else { continue };
            let bytes = tables.entry(name.clone()).or_default();
            bytes.rows += u64::try_from(*rows).unwrap_or_default();
            bytes.indexes += u64::try_from(*indexes).unwrap_or_default();
        }
    }
    Ok(tables)
}

fn result(name: &str, sql: &str, Judged { found, expected, holds }: Judged) -> InvariantResult {
    InvariantResult { name: name.to_string(), sql: sql.to_string(), found, expected, holds }
}

/// The engine's own check of its data: every row ends with `ok`.
pub fn integrity(sql: &str, answer: &[Vec<Value>]) -> InvariantResult {
    let words: Vec<String> = answer
        .iter()
        .map(|row| match row.last() {
            Some(Value::Text(text)) => text.chars().take(200).collect(),
            other => format!("{other:?}"),
        })
        .collect();
    let complaint = words.iter().find(|word| !word.eq_ignore_ascii_case("ok"));
    InvariantResult {
        name: "integrity".to_string(),
        sql: sql.to_string(),
        found: complaint.or(words.first()).cloned().unwrap_or_else(|| "0 rows".to_string()),
        expected: "ok".to_string(),
        holds: complaint.is_none() && !words.is_empty(),
    }
}
