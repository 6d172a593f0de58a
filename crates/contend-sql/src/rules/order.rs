//! ORDER BY and LIMIT.

use crate::emit::{Tr, plain};
use crate::parse::tree::{Expr, Limit, ResultColumn, SortOrder, SortedColumn};
use crate::parse::{LimitForm, limit_form};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::expr::{bare, literal_number};
use crate::types::{Collation, Number, Strength, Ty, Val};

impl<'a> Tr<'a> {
    pub(crate) fn order_term(
        &mut self,
        term: &'a SortedColumn<'a>,
        columns: &'a [ResultColumn<'a>],
        distinct: bool,
    ) -> R<()> {
        let alias = match bare(&term.expr) {
            Expr::Id(id) => self.alias(&plain(id.0)),
            _ => None,
        };
        let named = match literal_number(&term.expr) {
            Some(Number::Int(n)) => {
                match usize::try_from(n.saturating_sub(1)).ok().and_then(|i| Some((i, columns.get(i)?))) {
                    Some((i, ResultColumn::Expr(expr, _))) => Some((i, expr)),
                    _ => return no(Id::OrderBy, "ORDER", "ORDER BY a number that is no column of the result"),
                }
            }
            Some(_) => return no(Id::OrderBy, "ORDER", "ORDER BY a real number"),
            None => alias,
        };
        let short = self.text.len() <= crate::rules::expr::COMPARED_MAX;
        let listed = |expr: &Expr| short && columns.iter().any(|c| matches!(c, ResultColumn::Expr(e, _) if e == expr));
        let star = columns.iter().any(|c| !matches!(c, ResultColumn::Expr(..)));
        let column = matches!(bare(&term.expr), Expr::Id(_) | Expr::Qualified(..));
        if distinct && named.is_none() && !listed(&term.expr) && !(star && column) {
            return no(Id::OrderBy, "ORDER", "ORDER BY something that SELECT DISTINCT does not list");
        }
        let from = self.at();
        // An ordinal stands for a result's column, unless its order needs words of its own.
        if let Some((i, expr)) = named {
            let value = self.probe_value(expr)?;
            let plain_order =
                value.ty != Ty::Text || value.collation == Collation::Binary && (value.bytewise || !self.postgres);
            if plain_order && columns[..i].iter().all(|c| matches!(c, ResultColumn::Expr(..))) {
                crate::emit::push_decimal(&mut self.sql, i + 1);
                return self.direction(from, value, term);
            }
        }
        let expr = named.map_or(&term.expr, |(_, expr)| expr);
        if matches!(bare(expr), Expr::Literal(_)) {
            // It orders nothing; as it stands it would be an error on PostgreSQL.
            self.put("(SELECT NULL)");
            return Ok(());
        }
        if matches!(bare(expr), Expr::Variable(_)) {
            return no(Id::OrderBy, "ORDER", "ORDER BY a parameter");
        }
        let qualify = std::mem::replace(&mut self.qualify, true);
        let value = self.value(expr, Ty::Any)?;
        self.qualify = qualify;
        self.ordered(from, value, term)
    }

    pub(crate) fn probe_value(&mut self, expr: &'a Expr<'a>) -> R<Val> {
        let mark = self.mark();
        let value = self.value(expr, Ty::Any);
        self.back_to(mark);
        value
    }

    /// Gives what was written the order of its collation, and the direction.
    pub(crate) fn ordered(&mut self, from: usize, mut value: Val, term: &'a SortedColumn<'a>) -> R<()> {
        match (value.ty, value.collation) {
            (Ty::Any, _) => return no(Id::MixedTypes, "ORDER", "ordering values of unknown type"),
            (Ty::Text, Collation::NoCase) => {
                self.fold(from);
            }
            (Ty::Text, Collation::Rtrim) => {
                self.fire(Id::Collation);
                if self.postgres {
                    self.wrap(from, "rtrim((", ") COLLATE \"C\", ' ')");
                } else {
                    self.wrap(from, "RTRIM(", ")");
                }
            }
            (Ty::Text, Collation::Binary) if self.postgres && !value.bytewise => {
                self.enclose(from, &mut value, Strength::Atom);
                self.put(" COLLATE \"C\"");
            }
            _ => {}
        }
        self.direction(from, value, term)
    }

    /// ASC, DESC and where NULLs go: SQLite's are the smallest, as MariaDB's; PostgreSQL's are the largest.
    pub(crate) fn direction(&mut self, from: usize, value: Val, term: &SortedColumn) -> R<()> {
        use crate::parse::tree::NullsOrder;
        let descending = term.order == Some(SortOrder::Desc);
        let first = term.nulls.map_or(!descending, |n| n == NullsOrder::First);
        if !self.postgres && first == descending && value.nullable {
            self.fire(Id::NullOrder);
            let text = self.sql[from..].to_string();
            if text.bytes().all(|b| b.is_ascii_digit()) {
                return no(
                    Id::NullOrder,
                    "NULLS",
                    "MariaDB has no NULLS FIRST, and this expression cannot be written twice",
                );
            }
            let test = if first { " IS NULL DESC, " } else { " IS NULL, " };
            self.wrap(from, &format!("({text}){test}"), "");
        }
        if descending {
            self.put(" DESC");
        }
        if self.postgres && value.nullable {
            self.fire(Id::NullOrder);
            self.put(if first { " NULLS FIRST" } else { " NULLS LAST" });
        }
        Ok(())
    }

    pub(crate) fn limit(&mut self, limit: &'a Limit<'a>) -> R<()> {
        self.fire(Id::Limit);
        let (count, skip) = match &limit.offset {
            None => (&limit.expr, None),
            Some(second) => match limit_form(self.text) {
                LimitForm::Offset => (&limit.expr, Some(second)),
                LimitForm::Comma => (second, Some(&limit.expr)),
                LimitForm::Mixed => {
                    return no(Id::Limit, "LIMIT", "both forms of LIMIT with two numbers in one statement");
                }
            },
        };
        let constant = crate::rules::arithmetic::constant;
        match constant(count) {
            Some(n) if n >= 0 => {
                self.put(" LIMIT ");
                self.number(Number::Int(n));
            }
            // No limit. MariaDB wants one before OFFSET.
            Some(_) if self.postgres || skip.is_none() => {}
            Some(_) => self.put(" LIMIT 18446744073709551615"),
            None => self.limit_expression(" LIMIT ", count, "NULLIF(GREATEST(", ", -1), -1)")?,
        }
        match skip.map(|s| (s, constant(s))) {
            None => {}
            Some((_, Some(n))) => {
                self.put(" OFFSET ");
                self.number(Number::Int(n.max(0)));
            }
            Some((skip, None)) => self.limit_expression(" OFFSET ", skip, "GREATEST(", ", 0)")?,
        }
        Ok(())
    }

    pub(crate) fn limit_expression(&mut self, word: &str, expr: &'a Expr<'a>, before: &str, after: &str) -> R<()> {
        self.put(word);
        let start = self.at();
        if !self.postgres && !matches!(bare(expr), Expr::Variable(_)) {
            return no(Id::Limit, "LIMIT", "MariaDB takes a number or a parameter here, no expression");
        }
        let value = self.value(expr, Ty::Int)?;
        if !matches!(value.ty, Ty::Int | Ty::Param) {
            return no(Id::Limit, "LIMIT", format!("{} where a count is wanted", value.ty.word()));
        }
        if self.postgres {
            self.wrap(start, before, after);
        } else {
            self.fire(Id::LimitParameter);
        }
        Ok(())
    }
}
