//! Aggregate and window functions.

use crate::emit::{Tr, plain};
use crate::parse::tree::{Distinctness, Expr, FunctionCallOrder, FunctionTail, Literal};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::compare::{FOLD_MARIADB, FOLD_POSTGRES, collation};
use crate::scope::Grouping;
use crate::types::{Affinity, Collation, Strength, Ty, Val};

impl<'a> Tr<'a> {
    /// count(*)
    pub(crate) fn call_star(&mut self, token: &'a str, tail: Option<&'a FunctionTail<'a>>) -> R<Val> {
        if !plain(token).eq_ignore_ascii_case("count") {
            return no(Id::Functions, token, "only count() takes *");
        }
        self.enter_aggregate(token, tail)?;
        self.fire(Id::Aggregates);
        if self.postgres || tail.is_none_or(|t| t.filter_clause.is_none()) {
            self.put("count(*)");
        } else {
            self.put("count(");
            let end = self.filtered(tail)?;
            self.put("1");
            self.put(end);
            self.put(")");
        }
        self.tail(tail)?;
        Ok(Val::of(Ty::Int).never_null())
    }

    fn enter_aggregate(&mut self, token: &str, tail: Option<&FunctionTail>) -> R<()> {
        let window = tail.is_some_and(|t| t.over_clause.is_some());
        match self.grouping {
            Grouping::Allowed => {}
            Grouping::Forbidden => return no(Id::Aggregates, token, "an aggregate where SQLite has none"),
            Grouping::Inside => return no(Id::Aggregates, token, "an aggregate inside an aggregate"),
        }
        if !window {
            self.aggregates_seen += 1;
        }
        Ok(())
    }

    /// An aggregate call, if the name is one's.
    pub(crate) fn aggregate(
        &mut self,
        name: &str,
        token: &'a str,
        distinct: Option<Distinctness>,
        args: &'a [Expr<'a>],
        order: Option<&'a FunctionCallOrder<'a>>,
        tail: Option<&'a FunctionTail<'a>>,
    ) -> R<Option<Val>> {
        if let Some(over) = tail.and_then(|t| t.over_clause)
            && let Some(value) = self.window_function(name, token, args, over)?
        {
            return Ok(Some(value));
        }
        let known = match (name, args.len()) {
            ("count", 0) => return self.call_star(token, tail).map(Some),
            ("count" | "sum" | "total" | "avg" | "min" | "max", 1) => true,
            ("group_concat" | "string_agg", 1 | 2) | ("json_group_array", 1) => true,
            _ => false,
        };
        if !known {
            return Ok(None);
        }
        self.enter_aggregate(token, tail)?;
        self.fire(Id::Aggregates);
        if order.is_some() && !matches!(name, "group_concat" | "string_agg" | "json_group_array") {
            return no(Id::Aggregates, token, "ORDER BY inside an aggregate");
        }
        let outer = std::mem::replace(&mut self.grouping, Grouping::Inside);
        let mut value = no(Id::Aggregates, token, "an aggregate that was not written");
        let windowed = tail.is_some_and(|t| t.over_clause.is_some());
        let mut write = |tr: &mut Self| {
            value = tr.aggregate_here(name, token, distinct == Some(Distinctness::Distinct), args, order, tail);
            Ok(())
        };
        // A window function's arguments are the grouped query's own.
        if windowed {
            write(self)?
        } else {
            self.ungrouped(write)?
        }
        self.grouping = outer;
        value.map(Some)
    }

    fn aggregate_here(
        &mut self,
        name: &str,
        token: &'a str,
        distinct: bool,
        args: &'a [Expr<'a>],
        order: Option<&'a FunctionCallOrder<'a>>,
        tail: Option<&'a FunctionTail<'a>>,
    ) -> R<Val> {
        let start = self.at();
        match name {
            "count" => self.count(token, distinct, &args[0], tail),
            "sum" | "total" | "avg" => {
                self.put("sum");
                self.put(if distinct { "(DISTINCT " } else { "(" });
                let end = self.filtered(tail)?;
                let value = self.numeric_operand(&args[0], Ty::Int)?;
                self.put(end);
                self.put(")");
                self.tail(tail)?;
                self.sum(name, start, value, distinct, args, tail)
            }
            "min" | "max" => self.extreme(name, token, &args[0], tail),
            "json_group_array" if distinct && order.is_some() => {
                no(Id::Json, token, "json_group_array() of DISTINCT values in an order")
            }
            "json_group_array" if !self.postgres && tail.is_some_and(|t| t.over_clause.is_some()) => {
                no(Id::Windows, token, "MariaDB has no json_group_array() over a window")
            }
            "json_group_array" => {
                self.put(if self.postgres { "string_agg(" } else { "GROUP_CONCAT(" });
                if distinct {
                    self.put("DISTINCT ");
                    let value = self.probe(&args[0])?;
                    self.distinct_values(token, value)?;
                }
                let end = self.filtered(tail)?;
                self.json_value(token, &args[0])?;
                self.put(end);
                self.put(if self.postgres { ", ','" } else { "" });
                self.concat_order(order)?;
                self.put(if self.postgres { ")" } else { " SEPARATOR ',')" });
                self.tail(tail)?;
                self.fire(Id::Json);
                self.wrap(start, "CONCAT('[', COALESCE(", ", ''), ']')");
                Ok(Val::of(Ty::Text).never_null())
            }
            _ => self.group_concat(token, distinct, args, order, tail),
        }
    }

    fn count(
        &mut self,
        token: &'a str,
        distinct: bool,
        one: &'a Expr<'a>,
        tail: Option<&'a FunctionTail<'a>>,
    ) -> R<Val> {
        self.put(if distinct { "count(DISTINCT " } else { "count(" });
        let end = self.filtered(tail)?;
        let from = self.at();
        let value = self.value(one, Ty::Text)?;
        if distinct && value.ty == Ty::Text && value.collation == Collation::NoCase {
            self.fire(Id::Collation);
            let (before, after) = if self.postgres { FOLD_POSTGRES } else { FOLD_MARIADB };
            self.wrap(from, before, after);
        } else if distinct {
            self.distinct_values(token, value)?;
        }
        self.put(end);
        self.put(")");
        self.tail(tail)?;
        Ok(Val::of(Ty::Int).never_null())
    }

    /// min() and max() of a group.
    fn extreme(&mut self, name: &str, token: &'a str, one: &'a Expr<'a>, tail: Option<&'a FunctionTail<'a>>) -> R<Val> {
        self.put(name);
        self.put("(");
        let end = self.filtered(tail)?;
        let from = self.at();
        let mut value = self.value(one, Ty::Text)?;
        if matches!(value.ty, Ty::Param | Ty::Any | Ty::Blob) {
            return no(Id::Aggregates, token, format!("{name}() of {}", value.ty.word()));
        }
        if value.ty == Ty::Text && collation(value, value) != Collation::Binary {
            return no(Id::Collation, token, "max() or min() under a collation that ignores case");
        }
        if value.ty == Ty::Text && self.postgres && !value.bytewise {
            self.enclose(from, &mut value, Strength::Atom);
            self.put("::text COLLATE \"C\"");
        }
        self.put(end);
        self.put(")");
        self.tail(tail)?;
        Ok(Val { nullable: true, affinity: Affinity::None, column: false, strength: Strength::Atom, ..value })
    }

    #[allow(clippy::too_many_arguments)]
    fn sum(
        &mut self,
        name: &str,
        start: usize,
        value: Val,
        distinct: bool,
        args: &'a [Expr<'a>],
        tail: Option<&'a FunctionTail<'a>>,
    ) -> R<Val> {
        let integer = value.ty == Ty::Int;
        self.fire(if integer { Id::Overflow } else { Id::Reals });
        match (name, self.postgres) {
            ("sum", true) if integer => {
                self.put("::bigint");
                Ok(Val::of(Ty::Int).with(Strength::Operator))
            }
            ("sum", false) if integer => {
                // A CAST would hold a sum that is too large to 64 bits; this is an error.
                self.wrap(start, "(", " DIV 1)");
                Ok(Val::of(Ty::Int))
            }
            ("sum", _) => Ok(Val::of(value.ty)),
            ("total", true) => {
                self.wrap(start, "COALESCE((", ")::float8, 0)");
                Ok(Val::of(Ty::Real).never_null())
            }
            ("total", false) => {
                self.wrap(start, "COALESCE(CAST(", " AS DOUBLE), 0e0)");
                Ok(Val::of(Ty::Real).never_null())
            }
            (_, postgres) => {
                // The quotient of two doubles, as SQLite computes it.
                if postgres {
                    self.wrap(start, "((", ")::float8 / count(");
                } else {
                    self.wrap(start, "(CAST(", " AS DOUBLE) / count(");
                }
                if distinct {
                    self.put("DISTINCT ");
                }
                let end = self.filtered(tail)?;
                self.numeric_operand(&args[0], Ty::Int)?;
                self.put(end);
                self.put(")");
                self.tail(tail)?;
                self.put(")");
                Ok(Val::of(Ty::Real))
            }
        }
    }

    fn group_concat(
        &mut self,
        token: &'a str,
        distinct: bool,
        args: &'a [Expr<'a>],
        order: Option<&'a FunctionCallOrder<'a>>,
        tail: Option<&'a FunctionTail<'a>>,
    ) -> R<Val> {
        self.fire(Id::GroupConcat);
        if !self.postgres && tail.is_some_and(|t| t.over_clause.is_some()) {
            return no(Id::Windows, token, "MariaDB has no group_concat() over a window");
        }
        self.put(if self.postgres { "string_agg(" } else { "GROUP_CONCAT(" });
        if distinct {
            self.put("DISTINCT ");
        }
        let end = self.filtered(tail)?;
        let value = self.text_operand(&args[0])?;
        self.put(end);
        if self.postgres {
            self.put(", ");
        } else {
            self.concat_order(order)?;
            self.put(" SEPARATOR ");
        }
        match args.get(1) {
            None => self.put("','"),
            Some(Expr::Literal(Literal::Null)) => self.put("''"),
            Some(separator @ Expr::Literal(_)) => {
                self.text_operand(separator)?;
            }
            Some(separator) if self.postgres => {
                self.text_operand(separator)?;
            }
            Some(_) => return no(Id::GroupConcat, token, "a separator that is not a literal"),
        }
        if self.postgres {
            self.concat_order(order)?;
        }
        self.put(")");
        self.tail(tail)?;
        Ok(Val { bytewise: value.bytewise, ..Val::of(Ty::Text) })
    }

    /// ORDER BY inside an aggregate.
    fn concat_order(&mut self, order: Option<&'a FunctionCallOrder<'a>>) -> R<()> {
        let Some(FunctionCallOrder::SortList(terms)) = order else { return Ok(()) };
        self.put(" ORDER BY ");
        self.list(*terms, |tr, term| {
            let from = tr.at();
            let value = tr.value(&term.expr, Ty::Any)?;
            tr.ordered(from, value, term)
        })
    }

    /// DISTINCT inside an aggregate, or over rows, under the value's collation.
    pub(crate) fn distinct_values(&mut self, token: &str, value: Val) -> R<()> {
        match value.ty {
            Ty::Text if value.collation != Collation::Binary => {
                no(Id::Collation, token, "DISTINCT under a collation that ignores case")
            }
            Ty::Any => no(Id::Aggregates, token, "DISTINCT over values of unknown type"),
            _ => Ok(()),
        }
    }

    /// Writes a part that may name any column, grouped by or not.
    fn ungrouped(&mut self, write: impl FnOnce(&mut Self) -> R<()>) -> R<()> {
        let checked = self.scopes.last_mut().is_some_and(|s| std::mem::take(&mut s.checked));
        let written = write(self);
        if let Some(scope) = self.scopes.last_mut() {
            scope.checked = checked;
        }
        written
    }

    /// Begins an aggregate's argument: on MariaDB FILTER is a CASE around it, as aggregates leave NULLs out.
    fn filtered(&mut self, tail: Option<&'a FunctionTail<'a>>) -> R<&'static str> {
        match tail.and_then(|t| t.filter_clause) {
            Some(filter) if !self.postgres => {
                self.put("CASE WHEN ");
                self.ungrouped(|tr| tr.condition(filter).map(drop))?;
                self.put(" THEN ");
                Ok(" END")
            }
            _ => Ok(""),
        }
    }

    /// FILTER and OVER.
    fn tail(&mut self, tail: Option<&'a FunctionTail<'a>>) -> R<()> {
        let Some(tail) = tail else { return Ok(()) };
        if let Some(filter) = tail.filter_clause {
            self.fire(Id::Filter);
            if self.postgres {
                self.put(" FILTER (WHERE ");
                self.ungrouped(|tr| tr.condition(filter).map(drop))?;
                self.put(")");
            }
        }
        if let Some(over) = tail.over_clause {
            // What partitions and orders a window is not inside the aggregate.
            let outer = std::mem::replace(&mut self.grouping, Grouping::Allowed);
            self.over(over)?;
            self.grouping = outer;
        }
        Ok(())
    }
}
