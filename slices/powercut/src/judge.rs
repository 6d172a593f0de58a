//! Opens what a crash left, with the contender's own configuration, and judges it.

use crate::results::Crashes;
use crate::survival::{Instant, Ledger, Recovered, Survival};
use anyhow::{Result, bail};
use contend::engine::{Engine, Setup};
use contend::trial::aftermath::integrity;
use contend::trial::data::disk;
use contend::trial::stop::Cancelled;
use contend::trial::workers::admin::script_target;
use contend::trial::workers::admin::{Admin, EngineSaid};
use contend::workload::sql::asked;
use contend::workload::{Workload, marks};
use contend_stats::precision::Ns;
use contend_wire::database::Database;
use contend_wire::literal::Value;
use contend_wire::script::{LineResult, ScriptWriter, Target};
use std::collections::BTreeMap;
use std::path::Path;

/// Longest complaint kept, in characters.
const COMPLAINT_CHARS: usize = 300;

/// What is needed to judge the remains of one database.
pub struct Judge<'j> {
    engine: &'static Engine,
    setup: &'j Setup,
    workload: &'j Workload,
    rows: BTreeMap<String, u64>,
    check: String,
    pub ledger: Ledger,
}

impl<'j> Judge<'j> {
    pub fn new(engine: &'static Engine, setup: &'j Setup, workload: &'j Workload, scale: f64, ledger: Ledger) -> Self {
        let check = (engine.integrity)(&workload.table_names());
        Self { engine, setup, workload, rows: workload.rows(scale), check, ledger }
    }

    /// A database, to be opened as the contender's own connections do.
    fn target(&self, database: &Database) -> Target {
        let target = script_target(self.engine, database);
        match self.engine.server {
            // A server has its own configuration.
            Some(_) => target,
            None => Target { session: self.setup.session.iter().map(|sql| asked(sql)).collect(), ..target },
        }
    }

    /// The queries, as a script.
    pub fn script(&self, database: &Database) -> String {
        let mut script = ScriptWriter::new(&self.target(database));
        script.sql(&asked(marks::QUERY));
        for invariant in &self.workload.invariants {
            script.sql(&asked(&invariant.sql));
        }
        script.sql(&asked(&self.check));
        script.finish()
    }

    /// The verdict on the answers to [`Judge::script`].
    ///
    /// # Errors
    /// [`Cancelled`]; the worker failed without an answer of the engine; the disk is full.
    pub fn verdict(
        &self,
        crash: Instant,
        answers: Result<Vec<LineResult>>,
        database: &Database,
        admin: &mut Admin<'_>,
    ) -> Result<Survival> {
        match answers {
            Ok(answers) => Ok(self.ledger.judge(crash, &self.recovered(&answers))),
            Err(e) if !e.is::<EngineSaid>() => Err(e),
            Err(e) => match admin.sql(&self.target(database), ["SELECT 1"]) {
                Ok(_) => Ok(Survival::Corrupt(vec![shortened(&format!("cannot be read: {e:#}"))])),
                Err(e) => refused(e),
            },
        }
    }

    fn recovered(&self, answers: &[LineResult]) -> Recovered {
        let rows = |index: usize| match answers.get(index) {
            Some(LineResult::Rows(rows)) => rows.as_slice(),
            _ => &[],
        };
        let (mut marks, mut complaints) = (vec![], vec![]);
        for row in rows(0) {
            match row.first() {
                Some(Value::Integer(mark)) => marks.push(*mark),
                _ => complaints.push("a mark is not a number".to_string()),
            }
        }
        let visible = self.ledger.visible(&marks);
        // Only visible operations count as committed, so a partial transaction breaks an invariant.
        let counts = |transaction: usize| (visible.get(&(transaction as u16)).copied().unwrap_or(0), 0);
        for (index, invariant) in self.workload.invariants.iter().enumerate() {
            let judged = invariant.judge(rows(1 + index), &self.rows, counts);
            if !judged.holds {
                let said = format!("{}: {} and not {}", invariant.name, judged.found, judged.expected);
                complaints.push(shortened(&said));
            }
        }
        let sound = integrity(&self.check, rows(1 + self.workload.invariants.len()));
        if !sound.holds {
            complaints.push(shortened(&format!("integrity: {}", sound.found)));
        }
        Recovered { marks, complaints }
    }
}

/// `Unopenable`, if the error is the engine's.
///
/// # Errors
/// Any other error.
pub fn refused(error: anyhow::Error) -> Result<Survival> {
    match error.is::<EngineSaid>() {
        true => Ok(Survival::Unopenable(shortened(&format!("{error:#}")))),
        false => Err(error),
    }
}

/// Rejects a verdict on a full disk, which is not a finding.
///
/// # Errors
/// The file system of the image is full.
pub fn with_room(verdict: Survival, dir: &Path) -> Result<Survival> {
    if verdict != Survival::Clean && disk::nearly_full(dir) {
        bail!("the file system of {} is full", dir.display());
    }
    Ok(verdict)
}

/// Judges an image a second time after a failure that is not the engine's.
///
/// # Errors
/// [`Cancelled`]; the second attempt failed too.
pub fn or_again(first: Result<Survival>, again: impl FnOnce() -> Result<Survival>) -> Result<Survival> {
    match first {
        Err(e) if !e.is::<Cancelled>() => {
            let before = format!("{e:#}");
            again().map_err(|e| e.context(format!("it could not be judged, twice; the first time: {before}")))
        }
        other => other,
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(COMPLAINT_CHARS).collect()
}

/// Adds a verdict to the counts of its kind.
pub fn count(crashes: &mut Vec<Crashes>, model: &str, namespace: &str, verdict: &Survival) {
    let at = crashes.iter().position(|c| c.model == model && c.namespace == namespace).unwrap_or_else(|| {
        let (model, namespace) = (model.to_string(), namespace.to_string());
        crashes.push(Crashes { model, namespace, ..Crashes::default() });
        crashes.len() - 1
    });
    let sum = &mut crashes[at];
    sum.count += 1;
    match verdict {
        Survival::Clean => {}
        Survival::Lossy(loss) => {
            sum.lossy += 1;
            sum.lost_commits += loss.commits;
            sum.lost_commits_max = sum.lost_commits_max.max(loss.commits);
            sum.lost_work_ns_max = sum.lost_work_ns_max.max(loss.work_ns);
        }
        Survival::Corrupt(_) => sum.corrupt += 1,
        Survival::Unopenable(_) => sum.unopenable += 1,
    }
}

/// The word of a verdict and its details; `None` if everything survived.
pub fn in_words(verdict: &Survival) -> Option<(&'static str, String)> {
    match verdict {
        Survival::Clean => None,
        Survival::Lossy(loss) => {
            let (work, many) = (Ns(loss.work_ns), if loss.commits == 1 { "commit is" } else { "commits are" });
            Some(("lossy", format!("{} acknowledged {many} gone, the earliest {work} old", loss.commits)))
        }
        Survival::Corrupt(said) => Some(("corrupt", said.join("; "))),
        Survival::Unopenable(why) => Some(("unopenable", why.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    fn engine_said() -> anyhow::Error {
        anyhow::Error::from(EngineSaid { message: "file is not a database".to_string(), place: None, line: 0 })
            .context("opening it")
    }

    #[test]
    fn only_an_engine_can_refuse_to_open_something() {
        let Ok(Survival::Unopenable(why)) = refused(engine_said()) else { panic!("the engine said it") };
        assert!(why.contains("file is not a database"), "{why}");
        assert!(refused(anyhow!("the script worker is gone")).is_err());
        assert!(refused(Cancelled.into()).unwrap_err().is::<Cancelled>());
    }

    #[test]
    fn what_is_not_the_engines_failure_is_judged_once_more_and_then_given_up() {
        let gone = || Err(anyhow!("the worker is gone"));
        assert_eq!(or_again(gone(), || Ok(Survival::Clean)).unwrap(), Survival::Clean);
        let error = format!("{:#}", or_again(gone(), || Err(anyhow!("gone again"))).unwrap_err());
        assert!(error.contains("twice") && error.contains("the worker is gone") && error.contains("gone again"));
        let never = || panic!("a verdict is a verdict, and who wants to stop is not asked again");
        assert_eq!(or_again(Ok(Survival::Clean), never).unwrap(), Survival::Clean);
        assert!(or_again(Err(Cancelled.into()), never).unwrap_err().is::<Cancelled>());
        let stopped = or_again(gone(), || Err(Cancelled.into())).unwrap_err();
        assert!(stopped.is::<Cancelled>(), "also the second time");
    }
}
