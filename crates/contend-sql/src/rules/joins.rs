//! Conditions of joins by name, and full joins.

use crate::catalogue::Kind;
use crate::emit::{Tr, plain};
use crate::parse::tree::{Expr, JoinConstraint, JoinedSelectTable, Operator, SelectTable};
use crate::refuse::{R, no};
use crate::rules::literals::bare;
use crate::rules::{Id, columns, compare};
use crate::scope::{Found, Source};
use crate::types::{Affinity, Sides, Val};

/// The condition of USING and NATURAL: each shared column equals that of the first table with it.
pub(crate) fn shared_columns(tr: &mut Tr, joined: usize) -> R<()> {
    let here = tr.known.scopes.len() - 1;
    let sources = &tr.known.scopes[here].sources;
    let columns = sources[joined].joined.clone();
    if columns.is_empty() {
        tr.put("TRUE");
        return Ok(());
    }
    for (i, column) in columns.into_iter().enumerate() {
        if i > 0 {
            tr.put(" AND ");
        }
        let sources = &tr.known.scopes[here].sources;
        let name = &sources[joined].columns.all()[column].name;
        let earlier = sources[..joined].iter().enumerate().find_map(|(s, source)| Some((s, has(source, name)?)));
        let Some((source, earlier)) = earlier else {
            return no(Id::UnknownColumn, name, "no earlier table has this column of USING");
        };
        let start = tr.at();
        let l = columns::write_column(tr, &Found { scope: here, source, column: earlier }, true)?;
        let left_end = tr.at();
        tr.put(" = ");
        let right_start = tr.at();
        let r = columns::write_column(tr, &Found { scope: here, source: joined, column }, true)?;
        compare::agree(tr, Sides { start, left_end, right_start, l, r }, false)?;
    }
    Ok(())
}

/// The shared column of a full join: the value of the side that has a row.
pub(crate) fn mixed_column(tr: &mut Tr, (left, right): (Found, Found)) -> R<Val> {
    tr.fire(Id::FullJoin);
    tr.put("COALESCE(");
    let l = columns::write_column(tr, &left, true)?;
    tr.put(", ");
    let r = columns::write_column(tr, &right, true)?;
    tr.put(")");
    if l.ty != r.ty || l.collation != r.collation {
        return no(Id::FullJoin, tr.place.token, "the columns of this name have different types or collations");
    }
    Ok(Val { affinity: Affinity::None, column: false, ..l })
}

/// Whether columns are equal by the condition of a join, which is what PostgreSQL's full join is limited to.
pub(crate) fn by_equality(join: &JoinedSelectTable) -> bool {
    let mut rest = match &join.constraint {
        Some(JoinConstraint::On(condition)) => condition,
        _ => return true,
    };
    let is_column = |expr: &Expr| matches!(bare(expr), Expr::Id(_) | Expr::Qualified(..));
    let is_equality = |expr: &Expr| match bare(expr) {
        Expr::Binary(l, Operator::Equals, r) => is_column(l) && is_column(r),
        _ => false,
    };
    while let Expr::Binary(l, Operator::And, r) = bare(rest) {
        if !is_equality(r) {
            return false;
        }
        rest = l;
    }
    is_equality(rest)
}

/// A full join of two tables where the server has none, as MariaDB: the rows of the left table with those of the right one, then
/// the rows of the right table that no row of the left one meets.
pub(crate) fn full_join<'a>(tr: &mut Tr<'a>, left: &'a SelectTable<'a>, join: &'a JoinedSelectTable<'a>) -> R<()> {
    tr.fire(Id::FullJoin);
    let side = |n: u8| format!("\"contend_side\".\"k\" = {n}");
    tr.put("(SELECT 0 AS \"k\" UNION ALL SELECT 1) AS \"contend_side\" LEFT JOIN ");
    let l = with_mark(tr, left, 0)?;
    tr.put(&format!(" ON {} LEFT JOIN ", side(0)));
    let r = with_mark(tr, &join.table, 1)?;
    tr.put(&format!(" ON {} AND (", side(0)));
    condition(tr, join)?;
    tr.put(&format!(") OR {} AND NOT EXISTS (SELECT 1 FROM ", side(1)));
    plain_table(tr, left)?;
    tr.put(" AS ");
    tr.name(&l)?;
    tr.put(" WHERE ");
    condition(tr, join)?;
    tr.put(") JOIN (SELECT 1 AS \"k\") AS \"contend_kept\" ON ");
    for (n, name) in [l, r].iter().enumerate() {
        tr.put(if n == 0 { "" } else { " OR " });
        tr.put(&side(n as u8));
        tr.put(" AND ");
        tr.name(name)?;
        tr.put(".\"contend_row\" = 1");
    }
    Ok(())
}

fn condition<'a>(tr: &mut Tr<'a>, join: &'a JoinedSelectTable<'a>) -> R<()> {
    match &join.constraint {
        Some(JoinConstraint::On(condition)) => tr.condition(condition).map(drop),
        _ => shared_columns(tr, 1),
    }
}

/// Writes a table with a column that says that there is a row. Returns its name in the query.
fn with_mark<'a>(tr: &mut Tr<'a>, table: &'a SelectTable<'a>, place: usize) -> R<String> {
    let here = tr.known.scopes.len() - 1;
    let name = tr.known.scopes[here].sources[place].name.to_string();
    tr.put("(SELECT 1 AS \"contend_row\", \"contend_table\".* FROM ");
    plain_table(tr, table)?;
    tr.put(" AS \"contend_table\") AS ");
    tr.name(&name)?;
    Ok(name)
}

/// Writes the name of a table, which must not be a query.
fn plain_table<'a>(tr: &mut Tr<'a>, table: &'a SelectTable<'a>) -> R<()> {
    match table {
        SelectTable::Table(name, ..) => {
            let known = tr.input.catalogue.table(&plain(name.name.0)).filter(|table| table.kind != Kind::Opaque);
            let name = known.map_or(plain(name.name.0), |table| table.name.as_str().into());
            tr.name(&name)
        }
        _ => no(Id::FullJoin, "FULL", "a full join of a query, which the server has not"),
    }
}

/// The position of a column in a source, by its name.
pub(crate) fn has(source: &Source, name: &str) -> Option<usize> {
    source.columns.all().iter().position(|c| c.name.eq_ignore_ascii_case(name))
}
