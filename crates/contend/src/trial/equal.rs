//! Equal work: one client carries out the same operations on each contender, and the results are compared: attempts by
//! outcome, rows, and the data afterwards. This shows that a translated workload does on a server what the original
//! does on SQLite.

use crate::engine::{self, Engine};
use crate::outcome::{classify, code_name};
use crate::record::model::Slot;
use crate::source::Source;
use crate::study::model::{Contender, Study};
use crate::trial::contents::{Contents, During};
use crate::trial::data::cache::Bases;
use crate::trial::data::fresh;
use crate::trial::data::fresh::{Fresh, Making};
use crate::trial::data::load::Wanted;
use crate::trial::dialect::{dialect, under_conditions};
use crate::trial::over_http::{Asking, guarded, timeout_ms};
use crate::trial::plans::{self, Plans, Sql};
use crate::trial::site::Site;
use crate::trial::stop::Cancelled;
use crate::trial::watch::group::Group;
use crate::trial::workers::admin::Admin;
use crate::trial::workers::admin::script_target;
use crate::trial::workers::crew::Failure;
use crate::trial::workers::process::{InsteadOf, Launch};
use crate::trial::workers::processes::{Deadlines, Supervision};
use crate::trial::workers::serving::Serving;
use crate::workload::own_key::own_key;
use crate::workload::{self, Workload};
use anyhow::{Context, Result, anyhow, bail};
use contend_wire::plan::{NowSource, Step};
use contend_wire::sample::{SAMPLE_BYTES, Sample};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time of operation 0, and the step to the next one: every execution writes the same values, whenever it runs.
const NOW: NowSource = NowSource::Fixed { base_ns: 1_700_000_000_000_000_000, step_ns: 1_000_000_000 };

/// Results of the operations on one contender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Came {
    pub contender: String,
    /// Attempts by transaction and outcome: `transfer committed`.
    pub attempts: BTreeMap<String, Sum>,
    /// Contents of each table.
    pub tables: BTreeMap<String, Contents>,
}

/// Attempts with the same outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sum {
    pub attempts: u64,
    /// `None` for HTTP requests that fail or write: their answers hold no rows, and the serving worker counts them.
    pub rows: Option<u64>,
}

/// How much each contender does, and how long that may take.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    pub operations: u32,
    pub timeout: Duration,
}

/// Carries out the first client's operations of a study of one condition on each of its contenders.
///
/// # Errors
/// A contender could not carry out its operations.
pub fn carry_out(
    study: &Study,
    source: &Source,
    out: &Path,
    effort: Effort,
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<Came>> {
    let Effort { operations, timeout } = effort;
    let own = workload::parse(source)?;
    let dialects = under_conditions(&own, study)?;
    let dialects = dialects.first().context("a study has at least one condition")?;
    for contender in &study.contenders {
        plans::check(study, 0, &dialects.of(dialect(contender)).clone().for_one_client())?;
    }
    let site = Site::open(out, &InsteadOf::default(), true)?;
    let mut admin = site.admin(cancelled)?;
    let (mut bases, mut all) = (Bases::default(), vec![]);
    for contender in &study.contenders {
        let engine = engine::find(&contender.engine).context("a contender's engine must be known")?;
        let workload = dialects.of(dialect(contender)).clone().for_one_client();
        let job = Job { study, own: &own, workload: &workload, contender, engine };
        let base = bases.of(&site, dialects, contender, &study.load, &mut admin)?;
        let dir = site.scratch.join("trial");
        let setup = engine::with_drivers_own(contender, (engine.setup)(&contender.settings));
        let wanted = Wanted {
            engine,
            workload: job.workload,
            scale: study.load.scale,
            seed: study.load.seed,
            before: vec![],
            loader: String::new(),
            by: engine.loader,
        };
        let making = Making {
            engine,
            base: &base,
            wanted: &wanted,
            dir: &dir,
            setup: &setup,
            settings: &contender.settings,
            connections: engine::model(contender).map_or(1, |model| model.opens(&contender.settings)),
            server_log: &site.scratch.join("server.log"),
        };
        let fresh = fresh::fresh(&making, &site.janitor, &mut admin)?;
        let attempts = job.operations(&fresh, &site, operations, Patience { timeout, cancelled })?;
        let tables = job.tables(&fresh, &mut admin)?;
        drop(fresh);
        std::fs::remove_dir_all(&dir).with_context(|| format!("cannot remove {}", dir.display()))?;
        all.push(Came { contender: contender.label.clone(), attempts, tables });
    }
    Ok(all)
}

/// How long one contender may take, and how the user cancels.
#[derive(Clone, Copy)]
struct Patience<'p> {
    timeout: Duration,
    cancelled: &'p dyn Fn() -> bool,
}

struct Job<'j> {
    study: &'j Study,
    /// The workload as written.
    own: &'j Workload,
    /// In the contender's dialect.
    workload: &'j Workload,
    contender: &'j Contender,
    engine: &'static Engine,
}

impl Job<'_> {
    fn operations(
        &self,
        fresh: &Fresh<'_>,
        site: &Site,
        operations: u32,
        patience: Patience<'_>,
    ) -> Result<BTreeMap<String, Sum>> {
        let slot = Slot { trial: 1, round: 1, condition: 0, contender: 0 };
        let round = Plans::default().of(self.study, self.workload, slot)?.single_client(operations);
        let setup = engine::with_drivers_own(self.contender, (self.engine.setup)(&self.contender.settings));
        round.one_connection_each(self.contender, &setup).map_err(|e| anyhow!(e))?;
        let mut sql = Sql { now: NOW, ..Sql::of(self.workload, self.engine, &setup) };
        for step in sql.transactions.iter_mut().flat_map(|t| &mut t.steps) {
            if let Step::Hold { ns } | Step::Pause { ns } = step {
                *ns = 0;
            }
        }
        let launch = Launch::of_contender(self.contender)?;
        if !engine::is_over_http(self.contender) {
            let pieces = round.encode(self.contender, &setup, &sql, &fresh.databases)?;
            return self.tell(&self.carried_out(&launch, &pieces, site, patience)?);
        }
        let (guarded, secret) = guarded(&setup)?;
        let plan = round.encode_server(self.contender, &guarded, &sql, &fresh.databases)?;
        let in_words = |failure| match failure {
            Failure::Invalid(reason) => anyhow!("{}: {}: {}", self.contender.label, reason.kind, reason.detail),
            Failure::Cancelled => Cancelled.into(),
            Failure::Fatal(e) => e,
        };
        let (deadlines, cancelled) = (Deadlines::default(), patience.cancelled);
        let with = Supervision { janitor: &site.janitor, deadlines, cancelled };
        let serving = Serving::start(&self.contender.driver, &launch, plan, &site.scratch, &with);
        let serving = serving.map_err(in_words)?;
        let hosts = engine::app::hosts(self.contender, 1);
        let asking = Asking {
            url: &serving.url,
            secret: Some(&secret),
            asked: None,
            hosts,
            timeout_ms: timeout_ms(self.contender),
        };
        let pieces = round.encode_http(self.contender, &setup, &sql, &asking)?;
        let samples = self.carried_out(&site.own, &pieces, site, patience);
        let served = serving.end(round.load.drain_ns).map_err(in_words)?;
        if let Some(how) = served.death {
            bail!("{}: {how}", self.contender.label);
        }
        self.tell(&samples?)
    }

    /// Samples of one worker that carries out a plan.
    fn carried_out(
        &self,
        launch: &Launch,
        pieces: &[Vec<Arc<[u8]>>],
        site: &Site,
        patience: Patience<'_>,
    ) -> Result<Vec<Sample>> {
        let [plan, samples, log] = ["plan", "samples.bin", "worker.log"].map(|name| site.scratch.join(name));
        std::fs::write(&plan, pieces.first().context("a plan has a worker")?.concat())?;
        let mut command = launch.command();
        command
            .arg("--plan")
            .arg(&plan)
            .arg("--samples")
            .arg(&samples)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).with_context(|| format!("cannot write {}", log.display()))?);
        let mut worker = Group::start(&mut command, &site.janitor)
            .with_context(|| format!("cannot start {}", launch.program.display()))?;
        let Some(ended) = worker.wait(Some(Instant::now() + patience.timeout), patience.cancelled)? else {
            bail!(
                "{}: the operations were not finished after {} s; raise --timeout, or ask for fewer with --operations",
                self.contender.label,
                patience.timeout.as_secs_f64()
            );
        };
        if !ended.status.success() {
            let said = std::fs::read(&log).unwrap_or_default();
            let said = String::from_utf8_lossy(&said).trim().to_string();
            bail!("{}: {}", self.contender.label, if said.is_empty() { ended.status.to_string() } else { said });
        }
        let bytes = std::fs::read(&samples).with_context(|| format!("cannot read {}", samples.display()))?;
        bytes.as_chunks::<SAMPLE_BYTES>().0.iter().map(|piece| Sample::decode(piece).map_err(|e| anyhow!(e))).collect()
    }

    /// Counts attempts and rows by transaction and outcome.
    fn tell(&self, samples: &[Sample]) -> Result<BTreeMap<String, Sum>> {
        let mut attempts: BTreeMap<String, Sum> = BTreeMap::new();
        for sample in samples {
            let transaction = self.own.transactions.get(usize::from(sample.transaction));
            let transaction = transaction.context("a sample of a transaction that is not there")?;
            let name = &transaction.name;
            let what = match sample.is_ok() {
                true => format!("{name} committed"),
                // Engines have different codes for the same failure.
                false => format!("{name} {}", classify(sample).word()),
            };
            if !sample.is_ok() && classify(sample) == crate::outcome::Outcome::Unknown {
                crate::tell!("{}: {name}: {}", self.contender.label, code_name(sample.code_space, sample.code));
            }
            let told = !engine::is_over_http(self.contender) || sample.is_ok() && !transaction.writes;
            let sum = attempts.entry(what).or_insert(Sum { attempts: 0, rows: told.then_some(0) });
            sum.attempts += 1;
            sum.rows = sum.rows.map(|rows| rows + u64::from(sample.rows));
        }
        Ok(attempts)
    }

    /// Contents of all databases. Keys that the engine chose are compared by rank: a server may skip numbers where
    /// SQLite does not.
    fn tables(&self, fresh: &Fresh<'_>, admin: &mut Admin<'_>) -> Result<BTreeMap<String, Contents>> {
        let mut tables = BTreeMap::new();
        for (database, address) in fresh.inside.iter().enumerate() {
            let target = script_target(self.engine, address);
            let names = self.workload.table_names();
            let selects = names.iter().map(|name| format!("SELECT * FROM {name}"));
            let answers = admin.sql(&target, selects)?;
            let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
            for (table, rows) in self.own.tables.iter().zip(answers) {
                let key = own_key(self.own, table, self.study.load.scale);
                let contents = Contents::of(table.column_names(), rows, key, &During::until(now_s));
                tables.insert(format!("{database}.{}", table.name), contents);
            }
        }
        Ok(tables)
    }
}
