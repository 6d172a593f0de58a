//! Marks: every writing transaction also inserts a row into a table of contend. After a crash the marks show which
//! operations are in the data, because each mark is part of its transaction.

use super::generator::Fields;
use super::model::{Begin, Count, Table, Workload};
use contend_wire::plan::{Client, Source, SqlStep, Step, UNIQUE_STRIDE};

/// The table of marks. It has no key: rows are appended, so that marks add as few writes as possible.
const TABLE: &str = "contend_mark";
const DDL: &str = "CREATE TABLE contend_mark (mark INTEGER NOT NULL)";
const INSERT: &str = "INSERT INTO contend_mark (mark) VALUES (?)";

/// The query for all marks.
pub const QUERY: &str = "SELECT mark FROM contend_mark";

/// The workload with a mark as the last step of every writing transaction. Statements that committed one by one become
/// a transaction; otherwise they would commit without their mark.
pub fn with_marks(mut workload: Workload) -> Workload {
    if workload.transactions.iter().all(|transaction| !transaction.writes) {
        return workload;
    }
    workload.tables.push(Table {
        name: TABLE.to_string(),
        ddl: DDL.to_string(),
        indexes: vec![],
        rows: Count { factor: 0, name: None },
        columns: Fields(vec![]),
        content: None,
    });
    // The data differs, so the place in the cache must differ too.
    workload.data_definition.push_str(DDL);
    let statement = workload.statements.len() as u32;
    workload.statements.push(INSERT.to_string());
    for transaction in workload.transactions.iter_mut().filter(|transaction| transaction.writes) {
        transaction.steps.push(Step::Sql(SqlStep {
            statement,
            rows_min: 1,
            rows_max: 1,
            repeat: 1,
            keep: vec![],
            args: vec![Source::Unique { first: transaction.uniques, stride: 0 }],
        }));
        transaction.uniques += 1;
        if transaction.begin == Begin::None {
            transaction.begin = Begin::Contender;
        }
    }
    workload
}

/// The mark of each of a client's first `count` operations; `None` for operations without one.
pub fn marks_of(workload: &Workload, client: &Client, count: u32) -> Vec<Option<i64>> {
    let mut next = i64::from(client.id) * UNIQUE_STRIDE;
    let of = |number: u32| {
        let operation = &client.operations[number as usize % client.operations.len()];
        let transaction = &workload.transactions[usize::from(operation.transaction)];
        next += i64::from(transaction.uniques);
        transaction.writes.then_some(next - 1)
    };
    if client.operations.is_empty() { vec![] } else { (0..count).map(of).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source as File;
    use crate::workload::Data;
    use contend_wire::plan::Loop;

    // Transactions are numbered by name: the one that reads is the first.
    const TEXT: &str = r#"
about = "x"
[table.t]
ddl = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)"
[transaction.a_look]
kind = "read"
[[transaction.a_look.step]]
sql = "SELECT count(*) FROM t"
rows = 1
[transaction.b_add]
kind = "write"
begin = "none"
args = { own = { unique = true } }
[[transaction.b_add.step]]
sql = "INSERT INTO t (id, n) VALUES (:own, 1)"
rows = 1
"#;

    #[test]
    fn writes_leave_a_mark_in_their_own_transaction_and_reads_none() {
        let workload = crate::workload::parse(&File::new("w.toml", TEXT)).expect("a workload");
        let (before, plain) =
            (Data { workload: &workload, scale: 1.0, seed: 1 }.sha256(), workload.plan_transactions(Some("BEGIN")));
        let marked = with_marks(workload);
        assert_ne!(before, Data { workload: &marked, scale: 1.0, seed: 1 }.sha256(), "the data has a table more");
        assert!(marked.schema_sql().iter().any(|ddl| ddl == DDL));
        let transactions = marked.plan_transactions(Some("BEGIN"));
        assert_eq!(transactions[0].steps.len(), plain[0].steps.len());
        assert_eq!(transactions[1].steps.len(), plain[1].steps.len() + 1);
        assert_eq!((plain[1].begin.as_deref(), transactions[1].begin.as_deref()), (None, Some("BEGIN")));
        let Step::Sql(last) = transactions[1].steps.last().expect("a step") else { panic!("not SQL") };
        assert_eq!((last.rows_min, marked.statements[last.statement as usize].as_str()), (1, INSERT));
    }

    #[test]
    fn marks_follow_from_the_plan() {
        let marked = with_marks(crate::workload::parse(&File::new("w.toml", TEXT)).expect("a workload"));
        let uniques = i64::from(marked.transactions[1].uniques);
        let mut client = Client {
            id: 3,
            database: 0,
            load: Loop::Closed,
            cyclic: true,
            limit: 0,
            start_ns: 0,
            operations: vec![],
            arguments: vec![],
        };
        for transaction in [1, 0, 1] {
            client.push(0, transaction, []);
        }
        let base = 3 * UNIQUE_STRIDE;
        let expected = [Some(uniques), None, Some(2 * uniques), Some(3 * uniques), None];
        let expected: Vec<_> = expected.iter().map(|n| n.map(|n| base + n - 1)).collect();
        assert_eq!(marks_of(&marked, &client, 5), expected);
    }
}
