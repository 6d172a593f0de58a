//! Opening what a crash left, with the contender's own configuration, and judging it.

use crate::check::survival::{Instant, Ledger, Recovered, Verdict};
use crate::engine::{Engine, Setup};
use crate::record::powercut::Crashes;
use crate::stats::precision::Ns;
use crate::trial::admin::{Admin, Cancelled};
use crate::trial::aftermath::integrity;
use crate::trial::data::script_target;
use crate::workload::{Workload, marks};
use anyhow::Result;
use contend_wire::literal::Value;
use contend_wire::script::{Answer, ScriptWriter, Target};
use std::collections::BTreeMap;

/// Letters of a complaint that are kept.
const COMPLAINT_CHARS: usize = 300;

/// Everything that is needed to judge what is left of one database.
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

    /// A database as the contender's own connections open it.
    fn target(&self, database: &str) -> Target {
        let target = script_target(self.engine, database);
        match self.engine.server {
            // Its configuration is the server's.
            Some(_) => target,
            None => Target { session: self.setup.session.clone(), ..target },
        }
    }

    /// The questions, as a script.
    pub fn script(&self, database: &str) -> String {
        let mut script = ScriptWriter::new(&self.target(database));
        script.sql(marks::QUERY);
        for invariant in &self.workload.invariants {
            script.sql(&invariant.sql);
        }
        script.sql(&self.check);
        script.finish()
    }

    /// The verdict on the answers to [`Judge::script`].
    ///
    /// # Errors
    /// [`Cancelled`].
    pub fn verdict(
        &self,
        crash: Instant,
        answers: Result<Vec<Answer>>,
        database: &str,
        admin: &mut Admin<'_>,
    ) -> Result<Verdict> {
        match answers {
            Ok(answers) => Ok(self.ledger.judge(crash, &self.recovered(&answers))),
            Err(e) if e.is::<Cancelled>() => Err(e),
            Err(e) => match admin.sql(&self.target(database), ["SELECT 1"]) {
                Ok(_) => Ok(Verdict::Corrupt(vec![shortened(&format!("cannot be read: {e:#}"))])),
                Err(e) if e.is::<Cancelled>() => Err(e),
                Err(e) => Ok(Verdict::Unopenable(shortened(&format!("{e:#}")))),
            },
        }
    }

    fn recovered(&self, answers: &[Answer]) -> Recovered {
        let rows = |index: usize| match answers.get(index) {
            Some(Answer::Rows(rows)) => rows.as_slice(),
            _ => &[],
        };
        let (mut marks, mut complaints) = (vec![], vec![]);
        for row in rows(0) {
            match row.first() {
                Some(Value::Integer(mark)) => marks.push(*mark),
                _ => complaints.push("a mark is there that is no number".to_string()),
            }
        }
        let visible = self.ledger.visible(&marks);
        // What is visible was committed, and nothing else may show: part of a transaction would.
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

fn shortened(text: &str) -> String {
    text.chars().take(COMPLAINT_CHARS).collect()
}

/// Adds a verdict to the counts of its kind.
pub fn count(crashes: &mut Vec<Crashes>, model: &str, namespace: &str, verdict: &Verdict) {
    let at = crashes.iter().position(|c| c.model == model && c.namespace == namespace).unwrap_or_else(|| {
        let (model, namespace) = (model.to_string(), namespace.to_string());
        crashes.push(Crashes { model, namespace, ..Crashes::default() });
        crashes.len() - 1
    });
    let sum = &mut crashes[at];
    sum.count += 1;
    match verdict {
        Verdict::Clean => {}
        Verdict::Lossy(loss) => {
            sum.lossy += 1;
            sum.lost_commits += loss.commits;
            sum.lost_commits_max = sum.lost_commits_max.max(loss.commits);
            sum.lost_work_ns_max = sum.lost_work_ns_max.max(loss.work_ns);
        }
        Verdict::Corrupt(_) => sum.corrupt += 1,
        Verdict::Unopenable(_) => sum.unopenable += 1,
    }
}

/// The word of a verdict and what there is to say of it; none if all is well.
pub fn in_words(verdict: &Verdict) -> Option<(&'static str, String)> {
    match verdict {
        Verdict::Clean => None,
        Verdict::Lossy(loss) => {
            let (work, many) = (Ns(loss.work_ns), if loss.commits == 1 { "commit is" } else { "commits are" });
            Some(("lossy", format!("{} acknowledged {many} gone, the earliest {work} old", loss.commits)))
        }
        Verdict::Corrupt(said) => Some(("corrupt", said.join("; "))),
        Verdict::Unopenable(why) => Some(("unopenable", why.clone())),
    }
}
