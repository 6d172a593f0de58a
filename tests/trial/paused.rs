//! Clients that pause for longer than their trial's window: each has one operation in it, or none.

use crate::support::Bench;
use contend::outcome::reason::Invalid;
use contend::record::store::Record;
use std::fs;

const WORKLOAD: &str = "
about = 'Rows that clients read now and then'
[scale]
rows_t = 10
[table.t]
ddl = 'CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER NOT NULL)'
rows = 'rows_t'
[table.t.columns]
id = { serial = 1 }
v = { range = [1, 100] }
[transaction.look]
kind = 'read'
begin = 'none'
[[transaction.look.step]]
sql = 'SELECT v FROM t WHERE id = 3'
[role.client]
processes = 2
clients = 4
pause = { exponential = '400ms' }
mix = { look = 1 }
";

const STUDY: &str = "
question = 'Do pauses count?'
workload = 'workload.toml'
kind = 'load'
headline = 'throughput_ops_per_s'
rounds = 6
[load]
window = '500ms'
run_in = '200ms'
[[contender]]
engine = 'sqlite'
settings = { journal_mode = 'wal', synchronous = 'full', busy_timeout = 5000, begin = 'deferred' }
";

#[test]
fn trials_of_clients_that_pause_across_the_edges_of_the_window_count() {
    let bench = Bench::new();
    fs::write(bench.path("workload.toml"), WORKLOAD).expect("written");
    fs::write(bench.path("study.toml"), STUDY).expect("written");
    let said = bench.contend(&["run", "study.toml", "--out", "record", "--quiet"]);
    let record = Record::open(&bench.path("record")).unwrap_or_else(|e| panic!("{e:#}: {said:?}"));
    assert_eq!(record.trials.len(), 6, "{said:?}");
    let reasons = record.trials.iter().flat_map(|trial| &trial.invalid);
    let of_pauses: Vec<_> = reasons.filter(|reason| reason.kind == Invalid::LittlesLaw).collect();
    // The machine can hold up one worker for 25 ms, and not that of every trial.
    assert!(2 * of_pauses.len() <= record.trials.len(), "{of_pauses:?}");
}
