//! Answers to requests that succeeded, counted by status, content and length. Services that are compared must answer alike:
//! an empty body or an error page with status 200 is faster than the real answer.

use contend_wire::handshake::Facts;
use std::collections::BTreeMap;

/// Prefix of these facts.
const FACT: &str = "response";

/// What a body is by its first byte. Its `Content-Type` does not decide: frameworks send JSON as `text/html` by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Content {
    /// No byte.
    Empty,
    /// It begins with `{` or `[`.
    Json,
    /// It begins with `<`, as HTML and XML do.
    Markup,
    /// It begins with something else.
    Other,
    /// It is compressed, so its length and its first byte say little.
    Encoded,
    /// It is compressed although the request did not have `Accept-Encoding`.
    Unasked,
}

/// Whether a `Content-Encoding` compresses. Services also write `identity` or a character set there.
pub fn is_compression(value: &[u8]) -> bool {
    let known = ["gzip", "x-gzip", "br", "deflate", "zstd", "compress", "x-compress"];
    let is_known = |word: &[u8]| known.iter().any(|known| word.trim_ascii().eq_ignore_ascii_case(known.as_bytes()));
    value.split(|b| *b == b',').any(is_known)
}

impl Content {
    /// The content of a body of this length with this first byte after white space.
    pub fn of(bytes: u64, first: Option<u8>, encoded: bool) -> Self {
        match (bytes, first) {
            (0, _) => Content::Empty,
            _ if encoded => Content::Encoded,
            (_, Some(b'{' | b'[')) => Content::Json,
            (_, Some(b'<')) => Content::Markup,
            _ => Content::Other,
        }
    }

    /// The content as an answer to a request that accepts compression or does not.
    pub fn as_asked(self, accepts_encodings: bool) -> Self {
        if self == Content::Encoded && !accepts_encodings { Content::Unasked } else { self }
    }

    fn word(self) -> &'static str {
        match self {
            Content::Empty => "empty",
            Content::Json => "json",
            Content::Markup => "markup",
            Content::Other => "other",
            Content::Encoded => "encoded",
            Content::Unasked => "unasked",
        }
    }
}

/// One successful answer.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    /// Transaction and step of the plan.
    pub place: (u16, u16),
    /// Its status.
    pub status: u16,
    /// What its body is.
    pub content: Content,
    /// Length of the body without its chunks' headers.
    pub bytes: u64,
}

/// Place, status, content, and the number of binary digits of the length.
type Key = ((u16, u16), u16, Content, u32);

/// Number and bytes of the answers by what they have in common.
#[derive(Debug, Default)]
pub struct Responses(BTreeMap<Key, (u64, u64)>);

impl Responses {
    /// Counts an answer.
    pub fn add(&mut self, counted: Counted) {
        self.count(
            (counted.place, counted.status, counted.content, u64::BITS - counted.bytes.leading_zeros()),
            (1, counted.bytes),
        );
    }

    /// Adds the answers of another loop.
    pub fn merge(&mut self, other: Self) {
        other.0.into_iter().for_each(|(key, sums)| self.count(key, sums));
    }

    fn count(&mut self, key: Key, (count, bytes): (u64, u64)) {
        let sums = self.0.entry(key).or_default();
        (sums.0, sums.1) = (sums.0 + count, sums.1 + bytes);
    }

    /// As `response.N` = `COUNT BYTES STATUS CONTENT METHOD TRANSACTION STEP`, such as `16 4800 200 json GET 0 1`.
    pub fn facts(&self, method: &dyn Fn((u16, u16)) -> String) -> Facts {
        let numbered = self.0.iter().zip(1u32..);
        let fact = |((key, (count, bytes)), n): ((&Key, &(u64, u64)), u32)| {
            let (place, status, content, _) = *key;
            let (content, method, (transaction, step)) = (content.word(), method(place), place);
            (format!("{FACT}.{n}"), format!("{count} {bytes} {status} {content} {method} {transaction} {step}"))
        };
        numbered.map(fact).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_one_size_are_counted_together() {
        let mut responses = Responses::default();
        let counted = |status, content, bytes| Counted { place: (0, 1), status, content, bytes };
        responses.add(counted(200, Content::of(300, Some(b'{'), false), 300));
        let mut other = Responses::default();
        other.add(counted(200, Content::of(500, Some(b'['), false), 500));
        other.add(counted(200, Content::of(600, Some(b'{'), false), 600));
        other.add(counted(204, Content::of(0, None, true), 0));
        other.add(counted(200, Content::of(600, Some(0x1f), true), 600));
        responses.merge(other);
        let facts: Vec<String> = responses.facts(&|_| "GET".to_string()).into_iter().map(|(_, text)| text).collect();
        assert_eq!(
            facts,
            ["2 800 200 json GET 0 1", "1 600 200 json GET 0 1", "1 600 200 encoded GET 0 1", "1 0 204 empty GET 0 1"]
        );
    }

    #[test]
    fn compression_is_named_and_asked_for() {
        assert!(["gzip", "BR", "deflate, gzip", "zstd", "x-gzip"].iter().all(|word| is_compression(word.as_bytes())));
        assert!(!["identity", "utf-8", "", "none"].iter().any(|word| is_compression(word.as_bytes())));
        let of = |asked| Content::of(9, Some(0x1f), true).as_asked(asked);
        assert_eq!(
            (of(true), of(false), Content::Json.as_asked(false)),
            (Content::Encoded, Content::Unasked, Content::Json)
        );
    }
}
