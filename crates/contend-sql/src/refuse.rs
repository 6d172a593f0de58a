//! How a translation says no.

use crate::rules::Id;

/// A refusal before its place in the text is known.
#[derive(Debug)]
pub(crate) struct No {
    pub rule: Id,
    /// The text of the token that is refused, as it stands in the statement.
    pub anchor: String,
    pub offset: Option<usize>,
    pub reason: String,
}

pub(crate) type R<T> = Result<T, Box<No>>;

impl No {
    pub(crate) fn boxed(rule: Id, anchor: &str, reason: String) -> Box<No> {
        Box::new(No { rule, anchor: anchor.to_string(), offset: None, reason })
    }
}

/// Refuses: the rule, the token it is about, why.
pub(crate) fn no<T>(rule: Id, anchor: &str, reason: impl Into<String>) -> R<T> {
    Err(No::boxed(rule, anchor, reason.into()))
}

/// Where a token first stands in a text as a word of its own; the text's beginning if it does not.
pub(crate) fn find(text: &str, anchor: &str) -> usize {
    if anchor.is_empty() {
        return text.len() - text.trim_start().len();
    }
    let word = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let bytes = text.as_bytes();
    let lower = anchor.as_bytes();
    let whole = |at: &usize| {
        let (from, to) = (*at, *at + lower.len());
        bytes[from..to].eq_ignore_ascii_case(lower)
            && !(word(lower.first()) && from > 0 && word(bytes.get(from - 1)))
            && !(word(lower.last()) && word(bytes.get(to)))
    };
    (0..(bytes.len() + 1).saturating_sub(lower.len())).find(whole).unwrap_or(text.len() - text.trim_start().len())
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
