//! Names that a program makes up, such as `tmp_8f3a`: what differs in these only is listed once.

use crate::statement::is_word;
use std::collections::HashMap;

/// A text with `*` for the made-up parts of its names: numbers and hexadecimal numbers.
pub fn pattern(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(byte) = rest.bytes().next() {
        let run = rest.bytes().take_while(|other| is_word(*other) == is_word(byte)).count();
        let (part, after) = rest.split_at(run);
        // A number alone is no name.
        let is_name = is_word(byte) && part.bytes().any(|byte| byte.is_ascii_alphabetic());
        out += &if is_name { part.split('_').map(made_up).collect::<Vec<_>>().join("_") } else { part.to_string() };
        rest = after;
    }
    out
}

/// A part of a name, without the hexadecimal number at its end.
fn made_up(part: &str) -> String {
    let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digit = part.find(|c: char| c.is_ascii_digit());
    let from = match digit {
        Some(_) if is_hex(part) => Some(0),
        Some(at) if is_hex(&part[at..]) => Some(at),
        _ => None,
    };
    from.map_or(part.to_string(), |from| format!("{}*", &part[..from]))
}

/// Things that are counted, those with the same pattern as one.
pub struct Alike {
    places: HashMap<String, usize>,
    all: Vec<One>,
}

/// A thing, or several with the same pattern.
pub struct One {
    /// Its text, or the pattern.
    pub text: String,
    /// Number of different texts, and the sum of what was counted.
    pub names: usize,
    pub count: usize,
}

impl Alike {
    pub fn new() -> Alike {
        Alike { places: HashMap::new(), all: vec![] }
    }

    pub fn add(&mut self, text: &str, count: usize) {
        let pattern = pattern(text);
        if let Some(&place) = self.places.get(&pattern) {
            let one = &mut self.all[place];
            (one.names, one.count) = (one.names + usize::from(one.text != text), one.count + count);
            if one.names > 1 {
                one.text = pattern;
            }
        } else {
            self.places.insert(pattern, self.all.len());
            self.all.push(One { text: text.to_string(), names: 1, count });
        }
    }

    /// In the order of the first of each.
    pub fn all(self) -> Vec<One> {
        self.all
    }
}

/// Sentences, those with the same pattern as one.
pub fn folded(sentences: &[String]) -> Vec<String> {
    let mut alike = Alike::new();
    sentences.iter().for_each(|sentence| alike.add(sentence, 1));
    let shown = |one: One| if one.names == 1 { one.text } else { format!("{} ({} names)", one.text, one.names) };
    alike.all().into_iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_made_up_parts_of_names_are_one() {
        for (text, wanted) in [
            ("CREATE TEMP TABLE tmp_8f3a (v)", "CREATE TEMP TABLE tmp_* (v)"),
            ("DROP TABLE \"tmp_cafe_17\"", "DROP TABLE \"tmp_cafe_*\""),
            ("INSERT INTO t17 VALUES (5, 17)", "INSERT INTO t* VALUES (5, 17)"),
            ("a-8f3ab2c1-17ab", "a-*-*"),
            ("tmpA1b2 sha256sum feed bad_face", "tmpA* sha256sum feed bad_face"),
            ("größe_12", "größe_*"),
        ] {
            assert_eq!(pattern(text), wanted, "{text}");
        }
        let all = ["view a_1", "table b_2", "view a_2", "view a_f3"].map(String::from);
        assert_eq!(folded(&all), ["view a_* (3 names)", "table b_2"]);
    }
}
