//! Columns: references to them, and the restrictions of grouping.

use crate::catalogue::{Column, Kind};
use crate::emit::Tr;
use crate::names::{push_name, unquote};
use crate::parse::tree::{ColumnConstraint, ColumnDefinition, Expr};
use crate::refuse::{R, no};
use crate::rules::literals::bare;
use crate::rules::{Id, assign, tagged};
use crate::scope::{Columns, Found};
use crate::types::{Collation, Strength, Ty, Val};

/// Writes a column that was found.
pub(crate) fn write_column<'a>(tr: &mut Tr<'a>, found: &Found, qualified: bool) -> R<Val> {
    let scope = &tr.known.scopes[found.scope];
    let source = &scope.sources[found.source];
    let column = source.columns.at(found.column);
    let untyped = column.ty == Ty::Tagged && matches!(source.columns, Columns::Table(_)) && !tagged::in_columns(tr);
    let value = Val {
        ty: if untyped { Ty::Any } else { column.ty },
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
    if value.ty == Ty::Tagged {
        tr.fire(Id::TaggedValues);
    }
    if let Some((of, max)) = picked(tr, found) {
        return pick_column(tr, found, of, max, value);
    }
    let scope = &tr.known.scopes[found.scope];
    let source = &scope.sources[found.source];
    let column = source.columns.at(found.column);
    if !tr.postgres && (tr.place.check || tr.place.generated.is_some()) && source.columns.is_rowid(found.column) {
        let why = "MariaDB has no CHECK and no generated column over the column that numbers the rows";
        return no(if tr.place.check { Id::Check } else { Id::Generated }, &column.name, why);
    }
    if let Some(definitions) = tr.place.generated.filter(|_| column.generated && tr.postgres) {
        let column = column.clone();
        written_out(tr, &column, definitions.get(found.column))?;
        return Ok(value);
    }
    let outer = found.scope + 1 != tr.known.scopes.len();
    let qualify = qualified || scope.several || tr.place.qualify || outer;
    let of_query = !matches!(source.columns, Columns::Table(table) if table.kind == Kind::Table);
    // Copied from borrowed parts by the writer, before the state changes.
    let (table, name) = (&*source.name, &*column.name);
    if qualify {
        push_name(&mut tr.out.sql, table);
        tr.out.sql.push('.');
    }
    push_name(&mut tr.out.sql, name);
    tr.seen.outer_reads += u32::from(outer);
    tr.seen.query_reads += u32::from(of_query);
    tr.known.scopes[found.scope].reads += 1;
    note_column(tr, found);
    Ok(value)
}

/// Longest statement in which further expressions are written out: each can contain those before it several times.
const WRITTEN_OUT_MAX: usize = 65_536;

/// Writes the expression of a generated column, which PostgreSQL does not allow in that of another one.
fn written_out<'a>(tr: &mut Tr<'a>, column: &Column, definition: Option<&'a ColumnDefinition<'a>>) -> R<()> {
    let expression = definition.and_then(|definition| {
        definition.constraints.iter().find_map(|constraint| match &constraint.constraint {
            ColumnConstraint::Generated { expr, .. } => Some(expr),
            _ => None,
        })
    });
    let Some(expression) = expression else {
        return no(Id::Generated, &column.name, "PostgreSQL computes no generated column from another one");
    };
    if tr.at() > WRITTEN_OUT_MAX {
        return no(
            Id::Generated,
            &column.name,
            "its expression is too long with those of the columns that it is computed from",
        );
    }
    tr.put("(CAST(");
    tr.deeper(|tr| assign::assign(tr, column, expression))?;
    tr.put(match column.ty {
        Ty::Int => " AS bigint))",
        Ty::Real => " AS double precision))",
        Ty::Number => " AS numeric))",
        Ty::Blob => " AS bytea))",
        _ => " AS text) COLLATE \"C\")",
    });
    Ok(())
}

/// Whether a column's value comes from the row of the query's min() or max().
fn picked<'a>(tr: &Tr<'a>, found: &Found) -> Option<(&'a Expr<'a>, bool)> {
    let scope = &tr.known.scopes[found.scope];
    let pick = scope.pick.filter(|_| scope.checked && found.scope + 1 == tr.known.scopes.len())?;
    // If several rows have the extreme value, SQLite may show any spelling of a group.
    (!follows(tr, found) && !scope.folded.contains(&(found.source, found.column))).then_some(pick)
}

/// Whether an expression is a column by which the innermost query groups under NOCASE.
pub(crate) fn groups_folded(tr: &Tr, expr: &Expr) -> R<bool> {
    let found = match bare(expr) {
        Expr::Id(id) => tr.find(None, &unquote(id.0))?,
        Expr::Qualified(table, column) => tr.find(Some(&unquote(table.0)), &unquote(column.0))?,
        _ => None,
    };
    let here = tr.known.scopes.len().wrapping_sub(1);
    Ok(found.is_some_and(|f| f.scope == here && tr.known.scopes[here].folded.contains(&(f.source, f.column))))
}

/// Runs `write`; if `grouped`, in the context of a grouped expression.
pub(crate) fn as_grouped<'a, T>(tr: &mut Tr<'a>, grouped: bool, write: impl FnOnce(&mut Tr<'a>) -> R<T>) -> R<T> {
    let here = tr.known.scopes.len().wrapping_sub(1);
    let checked = grouped && std::mem::take(&mut tr.known.scopes[here].checked);
    let written = write(tr);
    if checked {
        tr.known.scopes[here].checked = true;
    }
    written
}

/// Whether a column is grouped by, or determined by a primary key that is.
fn follows(tr: &Tr, found: &Found) -> bool {
    let scope = &tr.known.scopes[found.scope];
    let grouped = |column: usize| scope.grouped.contains(&(found.source, column));
    match scope.sources[found.source].columns {
        _ if grouped(found.column) => true,
        Columns::Table(table) => {
            // A key may contain NULL more than once.
            let decides = |c: &usize| grouped(*c) && !table.columns[*c].nullable;
            !table.key.is_empty() && table.key.iter().all(decides)
        }
        Columns::Query(_) => false,
    }
}

/// Writes a column's value from the row with the largest or smallest value of another column.
fn pick_column<'a>(tr: &mut Tr<'a>, found: &Found, of: &'a Expr<'a>, max: bool, value: Val) -> R<Val> {
    tr.fire(Id::PickedRow);
    let here = tr.known.scopes.len() - 1;
    tr.known.scopes[here].checked = false;
    let (before, after) = match (tr.postgres, value.ty) {
        (true, _) => ("(array_agg(", ""),
        (false, Ty::Text | Ty::Tagged) => ("SUBSTRING(NULLIF(", ", 'n'), 2)"),
        (false, Ty::Int) => ("CAST(SUBSTRING(NULLIF(", ", 'n'), 2) AS SIGNED)"),
        (false, Ty::Real) => ("CAST(SUBSTRING(NULLIF(", ", 'n'), 2) AS DOUBLE)"),
        (false, other) => return no(Id::BareColumns, "max", format!("{} out of one row", other.word())),
    };
    tr.put(before);
    if !tr.postgres {
        // The aggregate ignores NULL, which is a text of its own here.
        tr.put("GROUP_CONCAT(COALESCE(CONCAT('v', ");
    }
    write_column(tr, found, true)?;
    tr.put(if tr.postgres { " ORDER BY " } else { "), 'n') ORDER BY " });
    let start = tr.at();
    let order = tr.value(of, Ty::Any)?;
    let by_bytes = order.bytewise || !tr.postgres;
    if order.ty == Ty::Tagged || order.ty == Ty::Text && (!by_bytes || order.collation != Collation::Binary) {
        return no(Id::BareColumns, "max", "the row of a text under another collation");
    }
    if tr.postgres {
        tr.put(if max { " DESC NULLS LAST))[1]" } else { " NULLS LAST))[1]" });
    } else {
        let key = tr.out.sql.split_off(start);
        tr.put(&format!("({key}) IS NULL, {key}{} LIMIT 1)", if max { " DESC" } else { "" }));
        tr.put(after);
    }
    tr.known.scopes[here].checked = true;
    Ok(Val { nullable: true, ..value })
}

/// Records that a column is outside of the aggregates of a grouped query.
fn note_column(tr: &mut Tr, found: &Found) {
    let scope = &tr.known.scopes[found.scope];
    if !scope.checked || scope.ungrouped.is_some() || follows(tr, found) {
        return;
    }
    let token = tr.place.token;
    tr.known.scopes[found.scope].ungrouped = Some(token);
}
