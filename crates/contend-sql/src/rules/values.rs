//! Expressions by context: values, conditions, results, queries.

use std::rc::Rc;

use crate::catalogue::Column;
use crate::emit::{Tr, Wanted, plain, push_decimal};
use crate::parse::tree::{Expr, Literal, Select};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::literals::{COMPARED_MAX, bare};
use crate::types::{Affinity, Number, Strength, Ty, Val};

impl<'a> Tr<'a> {
    /// Whether the innermost query groups by this expression, in a part where that matters.
    pub(crate) fn groups_by(&self, expr: &'a Expr<'a>) -> bool {
        self.known
            .scopes
            .last()
            .is_some_and(|scope| scope.checked && self.input.text.len() <= COMPARED_MAX && scope.terms.contains(&expr))
    }

    pub(crate) fn number(&mut self, number: Number) -> Val {
        match number {
            Number::Int(n) => {
                let start = self.at();
                if n == i64::MIN {
                    self.either("(-9223372036854775807 - 1)", "(-9223372036854775807 - 1)");
                    return Val::of(Ty::Int).never_null();
                }
                push_decimal(&mut self.out.sql, n.unsigned_abs() as usize);
                if n < 0 {
                    self.wrap(start, "-", "");
                }
                let strength = if n < 0 { Strength::Operator } else { Strength::Atom };
                Val { narrow: i32::try_from(n).is_ok(), ..Val::of(Ty::Int).never_null().with(strength) }
            }
            Number::Real(n) => {
                if n.is_infinite() {
                    // SQLite reads 1e999 as infinity, which MariaDB does not have: the statement is refused at the
                    // end.
                    self.out.infinite = true;
                    self.put(if n > 0.0 { "'Infinity'" } else { "'-Infinity'" });
                } else if self.postgres {
                    self.out.sql.push_str(&format!("'{n:e}'"));
                } else {
                    self.out.sql.push_str(&format!("{n:e}"));
                }
                if self.postgres {
                    self.put("::float8");
                }
                Val::of(Ty::Real).never_null().with(if n < 0.0 { Strength::Operator } else { Strength::Atom })
            }
        }
    }

    /// Writes an expression as a condition.
    pub(crate) fn condition(&mut self, expr: &'a Expr<'a>) -> R<Val> {
        let start = self.at();
        if let Expr::Literal(Literal::String(text)) = bare(expr) {
            // A text is true if the number at its beginning is not 0.
            let text = plain(text);
            let truth = !matches!(crate::types::number_prefix(&text), Number::Int(0) | Number::Real(0.0));
            self.fire(Id::TextAsNumber);
            self.put(if truth { "TRUE" } else { "FALSE" });
            return Ok(Val::of(Ty::Bool).never_null());
        }
        let value = self.expr(expr, Ty::Int)?;
        self.as_condition(start, value)
    }

    pub(crate) fn as_condition(&mut self, start: usize, mut value: Val) -> R<Val> {
        match value.ty {
            Ty::Bool => {}
            Ty::Int | Ty::Real | Ty::Number | Ty::Param => {
                self.fire(Id::Booleans);
                if self.postgres {
                    self.enclose(start, &mut value, Strength::Operator);
                    self.put(" <> 0");
                    value.strength = Strength::Comparison;
                }
            }
            Ty::Null => {
                if self.postgres {
                    self.put("::boolean");
                    value.strength = Strength::Operator;
                }
            }
            Ty::Tagged => {
                self.wrap(start, "(contend_sql.tagged_real(", ") <> 0)");
                value.strength = Strength::Atom;
            }
            Ty::Text | Ty::Blob | Ty::Any => {
                return no(
                    Id::TextAsNumber,
                    "",
                    format!("{} as a condition: its text would be read as a number", value.ty.word()),
                );
            }
        }
        value.ty = Ty::Bool;
        value.affinity = Affinity::None;
        Ok(value)
    }

    /// Writes an expression as a value: a truth value becomes 0 or 1.
    pub(crate) fn value(&mut self, expr: &'a Expr<'a>, want: Ty) -> R<Val> {
        let start = self.at();
        let value = self.expr(expr, want)?;
        Ok(self.as_integer(start, value))
    }

    pub(crate) fn as_integer(&mut self, start: usize, mut value: Val) -> Val {
        if value.ty == Ty::Bool {
            self.fire(Id::Booleans);
            if self.postgres {
                self.enclose(start, &mut value, Strength::Atom);
                self.put("::int");
                value.narrow = true;
                value.strength = Strength::Operator;
            }
            value.ty = Ty::Int;
        }
        value
    }

    /// Writes a value that leaves the expression: a column of a result, a subquery or VALUES. Integers have 64 bits.
    pub(crate) fn result(&mut self, expr: &'a Expr<'a>, want: Ty) -> R<Val> {
        let start = self.at();
        let mut value = self.value(expr, want)?;
        if self.postgres && value.narrow {
            self.enclose(start, &mut value, Strength::Atom);
            self.put("::bigint");
            value.narrow = false;
        }
        if self.postgres && value.ty == Ty::Param {
            return no(
                Id::Parameters,
                "",
                "nothing here gives the parameter a type; write CAST(? AS INTEGER), CAST(? AS TEXT) or the like",
            );
        }
        Ok(value)
    }

    pub(crate) fn probe_value(&mut self, expr: &'a Expr<'a>) -> R<Val> {
        let mark = self.mark();
        let value = self.value(expr, Ty::Any);
        self.back_to(mark);
        value
    }

    /// Writes a query inside another statement; returns its columns.
    pub(crate) fn subquery(&mut self, select: &'a Select<'a>) -> R<Rc<[Column]>> {
        let grouping = std::mem::take(&mut self.place.grouping);
        let (aggregates, qualify) = (self.seen.aggregates, std::mem::take(&mut self.place.qualify));
        let columns = self.query(select, Wanted::Columns);
        self.place.grouping = grouping;
        self.seen.aggregates = aggregates;
        self.place.qualify = qualify;
        let columns = columns?;
        if columns.iter().any(|column| column.ty == Ty::Param) {
            return no(
                Id::Parameters,
                "",
                "a parameter leaves a subquery and nothing gives it a type; write CAST(? AS INTEGER), CAST(? AS TEXT) or the like",
            );
        }
        Ok(columns.into())
    }

    /// The columns of a query, without writing it.
    pub(crate) fn probe_query(&mut self, select: &'a Select<'a>) -> R<Rc<[Column]>> {
        let mark = self.mark();
        let columns = self.subquery(select);
        self.back_to(mark);
        columns
    }
}
