//! Syntactic properties of expressions: parentheses, numbers, signs.

use crate::parse::tree::{Expr, Literal, UnaryOperator};
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
