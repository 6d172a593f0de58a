//! Which dialects the contenders of a study speak, and its workload in each of them.

use crate::engine;
use crate::study::model::{Condition, Contender, Study, TrialKind};
use crate::workload::{Editions, Workload};
use anyhow::Result;

/// The dialect of a contender's engine; none: SQLite's.
pub fn dialect(contender: &Contender) -> Option<contend_sql::Target> {
    Some(engine::find(&contender.engine)?.server?.dialect)
}

/// The first contender of each engine.
pub fn one_per_engine(study: &Study) -> impl Iterator<Item = &Contender> {
    let first = |(i, c): &(usize, &Contender)| study.contenders[..*i].iter().all(|before| before.engine != c.engine);
    study.contenders.iter().enumerate().filter(first).map(|(_, contender)| contender)
}

/// The workload under each condition, which may set numbers of its `[scale]`, in every dialect that is needed.
pub fn under_conditions(workload: &Workload, study: &Study) -> Result<Vec<Editions>> {
    let servers = one_per_engine(study).filter_map(|contender| engine::find(&contender.engine)?.server);
    let targets: Vec<_> = servers.map(|server| (server.dialect, server.load)).collect();
    let of = |condition: &Condition| {
        let known = |name: &String| workload.scale.contains_key(name) || workload.presets.contains(name);
        let named = condition.axes.iter().filter(|(name, _)| known(name));
        let own = workload.with_axes(&named.map(|(k, v)| (k.clone(), v.clone())).collect())?;
        let own = if study.kind == TrialKind::Powercut { own.with_marks() } else { own };
        Editions::new(own, &targets)
    };
    study.conditions.iter().map(of).collect()
}
