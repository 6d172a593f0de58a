//! Tests of the table of metrics on a whole record.

use crate::analysis::Findings;
use crate::analysis::metric::name::Name;
use crate::analysis::metric::table::{Dot, TABLE};
use crate::record::model::{Overhead, Run, ServerInfo, ServerLockWaits, Syncs, TableBytes, Trial, Used};
use crate::record::recorded::Recorded;
use crate::record::seal::Unsealed;
use crate::record::store::Record;
use crate::report::testing::Story;
use crate::study::model::{NullDriver, Variant};
use anyhow::Result;
use contend_wire::sample::{CodeSpace, Sample};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A record in which everything was measured.
fn full(dir: &std::path::Path) -> Record {
    // As published, a quantile has a value whatever the number of operations.
    let mut record = Story { variant: Variant::AsPublished, ..Story::default() }.write(dir);
    let idle = NullDriver { driver: "null".to_string(), model: "thread".to_string() };
    record.run.study.contenders.iter_mut().for_each(|contender| contender.resolved.overhead = Some(idle.clone()));
    let overhead = |condition| Overhead {
        driver: "null".to_string(),
        condition,
        operations: 1000,
        ns_per_operation: 100,
        ns_p999: 900,
        ns_max: 5000,
    };
    record.run.overheads = (0..record.run.study.conditions.len()).map(overhead).collect();
    record.run.study.load.rate_per_s = Some(100.0);
    for trial in &mut record.trials {
        let used = Used { cpu_ns: 1, rss_bytes: 2, pss_bytes: Some(3), written_bytes: Some(4) };
        let mut server: ServerInfo = toml::from_str("version = '1'").unwrap();
        (server.daemon, server.serving) = (Some(used), Some(used));
        (server.cpu_ns, server.rss_bytes) = (Some(5), Some(6));
        (server.pss_bytes, server.written_bytes) = (Some(7), Some(8));
        server.lock_waits = Some(ServerLockWaits { count: 1, total_ns: 2, max_ns: 2 });
        server.syncs = Some(Syncs { count: 3, commits: 2, flushes: None });
        server.done = ["retries", "gave_up"].map(|fact| (fact.to_string(), "1".to_string())).into();
        trial.server = Some(server);
        trial.workers.iter_mut().for_each(|worker| worker.written_bytes = Some(9));
        trial.footprint.size_bytes_compact = Some(4096);
        trial.tables = BTreeMap::from([("posts".to_string(), TableBytes { rows: 10, indexes: 5 })]);
    }
    record
}

/// A record whose operations succeed at the first attempt, with every wait measured.
struct Measured(Record);

impl Recorded for Measured {
    fn run(&self) -> &Run {
        &self.0.run
    }

    fn trials(&self) -> &[Trial] {
        &self.0.trials
    }

    fn again(&self) -> &[Trial] {
        &self.0.again
    }

    fn damaged(&self) -> &[(String, String)] {
        &self.0.damaged
    }

    fn unsealed(&self) -> &[Unsealed] {
        &self.0.unsealed
    }

    fn samples(&self, trial: u32, each: &mut dyn FnMut(Sample)) -> Result<()> {
        self.0.samples(trial, |sample| {
            if sample.attempt == 0 {
                each(Sample {
                    code_space: CodeSpace::Ok,
                    code: 0,
                    flags: 0,
                    acquire_wait_ns: 1000,
                    lock_wait_ns: 1000,
                    ..sample
                });
            }
        })
    }

    fn series(&self, _trial: u32) -> Result<String> {
        Ok(String::new())
    }
}

/// Every name that the table accepts, with each possible part after the dot.
fn names(transactions: &[String]) -> Vec<String> {
    let mut names = vec![];
    for row in TABLE.iter() {
        let ends: Vec<&str> = match row.dot {
            Dot::Nothing => vec![],
            Dot::Kind => vec!["read", "write"],
            Dot::Transaction => ["read", "write"].into_iter().chain(transactions.iter().map(String::as_str)).collect(),
            Dot::Table => vec!["posts"],
        };
        names.push(row.name.clone());
        names.extend(ends.into_iter().map(|end| format!("{}.{end}", row.name)));
    }
    names
}

#[test]
fn every_name_that_is_accepted_has_a_value() {
    let dir = tempfile::tempdir().unwrap();
    let record = Measured(full(dir.path()));
    let findings = Findings::new(&record);
    let cell = findings.cells.iter().find(|cell| cell.has_data()).unwrap();
    let row = &findings.rows[cell.valid[0]];
    let mut without = vec![];
    for name in names(&findings.transactions) {
        let read = Name::read(&name).unwrap();
        let in_trial = read.of_trial(&name, row, &findings.transactions);
        if in_trial.is_none() || findings.estimator().named(&name, cell).is_none() {
            without.push(name);
        }
    }
    assert_eq!(without, [""; 0], "accepted, and an empty cell");
}

/// The table of `docs/metrics.md`.
fn table_of_docs() -> String {
    let mut out =
        "| name | unit | better | after a dot | of several rounds | meaning |\n|---|---|---|---|---|---|\n".to_string();
    for row in TABLE.iter().filter(|row| !row.label.is_empty()) {
        let (unit, better, dot) = (row.unit.word(), row.better_word(), row.dot.words());
        let over = row.over_rounds().words();
        let _ = writeln!(out, "| `{}` | {unit} | {better} | {dot} | {over} | {} |", row.name, row.label);
    }
    out
}

#[test]
fn the_page_about_metrics_has_the_table() {
    let page = include_str!("../../../../docs/metrics.md");
    assert!(page.contains(&table_of_docs()), "docs/metrics.md needs this table:\n\n{}", table_of_docs());
}
