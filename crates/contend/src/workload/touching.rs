//! Finds transactions that surely look at data, so that an engine cannot carry them out without looking at its files.

use super::model::Workload;
use super::sql::mentions;
use contend_wire::plan::Step;

/// Words after which a statement names a table.
const BEFORE_TABLES: [&str; 3] = ["from", "into", "update"];

/// Whether each transaction has a statement that names a table of the workload. (A workload cannot change settings, and so not how
/// files are read: a `PRAGMA` in it is an error.)
pub fn data(workload: &Workload) -> Vec<bool> {
    let statements = workload.plan_statements();
    let names_a_table = |sql: &str| {
        let placed = BEFORE_TABLES.iter().any(|word| mentions(sql, word));
        placed && workload.tables.iter().any(|table| mentions(sql, &table.name))
    };
    let touches = |step: &Step| match step {
        Step::Sql(step) if step.repeat > 0 => {
            statements.get(step.statement as usize).is_some_and(|statement| names_a_table(&statement.sql))
        }
        _ => false,
    };
    workload.transactions.iter().map(|transaction| transaction.steps.iter().any(touches)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use crate::workload::{LIBRARY, parse};

    #[test]
    fn every_transaction_of_bank_looks_at_data() {
        let bank = parse(&LIBRARY.find("bank").expect("it is there")).expect("a workload");
        assert_eq!(data(&bank), [true; 3]);
    }

    #[test]
    fn a_statement_without_a_table_looks_at_nothing() {
        let transaction = |(number, sql): (usize, &&str)| {
            format!("[transaction.t{number}]\nkind = 'read'\n[[transaction.t{number}.step]]\nsql = '{sql}'\n")
        };
        let statements = ["SELECT a FROM t", "SELECT 1", "SELECT 2 AS t"];
        let transactions: String = statements.iter().enumerate().map(transaction).collect();
        let text = format!(
            "about = 'x'\n[table.t]\nddl = 'CREATE TABLE t (a INTEGER)'\n{transactions}[profile.m]\nmix = {{ t0 = 1 }}\n"
        );
        let workload = parse(&Source::new("w.toml", text)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(data(&workload), [true, false, false]);
    }
}
