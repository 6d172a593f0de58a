//! SELECT DISTINCT: its order by expressions that it does not list, and what MariaDB makes of constants.

use crate::catalogue::Kind;
use crate::emit::{Tr, plain};
use crate::parse::tree::{Expr, ResultColumn, SortedColumn};
use crate::refuse::{R, no};
use crate::rules::arithmetic::is_arithmetic;
use crate::rules::literals::{COMPARED_MAX, bare, literal_number};
use crate::rules::{Id, aggregates};
use crate::scope::Columns;
use crate::types::Val;

/// DISTINCT written as GROUP BY over the whole list, so that rows can be ordered by other expressions.
pub(crate) fn group_by_all(tr: &mut Tr, columns: usize, no_windows: bool) -> R<()> {
    if tr.seen.aggregates > 0 || !no_windows {
        return no(Id::OrderBy, "ORDER", "ORDER BY something that SELECT DISTINCT does not list");
    }
    tr.put(" GROUP BY ");
    tr.list(1..=columns, |tr, n| {
        crate::emit::push_decimal(&mut tr.out.sql, n);
        Ok(())
    })
}

/// Whether ORDER BY of a SELECT DISTINCT has expressions that are not in the list of columns: the rows are then grouped
/// by the list instead, and can be ordered by such expressions.
pub(crate) fn orders_by_others<'a>(
    tr: &Tr<'a>,
    order: &'a [SortedColumn<'a>],
    columns: &'a [ResultColumn<'a>],
) -> bool {
    let plain_list = columns.iter().all(|c| matches!(c, ResultColumn::Expr(Expr::Id(_) | Expr::Qualified(..), _)));
    let short = tr.input.text.len() <= COMPARED_MAX;
    short && plain_list && !order.iter().all(|term| is_listed(tr, term, columns, false))
}

/// Whether a term of ORDER BY is in the list; if `made`, also whether it is made of listed columns.
pub(crate) fn is_listed<'a>(tr: &Tr<'a>, term: &SortedColumn, columns: &'a [ResultColumn<'a>], made: bool) -> bool {
    let listed = |expr: &Expr| columns.iter().any(|c| matches!(c, ResultColumn::Expr(e, _) if bare(e) == bare(expr)));
    let alias = matches!(bare(&term.expr), Expr::Id(id) if tr.known.alias(&plain(id.0)).is_some());
    let itself = listed(&term.expr) || alias || literal_number(&term.expr).is_some();
    itself || made && made_of(&term.expr, &listed, 0)
}

/// Whether an expression is a function or operator of listed columns and literals.
fn made_of(expr: &Expr, listed: &impl Fn(&Expr) -> bool, depth: u8) -> bool {
    let inner = |e: &Expr| made_of(e, listed, depth + 1);
    depth < 16
        && match expr {
            Expr::Id(_) | Expr::Qualified(..) => listed(expr),
            Expr::Literal(_) => true,
            Expr::Parenthesized(parts) => parts.len() == 1 && inner(&parts[0]),
            Expr::Unary(_, e) | Expr::Collate(e, _) => inner(e),
            Expr::Binary(l, _, r) => inner(l) && inner(r),
            Expr::FunctionCall { distinctness: None, args: Some(args), order_by: None, filter_over: None, .. } => {
                args.iter().all(inner)
            }
            _ => false,
        }
}

/// Checks a result of SELECT DISTINCT, of this expression or of `*`, and notes whether it may vary.
pub(crate) fn result(tr: &mut Tr, value: Val, expr: Option<&Expr>) -> R<()> {
    aggregates::distinct_values("DISTINCT", value)?;
    let is_read = |tr: &Tr| of_one_table(tr) && expr.is_none_or(|expr| has_column(tr, expr));
    let varies = tr.postgres || tr.seen.aggregates > 0 || is_read(tr);
    if let Some(scope) = tr.known.scopes.last_mut() {
        scope.varies |= varies;
    }
    Ok(())
}

/// Whether FROM has one stored table and nothing else. A column of a query may be a constant, and so are those of a table that
/// MariaDB finds by its key, next to another one.
fn of_one_table(tr: &Tr) -> bool {
    let sources = tr.known.scopes.last().map_or(&[][..], |scope| &scope.sources);
    matches!(sources, [only] if matches!(only.columns, Columns::Table(table) if table.kind == Kind::Table))
}

/// Whether an expression is a column of this query, or calculates with one.
fn has_column(tr: &Tr, expr: &Expr) -> bool {
    let is_own = |table: Option<&str>, name: &str| {
        let found = tr.find(table, name).ok().flatten();
        found.is_some_and(|found| found.scope + 1 == tr.known.scopes.len())
    };
    match expr {
        Expr::Id(name) => is_own(None, &plain(name.0)),
        Expr::Qualified(table, name) => is_own(Some(&plain(table.0)), &plain(name.0)),
        Expr::Parenthesized(parts) => parts.len() == 1 && has_column(tr, &parts[0]),
        Expr::Collate(inner, _) => has_column(tr, inner),
        Expr::Binary(left, op, right) if is_arithmetic(*op) => has_column(tr, left) || has_column(tr, right),
        _ => false,
    }
}
