//! Columns: written where they are named, and what grouping says about them.

use crate::catalogue::Kind;
use crate::emit::Tr;
use crate::names::{push_name, unquote};
use crate::parse::tree::Expr;
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::literals::bare;
use crate::scope::{Columns, Found};
use crate::types::{Collation, Strength, Ty, Val};

/// Writes a column that was found.
pub(crate) fn write_column(tr: &mut Tr, found: &Found, qualified: bool) -> R<Val> {
    let scope = &tr.known.scopes[found.scope];
    let source = &scope.sources[found.source];
    let column = &source.columns.all()[found.column];
    let value = Val {
        ty: column.ty,
        affinity: column.affinity,
        collation: column.collation,
        collation_explicit: false,
        column: true,
        bytewise: column.bytewise,
        narrow: false,
        digits: false,
        wordy: column.wordy,
        nullable: column.nullable || source.nullable,
        strength: Strength::Atom,
    };
    if let Some((of, max)) = picked(tr, found) {
        return pick_column(tr, found, of, max, value);
    }
    let scope = &tr.known.scopes[found.scope];
    let source = &scope.sources[found.source];
    let column = &source.columns.all()[found.column];
    let outer = found.scope + 1 != tr.known.scopes.len();
    let qualify = qualified || scope.several || tr.place.qualify || outer;
    let of_query = !matches!(source.columns, Columns::Table(table) if table.kind == Kind::Table);
    // Borrowed parts are copied by the writer before the state changes.
    let (table, name) = (&*source.name, &*column.name);
    if qualify {
        push_name(&mut tr.out.sql, table);
        tr.out.sql.push('.');
    }
    push_name(&mut tr.out.sql, name);
    tr.seen.outer_reads += u32::from(outer);
    tr.seen.query_reads += u32::from(of_query);
    note_column(tr, found);
    Ok(value)
}

/// Whether a column is to be taken from the row of the query's min() or max().
fn picked<'a>(tr: &Tr<'a>, found: &Found) -> Option<(&'a Expr<'a>, bool)> {
    let scope = &tr.known.scopes[found.scope];
    let pick = scope.pick.filter(|_| scope.checked && found.scope + 1 == tr.known.scopes.len() && tr.postgres)?;
    // Of the spellings that are one group SQLite shows any, if several rows have the largest value.
    (!follows(tr, found) && !scope.folded.contains(&(found.source, found.column))).then_some(pick)
}

/// Whether an expression is a column that the innermost query groups by under NOCASE.
pub(crate) fn groups_folded(tr: &Tr, expr: &Expr) -> R<bool> {
    let found = match bare(expr) {
        Expr::Id(id) => tr.find(None, &unquote(id.0))?,
        Expr::Qualified(table, column) => tr.find(Some(&unquote(table.0)), &unquote(column.0))?,
        _ => None,
    };
    let here = tr.known.scopes.len().wrapping_sub(1);
    Ok(found.is_some_and(|f| f.scope == here && tr.known.scopes[here].folded.contains(&(f.source, f.column))))
}

/// Runs `write`; if `grouped`, as for something that is grouped by.
pub(crate) fn as_grouped<'a, T>(tr: &mut Tr<'a>, grouped: bool, write: impl FnOnce(&mut Tr<'a>) -> R<T>) -> R<T> {
    let here = tr.known.scopes.len().wrapping_sub(1);
    let checked = grouped && std::mem::take(&mut tr.known.scopes[here].checked);
    let written = write(tr);
    if checked {
        tr.known.scopes[here].checked = true;
    }
    written
}

/// Whether a column is grouped by, or follows from a primary key that is.
fn follows(tr: &Tr, found: &Found) -> bool {
    let scope = &tr.known.scopes[found.scope];
    let grouped = |column: usize| scope.grouped.contains(&(found.source, column));
    match scope.sources[found.source].columns {
        _ if grouped(found.column) => true,
        Columns::Table(table) => {
            // A key may hold NULL twice.
            let decides = |c: &usize| grouped(*c) && !table.columns[*c].nullable;
            !table.key.is_empty() && table.key.iter().all(decides)
        }
        Columns::Query(_) => false,
    }
}

/// Writes a column's value in the row that has the largest or smallest of another.
fn pick_column<'a>(tr: &mut Tr<'a>, found: &Found, of: &'a Expr<'a>, max: bool, value: Val) -> R<Val> {
    tr.fire(Id::PickedRow);
    let here = tr.known.scopes.len() - 1;
    tr.known.scopes[here].checked = false;
    tr.put("(array_agg(");
    write_column(tr, found, true)?;
    tr.put(" ORDER BY ");
    let order = tr.value(of, Ty::Any)?;
    if order.ty == Ty::Text && (!order.bytewise || order.collation != Collation::Binary) {
        return no(Id::BareColumns, "max", "the row of a text under another collation");
    }
    tr.put(if max { " DESC NULLS LAST))[1]" } else { " NULLS LAST))[1]" });
    tr.known.scopes[here].checked = true;
    Ok(Val { nullable: true, ..value })
}

/// Keeps in mind that a column stands outside the aggregates of a grouped query.
fn note_column(tr: &mut Tr, found: &Found) {
    let scope = &tr.known.scopes[found.scope];
    if !scope.checked || scope.ungrouped.is_some() || follows(tr, found) {
        return;
    }
    let token = tr.place.token;
    tr.known.scopes[found.scope].ungrouped = Some(token);
}
