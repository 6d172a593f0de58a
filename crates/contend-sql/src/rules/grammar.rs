//! The two rules that all others call: an expression within an expression, a query within a query.

use crate::emit::{Grammar, Input, Tr};
use crate::rules::{expr, query};

const GRAMMAR: Grammar = Grammar { expr: expr::expr, query: query::query };

/// A translator that has written nothing.
pub(crate) fn translator(input: Input<'_>) -> Tr<'_> {
    Tr::new(input, &GRAMMAR)
}
