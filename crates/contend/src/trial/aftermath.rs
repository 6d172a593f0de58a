//! Reads the data after the window (invariants, the engine's integrity check, sizes) and collects facts of the server.

use crate::check::ever::Acted;
use crate::check::guards;
use crate::engine::{self, Engine};
use crate::outcome::reason::Invalid;
use crate::record::model::{Footprint, InvariantResult, ServerInfo, Syncs, TableBytes, Trial};
use crate::trial::bench::Bench;
use crate::trial::data::fresh::Fresh;
use crate::trial::server::attached;
use crate::trial::stage::Stage;
use crate::trial::stop::Cancelled;
use crate::trial::watch::sampler;
use crate::trial::window::Ran;
use crate::trial::workers::admin::{Admin, Late, script_target};
use crate::trial::workers::crew::Failure;
use crate::workload::invariant::Judged;
use anyhow::Result;
use contend_wire::handshake::fact;
use contend_wire::literal::Value;
use std::collections::BTreeMap;

/// The trial after its window.
pub struct Aftermath<'a> {
    pub bench: &'a Bench<'a>,
    pub stage: &'a Stage<'a>,
    pub ran: &'a Ran,
    pub fresh: &'a Fresh<'a>,
}

/// A process that somebody else started, as the version of a server.
fn process(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    format!("process {pid} {}", name.trim()).trim_end().to_string()
}

impl Aftermath<'_> {
    /// Facts of the server. A server that contend did not start has only those that it reports itself.
    pub fn server_info(&self, admin: &mut Admin<'_>) -> Result<Option<ServerInfo>> {
        let observed = &self.ran.observed;
        let version = match (&self.fresh.server, &self.stage.base.attached, &self.ran.served) {
            (Some(server), ..) => server.version.clone(),
            (None, Some(address), _) => attached::version(self.stage.engine, address, admin)?,
            (None, None, Some(served)) => {
                let of = |name| fact(&served.hello, name).unwrap_or("unknown");
                format!("{}, {}, over HTTP", of("driver"), of("engine"))
            }
            (None, None, None) => match self.stage.setup.service_pid {
                Some(pid) => process(pid),
                None => return Ok(None),
            },
        };
        let served = self.ran.served.clone().unwrap_or_default();
        let lock_waits = match &self.fresh.server {
            Some(server) => server.lock_waits(self.stage.engine, admin)?,
            None => None,
        };
        let (used, translated) = (observed.server, self.bench.workload.translated.as_ref());
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
            daemon: self
                .fresh
                .server
                .as_ref()
                .filter(|_| self.ran.served.is_some())
                .and(observed.each_server.first().copied()),
            serving: self.ran.served.as_ref().and(observed.each_server.last().copied()),
            syncs: self.ran.own_counts.syncs.map(|count| Syncs { count, ..Syncs::default() }),
        }))
    }

    /// Checks the invariants and measures the footprint by asking the database.
    pub fn check_data(&self, trial: &mut Trial, ever: &Acted<'_>, admin: &mut Admin<'_>) -> Result<(), Failure> {
        if trial.invalid.iter().any(|reason| reason.kind == Invalid::ServerDied) {
            return Ok(());
        }
        let engine = self.stage.engine;
        let (db_bytes, _) = sampler::sizes(&self.bench.data_dir, engine.part);
        let tables = self.bench.workload.table_names();
        let check = (engine.integrity)(&tables);
        let rows = self.bench.workload.rows(self.stage.round.load.scale);
        let workload = self.bench.workload;
        let executes = engine::executes(self.stage.contender);
        let invariants = if executes { workload.invariants.as_slice() } else { &[] };
        let last =
            if executes && !engine::is_app(self.stage.contender) { workload.last_writes.as_slice() } else { &[] };
        for (database, address) in self.fresh.inside.iter().enumerate() {
            let target = script_target(engine, address);
            let statements = invariants.iter().map(|i| i.sql.as_str());
            let statements = statements.chain(last.iter().map(|last| last.sql.as_str())).chain([check.as_str()]);
            let answers = match admin.within(self.bench.deadlines.check, |admin| admin.sql(&target, statements)) {
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
            let (of_invariants, of_last) = answers.split_at(invariants.len().min(answers.len()));
            for (invariant, answer) in invariants.iter().zip(of_invariants) {
                let judged = invariant.judge(answer, &rows, |transaction| ever.of(database, transaction));
                trial.invariants.push(result(&invariant.name, &invariant.sql, judged));
            }
            for (number, answer) in of_last.iter().enumerate().take(last.len()) {
                trial.invariants.push(ever.last.judge(number, database as u32, answer));
            }
            trial.invariants.push(integrity(&check, answers.last().map_or(&[], Vec::as_slice)));
        }
        trial.invalid.extend(guards::broken_invariants(&trial.invariants));
        trial.footprint = Footprint {
            size_bytes_db: db_bytes,
            size_bytes_wal: self.ran.observed.wal_bytes_max,
            size_bytes_compact: None,
        };
        // On a server, compacting can take longer than the window, and its result differs little between rounds.
        if self.bench.study.compact && trial.slot.round == 1 { self.compact(trial, &tables, admin) } else { Ok(()) }
    }

    /// Compacts the data, then measures it again.
    fn compact(&self, trial: &mut Trial, tables: &[String], admin: &mut Admin<'_>) -> Result<(), Failure> {
        let engine = self.stage.engine;
        let compact = (engine.compact)(tables);
        let mut compacted = self.fresh.inside.iter().map(|a| admin.sql(&script_target(engine, a), &compact).map(drop));
        if let Err(e) = compacted.try_for_each(|done| done) {
            if e.is::<Cancelled>() {
                return Err(Failure::Cancelled);
            }
            trial.invalid.push(Invalid::Invariant.because(format!("the data cannot be compacted: {e:#}")));
        }
        trial.tables = table_bytes(engine, self.fresh, admin)?;
        let (bytes, _) = sampler::sizes(&self.bench.data_dir, engine.part);
        trial.footprint.size_bytes_compact = (bytes > 0).then_some(bytes);
        Ok(())
    }
}

/// Disk space of each table; empty if the engine does not report it.
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
            // A server that contend did not start may refuse the query; the report then lacks this metric.
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

/// Judges the answer of the engine's integrity check: every row must end with `ok`.
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
