//! What all trials of a run share, and what each trial gets from it: fresh data, a quiet disk, workers.

use crate::engine;
use crate::outcome::mark::Mark;
use crate::outcome::reason::Invalid;
use crate::record::model::{Disk, TransactionInfo, Trial};
use crate::record::store::RecordWriter;
use crate::study::model::{Contender, Study};
use crate::trial::data::disk::{self, is_full};
use crate::trial::data::fresh::{self, Fresh};
use crate::trial::note::Note;
use crate::trial::over_http::{Asking, guarded, timeout_ms};
use crate::trial::plans::Sql;
use crate::trial::stage::Stage;
use crate::trial::stop::Cancelled;
use crate::trial::watch::janitor::Janitor;
use crate::trial::workers::admin::Admin;
use crate::trial::workers::crew::Failure;
use crate::trial::workers::process::{InsteadOf, Launch};
use crate::trial::workers::processes::{Deadlines, Supervision};
use crate::trial::workers::refusal::Whose;
use crate::trial::workers::serving::Serving;
use crate::workload::{Asked, Workload};
use anyhow::{Context, Result};
use contend_wire::database::Database;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What all trials of a run share.
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
    pub overhead_ns_per_operation: u64,
    pub transactions: &'a [TransactionInfo],
    /// Scenario that the clients of an app carry out.
    pub asked: Option<&'a Asked>,
    pub cancelled: &'a dyn Fn() -> bool,
    pub progress: &'a dyn Fn(Note<'_>),
}

/// The workers to start for the clients, and their plans.
pub struct Orders {
    pub whose: Whose,
    pub launch: Launch,
    /// The plan of each worker, in pieces.
    pub plans: Vec<Vec<Arc<[u8]>>>,
}

impl Bench<'_> {
    /// Waits until the disk is about as fast as before the run, and returns the fastest sync seen. For a service it
    /// returns `u64::MAX` at once: its disk is elsewhere.
    pub fn quiet_disk(&self, stage: &Stage<'_>, trial: &mut Trial) -> Result<u64, Failure> {
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
            } else if self.nearly_full() {
                // A server reports a full disk in its own words, and removing its data makes room again.
                Failure::Fatal(disk::full(format!("{e:#}")))
            } else {
                Failure::Invalid(Invalid::Prepare.because(format!("{e:#}")))
            }
        })
    }

    /// Whether the disk of the data has hardly any room left.
    pub fn nearly_full(&self) -> bool {
        disk::nearly_full(self.data_dir.parent().unwrap_or(&self.data_dir))
    }

    /// Removes the data of the trial.
    pub fn remove_data(&self) -> Result<()> {
        if self.data_dir.exists() {
            std::fs::remove_dir_all(&self.data_dir)
                .with_context(|| format!("cannot remove {}", self.data_dir.display()))?;
        }
        self.janitor.dir_gone(&self.data_dir);
        Ok(())
    }

    /// Starts the worker that serves the contender over HTTP; `None` for other contenders.
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
        let (guarded, secret) = guarded(&stage.setup)?;
        let plan = stage.round.encode_server(stage.contender, &guarded, &sql, databases)?;
        let driver = &stage.contender.driver;
        let mut serving = Serving::start(driver, &launch, plan, logs, &self.supervision())?;
        serving.secret = Some(secret);
        Ok(Some(serving))
    }

    /// The workers to start for the clients, and their plans.
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
                let asking = Asking {
                    url: &serving.url,
                    secret: serving.secret.as_deref(),
                    asked: self.asked,
                    hosts,
                    timeout_ms: timeout_ms(stage.contender),
                };
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

    /// How to start the contender's worker: the command that the user gave, or the worker with the contender's driver.
    pub fn launch(&self, contender: &Contender) -> Result<Launch, Failure> {
        if let Some(launch) = &self.instead.worker {
            return Ok(launch.clone());
        }
        Launch::of_contender(contender).map_err(|e| Failure::Invalid(Invalid::NotStarted.because(format!("{e:#}"))))
    }

    /// Deadlines, janitor and cancellation for supervising workers.
    pub fn supervision(&self) -> Supervision<'_> {
        Supervision { janitor: self.janitor, deadlines: self.deadlines, cancelled: self.cancelled }
    }
}
