//! Refusals of the translator.

use std::fmt;

use crate::parse::token::{self, Token};
use crate::parse::tree::Expr;
use crate::rules::{Id, rules};

/// Why a text cannot be translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub rule: &'static str,
    /// Byte offset of the refused expression or word, or else of its statement.
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

/// A refusal whose place in the text is not yet known.
#[derive(Debug)]
pub(crate) struct No {
    pub rule: Id,
    /// The refused token, as in the statement.
    pub anchor: Token,
    /// The innermost refused expression: its first token, and the number of `(`, `-`, CASE and the like before it.
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

    /// Records the refused expression, unless an inner one is recorded.
    #[cold]
    pub(crate) fn within(mut self: Box<No>, expr: &Expr) -> Box<No> {
        if self.part.is_none() {
            self.part = token::first(expr);
        }
        self
    }
}

/// A refusal: rule, token, reason.
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
