//! Syntactic properties of expressions: parentheses, numbers, signs, aggregates.

use crate::names::unquote;
use crate::parse::tree::{Expr, Literal, Operator, ResultColumn, UnaryOperator};
use crate::types::{Number, number_literal};

/// Longest statement whose expressions are compared with each other, because comparing is recursive.
pub(crate) const COMPARED_MAX: usize = 4_000;

/// The expression inside parentheses.
pub(crate) fn bare<'a, 'b>(mut expr: &'b Expr<'a>) -> &'b Expr<'a> {
    while let Expr::Parenthesized(inner) = expr
        && let [only] = &inner[..]
    {
        expr = only;
    }
    expr
}

/// Without parentheses and COLLATE around it.
pub(crate) fn uncollated<'a, 'b>(expr: &'b Expr<'a>) -> &'b Expr<'a> {
    let mut inner = bare(expr);
    while let Expr::Collate(of, _) = inner {
        inner = bare(of);
    }
    inner
}

/// The parts of an expression, without those of queries in it.
pub(crate) fn parts<'a, 'b>(expr: &'b Expr<'a>) -> Vec<&'b Expr<'a>> {
    match expr {
        Expr::Parenthesized(inner) => inner.iter().collect(),
        Expr::Binary(left, _, right) => vec![*left, *right],
        Expr::Unary(_, inner) | Expr::Cast { expr: inner, .. } | Expr::Collate(inner, _) => vec![*inner],
        Expr::IsNull(inner) | Expr::NotNull(inner) => vec![*inner],
        Expr::Between { lhs, start, end, .. } => vec![*lhs, *start, *end],
        Expr::Case { base, when_then_pairs, else_expr } => {
            let pairs = when_then_pairs.iter().flat_map(|(when, then)| [when, then]);
            base.iter().copied().chain(pairs).chain(else_expr.iter().copied()).collect()
        }
        Expr::FunctionCall { args, .. } => args.unwrap_or_default().iter().collect(),
        // LIKE is a function whose first argument is the pattern.
        Expr::Like { lhs, rhs, escape, .. } => [*rhs, *lhs].into_iter().chain(*escape).collect(),
        Expr::InList { lhs, rhs, .. } => std::iter::once(*lhs).chain(rhs.unwrap_or_default()).collect(),
        Expr::InSelect { lhs, .. } | Expr::InTable { lhs, .. } => vec![*lhs],
        Expr::Exists(_) | Expr::Subquery(_) | Expr::FunctionCallStar { .. } | Expr::Raise(..) => vec![],
        Expr::Id(_) | Expr::Name(_) | Expr::Qualified(..) | Expr::DoublyQualified(..) => vec![],
        Expr::Literal(_) | Expr::Variable(_) => vec![],
    }
}

/// Whether an expression has a query in it.
pub(crate) fn has_query(expr: &Expr) -> bool {
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        match expr {
            Expr::Subquery(_) | Expr::Exists(_) | Expr::InSelect { .. } | Expr::InTable { .. } => return true,
            _ => rest.extend(parts(expr)),
        }
    }
    false
}

/// Whether an expression has an aggregate of its query.
pub(crate) fn has_aggregate(expr: &Expr) -> bool {
    const NAMES: [&str; 10] = [
        "count",
        "sum",
        "total",
        "avg",
        "min",
        "max",
        "group_concat",
        "string_agg",
        "json_group_array",
        "json_group_object",
    ];
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        match expr {
            Expr::FunctionCallStar { .. } => return true,
            Expr::FunctionCall { name, .. } if NAMES.contains(&&*unquote(name.0).to_ascii_lowercase()) => return true,
            _ => rest.extend(parts(expr)),
        }
    }
    false
}

/// The same of a result.
pub(crate) fn has_aggregates(result: &ResultColumn) -> bool {
    matches!(result, ResultColumn::Expr(expr, _) if has_aggregate(expr))
}

/// Whether SQLite leaves out the other operand of an AND with this one, because it is false: 0, IN with an empty list,
/// or an AND with one of these.
pub(crate) fn is_false(expr: &Expr) -> bool {
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        match bare(expr) {
            Expr::Literal(Literal::Numeric(text)) if number_literal(text) == Some(Number::Int(0)) => return true,
            Expr::InList { not: false, rhs, .. } if rhs.unwrap_or_default().is_empty() => return true,
            Expr::Binary(left, Operator::And, right) => rest.extend([left, right]),
            _ => {}
        }
    }
    false
}

/// The number, if the expression is a numeric literal with or without a sign.
pub(crate) fn literal_number(expr: &Expr) -> Option<Number> {
    signed_number(expr, 0)
}

/// The number of signs is limited, so that a long row of them does not overflow the stack.
fn signed_number(expr: &Expr, signs: u8) -> Option<Number> {
    if signs > 8 {
        return None;
    }
    match bare(expr) {
        Expr::Literal(Literal::Numeric(text)) => number_literal(text),
        Expr::Unary(UnaryOperator::Positive, inner) => signed_number(inner, signs + 1),
        Expr::Unary(UnaryOperator::Negative, inner) => match bare(inner) {
            Expr::Literal(Literal::Numeric("9223372036854775808")) => Some(Number::Int(i64::MIN)),
            inner => match signed_number(inner, signs + 1)? {
                Number::Int(n) => n.checked_neg().map(Number::Int).or(Some(Number::Real(9223372036854775808.0))),
                Number::Real(n) => Some(Number::Real(-n)),
            },
        },
        _ => None,
    }
}
