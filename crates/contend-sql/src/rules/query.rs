//! Queries: simple ones, UNION and its like, VALUES.

use crate::catalogue::{Column, as_value, output};
use crate::emit::{Tr, Wanted, plain, push_decimal};
use crate::parse::tree::{CompoundOperator, CompoundSelect, Expr, OneSelect, Select, SortedColumn};
use crate::refuse::{R, no};
use crate::rules::choices::unify;
use crate::rules::literals::{bare, literal_number};
use crate::rules::{Id, from, order, select};
use crate::scope::Scope;
use crate::types::{Affinity, Collation, Number, Ty};

/// UNION and its like. SQLite takes them from left to right; the servers take INTERSECT first.
fn compound<'a>(tr: &mut Tr<'a>, first: &'a OneSelect<'a>, rest: &'a [CompoundSelect<'a>]) -> R<Vec<Column>> {
    tr.fire(Id::Compound);
    let start = tr.at();
    let mut columns = core(tr, first, &[], true)?;
    let mut looser = false;
    for part in rest {
        let intersect = part.operator == CompoundOperator::Intersect;
        if intersect && looser {
            tr.wrap(start, "(", ")");
            looser = false;
        }
        looser |= !intersect;
        tr.put(match part.operator {
            CompoundOperator::Union => " UNION ",
            CompoundOperator::UnionAll => " UNION ALL ",
            CompoundOperator::Except => " EXCEPT ",
            CompoundOperator::Intersect => " INTERSECT ",
        });
        let other = core(tr, &part.select, &[], true)?;
        if other.len() != columns.len() {
            return no(Id::Compound, "", "the parts have different numbers of columns");
        }
        for (column, other) in columns.iter_mut().zip(&other) {
            let all = part.operator == CompoundOperator::UnionAll;
            if !all && (column.collation != Collation::Binary || other.collation != Collation::Binary) {
                return no(Id::Collation, "", "a set of rows under a collation that ignores case");
            }
            if column.collation == Collation::Binary && other.collation != Collation::Binary {
                // Which counts depends on whether the first is a column.
                return no(Id::Collation, "", "rows of several queries whose texts have different collations");
            }
            let value = unify(as_value(column), as_value(other))?;
            column.ty = value.ty;
            column.nullable = value.nullable;
            column.bytewise = value.bytewise;
            column.wordy = value.wordy;
            column.affinity = if column.affinity == other.affinity { column.affinity } else { Affinity::Unsure };
        }
    }
    Ok(columns)
}

fn compound_order<'a>(tr: &mut Tr<'a>, start: usize, select: &'a Select<'a>, columns: &[Column]) -> R<()> {
    for (i, term) in select.order_by.unwrap_or_default().iter().enumerate() {
        tr.put(if i == 0 { " ORDER BY " } else { ", " });
        let position = match (bare(&term.expr), literal_number(&term.expr)) {
            (_, Some(Number::Int(n))) => usize::try_from(n.saturating_sub(1)).ok().filter(|i| *i < columns.len()),
            (Expr::Id(id), _) => columns.iter().position(|c| c.name.eq_ignore_ascii_case(&plain(id.0))),
            _ => None,
        };
        let Some(position) = position else {
            return no(Id::Compound, "ORDER", "ORDER BY something that is no column of the first part");
        };
        let column = &columns[position];
        if column.ty == Ty::Any {
            return no(Id::Compound, "ORDER", "ordering values of unknown type");
        }
        let plain_order =
            column.ty != Ty::Text || column.collation == Collation::Binary && (column.bytewise || !tr.postgres);
        if !plain_order {
            // The order needs words of its own, which only stand around the whole.
            if i > 0 || column.name.is_empty() {
                return no(Id::Compound, "ORDER", "ORDER BY a text that no column gives its collation");
            }
            let order = tr.out.sql.split_off(tr.out.sql.len() - " ORDER BY ".len());
            tr.wrap(start, "SELECT * FROM (", ") AS \"compound\"");
            tr.put(&order);
            let from = tr.at();
            tr.name(&column.name)?;
            order::ordered(tr, from, as_value(column), term)?;
            continue;
        }
        let from = tr.at();
        push_decimal(&mut tr.out.sql, position + 1);
        order::direction(tr, from, as_value(column), term)?;
    }
    Ok(())
}

/// VALUES as a query. MariaDB names such columns by their values, so there it is a UNION of SELECTs.
fn values<'a>(tr: &mut Tr<'a>, rows: &'a [bumpalo::collections::Vec<'a, Expr<'a>>]) -> R<Vec<Column>> {
    tr.fire(Id::Values);
    let mut columns: Vec<Column> = vec![];
    if tr.postgres {
        tr.put("VALUES ");
    }
    for (i, row) in rows.iter().enumerate() {
        match (tr.postgres, i) {
            (true, 0) => tr.put("("),
            (true, _) => tr.put(", ("),
            (false, 0) => tr.put("SELECT "),
            (false, _) => tr.put(" UNION ALL SELECT "),
        }
        if i > 0 && row.len() != columns.len() {
            return no(Id::Values, "VALUES", "rows of different length");
        }
        for (j, expr) in row.iter().enumerate() {
            if j > 0 {
                tr.put(", ");
            }
            let want = columns.get(j).map_or(Ty::Any, |c| c.ty);
            let value = tr.result(expr, want)?;
            if i == 0 {
                let name = format!("column{}", j + 1);
                if !tr.postgres {
                    tr.put(" AS ");
                    tr.name(&name)?;
                }
                columns.push(output(name, value));
            } else if value.collation != columns[j].collation {
                return no(Id::Collation, "VALUES", "rows whose texts have different collations");
            } else {
                let both = unify(as_value(&columns[j]), value)?;
                let name = std::mem::take(&mut columns[j].name);
                columns[j] = output(name, both);
            }
        }
        if tr.postgres {
            tr.put(")");
        }
    }
    Ok(columns)
}

/// Writes a query; of a [`Wanted::FirstPart`] that part alone.
pub(crate) fn query<'a>(tr: &mut Tr<'a>, select: &'a Select<'a>, wanted: Wanted) -> R<Vec<Column>> {
    tr.deeper(|tr| {
        let ctes = tr.known.ctes.len();
        if let Some(with) = &select.with {
            from::with_clause(tr, with)?;
        }
        let first = &select.body.select;
        let columns = match &select.body.compounds {
            _ if wanted == Wanted::FirstPart => core(tr, first, &[], true)?,
            None => core(tr, first, select.order_by.unwrap_or_default(), wanted == Wanted::Columns)?,
            Some(rest) => {
                let start = tr.at();
                let columns = compound(tr, first, rest)?;
                compound_order(tr, start, select, &columns)?;
                columns
            }
        };
        if let Some(limit) = select.limit
            && wanted != Wanted::FirstPart
        {
            order::limit(tr, limit)?;
        }
        tr.known.ctes.truncate(ctes);
        Ok(columns)
    })
}

fn core<'a>(tr: &mut Tr<'a>, core: &'a OneSelect<'a>, order: &'a [SortedColumn<'a>], collect: bool) -> R<Vec<Column>> {
    match core {
        OneSelect::Select { .. } => {
            let depth = tr.known.scopes.len();
            tr.known.scopes.push(Scope::default());
            let columns = select::select(tr, core, order, collect);
            tr.known.scopes.truncate(depth);
            columns
        }
        OneSelect::Values(rows) if order.is_empty() => values(tr, rows),
        OneSelect::Values(_) => no(Id::Values, "VALUES", "VALUES with ORDER BY"),
    }
}
