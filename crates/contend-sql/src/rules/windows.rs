//! Window functions and the OVER clause.

use crate::emit::{Tr, plain};
use crate::parse::tree::{Expr, FrameBound, FrameClause, FrameExclude, FrameMode, Over, Window, WindowDef};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::expr::literal_number;
use crate::scope::Grouping;
use crate::types::{Affinity, Collation, Number, Strength, Ty, Val};

impl<'a> Tr<'a> {
    /// A function that only exists with OVER, if the name is one's.
    pub(crate) fn window_function(
        &mut self,
        name: &str,
        token: &'a str,
        args: &'a [Expr<'a>],
        over: &'a Over<'a>,
    ) -> R<Option<Val>> {
        let ty = match (name, args.len()) {
            ("row_number" | "rank" | "dense_rank", 0) | ("ntile", 1) => Ty::Int,
            ("percent_rank" | "cume_dist", 0) => Ty::Real,
            ("lag" | "lead", 1..=3) | ("first_value" | "last_value", 1) | ("nth_value", 2) => Ty::Any,
            _ => return Ok(None),
        };
        if self.grouping != Grouping::Allowed {
            return no(Id::Windows, token, "a window function where SQLite has none");
        }
        if !self.postgres && ty == Ty::Real {
            self.share(name == "percent_rank", token, over)?;
            return Ok(Some(Val::of(ty).never_null()));
        }
        let start = self.at();
        self.put(name);
        self.put("(");
        let mut value = Val::of(ty).never_null();
        for (i, arg) in args.iter().enumerate() {
            if i == 2 && !self.postgres {
                break;
            }
            if i > 0 {
                self.put(", ");
            }
            let count = i == 1 || name == "ntile";
            if count {
                // An offset is 32 bits wide on PostgreSQL.
                match literal_number(arg) {
                    Some(Number::Int(n @ 0..=1_000_000)) => drop(self.number(Number::Int(n))),
                    _ => return no(Id::Windows, token, "an offset that is not a small number"),
                }
            } else {
                let from = self.at();
                let mut one = self.result(arg, value.ty)?;
                if one.ty == Ty::Text && self.postgres && !one.bytewise {
                    // A bare literal has no type for a function that takes any.
                    self.enclose(from, &mut one, Strength::Atom);
                    self.put("::text");
                }
                value = if i == 0 { one } else { crate::rules::choices::unify(value, one)? };
                value.nullable = true;
            }
        }
        self.put(")");
        self.over(over)?;
        if args.len() == 3 && !self.postgres {
            value = self.window_default(name, start, &args[1], &args[2], over, value)?;
        }
        if ty == Ty::Int && self.postgres && name == "ntile" {
            self.wrap(start, "(", ")::bigint");
            value.strength = Strength::Operator;
        }
        if ty == Ty::Any {
            value = Val { affinity: Affinity::None, column: false, strength: Strength::Atom, ..value };
        }
        Ok(Some(value))
    }

    /// The third value of lag() and lead(), which MariaDB has not: it stands where a 1 in the column's place is missing.
    fn window_default(
        &mut self,
        name: &str,
        start: usize,
        offset: &'a Expr<'a>,
        default: &'a Expr<'a>,
        over: &'a Over<'a>,
        value: Val,
    ) -> R<Val> {
        let found = self.sql.split_off(start);
        self.put("CASE WHEN ");
        self.put(name);
        self.put("(1, ");
        self.value(offset, Ty::Int)?;
        self.put(")");
        self.over(over)?;
        self.put(" IS NULL THEN ");
        let other = self.value(default, value.ty)?;
        self.put(" ELSE ");
        self.put(&found);
        self.put(" END");
        crate::rules::choices::unify(value, other)
    }

    /// percent_rank() and cume_dist() on MariaDB, whose own have ten decimal places: the quotients that SQLite computes.
    fn share(&mut self, percent_rank: bool, token: &str, over: &'a Over<'a>) -> R<()> {
        match over {
            Over::Window(window) if window.base.is_none() && window.frame_clause.is_none() => {}
            _ => {
                return no(
                    Id::Windows,
                    token,
                    "MariaDB has ten decimal places of it, but over a window written in place",
                );
            }
        }
        if !percent_rank {
            self.put("(CAST(count(*)");
            self.over(over)?;
            self.put(" AS DOUBLE) / count(*)");
            self.over_all(over)?;
            self.put(")");
            return Ok(());
        }
        self.put("CASE WHEN count(*)");
        self.over_all(over)?;
        self.put(" = 1 THEN 0e0 ELSE CAST(rank()");
        self.over(over)?;
        self.put(" - 1 AS DOUBLE) / (count(*)");
        self.over_all(over)?;
        self.put(" - 1) END");
        Ok(())
    }

    /// The same window with all its rows in every frame.
    fn over_all(&mut self, over: &'a Over<'a>) -> R<()> {
        self.over(over)?;
        let end = self.sql.pop();
        debug_assert_eq!(end, Some(')'), "written in place");
        self.put(" ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)");
        Ok(())
    }

    pub(crate) fn over(&mut self, over: &'a Over<'a>) -> R<()> {
        self.fire(Id::Windows);
        if !self.postgres {
            // MariaDB 10.11 computes an ordered window in another one's order beside an empty window.
            let empty = |o: &Over| matches!(o, Over::Window(w) if w.partition_by.is_none() && w.order_by.is_none());
            if !self.windows.is_empty() && self.text.len() > crate::rules::expr::COMPARED_MAX
                || self.windows.iter().any(|o| *o != over && (empty(o) || empty(over)))
            {
                return no(Id::Windows, "OVER", "an empty window beside another, which MariaDB gets wrong");
            }
            self.windows.push(over);
        }
        match over {
            Over::Name(name) => {
                self.put(" OVER ");
                self.name(&plain(name.0))
            }
            Over::Window(window) => {
                self.put(" OVER (");
                self.window(window)?;
                self.put(")");
                Ok(())
            }
        }
    }

    /// WINDOW w AS (...), ...
    pub(crate) fn window_clause(&mut self, definitions: &'a [WindowDef<'a>]) -> R<()> {
        self.put(" WINDOW ");
        self.list(definitions, |tr, definition| {
            tr.name(&plain(definition.name.0))?;
            tr.put(" AS (");
            tr.window(&definition.window)?;
            tr.put(")");
            Ok(())
        })
    }

    fn window(&mut self, window: &'a Window<'a>) -> R<()> {
        let mut space = "";
        if let Some(base) = &window.base {
            self.name(&plain(base.0))?;
            space = " ";
        }
        if let Some(partition) = window.partition_by {
            self.put(space);
            self.put("PARTITION BY ");
            self.list(partition, |tr, expr| {
                let value = tr.value(expr, Ty::Any)?;
                if value.collation != Collation::Binary {
                    return no(Id::Collation, "PARTITION", "a partition under a collation that ignores case");
                }
                Ok(())
            })?;
            space = " ";
        }
        if let Some(order) = window.order_by {
            self.put(space);
            self.put("ORDER BY ");
            self.list(order, |tr, term| {
                if literal_number(&term.expr).is_some() {
                    return no(Id::Windows, "ORDER", "a window ordered by a constant");
                }
                let from = tr.at();
                let value = tr.value(&term.expr, Ty::Any)?;
                tr.ordered(from, value, term)
            })?;
            space = " ";
        }
        if let Some(frame) = &window.frame_clause {
            self.put(space);
            self.frame(frame)?;
        }
        Ok(())
    }

    fn frame(&mut self, frame: &'a FrameClause<'a>) -> R<()> {
        if !self.postgres && (frame.mode == FrameMode::Groups || frame.exclude.is_some()) {
            return no(Id::Windows, "GROUPS", "MariaDB has neither GROUPS nor EXCLUDE");
        }
        self.put(match frame.mode {
            FrameMode::Groups => "GROUPS ",
            FrameMode::Range => "RANGE ",
            FrameMode::Rows => "ROWS ",
        });
        match &frame.end {
            None => self.bound(&frame.start)?,
            Some(end) => {
                self.put("BETWEEN ");
                self.bound(&frame.start)?;
                self.put(" AND ");
                self.bound(end)?;
            }
        }
        match &frame.exclude {
            None => {}
            Some(FrameExclude::NoOthers) => self.put(" EXCLUDE NO OTHERS"),
            Some(FrameExclude::CurrentRow) => self.put(" EXCLUDE CURRENT ROW"),
            Some(FrameExclude::Group) => self.put(" EXCLUDE GROUP"),
            Some(FrameExclude::Ties) => self.put(" EXCLUDE TIES"),
        }
        Ok(())
    }

    fn bound(&mut self, bound: &'a FrameBound<'a>) -> R<()> {
        let (count, word) = match bound {
            FrameBound::CurrentRow => {
                self.put("CURRENT ROW");
                return Ok(());
            }
            FrameBound::UnboundedFollowing => {
                self.put("UNBOUNDED FOLLOWING");
                return Ok(());
            }
            FrameBound::UnboundedPreceding => {
                self.put("UNBOUNDED PRECEDING");
                return Ok(());
            }
            FrameBound::Following(count) => (count, " FOLLOWING"),
            FrameBound::Preceding(count) => (count, " PRECEDING"),
        };
        match literal_number(count) {
            Some(Number::Int(n)) if n >= 0 => drop(self.number(Number::Int(n))),
            _ => return no(Id::Windows, "OVER", "a frame's bound that is not a number"),
        }
        self.put(word);
        Ok(())
    }
}
