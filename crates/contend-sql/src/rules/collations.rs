//! The collation of expressions that are neither columns nor COLLATE.
//!
//! In SQLite, a COLLATE anywhere inside an expression is the collation of the whole: in a function's argument, in one
//! side of `||`, or in a condition of CASE. The first one counts. An expression without COLLATE is compared by bytes,
//! even if it consists of columns that ignore case; only CAST and unary `+` keep a column's collation.

use crate::catalogue;
use crate::emit::Tr;
use crate::parse::tree::{Expr, Operator, UnaryOperator};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::compare::{FOLD_MARIADB, FOLD_POSTGRES};
use crate::rules::literals::{is_false, parts};
use crate::types::{Collation, Ty, Val};

/// Writes a value that has its collation from COLLATE.
pub(crate) fn with_collation<'a>(tr: &mut Tr<'a>, inner: &'a Expr<'a>, name: &str) -> R<Val> {
    let mut value = tr.expr(inner, Ty::Text)?;
    value.collation = catalogue::collation(name)?;
    value.collation_explicit = true;
    tr.fire(Id::Collation);
    Ok(value)
}

/// A COLLATE inside an expression, as it applies to the whole.
pub(crate) enum Said<'a> {
    By(&'a str),
    /// SQLite simplifies the expression first, or considers only the first value of a row.
    Unclear,
}

/// The first COLLATE inside an expression, in SQLite's search order, which does not enter subqueries.
pub(crate) fn said<'a>(expr: &Expr<'a>) -> Option<Said<'a>> {
    let mut rest = vec![expr];
    let mut unclear = false;
    while let Some(expr) = rest.pop() {
        let from = rest.len();
        match expr {
            Expr::Collate(_, _) if unclear => return Some(Said::Unclear),
            Expr::Collate(_, name) => return Some(Said::By(name)),
            Expr::Parenthesized(inner) => unclear |= inner.len() > 1,
            Expr::Binary(left, Operator::And, right) => unclear |= is_false(left) || is_false(right),
            Expr::InList { rhs, .. } => unclear |= rhs.unwrap_or_default().is_empty(),
            _ => {}
        }
        rest.extend(parts(expr));
        rest[from..].reverse();
    }
    None
}

/// Gives an expression's value the collation that it has in SQLite.
pub(crate) fn collated<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>, value: Val) -> R<Val> {
    match expr {
        Expr::Collate(..) | Expr::Parenthesized(_) | Expr::Literal(_) | Expr::Variable(_) => Ok(value),
        Expr::Id(_) | Expr::Name(_) | Expr::Qualified(..) | Expr::DoublyQualified(..) => Ok(value),
        Expr::Cast { expr: inner, .. } | Expr::Unary(UnaryOperator::Positive, inner) => {
            // An alias inside may refer to a COLLATE, which then counts like a column's.
            let column = value.column || value.collation_explicit;
            Ok(Val { column, collation_explicit: value.collation_explicit && said(inner).is_some(), ..value })
        }
        _ => {
            let (collation, collation_explicit) = match value.ty {
                Ty::Text | Ty::Null | Ty::Any | Ty::Param if has_collate(tr) => match said(expr) {
                    None => (Collation::Binary, false),
                    Some(Said::By(name)) => {
                        tr.fire(Id::Collation);
                        (crate::catalogue::collation(name)?, true)
                    }
                    Some(Said::Unclear) => {
                        return no(Id::Collation, "COLLATE", "COLLATE in a part that SQLite simplifies, or in a row");
                    }
                },
                _ => (Collation::Binary, false),
            };
            Ok(Val { collation, collation_explicit, column: false, ..value })
        }
    }
}

/// Converts the output since `start` to lower case, for comparison under NOCASE.
pub(crate) fn fold(tr: &mut Tr, start: usize) {
    tr.fire(Id::Collation);
    let (before, after) = if tr.postgres { FOLD_POSTGRES } else { FOLD_MARIADB };
    tr.wrap(start, before, after);
}

/// Whether the statement has the word COLLATE, which is rare.
fn has_collate(tr: &mut Tr) -> bool {
    let text = tr.input.text.as_bytes();
    *tr.input.collates.get_or_insert_with(|| text.windows(7).any(|word| word.eq_ignore_ascii_case(b"COLLATE")))
}
