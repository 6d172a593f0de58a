//! Finds reads whose number of rows depends only on plan and data, so that every contender must return the same number.

use super::model::Workload;
use super::sql::mentions;
use contend_wire::plan::{Source, Step};

/// Functions that return another value each time.
const VOLATILE: [&str; 12] = [
    "random",
    "randomblob",
    "rand",
    "uuid",
    "gen_random_uuid",
    "now",
    "current_timestamp",
    "current_date",
    "current_time",
    "clock_timestamp",
    "localtimestamp",
    "changes",
];

/// Whether each transaction is such a read. In doubt it is not: a table counts as written if a writing statement
/// mentions it, and with triggers, cascades or views all tables do.
pub fn reads(workload: &Workload) -> Vec<bool> {
    let statements = workload.plan_statements();
    let schema = [workload.schema_sql(), workload.index_sql()].concat();
    let indirect = schema.iter().any(|sql| ["trigger", "cascade", "view"].iter().any(|word| mentions(sql, word)));
    let of_step = |step: &Step| match step {
        Step::Sql(step) => statements.get(step.statement as usize),
        _ => None,
    };
    let changing = |step: &Step| of_step(step).filter(|statement| statement.effect.changes);
    let all = || workload.transactions.iter().flat_map(|transaction| &transaction.steps);
    let tables = || workload.tables.iter().map(|table| table.name.as_str());
    let written: Vec<&str> =
        tables().filter(|table| all().filter_map(changing).any(|by| mentions(&by.sql, table))).collect();
    let unknown = indirect && !written.is_empty();
    let fixed = |step: &Step| match step {
        Step::Sql(sql) => of_step(step).is_some_and(|statement| {
            let varies = |source: &Source| !matches!(source, Source::Literal(_) | Source::Argument { .. });
            let volatile = VOLATILE.iter().any(|word| mentions(&statement.sql, word));
            let known = tables().any(|table| mentions(&statement.sql, table));
            let changed = written.iter().any(|table| mentions(&statement.sql, table));
            known && !changed && !volatile && !sql.args.iter().any(varies)
        }),
        Step::Hold { .. } | Step::Pause { .. } | Step::Connect => true,
        Step::Http(_) => false,
    };
    workload.transactions.iter().map(|t| !t.writes && !unknown && t.steps.iter().all(fixed)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{LIBRARY, parse};

    #[test]
    fn reads_of_what_nobody_writes_are_fixed() {
        let reads = |name| reads(&parse(&LIBRARY.find(name).expect("it is there")).expect("a workload"));
        assert_eq!(reads("rowread"), [true], "nothing is written");
        assert!(!reads("bank").contains(&true), "what is read is written");
    }
}
