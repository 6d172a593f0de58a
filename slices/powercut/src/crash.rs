//! Shared by recordings, images and kills of a trial.

use crate::judge;
use crate::keys::Wanted;
use crate::survival::{self, Ledger, Survival};
use anyhow::{Result, anyhow};
use contend::engine::{self, Engine};
use contend::outcome::reason::Invalid;
use contend::study::model::Contender;
use contend::trial::bench::Bench;
use contend::trial::data::fresh;
use contend::trial::plans::DrawnRound;
use contend::trial::stage::Stage;
use contend::trial::stop::Cancelled;
use contend::trial::workers::admin::Admin;
use contend::trial::workers::crew::Failure;
use contend_powercut::log::Log;
use contend_wire::database::Database;
use contend_wire::sample::{SAMPLE_BYTES, Sample};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::Path;

/// A trial in which crashes are made.
#[derive(Clone, Copy)]
pub struct Crash<'c> {
    pub bench: &'c Bench<'c>,
    pub wanted: &'c Wanted,
}

impl<'c> Deref for Crash<'c> {
    type Target = Bench<'c>;

    fn deref(&self) -> &Bench<'c> {
        self.bench
    }
}

impl Crash<'_> {
    /// Why this contender is not crashed; `None` if it is.
    pub fn no_crashes(&self, stage: &Stage<'_>) -> Option<&'static str> {
        why_no_crashes(stage.contender, stage.engine, stage.base.attached.is_some(), self.workload.databases)
    }

    /// The ledger of all operations sent, from the samples of all clients.
    pub fn ledger(&self, round: &DrawnRound, samples: Vec<Sample>) -> Ledger {
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        for sample in &samples {
            let count = counts.entry(sample.client).or_default();
            *count = (*count).max(sample.operation + 1);
        }
        let marks: BTreeMap<u32, Vec<Option<i64>>> = round
            .clients()
            .map(|c| {
                (c.id, contend::workload::marks::marks_of(self.workload, c, counts.get(&c.id).copied().unwrap_or(0)))
            })
            .collect();
        let mark = |client, number| marks.get(&client)?.get(number as usize).copied().flatten();
        Ledger::from_samples(samples, mark)
    }

    /// Opens what a crash left in a directory and judges it. Data that the engine cannot open gets the verdict
    /// `Unopenable`.
    pub fn reopened(
        &self,
        stage: &Stage<'_>,
        dir: &Path,
        server_log: &Path,
        admin: &mut Admin<'_>,
        ask: impl FnOnce(&Database, &mut Admin<'_>) -> Result<Survival>,
    ) -> Result<Survival> {
        match stage.making(self.workload, dir, server_log, |m| fresh::open(m, self.janitor, admin)) {
            Ok(fresh) => ask(&fresh.inside[0], admin),
            Err(e) => judge::refused(e),
        }
    }
}

/// Why a contender is not crashed; `None` if it is.
fn why_no_crashes(contender: &Contender, engine: &Engine, attached: bool, databases: u32) -> Option<&'static str> {
    let idle = engine::driver(contender).is_none_or(|driver| driver.executes_nothing);
    match () {
        () if attached => Some("contend does not crash a server that it did not start"),
        () if engine::is_app(contender) => {
            Some("requests to an app leave no marks, so it is unknown which of them survive")
        }
        () if idle || !engine.executes => Some("the contender keeps no data"),
        () if databases != 1 => Some("the workload has several databases; crashes are made of one"),
        () => None,
    }
}

/// Decodes samples as they arrive.
pub fn decode(bytes: &[u8], samples: &mut Vec<Sample>) -> Result<()> {
    for piece in bytes.as_chunks::<SAMPLE_BYTES>().0 {
        samples.push(Sample::decode(piece).map_err(|e| anyhow!(e))?);
    }
    Ok(())
}

/// Reports a power cut that cannot be made as a failure, but not a cancellation.
pub fn prepare(error: anyhow::Error) -> Failure {
    if error.is::<Cancelled>() {
        return Failure::Cancelled;
    }
    Failure::Invalid(Invalid::Prepare.because(format!("{error:#}")))
}

/// The time of a cut: between two entries of the log.
pub fn instant(log: &Log, position: usize) -> survival::Instant {
    survival::Instant { after_ns: log.begins_ns(position), before_ns: log.ends_ns(position) }
}

/// The setup of a contender whose database is in a worker that serves over HTTP.
pub fn over_http(contender: &Contender) -> Contender {
    let mut other = contender.clone();
    other.settings.insert(engine::TRANSPORT.to_string(), engine::HTTP.to_string());
    engine::resolved(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend::engine::app::is_app;
    use contend::study::model::{Resolved, Tier};

    #[test]
    fn who_leaves_no_marks_is_not_made_to_crash() {
        let of = |driver: &str, attached, databases| {
            let engine = engine::find("sqlite").expect("an engine");
            let contender = Contender {
                name: String::new(),
                label: String::new(),
                engine: engine.name.to_string(),
                driver: driver.to_string(),
                model: String::new(),
                worker: None,
                settings: BTreeMap::new(),
                tier: Tier::Durable,
                resolved: Resolved::default(),
            };
            why_no_crashes(&contender, engine, attached, databases)
        };
        let own = engine::find("sqlite").expect("an engine").drivers().find(|d| !d.executes_nothing).expect("a driver");
        assert_eq!(of(own.name, false, 1), None);
        assert!(of(own.name, true, 1).expect("a reason").contains("did not start"));
        assert!(of(own.name, false, 2).expect("a reason").contains("several databases"));
        let apps: Vec<_> = engine::find("sqlite").expect("an engine").drivers().filter(|d| is_app(d.name)).collect();
        assert!(!apps.is_empty());
        for app in apps {
            assert!(of(app.name, false, 1).expect("a reason").contains("no marks"), "{}", app.name);
        }
    }
}
