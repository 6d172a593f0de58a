//! Which reads return the rows with one value in a table to which clients only add: how many there are follows from
//! what was committed, and so does the number of rows that such a read may return.

use super::fixed::changes_indirectly;
use super::model::Workload;
use super::sql::{Brackets, mentions, words_and_signs};
use crate::growing::Growing;
use contend_wire::plan::{Source, SqlStep, Step};
use contend_wire::statement::Statement;

/// An INSERT of one row: the table, its columns, and for each the number of its placeholder if it is one.
struct Insert<'s> {
    table: &'s str,
    columns: Vec<&'s str>,
    values: Vec<Option<usize>>,
}

/// A SELECT of all rows with one value.
struct Select<'s> {
    table: &'s str,
    column: &'s str,
    most: u64,
    value: usize,
}

/// The reads of a workload at this scale that are such. In doubt a read is none: SQL is recognised, not understood.
pub fn reads(workload: &Workload, scale: f64) -> Vec<Growing> {
    let statements = workload.plan_statements();
    let brackets = workload.brackets();
    if changes_indirectly(workload) || workload.login.is_some() {
        return vec![];
    }
    let all =
        || workload.transactions.iter().enumerate().flat_map(|(at, t)| t.steps.iter().map(move |step| (at, step)));
    let sql = |step| of_step(step, &statements);
    let mut found = vec![];
    for (at, spec) in workload.transactions.iter().enumerate().filter(|(_, spec)| !spec.writes) {
        let mut growing = vec![];
        let (mut least, mut most) = (0, 0_u64);
        for step in &spec.steps {
            let Some((step, statement)) = sql(step) else { continue };
            let select = select(&statement.sql, brackets).filter(|_| step.repeat == 1);
            let select = select.and_then(|select| argument(step, select.value).map(|argument| (select, argument)));
            let added = select.as_ref().and_then(|(select, _)| {
                let is_empty = workload.tables.iter().any(|table| {
                    table.name.eq_ignore_ascii_case(select.table) && table.rows.at(&workload.scale, scale) == 0
                });
                let untouched = workload.after_load.iter().all(|after| !mentions(&after.sql, select.table));
                let inserts = all().filter_map(|(at, step)| Some((at, sql(step)?)));
                (is_empty && untouched).then(|| added_by(inserts, select, brackets))?
            });
            match (select, added) {
                (Some((select, argument)), Some(added_by)) => growing.push((argument, select.most, added_by)),
                _ => {
                    let times = u64::from(step.repeat);
                    least += times * u64::from(step.rows_min);
                    most = most.saturating_add(times.saturating_mul(u64::from(step.rows_max)));
                }
            }
        }
        // Of two the sum is known, not each.
        if let [(argument, limit, added_by)] = &growing[..] {
            let (argument, limit, added_by) = (*argument, *limit, added_by.clone());
            found.push(Growing { transaction: at as u16, argument, most: limit, others: (least, most), added_by });
        }
    }
    found
}

fn of_step<'s>(step: &'s Step, statements: &'s [Statement]) -> Option<(&'s SqlStep, &'s Statement)> {
    let Step::Sql(step) = step else { return None };
    Some((step, statements.get(step.statement as usize)?))
}

/// The argument of the operation that a placeholder gets, counted from 0.
fn argument(step: &SqlStep, placeholder: usize) -> Option<u16> {
    match step.args.get(placeholder)? {
        Source::Argument { first, .. } => Some(*first),
        _ => None,
    }
}

/// What adds rows to a table; none if it is changed in another way, too.
fn added_by<'s>(
    all: impl Iterator<Item = (usize, (&'s SqlStep, &'s Statement))>,
    select: &Select<'_>,
    brackets: Brackets,
) -> Option<Vec<(u16, u16)>> {
    let changing = all.filter(|(_, (_, by))| by.effect.changes && mentions(&by.sql, select.table));
    changing
        .map(|(at, (step, statement))| {
            let insert = insert(&statement.sql, brackets).filter(|_| step.repeat == 1 && step.rows_min == 1)?;
            let column = insert.columns.iter().position(|column| column.eq_ignore_ascii_case(select.column))?;
            let is_into = insert.table.eq_ignore_ascii_case(select.table);
            is_into.then_some((at as u16, argument(step, insert.values[column]?)?))
        })
        .collect()
}

/// `INSERT INTO t (a, b) VALUES (?, ?)` and nothing else; a value may be any expression.
fn insert(sql: &str, brackets: Brackets) -> Option<Insert<'_>> {
    let tokens = words_and_signs(sql, brackets);
    let (table, rest) = after(&tokens, &["insert", "into"])?.split_first()?;
    let (columns, rest) = in_parentheses(rest)?;
    let columns: Vec<&str> =
        columns.iter().map(|column| (column.len() == 1).then(|| name(column[0]))).collect::<Option<_>>()?;
    let (values, rest) = in_parentheses(after(rest, &["values"])?)?;
    let mut before = 0;
    let values: Vec<Option<usize>> = values
        .iter()
        .map(|value| {
            let first = before;
            before += value.iter().filter(|token| is_placeholder(token)).count();
            // A server's may be written with its type: `$1::bigint`.
            let alone = matches!(value[..], [_] | [_, "::", _]);
            value.first().filter(|_| alone).and_then(|token| number(token, first))
        })
        .collect();
    (rest.is_empty() && columns.len() == values.len()).then(|| Insert { table: name(table), columns, values })
}

/// `SELECT a, b FROM t WHERE c = ?`, with ORDER BY and a LIMIT or without; no functions.
fn select(sql: &str, brackets: Brackets) -> Option<Select<'_>> {
    let tokens = words_and_signs(sql, brackets);
    let listed = after(&tokens, &["select"])?;
    let from = listed.iter().position(|token| token.eq_ignore_ascii_case("from"))?;
    let (list, rest) = listed.split_at(from);
    let plain =
        |tokens: &[&str]| tokens.iter().all(|token| *token != "(" && !is_placeholder(token) && !is_word_of(token));
    let [table, rest @ ..] = after(rest, &["from"])? else { return None };
    let [column, equals, value, rest @ ..] = after(rest, &["where"])? else { return None };
    // A server's value may be written with its type.
    let rest = if let ["::", _, rest @ ..] = rest { rest } else { rest };
    let limit = rest.iter().position(|token| token.eq_ignore_ascii_case("limit")).unwrap_or(rest.len());
    let (order, limit) = rest.split_at(limit);
    let most = match limit {
        [] => u64::MAX,
        [_, number] => number.parse().ok()?,
        _ => return None,
    };
    let ordered = order.is_empty() || after(order, &["order", "by"]).is_some_and(plain);
    let fits = plain(list) && ordered && *equals == "=";
    let value = number(value, 0).filter(|_| fits)?;
    Some(Select { table: name(table), column: name(column), most, value })
}

/// What a list of columns or an ORDER BY has only if it is more than that.
fn is_word_of(token: &str) -> bool {
    ["distinct", "all", "where", "group", "union", "except", "intersect", "for", "offset", "collate"]
        .iter()
        .any(|word| token.eq_ignore_ascii_case(word))
}

fn is_placeholder(token: &str) -> bool {
    token.starts_with(['?', '$'])
}

/// The number of a placeholder, from 0, after `before` others; `None` if it is something else.
fn number(token: &str, before: usize) -> Option<usize> {
    let written = token.strip_prefix(['?', '$'])?;
    if written.is_empty() { Some(before) } else { written.parse::<usize>().ok()?.checked_sub(1) }
}

fn name(token: &str) -> &str {
    token.trim_matches(['"', '`', '[', ']'])
}

/// The rest, if it begins with these words.
fn after<'t, 's>(tokens: &'t [&'s str], words: &[&str]) -> Option<&'t [&'s str]> {
    let (first, rest) = tokens.split_at_checked(words.len())?;
    first.iter().zip(words).all(|(token, word)| token.eq_ignore_ascii_case(word)).then_some(rest)
}

/// What stands between commas in parentheses, and the rest.
fn in_parentheses<'t, 's>(tokens: &'t [&'s str]) -> Option<(Vec<Vec<&'s str>>, &'t [&'s str])> {
    let mut depth = 0;
    let mut found = vec![vec![]];
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        match (*token, depth) {
            (")", 0) => return Some((found, &tokens[at + 1..])),
            (_, 0) => return None,
            ("(", 1) => {}
            (",", 1) => found.push(vec![]),
            _ => found.last_mut()?.push(*token),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source as File;
    use crate::workload::{Dialect, LIBRARY, parse, spoken};

    #[test]
    fn the_transfers_of_an_account_grow_with_what_it_sends() {
        let bank = parse(&LIBRARY.find("bank").expect("it is there")).expect("a workload");
        let [transfer, overdraft] =
            ["transfer", "overdraft"].map(|name| bank.transaction(name).expect("it is there") as u16);
        let balance = bank.transaction("balance").expect("it is there") as u16;
        let found = reads(&bank, 1.0);
        let [growing] = &found[..] else { panic!("{found:?}") };
        assert_eq!((growing.transaction, growing.most, growing.others), (balance, 10, (1, 1)));
        let adders: Vec<u16> = growing.added_by.iter().map(|(transaction, _)| *transaction).collect();
        let mut both = [transfer, overdraft];
        both.sort_unstable();
        assert_eq!(adders, both);
    }

    #[test]
    fn what_grows_on_a_server_is_the_same() {
        let bank = parse(&LIBRARY.find("bank").expect("it is there")).expect("a workload");
        for target in [contend_sql::Target::Postgres, contend_sql::Target::MariaDb] {
            let other = spoken(&bank, Dialect::of_server(target), str::to_string).expect("translated");
            assert_eq!(reads(&other, 1.0), reads(&bank, 1.0), "{:?}", other.statements);
        }
    }

    /// Whether the read of `t` by `a` is one, with these statements of the writing transaction.
    fn grows(read: &str, writes: &[&str], ddl: &str, rows: u32) -> bool {
        let loaded = format!("rows = {rows}\ncolumns = {{ a = {{ serial = 1 }}, b = 1 }}");
        let rows = if rows > 0 { &loaded } else { "" };
        let steps: String =
            writes.iter().map(|sql| format!("[[transaction.w.step]]\nsql = '{sql}'\nrows = 1\n")).collect();
        let text = format!(
            "about = 'x'\n[table.t]\nddl = '{ddl}'\n{rows}\n\
             [transaction.r]\nkind = 'read'\nargs = {{ a = {{ range = [1, 5] }} }}\n[[transaction.r.step]]\nsql = '{read}'\n\
             [transaction.w]\nkind = 'write'\nargs = {{ a = {{ range = [1, 5] }} }}\n{steps}[profile.m]\nmix = {{ r = 1, w = 1 }}\n"
        );
        let workload = parse(&File::new("w.toml", text)).unwrap_or_else(|error| panic!("{error}"));
        !reads(&workload, 1.0).is_empty()
    }

    #[test]
    fn in_doubt_a_read_does_not_grow() {
        let (ddl, read, insert) = (
            "CREATE TABLE t (a INTEGER, b INTEGER)",
            "SELECT b FROM t WHERE a = :a",
            "INSERT INTO t (a, b) VALUES (:a, 1 + 2)",
        );
        assert!(grows(read, &[insert], ddl, 0));
        assert!(grows("select b, a from \"t\" where a = :a order by b desc limit 3", &[insert], ddl, 0));
        for other in [
            "SELECT count(b) FROM t WHERE a = :a",
            "SELECT DISTINCT b FROM t WHERE a = :a",
            "SELECT b FROM t WHERE a > :a",
            "SELECT b FROM t WHERE a = :a AND b = 1",
            "SELECT b FROM t WHERE a = :a LIMIT 3 OFFSET 1",
            "SELECT b FROM t WHERE a = :a GROUP BY b",
            "SELECT b FROM t WHERE a = abs(:a)",
            "SELECT t.b FROM t, t AS u WHERE t.a = :a",
        ] {
            assert!(!grows(other, &[insert], ddl, 0), "{other}");
        }
        for other in [
            "INSERT OR IGNORE INTO t (a, b) VALUES (:a, 1)",
            "INSERT INTO t (a, b) VALUES (:a, 1), (:a, 2)",
            "INSERT INTO t (a, b) VALUES (:a + 1, 1)",
            "INSERT INTO t (a, b) VALUES (:a, 1) ON CONFLICT DO NOTHING",
            "INSERT INTO t (b) VALUES (:a)",
            "INSERT INTO t SELECT :a, 1",
            "UPDATE t SET b = 2 WHERE a = :a",
        ] {
            assert!(!grows(read, &[other], ddl, 0) && !grows(read, &[insert, other], ddl, 0), "{other}");
        }
        assert!(!grows(read, &[insert], ddl, 5), "rows that are there already");
        let keyed = "CREATE TABLE t (a INTEGER REFERENCES t (a) ON DELETE CASCADE, b INTEGER)";
        assert!(!grows(read, &[insert], keyed, 0), "rows that go by themselves");
    }
}
