//! IN: lists, queries and tables.

use crate::catalogue::Column;
use crate::catalogue::as_value;
use crate::emit::{Tr, plain};
use crate::parse::tree::{
    CompoundOperator, CompoundSelect, Expr, Literal, OneSelect, Operator, QualifiedName, ResultColumn, Select,
};
use crate::refuse::{R, no};
use crate::rules::collations::said;
use crate::rules::compare::{FOLD_MARIADB, FOLD_POSTGRES, adapts, alike};
use crate::rules::literals::{bare, has_aggregate, has_query, literal_number};
use crate::rules::{Id, collations, compare, tagged};
use crate::types::collation;
use crate::types::{Affinity, Collation, EXACT, Number, Strength, Ty, Val, number_in_text};
use std::rc::Rc;

pub(crate) fn in_list<'a>(tr: &mut Tr<'a>, lhs: &'a Expr<'a>, not: bool, items: &'a [Expr<'a>]) -> R<Val> {
    if items.is_empty() {
        return in_nothing(tr, lhs, not);
    }
    if let Expr::Parenthesized(row) = lhs
        && row.len() > 1
    {
        return no(Id::RowValues, "IN", "a row in a list; write it as a subquery");
    }
    if let [only] = items
        && said(only).is_some()
    {
        return in_one_collated(tr, lhs, not, only);
    }
    let start = tr.at();
    let l = searched(tr, lhs, items)?;
    let mut value = l;
    if l.ty == Ty::Tagged {
        return tagged::in_list(tr, start, l, not, items);
    }
    tr.enclose(start, &mut value, Strength::Operator);
    let (before, after) = as_searched(tr, l, items)?;
    tr.wrap(start, before, after);
    // A literal of another storage class equals nothing and is left out.
    let apart = |item: &&'a Expr<'a>| match bare(item) {
        Expr::Literal(Literal::String(text)) => {
            l.ty.numeric() && (!l.affinity.numeric() || number_in_text(&plain(text)).is_none())
        }
        _ => l.ty == Ty::Text && l.affinity == Affinity::None && literal_number(item).is_some(),
    };
    let kept: Vec<&'a Expr<'a>> = items.iter().filter(|item| !apart(item)).collect();
    let mut nullable = l.nullable;
    if kept.is_empty() {
        tr.fire(Id::ClassComparison);
        let left = tr.out.sql.split_off(start);
        tr.put(&format!("CASE WHEN {left} IS NOT NULL THEN {} END", if not { "TRUE" } else { "FALSE" }));
        return Ok(Val { nullable, ..Val::of(Ty::Bool) });
    }
    tr.put(if not { " NOT IN (" } else { " IN (" });
    tr.list(kept, |tr, item| {
        let from = tr.at();
        let item_value = compare::operand(tr, item, Val { affinity: l.affinity, ..l })?;
        let item_value = tr.as_integer(from, item_value);
        nullable |= item_value.nullable;
        if !alike(l.ty, item_value.ty) {
            return no(Id::MixedComparison, "IN", format!("{} in a list with {}", l.ty.word(), item_value.ty.word()));
        }
        integer_with_real(tr, (l, item_value), item)?;
        tr.wrap(from, before, after);
        Ok(())
    })?;
    tr.put(")");
    Ok(Val { nullable, ..Val::of(Ty::Bool).with(Strength::Comparison) })
}

/// Writes an empty IN, without its operand. Without an aggregate in it, the query would have other rows.
fn in_nothing(tr: &mut Tr, lhs: &Expr, not: bool) -> R<Val> {
    if has_aggregate(lhs) {
        return no(Id::EmptyIn, "IN", "an aggregate in nothing, which versions of SQLite leave out");
    }
    tr.fire(Id::EmptyIn);
    tr.put(if not { "TRUE" } else { "FALSE" });
    Ok(Val::of(Ty::Bool).never_null())
}

/// Refuses an integer and a real in IN, of which the server would make doubles, where that changes the integer.
fn integer_with_real(tr: &mut Tr, (left, value): (Val, Val), item: &Expr) -> R<()> {
    if left.ty == value.ty || ![left.ty, value.ty].contains(&Ty::Real) {
        return Ok(());
    }
    tr.fire(Id::IntegerWithReal);
    let is_small = literal_number(item).is_some_and(|number| match number {
        Number::Int(n) => (n as f64).abs() < EXACT,
        Number::Real(n) => n.abs() < EXACT,
    });
    if tr.postgres && tr.input.options.pack && !(is_small || left.narrow || value.narrow) {
        return no(Id::IntegerWithReal, "IN", "integers in a list with reals; write comparisons with OR");
    }
    Ok(())
}

/// SQLite converts a list of one constant to `=`, so that its COLLATE counts.
fn in_one_collated<'a>(tr: &mut Tr<'a>, lhs: &'a Expr<'a>, not: bool, only: &'a Expr<'a>) -> R<Val> {
    match bare(only) {
        Expr::Collate(Expr::Literal(_) | Expr::Variable(_), _) => {
            compare::compare(tr, lhs, if not { Operator::NotEquals } else { Operator::Equals }, only)
        }
        _ => no(Id::Collation, "IN", "COLLATE in a list, which counts if there is one constant; write = instead"),
    }
}

/// Writes the operand that is searched in a list.
fn searched<'a>(tr: &mut Tr<'a>, lhs: &'a Expr<'a>, items: &'a [Expr<'a>]) -> R<Val> {
    let value = match adapts(lhs) {
        true => {
            let partner = items.iter().find(|i| !adapts(i)).unwrap_or(&items[0]);
            let partner = tr.probe(partner)?;
            // In a list, only the affinity of the left side applies.
            compare::operand(tr, lhs, Val { affinity: Affinity::None, ..partner })?
        }
        false => tr.value(lhs, Ty::Any)?,
    };
    if value.ty == Ty::Param {
        return no(Id::Parameters, "IN", "nothing here gives the parameter a type; write CAST(? AS TEXT)");
    }
    Ok(value)
}

/// The text around both sides of a search in a list.
fn as_searched<'a>(tr: &mut Tr<'a>, l: Val, items: &'a [Expr<'a>]) -> R<(&'static str, &'static str)> {
    let fold = l.ty == Ty::Text && l.collation != Collation::Binary;
    if fold && l.collation == Collation::Rtrim {
        return no(Id::Collation, "RTRIM", "RTRIM in a list");
    }
    // MariaDB searches an integer key with the rounded value of a real.
    let as_real = l.ty == Ty::Int && !tr.postgres && any_real(tr, items, l)?;
    Ok(match tr.postgres {
        true if fold => FOLD_POSTGRES,
        false if fold => FOLD_MARIADB,
        _ if as_real => ("(", " * 1e0)"),
        _ => ("", ""),
    })
}

fn any_real<'a>(tr: &mut Tr<'a>, items: &'a [Expr<'a>], l: Val) -> R<bool> {
    for item in items.iter().filter(|item| !matches!(literal_number(item), Some(Number::Int(_)))) {
        if compare::probe_operand(tr, item, l).is_ok_and(|value| value.ty == Ty::Real) {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(crate) fn in_select<'a>(tr: &mut Tr<'a>, lhs: &'a Expr<'a>, not: bool, select: &'a Select<'a>) -> R<Val> {
    let only = only_result(select);
    if only.is_some_and(|result| literal_number(result).is_some()) && is_never(select) {
        tr.probe_query(select)?;
        return in_nothing(tr, lhs, not);
    }
    let (start, mut folded, mut keyed) = (tr.at(), None, None);
    let one = [lhs];
    let many: Vec<&'a Expr<'a>>;
    let parts: &[&'a Expr<'a>] = match lhs {
        Expr::Parenthesized(row) if row.len() > 1 => {
            many = row.iter().collect();
            &many
        }
        _ => &one,
    };
    if parts.len() > 1 {
        if !tr.postgres && parts.iter().any(|part| has_query(part)) {
            return no(Id::RowValues, "IN", "MariaDB searches no row that has a query in it");
        }
        tr.fire(Id::RowValues);
        tr.put("(");
    }
    let types = searched_columns(tr, select)?;
    if types.len() != parts.len() {
        return no(Id::RowValues, "IN", "the subquery has a different number of columns");
    }
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            tr.put(", ");
        }
        let from = tr.at();
        if parts.len() == 1
            && let Some(found) = searched_tagged(tr, part, &types[i], only)?
        {
            keyed = Some(found);
            continue;
        }
        if searched_in(tr, part, &types[i], only)? {
            if parts.len() > 1 {
                return no(Id::Collation, "IN", "a query's rows are searched with a collation that ignores case");
            }
            collations::fold(tr, from);
            folded = only;
        }
    }
    if parts.len() > 1 {
        tr.put(")");
    } else if !tr.postgres && matches!(bare(lhs), Expr::Subquery(_)) {
        // MariaDB would search its value with the outer query's columns of another row.
        tr.wrap(start, "COALESCE(", ")");
    }
    tr.put(if not { " NOT IN (" } else { " IN (" });
    let around = std::mem::replace(&mut tr.place.folded_result, folded);
    let keyed = std::mem::replace(&mut tr.place.keyed_result, keyed);
    searched_query(tr, select)?;
    tr.place.folded_result = around;
    tr.place.keyed_result = keyed;
    tr.put(")");
    Ok(Val::of(Ty::Bool).with(Strength::Comparison))
}

/// The columns of a query that is searched. If its parts have different collations, SQLite searches with that of the last one.
fn searched_columns<'a>(tr: &mut Tr<'a>, select: &'a Select<'a>) -> R<Rc<[Column]>> {
    let mixed = tr.seen.mixed_collations;
    let columns = tr.probe_query(select)?;
    if tr.seen.mixed_collations > mixed {
        return no(Id::Collation, "IN", "a query whose parts have different collations is searched");
    }
    Ok(columns)
}

/// Writes the query of an IN. MariaDB allows no LIMIT there, but in a nested query; and with EXCEPT or INTERSECT it would
/// take a NULL of the right query for one of the result.
fn searched_query<'a>(tr: &mut Tr<'a>, select: &'a Select<'a>) -> R<()> {
    let is_set =
        |part: &CompoundSelect| matches!(part.operator, CompoundOperator::Except | CompoundOperator::Intersect);
    let of_sets = select.body.compounds.as_deref().unwrap_or_default().iter().any(is_set);
    if tr.postgres || select.limit.is_none() && !of_sets {
        return tr.subquery(select).map(drop);
    }
    let rule = if select.limit.is_some() { Id::LimitInSubquery } else { Id::Compound };
    tr.fire(rule);
    let outer_reads = |tr: &Tr| tr.known.scopes.iter().map(|scope| scope.reads).sum::<u32>();
    let before = outer_reads(tr);
    tr.put("SELECT * FROM (");
    tr.subquery(select)?;
    tr.put(") AS \"limited\"");
    if outer_reads(tr) > before {
        return no(rule, "IN", "MariaDB sees no column of an outer query in this query, which it has to nest");
    }
    Ok(())
}

/// Writes an operand that is searched in a query's column, if one of both is tagged. Returns the column's expression
/// with the text around it.
fn searched_tagged<'a>(
    tr: &mut Tr<'a>,
    part: &'a Expr<'a>,
    column: &Column,
    result: Option<&'a Expr<'a>>,
) -> R<Option<(&'a Expr<'a>, String, String)>> {
    let Some(result) = result else { return Ok(None) };
    if column.ty != Ty::Tagged && !tr.probe_value(part).is_ok_and(|value| value.ty == Ty::Tagged) {
        return Ok(None);
    }
    let start = tr.at();
    let value = tr.value(part, Ty::Any)?;
    // As for `=`.
    let other = Val { affinity: column.affinity, ..Val::of(column.ty) };
    let (before, after) = tagged::key(tr, value, other)?;
    tr.wrap(start, &before, &after);
    let (before, after) = tagged::key(tr, other, value)?;
    Ok(Some((result, before, after)))
}

/// Writes the operand that is searched in a query's column. Returns whether it is compared under NOCASE.
fn searched_in<'a>(tr: &mut Tr<'a>, part: &'a Expr<'a>, column: &Column, result: Option<&Expr>) -> R<bool> {
    let from = tr.at();
    let partner = Val { affinity: column.affinity, ..Val::of(column.ty) };
    let mut value = compare::operand(tr, part, partner)?;
    value = tr.as_integer(from, value);
    tr.enclose(from, &mut value, Strength::Operator);
    if value.ty == Ty::Param {
        return no(Id::Parameters, "IN", "nothing here gives the parameter a type; write CAST(? AS TEXT)");
    }
    if !alike(value.ty, column.ty) {
        return no(Id::MixedComparison, "IN", format!("{} in a query of {}", value.ty.word(), column.ty.word()));
    }
    searched_folded(value, column, result)
}

pub(crate) fn in_table<'a>(
    tr: &mut Tr<'a>,
    lhs: &'a Expr<'a>,
    not: bool,
    table: &'a QualifiedName<'a>,
    call: bool,
) -> R<Val> {
    tr.fire(Id::InTable);
    let name = plain(table.name.0);
    if call || tr.known.ctes.iter().any(|c| c.name.eq_ignore_ascii_case(&name)) {
        return no(Id::InTable, table.name.0, "IN with something that is not a table");
    }
    let table = tr.known_table(&name)?;
    let [column] = &table.columns[..] else {
        return no(Id::InTable, &name, "the table after IN has more than one column");
    };
    let start = tr.at();
    let mut value = compare::operand(tr, lhs, Val { affinity: column.affinity, ..Val::of(column.ty) })?;
    value = tr.as_integer(start, value);
    tr.enclose(start, &mut value, Strength::Operator);
    let folded = match collation(value, as_value(column)) {
        _ if value.ty != Ty::Text => false,
        Collation::Binary => false,
        Collation::NoCase => true,
        Collation::Rtrim => return no(Id::Collation, &name, "a table is searched under RTRIM"),
    };
    if folded {
        collations::fold(tr, start);
    }
    if !alike(value.ty, column.ty) {
        return no(Id::MixedComparison, "IN", format!("{} in a table of {}", value.ty.word(), column.ty.word()));
    }
    tr.put(if not { " NOT IN (SELECT " } else { " IN (SELECT " });
    let from = tr.at();
    tr.name(&column.name)?;
    if folded {
        collations::fold(tr, from);
    }
    tr.put(" FROM ");
    tr.name(&table.name)?;
    tr.put(")");
    Ok(Val::of(Ty::Bool).with(Strength::Comparison))
}

/// The result expression of a plain query: it may be written in lower case if only equality matters.
fn only_result<'a>(select: &'a Select<'a>) -> Option<&'a Expr<'a>> {
    match &select.body.select {
        OneSelect::Select { columns: [ResultColumn::Expr(expr, _)], group_by: None, .. }
            if select.body.compounds.is_none() && select.order_by.is_none() && select.limit.is_none() =>
        {
            Some(expr)
        }
        _ => None,
    }
}

/// Whether the condition of a query without aggregates compares two integers and is false: SQLAlchemy's empty list.
fn is_never(select: &Select) -> bool {
    let OneSelect::Select { where_clause: Some(condition), .. } = &select.body.select else { return false };
    let Expr::Binary(left, op, right) = bare(condition) else { return false };
    match (literal_number(left), op, literal_number(right)) {
        (Some(Number::Int(a)), Operator::NotEquals, Some(Number::Int(b))) => a == b,
        (Some(Number::Int(a)), Operator::Equals, Some(Number::Int(b))) => a != b,
        _ => false,
    }
}

/// Whether a value is searched in a query's column under NOCASE.
fn searched_folded(value: Val, column: &Column, result: Option<&Expr>) -> R<bool> {
    if (value.ty, column.ty) != (Ty::Text, Ty::Text)
        || (value.collation, column.collation) == (Collation::Binary, Collation::Binary)
    {
        return Ok(false);
    }
    let explicit = result.is_some_and(|expr| said(expr).is_some());
    match (result, collation(value, Val { collation_explicit: explicit, ..as_value(column) })) {
        (Some(_), Collation::Binary) => Ok(false),
        (Some(_), Collation::NoCase) => Ok(true),
        _ => no(Id::Collation, "IN", "a query's column is searched with a collation that ignores case"),
    }
}
