//! Recursive queries: LIMIT inside of them, and the types of their columns on MariaDB.

use std::rc::Rc;

use crate::catalogue::Column;
use crate::emit::{Extra, Tr, plain};
use crate::parse::tree::{
    CommonTableExpr, CompoundOperator, CompoundSelect, OneSelect, ResultColumn, Select, SelectTable,
};
use crate::refuse::{R, no};
use crate::rules::arithmetic::constant;
use crate::rules::{Id, order};
use crate::types::Ty;

/// Whether a recursive query gives its rows in the same order on PostgreSQL: each row leads to at most one other.
pub(crate) fn in_one_order(select: &Select, name: &str) -> bool {
    let from_itself = |part: &CompoundSelect| match &part.select {
        OneSelect::Select { from: Some(from), group_by: None, having: None, distinctness: None, .. } => {
            from.joins.as_deref().unwrap_or_default().is_empty()
                && matches!(from.select, Some(SelectTable::Table(table, _, _)) if plain(table.name.0).eq_ignore_ascii_case(name))
        }
        _ => false,
    };
    let from_nothing = !matches!(&select.body.select, OneSelect::Select { from: Some(_), .. });
    match select.body.compounds.as_deref() {
        Some([only]) if from_nothing => only.operator == CompoundOperator::UnionAll && from_itself(only),
        _ => false,
    }
}

/// Moves the LIMIT of a recursive query, written since `start`, around it: PostgreSQL has none inside, and computes no
/// more rows than are read.
pub(crate) fn limit_around<'a>(tr: &mut Tr<'a>, start: usize, cte: &'a CommonTableExpr<'a>, name: &str) -> R<()> {
    let limit = tr.out.sql.split_off(tr.seen.limit_at);
    let body = tr.out.sql.split_off(start);
    tr.put("WITH RECURSIVE ");
    tr.name(name)?;
    if let Some(columns) = cte.columns {
        tr.put(" (");
        tr.list(columns, |tr, c| tr.name(&plain(c.col_name.0)))?;
        tr.put(")");
    }
    tr.put(" AS (");
    tr.put(&body);
    tr.put(") SELECT * FROM ");
    tr.name(name)?;
    tr.put(&limit);
    Ok(())
}

/// The number of a row, which is counted where MariaDB has no LIMIT.
const ROW: &str = "\"contend_row\"";

/// Writes a recursive query for MariaDB, which takes the types of its columns from the first row: each has room for
/// longer values. A LIMIT becomes a condition on the number of the row.
pub(crate) fn counted<'a>(tr: &mut Tr<'a>, cte: &'a CommonTableExpr<'a>, columns: &[Column]) -> R<Rc<[Column]>> {
    let name = plain(cte.tbl_name.0);
    if columns.iter().any(|column| column.ty == Ty::Text) && !tr.input.options.pack {
        return no(Id::Recursive, &name, "MariaDB gives a recursive text the length of the first row's");
    }
    if columns.iter().any(|column| !matches!(column.ty, Ty::Int | Ty::Bool | Ty::Real | Ty::Text | Ty::Tagged)) {
        return no(Id::Recursive, &name, "MariaDB gives a recursive column the room of the first row's value");
    }
    if cte.select.with.is_some() {
        return no(Id::Recursive, &name, "WITH inside a recursive query");
    }
    let Some(limit) = cte.select.limit else {
        tr.place.extras = vec![Extra { roomy: true, ..Extra::default() }];
        return tr.subquery(cte.select);
    };
    let (count, skip) = order::both_of(tr, limit)?;
    let (Some(count @ 0..=1_000_000_000), Some(skip @ ..=1_000_000_000)) =
        (constant(count), skip.map_or(Some(0), constant))
    else {
        return no(Id::Recursive, &name, "a LIMIT inside of it that is not a small number");
    };
    let (skip, last) = (skip.max(0), skip.max(0) + count);
    if !is_one_chain(cte.select) || columns.iter().any(|column| column.name.is_empty()) {
        return no(Id::Recursive, &name, "LIMIT inside a recursive query with several first rows, `*` or no names");
    }
    let list = |tr: &mut Tr| tr.list(columns, |tr, column| tr.name(&column.name));
    tr.put("WITH RECURSIVE ");
    tr.name(&name)?;
    tr.put(" (");
    list(tr)?;
    tr.put(&format!(", {ROW}) AS ("));
    tr.place.extras = vec![
        Extra { result: ", IF(TRUE, 1, 9223372036854775807)".to_string(), roomy: true, ..Extra::default() },
        Extra { result: format!(", {ROW} + 1"), condition: format!("{ROW} < {last}"), ..Extra::default() },
    ];
    let all = tr.subquery(cte.select)?;
    tr.out.sql.truncate(tr.seen.limit_at);
    tr.put(") SELECT ");
    list(tr)?;
    tr.put(" FROM ");
    tr.name(&name)?;
    tr.put(&format!(" WHERE {ROW} > {skip} AND {ROW} <= {last}"));
    Ok(all)
}

/// Whether a recursive query begins with one row without a condition, and names the results of the next.
fn is_one_chain(select: &Select) -> bool {
    let named = |part: &CompoundSelect| match &part.select {
        OneSelect::Select { columns, .. } => columns.iter().all(|column| matches!(column, ResultColumn::Expr(..))),
        OneSelect::Values(_) => false,
    };
    let first = match &select.body.select {
        OneSelect::Select { where_clause, .. } => where_clause.is_none(),
        OneSelect::Values(rows) => rows.len() == 1,
    };
    first && select.body.compounds.as_deref().unwrap_or_default().iter().all(named)
}
