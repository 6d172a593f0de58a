//! Window functions and the OVER clause.

use crate::emit::{Tr, plain};
use crate::parse::tree::{
    Expr, FrameBound, FrameClause, FrameExclude, FrameMode, Over, SortedColumn, Window, WindowDef,
};
use crate::refuse::{R, no};
use crate::rules::choices::unify;
use crate::rules::literals::{bare, literal_number};
use crate::rules::{Id, indexes, order, tagged};
use crate::scope::{Columns, Found, Grouping};
use crate::types::{Affinity, Collation, Number, Strength, Ty, Val};

/// Translates a function that requires OVER; `None` for other names.
pub(crate) fn window_function<'a>(
    tr: &mut Tr<'a>,
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
    if tr.place.grouping != Grouping::Allowed {
        return no(Id::Windows, token, "a window function where SQLite has none");
    }
    if !tr.postgres && ty == Ty::Real {
        share(tr, name == "percent_rank", token, over)?;
        return Ok(Some(Val::of(ty).never_null()));
    }
    let start = tr.at();
    tr.put(name);
    tr.put("(");
    let mut value = Val::of(ty).never_null();
    for (i, arg) in args.iter().enumerate() {
        if i == 2 && !tr.postgres {
            break;
        }
        if i > 0 {
            tr.put(", ");
        }
        let count = i == 1 || name == "ntile";
        if count {
            // An offset has 32 bits on PostgreSQL.
            match literal_number(arg) {
                Some(Number::Int(n @ 0..=1_000_000)) => drop(tr.number(Number::Int(n))),
                _ => return no(Id::Windows, token, "an offset that is not a small number"),
            }
        } else {
            let from = tr.at();
            let mut one = tr.result(arg, value.ty)?;
            if one.ty == Ty::Text && tr.postgres && !one.bytewise {
                // A bare literal has no type for a polymorphic function.
                tr.enclose(from, &mut one, Strength::Atom);
                tr.put("::text");
            }
            value = if i == 0 { one } else { unify(value, one)? };
            value.nullable = true;
        }
    }
    tr.put(")");
    over_clause(tr, over)?;
    if args.len() == 3 && !tr.postgres {
        let found = tr.out.sql.split_off(start);
        value = window_default(tr, name, args, over, value)?;
        tr.put(&found);
        tr.put(" END");
    }
    if ty == Ty::Int && tr.postgres && name == "ntile" {
        tr.wrap(start, "(", ")::bigint");
        value.strength = Strength::Operator;
    }
    if ty == Ty::Any {
        value = Val { affinity: Affinity::None, column: false, strength: Strength::Atom, ..value };
    }
    Ok(Some(value))
}

/// The third argument of lag() and lead(), which MariaDB lacks: the default applies if a 1 in place of the column is
/// missing. The caller writes the other value after ELSE.
fn window_default<'a>(tr: &mut Tr<'a>, name: &str, args: &'a [Expr<'a>], over: &'a Over<'a>, value: Val) -> R<Val> {
    tr.put("CASE WHEN ");
    tr.put(name);
    tr.put("(1, ");
    tr.value(&args[1], Ty::Int)?;
    tr.put(")");
    over_clause(tr, over)?;
    tr.put(" IS NULL THEN ");
    let other = tr.value(&args[2], value.ty)?;
    tr.put(" ELSE ");
    unify(value, other)
}

/// percent_rank() and cume_dist() on MariaDB, whose results have only ten decimal places: computed as quotients, as
/// SQLite does.
fn share<'a>(tr: &mut Tr<'a>, percent_rank: bool, token: &str, over: &'a Over<'a>) -> R<()> {
    match over {
        Over::Window(window) if window.base.is_none() && window.frame_clause.is_none() => {}
        _ => {
            return no(Id::Windows, token, "MariaDB has ten decimal places of it, but over a window written in place");
        }
    }
    if !percent_rank {
        tr.put("(CAST(count(*)");
        over_clause(tr, over)?;
        tr.put(" AS DOUBLE) / count(*)");
        over_all(tr, over)?;
        tr.put(")");
        return Ok(());
    }
    tr.put("CASE WHEN count(*)");
    over_all(tr, over)?;
    tr.put(" = 1 THEN 0e0 ELSE CAST(rank()");
    over_clause(tr, over)?;
    tr.put(" - 1 AS DOUBLE) / (count(*)");
    over_all(tr, over)?;
    tr.put(" - 1) END");
    Ok(())
}

/// The same window with all rows in every frame.
fn over_all<'a>(tr: &mut Tr<'a>, over: &'a Over<'a>) -> R<()> {
    over_clause(tr, over)?;
    let end = tr.out.sql.pop();
    debug_assert_eq!(end, Some(')'), "written in place");
    tr.put(" ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)");
    Ok(())
}

/// OVER after an aggregate: next to an ordered window, MariaDB gets an empty one as an ordered one of all rows.
pub(crate) fn over_aggregate<'a>(tr: &mut Tr<'a>, over: &'a Over<'a>) -> R<()> {
    let ordered = tr.known.windows.iter().rev().find_map(|window| match window {
        Over::Window(w) if w.base.is_none() && w.partition_by.is_none() => w.order_by,
        _ => None,
    });
    match (over, ordered) {
        (Over::Window(window), Some(order)) if !tr.postgres && is_empty(window) => {
            tr.fire(Id::Windows);
            tr.put(" OVER (");
            window_order(tr, order)?;
            tr.put(" ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)");
            Ok(())
        }
        _ => over_clause(tr, over),
    }
}

fn is_empty(window: &Window) -> bool {
    let Window { base, partition_by, order_by, frame_clause } = window;
    base.is_none() && partition_by.is_none() && order_by.is_none() && frame_clause.is_none()
}

/// Whether rows may leave the frame of a window before its last row.
pub(crate) fn moves(over: &Over) -> bool {
    let Over::Window(window) = over else { return true };
    let moves = |frame: &FrameClause| frame.exclude.is_some() || frame.start != FrameBound::UnboundedPreceding;
    window.base.is_some() || window.frame_clause.as_ref().is_some_and(moves)
}

pub(crate) fn over_clause<'a>(tr: &mut Tr<'a>, over: &'a Over<'a>) -> R<()> {
    tr.fire(Id::Windows);
    if !tr.postgres {
        // Next to an empty window, MariaDB 10.11 computes an ordered window in another one's order.
        let empty = |o: &Over| matches!(o, Over::Window(w) if w.partition_by.is_none() && w.order_by.is_none());
        if !tr.known.windows.is_empty() && tr.input.text.len() > crate::rules::literals::COMPARED_MAX
            || tr.known.windows.iter().any(|o| *o != over && (empty(o) || empty(over)))
        {
            return no(Id::Windows, "OVER", "an empty window next to another, which MariaDB gets wrong");
        }
        tr.known.windows.push(over);
    }
    match over {
        Over::Name(name) => {
            tr.put(" OVER ");
            tr.name(&plain(name.0))
        }
        Over::Window(window) => {
            tr.put(" OVER (");
            window_written(tr, window)?;
            tr.put(")");
            Ok(())
        }
    }
}

/// WINDOW w AS (...), ...
pub(crate) fn window_clause<'a>(tr: &mut Tr<'a>, definitions: &'a [WindowDef<'a>]) -> R<()> {
    tr.put(" WINDOW ");
    tr.list(definitions, |tr, definition| {
        tr.name(&plain(definition.name.0))?;
        tr.put(" AS (");
        window_written(tr, &definition.window)?;
        tr.put(")");
        Ok(())
    })
}

fn window_written<'a>(tr: &mut Tr<'a>, window: &'a Window<'a>) -> R<()> {
    let mut space = "";
    if let Some(base) = &window.base {
        tr.name(&plain(base.0))?;
        space = " ";
    }
    if let Some(partition) = window.partition_by {
        tr.put(space);
        tr.put("PARTITION BY ");
        tr.list(partition, |tr, expr| {
            let start = tr.at();
            let value = tr.value(expr, Ty::Any)?;
            if value.collation != Collation::Binary {
                return no(Id::Collation, "PARTITION", "a partition under a collation that ignores case");
            }
            match value.ty {
                Ty::Tagged => tagged::order_key(tr, start, value)?,
                Ty::Any => return no(Id::MixedTypes, "PARTITION", "a partition of values of unknown type"),
                _ => {}
            }
            // MariaDB would put rows together whose texts begin alike.
            if is_long(tr, expr, value)? {
                tr.wrap(start, "SHA2(", ", 256)");
            }
            Ok(())
        })?;
        space = " ";
    }
    if let Some(order) = window.order_by {
        tr.put(space);
        window_order(tr, order)?;
        space = " ";
    }
    if let Some(frame) = &window.frame_clause {
        tr.put(space);
        frame_clause(tr, frame)?;
    }
    Ok(())
}

fn window_order<'a>(tr: &mut Tr<'a>, order: &'a [SortedColumn<'a>]) -> R<()> {
    tr.put("ORDER BY ");
    tr.list(order, |tr, term| {
        if literal_number(&term.expr).is_some() {
            return no(Id::Windows, "ORDER", "a window ordered by a constant");
        }
        let from = tr.at();
        let value = tr.value(&term.expr, Ty::Any)?;
        order::ordered(tr, from, value, term)
    })
}

fn frame_clause<'a>(tr: &mut Tr<'a>, frame: &'a FrameClause<'a>) -> R<()> {
    if !tr.postgres && (frame.mode == FrameMode::Groups || frame.exclude.is_some()) {
        return no(Id::Windows, "GROUPS", "MariaDB has neither GROUPS nor EXCLUDE");
    }
    tr.put(match frame.mode {
        FrameMode::Groups => "GROUPS ",
        FrameMode::Range => "RANGE ",
        FrameMode::Rows => "ROWS ",
    });
    match &frame.end {
        None => bound(tr, &frame.start)?,
        Some(end) => {
            tr.put("BETWEEN ");
            bound(tr, &frame.start)?;
            tr.put(" AND ");
            bound(tr, end)?;
        }
    }
    match &frame.exclude {
        None => {}
        Some(FrameExclude::NoOthers) => tr.put(" EXCLUDE NO OTHERS"),
        Some(FrameExclude::CurrentRow) => tr.put(" EXCLUDE CURRENT ROW"),
        Some(FrameExclude::Group) => tr.put(" EXCLUDE GROUP"),
        Some(FrameExclude::Ties) => tr.put(" EXCLUDE TIES"),
    }
    Ok(())
}

fn bound<'a>(tr: &mut Tr<'a>, bound: &'a FrameBound<'a>) -> R<()> {
    let (count, word) = match bound {
        FrameBound::CurrentRow => {
            tr.put("CURRENT ROW");
            return Ok(());
        }
        FrameBound::UnboundedFollowing => {
            tr.put("UNBOUNDED FOLLOWING");
            return Ok(());
        }
        FrameBound::UnboundedPreceding => {
            tr.put("UNBOUNDED PRECEDING");
            return Ok(());
        }
        FrameBound::Following(count) => (count, " FOLLOWING"),
        FrameBound::Preceding(count) => (count, " PRECEDING"),
    };
    match literal_number(count) {
        Some(Number::Int(n)) if n >= 0 => drop(tr.number(Number::Int(n))),
        _ => return no(Id::Windows, "OVER", "a frame's bound that is not a number"),
    }
    tr.put(word);
    Ok(())
}

/// Whether MariaDB may compare only the beginnings of such values where it groups sorted rows: all but numbers and columns
/// in keys, which are short.
pub(crate) fn is_long<'a>(tr: &Tr<'a>, expr: &'a Expr<'a>, value: Val) -> R<bool> {
    if tr.postgres || value.ty.numeric() || value.ty == Ty::Null {
        return Ok(false);
    }
    let Some(found) = column_of(tr, expr)? else { return Ok(true) };
    Ok(match &tr.known.scopes[found.scope].sources[found.source].columns {
        Columns::Table(table) => match table.columns.get(found.column) {
            Some(column) => indexes::key_characters(tr.input.catalogue, table, found.column, column.size).is_none(),
            None => true,
        },
        Columns::Query(_) => true,
    })
}

/// The column that an expression is.
pub(crate) fn column_of<'a>(tr: &Tr<'a>, expr: &'a Expr<'a>) -> R<Option<Found>> {
    match bare(expr) {
        Expr::Id(id) => tr.find(None, &plain(id.0)),
        Expr::Qualified(table, column) => tr.find(Some(&plain(table.0)), &plain(column.0)),
        _ => Ok(None),
    }
}
