//! The token that a refusal concerns.

use super::tree::{Expr, Literal};

/// A token of the tree.
#[derive(Debug, Default)]
pub(crate) struct Token {
    pub text: String,
    pub address: usize,
    /// Number of equal tokens before it in the statement, once known.
    pub before: Option<usize>,
}

impl Token {
    /// A token of the tree, or its text without quotes; any other text is only searched for.
    pub(crate) fn new(text: &str) -> Token {
        Token { text: text.to_string(), address: text.as_ptr() as usize, before: None }
    }
}

/// The first token of an expression that belongs to it, and the number of preceding tokens that the tree does not
/// have.
pub(crate) fn first(mut expr: &Expr) -> Option<(Token, usize)> {
    let mut lead = 0;
    let text: &str = loop {
        expr = match expr {
            Expr::Literal(Literal::Numeric(text) | Literal::String(text) | Literal::Keyword(text)) => break text,
            Expr::Literal(_) | Expr::Raise(..) | Expr::Exists(_) | Expr::Subquery(_) => return None,
            Expr::Id(id) | Expr::FunctionCall { name: id, .. } | Expr::FunctionCallStar { name: id, .. } => break id.0,
            Expr::Name(name) | Expr::Qualified(name, _) | Expr::DoublyQualified(name, ..) => break name.0,
            Expr::Variable(name) if name.starts_with(|c: char| c.is_ascii_digit()) => {
                return Some((Token { text: format!("?{name}"), ..Token::default() }, lead));
            }
            Expr::Variable(name) => break name,
            Expr::Parenthesized(parts) => {
                lead += 1;
                parts.first()?
            }
            Expr::Unary(_, inner) => {
                lead += 1;
                inner
            }
            Expr::Cast { expr, .. } => {
                lead += 2;
                expr
            }
            Expr::Case { base: Some(base), .. } => {
                lead += 1;
                base
            }
            Expr::Case { base: None, when_then_pairs, .. } => {
                lead += 2;
                &when_then_pairs.first()?.0
            }
            Expr::Binary(inner, ..) | Expr::Collate(inner, _) | Expr::IsNull(inner) | Expr::NotNull(inner) => inner,
            Expr::Between { lhs, .. } | Expr::Like { lhs, .. } | Expr::InList { lhs, .. } => lhs,
            Expr::InSelect { lhs, .. } | Expr::InTable { lhs, .. } => lhs,
        };
    };
    Some((Token::new(text), lead))
}
