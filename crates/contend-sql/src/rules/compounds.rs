//! UNION and its like, and VALUES.

use crate::catalogue::Column;
use crate::emit::{Tr, plain};
use crate::parse::tree::{CompoundOperator, Expr, OneSelect, Select};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::choices::unify;
use crate::rules::expr::{bare, literal_number};
use crate::rules::select::{as_value, output};
use crate::types::{Affinity, Collation, Number, Ty};

impl<'a> Tr<'a> {
    /// UNION and its like. SQLite takes them from left to right; the servers take INTERSECT first.
    pub(crate) fn compound(
        &mut self,
        first: &'a OneSelect<'a>,
        rest: &'a [crate::parse::tree::CompoundSelect<'a>],
    ) -> R<Vec<Column>> {
        self.fire(Id::Compound);
        let start = self.at();
        let mut columns = self.core(first, &[], true)?;
        let mut looser = false;
        for part in rest {
            let intersect = part.operator == CompoundOperator::Intersect;
            if intersect && looser {
                self.wrap(start, "(", ")");
                looser = false;
            }
            looser |= !intersect;
            self.put(match part.operator {
                CompoundOperator::Union => " UNION ",
                CompoundOperator::UnionAll => " UNION ALL ",
                CompoundOperator::Except => " EXCEPT ",
                CompoundOperator::Intersect => " INTERSECT ",
            });
            let other = self.core(&part.select, &[], true)?;
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

    pub(crate) fn compound_order(&mut self, start: usize, select: &'a Select<'a>, columns: &[Column]) -> R<()> {
        for (i, term) in select.order_by.unwrap_or_default().iter().enumerate() {
            self.put(if i == 0 { " ORDER BY " } else { ", " });
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
                column.ty != Ty::Text || column.collation == Collation::Binary && (column.bytewise || !self.postgres);
            if !plain_order {
                // The order needs words of its own, which only stand around the whole.
                if i > 0 || column.name.is_empty() {
                    return no(Id::Compound, "ORDER", "ORDER BY a text that no column gives its collation");
                }
                let order = self.sql.split_off(self.sql.len() - " ORDER BY ".len());
                self.wrap(start, "SELECT * FROM (", ") AS \"compound\"");
                self.put(&order);
                let from = self.at();
                self.name(&column.name)?;
                self.ordered(from, as_value(column), term)?;
                continue;
            }
            let from = self.at();
            crate::emit::push_decimal(&mut self.sql, position + 1);
            self.direction(from, as_value(column), term)?;
        }
        Ok(())
    }

    /// VALUES as a query. MariaDB names such columns by their values, so there it is a UNION of SELECTs.
    pub(crate) fn values(&mut self, rows: &'a [bumpalo::collections::Vec<'a, Expr<'a>>]) -> R<Vec<Column>> {
        self.fire(Id::Values);
        let mut columns: Vec<Column> = vec![];
        if self.postgres {
            self.put("VALUES ");
        }
        for (i, row) in rows.iter().enumerate() {
            match (self.postgres, i) {
                (true, 0) => self.put("("),
                (true, _) => self.put(", ("),
                (false, 0) => self.put("SELECT "),
                (false, _) => self.put(" UNION ALL SELECT "),
            }
            if i > 0 && row.len() != columns.len() {
                return no(Id::Values, "VALUES", "rows of different length");
            }
            for (j, expr) in row.iter().enumerate() {
                if j > 0 {
                    self.put(", ");
                }
                let want = columns.get(j).map_or(Ty::Any, |c| c.ty);
                let value = self.result(expr, want)?;
                if i == 0 {
                    let name = format!("column{}", j + 1);
                    if !self.postgres {
                        self.put(" AS ");
                        self.name(&name)?;
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
            if self.postgres {
                self.put(")");
            }
        }
        Ok(columns)
    }
}
