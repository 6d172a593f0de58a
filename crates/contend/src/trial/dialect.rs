//! Which dialects the contenders of a study speak, and its workload in each of them.

use crate::engine;
use crate::study::kind;
use crate::study::model::{Condition, Contender, Study};
use crate::workload::marks::with_marks;
use crate::workload::{Dialect, Dialects, Rewrite, Workload, with_axes};
use anyhow::{Context, Result};

/// The dialect of the contender's driver if it has its own, else that of its engine; `None` for SQLite's.
pub fn dialect(contender: &Contender) -> Option<Dialect> {
    let of_driver =
        engine::own_dialect(contender).map(|target| Dialect { is_inside: true, ..Dialect::of_server(target) });
    let of_server = || {
        let own = Dialect::of_server(engine::find(&contender.engine)?.server?.dialect);
        let (has_savepoints, is_as_written) = (engine::has_savepoints(contender), engine::sends_as_written(contender));
        Some(Dialect { has_savepoints, is_as_written, ..own })
    };
    of_driver.or_else(of_server)
}

/// The first contender of each engine and dialect: each such pair has its own data.
pub fn one_per_engine(study: &Study) -> impl Iterator<Item = &Contender> {
    let other = |a: &Contender, b: &Contender| a.engine != b.engine || dialect(a) != dialect(b);
    let first = move |(i, c): &(usize, &Contender)| study.contenders[..*i].iter().all(|before| other(before, c));
    study.contenders.iter().enumerate().filter(first).map(|(_, contender)| contender)
}

/// The workload under each condition (which may set numbers of its `[scale]`), in every dialect that the study needs.
pub fn under_conditions(workload: &Workload, study: &Study) -> Result<Vec<Dialects>> {
    let mut targets: Vec<(Dialect, Rewrite)> = vec![];
    for contender in &study.contenders {
        let Some(dialect) = dialect(contender) else { continue };
        let load = engine::find(&contender.engine).and_then(|engine| engine.server).map(|server| server.load);
        if targets.iter().all(|(known, _)| *known != dialect) {
            targets.push((dialect, load.unwrap_or(str::to_string)));
        }
    }
    let of = |condition: &Condition| -> Result<Dialects> {
        let known = |name: &String| workload.scale.contains_key(name) || workload.presets.contains(name);
        let named = condition.axes.iter().filter(|(name, _)| known(name));
        let own = with_axes(workload, &named.map(|(k, v)| (k.clone(), v.clone())).collect())?;
        let marks = kind::find(&study.kind).is_some_and(|kind| kind.marks);
        let own = if marks { with_marks(own) } else { own };
        Dialects::new(own, &targets)
    };
    let told = |condition| of(condition).with_context(|| format!("condition `{}`", condition.label));
    study.conditions.iter().map(told).collect()
}
