//! How a translation says no.

use std::fmt;

use crate::parse::token::{self, Token};
use crate::parse::tree::Expr;
use crate::rules::{Id, rules};

/// Why a text has no translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub rule: &'static str,
    /// Byte offset of what is refused: the expression or word that is meant, or else its statement.
    pub offset: usize,
    pub line: u32,
    pub column: u32,
    pub reason: String,
}

impl Refusal {
    /// Whether the catalogue lacks a table: more CREATE statements may help.
    pub fn wants_a_table(&self) -> bool {
        self.rule == rules()[Id::UnknownTable as usize].id
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {} ({})", self.line, self.column, self.reason, self.rule)
    }
}

impl std::error::Error for Refusal {}

/// A refusal before its place in the text is known.
#[derive(Debug)]
pub(crate) struct No {
    pub rule: Id,
    /// The token that is refused, as it stands in the statement.
    pub anchor: Token,
    /// The innermost expression that is refused: its first token, and how many of `(`, `-`, CASE and the like precede.
    pub part: Option<(Token, usize)>,
    pub offset: Option<usize>,
    pub reason: String,
}

pub(crate) type R<T> = Result<T, Box<No>>;

impl No {
    pub(crate) fn boxed(rule: Id, anchor: &str, reason: String) -> Box<No> {
        Box::new(No { rule, anchor: Token::new(anchor), part: None, offset: None, reason })
    }

    pub(crate) fn at(rule: Id, offset: usize, reason: String) -> Box<No> {
        Box::new(No { rule, anchor: Token::default(), part: None, offset: Some(offset), reason })
    }

    /// Notes the expression that is refused, unless one within it is.
    #[cold]
    pub(crate) fn within(mut self: Box<No>, expr: &Expr) -> Box<No> {
        if self.part.is_none() {
            self.part = token::first(expr);
        }
        self
    }
}

/// Refuses: the rule, the token it is about, why.
pub(crate) fn no<T>(rule: Id, anchor: &str, reason: impl Into<String>) -> R<T> {
    Err(No::boxed(rule, anchor, reason.into()))
}

/// Line and column (characters), both from 1, of a byte offset.
pub(crate) fn position(text: &str, offset: usize) -> (u32, u32) {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line as u32, column as u32)
}
