//! The rows of an INSERT, from VALUES or a query.

use crate::catalogue::{Column, Kind, Table, as_value};
use crate::emit::{Tr, Wanted};
use crate::parse::tree::{Expr, Literal, OneSelect, ResolveType, ResultColumn, Select};
use crate::refuse::{R, no};
use crate::rules::changes::sequence;
use crate::rules::literals::bare;
use crate::rules::{Id, assign, changes};
use crate::types::{Number, Ty, Val};

fn other_number<T>(table: &Table, values: usize, columns: usize) -> R<T> {
    no(Id::Values, &table.name, format!("{values} values for {columns} columns"))
}

/// What the rows of an INSERT hold.
#[derive(Default)]
pub(crate) struct Stored {
    /// Whether one has an explicit rowid.
    pub explicit_rowid: bool,
    /// Positions of the NOT NULL columns that may get NULL.
    pub nulls: Vec<usize>,
}

impl Stored {
    fn note(&mut self, table: &Table, position: usize, value: Val) {
        let column = &table.columns[position];
        if value.nullable && !column.nullable && table.rowid != Some(position) && !self.nulls.contains(&position) {
            self.nulls.push(position);
        }
    }
}

/// Writes the rows.
pub(crate) fn insert_rows<'a>(
    tr: &mut Tr<'a>,
    table: &'a Table,
    positions: &[usize],
    select: &'a Select<'a>,
    or: Option<ResolveType>,
) -> R<Stored> {
    // SQLite computes a row after the previous ones are stored.
    let around = std::mem::replace(&mut tr.place.session_changes, !changes::one_row(Some(select)));
    let stored = written_rows(tr, table, positions, select, or);
    tr.place.session_changes = around;
    stored
}

fn written_rows<'a>(
    tr: &mut Tr<'a>,
    table: &'a Table,
    positions: &[usize],
    select: &'a Select<'a>,
    or: Option<ResolveType>,
) -> R<Stored> {
    let mut stored = Stored::default();
    let simple = select.with.is_none() && select.order_by.is_none() && select.limit.is_none();
    if let (OneSelect::Values(rows), None, true) = (&select.body.select, &select.body.compounds, simple) {
        tr.put("VALUES ");
        tr.list(rows.iter(), |tr, row| {
            if row.len() != positions.len() {
                return other_number(table, row.len(), positions.len());
            }
            tr.put("(");
            tr.list(row.iter().zip(positions), |tr, (expr, position)| {
                if table.rowid == Some(*position) {
                    stored.explicit_rowid |= rowid_value(tr, table, *position, expr, or)?;
                    return Ok(());
                }
                let value = inserted_value(tr, table, &table.columns[*position], expr, or)?;
                stored.note(table, *position, value);
                Ok(())
            })?;
            tr.put(")");
            Ok(())
        })?;
        return Ok(stored);
    }
    tr.fire(Id::InsertSelect);
    let start = tr.at();
    tr.place.stored = numbers_in_texts(table, positions, select);
    let columns = tr.query(select, Wanted::Columns)?;
    tr.place.stored.clear();
    if columns.len() != positions.len() {
        return other_number(table, columns.len(), positions.len());
    }
    let mut unnumbered = false;
    for (value, position) in columns.iter().zip(positions) {
        fits_column(tr, value, &table.columns[*position])?;
        stored.note(table, *position, as_value(value));
        if table.kind == Kind::View && value.ty != table.columns[*position].ty {
            return no(Id::Views, &table.name, "a value of another type than the view's column");
        }
        if table.rowid == Some(*position) {
            stored.explicit_rowid = true;
            unnumbered = tr.postgres && value.nullable;
        }
    }
    if unnumbered {
        number_rows(tr, table, positions, &columns, start)?;
    }
    Ok(stored)
}

/// Literal texts among the results of a query, for columns that store them as numbers. The results decide nothing else:
/// neither the order nor which rows are equal, nor, by their names in WHERE and ON, which rows there are.
fn numbers_in_texts<'a>(table: &Table, positions: &[usize], select: &'a Select<'a>) -> Vec<(&'a Expr<'a>, Number)> {
    let (OneSelect::Select { columns, distinctness: None, group_by: None, from, where_clause, .. }, None, None) =
        (&select.body.select, &select.body.compounds, &select.order_by)
    else {
        return vec![];
    };
    let may_be_named = where_clause.is_some() || from.as_ref().is_some_and(|from| from.joins.is_some());
    let mut found = vec![];
    for (column, position) in columns.iter().zip(positions) {
        match column {
            ResultColumn::Expr(_, Some(_)) if may_be_named => {}
            ResultColumn::Expr(expr, _) => assign::numbers_in_texts(&table.columns[*position], expr, &mut found),
            // It has a number of columns of its own.
            _ => return vec![],
        }
    }
    found
}

fn inserted_value<'a>(
    tr: &mut Tr<'a>,
    table: &Table,
    column: &Column,
    expr: &'a Expr<'a>,
    or: Option<ResolveType>,
) -> R<Val> {
    let is_null = matches!(bare(expr), Expr::Literal(Literal::Null));
    if or == Some(ResolveType::Replace) && !column.nullable && column.has_default && is_null {
        // REPLACE resolves a conflict with NOT NULL by the default.
        tr.put("DEFAULT");
        return Ok(Val::of(column.ty).never_null());
    }
    let start = tr.at();
    if table.kind == Kind::View {
        // SQLite converts nothing for a trigger.
        let value = tr.value(expr, column.ty)?;
        if ![column.ty, Ty::Null].contains(&value.ty) {
            return no(Id::Views, &table.name, "a value of another type than the view's column");
        }
        return Ok(value);
    }
    let value = assign::assign(tr, column, expr)?;
    if or == Some(ResolveType::Ignore) && tr.postgres && value.ty == Ty::Null {
        // In a query, a NULL alone would be a text.
        let cast = match column.ty {
            Ty::Int | Ty::Bool => ")::bigint",
            Ty::Real => ")::float8",
            Ty::Number => ")::numeric",
            Ty::Blob => ")::bytea",
            _ => ")::text",
        };
        tr.wrap(start, "(", cast);
    }
    Ok(value)
}

/// Whether a query's column is stored unchanged.
fn fits_column(tr: &mut Tr, value: &Column, column: &Column) -> R<()> {
    let whole = value.ty == column.ty
        || value.ty == Ty::Null
        || column.affinity.numeric()
            && matches!((column.ty, value.ty), (Ty::Real, Ty::Int) | (Ty::Number, Ty::Int | Ty::Real));
    if !whole || column.ty == Ty::Any {
        return no(
            Id::Assignment,
            &column.name,
            format!("{} stored in a column of {}", value.ty.word(), column.ty.word()),
        );
    }
    if column.affinity.numeric() && column.ty == Ty::Text && value.ty == Ty::Text {
        assign::stays_text(tr, &column.name, as_value(value))?;
    }
    Ok(())
}

/// A NULL among the keys of a query's rows becomes the next number.
fn number_rows(tr: &mut Tr, table: &Table, positions: &[usize], columns: &[Column], start: usize) -> R<()> {
    tr.fire(Id::Rowid);
    let query = tr.out.sql.split_off(start);
    tr.put("SELECT ");
    tr.list(positions.iter().zip(columns), |tr, (p, column)| {
        // In the inner query, NULL alone is a text.
        let always_null = column.ty == Ty::Null;
        match (table.rowid == Some(*p), always_null) {
            (true, true) => tr.put(&format!("nextval({})", sequence(table))),
            (true, false) => {
                tr.put("COALESCE(");
                tr.name(&table.columns[*p].name)?;
                tr.put(&format!(", nextval({}))", sequence(table)));
            }
            (false, true) => tr.put("NULL"),
            (false, false) => tr.name(&table.columns[*p].name)?,
        }
        Ok(())
    })?;
    tr.put(" FROM (");
    tr.put(&query);
    tr.put(") AS \"rows\" (");
    tr.list(positions, |tr, p| tr.name(&table.columns[*p].name))?;
    tr.put(")");
    Ok(())
}

/// Writes the value of an INTEGER PRIMARY KEY: NULL becomes the next number. Returns whether the value is explicit.
fn rowid_value<'a>(
    tr: &mut Tr<'a>,
    table: &Table,
    position: usize,
    expr: &'a Expr<'a>,
    or: Option<ResolveType>,
) -> R<bool> {
    if let Expr::Literal(Literal::Null) = bare(expr) {
        tr.fire(Id::Rowid);
        match (tr.postgres, matches!(or, Some(ResolveType::Replace | ResolveType::Ignore))) {
            // These may have to write their rows as a query, in which DEFAULT is not allowed.
            (true, true) => tr.put(&format!("nextval({})", sequence(table))),
            (true, false) => tr.put("DEFAULT"),
            (false, _) => tr.put("NULL"),
        }
        return Ok(false);
    }
    let start = tr.at();
    let value = assign::assign(tr, &table.columns[position], expr)?;
    if tr.postgres && value.nullable {
        tr.fire(Id::Rowid);
        let next = format!(", nextval({}))", sequence(table));
        tr.wrap(start, "COALESCE(", &next);
    }
    Ok(true)
}
