//! The rows of an INSERT, from values or from a query.

use crate::catalogue::{Column, Table};
use crate::emit::Tr;
use crate::parse::tree::{Expr, Literal, OneSelect, Select};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::expr::bare;
use crate::rules::insert::sequence;
use crate::types::Ty;

fn other_number<T>(table: &Table, values: usize, columns: usize) -> R<T> {
    no(Id::Values, &table.name, format!("{values} values for {columns} columns"))
}

impl<'a> Tr<'a> {
    /// Writes the rows; whether one brings its own rowid.
    pub(crate) fn insert_rows(
        &mut self,
        table: &'a Table,
        positions: &[usize],
        select: &'a Select<'a>,
        replace: bool,
    ) -> R<bool> {
        let simple = select.with.is_none() && select.order_by.is_none() && select.limit.is_none();
        if let (OneSelect::Values(rows), None, true) = (&select.body.select, &select.body.compounds, simple) {
            self.put("VALUES ");
            let mut explicit = false;
            self.list(rows.iter(), |tr, row| {
                if row.len() != positions.len() {
                    return other_number(table, row.len(), positions.len());
                }
                tr.put("(");
                tr.list(row.iter().zip(positions), |tr, (expr, position)| {
                    if table.rowid == Some(*position) {
                        return tr.rowid_value(table, *position, expr, &mut explicit, replace);
                    }
                    tr.inserted_value(&table.columns[*position], expr, replace)
                })?;
                tr.put(")");
                Ok(())
            })?;
            return Ok(explicit);
        }
        self.fire(Id::InsertSelect);
        let start = self.at();
        let columns = self.query(select, true)?;
        if columns.len() != positions.len() {
            return other_number(table, columns.len(), positions.len());
        }
        let (mut explicit, mut unnumbered) = (false, false);
        for (value, position) in columns.iter().zip(positions) {
            self.fits_column(value, &table.columns[*position])?;
            if table.rowid == Some(*position) {
                explicit = true;
                unnumbered = self.postgres && value.nullable;
            }
        }
        if unnumbered {
            self.number_rows(table, positions, start)?;
        }
        Ok(explicit)
    }

    fn inserted_value(&mut self, column: &Column, expr: &'a Expr<'a>, replace: bool) -> R<()> {
        let is_null = matches!(bare(expr), Expr::Literal(Literal::Null));
        if replace && !column.nullable && column.has_default && is_null {
            // REPLACE resolves the conflict with NOT NULL by the default.
            self.put("DEFAULT");
            return Ok(());
        }
        self.assign(column, expr).map(drop)
    }

    /// Whether a query's column is stored as it is.
    fn fits_column(&mut self, value: &Column, column: &Column) -> R<()> {
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
            self.stays_text(&column.name, crate::rules::select::as_value(value))?;
        }
        Ok(())
    }

    /// A NULL among the keys of a query's rows asks for the next number.
    fn number_rows(&mut self, table: &Table, positions: &[usize], start: usize) -> R<()> {
        self.fire(Id::Rowid);
        let query = self.sql.split_off(start);
        self.put("SELECT ");
        self.list(positions, |tr, p| {
            if table.rowid == Some(*p) {
                tr.put("COALESCE(");
                tr.name(&table.columns[*p].name)?;
                tr.put(&format!(", nextval({}))", sequence(table)));
                return Ok(());
            }
            tr.name(&table.columns[*p].name)
        })?;
        self.put(" FROM (");
        self.put(&query);
        self.put(") AS \"rows\" (");
        self.list(positions, |tr, p| tr.name(&table.columns[*p].name))?;
        self.put(")");
        Ok(())
    }

    /// The value of an INTEGER PRIMARY KEY: NULL asks for the next number.
    pub(crate) fn rowid_value(
        &mut self,
        table: &Table,
        position: usize,
        expr: &'a Expr<'a>,
        explicit: &mut bool,
        replace: bool,
    ) -> R<()> {
        if let Expr::Literal(Literal::Null) = bare(expr) {
            self.fire(Id::Rowid);
            match (self.postgres, replace) {
                // REPLACE may have to write its row as a query, which knows no DEFAULT.
                (true, true) => self.put(&format!("nextval({})", sequence(table))),
                (true, false) => self.put("DEFAULT"),
                (false, _) => self.put("NULL"),
            }
            return Ok(());
        }
        *explicit = true;
        let start = self.at();
        let value = self.assign(&table.columns[position], expr)?;
        if self.postgres && value.nullable {
            self.fire(Id::Rowid);
            let next = format!(", nextval({}))", sequence(table));
            self.wrap(start, "COALESCE(", &next);
        }
        Ok(())
    }
}
