//! IN: lists, queries and tables.

use crate::catalogue::Column;
use crate::emit::{Tr, plain};
use crate::parse::tree::{Expr, Literal, OneSelect, Operator, QualifiedName, ResultColumn, Select};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::collations::said;
use crate::rules::compare::{FOLD_MARIADB, FOLD_POSTGRES, adapts, alike, collation};
use crate::rules::expr::{bare, literal_number};
use crate::rules::select::as_value;
use crate::types::{Affinity, Collation, Strength, Ty, Val, number_in_text};

impl<'a> Tr<'a> {
    pub(crate) fn in_list(&mut self, lhs: &'a Expr<'a>, not: bool, items: &'a [Expr<'a>]) -> R<Val> {
        if items.is_empty() {
            self.fire(Id::EmptyIn);
            self.put(if not { "TRUE" } else { "FALSE" });
            return Ok(Val::of(Ty::Bool).never_null());
        }
        if let Expr::Parenthesized(row) = lhs
            && row.len() > 1
        {
            return no(Id::RowValues, "IN", "a row in a list; write it as a subquery");
        }
        if let [only] = items
            && said(only).is_some()
        {
            return self.in_one_collated(lhs, not, only);
        }
        let start = self.at();
        let l = self.searched(lhs, items)?;
        let mut value = l;
        self.enclose(start, &mut value, Strength::Operator);
        let (before, after) = self.as_searched(l, items)?;
        self.wrap(start, before, after);
        // A literal of another class equals nothing and is left out.
        let apart = |item: &&'a Expr<'a>| match bare(item) {
            Expr::Literal(Literal::String(text)) => {
                l.ty.numeric() && (!l.affinity.numeric() || number_in_text(&plain(text)).is_none())
            }
            _ => l.ty == Ty::Text && l.affinity == Affinity::None && literal_number(item).is_some(),
        };
        let kept: Vec<&'a Expr<'a>> = items.iter().filter(|item| !apart(item)).collect();
        let mut nullable = l.nullable;
        if kept.is_empty() {
            self.fire(Id::ClassComparison);
            let left = self.sql.split_off(start);
            self.put(&format!("CASE WHEN {left} IS NOT NULL THEN {} END", if not { "TRUE" } else { "FALSE" }));
            return Ok(Val { nullable, ..Val::of(Ty::Bool) });
        }
        self.put(if not { " NOT IN (" } else { " IN (" });
        self.list(kept, |tr, item| {
            let from = tr.at();
            let item_value = tr.operand(item, Val { affinity: l.affinity, ..l })?;
            let item_value = tr.as_integer(from, item_value);
            nullable |= item_value.nullable;
            if !alike(l.ty, item_value.ty) {
                return no(
                    Id::MixedComparison,
                    "IN",
                    format!("{} in a list with {}", l.ty.word(), item_value.ty.word()),
                );
            }
            tr.wrap(from, before, after);
            Ok(())
        })?;
        self.put(")");
        Ok(Val { nullable, ..Val::of(Ty::Bool).with(Strength::Comparison) })
    }

    /// SQLite makes an `=` of a list of one constant, so that its COLLATE counts.
    fn in_one_collated(&mut self, lhs: &'a Expr<'a>, not: bool, only: &'a Expr<'a>) -> R<Val> {
        match bare(only) {
            Expr::Collate(Expr::Literal(_) | Expr::Variable(_), _) => {
                self.compare(lhs, if not { Operator::NotEquals } else { Operator::Equals }, only)
            }
            _ => no(Id::Collation, "IN", "COLLATE in a list, which counts if there is one constant; write = instead"),
        }
    }

    /// Writes what is searched in a list.
    fn searched(&mut self, lhs: &'a Expr<'a>, items: &'a [Expr<'a>]) -> R<Val> {
        let value = match adapts(lhs) {
            true => {
                let partner = items.iter().find(|i| !adapts(i)).unwrap_or(&items[0]);
                let partner = self.probe(partner)?;
                // Only the left side's affinity counts in a list.
                self.operand(lhs, Val { affinity: Affinity::None, ..partner })?
            }
            false => self.value(lhs, Ty::Any)?,
        };
        if value.ty == Ty::Param {
            return no(Id::Parameters, "IN", "nothing here gives the parameter a type; write CAST(? AS TEXT)");
        }
        Ok(value)
    }

    /// What is put around both sides of a search in a list.
    fn as_searched(&mut self, l: Val, items: &'a [Expr<'a>]) -> R<(&'static str, &'static str)> {
        let fold = l.ty == Ty::Text && l.collation != Collation::Binary;
        if fold && l.collation == Collation::Rtrim {
            return no(Id::Collation, "RTRIM", "RTRIM in a list");
        }
        // MariaDB searches an integer key for a real by what the real is rounded to.
        let as_real = l.ty == Ty::Int && !self.postgres && self.any_real(items, l)?;
        Ok(match self.postgres {
            true if fold => FOLD_POSTGRES,
            false if fold => FOLD_MARIADB,
            _ if as_real => ("(", " * 1e0)"),
            _ => ("", ""),
        })
    }

    fn any_real(&mut self, items: &'a [Expr<'a>], l: Val) -> R<bool> {
        for item in items.iter().filter(|item| !matches!(literal_number(item), Some(crate::types::Number::Int(_)))) {
            if self.probe_operand(item, l).is_ok_and(|value| value.ty == Ty::Real) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(crate) fn in_select(&mut self, lhs: &'a Expr<'a>, not: bool, select: &'a Select<'a>) -> R<Val> {
        let only = only_result(select);
        let mut folded = None;
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
            self.fire(Id::RowValues);
            self.put("(");
        }
        let types = self.probe_query(select)?;
        if types.len() != parts.len() {
            return no(Id::RowValues, "IN", "the subquery has another number of columns");
        }
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            let from = self.at();
            if self.searched_in(part, &types[i], only)? {
                if parts.len() > 1 {
                    return no(Id::Collation, "IN", "a query's rows are searched with a collation that ignores case");
                }
                self.fold(from);
                folded = only;
            }
        }
        if parts.len() > 1 {
            self.put(")");
        }
        self.put(if not { " NOT IN (" } else { " IN (" });
        let limited = select.limit.is_some() && !self.postgres;
        if limited {
            // MariaDB has no LIMIT in such a subquery, but in one below it.
            self.fire(Id::LimitInSubquery);
            self.put("SELECT * FROM (");
        }
        let around = std::mem::replace(&mut self.folded_result, folded);
        self.subquery(select)?;
        self.folded_result = around;
        self.put(if limited { ") AS \"limited\")" } else { ")" });
        Ok(Val::of(Ty::Bool).with(Strength::Comparison))
    }

    /// Writes what is searched in a column of a query; whether under NOCASE.
    fn searched_in(&mut self, part: &'a Expr<'a>, column: &Column, result: Option<&Expr>) -> R<bool> {
        let from = self.at();
        let partner = Val { affinity: column.affinity, ..Val::of(column.ty) };
        let mut value = self.operand(part, partner)?;
        value = self.as_integer(from, value);
        self.enclose(from, &mut value, Strength::Operator);
        if value.ty == Ty::Param {
            return no(Id::Parameters, "IN", "nothing here gives the parameter a type; write CAST(? AS TEXT)");
        }
        if !alike(value.ty, column.ty) {
            return no(Id::MixedComparison, "IN", format!("{} in a query of {}", value.ty.word(), column.ty.word()));
        }
        searched_folded(value, column, result)
    }

    pub(crate) fn in_table(
        &mut self,
        lhs: &'a Expr<'a>,
        not: bool,
        table: &'a QualifiedName<'a>,
        call: bool,
    ) -> R<Val> {
        self.fire(Id::InTable);
        let name = plain(table.name.0);
        if call || self.ctes.iter().any(|c| c.name.eq_ignore_ascii_case(&name)) {
            return no(Id::InTable, table.name.0, "IN with something that is not a table");
        }
        let table = self.known_table(&name)?;
        let [column] = &table.columns[..] else {
            return no(Id::InTable, &name, "the table after IN has more than one column");
        };
        let start = self.at();
        let mut value = self.operand(lhs, Val { affinity: column.affinity, ..Val::of(column.ty) })?;
        value = self.as_integer(start, value);
        self.enclose(start, &mut value, Strength::Operator);
        let folded = match collation(value, as_value(column)) {
            _ if value.ty != Ty::Text => false,
            Collation::Binary => false,
            Collation::NoCase => true,
            Collation::Rtrim => return no(Id::Collation, &name, "a table is searched under RTRIM"),
        };
        if folded {
            self.fold(start);
        }
        if !alike(value.ty, column.ty) {
            return no(Id::MixedComparison, "IN", format!("{} in a table of {}", value.ty.word(), column.ty.word()));
        }
        self.put(if not { " NOT IN (SELECT " } else { " IN (SELECT " });
        let from = self.at();
        self.name(&column.name)?;
        if folded {
            self.fold(from);
        }
        self.put(" FROM ");
        self.name(&table.name)?;
        self.put(")");
        Ok(Val::of(Ty::Bool).with(Strength::Comparison))
    }
}

/// The expression that is the result of a plain query: it may be written folded where only equality counts.
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

/// Whether a query's column is searched for a value under NOCASE.
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
