//! Finds reads whose number of rows depends only on plan and data, so that every contender must return the same number, and
//! reads that find rows or none depending on which clients are ahead.

use super::model::{TransactionSpec, Workload};
use super::sql::{Brackets, mentions, words_and_signs};
use contend_wire::plan::{Source, Step};

/// Functions that return another value each time.
const VOLATILE: [&str; 21] = [
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
    "statement_timestamp",
    "transaction_timestamp",
    "sysdate",
    "curdate",
    "curtime",
    "utc_timestamp",
    "changes",
    "total_changes",
    "last_insert_rowid",
    "last_insert_id",
];

/// Functions that read the clock if they get no time.
const OF_A_TIME: [&str; 6] = ["date", "time", "datetime", "julianday", "unixepoch", "unix_timestamp"];

/// Whether a statement may return another value each time.
fn is_volatile(sql: &str) -> bool {
    let tokens = words_and_signs(sql, Brackets::Quote);
    let is = |token: &str, words: &[&str]| words.iter().any(|word| token.eq_ignore_ascii_case(word));
    let reads_clock = |call: &[&str]| match call {
        [name, "(", ")", ..] => is(name, &OF_A_TIME),
        [name, "(", _, ")"] => is(name, &["strftime"]),
        _ => false,
    };
    // SQLite takes a name in double quotes for a text.
    let is_now = |token: &&str| is(token, &["'now'", "\"now\""]);
    VOLATILE.iter().any(|word| mentions(sql, word))
        || tokens.iter().any(is_now)
        || (0..tokens.len()).any(|at| reads_clock(&tokens[at..tokens.len().min(at + 4)]))
}

/// Whether a statement may change a table that it does not mention: by a trigger, a key that acts, or a view.
pub fn changes_indirectly(workload: &Workload) -> bool {
    let schema = [workload.schema_sql(), workload.index_sql()].concat();
    let after_load = workload.after_load.iter().map(|after| &after.sql);
    schema.iter().chain(after_load).any(|sql| {
        let tokens = words_and_signs(sql, Brackets::Quote);
        let is = |token: &str, words: &[&str]| words.iter().any(|word| token.eq_ignore_ascii_case(word));
        let acts =
            |of: &[&str]| is(of[0], &["delete", "update"]) && is(of[1], &["set"]) && is(of[2], &["null", "default"]);
        ["trigger", "cascade", "view"].iter().any(|word| mentions(sql, word)) || tokens.windows(3).any(acts)
    })
}

/// Whether each transaction is such a read. In doubt it is not: a table counts as written if a writing statement
/// mentions it, and with triggers, cascades or views all tables do.
pub fn reads(workload: &Workload) -> Vec<bool> {
    let statements = workload.plan_statements();
    let indirect = changes_indirectly(workload);
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
            let known = tables().any(|table| mentions(&statement.sql, table));
            let changed = written.iter().any(|table| mentions(&statement.sql, table));
            known && !changed && !is_volatile(&statement.sql) && !sql.args.iter().any(varies)
        }),
        Step::Hold { .. } | Step::Pause { .. } | Step::Connect => true,
        Step::Http(_) => false,
    };
    workload.transactions.iter().map(|t| !t.writes && !unknown && t.steps.iter().all(fixed)).collect()
}

/// Whether each transaction is a read of tables whose rows other clients take away from it, as from a queue: all of them are
/// deleted from, or a column that the read searches by is updated.
pub fn raced(workload: &Workload) -> Vec<bool> {
    let statements = workload.plan_statements();
    let of_step = |step: &Step| match step {
        Step::Sql(step) => statements.get(step.statement as usize).map(|statement| statement.sql.as_str()),
        _ => None,
    };
    let is_any = |token: &str, words: &[&str]| words.iter().any(|word| token.eq_ignore_ascii_case(word));
    // Columns that a read compares: `state = 'open'`, `n < 5`.
    let compares = |search: &[&str], column: &str| {
        let is_compared =
            |pair: &[&str]| mentions(column, pair[0]) && is_any(pair[1], &["=", "<", ">", "!", "in", "is"]);
        search.windows(2).any(is_compared)
    };
    let takes = |sql: &str, table: &str, search: &[&str]| {
        let tokens = words_and_signs(sql, Brackets::Quote);
        let set = tokens.iter().skip_while(|token| !is_any(token, &["set"]));
        let set: Vec<&str> = set.take_while(|token| !is_any(token, &["where"])).copied().collect();
        let sets = set.windows(2).any(|pair| pair[1] == "=" && compares(search, pair[0]));
        mentions(sql, table) && (sets || tokens.iter().any(|token| is_any(token, &["delete"])))
    };
    let all: Vec<&str> = workload.transactions.iter().flat_map(|t| t.steps.iter().filter_map(of_step)).collect();
    let is_raced = |sql: &str| {
        let tokens = words_and_signs(sql, Brackets::Quote);
        let search = tokens.iter().position(|token| is_any(token, &["where"])).map_or(&[][..], |at| &tokens[at..]);
        let tables = workload.tables.iter().map(|table| table.name.as_str());
        let mut read = tables.filter(|table| mentions(sql, table)).peekable();
        read.peek().is_some() && read.all(|table| all.iter().any(|by| takes(by, table, search)))
    };
    let is_read = |t: &TransactionSpec| {
        let mut sql = t.steps.iter().filter_map(of_step).peekable();
        !t.writes && sql.peek().is_some() && sql.all(is_raced)
    };
    workload.transactions.iter().map(is_read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use crate::workload::{LIBRARY, parse};

    #[test]
    fn a_read_of_a_queue_depends_on_who_is_ahead() {
        let raced = |read: &str, write: &str| {
            let text = format!(
                "about = 'x'\n[table.job]\nddl = 'CREATE TABLE job (id INTEGER PRIMARY KEY, state TEXT, n INTEGER)'\n\
                 [table.other]\nddl = 'CREATE TABLE other (id INTEGER PRIMARY KEY)'\n\
                 [transaction.r]\nkind = 'read'\n[[transaction.r.step]]\nsql = \"{read}\"\n\
                 [transaction.w]\nkind = 'write'\n[[transaction.w.step]]\nsql = \"{write}\"\n"
            );
            super::raced(&parse(&Source::new("w.toml", text)).unwrap())[0]
        };
        let open = "SELECT id FROM job WHERE state = 'open'";
        assert!(
            raced(open, "DELETE FROM job WHERE id = 1")
                && raced(open, "UPDATE job SET n = 1, state = 'x' WHERE id = 2")
        );
        assert!(!raced(open, "UPDATE job SET n = n + 1 WHERE state = 'open'") && !raced(open, "DELETE FROM other"));
        assert!(!raced("SELECT job.id FROM job, other", "DELETE FROM other"), "the rows of the other table stay");
        for source in LIBRARY.sources() {
            let workload = parse(&source).unwrap();
            let names = workload.transactions.iter().map(|t| t.name.as_str());
            let raced: Vec<&str> =
                names.zip(super::raced(&workload)).filter(|(_, raced)| *raced).map(|(n, _)| n).collect();
            assert!(raced.is_empty(), "{}: {raced:?}", source.name);
        }
    }

    #[test]
    fn reads_of_what_nobody_writes_are_fixed() {
        let reads = |name| reads(&parse(&LIBRARY.find(name).expect("it is there")).expect("a workload"));
        assert_eq!(reads("rowread"), [true], "nothing is written");
        assert!(!reads("bank").contains(&true), "what is read is written");
    }

    #[test]
    fn a_read_of_the_clock_is_not_fixed() {
        for volatile in ["unixepoch()", "date( )", "strftime('%s')", "datetime('NOW', '-1 day')", "random() > 1"] {
            assert!(is_volatile(&format!("SELECT a FROM t WHERE a > {volatile}")), "{volatile}");
        }
        for fixed in ["datetime(?, 'unixepoch')", "strftime('%s', b)", "date", "time(b)", "'nowhere'"] {
            assert!(!is_volatile(&format!("SELECT a FROM t WHERE a > {fixed}")), "{fixed}");
        }
    }
}
