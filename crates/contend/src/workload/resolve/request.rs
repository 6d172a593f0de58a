//! Steps that send requests: from `{name}` in target, headers and body to the templates of a plan.

use super::at::{At, listed};
use super::statement::{Meaning, Name, Names, sources_of};
use crate::source::FileError;
use crate::workload::file::{KeepAtFile, StepFile};
use crate::workload::secret;
use contend_wire::plan::http::{Count, HttpStep, KeepAt, Request, check_pointer, literal};
use contend_wire::plan::{ANY_ROWS, Source};
use std::collections::{BTreeMap, BTreeSet};
use toml::Value as Toml;

/// Prefix of a secret's name.
const SECRET: &str = "secret.";

/// Splits a text into plain pieces and names in braces. Braces around anything else are plain text.
fn split(text: &str) -> Vec<(bool, &str)> {
    let mut pieces = vec![];
    let (mut from, mut at) = (0, 0);
    while let Some(open) = text[at..].find('{').map(|i| at + i) {
        let rest = &text[open + 1..];
        let name = rest.split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
        match name {
            None => at = open + 1,
            Some(name) => {
                pieces.push((false, &text[from..open]));
                pieces.push((true, name));
                at = open + name.len() + 2;
                from = at;
            }
        }
    }
    pieces.push((false, &text[from..]));
    pieces
}

fn is_name(text: &str) -> bool {
    let text = text.strip_prefix("session.").or(text.strip_prefix(SECRET)).unwrap_or(text);
    text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && text.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
}

/// Names that a step mentions.
pub fn names_in(step: &StepFile) -> BTreeSet<&str> {
    let texts = step.request.iter().chain(step.headers.values()).chain(&step.body);
    texts.flat_map(|text| split(text)).filter(|(is_name, _)| *is_name).map(|(_, name)| name).collect()
}

/// Names for requests in addition to those of their transaction.
#[derive(Debug, Clone, Default)]
pub struct Session {
    /// What the login keeps, by name and slot.
    pub kept: BTreeMap<String, u16>,
    pub secrets: BTreeSet<String>,
}

/// Fills in templates, collecting where their values come from.
struct Templates<'n, 'f> {
    names: &'n mut Names<'f>,
    session: &'n Session,
    sources: Vec<Source>,
}

impl Templates<'_, '_> {
    fn template(&mut self, text: &str, at: &At<'_>) -> Result<String, FileError> {
        let mut out = String::new();
        for (is_name, piece) in split(text) {
            if !is_name {
                out.push_str(&literal(piece));
                continue;
            }
            out.push_str("{}");
            if let Some(name) = piece.strip_prefix(SECRET) {
                if !self.session.secrets.contains(name) {
                    return at.fail(format!("there is no [secret] `{name}`{}", listed(self.session.secrets.iter())));
                }
                self.sources.push(secret::place(name));
                continue;
            }
            match piece.strip_prefix("session.") {
                Some(name) => match self.session.kept.get(name) {
                    Some(slot) => self.sources.push(Source::Session { slot: *slot }),
                    None => return at.fail(format!("the login keeps no `{name}`")),
                },
                None => self.sources.extend(sources_of(piece, false, self.names, at)?),
            }
        }
        Ok(out)
    }
}

/// The request of a step, and where its values come from.
pub fn request(
    file: &StepFile,
    names: &mut Names<'_>,
    session: &Session,
    at: &At<'_>,
) -> Result<(Request, Vec<Source>), FileError> {
    let request_at = at.key("request");
    let line = file.request.as_deref().unwrap_or_default();
    let Some((method, target)) = line.split_once(' ') else {
        return request_at.fail("a request is a method and a target, such as \"GET /items/{id}\"");
    };
    let mut templates = Templates { names, session, sources: vec![] };
    // A target may hold a blank for readability.
    let target = templates.template(&target.trim().replace(' ', "%20"), &request_at)?;
    let mut headers = vec![];
    for (name, value) in &file.headers {
        headers.push((name.clone(), templates.template(value, &at.key("headers").key(name))?));
    }
    let body = match &file.body {
        None => None,
        Some(body) if body == "-" => return at.key("body").fail("a body cannot be a single `-`"),
        Some(body) => Some(templates.template(body, &at.key("body"))?),
    };
    let sources = templates.sources;
    let request = Request { method: method.to_string(), target, body, headers };
    request.places().map_err(|message| request_at.error(message))?;
    Ok((request, sources))
}

/// A step without its request and arguments: accepted answers, and what is counted and kept.
pub fn step<'f>(
    file: &StepFile,
    rows: (u32, u32),
    slots: &mut u16,
    names: &mut Names<'f>,
    at: &At<'f>,
) -> Result<HttpStep, FileError> {
    let count = match &file.count {
        None if rows != (0, ANY_ROWS) => return at.key("rows").fail("rows are counted where `count` points to"),
        None => None,
        Some(pointer) => {
            check(pointer, &at.key("count"))?;
            if pointer.split('/').any(|segment| segment == "*") {
                return at.key("count").fail(format!("`{pointer}`: the array itself is counted, without `*`"));
            }
            Some(Count { pointer: pointer.clone(), rows_min: rows.0, rows_max: rows.1 })
        }
    };
    let mut keep = vec![];
    for (name, value) in &file.keep {
        let at = at.key("keep").key(name);
        let file = match value {
            Toml::String(pointer) => KeepAtFile { at: pointer.clone(), max: None },
            other => at.read(other)?,
        };
        check(&file.at, &at)?;
        names.declare(name, Name::new(Meaning::Kept { slot: *slots, plus: 0 }, &at, false))?;
        keep.push(KeepAt { slot: *slots, rows: file.max.unwrap_or(1).max(1), pointer: file.at });
        *slots += 1;
    }
    let expected = status(file.status.as_ref(), &at.key("status"))?.unwrap_or_else(|| vec![(200, 299)]);
    let refused = status(file.refused.as_ref(), &at.key("refused"))?.unwrap_or_default();
    let meets = |(first, last): &(u16, u16)| expected.iter().any(|(from, to)| first <= to && from <= last);
    if let Some((first, _)) = refused.iter().find(|range| meets(range)) {
        return at.key("refused").fail(format!("{first} is among what `status` expects; a status is one or the other"));
    }
    Ok(HttpStep { request: 0, status: expected, refused, count, keep, args: vec![] })
}

fn check(pointer: &str, at: &At<'_>) -> Result<(), FileError> {
    check_pointer(pointer).map_err(|message| at.error(message))
}

/// `200`, `"200-299,404"`.
fn status(value: Option<&Toml>, at: &At<'_>) -> Result<Option<Vec<(u16, u16)>>, FileError> {
    let text = match value {
        None => return Ok(None),
        Some(Toml::Integer(status)) => status.to_string(),
        Some(Toml::String(text)) => text.clone(),
        Some(_) => return at.fail("a status is 200, or \"200-299,404\""),
    };
    let range = |item: &str| {
        let (first, last) = item.trim().split_once('-').unwrap_or((item.trim(), item.trim()));
        let range = (first.parse::<u16>().ok()?, last.parse::<u16>().ok()?);
        (100 <= range.0 && range.0 <= range.1 && range.1 <= 599).then_some(range)
    };
    let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
    ranges
        .map(Some)
        .ok_or_else(|| at.error(format!("`{text}` is not a status from 100 to 599 such as 200, or \"200-299,404\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_in_braces_are_names() {
        let names = |text| split(text).into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect::<Vec<_>>();
        assert_eq!(names("{\"a\": {id}, \"b\": {\"c\": {session.token}}}"), ["id", "session.token"]);
        assert!(names("{}{ a }{1}{").is_empty());
    }
}
