//! The built-in workloads on real SQLite: they load, every statement prepares, drawn operations find
//! the rows they expect, and the invariants hold afterwards.

use super::draw::plan;
use super::{built_in, load, no_file, small, target};
use crate::workload::model::Workload;
use crate::workload::{Data, DrawRequest};
use contend_wire::literal::Value;
use contend_wire::plan::{ANY_ROWS, Client, Operation, Plan, Source, SqlStep, Step, UNIQUE_STRIDE};
use contend_wire::script::{ScriptLine, ScriptReader};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};
use std::collections::BTreeMap;

/// A value as rusqlite takes and gives it.
struct Sql(Value);

impl ToSql for Sql {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match &self.0 {
            Value::Null => ValueRef::Null,
            Value::Integer(i) => ValueRef::Integer(*i),
            Value::Real(r) => ValueRef::Real(*r),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
            Value::TextRef(_) => unreachable!("resolved before"),
        };
        Ok(ToSqlOutput::Borrowed(value))
    }
}

fn from_sql(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(i) => Value::Integer(i),
        ValueRef::Real(r) => Value::Real(r),
        ValueRef::Text(text) => Value::Text(String::from_utf8(text.to_vec()).unwrap()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

fn loaded(workload: &Workload, scale: f64) -> Connection {
    let db = Connection::open_in_memory().unwrap();
    Data { workload, scale, seed: 1 }
        .scripts(1 << 20, &target(), &no_file, &mut |script| {
            db.execute_batch("BEGIN")?;
            let mut insert = String::new();
            for line in ScriptReader::new(&script)? {
                match line?.1 {
                    ScriptLine::Sql(statement) => db.execute_batch(&statement.sql)?,
                    ScriptLine::Load(load) => insert = load.sql,
                    ScriptLine::Row(row) => {
                        db.prepare_cached(&insert)?.execute(params_from_iter(row.into_iter().map(Sql)))?;
                    }
                }
            }
            Ok(db.execute_batch("COMMIT")?)
        })
        .unwrap();
    db
}

/// Carries out plans one operation at a time.
struct Runner<'a> {
    db: &'a Connection,
    plan: &'a Plan,
    unique: i64,
    committed: Vec<u64>,
    rejected: u64,
}

impl Runner<'_> {
    fn operation(&mut self, client: &Client, op: &Operation) {
        let transaction = &self.plan.head.transactions[usize::from(op.transaction)];
        if let Some(begin) = &transaction.begin {
            self.db.execute_batch(begin).unwrap();
        }
        let mut kept = vec![vec![]; usize::from(transaction.slots)];
        let met = transaction.steps.iter().all(|step| match step {
            Step::Sql(step) => (0..step.repeat).all(|repetition| self.step(step, repetition, (client, op), &mut kept)),
            _ => true,
        });
        self.unique += i64::from(transaction.uniques);
        if transaction.begin.is_some() {
            self.db.execute_batch(if met { "COMMIT" } else { "ROLLBACK" }).unwrap();
        }
        self.committed[usize::from(op.transaction)] += u64::from(met);
        self.rejected += u64::from(!met);
    }

    fn step(
        &self,
        step: &SqlStep,
        repetition: u32,
        (client, op): (&Client, &Operation),
        kept: &mut [Vec<Value>],
    ) -> bool {
        let sql = &self.plan.head.statements[step.statement as usize].sql;
        let arguments = client.arguments_of(op);
        let value = |source: &Source| match source {
            Source::Literal(value) => value.clone(),
            Source::Argument { first, stride } => {
                match &arguments[usize::from(*first) + usize::from(*stride) * repetition as usize] {
                    Value::TextRef(n) => Value::Text(self.plan.head.texts[*n as usize].clone()),
                    value => value.clone(),
                }
            }
            Source::Kept { slot, plus } => match kept[usize::from(*slot)].first() {
                Some(Value::Integer(i)) => Value::Integer(i + plus),
                value => value.cloned().unwrap_or(Value::Null),
            },
            Source::KeptRow { slot, row } => {
                kept[usize::from(*slot)].get(usize::from(*row)).cloned().unwrap_or(Value::Null)
            }
            Source::Unique { first, stride } => Value::Integer(
                i64::from(client.id) * UNIQUE_STRIDE
                    + self.unique
                    + i64::from(*first)
                    + i64::from(*stride) * i64::from(repetition),
            ),
            Source::Session { .. } => panic!("a workload has no login"),
            Source::Now { unit_ns } => Value::Integer(1_750_000_000_000_000_000 / *unit_ns as i64),
        };
        let values: Vec<Sql> = step.args.iter().map(value).map(Sql).collect();
        let mut statement = self.db.prepare_cached(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        let returns = statement.column_count() > 0;
        let mut found = vec![];
        let mut rows = statement.query(params_from_iter(values)).unwrap();
        while let Some(row) = rows.next().unwrap_or_else(|e| panic!("{sql}: {e}")) {
            found.push(
                step.keep.iter().map(|k| from_sql(row.get_ref(usize::from(k.column)).unwrap())).collect::<Vec<_>>(),
            );
        }
        drop(rows);
        for (i, keep) in step.keep.iter().enumerate() {
            kept[usize::from(keep.slot)] = found.iter().take(keep.rows.into()).map(|row| row[i].clone()).collect();
        }
        let count = if returns { found.len() as u64 } else { self.db.changes() };
        count >= u64::from(step.rows_min) && (step.rows_max == ANY_ROWS || count <= u64::from(step.rows_max))
    }
}

/// Loads, runs some operations of every client, and checks the invariants. Returns the share rejected.
fn pass(workload: &Workload, scale: f64, operations: u32) -> f64 {
    let db = loaded(workload, scale);
    for sql in &workload.statements {
        db.prepare(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let load = load(Some(operations));
    let axes = BTreeMap::new();
    let profile = workload.profiles.keys().last().map(String::as_str);
    let drawn = workload.draw_clients(&DrawRequest { seed: 1, scale, profile, load: &load, axes: &axes }).unwrap();
    let mut committed = vec![0; workload.transactions.len()];
    let (mut rejected, mut all) = (0, 0);
    for worker in 0..drawn.workers.len() {
        let plan = plan(workload, &drawn, worker);
        for client in &plan.clients {
            let mut runner = Runner { db: &db, plan: &plan, unique: 0, committed, rejected };
            for op in &client.operations {
                runner.operation(client, op);
                all += 1;
            }
            (committed, rejected) = (runner.committed, runner.rejected);
        }
    }
    let rows = workload.rows(scale);
    for (table, expected) in &rows {
        let found: i64 = db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        assert!(found >= *expected as i64, "{table} has {found} rows of {expected}");
    }
    assert!(!workload.invariants.is_empty());
    for invariant in &workload.invariants {
        let found = db.query_row(&invariant.sql, [], |row| Ok(from_sql(row.get_ref(0)?))).unwrap();
        let judged = invariant.judge(&[vec![found]], &rows, |t| (committed[t], 0));
        assert!(judged.holds, "{}: {judged:?}", invariant.name);
    }
    f64::from(rejected as u32) / f64::from(all)
}

#[test]
fn wordpress_runs_and_every_row_expectation_is_met() {
    assert_eq!(pass(&built_in("wordpress"), 1.0, 60), 0.0);
}

#[test]
fn chain_runs_and_its_invariants_hold() {
    assert_eq!(pass(&built_in("chain"), 1.0, 20), 0.0);
}

#[test]
fn bank_runs_as_anyones_own_file() {
    let rejected = pass(&built_in("bank"), 1.0, 2000);
    assert!(rejected < 0.05, "{rejected} of the operations were rejected");
}

#[test]
fn a_workload_with_every_kind_of_step_runs() {
    assert_eq!(pass(&small(), 3.0, 50), 0.0);
}

#[test]
fn the_example_of_the_documentation_runs() {
    let page = include_str!("../../../../../docs/workload-file.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let workload = crate::workload::parse(&crate::source::Source::new("example.toml", example)).unwrap();
    assert_eq!(pass(&workload, 1.0, 100), 0.0);
}
