//! The rows of an INSERT, from values or from a query.

use crate::catalogue::{Column, Table};
use crate::emit::{Tr, Wanted};
use crate::parse::tree::{Expr, Literal, OneSelect, Select};
use crate::refuse::{R, no};
use crate::rules::changes::sequence;
use crate::rules::literals::bare;
use crate::rules::{Id, assign};
use crate::types::Ty;

fn other_number<T>(table: &Table, values: usize, columns: usize) -> R<T> {
    no(Id::Values, &table.name, format!("{values} values for {columns} columns"))
}

/// Writes the rows; whether one brings its own rowid.
pub(crate) fn insert_rows<'a>(
    tr: &mut Tr<'a>,
    table: &'a Table,
    positions: &[usize],
    select: &'a Select<'a>,
    replace: bool,
) -> R<bool> {
    let simple = select.with.is_none() && select.order_by.is_none() && select.limit.is_none();
    if let (OneSelect::Values(rows), None, true) = (&select.body.select, &select.body.compounds, simple) {
        tr.put("VALUES ");
        let mut explicit = false;
        tr.list(rows.iter(), |tr, row| {
            if row.len() != positions.len() {
                return other_number(table, row.len(), positions.len());
            }
            tr.put("(");
            tr.list(row.iter().zip(positions), |tr, (expr, position)| {
                if table.rowid == Some(*position) {
                    explicit |= rowid_value(tr, table, *position, expr, replace)?;
                    return Ok(());
                }
                inserted_value(tr, &table.columns[*position], expr, replace)
            })?;
            tr.put(")");
            Ok(())
        })?;
        return Ok(explicit);
    }
    tr.fire(Id::InsertSelect);
    let start = tr.at();
    let columns = tr.query(select, Wanted::Columns)?;
    if columns.len() != positions.len() {
        return other_number(table, columns.len(), positions.len());
    }
    let (mut explicit, mut unnumbered) = (false, false);
    for (value, position) in columns.iter().zip(positions) {
        fits_column(tr, value, &table.columns[*position])?;
        if table.rowid == Some(*position) {
            explicit = true;
            unnumbered = tr.postgres && value.nullable;
        }
    }
    if unnumbered {
        number_rows(tr, table, positions, start)?;
    }
    Ok(explicit)
}

fn inserted_value<'a>(tr: &mut Tr<'a>, column: &Column, expr: &'a Expr<'a>, replace: bool) -> R<()> {
    let is_null = matches!(bare(expr), Expr::Literal(Literal::Null));
    if replace && !column.nullable && column.has_default && is_null {
        // REPLACE resolves the conflict with NOT NULL by the default.
        tr.put("DEFAULT");
        return Ok(());
    }
    assign::assign(tr, column, expr).map(drop)
}

/// Whether a query's column is stored as it is.
fn fits_column(tr: &mut Tr, value: &Column, column: &Column) -> R<()> {
    let whole = value.ty == column.ty
        || value.ty == Ty::Null
        || matches!((column.ty, value.ty), (Ty::Real, Ty::Int) | (Ty::Number, Ty::Int | Ty::Real));
    if !whole || column.ty == Ty::Any {
        return no(
            Id::Assignment,
            &column.name,
            format!("{} stored in a column of {}", value.ty.word(), column.ty.word()),
        );
    }
    if column.affinity.numeric() && column.ty == Ty::Text && value.ty == Ty::Text {
        assign::stays_text(tr, &column.name, crate::catalogue::as_value(value))?;
    }
    Ok(())
}

/// A NULL among the keys of a query's rows asks for the next number.
fn number_rows(tr: &mut Tr, table: &Table, positions: &[usize], start: usize) -> R<()> {
    tr.fire(Id::Rowid);
    let query = tr.out.sql.split_off(start);
    tr.put("SELECT ");
    tr.list(positions, |tr, p| {
        if table.rowid == Some(*p) {
            tr.put("COALESCE(");
            tr.name(&table.columns[*p].name)?;
            tr.put(&format!(", nextval({}))", sequence(table)));
            return Ok(());
        }
        tr.name(&table.columns[*p].name)
    })?;
    tr.put(" FROM (");
    tr.put(&query);
    tr.put(") AS \"rows\" (");
    tr.list(positions, |tr, p| tr.name(&table.columns[*p].name))?;
    tr.put(")");
    Ok(())
}

/// Writes the value of an INTEGER PRIMARY KEY: NULL asks for the next number. Whether it is a value of its own.
fn rowid_value<'a>(tr: &mut Tr<'a>, table: &Table, position: usize, expr: &'a Expr<'a>, replace: bool) -> R<bool> {
    if let Expr::Literal(Literal::Null) = bare(expr) {
        tr.fire(Id::Rowid);
        match (tr.postgres, replace) {
            // REPLACE may have to write its row as a query, which knows no DEFAULT.
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
