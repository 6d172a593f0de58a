//! The two rules that all others call: nested expressions, and nested queries.

use crate::emit::{Grammar, Input, Tr};
use crate::rules::{expr, query};

const GRAMMAR: Grammar = Grammar { expr: expr::expr, query: query::query };

/// A translator with empty output.
pub(crate) fn translator(input: Input<'_>) -> Tr<'_> {
    Tr::new(input, &GRAMMAR)
}
