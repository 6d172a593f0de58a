//! The HTTP part of a plan: requests as templates, and the step that sends one and says what its answer must be.
//!
//! A template is text with places for values: `{}` takes the next source of the step in the way that suits where it
//! stands, `{v}` takes it as a value of the plan (`i5`, `tname`), percent-encoded; `{{` and `}}` are braces.

use super::source::Source;

/// A request whose values are filled in when it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST`, ...
    pub method: String,
    /// Path and query, a template.
    pub target: String,
    /// The body, a template.
    pub body: Option<String>,
    /// Names and values; the values are templates.
    pub headers: Vec<(String, String)>,
}

/// A step that sends a request and reads its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpStep {
    /// Index into [`super::Head::requests`].
    pub request: u32,
    /// The answers that are not a failure: first and last status of each range.
    pub status: Vec<(u16, u16)>,
    /// Of all others, those with which the service says that it has done nothing.
    pub refused: Vec<(u16, u16)>,
    /// What is counted in the answer as rows.
    pub count: Option<Count>,
    /// Values kept for later steps.
    pub keep: Vec<KeepAt>,
    /// One per place of the request's templates: target, headers, body.
    pub args: Vec<Source>,
}

/// Elements of an array in the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// JSON pointer to the array.
    pub pointer: String,
    /// Fewest elements.
    pub rows_min: u32,
    /// Most elements; [`super::ANY_ROWS`] for no bound.
    pub rows_max: u32,
}

/// A value in the answer that later steps use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeepAt {
    /// Slot it is kept in.
    pub slot: u16,
    /// Of the elements that `*` stands for, at most these are kept.
    pub rows: u16,
    /// JSON pointer; one segment may be `*`: each element.
    pub pointer: String,
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text as it is.
    Text(String),
    /// `{}`: a value in the way that suits the place.
    Value,
    /// `{v}`: a value as plans write it, percent-encoded.
    PlanValue,
}

/// The pieces of a template.
///
/// # Errors
/// A brace that is none of `{}`, `{v}`, `{{`, `}}`.
pub fn pieces(template: &str) -> Result<Vec<Piece>, String> {
    let (mut pieces, mut text) = (vec![], String::new());
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = [("{{", None), ("}}", None), ("{}", Some(Piece::Value)), ("{v}", Some(Piece::PlanValue))];
        let Some((sign, piece)) = known.into_iter().find(|(sign, _)| rest.starts_with(sign)) else {
            return Err(format!("`{}` in a template: a brace is written `{{{{` or `}}}}`", crate::crop(rest)));
        };
        rest = &rest[sign.len()..];
        match piece {
            None => text.push_str(&sign[..1]),
            Some(piece) => {
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(piece);
            }
        }
    }
    text.push_str(rest);
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

/// Text in which a template's signs stand for themselves.
pub fn literal(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// What is wrong with a JSON pointer (RFC 6901); `*` as a segment is allowed once.
///
/// # Errors
/// The reason in words.
pub fn check_pointer(pointer: &str) -> Result<(), String> {
    let shown = crate::crop(pointer);
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err(format!("`{shown}` is not a JSON pointer: it begins with `/`, or is empty for the whole answer"));
    }
    if pointer.contains([',', '=']) {
        return Err(format!("`{shown}`: names with `,` or `=` cannot be pointed at"));
    }
    if pointer.split('~').skip(1).any(|after| !after.starts_with(['0', '1'])) {
        return Err(format!("`{shown}`: `~` in a JSON pointer is written `~0`, and `/` in a name `~1`"));
    }
    if pointer.split('/').filter(|segment| *segment == "*").count() > 1 {
        return Err(format!("`{shown}`: one segment may be `*`"));
    }
    Ok(())
}

/// Whether a text is a token of HTTP: what methods and header names are made of.
pub fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// Headers the worker writes itself.
pub const OWN_HEADERS: [&str; 4] = ["host", "connection", "content-length", "transfer-encoding"];

impl Request {
    /// Places for values in target, headers and body, in this order.
    ///
    /// # Errors
    /// What is not of the form, in words.
    pub fn places(&self) -> Result<usize, String> {
        self.check_words()?;
        let values = self.headers.iter().map(|(_, value)| value);
        let mut places = 0;
        for template in [&self.target].into_iter().chain(values).chain(&self.body) {
            places += pieces(template)?.iter().filter(|piece| !matches!(piece, Piece::Text(_))).count();
        }
        Ok(places)
    }

    fn check_words(&self) -> Result<(), String> {
        if !is_token(&self.method) || self.method.bytes().any(|b| b.is_ascii_lowercase()) {
            return Err(format!("`{}` is not a method such as GET", crate::crop(&self.method)));
        }
        let target = &self.target;
        if !target.starts_with('/') || target.bytes().any(|b| !(b'!'..=b'~').contains(&b) || b == b'#') {
            return Err(format!(
                "target `{}`: it begins with `/`, and blanks, `#` and anything but ASCII are percent-encoded",
                crate::crop(target)
            ));
        }
        for (name, value) in &self.headers {
            if !is_token(name) {
                return Err(format!("`{}` is not the name of a header", crate::crop(name)));
            }
            if OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
                return Err(format!("header `{name}`: the worker writes it itself"));
            }
            if value.contains(['\r', '\n', '\0']) {
                return Err(format!("header `{name}`: a line end or NUL in its value"));
            }
        }
        Ok(())
    }
}
