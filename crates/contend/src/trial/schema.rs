//! The schema of a trial's databases, read before the workers start and after they end.

use crate::check::schema::{self, Objects};
use crate::engine;
use crate::record::model::Reason;
use crate::study::model::Tier;
use crate::trial::bench::Bench;
use crate::trial::data::fresh::Fresh;
use crate::trial::stage::Stage;
use crate::trial::workers::admin::{Admin, script_target};

/// Schemas of all databases; `None` where one cannot be read.
pub type Schemas = Vec<Option<Objects>>;

/// Reads the schemas. Those of apps, which may change them, and of engines without data are not read.
pub fn read(stage: &Stage<'_>, fresh: &Fresh<'_>, admin: &mut Admin<'_>) -> Schemas {
    let query = stage.engine.schema;
    if query.is_empty() || engine::is_app(stage.contender) {
        return vec![];
    }
    let of = |database| admin.sql(&script_target(stage.engine, database), [query]).ok()?.into_iter().next();
    fresh.inside.iter().map(of).collect()
}

/// The first table that does not keep what its contender's tier promises.
pub fn lost_in_a_crash(stage: &Stage<'_>, schemas: &Schemas) -> Option<Reason> {
    let promises = matches!(stage.contender.tier, Tier::Bounded | Tier::Durable);
    let mut all = schemas.iter().flatten().filter(|_| promises && !stage.engine.crash_safe.is_empty());
    all.find_map(|objects| schema::lost_in_a_crash(objects, stage.engine.crash_safe))
}

/// The first difference between two readings.
pub fn changed(bench: &Bench<'_>, before: &Schemas, after: &Schemas) -> Option<Reason> {
    let statements = bench.workload.plan_statements();
    let both = before.iter().zip(after).filter_map(|(before, after)| Some((before.as_ref()?, after.as_ref()?)));
    both.into_iter().find_map(|(before, after)| {
        schema::changed(before, after, statements.iter().map(|statement| statement.sql.as_str()))
    })
}
