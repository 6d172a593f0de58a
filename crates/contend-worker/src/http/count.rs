//! Counts the elements at a JSON pointer (RFC 6901) in one pass over the text, without keeping it.

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// The number of elements of the array at `pointer`; 1 for any other value, 0 if there is none.
///
/// # Errors
/// The text is not JSON. Skipped strings need not be UTF-8.
pub fn elements(body: &[u8], pointer: &str) -> serde_json::Result<u32> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let found = Pointed { pointer }.deserialize(&mut json)?;
    json.end()?;
    Ok(found)
}

/// The rest of the pointer; empty at its end.
#[derive(Clone, Copy)]
struct Pointed<'a> {
    pointer: &'a str,
}

impl<'a> Pointed<'a> {
    /// The next segment and the rest; `None` at the end, or if the rest is not a pointer.
    fn step(self) -> Option<(Cow<'a, str>, Self)> {
        let left = self.pointer.strip_prefix('/')?;
        let (segment, rest) = left.split_at(left.find('/').unwrap_or(left.len()));
        let segment = match segment.contains('~') {
            true => Cow::Owned(segment.replace("~1", "/").replace("~0", "~")),
            false => Cow::Borrowed(segment),
        };
        Some((segment, Pointed { pointer: rest }))
    }

    /// A value without parts.
    fn leaf<E>(self) -> Result<u32, E> {
        Ok(u32::from(self.pointer.is_empty()))
    }
}

/// Parses an array index: no sign, no leading zero.
fn index(segment: &str) -> Option<usize> {
    let plain = segment.bytes().all(|b| b.is_ascii_digit()) && (segment.len() == 1 || !segment.starts_with('0'));
    plain.then(|| segment.parse().ok()).flatten()
}

impl<'de> DeserializeSeed<'de> for Pointed<'_> {
    type Value = u32;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<u32, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Pointed<'_> {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<u32, E> {
        self.leaf()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<u32, E> {
        self.leaf()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<u32, E> {
        self.leaf()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<u32, E> {
        self.leaf()
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<u32, E> {
        self.leaf()
    }

    fn visit_unit<E: Error>(self) -> Result<u32, E> {
        self.leaf()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<u32, A::Error> {
        let step = self.step();
        let wanted = step.as_ref().and_then(|(segment, _)| index(segment));
        let (mut count, mut found) = (0usize, 0);
        loop {
            match &step {
                Some((_, inner)) if wanted == Some(count) => match seq.next_element_seed(*inner)? {
                    Some(n) => found = n,
                    None => break,
                },
                _ => {
                    if seq.next_element::<IgnoredAny>()?.is_none() {
                        break;
                    }
                }
            }
            count += 1;
        }
        Ok(if self.pointer.is_empty() { u32::try_from(count).unwrap_or(u32::MAX) } else { found })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u32, A::Error> {
        let step = self.step();
        let mut found = u32::from(self.pointer.is_empty());
        let Some((segment, inner)) = step else {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(found);
        };
        while let Some(is_it) = map.next_key_seed(Key(&segment))? {
            // Of equal keys the last one counts.
            if is_it {
                found = map.next_value_seed(inner)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Compares a key with the one that is looked for.
struct Key<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<bool, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        Ok(self.0 == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const BODY: &str = r#" {"data": [{"id": 7, "n": [1, 2, "]"]}, {"id": 8.5}, [[], [3, 4]]], "t": {"a/b": true, "~": null,
        "\u0061": [1]}, "e": [], "twice": [1], "twice": [1, 2], "": {"": -5}} "#;

    #[test]
    fn it_counts_as_if_all_had_been_read() {
        let whole: Value = serde_json::from_str(BODY).unwrap();
        for pointer in [
            "",
            "/",
            "//",
            "/data",
            "/data/0",
            "/data/0/n",
            "/data/0/n/2",
            "/data/0/n/2/x",
            "/data/00",
            "/data/+0",
            "/data/2/1",
            "/data/3",
            "/data/-",
            "/data/1/id",
            "/t",
            "/t/a~1b",
            "/t/~0",
            "/t/a",
            "/e",
            "/e/0",
            "/twice",
            "/none",
            "/none/0",
            "data",
        ] {
            let expected = match whole.pointer(pointer) {
                None => 0,
                Some(Value::Array(a)) => a.len() as u32,
                Some(_) => 1,
            };
            assert_eq!(elements(BODY.as_bytes(), pointer).unwrap(), expected, "{pointer}");
        }
        for scalar in ["1", "-1", "1.5", "\"a\"", "null", "true"] {
            assert_eq!(elements(scalar.as_bytes(), "").unwrap(), 1);
            assert_eq!(elements(scalar.as_bytes(), "/a").unwrap(), 0);
        }
    }

    #[test]
    fn what_is_not_json_is_an_error() {
        for wrong in ["", "<html>", "{", "{\"a\": [1, }", "[1] 2", "[1 2]", "{\"a\" 1}", "{\"a\": nul}"] {
            assert!(elements(wrong.as_bytes(), "/a").is_err(), "{wrong}");
        }
    }
}
