//! Queries: simple ones, UNION and other set operations, VALUES.

use crate::catalogue::{Column, as_value, output};
use crate::emit::{Extra, Tr, Wanted, plain, push_decimal};
use crate::parse::tree::{CompoundOperator, CompoundSelect, Expr, OneSelect, ResultColumn, Select, SortedColumn};
use crate::refuse::{R, no};
use crate::rules::choices::unify;
use crate::rules::literals::{bare, literal_number};
use crate::rules::{Id, from, order, select, tagged};
use crate::scope::Scope;
use crate::types::{Affinity, Collation, Number, Ty, Val};

/// The columns of a compound query, and the collations of its ORDER BY that are others than theirs.
type Compound = (Vec<Column>, Vec<(usize, Collation)>);

/// UNION and other set operations. SQLite evaluates them from left to right; the servers evaluate INTERSECT first.
fn compound<'a>(tr: &mut Tr<'a>, first: &'a OneSelect<'a>, rest: &'a [CompoundSelect<'a>]) -> R<Compound> {
    let mark = tr.mark();
    let extras = std::mem::take(&mut tr.place.extras);
    match compound_as(tr, first, rest, (&[], &extras)) {
        Err(refused) if tagged::may_mix(tr, &refused) => {
            tr.back_to(mark);
            let mut parts = vec![];
            for part in std::iter::once(first).chain(rest.iter().map(|part| &part.select)) {
                let mark = tr.mark();
                let columns = core(tr, part, &[], true)?;
                tr.back_to(mark);
                parts.push(columns.iter().map(as_value).collect());
            }
            compound_as(tr, first, rest, (&mixed(&parts), &extras))
        }
        done => done,
    }
}

/// Which columns have several types in these rows of values.
fn mixed(rows: &[Vec<Val>]) -> Vec<bool> {
    let of_rows = |column: usize| rows.iter().filter_map(move |row| row.get(column).copied());
    let is_mixed = |column| of_rows(column).try_fold(Val::of(Ty::Null), unify).is_err();
    (0..rows.first().map_or(0, Vec::len)).map(is_mixed).collect()
}

/// A part of a compound query whose columns are tagged where `tags` says so.
fn tagged_core<'a>(
    tr: &mut Tr<'a>,
    part: &'a OneSelect<'a>,
    (tags, extra): (&[bool], Option<&Extra>),
) -> R<Vec<Column>> {
    tr.place.tagged_results = tags.to_vec();
    tr.place.extra = extra.cloned().unwrap_or_default();
    core(tr, part, &[], true)
}

fn compound_as<'a>(
    tr: &mut Tr<'a>,
    first: &'a OneSelect<'a>,
    rest: &'a [CompoundSelect<'a>],
    (tags, extras): (&[bool], &[Extra]),
) -> R<Compound> {
    tr.fire(Id::Compound);
    let start = tr.at();
    let mut collations: Vec<(usize, Collation)> = vec![];
    let mut columns = tagged_core(tr, first, (tags, extras.first()))?;
    let mut looser = false;
    for (number, part) in rest.iter().enumerate() {
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
        let other = tagged_core(tr, &part.select, (tags, extras.get(number + 1)))?;
        if other.len() != columns.len() {
            return no(Id::Compound, "", "the parts have different numbers of columns");
        }
        for (i, (column, other)) in columns.iter_mut().zip(&other).enumerate() {
            let all = part.operator == CompoundOperator::UnionAll;
            if !all && (column.ty == Ty::Tagged || other.ty == Ty::Tagged) {
                return no(Id::MixedTypes, "", format!("a set of rows {}", Ty::Tagged.word()));
            }
            if !all && (column.collation != Collation::Binary || other.collation != Collation::Binary) {
                return no(Id::Collation, "", "a set of rows under a collation that ignores case");
            }
            let mut before = std::iter::once(first).chain(rest[..number].iter().map(|part| &part.select));
            if column.collation != Collation::Binary || other.collation == Collation::Binary {
                // The first part's, or none.
            } else if before.all(|part| is_literal(part, i)) {
                // ORDER BY takes that of the first part that has one, a query over this one that of the first part.
                collations.push((i, other.collation));
                tr.seen.mixed_collations += 1;
            } else if !collations.iter().any(|(ordered, _)| *ordered == i) {
                // Which collation applies depends on whether the first is a column.
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
    Ok((columns, collations))
}

/// Whether a column of a query is a literal, which has no collation.
fn is_literal(part: &OneSelect, column: usize) -> bool {
    let OneSelect::Select { columns, .. } = part else { return false };
    let is_one = |column: &ResultColumn| matches!(column, ResultColumn::Expr(..));
    let literal =
        |column: &ResultColumn| matches!(column, ResultColumn::Expr(expr, _) if matches!(bare(expr), Expr::Literal(_)));
    columns.iter().take(column).all(is_one) && columns.get(column).is_some_and(literal)
}

fn compound_order<'a>(
    tr: &mut Tr<'a>,
    start: usize,
    select: &'a Select<'a>,
    (columns, collations): &Compound,
) -> R<()> {
    for (i, term) in select.order_by.unwrap_or_default().iter().enumerate() {
        tr.put(if i == 0 { " ORDER BY " } else { ", " });
        let position = match (bare(&term.expr), literal_number(&term.expr)) {
            (_, Some(Number::Int(n))) => usize::try_from(n.saturating_sub(1)).ok().filter(|i| *i < columns.len()),
            (Expr::Id(id), _) => columns.iter().position(|c| c.name.eq_ignore_ascii_case(&plain(id.0))),
            _ => None,
        };
        let Some(position) = position else {
            return no(Id::Compound, "ORDER", "ORDER BY something that is not a column of the first part");
        };
        let column = &columns[position];
        if column.ty == Ty::Any {
            return no(Id::Compound, "ORDER", "ordering values of unknown type");
        }
        let own = collations.iter().find(|(own, _)| *own == position).map(|(_, collation)| *collation);
        let value = Val { collation: own.unwrap_or(column.collation), ..as_value(column) };
        let by_bytes = value.collation == Collation::Binary && (column.bytewise || !tr.postgres);
        let plain_order = column.ty != Ty::Tagged && (column.ty != Ty::Text || by_bytes);
        if !plain_order {
            // The order needs an expression, which is only possible around the whole.
            if i > 0 || column.name.is_empty() {
                return no(Id::Compound, "ORDER", "ORDER BY a text that no column gives its collation");
            }
            let order = tr.out.sql.split_off(tr.out.sql.len() - " ORDER BY ".len());
            tr.wrap(start, "SELECT * FROM (", ") AS \"compound\"");
            tr.put(&order);
            let from = tr.at();
            tr.name(&column.name)?;
            order::ordered(tr, from, value, term)?;
            continue;
        }
        let from = tr.at();
        push_decimal(&mut tr.out.sql, position + 1);
        order::direction(tr, from, value, term)?;
    }
    Ok(())
}

/// VALUES as a query. MariaDB names such columns by their values, so there it is a UNION of SELECTs.
fn values<'a>(tr: &mut Tr<'a>, rows: &'a [bumpalo::collections::Vec<'a, Expr<'a>>]) -> R<Vec<Column>> {
    let tags = std::mem::take(&mut tr.place.tagged_results);
    let mark = tr.mark();
    match values_as(tr, rows, &tags) {
        Err(refused) if tagged::may_mix(tr, &refused) && tags.is_empty() => {
            tr.back_to(mark);
            let mut types = vec![];
            for row in rows {
                types.push(row.iter().map(|expr| tr.probe_value(expr)).collect::<R<Vec<Val>>>()?);
            }
            values_as(tr, rows, &mixed(&types))
        }
        done => done,
    }
}

fn values_as<'a>(
    tr: &mut Tr<'a>,
    rows: &'a [bumpalo::collections::Vec<'a, Expr<'a>>],
    tags: &[bool],
) -> R<Vec<Column>> {
    tr.fire(Id::Values);
    let extra = std::mem::take(&mut tr.place.extra);
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
            let from = tr.at();
            let mut value = tr.result(expr, if want == Ty::Tagged { Ty::Any } else { want })?;
            if tags.get(j) == Some(&true) {
                value = tagged::tagged(tr, from, value)?;
            }
            select::make_room(tr, from, value, &extra);
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
        tr.put(&extra.result);
        if tr.postgres {
            tr.put(")");
        }
    }
    Ok(columns)
}

/// Writes a query; with [`Wanted::FirstPart`] only that part.
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
                let compound = compound(tr, first, rest)?;
                compound_order(tr, start, select, &compound)?;
                compound.0
            }
        };
        if let Some(limit) = select.limit
            && wanted != Wanted::FirstPart
        {
            let is_one =
                !tr.seen.varies && select.body.compounds.is_none() && matches!(first, OneSelect::Select { .. });
            if is_one && !tr.postgres && limit.offset.is_some() {
                return no(Id::Limit, "OFFSET", "MariaDB skips no row of SELECT DISTINCT with nothing but constants");
            }
            let limit_at = tr.at();
            order::limit(tr, limit)?;
            tr.seen.limit_at = limit_at;
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
