//! temporary
use crate::record::store::Record;
use anyhow::Result;
use std::path::Path;
pub struct Written {
    pub json: String,
    pub terminal: String,
}
pub fn write(record: &Record, _dir: &Path) -> Result<Written> {
    use crate::record::tally::Tallying;
    let names: Vec<String> = record.run.workload.transactions.iter().map(|t| t.name.clone()).collect();
    let mut out = String::new();
    for t in &record.trials {
        let mut tally = Tallying::new(t);
        record.samples(t.slot.trial, |s| tally.push(s))?;
        let tally = tally.finish(&t.planned, &names);
        let l = tally.latencies(|_| true);
        let c = tally.counts(|_| true);
        out += &format!(
            "{} r{} {:60} {:9.1}/s p50 {:?} p99 {:?} planned {} retries {} codes {:?} lw {:.2} foreign {} fsync {} db {:?} inv {:?}\n",
            t.slot.trial,
            t.slot.round,
            t.contender,
            tally.throughput_per_s(),
            l.response.quantile(0.5),
            l.response.quantile(0.99),
            c.planned(),
            c.retries,
            c.codes,
            l.lock_wait_ns as f64 / l.busy_ns as f64,
            t.foreign_cpu_permille,
            t.fsync_ns_p50_before,
            t.footprint,
            t.invalid
        );
    }
    Ok(Written { json: String::new(), terminal: out })
}
#[derive(serde::Serialize)]
pub struct X;
impl std::fmt::Display for X {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}
pub fn compare_records(_: &Record, _: &Record, _: f64) -> Result<X> {
    Ok(X)
}
